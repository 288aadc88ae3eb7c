package layout

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestOf(t *testing.T) {
	const sosRoot, gather = "sosreport-node-1-2023-11-08-x/", "must-gather.local.1/quay-io-sha256-0b1a/"
	pod := Place{Foreign: true}
	for file, want := range map[string]Place{
		sosRoot + "sos_commands/kubernetes/journalctl_--no-pager_--unit_kubelet":                     {Component: "kubelet"},
		sosRoot + "sos_commands/openshift/journalctl_--no-pager_--unit_kubelet_--since_2023-11-08":   {Component: "kubelet"},
		sosRoot + "sos_commands/kubernetes/journalctl_--no-pager_--unit_snap.kubelet.daemon":         {Component: "kubelet"},
		sosRoot + "sos_commands/microk8s/journalctl_--no-pager_--unit_snap.microk8s.daemon-kubelite": {Component: "kubelet"},
		sosRoot + "sos_strings/kubernetes/journalctl_--no-pager_--unit_kubelet.tailed":               {Component: "kubelet", Note: "sos kept only its end"},
		sosRoot + "sos_strings/logs/var.log.kern.log.tailed":                                         {Component: "kernel", Note: "sos kept only its end"},
		sosRoot + "sos_commands/containerd/journalctl_--no-pager_--unit_containerd":                  {Component: "containerd"},
		sosRoot + "sos_commands/docker/journalctl_--no-pager_--unit_docker":                          {Component: "dockerd"},
		sosRoot + "sos_commands/docker/containers/docker_logs_-t_k8s_kubelet":                        pod,
		sosRoot + "sos_commands/docker/containers/docker_logs_-t_kubelet":                            {Component: "kubelet"},
		sosRoot + "sos_commands/crio/containers/crictl_logs_-t_0123456789ab":                         pod,
		sosRoot + "sos_commands/kubernetes/pods/kubectl_--namespace_kube-system_logs_coredns-1":      pod,
		sosRoot + "sos_commands/kernel/dmesg_-T":                                                     {Component: "kernel"},
		sosRoot + "sos_commands/logs/journalctl_--no-pager_--boot":                                   {},
		sosRoot + "var/log/kern.log.1.gz":                                                            {Component: "kernel"},
		sosRoot + "sys/fs/pstore/dmesg-efi-170000000001001":                                          {Component: "kernel", Note: "of a boot before the last one", Earlier: true},
		sosRoot + "var/log/dmesg.1.gz":                                                               {Component: "kernel", Note: "of a boot before the last one", Earlier: true},
		sosRoot + "var/log/pods/kube-system_terway-eniip-x_1/terway/0.log":                           {Component: "cni"},
		sosRoot + "var/log/pods/kube-system_kubelet-csr-approver_1/a/0.log":                          pod,
		"node-1/pods/default_kubelet-lookalike_1/web/0.log":                                          pod,
		sosRoot + "var/lib/juju/agents/unit-containerd-2/charm/templates/config_v2.toml":             pod,
		sosRoot + "etc/containerd/config.toml.rpmnew":                                                pod,
		sosRoot + "etc/containerd/config.toml":                                                       {},
		sosRoot + "var/log/juju/unit-containerd-2.log":                                               pod,
		"kubelet/kubelet.log":                                        {Component: "kubelet"},
		"containerd/containerd-log.txt":                              {Component: "containerd"},
		"bottlerocket/logdog/bottlerocket-logs.tar.gz/b-logs/dmesg":  {Component: "kernel"},
		"journald/kubelet":                                           {Component: "kubelet"},
		"rke2/agent-logs/kubelet.log.1":                              {Component: "kubelet"},
		"rke2/podlogs/kube-system-kube-proxy-node-1":                 pod,
		"k8s/containerlogs/kubelet":                                  {Component: "kubelet"},
		"k8s/containerlogs/etcd":                                     pod,
		gather + "host_service_logs/masters/kubelet_service.log":     {Component: "kubelet"},
		gather + "host_service_logs/worker-2/kubelet_service.log":    {Component: "kubelet", Node: "worker-2"},
		gather + "nodes/worker-2/worker-2_logs_kubelet.gz":           {Component: "kubelet", Node: "worker-2"},
		gather + "nodes/worker-2/sysinfo.tgz/proc/meminfo":           {Node: "worker-2"},
		gather + "cluster-scoped-resources/core/nodes/worker-2.yaml": {},
		"support-bundle-1/host-collectors/journald/kubelet.txt":      {Component: "kubelet"},
		"support-bundle-1/host-collectors/system/hostos_info.json":   {},
		"support-bundle-1/host-collectors/system/node-2/memory.json": {Node: "node-2"},
		"support-bundle-1/cluster-resources/pods/logs/a/b/c.log":     pod,
		"Kubelet (2).TXT":                                            {Component: "kubelet"},
		"containerd-shim.log":                                        {Component: "shim"},
		"/home/me/kube-apiserver.log":                                pod,
		"notes.txt":                                                  {},
		"":                                                           {},
		"a//b":                                                       {},
		"sos_strings":                                                {},
		"sos_strings/logs/x.tailed":                                  {Note: "sos kept only its end"},
		"x/sos_strings/a/b/kubelet.tailed":                           {Component: "kubelet", Note: "sos kept only its end"},
	} {
		got := Of(file)
		got.Cluster = false
		require.Equal(t, want, got, file)
	}
}

