package event

import "slices"

// Kinds of a node's state, of its logs, and of what plegdiag collect met on it.
const (
	KindFact          Kind = "fact"
	KindCount         Kind = "node.count"
	KindNodeCondition Kind = "node.condition"
	KindKubeEvent     Kind = "kubernetes.event"
	KindProcess       Kind = "process"
	KindDaemonAbsent  Kind = "daemon.absent"
	KindMount         Kind = "mount"
	KindFileSystem    Kind = "filesystem"
	KindMountDead     Kind = "mount.dead"
	KindMountRefused  Kind = "mount.refused"
	KindVolumePending Kind = "volume.call-pending"
	KindVolumeWalk    Kind = "volume.walk"
	KindFreeze        Kind = "file-system.freeze"
	KindProbeFailed   Kind = "csi.probe-failed"
	KindEtcdTrouble   Kind = "etcd.trouble"
	KindNetworkDaemon Kind = "cni.trouble"
	KindTunnelBroken  Kind = "apiserver.tunnel-broken"

	KindContainerState Kind = "container.state"
	KindDeviceLoad     Kind = "device.load"
	KindCgroup         Kind = "cgroup"

	// KindLogLine is a log line that a rule asks for by its text, where no observer makes more of
	// it.
	KindLogLine   Kind = "log.line"
	KindNoise     Kind = "noise"
	KindLoss      Kind = "log.loss"
	KindClockStep Kind = "clock.step"
	// KindClockWrong tells that a clock stood wrong; KindClockStep, that it was set.
	KindClockWrong Kind = "clock.wrong"

	KindCommandHung   Kind = "command.hung"
	KindCommandFailed Kind = "command.failed"

	KindCollectRPC  Kind = "collect.rpc"
	KindCollectItem Kind = "collect.item"
)

// StatusPending is the sort of noise that a kubelet's first words are.
const StatusPending = "status check pending"

