package event

import "slices"

// Kinds of the kubelet.
const (
	KindPLEGUnhealthy    Kind = "kubelet.pleg-unhealthy"
	KindRelistFailed     Kind = "kubelet.relist-failed"
	KindStall            Kind = "kubelet.stall"
	KindCRIError         Kind = "kubelet.cri-error"
	KindGCFailed         Kind = "kubelet.gc-failed"
	KindNodeNotReady     Kind = "kubelet.node-not-ready"
	KindNodeReady        Kind = "kubelet.node-ready"
	KindKubeletStart     Kind = "kubelet.start"
	KindRuntimeDown      Kind = "kubelet.runtime-down"
	KindChannelFull      Kind = "kubelet.channel-full"
	KindEventedFull      Kind = "kubelet.evented-channel-full"
	KindEventedBroken    Kind = "kubelet.evented-stream-broken"
	KindEventedError     Kind = "kubelet.evented-error"
	KindStatusHookFailed Kind = "kubelet.status-hook-failed"
	KindContainerDied    Kind = "kubelet.container-died"
	KindKillUnwanted     Kind = "kubelet.kill-unwanted"
	KindRestartWanted    Kind = "kubelet.restart-wanted"
	KindSyncLoop         Kind = "kubelet.sync-loop"
	KindSyncLoopLate     Kind = "kubelet.sync-loop-late"
	KindRelist           Kind = "kubelet.relist"
	KindSlowDU           Kind = "kubelet.slow-du"
	KindPIDPressure      Kind = "kubelet.pid-pressure"
	KindRuntimeOperation Kind = "kubelet.runtime-operation"
	KindPodRelist        Kind = "kubelet.pod-relist"
	KindPodRelistFailed  Kind = "kubelet.pod-relist-failed"
	KindRelistDropped    Kind = "kubelet.relist-request-dropped"
	KindWatchFailed      Kind = "kubelet.watch-failed"
	KindStartFailed      Kind = "kubelet.start-failed"
	KindAPIFailed        Kind = "kubelet.api-failed"
	KindCertificate      Kind = "kubelet.certificate"
	KindClientRefused    Kind = "apiserver.client-refused"
	KindNetworkNotReady  Kind = "kubelet.network-not-ready"
	KindPressure         Kind = "kubelet.pressure"
	KindPressureOver     Kind = "kubelet.pressure-over"
	KindEviction         Kind = "kubelet.eviction"
	KindImageFSFailed    Kind = "kubelet.image-fs-failed"
	KindImagesCleaned    Kind = "kubelet.image-gc-succeeded"
	KindVolumeFailed     Kind = "kubelet.volume-failed"
)

// Unnamed is what a request was for where its line does not say.
const Unnamed = "unnamed"

// criFailures are what the error of a failed call of the CRI says that it lacks: a part of the
// runtime, or what the network plugin of the pods (CNI) needs.
var criFailures = []string{
	"pause-image", "runtime-program", "runtime-helper", "runtime-handler", "cgroup-driver", "device-rules",
	"cni-no-daemon", "cni-silent", "cni-locked", "cni-killed", "cni-no-file", "cni-damaged-file", "cni-crashed", "cni-no-program", "cni-no-device", "cni-old-bridge",
	"cni-no-address", "cni-unauthorized", "cni-no-api-server",
}

const aboutCRIFailures = "why it failed, where the error names what the runtime or the CNI lacks; absent otherwise"

// tooLarge is what an error says of an answer that was larger than one side of grpc allows.
var tooLarge = []FieldInfo{
	measure(FieldSize, "bytes", "of an answer that was too large"),
	measure(FieldLimit, "bytes", "the largest answer that is allowed"),
	oneOf(FieldRefusedBy, "the side that refused the answer", "sender", "receiver"),
}

// lostRuntime is what an error says of a connection.
var lostRuntime = []FieldInfo{
	text(FieldGone, "the runtime on whose socket nobody listens"),
	truth(FieldNoFile, "whether the file of the socket is not there; absent otherwise"),
	text(FieldRuns, "the runtime whose process runs, and has been ready, although the file of its socket is not there; gone is absent then"),
	truth(FieldAlive, "whether a process of that runtime ran at the time of the call: it does not listen, and has not ended; absent otherwise"),
	truth(FieldCut, "whether the connection broke during the call"),
	truth(FieldUnready, "whether the runtime answered that it has not yet read the state of its containers"),
	truth(FieldRestarting, "whether that runtime was restarted at the time of the call and served again within seconds, or answered by itself that it has just begun, or the node's network had not begun yet; absent otherwise"),
}