func TestCluster(t *testing.T) {
	require.True(t, Of("sos/sos_commands/kubernetes/nodes/kubectl_describe_node_worker-1").Cluster)
	require.True(t, Of("must-gather/x/cluster-scoped-resources/core/nodes/worker-1.yaml").Cluster)
	require.False(t, Of("ticket/node.yaml").Cluster)
}

func TestSameNode(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"node-1", "node-1", true},
		{"node-1", "NODE-1.example.com", true},
		{"node-1", "node-10", false},
		{"node-1.example.com", "node-1.example.org", false},
		{"", "node-1", false},
		{"10", "10.0.0.1", true}, // nobody is called 10
	} {
		require.Equal(t, c.same, SameNode(c.a, c.b), "%q %q", c.a, c.b)
		require.Equal(t, c.same, SameNode(c.b, c.a), "%q %q", c.b, c.a)
	}
}

func TestLink(t *testing.T) {
	require.Equal(t, []string{"sos/sos_commands/date/date"}, Link("sos/date", "sos_commands/date/date", false))
	require.Equal(t, []string{"sos/sos_strings/logs/x.tailed"}, Link("sos/var/log/x", "../../sos_strings/logs/x.tailed", false))
	require.Equal(t, []string{"sos/etc/run/y", "sos/run/y", "run/y"}, Link("sos/etc/x", "/run/y", false))
	require.Equal(t, []string{"a.tgz/sos/sos/a", "a.tgz/sos/a", "sos/a"}, Link("a.tgz/sos/b", "sos/a", true))
}

// TestAnyPath: no path is too odd, and none is of a component without the others' rows having been
// asked.
func TestAnyPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segment := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", ".", "..", "NODE", "**", "*", "sos_strings", "nodes", "var", "log", "pods", "kubelet", "x.tailed"}))
		file := strings.Join(rapid.SliceOf(segment).Draw(t, "segments"), "/")
		p := Of(file)
		require.False(t, p.Foreign && p.Component != "")
		require.True(t, p.Node == "" || slices.Contains(strings.Split(file, "/"), p.Node))
	})
}

// TestPatterns: a row that an earlier one hides is never used.
func TestPatterns(t *testing.T) {
	for _, r := range Rows {
		for _, p := range r.Paths {
			for _, text := range p.Patterns {
				sample := strings.NewReplacer("**", "x/y", "*", "").Replace(text)
				got := Of("root/" + sample)
				require.Equal(t, [2]any{r.Component, r.Foreign}, [2]any{got.Component, got.Foreign}, "%s: %s", text, sample)
				require.NotContains(t, strings.TrimSuffix(text, "/**"), "**", "stands only at the end")
			}
		}
	}
}

// TestDocument: docs/layouts.md has the table as it is.
func TestDocument(t *testing.T) {
	const file, begin, end = "../../docs/layouts.md", "<!-- the table, made by go test ./internal/layout -update -->\n", "<!-- end of the table -->\n"
	doc, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(doc), begin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := before + begin + document() + end + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(doc), "accept with -update")
}

func document() string {
	var out strings.Builder
	out.WriteString("| what it is | whose | where |\n|---|---|---|\n")
	row := func(datum, whose string, paths []Path) {
		for i, p := range paths {
			if i > 0 {
				datum, whose = "", ""
			}
			fmt.Fprintf(&out, "| %s | %s | %s: `%s` |\n", datum, whose, p.Tool, strings.Join(p.Patterns, "`, `"))
		}
	}
	for _, r := range Rows {
		whose := r.Component
		if r.Foreign {
			whose = "none of the node's daemons"
		}
		row(r.Datum, whose, r.Paths)
	}
	row("files of the node `NODE`", "", Nodes)
	row("objects of the cluster", "", Cluster)
	return out.String()
}

// TestDumpName: the names of dumps tell of which process they are, and when they were taken.
func TestDumpName(t *testing.T) {
	require.Equal(t, 43, DumpPID("node-1/tmp/containerd.43.stacks.log"))
	for _, name := range []string{"stacks.log", "goroutine-stacks-2026-11-20T190535Z.log", "a.-3.stacks.log", "a.x.stacks.log"} {
		require.Zero(t, DumpPID(name), name)
	}
	at, ok := DumpTime("var/run/docker/goroutine-stacks-2026-11-20T190535Z.log.gz")
	require.True(t, ok)
	require.Equal(t, "2026-11-20T19:05:35Z", at.Format(time.RFC3339))
	for _, name := range []string{"containerd.43.stacks.log", "goroutine-stacks-today.log", "crio-goroutine-stacks-.log"} {
		_, ok := DumpTime(name)
		require.False(t, ok, name)
	}
}

func TestDifferInNumbers(t *testing.T) {
	require.True(t, DifferInNumbers([]string{"node-1", "bastion", "node-12"}))
	require.False(t, DifferInNumbers([]string{"localhost", "node-1"}))
	require.False(t, DifferInNumbers(nil))
}
