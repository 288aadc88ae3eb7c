package rules

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
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
