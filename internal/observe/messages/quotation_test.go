package messages_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/observe/observetest"
)

// TestQuotedKernelMessage: a message of the kernel in the middle of somebody's words is a
// quotation, and a device that stands for any is a template; the message alone, and behind what
// carries it, is evidence.
func TestQuotedKernelMessage(t *testing.T) {
	const full, busy = "nf_conntrack: table full, dropping packet", "unregister_netdevice: waiting for lo to become free. Usage count = 1"
	for _, line := range []string{
		"- `dmesg`: `" + full + "`",
		"- Message: `rcu: INFO: rcu_sched self-detected stall on CPU` / `detected stalls on CPUs/tasks`",
		`|        [dmesg: "` + full + `"]                 |`,
		"│  dmesg: " + full + "  │",
		"| rtnl | bridge → `unregister_netdevice: waiting for ... to become free` | A4 |",
		"| rtnl | bridge → " + busy + " | A4 |",
		`the kernel then says "` + busy + `" again and again`,
		"内核报错 “" + busy + "” 之后",
		"If you see " + busy + " then look at the pods",
		"unregister_netdevice: waiting for xxx to become free. Usage count = 1",
		"unregister_netdevice: waiting for ... to become free. Usage count = 1",
		"unregister_netdevice: waiting for <dev> to become free. Usage count = 1",
		"nfs: server %s not responding, still trying",
	} {
		events, _ := observetest.ObserveFile(t, "notes.txt", []byte("a first line\n"+line+"\n"))
		require.Empty(t, events, line)
	}
	for _, line := range []string{
		busy, "> " + busy, "    " + busy, "- " + busy, "`" + busy + "`", `"` + busy + `"`, "kernel:" + busy,
		`message: "` + busy + `"`, `{"host": "a", "text": "` + busy + `", "n": 1`, `level=info msg="` + busy + `"`,
		"[42000.009100] " + busy, "Nov  8 09:30:11 node-1 kernel: " + busy,
		"| 2025-11-08T09:30:11Z | node-1 | " + busy + " |",
		"nfs: server xxx not responding, still trying", "the node has said " + busy,
	} {
		events, _ := observetest.ObserveFile(t, "notes.txt", []byte("a first line\n"+line+"\n"))
		require.NotEmpty(t, events, line)
	}
}
