// Package kubelet knows what the kubelet writes, and the API server of what the kubelet asks it.
package kubelet

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/crash"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/repeated"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// Table is what the kubelet says, of Kubernetes 1.5 to 1.37. Up to 1.20 lines are prose, from 1.21
// on they are "message" key="value"; severity of the skip line changed from I to E between 1.16 and
// 1.18.
var Table = table.Table{
	Component: "kubelet",
	Rows: []table.Row{
		{[]string{"PLEG is not healthy"}, PLEGUnhealthy},
		{[]string{"Unable to retrieve pods"}, relistFailed},
		{[]string{"Unable to retrieve pod"}, podRelistFailed},
		{[]string{"Relist request channel full"}, relistDropped},
		{[]string{"GenericPLEG: Relisting Pod"}, podRelist},
		{
			[]string{
				"from runtime service failed", "from image service failed", "PodSandboxStatus of sandbox",
				"s recv failed",
			},
			criError,
		},
		{spellings(callerErrors), callerError},
		{[]string{"Error syncing pod"}, syncError},
		{[]string{"failed to setup network for sandbox", "failed to destroy network for sandbox"}, networkError},
		{[]string{"PLEG: Ignoring events for pod", "getPodContainerStatuses for pod", "failed reinspection"}, inspectError},
		{[]string{"Node became not ready", "NodeNotReady", "Node not becoming ready in time"}, nodeNotReady},
		{[]string{"NodeReady", "Node became ready", "status as it just became ready"}, nodeReady},
		{[]string{"Started kubelet", "Starting kubelet main sync loop"}, kubeletStart},
		{[]string{"LastHeartbeatTime:"}, kubeletStartByAge},
		{[]string{"ontainer garbage collection failed", "ContainerGCFailed"}, gcFailed},
		{[]string{"ontainer runtime is down", "container runtime is not up"}, table.Says(event.KindRuntimeDown, "container runtime is down")}, // ≤ 1.2: not up
		{[]string{"untime not ready"}, runtimeNotReady},
		{[]string{"Condition Ready of node "}, nodeOfTest},
		{[]string{"vent channel is full"}, table.Says(event.KindChannelFull, "the PLEG event channel is full")},
		{[]string{"EventedPLEG: pleg event channel capacity is full"}, EventedFull},
		// The stream of container events broke off. At level 4 and, from 1.33 on, as an error:
		//	"Evented PLEG: Failed to get container events, retrying: " err="…"
		//	"Fall back to Generic PLEG relisting since Evented PLEG is not working"
		// From 1.37 on Evented PLEG only asks for relists, and goes without the stream:
		//	"Evented PLEG: failed to get container events, retrying" err="…"
		//	"Evented PLEG: disabling container-termination fast path after exhausting event stream retries" err="…" retries=5
		{
			[]string{"ailed to get container events", "Fall back to Generic PLEG", "disabling container-termination fast path"},
			table.Says(event.KindEventedBroken, "the runtime's stream of events broke off", "Evented PLEG"),
		},
		// kubelet's evented.go, with the gate on:
		//	"Evented PLEG: Get cache" err="…" podID="…"
		//	"Evented PLEG: error generating pod status from the received event" err="…" podUID="…"
		{
			[]string{"Evented PLEG: Get cache", "Evented PLEG: error generating pod status"},
			table.Says(event.KindEventedError, "Evented PLEG could not read the status of a pod"),
		},
		{[]string{"Observed a panic"}, observedPanic},
		{[]string{"syncloop failed", "Housekeeping took longer than"}, syncLoopLate},
		{[]string{"failed on the status hook for pod"}, statusHookFailed},
		{[]string{"Error adding ", "Error deleting "}, networkPluginFailed},
		{[]string{"ContainerDied"}, containerDied},
		{[]string{"Killing unwanted container"}, killUnwanted},
		{[]string{"will be restarted"}, restartWanted},
		// the prefilter does not look into klog's header, JSON has the caller in the line
		{[]string{"cpumanager] starting with", "Starting CPU manager", " policy=", "cpu_manager.go"}, cpuManager},
		{[]string{"cpumanager] reconciling every", "reconcilePeriod"}, reconcilePeriod},
		{[]string{"memorymanager] starting with", "Starting memorymanager", " policy=", "memory_manager.go"}, memoryManager},
		{[]string{"kubeletVersion", "Kubelet version"}, kubeletVersion},
		{[]string{"attempting to reclaim", "HasInsufficientPID"}, pidPressure},
		{[]string{"pid.available"}, pidsAvailable},
		{[]string{"on following dirs took ", "] due to timeout"}, slowDU},
		{[]string{"FLAG: --"}, kubeletFlag},
		{[]string{"Container Manager object based on Node Config"}, cgroupDriver},
		{[]string{"Specifies interval for kubelet to calculate and cache the vol"}, usagePrinted},
		{[]string{"ailed to run Kubelet", "Failed to run kubelet", "command failed", "Failed to start ContainerManager", "remove policy state file", "Failed to start cAdvisor", "Failed to listen and serve", "initialize internal modules", "ailed to initialize CSINode after retrying", "initialize CSINodeInfo after retrying", "start OOM watcher", "ailed to load Kubelet config file", "unable to load client CA file", "unknown flag: --", "parse kubelet flag: ", "kubelet exited: "}, startFailed},
		{[]string{"level=fatal", "leaderelection lost"}, embedderEnds},
		{[]string{"Shutdown manager detected new shutdown event", "Shutdown manager processing shutdown event", "Shutdown manager completed processing"}, nodeShutdown},
		{[]string{"on a host using cgroup v1", "cgroup v1 detected", "roup v1 support is in maintenance mode"}, cgroupV1},
		{runtimeTexts, runtimeFound},
		{runtimeTexts, runtimeVersion},
		{spellings(apiRequests), apiFailed},
		{spellings(certificateLines), certificateFailed},
		{[]string{"Certificate expiration is ", "Certificate rotation deadline determined"}, certificateExpires},
		{[]string{"untime network not ready", "Unable to update cni config"}, networkNotReady},
		{[]string{"NodeHasDiskPressure", nodeConditions}, nodePressure("disk", "DiskPressure")},
		{[]string{"NodeHasNoDiskPressure"}, pressureOver("disk")},
		{[]string{"NodeHasSufficientMemory"}, pressureOver("memory")},
		{[]string{"NodeHasInsufficientMemory", nodeConditions}, nodePressure("memory", "NodeHasInsufficientMemory", "MemoryPressure")},
		{spellings(evictions), eviction},
		{[]string{"mage garbage collection failed", "ailed to get imageFs"}, imageFSFailed},
		// only after a failure, or at level 4
		{[]string{"mage garbage collection succeeded"}, table.Says(event.KindImagesCleaned, "the kubelet can read and clean the file system of the images")},
		{[]string{"No retries permitted until ", "MountVolume.SetUp failed for volume ", "MountVolume.MountDevice failed for volume "}, volumeFailed},
		{[]string{"Setting volume ownership for "}, volumeWalk},
		{[]string{"Failed to process watch event", "Failed to create existing container"}, cadvisorWatchFailed},
		{[]string{" not found"}, nodeUnknown},
		{[]string{"no default routes found"}, noDefaultRoute},
		{[]string{"dial tcp "}, dialFailed},
		{[]string{" perf counter data; err: ", "network win-bridge/", "network win-overlay/"}, onWindows},
		table.Crash,
	},
}

