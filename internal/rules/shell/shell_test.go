package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for command, want := range map[string]string{
		"timeout 5 crictl pods":               "",
		"kill -USR1 $(pidof containerd)":      "",
		"grep -c '#' /etc/fstab; echo ${A:?}": "",
		"echo $#":                             "",
		"  ":                                  "empty",
		"ls\nls":                              "one line",
		"$ ls":                                "prompt",
		"dmesg  # the kernel's log":           "no comment",
		"# dmesg":                             "no comment",
		"echo 'it":                            "bash refuses it",
		"for i in 1 2; do sleep 1":            "bash refuses it",
		"kill -USR1 $(pidof containerd":       "bash refuses it",
	} {
		_, err := Parse(command)
		if want == "" {
			require.NoError(t, err, command)
			continue
		}
		require.ErrorContains(t, err, want, command)
	}
}

func parse(t *testing.T, command string) *Command {
	t.Helper()
	c, err := Parse(command)
	require.NoError(t, err, command)
	return c
}

func TestBlanks(t *testing.T) {
	for command, want := range map[string][]string{
		"kill -USR1 SHIM_PID":                           {"SHIM_PID"},
		"cat /proc/PID/task/TID/stack":                  {"PID", "TID"},
		"pgrep -af 'containerd-shim.*CONTAINER'":        {"CONTAINER"},
		`curl "https://SERVER/healthz"`:                 {"SERVER"},
		"PID=$(pgrep -x runc); echo $PID ${PID:?none}":  nil,
		"journalctl _PID=1 SYSLOG_IDENTIFIER=dbus":      nil,
		"grep -e TracerPid -e LISTEN -e NSpid -e USR1":  nil,
		"crictl pods --label KEY=VALUE; OUT=/tmp/ID ls": {"KEY", "VALUE", "ID"},
	} {
		require.Equal(t, want, parse(t, command).ListBlanks(), command)
	}
}

func TestVariables(t *testing.T) {
	for _, c := range []struct {
		command     string
		sets, reads []string
	}{
		{"SHIM=$(pgrep -x shim); kill ${SHIM:?none}", []string{"SHIM"}, nil},
		{"kill $SHIM $HOME $$ $1", nil, []string{"SHIM"}},
		{"for t in /proc/$P/task/*; do cat $t/stack; done", []string{"t"}, []string{"P"}},
		{"while read a b; do echo $a $b; done", []string{"a", "b"}, nil},
	} {
		sets, reads := parse(t, c.command).ListVariables()
		require.Equal(t, c.sets, sets, c.command)
		require.ElementsMatch(t, c.reads, reads, c.command)
	}
}

func TestFindChange(t *testing.T) {
	for command, want := range map[string]string{
		"kill -9 7":                               "kill",
		"[ -d /proc/7 ] && sudo kill -9 7":        "kill",
		"pgrep runc | xargs -r -n 20 kill":        "kill",
		"timeout 10 systemctl restart kubelet":    "systemctl restart",
		"systemctl status kubelet":                "",
		"echo b > /proc/sysrq-trigger":            "a redirection into the kernel's files",
		"for f in a; do echo 0 > $f; done":        "a redirection into the kernel's files",
		"ps -e > ps.txt 2>/dev/null":              "",
		"for t in /proc/*; do cat $t/stack; done": "",
		"crictl pods -q | xargs crictl rmp":       "crictl rmp",
		"crictl inspect x":                        "",
		"sysctl -w a=1":                           "sysctl -w",
		"sysctl a":                                "",
		"journalctl --vacuum-size=500M":           "journalctl --vacuum-size",
	} {
		require.Equal(t, want, parse(t, command).FindChange(), command)
	}
}
