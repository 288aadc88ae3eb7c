package restarts

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// A start ends with systemd's word for it or the daemon's own; without any it goes on.
func TestEndStarts(t *testing.T) {
	endOfLog := unitEvent(event.KindUnitStart, time.Minute).Start.T
	boot := unitEvent(event.KindDaemonBoot, time.Second)
	boot.End = unitEvent(event.KindDaemonBoot, 4*time.Second).Start
	hangs := unitEvent(event.KindDaemonBoot, time.Second)
	hangs.Open = true
	for name, c := range map[string]struct {
		later []*event.Event
		lasts time.Duration
		open  bool
	}{
		"started":     {[]*event.Event{boot, unitEvent(event.KindUnitStart, 5*time.Second)}, 4 * time.Second, false},
		"given up":    {[]*event.Event{hangs, unitEvent(event.KindUnitTimeout, 30*time.Second)}, 30 * time.Second, false},
		"stopped":     {[]*event.Event{unitEvent(event.KindUnitStop, 7*time.Second)}, 7 * time.Second, false},
		"hangs":       {[]*event.Event{hangs}, time.Minute, true},
		"nothing yet": {nil, time.Minute, true},
	} {
		start := unitEvent(event.KindUnitStarting, 0)
		EndStarts(append([]*event.Event{start}, c.later...), func(string) time.Time { return endOfLog })
		require.Equal(t, c.lasts, start.Duration(), name)
		require.Equal(t, c.open, start.Open, name)
	}
}

// A daemon that ends before it is ready is not starting any more, whatever its log says later.
func TestEndStartsKnowsTheEndOfTheProcess(t *testing.T) {
	boot := unitEvent(event.KindDaemonBoot, 0)
	boot.Open, boot.End = true, unitEvent(event.KindDaemonBoot, time.Minute).Start
	events := []*event.Event{boot, unitEvent(event.KindUnitExit, time.Second)}
	EndStarts(events, func(string) time.Time { return boot.End.T })
	require.Equal(t, time.Second, boot.Duration())
	require.True(t, boot.Open)
}

// The end of a unit that systemd starts again by itself says so; one long before or after does not.
func TestMarkTriedAgain(t *testing.T) {
	alone := unitEvent(event.KindUnitExit, 0)
	loops, last := unitEvent(event.KindUnitExit, 10*time.Minute), unitEvent(event.KindUnitExit, 11*time.Minute)
	again := unitEvent(event.KindUnitRestart, 10*time.Minute+10*time.Second)
	later := unitEvent(event.KindUnitExit, time.Hour)
	MarkTriedAgain([]*event.Event{alone, loops, again, last, later})
	for name, c := range map[string]struct {
		end   *event.Event
		tried bool
	}{"alone": {alone, false}, "before": {loops, true}, "after": {last, true}, "later": {later, false}} {
		tried := slices.ContainsFunc(c.end.Fields, func(f event.Field) bool { return f.Key == event.FieldAgain })
		require.Equal(t, c.tried, tried, name)
	}
}

// A runtime that takes a call has started, whatever line about that was lost.
func TestEndStartsWhereCallsAreTaken(t *testing.T) {
	call := unitEvent(event.KindCRICall, 9*time.Second)
	call.Component = "containerd"
	starting, boot, again := unitEvent(event.KindUnitStarting, 0), unitEvent(event.KindDaemonBoot, time.Second), unitEvent(event.KindDaemonBoot, time.Minute)
	boot.Open, again.Open = true, true
	EndStarts([]*event.Event{starting, boot, call, again}, func(string) time.Time { return again.Start.T.Add(time.Hour) })
	for _, e := range []*event.Event{starting, boot} {
		require.False(t, e.Open)
		require.Equal(t, call.Start.T, e.End.T)
	}
	require.True(t, again.Open)
}
