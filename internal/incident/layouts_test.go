package incident_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
)

// packed is one file of an archive that a test builds.
type packed struct {
	name, body string
	link       string // a symbolic link to it
}

// tarball is what tar makes of them, below a root folder, "" for none.
func tarball(t *testing.T, root string, files ...packed) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: root + f.name, Size: int64(len(f.body)), Mode: 0o644, ModTime: time.Unix(1795199112, 0)}
		if f.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := w.Write([]byte(f.body))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.String()
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.String()
}

func zipball(t *testing.T, files ...packed) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		m, err := w.Create(f.name)
		require.NoError(t, err)
		_, err = m.Write([]byte(f.body))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.String()
}

// save writes an input into a directory of its own.
func save(t *testing.T, name, body string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(name, []byte(body), 0o600))
	return name
}

// tree writes files as a directory that somebody unpacked.
func tree(t *testing.T, files ...packed) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		if f.link != "" {
			require.NoError(t, os.Symlink(f.link, name))
			continue
		}
		require.NoError(t, os.WriteFile(name, []byte(f.body), 0o600))
	}
	return dir
}

// seedFile is a file of the incident seed-short-tasks.
func seedFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../testdata/seed-short-tasks/bundle/" + name)
	require.NoError(t, err)
	return string(text)
}

// labFile is a file of the incident lab-umount2.
func labFile(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open("../../testdata/lab-umount2/bundle.tgz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	for members := tar.NewReader(z); ; {
		h, err := members.Next()
		require.NoError(t, err, name)
		if path.Base(h.Name) == name {
			var out bytes.Buffer
			_, err := out.ReadFrom(members)
			require.NoError(t, err)
			return out.String()
		}
	}
}

// Forms in which journalctl stamps a line.
const (
	short      = "Jan 02 15:04:05"
	precise    = "Jan 02 15:04:05.000000" // oc adm node-logs
	isoPrecise = "2006-01-02T15:04:05.000000-0700"
)

var (
	klogStamp   = regexp.MustCompile(`^[IWEF](\d\d\d\d \d\d:\d\d:\d\d\.\d{6})`)
	logrusStamp = regexp.MustCompile(`^time="([^"]+)"`)
)

// journaled is a daemon's log as journalctl prints it on a host of the zone +08:00 in 2023, where
// the seed happened.
func journaled(t *testing.T, log, form, host, writer string) string {
	t.Helper()
	var out strings.Builder
	zone := time.FixedZone("CST", 8*3600)
	at := time.Time{}
	for line := range strings.Lines(log) {
		if m := klogStamp.FindStringSubmatch(line); m != nil {
			got, err := time.ParseInLocation("20060102 15:04:05.000000", "2023"+m[1], zone)
			require.NoError(t, err)
			at = got
		} else if m := logrusStamp.FindStringSubmatch(line); m != nil {
			got, err := time.Parse(time.RFC3339Nano, m[1])
			require.NoError(t, err)
			at = got
		}
		require.False(t, at.IsZero(), line)
		fmt.Fprintf(&out, "%s %s %s: %s", at.In(zone).Format(form), host, writer, line)
	}
	return out.String()
}

// The files of a node that collectors gather beside the logs, as their programs print them.
const (
	osRelease = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n"
	uname     = "Linux node-1 5.10.134-13.al8.x86_64 #1 SMP Tue Jan 10 10:36:25 CST 2023 x86_64 x86_64 x86_64 GNU/Linux\n"
	meminfo   = "MemTotal:       32663488 kB\nMemFree:         1038208 kB\nMemAvailable:   21474836 kB\nDirty:              1204 kB\nWriteback:             0 kB\n"
	boots     = "-1 0123456789abcdef0123456789abcdef Mon 2023-11-06 09:00:01 CST—Tue 2023-11-07 20:11:12 CST\n 0 fedcba9876543210fedcba9876543210 Tue 2023-11-07 20:13:40 CST—Wed 2023-11-08 10:05:00 CST\n"
	dmesg     = "[    0.000000] Linux version 5.10.134-13.al8.x86_64 (builder@al8) #1 SMP Tue Jan 10 10:36:25 CST 2023\n[   12.345678] systemd[1]: Detected architecture x86-64.\n"
	psTable   = "F S   UID     PID    PPID CMD\n4 S     0       1       0 /usr/lib/systemd/systemd --system\n4 S     0    2917       1 /usr/bin/kubelet --config=/var/lib/kubelet/config.yaml\n"
	mountInfo = "22 1 253:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
	symbols   = "ffffffff8184fa00 t __pfx_ovl_sync_fs\nffffffff8184fa10 t ovl_sync_fs\nffffffff816bd910 T deactivate_locked_super\n"
	// podLog is a controller in a pod that says of other nodes what a kubelet says of its own.
	podLog = "E1108 01:20:14.500091       1 kubelet.go:1871] skipping pod synchronization - PLEG is not healthy: pleg was last seen active 9m0.000091s ago; threshold is 3m0s\n"
	// otherDmesg is of another node, where the disk hangs.
	otherDmesg = "[ 7351.135841] INFO: task kworker/u8:2:1234 blocked for more than 120 seconds.\n[ 7351.136000] task:kworker/u8:2    state:D stack:    0 pid: 1234 ppid:     2 flags:0x00004000\n[ 7351.136100] Call Trace:\n[ 7351.136200]  __schedule+0x47d/0x600\n[ 7351.136300]  jbd2_log_wait_commit+0x1/0x2\n[ 7351.136400]  ovl_sync_fs+0x2f/0x50 [overlay]\n"
)

