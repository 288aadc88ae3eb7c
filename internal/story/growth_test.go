//go:build unix

package story

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story/node"
)

// userTime is the time that this process has computed: unlike a clock it stands while others do.
func userTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano())
}

// TestSuspectsGrowWithEvents: ten times as many containers in one stall take about ten times as
// long; a hundred times, if every event were compared with every container.
func TestSuspectsGrowWithEvents(t *testing.T) {
	measure := func(events, times int) time.Duration {
		tl := flapping(1, events)
		start := userTime(t)
		for range times {
			require.Len(t, Tell(&language.Catalog{}, tl, node.Find(tl), rules.Result{}).Suspects, maxSuspects)
		}
		return (userTime(t) - start) / time.Duration(times)
	}
	measure(4_000, 1)
	require.Less(t, measure(40_000, 3), 40*measure(4_000, 20))
}

// TestMainStallIsLookedUp: the stall that a chain shows is looked up among its events. To compare
// 400 million pairs would take seconds.
func TestMainStallIsLookedUp(t *testing.T) {
	const n = 20_000
	s, p := &story{timeline: flapping(n, 0)}, &part{}
	p.Chain = make([]rules.Step, 1)
	for i := range n {
		p.stalls = append(p.stalls, i)
		p.Chain[0].Events = append(p.Chain[0].Events, &event.Event{Kind: event.KindStall, Start: at(-1)})
	}
	last := &s.timeline.Stalls[n-1]
	p.Chain[0].Events[n-1] = &event.Event{Kind: event.KindStall, Start: event.At(last.Start)}
	start := userTime(t)
	require.Same(t, last, s.findMainStall(p))
	require.Less(t, userTime(t)-start, time.Second)
}
