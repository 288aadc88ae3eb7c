package event

// Kinds of containerd, its shims, runc and dockerd.
const (
	KindCRICall       Kind = "cri.call"
	KindStatusGet     Kind = "cri.status-get"
	KindTaskUpdate    Kind = "containerd.task-update"
	KindUpdateSync    Kind = "containerd.update-sync"
	KindTaskExit      Kind = "containerd.task-exit"
	KindDeleteFailed  Kind = "containerd.delete-failed"
	KindExitFailed    Kind = "containerd.exit-handling-failed"
	KindStateTimeout  Kind = "containerd.state-timeout"
	KindStateUnasked  Kind = "containerd.client-gave-up"
	KindUpdateRefused Kind = "containerd.update-refused"
	KindAnswerLate    Kind = "containerd.answer-late"
	KindExitLost      Kind = "crio.exit-lost"
	KindUnrestored    Kind = "crio.sandbox-unrestored"
	KindCreated       Kind = "containerd.created"
	KindRemoved       Kind = "containerd.removed"
	KindCleanedUp     Kind = "containerd.cleaned-up"
	KindShimStart     Kind = "shim.start"
	KindShimGone      Kind = "shim.gone"
	KindGuestLost     Kind = "shim.guest-lost"
	KindHostCompute   Kind = "windows.host-compute"
	KindEventUnsent   Kind = "shim.event-unsent"
	KindFreezeFailed  Kind = "runc.freeze-failed"
	KindDumpWritten   Kind = "dump.written"
	KindClientGaveUp  Kind = "dockerd.client-gave-up"
	KindRequestFailed Kind = "dockerd.request-failed"
	KindKillLate      Kind = "runtime.kill-late"
	KindRuncFailed    Kind = "runc.failed"
	KindCgroupBusy    Kind = "runc.cgroup-busy"
	KindShimClosed    Kind = "containerd.shim-closed"
	KindShimLeaked    Kind = "containerd.shim-leaked"
	KindCleanupKilled Kind = "containerd.cleanup-killed"
	KindPluginFailed  Kind = "containerd.plugin-failed"
	KindDatabaseWait  Kind = "containerd.database-wait"
	KindOOMUnknown    Kind = "containerd.oom-unknown"

	KindSnapshotsCollected Kind = "containerd.snapshots-collected"

	KindMountsLeft    Kind = "containerd.mounts-left"
	KindPluginClosed  Kind = "nri.plugin-closed"
	KindSocketRefused Kind = "runtime.socket-refused"
	KindSocketHeard   Kind = "runtime.socket-listening"
	KindSocketAbsent  Kind = "runtime.socket-absent"
	KindLayersDamaged Kind = "runtime.layers-damaged"
)