// onWindows is a kubelet whose node has Windows, which it shows by what it measures only there
// (pkg/kubelet/winstats), or by a network plugin:
//
//	perfcounter_nodestats.go:171] Unable to get cpu perf counter data; err: unable to collect data from counter. Error code is 800007d6
//	cni.go:366] Error adding shop_web-1/<id> to network win-bridge/l2bridge: …
func onWindows(*event.Record) (event.Event, bool) { return facts.New("os.name", "Windows") }

// runtimeTexts stand in the line about the runtime that a kubelet found: old, and from 1.21 on.
var runtimeTexts = []string{" initialized, version: ", "Container runtime initialized"}

// PLEGUnhealthy makes the event of a complaint about PLEG. Its spellings:
//
//	≤ 1.20  skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 3m0.1s ago; threshold is 3m0s]
//	≥ 1.21  "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m0.1s ago; threshold is 3m0s"
//	≥ 1.13  … pleg has yet to be successful
//	≤ 1.12  … last seen active 2562047h47m16.854775807s ago (the zero time)
//	any     … PLEG is not healthy: pleg was last seen act>      (of a pager; systemctl status has … or ...)
func PLEGUnhealthy(r *event.Record) (event.Event, bool) {
	text := r.Message()
	if strings.Contains(r.Raw, "Node became not ready") || strings.Contains(text, "setters.go") {
		return event.Event{}, false // the condition line repeats the message
	}
	if s := table.ErrorOf(r); strings.Contains(s, "PLEG is not healthy") {
		text = s
	}
	e := event.New(event.KindPLEGUnhealthy, "PLEG is not healthy")
	age, ok := scan.Duration(text, "last seen active ", " ago")
	if age > event.LongestSpan || strings.Contains(text, "pleg has yet to be successful") {
		e.Fields = []event.Field{event.FieldNever.Bool(true)}
		e.Text = "no relist has succeeded since the kubelet started"
		return e, true
	}
	if !ok { // cut at the width of a terminal
		return e, strings.Contains(text, "PLEG is not healthy: pleg was last ")
	}
	e.Fields = []event.Field{event.FieldAge.Duration(age)}
	if r.Quiet > age-time.Second && r.Quiet < age+time.Minute {
		e.AddFields(event.FieldQuiet.Duration(r.Quiet))
	}
	e.AddFields(PLEGThreshold(text)...)
	e.Text = "PLEG was last seen active " + age.String() + " ago"
	return e, true
}

// PLEGThreshold is the threshold that a complaint about PLEG names: "threshold is 3m0s", and what
// ends the sentence.
func PLEGThreshold(text string) []event.Field {
	threshold, ok := scan.Duration(text, "threshold is ", "")
	if !ok {
		return nil
	}
	return []event.Field{event.FieldThreshold.Duration(threshold)}
}

func relistFailed(r *event.Record) (event.Event, bool) {
	reason := cmp.Or(table.ErrorOf(r), r.Message())
	e := event.New(event.KindRelistFailed, "relist could not list the pods", table.ErrorFields(reason)...)
	e.AddFields(repeated.TooLarge(reason)...)
	e.AddFields(repeated.LostRuntime(reason)...)
	sayGone(&e)
	return e, true
}

// sayGone adds to the text of a failed call that nobody was there to answer it, or nobody who was
// ready to.
func sayGone(e *event.Event) {
	switch name := e.FieldText(event.FieldGone); {
	case e.FieldText(event.FieldUnready) == "true":
		e.Text += ": containerd has not read the state of its containers yet"
	case e.FieldText(event.FieldNoFile) == "true":
		e.Text += ": the file of the socket of " + name + " is not there"
	case name != "":
		e.Text += ": nobody listens on the socket of " + name
	}
}

// gcFailed is the kubelet's garbage collection without a list to work on:
//
//	"Container garbage collection failed" err="rpc error: …"                       (the kubelet's log, quoted from 1.21 on)
//	Warning  ContainerGCFailed  119s (x2523 over 42h)  kubelet  rpc error: …       (events of the node)
//	Warning  ContainerGCFailed  …  {kubelet node-1}  operation timeout: context deadline exceeded      (with docker itself)
func gcFailed(r *event.Record) (event.Event, bool) {
	reason := cmp.Or(table.ErrorOf(r), scan.After(r.Message(), "rpc error: "))
	if timedOut := scan.After(r.Message(), "ContainerGCFailed ", "garbage collection failed: "); reason == "" && table.IsDeadline(timedOut) {
		reason = timedOut
	}
	e := event.New(event.KindGCFailed, "the kubelet could not collect dead containers", table.ErrorFields(reason)...)
	e.AddFields(repeated.TooLarge(reason)...)
	e.AddFields(repeated.LostRuntime(reason)...)
	return e, reason != ""
}

// criError: remote_runtime.go's own lines, and kuberuntime's for the sandbox status:
//
//	≤ 1.20  ListContainers with filter &ContainerFilter{…} from runtime service failed: rpc error: …
//	        ContainerStatus "<id>" from runtime service failed: …
//	        PodSandboxStatus of sandbox "<id>" for pod "<p>" error: …
//	≥ 1.21  "ListContainers with filter from runtime service failed" err="…" filter="…"
//	        "ContainerStatus from runtime service failed" err="…" containerID="<id>"
//	        "PodSandboxStatus of sandbox for pod" err="…" podSandboxID="<id>" pod="…"
//	        "Version from runtime service failed" err="…"; "Get ImageStatus from image service failed" err="…" image="…"
//	≥ 1.36  "StreamPodSandboxes from runtime service failed" err="…"; "StreamContainers recv failed" err="…" itemsReceived=512
//	        (with the gate CRIListStreaming: the answer broke off in the middle)
//
// Its caller is remote_runtime.go, from 1.31 to 1.35 log.go.
func criError(r *event.Record) (event.Event, bool) {
	text := r.Message()
	method := ""
	for _, m := range repeated.CRIMethods {
		if strings.HasPrefix(strings.TrimLeft(text, `" `), m) || strings.Contains(text, "] "+m) ||
			strings.Contains(text, "Get "+m) {
			method = m
			break
		}
	}
	if method == "" {
		return event.Event{}, false
	}
	return failedCall(r, method)
}

// lostRuntime says of the error of a call that the runtime cannot be reached. One that the runtime
// answers with may be of a daemon that it needs itself, whose socket is no runtime's:
//
//	rpc error: code = Unavailable desc = failed to create containerd container: failed to stat snapshot …: connection error: … dial unix /run/containerd-nydus/containerd-nydus-grpc.sock: connect: connection refused
func lostRuntime(reason string) []event.Field {
	fields := repeated.LostRuntime(reason)
	answered := strings.Contains(reason, " desc = failed to ")
	if len(fields) > 0 && fields[0].Key == event.FieldGone && answered && !daemon.IsRuntime(fields[0].Value.Text()) {
		return nil
	}
	return fields
}

