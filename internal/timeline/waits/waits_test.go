package waits

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// waitEvent is a goroutine's wait, seen so many minutes after 19:00, that began between two moments
// before; begun says that its start is not known at all.
func waitEvent(seen, from, until float64, begun bool) *event.Event {
	minutes := func(m float64) time.Time {
		return time.Date(2026, 11, 20, 19, 0, 0, 0, time.UTC).Add(time.Duration(m * float64(time.Minute)))
	}
	e := &event.Event{Kind: event.KindGoroutine, Component: "containerd", Open: true, Begun: begun, End: event.At(minutes(seen)), Start: event.At(minutes(seen))}
	if !begun {
		e.Start = event.At(minutes(from))
		e.Start.Prec = minutes(until).Sub(minutes(from))
	}
	e.IDs.Goroutine = 7
	return e
}

// Two dumps of one wait: it began when both say that it can have.
func TestNarrowStart(t *testing.T) {
	for name, c := range map[string]struct {
		earlier, later, want *event.Event
	}{
		"no minutes in either":      {waitEvent(0, 0, 0, true), waitEvent(2, 0, 0, true), waitEvent(0, 0, 0, true)},
		"minutes in the later one":  {waitEvent(0, 0, 0, true), waitEvent(2, -1, 2, false), waitEvent(2, -1, 0, false)},
		"minutes in the first only": {waitEvent(0, -3, 0, false), waitEvent(2, 0, 0, true), waitEvent(2, -3, 0, false)},
		"in both":                   {waitEvent(0, -3, 0, false), waitEvent(2, -2, 1, false), waitEvent(2, -2, 0, false)},
	} {
		NarrowStart(c.later, c.earlier)
		require.Equal(t, c.want.Start, c.later.Start, name)
		require.Equal(t, c.want.Begun, c.later.Begun, name)
	}
}

// No wait begins before its process, and none for a shim before the exit that it handles.
func TestBoundByLog(t *testing.T) {
	exit := waitEvent(-2, -2, -2, false)
	exit.Kind, exit.IDs.Container, exit.End, exit.Start.Prec = event.KindTaskExit, "c1", event.Time{}, 0
	wait := waitEvent(0, -5, 0, false)
	wait.IDs.Container = "c1"
	wait.AddFields(event.FieldDoing.Text("shim"))
	other := waitEvent(0, -5, 0, false)
	other.IDs.Container = "c1"
	restart := waitEvent(-4, -4, -4, false)
	restart.Kind = event.KindDaemonRestart
	BoundByLog([]*event.Event{exit, wait, other}, []*event.Event{restart})
	require.Equal(t, exit.Start.T, wait.Start.T)
	require.Equal(t, 2*time.Minute, wait.Start.Prec)
	require.Equal(t, restart.End.T, other.Start.T)
	require.Equal(t, 4*time.Minute, other.Start.Prec)
}

// A goroutine does not wait before the start of its process; of two processes no start counts.
func TestBoundByBirth(t *testing.T) {
	wait := waitEvent(0, -5, 0, false)
	born := waitEvent(-3, -3, -3, false)
	born.Kind, born.IDs.PID = event.KindDaemonStart, 71
	born.AddFields(event.FieldDaemon.Text(wait.Component))
	BoundByLog([]*event.Event{born, wait}, nil)
	require.Equal(t, born.Start.T, wait.Start.T)
	again, twin := waitEvent(0, -5, 0, false), *born
	twin.IDs.PID = 72
	BoundByLog([]*event.Event{born, &twin, again}, nil)
	require.Equal(t, 5*time.Minute, again.Start.Prec)
}
