// Bench measures plegdiag from outside: it generates a bundle that looks like a busy node with one
// incident in it, analyses it, and compares the time with what gzip needs to merely inflate it.
// Both run in turns on the same machine, so that the ratio holds where seconds do not. It compares
// a catalogue of two hundred rules with one of forty. Then it generates the strace output of a
// container runtime, and measures how many MB of it are read in a second, by syscalls and by
// analyze.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.Int64Var(&o.size, "mb", 300, "text in the bundle, in MB")
	flag.Uint64Var(&o.seed, "seed", 1, "of the generator")
	flag.IntVar(&o.runs, "runs", 5, "how often each command runs")
	flag.Float64Var(&o.most, "max", 1.5, "the largest ratio analyze/gzip that passes")
	flag.Float64Var(&o.mostRules, "max-rules", 1.25, "the largest ratio of 200 rules to 40 that passes")
	flag.StringVar(&o.program, "plegdiag", "", "`program` to measure; built from this repository when empty")
	flag.StringVar(&o.keep, "keep", "", "write the bundle to `FILE` and do nothing else")
	flag.Int64Var(&o.trace, "trace", 500, "size of the strace output, in MB")
	flag.Float64Var(&o.rate, "rate", 300, "the least MB/s of strace output that passes")
	flag.StringVar(&o.keepTrace, "keep-trace", "", "write the strace output to `FILE` and do nothing else")
	flag.Parse()
	if err := o.runBenchmark(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	size, trace     int64
	seed            uint64
	runs            int
	most, rate      float64
	mostRules       float64
	program         string
	keep, keepTrace string
}

func (o *options) runBenchmark(out io.Writer) error {
	if o.keep != "" {
		return writeBundle(o.keep, o.size*1e6, o.seed)
	}
	if o.keepTrace != "" {
		return writeTrace(o.keepTrace, o.trace*1e6, o.seed)
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
	bundle := filepath.Join(dir, "bundle.tgz")
	fmt.Fprintf(out, "generating %d MB of text (seed %d)\n", o.size, o.seed)
	if err := writeBundle(bundle, o.size*1e6, o.seed); err != nil {
		return err
	}
	if err := checkIncidentFound(program, bundle); err != nil {
		return err
	}
	few, many := filepath.Join(dir, "few"), filepath.Join(dir, "many")
	if err := errors.Join(writeRules(program, few, fewRules), writeRules(program, many, manyRules)); err != nil {
		return err
	}
	if err := o.compareCommands(out, program, bundle, few, many); err != nil {
		return err
	}
	if err := os.Remove(bundle); err != nil {
		return err
	}
	return o.measureTraces(out, program, filepath.Join(dir, "shim.strace"))
}

// checkIncidentFound checks that the report names the generated incident: only then is the measured
// time that of an analysis.
func checkIncidentFound(program, bundle string) error {
	report, err := exec.Command(program, "analyze", "-o", "json", bundle).Output()
	if err != nil {
		return fmt.Errorf("analyze: %w", err)
	}
	_, findings, _ := strings.Cut(string(report), `"findings"`)
	findings, _, _ = strings.Cut(findings, `"ruled_out"`)
	if !strings.Contains(findings, incidentRule) {
		return fmt.Errorf("the report does not name %s, which the bundle holds", incidentRule)
	}
	return nil
}

// contestant is one command that is timed.
type contestant struct {
	name  string
	args  []string
	env   []string
	times []time.Duration
	// user and system; says more than the clock where others share the machine
	cpu []time.Duration
	rss int64 // the largest of all runs, in bytes
}

func (o *options) compareCommands(out io.Writer, program, bundle, few, many string) error {
	gzip := &contestant{name: "gzip -dc", args: []string{"gzip", "-dc", bundle}}
	all := &contestant{name: "analyze", args: []string{program, "analyze", bundle}}
	one := &contestant{name: "analyze, GOMAXPROCS=1", args: all.args, env: []string{"GOMAXPROCS=1"}}
	forty := &contestant{name: fmt.Sprintf("analyze, %d rules", fewRules), args: append(all.args, "--rules", few)}
	hundreds := &contestant{name: fmt.Sprintf("analyze, %d rules", manyRules), args: append(all.args, "--rules", many)}
	contestants := []*contestant{gzip, all, one, forty, hundreds}
	for range o.runs {
		for _, c := range contestants {
			if err := c.runOnce(); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(out, "%s/%s, %d CPUs, median of %d runs\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.runs)
	for _, c := range contestants {
		seconds := median(c.times).Seconds()
		fmt.Fprintf(out, "%-22s %6.3f s  %5.0f MB/s  ratio %.2f  CPU %6.3f s  peak RSS %d MB\n",
			c.name, seconds, float64(o.size)/seconds, c.timesAs(gzip), median(c.cpu).Seconds(), c.rss/1e6)
	}
	fmt.Fprintf(out, "%d rules take %.2f times as long as %d, and %.2f times the CPU\n",
		manyRules, hundreds.timesAs(forty), fewRules, median(hundreds.cpu).Seconds()/median(forty.cpu).Seconds())
	return errors.Join(
		checkRatio("analyze/gzip", all.timesAs(gzip), o.most),
		checkRatio(fmt.Sprintf("%d rules/%d rules", manyRules, fewRules), hundreds.timesAs(forty), o.mostRules),
	)
}

// checkRatio fails when a ratio is above its limit.
func checkRatio(name string, ratio, most float64) error {
	if ratio > most {
		return fmt.Errorf("ratio %s %.2f is above %.2f", name, ratio, most)
	}
	return nil
}

// timesAs is how many times as long this command takes as another one.
func (c *contestant) timesAs(other *contestant) float64 {
	return median(c.times).Seconds() / median(other.times).Seconds()
}

// measureTraces measures how fast strace output is read, by both commands that read it.
func (o *options) measureTraces(out io.Writer, program, trace string) error {
	fmt.Fprintf(out, "generating %d MB of strace output (seed %d)\n", o.trace, o.seed)
	if err := writeTrace(trace, o.trace*1e6, o.seed); err != nil {
		return err
	}
	if err := checkCallFound(program, trace); err != nil {
		return err
	}
	all := []*contestant{
		{name: "syscalls", args: []string{program, "syscalls", trace}},
		{name: "analyze, strace alone", args: []string{program, "analyze", trace}},
	}
	for range o.runs {
		for _, c := range all {
			if err := c.runOnce(); err != nil {
				return err
			}
		}
	}
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

// runOnce runs the command and discards its output.
func (c *contestant) runOnce() error {
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stderr = nil
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	c.times = append(c.times, time.Since(start))
	c.cpu = append(c.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	// Linux counts the memory of the process that forked in, which is why this program stays small.
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.rss = max(c.rss, int64(usage.Maxrss)*1024)
	}
	return nil
}

func median(times []time.Duration) time.Duration {
	sorted := slices.SortedFunc(slices.Values(times), cmp.Compare[time.Duration])
	return sorted[len(sorted)/2]
}