// layoutCase is one tool's way to pack the seed.
type layoutCase struct {
	name  string
	files []packed
	// input is the archive or directory of the files, as the tool leaves it.
	input func(t *testing.T, files []packed) string
}

// seedLayouts packs the seed as each tool does. The trace of the shim, which no tool takes, is
// handed over beside the bundle.
func seedLayouts(t *testing.T) []layoutCase {
	kubelet, containerd := seedFile(t, "kubelet.log"), seedFile(t, "containerd.log")
	shortKubelet := journaled(t, kubelet, short, "node-1", "kubelet[2917]")
	shortContainerd := journaled(t, containerd, short, "node-1", "containerd[1822]")
	tgz := func(name, root string) func(*testing.T, []packed) string {
		return func(t *testing.T, files []packed) string {
			return save(t, name, gzipped(t, tarball(t, root, files...)))
		}
	}
	sosFiles := []packed{
		{name: "version.txt", body: "sosreport: 4.2\n"},
		{name: "sos_reports/manifest.json", body: "{\n  \"version\": \"1\",\n  \"components\": {\n    \"report\": {\n      \"sos_version\": \"4.2\"\n    }\n  }\n}\n"},
		{name: "sos_logs/sos.log", body: "2023-11-08 10:01:02,345 INFO: [plugin:containerd] collected output of 'journalctl --no-pager --unit containerd' in 0.12 s\n"},
		{name: "sos_commands/date/date", body: "Wed Nov  8 10:01:02 CST 2023\n"},
		{name: "date", link: "sos_commands/date/date"},
		{name: "sos_commands/kubernetes/systemctl_status_kubelet", body: "● kubelet.service - kubelet: The Kubernetes Node Agent\n     Loaded: loaded (/usr/lib/systemd/system/kubelet.service; enabled)\n     Active: active (running) since Tue 2023-11-07 20:14:02 CST; 13h ago\n   Main PID: 2917 (kubelet)\n"},
		{name: "sos_commands/process/ps_axo_flags_state_uid_pid_ppid_cmd", body: psTable},
		{name: "sos_commands/kernel/uname_-a", body: uname},
		{name: "sos_commands/kernel/dmesg_-T", body: "[Tue Nov  7 20:13:40 2023] Linux version 5.10.134-13.al8.x86_64 (builder@al8) #1 SMP Tue Jan 10 10:36:25 CST 2023\n"},
		{name: "sos_commands/docker/docker_logs_-t_k8s_manager", body: podLog},
		{name: "var/log/pods/kube-system_kube-controller-manager-m-1_1c/kube-controller-manager/0.log", body: podLog},
		{name: "proc/meminfo", body: meminfo},
		{name: "proc/kallsyms", body: symbols},
		{name: "proc/2917/mountinfo", body: mountInfo},
		{name: "proc/2917/stack", body: "[<0>] futex_wait_queue_me+0xb9/0x120\n[<0>] do_syscall_64+0x33/0x40\n[<0>] entry_SYSCALL_64_after_hwframe+0x44/0xa9\n"},
		{name: "proc/self", link: "2917"},
		{name: "etc/os-release", body: osRelease},
		{name: "etc/localtime", link: "../usr/share/zoneinfo/Asia/Shanghai"},
	}
	whole := slices.Concat(sosFiles, []packed{
		{name: "sos_commands/kubernetes/journalctl_--no-pager_--unit_kubelet", body: "-- Logs begin at Tue 2023-11-07 20:13:40 CST, end at Wed 2023-11-08 10:01:03 CST. --\n" + shortKubelet},
		{name: "sos_commands/containerd/journalctl_--no-pager_--unit_containerd", body: shortContainerd},
	})
	cut := slices.Concat(sosFiles, []packed{
		{name: "sos_commands/kubernetes/journalctl_--no-pager_--unit_kubelet", link: "../../sos_strings/kubernetes/journalctl_--no-pager_--unit_kubelet.tailed"},
		{name: "sos_commands/containerd/journalctl_--no-pager_--unit_containerd_--since_2023-11-08", link: "../../sos_strings/containerd/journalctl_--no-pager_--unit_containerd_--since_2023-11-08.tailed"},
		{name: "sos_strings/kubernetes/journalctl_--no-pager_--unit_kubelet.tailed", body: shortKubelet},
		{name: "sos_strings/containerd/journalctl_--no-pager_--unit_containerd_--since_2023-11-08.tailed", body: shortContainerd},
	})
	eks := func(form string) []packed {
		return []packed{
			{name: "system/instance-id.txt", body: "i-0abcdef1234567890"},
			{name: "system/script-params.txt", body: "# Script Version: 0.7.8\n# EKS Anywhere: false\n"},
			{name: "system/ps.txt", body: psTable},
			{name: "system/procstat.txt", body: "cpu  1 2 3 4 5 6 7 0 0 0\nctxt 12345\nbtime 1699359220\n"},
			{name: "system/allprocstat.txt", body: "1 (systemd) S 0 1 1 0 -1 4194560 1 2 3 4\n2917 (kubelet) S 1 2917 2917 0 -1 1077944576 1 2 3 4\n"},
			{name: "kernel/dmesg.current", body: dmesg},
			{name: "kernel/uname.txt", body: uname},
			{name: "storage/mounts.txt", body: "/dev/vda1 on / type ext4 (rw,relatime)\n\nFilesystem     1K-blocks    Used Available Use% Mounted on\n/dev/vda1       41152736 9210540  30032076  24% /\n"},
			{name: "ipamd/networkutils-env-settings.json", body: "{\"AWS_VPC_CNI_NODE_PORT_SUPPORT\":true}"},
			{name: "kubelet/kubelet.log", body: journaled(t, kubelet, form, "node-1", "kubelet[2917]")},
			{name: "kubelet/kubelet_service.txt", body: "# /etc/systemd/system/kubelet.service\n[Unit]\nDescription=Kubernetes Kubelet\n[Service]\nExecStart=/usr/bin/kubelet $NODEADM_KUBELET_ARGS\n"},
			{name: "containerd/containerd-log.txt", body: journaled(t, containerd, form, "node-1", "containerd[1822]")},
			{name: "containerd/containerd-version.txt", body: "Client:\n  Version:  1.6.20\n  Go version: go1.19.8\n\nServer:\n  Version:  1.6.20\n"},
			{name: "docker/docker.log", body: "-- No entries --\n"},
			{name: "var_log/kube-system_kube-multus-ds-x_1/kube-multus/0.log", body: podLog},
		}
	}
	return []layoutCase{
		{"sosreport", whole, tgz("sosreport-node-1-2023-11-08-blvwnbi.tar.gz", "sosreport-node-1-2023-11-08-blvwnbi/")},
		{"sosreport unpacked", whole, func(t *testing.T, files []packed) string { return tree(t, files...) }},
		{"sosreport cut", cut, tgz("sosreport-node-1-2023-11-08-blvwnbj.tar.gz", "sosreport-node-1-2023-11-08-blvwnbj/")},
		{"EKS script", eks(short), tgz("eks_i-0abcdef1234567890_2023-11-08_0201-UTC_0.7.8.tar.gz", "./")},
		{"EKS agent", eks(isoPrecise), tgz("node-diagnostic.tar.gz", "")},
		{"logdog in EKS", []packed{
			{name: "system/instance-id.txt", body: "i-0abcdef1234567890"},
			{name: "bottlerocket/logdog/bottlerocket-logs.tar.gz", body: gzipped(t, tarball(t, "bottlerocket-logs/", []packed{
				{name: "os-release", body: osRelease},
				{name: "journalctl-boots", body: boots},
				{name: "journalctl.errors", body: "-- No entries --\n"},
				{name: "journalctl.log", body: merged(shortKubelet, shortContainerd)},
				{name: "dmesg", body: dmesg},
				{name: "containerd-config", body: "version = 2\nroot = \"/var/lib/containerd\"\n"},
				{name: "kube-status", body: "● kubelet.service - Kubelet\n     Loaded: loaded (/x86_64-bottlerocket-linux-gnu/sys-root/usr/lib/systemd/system/kubelet.service; enabled)\n     Active: active (running) since Tue 2023-11-07 12:14:02 UTC; 13h ago\n"},
				{name: "proc-mounts", body: "/dev/root / erofs ro,seclabel,relatime 0 0\n"},
			}...))},
		}, tgz("eks_i-0abcdef1234567890_2023-11-08_0201-UTC_0.7.8.tar.gz", "./")},
		{"must-gather", mustGather(t), func(t *testing.T, files []packed) string { return tree(t, files...) }},
		{"troubleshoot", []packed{
			{name: "version.yaml", body: "apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\nspec:\n  versionNumber: v0.119.0\n"},
			{name: "analysis.json", body: "[]\n"},
			{name: "host-collectors/journald/kubelet.txt", body: shortKubelet},
			{name: "host-collectors/journald/kubelet-info.json", body: "{\"command\":\"journalctl -u kubelet --no-pager\",\"exitCode\":\"0\"}\n"},
			{name: "host-collectors/run-host/cri-log.txt", body: shortContainerd},
			{name: "host-collectors/run-host/cri-log-info.json", body: "{\"command\":\"journalctl -u containerd\",\"exitCode\":\"0\"}\n"},
			{name: "host-collectors/system/hostos_info.json", body: "{\"name\":\"node-1\",\"kernelVersion\":\"5.10.134-13.al8.x86_64\"}"},
			{name: "host-collectors/system/node-2/hostos_info.json", body: "{\"name\":\"node-2\",\"kernelVersion\":\"6.1.0\"}"},
			{name: "cluster-resources/nodes.json", body: nodeList("node-1", "node-2")},
			{name: "cluster-resources/pods/logs/kube-system/kube-controller-manager-m-1/kube-controller-manager.log", body: podLog},
			{name: "skipped-collectors.json", body: "[]\n"},
		}, tgz("support-bundle-2023-11-08T02_01_02.tar.gz", "support-bundle-2023-11-08T02_01_02/")},
		{"AKS", []packed{
			{name: "collect/systemctl-status.txt", body: "● node-1\n    State: running\n"},
			{name: "collect/proc/meminfo", body: meminfo},
			{name: "collect/proc/version", body: "Linux version 5.10.134-13.al8.x86_64 (builder@al8) #1 SMP Tue Jan 10 10:36:25 CST 2023\n"},
			{name: "collect/crictl_pods.json", body: "{\n  \"items\": []\n}\n"},
			{name: "etc/os-release", body: osRelease},
			{name: "var/log/syslog.1", body: shortContainerd},
			{name: "var/log/syslog", body: shortKubelet},
			{name: "var/log/azure-vnet.log", body: "2023/11/08 09:30:00 [4711] [cni-net] Plugin azure-vnet version v1.4.43.\n"},
			{name: "var/log/pods/kube-system_kube-proxy-x_1/kube-proxy/0.log", body: podLog},
		}, func(t *testing.T, files []packed) string { return save(t, "aks_logs.zip", zipball(t, files...)) }},
		{"Rancher", []packed{
			{name: "systeminfo/date", body: "Wed Nov  8 10:01:02 CST 2023\n"},
			{name: "systeminfo/dmesg", body: dmesg},
			{name: "systeminfo/ps", body: psTable},
			{name: "systemlogs/syslog", body: "-- nothing --\n"},
			{name: "journald/rke2-agent", body: "Nov 08 09:00:00 node-1 rke2[1500]: time=\"2023-11-08T09:00:00+08:00\" level=info msg=\"Running kubelet\"\n"},
			{name: "rke2/agent-logs/kubelet.log", body: kubelet},
			{name: "rke2/containerd.log", body: containerd},
			{name: "rke2/podlogs/kube-system-kube-controller-manager-m-1", body: podLog},
			{name: "rke2/crictl/pods", body: "POD ID              CREATED             STATE               NAME                NAMESPACE           ATTEMPT             RUNTIME\n"},
			{name: "rke2/kubectl/nodes", body: "NAME     STATUS   ROLES    AGE   VERSION\nnode-1   Ready    <none>   20d   v1.24.8+rke2r1\nnode-2   Ready    <none>   20d   v1.24.8+rke2r1\n"},
		}, tgz("node-1-2023-11-08_10_01_02.tar.gz", "./")},
		{"RKE", []packed{
			{name: "k8s/containerlogs/kubelet", body: stampedAt(t, kubelet)},
			{name: "k8s/containerlogs/kube-controller-manager", body: stampedAt(t, podLog)},
			{name: "systemlogs/containerd.log", body: containerd},
		}, tgz("node-1-2023-11-08_10_01_02.tar.gz", "./")},
		{"loose folder", []packed{
			{name: "from the ticket/node-1 kubelet (1).txt", body: kubelet},
			{name: "from the ticket/containerd-node1.txt", body: containerd},
			{name: "from the ticket/kube-controller-manager.log", body: podLog},
			{name: "from the ticket/screenshot.png", body: "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x01\xff\xfe\x00\x00"},
		}, func(t *testing.T, files []packed) string { return tree(t, files...) }},
	}
}

