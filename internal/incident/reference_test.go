package incident_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
)

// references are files that speak about the node's programs and show nothing about a node, each
// kind at a size at which they are met: this repository's pages, rules and code, lists of symbols,
// histories, rules of other tools, prose that quotes.
func references(t *testing.T) map[string][]packed {
	t.Helper()
	all := map[string][]packed{}
	for kind, patterns := range map[string][]string{
		"documentation": {"../../docs/*.md", "../../*.md", "../../docs/collect/*.json"},
		"rules":         {"../rules/catalog/*.yaml", "../../testdata/my-rules/*.yaml"},
		"source":        {"../observe/*/*.go", "../observe/messages/*/*.go", "../incident/*_test.go", "../../docs/collect/*.py", "../../docs/collect/*.sh"},
	} {
		for _, pattern := range patterns {
			names, err := filepath.Glob(pattern)
			require.NoError(t, err)
			require.NotEmpty(t, names, pattern)
			for _, name := range names {
				text, err := os.ReadFile(name)
				require.NoError(t, err)
				all[kind] = append(all[kind], packed{name: strings.TrimPrefix(path.Clean(name), "../"), body: string(text)})
			}
		}
	}
	for i := range all["documentation"] {
		all["documentation"][i].name = strings.TrimPrefix(all["documentation"][i].name, "../")
	}
	all["symbols"] = symbolLists()
	all["history"] = histories(all["documentation"])
	all["rules"] = append(all["rules"], otherRules()...)
	all["prose"] = []packed{{name: "incident/summary.txt", body: retelling()}, {name: "chat-export.txt", body: retelling()}}
	return all
}

// symbolLists are what tracers and the kernel list, some thousand names of it.
func symbolLists() []packed {
	var filter, kallsyms, system, probes, perf strings.Builder
	perf.WriteString("\nList of pre-defined events (to be used in -e or -M):\n\n")
	random := rand.New(rand.NewPCG(1, 2))
	for _, first := range []string{"ovl", "xfs", "ext4", "nfs", "nfs4", "fuse", "umount", "rtnl", "fanotify", "fsnotify", "zap_pid_ns", "cgroup", "mem_cgroup", "io", "wb", "pipe", "unregister_netdevice", "synchronize_rcu", "request", "jbd2"} {
		for _, last := range []string{"sync_fs", "lock", "wait", "wait_answer", "handle_event", "get_response", "processes", "inode", "release", "wait_on_page_bit", "drain", "many", "expedited", "schedule"} {
			for i := range 12 {
				name := first + "_" + last
				if i > 0 {
					name += fmt.Sprint("_", i)
				}
				module := ""
				if first == "ovl" || first == "nfs" || first == "xfs" {
					module = " [" + first + "]"
				}
				address := random.Uint32()
				fmt.Fprintf(&filter, "%s%s\n", name, module)
				fmt.Fprintf(&kallsyms, "ffffffff%08x t %s%s\n", address, name, strings.Replace(module, " ", "\t", 1))
				fmt.Fprintf(&system, "ffffffff%08x T %s\n", address, name)
				fmt.Fprintf(&probes, "kprobe:%s\n", name)
				fmt.Fprintf(&perf, "  %-50s [Tracepoint event]\n", first+":"+name)
			}
		}
	}
	filter.WriteString("__schedule\ndo_syscall_64\novl_sync_fs [overlay]\nfanotify_handle_event\nrequest_wait_answer [fuse]\nzap_pid_ns_processes\numount_tree\n")
	return []packed{
		{name: "sys/kernel/tracing/available_filter_functions", body: filter.String()},
		{name: "functions.txt", body: filter.String()},
		{name: "proc/kallsyms", body: kallsyms.String()},
		{name: "boot/System.map-6.8.0", body: system.String()},
		{name: "symbols.txt", body: system.String()},
		{name: "sos_commands/ebpf/bpftrace_-l", body: probes.String()},
		{name: "sos_commands/perf/perf_list", body: perf.String()},
		{name: "grep-of-functions.txt", body: "ovl_sync_fs [overlay]\novl_fill_super [overlay]\nfanotify_handle_event\nfanotify_get_response\nrequest_wait_answer\nzap_pid_ns_processes\numount_tree\nrtnl_lock\n"},
	}
}

