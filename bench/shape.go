package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// shape is a kind of bundle that grows in a way of its own.
type shape struct {
	name string
	says string // what there is of it at its full size
	full int64  // MB of text
	// files are about size bytes of text. What the shape is named after grows with the size.
	files func(size int64, seed uint64) []textFile
	rules func(dir string) error // writes rules of its own; nil when it has none
	// byFile says that unpacking is no measure for it: most of the work is for each file.
	byFile bool
	rss    int64  // the most MB of memory at full size
	finds  string // what the findings name if the bundle was understood; empty for none
}

const mega = 1_000_000

var shapes = []shape{
	{"flapping", "200 stalls in a week", 300, flappingFiles, nil, false, 200, incidentRule},
	{"mixed", "200 stalls in a week, for four reasons", 300, mixedFiles, nil, false, 200, incidentRule},
	{"busy", "300 failing exec probes a second, 1 million kept events", 300, busyFiles, nil, false, 256, incidentRule},
	{"tiled", "recordings of real nodes, an incident 144 times in a week", 300, tiledFiles, nil, false, 200, "runtime-latency"},
	{"many", "50 000 containers", 300, manyFiles, nil, false, 200, incidentRule},
	{"long", "30 days of journal export", 3000, longFiles, nil, false, 256, incidentRule},
	{"dumps", "500 dumps of 5 000 goroutines", 2750, dumpFiles, nil, false, 256, "cri-status-lock-held"},
	{"samples", "a day of xcapture, 10 million rows", 1500, sampleFiles, nil, false, 256, "umount2-overlay-sync"},
	{"traces", "5 000 threads, 300 connections of D-Bus", 500, traceFiles, nil, false, 200, ""},
	{"rules", "200 rules with joins, 1 000 findings", 300, findingFiles, writeJoinRules, false, 200, "acme-volume-0"},
	{"wide", "200 000 files", 140, wideFiles, nil, true, 256, ""},
}

// measuredSize is one bundle of a shape with what reads it.
type measuredSize struct {
	files         int
	text          int64
	gzip, analyze *contestant
}

// measureShape measures one shape at its size and at a tenth of it, and prints a row.
func (o *options) measureShape(out io.Writer, program, dir string, s *shape) error {
	args := []string{program, "analyze"}
	if s.rules != nil {
		rules := filepath.Join(dir, "rules")
		if err := errors.Join(os.RemoveAll(rules), os.Mkdir(rules, 0o700), s.rules(rules)); err != nil {
			return err
		}
		args = append(args, "--rules", rules)
	}
	size := s.sizeFor(o)
	sizes := [2]measuredSize{}
	for i, size := range []int64{size / 10, size} {
		bundle := filepath.Join(dir, fmt.Sprintf("%s-%d.tgz", s.name, i))
		files := s.files(size, o.seed)
		text, err := writeBundle(bundle, files)
		if err != nil {
			return err
		}
		defer os.Remove(bundle)
		sizes[i] = measuredSize{
			len(files), text,
			&contestant{name: "gzip -dc", args: []string{"gzip", "-dc", bundle}},
			&contestant{name: "analyze " + s.name, args: append(slices.Clone(args), bundle)},
		}
	}
	if err := checkReport(sizes[0].analyze.args, s.finds); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	one := filepath.Join(dir, "one-line.log")
	if err := os.WriteFile(one, []byte(kubeletIncident(incidentStart)[0].text+"\n"), 0o600); err != nil {
		return err
	}
	start := &contestant{name: "analyze one line", args: append(slices.Clone(args), one)}
	tenth, full := &sizes[0], &sizes[1]
	var err error
	// Other programs on the machine only ever add to the time: what misses its limit gets more series
	// of runs, of which the shortest counts.
	for range maxSeries {
		if err = runInTurns(o.runs, start, tenth.analyze, full.analyze, full.gzip); err != nil {
			return err
		}
		if err = o.checkShape(s, start, tenth, full); err == nil {
			break
		}
	}
	o.printShape(out, s, start, tenth, full)
	return err
}

// maxSeries is how many series of runs a shape gets before it is said to miss a limit.
const maxSeries = 5

