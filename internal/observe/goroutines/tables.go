package goroutines

import "github.com/plegdiag/plegdiag/internal/stackdump"

// programs tell whose dump it is by a package that only that program holds.
// Order matters: kubelet and dockerd carry containerd's client, shims its server.
var programs = []struct{ part, component string }{
	{"k8s.io/kubernetes/pkg/kubelet", "kubelet"},
	{"k8s.io/kubernetes/cmd/kubelet", "kubelet"},
	{"github.com/docker/docker/daemon", "dockerd"},
	{"github.com/moby/moby/daemon", "dockerd"},
	{"docker/libnetwork", "dockerd"},
	{"github.com/docker/docker", "dockerd"},
	{"AliyunContainerService/terway", "cni"},
	{"containernetworking/cni/pkg/skel", "cni"},
	{"/cri-o/", "crio"}, // kubernetes-incubator/, kubernetes-sigs/ and cri-o/
	{"containerd/cmd/containerd-shim", "shim"},
	{"containerd/runtime/runc/task", "shim"},
	{"/shim.(*Service).", "shim"}, // v1
	{"containerd/runtime/runc", "shim"},
	{"containerd/containerd", "containerd"},
	{"github.com/opencontainers/runc", "runc"},
	{"vishvananda/netlink/nl", "cni"}, // a network daemon without a name of its own here
}

