package comparison

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

func TestCompare(t *testing.T) {
	noon := time.Date(2025, 11, 8, 12, 0, 0, 0, time.UTC)
	call := func(seconds int, outcome string, open bool) event.Event {
		return event.Event{
			Kind: "cri.call", Start: event.At(noon), End: event.At(noon.Add(time.Duration(seconds) * time.Second)), Open: open,
			Fields: []event.Field{{Key: "method", Value: event.String("ListContainers")}, {Key: "outcome", Value: event.String(outcome)}},
		}
	}
	sick := &incident.Incident{
		Timeline: &timeline.Timeline{
			Coverage: []timeline.Coverage{
				{Source: "kubelet.log", Start: noon, End: noon.Add(12 * time.Hour)},
				{Source: "containerd.log", Start: noon.Add(-24 * time.Hour), End: noon.Add(12 * time.Hour)},
			},
			Stalls: []timeline.Stall{
				{Window: timeline.Window{Start: noon, End: noon.Add(4 * time.Minute)}},
				{Window: timeline.Window{Start: noon.Add(time.Hour), End: noon.Add(time.Hour + 6*time.Minute)}, Open: true},
			},
			Events: pointersTo(
				call(1, "ok", false), call(2, "ok", false), call(3, "failed", false), call(120, "", true),
				event.Event{Kind: "kubelet.cri-error", Fields: []event.Field{{Key: "method", Value: event.String("ExecSync")}, {Key: "deadline", Value: event.Bool(true)}}},
				event.Event{Kind: "kubelet.cri-error", Fields: []event.Field{{Key: "method", Value: event.String("ExecSync")}, {Key: "deadline", Value: event.Bool(false)}}},
			),
			Facts: map[string]timeline.Fact{"containerd.version": {Value: "1.6.20"}, "kernel.version": {Value: "5.10.1"}},
		},
		Result: story.Result{Findings: []story.Finding{{Finding: rules.Finding{Rule: "umount2-overlay-sync", Verdict: language.Likely}}, {Finding: rules.Finding{Rule: "umount2-overlay-sync", Verdict: language.Confirmed}}}},
	}
	well := &incident.Incident{Timeline: &timeline.Timeline{Facts: map[string]timeline.Fact{"containerd.version": {Value: "1.6.24"}, "kernel.version": {Value: "5.10.1"}}}}

	c := Compare(sick, well)
	require.Equal(t, []CallPair{{Method: "ListContainers", A: Calls{Count: 4, Failed: 1, Open: 1, Median: 2 * time.Second, P95: 2 * time.Minute, Max: 2 * time.Minute}}}, c.Calls)
	require.Equal(t, []ErrorPair{{Method: "ExecSync", A: 2, DeadlineA: 1}}, c.Errors)
	require.Equal(t, []FactPair{{"containerd.version", "1.6.20", "1.6.24"}}, c.Facts)
	require.Len(t, c.Findings, 1)
	require.Equal(t, language.Confirmed, c.Findings[0].A.Verdict)
	require.Nil(t, c.Findings[0].B)
	require.Equal(t, Unknown, c.Findings[0].Change(), "what B lacks is not lost")
	require.True(t, c.A.HasLog)
	require.False(t, c.B.HasLog)
	require.Equal(t, 12*time.Hour, c.A.Seen, "the kubelet's log tells the stalls, not containerd's")
	require.Equal(t, 10*time.Minute, c.A.Stalled)
	require.Equal(t, 6*time.Minute, c.A.Longest)
	require.True(t, c.A.Open)
	rate, ok := c.A.StallsPerDay()
	require.True(t, ok)
	require.InDelta(t, 4, rate, 1e-9)
	_, ok = c.B.StallsPerDay()
	require.False(t, ok)

	well.Result.NotEvaluable = []rules.Unanswered{{Rule: "umount2-overlay-sync", Why: "no strace"}}
	require.Equal(t, "no strace", Compare(sick, well).Findings[0].Unknown)
	well.Result.RuledOut = []rules.Dismissed{{Rule: "umount2-overlay-sync"}}
	require.Equal(t, Lost, func() Change { f := Compare(sick, well).Findings[0]; return f.Change() }())
	require.Equal(t, Gained, func() Change { f := Compare(well, sick).Findings[0]; return f.Change() }())

	back := Compare(well, sick)
	require.Equal(t, c.Calls[0].A, back.Calls[0].B)
	require.Empty(t, Compare(sick, sick).Facts)
}

// pointersTo are events as a timeline holds them: not copied.
func pointersTo(events ...event.Event) []*event.Event {
	all := make([]*event.Event, len(events))
	for i := range events {
		all[i] = &events[i]
	}
	return all
}
