package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

type timelineOptions struct {
	evidence     cli.Evidence
	output       cli.Choice
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
	color        cli.Choice
}

func newTimeline(s cli.Streams) *cobra.Command {
	o := timelineOptions{
		output: cli.NewFormatChoice(report.TimelineFormats, func(f report.TimelineFormat) string { return f.Name }),
		color:  cli.NewColorChoice(),
	}
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
		Args: cli.CheckArguments(1, math.MaxInt, "an input: a bundle, a directory, a file or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.evidence.Inputs = args
			o.linesGiven = cmd.Flags().Changed("lines")
			return printTimeline(cmd.Context(), &o, s)
		},
	}
	cli.BindOutput(cmd, &o.output)
	flags := cmd.Flags()
	cli.BindMoments(cmd, &o.since, &o.until)
	flags.BoolVar(&o.all, "all", false, "all events, also those without a time")
	flags.StringSliceVar(&o.components, "component", nil, "only these `COMPONENTS`, as kubelet,containerd")
	flags.StringSliceVar(&o.kinds, "kind", nil, "only these `KINDS` of events, or groups of them, as cri.call,syscall")
	flags.StringVar(&o.container, "container", "", "follow the container or sandbox `ID`, or what begins with it, through all files")
	flags.StringVar(&o.pod, "pod", "", "follow the `POD` (namespace/name, name or uid) with its sandboxes and containers through all files")
	flags.StringVar(&o.grep, "grep", "", "only events and lines that match the `REGEXP`")
	flags.BoolVar(&o.lines, "lines", false, "all lines of the logs, also those that are no events (default with --container, --pod and --grep)")
	o.evidence.BindFlags(cmd)
	cli.BindRules(cmd, &o.evidence.Rules)
	cli.BindColor(cmd, &o.color)
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "text: show units one by one that have been in one state since the same moment (default with --kind, --container, --pod and --grep)")
	return cmd
}

func printTimeline(ctx context.Context, o *timelineOptions, s cli.Streams) error {
	filter := timeline.Filter{Components: o.components, Kinds: o.kinds, Container: strings.ToLower(o.container), Pod: o.pod}
	if o.grep != "" {
		var err error
		if filter.Grep, err = regexp.Compile(o.grep); err != nil {
			return cli.UsageError("a regular expression of Go (RE2); --grep '\\bumount2\\b'", "--grep %q: %w", o.grep, err)
		}
	}
	if o.all && (o.since != "" || o.until != "") {
		return cli.UsageError("use either --all, or --since and --until", "--all does not go together with --since or --until")
	}
	for _, kind := range o.kinds {
		if len(cli.KindsNamed(kind)) == 0 {
			return cli.UsageError(cli.SuggestNames(cli.KindNames(), kind, "plegdiag rules events"), "--kind: unknown kind %q", kind)
		}
	}
	options, err := o.evidence.IncidentOptions(s)
	if err != nil {
		return err
	}
	inc, err := cli.LoadIncident(ctx, options, s)
	if err != nil {
		return err
	}
	if inc.Unread {
		cli.WarnOfLoss(s.Err, inc)
		return nothingToReadError()
	}
	if err := o.setWindow(&filter, inc); err != nil {
		return err
	}
	selection := &report.Selection{Incident: inc, Events: inc.Timeline.Select(filter)}
	cli.WarnOfLoss(s.Err, inc)
	if err := o.addLines(ctx, options.Inputs, filter, selection, s); err != nil {
		return err
	}
	o.warnOfComponents(selection, s)
	if len(selection.Events) == 0 {
		cli.Warn(s.Err, "hint: no event matches; --all shows all events, --lines also lines that are no events")
	}
	tellUndated(selection, filter, s)
	format := report.TimelineFormats[o.output.Index()]
	look := s.ShowOptions(o.color, o.verbose || o.choosesEvents())
	return format.Render(s.Out, selection, look)
}

// tellUndated says how many events a window leaves out because nothing shows when they were.
func tellUndated(sel *report.Selection, filter timeline.Filter, s cli.Streams) {
	if filter.Since.IsZero() && filter.Until.IsZero() || len(sel.Events) == 0 {
		return
	}
	filter.Since, filter.Until = time.Time{}, time.Time{}
	undated := 0
	for _, e := range sel.Incident.Timeline.Select(filter) {
		if e.Start.IsZero() && e.Kind != event.KindFact {
			undated++
		}
	}
	if undated > 0 {
		cli.Warn(s.Err, fmt.Sprintf("hint: events without a time are not shown (%d); --all shows them", undated))
	}
}

// warnOfComponents says which of the components that are asked for nothing is of, and which names
// are near.
func (o *timelineOptions) warnOfComponents(sel *report.Selection, s cli.Streams) {
	of := map[string]bool{}
	for _, e := range sel.Incident.Timeline.Events {
		of[e.Component] = true
	}
	for _, e := range sel.Events { // lines may be of any program
		of[e.Component] = true
	}
	delete(of, "")
	names := slices.Sorted(maps.Keys(of))
	for _, component := range o.components {
		if !of[component] {
			hint := cli.SuggestNames(names, component, "plegdiag timeline --all")
			cli.Warn(s.Err, fmt.Sprintf("the inputs hold nothing of a component %q; %s", component, hint))
		}
	}
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
func (o *timelineOptions) addLines(
	ctx context.Context, in incident.Inputs, f timeline.Filter, sel *report.Selection, s cli.Streams,
) error {
	if !o.wantsLines() {
		return nil
	}
	if o.linesGiven && slices.Contains(in.Paths, "-") {
		cli.Warn(s.Err, "standard input can be read only once: of its lines only those of events are shown")
	}
	lines, err := incident.ReadLines(ctx, in, sel.Incident, f)
	if err != nil {
		return err
	}
	if lines.Left > 0 {
		cli.Warn(s.Err, fmt.Sprintf("%d later lines of the window are left out; --since and --until narrow it", lines.Left))
	}
	sel.Events = append(sel.Events, lines.Events...)
	slices.SortStableFunc(sel.Events, event.Compare)
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
	w, err := cli.ParseWindow(o.since, o.until, inc)
	f.Since, f.Until = w.Start, w.End
	return err
}

// nothingToReadError is the failure of a command that found no line that it could read.
func nothingToReadError() error {
	return &cli.Failure{
		Status: cli.StatusFailed, Err: incident.ErrNothing,
		Hint: "plegdiag reads logs, goroutine dumps and strace output: as text, compressed or in an archive",
	}
}
