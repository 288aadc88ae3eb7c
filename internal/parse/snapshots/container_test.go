package snapshots

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestContainerRows: rows of four programs, whose headers grep took away; and lines that only begin
// like them.
func TestContainerRows(t *testing.T) {
	const id = "b6684441588dcab9cc6fa4e140e33cca0ef8b32b5d49ccee83077e88cd220dab"
	for line, want := range map[string][]event.Pair{
		id + "    17103    STOPPED": {{Key: "TASK", Value: id}, {Key: "PID", Value: "17103"}, {Key: "STATUS", Value: "STOPPED"}},
		id + "   0   stopped   /run/containerd/io.containerd.runtime.v2.task/k8s.io/" + id + "   2025-11-08T09:30:11.885Z   root": {
			{Key: "ID", Value: id}, {Key: "PID", Value: "0"}, {Key: "STATUS", Value: "stopped"},
		},
		id[:13] + "   e5a616e4b9cf6   9 hours ago   Running   node-exporter   1   3e290bae764a1": {
			{Key: "CONTAINER", Value: id[:13]}, {Key: "STATE", Value: "Running"}, {Key: "NAME", Value: "node-exporter"}, {Key: "POD ID", Value: "3e290bae764a1"},
		},
		id[:12] + `   e5a616e4b9cf   "/bin/sh -c top"   9 hours ago   Removal In Progress   k8s_web_web-1_default_0c1d_0`: {
			{Key: "CONTAINER ID", Value: id[:12]}, {Key: "STATUS", Value: "Removal In Progress"}, {Key: "NAMES", Value: "k8s_web_web-1_default_0c1d_0"},
		},
		id[:12] + ` fixes "the shim" 3 days ago Dead simple`: nil,
		id[:12] + " containerd: a commit of 3 days ago":      nil,
		id + "  17103  gone":                                 nil,
	} {
		fields, ok := readContainerRow(line)
		require.Equal(t, want != nil, ok, line)
		require.Equal(t, want, fields, line)
	}
}
