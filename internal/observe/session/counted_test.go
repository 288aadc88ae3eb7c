package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/observetest"
)

// TestCounted: a number is a fact by the command that counted it, where no node that works has so
// many.
func TestCounted(t *testing.T) {
	var got strings.Builder
	for _, c := range []struct {
		command string
		number  int
	}{
		{"find /proc/*/fd -lname anon_inode:inotify 2>/dev/null | wc -l", 8190},
		{"find /proc/*/fd -lname anon_inode:inotify 2>/dev/null | wc -l", 45},
		{"lsof | grep inotify | wc -l", 9000},
		{"ps -eLf | wc -l", 32751},
		{"ps -eLf | wc -l", 1042},
		{"ps axms | wc -l", 40000},
		{"ls -d /proc/*/task/* | wc -l", 31001},
		{"ps -ef | wc -l", 21000},
		{"ps aux | awk '$8 ~ /^Z/' | wc -l", 14213},
		{"ps -ef | grep '[d]efunct' | wc -l", 2041},
		{"ps aux | grep -c containerd-shim", 812},
		{"pgrep -f containerd-shim-runc-v2 | wc -l", 812},
		{"ls /var/lib/cni/networks/cbr0 | wc -l", 255},
		{"ps aux | grep -c '[p]g_isready'", 733},
		{"ps aux | grep -c '[p]g_isready'", 12},
		{"pgrep -fc redis-cli", 733},
		{"ps --no-headers -C curl | wc -l", 733},
		{"pgrep -fc my-agent", 733},
		{"ls /proc/$(pgrep -x containerd)/task | wc -l", 10021},
		{"ls /proc/1203/fd | wc -l", 65530},
		{"lsof -n -p 1203 | wc -l", 65541},
		{"systemctl list-units --all | wc -l", 48213},
		{"systemctl list-units | grep -c libcontainer_", 18213},
		{"systemctl list-units | grep failed | wc -l", 3},
		{"mount | wc -l", 41230},
		{"wc -l /proc/1/mountinfo", 33231},
		{"mount | grep overlay | wc -l", 110},
		{"find /sys/fs/cgroup/memory -type d | wc -l", 61012},
		{"ls /sys/fs/cgroup/systemd/system.slice | wc -l", 23410},
		{"ip -o link | grep veth | wc -l", 3012},
		{"ps -A -ostat,ppid | grep -e '[zZ]' | wc -l", 5120},
		{"docker ps -aq | wc -l", 2313},
		{"crictl pods -q | wc -l", 88},
		{"journalctl -u kubelet | grep PLEG | wc -l", 99999},
	} {
		fmt.Fprintf(&got, "%s: %d\n", c.command, c.number)
		quote := event.Quote{Pos: event.Pos{File: "t.txt", Line: 2}, Text: fmt.Sprint(c.number)}
		var counts counts
		counts.add(count{command: c.command, number: c.number}, quote)
		for _, e := range counts.finish() {
			fmt.Fprintf(&got, "  -> %s\n", observetest.Describe(t, &e))
		}
	}
	observetest.Golden(t, "counted.golden", got.String())
}

// TestCountedLimit: a number is compared with the limit that the same file shows, wherever it
// stands.
func TestCountedLimit(t *testing.T) {
	read := func(limit int) event.Event {
		var c counts
		c.add(count{command: "sysctl kernel.threads-max", limit: 514000})
		c.add(count{command: "ps -eLf | wc -l", number: 32500})
		c.add(count{command: "cat /proc/sys/kernel/pid_max", limit: limit})
		require.Len(t, c.finish(), 1)
		return c.finish()[0]
	}
	e := read(32768)
	require.Equal(t, "true", e.FieldText(event.FieldFull))
	e = read(4194304)
	require.Equal(t, "514000", e.FieldText(event.FieldLimit), "the lowest counts")
	require.Empty(t, e.FieldText(event.FieldFull))
	var c counts
	c.add(count{command: "ps -eLf | wc -l", number: 32500})
	e = c.finish()[0]
	require.Empty(t, e.FieldText(event.FieldLimit))
}