// histories are every command that the pages show, as shells keep them and as history prints them.
func histories(pages []packed) []packed {
	var commands []string
	for _, page := range pages {
		for line := range strings.Lines(page.body) {
			command, ok := strings.CutPrefix(line, "    ")
			if ok = ok || strings.HasPrefix(line, "plegdiag ") || strings.HasPrefix(line, "kill "); ok {
				commands = append(commands, strings.TrimSpace(command))
			}
		}
	}
	for _, command := range []string{"kill -CONT 1422", "cat /proc/1422/stack", "crictl ps", "journalctl -u kubelet | grep 'PLEG is not healthy: pleg was last seen active 3m0s ago; threshold is 3m0s'"} {
		for range len(commands) {
			commands = append(commands, command)
		}
	}
	var numbered, stamped strings.Builder
	for i, command := range commands {
		fmt.Fprintf(&numbered, "%5d  2026-11-20 09:%02d:05 %s\n", i+1, i%60, command)
		fmt.Fprintf(&stamped, "#%d\n%s\n", 1795199112+i, command)
	}
	return []packed{
		{name: "root/.bash_history", body: strings.Join(commands, "\n")},
		{name: "home/admin/.zsh_history", body: stamped.String()},
		{name: "what-i-did.txt", body: numbered.String()},
	}
}

// otherRules are rules of other tools, made of the texts that plegdiag itself looks for.
func otherRules() []packed {
	var list, alerts, npd strings.Builder
	alerts.WriteString("groups:\n- name: node\n  rules:\n")
	npd.WriteString("{\n  \"plugin\": \"kmsg\",\n  \"logPath\": \"/dev/kmsg\",\n  \"source\": \"kernel-monitor\",\n  \"rules\": [\n")
	for i, text := range messages.Literals() {
		text = strings.Trim(fmt.Sprintf("%q", text), `"`)
		fmt.Fprintf(&list, ".*%s (\\S+)\n", text)
		fmt.Fprintf(&alerts, "  - alert: Alert%d\n    expr: rate({job=\"kubelet\"} |= \"%s\" [5m]) > 0\n    annotations:\n      summary: \"%s\"\n", i, text, text)
		fmt.Fprintf(&npd, "    {\"type\": \"temporary\", \"reason\": \"R%d\", \"pattern\": \"%s .*\"},\n", i, text)
	}
	npd.WriteString("    {\"type\": \"temporary\", \"reason\": \"TaskHung\", \"pattern\": \"task \\\\S+:\\\\w+ blocked for more than \\\\w+ seconds\\\\.\"}\n  ]\n}\n")
	return []packed{
		{name: "patterns.txt", body: list.String()},
		{name: "etc/prometheus/alerts.yml", body: alerts.String()},
		{name: "alerts.txt", body: alerts.String()},
		{name: "etc/node-problem-detector/kernel-monitor.json", body: npd.String()},
	}
}

// retelling is how somebody describes an incident: the lines stand between their sentences, as
// they are remembered.
func retelling() string {
	quotes := []string{
		"PLEG is not healthy: pleg was last seen active 3m0.1s ago; threshold is 3m0s",
		"INFO: task containerd-shim:1422 blocked for more than 120 seconds.",
		"unregister_netdevice: waiting for lo to become free. Usage count = 1",
		"The maximum number of active connections for UID 0 has been reached",
		"runtime: failed to create new OS thread (have 2 already; errno=11)",
		"grpc: trying to send message larger than max (16791221 vs. 16777216)",
		"[<0>] ovl_sync_fs+0x2f/0x50 [overlay]",
		"cgroup: fork rejected by pids controller in /system.slice/containerd.service",
	}
	var out strings.Builder
	for i := range 40 {
		fmt.Fprintf(&out, "On day %d we looked at the node again, and it was the same as on the day before.\nThis is what the others said about it, and what I have seen of it there:\n\n    %s\n\n", i, quotes[i%len(quotes)])
		fmt.Fprintf(&out, "After that we restarted the runtime on %d of the nodes, but it did not help for long.\n\n", i)
	}
	return out.String()
}

// loadReferences loads inputs that may hold nothing.
func loadReferences(t *testing.T, inputs ...string) *incident.Incident {
	t.Helper()
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	inc, err := incident.Load(t.Context(), incident.Options{Inputs: incident.Inputs{Paths: inputs}, Catalog: catalog})
	require.True(t, err == nil || errors.Is(err, incident.ErrNothing), err)
	return inc
}

// TestReferencesNameNothing: they make no event, no thread sample, no fact, and the account says
// what they are.
func TestReferencesNameNothing(t *testing.T) {
	for kind, files := range references(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			inc := loadReferences(t, tree(t, files...))
			require.Empty(t, inc.Result.Findings)
			require.Empty(t, inc.Timeline.Stalls)
			for i := range inc.Timeline.Events {
				require.Failf(t, "an event", "%s: %s", inc.Timeline.Events[i].Pos(), inc.Timeline.Events[i].Text)
			}
			require.Empty(t, inc.Timeline.Facts)
			checkAccount(t, inc)
			for _, f := range inc.Files {
				switch f.Format {
				case "documentation", "rules", "source", "symbols", "history":
					require.Zero(t, f.Used, f.Path)
					require.Contains(t, f.FirstSkip, "no evidence")
				default:
					require.Contains(t, []string{"prose", "json"}, f.Format, f.Path)
				}
			}
		})
	}
}

