//go:build lab

package lab

import (
	"time"
)

// guestScenarios are what a kernel of its own shows.
var guestScenarios = []scenario{
	{
		name: "guest-healthy",
		breaks: func(n *node) func() {
			web, other := n.startPod("web"), n.startPod("other")
			n.pinContainers(web.Container)
			n.stopPod(other)
			return func() {}
		},
		hold: 30 * time.Second,
	},
	{
		name: "io-max",
		slow: "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs",
		hold: 60 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			pid := n.taskPID(web.Container)
			n.limitUnit("kubepods.slice", "IOWriteBandwidthMax=/dev/mapper/slow 300K")
			n.execInContainer(web.Container, "dd", "if=/dev/zero", "of=/junk", "bs=1M", "count=60")
			n.mustRun("kill", "-KILL", pid)
			n.pinContainers(web.Container)
			return func() { n.limitUnit("kubepods.slice", "IOWriteBandwidthMax=") }
		},
		wants: wants{
			root: "umount2-overlay-sync", verdicts: proven, links: []string{"cri-status-lock-exiting-update"},
			steps: []string{"exit", "syncing", "delete", "limited"}, evidence: []string{"&TaskExit{ContainerID:", `"ovl_sync_fs`, "failed to delete task", "/kubepods.slice/io.max:"},
			headline: []string{"while the kernel syncs the disk below the overlay"},
		},
	},
	{
		name: "dm-delay",
		slow: "/var/lib/containerd/io.containerd.metadata.v1.bolt",
		hold: 60 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			n.mapSlowDisk("delay /dev/vdc 0 0 /dev/vdc 0 40000") // each write takes 40 s
			n.requestPod("late")
			n.requestPod("later")
			n.stopPod(web)
			return func() { n.mapSlowDisk("linear /dev/vdc 0") }
		},
		wants: wants{
			root: "containerd-bbolt-fsync", role: "contributing", verdicts: proven, steps: []string{"in_sync", "writer"},
			evidence: []string{"bbolt.fdatasync("}, headline: []string{"containerd's database waits for a slow disk"}, perhaps: []string{"runtime-latency"},
		},
	},
	{
		name: "dm-suspend",
		slow: "/var/lib/containerd",
		hold: 150 * time.Second,
		breaks: func(n *node) func() {
			n.reportHungTasks()
			web := n.startPod("web")
			n.mustRun("dmsetup", "suspend", "--nolockfs", "--noflush", "slow")
			n.requestPod("late")
			n.stopPod(web)
			return func() { n.mustRun("dmsetup", "resume", "slow") }
		},
		wants: wants{
			root: "block-io-hung-task", verdicts: proven, links: []string{"umount2-overlay-sync", "containerd-bbolt-fsync"},
			steps: []string{"journal", "daemon"}, evidence: []string{"task:containerd", "task:jbd2/dm-"}, headline: []string{"containerd waits in the kernel for the disk"},
		},
	},
	{
		name: "cpu-max",
		hold: 60 * time.Second,
		breaks: func(n *node) func() {
			n.startPod("web")
			n.limitUnit("containerd.service", "CPUQuota=1%")
			for range 10 { // that so many wait makes each answer late
				n.startCommand("sh", "-c", "while :; do /opt/lab/kubelet list; done")
			}
			return func() {
				n.mustRun("pkill", "-KILL", "-f", "^sh -c while")
				n.limitUnit("containerd.service", "CPUQuota=")
			}
		},
		wants: wants{
			root: "runtime-cgroup-throttled", verdicts: proven, steps: []string{"throttled"},
			evidence: []string{"/containerd.service/cpu.stat:nr_throttled", "/containerd.service/cpu.max:1000 100000"}, headline: []string{"the cgroup of containerd has too little CPU time", "it may have 1 % of one CPU"},
		},
	},
	{
		name: "nfs-dead",
		hold: 150 * time.Second,
		breaks: func(n *node) func() {
			n.reportHungTasks()
			n.startFileServer()
			n.startPodWith("before", podOptions{volume: "/mnt/shared/data"})
			n.mustRun("ip", "-n", "server", "link", "set", "lab1", "down")
			n.requestPodWith("after", podOptions{volume: "/mnt/shared/data"})
			return func() { n.mustRun("ip", "-n", "server", "link", "set", "lab1", "up") }
		},
		wants: wants{
			root: "nfs-hung-mount", verdicts: proven, steps: []string{"silent", "runtime_now"},
			evidence: []string{"nfs: server 10.9.0.2 not responding", `"comm":"containerd"`}, headline: []string{"the file server 10.9.0.2 does not answer"},
		},
	},
	{
		name: "guest-oom",
		hold: 30 * time.Second,
		ends: true,
		breaks: func(n *node) func() {
			n.startPod("web")
			n.configureRuntime("Restart=no")
			n.limitUnit("containerd.service", "MemoryMax=8M")
			n.startCommand("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do /opt/lab/kubelet pod late-$i & done; wait")
			n.waitFor(60*time.Second, "end of containerd", func() bool { _, err := n.runCommand("pgrep", "-x", "containerd"); return err != nil })
			return func() {
				n.limitUnit("containerd.service", "MemoryMax=")
				n.mustRun("systemctl", "start", "containerd")
			}
		},
		wants: wants{
			root: "runtime-process-down", verdicts: []string{"confirmed"}, steps: []string{"died", "oom", "refused", "refused_collect"},
			evidence: []string{"Killed process "}, headline: []string{"containerd is not running", "OOM killer"},
		},
	},
	{
		name: "guest-pids",
		hold: 30 * time.Second,
		ends: true, // a program of Go that can start no thread ends
		breaks: func(n *node) func() {
			n.startPod("web")
			n.limitUnit("containerd.service", "TasksMax=20")
			for _, name := range []string{"late-1", "late-2", "late-3", "late-4", "late-5", "late-6"} {
				n.requestPod(name)
			}
			return func() { n.limitUnit("containerd.service", "TasksMax=infinity") }
		},
		wants: wants{
			root: "pid-thread-exhaustion", verdicts: proven, steps: []string{"limited"}, evidence: []string{"containerd.service/pids.events:max"},
			headline: []string{"containerd.service is 20"},
		},
	},
	{
		name: "init-frozen",
		hold: 60 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			n.writeFile("/sys/fs/cgroup/init.scope/cgroup.freeze", "1")
			n.pinContainers(web.Container)
			return func() { n.writeFile("/sys/fs/cgroup/init.scope/cgroup.freeze", "0") }
		},
		wants: wants{
			root: "systemd-busy-or-unresponsive", verdicts: proven, links: []string{"cri-status-lock-running-update-dbus", "runc-stuck-dbus"},
			steps:    []string{"in_freezer", "mute", "runc", "holder", "waiters"}, // a slow machine gives the update up
			evidence: []string{`"pid":1,`, `"answered":false`, "--systemd-cgroup update", "(*statusStorage).UpdateSync("},
			headline: []string{"systemd (PID 1) is frozen by its cgroup"},
		},
	},
}