// runtimeNotReady is the runtime's own condition, which the kubelet repeats every 5 s:
//
//	≤ 1.20  Container runtime not ready: RuntimeReady=false reason:DockerDaemonNotReady message:docker: failed to get docker version: Cannot connect to the Docker daemon at …
//	≥ 1.21  "Container runtime not ready" runtimeReady="RuntimeReady=false reason:ContainerdNotReady message:containerd is not ready"
func runtimeNotReady(r *event.Record) (event.Event, bool) {
	text := r.Value("runtimeReady")
	if text == "" {
		text = scan.After(r.Message(), "ontainer runtime not ready: ")
	}
	if strings.Contains(r.Raw, "ode became not ready") || strings.Contains(r.Raw, "NetworkReady=false") {
		return event.Event{}, false // a list of all that is not ready
	}
	return RuntimeNotReady(text)
}

// RuntimeNotReady makes the event of a runtime's condition, as it stands behind "container runtime
// not ready: ". With dockershim it is a call of docker that failed.
func RuntimeNotReady(text string) (event.Event, bool) {
	if !strings.HasPrefix(text, "RuntimeReady=false") {
		return event.Event{}, false
	}
	message := scan.After(text, " message:")
	message, _, _ = strings.Cut(message, ", container runtime ")
	lost := repeated.LostRuntime(message)
	if len(lost) == 0 && !table.IsDeadline(message) {
		return event.New(event.KindRuntimeDown, "the runtime says that it is not ready: "+message), true
	}
	e := event.New(event.KindCRIError, "Status failed", event.FieldMethod.Text("Status"))
	e.AddFields(table.ErrorFields(message)...)
	e.AddFields(lost...)
	if table.IsDeadline(message) {
		e.Text = "Status ran into its deadline"
	}
	sayGone(&e)
	return e, true
}

// networkNotReady is the runtime's other condition, and what the kubelet makes of it: its own line
// begins with a capital, or is quoted. The message of its node's condition Ready does not; people
// quote it without the condition around it:
//
//	≤ 1.17  runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized
//	≥ 1.18  container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized
func networkNotReady(r *event.Record) (event.Event, bool) {
	e, ok := repeated.NetworkNotReady(r)
	if r.Unit != "" || r.PID != 0 || r.Time.Known || scan.ContainsAny(r.Text, []string{"network is not ready: ", "LastHeartbeatTime", "KubeletNotReady"}) {
		return e, ok
	}
	_, told, alone := strings.Cut(r.Text, "runtime network not ready: NetworkReady=false reason:")
	if !alone || strings.Contains(r.Text, "ontainer runtime ") && !strings.Contains(r.Text, "container runtime ") {
		if strings.Contains(r.Raw, "etwork not ready") {
			e.AddFields(event.FieldTold.Bool(true))
		}
		return e, ok
	}
	message := "container runtime network not ready: NetworkReady=false reason:" + told
	return event.New(
		event.KindNodeCondition, "condition Ready is False: "+message, event.FieldCondition.Text("Ready"), event.FieldStatus.Text("False"),
		event.FieldMessage.Text(message),
	), true
}

// NetworkNotReady makes the event of a runtime's other condition, as it stands behind "container
// runtime network not ready: ".
func NetworkNotReady(text string) (event.Event, bool) {
	return repeated.NetworkNotReady(&event.Record{Text: text})
}

// nodeOfTest is the node that a test of Kubernetes waits for:
//
//	Condition Ready of node minion-1 is false instead of true. Reason: KubeletNotReady, message: container runtime is down
func nodeOfTest(r *event.Record) (event.Event, bool) {
	name, found := scan.Between(r.Message(), "Condition Ready of node ", " is ")
	if !found || strings.ContainsAny(name, ` "`) {
		return event.Event{}, false
	}
	return facts.New("node.name", name)
}

// failedCall is a call of the CRI that the kubelet says has failed. One that the runtime has not is
// no failure.
func failedCall(r *event.Record, method string) (event.Event, bool) {
	text := r.Message()
	reason := cmp.Or(table.ErrorOf(r), rpcError(text), scan.After(text, " failed: ", " before removing: ", `RunContainerError: "`, `": `, " error: "))
	call := method
	if method == event.PodStatus {
		call = "a call by which relist reads a pod"
	}
	e := event.New(event.KindCRIError, call+" failed")
	plugin := repeated.NetworkPlugin(reason)
	ofCall, _, _ := strings.Cut(reason, `plugin type=`)
	late := (table.IsDeadline(text) || table.IsDeadline(reason)) && !repeated.IsGuestMute(reason) &&
		(plugin == "" || strings.Contains(ofCall, "code = DeadlineExceeded"))
	e.Fields = []event.Field{event.FieldMethod.Text(method), event.FieldError.Text(reason), event.FieldDeadline.Bool(late)}
	e.AddFields(repeated.FailureReason(method, reason)...)
	e.AddText(event.FieldStage, repeated.CreateStage(reason))
	if plugin != "" || scan.ContainsAny(reason, networkFailures) {
		e.AddFields(event.FieldNetwork.Bool(true))
		e.AddText(event.FieldPlugin, plugin)
	}
	e.AddNumber(event.FieldCount, r.Value("itemsReceived"))
	e.AddFields(repeated.TooLarge(reason)...)
	if plugin == "" { // else it is the plugin that has lost its daemon
		e.AddFields(lostRuntime(reason)...)
	}
	quoted, _ := scan.Between(text, `"`, `"`)
	e.IDs.Container = cmp.Or(
		scan.ContainerID(r.Value("podSandboxId", "podSandboxID", "sandboxID", "containerID")), scan.ContainerID(quoted),
		scan.ContainerID(scan.FirstWord(scan.After(text, "ExecSync "))), // up to 1.20 without quotes
	)
	if method == "PodSandboxStatus" || method == "StopPodSandbox" {
		e.IDs.Sandbox, e.IDs.Container = e.IDs.Container, ""
	}
	e.IDs.Pod = podOf(r)
	if late {
		e.Text = call + " ran into its deadline"
	}
	sayGone(&e)
	if strings.Contains(reason, noService) {
		e.Text = call + " failed: the runtime does not serve the CRI, or not that version of it"
		return e, true
	}
	return e, !strings.Contains(reason, "code = Unimplemented")
}

// noService begins the answer of a runtime of which a whole service is asked that it does not have:
//
//	rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService
const noService = "unknown service runtime."

// networkFailures are what dockershim and kubenet, containerd and CRI-O write before the error of a
// pod's network plugin.
var networkFailures = []string{
	"etworkPlugin cni failed", "etworkPlugin kubenet failed", "failed to setup network for sandbox", "failed to destroy network for sandbox",
	"failed to create pod network sandbox", "failed to destroy network for pod sandbox", `plugin type="`,
}

// rpcError is the error of a call in a text that ends with it; empty without one.
func rpcError(text string) string {
	if i := strings.Index(text, "rpc error: "); i >= 0 {
		return text[i:]
	}
	return ""
}