// TestReferencesChangeNothing: beside any incident, and in a report of a healthy node, they change
// no finding.
func TestReferencesChangeNothing(t *testing.T) {
	byKind := references(t)
	var files []packed
	for _, kind := range []string{"documentation", "rules", "source", "symbols", "history", "prose"} {
		of := slices.DeleteFunc(slices.Clone(byKind[kind]), func(p packed) bool { return len(p.body) > 32<<10 })
		files = append(files, of[:min(len(of), 3)]...)
		files = append(files, of[max(0, len(of)-3):]...)
	}
	some := tree(t, files...)
	for i, f := range fixtures(t) {
		if passed(i) || passed(i/8) || strings.HasPrefix(f.Name, "rules/") || strings.HasPrefix(f.Name, "tickets/") && i%8 != 0 {
			continue // whole incidents and some tickets are enough: each is read with 60 files
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			in, err := f.Input()
			require.NoError(t, err)
			require.Equal(t, saidOf(load(t, in)), saidOf(load(t, in, some)))
		})
	}
	healthy := healthyNode()
	alone := saidOf(load(t, tree(t, healthy...)))
	require.Empty(t, alone.Findings)
	for kind, files := range byKind {
		t.Run("healthy node and "+kind, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, alone, saidOf(load(t, tree(t, append(healthy, files...)...))))
		})
	}
}

// said is what a report says, without where it says so.
type said struct {
	Findings []string
	RuledOut []string
	Stalls   []string
	Harmless []string
}

func saidOf(inc *incident.Incident) (s said) {
	for _, f := range inc.Result.Findings {
		s.Findings = append(s.Findings, fmt.Sprint(f.Rule, " ", f.Verdict, " ", f.Summary))
		for _, step := range f.Chain {
			s.Findings = append(s.Findings, fmt.Sprint("  ", step.ID, " ", step.Text, " ", step.Start, " ", step.End, " ", len(step.Evidence)))
		}
	}
	for _, r := range inc.Result.RuledOut {
		s.RuledOut = append(s.RuledOut, r.Rule)
	}
	for _, x := range inc.Timeline.Stalls {
		s.Stalls = append(s.Stalls, fmt.Sprint(x.Start, " ", x.End, " ", x.Phase))
	}
	for _, h := range inc.Result.Harmless {
		s.Harmless = append(s.Harmless, fmt.Sprint(h.Name, " ", h.Count))
	}
	return s
}

// healthyNode is a report of a node on which nothing is wrong, laid out as sos does.
func healthyNode() []packed {
	var journal, kubelet, containerd, dmesg strings.Builder
	for i := range 600 {
		clock := fmt.Sprintf("%02d:%02d:%02d", 9+i/60/6, i/6%60, i%6*10)
		fmt.Fprintf(&journal, "Nov 20 %s node-1 systemd[1]: Started Session %d of user root.\n", clock, i)
		fmt.Fprintf(&kubelet, "Nov 20 %s node-1 kubelet[1234]: I1120 %s.000100    1234 reconciler.go:224] \"operationExecutor.VerifyControllerAttachedVolume started for volume\" pod=\"default/web-%d\"\n", clock, clock, i)
		fmt.Fprintf(&containerd, "Nov 20 %s node-1 containerd[911]: time=\"2026-11-20T%s.000200000Z\" level=info msg=\"Container exec started\" id=%064x\n", clock, clock, i)
		fmt.Fprintf(&dmesg, "[%5d.%06d] eth0: link is up\n", i, i)
	}
	const root = "sosreport-node-1-2026-11-20-abcdefg/"
	return []packed{
		{name: root + "sos_commands/logs/journalctl_--no-pager", body: journal.String()},
		{name: root + "sos_commands/kubernetes/journalctl_--no-pager_--unit_kubelet", body: kubelet.String()},
		{name: root + "sos_commands/containerd/journalctl_--no-pager_--unit_containerd", body: containerd.String()},
		{name: root + "sos_commands/kernel/dmesg", body: dmesg.String()},
		{name: root + "sos_commands/date/date", body: "Fri Nov 20 10:45:00 UTC 2026\n"},
		{name: root + "proc/loadavg", body: "0.48 0.72 0.79 1/92 17216\n"},
		{name: root + "proc/sys/kernel/pid_max", body: "4194304\n"},
		{name: root + "etc/containerd/config.toml", body: "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\n  sandbox_image = \"pause:3.9\"\n"},
		{name: root + "uname", body: "Linux node-1 6.8.0-45-generic #45-Ubuntu SMP x86_64 GNU/Linux\n"},
	}
}
