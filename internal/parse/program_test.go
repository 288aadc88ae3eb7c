package parse

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSectionProgram: whose threads a command looks at, or traces.
func TestSectionProgram(t *testing.T) {
	for command, want := range map[string]string{
		"for t in /proc/$(pidof kubelet)/task/*; do cat $t/stack; done": "kubelet",
		"p=$(pgrep -x containerd); cat /proc/$p/task/*/stack":           "containerd",
		"for p in $(pgrep runc); do cat /proc/${p}/stack; done":         "runc",
		"cat /proc/$(pgrep -n runc)/stack":                              "runc",
		"timeout 90 strace -f -T -p $(pidof containerd) 2>&1 | head":    "containerd",
		"strace -f -p $(pgrep java)":                                    "",
		"for p in $(pgrep java); do cat /proc/$p/stack; done":           "",
		"for p in $(pgrep runc); do echo $p; done":                      "",
		"cat /proc/1234/stack":                                          "",
	} {
		require.Equal(t, want, (&Section{Command: command}).Program(), command)
	}
}
