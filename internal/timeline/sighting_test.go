package timeline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
)

// sight is what a tool saw of thread 7 in a call, from and to in seconds after noon.
func sight(source string, from, to float64, change ...func(*event.Event)) event.Event {
	e := ev(source, 1, event.At(minutes(from/60)), kind("thread.sample"), text("name", "umount2"), text("state", "D"))
	e.Source, e.IDs.TID = source, 7
	if to > from {
		e.End = event.At(minutes(to / 60))
		e.Begun, e.Open = true, true
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

// shows sets a field.
func shows(key event.Key, value string) func(*event.Event) {
	return func(e *event.Event) { e.SetField(key.Text(value)) }
}

// traced makes a sight what strace saw, with both edges.
func traced(e *event.Event) {
	e.Kind, e.Begun, e.Open = "syscall", false, false
	e.Fields = slices.DeleteFunc(e.Fields, func(f event.Field) bool { return f.Key == "state" })
}

// everySecond makes a sight a run of a sampler.
func everySecond(e *event.Event) {
	e.Fields = append(e.Fields, event.Field{Key: "every", Value: event.Duration(time.Second)}, event.Field{Key: "most", Value: event.Duration(time.Hour)})
}

func TestJoinSightings(t *testing.T) {
	edges := func(open, begun bool) func(*event.Event) {
		return func(e *event.Event) { e.Open, e.Begun = open, begun }
	}
	other := func(tid int) func(*event.Event) { return func(e *event.Event) { e.IDs.TID = tid } }
	moment := func(e *event.Event) { e.End = event.Time{} }
	for _, tc := range []struct {
		name   string
		events []event.Event
		want   []string // source start..end, with what was not seen
	}{
		{"a run within a call", []event.Event{sight("strace", 0, 60, traced), sight("samples", 1, 59, everySecond)}, []string{"strace, samples 0..60"}},
		{"a trace that ends before the hang", []event.Event{sight("strace", 0, 10, traced, edges(true, false)), sight("samples", 1, 59)}, []string{"strace, samples 0..59 open"}},
		{"a trace that begins within it", []event.Event{sight("strace", 20, 60, traced, edges(false, true)), sight("samples", 1, 30)}, []string{"strace, samples 1..60 begun"}},
		{"two samplers", []event.Event{sight("samples", 1, 30), sight("kernel.log", 20, 40)}, []string{"samples, kernel.log 1..40 open begun"}},
		{"a stack within a run", []event.Event{sight("samples", 1, 30), sight("kernel.log", 20, 20, shows("name", ""))}, []string{"samples, kernel.log 1..30 open begun"}},
		{"a sampler goes on in its next file", []event.Event{sight("a", 1, 30, everySecond), sight("b", 31, 40, everySecond)}, []string{"a, b 1..40 open begun"}},
		{"far apart", []event.Event{sight("a", 1, 30, everySecond), sight("b", 40, 50, everySecond)}, []string{"a 1..30 open begun", "b 40..50 open begun"}},
		{"another thread", []event.Event{sight("strace", 0, 60, traced), sight("samples", 1, 59, other(8))}, []string{"strace 0..60", "samples 1..59 open begun"}},
		{"another call", []event.Event{sight("strace", 0, 60, traced), sight("samples", 1, 59, shows("name", "fsync"))}, []string{"strace 0..60", "samples 1..59 open begun"}},
		{"two calls, one run", []event.Event{sight("strace", 0, 20, traced), sight("strace", 21, 60, traced), sight("samples", 1, 59)}, []string{"strace 0..20", "samples 1..59 open begun", "strace 21..60"}},
		{"a run far beyond the call", []event.Event{sight("strace", 0, 20, traced), sight("samples", 1, 59)}, []string{"strace 0..20", "samples 1..59 open begun"}},
		{"asleep and on the disk", []event.Event{sight("a", 0, 20), sight("b", 1, 19, shows("state", "S"))}, []string{"a 0..20 open begun", "b 1..19 open begun"}},
		{"a stack of unknown state", []event.Event{sight("a", 0, 20, shows("name", "recvfrom"), shows("state", "S")), sight("b", 1, 1, shows("name", ""), shows("state", ""))}, []string{"a 0..20 open begun", "b 1..1"}},
		{"without a time", []event.Event{sight("a", 0, 20), sight("b", 0, 0, undated)}, []string{"a, b 0..20 open begun"}},
		{"without a time, of two", []event.Event{sight("a", 0, 20), sight("a", 40, 60), sight("b", 0, 0, undated)}, []string{"a 0..20 open begun", "a 40..60 open begun", "b -"}},
		{"two moments", []event.Event{sight("a", 5, 5, moment), sight("b", 5, 5, moment, says("another word"))}, []string{"a, b 5..5"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 { // in either order
				tl := Build(Input{Events: pointersTo(slices.Clone(tc.events)...)}, Options{})
				var got []string
				for _, e := range tl.Events {
					got = append(got, describeSight(e))
				}
				require.Equal(t, tc.want, got)
				slices.Reverse(tc.events)
			}
		})
	}
}

func describeSight(e *event.Event) string {
	sources := e.FieldText("seen_by")
	if sources == "" {
		sources = e.Source
	}
	if e.Start.IsZero() {
		return sources + " -"
	}
	s := fmt.Sprintf("%s %.0f..%.0f", sources, e.Start.T.Sub(noon).Seconds(), e.Last().T.Sub(noon).Seconds())
	if e.Open {
		s += " open"
	}
	if e.Begun {
		s += " begun"
	}
	return s
}

// TestJoinSightingsLaws: no evidence is lost or told twice, no two threads mix, and what was proven
// to last stays so.
func TestJoinSightingsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []*event.Event
		lines := map[event.Pos]int{}
		longest := map[int]time.Duration{}
		for i := range rapid.IntRange(0, 12).Draw(t, "n") {
			from := float64(rapid.IntRange(0, 60).Draw(t, "from"))
			e := sight(rapid.SampledFrom([]string{"samples", "kernel.log"}).Draw(t, "source"), from, from+float64(rapid.IntRange(0, 30).Draw(t, "length")),
				shows("name", rapid.SampledFrom([]string{"umount2", "fsync", ""}).Draw(t, "name")))
			e.IDs.TID = rapid.IntRange(1, 3).Draw(t, "tid")
			e.Evidence = []event.Quote{{Pos: event.Pos{File: "f", Line: i + 1}, Text: "x"}}
			switch {
			case rapid.Bool().Draw(t, "traced") && !e.End.IsZero():
				traced(&e)
			case rapid.Bool().Draw(t, "dated"):
			default:
				e.Start, e.End = event.Time{}, event.Time{}
			}
			lines[event.Pos{File: "f", Line: i + 1}] = e.IDs.TID
			longest[e.IDs.TID] = max(longest[e.IDs.TID], e.Duration())
			events = append(events, &e)
		}
		seen := map[event.Pos]bool{}
		after := map[int]time.Duration{}
		for _, e := range joinSightings(events) {
			for _, q := range e.Evidence {
				require.False(t, seen[q.Pos], "told twice")
				seen[q.Pos] = true
				require.Equal(t, lines[q.Pos], e.IDs.TID)
			}
			require.False(t, !e.End.IsZero() && e.End.T.Before(e.Start.T))
			after[e.IDs.TID] = max(after[e.IDs.TID], e.Duration())
		}
		require.Len(t, seen, len(lines))
		for tid, d := range longest {
			require.GreaterOrEqual(t, after[tid]+2*time.Second, d, "within the slack that a sampler needs at either end")
		}
	})
}

func TestMarkReturned(t *testing.T) {
	listed := func(pid int, state string) *event.Event {
		e := ev("b/ps.txt", pid, event.Time{}, kind("process"), text("state", state))
		e.IDs.PID = pid
		return &e
	}
	sampled := func(samples int, dir string) []Coverage {
		return []Coverage{{Source: "samples", File: dir + "/threads.jsonl", Samples: samples, Start: minutes(0), End: minutes(1)}}
	}
	stuck := sight("samples", 1, 50)
	stuck.IDs.PID = 2
	for _, tc := range []struct {
		name     string
		coverage []Coverage
		want     []int
	}{
		{"three samples beside the listing", sampled(3, "b"), []int{1}},
		{"the last of three can be cut", sampled(2, "b"), nil},
		{"samples of another node", sampled(3, "c"), nil},
		{"none", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			events := []*event.Event{listed(1, "D"), listed(2, "Ds"), listed(3, "S"), &stuck}
			markReturned(events, tc.coverage)
			var got []int
			for _, e := range events {
				if e.Kind == event.KindProcess && e.FieldText(event.FieldReturned) == "true" {
					got = append(got, e.IDs.PID)
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}
