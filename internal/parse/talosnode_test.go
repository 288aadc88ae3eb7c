package parse_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse"
)

// TestTalosNode: talosctl dmesg names its node before every line, by its name or its address.
func TestTalosNode(t *testing.T) {
	const (
		one   = "node-c1: kern:     err: [2026-01-04T21:32:07.505474078Z]: nvme nvme1: Device not ready; aborting reset, CSTS=0x1\n SUBSYSTEM=nvme\n"
		two   = "node-c2: user: warning: [2026-01-04T21:32:09.118204551Z]: [talos] service[etcd](Running): Health check failed: context deadline exceeded\n"
		other = "10.20.6.41: user: warning: [2026-01-04T21:32:09.118204551Z]: [talos] service[kubelet](Running): Health check successful\n"
		bare  = "kern:     err: [2026-01-04T21:32:07.505474078Z]: nvme nvme1: Device not ready; aborting reset, CSTS=0x1\n"
	)
	for text, want := range map[string]string{
		one + one: "node-c1", other + other: "10.20.6.41", one + two: "", bare + bare: "",
		"From our Talos node:\n\n```\n" + other + "```\n": "10.20.6.41",
		"node-1: kern.log was empty\n":                    "",
	} {
		o, err := parse.Open(strings.NewReader(text), "dmesg.log")
		require.NoError(t, err)
		require.Equal(t, want, o.Node, text)
	}
}
