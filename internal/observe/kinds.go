package observe

import "github.com/plegdiag/plegdiag/internal/event"

// The kinds of events that observers make. Rules name them; docs/rules.md lists them with their fields.
const (
	// KindFact says something about the node that holds for the whole bundle: name, value.
	KindFact event.Kind = "fact"

	// KindPLEGUnhealthy is the sync loop refusing to work: age (since the last good relist), threshold, never.
	KindPLEGUnhealthy event.Kind = "kubelet.pleg-unhealthy"
	// KindRelistFailed is GetPods ending in an error: error, deadline, gone, cut; size, limit, refused_by where an answer was too large.
	KindRelistFailed event.Kind = "kubelet.relist-failed"
	// KindStall is a stall as the timeline computes it from the complaints: phase, threshold.
	KindStall event.Kind = "kubelet.stall"
	// KindCRIError is a CRI call that failed in the kubelet's eyes: method, error, deadline, gone (the runtime
	// on whose socket nobody listens), cut (the connection broke while the call was under way); size, limit, refused_by as above; caller (only who made the call tells of it).
	KindCRIError event.Kind = "kubelet.cri-error"
	// KindGCFailed is the kubelet's container garbage collection ending in an error: error, deadline, size, limit, refused_by.
	KindGCFailed event.Kind = "kubelet.gc-failed"
	// KindNodeNotReady and KindNodeReady are changes of the node's Ready condition: reason.
	KindNodeNotReady event.Kind = "kubelet.node-not-ready"
	KindNodeReady    event.Kind = "kubelet.node-ready"
	// KindKubeletStart is a kubelet that begins to run.
	KindKubeletStart event.Kind = "kubelet.start"
	// KindRuntimeDown is the kubelet finding no runtime at all.
	KindRuntimeDown event.Kind = "kubelet.runtime-down"
	// KindChannelFull is relist dropping events because nobody reads them (kubelet ≥ 1.14).
	KindChannelFull event.Kind = "kubelet.channel-full"
	// KindEventedFull is the event channel that Evented PLEG finds full (≥ 1.26): events.
	KindEventedFull event.Kind = "kubelet.evented-channel-full"
	// KindEventedBroken is the end of the stream of events that Evented PLEG lives on.
	KindEventedBroken event.Kind = "kubelet.evented-stream-broken"
	// KindStatusHookFailed is dockershim failing to ask for a pod's address.
	KindStatusHookFailed event.Kind = "kubelet.status-hook-failed"
	// KindContainerDied is PLEG's own word for an exit.
	KindContainerDied event.Kind = "kubelet.container-died"
	// KindKillUnwanted is the sync of a pod killing a container that should not go on as it is: name.
	KindKillUnwanted event.Kind = "kubelet.kill-unwanted"
	// KindRestartWanted is a reason of the kubelet's own to kill a container: a probe that failed, another definition.
	KindRestartWanted event.Kind = "kubelet.restart-wanted"
	// KindSyncLoop is the sync loop inside of a handler, in a dump: handler, doing, rpc, state.
	KindSyncLoop event.Kind = "kubelet.sync-loop"
	// KindSyncLoopLate is the kubelet's own word that its sync loop stands: took where it was housekeeping.
	KindSyncLoopLate event.Kind = "kubelet.sync-loop-late"
	// KindRelist is the relist goroutine in a dump: phase (list, pod, send), doing, rpc, ends, ends_in, through, state,
	// pod_ptr (of the pod's uid), moved (another dump of the same stall shows it at another pod).
	KindRelist event.Kind = "kubelet.relist"

	// KindCRICall is a call of the CRI in containerd: method, outcome (ok, failed; empty while open), error.
	KindCRICall event.Kind = "cri.call"
	// KindStatusGet is one wait for a container's status lock, as the patched build of the short-task write-up prints it.
	KindStatusGet event.Kind = "cri.status-get"
	// KindTaskUpdate is the shim's Update under that lock, as the same build prints it.
	KindTaskUpdate event.Kind = "containerd.task-update"
	// KindUpdateSync is the status file written under that lock, as the same build prints it.
	KindUpdateSync event.Kind = "containerd.update-sync"
	// KindTaskExit is the exit of a container's first process, at the time the shim gave: exit_status, lag.
	KindTaskExit event.Kind = "containerd.task-exit"
	// KindDeleteFailed is the shim not answering Delete within 10 s: deadline, error.
	KindDeleteFailed event.Kind = "containerd.delete-failed"
	// KindExitFailed is the exit event put back for another try: error, deadline, again, lag (since the exit).
	KindExitFailed event.Kind = "containerd.exit-handling-failed"
	// KindStateTimeout is the shim not answering State within 2 s.
	KindStateTimeout event.Kind = "containerd.state-timeout"
	// KindUpdateRefused is containerd refusing an update: patched tells the private Stopping patch.
	KindUpdateRefused event.Kind = "containerd.update-refused"
	// KindCreated ties a container to its sandbox, a sandbox to its pod.
	KindCreated event.Kind = "containerd.created"
	// KindShimStart and KindShimGone are the life of a shim.
	KindShimStart event.Kind = "shim.start"
	KindShimGone  event.Kind = "shim.gone"
	// KindRemoved is a sandbox that containerd has removed; its id is also the container's.
	KindRemoved event.Kind = "containerd.removed"
	// KindCleanedUp is a task deleted after all, whose first deletion ran into its time limit.
	KindCleanedUp event.Kind = "containerd.cleaned-up"
	// KindFreezeFailed is runc failing to freeze or thaw a cgroup.
	KindFreezeFailed event.Kind = "runc.freeze-failed"
	// KindDumpWritten says when a goroutine dump was taken and where it went: path.
	KindDumpWritten event.Kind = "dump.written"

	// KindClientGaveUp is a docker client that closed its connection before the answer: path.
	KindClientGaveUp event.Kind = "dockerd.client-gave-up"

	// KindScopeStart is systemd starting a container's scope, from the runtime's order to systemd's word.
	KindScopeStart event.Kind = "systemd.scope-start"
	// KindBusUnsupported is PID 1 failing to seal a message: errno.
	KindBusUnsupported event.Kind = "systemd.bus-send-failed"
	// KindPendingReplies is a client of PID 1 giving up with too many unanswered calls.
	KindPendingReplies event.Kind = "systemd.pending-replies"
	// KindIntrospectTimeout is PID 1 not answering the simplest question on the bus.
	KindIntrospectTimeout event.Kind = "systemd.introspect-timeout"
	// KindCookie is a bus cookie read in a debugger or a trace: cookie, overflow; of a trace also first, wrapped, connection,
	// and, measured over the interval, rate (a second) and left (until 2^32 at that rate).
	KindCookie event.Kind = "systemd.cookie"
	// KindBusLimit is the bus refusing a user: uid, limit, on_container (it befell somebody who works on containers).
	KindBusLimit event.Kind = "dbus.limit"
	// KindActivationTimeout is a name on the bus for which nobody answers: service, on_container.
	KindActivationTimeout event.Kind = "dbus.activation-timeout"
	// KindQueueFull is a message dropped because PID 1 does not read: member, on_container.
	KindQueueFull event.Kind = "dbus.queue-full"
	// KindSystemdTimeout is a program that waited for systemd in vain: runc, on_container.
	KindSystemdTimeout event.Kind = "systemd.timeout"
	// KindUnitsFull is systemd refusing a unit because it holds as many as it can.
	KindUnitsFull event.Kind = "systemd.units-full"
	// KindReexec is PID 1 starting over, which resets its bus connections.
	KindReexec event.Kind = "systemd.reexec"

	// KindUnitExit is the main process of a runtime's unit that ended without being asked to: unit, runtime, how.
	KindUnitExit event.Kind = "systemd.unit-exit"
	// KindDaemonStart is the start of a daemon's process, as /proc shows it: daemon.
	KindDaemonStart event.Kind = "daemon.start"
	// KindDaemonRestart is made by the timeline: a daemon that was replaced by a new process while the evidence was written. It lasts from
	// the end of the one to the start of the other: daemon, how (asked, killed, out-of-memory, ended, unknown), by.
	KindDaemonRestart event.Kind = "daemon.restart"
	// KindOperator is somebody who restarts, stops or kills a daemon: user, command, daemon.
	KindOperator event.Kind = "operator.command"
	// KindUnitStop and KindUnitStart are systemd stopping a runtime because it was told to, and the runtime's word
	// that it is ready: unit, runtime.
	KindUnitStop  event.Kind = "systemd.unit-stop"
	KindUnitStart event.Kind = "systemd.unit-start"
	// KindCrash is a daemon's Go runtime giving up: reason.
	KindCrash event.Kind = "daemon.crash"

	// KindOOMKill is a process that the kernel killed for memory: comm, runtime where it is one.
	KindOOMKill event.Kind = "kernel.oom-kill"
	// KindHungTask is the kernel's watchdog for tasks in D state: comm, seconds.
	KindHungTask event.Kind = "kernel.hung-task"
	// KindKernelFrame is a telling function on a kernel stack: symbol.
	KindKernelFrame event.Kind = "kernel.frame"

	// KindForkFailed is a daemon that could not make a process or a thread: program (what it wanted to start; empty for a
	// thread), fatal (it was a thread of its own, so that it dies).
	KindForkFailed event.Kind = "daemon.fork-failed"
	// KindForkRejected is the kernel refusing a new process because a pids limit is reached: cgroup, pod_limit (it is that of a pod).
	KindForkRejected event.Kind = "kernel.fork-rejected"
	// KindSlowDU is cAdvisor counting what directories hold, as long as it took: dirs.
	KindSlowDU event.Kind = "kubelet.slow-du"
	// KindPIDPressure is the kubelet finding the node short of process ids.
	KindPIDPressure event.Kind = "kubelet.pid-pressure"

	// KindNetdevBusy is the kernel waiting for the last references to a network device that goes away: device, usage, holds (see kernelWaits).
	KindNetdevBusy event.Kind = "kernel.netdev-busy"
	// KindServerSilent is a file server that does not answer, up to the line that says it does again: protocol, server,
	// gave_up (a soft mount).
	KindServerSilent event.Kind = "kernel.file-server-silent"
	// KindBlockError is a disk, or the file system on it, in trouble: device, what (error, timeout, journal).
	KindBlockError event.Kind = "kernel.block-error"
	// KindSoftLockup is a CPU that has run nothing but one task in the kernel: cpu, seconds, comm.
	KindSoftLockup event.Kind = "kernel.soft-lockup"
	// KindRCUStall is a CPU that did not let the others' memory go: self (it found so itself).
	KindRCUStall event.Kind = "kernel.rcu-stall"
	// KindRTThrottled is real-time tasks that took all the CPU they may.
	KindRTThrottled event.Kind = "kernel.rt-throttled"
	// KindAllocDeadlock is XFS trying again and again to get memory: comm, function.
	KindAllocDeadlock event.Kind = "kernel.alloc-deadlock"
	// KindPageAllocFailed is a failed allocation of pages: comm, order.
	KindPageAllocFailed event.Kind = "kernel.page-alloc-failed"
	// KindSlabFailed is a failed allocation that counts towards a memory cgroup: cache, cgroup.
	KindSlabFailed event.Kind = "kernel.slab-failed"
	// KindSuspend is the machine going to sleep (from, to the line of waking up).
	KindSuspend event.Kind = "kernel.suspend"
	// KindCgroupFailed is a cgroup that could not be made: controller, error.
	KindCgroupFailed event.Kind = "daemon.cgroup-failed"
	// KindUdevTimeout is udev giving up a rule: device, killed.
	KindUdevTimeout event.Kind = "udev.timeout"
	// KindUdevCookie is a cookie of device-mapper that nobody has completed: cookie, value.
	KindUdevCookie event.Kind = "udev.cookie"
	// KindLoss is a writer's word that lines are missing from a log: of ("kubelet", whose lines they
	// are; absent for anybody's), reach ("file", "node"), messages (where they are counted), anywhere (it has no place in the log).
	KindLoss event.Kind = "log.loss"
	// KindClockStep is the wall clock being set: step (seconds, where it is told).
	KindClockStep event.Kind = "clock.step"

	// KindNoise is a sort of line that frightens and means nothing here, once per file: name, why, count.
	KindNoise event.Kind = "noise"

	// KindCount is one dated reading of a number that may run out: of (threads, processes, pids, units, active units), value, limit (where
	// the same writer gives it), path (of the cgroup), node (of whose snapshot it is part).
	KindCount event.Kind = "node.count"

	// KindProcess is a process in a listing: comm, state, wchan, args, ppid, age; of runc and containerd-shim verb and systemd_cgroup, of a CNI plugin
	// plugin. It lasts from its start to the listing, where both are known.
	KindProcess event.Kind = "process"

	// KindUnit is the state of a unit of systemd: unit, state, sub, result, restarts, tasks, tasks_max, signal, since. It lasts from then
	// to the moment at which it was printed, where that is known.
	KindUnit event.Kind = "systemd.unit"
	// KindMount is an overlay or a file system of the network or of a process: fstype, target, source, volatile, network.
	KindMount event.Kind = "mount"
	// KindFileSystem is a row of df: target, source, used_percent, inodes_percent.
	KindFileSystem event.Kind = "filesystem"
	// KindCgroup is a cgroup that is frozen, or whose processes are counted: path, frozen, state, pids, pids_max, dying, throttled.
	KindCgroup event.Kind = "cgroup"
	// KindRuntimeOperation is what the kubelet's calls of one type came to since it started: operation, count, errors,
	// mean_seconds, p99_seconds (the upper bound of its bucket).
	KindRuntimeOperation event.Kind = "kubelet.runtime-operation"
	// KindNodeCondition is a condition of a node's status, in the API: node, condition, status, reason, message.
	KindNodeCondition event.Kind = "node.condition"
	// KindKubeEvent is an event of the API, about a node or a warning: reason, object, name, message, type, from, count, age.
	KindKubeEvent event.Kind = "kubernetes.event"

	// KindCollectRPC is a call that collect made to a daemon: api (cri, docker, dbus), method, answered, deadline, error, endpoint; of
	// one without an answer also version_took, how long the same daemon took for a call that needs no lock, others_answered, how often it
	// answered the same call about others, and mute, where it answered nothing; of D-Bus member and private (PID 1's own socket).
	KindCollectRPC event.Kind = "collect.rpc"
	// KindCollectItem is something that collect could not get, or not whole: item, outcome (timeout, stuck, denied, failed, capped), why,
	// wchan (of the helper that asked), waits, dropped.
	KindCollectItem event.Kind = "collect.item"

	// KindSyscall is a traced call that took long or never returned: name, path, rootfs, result, errno, delayed, injected, returned,
	// netlink, bus, took; of a wait for a child that is itself blocked: waits_for (that thread), waits_in (its call).
	KindSyscall event.Kind = "syscall"

	// KindConvoy is a lock that several threads of a process wait for at the end of a trace: lock (its address), waiters, certainty; holder and
	// holder_call where one thread of the process, and only one, is blocked in something else.
	KindConvoy event.Kind = "futex.convoy"

	// KindBusCall is a call on D-Bus, seen in a trace, whose answer came late or not at all: member, interface, path,
	// destination, serial, direction (sent, received), answered, blocked (it cannot even be sent), error. The handshake of a
	// connection is one whose member is AUTH.
	KindBusCall event.Kind = "dbus.call"
	// KindThreadSample is a thread found in the same call by one sample or by several in a row; the interval is a lower bound;
	// docs/samples.md lists its fields.
	KindThreadSample event.Kind = "thread.sample"
	// KindDiskRequest is a request to a block device that took long: device, bytes, flags, queued, service, error.
	KindDiskRequest event.Kind = "disk.request"

	// KindLockHeld is a goroutine that holds a lock others wait for: owner, lock_type, call, waiters, certainty, rule. What
	// it waits for, itself or by way of the goroutines in through ("goroutine 52 → 37"): doing and rpc, as of a
	// goroutine.wait; ends (rpc, child process, syscall, i/o, channel, condition, lock, timer, running, deadlock) and ends_in,
	// as plegdiag stacks names it. Certainty is that of the weakest link.
	KindLockHeld event.Kind = "lock.held"
	// KindLockCycle is a deadlock, goroutines that each wait for a lock that the next one holds: members, goroutines
	// ("38 → 54 → 38"), certainty, wait (of the one that came last).
	KindLockCycle event.Kind = "lock.cycle"
	// KindLockWait is a goroutine that waits for such a lock: owner, call, mode.
	KindLockWait event.Kind = "lock.wait"
	// KindLockQueue is goroutines that wait for a lock whose holder the dump does not show: owner, lock_type, waiters; call, mode and
	// wait are of the one that has waited longest.
	KindLockQueue event.Kind = "lock.queue"
	// KindGoroutine is a goroutine that waits for something outside its process: doing, rpc, call, state.
	KindGoroutine event.Kind = "goroutine.wait"
)
