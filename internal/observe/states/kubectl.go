package states

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/observe/messages/kubelet"
	"github.com/plegdiag/plegdiag/internal/observe/messages/tools"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// KubectlLiterals are the strings of which one stands in every row of kubectl that KubectlRows can
// make something of.
var KubectlLiterals = []string{
	" Normal ", "Normal  ", "Normal Node", "\tNormal\t", "\tNormal ", " Normal\t", "Normal\tNode", "Warning ", "Warning\t", "Warning*", "Warning`", "-monitor", "KubeletNotReady", "KubeletReady", "NodeStatusUnknown", "NodeStatusNeverUpdated", "KubeletHas", "KubeletOutOfDisk", "NetworkUnavailable", "KernelDeadlock",
	"ReadonlyFilesystem", "FrequentKubeletRestart", "FrequentDockerRestart", "FrequentContainerdRestart",
	"ContainerRuntimeUnhealthy", "KubeletUnhealthy", "ContainerRuntimeProblem", "KubeletProblem", "FilesystemCorruptionProblem", "VMEventScheduled", // the last four of AKS
	"KernelReady", "NetworkingReady", "ContainerRuntimeReady", "StorageReady", // of EKS
}

// KubectlRows makes events of the rows of kubectl that stand alone between other lines, as a ticket
// quotes them: of get events, and of the conditions and the events of describe.
type KubectlRows struct{ nodes nodes }

// TakeRow appends the events of a line. Taken is false for a line that is no row, and for the end
// of one, whose message says as much as a line of the kubelet's log.
func (k *KubectlRows) TakeRow(dst []event.Event, line string, q event.Quote) (events []event.Event, taken bool) {
	if row, ok := snapshots.CutCondition(line); ok {
		k.nodes.addCondition("", row, q)
		return dst, slices.ContainsFunc(row, func(p event.Pair) bool { return p.Key == "LastTransitionTime" })
	}
	row, ok := snapshots.CutEvent(line)
	if !ok {
		return dst, false
	}
	e := rowEvent(row, q, event.Time{})
	return k.nodes.appendEvent(dst, &e), true
}

// TakeCells appends the events of a row of Events whose columns somebody chose, with the names that
// kubectl gives them; none where the row is known by its shape, and read so. Of what the row lacks,
// the message of an Event about a node says its reason and the node:
//
//	Node node-1 status is now: NodeNotReady
//	Node node-1 has been rebooted, boot id: a90e54f2-c6af-4f0a-9b5e-8a3b94be0d17
func (k *KubectlRows) TakeCells(dst []event.Event, row []event.Pair, q event.Quote) []event.Event {
	if _, known := snapshots.CutEvent(q.Text); known {
		return dst
	}
	e := rowEvent(row, q, event.Time{})
	if !e.first.Known { // nobody asked for that
		e.first = e.last
	}
	said, isNode := strings.CutPrefix(e.message, "Node ")
	if name, rest, _ := strings.Cut(said, " "); isNode {
		e.name = cmp.Or(e.name, name)
		reason, isStatus := strings.CutPrefix(rest, "status is now: ")
		if isStatus && e.reason == "" {
			e.reason = reason
		}
		if e.kind == "" && e.name == name && (isStatus || strings.HasPrefix(rest, "has been rebooted, boot id: ")) {
			e.kind = "Node"
		}
	}
	return k.nodes.appendEvent(dst, &e)
}

// BeginsWithDates says that a line may be a row whose first cells are dates, not the stamp of a
// log.
func BeginsWithDates(line string) bool { return snapshots.BeginsWithDates(line) }

// Finish appends what needs all rows of a file.
func (k *KubectlRows) Finish(dst []event.Event) []event.Event { return k.nodes.finishFile(dst) }

// isProblemDetector says that an event comes from node-problem-detector, by its source.
func isProblemDetector(from string) bool {
	return strings.HasSuffix(from, "-monitor") || from == "health-checker"
}

