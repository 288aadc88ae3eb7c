package story

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// TestUnexplainedSigns holds that trouble of its own stays beside a possible cause, that what a
// cause brings about does not, and that beside a surer cause nothing does.
func TestUnexplainedSigns(t *testing.T) {
	events := []event.Event{
		ev("a", when(1)), ev("b", when(2)), ev("kernel.oom-kill", when(3)), ev("kubelet.cri-error", when(4), field("method", "StopContainer")),
	}
	r := evaluate(catalogOf(t, possible("slow-disk")), line(events...))
	require.Equal(t, Possible, r.Opening.State)
	require.Len(t, r.Signs, 1)
	require.Equal(t, "kernel.oom-kill", r.Signs[0].Text)
	require.Empty(t, evaluate(catalogOf(t, proven("slow-disk")), line(events...)).Signs)
}

// TestOtherDevices holds that what the kernel says of several devices is one sign that counts them.
func TestOtherDevices(t *testing.T) {
	busy := func(second float64, device string) event.Event {
		return ev("kernel.netdev-busy", when(second), field("device", device), func(e *event.Event) { e.Text = "the kernel waits for " + device })
	}
	signs := listSigns(line(busy(1, "eth0"), busy(2, "eth0"), busy(3, "eth1")), false)
	require.Len(t, signs, 1)
	require.Equal(t, "the kernel waits for eth0 (and 1 other)", signs[0].Text)
	require.Equal(t, 3, signs[0].Count)
}

// TestBootAtTheHead holds that the boot with which the logs begin is no sign, and one behind other
// lines is.
func TestBootAtTheHead(t *testing.T) {
	tl := line(ev("kernel.boot", when(0)))
	require.Len(t, evaluate(catalogOf(t, proven("slow-disk")), tl).Signs, 1)
	for i := range tl.Coverage {
		tl.Coverage[i].Start = begin.Add(time.Second)
	}
	require.Empty(t, evaluate(catalogOf(t, proven("slow-disk")), tl).Signs)
	require.Empty(t, evaluate(catalogOf(t, proven("slow-disk")), line(ev("kernel.boot"))).Signs)
}

// TestForcedStops holds that a program that has to be killed at its stop is no sign in a whole log,
// and one that SIGKILL does not end either, or that is stopped in vain again and again, is.
func TestForcedStops(t *testing.T) {
	late := func(second float64, id, signal string) event.Event {
		return ev("runtime.kill-late", when(second), field("signal", signal), func(e *event.Event) { e.IDs.Container = id })
	}
	for _, c := range []struct {
		events []event.Event
		few    bool
		signs  int
	}{
		{[]event.Event{late(1, idA, "15"), late(2, idB, "stop signal")}, false, 0},
		{[]event.Event{late(1, idA, "15"), late(2, idA, "15")}, false, 0},
		{[]event.Event{late(1, idA, "15"), late(2, idA, "15"), late(3, idA, "15")}, false, 1},
		{[]event.Event{late(1, idA, "15"), late(2, idA, "9")}, false, 1},
		{[]event.Event{late(1, idA, "15")}, true, 1},
	} {
		tl := dense(line(c.events...))
		for i := range tl.Coverage {
			if tl.Coverage[i].File = "log"; c.few {
				tl.Coverage[i].Lines = 10
			}
		}
		require.Len(t, listSigns(tl, false), c.signs)
	}
}

// TestDeletedContainer holds that who asks for a container that is gone shows no trouble, in the
// words of each runtime.
func TestDeletedContainer(t *testing.T) {
	for _, said := range []string{
		`rpc error: code = NotFound desc = an error occurred when try to find container "0123": not found`,
		"rpc error: code = Unknown desc = Error response from daemon: No such container: 0123",
		"rpc error: code = Unknown desc = could not find container 0123",
	} {
		e := ev("kubelet.cri-error", field("method", "ContainerStatus"), field("error", said))
		require.True(t, isRoutine(&e), said)
		e = ev("kubelet.cri-error", field("method", "StartContainer"), field("error", said))
		require.False(t, isRoutine(&e), said)
	}
}

