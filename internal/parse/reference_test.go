package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// formatOf is the format that Open finds.
func formatOf(t *testing.T, file, text string) string {
	t.Helper()
	o, err := Open(strings.NewReader(text), file)
	require.NoError(t, err)
	return o.Name
}

// TestReferences: what speaks about programs is set aside, by its name or its content; what looks
// like it and is a log, a stack, a session or a listing is not; a session, and a page with a block
// of a log, is read section by section.
func TestReferences(t *testing.T) {
	functions := "ovl_sync_fs [overlay]\novl_fill_super [overlay]\novl_mount [overlay]\numount_tree\npath_umount\nksys_umount\nsync_filesystem\nfanotify_handle_event\n"
	stack := "ovl_sync_fs\nsync_filesystem\ngeneric_shutdown_super\nkill_anon_super\ndeactivate_locked_super\ncleanup_mnt\ntask_work_run\nexit_to_user_mode_loop\ndo_syscall_64\nentry_SYSCALL_64_after_hwframe\n"
	klog := `E1108 09:30:11.885000    1234 kubelet.go:2400] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m0.1s ago; threshold is 3m0s"` + "\n"
	page := "# When the node is NotReady\n\nThe kubelet asks the runtime for all of its pods, and it waits for the answer.\nIf there is none for three minutes, then PLEG is not healthy and the node is NotReady.\n"
	for name, c := range map[string]struct{ file, text, want string }{
		"functions of the kernel":    {"x.txt", functions, "symbols"},
		"by their file":              {"sys/kernel/tracing/available_filter_functions", "ovl_sync_fs\n", "symbols"},
		"more than a stack":          {"x.txt", strings.Repeat(stack, 7), "symbols"},
		"a stack without offsets":    {"x.txt", stack, Text},
		"a stack with offsets":       {"7.stack", "[<0>] ovl_sync_fs+0x2f/0x50 [overlay]\n", "proc"},
		"System.map":                 {"boot.txt", strings.Repeat("ffffffff81000000 T ovl_sync_fs\n", 9), "symbols"},
		"kallsyms without addresses": {"k.txt", strings.Repeat("0000000000000000 t ovl_sync_fs\t[overlay]\n", 9), "symbols"},
		"bpftrace -l":                {"x", strings.Repeat("kprobe:umount_tree\ntracepoint:syscalls:sys_enter_umount\n", 6), "symbols"},
		"perf list":                  {"x", "List of pre-defined events (to be used in -e or -M):\n\n" + strings.Repeat("  syscalls:sys_enter_umount                          [Tracepoint event]\n", 12), "symbols"},
		"commands":                   {"root/.bash_history", "make\n", "history"},
		"commands, by content":       {"a.txt", "cd /tmp\nsystemctl status containerd\nkubectl get nodes\nps -ef\numount2 /x\nls -l\n", "history"},
		"history":                    {"a.txt", "  501  2026-11-20 09:30:05 cd /\n  502  2026-11-20 09:30:06 ls\n  503  kubectl get pods\n  504  crictl ps\n  505  kill -CONT 1\n", "history"},
		"a session":                  {"a.txt", "$ crictl ps\nFATA[0002] failed to connect: context deadline exceeded\n$ docker ps\nCannot connect to the Docker daemon\n$ ls\nx\ny\n", "transcript"},
		"alerts":                     {"a.txt", "groups:\n- name: x\n  rules:\n  - alert: PLEG\n    expr: kubelet_pleg_relist_duration_seconds > 10\n    annotations:\n      summary: PLEG is not healthy\n", "rules"},
		"alerts of the operator":     {"a.yaml", "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nspec:\n  groups:\n  - rules:\n    - alert: PLEG\n      expr: x > 10\n", "rules"},
		"problem detector":           {"a.json", `{"plugin": "kmsg", "logPath": "/dev/kmsg", "rules": [{"type": "temporary", "reason": "TaskHung", "pattern": "task \\S+:\\w+ blocked for more than \\w+ seconds\\."}]}`, "rules"},
		"regular expressions":        {"a.txt", "task \\S+:\\w+ blocked for more than \\d+ seconds\nPLEG is not healthy: .*\nBUG: soft lockup .+\n", "rules"},
		"queries":                    {"a.txt", "{unit=\"kubelet\"} |= \"PLEG is not healthy: pleg was last seen active 3m0s ago; threshold is 3m0s\"\n{job=\"kern\"} |= \"unregister_netdevice: waiting for lo to become free. Usage count = 1\"\n", "rules"},
		"filters of rsyslog":         {"rsyslog.conf", "# rsyslog\nmodule(load=\"imuxsock\")\n:msg, contains, \"unregister_netdevice: waiting for lo to become free. Usage count = 1\" stop\n:msg, contains, \"blocked for more than\" stop\n", "rules"},
		"a playbook":                 {"a.yml", "- hosts: all\n  tasks:\n  - name: look\n    shell: dmesg | grep \"INFO: task containerd-shim:1234 blocked for more than 120 seconds.\"\n", "rules"},
		"strings of a program":       {"a.txt", "unregister_netdevice: waiting for %s to become free. Usage count = %d\nINFO: task %s:%d blocked for more than %ld seconds.\ncgroup: fork rejected by pids controller in %s\n", "rules"},
		"a session with grep":        {"a.txt", "$ grep \"PLEG\" messages\nPLEG is not healthy: pleg was last seen active 3m0s ago; threshold is 3m0s\n$ grep \"netdev\" messages\nunregister_netdevice: waiting for lo to become free. Usage count = 1\n", Text},
		"conditions of a node":       {"node.yaml", "- lastHeartbeatTime: \"2025-11-08T01:35:02Z\"\n  message: 'PLEG is not healthy: pleg was last seen active 5m1.4s ago; threshold is 3m0s'\n  reason: KubeletNotReady\n  status: \"False\"\n  type: Ready\n", "yaml"},
		"a cluster role":             {"a.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nrules:\n- apiGroups: [\"\"]\n  resources: [pods]\n", "yaml"},
		"Go":                         {"a.txt", "// Package x does y.\npackage x\n\nvar s = `" + klog + "`\n", "source"},
		"Go, by name":                {"a/b.go", "var s = `" + klog + "`\n// more\n// of it\n", "source"},
		"a script":                   {"usr/local/bin/check", "#!/bin/sh\njournalctl -u kubelet | grep 'PLEG is not healthy: pleg was last seen active 3m0s ago'\n", "source"},
		"C":                          {"a.txt", "#include <linux/fs.h>\nint ovl_sync_fs(struct super_block *sb) { return 0; }\n", "source"},
		"a manual page":              {"a.txt", "NAME\n  umount2\nSYNOPSIS\n  int umount2(x);\nDESCRIPTION\n  text\n", "documentation"},
		"a page":                     {"guide.md", page + "\nIt is said in [another page](other.md#there), where they are.\n", "documentation"},
		"a commit":                   {"p", "From: A <a@b.org>\n\nThe device is not released:\n\n  unregister_netdevice: waiting for vxlan1 to become free. Usage count = 11\n\nFixes: 93a1ab2c545b (\"net/mlx5: Refactor\")\nSigned-off-by: A <a@b.org>\n---\n", "documentation"},
		"a commit with a kernel log": {"p", strings.Repeat("[  967.723577] INFO: task ip:6024 blocked for more than 120 seconds.\n", 9) + "Signed-off-by: A <a@b.org>\n", "documentation"},
		"a mail of a list":           {"m", "X-Mailing-List: linux-crypto@vger.kernel.org\n\nOn Wed, A wrote:\n> INFO: task cryptomgr_test:391009 blocked for more than 120 seconds.\n>  Kernel panic - not syncing: hung_task: blocked tasks\n", "documentation"},
		"a stamped log, quoted":      {"m", "X-Mailing-List: a@vger.kernel.org\n\nOn Wed, A wrote:\n" + strings.Repeat("> [  967.723577] INFO: task ip:6024 blocked for more than 120 seconds.\n", 9), "documentation"},
		"a patch of a list":          {"m", "Subject: Re: [PATCH net v2] tg3: x\nX-Mailing-List: a@vger.kernel.org\n\n" + strings.Repeat("[  967.723577] INFO: task ip:6024 blocked for more than 120 seconds.\n", 9), "documentation"},
		"a report to a list":         {"m", "X-Mailing-List: a@vger.kernel.org\n\nI see:\n" + strings.Repeat("[  967.723577] INFO: task ip:6024 blocked for more than 120 seconds.\n", 9), "dmesg"},
		"an answer with a log":       {"m", "X-Mailing-List: a@vger.kernel.org\n\nOn Wed, A wrote:\n> Do you see it again?\n\n" + strings.Repeat("[  967.723577] INFO: task ip:6024 blocked for more than 120 seconds.\n", 9), "dmesg"},
		"a mail of a user":           {"m", "It works for a while, then all file operations hang.\n\nJul 11 13:12:17 hh kernel: nfs: server a OK\nJul 11 13:12:18 hh kernel: nfs: server a OK\nJul 11 13:12:19 hh kernel: nfs: server a OK\n", "journal-short"},
		"a knowledge base":           {"kb.md", "---\ntitle: \"Pods restart\"\nversions:\n- \"all\"\n---\n\n## Symptoms\n\n```\n" + strings.Repeat(klog, 4) + "```\n", "documentation"},
		"advice by trouble":          {"t.md", strings.Repeat("## a\n```\n"+klog+"```\n**Cause:** x\n\n**Fix:**\n```bash\n$ docker ps\nCONTAINER ID\n```\n", 2), "documentation"},
		"what a reader may see":      {"t.md", "**No network**\n\nThen you might see logs similar to the following.\n\n```\n" + klog + "```\n", "documentation"},
		"what somebody saw besides":  {"t.md", "On my node:\n\n```\n" + klog + klog + "```\n\nThen you might see logs similar to the following.\n\n```\n" + klog + "```\n", "transcript"},
		"a template":                 {"t.md", "**Symptom**: no node\n```\nUnable to register node with API server: Post \"https://<fqdn>:443/api/v1/nodes\": EOF\n```\n**Root Cause**: a route\n", "documentation"},
		"an incident with a cause":   {"t.md", "**Symptom**: no node\n```\n" + klog + "```\n**Root Cause**: a route\n\n**Fix**: reboot\n", "transcript"},
		"a post with front matter":   {"t.md", "---\ntitle: a\ndate: 2022-07-28\n---\n\n## Root cause\n\n```\n" + klog + klog + "```\n", "transcript"},
		"a web page":                 {"a.txt", "<!DOCTYPE html>\n<html><body>PLEG is not healthy</body></html>\n", "documentation"},
		"notes in another markup":    {"day03.rst", "See what the kubelet says::\n\n" + strings.Repeat("\tSep 07 17:36:04 m1 kubelet[133]: "+klog, 3) + "\nHow ever you can't do it, and it is not ready.\n", "journal-short"},
		"a session in such notes":    {"day03.rst", "Run::\n\n$ docker ps\nCONTAINER ID\n" + strings.Repeat("\t"+klog, 3), "transcript"},
		"a document of the kernel":   {"Documentation/lockup.rst", "The report looks like this::\n\n" + strings.Repeat("  [  967.723577] INFO: task ip:6024 blocked for more than 120 seconds.\n", 4) + "\nWhat it says of the task is as follows.\nIt is the one that waits.\nThen comes its stack.\nThe rest is left out.\nIt is long.\n", "documentation"},
		"an example of a project":    {"docs/node.rst", "Then it says::\n\n   " + klog + "\nIt is then not ready.\n", "documentation"},
		"by its place":               {"usr/share/doc/runc/NEWS.gz", "text\n", "documentation"},
		"an incident's description":  {"ticket.md", page + "\n```\n" + klog + "```\n", "transcript"},
		"a prompt of root":           {"t.txt", "The pods of the node do not start, and it is always the same that we see.\nmkdir: cannot create directory: Cannot allocate memory\n# mkdir /sys/fs/cgroup/memory/kubepods/pod1\nWe have no idea what it is, there is enough memory left for all of them.\n", Text},
		"a heading with a command":   {"t.txt", "The pods of the node do not start, and it is always the same that we see.\n# mkdir fails\nWe have no idea what it is, there is enough memory left for all of them.\n", Prose},
		"a chat":                     {"chat.txt", "alice: have you looked at the kubelet of this node?\nbob: yes, it says that PLEG is not healthy and it is not the first time\nalice: then we should restart the runtime on all of them\nbob: that is what I did before you came and it did not help\n", Prose},
		"another script":             {"t.txt", strings.Repeat("节点变为 NotReady，因为 PLEG 不健康，容器运行时没有响应。\n", 1) + "我们重启了容器运行时，但是没有任何帮助。\n内核日志里没有任何错误信息，请看下面的内容。\n最后我们重启了整个节点才恢复正常。\n", Prose},
		"bare messages":              {"ticket.txt", "PLEG is not healthy: pleg was last seen active 3m0.1s ago; threshold is 3m0s\nThe maximum number of active connections for UID 0 has been reached\ncontainer runtime is down\n", Text},
		"a message again and again":  {"ticket.txt", strings.Repeat("The maximum number of active connections for UID 0 has been reached\n", 9), Text},
		"a log with a page's name":   {"docs/README.md", klog + klog, "klog"},
		"a log with a script's name": {"kubelet.sh", klog + klog, "klog"},
		"a quoted log":               {"ticket.txt", "> " + klog + "> " + klog, "klog"},
		"a dump and a remark":        {"ticket.md", "This is the dump of it:\n\n" + strings.Repeat("goroutine 7 [semacquire, 3 minutes]:\nsync.runtime_SemacquireMutex(0xc000)\n\t/go/sema.go:71 +0x25\nmain.main()\n\t/x.go:1 +0x1d\n\n", 3), "goroutines"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, formatOf(t, c.file, c.text))
		})
	}
}

// TestLargeSymbolLists: also with thousands of symbols, and of any table.
func TestLargeSymbolLists(t *testing.T) {
	var system, filter strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&system, "ffffffff%08x %c umount_tree_%d\n", 0x81000000+i*16, "tTdDrRbB"[i%8], i)
		fmt.Fprintf(&filter, "ovl_sync_fs_%d [overlay]\n__schedule_%d\n", i, i)
	}
	require.Equal(t, "symbols", formatOf(t, "a", system.String()))
	require.Equal(t, "symbols", formatOf(t, "a", filter.String()))
}

// FuzzReferences: what is no evidence is found without a panic in any bytes, and twice alike.
func FuzzReferences(f *testing.F) {
	f.Add("x.txt", "ovl_sync_fs\n")
	f.Add("a.md", "# the\n\nit is what it is and was\n")
	f.Fuzz(func(t *testing.T, file, text string) {
		for range 2 {
			o := Opened{Format: Format{Name: Text}, Head: lines.NewHead([]byte(text))}
			o.setReferenceAside(file)
			again := Opened{Format: Format{Name: Text}, Head: lines.NewHead([]byte(text))}
			again.setReferenceAside(file)
			require.Equal(t, o.Name, again.Name)
		}
	})
}
