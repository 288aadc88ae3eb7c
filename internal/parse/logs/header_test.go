package logs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWriterWithoutHost: people take the name of the host out of what they paste.
func TestWriterWithoutHost(t *testing.T) {
	for _, line := range []string{
		"Oct 21 06:03:53 node-1 kubelet[1530]: E1021 06:03:51.580766    1530 a.go:7] text",
		"Oct 21 06:03:53 kubelet[1530]: E1021 06:03:51.580766    1530 a.go:7] text",
		"Oct 21 06:03:53  kubelet[1530]: E1021 06:03:51.580766    1530 a.go:7] text",
	} {
		h := scanHeader([]byte(line))
		require.Equal(t, "kubelet", string(h.unit), line)
		require.Equal(t, 1530, h.pid, line)
		require.Equal(t, klog, h.body, line)
	}
}
