package goroutines

import "regexp"

// programs tell whose dump it is by a package that only that program holds.
// Order matters: kubelet and dockerd carry containerd's client, shims its server, and everything
// that speaks with the kernel's network carries netlink.
var programs = []struct{ part, component string }{
	{"k8s.io/kubernetes/pkg/kubelet", "kubelet"},
	{"k8s.io/kubernetes/cmd/kubelet", "kubelet"},
	{"GoogleCloudPlatform/kubernetes/pkg/kubelet", "kubelet"}, // up to 1.1
	{"github.com/google/cadvisor/", "kubelet"},                // which holds it; on its own it is rare
	// Volumes, where the frames below are cut off: of the programs of Kubernetes only the kubelet
	// mounts.
	{"k8s.io/kubernetes/pkg/volume", "kubelet"},
	{"k8s.io/kubernetes/pkg/util/mount", "kubelet"},
	{"k8s.io/kubernetes/cmd/kube-proxy", "kube-proxy"},
	{"k8s.io/kubernetes/pkg/proxy", "kube-proxy"},
	{"github.com/docker/docker/daemon", "dockerd"},
	{"github.com/moby/moby/daemon", "dockerd"},
	{"github.com/moby/moby/v2/daemon", "dockerd"},
	{"docker/libnetwork", "dockerd"},
	{"github.com/docker/docker", "dockerd"},
	{"AliyunContainerService/terway", "cni"},
	{"containernetworking/cni/pkg/skel", "cni"},
	{"cilium/cilium", "cni"},
	{"projectcalico/", "cni"}, // calico/, felix/ and node/ before 3.21
	{"amazon-vpc-cni-k8s", "cni"},
	{"Azure/azure-container-networking", "cni"},
	{"flannel-io/flannel", "cni"},
	{"coreos/flannel", "cni"},
	{"weaveworks/weave", "cni"},
	{"ovn-org/ovn-kubernetes", "cni"},
	{"kubeovn/kube-ovn", "cni"},
	{"antrea-io/antrea", "cni"},
	{"antrea.io/antrea", "cni"},
	{"multus-cni", "cni"},
	{"cloudnativelabs/kube-router", "cni"},
	{"/cri-o/", "crio"},                    // kubernetes-incubator/, kubernetes-sigs/ and cri-o/
	{"/shim.(*shimClient).", "containerd"}, // 1.0 to 1.2; no shim is a client of another
	{"containerd/cmd/containerd-shim", "shim"},
	{"containerd/containerd-shim", "shim"}, // docker/containerd up to 0.2
	{"containerd/linux/shim", "shim"},      // 1.0 betas
	{"containerd/runtime/runc/task", "shim"},
	{"/shim.(*Service).", "shim"}, // v1
	{"containerd/runtime/runc", "shim"},
	{"containerd/containerd", "containerd"},
	{"docker/containerd", "containerd"}, // up to 0.2
	{"containerd/cri/pkg/server", "containerd"},
	// Kubelet and cri-o carry libcontainer, too: where its source lies tells whose it is.
	{"k8s.io/kubernetes" + vendored, "kubelet"},
	{"/cri-o" + vendored, "crio"},
	{"github.com/containerd/containerd" + vendored, "containerd"}, // the shim has rows above
	{"github.com/docker/docker" + vendored, "dockerd"},
	{"github.com/opencontainers/runc", "runc"},
	{"github.com/docker/libcontainer", "runc"}, // before 2015
	{"container-storage-interface/spec/lib/go/csi._Node_", "csi"},
	{"container-storage-interface/spec/lib/go/csi/v0._Node_", "csi"},
	{"kata-containers/src/runtime/pkg/containerd-shim", "shim"},
	{"gvisor.dev/gvisor/pkg/shim", "shim"},
	{netlinkLibrary, "cni"}, // a network daemon without a name of its own here
}

// netlinkLibrary is of every program that speaks with the kernel's network.
const netlinkLibrary = "vishvananda/netlink/nl"

// dockerTree is where the source of a docker lies whose frames name no function of docker:
//
//	/build/docker-1.11.2/vendor/src/github.com/vishvananda/netlink/nl/nl_linux.go
var dockerTree = regexp.MustCompile(`/docker(-[^/]*)?/vendor/`)

// vendored ends the parts that are looked for in the path of a frame's file, not in its name.
const vendored = "/vendor/"