var nodeKinds = []KindInfo{
	{Kind: KindProbeFailed, About: "a CSI driver did not answer the probe of its health, or said that it cannot work", IDs: ofLine, Fields: []FieldInfo{
		text(FieldName, "of the driver, where the line names it"),
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether it ran into its time limit"),
	}},
	{Kind: KindNetworkDaemon, About: "the daemon of a network plugin says what keeps it from its work", IDs: ofLine, Fields: []FieldInfo{
		text(FieldPlugin, "as calico"),
		oneOf(FieldWhat, "the API server, or what it gives; addresses for pods; its own daemon, which the plugin asks; its health; its start, which fails; CPU time or the kernel, which held it up; the lock of iptables, or of the plugin's own state, which another program or run of it holds", "api", "addresses", "daemon", "health", "start", "late", "lock"),
		text(FieldError, "as written"),
		measure(FieldSeconds, "seconds", "for which it was held up"),
	}},
	{Kind: KindTunnelBroken, About: "the tunnel through which the API server reaches the nodes does not carry what it sends", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldWhat, "no agent of a node is connected; nobody has answered through it within 30 s; the proxy of k3s or rke2 finds no way to the node; or an agent does not reach its server", "no-agent", "unanswered", "proxy", "agent"),
		text(FieldTarget, "for whom it was, as 10.0.0.26:10250"),
		text(FieldError, "of the agent, as written"),
	}},
	{Kind: KindFact, About: "something that holds for the whole bundle (facts.md)", IDs: ofLine, Fields: []FieldInfo{
		text(FieldName, "as containerd.version"),
		text(FieldValue, "as written"),
		count(FieldLimit, "of a number that somebody counted, where the same file shows it"),
		truth(FieldFull, "whether that number has reached it; absent otherwise"),
		text(FieldProgram, "that has the most of what was counted, where one is named"),
		oneOf(FieldBasis, "where it is only a setting or an installed package; what runs may differ", "configured", "installed"),
	}},
	{Kind: KindCount, About: "a reading of a number that may reach a limit, at a known time", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldOf, "what is counted; pids are those of one cgroup", "threads", "processes", "pids", "units", "active units"),
		count(FieldValue, "the reading"),
		count(FieldLimit, "where the same writer gives it"),
		text(FieldPath, "of the cgroup"),
		text(FieldNode, "whose snapshot it is part of"),
	}},
	{Kind: KindNodeCondition, About: "a condition of a node's status, in the API, or as the node controller logs it", IDs: ofLine, Fields: []FieldInfo{
		text(FieldNode, "its name"),
		text(FieldCondition, "as Ready"),
		text(FieldStatus, "as True, False or Unknown"),
		text(FieldReason, "as the API gives it"),
		text(FieldMessage, "as the API gives it"),
		oneOf(FieldFrom, "who logs it; absent where the API shows it", "node-controller"),
		text(FieldPosted, "of a Ready that is Unknown: the condition that another daemon of the node, as node-problem-detector, has posted since; absent otherwise"),
	}},
	{Kind: KindKubeEvent, About: "an event of the API that is about a node or is a warning", IDs: []Key{FieldPod, FieldPID}, Withdrawn: []Key{"since"}, Fields: []FieldInfo{
		text(FieldReason, "as NodeNotReady"),
		text(FieldObject, "the kind of object, as Pod"),
		text(FieldName, "of the object"),
		text(FieldMessage, "as the API gives it"),
		text(FieldType, "Normal or Warning"),
		text(FieldFrom, "who reported it, as kubelet"),
		count(FieldCount, "how often it happened"),
		text(FieldAge, "as kubectl prints it"),
		truth(FieldRestarting, "of NodeNotReady: whether the kubelet of that node tells of another boot within five minutes; absent otherwise"),
	}},
	{Kind: KindProcess, About: "a process in a listing, from its start to the listing where both are known", IDs: ofThread, Fields: []FieldInfo{
		comm,
		text(FieldState, "as ps prints it; D is uninterruptible"),
		count(FieldCount, "such processes or threads, where uniq -c has counted their rows; absent of one"),
		truth(FieldReturned, "whether samples beside the listing do not show it in state D; absent otherwise"),
		text(FieldWchan, "the kernel function that it sleeps in; ps may cut it at six letters"),
		kernelWaits,
		text(FieldArgs, "the command line"),
		count(FieldPPID, "id of the parent"),
		truth(FieldUnreaped, "whether it has ended, and the shim that is its parent has not collected it; absent otherwise"),
		length(FieldAge, "since its start"),
		text(FieldSince, "its start as printed, where that is no whole date: 2019, Nov29, 18:22"),
		oneOf(FieldListens, "by what it is asked before a file is opened or executed, where it cannot answer: it is stopped, or stuck in the kernel; absent otherwise", "fanotify"),
		text(FieldVerb, "the command of runc, as create"),
		truth(FieldSystemdCgroup, "whether runc uses the cgroup driver of systemd; absent where its command line does not say"),
		text(FieldPlugin, "of the CNI, as calico"),
		measure(FieldCPUPercent, "%", "of one CPU that it takes now, as top shows it"),
		measure(FieldCPUAverage, "%", "of one CPU that PID 1 has taken since its start, as ps shows it, where that is much"),
		length(FieldCPUTime, "of a CPU that it has taken since its start"),
		text(FieldCgroup, "in which it is"),
	}},
	{Kind: KindDaemonAbsent, About: "somebody looked for a daemon's process by its name and found none", IDs: ofLine, Fields: []FieldInfo{
		text(FieldProgram, "the name that was looked for"),
		text(FieldDaemon, "whose name that is, as kubelet or dockerd"),
		truth(FieldShims, "whether processes of its shims are there; absent otherwise"),
	}},
	{Kind: KindMount, About: "a mount of an overlay, of a network file system, or of one that a process serves", IDs: []Key{FieldContainer, FieldPodUID}, Fields: []FieldInfo{
		text(FieldFSType, "as overlay"),
		text(FieldTarget, "the mount point"),
		text(FieldSource, "what is mounted, instead of the input"),
		text(FieldServer, "the name or address of the server, of a network file system"),
		truth(FieldVolatile, "whether the overlay is never synced"),
		truth(FieldNetwork, "whether it needs a server or a process that answers"),
	}},
	{Kind: KindMountRefused, About: "the kernel refused a mount with ENOSPC: the namespace has as many as it may have, or an overlay finds no room on its disk", IDs: ofLine, Fields: []FieldInfo{
		text(FieldError, "as written"),
	}},
	{Kind: KindMountDead, About: "whoever served a mount does so no more: every access fails, and none waits", IDs: ofLine, Fields: []FieldInfo{
		text(FieldPath, "that was asked for"),
		oneOf(FieldWhat, "the process behind it has ended, or the file server does not know it any more, or is not there", "disconnected", "stale", "down"),
	}},
	{Kind: KindFreeze, About: "a program freezes a file system for a backup or a snapshot, or thaws it", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldState, "what is done; failed where it could not be frozen", "frozen", "thawed", "failed"),
		text(FieldPath, "where it is mounted for that program; empty for all of the node"),
		oneOf(FieldProgram, "who does it, or shows it", "velero", "sudo", "qemu-ga", "dmsetup"),
	}},
	{Kind: KindVolumePending, About: "a CSI driver refuses a call, because an earlier one about the same volume has not ended", IDs: ofLine, Fields: []FieldInfo{
		text(FieldVolume, "as the driver names it"),
	}},
	{Kind: KindVolumeWalk, About: "the kubelet gives each file of a volume to the pod's group (fsGroup), and is not done", IDs: []Key{FieldPodUID, FieldPID}, Fields: []FieldInfo{
		text(FieldPath, "of the volume, as far as the line shows it"),
		text(FieldPlugin, "as kubernetes.io~csi"),
		oneOf(FieldWhat, "that it can be slow, or that it is not done within half a minute (Kubernetes 1.33 and later)", "begun", "late"),
		count(FieldCount, "the files to which it has come"),
	}},
	{Kind: KindEtcdTrouble, About: "etcd says that its disk, a request or its leader is late, or that it takes no more writes; or a client says that it has no answer of it", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldWhat, "what it writes to its disk before all else, a request of the API server, the leader's sign of life, the leader that is lost, a database that is full, an answer that fails or does not come, a port at which nobody listens, another member that is not reached, a read that waits for the leader, or a change that the API server waits for", "sync", "request", "heartbeat", "leader", "full", "unanswered", "gone", "peer", "read", "change"),
		length(FieldTook, "how long it took, where the line says it"),
		truth(FieldRestarting, "whether nobody listened while the control plane of the node began; absent otherwise"),
	}},
	{Kind: KindFileSystem, About: "a row of df", Fields: []FieldInfo{
		text(FieldTarget, "the mount point"),
		text(FieldSource, "what is mounted, instead of the input"),
		measure(FieldUsedPercent, "%", "how much of the space is used"),
		measure(FieldInodesPercent, "%", "how many of the inodes are used"),
	}},
	{Kind: KindContainerState, About: "a container or sandbox that a listing or the kubelet shows in a state that does not last, or should not", IDs: []Key{FieldPID, FieldContainer, FieldSandbox, FieldPod}, Fields: []FieldInfo{
		text(FieldState, "as printed: Dead, Removal In Progress, Unknown, CrashLoopBackOff, RUNNING, Running; or NotRunning"),
		truth(FieldExited, "whether its process is not there, as somebody who asked for it found, or another program has it as stopped; absent otherwise"),
		truth(FieldOverdue, "whether two other programs have it as stopped, one of them before this one was asked; absent otherwise"),
		text(FieldMethod, "exec where somebody was to enter it; absent otherwise"),
		text(FieldName, "of the container"),
	}},
	{Kind: KindDeviceLoad, About: "a block device that was busy all the time, or slow, as iostat or sar measured it", Fields: []FieldInfo{
		text(FieldDevice, "as nvme0n1"),
		measure(FieldUsedPercent, "%", "of the time with a request in the device"),
		measure(FieldAwait, "milliseconds", "for which a request waited, of reads or writes the longer"),
	}},
	{Kind: KindCgroup, About: "a cgroup that is frozen, or whose processes are counted", IDs: []Key{FieldContainer, FieldPodUID}, Fields: []FieldInfo{
		text(FieldPath, "of its directory"),
		truth(FieldFrozen, "whether it is frozen, or about to be"),
		text(FieldState, "of the freezer of cgroup v1, as FROZEN"),
		count(FieldPIDs, "its processes and threads"),
		{Key: FieldPIDsMax, Type: TypeNumber, Values: []string{"max"}, About: "how many it may have"},
		truth(FieldFull, "whether hardly any process or thread can be added; absent otherwise"),
		count(FieldForksRefused, "new processes and threads that the kernel refused it, at its limit; of version 1 and of an old kernel also those of its descendants"),
		count(FieldOOMKills, "of its processes the OOM killer has killed, since it was made"),
		count(FieldDying, "descendants that are removed and not yet freed"),
		count(FieldThrottled, "how often its CPU time was used up"),
		measure(FieldThrottledShare, "%", "the share of its periods in which it was"),
		measure(FieldCPUMax, "%", "of one CPU, which it may have at most"),
		text(FieldIOMax, "what it may read and write on one device, as 253:0 rbps=max wbps=307200 riops=max wiops=max"),
		text(FieldDaemon, "the container runtime or kubelet whose unit it is"),
	}},
}

