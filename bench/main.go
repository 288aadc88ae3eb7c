// Bench measures plegdiag from outside. It generates bundles, each of a shape of its own, analyses
// them, and compares the time with what gzip needs to merely inflate them. Both run in turns on the
// same machine, so that the ratio holds where seconds do not.
//
// The shape node is a busy node with one incident in it; on it a catalogue of two hundred rules is
// compared with the one that ships. The shape strace is the output of strace of a container
// runtime; measured is how many MB of it are read in a second, by syscalls and by analyze. The
// shape fleet is many small bundles; on it batch is compared with analyze. The shape start is an
// incident that ships. The shape neighbours compares with other programs that do a part of the
// same. All other shapes are measured at their size and at a tenth of it, which shows how they
// grow.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.shape, "shape", "all", "what to measure, by `names` with commas between: all, start, node, strace, fleet, neighbours, "+shapeNames())
	flag.Int64Var(&o.size, "mb", 0, "the most text in a bundle, in MB; 0 is the size of each shape")
	flag.Uint64Var(&o.seed, "seed", 1, "of the generator")
	flag.IntVar(&o.runs, "runs", 5, "how often each command runs")
	flag.Float64Var(&o.most, "max", 1, "the largest ratio analyze/gzip that passes")
	flag.Float64Var(&o.mostGrowth, "max-exponent", 1.15, "the largest exponent of growth that passes")
	flag.Float64Var(&o.mostRules, "max-rules", 1.25, "the largest ratio of 200 rules to those that ship that passes")
	flag.Float64Var(&o.mostBatch, "max-batch", 1.1, "the largest CPU time of batch by that of analyze that passes")
	flag.Float64Var(&o.mostStart, "max-start", 60, "the most milliseconds of the analysis of a small incident that pass")
	flag.Float64Var(&o.mostNeighbours, "max-neighbours", 1, "the largest ratio of a command to another program that passes")
	flag.Float64Var(&o.leastParser, "min-parser", 3, "how many times as fast as gostackparse dumps are parsed, at the least")
	flag.StringVar(&o.program, "plegdiag", "", "`program` to measure; built from this repository when empty")
	flag.StringVar(&o.keep, "keep", "", "write the bundle of the one shape to `FILE` and do nothing else")
	flag.Int64Var(&o.trace, "trace", 500, "size of the strace output, in MB")
	flag.Float64Var(&o.rate, "rate", 300, "the least MB/s of strace output that passes")
	flag.Int64Var(&o.mostRSS, "max-rss", 0, "the largest peak RSS in MB that passes; 0 is the limit of each shape")
	flag.Float64Var(&o.filesRate, "files", 20_000, "the least files a second of the shape wide that pass")
	flag.Parse()
	if err := o.runBenchmark(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	shape       string
	size, trace int64
	seed        uint64
	runs        int
	most, rate  float64
	mostGrowth  float64
	mostRules   float64
	mostBatch   float64
	mostStart   float64

	mostNeighbours, leastParser float64
	filesRate                   float64
	mostRSS                     int64
	program                     string
	keep                        string
}

// runBenchmark measures what was asked for. It returns all limits that were missed, after all is
// measured.
func (o *options) runBenchmark(out io.Writer) error {
	c, err := chooseShapes(o.shape)
	if err != nil {
		return err
	}
	if o.keep != "" {
		return o.keepBundle(c)
	}
	dir, err := os.MkdirTemp("", "plegdiag-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := o.program
	if program == "" {
		program = filepath.Join(dir, "plegdiag")
		if msg, err := exec.Command("go", "build", "-o", program, "./cmd/plegdiag").CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, msg)
		}
	}
	fmt.Fprintf(out, "%s/%s, %d CPUs, %d runs, seed %d\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.runs, o.seed)
	var missed error
	if c.start {
		missed = errors.Join(missed, o.measureStart(out, program))
	}
	if c.node {
		missed = errors.Join(missed, o.measureNode(out, program, dir))
	}
	if c.trace {
		missed = errors.Join(missed, o.measureTraces(out, program, filepath.Join(dir, "shim.strace")))
	}
	if c.fleet {
		missed = errors.Join(missed, o.measureFleet(out, program, dir))
	}
	if c.neighbours {
		missed = errors.Join(missed, o.measureNeighbours(out, program, dir))
	}
	if len(c.shapes) > 0 {
		fmt.Fprint(out, shapeHeader)
	}
	for _, s := range c.shapes {
		missed = errors.Join(missed, o.measureShape(out, program, dir, s))
	}
	return missed
}

