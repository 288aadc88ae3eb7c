package language

import (
	"os/exec"
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
