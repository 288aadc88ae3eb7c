package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/observe/goroutines"
	"github.com/plegdiag/plegdiag/internal/report/listing"
	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/stackdump/profiles"
	"github.com/plegdiag/plegdiag/internal/stackdump/series"
)

type stacksOptions struct {
	inputs     []string
	output     cli.Choice
	pprof      string
	force      bool
	diff       bool
	all        bool
	state      string
	minWait    time.Duration
	function   string
	goroutines []uint
	color      cli.Choice
}

func newStacks(s cli.Streams) *cobra.Command {
	o := stacksOptions{
		output: cli.NewChoice("text", "json"),
		color:  cli.NewColorChoice(),
	}
	cmd := &cobra.Command{
		Use:   "stacks FILE...",
		Short: "Read goroutine dumps: who waits for which lock, who holds it, what the waits end in",
		Long: `Read goroutine dumps and print deadlocks, locks with their holders and waiters, what each chain of waits
ends in (a system call, the answer of another process, a child), and the goroutines grouped by stack.

A FILE is a dump of any Go program (SIGUSR1, SIGQUIT, SIGABRT, pprof with debug=0, 1 or 2), a log or journal
with dumps in it, a bundle, a directory, or - for stdin. Its content decides how it is read, not its name.

A holder is "observed" when its own frames show the lock's address, and "inferred" when weaker evidence
names it. Where the dump does not show the holder, plegdiag says so and does not guess. Waits are as the
runtime printed them, in whole minutes rounded down.`,
		Example: `  plegdiag stacks stacks.log
  plegdiag stacks node-1.tgz -o json
  plegdiag stacks stacks.log --min-wait 2m --func statusStorage
  plegdiag stacks stacks.log --pprof goroutines.pb.gz
  plegdiag stacks --diff stacks.log later/stacks.log
  cat stacks.log | plegdiag stacks -`,
		Args: cli.CheckArguments(1, math.MaxInt, "a file: a dump, a log, a bundle, a directory or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.inputs = args
			return stacks(cmd.Context(), &o, s)
		},
	}
	cli.BindOutput(cmd, &o.output)
	flags := cmd.Flags()
	flags.StringVar(&o.state, "state", "", "only goroutines whose state contains `TEXT`, as \"chan send\"")
	flags.DurationVar(&o.minWait, "min-wait", 0, "only goroutines that have waited at least that long, as 2m")
	flags.StringVar(&o.function, "func", "", "only goroutines with a function whose name contains `TEXT`")
	flags.UintSliceVar(&o.goroutines, "goroutine", nil, "only the goroutine `ID`; may be repeated")
	flags.BoolVar(&o.diff, "diff", false, "compare two or more dumps of one process: what did not move between them")
	flags.StringVar(&o.pprof, "pprof", "", "also write the goroutines to `FILE`, for go tool pprof; labels: state, wait, lock")
	flags.BoolVar(&o.force, "force", false, "overwrite the file of --pprof")
	flags.BoolVar(&o.all, "all", false, "show idle goroutines and whole stacks too")
	cli.BindColor(cmd, &o.color)
	return cmd
}

func stacks(ctx context.Context, o *stacksOptions, s cli.Streams) error {
	if err := cli.CheckInputs(o.inputs); err != nil {
		return err
	}
	profile := cli.OutputFile{Flag: "--pprof", Path: o.pprof, Force: o.force}
	unwritten, err := o.checkProfile(&profile, s)
	if err != nil {
		return err
	}
	dumps, files, err := incident.ReadDumps(ctx, s.Inputs(o.inputs))
	if err != nil {
		return err
	}
	cli.WarnOfErrors(s.Err, files)
	warnOfLogs(s.Err, dumps, files)
	cli.WarnOfLinks(s.Err, files)
	warnOfDumps(s.Err, dumps)
	if len(dumps) == 0 {
		return &cli.Failure{
			Status: cli.StatusFailed, Err: errors.New("no goroutine dump in the input"),
			Hint: "containerd and dockerd write one on kill -USR1: collect their stacks file, or their log",
		}
	}
	if !o.diff { // which takes them in the order of the inputs
		slices.SortStableFunc(dumps, wholeFirst)
	}
	shown := listing.Stacks{}
	for _, d := range dumps {
		row := listing.Dump{Dump: d, Graph: d.Graph(goroutines.Holds())}
		row.Shown, row.Filtered = o.filterGoroutines(d.Dump)
		shown.Dumps = append(shown.Dumps, row)
	}
	if o.diff {
		if shown.Diffs = compareDumps(dumps); shown.Diffs == nil {
			return &cli.Failure{
				Status: cli.StatusFailed, Err: fmt.Errorf("--diff: no two of %d dumps are of one process", len(dumps)),
				Hint: "take a second dump a minute after the first",
			}
		}
	}
	look := s.ShowOptions(o.color, o.all || shown.Dumps[0].Filtered)
	render := listing.StacksText
	if o.output.Text == "json" {
		render = listing.StacksJSON
	}
	if o.pprof != "" && unwritten == nil {
		unwritten = profile.WriteTarget(func(w io.Writer) error { return writePprof(w, shown.Dumps) })
	}
	return errors.Join(unwritten, render(s.Out, &shown, look))
}

