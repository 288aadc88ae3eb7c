package samples

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// TestPastedStatus: what the file status holds names its thread itself, with tabs and without.
func TestPastedStatus(t *testing.T) {
	const one = "Name:\tcontainerd-shim\nUmask:\t0022\nState:\tD (disk sleep)\nTgid:\t4711\nNgid:\t0\nPid:\t4712\nSigPnd:\t0000000000000000\n" +
		"voluntary_ctxt_switches:\t7\n"
	two := one + "\n" + strings.NewReplacer("4712", "4713", "\tD (disk sleep)", "\tT (stopped)").Replace(one)
	for name, text := range map[string]string{"tabs": two, "blanks": strings.ReplaceAll(two, "\t", " ")} {
		require.InDelta(t, 1, SniffProc(lines.NewHead([]byte(text))), 0, name)
		var got [][]any
		for s, err := range ReadProc(lines.Input{Path: "paste.txt", R: strings.NewReader(text)}) {
			require.NoError(t, err, name)
			got = append(got, []any{s.PID, s.TID, s.Comm, s.State, string(s.Raw)})
		}
		state := map[string]string{"tabs": "State:\t", "blanks": "State: "}[name]
		require.Equal(t, [][]any{
			{4711, 4712, "containerd-shim", "D", state + "D (disk sleep)"}, {4711, 4713, "containerd-shim", "T", state + "T (stopped)"},
		}, got, name)
	}
	require.Zero(t, SniffProc(lines.NewHead([]byte("Name:         node-1\nRoles:        <none>\n"))), "kubectl describe node")
}