// merged sorts lines of several logs by their stamps, as journalctl and oc adm node-logs do.
func merged(logs ...string) string {
	lines := strings.SplitAfter(strings.Join(logs, ""), "\n")
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Compare(a[:min(len(a), len(short))], b[:min(len(b), len(short))])
	})
	return strings.Join(lines, "")
}

// stamped is what docker logs -t prints of a container.
func stampedAt(t *testing.T, log string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(log) {
		m := klogStamp.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		at, err := time.ParseInLocation("20060102 15:04:05.000000", "2023"+m[1], time.FixedZone("CST", 8*3600))
		require.NoError(t, err)
		out.WriteString(at.UTC().Format("2006-01-02T15:04:05.000000000Z") + " " + line)
	}
	return out.String()
}

// nodeList is what kubectl get nodes -o json prints, of healthy nodes.
func nodeList(names ...string) string {
	items := make([]string, len(names))
	for i, name := range names {
		items[i] = fmt.Sprintf(`    {
      "apiVersion": "v1",
      "kind": "Node",
      "metadata": {"name": %q},
      "status": {
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
          "lastTransitionTime": "2023-11-08T01:36:10Z", "lastHeartbeatTime": "2023-11-08T02:00:10Z"}],
        "nodeInfo": {"kubeletVersion": "v1.2%d.8", "kernelVersion": "5.10.%d", "containerRuntimeVersion": "containerd://1.6.%d"}
      }
    }`, name, i, i, i)
	}
	return "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": [\n" + strings.Join(items, ",\n") + "\n  ]\n}\n"
}