// waits say what a goroutine waits for outside its own process: the frames
// stand in this order, innermost first, each a part of a frame's Name. The
// first row that fits counts.
var waits = []struct {
	doing  string
	frames []string
	guess  bool   // the frames between were not printed: an inference
	state  string // how the goroutine's state begins; empty for any
	lock   bool   // only of a goroutine that waits for a mutex there
}{
	{doing: "netlink-recv", frames: []string{"(*NetlinkSocket).Receive", "(*NetlinkRequest).Execute"}},
	{doing: "netlink-recv", frames: []string{"syscall.Syscall6", "SetupVethPair"}, guess: true, state: "syscall"},
	{doing: "umount", frames: []string{"unix.Unmount", "mount."}},
	{doing: "umount", frames: []string{"syscall.Unmount", "mount."}},
	{doing: "umount", frames: []string{"unix.Unmount", "overlay2.(*Driver)."}},
	{doing: "bolt-sync", frames: []string{"bolt.fdatasync"}}, // go.etcd.io/bbolt, boltdb/bolt
	{doing: "bolt-lock", frames: []string{"bolt.(*DB).beginRWTx"}, lock: true},
	{doing: "bolt-lock", frames: []string{"metadata.(*DB)."}, lock: true},
	{doing: "nri-sync", frames: []string{"nri.(*local).syncPlugin"}, lock: true},
	{doing: "nri-update", frames: []string{"nri.(*local).updateFromPlugin"}, lock: true},
	{doing: "nri-block", frames: []string{"adaptation.(*Adaptation).BlockPluginSync"}, lock: true},
	{doing: "nri-block", frames: []string{"adaptation.(*Adaptation).requestPluginSync"}, lock: true},
	{doing: "nri-adaptation", frames: []string{"adaptation.(*Adaptation).", "nri.(*local)."}, lock: true},
	{doing: "nri-lock", frames: []string{"nri.(*local)."}, lock: true},
	{doing: "metrics-add", frames: []string{"go-metrics.(*Namespace).", "cgroups.(*Collector).Add"}, lock: true},
	{
		doing:  "metrics-collect",
		frames: []string{"sync.(*RWMutex).RLock", "cgroups.(*Collector).Collect", "go-metrics.(*Namespace).Collect"},
	},
	{doing: "metrics-lock", frames: []string{"cgroups.(*Collector)."}, lock: true},
	{doing: "fsync", frames: []string{"os.(*File).Sync"}},
	{doing: "fsync", frames: []string{"fdatasync"}},
	{doing: "dbus", frames: []string{"dbus.(*Object).Call"}},
	{doing: "dbus", frames: []string{"dbus.(*Object).createCall"}},
	{doing: "dbus", frames: []string{"dbus.(*Conn).startJob"}},
	// Create holds it
	{
		doing:  "own-lock",
		frames: []string{"task.(*service).handleProcessExit", "task.(*service).preStart", "task.(*service).Create"},
		lock:   true,
	},
	{doing: "service-lock", frames: []string{"task.(*service).getContainer"}, lock: true},
	{doing: "service-lock", frames: []string{"shim.(*Service).getInitProcess"}, lock: true},
	{doing: "service-lock", frames: []string{"shim.(*Service).getExecProcess"}, lock: true},
	{doing: "service-lock", frames: []string{"shim.(*Service).checkProcesses"}, lock: true},
	{doing: "reap", frames: []string{"shim.Reap"}},
	{doing: "reap-lock", frames: []string{"shim.(*Monitor).Unsubscribe", "shim.(*Monitor).Wait"}, lock: true},
	{doing: "runc", frames: []string{"go-runc.(*Runc)."}},
	// an answer is there, and cannot be given to its caller
	{doing: "ttrpc-receive", frames: []string{"ttrpc.(*Client).getStream", "ttrpc.(*Client).receiveLoop"}, lock: true},
	{doing: "ttrpc-send", frames: []string{"ttrpc.(*channel).send", "ttrpc.(*Client)."}},
	// stuck before the request left (ttrpc#168): no shim is asked
	{doing: "ttrpc", frames: []string{"ttrpc.(*Client).createStream"}},
	{doing: "shim", frames: []string{"task.(*taskClient)."}},
	{doing: "shim", frames: []string{"task.(*ttrpctaskClient)."}},
	{doing: "shim", frames: []string{"shim.(*shimClient)."}}, // containerd 1.0 to 1.2
	// a shim that speaks the sandbox API
	{doing: "sandbox", frames: []string{"sandbox.(*ttrpcsandboxClient)."}},
	{doing: "sandbox", frames: []string{"sandbox.(*sandboxClient)."}},
	// a sandbox controller in another process
	{doing: "sandbox", frames: []string{"sandbox.(*controllerClient)."}},
	{doing: "containerd", frames: []string{".(*tasksClient)."}},
	{doing: "cri", frames: []string{".(*runtimeServiceClient)."}},
	// until the process has ended and its output is read
	{doing: "exec", frames: []string{"(*criService).execInContainer", "(*criService).ExecSync"}},
	{doing: "cni-daemon", frames: []string{"net/rpc.(*Client).Call"}},
	{doing: "udev", frames: []string{"devicemapper.UdevWait"}},
	// a file system that does not answer: a stat takes no time
	{doing: "file", frames: []string{"os.Stat"}, state: "syscall"},
	{doing: "file", frames: []string{"os.Lstat"}, state: "syscall"},
	{doing: "file", frames: []string{"os.statNolog"}, state: "syscall"},
	{doing: "file", frames: []string{"os.lstatNolog"}, state: "syscall"},
	{doing: "file", frames: []string{"unix.Statfs"}, state: "syscall"},
	{doing: "file", frames: []string{"syscall.Statfs"}, state: "syscall"},
	{doing: "file", frames: []string{"os.MkdirAll"}, state: "syscall"},
	{doing: "file", frames: []string{"os.(*File).ReadDir"}, state: "syscall"},
	{doing: "file", frames: []string{"os.(*File).Readdir"}, state: "syscall"},  // and Readdirnames
	{doing: "runc", frames: []string{"os/exec.(*Cmd).", "oci.(*runtimeOCI)."}}, // cri-o runs it itself
	{doing: "container-stop", frames: []string{"oci.WaitContainerStop", "oci.(*runtimeOCI)."}},
	{doing: "container-stop", frames: []string{"oci.waitContainerStop", "oci.(*runtimeOCI)."}},
	{doing: "conmon", frames: []string{"os.(*File).Read", "oci.(*runtimeOCI)."}},
	{doing: "cni-plugin", frames: []string{"os/exec.(*Cmd).", "cni/pkg/invoke."}},
	// dockershim's status hook
	{doing: "nsenter", frames: []string{"os/exec.(*Cmd).", "network.getOnePodIP"}},
}