var runtimeKinds = []KindInfo{
	{
		Kind: KindCRICall, About: "a call of the CRI in containerd, from its begin to its end, or one of which a runtime says that it does not end",
		IDs: []Key{FieldContainer, FieldSandbox, FieldPod, FieldPodUID, FieldPID},
		Fields: []FieldInfo{
			text(FieldMethod, "as UpdateContainerResources"),
			oneOf(FieldOutcome, "absent while the call is open", "ok", "failed"),
			text(FieldError, "as written"),
			truth(FieldExited, "whether it failed because the container was gone"),
			truth(FieldDeadline, "whether it ran into its time limit, or its caller stopped waiting"),
			text(FieldPlugin, "of the CNI that failed, where the error names it, as cilium-cni"),
			oneOf(FieldReason, aboutCRIFailures, criFailures...),
			truth(FieldRestarting, "whether it failed because the node's network had not begun yet; absent otherwise"),
			length(FieldCost, "as a patched build prints it"),
			length(FieldGrace, "that the container has for its end, where it is to stop"),
			text(FieldName, "of the container, where CRI-O tells it"),
			truth(FieldReserved, "whether containerd says that an earlier call still has the name; absent otherwise"),
			text(FieldStage, "at which CRI-O says that it stands, as container volume configuration"),
		},
	},
	{Kind: KindStatusGet, About: "a wait for a container's Status lock, as a patched build prints it", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldCall, "that waited, as ListContainers"),
		length(FieldCost, "of the wait"),
	}},
	{Kind: KindTaskUpdate, About: "the shim's Update under the Status lock, as the same build prints it", IDs: ofContainer, Fields: []FieldInfo{
		length(FieldCost, "of the update"),
	}},
	{Kind: KindUpdateSync, About: "the write of the status file under the Status lock, as the same build prints it", IDs: ofContainer, Fields: []FieldInfo{
		length(FieldCost, "of the write"),
	}},
	{Kind: KindSocketRefused, About: "a daemon of the node that is a client of a runtime found nobody at its socket", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldGone, "the runtime on whose socket nobody listens"),
		text(FieldProgram, "that says so, as dockerd"),
		text(FieldError, "as written"),
	}},
	{Kind: KindSocketHeard, About: "ss or lsof shows that a process listens at the path of a runtime's socket, whether or not its file is there", IDs: ofLine, Fields: []FieldInfo{
		text(FieldDaemon, "the runtime whose socket that is"),
		text(FieldPath, "as it is printed"),
		comm,
	}},
	{Kind: KindSocketAbsent, About: "somebody looked for the file of a runtime's socket, and it is not there", IDs: ofLine, Fields: []FieldInfo{
		text(FieldGone, "the runtime whose socket that is"),
		text(FieldPath, "of the file"),
	}},
	{Kind: KindLayersDamaged, About: "a runtime does not find a layer of an image or container, or what it has written down of one", IDs: ofContainer, Fields: []FieldInfo{
		oneOf(FieldWhat, "what is missing: the layer, the link to it, or its record in the database", "layer", "link", "record"),
		text(FieldError, "as written, from there on"),
	}},
	{Kind: KindTaskExit, About: "the exit of a container's first process, at the time that the shim gave", IDs: ofContainer, Fields: []FieldInfo{
		count(FieldExitStatus, "of the process"),
		length(FieldLag, "from the exit to the line about it"),
	}},
	{Kind: KindDeleteFailed, About: "the shim did not answer Delete within 10 s", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether it ran into its time limit"),
	}},
	{Kind: KindExitFailed, About: "containerd could not handle an exit and tries again", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether it ran into its time limit"),
		truth(FieldAgain, "whether this was not the first try"),
		length(FieldLag, "since the exit"),
	}},
	{Kind: KindStateTimeout, About: "the shim did not answer State within 2 s", IDs: ofContainer},
	{Kind: KindStateUnasked, About: "a client of containerd waited no longer for a task, whose shim had not answered State yet", IDs: ofContainer},
	{Kind: KindAnswerLate, About: "an answer between containerd and a shim came after its caller had stopped waiting for it", IDs: ofLine},
	{Kind: KindEventUnsent, About: "a shim could not hand an event over to containerd, as that of the end of a container", IDs: ofLine, Fields: []FieldInfo{
		text(FieldError, "as written"),
		text(FieldWhat, "topic of the event, as /tasks/exit; absent where the line does not say"),
	}},
	{Kind: KindUnrestored, About: "CRI-O, while it starts, cannot take a sandbox over from its last run, and deletes it", IDs: []Key{FieldSandbox, FieldPID}, Fields: []FieldInfo{
		text(FieldError, "as written"),
	}},
	{Kind: KindExitLost, About: "CRI-O finds no exit code of a container that has ended: its conmon has written none", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldError, "as written"),
	}},
	{Kind: KindUpdateRefused, About: "containerd refused to update a container that is being stopped or removed", IDs: ofContainer, Fields: []FieldInfo{
		truth(FieldPatched, "whether the private Stopping patch refused it"),
	}},
	{
		Kind: KindCreated, About: "a container was created in its sandbox, or a sandbox for its pod",
		IDs:    []Key{FieldContainer, FieldSandbox, FieldPod, FieldPodUID, FieldPID},
		Fields: []FieldInfo{text(FieldName, "of the container")},
	},
	{Kind: KindRemoved, About: "containerd removed a sandbox; its id is also the container's", IDs: []Key{FieldContainer, FieldSandbox, FieldPID}},
	{Kind: KindCleanedUp, About: "a task was deleted after its first deletion had run into its time limit", IDs: ofContainer},
	{Kind: KindShimStart, About: "a shim started", IDs: ofContainer},
	{Kind: KindShimGone, About: "a shim is gone", IDs: ofContainer},
	{Kind: KindGuestLost, About: "the virtual machine or the gVisor sandbox of a pod, or the agent in it, is gone or does not answer", IDs: []Key{FieldContainer, FieldSandbox, FieldPID}, Fields: []FieldInfo{
		text(FieldError, "as written"),
	}},
	{Kind: KindHostCompute, About: "Windows' Host Compute Service (vmcompute), through which runtimes make, start and end containers, did not finish a call in time, or ended in it", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldCall, "as System::Start; absent where the line does not tell it"),
		oneOf(FieldHow, "the call was not finished in time; or the service was not there to answer", "late", "gone"),
	}},
	{Kind: KindFreezeFailed, About: "runc could not freeze or thaw a cgroup, or found it frozen", IDs: ofContainer, Fields: []FieldInfo{
		oneOf(FieldVerb, "what it could not do; after a freeze that fails it thaws the cgroup", "freeze", "thaw", "use"),
	}},
	{Kind: KindDumpWritten, About: "a goroutine dump was taken", IDs: ofLine, Fields: []FieldInfo{
		text(FieldPath, "the file it was written to"),
	}},
	{Kind: KindClientGaveUp, About: "a docker client closed its connection before the answer", IDs: ofLine, Fields: []FieldInfo{
		text(FieldPath, "of the API call, with its method"),
	}},
	{Kind: KindRequestFailed, About: "dockerd answered a request of its API with an error of its own", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldPath, "of the API call, with its method"),
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether it ran into a time limit"),
	}},
	{Kind: KindKillLate, About: "a container did not end in time after a signal", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldSignal, "the signal, as written"),
		length(FieldWait, "how long the runtime waited"),
	}},
	{Kind: KindRuncFailed, About: "a command of runc or crun failed at something else than the program that it should run", IDs: ofContainer, Fields: []FieldInfo{
		oneOf(FieldVerb, "the command", "create", "start", "exec", "update", "delete", "kill", "state", "pause", "resume", "unknown"),
		oneOf(
			FieldReason, "why, as far as the error shows it: memory or disk space, systemd or the bus, a cgroup, seccomp, a time limit, "+
				"a signal that was refused, its own program or its state file, a hook or the NVIDIA driver behind it, runc init ended early, or the container is gone",
			"memory", "disk", "systemd", "cgroup", "cgroup-driver", "seccomp", "timeout", "signal", "init", "missing", "state", "hook", "driver", "gone",
		),
		text(FieldError, "as written"),
		truth(FieldFirstCall, "in a trace: whether it is the first call of its thread. Where strace attached to the process, it may have waited before"),
	}},
	{Kind: KindCgroupBusy, About: "a cgroup could not be removed because there are still processes in it", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldPath, "of its directory"),
		text(FieldController, "of cgroup v1, as memory"),
		text(FieldError, "as written"),
	}},
	{Kind: KindShimClosed, About: "the connection to a shim broke while containerd stopped its container", IDs: []Key{FieldContainer, FieldSandbox, FieldPID}, Fields: []FieldInfo{
		text(FieldError, "as written"),
	}},
	{Kind: KindDatabaseWait, About: "containerd has waited for 10 s at its start for the file lock of its database", IDs: ofLine},
	{Kind: KindSnapshotsCollected, About: "containerd collected the garbage of a snapshotter for 10 s or more", IDs: ofLine, Fields: []FieldInfo{
		text(FieldSnapshotter, "its name, as overlayfs"),
	}},
	{Kind: KindCleanupKilled, About: "what cleans up after a shim that has gone did not end within containerd's 5 s, and was killed", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldError, "as written"),
	}},
	{Kind: KindPluginFailed, About: "containerd goes on without its plugin for the CRI, which could not be loaded", IDs: ofLine, Fields: []FieldInfo{
		text(FieldPlugin, "as io.containerd.grpc.v1.cri"),
		text(FieldError, "as written"),
	}},
	{Kind: KindShimLeaked, About: "containerd finds at its start a shim without a task, and cleans up after it", IDs: ofContainer},
	{Kind: KindOOMUnknown, About: "the shim of a container that was killed did not say whether it was for memory (containerd 2.3 and later)", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether it ran into its time limit"),
	}},
	{Kind: KindMountsLeft, About: "containerd could not undo the mounts of a task", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether it ran into its time limit"),
	}},
	{Kind: KindPluginClosed, About: "the runtime drops a plugin of NRI that failed or did not answer in time", IDs: ofLine, Fields: []FieldInfo{
		text(FieldPlugin, "its index and name, as 10-balloons"),
		text(FieldCall, "that it did not handle, as CreateContainer"),
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether it ran into its time limit"),
	}},
}
