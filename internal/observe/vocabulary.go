package observe

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Vocabulary is every kind of event with the fields that its events may carry,
// in the order of the table. Rules are checked against it.
func Vocabulary() []event.KindInfo {
	all := make([]event.KindInfo, 0, len(vocabulary))
	for _, row := range vocabulary {
		info := event.KindInfo{Kind: row.kind, About: row.about}
		for field := range strings.SplitSeq(row.fields, ";") {
			name, about, _ := strings.Cut(strings.TrimSpace(field), ": ")
			if name != "" {
				info.Fields = append(info.Fields, event.FieldInfo{Name: name, About: about})
			}
		}
		all = append(all, info)
	}
	all[slices.IndexFunc(all, func(k event.KindInfo) bool { return k.Kind == event.KindLogLine })].Open = true
	return all
}

// A call that a trace and samples saw is one event with the fields of both.
const (
	callFields   = "name: of the system call; netlink: it waits for a netlink socket; returned"
	tracedFields = "; path; rootfs: the path is a container's root; result; errno; delayed: by strace; injected: by strace; tester; bus: it carries D-Bus; took" +
		"; waits_for: the blocked thread of a child; waits_in: its call"
	sampledFields = "; number; args; machine; state: letter of ps; comm; exe; kernel: it is a thread of the kernel; target; wchan; stack; waits: what the functions of the stack tell" +
		"; cgroup; cgroup_id; stack_id; call_id; samples; every; most: the upper bound of its duration; seconds: as the kernel's watchdog says; scans"
)

