package timeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestFoldCallers(t *testing.T) {
	const us = time.Microsecond
	failed := func(line int, at, method, container string, caller bool) *event.Event {
		e := ev("kubelet.log", line, stamped(at, us))
		e.Kind, e.IDs.Container = "kubelet.cri-error", container
		e.Fields = []event.Field{{Key: "method", Value: event.String(method)}}
		if caller {
			e.Fields = append(e.Fields, event.Field{Key: "caller", Value: event.Bool(true)})
			e.IDs.Pod = "shop/web"
		}
		return &e
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
	}
	var lines []int
	for _, e := range foldCallers(events) {
		lines = append(lines, e.Pos().Line)
	}
	require.Equal(t, []int{1, 3, 4, 6, 7}, lines)
	require.Equal(t, "shop/web", events[3].IDs.Pod, "a caller knows the pod")
	require.Len(t, events[3].Evidence, 2, "and its line says so")
}
