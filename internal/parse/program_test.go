package parse

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
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

// TestProgramByNumber: a process that is traced by its number is the one of which a command before
// has printed that number.
func TestProgramByNumber(t *testing.T) {
	const text = "# pidof containerd\n894\n# strace -f -T -p 894\nfdatasync(8) = 0 <7.284113>\n# strace -p 895\nfsync(8) = 0 <1.2>\n"
	var got []string
	all := NewSections(lines.Input{Path: "f", R: strings.NewReader(strings.ReplaceAll(text, "# ", "root@n:~# "))})
	for s := all.Next(); s != nil; s = all.Next() {
		_, err := io.Copy(io.Discard, s.R)
		require.NoError(t, err)
		got = append(got, s.Program())
	}
	require.Equal(t, []string{"", "containerd", ""}, got)
}