// vocabulary has a row for every kind of kinds.go: what it is, and its fields
// as "name; name: what it holds". What every event has (event.CommonFields)
// is not repeated. A test holds that every event of every incident is in it.
var vocabulary = []struct {
	kind          event.Kind
	about, fields string
}{
	{KindFact, "something that holds for the node as a whole (facts.md)", "name: as containerd.version; value; basis: a configuration, a snapshot or a package"},

	{event.KindLogLine, "a log line that a rule asks for by its text", "text: the message, without headers; unit: the syslog identifier; error: what the line gives as error or err"},

	{KindNoise, "a sort of line that frightens and means nothing here, once per file", "name; why: it is harmless; count: how many there are in the file; lasted: the longest row of them, where it is too long to be harmless"},
	{KindPLEGUnhealthy, "the kubelet's sync loop refuses to work: PLEG is not healthy", "age: since the last good relist; threshold; never: no relist has succeeded yet"},
	{KindRelistFailed, "relist could not list the pods", "error; deadline; gone: the runtime on whose socket nobody listens; cut: the connection broke; size: of an answer that was too large; limit; refused_by"},
	{KindCRIError, "a CRI call failed in the kubelet's eyes", "method: as ListContainers; error; deadline: it ran into its time limit; gone: the runtime on whose socket nobody listens; cut: the connection broke; size: of an answer that was too large; limit; refused_by; caller: true where only the word of whoever made the call is there, the client's line being lost"},
	{KindStall, "a stall as the timeline computes it from the complaints", "phase: list, pod or unknown; threshold"},
	{KindNodeNotReady, "the node's Ready condition became false", "pleg: PLEG is given as the reason; reason: as the API says"},
	{KindNodeReady, "the node's Ready condition became true", ""},
	{KindKubeletStart, "a kubelet begins to run", ""},
	{KindRuntimeDown, "the kubelet finds no runtime at all", ""},
	{KindChannelFull, "relist drops events because nobody reads them (kubelet 1.14 and later)", ""},
	{KindEventedFull, "the event channel that both PLEGs share is full (Evented PLEG)", "events"},
	{KindEventedBroken, "the stream of events that Evented PLEG lives on broke off", ""},
	{KindStatusHookFailed, "dockershim could not ask for a pod's address", ""},
	{KindSyncLoop, "the sync loop inside of one of its handlers, in a dump", "handler: as HandlePodCleanups; doing; rpc; state; wait: as long as the dump shows minutes; call; id_ptr"},
	{KindSyncLoopLate, "the kubelet says that its sync loop stands", "took: where it was housekeeping"},
	{KindContainerDied, "PLEG's own word for an exit", ""},
	{KindRelist, "the relist goroutine in a dump", "phase: list, pod, send or unknown; doing; rpc: the CRI method it waits for; ends: what it comes down to, as rpc, child process, syscall or deadlock; ends_in; waiting: all of this in words; through: goroutines between, as goroutine 52 → 37; state: as the dump prints it; wait: as long as the dump shows minutes; call; id_ptr; pod_ptr: address of the pod's uid; moved: another dump of the stall shows another pod"},
	{KindGCFailed, "the kubelet's garbage collection of containers failed", "error; deadline; size: of an answer that was too large; limit; refused_by"},
	{KindKillUnwanted, "the sync of a pod kills a container that should not go on as it is", "name"},
	{KindRestartWanted, "a reason of the kubelet's own to kill a container: a probe that failed, another definition", ""},
	{KindSlowDU, "cAdvisor counts what directories hold", "dirs"},
	{KindPIDPressure, "the kubelet finds the node short of process ids", ""},

	{KindCRICall, "a call of the CRI in containerd, from begin to end", "method; outcome: ok, failed, or absent while open; error; exited: the container was gone; deadline; cost"},
	{KindStatusGet, "a wait for a container's Status lock, as a patched build prints it", "call; cost"},
	{KindTaskUpdate, "the shim's Update under the Status lock, as the same build prints it", "cost"},
	{KindUpdateSync, "the status file written under the Status lock, as the same build prints it", "cost"},
	{KindTaskExit, "the exit of a container's first process, at the time the shim gave", "exit_status; lag: from the exit to the line about it"},
	{KindDeleteFailed, "the shim did not answer Delete within 10 s", "error; deadline"},
	{KindExitFailed, "containerd could not handle an exit and tries again", "error; deadline; again: it was not the first try; lag: since the exit"},
	{KindStateTimeout, "the shim did not answer State within 2 s", ""},
	{KindUpdateRefused, "containerd refused to update a container that is going", "patched: by the private Stopping patch"},
	{KindCreated, "a container got its sandbox, or a sandbox its pod", "name"},
	{KindShimStart, "a shim began to run", ""},
	{KindShimGone, "a shim is gone", ""},
	{KindRemoved, "containerd has removed a sandbox; its id is also the container's", ""},
	{KindCleanedUp, "a task was deleted after all, whose first deletion ran into its time limit", ""},
	{KindFreezeFailed, "runc could not freeze or thaw a cgroup", ""},
	{KindDumpWritten, "a goroutine dump was taken", "path"},

	{KindClientGaveUp, "a docker client closed its connection before the answer", "path: of the API call"},

	{KindScopeStart, "systemd starts a container's scope, from the runtime's order to systemd's word", "others_answered: other scopes were started meanwhile"},
	{KindBusUnsupported, "PID 1 failed to seal a bus message", "errno"},
	{KindPendingReplies, "a client of PID 1 gave up with too many unanswered calls", ""},
	{KindIntrospectTimeout, "PID 1 did not answer the simplest question on the bus", ""},
	{KindCookie, "a bus cookie, read in a debugger or a trace", "cookie; overflow; first: in the trace; wrapped; connection; rate: a second; left: until 2^32 at that rate"},
	{KindUnitExit, "the main process of a runtime's unit ended without being asked to", "unit; daemon: also the kubelet; runtime; how: as killed 9/KILL, oom-kill"},
	{KindUnitStop, "systemd stops a runtime or the kubelet because it was told to", "unit; daemon; runtime"},
	{KindUnitStart, "systemd says that a runtime is ready", "unit; daemon; runtime"},
	{KindDaemonStart, "the process of a daemon begins, as /proc shows it", "daemon"},
	{KindDaemonRestart, "another process takes the place of a daemon; from the end of the one to the start of the other", "daemon; how: asked (systemd was told to stop it), killed, out-of-memory, ended or unknown; by: who asked, where sudo tells"},
	{KindOperator, "somebody restarts, stops or kills a daemon", "user; command; daemon"},
	{KindBusLimit, "the bus refused a user", "uid; limit: connections, or what dbus-broker counts; on_container: it befell somebody who works on containers"},
	{KindActivationTimeout, "a name on the bus for which nobody answers", "service; on_container"},
	{KindQueueFull, "a message was dropped because PID 1 does not read", "member; on_container"},
	{KindSystemdTimeout, "a program waited for systemd in vain", "runc: it was runc; on_container"},
	{KindUnitsFull, "systemd refused a unit because it holds as many as it can", ""},
	{KindReexec, "PID 1 started over, which resets its bus connections", ""},

	{KindCrash, "a daemon's Go runtime gave up", "reason"},
	{KindForkFailed, "a daemon could not make a process or a thread", "program: that it wanted to start; fatal: it was a thread of its own"},
	{KindCgroupFailed, "a cgroup could not be made", "controller; error"},

	{KindOOMKill, "the kernel killed a process for memory", "comm; runtime: where it is one"},
	{KindHungTask, "the kernel's watchdog found a task in D state", "comm; seconds"},
	{KindKernelFrame, "a telling function on a kernel stack", "symbol"},
	{KindForkRejected, "the kernel refused a new process because a pids limit is reached", "cgroup; pod_limit: it is that of a pod"},
	{KindNetdevBusy, "the kernel waits for the last references to a network device that goes away", "device; usage; holds"},
	{KindServerSilent, "a file server does not answer, up to the line that says it does again", "protocol; server; gave_up: a soft mount"},
	{KindBlockError, "a disk, or the file system on it, is in trouble", "device; what: error, timeout or journal"},
	{KindSoftLockup, "a CPU has run nothing but one task in the kernel", "cpu; seconds; comm"},
	{KindRCUStall, "a CPU did not let the others' memory go", "self: it found so itself"},
	{KindRTThrottled, "real-time tasks took all the CPU they may", ""},
	{KindAllocDeadlock, "XFS tries again and again to get memory", "comm; function"},
	{KindPageAllocFailed, "an allocation of pages failed", "comm; order"},
	{KindSlabFailed, "an allocation failed that counts towards a memory cgroup", "cache; cgroup"},
	{KindSuspend, "the machine slept, up to the line of waking up", ""},

	{KindUdevTimeout, "udev gave up a rule", "device; killed"},
	{KindUdevCookie, "a cookie of device-mapper that nobody has completed", "cookie; value"},
	{KindLoss, "lines are missing from a log, by the word of who dropped them", "of: whose lines they are, \"kubelet\", absent for anybody's; reach: \"file\" or \"node\"; messages: how many, where they are counted; anywhere: it has no place in the log"},
	{KindClockStep, "the wall clock was set", "step: where it is told"},

	{KindCount, "a reading of a number that may run out, at a known time", "of: threads, processes, pids (of a cgroup), units or active units; value; limit: where the same writer gives it; path: of the cgroup; node: of whose snapshot it is part"},

	{KindProcess, "a process in a listing, from its start to the listing where both are known", "comm; state; wchan; args; ppid; age; verb: of runc; systemd_cgroup; plugin: of CNI"},
	{KindUnit, "the state of a unit of systemd", "unit; state; sub; result; restarts; tasks; tasks_max; signal; since"},
	{KindMount, "an overlay, or a file system of the network or of a process", "fstype; target; source: what is mounted, instead of the input; volatile; network"},
	{KindFileSystem, "a row of df", "target; source: what is mounted, instead of the input; used_percent; inodes_percent"},
	{KindCgroup, "a cgroup that is frozen, or whose processes are counted", "path; frozen; state; pids; pids_max; dying; throttled"},
	{KindRuntimeOperation, "what the kubelet's calls of one type came to since it started", "operation; count; errors; mean_seconds; p99_seconds: the upper bound of its bucket"},
	{KindNodeCondition, "a condition of a node's status, in the API", "node; condition; status; reason; message"},
	{KindKubeEvent, "an event of the API, about a node or a warning", "reason; object; name; message; type; from; count; age; since"},

	{KindCollectRPC, "a call that plegdiag collect made to a daemon; it is open where there was no answer", "api: cri, docker or dbus; method: as ContainerStatus; answered; endpoint; deadline; error; version_took: how long the same daemon took for a call that needs no lock; others_answered: of a call about a container without an answer, the same calls about others that had one; mute: true where nothing at that endpoint was answered; member: of a method of D-Bus, as Ping; private: whether that was PID 1's own socket"},
	{KindCollectItem, "something that plegdiag collect could not get, or not whole", "item: its name in the bundle; outcome: timeout, stuck, denied, failed or capped; why; wchan: kernel function in which the reader waited; waits: what that waits for, as of a thread.sample; dropped: bytes"},

	{KindSyscall, "a traced call that took long or never returned", callFields + tracedFields + sampledFields},
	{KindConvoy, "a lock that several threads of a process wait for at the end of a trace", "waiters; certainty: observed or inferred; holder: a thread; holder_call"},
	{KindBusCall, "a call on D-Bus whose answer came late or not at all", "member; interface; path; destination; direction: sent or received; serial; answered; blocked: it could not even be sent; error"},
	{KindThreadSample, "a thread in the same call in one sample or in several in a row; its duration is a lower bound", callFields + sampledFields + tracedFields},
	{KindDiskRequest, "a request to a block device that took long", "device; bytes; flags; queued; service; error"},

	{KindLockHeld, "a goroutine that holds a lock others wait for", "owner; lock_type; certainty: observed or inferred; rule; waiters; doing: what keeps it from letting go; rpc; client; ends: what it comes down to, as rpc, child process, syscall or deadlock; ends_in; waiting: all of this in words; through: goroutines between, as goroutine 52 → 37; call: the request it serves; state; wait; again: for how long an earlier dump shows it at the same; id_ptr"},
	{KindLockCycle, "a deadlock: goroutines that each wait for a lock that the next one holds", "members; goroutines: as 38 → 54 → 38; certainty: observed or inferred; state; wait: of the one that came last; call; id_ptr"},
	{KindLockWait, "a goroutine that waits for such a lock", "owner; call; doing; rpc; client; mode; address_sure; state; wait; again: for how long an earlier dump shows it at the same; id_ptr"},
	{KindLockQueue, "goroutines that wait for a lock whose holder the dump does not show, told by the one that has waited longest", "owner; lock_type; waiters; call; doing; rpc; client; mode; address_sure; state; wait; again: for how long an earlier dump shows it at the same; id_ptr"},
	{KindGoroutine, "a goroutine that waits for something outside its process", "doing; rpc; client; call; certainty: observed or inferred; state; wait; again: for how long an earlier dump shows it at the same; id_ptr"},
}
