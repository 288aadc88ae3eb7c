//go:build lab

package lab

import (
	"time"

	"github.com/stretchr/testify/require"
)

// fileScenarios are file systems that do not answer, are slow or are full.
var fileScenarios = []scenario{
	{
		name: "scanner-hung",
		hold: 25 * time.Second, long: 100 * time.Second,
		breaks: func(n *node) func() {
			// What the kubelet reads to update resources is not on the mount that is held.
			n.mustRun("mount", "--rbind", "/var/lib/kubelet", "/var/lib/kubelet")
			web := n.startPod("web")
			end := n.startFault("scan", "/", "300")
			n.pinContainers(web.Container)
			return end
		},
		wants: wants{
			root: "exec-held-by-scanner", verdicts: proven, steps: []string{"stays", "unanswered"},
			evidence: []string{`"fanotify_handle_event`, `"answered":false`}, headline: []string{"a security scanner does not answer"},
		},
	},
	{
		name: "fuse-hung",
		hold: 25 * time.Second,
		breaks: func(n *node) func() {
			n.mustRun("mknod", "/dev/fuse", "c", "10", "229")
			n.mustRun("mkdir", "-p", "/var/lib/kubelet/volume")
			end := n.startFault("fuse", "/var/lib/kubelet/volume")
			n.startPodWith("before", podOptions{volume: "/var/lib/kubelet/volume"})
			n.mustRun("pkill", "-USR1", "-x", "lab-fault")
			n.requestPodWith("after", podOptions{volume: "/var/lib/kubelet/volume"})
			return end
		},
		wants: wants{
			root: "fuse-mount-hung", verdicts: proven, steps: []string{"stays"}, evidence: []string{`"comm":"containerd"`, "request_wait_answer"},
			headline: []string{"the program behind a FUSE mount does not answer"},
		},
	},
	{
		name: "bbolt-slow",
		slow: "/var/lib/containerd/io.containerd.metadata.v1.bolt",
		hold: 30 * time.Second, long: 100 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			if n.member != nil {
				time.Sleep(2 * reconcilePeriod) // the update of a new container would wait for the disk, and hold a lock
			}
			require.NoError(n.t, n.disk.throttle(20))
			n.requestPod("late")
			n.requestPod("later")
			n.stopPod(web)
			return func() { require.NoError(n.t, n.disk.throttle(0)) }
		},
		wants: wants{
			root: "containerd-bbolt-fsync", role: "contributing", verdicts: proven, steps: []string{"in_sync", "writer"},
			evidence: []string{"bbolt.fdatasync("}, headline: []string{"containerd's database waits for a slow disk"},
		},
	},
	fullDisk("disk-full", "/var/lib/containerd is 100% full", (*disk).fill),
	fullDisk("inodes-full", "/var/lib/containerd has used 100% of its inodes", (*disk).fillInodes),
}

// fullDisk is a node where fill has left nothing of the disk below /var/lib/containerd.
func fullDisk(name, headline string, fill func(*disk) (empty func() error, err error)) scenario {
	return scenario{
		name: name,
		slow: "/var/lib/containerd",
		hold: 20 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			empty, err := fill(n.disk)
			require.NoError(n.t, err)
			n.stopPod(web)
			n.requestPod("late")
			return func() { require.NoError(n.t, empty()) }
		},
		wants: wants{
			root: "node-disk-full", role: "contributing", verdicts: proven, steps: []string{"full"},
			evidence: []string{"no space left on device"}, headline: []string{headline},
		},
	}
}
