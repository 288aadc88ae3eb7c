package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// describe writes an interval as "start-end lines", with "…" at an end that was not seen.
func describe(e *event.Event) string {
	s := e.Start.T.Format("15:04:05")
	if e.Begun {
		s = "…" + s
	}
	if !e.End.IsZero() {
		s += "-" + e.End.T.Format("15:04:05")
	}
	if e.Open {
		s += "…"
	}
	if e.Count() > 1 {
		s += fmt.Sprintf(" %d×", e.Count())
	}
	for _, q := range e.Evidence {
		s += " " + q.Text
	}
	return s
}

func TestPair(t *testing.T) {
	const update = "cri/UpdateContainerResources/40585f73"
	begin := func(line int, clock string, change ...func(*event.Event)) event.Event {
		return ev("c.log", line, at("2025-11-08T"+clock+"Z"), append([]func(*event.Event){edge(update, event.Begin)}, change...)...)
	}
	end := func(line int, clock string, change ...func(*event.Event)) event.Event {
		return ev("c.log", line, at("2025-11-08T"+clock+"Z"), append([]func(*event.Event){edge(update, event.End)}, change...)...)
	}
	told := func(line int, clock string, d time.Duration) event.Event {
		return ev("c.log", line, at("2025-11-08T"+clock+"Z"), took(d), edge(update, event.Whole), with("cost", event.Duration(d)))
	}
	asked := func(line int, clock string) event.Event {
		return ev("c.log", line, at("2025-11-08T"+clock+"Z"), edge("scope/40585f73", event.Begin), foreign)
	}
	started := func(clock string, id string) event.Event {
		e := ev("a-systemd.log", 1, stamped("2025-11-08T"+clock+"Z", time.Second), edge("scope/"+id, event.End))
		return e
	}
	pid := func(n int) func(*event.Event) { return func(e *event.Event) { e.IDs.PID = n } }
	bootEdge := func(e event.Edge) func(int, string, func(*event.Event)) event.Event {
		return func(line int, clock string, change func(*event.Event)) event.Event {
			return ev("c.log", line, at("2025-11-08T"+clock+"Z"), edge("boot/containerd/2", e), change)
		}
	}
	boot, booted := bootEdge(event.Begin), bootEdge(event.End)
	deadline := with("deadline", event.Bool(true))
	state := func(e *event.Event) { e.Span.State = true }
	call := func(e *event.Event) { e.Kind = event.KindCRICall }
	for _, tc := range []struct {
		name   string
		events []event.Event
		want   []string
	}{
		{"begin and end", []event.Event{begin(1, "01:30:00"), end(2, "01:32:00")}, []string{"01:30:00-01:32:00 c.log:1 c.log:2"}},
		{"never returned: up to the last line", []event.Event{begin(1, "01:30:00")}, []string{"01:30:00-02:00:00… c.log:1"}},
		{
			"a state that is asked for again until it ends is one",
			[]event.Event{begin(1, "01:30:00", state, call), begin(2, "01:32:00", state, call), end(3, "01:33:00", state, call)},
			[]string{"01:30:00-01:33:00 2× c.log:1 c.log:3"},
		},
		{
			"a state of a process that has ended is not that of the next one",
			[]event.Event{begin(1, "01:30:00", state, call, pid(1)), begin(2, "01:40:00", state, call, pid(2)), end(3, "01:40:30", state, call, pid(2))},
			[]string{"01:30:00-01:30:00… c.log:1", "01:40:00-01:40:30 c.log:2 c.log:3"},
		},
		{
			"a process has ended when the next one starts, though that one calls nothing",
			[]event.Event{begin(1, "01:30:00", call, pid(1)), boot(2, "01:40:00", pid(2)), booted(3, "01:40:01", pid(2))},
			[]string{"01:30:00-01:30:00… c.log:1", "01:40:00-01:40:01 c.log:2 c.log:3"},
		},
		{
			"a call that began after the last start goes on",
			[]event.Event{boot(1, "01:20:00", pid(1)), booted(2, "01:20:01", pid(1)), begin(3, "01:30:00", call, pid(3))},
			[]string{"01:20:00-01:20:01 c.log:1 c.log:2", "01:30:00-02:00:00… c.log:3"},
		},
		{"its begin lies before the log", []event.Event{end(1, "01:30:00")}, []string{"…01:30:00-01:30:00 c.log:1"}},
		{
			"a state that is told more than once",
			[]event.Event{begin(1, "01:30:00", state), begin(2, "01:30:05", state), end(3, "01:31:00", state), end(4, "01:31:01", state), begin(5, "01:40:00", state)},
			[]string{"01:30:00-01:31:00 c.log:1 c.log:3", "01:40:00-02:00:00… c.log:5"},
		},
		{
			"calls that queue at a lock end in turn",
			[]event.Event{begin(1, "01:30:00"), begin(2, "01:31:00"), end(3, "01:32:00"), end(4, "01:33:00")},
			[]string{"01:30:00-01:32:00 c.log:1 c.log:3", "01:31:00-01:33:00 c.log:2 c.log:4"},
		},
		{
			"containerd was restarted",
			[]event.Event{begin(1, "01:30:00", pid(1)), end(2, "01:30:01", pid(1)), begin(3, "01:31:00", pid(1)), begin(4, "01:50:00", pid(2)), end(5, "01:50:01", pid(2))},
			[]string{"01:30:00-01:30:01 c.log:1 c.log:2", "01:31:00-01:31:00… c.log:3", "01:50:00-01:50:01 c.log:4 c.log:5"},
		},
		{"told twice", []event.Event{begin(1, "01:30:00"), told(2, "01:32:00", 119*time.Second), end(3, "01:32:00.4")}, []string{"01:30:00-01:32:00 c.log:1 c.log:3 c.log:2"}},
		{"told twice, without its begin", []event.Event{told(1, "01:32:00", 2*time.Minute), end(2, "01:32:00")}, []string{"01:30:00-01:32:00 c.log:2 c.log:1"}},
		{"told by its length instead of its end", []event.Event{begin(1, "01:30:00"), told(2, "01:32:00", 2*time.Minute)}, []string{"01:30:00-01:32:00 c.log:1 c.log:2"}},
		{
			"two calls, each told twice",
			[]event.Event{begin(1, "01:30:00"), told(2, "01:31:00", time.Minute), end(3, "01:31:00"), begin(4, "01:31:01"), told(5, "01:31:01.5", 500*time.Millisecond), end(6, "01:31:01.5")},
			[]string{"01:30:00-01:31:00 c.log:1 c.log:3 c.log:2", "01:31:01-01:31:01 c.log:4 c.log:6 c.log:5"},
		},
		{
			"a length of another time is another call",
			[]event.Event{begin(1, "01:30:00"), end(2, "01:32:00"), told(3, "01:40:00", time.Minute)},
			[]string{"01:30:00-01:32:00 c.log:1 c.log:2", "01:39:00-01:40:00 c.log:3"},
		},
		{
			"without times, in the order of the lines",
			[]event.Event{begin(1, "01:30:00", undated), end(2, "01:30:00", undated), begin(3, "01:30:00", undated)},
			[]string{"00:00:00 c.log:1 c.log:2", "00:00:00… c.log:3"},
		},
		{"systemd starts the scope", []event.Event{asked(1, "01:30:00"), started("01:31:20", "40585f73")}, []string{"01:30:00-01:31:20 c.log:1 a-systemd.log:1"}},
		{
			"in the same second, stamped to the second and in a file that comes first",
			[]event.Event{asked(1, "01:30:00.7"), started("01:30:00", "40585f73")},
			[]string{"01:30:00-01:30:00 c.log:1 a-systemd.log:1"},
		},
		{"no line of systemd at all: nobody would have said so", []event.Event{asked(1, "01:30:00")}, nil},
		{
			"systemd speaks of others only, up to its last line",
			[]event.Event{asked(1, "01:30:00"), started("01:20:00", "ffffff")},
			[]string{"…01:20:00-01:20:00 a-systemd.log:1", "01:30:00-01:45:00… c.log:1"},
		},
		{"systemd's log ends before", []event.Event{asked(1, "01:50:00"), started("01:20:00", "ffffff")}, []string{"…01:20:00-01:20:00 a-systemd.log:1"}},
		{
			"asked again after a failure: the wait counts from then",
			[]event.Event{asked(1, "01:30:00"), asked(2, "01:40:00"), started("01:40:01", "40585f73")},
			[]string{"01:40:00-01:40:01 c.log:2 a-systemd.log:1"},
		},
		{
			"the call that asked has failed",
			[]event.Event{begin(1, "01:30:00"), asked(1, "01:30:00"), end(2, "01:30:05"), started("01:20:00", "ffffff")},
			[]string{"…01:20:00-01:20:00 a-systemd.log:1", "01:30:00-01:30:05 c.log:1 c.log:2"},
		},
		{
			"the call that asked ran into its deadline",
			[]event.Event{begin(1, "01:30:00"), asked(1, "01:30:00"), end(2, "01:32:00", deadline), started("01:20:00", "ffffff")},
			[]string{"…01:20:00-01:20:00 a-systemd.log:1", "01:30:00-01:32:00 c.log:1 c.log:2", "01:30:00-01:32:00… c.log:1"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tl := Build(Input{Events: pointersTo(tc.events...), Sources: []*Source{
				covers("c.log", "containerd.log", "2025-11-08T01:00:00Z", "2025-11-08T02:00:00Z"),
				covers("a-systemd.log", "systemd.log", "2025-11-08T01:00:00Z", "2025-11-08T01:45:00Z"),
			}}, Options{})
			var got []string
			for i := range tl.Events {
				got = append(got, describe(tl.Events[i]))
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// A log that was asked for and had no line more was silent until then: a call was open for as long.
func TestPairInSilentLog(t *testing.T) {
	source := covers("c.log", "containerd.log", "2025-11-08T01:00:00Z", "2025-11-08T01:30:00Z")
	source.Until = at("2025-11-08T01:33:20Z").T
	begun := ev("c.log", 1, at("2025-11-08T01:30:00Z"), edge("cri/UpdateContainerResources/40585f73", event.Begin))
	tl := Build(Input{Events: pointersTo(begun), Sources: []*Source{source}}, Options{})
	require.Len(t, tl.Events, 1)
	require.Equal(t, "01:30:00-01:33:20… c.log:1", describe(tl.Events[0]))
}

func undated(e *event.Event) { e.Start = event.Time{} }

// What the end says wins, and both lines prove the interval.
func TestPairedFields(t *testing.T) {
	tl := Build(Input{Events: pointersTo(
		ev("c.log", 1, at("2025-11-08T01:30:00Z"), edge("cri/x", event.Begin), text("method", "Update"), text("outcome", "")),
		ev("c.log", 2, at("2025-11-08T01:32:00Z"), edge("cri/x", event.End), text("outcome", "failed"), func(e *event.Event) { e.Level = event.Error }),
	)}, Options{})
	require.Len(t, tl.Events, 1)
	require.Equal(t, "Update failed error", fmt.Sprint(tl.Events[0].FieldText("method"), " ", tl.Events[0].FieldText("outcome"), " ", tl.Events[0].Level))
	require.Len(t, tl.Events[0].Evidence, 2)
}