// AppendFailedCall appends the event of a call of the CRI that an Event of the API says has failed;
// reason is its message, which names another call where the kubelet got no further than that. It
// appends nothing when the message shows no failure of the CRI.
func AppendFailedCall(dst []event.Event, method, reason, pod string, at event.Time, quotes []event.Quote) []event.Event {
	if strings.Contains(reason, "failed to reserve ") {
		r := event.Record{Text: reason, Raw: reason, Time: at}
		if e, ok := repeated.NameReserved(&r); ok {
			e.Component, e.Source = "kubelet", facts.Kubernetes
			e.Start, e.Evidence, e.Level = at, quotes, event.Warning
			return append(dst, e)
		}
	}
	if !strings.Contains(reason, "rpc error: ") && !table.IsDeadline(reason) && repeated.FailureReason(method, reason) == nil {
		return dst
	}
	if strings.Contains(reason, "KillContainerError") && !strings.Contains(reason, "KillPodSandboxError") {
		method = "StopContainer"
	}
	r := event.Record{Text: reason, Fields: []event.Pair{{Key: "err", Value: reason}, {Key: "pod", Value: pod}}}
	e, ok := failedCall(&r, method)
	if !ok {
		return dst
	}
	e.IDs.Container, e.Component, e.Source = "", "kubelet", facts.Kubernetes
	e.Start, e.Evidence, e.Level = at, quotes, event.Warning
	return append(dst, e)
}

// spelling is a text of some releases and what it is about; a saying also has its words in a
// report.
type (
	spelling struct{ text, what string }
	saying   struct{ text, what, says string }
)

func (s spelling) literal() string { return s.text }
func (s saying) literal() string   { return s.text }

// spellings are the texts of some rows.
func spellings[T interface{ literal() string }](rows []T) (all []string) {
	for _, r := range rows {
		all = append(all, r.literal())
	}
	return all
}

// callerErrors are what callers of a remote client say of its error, right after the client's own
// line where that was not lost:
//
//	≤ 1.20  ListPodSandbox failed: rpc error: …; ListContainers failed: rpc error: …; Container runtime sanity check failed: rpc error: …
//	        [cpumanager] reconcileState: failed to update container (pod: p, container: c, container id: <id>, cpuset: "0-1", error: …)
//	        [cpumanager] reconcileState: failed to add container (pod: p, container: c, container id: <id>, error: …), whose CPUs it sets
//	        Container "docker://<id>" termination failed with gracePeriod 30: rpc error: …
//	≥ 1.21  "Failed to list pod sandboxes" err="…"; "ListContainers failed" err="…"; "Container runtime sanity check failed" err="…"
//	        "ReconcileState: failed to update container" err="…" pod="ns/p" containerName="c" containerID="<id>" cpuSet="0-1"
//	        "Container termination failed with gracePeriod" err="…" pod="ns/p" … containerID="containerd://<id>" gracePeriod=30
//	        "Failed to get pod stats" err="failed to list all containers: rpc error: …"
//	all     Failed cleaning pods: rpc error: …; "Failed cleaning pods" err="rpc error: …"
//	≥ 1.35  "failed to update container" err="…" pod="ns/p" …
//	≥ 1.36  no "Failed to list pod sandboxes" and no "ListContainers failed" any more: one pod is inspected without a list
//
// Of sandboxes: Failed to stop sandbox "<id>" before removing: rpc error: … (kuberuntime_gc.go);
// Failed to stop sandbox "<id>": operation timeout: context deadline exceeded (dockershim, ≤ 1.23);
// "Failed to create sandbox for pod" err="rpc error: …" pod="ns/p". Of probes (prober.go), which do
// not name the container's id: Readiness probe for "p_ns(<uid>):c" errored: rpc error: …;
// "Probe errored" err="rpc error: …" probeType="Readiness" pod="ns/p" … containerName="c".
var callerErrors = []spelling{
	{"Failed to list pod sandboxes", "ListPodSandbox"},
	{"ListPodSandbox failed", "ListPodSandbox"},
	{"ListContainers failed", "ListContainers"},
	{"getKubeletContainers failed", "ListContainers"},
	{"ailed to list all containers", "ListContainers"},    // for the summary of resources
	{"ailed to list containers: ", "ListContainers"},      // for the rotation of logs
	{"Failed to get container status", "ContainerStatus"}, // the same
	{"Failed to list images", "ListImages"},
	{"ListImages failed", "ListImages"},
	{"Failed to update image list", "ListImages"}, // for the collection of images
	{"Failed cleaning pods", "ListPodSandbox"},    // housekeeping, which begins with what relist begins with
	{"Container runtime sanity check failed", "Status"},
	{"ailed to update container", "UpdateContainerResources"},
	{"econcileState: failed to add container", "UpdateContainerResources"},
	{"ontainer termination failed", "StopContainer"},
	{" termination failed with gracePeriod ", "StopContainer"}, // up to 1.18
	{"Failed to stop sandbox", "StopPodSandbox"},
	{"Failed to create sandbox for pod", "RunPodSandbox"},
	{"CreatePodSandbox for pod", "RunPodSandbox"},
	{"container start failed: RunContainerError: ", "StartContainer"}, // docker_manager.go, up to 1.6
	{"Failed to create docker container", "CreateContainer"},          // the same
	{"Failed to create pod infra container", "RunPodSandbox"},         // the same
	{"killContainer ", "StopContainer"},                               // kuberuntime_container.go, up to 1.20
	{"Kill container failed", "StopContainer"},                        // the same, after it
	{"Probe errored", "ExecSync"},
	{" errored: rpc error: ", "ExecSync"}, // up to 1.20
}

// callerError is an error of the CRI in the words of whoever made the call; the timeline joins it
// with the client's.
func callerError(r *event.Record) (event.Event, bool) {
	failure := table.ErrorOf(r)
	for _, c := range callerErrors {
		if !strings.Contains(r.Message(), c.text) && !strings.Contains(failure, c.text) {
			continue
		}
		if c.text == "Failed cleaning pods" && !strings.Contains(r.Raw, "rpc error: ") { // it also cleans cgroups
			return event.Event{}, false
		}
		e, ok := failedCall(r, c.what)
		if e.IDs.Container == "" {
			e.IDs.Container = scan.ContainerID(scan.After(r.Message(), "container id: ", `Container "docker://`))
		}
		reason, _ := e.Get(event.FieldError)
		e.AddFields(event.FieldCaller.Bool(true))
		return e, ok && reason.Text() != ""
	}
	return event.Event{}, false
}

// syncErrors are the errors of the kubelet's sync of a pod, and the calls that they are of. Those
// of images wait for a registry. A sync waits for what relist has read of the pod, and ends with
// relist's error.
//
//	≤ 1.20  Error syncing pod <uid> ("web-0_default(<uid>)"), skipping: failed to "StartContainer" for "web" with RunContainerError: "context deadline exceeded"
//	≥ 1.21  "Error syncing pod, skipping" err="failed to \"KillContainer\" for \"web\" with KillContainerError: \"rpc error: …\"" pod="default/web-0" podUID="<uid>"
//	        "Error syncing pod, skipping" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" pod="default/web-0" podUID="<uid>"
//	Event   Warning  FailedSync  3m (x12 over 10m)  kubelet  error determining status: rpc error: code = DeadlineExceeded desc = context deadline exceeded
var syncErrors = []spelling{
	{" with RunContainerError: ", "StartContainer"},
	{" with CreateContainerError: ", "CreateContainer"},
	{" with KillContainerError: ", "StopContainer"},
	{" with CreatePodSandboxError: ", "RunPodSandbox"},
	{" with KillPodSandboxError: ", "StopPodSandbox"},
}

