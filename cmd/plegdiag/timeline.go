package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

type timelineOptions struct {
	evidence     evidence
	output       choice
	since, until string
	all          bool
	components   []string
	kinds        []string
	container    string
	pod          string
	grep         string
	lines        bool
	linesGiven   bool
	verbose      bool
	color        choice
}

func newTimeline(s streams) *cobra.Command {
	o := timelineOptions{color: newColorChoice()}
	for _, f := range report.TimelineFormats {
		o.output.of = append(o.output.of, f.Name)
	}
	o.output.text = o.output.of[0]
	cmd := &cobra.Command{
		Use:   "timeline INPUT...",
		Short: "Print what happened on the node, all components in one order",
		Long: `Read everything that was collected from a node and print what its components did, in one order and in UTC.
Without --since, --until or --all the window is the stall and its root cause, with two minutes around it.

Each entry is an event, made of the lines that show it. --lines adds all other lines of the logs, of every component and
program; --container, --pod and --grep add the lines that match them.

A star marks the root's chain of evidence, "~" a time of which a part was inferred, "≥" a duration of which
the begin or the end was not seen. timesketch is JSON lines for an import into Timesketch, perfetto a trace for
https://ui.perfetto.dev; both leave out events without a time.`,
		Example: `  plegdiag timeline node-1.tgz
  plegdiag timeline node-1.tgz --container 40585f73
  plegdiag timeline node-1.tgz --lines --component kubelet,containerd
  plegdiag timeline node-1.tgz --since 09:30 --until 09:36 --component kubelet,containerd
  plegdiag timeline node-1.tgz --all -o perfetto > node-1.perfetto.json`,
		Args: checkArguments(1, math.MaxInt, "an input: a bundle, a directory, a file or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.evidence.inputs = args
			o.linesGiven = cmd.Flags().Changed("lines")
			return printTimeline(cmd.Context(), &o, s)
		},
	}
	bindChoice(cmd, &o.output, "output", "o", "what goes to stdout")
	flags := cmd.Flags()
	flags.StringVar(&o.since, "since", "", "from `TIME` on: RFC 3339, 15:04[:05] in UTC on the day of the incident, 2h before the end of the evidence, @epoch")
	flags.StringVar(&o.until, "until", "", "up to `TIME`, written as for --since")
	flags.BoolVar(&o.all, "all", false, "all events, also those without a time")
	flags.StringSliceVar(&o.components, "component", nil, "only these `COMPONENTS`, as kubelet,containerd")
	flags.StringSliceVar(&o.kinds, "kind", nil, "only these `KINDS` of events, or groups of them, as cri.call,syscall")
	flags.StringVar(&o.container, "container", "", "follow the container or sandbox `ID`, or what begins with it, through all files")
	flags.StringVar(&o.pod, "pod", "", "follow the `POD` (namespace/name, name or uid) with its sandboxes and containers through all files")
	flags.StringVar(&o.grep, "grep", "", "only events and lines that match the `REGEXP`")
	flags.BoolVar(&o.lines, "lines", false, "all lines of the logs, also those that are no events (default with --container, --pod and --grep)")
	o.evidence.bindFlags(cmd)
	bindRules(cmd, &o.evidence.rules)
	bindColor(cmd, &o.color)
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "text: show units one by one that have been in one state since the same moment (default with --kind, --container, --pod and --grep)")
	return cmd
}

func printTimeline(ctx context.Context, o *timelineOptions, s streams) error {
	filter := timeline.Filter{Components: o.components, Kinds: o.kinds, Container: strings.ToLower(o.container), Pod: o.pod}
	if o.grep != "" {
		var err error
		if filter.Grep, err = regexp.Compile(o.grep); err != nil {
			return usageError("a regular expression of Go (RE2); --grep '\\bumount2\\b'", "--grep %q: %w", o.grep, err)
		}
	}
	if o.all && (o.since != "" || o.until != "") {
		return usageError("use either --all, or --since and --until", "--all does not go together with --since or --until")
	}
	options, err := o.evidence.incidentOptions(s)
	if err != nil {
		return err
	}
	inc, err := loadIncident(ctx, options, s)
	if err != nil && !errors.Is(err, incident.ErrNothing) {
		return err
	}
	if err != nil {
		warnOfLoss(s.err, inc)
		return nothingToReadError(err)
	}
	if err := o.setWindow(&filter, inc); err != nil {
		return err
	}
	selection := &report.Selection{Incident: inc, Events: inc.Timeline.Select(filter)}
	warnOfLoss(s.err, inc)
	if err := o.addLines(ctx, options.Inputs, filter, selection, s); err != nil {
		return err
	}
	if len(selection.Events) == 0 {
		warn(s.err, "hint: no event matches; --all shows all events, --lines also lines that are no events")
	}
	format, _ := report.TimelineByName(o.output.text)
	look := s.showOptions(o.color, o.verbose || o.choosesEvents())
	return format.Render(s.out, selection, look)
}

