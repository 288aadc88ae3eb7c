//go:build lab

package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// heldScenarios are daemons and file systems that somebody holds or takes something from: a backup,
// a debugger, a cgroup, a script that cleans up.
var heldScenarios = []scenario{
	{
		name: "disk-frozen", slow: "/var/lib/containerd",
		hold: 45 * time.Second, long: 200 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			thaw := n.freezeDisk()
			n.requestPod("late")
			n.stopPod(web)
			return thaw
		},
		wants: wants{root: "file-system-frozen", verdicts: proven, headline: []string{"frozen"}},
	},
	{
		name: "runtime-frozen",
		hold: 30 * time.Second, long: 200 * time.Second,
		breaks: func(n *node) func() {
			n.startPod("web")
			return n.limitDaemon("containerd", "freezer", "freezer.state", "FROZEN")
		},
		wants: wants{root: "runtime-process-stopped", verdicts: proven, headline: []string{"frozen by its cgroup"}},
	},
	{
		name: "runtime-traced",
		hold: 30 * time.Second, long: 200 * time.Second,
		breaks: func(n *node) func() {
			n.startPod("web")
			pid := n.findPID("^/usr/bin/containerd$")
			n.startCommand("strace", "-f", "-p", pid, "-o", "/dev/null")
			n.waitFor(10*time.Second, "tracer", func() bool { return n.isTraced(pid) })
			time.Sleep(time.Second) // until it has all threads
			n.mustRun("pkill", "-STOP", "-x", "strace")
			return func() { n.mustRun("pkill", "-KILL", "-x", "strace") }
		},
		wants: wants{root: "runtime-process-stopped", verdicts: proven, headline: []string{"strace"}},
	},
	{
		name: "socket-removed",
		hold: 40 * time.Second,
		ends: true,
		breaks: func(n *node) func() {
			n.startPod("web")
			n.mustRun("rm", runtimeSocket())
			n.mustRun("systemctl", "restart", "kubelet") // a connection that is open stays
			return func() { n.mustRun("systemctl", "restart", "containerd") }
		},
		wants: wants{root: "runtime-socket-missing", verdicts: proven, headline: []string{"containerd runs, but the file of its socket is not there"}},
	},
	{
		name: "files-limit", full: true,
		hold: 45 * time.Second,
		prep: func(n *node) { n.useNetworkPlugin("work") },
		breaks: func(n *node) func() {
			n.startProbedPods(4, "/bin/busybox", "true")
			time.Sleep(15 * time.Second)
			pid := n.findPID("^/usr/bin/containerd$")
			open := len(strings.Fields(n.mustRun("ls", "/proc/"+pid+"/fd")))
			before := strings.Fields(n.mustRun("prlimit", "-p", pid, "--nofile", "-o", "SOFT", "--noheadings", "--raw"))[0]
			n.mustRun("prlimit", "-p", pid, "--nofile="+strconv.Itoa(open)+":") // the hard limit could not be raised again
			n.requestPod("late")
			n.requestPod("later")
			return func() { n.mustRun("prlimit", "-p", pid, "--nofile="+before+":") }
		},
		wants: wants{root: "descriptor-limits", role: "contributing", verdicts: proven, headline: []string{"containerd has no open files left"}},
	},
	{
		name: "disk-error", slow: "/var/lib/containerd", full: true,
		hold: 30 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			n.failDisk()
			n.requestPod("late")
			n.stopPod(web)
			return func() {}
		},
		wants: wants{root: "notready-image-fs", role: "notready", verdicts: proven, headline: []string{"/var/lib/containerd", "is read-only"}},
	},
	{
		name: "kubelet-stopped", full: true,
		hold: 60 * time.Second,
		prep: func(n *node) { n.useNetworkPlugin("work") },
		breaks: func(n *node) func() {
			n.startPod("web")
			pid := n.findPID(kubeletCommand)
			n.mustRun("kill", "-STOP", pid)
			return func() { n.mustRun("kill", "-CONT", pid) }
		},
		wants: wants{root: "process-stopped", verdicts: proven, headline: []string{"kubelet"}},
	},
	{
		name: "journald-blocked", full: true,
		hold: 60 * time.Second,
		prep: func(n *node) { n.useNetworkPlugin("work") },
		breaks: func(n *node) func() {
			n.startPod("web")
			n.mustRun("pkill", "-STOP", "-x", "systemd-journal")
			// Its socket takes 8 MiB; a script that takes one dump after the other fills it.
			n.mustRun("sh", "-c", "p=$(pgrep -o -x containerd); i=0; while [ $i -lt 1500 ]; do kill -USR1 $p; sleep 0.01; i=$((i+1)); done; rm -f /tmp/containerd.*.stacks.log")
			for _, name := range []string{"late-1", "late-2", "late-3"} {
				n.requestPod(name)
			}
			return func() { n.mustRun("pkill", "-CONT", "-x", "systemd-journal") }
		},
		wants: wants{root: "system-service-dead", verdicts: proven, headline: []string{"systemd-journal (", "waits in writing its log"}},
	},
}

