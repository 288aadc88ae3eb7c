package event

// Kinds of systemd, D-Bus, udev, and of the daemons that systemd runs.
const (
	KindScopeStart        Kind = "systemd.scope-start"
	KindBusUnsupported    Kind = "systemd.bus-send-failed"
	KindPendingReplies    Kind = "systemd.pending-replies"
	KindIntrospectTimeout Kind = "systemd.introspect-timeout"
	KindCookie            Kind = "systemd.cookie"
	KindSystemdTimeout    Kind = "systemd.timeout"
	KindUnitsFull         Kind = "systemd.units-full"
	KindSystemdJob        Kind = "systemd.job"
	KindReexec            Kind = "systemd.reexec"
	KindManagerCrash      Kind = "systemd.crash"
	KindManagerSpins      Kind = "systemd.spins"
	KindUnit              Kind = "systemd.unit"
	KindUnitStart         Kind = "systemd.unit-start"
	KindUnitStarting      Kind = "systemd.unit-starting"
	KindUnitStop          Kind = "systemd.unit-stop"
	KindUnitExit          Kind = "systemd.unit-exit"
	KindUnitTimeout       Kind = "systemd.unit-timeout"
	KindUnitRestart       Kind = "systemd.unit-restart"
	KindUnitGivenUp       Kind = "systemd.unit-given-up"
	KindUnitStartFailed   Kind = "systemd.start-failed"
	KindMountFailed       Kind = "systemd.mount-failed"
	KindBusLimit          Kind = "dbus.limit"
	KindActivationTimeout Kind = "dbus.activation-timeout"
	KindQueueFull         Kind = "dbus.queue-full"
	KindBusUnreachable    Kind = "dbus.unreachable"
	KindBusSilent         Kind = "dbus.silent"
	KindDaemonStart       Kind = "daemon.start"
	KindDaemonBoot        Kind = "daemon.boot"
	KindDaemonStop        Kind = "daemon.stop"
	KindDaemonRestart     Kind = "daemon.restart"
	KindCrash             Kind = "daemon.crash"
	KindForkFailed        Kind = "daemon.fork-failed"
	KindCgroupFailed      Kind = "daemon.cgroup-failed"
	KindNoSpace           Kind = "daemon.no-space"
	KindWriteRefused      Kind = "daemon.write-refused"
	KindIOError           Kind = "daemon.io-error"
	KindDescriptorLimit   Kind = "daemon.descriptor-limit"
	KindDenied            Kind = "daemon.denied"
	KindNoMemory          Kind = "daemon.no-memory"
	KindMemoryShort       Kind = "daemon.memory-short"
	KindHealthFailed      Kind = "daemon.health-failed"
	KindScopeFailed       Kind = "systemd.scope-failed"
	KindOperator          Kind = "operator.command"
	KindUdevTimeout       Kind = "udev.timeout"
	KindUdevCookie        Kind = "udev.cookie"
)

// onContainer is said of a failure of the bus or of systemd.
var onContainer = truth(FieldOnContainer, "whether the one that failed works on containers")

// The unit of a daemon, in three fields.
var (
	unitName    = text(FieldUnit, "as containerd.service")
	unitDaemon  = text(FieldDaemon, "the daemon, as containerd or kubelet")
	unitRuntime = text(FieldRuntime, "the daemon, where it is a container runtime")
)

// backAfter is how long a daemon was gone.
var backAfter = length(FieldBackAfter, "the time until the daemon was started again; absent where no start of it is seen")

