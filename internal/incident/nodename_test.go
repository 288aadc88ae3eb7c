package incident

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
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

// TestHiddenNames: names that somebody made unreadable, each in a way of its own, are of no other
// node.
func TestHiddenNames(t *testing.T) {
	dir := t.TempDir()
	log := `Mar 04 11:20:17 ip-10-xxxl kubelet[2757]: I0304 11:20:17.636989    2757 kubelet.go:2365] "Starting kubelet main sync loop"
Mar 04 11:20:18 ip-10-xxxxx containerd[2734]: time="2025-03-04T11:20:18.824390820Z" level=info msg="loading plugin \"io.containerd.event.v1.exchange\"..." type=io.containerd.event.v1
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ticket.log"), []byte(log), 0o644))
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	inc, err := Load(t.Context(), Options{Inputs: Inputs{Paths: []string{dir}}, Catalog: catalog})
	require.NoError(t, err)
	require.Empty(t, inc.Node)
	require.Empty(t, inc.LeftOut)
}
