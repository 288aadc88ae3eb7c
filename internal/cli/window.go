package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Window is the flags that choose what time is analysed.
type Window struct {
	since, until string
	incident     int // by its number in the report; 0 for all
}

// BindMoments makes since and until flags of cmd.
func BindMoments(cmd *cobra.Command, since, until *string) {
	flags := cmd.Flags()
	flags.StringVar(since, "since", "", "from `TIME` on: RFC 3339, 2025-11-08 09:30 [+08:00], 15:04[:05] on the day of the incident, 2h before the end"+
		" of the evidence, @epoch; in UTC where it names no zone")
	flags.StringVar(until, "until", "", "up to `TIME`, written as for --since")
}

// BindFlags makes them flags of cmd.
func (w *Window) BindFlags(cmd *cobra.Command) {
	BindMoments(cmd, &w.since, &w.until)
	cmd.Flags().IntVar(&w.incident, "incident", 0, "analyse only the incident of that `NUMBER`, where the inputs show several: 1 is the first of incident.episodes")
}

// Chooser is what chooses the window once the evidence is read; nil without any of the flags.
func (w *Window) Chooser() (func(*incident.Incident) (timeline.Window, error), error) {
	byTime := w.since != "" || w.until != ""
	switch {
	case w.incident < 0:
		return nil, UsageError("incidents are counted from 1", "--incident %d is not the number of an incident", w.incident)
	case w.incident > 0 && byTime:
		return nil, UsageError("use either --incident, or --since and --until", "--incident does not go together with --since or --until")
	case w.incident > 0:
		return w.chooseIncident, nil
	case byTime:
		return w.chooseTime, nil
	}
	return nil, nil
}

func (w *Window) chooseIncident(inc *incident.Incident) (timeline.Window, error) {
	chosen, err := inc.EpisodeWindow(w.incident)
	if err != nil {
		var all []string
		for i, e := range inc.Result.Episodes {
			all = append(all, fmt.Sprintf("%d: %s", i+1, show.Window(e.Window)))
		}
		hint := "without --incident all of the evidence is analysed"
		if len(all) > 0 {
			hint = "the incidents are " + show.JoinFirst(all, 9, "; ")
		}
		return chosen, UsageError(hint, "--incident %d: %w", w.incident, err)
	}
	return chosen, nil
}

func (w *Window) chooseTime(inc *incident.Incident) (timeline.Window, error) {
	chosen, err := ParseWindow(w.since, w.until, inc)
	if err != nil {
		return chosen, err
	}
	spanned := spanOfEvidence(inc)
	if spanned.IsZero() {
		return chosen, UsageError("leave --since and --until out", "the evidence has no times, by which a window could be chosen")
	}
	if !chosen.End.IsZero() && chosen.End.Before(spanned.Start) || chosen.Start.After(spanned.End) {
		return chosen, UsageError("the evidence spans "+show.Window(spanned), "there is nothing from that time in the inputs")
	}
	return chosen, nil
}

// spanOfEvidence is the time from which there are lines; without any, that of what objects tell.
func spanOfEvidence(inc *incident.Incident) (w timeline.Window) {
	for _, c := range inc.Timeline.Coverage {
		w = w.Union(timeline.Window{Start: c.Start, End: c.End})
	}
	if !w.IsZero() {
		return w
	}
	for _, e := range inc.Timeline.Events {
		if e.Kind != event.KindFact && e.Start.Known {
			w = w.Union(timeline.Window{Start: e.Start.T, End: e.Last().T})
		}
	}
	return w
}

// ParseWindow reads --since and --until. An empty text is no limit.
func ParseWindow(since, until string, inc *incident.Incident) (w timeline.Window, err error) {
	if w.Start, err = parseMoment("--since", since, inc); err != nil {
		return w, err
	}
	if w.End, err = parseMoment("--until", until, inc); err != nil {
		return w, err
	}
	if !w.Start.IsZero() && !w.End.IsZero() && w.End.Before(w.Start) {
		return w, UsageError("--since is the earlier one of the two", "--until %s lies before --since %s", until, since)
	}
	return w, nil
}

// momentLayouts are the ways to write a whole moment, faceLayouts those to write a time of day. One
// without a zone is in UTC.
var (
	momentLayouts = withZones(time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly)
	faceLayouts   = withZones("15:04", time.TimeOnly)
)

// withZones adds the layouts with an offset behind them.
func withZones(layouts ...string) (all []string) {
	for _, layout := range layouts {
		all = append(all, layout, layout+"Z07:00", layout+" Z07:00", layout+" -0700")
	}
	return all
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
	for _, layout := range momentLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	for _, layout := range faceLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return timeOnDay(inc.Window.Start, t), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return lastMoment(inc).Add(-ago), nil
	}
	return time.Time{}, UsageError("as 2025-11-08T09:30:00Z, 09:30, 2h or @1762594200", "%s %q is not a time", flag, text)
}

// timeOnDay is a time of day on the day of a moment, both in the zone of the first.
func timeOnDay(day, face time.Time) time.Time {
	y, m, d := day.In(face.Location()).Date()
	return time.Date(y, m, d, face.Hour(), face.Minute(), face.Second(), face.Nanosecond(), face.Location()).UTC()
}

// lastMoment is the end of the evidence.
func lastMoment(inc *incident.Incident) time.Time {
	return inc.Window.Union(spanOfEvidence(inc)).End
}