// healthyKubelet is the log of another node's kubelet at the time of the seed.
const healthyKubelet = `I1108 09:29:51.000101    3001 kubelet.go:1923] SyncLoop (PLEG): "web-1_shop(7a7b)", event: &pleg.PodLifecycleEvent{ID:"7a7b", Type:"ContainerStarted", Data:"1111111122222222333333334444444455555555666666667777777788888888"}
I1108 09:33:20.540091    3001 kubelet_getters.go:182] Pod status updated for web-1 status=Running
I1108 09:36:20.540091    3001 kubelet_getters.go:182] Pod status updated for web-1 status=Running
`

// mustGather is that of a cluster of two masters, of which one had the stall. containerd stands in
// for CRI-O, which the seed did not have.
func mustGather(t *testing.T) []packed {
	root := "must-gather.local.5421342344627712289/quay-io-openshift-release-dev-ocp-v4-0-art-dev-sha256-0b1a/"
	node := func(name, version string) string {
		return "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: " + name + "\nstatus:\n  conditions:\n  - lastHeartbeatTime: \"2023-11-08T01:40:00Z\"\n    lastTransitionTime: \"2023-11-08T01:31:00Z\"\n" +
			"    message: the container runtime network is not ready\n    reason: KubeletNotReady\n    status: \"False\"\n    type: Ready\n  nodeInfo:\n    kubeletVersion: " + version + "\n"
	}
	files := []packed{
		{name: "version", body: "openshift/must-gather\n4.12.0-202301042354.p0\n"},
		{name: "host_service_logs/masters/kubelet_service.log", body: merged(
			journaled(t, seedFile(t, "kubelet.log"), precise, "node-1", "kubenswrapper[2917]"), journaled(t, healthyKubelet, precise, "node-2.ocp.example.com", "kubenswrapper[3001]"))},
		{name: "host_service_logs/masters/containerd_service.log", body: journaled(t, seedFile(t, "containerd.log"), precise, "node-1", "containerd[1822]")},
		{name: "host_service_logs/masters/NetworkManager_service.log", body: "Nov 08 09:30:00.000001 node-2.ocp.example.com NetworkManager[900]: <info>  [1699406400.0001] manager: startup complete\n"},
		{name: "nodes/node-2.ocp.example.com/dmesg", body: otherDmesg},
		{name: "nodes/node-2.ocp.example.com/node-2.ocp.example.com_logs_kubelet.gz", body: gzipped(t, journaled(t, healthyKubelet, precise, "node-2.ocp.example.com", "kubenswrapper[3001]"))},
		{name: "cluster-scoped-resources/core/nodes/node-2.ocp.example.com.yaml", body: node("node-2.ocp.example.com", "v1.99.0")},
		{name: "cluster-scoped-resources/core/nodes/node-3.ocp.example.com.yaml", body: node("node-3.ocp.example.com", "v1.98.0")},
		{name: "namespaces/openshift-kube-controller-manager/pods/kube-controller-manager-m-1/kube-controller-manager/kube-controller-manager/logs/current.log", body: "2023-11-08T01:20:14.500091000Z " + podLog},
	}
	for i := range files {
		files[i].name = root + files[i].name
	}
	return files
}

