package incident

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/rules/catalog"
)

// What frightens and means nothing is seen, counted and called harmless, and names no cause.
func TestHarmless(t *testing.T) {
	dir := t.TempDir()
	log := `Nov 08 09:00:00 node-1 kubelet[100]: E1108 09:00:00.000001 100 kubelet.go:2400] "Skipping pod synchronization" err="[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]"
Nov 08 09:00:00 node-1 kubelet[100]: E1108 09:00:00.200001 100 kubelet.go:2400] "Skipping pod synchronization" err="[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]"
Nov 08 09:00:05 node-1 kubelet[100]: E1108 09:00:05.200001 100 kubelet.go:2900] "Container runtime network not ready" networkReady="NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
Nov 08 09:00:06 node-1 kubelet[100]: I1108 09:00:06.200001 100 kubelet_node_status.go:669] "Recording event message for node" node="node-1" event="NodeHasDiskPressure"
Nov 08 09:00:07 node-1 kubelet[100]: E1108 09:00:07.200001 100 generic.go:417] "PLEG: Write status" pod="default/web-0"
Nov 08 09:00:08 node-1 containerd[43]: time="2025-11-08T09:00:08.1Z" level=info msg="shim disconnected" id=b39895a86a9ebfdad08d2b42015f962ab2e0ec6b937f0662bef3d948009fcb6e
Nov 08 09:00:08 node-1 containerd[43]: time="2025-11-08T09:00:08.1Z" level=info msg="cleaning up dead shim"
Nov 08 09:00:09 node-1 containerd[43]: time="2025-11-08T09:00:09.1Z" level=error msg="collecting metrics for b39895a8" error="cgroups: cgroup deleted: unknown"
Nov 08 09:00:09 node-1 dockerd[44]: time="2025-11-08T09:00:09.1Z" level=info msg="ignoring event" container=b39895a8 module=libcontainerd namespace=moby topic=/tasks/delete type="*events.TaskDelete"
Nov 08 09:00:10 node-1 systemd[1]: Created slice libcontainer_4711_systemd_test_default.slice.
Nov 08 09:00:10 node-1 flanneld[7]: somebody else who says "shim disconnected" and "TLS handshake error from 10.0.0.1:1: EOF"
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "node.log"), []byte(log), 0o644))
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	inc, err := Load(t.Context(), Options{Inputs: Inputs{Paths: []string{dir}}, Catalog: catalog})
	require.NoError(t, err)
	require.Empty(t, inc.Result.Findings)
	seen := map[string]int{}
	for _, h := range inc.Result.Harmless {
		require.NotEmpty(t, h.Why)
		require.Len(t, h.Evidence, 1)
		seen[h.Name] = h.Count
	}
	require.Equal(t, map[string]int{
		"pleg has yet to be successful": 2, "status check pending": 2, "PLEG: Write status": 1,
		"shim disconnected": 2, "cgroup deleted": 1, "event ignored": 1, "systemd test slice": 1,
	}, seen)
}