// limitUnit sets what a unit may use, as an administrator does.
func (n *node) limitUnit(unit, setting string) {
	n.t.Helper()
	n.mustRun("systemctl", "set-property", "--runtime", unit, setting)
}

// execInContainer runs a program of busybox in a container, in its cgroup.
func (n *node) execInContainer(container string, argv ...string) {
	n.t.Helper()
	n.mustRun(append([]string{"ctr", "-n", "k8s.io", "tasks", "exec", "--exec-id", "lab", container, "/bin/busybox"}, argv...)...)
}

// reportHungTasks makes the kernel report a task after one minute in state D; the default is two,
// and it looks as seldom.
func (n *node) reportHungTasks() {
	n.t.Helper()
	n.mustRun("sysctl", "-w", "kernel.hung_task_timeout_secs=60")
}

// startFileServer starts the kernel's NFS server in a network namespace of the machine, and mounts
// its directory hard, as most volumes are.
func (n *node) startFileServer() {
	n.t.Helper()
	n.mustRun("sh", "-ec", `
ip netns add server
ip link add lab0 type veth peer name lab1 netns server
ip address add 10.9.0.1/24 dev lab0
ip link set lab0 up
ip -n server address add 10.9.0.2/24 dev lab1
ip -n server link set lab1 up
ip -n server link set lo up
mkdir -p /srv/shared/data /mnt/shared /run/lab-server
modprobe nfsd
echo '/srv/shared *(rw,no_root_squash,insecure,fsid=0,no_subtree_check)' > /etc/exports
mkdir -p /srv/shared/data
ip netns exec server sh -ec '
mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
exportfs -ra
echo 10 > /proc/fs/nfsd/nfsv4gracetime
rpc.mountd --no-nfs-version 3
rpc.nfsd --no-nfs-version 3 --no-udp 2
'
`)
	n.waitFor(60*time.Second, "mount of the file server", func() bool {
		_, err := n.runCommand("timeout", "20", "mount", "-t", "nfs4", "-o", "hard,timeo=50,retrans=2,actimeo=1", "10.9.0.2:/", "/mnt/shared")
		return err == nil
	})
}
