package main

import (
	"context"
	"errors"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/report"
)

type syscallsOptions struct {
	inputs  []string
	output  choice
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

A FILE is a trace of strace 4.15 to 7.2 as -o or stderr carries it, with any of its options, a bundle or a
directory that holds some, or - for stdin. Which options it was written with is detected; what a
missing one hides is said.

The age of an open call is a lower bound, written "≥". The waits of threads that have nothing to do
(futex, epoll_wait, nanosleep …) are counted apart: in most traces they are the longest calls.`,
		Example: `  plegdiag syscalls shim.strace
  plegdiag syscalls shim.strace -o json
  cat shim.strace | plegdiag syscalls --verbose -`,
		Args: arguments(1, math.MaxInt, "a file: a trace, a bundle, a directory or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.inputs = args
			return syscalls(cmd.Context(), &o, s)
		},
	}
	bindChoice(cmd, &o.output, "output", "o", "what goes to stdout")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show every slow call and every message of D-Bus")
	bindChoice(cmd, &o.color, "color", "", "colour the text; auto also obeys NO_COLOR")
	return cmd
}

func syscalls(ctx context.Context, o *syscallsOptions, s streams) error {
	var traces []*observe.Summary
	err := eachFile(ctx, o.inputs, s, func(f bundle.File, in parse.Opened) error {
		if in.Syscalls == nil {
			return nil
		}
		trace, err := readTrace(f.Path, in)
		traces = append(traces, trace)
		return err
	})
	if err != nil {
		return err
	}
	if len(traces) == 0 {
		return &failure{
			status: statusFailed, err: errors.New("no strace output in the input"),
			hint: "strace -f -tt -T -yy -s 256 -o shim.strace -p PID writes one",
		}
	}
	look := report.Options{Version: version(), Verbose: o.verbose, Width: width(s.out), Renderer: renderer(s.out, o.color.text)}
	if o.output.text == "json" {
		return report.SyscallsJSON(s.out, traces, look)
	}
	return report.SyscallsText(s.out, traces, look)
}

// readTrace reads a trace. What was read before an error is valid.
func readTrace(name string, in parse.Opened) (*observe.Summary, error) {
	var stats parse.Stats
	sum := observe.NewSummary(name, parse.ReadTraceForm(in.Head))
	thread := threadInName(name)
	var err error
	for call, broken := range in.Syscalls(parse.Input{Path: name, R: in.R, Calls: sum.Filter(), Stats: &stats}) {
		if skip, ok := errors.AsType[*event.Skip](broken); ok {
			sum.Skip(skip)
			continue
		}
		if err = broken; err != nil {
			break
		}
		if call.PID == 0 {
			call.PID = thread
		}
		sum.Add(call)
	}
	sum.Finish(&stats)
	return sum, err
}

// threadInName is the thread that -ff names its file after ("w.strace.114"); 0 for any other name.
func threadInName(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(path.Ext(name), "."))
	if err != nil || n < 0 {
		return 0
	}
	return n
}