// kernelReasons are the reasons that node-problem-detector gives to lines of the kernel
// (config/kernel-monitor.json and its forks), also in prints that do not show the source.
var kernelReasons = map[string]bool{
	"OOMKilling": true, "TaskHung": true, "UnregisterNetDevice": true, "KernelOops": true, "KernelDeadlock": true,
	"DockerHung": true, "AUFSUmountHung": true, "FilesystemIsReadOnly": true, "Ext4Error": true, "Ext4Warning": true,
	"IOError": true, "MemoryReadError": true, "XfsHasShutDown": true, "BufferIOError": true,
}

// nodeReasons are the reasons of Events about nodes alone, also in prints that show neither the
// object nor, of a node, the source: of Karpenter and aws-node-termination-handler, of a cloud's
// controller, and of machine-config-daemon.
var nodeReasons = map[string]bool{
	"SpotInterrupted": true, "InstanceSpotInterrupted": true, "SpotInterruption": true, "DeletingNode": true, "Reboot": true,
	"DisruptionTerminating": true, "DeprovisioningTerminating": true,
}

// kubeletCalls are calls of the CRI whose failure the kubelet tells in an Event of this reason.
var kubeletCalls = map[string]string{
	"FailedCreatePodSandBox": "RunPodSandbox", "FailedKillPod": "StopPodSandbox",
	"FailedPodSandBoxStatus": "PodSandboxStatus",
}

// kubeletWarns are the reasons of Warnings that the kubelet alone gives, for prints that do not
// show the source.
var kubeletWarns = map[string]bool{
	"Failed": true, "FailedCreatePodSandBox": true, "FailedCreatePodContainer": true, "FailedKillPod": true,
	"FailedPodSandBoxStatus": true, "FailedSync": true, "FailedMount": true, "VolumePermissionChangeInProgress": true,
}

// byKubelet says that the kubelet has written an Event.
func (k *kubeEvent) byKubelet() bool {
	probed := k.reason == "Unhealthy" && strings.Contains(k.message, "rpc error: code = ") // what the runtime said
	return strings.HasPrefix(k.from, "kubelet") || k.from == "" && !k.ofNode() && (kubeletWarns[k.reason] || probed)
}

// servedKinds are what runc, a runtime about its storage, and whoever waits for systemd or the bus,
// says to those who ran it: an Event of a pod repeats the words of all of them.
var servedKinds = map[event.Kind]bool{
	event.KindRuncFailed: true, event.KindFreezeFailed: true, event.KindSystemdTimeout: true, event.KindUnitsFull: true,
	event.KindBusLimit: true, event.KindActivationTimeout: true, event.KindBusUnreachable: true,
	event.KindLayersDamaged: true, event.KindWriteRefused: true, event.KindVolumeWalk: true,
}

// appendServed appends what the message of a Warning of the kubelet repeats of programs that it
// asked, directly or through a runtime.
func (k *kubeEvent) appendServed(dst []event.Event, at event.Time) []event.Event {
	r := event.Record{Unit: "kubelet", Text: k.message, Raw: k.message, Time: at, Wanted: true}
	for _, e := range messages.Append(nil, &r) {
		if servedKinds[e.Kind] {
			e.Source, e.Evidence, e.Level = facts.Kubernetes, k.quotes, event.Warning
			dst = append(dst, e)
		}
	}
	return dst
}

// failedCall is the call of the CRI that an Event of a pod says has failed; empty for none. Of a
// container the reason is Failed, also for its image, whose messages begin otherwise:
//
//	Warning  Failed  {kubelet node-1}        Failed to create docker container "web" of pod "web-0_default(uid)" with error: …      (up to 1.6)
//	Warning  Failed  {kubelet node-1}        Failed to start container with docker id 5d1c0f8e7b6a with error: …
//	Warning  Failed  5m22s (x53 over 3h33m)  kubelet  Error: context deadline exceeded
//	Warning  Failed  53s (x36 over 149m)     kubelet  (combined from similar events): Error: Kubelet may be retrying requests that are timing out in CRI-O …
func (k *kubeEvent) failedCall() string {
	message, failed := strings.CutPrefix(strings.TrimPrefix(k.message, "(combined from similar events): "), "Error: ")
	switch {
	case k.ofNode():
		return ""
	case k.reason == "FailedSync":
		return kubelet.FindSyncError(k.message)
	case k.reason == "Failed" && strings.HasPrefix(k.message, "Failed to create docker container "):
		return "CreateContainer"
	case k.reason == "Failed" && strings.HasPrefix(k.message, "Failed to start container with docker id "):
		return "StartContainer"
	case k.reason != "Failed" || !failed:
		return kubeletCalls[k.reason]
	case strings.Contains(message, "failed to start container"):
		return "StartContainer"
	}
	return "CreateContainer"
}

