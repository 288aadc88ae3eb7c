package tailed

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A line before a log names a daemon, a file, a container, or none of them.
func TestWriter(t *testing.T) {
	for line, want := range map[string]string{
		"==> kubelet <==": "kubelet", "==> Docker <==": "dockerd", "==> CRI-O <==": "crio", "==> dmesg <==": "kernel",
		"==> storage-provisioner [fe3b3c9de004] <==": "container", "==> describe nodes <==": "", "==> node-1 <==": "",
		"==> /var/log/kubelet.log <==": "kubelet", "==> /var/log/kern.log.1 <==": "kernel", "==> /var/log/docker.log <==": "dockerd",
		"==> /var/log/messages <== ": "", "==> /var/log/pods/a_b_c/d/0.log <==": "container",
	} {
		name, ok := CutName([]byte(line))
		require.True(t, ok, line)
		require.Equal(t, want, Writer(name), line)
	}
	for _, line := range []string{"", "==>  <==", "==> kubelet", "prev_state=D ==> next <==", "==> <=="} {
		_, ok := CutName([]byte(line))
		require.False(t, ok, line)
	}
}