// choosesEvents says whether certain events are asked for, and not all of a time.
func (o *timelineOptions) choosesEvents() bool {
	return len(o.kinds) > 0 || o.container != "" || o.pod != "" || o.grep != ""
}

// wantsLines says that lines without an event are asked for.
func (o *timelineOptions) wantsLines() bool {
	if len(o.kinds) > 0 && !slices.Contains(o.kinds, string(event.KindLogLine)) {
		return false
	}
	if o.linesGiven {
		return o.lines
	}
	return o.container != "" || o.pod != "" || o.grep != ""
}

// addLines adds the lines of the logs to a selection.
func (o *timelineOptions) addLines(ctx context.Context, in incident.Inputs, f timeline.Filter, sel *report.Selection, s streams) error {
	if !o.wantsLines() {
		return nil
	}
	if o.linesGiven && slices.Contains(in.Paths, "-") {
		warn(s.err, "standard input can be read only once: of its lines only those of events are shown")
	}
	lines, err := incident.ReadLines(ctx, in, sel.Incident, f)
	if err != nil {
		return err
	}
	if lines.Left > 0 {
		warn(s.err, fmt.Sprintf("%d later lines of the window are left out; --since and --until narrow it", lines.Left))
	}
	sel.Events = append(sel.Events, lines.Events...)
	slices.SortStableFunc(sel.Events, func(a, b *event.Event) int { return event.Compare(*a, *b) })
	return nil
}

// aroundStall is what the default window shows before and after the stall: a call of the kubelet
// may take that long.
const aroundStall = 2 * time.Minute

// setWindow sets the window of the filter.
func (o *timelineOptions) setWindow(f *timeline.Filter, inc *incident.Incident) error {
	if o.all {
		return nil
	}
	if o.since == "" && o.until == "" {
		if w := inc.Window; !w.IsZero() {
			f.Since, f.Until = w.Start.Add(-aroundStall), w.End.Add(aroundStall)
		}
		return nil
	}
	var err error
	if f.Since, err = parseMoment("--since", o.since, inc); err != nil {
		return err
	}
	if f.Until, err = parseMoment("--until", o.until, inc); err != nil {
		return err
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && f.Until.Before(f.Since) {
		return usageError("", "--until %s lies before --since %s", o.until, o.since)
	}
	return nil
}

// parseMoment reads a time of --since or --until; an empty text is the zero time.
func parseMoment(flag, text string, inc *incident.Incident) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if epoch, ok := strings.CutPrefix(text, "@"); ok {
		if seconds, err := strconv.ParseFloat(epoch, 64); err == nil && math.Abs(seconds) < 1e11 {
			return time.UnixMicro(int64(seconds * 1e6)).UTC(), nil
		}
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	for _, layout := range []string{"15:04", time.TimeOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return timeOnDay(inc.Window.Start, t), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return lastMoment(inc).Add(-ago), nil
	}
	return time.Time{}, usageError("as 2025-11-08T09:30:00Z, 09:30, 2h or @1762594200", "%s %q is not a time", flag, text)
}

func timeOnDay(day, face time.Time) time.Time {
	y, m, d := day.UTC().Date()
	return time.Date(y, m, d, face.Hour(), face.Minute(), face.Second(), face.Nanosecond(), time.UTC)
}

// lastMoment is the end of the evidence.
func lastMoment(inc *incident.Incident) time.Time {
	end := inc.Window.End
	for _, c := range inc.Timeline.Coverage {
		if c.End.After(end) {
			end = c.End
		}
	}
	return end
}

// nothingToReadError is the failure of a command that found no line that it could read.
func nothingToReadError(err error) error {
	return &failure{status: statusFailed, err: err, hint: "plegdiag reads logs, goroutine dumps and strace output: as text, compressed or in an archive"}
}
