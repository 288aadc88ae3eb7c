package rules

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// nearRule ties two steps to a third one, the first of them by what is put in.
const nearRule = `
id: near
title: Near
role: root
headline: "near"
needs: [{any: [containerd.log], collect: c}]
steps:
  - {id: one, role: cause, text: x, kind: a}
  - {id: two, role: symptom, text: x, kind: b}
  - {id: three, role: symptom, text: x, kind: c}
edges:
  - {from: one, to: two, %s}
  - {from: one, to: three, overlap: 1s}
verdict: {likely: one and two and three}
`

// TestTriesGrowWithEvents: what is far from the chosen events is not tried. No pair reaches the
// quality that a certain order has, so that the search looks at all that may fit.
func TestTriesGrowWithEvents(t *testing.T) {
	cat := catalogOf(t, fmt.Sprintf(nearRule, "gap: {max: 1s}"))
	tries := func(n int) int {
		var events []event.Event
		for i := range n {
			s := float64(i) * 60
			events = append(events, ev("a", when(s), prec(time.Second)), ev("b", when(s), prec(time.Second)), ev("c", when(s+1), prec(time.Second)))
		}
		s := newSearch(&cat.Rules[0], newIndex(line(events...)), language.Confirmed)
		require.Len(t, s.findMatches(), 1)
		return s.nodes
	}
	require.Less(t, tries(500), 8*tries(100))
}

// TestTriesAfterOpenEvents: an event of which no end was seen, or no start, does not let in those
// that are far from the chosen ones.
func TestTriesAfterOpenEvents(t *testing.T) {
	cat := catalogOf(t, fmt.Sprintf(nearRule, "overlap: 1s"))
	tries := func(n int) int {
		events := []event.Event{ev("b", when(-1), open), ev("c", when(-1), open)}
		for i := range n {
			s := float64(i) * 60
			events = append(events, ev("a", when(s), prec(time.Second)), ev("b", when(s), prec(time.Second)), ev("c", when(s+1), prec(time.Second)))
		}
		events = append(events, ev("b", when(1e6), begun), ev("c", when(1e6), begun))
		s := newSearch(&cat.Rules[0], newIndex(line(events...)), language.Confirmed)
		require.Len(t, s.findMatches(), 1)
		return s.nodes
	}
	require.Less(t, tries(400), 8*tries(100))
}

// TestRestingOnTimeAlone: once the best is found that times alone can carry, no other is tried for
// the sake of a verdict that only more than time would carry.
func TestRestingOnTimeAlone(t *testing.T) {
	cat := catalogOf(t, `
id: alone
title: Alone
role: root
headline: "alone"
needs: [{any: [containerd.log], collect: c}]
steps:
  - {id: one, role: cause, text: x, weight: 100, kind: a, bind: {container: cid}}
  - {id: two, role: symptom, text: x, weight: 100, kind: b, bind: {container: cid}}
  - {id: three, role: symptom, text: x, weight: 100, kind: c}
edges:
  - {from: one, to: [two, three], overlap: 24h}
verdict: {confirmed: one and three, likely: one}
`)
	var events []event.Event
	for i := range 300 {
		events = append(events, ev("a", when(float64(i)), container(idA)), ev("c", when(float64(i))))
	}
	s := newSearch(&cat.Rules[0], newIndex(line(events...)), language.Confirmed)
	found := s.findMatches()
	require.Len(t, found, 1)
	require.Equal(t, language.Likely, found[0].verdict)
	require.Less(t, s.nodes, 10*len(events))
}

// TestOrderTiedUndated: lines without a time may be of one moment, and of either order; that
// minutes lie between them they do not show.
func TestOrderTiedUndated(t *testing.T) {
	var noon span
	noon.dated = true
	later := language.Tie{Measured: true, Min: 3 * time.Minute, Max: time.Hour}
	for _, spans := range [][2]span{{{}, {}}, {noon, {}}, {{}, noon}} {
		require.Equal(t, impossible, orderTied(&later, spans[0], spans[1]))
		require.Equal(t, unknown, orderTied(&language.Tie{Measured: true, Max: time.Hour}, spans[0], spans[1]))
		require.Equal(t, unknown, orderTied(&language.Tie{Measured: true, Min: -time.Minute, Max: time.Hour}, spans[0], spans[1]))
		require.Equal(t, unknown, orderTied(&language.Tie{Shared: true}, spans[0], spans[1]))
	}
}

// TestBoundHungTasks holds that a whole kernel log bounds since when a task was blocked, and until
// when, where it reports another one later or goes on with warnings left; chosen lines do not.
func TestBoundHungTasks(t *testing.T) {
	task := func(reported float64) event.Event {
		e := ev("thread.sample", when(reported-120), field("watchdog", "true"), with("seconds", event.Number(120)))
		e.End, e.Begun, e.Open = event.At(begin.Add(time.Duration(reported)*time.Second)), true, true
		e.Source, e.Evidence[0].Pos.File = "kernel.log", "kernel.log"
		return e
	}
	for _, lines := range []int{10, 1000} {
		tl := line(task(0), task(1000))
		tl.Coverage = []timeline.Coverage{{Source: "kernel.log", File: "kernel.log", Lines: lines, Start: begin.Add(-time.Hour), End: begin.Add(time.Hour)}}
		spans := newIndex(tl).spans
		if lines == 10 {
			require.Equal(t, []int64{never, never}, []int64{spans[0].startLo, spans[1].startLo})
			require.Equal(t, ever, spans[0].endHi)
			continue
		}
		require.Equal(t, begin.Add(-240*time.Second).UnixNano(), spans[0].startLo)
		require.Equal(t, begin.Add(240*time.Second).UnixNano(), spans[0].endHi)
		require.Equal(t, begin.Add(1240*time.Second).UnixNano(), spans[1].endHi, "two of ten warnings")
		tl.Coverage[0].End = begin.Add(1100 * time.Second)
		require.Equal(t, ever, newIndex(tl).spans[1].endHi, "the log ends before the next look")
		for i := range 10 {
			tl.Events = append(tl.Events, line(task(float64(-300-i))).Events...)
		}
		tl.Coverage[0].End = begin.Add(time.Hour)
		x := newIndex(tl)
		require.Equal(t, ever, x.spans[len(x.spans)-1].endHi, "its warnings are used up")
	}
}