// servers are the receivers whose outermost method names the request that a
// goroutine serves: "ListContainers", "ContainerInspect", "AllocIP".
var servers = []string{
	"(*criService).", "daemon.(*Daemon).", "(*networkService).", "(*GenericPLEG).", "task.(*service).", "process.(*Init).",
	"server.handleContainerExit", "cri-o/server.(*Server).", "dockershim.(*dockerService).",
}

// dockerHolds: functions of dockerd that keep a container's lock while they
// call out (moby daemon/start.go, kill.go, monitor.go, pause.go; 17.05 to 28).
// daemon.update is not among them: it unlocks before it calls containerd.
var dockerHolds = []string{
	"daemon.(*Daemon).containerStart", "daemon.(*Daemon).killWithSignal", "daemon.(*Daemon).handleContainerExit",
	"daemon.(*Daemon).containerPause", "daemon.(*Daemon).containerUnpause", "daemon.(*Daemon).cleanupContainer",
}

// podNetworkHolds: functions of dockershim's network manager
// (pkg/kubelet/dockershim/network/plugins.go, before 1.9 pkg/kubelet/network; gone in 1.24) that
// keep a pod's lock while a program of the CNI runs.
var podNetworkHolds = []string{
	"network.(*PluginManager).SetUpPod", "network.(*PluginManager).TearDownPod", "network.(*PluginManager).GetPodNetworkStatus",
}

// crioHolds: functions of cri-o that keep a container's opLock while runc runs
// (internal/oci/runtime_oci.go; oci/ before 1.16). Each takes the container as an argument, so that
// no frame shows the lock's owner.
var crioHolds = []string{
	"oci.(*runtimeOCI).StartContainer", "oci.(*runtimeOCI).UpdateContainer", "oci.(*runtimeOCI).UpdateContainerStatus",
	"oci.(*runtimeOCI).StopContainer", "oci.(*runtimeOCI).DeleteContainer", "oci.(*runtimeOCI).PauseContainer",
	"oci.(*runtimeOCI).SignalContainer",
}

// Holds is the catalogue of locks whose holder shows no address of theirs.
var Holds = holdCatalogue()

func holdCatalogue() []stackdump.Hold {
	var all []stackdump.Hold
	for _, f := range dockerHolds {
		for _, lock := range []string{"daemon.(*Daemon).", "container.(*State).", "container.(*Container)."} {
			for _, while := range []string{".(*tasksClient).", "overlay2.(*Driver).", "UdevWait"} {
				all = append(all, stackdump.Hold{Func: f, While: while, Lock: lock})
			}
		}
	}
	for _, f := range crioHolds {
		for _, while := range []string{"os/exec.(*Cmd).", "dbus.", "oci.WaitContainerStop", "oci.waitContainerStop"} {
			all = append(all, stackdump.Hold{Func: f, While: while, Lock: "oci.(*runtimeOCI)."})
		}
	}
	for _, f := range podNetworkHolds {
		all = append(all, stackdump.Hold{Func: f, While: "os/exec.(*Cmd).", Lock: "network.(*PluginManager)."})
	}
	return all
}

// relists are the methods that relist, up to Kubernetes 1.25 and since.
var relists = []string{"(*GenericPLEG).relist", "(*GenericPLEG).Relist"}

// mutexStates are parts of the states of a goroutine that waits for a lock; the second is Go's up
// to 1.19.
var mutexStates = []string{"Mutex", "semacquire"}
