package retold_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline/retold"
)

// line is an event of a line of the kubelet's log.
func line(t *testing.T, number int, at string, kind event.Kind, fields ...event.Field) *event.Event {
	t.Helper()
	start, err := time.Parse(time.RFC3339Nano, at)
	require.NoError(t, err)
	return &event.Event{
		Kind: kind, Source: "kubelet.log", Start: event.Time{T: start, Prec: time.Microsecond, Known: true}, Fields: fields,
		Evidence: []event.Quote{{Pos: event.Pos{File: "kubelet.log", Line: number}}},
	}
}

func numbers(events []*event.Event) (lines []int) {
	for _, e := range events {
		lines = append(lines, e.Pos().Line)
	}
	return lines
}

func TestFoldCallers(t *testing.T) {
	failed := func(number int, at, method, container string, caller bool) *event.Event {
		e := line(t, number, at, event.KindCRIError, event.FieldMethod.Text(method), event.FieldDeadline.Bool(true))
		e.IDs.Container = container
		if caller {
			e.AddFields(event.FieldCaller.Bool(true))
			e.IDs.Pod = "shop/web"
		}
		return e
	}
	events := []*event.Event{
		failed(1, "2026-11-22T02:02:12.665692Z", "ListPodSandbox", "", false),
		failed(2, "2026-11-22T02:02:12.665792Z", "ListPodSandbox", "", true),
		// the client's line was lost
		failed(3, "2026-11-22T02:02:12.665800Z", "ListContainers", "", true),
		failed(4, "2026-11-22T02:04:17.117100Z", "UpdateContainerResources", "40585f73a1c2", false),
		failed(5, "2026-11-22T02:04:17.117160Z", "UpdateContainerResources", "40585f73a1c2", true),
		// another container
		failed(6, "2026-11-22T02:04:17.117170Z", "UpdateContainerResources", "de067b8a6549", true),
		// another call
		failed(7, "2026-11-22T02:06:12.665792Z", "ListPodSandbox", "", true),
		// a kubelet that asks docker says of a creation that the start failed
		failed(8, "2026-11-22T02:08:12.665792Z", "CreateContainer", "", true),
		failed(9, "2026-11-22T02:08:12.665812Z", "StartContainer", "", true),
		failed(10, "2026-11-22T02:09:12.665812Z", "StartContainer", "", false),
		failed(11, "2026-11-22T02:10:12.665812Z", "CreateContainer", "", true),
		failed(12, "2026-11-22T02:10:12.665832Z", "StartContainer", "", true),
		// the sync of the pod ends after it has stopped another container, or is of another day
		failed(13, "2026-11-22T02:12:12.665832Z", "StopContainer", "40585f73a1c2", false),
		failed(14, "2026-11-22T02:14:12.665832Z", "StopContainer", "", true),
		failed(15, "2026-11-22T02:44:12.665832Z", "StopContainer", "", true),
		failed(16, "2026-11-22T02:50:12.665832Z", "CreateContainer", "40585f73a1c2", false),
		failed(17, "2026-11-22T02:50:12.665932Z", "CreateContainer", "", true),
	}
	folded := retold.FoldCallers(events)
	require.Equal(t, []int{1, 3, 4, 6, 7, 8, 10, 11, 13, 15, 16}, numbers(folded))
	require.Equal(t, "shop/web", folded[2].IDs.Pod, "a caller knows the pod")
	require.Len(t, folded[2].Evidence, 2, "and its line says so")
}

// TestFoldProbes holds that a probe, which names no container, adds nothing to the client's line
// with the same error right before it, also where the lines of two probes are mixed.
func TestFoldProbes(t *testing.T) {
	failed := func(number int, at, failure, container string) *event.Event {
		e := line(t, number, at, event.KindCRIError, event.FieldMethod.Text("ExecSync"), event.FieldError.Text(failure))
		if e.IDs.Container = container; container == "" {
			e.AddFields(event.FieldCaller.Bool(true))
		}
		return e
	}
	folded := retold.FoldCallers([]*event.Event{
		failed(1, "2026-11-22T02:02:12.665692Z", "exec 4fd4 refused", "40585f73a1c2"),
		failed(2, "2026-11-22T02:02:12.665700Z", "exec 9ab1 refused", "de067b8a6549"),
		failed(3, "2026-11-22T02:02:12.665792Z", "exec 4fd4 refused", ""),
		failed(4, "2026-11-22T02:02:12.665800Z", "exec 9ab1 refused", ""),
		// the client's line was lost
		failed(5, "2026-11-22T02:02:22.665800Z", "exec 4fd4 refused", ""),
		failed(6, "2026-11-22T02:02:22.665900Z", "exec 77c0 refused", ""),
	})
	require.Equal(t, []int{1, 2, 5, 6}, numbers(folded))
}

