package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

func quoteAt(line int, text string) event.Quote {
	return event.Quote{Pos: event.Pos{File: "f", Line: line}, Text: text}
}

// TestAskedUnits: each line of the answer is the state of one unit, up to what is none.
func TestAskedUnits(t *testing.T) {
	answer := []event.Quote{quoteAt(2, "failed"), quoteAt(3, "active"), quoteAt(4, "inactive")}
	all := askedUnits("systemctl is-active kubelet chronyd docker.service", quoteAt(1, "systemctl …"), answer)
	require.Len(t, all, 2, "nobody asks for chronyd here")
	for i, want := range [][3]string{{"kubelet.service", "failed", "kubelet"}, {"docker.service", "inactive", "dockerd"}} {
		e := &all[i]
		require.Equal(t, want, [3]string{e.FieldText(event.FieldUnit), e.FieldText(event.FieldState), e.FieldText(event.FieldDaemon)})
	}
	require.Empty(t, askedUnits("systemctl is-active kubelet", quoteAt(1, ""), []event.Quote{quoteAt(2, "bash: systemctl: command not found")}))
	require.Empty(t, askedUnits("systemctl restart kubelet", quoteAt(1, ""), answer))
}

// TestAbsentProcess: only the daemons of a node count.
func TestAbsentProcess(t *testing.T) {
	e, ok := absentProcess("docker-containerd", quoteAt(1, "ps"), quoteAt(2, "docker-containerd-shim"))
	require.True(t, ok)
	require.Equal(t, "containerd", e.FieldText(event.FieldDaemon))
	require.Equal(t, "true", e.FieldText(event.FieldShims))
	require.Len(t, e.Evidence, 2)
	_, ok = absentProcess("nginx", quoteAt(1, "ps"), event.Quote{})
	require.False(t, ok)
}
