//go:build lab

package lab

import (
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proven are the verdicts of a cause that may be named.
var proven = []string{"confirmed", "likely"}

func TestScenarios(t *testing.T) {
	t.Parallel()
	all := slices.Concat(scenarios, stoppedScenarios, fileScenarios, runtimeScenarios, podScenarios, heldScenarios, startScenarios, oddScenarios)
	if *onCluster {
		all = append(all, clusterOnly...)
		all = append(all, crioOnly...)
	}
	if *onGuest {
		all = guestScenarios
	}
	for _, s := range all {
		if *onCluster {
			other, ok := scenariosOfMembers()[s.name]
			if !ok {
				continue
			}
			if *debianContainerd {
				other.wants.links = s.wants.links
			}
			if s.full = false; !other.same {
				s.wants = other.wants
			}
		}
		if !s.full || *full {
			t.Run(s.name, func(t *testing.T) { s.runScenario(t, theRun) })
		}
	}
}

var scenarios = []scenario{
	{
		name: "healthy",
		breaks: func(n *node) func() {
			web, other := n.startPod("web"), n.startPod("other")
			n.pinContainers(web.Container)
			n.stopPod(other)
			return func() {}
		},
		hold: 15 * time.Second,
	},
	{
		name: "umount2",
		slow: "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs",
		hold: 30 * time.Second, long: 90 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			pid := n.taskPID(web.Container)
			require.NoError(n.t, n.disk.throttle(1<<20))
			fillDisk(n.t, n.hostPath("/proc/"+pid+"/root/junk"))
			n.mustRun("kill", "-KILL", pid)
			n.pinContainers(web.Container)
			return func() { require.NoError(n.t, n.disk.throttle(0)) }
		},
		wants: wants{
			root: "umount2-overlay-sync", verdicts: proven, links: []string{"cri-status-lock-exiting-update"},
			steps: []string{"exit", "syncing", "delete"}, evidence: []string{"&TaskExit{ContainerID:", `"ovl_sync_fs`, "failed to delete task"},
			headline: []string{"while the kernel syncs the disk below the overlay"},
		},
	},
	{
		name: "metadata-io",
		slow: "/var/lib/containerd/io.containerd.grpc.v1.cri",
		hold: 20 * time.Second, long: time.Minute,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			require.NoError(n.t, n.disk.throttle(20)) // a status file of one block takes minutes
			n.stopPod(web)
			return func() { require.NoError(n.t, n.disk.throttle(0)) }
		},
		wants: wants{
			root: "cri-updatesync-slow-metadata", verdicts: proven,
			steps: []string{"holder", "waiters"}, evidence: []string{"os.(*File).Sync(", "(*statusStorage).UpdateSync(", "(*statusStorage).Get("},
		},
	},
	{
		name: "dbus-stall",
		hold: 30 * time.Second, long: 80 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			n.signalInit(syscall.SIGSTOP)
			n.pinContainers(web.Container)
			return func() { n.signalInit(syscall.SIGCONT) }
		},
		wants: wants{
			root: "systemd-busy-or-unresponsive", verdicts: proven, links: []string{"cri-status-lock-running-update-dbus", "runc-stuck-dbus"},
			steps:    []string{"stopped", "mute", "bus", "runc", "update", "holder", "waiters"},
			evidence: []string{`"state":"T"`, `"answered":false`, "--systemd-cgroup update", "(*statusStorage).UpdateSync(", "(*statusStorage).Get("},
		},
	},
	{
		name: "stopped-runtime",
		hold: 20 * time.Second, long: 210 * time.Second,
		breaks: func(n *node) func() {
			n.startPod("web")
			n.mustRun("pkill", "-STOP", "-x", runtimeName())
			return func() { n.mustRun("pkill", "-CONT", "-x", runtimeName()) }
		},
		wants: wants{
			root: "runtime-process-stopped", verdicts: []string{"confirmed"},
			steps: []string{"sampled", "mute"}, evidence: []string{`"comm":"containerd","state":"T"`, `"answered":false`},
			headline: []string{"containerd is stopped"},
		},
	},
	{
		name: "docker-dbus-stall",
		hold: 50 * time.Second, long: 90 * time.Second,
		prep: func(n *node) {
			n.mustRun("systemctl", "start", "docker")
			n.mustRun("docker", "import", "/opt/lab/rootfs.tar", "lab")
			n.mustRun("docker", "run", "-d", "--name", "web", "--network", "none", "lab", "sleep", "1000000")
		},
		breaks: func(n *node) func() {
			n.signalInit(syscall.SIGSTOP)
			n.startCommand("docker", "run", "-d", "--name", "second", "--network", "none", "lab", "sleep", "1000000")
			n.startCommand("docker", "update", "--cpu-shares", "100", "web")
			time.Sleep(2 * time.Second)
			n.startCommand("docker", "inspect", "second")
			n.startCommand("docker", "stop", "second")
			return func() { n.signalInit(syscall.SIGCONT) }
		},
		wants: wants{
			root: "systemd-busy-or-unresponsive", verdicts: proven, links: []string{"dockerd-container-mutex", "runc-stuck-dbus"},
			steps: []string{"stopped", "mute", "call", "holder", "waiters"}, evidence: []string{`"state":"T"`, `"answered":false`, "(*Daemon).containerStart("},
		},
	},
	{
		name:  "netlink-hang",
		hold:  15 * time.Second,
		flags: []string{"--allow-kill", "lab-cnid"},
		breaks: func(n *node) func() {
			n.mustRun("systemctl", "start", "lab-cnid")
			n.waitFor(10*time.Second, "address", func() bool { _, err := n.runCommand("/opt/lab/lab-cnid", "alloc"); return err == nil })
			pid := n.findPID("^/opt/lab/lab-cnid$")
			// The request is never sent, so the kernel never answers: recvfrom waits for as long as
			// it is let.
			n.startCommand("strace", "-f", "-p", pid, "-o", "/dev/null", "-e", "trace=sendto", "-e", "inject=sendto:retval=36")
			n.waitFor(10*time.Second, "tracer", func() bool { return n.isTraced(pid) })
			for range 4 {
				n.startCommand("/opt/lab/lab-cnid", "alloc")
			}
			time.Sleep(2 * time.Second)
			n.mustRun("pkill", "-INT", "-x", "strace")
			n.waitFor(10*time.Second, "end of the tracer", func() bool { return !n.isTraced(pid) })
			return func() {}
		},
		wants: wants{root: "netlink-recv-hang-cni", verdicts: proven, steps: []string{"held_now", "queue"}, evidence: []string{"(*NetlinkSocket).Receive("}},
	},
	{
		name: "threshold", full: true,
		hold: 210 * time.Second,
		breaks: func(n *node) func() {
			web, other := n.startPod("web"), n.startPod("other")
			n.signalInit(syscall.SIGSTOP)
			n.pinContainers(web.Container, other.Container)
			return func() { n.signalInit(syscall.SIGCONT) }
		},
		wants: wants{
			root: "systemd-busy-or-unresponsive", verdicts: proven, links: []string{"cri-status-lock-running-update-dbus", "runc-stuck-dbus", "cri-status-lock-held"},
			steps: []string{"stopped", "mute", "update", "holder", "waiters", "stalled"}, evidence: []string{"PLEG is not healthy"}, stalled: true,
			headline: []string{"NotReady from"},
		},
	},
}

// pinContainers makes the kubelet update the resources of containers, as after the start of a
// pinned pod.
func (n *node) pinContainers(containers ...string) {
	n.t.Helper()
	if n.member != nil {
		n.member.pin(n)
		return
	}
	n.writeFile("/var/lib/kubelet/lab-pins", strings.Join(containers, "\n")+"\n")
}

// isTraced says whether a process of the node has a tracer.
func (n *node) isTraced(pid string) bool {
	n.t.Helper()
	return !strings.Contains(n.mustRun("cat", "/proc/"+pid+"/status"), "TracerPid:\t0\n")
}

// taskPID is the PID, inside the node, of a container's first process.
func (n *node) taskPID(container string) string {
	n.t.Helper()
	for line := range strings.Lines(n.mustRun("ctr", "-n", "k8s.io", "tasks", "ls")) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == container {
			return f[1]
		}
	}
	require.FailNow(n.t, "no task of "+container)
	return ""
}

// fillDisk writes so much that the slow disk needs minutes for it.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	const size = 300 << 20
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = io.CopyN(f, zeros{}, size)
	require.NoError(t, err)
}

// zeros is /dev/zero.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
