package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOfKlogFile(t *testing.T) {
	for file, program := range map[string]string{
		"pod_workers.go": "kubelet", "kubelet_pods.go": "kubelet", "kuberuntime_manager.go": "kubelet", "generic.go": "kubelet",
		"proxier.go": "kube-proxy", "node_lifecycle_controller.go": "kube-controller-manager", "checks.go": "kubeadm",
		// of several programs
		"kubelet.go": "", "kubeletfinalize.go": "kubeadm", "remote_runtime.go": "", "reconciler.go": "", "server.go": "", "": "",
	} {
		require.Equal(t, program, OfKlogFile(file), file)
	}
}

func TestKlogPrograms(t *testing.T) {
	var k KlogPrograms
	require.Empty(t, k.Program("server.go", 1234)) // nothing is known of the process yet
	require.Equal(t, "kubelet", k.Program("kubelet.go", 1234))
	require.Equal(t, "kubelet", k.Program("pod_workers.go", 1234))
	require.Equal(t, "kubelet", k.Program("server.go", 1234))
	require.Equal(t, "kubeadm", k.Program("checks.go", 77))
	require.Equal(t, "kubeadm", k.Program("kubelet.go", 77))
	// kubelite is both
	require.Equal(t, "kube-proxy", k.Program("proxier.go", 1234))
	require.Empty(t, k.Program("server.go", 1234))
	// every container has a process 1
	require.Equal(t, "kube-proxy", k.Program("proxier.go", 1))
	require.Empty(t, k.Program("server.go", 1))
}