// keepBundle writes the bundle of the one shape that is chosen.
func (o *options) keepBundle(c chosen) error {
	var err error
	switch {
	case c.fleet || c.start || c.neighbours || strings.Contains(o.shape, ",") || o.shape == "all":
		err = errors.New("-keep takes one -shape, and none of fleet, start and neighbours")
	case c.node:
		_, err = writeBundle(o.keep, nodeFiles(o.nodeSize(), o.seed))
	case c.trace:
		err = writeTrace(o.keep, o.trace*mega, o.seed)
	default:
		_, err = writeBundle(o.keep, c.shapes[0].files(c.shapes[0].sizeFor(o), o.seed))
	}
	return err
}

// nodeSize is how many bytes of text the ordinary day has.
func (o *options) nodeSize() int64 {
	const full = 300
	if o.size == 0 {
		return full * mega
	}
	return o.size * mega
}

// measureNode measures the ordinary day, with more and with fewer rules.
func (o *options) measureNode(out io.Writer, program, dir string) error {
	bundle := filepath.Join(dir, "bundle.tgz")
	defer os.Remove(bundle)
	text, err := writeBundle(bundle, nodeFiles(o.nodeSize(), o.seed))
	if err != nil {
		return err
	}
	if err := checkReport([]string{program, "analyze", bundle}, incidentRule); err != nil {
		return err
	}
	many := filepath.Join(dir, "many")
	if err := writeRules(program, many, manyRules); err != nil {
		return err
	}
	return o.compareCommands(out, program, bundle, text, many)
}

func (o *options) compareCommands(out io.Writer, program, bundle string, text int64, many string) error {
	gzip := &contestant{name: "gzip -dc", args: []string{"gzip", "-dc", bundle}}
	all := &contestant{name: "analyze", args: []string{program, "analyze", bundle}}
	one := &contestant{name: "analyze, GOMAXPROCS=1", args: all.args, env: []string{"GOMAXPROCS=1"}}
	hundreds := &contestant{name: fmt.Sprintf("analyze, %d rules", manyRules), args: append(all.args, "--rules", many)}
	contestants := []*contestant{gzip, all, one, hundreds}
	if err := runInTurns(o.runs, contestants...); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d MB of an ordinary day, medians\n", text/mega)
	for _, c := range contestants {
		seconds := median(c.times).Seconds()
		fmt.Fprintf(out, "%-22s %6.3f s  %5.0f MB/s  ratio %.2f  CPU %6.3f s  peak RSS %d MB\n",
			c.name, seconds, float64(text)/mega/seconds, c.timesAs(gzip), median(c.cpu).Seconds(), c.rss/1e6)
	}
	fmt.Fprintf(out, "%d rules take %.2f times as long as those that ship, and %.2f times the CPU\n",
		manyRules, hundreds.timesAs(all), median(hundreds.cpu).Seconds()/median(all.cpu).Seconds())
	return errors.Join(
		checkMost("node: ratio analyze/gzip", all.timesAs(gzip), o.most),
		checkMost(fmt.Sprintf("node: ratio of %d rules to those that ship", manyRules), hundreds.timesAs(all), o.mostRules),
	)
}

// measureTraces measures how fast strace output is read, by both commands that read it.
func (o *options) measureTraces(out io.Writer, program, trace string) error {
	defer os.Remove(trace)
	if err := writeTrace(trace, o.trace*mega, o.seed); err != nil {
		return err
	}
	if err := checkCallFound(program, trace); err != nil {
		return err
	}
	all := []*contestant{
		{name: "syscalls", args: []string{program, "syscalls", trace}},
		{name: "analyze, strace alone", args: []string{program, "analyze", trace}},
	}
	if err := runInTurns(o.runs, all...); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d MB of strace output, medians\n", o.trace)
	for _, c := range all {
		rate := float64(o.trace) / median(c.times).Seconds()
		fmt.Fprintf(out, "%-22s %6.3f s  %5.0f MB/s  peak RSS %d MB\n", c.name, median(c.times).Seconds(), rate, c.rss/1e6)
		if rate < o.rate {
			return fmt.Errorf("%s reads %.0f MB/s, less than %.0f", c.name, rate, o.rate)
		}
	}
	return nil
}

// checkCallFound checks that the trace was understood: its one hung call is the first of the
// slowest.
func checkCallFound(program, trace string) error {
	report, err := exec.Command(program, "syscalls", trace).Output()
	if err != nil {
		return fmt.Errorf("syscalls: %w", err)
	}
	_, slowest, _ := strings.Cut(string(report), "SLOWEST CALLS")
	_, slowest, _ = strings.Cut(slowest, "\n")
	if first, _, _ := strings.Cut(slowest, "\n"); !strings.Contains(first, " in "+hungCall+",") {
		return fmt.Errorf("the slowest call is not %s but %q", hungCall, first)
	}
	return nil
}
