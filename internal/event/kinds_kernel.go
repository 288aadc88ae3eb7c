package event

// Kinds of the kernel.
const (
	KindOOMKill         Kind = "kernel.oom-kill"
	KindOutOfMemory     Kind = "kernel.out-of-memory"
	KindCgroupMemory    Kind = "kernel.cgroup-memory"
	KindHungTask        Kind = "kernel.hung-task"
	KindKernelFrame     Kind = "kernel.frame"
	KindForkRejected    Kind = "kernel.fork-rejected"
	KindNetdevBusy      Kind = "kernel.netdev-busy"
	KindSendStalled     Kind = "kernel.send-stalled"
	KindLinkDown        Kind = "kernel.link-down"
	KindServerSilent    Kind = "kernel.file-server-silent"
	KindBlockError      Kind = "kernel.block-error"
	KindSoftLockup      Kind = "kernel.soft-lockup"
	KindRCUStall        Kind = "kernel.rcu-stall"
	KindRTThrottled     Kind = "kernel.rt-throttled"
	KindAllocDeadlock   Kind = "kernel.alloc-deadlock"
	KindPageAllocFailed Kind = "kernel.page-alloc-failed"
	KindSlabFailed      Kind = "kernel.slab-failed"
	KindSuspend         Kind = "kernel.suspend"
	KindOops            Kind = "kernel.oops"
	KindPanic           Kind = "kernel.panic"
	KindHardLockup      Kind = "kernel.hard-lockup"
	KindWorkqueueLockup Kind = "kernel.workqueue-lockup"
	KindTableFull       Kind = "kernel.table-full"
	KindHardwareError   Kind = "kernel.hardware-error"
	KindKernelDoubt     Kind = "kernel.damaged"
	KindLockHolder      Kind = "kernel.lock-holder"
	KindShutdown        Kind = "node.shutdown"
	KindBoot            Kind = "kernel.boot"
	KindBootRecord      Kind = "node.boot-record"
	KindPowerLost       Kind = "node.power-lost"
	KindReadOnly        Kind = "kernel.read-only"
)

// comm is the name of a process or thread.
var comm = text(FieldComm, "name of the process, 15 bytes at most")