var logKinds = []KindInfo{
	{
		Kind: KindLogLine, About: "a log line that a rule asks for by its text", Open: true,
		IDs: []Key{FieldContainer, FieldPod, FieldPID},
		Fields: []FieldInfo{
			text(FieldText, "the message, without headers"),
			text(FieldUnit, "the syslog identifier"),
			text(FieldError, "what the line gives as error or err"),
		},
	},
	{Kind: KindNoise, About: "a sort of line that looks alarming and is harmless here, once per file", IDs: ofLine, Fields: []FieldInfo{
		text(FieldName, "of the sort, as shim disconnected"),
		text(FieldWhy, "it is harmless"),
		count(FieldCount, "such lines in the file"),
		length(FieldLasted, "the longest run of them, where it is too long to be harmless"),
	}},
	{Kind: KindLoss, About: "lines are missing from a log, as the program that dropped them says", Fields: []FieldInfo{
		text(FieldOf, "whose lines they are, as kubelet; absent for anybody's"),
		oneOf(FieldReach, "where they are missing: in that file, or in every log of the node", "file", "node"),
		count(FieldMessages, "how many, where they are counted"),
		truth(FieldAnywhere, "whether they may be missing anywhere in the file"),
	}},
	{Kind: KindClockStep, About: "the wall clock was set", IDs: ofLine, Fields: []FieldInfo{
		length(FieldStep, "by how much, where the line says so; negative when set back"),
		truth(FieldBooting, "whether it was set within minutes of the machine's start, as is normal; absent otherwise"),
	}},
	{Kind: KindClockWrong, About: "the wall clock was found wrong, mostly by the program that keeps it", IDs: ofLine, Fields: []FieldInfo{
		length(FieldStep, "by how much it has to be set"),
		oneOf(FieldWhat, "what shows it, where its keeper does not say so; absent otherwise", "certificate"),
	}},
}