// answer is what two analyses of one incident must have in common.
func answerOf(inc *incident.Incident) string {
	var out strings.Builder
	for _, f := range inc.Result.Findings {
		fmt.Fprintf(&out, "%s %s %s %.12s\n", f.Rule, f.Verdict, f.Role, f.Container)
		for _, s := range f.Chain {
			fmt.Fprintf(&out, "  %s %s %s\n", s.ID, s.Rule, s.Role)
		}
	}
	for _, s := range inc.Timeline.Stalls {
		fmt.Fprintf(&out, "stall %s %s %s %s\n", s.Start.Format(time.TimeOnly), s.End.Format(time.TimeOnly), s.NotReady.Format(time.TimeOnly), s.Phase)
	}
	fmt.Fprintln(&out, inc.Result.Headline)
	return out.String()
}

// TestLayouts: an incident gives the same answer in the bundle of every tool, and every file is in
// the account.
func TestLayouts(t *testing.T) {
	want := answerOf(load(t, "../../testdata/seed-short-tasks/bundle"))
	trace := seedFile(t, "shim.strace")
	for _, c := range seedLayouts(t) {
		t.Run(c.name, func(t *testing.T) {
			in := c.input(t, c.files)
			inc := load(t, in, save(t, "shim.strace", trace))
			require.Equal(t, want, answerOf(inc))
			checkAccount(t, inc)
			checkListed(t, c.files, inc)
			if v, ok := inc.Timeline.Facts["kubelet.version"]; ok {
				require.NotContains(t, v.Value, "1.9", "a fact of another node")
			}
		})
	}
}

