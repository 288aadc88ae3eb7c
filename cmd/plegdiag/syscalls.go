package main

import (
	"context"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
	"github.com/plegdiag/plegdiag/internal/report/listing"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

type syscallsOptions struct {
	inputs  []string
	output  choice
	date    string
	tz      string
	verbose bool
	color   choice
}

func newSyscalls(s streams) *cobra.Command {
	o := syscallsOptions{
		output: choice{text: "text", of: []string{"text", "json"}},
		color:  choice{text: "auto", of: []string{"auto", "always", "never"}},
	}
	cmd := &cobra.Command{
		Use:   "syscalls FILE...",
		Short: "Read strace output: what was still blocked, what took long, what went over D-Bus",
		Long: `Read the output of strace and print the calls that had not returned when it ended, the slowest calls by what
they waited for, the D-Bus conversation with calls that got no answer, and the table that strace -c would print.

A FILE is a trace of strace 4.15 to 7.2 as -o or stderr carries it, with any of its options, a table of -c, a bundle or a
directory that holds some, or - for stdin. What -ff wrote into one file for each thread is read as one
trace. Which options it was written with is detected; what a missing one hides is said.

The age of an open call is a lower bound, written "≥". The waits of threads that have nothing to do
(futex, epoll_wait, nanosleep …) are counted apart: in most traces they are the longest calls.`,
		Example: `  plegdiag syscalls shim.strace
  plegdiag syscalls shim.strace -o json
  plegdiag syscalls shim.strace --date 2026-11-20 --tz Asia/Shanghai
  cat shim.strace | plegdiag syscalls --verbose -`,
		Args: arguments(1, math.MaxInt, "a file: a trace, a bundle, a directory or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.inputs = args
			return syscalls(cmd.Context(), &o, s)
		},
	}
	bindChoice(cmd, &o.output, "output", "o", "what goes to stdout")
	flags := cmd.Flags()
	flags.StringVar(&o.date, "date", "", "`DATE` of the first line of traces that have no date, as 2026-11-20; with a time of day, 2026-11-20T18:25:00, also for those with nothing but -r")
	flags.StringVar(&o.tz, "tz", "", "`ZONE` of those traces, as Asia/Shanghai or +08:00; with --date")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show every slow call and every message of D-Bus")
	bindChoice(cmd, &o.color, "color", "", "colour the text; auto also obeys NO_COLOR")
	return cmd
}

func syscalls(ctx context.Context, o *syscallsOptions, s streams) error {
	date, err := o.traceDate()
	if err != nil {
		return err
	}
	traces, err := readTraces(ctx, o.inputs, date, s)
	if err != nil {
		return err
	}
	if len(traces) == 0 {
		return &failure{
			status: statusFailed, err: errors.New("no strace output in the input"),
			hint: "strace -f -tt -T -yy -s 256 -o shim.strace -p PID writes one",
		}
	}
	look := show.Options{Version: version(), Verbose: o.verbose, Width: width(s.out), Renderer: renderer(s.out, o.color.text)}
	if o.output.text == "json" {
		return listing.SyscallsJSON(s.out, traces, look)
	}
	return listing.SyscallsText(s.out, traces, look)
}

// traceDate reads --date and --tz; nil without them.
func (o *syscallsOptions) traceDate() (*traces.Date, error) {
	zone, err := parseZone(o.tz)
	switch {
	case err != nil:
		return nil, err
	case o.date == "" && zone != nil:
		return nil, usage("a trace that has no date has no zone either: --date 2026-11-20 --tz +08:00", "--tz %s needs --date", o.tz)
	case o.date == "":
		return nil, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", time.DateTime} {
		if first, err := time.Parse(layout, o.date); err == nil && first.Year() >= 1970 {
			return &traces.Date{First: first, Zone: zone}, nil
		}
	}
	return nil, usage("as 2026-11-20, or 2026-11-20T18:25:00 for a trace with nothing but -r", "--date %q is not a date of a trace", o.date)
}

// readTraces reads all traces of the inputs, in the order of their first files. What strace -ff wrote into several files is one.
func readTraces(ctx context.Context, inputs []string, date *traces.Date, s streams) ([]*observe.Summary, error) {
	var all []*observe.Summary
	var parts []*traces.Part
	at := map[string]int{} // of the sets among all
	room := int64(traces.MaxHeldParts)
	err := eachFile(ctx, inputs, s, func(f bundle.File, in parse.Opened) error {
		switch in.Reader.(type) {
		case parse.Syscalls:
		case parse.Records:
			if !traces.HasCalls(in.Head) { // in the middle of a ticket, or of a journal
				return nil
			}
		default:
			return nil
		}
		part, ok := traces.NewPart(f.Path, in.Head)
		if ok && f.Stream {
			in.R, ok = part.Hold(in.R, &room)
		} else if ok {
			part.Open = parse.TextOpener(f.Path, f.Open)
		}
		if ok {
			if _, known := at[part.Set]; !known {
				at[part.Set] = len(all)
				all = append(all, nil)
			}
			parts = append(parts, part)
			return nil
		}
		trace, err := readTrace(f.Path, in, date)
		all = append(all, trace)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, set := range traces.Sets(parts) {
		all[at[set[0].Set]] = readSet(set, date)
		for _, p := range set {
			if p.Err != nil {
				warn(s.err, p.Path+": "+p.Err.Error())
			}
		}
	}
	return all, nil
}

// readTrace reads a trace. What was read before an error is valid.
func readTrace(name string, in parse.Opened, date *traces.Date) (*observe.Summary, error) {
	var stats lines.Stats
	sum := observe.NewSummary(name, traces.ReadForm(in.Head))
	err := summarize(sum, traces.Read(traces.Input{Input: lines.Input{Path: name, R: in.R, Stats: &stats}, Calls: sum.Filter(), Go: beside}), date)
	sum.Finish(stats)
	return sum, err
}

// beside starts a function that ends by itself.
func beside(f func()) { go f() }

// readSet reads what strace -ff wrote. Parts that could not be read to their end say so themselves.
func readSet(parts []*traces.Part, date *traces.Date) *observe.Summary {
	sum := observe.NewSummary(traces.SetName(parts), traces.SetForm(parts))
	err := summarize(sum, traces.Merge(parts, sum.Filter()), date)
	var stats lines.Stats
	for _, p := range parts {
		stats.Lines += p.Stats.Lines
		stats.Blank += p.Stats.Blank
		sum.Files = append(sum.Files, p.Path)
	}
	if err != nil { // Merge keeps those of its parts
		parts[0].Err = err
	}
	sum.Finish(stats)
	return sum
}

func summarize(sum *observe.Summary, calls iter.Seq2[*traces.Syscall, error], date *traces.Date) error {
	if date != nil {
		calls = traces.WithDate(calls, *date)
	}
	for call, err := range calls {
		if skip, ok := errors.AsType[*event.Skip](err); ok {
			sum.Skip(skip)
			continue
		}
		if err != nil {
			return err
		}
		sum.Add(call)
	}
	return nil
}
