package template

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestCommands: a value reaches a command only where a shell takes it as one word.
func TestCommands(t *testing.T) {
	in := Scope{Steps: func(id string) int { return slices.Index([]string{"update"}, id) }, Variables: func(name string) int { return slices.Index([]string{"cid"}, name) }}
	in.Captured = func(int, string) int { return -1 }
	var used []int
	command, wrong := ParseCommand("kill {update.pid/cid} ${P:?none} {cid|id} {a,b} {} awk '{print $1}'", in, func(v int) { used = append(used, v) })
	require.Empty(t, wrong)
	require.Equal(t, []int{0, 0}, used)
	require.Equal(t, []Placeholder{
		{"update.pid/cid", []Name{{0, "pid", -1}, {OwnStep, "cid", 0}}}, {"cid", []Name{{OwnStep, "cid", 0}}},
	}, command.ListPlaceholders())
	require.Equal(t, "kill 1 ${P:?none} 1 {a,b} {} awk '{print $1}'", command.FillSample())
	for _, c := range []struct {
		pid, cid, want string
		unknown        []string
	}{
		{"77", "c0ffee", "kill 77 ${P:?none} c0ffee {a,b} {} awk '{print $1}'", nil},
		{"7; reboot", "c0ffee", "kill c0ffee ${P:?none} c0ffee {a,b} {} awk '{print $1}'", nil},
		{"-9", "$(reboot)", "kill PID ${P:?none} CID {a,b} {} awk '{print $1}'", []string{"update.pid/cid", "cid"}},
	} {
		update := withFields("pid", c.pid)
		got, unknown := command.ExpandCommand(Seen{Steps: [][]*event.Event{{&update}}, Bound: []string{c.cid}, Own: OwnStep})
		require.Equal(t, c.want, got)
		require.Equal(t, c.unknown, unknown)
	}
	require.Equal(t, "CONTAINER", BlankName("update.container"))
	_, wrong = ParseCommand("kill {nobody} {nothing}", in, func(int) {})
	require.Len(t, wrong, 2)
}