// checkListed: every file of the archive is in the account, with a format or with a reason.
func checkListed(t *testing.T, files []packed, inc *incident.Incident) {
	t.Helper()
	for _, f := range files {
		i := slices.IndexFunc(inc.Files, func(got *incident.File) bool { return strings.Contains(got.Path, strings.TrimSuffix(f.name, "/")) })
		require.GreaterOrEqual(t, i, 0, "%s is not in the account", f.name)
		got := inc.Files[i]
		require.NotEmpty(t, got.Format, f.name)
		require.True(t, got.Format != "unknown" && got.Format != "refused" || got.Err != "" || got.FirstSkip != "", "%s is %s for no reason", f.name, got.Format)
	}
}

// TestLayoutsWithDumps: the lab's incident, with the dump of goroutines where each tool leaves it.
func TestLayoutsWithDumps(t *testing.T) {
	want := answerOf(load(t, "../../testdata/lab-umount2/bundle.tgz"))
	journal, dump := labFile(t, "all.journal.short.log"), labFile(t, "containerd.43.stacks.log")
	config, trace := labFile(t, "containerd-config.toml"), labFile(t, "shim.strace")
	for name, files := range map[string][]packed{
		"sosreport": {
			{name: "sosreport-node-1-2026-11-20-x/sos_commands/logs/journalctl_--no-pager_--boot", body: journal},
			{name: "sosreport-node-1-2026-11-20-x/tmp/containerd.43.stacks.log", body: dump},
			{name: "sosreport-node-1-2026-11-20-x/sos_commands/containerd/containerd_config_dump", body: config},
		},
		"sosreport with a file that was cut": {
			{name: "sosreport-node-1-2026-11-20-x/var/log/syslog", link: "../../sos_strings/logs/var.log.syslog.tailed"},
			{name: "sosreport-node-1-2026-11-20-x/sos_strings/logs/var.log.syslog.tailed", body: journal},
			{name: "sosreport-node-1-2026-11-20-x/tmp/containerd.43.stacks.log", body: dump},
			{name: "sosreport-node-1-2026-11-20-x/etc/containerd/config.toml", body: config},
		},
		"EKS": {
			{name: "./containerd/containerd-log.txt", body: journal},
			{name: "./containerd/containerd.43.stacks.log", body: dump},
			{name: "./containerd/containerd-config.txt", body: config},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inc := load(t, save(t, "bundle.tar.gz", gzipped(t, tarball(t, "", files...))), save(t, "shim.strace", trace))
			require.Equal(t, want, answerOf(inc))
			checkAccount(t, inc)
		})
	}
}