var kernelKinds = []KindInfo{
	{Kind: KindOOMKill, About: "the kernel killed a process to free memory", IDs: ofContainer, Fields: []FieldInfo{
		comm,
		text(FieldRuntime, "the container runtime, where the process was one"),
		count(FieldUID, "whose process it was, from 5.2 on"),
		oneOf(FieldScope, "what had no memory left, where the line says it", "node", "cgroup"),
		text(FieldCgroup, "in which the process was, from 5.0 on"),
		truth(FieldOfPod, "whether the process was one of a container, by its cgroup or its score; absent otherwise"),
	}},
	{Kind: KindOutOfMemory, About: "the kernel found no memory and looked for a process to kill, or systemd-oomd killed a cgroup; the line of a process that was killed is not there", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldComm, "name of the process that needed memory"),
		oneOf(FieldScope, "what had no memory left, where the line or the stack below shows it", "node", "cgroup"),
		text(FieldUnit, "of which systemd says that processes were killed"),
	}},
	{Kind: KindCgroupMemory, About: "a memory cgroup reached its limit, and most of its memory is the kernel's own, which no process can give back", IDs: []Key{FieldContainer, FieldPod, FieldPodUID, FieldPID}, Fields: []FieldInfo{
		measure(FieldKernelPercent, "%", "the share that is the kernel's own, 50 at least"),
	}},
	{Kind: KindHungTask, About: "the kernel's watchdog found a task that stays in D state", IDs: ofLine, Fields: []FieldInfo{
		comm,
		measure(FieldSeconds, "seconds", "for which it has not run, at least"),
	}},
	{Kind: KindKernelFrame, About: "a kernel stack holds a function that points to a cause", IDs: ofLine, Fields: []FieldInfo{
		text(FieldSymbol, "the function, as ovl_sync_fs"),
		truth(FieldUnsure, "whether the kernel marked the frame with a question mark"),
	}},
	{Kind: KindForkRejected, About: "the kernel refused a new process because a pids limit is reached", IDs: ofLine, Fields: []FieldInfo{
		text(FieldCgroup, "that has the limit"),
		truth(FieldPodLimit, "whether that is the cgroup of a pod"),
	}},
	{Kind: KindNetdevBusy, About: "the kernel waits for the last references to a network device that is being removed", IDs: ofLine, Fields: []FieldInfo{
		text(FieldDevice, "as lo"),
		count(FieldUsage, "the references"),
		count(FieldCount, "how often an Event of Kubernetes says that it came; absent of a line"),
		oneOf(FieldHolds, "what the waiting task holds", "network-lock"),
	}},
	{Kind: KindSendStalled, About: "a network card has not sent in time what stands in its queue", IDs: ofLine, Fields: []FieldInfo{
		text(FieldDevice, "as eth0"),
		text(FieldQueue, "its number, as written"),
		measure(FieldSeconds, "seconds", "for which nothing of it was sent, where the line says it"),
		oneOf(FieldWhat, "where the driver says it: the unit that sends hangs, or the card's firmware is dead", "hang", "dead"),
	}},
	{Kind: KindLinkDown, About: "a network card has lost its link or its address, up to the line that says it has it again, or the machine has no default route", IDs: ofLine, Fields: []FieldInfo{
		text(FieldDevice, "as eno1"),
		oneOf(FieldWhat, "the card alone, one that a bond uses, a bond of which no card has a link, a card whose address no server of DHCP renews, or the default route, which the kubelet does not find", "port", "port-of-bond", "bond", "address", "route"),
	}},
	{Kind: KindServerSilent, About: "a file server does not answer, up to the line that says it answers again", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldProtocol, "how it is reached", "nfs", "cifs", "ceph", "gluster", "lustre"),
		text(FieldServer, "its name or address"),
		truth(FieldGaveUp, "whether the request failed: a soft mount"),
	}},
	{Kind: KindBlockError, About: "a disk, or the file system on it, reports an error", IDs: ofLine, Fields: []FieldInfo{
		text(FieldDevice, "as nvme3n1"),
		oneOf(FieldWhat, "an I/O error, a request without an answer, a driver that aborts a request or resets the disk, a journal that was aborted, a file system that is damaged, a thin pool or file system without space, what the disk says of itself, or a disk that keeps what is written until it comes back: multipath without a path, or a pool of ZFS that is suspended", "error", "timeout", "reset", "journal", "file-system", "full", "health", "suspended"),
		count(FieldCount, "the requests without an answer, where the driver counts them"),
		measure(FieldSeconds, "seconds", "for which a request has been without an answer, where the line says it"),
		truth(FieldGaveUp, "whether the kernel has given up the disk; absent otherwise"),
	}},
	{Kind: KindSoftLockup, About: "a CPU has run nothing but one task in the kernel", IDs: ofTask, Fields: []FieldInfo{
		text(FieldCPU, "its number"),
		measure(FieldSeconds, "seconds", "for which it has"),
		comm,
		truth(FieldAgain, "whether the kernel had found a CPU stuck before, by its flags; absent otherwise"),
	}},
	{Kind: KindRCUStall, About: "a CPU holds up RCU, so that memory is not freed", IDs: ofTask, Fields: []FieldInfo{
		truth(FieldSelf, "whether that CPU found it out itself"),
		oneOf(FieldOf, "what does not come round, where that is a task and no CPU", "task"),
		count(FieldTicks, "for how many of the kernel's ticks it has, of which a second has 1000 at most; on a line of its own"),
		truth(FieldStarved, "whether it is RCU's own thread that gets no CPU; absent otherwise"),
		text(FieldCPU, "its number, where the lines below name one"),
		comm,
		truth(FieldAgain, "whether the kernel had found a CPU stuck before, by its flags; absent otherwise"),
	}},
	{Kind: KindRTThrottled, About: "real-time tasks used all the CPU time that they may", IDs: ofLine},
	{Kind: KindAllocDeadlock, About: "XFS tries again and again to get memory", IDs: ofTask, Fields: []FieldInfo{
		comm,
		text(FieldFunction, "that tries, as kmem_zone_alloc"),
	}},
	{Kind: KindPageAllocFailed, About: "an allocation of pages failed, or found none for seconds", IDs: ofLine, Fields: []FieldInfo{
		comm,
		measure(FieldSeconds, "seconds", "for which it has found none, where the line says it"),
		count(FieldOrder, "of the allocation: 2 to that power pages"),
	}},
	{Kind: KindSlabFailed, About: "an allocation failed that counts towards a memory cgroup", IDs: ofLine, Fields: []FieldInfo{
		text(FieldCache, "as kmalloc-64"),
		text(FieldCgroup, "as written"),
	}},
	{Kind: KindSuspend, About: "the machine slept, up to the line about waking up", IDs: ofLine},
	{Kind: KindOops, About: "the kernel had a fault of its own; it ended the task that ran, and the locks that the task held stay held", IDs: ofTask, Fields: []FieldInfo{
		oneOf(FieldWhat, "the fault", "null-dereference", "page-fault", "general-protection", "bug", "other"),
		comm,
		text(FieldOf, "the component that the task belongs to; process for all that plegdiag does not know"),
		text(FieldFunction, "of the kernel that had it"),
		text(FieldStack, "kernel functions, outermost first, with blanks between"),
	}},
	{Kind: KindPanic, About: "the kernel stopped the machine", IDs: ofLine, Fields: []FieldInfo{
		text(FieldReason, "as written"),
	}},
	{Kind: KindHardLockup, About: "a CPU has not even answered interrupts", IDs: ofLine, Fields: []FieldInfo{
		text(FieldCPU, "its number"),
	}},
	{Kind: KindWorkqueueLockup, About: "the kernel's own workers have begun nothing for half a minute: nothing runs on their CPU, or what they do does not end", IDs: ofLine, Fields: []FieldInfo{
		text(FieldCPU, "its number, or several as 0-3"),
		measure(FieldSeconds, "seconds", "for which they have begun nothing"),
	}},
	{Kind: KindTableFull, About: "a table or a limit of the whole kernel is full", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldWhat, "what it is of", "connections", "neighbours", "tcp-memory", "open-files", "audit", "routes"),
	}},
	{Kind: KindHardwareError, About: "the machine reports a fault of its own hardware", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldWhat, "what has the fault, as far as the line says it; gpu-silent where a GPU does not answer its driver, gpu-program where it is mostly that of the program that a GPU works for, gpu-other where the number of a GPU's error does not tell", "memory", "cpu", "gpu", "gpu-silent", "gpu-program", "gpu-other", "machine"),
		truth(FieldCorrected, "whether it was corrected"),
	}},
	{Kind: KindKernelDoubt, About: "the kernel finds its own state wrong, and goes on", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldWhat, "its memory, a task that slept where none may, or a file system, of which a thread stops for ever", "memory", "context", "file-system"),
		text(FieldComm, "name of the process that ran, where the line says it"),
	}},
	{Kind: KindLockHolder, About: "the kernel says who most likely holds the lock that a hung task waits for", IDs: ofLine, Fields: []FieldInfo{
		comm,
		oneOf(FieldWhat, "the lock that it waits for", "mutex", "semaphore", "rw-semaphore"),
		count(FieldHolder, "pid of the task that most likely holds it"),
		text(FieldHolderComm, "its name, 15 bytes at most"),
	}},
	{Kind: KindShutdown, About: "the machine was told to restart or to power down", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldWhat, "which of them, where it is said", "reboot", "poweroff", "halt", "shutdown"),
	}},
	{Kind: KindBoot, About: "the machine started", IDs: ofLine},
	{Kind: KindPowerLost, About: "the board of the machine says in its own log that it lost its power, or was switched off or reset", IDs: ofLine, Fields: []FieldInfo{
		text(FieldWhat, "as the board says it"),
	}},
	{Kind: KindBootRecord, About: "the latest start of the machine in its own records of them: last, who -b, journalctl --list-boots", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldHow, "how the time before that start ended: without a shutdown, or by one; absent where it is not shown", "crash", "shutdown"),
		text(FieldSince, "when the journal of the boot before ends, as printed"),
	}},
	{Kind: KindReadOnly, About: "a file system was made read-only or was shut down because of an error, or is mounted so where a node has to write", IDs: ofLine, Fields: []FieldInfo{
		text(FieldDevice, "as sda1"),
		text(FieldTarget, "where it is mounted, as /var/lib/containerd"),
	}},
}
