package threads

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// A thread without a name has that of the daemon that writes its process's number before its lines,
// unless another one writes the same number.
func TestNamesOfWriters(t *testing.T) {
	line := func(component, text string, pid int) *event.Event {
		e := event.New(event.KindPLEGUnhealthy, "said")
		e.Component, e.IDs.PID, e.Evidence = component, pid, []event.Quote{{Text: text}}
		return &e
	}
	nameOf := func(pid int, lines ...*event.Event) string {
		var n Names
		for _, e := range lines {
			n.Add(e)
		}
		s := samples.Sample{PID: pid, TID: pid + 34}
		n.completeSample(&s)
		return s.Comm
	}
	kubelet := line("kubelet", "Aug 28 06:19:50 n1 kubelet[3310]: E0828 06:19:50 not healthy", 3310)
	require.Equal(t, "kubelet", nameOf(3310, kubelet))
	require.Empty(t, nameOf(3311, kubelet))
	require.Empty(t, nameOf(3310, line("kubelet", "kubelet: killed process 3310", 3310)), "another process's number")
	require.Empty(t, nameOf(3310, kubelet, line("dockerd", "dockerd[3310]: of an earlier boot", 3310)))
	require.Empty(t, nameOf(812, line("containerd", "containerd[812]: of a shim, perhaps", 812)))
}
