package incident

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// TestMachinesOfOneLog: a log of several machines of which no kubelet and no runtime wrote is read
// as one of several nodes: the machine of which most is told is looked at, and each can be asked
// for.
func TestMachinesOfOneLog(t *testing.T) {
	dir := t.TempDir()
	log := `Apr 17 08:41:24 node-02 kernel: Out of memory: Killed process 39380 (Radarr) total-vm:1000kB
Apr 17 08:41:25 node-02 kernel: EXT4-fs (dm-17): Remounting filesystem read-only
Apr 17 08:41:26 bastion sshd[1]: Accepted publickey for root
Apr 17 08:41:27 bastion sshd[1]: Accepted publickey for root
Apr 17 08:41:28 bastion sshd[1]: Accepted publickey for root
Apr 17 09:17:01 node-01 kernel: Buffer I/O error on dev dm-10, logical block 0, lost sync page write
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "messages"), []byte(log), 0o644))
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	for _, c := range []struct{ asked, node, other, path string }{
		{"", "node-02", "node-01", "dm-17"},
		{"node-01", "node-01", "node-02", "dm-10"},
	} {
		inc, err := Load(t.Context(), Options{Inputs: Inputs{Paths: []string{dir}}, Catalog: catalog, Node: c.asked})
		require.NoError(t, err)
		require.Equal(t, c.node, inc.Node)
		require.Equal(t, []string{c.other}, inc.LeftOut)
		require.NotEmpty(t, inc.Timeline.Events)
		var told strings.Builder
		for _, e := range inc.Timeline.Events {
			require.Equal(t, c.node, e.Host)
			told.WriteString(e.Evidence[0].Text)
		}
		require.Contains(t, told.String(), c.path)
	}
	_, err = Load(t.Context(), Options{Inputs: Inputs{Paths: []string{dir}}, Catalog: catalog, Node: "node-03"})
	require.EqualError(t, err, `no evidence of a node "node-03"; there is some of node-01, node-02`)
}

// TestNodeOfTicket: where no log names its host, what the API says can name the node, if only one
// comes into question.
func TestNodeOfTicket(t *testing.T) {
	const notReady = "NAME       STATUS     ROLES    AGE    VERSION\nworker-1   Ready      <none>   200d   v1.18.8\nworker-2   NotReady   <none>   200d   v1.18.8\n"
	const pod = "Name:         web-0\nNamespace:    shop\nPriority:     0\nNode:         %s\nStatus:       Pending\nContainers:\n  web:\n    State:          Waiting\n      Reason:       ContainerCreating\n    Ready:          False\nConditions:\n  Type              Status\n  Initialized       True \n  Ready             False \n"
	describe := func(node string) string { return strings.Replace(pod, "%s", node, 1) }
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	for name, c := range map[string]struct{ ticket, want string }{
		"the only one that is not Ready": {"$ kubectl get nodes\n" + notReady, "worker-2"},
		"two that are not":               {"$ kubectl get nodes\n" + strings.Replace(notReady, "Ready      <", "NotReady   <", 1), ""},
		"an Event about it":              {"LAST SEEN   TYPE     REASON         OBJECT          MESSAGE\n30s         Normal   NodeNotReady   node/worker-2   Node worker-2 status is now: NodeNotReady\n", "worker-2"},
		"where a pod runs":               {"$ kubectl describe pod web-0\n" + describe("worker-2/10.0.0.7"), "worker-2"},
		"a pod that runs nowhere":        {"$ kubectl describe pod web-0\n" + describe("<none>"), ""},
		"where two pods run":             {"$ kubectl describe pod\n" + describe("worker-2/10.0.0.7") + "\n\n" + describe("worker-1/10.0.0.6"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ticket.txt")
			require.NoError(t, os.WriteFile(path, []byte(c.ticket), 0o644))
			inc, err := Load(t.Context(), Options{Inputs: Inputs{Paths: []string{path}}, Catalog: catalog})
			require.NoError(t, err)
			require.Equal(t, c.want, inc.Node)
		})
	}
}

// TestSickOfTwoNodes holds that of two nodes without a stall the one is looked at whose calls run
// into their deadlines again and again; once is no sign.
func TestSickOfTwoNodes(t *testing.T) {
	line := func(node string, minute int) string {
		return fmt.Sprintf(`Jul 09 13:%02d:33 %s kubelet[2513]: E0709 13:%02d:33.359217    2513 remote_runtime.go:366] "StopContainer from runtime service failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" containerID="6b847ccb8ed7"`+"\n", minute, node, minute)
	}
	dir := t.TempDir()
	var sick strings.Builder
	for minute := range 12 {
		sick.WriteString(line("worker-2", 10+minute))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "worker-1.log"), []byte(line("worker-1", 5)), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "worker-2.log"), []byte(sick.String()), 0o644))
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	inc, err := Load(t.Context(), Options{Inputs: Inputs{Paths: []string{dir}}, Catalog: catalog})
	require.NoError(t, err)
	require.Equal(t, "worker-2", inc.Node)
	require.Equal(t, []string{"worker-1"}, inc.LeftOut)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "worker-2.log"), []byte(line("worker-2", 10)), 0o644))
	_, err = Load(t.Context(), Options{Inputs: Inputs{Paths: []string{dir}}, Catalog: catalog})
	require.ErrorContains(t, err, "evidence of 2 nodes, of which none shows a stall")
}

// TestNotReadyOfTwoNodes holds that of two nodes without a stall the one is looked at that the API
// server takes for not ready.
func TestNotReadyOfTwoNodes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, node := range []string{"worker-1", "worker-2"} {
		write(node+".log", "Jul 09 13:10:33 "+node+` kubelet[2513]: I0709 13:10:33.359217    2513 server.go:1237] "Started kubelet"`+"\n")
	}
	write("worker-2.yaml", "apiVersion: v1\nkind: Node\nmetadata:\n  name: worker-2\nstatus:\n  conditions:\n  - lastTransitionTime: \"2026-07-09T13:20:00Z\"\n    status: Unknown\n    type: Ready\n")
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	inc, err := Load(t.Context(), Options{Inputs: Inputs{Paths: []string{dir}}, Catalog: catalog})
	require.NoError(t, err)
	require.Equal(t, "worker-2", inc.Node)
}

// TestQuotedNode holds that a page which quotes a line of another node's stall does not make that
// node one to choose from.
func TestQuotedNode(t *testing.T) {
	unhealthy := func(node string, day int) string {
		return fmt.Sprintf("Jul %02d 13:10:33 %s kubelet[2513]: E07%02d 13:10:33.359217    2513 kubelet.go:1871] skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m0.09s ago; threshold is 3m0s\n", day, node, day)
	}
	dir := t.TempDir()
	log := strings.Repeat("Jul 09 13:10:32 worker-1 kubelet[2513]: I0709 13:10:32.359217    2513 kubelet_getters.go:182] Pod status updated for web-1 status=Running\n", 300)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubelet.log"), []byte(log+unhealthy("worker-1", 9)), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "runbook.md"), []byte("# Runbook\n\nSo it looked in March:\n\n```\n"+unhealthy("node-x", 1)+"```\n"), 0o644))
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	inc, err := Load(t.Context(), Options{Inputs: Inputs{Paths: []string{dir}}, Catalog: catalog})
	require.NoError(t, err)
	require.Equal(t, "worker-1", inc.Node)
	require.Equal(t, []string{"node-x"}, inc.LeftOut)
}