// ownLock is what the shim's Create does that waits for the lock it holds itself. The wait says so;
// a deadlock of one goroutine would say it again.
const ownLock = "own-lock"

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
	// one file after the other, before a container begins; the rows of files below are of each
	{doing: "relabel", frames: []string{"selinux.Chcon"}}, // go-selinux, and libcontainer's up to 2017
	{doing: "relabel", frames: []string{"selinux.chcon"}},
	{doing: "relabel", frames: []string{"label.Relabel"}},
	{doing: "netlink-recv", frames: []string{"(*NetlinkSocket).Receive", "(*NetlinkRequest).Execute"}},
	{doing: "netlink-recv", frames: []string{"(*NetlinkSocket).Receive", "ipvs.execute"}}, // libnetwork, moby/ipvs
	{doing: "netlink-recv", frames: []string{"syscall.NetlinkRIB"}, state: "syscall"},     // net.Interfaces and all that ask for one
	{doing: "netlink-recv", frames: []string{"syscall.Syscall6", "SetupVethPair"}, guess: true, state: "syscall"},
	{doing: "umount", frames: []string{"unix.Unmount", "mount."}},
	{doing: "umount", frames: []string{"syscall.Unmount", "mount."}},
	{doing: "umount", frames: []string{"unix.Unmount", "overlay2.(*Driver)."}},
	{doing: "snapshot-lock", frames: []string{"metadata.(*snapshotter)."}, lock: true},
	{doing: "bolt-sync", frames: []string{"bolt.fdatasync"}}, // go.etcd.io/bbolt, boltdb/bolt
	{doing: "bolt-lock", frames: []string{"bolt.(*DB).beginRWTx"}, lock: true},
	{doing: "bolt-lock", frames: []string{"metadata.(*DB)."}, lock: true},
	// containerd collects garbage under the lock of a snapshotter (metadata/snapshot.go)
	{doing: "snapshot-gc", frames: []string{"metadata.(*snapshotter).garbageCollect"}},
	{doing: "nri-sync", frames: []string{"nri.(*local).syncPlugin"}, lock: true},
	{doing: "nri-update", frames: []string{"nri.(*local).updateFromPlugin"}, lock: true},
	{doing: "nri-block", frames: []string{"adaptation.(*Adaptation).BlockPluginSync"}, lock: true},
	{doing: "nri-block", frames: []string{"adaptation.(*Adaptation).requestPluginSync"}, lock: true},
	{doing: "nri-adaptation", frames: []string{"adaptation.(*Adaptation).", "nri.(*local)."}, lock: true},
	{doing: "nri-lock", frames: []string{"nri.(*local)."}, lock: true},
	// a plugin that does not answer; it has two seconds
	{doing: "nri-plugin", frames: []string{"adaptation.(*plugin)."}, state: "select"},
	{doing: "mount-manager", frames: []string{"mount/manager.(*mountManager)."}, lock: true}, // containerd 2.2
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
		doing:  ownLock,
		frames: []string{"task.(*service).handleProcessExit", "task.(*service).preStart", "task.(*service).Create"},
		lock:   true,
	},
	{doing: "service-lock", frames: []string{"task.(*service).getContainer"}, lock: true},
	{doing: "service-lock", frames: []string{"shim.(*Service).getInitProcess"}, lock: true},
	{doing: "service-lock", frames: []string{"shim.(*Service).getExecProcess"}, lock: true},
	{doing: "exit-lock", frames: []string{"shim.(*Service).checkProcesses"}, lock: true},
	{doing: "exit-lock", frames: []string{"task.(*service).processExits"}, lock: true},
	{doing: "reap", frames: []string{"shim.Reap"}},
	{doing: "reap-lock", frames: []string{"shim.(*Monitor).Unsubscribe", "shim.(*Monitor).Wait"}, lock: true},
	{doing: "runc", frames: []string{"go-runc.(*Runc)."}},
	// runc init of 1.0-rc93, which reads the pipe only when all is in it
	{doing: "seccomp-pipe", frames: []string{"(*ScmpFilter).ExportBPF"}, state: "syscall"},
	// an answer is there, and cannot be given to its caller
	{doing: "ttrpc-receive", frames: []string{"ttrpc.(*Client).getStream", "ttrpc.(*Client).receiveLoop"}, lock: true},
	// containerd asks at its start each shim that is there (runtime/v2/shim_load.go, from 1.6 on)
	{doing: "load-shim", frames: []string{"ttrpc.(*Client).", "(*ShimManager).loadShim"}},
	{doing: "ttrpc-send", frames: []string{"ttrpc.(*channel).send", "ttrpc.(*Client)."}},
	{doing: "ttrpc-answer", frames: []string{"ttrpc.(*channel).send", "ttrpc.(*serverConn)."}},
	{doing: "ttrpc-send", frames: []string{"net.(*conn).Write", "ttrpc.(*channel).send"}, state: "IO wait"}, // cut below it
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
	{doing: "containerd", frames: []string{"types.(*aPIClient)."}}, // up to 0.2, of docker 1.11 to 17.10
	{doing: "cri", frames: []string{".(*runtimeServiceClient)."}},
	// lists that come in a stream (Kubernetes 1.36): the client's call is over, its answer is not
	{doing: "cri", frames: []string{".(*remoteRuntimeService)."}, state: "select"},
	// a kubelet that asks docker itself, up to 1.23, and cri-dockerd
	{doing: "docker-api", frames: []string{"cancellable.Do", "client.(*Client).send"}},
	{doing: "docker-api", frames: []string{"http.(*persistConn).roundTrip", "client.(*Client).doRequest"}},
	// until the process has ended and its output is read
	{doing: "exec", frames: []string{"(*criService).execInContainer", "(*criService).ExecSync"}},
	{doing: "cni-daemon", frames: []string{"net/rpc.(*Client).Call"}},
	// The sync loop asks while it admits a pod, without a time limit
	// (k8s.io/kubernetes/pkg/kubelet/cm).
	{doing: "device-plugin", frames: []string{"devicemanager.(*endpointImpl).allocate"}},
	{doing: "device-plugin", frames: []string{"devicemanager.(*endpointImpl).getPreferredAllocation"}},
	{doing: "device-plugin", frames: []string{"devicemanager.(*endpointImpl).preStartContainer"}},
	{doing: "host-compute", frames: []string{"hcs.(*System)."}, state: "syscall"}, // of Windows
	{doing: "host-compute", frames: []string{"vmcompute.hcs"}, state: "syscall"},
	{doing: "udev", frames: []string{"devicemapper.UdevWait"}},
	{doing: "file-lock", frames: []string{"bolt.flock"}}, // bbolt.Open tries again and again (bolt_unix.go)
	// the programs mount, umount and systemd-run, and nsenter before 1.10
	{doing: "mount-command", frames: []string{"os/exec.(*Cmd).", "mount.(*Mounter)."}},
	{doing: "mount-command", frames: []string{"os/exec.(*Cmd).", "mount-utils.(*Mounter)."}},
	{doing: "mount-command", frames: []string{"os/exec.(*Cmd).", "mount.(*NsenterMounter)."}},
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
	{doing: "stop-channel", frames: []string{crioStopWait, "oci.(*runtimeOCI)."}, state: "chan send"},
	{doing: "container-stop", frames: []string{crioStopWait, "oci.(*runtimeOCI)."}}, // 1.27
	{doing: "container-stop", frames: []string{crioStopLoop}, state: "select"},
	{doing: "conmon", frames: []string{"os.(*File).Read", "oci.(*runtimeOCI)."}},
	{doing: "cni-plugin", frames: []string{"os/exec.(*Cmd).", "cni/pkg/invoke."}},
	// dockershim's status hook
	{doing: "nsenter", frames: []string{"os/exec.(*Cmd).", "network.getOnePodIP"}},
	{doing: "device-mapper", frames: []string{"devicemapper._C2func_dm_task_run"}, state: "syscall"}, // libdm, in docker
	// one answer, whatever was asked; a stream waits so, too, until its first message comes
	{doing: "grpc", frames: []string{"transport.(*Stream).waitOnHeader", "grpc.invoke"}, state: "select"},
	{doing: "grpc", frames: []string{"transport.(*ClientStream).waitOnHeader", "grpc.invoke"}, state: "select"},
}

