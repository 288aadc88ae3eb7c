package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
)

// stamped is a moment with a resolution, as a journal in one of its formats shows it.
func stamped(text string, prec time.Duration) event.Time {
	return event.Time{T: utc(text), Prec: prec, Known: true}
}

func TestFoldCopies(t *testing.T) {
	const us = time.Microsecond
	exit := at("2025-11-08T01:30:01.123456789Z")
	for _, tc := range []struct {
		name   string
		events []event.Event
		want   []string // the quoted line of each event, in order
	}{
		{
			name: "one line in four formats: the best time stays",
			events: []event.Event{
				ev("a.short", 9, stamped("2025-11-08T01:30:01Z", time.Second)), ev("b.precise", 7, stamped("2025-11-08T01:30:01.123456Z", us)),
				ev("c.export", 99, stamped("2025-11-08T01:30:01.123456Z", us)), ev("d.json", 7, stamped("2025-11-08T01:30:01.123456Z", us)),
			},
			want: []string{"b.precise:7"},
		},
		{
			name:   "two lines of one file in the same second",
			events: []event.Event{ev("a.short", 1, stamped("2025-11-08T01:30:01Z", time.Second)), ev("a.short", 2, stamped("2025-11-08T01:30:01Z", time.Second))},
			want:   []string{"a.short:1", "a.short:2"},
		},
		{
			name: "two lines, each in three formats",
			events: []event.Event{
				ev("a.short", 1, stamped("2025-11-08T01:30:01Z", time.Second)), ev("a.short", 2, stamped("2025-11-08T01:30:01Z", time.Second)),
				ev("b.json", 1, stamped("2025-11-08T01:30:01.1Z", us)), ev("b.json", 2, stamped("2025-11-08T01:30:01.7Z", us)),
				ev("c.export", 1, stamped("2025-11-08T01:30:01.1Z", us)), ev("c.export", 2, stamped("2025-11-08T01:30:01.7Z", us)),
			},
			want: []string{"b.json:1", "b.json:2"},
		},
		{
			name: "one file holds a line more than the other",
			events: []event.Event{
				ev("a.short", 1, stamped("2025-11-08T01:30:01Z", time.Second)),
				ev("b.short", 1, stamped("2025-11-08T01:30:01Z", time.Second)), ev("b.short", 2, stamped("2025-11-08T01:30:01Z", time.Second)),
			},
			want: []string{"a.short:1", "b.short:2"},
		},
		{
			name: "precise copies part what a coarse one cannot tell apart",
			events: []event.Event{
				ev("a.short", 1, stamped("2025-11-08T01:30:01Z", time.Second)),
				ev("b.json", 1, stamped("2025-11-08T01:30:01.1Z", us)), ev("c.json", 1, stamped("2025-11-08T01:30:01.9Z", us)),
			},
			want: []string{"b.json:1", "c.json:1"},
		},
		{
			name:   "the next second is another line",
			events: []event.Event{ev("a.short", 1, stamped("2025-11-08T01:30:01Z", time.Second)), ev("b.json", 1, stamped("2025-11-08T01:30:02Z", us))},
			want:   []string{"a.short:1", "b.json:1"},
		},
		{
			name:   "another text is another line",
			events: []event.Event{ev("a.json", 1, exit, says("x")), ev("b.json", 1, exit, says("y"))},
			want:   []string{"a.json:1", "b.json:1"},
		},
		{
			name:   "another length is another interval",
			events: []event.Event{ev("a.dump", 1, exit, took(0)), ev("b.dump", 1, exit.Add(time.Minute), took(time.Minute))},
			want:   []string{"a.dump:1", "b.dump:1"},
		},
		{
			name:   "without a time nothing shows that it is a copy",
			events: []event.Event{ev("a.toml", 1, event.Time{}), ev("b.toml", 1, event.Time{})},
			want:   []string{"a.toml:1", "b.toml:1"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, e := range Build(Input{Events: pointersTo(tc.events...)}, Options{}).Events {
				got = append(got, e.Evidence[0].Text)
				_, repeated := e.Get("repeats")
				require.False(t, repeated, "copies are no repetitions")
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// containerd tries to handle an exit until the shim answers, and prints the event
// every time; the journal was saved in two formats.
func TestFoldRepetitions(t *testing.T) {
	exit := at("2025-11-08T01:30:01.123456789Z")
	var events []event.Event
	for i := range 10 {
		events = append(events, ev("a.short", 10*i+1, exit, of("40585f73"), with("lag", event.Duration(time.Duration(i)*time.Minute))))
	}
	for i := range 8 {
		events = append(events, ev("b.json", i+1, exit, of("40585f73"), func(e *event.Event) { e.IDs.PID, e.Level = 43, event.Error }))
	}
	got := Build(Input{Events: pointersTo(events...)}, Options{}).Events
	require.Len(t, got, 1)
	repeats, _ := got[0].Get("repeats")
	require.Equal(t, "10", repeats.Text(), "as often as one file tells it")
	lag, _ := got[0].Get("lag")
	require.Equal(t, "0s", lag.Text(), "the first of them is the evidence")
	require.Equal(t, 43, got[0].IDs.PID, "what one format does not carry comes from the other")
	require.Equal(t, event.Error, got[0].Level)
	require.Len(t, got[0].Evidence, 1)
}

// However a journal is saved, in whichever formats, the timeline holds each line once.
func TestFoldFindsEachLineOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "lines")
		var truth []time.Time
		now := utc("2025-11-08T01:30:00Z")
		for range n {
			now = now.Add(time.Duration(rapid.IntRange(1, 1500000).Draw(t, "µs later")) * time.Microsecond)
			truth = append(truth, now)
		}
		precise := rapid.Bool().Draw(t, "also in a precise format")
		precs := []time.Duration{time.Second, time.Second, time.Second}
		if precise {
			precs = append(precs, time.Microsecond, time.Microsecond)
		}
		var events []event.Event
		for f, prec := range precs {
			for i, at := range truth {
				events = append(events, ev(fmt.Sprint("file", f), i+1, event.Time{T: at.Truncate(prec), Prec: prec, Known: true}))
			}
		}
		got := Build(Input{Events: pointersTo(events...)}, Options{}).Events
		require.Len(t, got, n)
		for i := range got {
			require.Equal(t, i+1, got[i].Pos().Line)
			require.Equal(t, truth[i].Truncate(precs[len(precs)-1]), got[i].Start.T)
		}
	})
}

// TestDropQuoted: what somebody quotes is dropped beside a whole log, where it has no time of its
// own.
func TestDropQuoted(t *testing.T) {
	quoted := func(at event.Time) *event.Event {
		e := ev("runbook.md", 1, at, kind("kubelet.pleg-unhealthy"), text("quoted", "true"))
		return &e
	}
	bare, onPage := ev("ticket.txt", 1, event.Time{}, kind("kubelet.pleg-unhealthy")), ev("Runbook.md", 1, event.Time{}, kind("kubelet.pleg-unhealthy"))
	bare.Source, onPage.Source = "kubelet.log", "kubelet.log"
	whole := []Coverage{{Lines: manyLines, Start: minutes(0), End: minutes(60)}}
	for _, tc := range []struct {
		name     string
		coverage []Coverage
		want     int
	}{{"a ticket", nil, 4}, {"a whole log", whole, 2}} {
		t.Run(tc.name, func(t *testing.T) {
			events := []*event.Event{quoted(event.Time{}), quoted(event.At(minutes(1))), &bare, &onPage}
			require.Len(t, dropQuoted(events, tc.coverage), tc.want)
		})
	}
}