// beginning is what each node meets that begins.
var beginning = truth(FieldRestarting, "whether the kubelet had just begun, and its node was Ready soon after; absent otherwise")

// PodStatus is the method of a failed call by which relist read one pod, PodSandboxStatus or
// ContainerStatus, where only the sync of the pod tells of it, which waits for relist's answer
// (Kubernetes 1.4 and later, pod_workers.go).
const PodStatus = "PodStatus"

var kubeletKinds = []KindInfo{
	{Kind: KindPLEGUnhealthy, About: "the sync loop refuses to work: PLEG is not healthy", IDs: ofLine, Fields: []FieldInfo{
		length(FieldAge, "since the last relist that succeeded"),
		length(FieldQuiet, "for how long the kubelet had written nothing before, where that is all of the age; absent otherwise"),
		length(FieldThreshold, "the age at which the kubelet complains"),
		truth(FieldNever, "whether no relist has succeeded yet"),
	}},
	{Kind: KindRelistFailed, About: "relist could not list the pods", IDs: ofLine, Fields: slices.Concat([]FieldInfo{
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether the call ran into its time limit"),
	}, tooLarge, lostRuntime)},
	{
		Kind: KindCRIError, About: "a CRI call that failed, as the kubelet saw it",
		IDs: []Key{FieldContainer, FieldSandbox, FieldPod, FieldPodUID, FieldPID},
		Fields: slices.Concat([]FieldInfo{
			text(FieldMethod, "of the call, as ListContainers"),
			text(FieldError, "as written"),
			truth(FieldDeadline, "whether the call ran into its time limit"),
			truth(FieldCaller, "whether only the caller's line tells of it, because the line of the CRI client is lost"),
			count(FieldCount, "the items of an answer that broke off in the middle"),
			truth(FieldNetwork, "whether it failed in the plugin of the pod's network (CNI); absent where it did not"),
			text(FieldPlugin, "of the CNI that failed, where the error names it, as cilium-cni"),
			oneOf(FieldReason, aboutCRIFailures, criFailures...),
			text(FieldStage, "at which CRI-O says that the request before stands, as container volume configuration"),
		}, tooLarge, lostRuntime),
	},
	{Kind: KindStall, About: "a stall, as the timeline computes it from the complaints", Fields: []FieldInfo{
		oneOf(FieldPhase, "the phase in which relist was stuck", "list", "pod", "unknown"),
		length(FieldThreshold, "the age at which the kubelet complains"),
	}},
	{Kind: KindNodeNotReady, About: "the node's Ready condition became false", IDs: ofLine, Fields: []FieldInfo{
		truth(FieldPLEG, "whether PLEG is given as the reason"),
		truth(FieldNever, "whether no relist has succeeded yet, as in a kubelet's first moments"),
		text(FieldReason, "of the condition, as the API gives it"),
		text(FieldMessage, "of the condition, as the kubelet gives it"),
		length(FieldAge, "since the last relist that succeeded, where PLEG is given as the reason"),
		length(FieldThreshold, "the age at which the kubelet complains"),
		truth(FieldOverdue, "whether the kubelet says that its node has not become ready for two minutes since its start; absent otherwise"),
	}},
	{Kind: KindNodeReady, About: "the node's Ready condition became true", IDs: ofLine},
	{Kind: KindKubeletStart, About: "a kubelet starts", IDs: ofLine},
	{Kind: KindRuntimeDown, About: "the kubelet finds no runtime", IDs: ofLine},
	{Kind: KindChannelFull, About: "relist drops events because nobody reads them (kubelet 1.14 and later)", IDs: ofLine},
	{Kind: KindEventedFull, About: "the event channel that both PLEGs share is full (Evented PLEG, kubelet 1.26 and later)", IDs: ofLine, Fields: []FieldInfo{
		count(FieldEvents, "in the channel"),
	}},
	{Kind: KindEventedBroken, About: "the event stream that Evented PLEG needs broke off", IDs: ofLine},
	{Kind: KindEventedError, About: "Evented PLEG could not read the status of a pod after an event of the runtime", IDs: ofLine},
	{Kind: KindStatusHookFailed, About: "dockershim could not ask for a pod's address", IDs: ofPod},
	{Kind: KindSyncLoop, About: "the sync loop inside one of its handlers, in a dump", IDs: ofGoroutine, Fields: slices.Concat([]FieldInfo{
		text(FieldHandler, "as HandlePodCleanups"),
	}, inDump, waitingFor)},
	{Kind: KindSyncLoopLate, About: "the kubelet says that its sync loop is late", IDs: ofLine, Fields: []FieldInfo{
		length(FieldTook, "how long its housekeeping took, where it was housekeeping"),
	}},
	{Kind: KindContainerDied, About: "PLEG reports that a container exited", IDs: []Key{FieldContainer, FieldPod, FieldPID}},
	{Kind: KindRelist, About: "the relist goroutine, in a dump", IDs: ofGoroutine, Fields: slices.Concat([]FieldInfo{
		oneOf(FieldPhase, "what relist was doing: it lists, asks about one pod, or sends events", "list", "pod", "send", "unknown"),
	}, inDump, waitingFor, endOfChain, []FieldInfo{
		text(FieldPodPtr, "address of the pod's uid"),
		truth(FieldMoved, "whether another dump of the same stall shows it at another pod"),
	})},
	{Kind: KindGCFailed, About: "the garbage collection of containers failed", IDs: ofLine, Fields: slices.Concat([]FieldInfo{
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether a call ran into its time limit"),
	}, tooLarge, lostRuntime)},
	{
		Kind: KindKillUnwanted, About: "the sync of a pod kills a container that must not go on as it is",
		IDs:    []Key{FieldContainer, FieldPod, FieldPID},
		Fields: []FieldInfo{text(FieldName, "of the container")},
	},
	{Kind: KindRestartWanted, About: "the kubelet has a reason of its own to kill a container: a failed probe, a changed definition", IDs: ofPod},
	{Kind: KindSlowDU, About: "cAdvisor measures how much directories hold", IDs: ofLine, Fields: []FieldInfo{
		text(FieldDirs, "the directories"),
		length(FieldTook, "how long it took, as the line says it"),
	}},
	{Kind: KindPIDPressure, About: "the kubelet finds the node short of process ids", IDs: ofLine},
	{Kind: KindRuntimeOperation, About: "the kubelet's calls of one type since it started, by its metrics", Fields: []FieldInfo{
		text(FieldOperation, "the type, as list_containers"),
		count(FieldCount, "the calls"),
		count(FieldErrors, "those that failed"),
		measure(FieldMeanSeconds, "seconds", "of a call, on average"),
		measure(FieldP99Seconds, "seconds", "within which 99 of 100 calls ended: the upper bound of that bucket"),
	}},
	{Kind: KindPodRelist, About: "PLEG begins to inspect one pod that was asked for (kubelet 1.36 and later, at -v=5)", IDs: ofPodUID},
	{Kind: KindPodRelistFailed, About: "PLEG could not inspect one pod that was asked for (kubelet 1.36 and later)", IDs: ofPodUID, Fields: slices.Concat([]FieldInfo{
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether a call ran into its time limit"),
	}, tooLarge, lostRuntime)},
	{Kind: KindRelistDropped, About: "PLEG drops a request to inspect a pod because 200 of them wait (kubelet 1.36 and later)", IDs: ofPodUID},
	{Kind: KindWatchFailed, About: "cAdvisor, inside of the kubelet, could not ask the runtime about a new cgroup", IDs: ofContainer, Fields: slices.Concat([]FieldInfo{
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether a call ran into its time limit"),
		text(FieldCgroup, "the cgroup"),
	}, lostRuntime)},
	{Kind: KindStartFailed, About: "the kubelet, or the program that holds it, ends: mostly because it refuses its configuration or its node; with the reason internal it runs on without one of its parts", IDs: ofLine, Fields: slices.Concat([]FieldInfo{
		oneOf(FieldReason, "what it refuses, or cannot do without", startFailures...),
		text(FieldError, "as written"),
	}, lostRuntime)},
	{Kind: KindAPIFailed, About: "a request of the kubelet to the API server that failed", IDs: ofPod, Fields: []FieldInfo{
		oneOf(FieldWhat, "what the request was for; the lease by which a controller leads; or the datastore of the API server, which answers late; unnamed where the line does not say what for", "lease", "node-status", "register", "node", "watch", "pod-status", "event", "csinode", "tunnel", "join", "lock", "datastore", Unnamed),
		oneOf(FieldReason, "why it failed", apiFailures...),
		text(FieldServer, "host and port of the API server"),
		text(FieldPath, "of the request, or the type of the objects that are watched, as v1.Service, where the line has no path"),
		text(FieldNode, "that the request is about, as its path names it"),
		text(FieldHow, "the same reason in words, where the error tells one; absent otherwise"),
		text(FieldError, "as written"),
		beginning,
	}},
	{Kind: KindCertificate, About: "the kubelet's certificate, or one of the control plane, is expired or missing, or cannot be renewed", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldWhat, "what is wrong with it", "expired", "missing", "rotation"),
		oneOf(FieldOf, "which of its two: the one that it shows to the API server, or the one of its own server; or one of the control plane", "client", "server", "control-plane"),
		text(FieldSince, "when it expired, as written"),
		text(FieldPath, "the file that holds it"),
		oneOf(FieldReason, "why it could not be renewed", apiFailures...),
		text(FieldServer, "host and port of the API server"),
		text(FieldError, "as written"),
		beginning,
	}},
	{Kind: KindClientRefused, About: "the API server refuses a client whose certificate is expired; which one is not said", IDs: ofLine, Fields: []FieldInfo{
		text(FieldError, "as written"),
	}},
	{Kind: KindNetworkNotReady, About: "the runtime says that its network is not ready, or finds no configuration of CNI", IDs: ofLine, Fields: []FieldInfo{
		text(FieldReason, "as the runtime gives it; no-config and reload-failed where it finds no configuration of CNI, or cannot load one that was changed"),
		text(FieldMessage, "as the runtime gives it"),
		truth(FieldCaller, "whether the sync of a pod says so, which waits for it; absent otherwise"),
		truth(FieldAnswered, "whether it is the runtime's own answer to crictl info; absent otherwise"),
		truth(FieldTold, "whether it stands without time and writer, as people quote it; absent otherwise"),
		beginning,
	}},
	{Kind: KindPressure, About: "the kubelet reports pressure as a condition of its node", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldOf, "what the node is short of; of process ids kubelet.pid-pressure tells", "disk", "memory"),
		oneOf(FieldWhat, "begins: a change; lasts: what the eviction manager observes at each of its turns", "begins", "lasts"),
	}},
	{Kind: KindPressureOver, About: "the kubelet reports that its node has no pressure any more", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldOf, "what the node is not short of", "disk", "memory"),
	}},
	{Kind: KindEviction, About: "the kubelet's eviction manager acts", IDs: ofPod, Fields: []FieldInfo{
		oneOf(FieldWhat, "what it does: it wants a resource back, must evict pods for it, has evicted one, finds none to evict, or takes on none", "reclaim", "must-evict", "evicted", "none-left", "refused"),
		text(FieldOf, "the resource, as ephemeral-storage"),
	}},
	{Kind: KindImageFSFailed, About: "the kubelet cannot read or clean the file system of the images", IDs: ofLine, Fields: []FieldInfo{
		oneOf(FieldWhat, "what failed", "read", "collect"),
		truth(FieldAgain, "whether it had failed before: the first time is normal while a kubelet starts"),
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether a call ran into its time limit"),
	}},
	{Kind: KindVolumeFailed, About: "the kubelet could not mount or unmount a volume, because its driver did not answer, or is still at it", IDs: ofPod, Fields: []FieldInfo{
		text(FieldOperation, "as MountVolume.SetUp"),
		text(FieldName, "of the volume"),
		text(FieldPlugin, "as kubernetes.io/csi/ebs.csi.aws.com, where the line names it"),
		text(FieldError, "as written"),
		truth(FieldDeadline, "whether a call ran into its time limit"),
	}},
	{Kind: KindImagesCleaned, About: "the kubelet could read and clean the file system of the images, mostly after it could not", IDs: ofLine},
}

// startFailures are the reasons for which a kubelet does not start, as far as its error shows them.
var startFailures = []string{
	"descriptors", "cgroup-v1", "cgroup-missing", "swap", "cgroup-driver", "flag", "certificate", "config", "state", "cri", "runtime", "port", "disk", "memory",
	"cgroup", "rbac", "setup", "internal", "other",
}

// apiFailures are the reasons for which a request to the API server fails: nobody listens, no
// answer in time, no way to it, the name cannot be resolved, the connection broke, a certificate is
// not accepted, the client is not known or may not do this, the object is not there, the server
// fails itself, its etcd or a webhook that it asks; or the program that gives the client its
// credentials; or the cloud provider that a kubelet up to 1.5 asks before. Where a pager cut the
// line, no more may be known than that there was no answer.
var apiFailures = []string{
	"refused", "timeout", "no-route", "dns", "cut", "cut-off", "certificate", "unauthorized", "node-password", "forbidden", "not-found", "server",
	"etcd", "webhook", "credentials", "cloud", "other",
}
