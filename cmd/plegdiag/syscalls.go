package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
	"github.com/plegdiag/plegdiag/internal/report/listing"
)

type syscallsOptions struct {
	inputs  []string
	output  cli.Choice
	date    string
	tz      string
	verbose bool
	color   cli.Choice
}

func newSyscalls(s cli.Streams) *cobra.Command {
	o := syscallsOptions{
		output: cli.NewChoice("text", "json"),
		color:  cli.NewColorChoice(),
	}
	cmd := &cobra.Command{
		Use:   "syscalls FILE...",
		Short: "Read strace output: what was still blocked, what took long, what went over D-Bus",
		Long: `Read the output of strace and print the calls that had not returned when it ended, the slowest calls by what
they waited for, the D-Bus messages with calls that got no answer, and the table that strace -c would print.

A FILE is a trace of strace 4.15 to 7.2 as -o or stderr carries it, with any of its options, a table of -c, a bundle or a
directory that holds some, or - for stdin. The files that -ff writes, one for each thread, are read
as one trace. plegdiag detects the options of strace and says what a missing one hides.

The age of an open call is a lower bound, written "≥". Waits of idle threads (futex, epoll_wait,
nanosleep …) are counted separately: in most traces they are the longest calls.`,
		Example: `  plegdiag syscalls shim.strace
  plegdiag syscalls shim.strace -o json
  plegdiag syscalls shim.strace --date 2026-11-20 --tz Asia/Shanghai
  cat shim.strace | plegdiag syscalls --verbose -`,
		Args: cli.CheckArguments(1, math.MaxInt, "a file: a trace, a bundle, a directory or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.inputs = args
			return syscalls(cmd.Context(), &o, s)
		},
	}
	cli.BindOutput(cmd, &o.output)
	flags := cmd.Flags()
	flags.StringVar(&o.date, "date", "", "`DATE` of the first line of traces that have no date, as 2026-11-20;"+
		" with a time of day, 2026-11-20T18:25:00, also for those with nothing but -r")
	flags.StringVar(&o.tz, "tz", "", "`ZONE` of those traces, as Asia/Shanghai or +08:00; with --date")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show every slow call and every message of D-Bus")
	cli.BindColor(cmd, &o.color)
	return cmd
}

func syscalls(ctx context.Context, o *syscallsOptions, s cli.Streams) error {
	if err := cli.CheckInputs(o.inputs); err != nil {
		return err
	}
	date, err := o.traceDate()
	if err != nil {
		return err
	}
	found, files, err := incident.ReadTraces(ctx, s.Inputs(o.inputs), date)
	if err != nil {
		return err
	}
	cli.WarnOfErrors(s.Err, files)
	cli.WarnOfLinks(s.Err, files)
	if len(found) == 0 {
		return &cli.Failure{
			Status: cli.StatusFailed, Err: errors.New("no strace output in the input"),
			Hint: "strace -f -tt -T -yy -s 256 -o shim.strace -p PID writes one",
		}
	}
	look := s.ShowOptions(o.color, o.verbose)
	if o.output.Text == "json" {
		return listing.SyscallsJSON(s.Out, found, look)
	}
	return listing.SyscallsText(s.Out, found, look)
}

// traceDate reads --date and --tz; nil without them.
func (o *syscallsOptions) traceDate() (*traces.Date, error) {
	zone, err := cli.ParseZone("tz", o.tz)
	switch {
	case err != nil:
		return nil, err
	case o.date == "" && zone != nil:
		const hint = "a trace that has no date has no zone either: --date 2026-11-20 --tz +08:00"
		return nil, cli.UsageError(hint, "--tz %s needs --date", o.tz)
	case o.date == "":
		return nil, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", time.DateTime} {
		if first, err := time.Parse(layout, o.date); err == nil && first.Year() >= 1970 {
			return &traces.Date{First: first, Zone: zone}, nil
		}
	}
	const hint = "as 2026-11-20, or 2026-11-20T18:25:00 for a trace with nothing but -r"
	return nil, cli.UsageError(hint, "--date %q is not a date of a trace", o.date)
}
