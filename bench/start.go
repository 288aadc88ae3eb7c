package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// shippedIncident is a whole incident of the lab, of 6 files and 0.6 MB. Its analysis is mostly the
// start of the program: the rules are read and compiled, and the literals prepared.
const (
	shippedIncident = "testdata/lab-umount2/bundle.tgz"
	startRuns       = 20
)

// measureStart measures the analysis of a small bundle. The shortest of many runs is judged:
// whatever else runs only adds to it.
func (o *options) measureStart(out io.Writer, program string) error {
	c := &contestant{name: "start", args: []string{program, "analyze", shippedIncident}}
	if err := runInTurns(startRuns, c); err != nil {
		return err
	}
	shortest, cpu := slices.Min(c.times), slices.Min(c.cpu)
	fmt.Fprintf(out, "%s: %d ms, CPU %d ms, the shortest of %d runs; peak RSS %d MB\n",
		shippedIncident, shortest.Milliseconds(), cpu.Milliseconds(), startRuns, c.rss/1e6)
	return checkMost("start: milliseconds", float64(shortest)/float64(time.Millisecond), o.mostStart)
}