// TestSignCountsOthers holds that a sign that counts events of several containers says so, and does
// not give all of them to the one that it names.
// TestRefusedProbe holds that a container that the runtime has as running, and refuses to enter, is
// a sign in lines that somebody chose, and none in a whole log.
func TestRefusedProbe(t *testing.T) {
	refused := event.New(event.KindCRIError, "ExecSync failed", event.FieldMethod.Text("ExecSync"),
		event.FieldError.Text("OCI runtime exec failed: exec failed: cannot exec in a stopped container: unknown"))
	late := event.New(event.KindCRIError, "ExecSync failed", event.FieldMethod.Text("ExecSync"), event.FieldError.Text("command timed out"))
	for i, e := range []*event.Event{&refused, &late} {
		e.Evidence = []event.Quote{{Pos: event.Pos{File: "kubelet.log", Line: i + 1}}}
	}
	tl := &timeline.Timeline{Events: []*event.Event{&refused, &late}}
	require.Len(t, listSigns(tl, false), 1)
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	tl.Coverage = []timeline.Coverage{{Source: "kubelet.log", File: "kubelet.log", Lines: 20_000, Start: day, End: day.Add(24 * time.Hour)}}
	require.Empty(t, listSigns(tl, false))
}

func TestSignCountsOthers(t *testing.T) {
	silent := func(second float64, id string) event.Event {
		return ev("containerd.state-timeout", when(second), func(e *event.Event) {
			e.IDs.Container, e.Text = id, "the shim did not answer State of "+event.ShortID(id)
		})
	}
	signs := func(events ...event.Event) []Sign {
		return evaluate(catalogOf(t, proven("slow-disk")), line(events...)).Signs
	}
	a, b, c := "aaaaaaaaaaaa11", "bbbbbbbbbbbb22", "cccccccccccc33"
	one := signs(silent(1, a), silent(2, a))
	require.Equal(t, "the shim did not answer State of aaaaaaaaaaaa", one[0].Text)
	require.Equal(t, 2, one[0].Count)
	several := signs(silent(1, a), silent(2, b), silent(3, b), silent(4, c))
	require.Len(t, several, 1)
	require.Equal(t, "the shim did not answer State of aaaaaaaaaaaa (and 2 others)", several[0].Text)
	require.Equal(t, 4, several[0].Count)
}

// TestStepKeepsEventsOfItsWholeTime holds that of a step with many events those are kept that show
// where all of them lie.
func TestStepKeepsEventsOfItsWholeTime(t *testing.T) {
	many := make([]*event.Event, 10*maxStepEvents)
	for i := range many {
		many[i] = &event.Event{}
	}
	kept := spreadEvents(many)
	require.Len(t, kept, maxStepEvents)
	require.Same(t, many[0], kept[0])
	require.Same(t, many[len(many)-1], kept[len(kept)-1])
	for i := range kept[1:] {
		require.NotSame(t, kept[i], kept[i+1])
	}
	require.Equal(t, many[:3], spreadEvents(many[:3]))
	require.Equal(t, many[:1], spreadEvents(many[:1]))
	require.Empty(t, spreadEvents(nil))
}

// TestSlowestDisk: of several busy disks the one that answers last is the sign.
func TestSlowestDisk(t *testing.T) {
	disk := func(second, await float64, text string) event.Event {
		return ev("device.load", when(second), func(e *event.Event) {
			e.Text = text
			e.AddFields(event.FieldUsedPercent.Number(100), event.FieldAwait.Number(await))
		})
	}
	signs := listSigns(line(disk(1, 61, "xvda"), disk(2, 9821, "nvme1n1"), disk(3, 210, "sdb")), false)
	require.Len(t, signs, 1)
	require.Equal(t, "nvme1n1", signs[0].Text)
}
