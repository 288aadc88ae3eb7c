package story

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// seesStall is a rule that matches the stall itself, and the change of the node's condition.
const seesStall = `
id: sees-stall
title: t
role: root
headline: h
needs: [{any: [containerd.log], collect: c}]
steps:
  - {id: cause, role: cause, text: x, kind: a}
  - {id: stalled, role: symptom, text: relist stands still, kind: kubelet.stall}
  - {id: refused, role: symptom, text: y, kind: b}
  - {id: unready, role: symptom, text: z, kind: kubelet.node-not-ready}
verdict: {likely: cause}
`

// stallEvent is a stall as the timeline gives it to the rules.
func stallEvent(s timeline.Stall) event.Event {
	return event.Event{Kind: "kubelet.stall", Start: event.At(s.Start), End: event.At(s.End), Evidence: s.Evidence}
}

// TestChainShowsStallOnce: what a step of the root's rule shows, the story does not show again.
func TestChainShowsStallOnce(t *testing.T) {
	unready := ev("kubelet.node-not-ready", func(e *event.Event) { e.Start = event.At(stall().NotReady) })
	for name, c := range map[string]struct {
		events []event.Event
		want   []string
	}{
		"both":               {[]event.Event{stallEvent(stall()), unready}, []string{"cause", "refused", "stalled", "unready"}},
		"the stall":          {[]event.Event{stallEvent(stall())}, []string{"cause", "refused", "stalled", "not-ready"}},
		"the node":           {[]event.Event{unready}, []string{"cause", "refused", "stall", "unready"}},
		"neither":            {nil, []string{"cause", "refused", "stall", "not-ready"}},
		"of an earlier time": {[]event.Event{ev("kubelet.node-not-ready", when(100))}, []string{"cause", "unready", "refused", "stall", "not-ready"}},
	} {
		t.Run(name, func(t *testing.T) {
			tl := line(append(c.events, ev("a", when(5)), ev("b", when(150)))...)
			tl.Stalls = []timeline.Stall{stall()}
			root := find(t, evaluate(catalogOf(t, seesStall), tl), "sees-stall")
			require.Equal(t, c.want, stepIDs(root.Chain))
		})
	}
}

// TestChainEndsWithItsOwnStall: of two stalls that a root may have caused, the story tells of the
// one that its rule saw.
func TestChainEndsWithItsOwnStall(t *testing.T) {
	first, second := stall(), stall()
	first.End = first.Start.Add(time.Minute)
	second.Start, second.NotReady = second.Start.Add(2*time.Minute), second.NotReady.Add(time.Second)
	tl := line(ev("a", when(130)), stallEvent(second))
	tl.Stalls = []timeline.Stall{first, second}
	root := find(t, evaluate(catalogOf(t, seesStall), tl), "sees-stall")
	require.Equal(t, []string{"cause", "stalled", "not-ready"}, stepIDs(root.Chain))
	require.Equal(t, second.Start, root.Chain[1].Start)
	require.Equal(t, second.NotReady, root.Chain[2].Start)
}
