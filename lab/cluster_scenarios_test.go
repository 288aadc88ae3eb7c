//go:build lab

package lab

import "time"

// onMember is what is different about a scenario on a node of a cluster.
type onMember struct {
	kubelet string // more of the kubelet's configuration
	ready   bool   // the node stays ready
	wants   wants  // what analyze must make of the bundle: a real kubelet's words; links are those with containerd 2
}

// clusterScenarios are the scenarios that run on nodes of a cluster. A node that breaks stays broken
// until the API calls it not ready for PLEG's sake.
var clusterScenarios = map[string]onMember{
	"healthy":   {ready: true},
	"many-pods": {ready: true},
	"stopped-runtime": {wants: wants{
		root: "runtime-process-stopped", verdicts: []string{"confirmed"},
		steps: []string{"sampled", "mute"}, evidence: []string{`"comm":"containerd","state":"T"`, `"answered":false`, "PLEG is not healthy"},
		headline: []string{"containerd is stopped"},
	}},
	// With the default of two minutes, the lock is free every two minutes, and which relist then gets
	// through is a matter of luck. Five and more minutes are not rare.
	"dbus-stall": {kubelet: "runtimeRequestTimeout: 5m\n", wants: wants{
		root: "systemd-busy-or-unresponsive", verdicts: proven, links: []string{"cri-status-lock-running-update-dbus", "runc-stuck-dbus"},
		steps:    []string{"stopped", "mute", "bus", "runc", "holder", "waiters"},
		evidence: []string{`"state":"T"`, `"answered":false`, "--systemd-cgroup update", "(*statusStorage).UpdateSync(", "(*statusStorage).Get("},
	}},
	// A containerd 2.3 gives each update up after two seconds, and the node stays ready.
	"umount2": {ready: true, wants: wants{
		root: "umount2-overlay-sync", verdicts: proven, steps: []string{"exit", "syncing", "delete"},
		evidence: []string{"failed to delete task", `"ovl_sync_fs`},
	}},
	"metadata-io": {wants: wants{
		root: "cri-updatesync-slow-metadata", verdicts: proven,
		steps: []string{"holder", "waiters"}, evidence: []string{"os.(*File).Sync(", "(*statusStorage).UpdateSync(", "(*statusStorage).Get("},
	}},
}

// clusterOnly are the scenarios that need a kubelet that probes.
var clusterOnly = []scenario{
	{
		name: "many-pods",
		breaks: func(n *node) func() {
			n.member.startProbedPods(n, 30)
			return func() {}
		},
		hold: 60 * time.Second,
	},
}