// FindSyncError returns the call of the CRI at which the sync of a pod failed, by the error of the
// sync; empty for an error of something else.
func FindSyncError(text string) (method string) {
	if strings.HasPrefix(text, "rpc error: ") || strings.HasPrefix(text, "error determining status: rpc error: ") {
		return event.PodStatus
	}
	for _, s := range syncErrors {
		if strings.Contains(text, s.text) {
			return s.what
		}
	}
	return ""
}

// syncError is the call that the sync of a pod says has run into its deadline, or has failed in a
// network plugin or for want of a part of the runtime. It repeats what the client's line says, and
// is all that many tickets hold. Or it is a container that ends each time it is started:
//
//	failed to "StartContainer" for "web" with CrashLoopBackOff: "back-off 5m0s restarting failed container=web pod=web-0_default(uid)"
func syncError(r *event.Record) (event.Event, bool) {
	text := cmp.Or(table.ErrorOf(r), scan.After(r.Message(), ", skipping: "))
	if name := scan.FirstWord(scan.After(text, "restarting failed container=")); name != "" {
		pod, _, _ := strings.Cut(scan.FirstWord(scan.After(text, " pod=")), "(")
		pod, namespace, _ := strings.Cut(pod, "_")
		return CrashLoop(name, namespace, pod), true
	}
	method := FindSyncError(text)
	told := table.IsDeadline(text) || repeated.NetworkPlugin(text) != "" || scan.ContainsAny(text, networkFailures) ||
		strings.Contains(text, notKilled) || repeated.FailureReason(method, text) != nil
	if method == "" || !told {
		return event.Event{}, false
	}
	e, ok := failedCall(r, method)
	e.IDs.Container = ""
	e.IDs.PodUID = cmp.Or(r.Value("podUID"), scan.UID(scan.FirstWord(scan.After(r.Message(), "Error syncing pod ")))) // up to 1.20
	e.AddFields(event.FieldCaller.Bool(true))
	return e, ok
}

// CrashLoop is a container that the runtime starts, and that ends each time. Its name and its pod
// are empty where they are not known.
func CrashLoop(name, namespace, pod string) event.Event {
	what := "a container"
	if name != "" {
		what = "container " + name
	}
	if pod != "" {
		what += " of pod " + pod
	}
	e := event.New(event.KindContainerState, "the runtime starts "+what+", and it ends each time (CrashLoopBackOff)", event.FieldState.Text("CrashLoopBackOff"))
	e.AddText(event.FieldName, name)
	e.IDs.Pod = strings.Trim(namespace+"/"+pod, "/")
	return e
}

// notKilled is in dockerd's answer about a container that outlives SIGKILL.
const notKilled = "tried to kill container, but did not receive an exit event"

// networkError is the second line of an error of several, which klog (≥ 1.21) writes below the
// message, and a journal keeps as an entry of its own: what the plugin said has lines itself. A
// paste often holds it alone.
//
//	"RunPodSandbox from runtime service failed" err=<
//		rpc error: code = Unknown desc = failed to setup network for sandbox "<id>": plugin type="cilium-cni" failed (add): …
//		Is the agent running?
//	 >
func networkError(r *event.Record) (event.Event, bool) {
	reason := strings.TrimLeft(r.Message(), " \t")
	if !strings.HasPrefix(reason, "rpc error: ") || table.ErrorOf(r) != "" {
		return event.Event{}, false
	}
	method := "RunPodSandbox"
	if strings.Contains(reason, "failed to destroy network for sandbox") {
		method = "StopPodSandbox"
	}
	alone := *r
	alone.Text = reason
	e, ok := failedCall(&alone, method)
	id, _ := scan.Between(reason, `for sandbox "`, `"`)
	e.IDs.Sandbox, e.IDs.Container = scan.ContainerID(id), ""
	return e, ok
}

// inspectError is relist that could not read one pod, in its own words or those of what it calls:
//
//	≤ 1.20  PLEG: Ignoring events for pod web-0/default: rpc error: code = DeadlineExceeded desc = context deadline exceeded
//	        getPodContainerStatuses for pod "web-0_default(<uid>)" failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded
//	        PLEG: pod web-0/default failed reinspection: rpc error: code = DeadlineExceeded desc = context deadline exceeded
//	≥ 1.21  "PLEG: Ignoring events for pod" err="rpc error: …" pod="default/web-0"
//	        "getPodContainerStatuses for pod failed" err="rpc error: …" pod="default/web-0"
func inspectError(r *event.Record) (event.Event, bool) {
	text := cmp.Or(table.ErrorOf(r), rpcError(r.Message()))
	if !table.IsDeadline(text) {
		return event.Event{}, false
	}
	e, ok := failedCall(r, event.PodStatus)
	if name, namespace, old := strings.Cut(scan.FirstWord(scan.After(r.Message(), "Ignoring events for pod ", "PLEG: pod ")), "/"); old {
		e.IDs.Pod = strings.TrimSuffix(namespace, ":") + "/" + name
	}
	e.IDs.Container = ""
	e.AddFields(event.FieldCaller.Bool(true))
	return e, ok
}

// nodeNotReady:
//
//	≤ 1.20  Node became not ready: {Type:Ready Status:False … Reason:KubeletNotReady Message:PLEG is not healthy: …}
//	        Recording NodeNotReady event message for node X
//	≥ 1.21  "Node became not ready" node="X" condition={…}
//	        "Recording event message for node" node="X" event="NodeNotReady"
//	≥ 1.26  "Node not becoming ready in time after startup"                (nodeReadyGracePeriod, two minutes)
func nodeNotReady(r *event.Record) (event.Event, bool) {
	text := r.Raw
	e := event.New(event.KindNodeNotReady, "node became NotReady")
	switch {
	case strings.Contains(text, "NodeStatusUnknown"), strings.Contains(text, "ecording status change "):
		return event.Event{}, false // set, or told, by the controller, never by PLEG
	case strings.Contains(text, "Node became not ready"):
		e.Fields = []event.Field{event.FieldPLEG.Bool(strings.Contains(text, "PLEG is not healthy"))}
		message, ok := scan.Between(strings.ReplaceAll(text, `\"`, `"`), `"message":"`, `"}`)
		if !ok {
			message = strings.TrimSuffix(strings.TrimSpace(scan.After(text, " Message:")), "}")
		}
		e.AddText(event.FieldMessage, message)
		if strings.Contains(message, "pleg has yet to be successful") {
			e.AddFields(event.FieldNever.Bool(true))
		}
		if age, ok := scan.Duration(text, "last seen active ", " ago"); ok && age <= event.LongestSpan {
			e.AddFields(event.FieldAge.Duration(age))
			e.AddFields(PLEGThreshold(text)...)
		}
	case strings.Contains(text, "Node not becoming ready in time after startup"):
		e.Text = "the node has not become ready for two minutes since the kubelet's start"
		e.Fields = []event.Field{event.FieldOverdue.Bool(true)}
	case strings.Contains(text, "event message for node"):
	default:
		return event.Event{}, false
	}
	if at, ok := HeartbeatTime(r); ok && r.Time.IsZero() { // a line that was copied without its header
		e.Start = event.At(at)
	}
	return e, true
}