// commandKinds are what somebody met who asked a daemon at a prompt. The component of the event is
// the daemon.
var commandKinds = []KindInfo{
	{Kind: KindCommandHung, About: "a command that somebody gave up, or that was still running, because a daemon did not answer", IDs: ofContainer, Fields: []FieldInfo{
		text(FieldCommand, "as typed"),
		text(FieldProgram, "as docker"),
		length(FieldTook, "where time measured it"),
		truth(FieldTold, "whether somebody only says so, in words"),
		count(FieldCount, "containers or sandboxes for which it did not come back, where a loop counted them"),
		count(FieldOthersAnswered, "containers or sandboxes about which the same loop had an answer"),
	}},
	{Kind: KindCommandFailed, About: "a command whose daemon did not answer in time, could not be reached, or had too much to say", IDs: ofContainer, Fields: slices.Concat([]FieldInfo{
		text(FieldProgram, "as docker"),
		text(FieldError, "as printed"),
		truth(FieldDeadline, "whether it ran into its time limit"),
		truth(FieldRefused, "whether nobody listens at the socket, or it is not there"),
		text(FieldRuns, "the runtime whose process runs, by its log, although the file of its socket is not there; absent otherwise"),
	}, tooLarge)},
}

var collectKinds = []KindInfo{
	{
		Kind: KindCollectRPC, About: "a call of plegdiag collect to a daemon, or of crictl info; it is open when there was no answer",
		IDs: []Key{FieldContainer, FieldSandbox},
		Fields: []FieldInfo{
			oneOf(FieldAPI, "the protocol", "cri", "docker", "dbus"),
			text(FieldMethod, "as ContainerStatus"),
			truth(FieldAnswered, "whether there was an answer; a refusal is one"),
			text(FieldGone, "the daemon on whose socket nobody listens: the call was refused"),
			text(FieldEndpoint, "the socket"),
			length(FieldDeadline, "how long collect waits for the answer"),
			text(FieldError, "as returned"),
			length(FieldVersionTook, "how long the same daemon took for a call that needs no lock"),
			count(FieldOthersAnswered, "the same calls about other containers that had an answer, where this one had none"),
			truth(FieldMute, "whether nothing at that endpoint was answered; absent otherwise"),
			text(FieldMember, "of a method of D-Bus, as Ping"),
			truth(FieldNetwork, "of Status: whether the runtime's network is ready"),
			truth(FieldPrivate, "whether the endpoint is PID 1's own socket"),
		},
	},
	{Kind: KindCollectItem, About: "something that plegdiag collect could not get, or not completely", Fields: []FieldInfo{
		text(FieldItem, "its name in the bundle"),
		oneOf(FieldOutcome, "what happened; absent is told only of the socket of a runtime that runs", "timeout", "stuck", "denied", "failed", "capped", "absent"),
		text(FieldRuns, "the runtime whose process runs although collect found no file of its socket"),
		text(FieldWhy, "as collect wrote it"),
		text(FieldWchan, "the kernel function in which the reader waited"),
		kernelWaits,
		text(FieldDropped, "how many bytes are left out"),
	}},
}
