package language

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/rules/shell"
)

// TestPastedCommands: every command of the catalogue can be pasted as it stands.
func TestPastedCommands(t *testing.T) {
	cat := loadAll(t, builtinFiles)
	bash, noBash := exec.LookPath("bash")
	var all []string
	check := func(rule, command string) {
		_, err := shell.Parse(command)
		require.NoError(t, err, "%s: %s", rule, command)
		require.Empty(t, listUnbounded(command), "%s: journalctl needs a time limit, and its export a file or a pipe", rule)
		all = append(all, command)
	}
	for i := range cat.Rules {
		r := &cat.Rules[i]
		for _, n := range r.Needs {
			check(r.ID, n.Collect)
			c, err := shell.Parse(n.Collect)
			require.NoError(t, err)
			for _, name := range c.ListBlanks() {
				require.True(t, namesWord(n.Note, name), "%s: no note says what %s is", r.ID, name)
			}
		}
		actions := r.Remediation.Now
		for j := range r.Notes {
			if r.Notes[j].Now != nil {
				actions = append(actions, *r.Notes[j].Now)
			}
		}
		require.NotEmpty(t, r.Remediation.Now, r.ID)
		for _, a := range actions {
			require.False(t, a.alone, "%s: %s", r.ID, a.Do)
			require.NotContains(t, a.Do, "`", r.ID)
			require.Equal(t, len(a.Commands) > 0, a.Hazard != "", "%s: %s", r.ID, a.Do)
			for _, command := range a.Commands {
				check(r.ID, command)
			}
		}
	}
	require.NoError(t, noBash, "bash reads the commands: what it refuses cannot be pasted")
	for _, command := range all {
		out, err := exec.Command(bash, "-n", "-c", command).CombinedOutput()
		require.NoError(t, err, "%s: %s", command, out)
	}
}

// listUnbounded returns the calls of journalctl in a command that have no time limit, or that write
// their export to the terminal.
func listUnbounded(command string) (bad []string) {
	for _, call := range regexp.MustCompile(`(timeout [0-9]+ )?journalctl (?:'[^']*'|[^'|;>])*(?:[|;>]|$)`).FindAllString(command, -1) {
		toTerminal := !strings.HasSuffix(call, ">") && !strings.HasSuffix(call, "|")
		if !strings.HasPrefix(call, "timeout ") || strings.Contains(call, "-o export") && toTerminal {
			bad = append(bad, call)
		}
	}
	return bad
}

func TestListUnbounded(t *testing.T) {
	for command, bad := range map[string]int{
		"timeout 60 journalctl -u kubelet -o export --since '1 hour ago' > kubelet.export": 0,
		"timeout 60 journalctl -k -o export | grep -a oom":                                 0,
		"timeout 30 journalctl -u kubelet -n 100 --no-pager":                               0,
		"date; journalctl -u kubelet -o export > a":                                        1,
		"timeout 60 journalctl -u kubelet -o export --since '1 hour ago'; date":            1,
		"journalctl -u a -o export; journalctl -u b -o export":                             2,
	} {
		require.Len(t, listUnbounded(command), bad, command)
	}
}