// TestLinks: a link to a file of the bundle is no loss, one that leads out of it is told.
func TestLinks(t *testing.T) {
	inc := load(t, save(t, "sos.tar.gz", gzipped(t, tarball(t, "sosreport-x/",
		packed{name: "sos_commands/kernel/dmesg", body: dmesg},
		packed{name: "dmesg", link: "sos_commands/kernel/dmesg"},
		packed{name: "kernel", link: "sos_commands/kernel"},
		packed{name: "sos_commands/kernel/absolute", link: "/sos_commands/kernel/dmesg"},
		packed{name: "etc/localtime", link: "../usr/share/zoneinfo/UTC"},
		packed{name: "hostile", link: "../../../../etc/shadow"},
	))))
	notes := map[string]string{}
	for _, f := range inc.Files {
		notes[strings.TrimPrefix(f.Path, "sosreport-x/")] = f.Format + " " + f.Note + f.Err
	}
	require.Equal(t, map[string]string{
		"sos_commands/kernel/dmesg":    "dmesg ",
		"dmesg":                        "link link to sosreport-x/sos_commands/kernel/dmesg, which is read",
		"kernel":                       "link link to sosreport-x/sos_commands/kernel, which is read",
		"sos_commands/kernel/absolute": "link link to sosreport-x/sos_commands/kernel/dmesg, which is read",
		"etc/localtime":                `link symbolic link to "../usr/share/zoneinfo/UTC" is not followed`,
		"hostile":                      `link symbolic link to "../../../../etc/shadow" is not followed`,
	}, notes)
}

// loadNode is load with a node asked for.
func loadNode(t *testing.T, node string, inputs ...string) (*incident.Incident, error) {
	t.Helper()
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	return incident.Load(t.Context(), incident.Options{Inputs: incident.Inputs{Paths: inputs}, Catalog: catalog, Node: node})
}

// TestNodes: events of several nodes never meet on one timeline.
func TestNodes(t *testing.T) {
	dir := tree(t, mustGather(t)...)
	inc := load(t, dir)
	require.Equal(t, "node-1", inc.Node)
	require.Equal(t, []string{"node-2.ocp.example.com"}, inc.LeftOut)
	for i := range inc.Timeline.Events {
		require.NotContains(t, inc.Timeline.Events[i].Pos().File, "nodes/node-2.ocp.example.com/")
		require.NotContains(t, inc.Timeline.Events[i].Evidence[0].Text, " node-2.ocp.example.com kubenswrapper")
	}
	inc, err := loadNode(t, "node-2", dir)
	require.NoError(t, err)
	require.Equal(t, "node-2.ocp.example.com", inc.Node)
	require.Empty(t, inc.Timeline.Stalls, "the stall is node-1's")
	require.Equal(t, "1.99.0", inc.Timeline.Facts["kubelet.version"].Value)
	_, err = loadNode(t, "node-9", dir)
	require.EqualError(t, err, `no evidence of a node "node-9"; there is some of node-1, node-2.ocp.example.com`)
}

// TestNodesOfArchives: bundles of two nodes, one beside the other; what names no host is of the
// bundle that it is in.
func TestNodesOfArchives(t *testing.T) {
	bundleOf := func(host string) string {
		return save(t, host+".tgz", gzipped(t, tarball(t, "./",
			packed{name: "journald/kubelet", body: journaled(t, seedFile(t, "kubelet.log"), short, host, "kubelet[2917]")},
			packed{name: "rke2/containerd.log", body: seedFile(t, "containerd.log")},
		)))
	}
	a, b := bundleOf("node-1"), bundleOf("node-2")
	_, err := loadNode(t, "", a, b)
	require.EqualError(t, err, "evidence of 2 nodes, of which node-1, node-2 each show a stall")
	inc, err := loadNode(t, "node-2", a, b)
	require.NoError(t, err)
	alone, err := loadNode(t, "", b)
	require.NoError(t, err)
	require.Equal(t, answerOf(alone), answerOf(inc))
	for i := range inc.Timeline.Events {
		require.True(t, strings.HasPrefix(inc.Timeline.Events[i].Pos().File, "node-2.tgz/"), inc.Timeline.Events[i].Pos())
	}
	for _, f := range inc.Files {
		require.Equal(t, strings.TrimSuffix(strings.Split(f.Path, "/")[0], ".tgz"), f.Node, f.Path)
	}
}

// TestNotInForce: configurations that lie about are no facts.
func TestNotInForce(t *testing.T) {
	config := func(snapshotter string) string {
		return "version = 2\nroot = \"/var/lib/containerd\"\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  snapshotter = \"" + snapshotter + "\"\n"
	}
	inc := load(t, tree(t,
		packed{name: "etc/containerd/config.toml", body: config("overlayfs")},
		packed{name: "etc/containerd/config.toml.rpmnew", body: config("native")},
		packed{name: "var/lib/juju/agents/unit-containerd-2/charm/templates/config_v2.toml", body: config("{{ snapshotter }}")},
	))
	require.Equal(t, "overlayfs", inc.Timeline.Facts["containerd.snapshotter"].Value)
	checkAccount(t, inc)
}

