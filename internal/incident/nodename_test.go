package incident

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// TestNodeName: the bundle's own account knows the name of a node better than the host in its logs.
func TestNodeName(t *testing.T) {
	for _, c := range []struct {
		host, name, file string
		leftOut          []string
		want             string
	}{
		{"", "node-1", "kubectl-get-node.txt", nil, "node-1"},
		{"vm", "node-1", "b/manifest.json", nil, "node-1"},
		{"node-1", "node-1.example.org", "b/manifest.json", nil, "node-1"},
		{"vm", "node-1", "kubectl-get-node.txt", nil, "vm"},
		{"vm", "node-1", "b/manifest.json", []string{"other"}, "vm"},
		{"vm", "", "", nil, "vm"},
	} {
		fact := timeline.Fact{Value: c.name, Evidence: []event.Quote{{Pos: event.Pos{File: c.file}}}}
		inc := &Incident{Node: c.host, LeftOut: c.leftOut, Timeline: &timeline.Timeline{Facts: map[string]timeline.Fact{"node.name": fact}}}
		inc.nameNode()
		require.Equal(t, c.want, inc.Node, c)
	}
}