// checkReport checks that the report of a command names what its bundle holds: only then is the
// measured time that of an analysis.
func checkReport(args []string, finds string) error {
	report, err := exec.Command(args[0], append(slices.Clone(args[1:]), "-o", "json")...).Output()
	if err != nil {
		return fmt.Errorf("analyze: %w", err)
	}
	_, findings, _ := strings.Cut(string(report), `"findings"`)
	findings, _, _ = strings.Cut(findings, `"ruled_out"`)
	if !strings.Contains(findings, finds) {
		return fmt.Errorf("the report does not name %s, which the bundle holds", finds)
	}
	return nil
}

// sizeFor is the size in bytes at which the shape is measured.
func (s *shape) sizeFor(o *options) int64 {
	if o.size == 0 {
		return s.full * mega
	}
	return min(o.size, s.full) * mega
}

const shapeHeader = "shape       files    MB  seconds   ratio  CPU ratio  RSS MB  (of a tenth)  exponent  at full size\n"

func (o *options) printShape(out io.Writer, s *shape, start *contestant, tenth, full *measuredSize) {
	fmt.Fprintf(out, "%-10s %6d %5d %8.3f  %6.2f  %9.2f  %6d  %12d  %8.2f  %s\n",
		s.name, full.files, full.text/mega, slices.Min(full.analyze.times).Seconds(), full.ratio(), full.ratioOfCPU(),
		full.analyze.rss/mega, tenth.analyze.rss/mega, growth(start, tenth, full), s.says)
}

// ratio is the time of analyze by that of gzip, each the shortest.
func (m *measuredSize) ratio() float64 {
	return slices.Min(m.analyze.times).Seconds() / slices.Min(m.gzip.times).Seconds()
}

// ratioOfCPU is the ratio on a machine with one CPU.
func (m *measuredSize) ratioOfCPU() float64 {
	return slices.Min(m.analyze.cpu).Seconds() / slices.Min(m.gzip.cpu).Seconds()
}

// growth is the exponent by which the CPU time grows with the size, without the time that the
// program takes to start: 1 is linear, 2 is quadratic.
func growth(start *contestant, tenth, full *measuredSize) float64 {
	// A start that takes as long as the tenth would make any growth look endless.
	const least = 5 * time.Millisecond
	begins := slices.Min(start.cpu)
	net := func(m *measuredSize) float64 { return max(least, slices.Min(m.analyze.cpu)-begins).Seconds() }
	return math.Log(net(full)/net(tenth)) / math.Log(float64(full.text)/float64(tenth.text))
}

// checkShape compares what was measured with its limits.
func (o *options) checkShape(s *shape, start *contestant, tenth, full *measuredSize) error {
	err := errors.Join(
		checkMost(s.name+": exponent", growth(start, tenth, full), o.mostGrowth),
		checkMost(s.name+": peak RSS in MB", float64(full.analyze.rss/mega), float64(cmp.Or(o.mostRSS, s.rss))),
	)
	if s.byFile {
		rate := float64(full.files) / slices.Min(full.analyze.times).Seconds()
		err = errors.Join(err, checkMost(s.name+": ms for 1000 files", 1e6/rate, 1e6/o.filesRate))
	} else {
		err = errors.Join(err, checkMost(s.name+": ratio analyze/gzip", full.ratio(), o.most))
	}
	return err
}

// chosen is what a list of names asks for.
type chosen struct {
	shapes []*shape

	start, node, trace, fleet, neighbours bool
}

// chooseShapes is what a list of names asks for.
func chooseShapes(list string) (c chosen, err error) {
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(shapes, func(s shape) bool { return s.name == name })
		switch {
		case name == "all":
			c = chosen{start: true, node: true, trace: true, fleet: true, neighbours: true}
			for i := range shapes {
				c.shapes = append(c.shapes, &shapes[i])
			}
		case name == "start":
			c.start = true
		case name == "node":
			c.node = true
		case name == "strace":
			c.trace = true
		case name == "fleet":
			c.fleet = true
		case name == "neighbours":
			c.neighbours = true
		case i >= 0:
			c.shapes = append(c.shapes, &shapes[i])
		default:
			return chosen{}, fmt.Errorf("no shape %q; there are all, start, node, strace, fleet, neighbours, %s", name, shapeNames())
		}
	}
	return c, nil
}

func shapeNames() string {
	names := make([]string, len(shapes))
	for i := range shapes {
		names[i] = shapes[i].name
	}
	return strings.Join(names, ", ")
}
