package restarts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// A client that finds no file of a socket has the word for it only some time after the runtime
// began to serve: until then it can repeat what it met before.
func TestMarkRunningGivesClientsTimeToConnect(t *testing.T) {
	process, ready := unitEvent(event.KindDaemonStart, 0), unitEvent(event.KindUnitStart, time.Second)
	process.AddFields(event.FieldAge.Number((5 * time.Minute).Seconds()))
	for after, removed := range map[time.Duration]bool{3 * time.Second: false, 30 * time.Second: true} {
		call := unitEvent(event.KindCRIError, after)
		call.Fields = []event.Field{
			event.FieldGone.Text("containerd"), event.FieldNoFile.Bool(true),
			event.FieldError.Text("dial unix /run/containerd/containerd.sock: connect: no such file or directory"),
		}
		MarkRunning([]*event.Event{process, ready, call})
		require.Equal(t, removed, call.FieldText(event.FieldRuns) == "containerd", after)
		require.Equal(t, !removed, call.FieldText(event.FieldAlive) == "true", after)
	}
}

// A second runtime that somebody starts by hand is not the unit's: what the unit's process before
// had said does not count for it, and the unit's next process is not ready yet.
func TestMarkRunningTakesNoSecondRuntimeForTheUnits(t *testing.T) {
	events := func(unitOfSecond string) (all []*event.Event, call *event.Event) {
		started, stopped := unitEvent(event.KindUnitStart, 0), unitEvent(event.KindUnitStop, 300*time.Millisecond)
		second, own := unitEvent(event.KindDaemonStart, 500*time.Millisecond), unitEvent(event.KindDaemonStart, time.Second)
		for pid, e := range map[int]*event.Event{161: second, 180: own} {
			e.IDs.PID = pid
			e.AddFields(event.FieldAge.Number(time.Minute.Seconds()))
		}
		second.AddText(event.FieldUnit, unitOfSecond)
		own.AddText(event.FieldUnit, "containerd.service")
		call = unitEvent(event.KindCRIError, 30*time.Second)
		call.Fields = []event.Field{
			event.FieldGone.Text("containerd"), event.FieldNoFile.Bool(true),
			event.FieldError.Text("dial unix /run/containerd/containerd.sock: connect: no such file or directory"),
		}
		return []*event.Event{started, stopped, second, own, call}, call
	}
	all, call := events("")
	MarkRunning(all)
	require.Empty(t, call.FieldText(event.FieldRuns))
	require.Equal(t, "true", call.FieldText(event.FieldAlive))
	all, call = events("containerd.service") // by its unit alone it may be the one that was ready: it was stopped
	MarkRunning(all)
	require.Empty(t, call.FieldText(event.FieldRuns))
}

// Where systemd says that the unit has no process, one that runs outside of it listens elsewhere.
func TestMarkRunningBelievesTheUnit(t *testing.T) {
	second, unit := unitEvent(event.KindDaemonStart, 0), unitEvent(event.KindUnit, 30*time.Second)
	second.AddFields(event.FieldAge.Number(time.Minute.Seconds()))
	unit.AddFields(event.FieldState.Text("activating"), event.FieldSub.Text("start-pre"))
	call := unitEvent(event.KindCRIError, 30*time.Second)
	call.Fields = []event.Field{
		event.FieldGone.Text("containerd"), event.FieldNoFile.Bool(true),
		event.FieldError.Text("dial unix /run/containerd/containerd.sock: connect: no such file or directory"),
	}
	MarkRunning([]*event.Event{second, unit, call})
	require.Empty(t, call.FieldText(event.FieldAlive))
}

// By systemctl a unit runs since its start, for the time that it prints, which is rounded down.
func TestMarkRunningBelievesARunningUnit(t *testing.T) {
	for after, runs := range map[time.Duration]bool{time.Hour: true, 10 * 24 * time.Hour: true, 12 * 24 * time.Hour: false} {
		unit := unitEvent(event.KindUnit, 0)
		unit.End = unit.End.Add(9 * 24 * time.Hour) // 1 week 2 days ago
		unit.End.Prec, unit.Open = 24*time.Hour, true
		unit.AddFields(event.FieldState.Text("active"), event.FieldSub.Text("running"))
		call := unitEvent(event.KindCRIError, after)
		call.Fields = []event.Field{
			event.FieldGone.Text("containerd"), event.FieldNoFile.Bool(true),
			event.FieldError.Text("dial unix /run/containerd/containerd.sock: connect: no such file or directory"),
		}
		MarkRunning([]*event.Event{unit, call})
		require.Equal(t, runs, call.FieldText(event.FieldRuns) == "containerd", after)
	}
}

// TestManyProcesses: of each process only the events near it are looked at.
func TestManyProcesses(t *testing.T) {
	const n = 15_000
	var events, calls []*event.Event
	for i := range n {
		at := time.Duration(i) * 10 * time.Minute
		process, call := unitEvent(event.KindDaemonStart, at), unitEvent(event.KindCRIError, at+2*time.Minute)
		process.AddFields(event.FieldAge.Number(time.Minute.Seconds()))
		call.Fields = []event.Field{
			event.FieldGone.Text("containerd"), event.FieldNoFile.Bool(true),
			event.FieldError.Text("dial unix /run/containerd/containerd.sock: connect: no such file or directory"),
		}
		stopped := unitEvent(event.KindUnitStop, at+3*time.Minute)
		events, calls = append(events, process, unitEvent(event.KindUnitStart, at), call, stopped), append(calls, call)
	}
	start := time.Now()
	MarkRunning(events)
	require.Less(t, time.Since(start), 3*time.Second)
	for _, call := range calls {
		require.Equal(t, "containerd", call.FieldText(event.FieldRuns))
	}
}