var systemdKinds = []KindInfo{
	{Kind: KindScopeStart, About: "systemd starts the scope of a container, from the runtime's order to systemd's own line", IDs: ofContainer, Fields: []FieldInfo{
		truth(FieldOthersAnswered, "whether systemd started other scopes in the meantime, or answered collect on the bus"),
	}},
	{Kind: KindBusUnsupported, About: "PID 1 failed to send a bus message", IDs: ofLine, Fields: []FieldInfo{
		text(FieldErrno, "as written"),
	}},
	{Kind: KindManagerSpins, About: "the loop of PID 1 runs without end, and PID 1 sleeps for a second each time it finds that", IDs: ofLine},
	{Kind: KindPendingReplies, About: "a client of PID 1 gave up with too many unanswered calls", IDs: ofLine},
	{Kind: KindIntrospectTimeout, About: "PID 1 did not answer Introspect, the simplest call on the bus", IDs: ofLine},
	{Kind: KindCookie, About: "a bus cookie of PID 1, read in a debugger or a trace", IDs: ofLine, Fields: []FieldInfo{
		count(FieldCookie, "the last one seen"),
		truth(FieldOverflow, "whether it is larger than 32 bits"),
		count(FieldFirst, "the first one in the trace"),
		truth(FieldWrapped, "whether it began again in the trace"),
		text(FieldConnection, "the socket, or fd and its number"),
		measure(FieldRate, "per second", "how fast it grew in the trace"),
		length(FieldLeft, "until it reaches 2^32 at that rate"),
	}},
	{Kind: KindSystemdTimeout, About: "a program waited for systemd in vain", IDs: ofContainer, Fields: []FieldInfo{
		truth(FieldRunc, "whether it was runc"),
		onContainer,
	}},
	{Kind: KindSystemdJob, About: "a job that waits or runs in systemd's queue", IDs: ofContainer, Fields: []FieldInfo{
		unitName,
		text(FieldType, "as start or stop"),
		text(FieldState, "waiting or running"),
	}},
	{Kind: KindUnitsFull, About: "systemd refused a unit because it holds as many as it can", IDs: ofLine},
	{Kind: KindReexec, About: "PID 1 executed itself again, which resets its bus connections", IDs: ofLine},
	{Kind: KindManagerCrash, About: "PID 1 crashed, or says after that that it does nothing any more", IDs: ofLine, Fields: []FieldInfo{
		text(FieldReason, "the signal or the fault; absent where it says no more than that it has frozen"),
		truth(FieldFrozen, "whether it says that it does nothing any more; absent otherwise"),
	}},
	{Kind: KindUnit, About: "the state of a unit; of a listing of all, only that of the runtime, the kubelet or a service that they need, where it is not the usual one", IDs: ofLine, Fields: []FieldInfo{
		unitName,
		text(FieldDaemon, "the daemon, or the service that daemons need, as kubelet or dbus; absent for any other unit"),
		text(FieldState, "as active or failed"),
		text(FieldSub, "the state in detail, as running"),
		text(FieldResult, "how it ended, as signal"),
		count(FieldRestarts, "how often systemd has restarted it"),
		count(FieldTasks, "its processes and threads"),
		{Key: FieldTasksMax, Type: TypeNumber, Values: []string{"infinity"}, About: "how many it may have"},
		truth(FieldFull, "whether hardly any process or thread can be added; absent otherwise"),
		text(FieldSignal, "that ended its main process"),
		text(FieldSince, "when it got into that state, as systemd prints it"),
	}},
	{Kind: KindScopeFailed, About: "systemd could not start the scope of a container, or put its process there", IDs: ofContainer, Fields: []FieldInfo{
		unitName,
		text(FieldError, "as written"),
	}},
	{Kind: KindUnitStart, About: "systemd says that a runtime is ready, or the bus, or that the kubelet's process begins", IDs: ofLine, Fields: []FieldInfo{unitName, unitDaemon, unitRuntime}},
	{Kind: KindUnitStarting, About: "systemd starts a runtime, up to where it is ready, has failed or is stopped; open when nothing tells of that", IDs: ofLine, Fields: []FieldInfo{unitName, unitDaemon, unitRuntime}},
	{Kind: KindUnitStop, About: "systemd stops a runtime or the kubelet because it was told to", IDs: ofLine, Fields: []FieldInfo{
		unitName, unitDaemon, unitRuntime, backAfter,
	}},
	{Kind: KindUnitExit, About: "the main process of a runtime, the kubelet or a service that they need ended, and nobody had asked for it", IDs: ofLine, Fields: []FieldInfo{
		unitName, unitDaemon, unitRuntime, backAfter,
		text(FieldHow, "as killed 9/KILL or oom-kill"),
		truth(FieldAgain, "true where systemd starts it again by itself, within a minute of it"),
	}},
	{Kind: KindUnitTimeout, About: "such a unit took longer than systemd allows", IDs: ofLine, Fields: []FieldInfo{
		unitName, unitDaemon, unitRuntime, backAfter,
		oneOf(FieldWhat, "what took too long: to start, to stop, to end after SIGKILL, or to send the sign of life that WatchdogSec= asks for", "start", "stop", "kill", "watchdog"),
		text(FieldLimit, "as written"),
	}},
	{Kind: KindUnitRestart, About: "systemd, or Talos, is about to start such a unit again by itself", IDs: ofLine, Fields: []FieldInfo{
		unitName, unitDaemon, unitRuntime,
		text(FieldHow, "it ended, as Talos says in the same line"),
		count(FieldRestarts, "how often it has, where the line counts them"),
	}},
	{Kind: KindUnitGivenUp, About: "systemd starts such a unit no more because it was started too often", IDs: ofLine, Fields: []FieldInfo{
		unitName, unitDaemon, unitRuntime,
	}},
	{Kind: KindUnitStartFailed, About: "systemd could not start a runtime, Talos not the runtime or the kubelet, or systemd began not to start a runtime or the kubelet, because what it needs did not start", IDs: ofLine, Fields: []FieldInfo{unitName, unitDaemon, unitRuntime, backAfter}},
	{Kind: KindMountFailed, About: "systemd could not mount a file system that a node needs, or its disk did not appear", IDs: ofLine, Fields: []FieldInfo{
		text(FieldTarget, "where it was to be mounted, as /var/lib/docker"),
		text(FieldDevice, "that did not appear, as /dev/xvdb"),
	}},
	{Kind: KindBusLimit, About: "the bus refused a user whose limit is reached", IDs: ofLine, Fields: []FieldInfo{
		text(FieldUID, "of the user"),
		text(FieldLimit, "connections, or what dbus-broker counts, as bytes"),
		onContainer,
	}},
	{Kind: KindActivationTimeout, About: "nobody answered for a name on the bus", IDs: ofLine, Fields: []FieldInfo{
		text(FieldService, "the name, as org.freedesktop.systemd1"),
		onContainer,
		truth(FieldAsked, "whether a command that somebody typed says so, as systemctl"),
	}},
	{Kind: KindQueueFull, About: "a message was dropped because PID 1 does not read", IDs: ofLine, Fields: []FieldInfo{
		text(FieldMember, "the method, as StartTransientUnit"),
		onContainer,
	}},
	{Kind: KindBusSilent, About: "a tool asked the bus itself, not one of its clients, and got no answer in time", IDs: ofLine},
	{Kind: KindBusUnreachable, About: "a program could not connect to the bus or to PID 1's own socket", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldError, "as written"),
		truth(FieldRunc, "whether it was runc"),
		truth(FieldAgain, "whether it had tried more than once"),
		onContainer,
	}},
	{Kind: KindDaemonStart, About: "the process of a daemon starts, as /proc shows it", IDs: ofLine, Fields: []FieldInfo{
		text(FieldDaemon, "as containerd"),
		length(FieldAge, "of the process when it was seen; absent for one in a container"),
		text(FieldUnit, "the daemon's unit, as containerd.service; absent for a process outside of it"),
	}},
	{Kind: KindDaemonBoot, About: "a runtime begins to work, by its own log, up to the line that it is ready; open when that line is not there", IDs: ofLine, Fields: []FieldInfo{
		text(FieldDaemon, "as containerd"),
		length(FieldTook, "as containerd says when it is ready"),
	}},
	{Kind: KindDaemonStop, About: "a runtime shuts down, by its own log: it was told to, where no line says that it failed", IDs: ofLine, Fields: []FieldInfo{
		text(FieldDaemon, "as containerd"),
	}},
	{Kind: KindDaemonRestart, About: "a daemon is replaced by a new process, from the end of the one to the start of the other", IDs: ofLine, Fields: []FieldInfo{
		text(FieldDaemon, "as containerd"),
		oneOf(FieldHow, "how the old process ended; asked means that systemd, or the daemon itself, was told to", "asked", "killed", "out-of-memory", "ended", "unknown"),
		text(FieldBy, "the user who asked, where sudo shows it"),
	}},
	{Kind: KindCrash, About: "a daemon ends and says why: the Go runtime of one gave up, dbus-daemon could not start; or the kernel ended a program for a fault of its own", IDs: ofLine, Fields: []FieldInfo{
		text(FieldReason, "as written"),
		text(FieldComm, "name of the process that the kernel ended; absent otherwise"),
		truth(FieldDamaged, "whether bbolt does not understand the file of the daemon's database; absent otherwise"),
	}},
	{Kind: KindForkFailed, About: "a program could not start a process or a thread", IDs: ofLine, Fields: []FieldInfo{
		comm,
		text(FieldProgram, "that it wanted to start; absent for a thread"),
		truth(FieldFatal, "whether it was a thread of its own, so that the daemon dies"),
	}},
	{Kind: KindNoMemory, About: "the kernel had no memory for a program that was to be started", IDs: ofLine, Fields: []FieldInfo{
		text(FieldProgram, "that was to be started, or the shell that started it"),
	}},
	{Kind: KindMemoryShort, About: "a daemon of the node waits for memory time and again, and gives its caches back", IDs: ofLine},
	{Kind: KindCgroupFailed, About: "a cgroup could not be created", IDs: ofLine, Fields: []FieldInfo{
		text(FieldController, "as memory"),
		text(FieldError, "as written"),
	}},
	{Kind: KindNoSpace, About: "a daemon, or a program that it ran, could not write: no space or no inodes are left", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldPath, "that was to be written"),
		text(FieldCall, "as open, mkdir or write"),
		text(FieldError, "as written"),
	}},
	{Kind: KindWriteRefused, About: "a daemon, or a program that it ran, could not write: the file system is read-only", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldPath, "that was to be written"),
		text(FieldCall, "as open, mkdir or write"),
		text(FieldError, "as written"),
	}},
	{Kind: KindIOError, About: "a call of a daemon on a file failed with an input/output error, or because its file system is damaged: the disk fails, or the file system has shut down", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldPath, "of the file"),
		text(FieldCall, "as stat, open or read"),
	}},
	{Kind: KindHealthFailed, About: "the health check of a service fails: until it succeeds again, as Talos says who runs it, or at the time of the line", IDs: ofLine, Fields: []FieldInfo{
		text(FieldService, "as Talos names it: kubelet; cri for the runtime of the pods"),
		length(FieldAge, "since it fails, where a listing tells of it"),
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether it ran into its time limit"),
		truth(FieldRefused, "whether nobody listens there; absent otherwise"),
	}},
	{Kind: KindDenied, About: "SELinux or AppArmor forbade a daemon of the node, or a program that it runs, something", IDs: ofLine, Fields: []FieldInfo{
		comm,
		oneOf(FieldBy, "who forbade it", "selinux", "apparmor"),
		text(FieldWhat, "as setsched"),
	}},
	{Kind: KindDescriptorLimit, About: "a daemon met a limit of files that it may hold open or watch", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldOf, "what is used up", "inotify instances", "inotify watches", "open files"),
		text(FieldPath, "that was to be opened or watched"),
		text(FieldMethod, "of the CRI, as RunPodSandbox, where that call failed by it"),
		oneOf(FieldStage, "of containerd's start, where it failed by it", "CRI plugin"),
	}},
	{Kind: KindOperator, About: "somebody restarts, stops or kills a daemon", IDs: ofLine, Fields: []FieldInfo{
		text(FieldUser, "who did it"),
		text(FieldCommand, "as typed"),
		text(FieldDaemon, "as containerd"),
	}},
	{Kind: KindUdevTimeout, About: "udev gave up on a rule", IDs: ofLine, Fields: []FieldInfo{
		text(FieldDevice, "as dm-3"),
		truth(FieldKilled, "whether udev killed its worker"),
	}},
	{Kind: KindUdevCookie, About: "a device-mapper cookie that nobody has completed", IDs: ofLine, Fields: []FieldInfo{
		text(FieldCookie, "as 0xd4d8689"),
		count(FieldValue, "how many completions it waits for"),
	}},
}