// oddScenarios are nodes on which something happened, and nothing is wrong now.
var oddScenarios = []scenario{
	{
		name: "clean-restart",
		hold: 30 * time.Second,
		ends: true,
		prep: func(n *node) { n.useNetworkPlugin("work") },
		breaks: func(n *node) func() {
			n.startPod("web")
			n.mustRun("systemctl", "restart", "containerd")
			return func() {}
		},
		wants: wants{state: "healthy"},
	},
	{
		name: "kubelet-restarts",
		hold: 20 * time.Second,
		ends: true,
		prep: func(n *node) { n.useNetworkPlugin("work") },
		breaks: func(n *node) func() {
			n.startPod("web")
			for range 5 {
				time.Sleep(5 * time.Second)
				n.mustRun("systemctl", "restart", "kubelet")
			}
			return func() {}
		},
		wants: wants{state: "healthy"},
	},
	{
		name: "image-churn", full: true,
		hold: 30 * time.Second,
		prep: func(n *node) { n.useNetworkPlugin("work") },
		breaks: func(n *node) func() {
			n.startCommand("sh", "-c", "timeout 60 sh -c 'while :; do ctr -n k8s.io images import /opt/lab/image.tar; done'")
			for _, name := range []string{"web-1", "web-2", "web-3", "web-4", "web-5", "web-6"} {
				n.stopPod(n.startPod(name))
			}
			return func() {}
		},
		wants: wants{state: "healthy"},
	},
	{
		name: "shim-killed", full: true,
		hold: 30 * time.Second,
		prep: func(n *node) { n.useNetworkPlugin("work") },
		breaks: func(n *node) func() {
			n.mustRun("kill", "-KILL", n.shimPID(n.startPod("web").Sandbox))
			return func() {}
		},
		wants: wants{state: "healthy"},
	},
}

// freezeDisk freezes the file system of the slow disk, as a backup does before it copies the disk.
// It is thawed by thaw, and after some minutes in any case: nobody can unmount a frozen file
// system.
func (n *node) freezeDisk() (thaw func()) {
	n.t.Helper()
	thaw = func() { _ = exec.Command("fsfreeze", "--unfreeze", n.disk.point).Run() } // it may be thawed
	n.t.Cleanup(thaw)
	last := exec.Command("setsid", "sh", "-c", `sleep 400; exec fsfreeze --unfreeze "$1"`, "sh", n.disk.point)
	require.NoError(n.t, last.Start())
	go func() { _ = last.Wait() }()
	out, err := exec.Command("fsfreeze", "--freeze", n.disk.point).CombinedOutput()
	require.NoError(n.t, err, "%s", out)
	return thaw
}

// failDisk makes the file system of the slow disk find an error, for which it is read-only from
// then on.
func (n *node) failDisk() {
	n.t.Helper()
	out, err := exec.Command("mount", "-o", "remount,errors=remount-ro", n.disk.point).CombinedOutput()
	require.NoError(n.t, err, "%s", out)
	device, err := os.Readlink("/sys/dev/block/" + n.disk.device)
	require.NoError(n.t, err)
	require.NoError(n.t, os.WriteFile("/sys/fs/ext4/"+filepath.Base(device)+"/trigger_fs_error", []byte("1"), 0))
}