// servers are the receivers whose outermost method names the request that a
// goroutine serves: "ListContainers", "ContainerInspect", "AllocIP".
var servers = []string{
	"(*criService).", "daemon.(*Daemon).", "(*networkService).", "(*GenericPLEG).", "task.(*service).", "process.(*Init).",
	"server.handleContainerExit", "cri-o/server.(*Server).", "dockershim.(*dockerService).",
	"oci.(*runtimeOCI).",        // of cri-o: the goroutine that stops a container serves no request
	"server.(*StatsCollector).", // of containerd 2.3: one goroutine, which asks every shim
	// runc 1.5 asks systemd to move the process of an exec: AddPid
	"cgroups/systemd.(*LegacyManager).", "cgroups/systemd.(*UnifiedManager).",
}

// relists are the methods that relist: relist up to Kubernetes 1.25, Relist since, and since 1.36
// relistPod for one pod, with reconcilePodRecord in both, and the loop that runs them. While one of
// them hangs, none of the others runs.
var relists = []string{"(*GenericPLEG).relist", "(*GenericPLEG).Relist", "(*GenericPLEG).reconcilePodRecord", relistLoop}

// relistLoop is where relist's goroutine waits between two relists.
const relistLoop = "(*GenericPLEG).workerLoopIteration"

// mutexStates are parts of the states of a goroutine that waits for a lock; the second is Go's up
// to 1.19.
var mutexStates = []string{"Mutex", "semacquire"}