// HeartbeatTime is the moment, with an offset, that the kubelet tells when it reports its node's
// condition, a little before it logs so:
//
//	≤ 1.20  Node became not ready: {Type:Ready … LastHeartbeatTime:2023-11-08 09:33:12.09 +0800 CST m=+1234.5 …}
//	≥ 1.21  "Node became not ready" node="X" condition={"type":"Ready",…,"lastHeartbeatTime":"2023-11-08T01:33:12Z",…}
func HeartbeatTime(r *event.Record) (at time.Time, ok bool) {
	if _, rest, found := strings.Cut(r.Raw, "LastHeartbeatTime:"); found {
		if words := strings.SplitN(rest, " ", 4); len(words) == 4 {
			at, err := time.Parse("2006-01-02 15:04:05.999999999 -0700", strings.Join(words[:3], " "))
			return at, err == nil
		}
	}
	_, rest, _ := strings.Cut(r.Raw, `lastHeartbeatTime":"`)
	stamp, _, _ := strings.Cut(rest, `"`)
	at, err := time.Parse(time.RFC3339, stamp)
	return at, err == nil
}

// nodeReady:
//
//	≤ 1.20  Recording NodeReady event message for node X; ≥ 1.21 "Recording event message for node" node="X" event="NodeReady"
//	≥ 1.26  "Fast updating node status as it just became ready"                (of a kubelet that starts)
func nodeReady(r *event.Record) (event.Event, bool) {
	told := strings.Contains(r.Raw, "event message for node") && strings.Contains(r.Raw, "NodeReady")
	return event.New(event.KindNodeReady, "node became Ready"), told || scan.ContainsAny(r.Raw, []string{"Node became ready", "it just became ready"})
}

// kubeletStart: "Started kubelet"; "Starting kubelet main sync loop" (up to 1.20 without quotes).
func kubeletStart(r *event.Record) (event.Event, bool) {
	text := strings.TrimLeft(r.Message(), `"`)
	if strings.HasPrefix(text, "Starting kubelet main sync loop") {
		return event.New(event.KindKubeletStart, "the kubelet's sync loop starts"), true
	}
	return event.New(event.KindKubeletStart, "kubelet started"), strings.HasPrefix(text, "Started kubelet")
}

// observedPanic is a panic of the kubelet, which prints it and then ends by it (HandleCrash of
// apimachinery's util/runtime):
//
//	Observed a panic: "invalid memory address or nil pointer dereference" (runtime error: …)
//	"Observed a panic" panic="runtime error: …" panicGoValue="…" stacktrace="…"      (>= 1.31)
func observedPanic(r *event.Record) (event.Event, bool) {
	reason := cmp.Or(r.Value("panic"), scan.After(r.Message(), "Observed a panic: "))
	reason, _, _ = strings.Cut(reason, "\n")
	if quoted, ok := strings.CutPrefix(reason, `"`); ok { // the quote's end may be cut off
		reason, _, _ = strings.Cut(quoted, `"`)
	}
	if daemon.Writer(r.Unit) != "kubelet" || reason == "" {
		return event.Event{}, false
	}
	return crash.Event("kubelet", "crashes", reason), true
}

// EventedFull is a kubelet with the gate EventedPLEG (≥ 1.26) whose event channel is full; the
// Ready condition of its node repeats it:
//
//	"Skipping pod synchronization" err="EventedPLEG is not healthy: EventedPLEG: pleg event channel capacity is full with 1000 events"
func EventedFull(r *event.Record) (event.Event, bool) {
	n, err := strconv.Atoi(scan.Digits(scan.After(r.Raw, "capacity is full with ")))
	if err != nil {
		return event.Event{}, false
	}
	e := event.New(event.KindEventedFull, "the event channel that both PLEGs share is full", event.FieldEvents.Int(n))
	return e, true
}

// syncLoopLate. Housekeeping asks for lists, as relist does (1.34, kubelet_pods.go): while they
// hang the loop stands there, and says neither this nor that PLEG is not healthy before they end.
//
//	[-]syncloop failed: reason withheld        (/healthz; in the kubelet's log: sync Loop took longer than expected)
//	"Housekeeping took longer than 15s" err="housekeeping took too long" seconds=83.2     (1.23 to 1.26)
//	"Housekeeping took longer than expected" err="…" expected="1s" actual="1m23.2s"            (≥ 1.27)
func syncLoopLate(r *event.Record) (event.Event, bool) {
	e := event.New(event.KindSyncLoopLate, "the sync loop is late")
	if strings.Contains(r.Raw, "[-]syncloop failed") {
		return e, true
	}
	took := r.Value("actual")
	if v, ok := r.Field("seconds"); ok {
		took = v + "s"
	}
	d, err := time.ParseDuration(took)
	e.Fields = []event.Field{event.FieldTook.Duration(d)}
	e.Start, e.End = r.Time.Add(-d), r.Time
	e.Text = "housekeeping took " + took
	return e, err == nil
}

// statusHookFailed is dockershim that could not ask for a pod's address:
//
//	failed to read pod IP from plugin/docker: NetworkPlugin cni failed on the status hook for pod "p_ns": …     (networkPlugin from 1.20 on)
func statusHookFailed(r *event.Record) (event.Event, bool) {
	pod, _ := scan.Between(strings.ReplaceAll(scan.After(r.Raw, "status hook for pod "), `\"`, `"`), `"`, `"`)
	return event.Event{
		Kind: event.KindStatusHookFailed, IDs: event.IDs{Pod: podNamed(pod)},
		Text: "dockershim could not ask for the address of a pod",
	}, true
}

// networkPluginFailed is a network plugin that dockershim ran in vain, to set up the network of a
// sandbox or to take it down (pkg/kubelet/dockershim/network/cni, up to 1.23):
//
//	Error adding shop_web-1/<id> to network calico/k8s-pod-network: error getting ClusterInformation: connection is unauthorized: Unauthorized
//	Error deleting shop_web-1/<id> from network multus/multus-cni-network: netplugin failed with no error message: signal: killed
//	Error adding network: failed to allocate for range 0: no IP addresses available in range set: 10.244.3.1-10.244.3.254      (up to 1.14)
//	"Error adding pod to network" err="open /run/flannel/subnet.env: no such file or directory" pod="shop/web-1" podSandboxID={Type:docker ID:<id>} podNetnsPath="/proc/3652/ns/net" networkType="flannel" networkName="cbr0"      (≥ 1.21)
func networkPluginFailed(r *event.Record) (event.Event, bool) {
	said := strings.Trim(r.Message(), `"`)
	if reason := table.ErrorOf(r); reason != "" && r.Value("networkType") != "" {
		said += " " + r.Value("networkType") + ": " + reason
	}
	method, rest := "RunPodSandbox", strings.TrimPrefix(said, "Error adding ")
	if after, ok := strings.CutPrefix(said, "Error deleting "); ok {
		method, rest = "StopPodSandbox", after
	}
	of, reason, ok := strings.Cut(rest, ": ")
	target, network, named := strings.Cut(of, " network ")
	if rest == said || !ok || !named && of != "network" {
		return event.Event{}, false
	}
	e := event.New(
		event.KindCRIError, method+" failed", event.FieldMethod.Text(method), event.FieldError.Text(reason), event.FieldDeadline.Bool(false),
		event.FieldNetwork.Bool(true),
	)
	e.AddFields(repeated.FailureReason(method, said)...) // the words before the reason say that it is of a network
	plugin, _, _ := strings.Cut(network, "/")
	e.AddText(event.FieldPlugin, plugin)
	pod, id, _ := strings.Cut(scan.FirstWord(target), "/")
	e.IDs.Sandbox = scan.ContainerID(id)
	if namespace, name, ok := strings.Cut(pod, "_"); ok {
		e.IDs.Pod = namespace + "/" + name
	} else {
		e.IDs.Pod = r.Value("pod")
	}
	return e, true
}

