//go:build lab

package lab

import (
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// onMember is what is different about a scenario on a node of a cluster.
type onMember struct {
	kubelet string        // more of the kubelet's configuration
	ready   bool          // the node stays ready
	because string        // why the API says it is not ready; PLEG where it is empty
	life    time.Duration // of the kubelet's certificate for the API server; a day where it is 0
	// through begins to collect through the API server while the node is broken; what it returns waits
	// for the end, and checks the bundle.
	through func(n *node) (check func())
	same    bool  // analyze must make the same of the bundle as with the stand-in kubelet
	wants   wants // what analyze must make of the bundle; links are those with containerd 2
}

// clusterScenarios are the scenarios that run on nodes of a cluster. A node that breaks stays
// broken until the API calls it not ready, for PLEG's sake where nothing else is said.
var clusterScenarios = map[string]onMember{
	"healthy":      {ready: true, through: throughHealthy},
	"busy":         {ready: true, same: true},
	"fuse-hung":    {ready: true, same: true},
	"scanner-hung": {ready: true, same: true},
	"cni-hangs":    {ready: true, same: true},
	"cni-crashes":  {ready: true, same: true},
	// Its kubelet leaves each call after 2 min 5 s: the calls are old, or wait in both dumps.
	"probes-pile-up": {ready: true, wants: wants{
		root: "exec-probe-leak", role: "contributing", verdicts: proven,
		evidence: []string{"(*criService).execInContainer("}, headline: []string{"commands of exec probes do not end"},
	}},
	"stopped-runtime": {wants: wants{
		root: "runtime-process-stopped", verdicts: []string{"confirmed"},
		steps: []string{"sampled", "mute"}, evidence: []string{`"comm":"containerd","state":"T"`, `"answered":false`, "PLEG is not healthy"},
		headline: []string{"containerd is stopped"},
	}},
	// With the default of two minutes, the lock is free every two minutes, and which relist then gets
	// through is a matter of luck. Five and more minutes are not rare.
	"dbus-stall": {kubelet: "runtimeRequestTimeout: 5m\n", through: throughUnhealthy(wants{
		root: "systemd-busy-or-unresponsive", verdicts: []string{"possible"}, links: []string{"cri-status-lock-held"}, // neither PID 1 nor containerd was asked
		steps: []string{"client_waits", "waiting_relist"}, evidence: []string{"godbus/dbus", "UpdateContainerResources for ", "PLEG is not healthy"},
	}), wants: wants{
		root: "systemd-busy-or-unresponsive", verdicts: proven, links: []string{"cri-status-lock-running-update-dbus", "runc-stuck-dbus"},
		steps:    []string{"stopped", "mute", "bus", "runc", "holder", "waiters"},
		evidence: []string{`"state":"T"`, `"answered":false`, "--systemd-cgroup update", "(*statusStorage).UpdateSync(", "(*statusStorage).Get("},
	}},
	// A containerd 2.3 gives each update up after two seconds, and the node stays ready.
	"umount2": {ready: true, wants: wants{
		root: "umount2-overlay-sync", verdicts: proven, steps: []string{"exit", "syncing", "delete"},
		evidence: []string{"failed to delete task", `"ovl_sync_fs`},
	}},
	"shim-stopped": {ready: true, wants: wants{
		// containerd 2.3 gives each update up after two seconds, and holds no lock longer
		root: "process-stopped", verdicts: proven, steps: []string{"sampled", "shim_awaited", "shim_silent"},
		evidence: []string{`"comm":"containerd-shim","state":"T"`, ").Stats("}, headline: []string{"containerd-shim (", "is stopped by a signal"},
	}},
	"dbus-stopped": {kubelet: "runtimeRequestTimeout: 5m\n", wants: wants{
		root: "process-stopped", verdicts: proven, links: []string{"cri-status-lock-running-update-dbus"},
		steps: []string{"sampled", "bus_mute", "runc", "waiters"}, evidence: []string{`"comm":"dbus-daemon","state":"T"`, "(*statusStorage).UpdateSync("},
		headline: []string{"dbus-daemon (", "is stopped by a signal"},
	}},
	"two-in-a-row": {kubelet: "runtimeRequestTimeout: 5m\n", wants: wants{
		root: "systemd-busy-or-unresponsive", verdicts: proven, links: []string{"cri-status-lock-running-update-dbus", "runc-stuck-dbus"}, earlier: "runtime-process-down",
		steps: []string{"stopped", "mute", "runc", "holder", "waiters"}, headline: []string{"systemd (PID 1) is stopped by a signal"},
	}},
	"disk-full":    {ready: true, same: true},
	"inodes-full":  {ready: true, same: true},
	"bbolt-slow":   {ready: true, same: true},
	"netlink-hang": {ready: true, same: true},
	"runtime-oom":  {same: true},
	"runtime-pids": {ready: true, same: true},
	"runtime-crash-loop": {wants: wants{
		root: "runtime-process-down", verdicts: []string{"confirmed"}, steps: []string{"died", "crash", "again", "refused"},
		evidence: []string{"panic: "}, headline: []string{"after it was started again", "containerd crashes: "}, // by the words of either bbolt
	}},
	"runtime-killed":    {same: true},
	"runtime-throttled": {ready: true, same: true},
	"api-unreachable": {because: unheard, through: throughDeaf(bundle.Timeout, "no answer in 20s", wants{state: "signs"}), wants: wants{
		root: "notready-api-unreachable", role: "notready", verdicts: proven, steps: []string{"fails", "fails_still", "fails_later"},
		evidence: []string{"Failed to ensure lease exists"}, headline: []string{"not PLEG: the kubelet cannot post the node's status to ", "(timeout)"},
	}},
	// What the kubelet answers through the API server says no more than that it is not heard there.
	"certificate-expired": {because: unheard, life: 150 * time.Second, through: throughDeaf(bundle.Failed, "cannot ask the API server whether it may answer", wants{
		root: "notready-api-unreachable", role: "notready", verdicts: []string{"possible"}, links: []string{"notready-certificate"}, steps: []string{"cannot_ask"},
	}), wants: wants{
		root: "notready-certificate", role: "notready", verdicts: proven, steps: []string{"expired", "refused", "refused_still"},
		evidence: []string{"notAfter=", "Unauthorized"}, headline: []string{"not PLEG: the kubelet's client certificate is expired, since "},
	}},
	"metadata-io": {wants: wants{
		root: "cri-updatesync-slow-metadata", verdicts: proven,
		steps: []string{"holder", "waiters"}, evidence: []string{"os.(*File).Sync(", "(*statusStorage).UpdateSync(", "(*statusStorage).Get("},
	}},
}

// unheard is what the API says of a node whose kubelet it does not hear.
const unheard = "Kubelet stopped posting node status"

// clusterOnly are the scenarios that need an API server.
var clusterOnly = []scenario{
	{
		name: "api-unreachable",
		breaks: func(n *node) func() {
			n.startPod("web")
			n.filterPackets(fmt.Sprintf("add table ip lab; add chain ip lab out { type filter hook output priority 0; }; "+
				"add rule ip lab out ip daddr %s tcp dport %d drop", n.member.outside, n.member.port))
			return func() { n.filterPackets("delete table ip lab") }
		},
		hold: 2 * time.Minute,
	},
	{
		name: "certificate-expired",
		ends: true, // it is healed by another start of the kubelet
		breaks: func(n *node) func() {
			n.startPod("web")
			return func() {
				require.NoError(n.t, n.member.writeClientCertificate(n.name, aDay))
				n.mustRun("systemctl", "restart", "kubelet")
			}
		},
		hold: 60 * time.Second,
	},
}

// filterPackets runs commands of nft in the node's network namespace.
func (n *node) filterPackets(commands string) {
	n.t.Helper()
	out, err := exec.Command("nsenter", "-t", strconv.Itoa(n.leader), "-n", "nft", commands).CombinedOutput()
	require.NoError(n.t, err, "nft %s: %s", commands, out)
}
