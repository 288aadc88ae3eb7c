package goroutines

import (
	"slices"
	"sync"

	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// Holds is the catalogue of locks whose holder often shows no address of theirs: by program and
// version, who holds which of its locks while it does what.
var Holds = sync.OnceValue(func() stackdump.Catalogue { return stackdump.NewCatalogue(holdRows()...) })

// dockerKeeps: functions of dockerd that lock a container first of all and keep the lock until they
// return (moby daemon/start.go, kill.go, pause.go, unpause.go; 1.11 to 28; archive_unix.go, 1.10 to
// 28).
var dockerKeeps = []string{
	"daemon.(*Daemon).containerStart", "daemon.(*Daemon).killWithSignal", "daemon.(*Daemon).containerPause", "daemon.(*Daemon).containerUnpause",
	"daemon.(*Daemon).containerStatPath", "daemon.(*Daemon).containerArchivePath", "daemon.(*Daemon).containerExtractToDir",
}

// dockerHolds: functions of dockerd that keep a container's lock while they
// call out (moby daemon/monitor.go, stop.go, rename.go; 1.11 to 28).
// daemon.update is not among them: it unlocks before it calls containerd.
var dockerHolds = []string{"daemon.(*Daemon).handleContainerExit", "daemon.(*Daemon).cleanupContainer"}

// dockerChanges: docker diff looks through the container's files under its lock (moby
// daemon/changes.go, 1.13 to 24.0). Later the image service does, without it.
var dockerChanges = stackdump.Hold{
	Func: "daemon.(*Daemon).ContainerChanges", While: "archive.ChangesDirs", NotNext: []string{"images.(*ImageService)."},
}

// reaperHolds: the shim's loop for signals keeps the monitor's lock while it hands exits on, and
// waits where nobody takes one (containerd runtime/v1/shim/reaper.go, 1.0 to 1.2). Who waits for an
// exit has no lock.
var reaperHolds = []stackdump.Hold{
	{Func: "shim.Reap", Lock: "shim.(*Monitor).", State: "chan send"},
	{Func: "shim.(*Monitor).Wait", Lock: "shim.(*Monitor).", Never: true},
	{Func: "reaper.(*Monitor).Wait", Lock: "reaper.(*Monitor).", Never: true},
}

// deviceHold: the kubelet's device manager lets go of its lock while a plugin answers, though its
// callers have it (pkg/kubelet/cm/devicemanager/manager.go, 1.19 to 1.36).
var deviceHold = stackdump.Hold{
	Func: "devicemanager.(*ManagerImpl).callGetPreferredAllocationIfAvailable", While: ").getPreferredAllocation",
	Lock: "devicemanager.(*ManagerImpl).", Never: true,
}

// kubeletHolds: the kubelet's managers. That of CPUs looks at its state under its lock, and calls
// the runtime and tells of containers' CPUs without it; the policies of CPUs and memory work
// under their managers' locks (pkg/kubelet/cm/cpumanager/cpu_manager.go, 1.10 to 1.36;
// cm/memorymanager, 1.21 to 1.36). That of logs rotates them under its lock; from 1.30 on its
// workers have none (pkg/kubelet/logs/container_log_manager.go). The kubelet posts its node's
// status under one lock, in its turn or as soon as its runtime is there (kubelet_node_status.go,
// 1.14 to 1.36).
var kubeletHolds = []stackdump.Hold{
	{Func: cpuManager + "reconcileState", Next: cpuManager + "updateContainerCPUSet", Lock: cpuManager, Never: true},
	{Func: cpuManager + "GetExclusiveCPUs", Lock: cpuManager, Never: true},
	{Func: cpuManager + "GetCPUAffinity", Lock: cpuManager, Never: true},
	{Func: cpuManager + "Allocate", Next: "cpumanager.(*staticPolicy).Allocate", Lock: cpuManager},
	{Func: memoryManager + "Allocate", Next: "memorymanager.(*staticPolicy).Allocate", Lock: memoryManager},
	{Func: logManager + "rotateLogs", Lock: logManager, NotNext: []string{"sync.(*Mutex)."}},
	{Func: logManager + "Clean", Lock: logManager, NotNext: []string{"sync.(*Mutex)."}},
	{Func: logManager + "processContainer", Lock: logManager, Never: true},
	{Func: kubeletItself + "syncNodeStatus", Lock: kubeletItself + "fastNodeStatusUpdate", NotNext: []string{"sync.(*Mutex)."}},
	{Func: kubeletItself + "fastNodeStatusUpdate", Lock: kubeletItself + "syncNodeStatus", NotNext: []string{"sync.(*Mutex)."}},
}

const (
	cpuManager    = "cpumanager.(*manager)."
	memoryManager = "memorymanager.(*manager)."
	logManager    = "logs.(*containerLogManager)."
	kubeletItself = "kubelet.(*Kubelet)."
)

// cniHold: go-cni reads its configuration under its lock, as a writer (cni.go, 1.0 to 1.1). Whether
// Setup has it, to read, depends on the release.
var cniHold = stackdump.Hold{Func: "go-cni.(*libcni).Load", Next: "go-cni.", Lock: "go-cni.(*libcni)."}

// dockerCalls are what dockerd waits for while it keeps a container's lock: containerd, the storage
// driver, udev, the network, the labels of a volume.
var dockerCalls = []string{
	".(*tasksClient).", "remote.(*task).", "types.(*aPIClient).", "overlay2.(*Driver).", "UdevWait", "libnetwork.(*sandbox).", "libnetwork.(*Sandbox).",
	"selinux.Chcon",
}

// dockerLocks: functions of dockerd that lock a container themselves: the method of its embedded
// State leaves no frame (docker daemon/list.go, 1.10 to 17.06; moby daemon/inspect.go).
var dockerLocks = []string{"daemon.(*Daemon).reducePsContainer", "daemon.(*Daemon).ContainerInspectCurrent"}

// dockerWaits: methods of a container's State that wait until it runs or has ended. They let go of
// its lock before, and take it again after (docker container/state.go, daemon/state.go before 1.10;
// up to 17.05).
var dockerWaits = []string{"(*State).WaitStop", "(*State).WaitRunning", "(*State).WaitWithContext"}

// dockerExits: what dockerd calls under a container's lock when the container has exited (docker
// daemon/monitor.go, 1.11 to 17.11): it waits for the container's streams, and closes its log. The
// same function waits for the streams of an exec, without that lock: there the state, whose length
// is the fifth word, is "exit-process", not "exit".
var dockerExits = []string{"sync.(*WaitGroup).Wait", "container.(*Container).Reset"}

// dockerLogs: LogFile.ReadLogs lets go of the file's lock before it follows what is written (moby
// daemon/logger/loggerutils/logfile.go, from 17.12 on), JSONFileLogger.readLogs keeps none.
var dockerLogs = []stackdump.Hold{
	{Func: "loggerutils.(*LogFile).ReadLogs", Next: "loggerutils.followLogs", Lock: "loggerutils.(*LogFile).", Never: true},
	{Func: "jsonfilelog.(*JSONFileLogger).readLogs", Lock: "jsonfilelog.(*JSONFileLogger).", Never: true},
}

// dockerWanted are the functions in which requests want a container's lock.
var dockerWanted = []string{"daemon.(*Daemon).", "container.(*State).", "container.(*Container)."}

// execHold: from 17.12 to 20.10 dockerd keeps the lock of a container's list of execs while it asks
// containerd to start one (moby daemon/exec.go: "Synchronize with libcontainerd event loop"). 23.0
// does not, and has the list elsewhere: container.(*ExecStore).
var execHold = stackdump.Hold{Func: "daemon.(*Daemon).ContainerExecStart", While: ".(*client).Exec", Lock: "daemon/exec.(*Store)."}

// podNetworkHolds: functions of dockershim's network manager
// (pkg/kubelet/dockershim/network/plugins.go, before 1.9 pkg/kubelet/network; gone in 1.24) that
// keep a pod's lock while a network plugin works. They name the pod by namespace and name.
var podNetworkHolds = []string{
	"network.(*PluginManager).SetUpPod", "network.(*PluginManager).TearDownPod", "network.(*PluginManager).GetPodNetworkStatus",
}

// podNetworkPlugins are the plugins that the manager calls under a pod's lock.
var podNetworkPlugins = []string{"/network/cni.", "/network/kubenet.", "/network/hostport.", "os/exec.(*Cmd)."}

// crioHolds: functions of cri-o that keep a container's opLock while runc runs
// (internal/oci/runtime_oci.go; oci/ before 1.16). Each takes the container as an argument, so that
// no frame shows the lock's owner; the receiver can be made anew for each call (oci.go,
// RuntimeImpl).
var crioHolds = []string{
	"oci.(*runtimeOCI).StartContainer", "oci.(*runtimeOCI).UpdateContainer", "oci.(*runtimeOCI).UpdateContainerStatus",
	"oci.(*runtimeOCI).StopContainer", "oci.(*runtimeOCI).DeleteContainer", "oci.(*runtimeOCI).PauseContainer",
	"oci.(*runtimeOCI).SignalContainer", "oci.(*runtimeOCI).UnpauseContainer", "oci.(*runtimeOCI).CheckpointContainer",
	crioStopLoop,
}

// crioWaits are where cri-o wants a container's opLock: the functions above, its state, and its
// PID, which cAdvisor asks for by GET /containers/ID (1.34).
var crioWaits = []string{"oci.(*runtimeOCI).", "oci.(*Container).State", "oci.(*Container).Pid"}

// crioStopLoop stops a container in a goroutine of its own, to which StopContainer leaves it (seen
// in 1.34). It keeps the opLock until the container has ended, runs runc kill, and waits between
// two signals in a select of its own.
const crioStopLoop = "oci.(*runtimeOCI).StopLoopForContainer"

// crioStopWait tells the goroutine that stops a container of another time limit, under the
// container's stopLock. Until 1.34 (cri-o#9256) the channel could be full: that goroutine reads
// it no more once it sends SIGKILL, and wants the stopLock at its end.
const crioStopWait = "oci.(*Container).WaitOnStopTimeout"

// crioStops are where cri-o wants a container's stopLock.
var crioStops = []string{"oci.(*Container).SetAsDoneStopping", "oci.(*Container).SetAsStopping", "oci.(*Container).SetStopKillLoopBegun", crioStopWait}

// boltPackages are go.etcd.io/bbolt and coreos/bbolt, and boltdb/bolt before 2018.
var boltPackages = []string{"bbolt", "bolt"}

func holdRows() []stackdump.Hold {
	var all []stackdump.Hold
	for _, lock := range dockerWanted {
		for _, f := range dockerKeeps {
			// what containerStart defers lets go of the lock to remove a container that did not start
			all = append(all, stackdump.Hold{Func: f, Lock: lock, NotNext: []string{"sync.(*Mutex).", f + "."}})
		}
		changes := dockerChanges
		changes.Lock = lock
		all = append(all, changes)
	}
	for _, f := range dockerHolds {
		for _, lock := range dockerWanted {
			for _, while := range dockerCalls {
				all = append(all, stackdump.Hold{Func: f, While: while, Lock: lock})
			}
		}
	}
	for _, f := range dockerWaits {
		for _, pkg := range []string{"container.", "daemon."} {
			for _, lock := range dockerWanted {
				all = append(all, stackdump.Hold{Func: pkg + f, Lock: lock, Never: true})
			}
		}
	}
	for _, next := range dockerExits {
		for _, lock := range dockerWanted {
			all = append(all, stackdump.Hold{
				Func: "daemon.(*Daemon).StateChanged", Next: next, Lock: lock, Word: 4, Value: uint64(len("exit")),
			})
		}
	}
	all = append(all, dockerLogs...)
	all = append(all, reaperHolds...)
	all = append(all, deviceHold, cniHold)
	all = append(all, kubeletHolds...)
	for _, f := range dockerLocks {
		all = append(all, stackdump.Hold{Func: f, Owner: "container.(*Container)"})
	}
	all = append(all, execHold)
	for _, f := range crioHolds {
		for _, while := range []string{"os/exec.(*Cmd).", "dbus.", "oci.WaitContainerStop", "oci.waitContainerStop"} {
			for _, lock := range crioWaits {
				all = append(all, stackdump.Hold{Func: f, While: while, Lock: lock, Arg: true})
			}
		}
	}
	for _, lock := range crioWaits {
		all = append(all, stackdump.Hold{Func: crioStopLoop, Lock: lock, Arg: true, NotNext: []string{"sync.(*RWMutex).Lock"}})
	}
	for _, lock := range crioStops {
		all = append(all, stackdump.Hold{Func: crioStopWait, Lock: lock, State: "chan send"})
	}
	for _, f := range podNetworkHolds {
		for _, while := range podNetworkPlugins {
			all = append(all, stackdump.Hold{Func: f, While: while, Lock: "network.(*PluginManager).", Names: 2})
		}
	}
	for _, pkg := range boltPackages {
		all = append(all, boltHolds(pkg)...)
	}
	for _, f := range ttrpcSends {
		for _, lock := range ttrpcSends {
			all = append(all, stackdump.Hold{Func: f, While: "ttrpc.(*channel).send", Lock: lock, Type: "sync.Mutex"})
		}
	}
	all = append(all, ttrpcStreams...)
	all = append(all, storageHold, metricsHold)
	for _, lock := range etcdLocks {
		all = append(all, stackdump.Hold{Func: "backend.(*backend).defrag", While: "backend.defragdb", Lock: lock, Several: true})
	}
	return append(all, shimHolds()...)
}

// ttrpcSends: functions of a ttrpc client that keep its sendLock while they write to the socket
// (client.go, from 1.2 on).
var ttrpcSends = []string{"ttrpc.(*Client).createStream", "ttrpc.(*Client).send"}

// ttrpcStreams: a ttrpc client keeps the lock of its streams until it has its sendLock (client.go,
// 1.2.0 and 1.2.1). Later it takes them the other way round, and nobody waits for that of its
// streams. Who sends has let go of it.
var ttrpcStreams = []stackdump.Hold{
	{Func: "ttrpc.(*Client).createStream", Next: "sync.(*Mutex).", Lock: "ttrpc.(*Client).", Type: "sync.RWMutex", Doubtful: true},
	{Func: "ttrpc.(*Client).createStream", While: "ttrpc.(*channel).send", Lock: "ttrpc.(*Client).", Type: "sync.RWMutex", Never: true},
	{Func: "ttrpc.(*Client).createStream", Next: "sync.(*RWMutex).", Lock: "ttrpc.(*Client).", Type: "sync.Mutex", Never: true},
	{Func: "ttrpc.(*Client).getStream", Lock: "ttrpc.(*Client).", Type: "sync.Mutex", Never: true},
	{Func: "ttrpc.(*Client).deleteStream", Lock: "ttrpc.(*Client).", Type: "sync.Mutex", Never: true},
}

// storageHold: containers/storage asks for the lock of a file, which other processes may have,
// under the locks of its own process (pkg/lockfile/lockfile.go, from 1.46 on).
var storageHold = stackdump.Hold{
	Func: "lockfile.(*LockFile).lock", Next: "lockfile.lockHandle", Lock: "lockfile.(*LockFile).", Several: true,
}

// metricsHold: a namespace of docker/go-metrics has its lock while each of its collectors answers a
// scrape (namespace.go, all releases): that of containerd's cgroups asks every shim, and waits for
// all of them (metrics/cgroups/v1 and v2, metrics.go).
var metricsHold = stackdump.Hold{Func: "go-metrics.(*Namespace).Collect", While: "sync.(*WaitGroup).Wait", Lock: "go-metrics.(*Namespace)."}

// etcdLocks are those that etcd keeps while it copies its database to make it smaller
// (server/mvcc/backend/backend.go, defrag; 3.1 to 3.6).
var etcdLocks = []string{"backend.(*batchTx).", "backend.(*batchTxBuffered).", "backend.(*readTx).", "backend.(*backend)."}

// boltHolds: bolt's locks (db.go, tx.go; all releases).
//
// rwlock: (*DB).Update keeps it from Begin on, through its callback, to the end of Commit or
// Rollback, whose close lets go of it before the commit handlers run. Readers never have it:
// (*DB).View, and Begin of a read transaction; nor does (*DB).Batch, which waits for the goroutine
// that runs its batch.
//
// mmaplock: a reader keeps it, to read, as long as its transaction is open; a writer whose file
// must grow wants it in mmap. Who begins a transaction does not have it yet. metalock: a reader
// that begins keeps it while it waits for mmaplock.
func boltHolds(pkg string) []stackdump.Hold {
	db, tx := pkg+".(*DB).", pkg+".(*Tx)."
	lock, mmap, ends := db+"beginRWTx", db+"mmap", []string{tx + "Rollback", tx + "rollback"}
	return []stackdump.Hold{
		{Func: db + "Update", Lock: lock, NotNext: append([]string{db + "Begin", lock, tx + "Commit"}, ends...)},
		{Func: metaStore + "WithTransaction", Word: 3, Value: 1, NotNext: []string{metaStore + "TransactionContext"}, Lock: lock},
		{Func: tx + "Commit", Next: pkg + ".", NotNext: []string{tx + "close"}, Lock: lock},
		{Func: db + "View", Lock: lock, Never: true},
		{Func: db + "beginTx", Lock: lock, Never: true},
		{Func: db + "Batch", Lock: lock, Never: true},
		{Func: db + "View", Lock: mmap, NotNext: append([]string{db + "Begin", db + "beginTx"}, ends...)},
		{Func: lock, Lock: mmap, Never: true},
		{Func: db + "beginTx", Lock: mmap, Never: true},
		{Func: db + "Batch", Lock: mmap, Never: true},
		{Func: db + "beginTx", Next: "sync.(*RWMutex).RLock", Lock: db + "beginTx"},
	}
}

// metaStore keeps the snapshots of containerd in bolt: WithTransaction calls back in a transaction
// that writes where its second argument says so (snapshots/storage/metastore.go, from 1.6 on).
const metaStore = "storage.(*MetaStore)."

// shimTasks are the packages of the runc shim's task service, without major versions: containerd
// 1.3 to 1.5, 1.6 and 1.7, 2.x.
var shimTasks = []string{"runtime/runc.(*service).", "runc/task.(*service).", "containerd-shim-runc-v2/task.(*service)."}

// shimHolds: the shim's service lock. Create keeps it while runc creates the container: up to
// containerd 2.3.1, so that in 2.x it is not certain; in the shim v1 of 1.0 to 1.4 up to the end of
// its Create. In 1.6.22 to 1.6.24 and 1.7.3 to 1.7.7 Create handles the exit of a process that
// ended at once, and wants the lock that it has.
func shimHolds() []stackdump.Hold {
	var all []stackdump.Hold
	for i, task := range shimTasks {
		create := task + "Create"
		doubtful := i == len(shimTasks)-1
		for _, while := range []string{"go-runc.(*Runc).", "os/exec.(*Cmd).", "process.(*Init).Create"} {
			all = append(all, stackdump.Hold{Func: create, While: while, Lock: task, Doubtful: doubtful})
		}
		all = append(all, stackdump.Hold{Func: create, While: "task.(*service).preStart", Lock: task + "handleProcessExit", Self: true})
	}
	const v1 = "shim.(*Service)."
	all = append(all, stackdump.Hold{Func: v1 + "Create", While: "go-runc.(*Runc).", Lock: v1})
	for _, owner := range slices.Concat(exitWaits, shimTasks) {
		all = append(all, stackdump.Hold{Func: owner + "Wait", Lock: owner, Never: true})
	}
	return all
}

// exitWaits are, besides shimTasks, the types whose method Wait waits for the end of a process
// without the lock of its object: the shim's services and processes in their packages of containerd
// 1.0, 1.1 to 1.2 and later, and containerd's own task of the shim v1.
var exitWaits = []string{
	"shim.(*Service).", "shim.(*initProcess).", "shim.(*execProcess).", "proc.(*Init).", "proc.(*execProcess).",
	"process.(*Init).", "process.(*execProcess).", "linux.(*Task).",
}