// describe is which object an Event is about, and from when to when it came. Of a node it is empty:
// the message names it.
func (k *kubeEvent) describe() string {
	if k.ofNode() {
		return ""
	}
	text := ""
	if k.name != "" {
		text = " of " + strings.TrimLeft(k.namespace+"/"+k.name, "/")
	}
	return text + k.span()
}

// describeCall is the text of a call that failed, with the same behind the name of the call, or
// behind a sentence that does not name it.
func (k *kubeEvent) describeCall(e *event.Event) string {
	method := e.FieldText(event.FieldMethod)
	rest, named := strings.CutPrefix(e.Text, method+" ")
	switch {
	case k.name == "" || k.ofNode():
		return e.Text + k.span()
	case !named:
		return e.Text + "," + k.describe()
	}
	return method + " of " + strings.TrimLeft(k.namespace+"/"+k.name, "/") + " " + rest + k.span()
}

// span says from when to when an Event came, as far as its listing shows it.
func (k *kubeEvent) span() string {
	last, _, _ := strings.Cut(strings.TrimPrefix(k.age, "<invalid>"), " ") // the clock of who asks is behind
	switch {
	case k.oldest != "" && last != "" && k.oldest != last:
		return " (first " + k.oldest + ", last " + last + " before the list)"
	case last != "":
		return " (" + last + " before the list)"
	case k.first.Known && k.last.Known && k.last.T.After(k.first.T):
		return " (first " + k.first.T.UTC().Format(time.TimeOnly) + ", last " + k.last.T.UTC().Format(time.TimeOnly) + ")"
	}
	return ""
}

// repeatedLine is the line of a log that the message of an event repeats, and who wrote it; empty
// when the message is its own. Of node-problem-detector it is what the monitored program wrote. A
// lasting problem has the line in quotes:
//
//	Node condition KernelDeadlock is now: True, reason: DockerHung, message: "kernel: INFO: task docker:20744 blocked for …"
func repeatedLine(from, reason, message string) (line, writer string) {
	switch {
	case reason == "ContainerGCFailed": // the kubelet's own, whose message is no line of its log
		return reason + " " + message, "kubelet"
	case reason == "ImageGCFailed" && strings.HasSuffix(message, "context deadline exceeded"): // of the runtime's list; other reasons are the disk's
		return "Image garbage collection failed: " + message, "kubelet"
	}
	writer = tools.MonitoredBy(from)
	if kernelReasons[reason] && !strings.HasPrefix(from, "kubelet") {
		writer = "kernel"
	}
	if writer == "" {
		return "", ""
	}
	if _, quoted, ok := strings.Cut(message, ", message: "); ok && strings.HasPrefix(message, "Node condition ") {
		if message = strings.Trim(quoted, `"`); strings.HasPrefix(quoted, `"`) {
			if plain, err := strconv.Unquote(quoted); err == nil {
				message = plain
			}
		}
	}
	return strings.TrimPrefix(message, "kernel: "), writer
}

// appendRepeated appends the events that a line of a log makes, which something of the API repeats.
func appendRepeated(dst []event.Event, line, writer string, at event.Time, quotes []event.Quote) []event.Event {
	if line == "" {
		return dst
	}
	before := len(dst)
	dst = messages.Append(dst, &event.Record{Unit: writer, Text: line, Raw: line, Time: at, Wanted: true})
	if i := strings.Index(line, "rpc error: code = "); i >= 0 && writer == "kubelet" {
		if described, ok := messages.DescribedError(line[i:]); ok {
			dst = messages.Append(dst, &event.Record{Text: described, Raw: described, Time: at, Wanted: true})
		}
	}
	for i := before; i < len(dst); i++ {
		dst[i].Source, dst[i].Evidence = facts.Kubernetes, quotes
	}
	return dst
}