// podNamed turns "name_namespace", as dockershim and the kubelet up to 1.20 write it, into
// "namespace/name"; neither part can hold an underscore.
func podNamed(s string) string {
	name, namespace, ok := strings.Cut(s, "_")
	if !ok {
		return ""
	}
	return namespace + "/" + name
}

// containerDied:
//
//	≤ 1.20  SyncLoop (PLEG): "pod_ns(uid)", event: &pleg.PodLifecycleEvent{ID:"…", Type:"ContainerDied", Data:"<id>"}
//	≥ 1.21  "SyncLoop (PLEG): event for pod" pod="ns/name" event=&{ID:<uid> Type:ContainerDied Data:<id>}
//	≥ 1.27  "SyncLoop (PLEG): event for pod" pod="ns/name" event={"ID":"…","Type":"ContainerDied","Data":"<id>"}
func containerDied(r *event.Record) (event.Event, bool) {
	if !strings.Contains(r.Raw, "SyncLoop (PLEG)") {
		return event.Event{}, false
	}
	e := event.New(event.KindContainerDied, "PLEG reports ContainerDied")
	e.IDs.Container = scan.FindID(r.Message())
	if ev, ok := r.Field("event"); ok && e.IDs.Container == "" {
		e.IDs.Container = scan.FindID(ev)
	}
	if e.IDs.Container == "" { // a value without quotes ends at a blank
		e.IDs.Container = scan.FindID(scan.After(r.Raw, "Type:ContainerDied Data:"))
	}
	e.IDs.Pod, _ = r.Field("pod")
	return e, e.IDs.Container != ""
}

// killUnwanted, at verbosity 3: the sync of a pod found a container that should not go on as it is.
//
//	≤ 1.20  Killing unwanted container "main"(id={"containerd" "<id>"}) for pod "web_default(uid)"   (or id="docker://<id>")
//	≥ 1.21  "Killing unwanted container for pod" pod="default/web" containerName="main" containerID="containerd://<id>"
func killUnwanted(r *event.Record) (event.Event, bool) {
	e := event.Event{Kind: event.KindKillUnwanted}
	e.IDs.Container = scan.FindID(r.Raw)
	if e.IDs.Container == "" {
		e.IDs.Container = scan.ContainerID(scan.After(r.Raw, "://"))
	}
	e.IDs.Pod = podOf(r)
	name, ok := r.Field("containerName")
	if !ok {
		name, _ = scan.Between(r.Message(), `Killing unwanted container "`, `"`)
	}
	e.Fields = []event.Field{event.FieldName.Text(name)}
	e.Text = "the kubelet kills container " + scan.Short(e.IDs.Container) + " as unwanted"
	return e, e.IDs.Container != ""
}

// restartWanted is a reason of the kubelet's own to kill a container:
//
//	≤ 1.20  Message for Container "main" of pod "web_default(uid)": Container main failed liveness probe, will be restarted
//	≥ 1.21  "Message for Container of pod" containerName="main" … pod="default/web" containerMessage="Container main definition changed, will be restarted"
func restartWanted(r *event.Record) (event.Event, bool) {
	reason := cmp.Or(r.Value("containerMessage"), scan.After(r.Message(), `": `))
	e := event.New(event.KindRestartWanted, reason)
	e.IDs.Pod = podOf(r)
	return e, e.IDs.Pod != "" && strings.HasSuffix(reason, "will be restarted")
}

// podOf is the pod of a line as namespace/name, in any spelling: pod="web_default(uid)" is how
// calls of the CRI are told of from 1.36 on, pod={"name":"web","namespace":"default"} is JSON's.
func podOf(r *event.Record) string {
	if pod, ok := r.Field("pod"); ok {
		if strings.HasPrefix(pod, "{") {
			name, _ := scan.Between(pod, `"name":"`, `"`)
			namespace, _ := scan.Between(pod, `"namespace":"`, `"`)
			return namespace + "/" + name
		}
		if name, _, ok := strings.Cut(pod, "("); ok && !strings.Contains(pod, "/") {
			return podNamed(name)
		}
		return pod
	}
	old, _, ok := strings.Cut(scan.After(r.Message(), `pod "`, `pod \"`), "(")
	if !ok || strings.Contains(old, `"`) {
		return ""
	}
	return podNamed(old)
}

// cpuManager is the CPU manager's policy. The static one calls UpdateContainerResources every 10 s
// (from 1.22 on where something changed), "none" never does; from 1.33 on a pod that is resized in
// place makes the kubelet call it under any policy.
//
//	≤ 1.20  [cpumanager] starting with none policy
//	≥ 1.21  "Starting CPU manager" policy="static"
//	≥ 1.35  cpu_manager.go:225] "Starting" policy="static"
func cpuManager(r *event.Record) (event.Event, bool) {
	return managerPolicy(r, "kubelet.cpu-manager-policy", "cpu_manager.go", "Starting CPU manager")
}

// memoryManager is the memory manager's policy:
//
//	≤ 1.20  [memorymanager] starting with None policy
//	≥ 1.21  memory_manager.go:170] "Starting memorymanager" policy="None"
//	≥ 1.35  memory_manager.go:186] "Starting" policy="None"
func memoryManager(r *event.Record) (event.Event, bool) {
	return managerPolicy(r, "kubelet.memory-manager-policy", "memory_manager.go", "Starting memorymanager")
}

// managerPolicy is the policy with which one of the kubelet's managers starts. Where the message
// does not name the manager, the line's caller does.
func managerPolicy(r *event.Record, fact, caller, starting string) (event.Event, bool) {
	policy, ok := r.Field("policy")
	text := strings.Trim(r.Message(), `" `)
	switch {
	case !ok:
		name, _, _ := strings.Cut(strings.ReplaceAll(caller, "_", ""), ".")
		policy, _ = scan.Between(text, "["+name+"] starting with ", " policy")
	case text != starting && (text != "Starting" || !strings.Contains(r.Raw, caller)):
		return event.Event{}, false
	}
	return facts.New(fact, policy)
}

