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
	KindUpdateRefused Kind = "containerd.update-refused"
	KindCreated       Kind = "containerd.created"
	KindRemoved       Kind = "containerd.removed"
	KindCleanedUp     Kind = "containerd.cleaned-up"
	KindShimStart     Kind = "shim.start"
	KindShimGone      Kind = "shim.gone"
	KindFreezeFailed  Kind = "runc.freeze-failed"
	KindDumpWritten   Kind = "dump.written"
	KindClientGaveUp  Kind = "dockerd.client-gave-up"
)

var runtimeKinds = []KindInfo{
	{
		Kind: KindCRICall, About: "a call of the CRI in containerd, from its begin to its end",
		IDs: []Key{FieldContainer, FieldSandbox, FieldPID},
		Fields: []FieldInfo{
			text(FieldMethod, "as UpdateContainerResources"),
			oneOf(FieldOutcome, "absent while the call is open", "ok", "failed"),
			text(FieldError, "as written"),
			truth(FieldExited, "whether it failed because the container was gone"),
			truth(FieldDeadline, "whether it ran into its time limit, or its caller stopped waiting"),
			length(FieldCost, "as a patched build prints it"),
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
	{Kind: KindFreezeFailed, About: "runc could not freeze or thaw a cgroup", IDs: ofContainer},
	{Kind: KindDumpWritten, About: "a goroutine dump was taken", IDs: ofLine, Fields: []FieldInfo{
		text(FieldPath, "the file it was written to"),
	}},
	{Kind: KindClientGaveUp, About: "a docker client closed its connection before the answer", IDs: ofLine, Fields: []FieldInfo{
		text(FieldPath, "of the API call, with its method"),
	}},
}