func TestFoldConditions(t *testing.T) {
	reason := event.FieldMessage.Text("PLEG is not healthy: pleg has yet to be successful")
	events := []*event.Event{
		line(t, 1, "2026-11-22T22:52:56.408984Z", event.KindNodeNotReady),
		line(t, 2, "2026-11-22T22:52:56.409026Z", event.KindNodeNotReady, reason),
		// the line with the reason was lost
		line(t, 3, "2026-11-22T22:54:00.000000Z", event.KindNodeNotReady),
		// the event's line was lost
		line(t, 4, "2026-11-22T22:56:00.000000Z", event.KindNodeNotReady, reason),
	}
	folded := retold.FoldConditions(events)
	require.Equal(t, []int{1, 3, 4}, numbers(folded))
	require.Equal(t, reason.Value.Text(), folded[0].FieldText(event.FieldMessage))
	require.Len(t, folded[0].Evidence, 2)
}

// TestFoldSyncsOfPods holds that the sync of a pod, which repeats relist's error, adds nothing to
// the client's line about the call that relist made, where that one, too, ran into its deadline.
func TestFoldSyncsOfPods(t *testing.T) {
	client := func(number int, at string, late bool) *event.Event {
		e := line(t, number, at, event.KindCRIError, event.FieldMethod.Text("ContainerStatus"), event.FieldDeadline.Bool(late))
		e.IDs.Container = "40585f73a1c2"
		return e
	}
	sync := func(number int, at string) *event.Event {
		return line(t, number, at, event.KindCRIError, event.FieldMethod.Text(event.PodStatus), event.FieldCaller.Bool(true))
	}
	events := []*event.Event{
		sync(0, "2026-11-22T02:01:12Z"),
		client(1, "2026-11-22T02:02:12Z", true), sync(2, "2026-11-22T02:02:24Z"), sync(3, "2026-11-22T02:22:24Z"),
		client(4, "2026-11-22T02:42:12Z", false), sync(5, "2026-11-22T02:42:24Z"), // the container is not there any more
	}
	require.Equal(t, []int{0, 1, 3, 4, 5}, numbers(retold.FoldCallers(events)))
}

func TestFoldRestarts(t *testing.T) {
	restart := func(number int, at, unit string, fields ...event.Field) *event.Event {
		return line(t, number, at, event.KindUnitRestart, append([]event.Field{event.FieldUnit.Text(unit)}, fields...)...)
	}
	one := restart(1, "2026-11-20T09:00:00Z", "kubelet.service")
	all := []*event.Event{
		one,
		restart(2, "2026-11-20T09:00:00Z", "docker.service", event.FieldRestarts.Int(2)),
		restart(3, "2026-11-20T09:00:00Z", "kubelet.service", event.FieldRestarts.Int(37)),
		restart(4, "2026-11-20T09:00:10Z", "kubelet.service"),
		restart(5, "2026-11-20T09:00:20Z", "kubelet.service"),
		restart(6, "2026-11-20T09:00:30Z", "kubelet.service", event.FieldRestarts.Int(40)),
	}
	require.Equal(t, []int{1, 2, 4, 5, 6}, numbers(retold.FoldRestarts(all)))
	require.Equal(t, 37, one.FieldInt(event.FieldRestarts))
	require.Len(t, one.Evidence, 2)
}

func TestDropRelief(t *testing.T) {
	pressure := func(number int, kind event.Kind, of string) *event.Event {
		return line(t, number, "2026-11-20T09:00:00Z", kind, event.FieldOf.Text(of))
	}
	all := []*event.Event{
		pressure(1, event.KindPressureOver, "disk"), pressure(2, event.KindPressureOver, "memory"), // the kubelet starts
		pressure(3, event.KindPressure, "disk"),
		pressure(4, event.KindPressureOver, "memory"), pressure(5, event.KindPressureOver, "disk"), pressure(6, event.KindPressureOver, "disk"),
	}
	require.Equal(t, []int{3, 5}, numbers(retold.DropRelief(all)))

	restarted := []*event.Event{
		pressure(1, event.KindPressure, "disk"),
		line(t, 2, "2026-11-20T09:00:00Z", event.KindKubeletStart), pressure(3, event.KindPressureOver, "disk"),
	}
	require.Equal(t, []int{1, 2}, numbers(retold.DropRelief(restarted)), "a kubelet that starts says so first, and may report pressure next")
}