// reconcilePeriod: [cpumanager] reconciling every 10s; "Reconciling" reconcilePeriod="10s" (≥
// 1.21).
func reconcilePeriod(r *event.Record) (event.Event, bool) {
	return facts.New(
		"kubelet.cpu-manager-reconcile-period",
		cmp.Or(r.Value("reconcilePeriod"), scan.After(r.Message(), "reconciling every ")),
	)
}

// kubeletFlag is what the kubelet prints at -v=2 when it starts: flag.go:64] FLAG:
// --cpu-manager-policy="static".
func kubeletFlag(r *event.Record) (event.Event, bool) {
	text := r.Message()
	_, rest, ok := strings.Cut(text, "FLAG: --")
	name, value, _ := strings.Cut(rest, "=")
	if !ok || facts.KubeletFlags[name] == "" {
		return event.Event{}, false
	}
	value = strings.Trim(strings.TrimSpace(value), "\"\\")
	if slices.Contains(flagDefaults[name], value) {
		return event.Event{}, false
	}
	if name == "feature-gates" {
		return facts.New("kubelet.evented-pleg", facts.EventedPLEG(value))
	}
	return facts.New(facts.KubeletFlags[name], value)
}

// flagDefaults are values that the kubelet prints for flags that nobody set; a file may have set
// the same thing to another value, which these lines do not show.
var flagDefaults = map[string][]string{
	"cpu-manager-policy": {"", "none"}, "cpu-manager-reconcile-period": {"0s", "10s"},
	"memory-manager-policy": {"", "None"}, "runtime-request-timeout": {"2m0s"},
	"max-pods": {"110"}, "pod-max-pids": {"-1"}, "cgroup-driver": {"", "cgroupfs"}, "container-runtime": {"docker", "remote"},
	"container-runtime-endpoint": {"", "unix:///var/run/dockershim.sock"},
}

// cgroupDriver names the cgroup driver in effect, whichever of flag, file and runtime decided it:
//
//	≤ 1.20  Creating Container Manager object based on Node Config: {… CgroupDriver:systemd …}
//	≥ 1.21  "Creating Container Manager object based on Node Config" cgroupDriver={… CgroupDriver:systemd …}
//	≥ 1.26  … cgroupDriver={…,"CgroupDriver":"systemd",…}
func cgroupDriver(r *event.Record) (event.Event, bool) {
	text := strings.ReplaceAll(strings.ReplaceAll(r.Raw, `\"`, ""), `"`, "")
	_, rest, ok := strings.Cut(text, "CgroupDriver:")
	if !ok {
		return event.Event{}, false
	}
	return facts.New("kubelet.cgroup-driver", rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz"))])
}

// kubeletVersion: "Kubelet version" kubeletVersion="v1.22.3" (≥ 1.21); Kubelet version: v1.18.2
// (kubeadm and write-ups).
func kubeletVersion(r *event.Record) (event.Event, bool) {
	v, ok := r.Field("kubeletVersion")
	if !ok {
		_, rest, found := strings.Cut(r.Message(), "Kubelet version: ")
		if !found {
			return event.Event{}, false
		}
		v = rest
	}
	return facts.New("kubelet.version", scan.Version(v))
}

// pidPressure:
//
//	≤ 1.20  eviction manager: attempting to reclaim pids
//	≥ 1.21  "Eviction manager: attempting to reclaim" resourceName="pids"
//	all     Recording NodeHasInsufficientPID event message for node X; "Recording event message for node" node="X" event="NodeHasInsufficientPID"
func pidPressure(r *event.Record) (event.Event, bool) {
	resource := r.Value("resourceName")
	ok := resource == "pids" || strings.HasSuffix(r.Message(), "attempting to reclaim pids") ||
		strings.Contains(r.Raw, "event message for node") && strings.Contains(r.Raw, "NodeHasInsufficientPID")
	return event.New(event.KindPIDPressure, "the node is short of process ids"), ok
}

// slowDU is cAdvisor's fsHandler.go, from one second on:
//
//	≤ 1.15  du and find on following dirs took 1.810922s: [/var/lib/docker/overlay2/… /var/lib/docker/containers/…]
//	≥ 1.16  fs: disk usage and inodes count on following dirs took 1.5s: […]; will not log again for this container unless duration exceeds 2s
//
// and what it ends after two minutes (up to 1.15, too):
//
//	Killing cmd [ionice -c3 nice -n 19 du -s /var/lib/docker/overlay2/…/diff] due to timeout(2m0s)
func slowDU(r *event.Record) (event.Event, bool) {
	text := r.Message()
	took, ok := scan.Duration(text, "on following dirs took ", ": ")
	dirs, _ := scan.Between(text, ": [", "]")
	if killed, is := scan.Between(text, " du -s ", "] due to timeout"); is {
		took, dirs, ok = 2*time.Minute, killed, true
	}
	return event.Event{
		Kind: event.KindSlowDU, Start: r.Time.Add(-took), End: r.Time,
		Fields: []event.Field{event.FieldDirs.Text(strings.TrimSpace(dirs)), event.FieldTook.Duration(took)},
		Text:   "counting the disk usage of a container took " + event.DurationText(took),
	}, ok
}

// pidsAvailable is what the kubelet's eviction manager found, every 10 s from -v=3 on. Quantities
// are written as Kubernetes does (32k); what is not available is used, by threads.
//
//	≤ 1.20  eviction manager: observations: signal=pid.available, available: 31240, capacity: 32768, time: 2019-05-02 10:00:00.1 +0000 UTC m=+120.5
//	≥ 1.21  "Eviction manager:" log="observations" signal="pid.available" resourceName="" available="31240" capacity="32768" time="…"
func pidsAvailable(r *event.Record) (event.Event, bool) {
	text := r.Message()
	available, ok := r.Field("available")
	capacity := r.Value("capacity")
	if ok {
		signal := r.Value("signal")
		log := r.Value("log")
		ok = signal == "pid.available" && log == "observations"
	} else if rest, found := strings.CutPrefix(text, "eviction manager: observations: signal=pid.available, "); found {
		available, ok = scan.Between(rest, "available: ", ",")
		capacity, _, _ = strings.Cut(scan.After(rest, "capacity: "), ",")
	}
	free, known := parseQuantity(available)
	limit, limited := parseQuantity(capacity)
	if !ok || !known || !limited || free > limit {
		return event.Event{}, false
	}
	at, ok := r.Field("time")
	if !ok {
		_, at, _ = strings.Cut(text, ", time: ")
	}
	at, _, _ = strings.Cut(at, " m=")
	when, _ := stamp.Date(strings.TrimSuffix(at, " UTC")) // it has the year, which the line lacks
	e := facts.NewReading("", facts.OfThreads, limit-free, when, event.Quote{}, event.FieldLimit.Number(limit))
	e.Evidence = nil // the line, as of any event of a log
	return e, true
}

// parseQuantity reads a whole number as Kubernetes writes it: 31240, 32k, 4M.
func parseQuantity(s string) (float64, bool) {
	n := strings.TrimRight(s, "kMG")
	v, err := strconv.ParseUint(n, 10, 40)
	scale := map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[s[len(n):]]
	return float64(v) * scale, err == nil && scale > 0
}