// TestManyFiles: a sosreport of 18 000 files, most of them of single processes, is read without a
// word about any.
func TestManyFiles(t *testing.T) {
	files := []packed{
		{name: "sos_commands/kubernetes/journalctl_--no-pager_--unit_kubelet", body: journaled(t, healthyKubelet, short, "node-1", "kubelet[3001]")},
		{name: "proc/kallsyms", body: symbols},
		{name: "proc/self", link: "1"},
	}
	bodies := map[string]string{
		"status":    "Name:\tpause\nState:\tS (sleeping)\nTgid:\t%[1]d\nPid:\t%[1]d\nPPid:\t1\n",
		"stack":     "[<0>] __x64_sys_pause+0x12/0x20\n[<0>] do_syscall_64+0x33/0x40\n[<0>] entry_SYSCALL_64_after_hwframe+0x44/0xa9\n",
		"cgroup":    "12:pids:/kubepods/burstable/pod%d\n",
		"mountinfo": mountInfo + "813 812 0:65 / / rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w\n",
		"limits":    "Limit                     Soft Limit           Hard Limit           Units     \nMax cpu time              unlimited            unlimited            seconds   \n",
		"oom_score": "999\n",
		"cpuset":    "/\n",
		"io":        "rchar: 0\nwchar: 0\n",
		"oom_adj":   "-16\n",
	}
	processes := 2000
	if raced {
		processes = 400
	}
	for pid := 1; pid <= processes; pid++ {
		for name, body := range bodies {
			if strings.Contains(body, "%") {
				body = fmt.Sprintf(body, pid)
			}
			files = append(files, packed{name: fmt.Sprintf("proc/%d/%s", pid, name), body: body})
		}
	}
	inc := load(t, save(t, "sosreport-node-1.tar.gz", gzipped(t, tarball(t, "sosreport-node-1/", files...))))
	require.Len(t, inc.Files, len(files))
	require.Empty(t, inc.Result.Findings)
	require.Equal(t, "2", inc.Timeline.Facts["mounts.count"].Value, "those of PID 1")
	checkAccount(t, inc)
}

// TestObjectsOfOthers: what a control plane's sosreport says of the only worker is not about the
// control plane. An object that somebody took for the ticket is of the node, whose host may have
// another name.
func TestObjectsOfOthers(t *testing.T) {
	kubelet := packed{name: "messages", body: journaled(t, seedFile(t, "kubelet.log"), short, "master-0", "kubelet[2917]")}
	worker := nodeList("worker-1")
	inc := load(t, tree(t, kubelet, packed{name: "sos_commands/kubernetes/kubectl_get_-o_json_nodes", body: worker}))
	require.NotContains(t, inc.Timeline.Facts, "kubelet.version")
	inc = load(t, tree(t, kubelet, packed{name: "node.json", body: worker}))
	require.Contains(t, inc.Timeline.Facts, "kubelet.version")
	inc = load(t, tree(t, kubelet, packed{name: "sos_commands/kubernetes/kubectl_get_-o_json_nodes", body: nodeList("master-0")}))
	require.Contains(t, inc.Timeline.Facts, "kubelet.version")
}

// TestRenamedHost: a machine that gets its name while it boots is one node.
func TestRenamedHost(t *testing.T) {
	kubelet := journaled(t, seedFile(t, "kubelet.log"), short, "node-1.example.com", "kubelet[2917]")
	boot := "Nov 08 08:00:00 ip-10-0-0-1 kernel: Linux version 5.10.134-13.al8.x86_64 (builder@al8) #1 SMP\n" +
		"Nov 08 08:00:09 ip-10-0-0-1 systemd[1]: Started kubelet: The Kubernetes Node Agent.\n"
	alias := "Nov 08 09:33:16 node-1 containerd[1822]: time=\"2023-11-08T09:33:16+08:00\" level=info msg=\"starting containerd\" revision=x version=1.6.20\n"
	inc := load(t, tree(t, packed{name: "messages", body: boot + kubelet}, packed{name: "other", body: alias}))
	require.Empty(t, inc.LeftOut)
	require.Equal(t, "5.10.134-13.al8.x86_64", inc.Timeline.Facts["kernel.version"].Value)
	require.Equal(t, "1.6.20", inc.Timeline.Facts["containerd.version"].Value)
	require.Equal(t, "node-1.example.com", inc.Node)
}

// TestStranger: a machine that is no node and whose lines stand among ours is not ours.
func TestStranger(t *testing.T) {
	kubelet := journaled(t, seedFile(t, "kubelet.log"), short, "node-1", "kubelet[2917]")
	storage := "Nov 08 09:31:00 nas-7 kernel: nfs: server 10.36.3.5 not responding, still trying\n" +
		"Nov 08 09:34:00 nas-7 kernel: nfs: server 10.36.3.5 not responding, still trying\n"
	inc := load(t, tree(t, packed{name: "messages", body: merged(kubelet, storage)}))
	for i := range inc.Timeline.Events {
		require.NotContains(t, inc.Timeline.Events[i].Evidence[0].Text, "nas-7")
	}
}