// checkProfile checks the file of --pprof before the work begins. One that exists is refused at
// once, and the answer is printed all the same.
func (o *stacksOptions) checkProfile(profile *cli.OutputFile, s cli.Streams) (refused, err error) {
	if o.pprof == "" {
		return nil, nil
	}
	if err = profile.CheckTarget(o.inputs, s.In); errors.Is(err, fs.ErrExist) {
		cli.Warn(s.Err, o.pprof+" exists and is not overwritten: the goroutines are only listed (--force overwrites it)")
		return err, nil
	}
	return nil, err
}

// wholeFirst orders dumps of which a log lost lines behind the others.
func wholeFirst(a, b *incident.Dump) int {
	switch {
	case b.Cut() && !a.Cut():
		return -1
	case a.Cut() && !b.Cut():
		return 1
	}
	return 0
}

// warnOfLogs says what was lost of logs that show no dump: it may be why.
func warnOfLogs(w io.Writer, dumps []*incident.Dump, files []*incident.File) {
	shown := map[string]bool{}
	for _, d := range dumps {
		shown[d.File] = true
		for _, p := range slices.Concat(d.Copies, d.Fragments) {
			shown[p.File] = true
		}
	}
	for _, f := range files {
		if f.FirstSkip != "" && f.Format != "goroutines" && !shown[f.Path] {
			cli.Warn(w, f.FirstSkip)
		}
	}
}

// warnOfDumps says which dumps have lines that were not understood.
func warnOfDumps(w io.Writer, dumps []*incident.Dump) {
	for _, d := range dumps {
		if len(d.Skips) > 0 {
			cli.Warn(w, fmt.Sprintf("%d of %d lines not understood; first: %s", d.Skipped, d.Lines, d.Skips[0]))
		}
	}
}

// filterGoroutines is the indexes of the goroutines that all given filters let through.
func (o *stacksOptions) filterGoroutines(d *stackdump.Dump) (shown []int, filtered bool) {
	if o.state == "" && o.minWait == 0 && o.function == "" && len(o.goroutines) == 0 {
		return nil, false
	}
	for i := range d.Goroutines {
		if o.matchesGoroutine(&d.Goroutines[i]) {
			shown = append(shown, i)
		}
	}
	return shown, true
}

func (o *stacksOptions) matchesGoroutine(g *stackdump.Goroutine) bool {
	calls := func(f stackdump.Frame) bool { return strings.Contains(f.Func, o.function) }
	return strings.Contains(g.State, o.state) && g.Wait >= o.minWait &&
		(len(o.goroutines) == 0 || slices.Contains(o.goroutines, uint(g.ID))) &&
		(o.function == "" || slices.ContainsFunc(g.Frames, calls))
}

// compareDumps puts the dumps of each process side by side.
func compareDumps(dumps []*incident.Dump) []listing.Diff {
	var processes [][]int
	digests := make([]*series.Digest, len(dumps))
	for i := range dumps {
		digests[i] = series.NewDigest(dumps[i].Dump)
		n := slices.IndexFunc(processes, func(p []int) bool {
			return series.SameProcess(digests[p[len(p)-1]], digests[i])
		})
		if n < 0 {
			processes = append(processes, []int{i})
			continue
		}
		processes[n] = append(processes[n], i)
	}
	var diffs []listing.Diff
	for _, p := range processes {
		if len(p) < 2 {
			continue
		}
		dumpsOfOne := make([]*stackdump.Dump, len(p))
		for i, n := range p {
			dumpsOfOne[i] = dumps[n].Dump
		}
		diffs = append(diffs, listing.Diff{Program: dumps[p[0]].Program, Dumps: p, Diff: series.Compare(dumpsOfOne)})
	}
	return diffs
}

// writePprof writes the goroutines that are shown as a profile.
func writePprof(w io.Writer, dumps []listing.Dump) error {
	all := make([]profiles.Selection, len(dumps))
	for i := range dumps {
		d := &dumps[i]
		all[i] = profiles.Selection{Dump: d.Dump.Dump, Locks: d.Graph.Locks}
		if d.Filtered {
			all[i].Wants = func(g int) bool {
				_, shown := slices.BinarySearch(d.Shown, g)
				return shown
			}
		}
	}
	return profiles.Write(w, all)
}
