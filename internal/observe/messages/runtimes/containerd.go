// Package runtimes knows what the runtimes of containers write: containerd and its shims, dockerd,
// CRI-O, and runc in the logs of these.
package runtimes

import (
	"cmp"
	"path"
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
)

// Containerd is what containerd 1.2 to 2.4 says (logrus text), with its shims, which write
// into the same log, and the build of the short-task write-up that adds "cost" lines.
var Containerd = table.Table{
	Component: "containerd",
	Rows: []table.Row{
		{
			[]string{
				"UpdateContainerResources for ", "StartContainer for ", "StopContainer for ",
				"RemoveContainer for ", "StopPodSandbox for ", "UpdatePodSandboxResources for ",
			},
			criCall,
		},
		{
			[]string{
				"ListContainers with filter ", "ListPodSandbox with filter ", "StreamContainers with filter ",
				"StreamPodSandboxes with filter ",
			},
			listFailed,
		},
		{[]string{"RunPodSandbox for ", "RunPodsandbox for ", "CreateContainer within sandbox "}, createCall},
		{[]string{"Failed to destroy network for sandbox "}, networkLeft},
		// "ExecSync for" stands in every probe, too
		{[]string{"failed to exec in container"}, execFailed},
		{[]string{"containerd: "}, lastError("containerd: ")},
		{[]string{"waiting for response from boltdb open"}, table.Says(event.KindDatabaseWait, "containerd waits for the lock of its database")},
		{[]string{"[UpdateContainerResources] "}, updateCost},
		{[]string{"list containers cost "}, listCost},
		{[]string{" status cost "}, statusCost},
		{[]string{"snapshot garbage collected"}, snapshotsCollected},
		{[]string{"taskUpdate] "}, costOf(event.KindTaskUpdate, "taskUpdate] ", "task.Update")},
		{[]string{"status.updateSync "}, costOf(event.KindUpdateSync, "updateSync ", "UpdateSync")},
		{[]string{"received exit event", "container exit event", "TaskExit event", "handle backOff event"}, taskExit},
		{[]string{"failed to delete task"}, deleteFailed},
		{
			[]string{
				"failed to handle container TaskExit", "failed to handle sandbox TaskExit",
				"Failed to handle backOff event",
			},
			exitFailed,
		},
		{[]string{"get state for ", "failed to get task for container ", "converting task to protobuf"}, stateTimeout},
		{[]string{"because a prior stop with timeout"}, stopRepeated},
		{[]string{"An error occurs during waiting for container "}, endNotSeen},
		// error ttrpc: received message on inactive stream stream=1139 (ttrpc >= 1.2, of containerd and
		// of its shims)
		{
			[]string{"received message on inactive stream"},
			table.Says(event.KindAnswerLate, "answers between containerd and a shim come after their callers have stopped waiting", "ttrpc: received message"),
		},
		{[]string{"Shim ttrpc connection closed when stopping "}, shimClosed},
		{[]string{"post event", " from queue because of retry count"}, eventUnsent},
		{[]string{"if oom event occurred"}, oomUnknown},
		{[]string{"failed to deactivate mounts"}, mountsLeft},
		{[]string{"failed to cleanup rootfs mount"}, rootfsLeft},
		{[]string{"failed to clean up after shim disconnected"}, cleanupKilled},
		{[]string{"failed to load plugin"}, criPluginFailed},
		{[]string{"level=fatal"}, fatalError("containerd")},
		// Start stats collector (≥ 2.3): from then on one goroutine asks every shim for its metrics.
		{[]string{"Start stats collector"}, func(*event.Record) (event.Event, bool) {
			return facts.New("containerd.stats-collector", "true")
		}},
		{[]string{"failed to load cni during init", "failed to reload cni configuration after "}, repeated.NetworkNotReady},
		{[]string{"is in removing or stopping state", "is in removing state"}, updateRefused},
		{[]string{"returns sandbox id", "returns container id"}, createdEvent},
		{[]string{"StartContainer for "}, scopeAsked},
		{[]string{"starting signal loop"}, shimStart},
		{[]string{"starting signal loop"}, shimProcessStart},
		{[]string{"shim disconnected"}, shimGone},
		{[]string{"RemovePodSandbox "}, sandboxRemoved},
		{[]string{"has been cleanup successfully"}, lateCleanupDone},
		{[]string{"goroutine stack dump written to"}, dumpWritten},
		{[]string{"SystemdCgroup"}, systemdCgroup},
		{[]string{"mount_options"}, mountOptions},
		{[]string{"starting containerd"}, table.FactFrom("containerd.version", versionField)},
		// info starting containerd …; info containerd successfully booted in 0.049127s
		{[]string{"starting containerd"}, bootEdge("containerd", event.Begin)},
		{[]string{"containerd successfully booted"}, booted},
		{[]string{"Stop CRI service"}, toldToEnd("containerd")}, // info; 1.1 to 2.2 print it twice
		{[]string{"cleaning leaked shim process"}, shimLeaked},
		table.Crash,
		table.CrashedCall,
	},
}

// criCall is one end of a CRI call that names its container
// (pkg/cri/server/instrumented_service.go):
//
//	info  UpdateContainerResources for "<id>" with Linux: &LinuxContainerResources{…} / Windows: nil
//	info  UpdateContainerResources for "<id>" returns successfully
//	error UpdateContainerResources for "<id>" failed      error="…"
//	info  UpdatePodSandboxResources for "<sandbox>" with Overhead: … / Resources: …      (≥ 2.3, and the same two ends)
func criCall(r *event.Record) (event.Event, bool) {
	method, rest, ok := strings.Cut(r.Message(), " for ")
	if !ok || strings.ContainsAny(method, " =") || !strings.HasPrefix(strings.TrimLeft(rest, `\`), `"`) {
		return event.Event{}, false
	}
	id := scan.ContainerID(rest)
	if id == "" {
		return event.Event{}, false
	}
	e := event.Event{Kind: event.KindCRICall}
	if method == "StopPodSandbox" || method == "UpdatePodSandboxResources" {
		e.IDs.Sandbox = id
	} else {
		e.IDs.Container = id
	}
	e.Fields = []event.Field{event.FieldMethod.Text(method)}
	e.Span = event.Span{Key: "cri/" + method + "/" + id, Edge: event.Begin}
	e.Text = method + " of " + scan.Short(id)
	if seconds := scan.Digits(scan.After(rest, " with timeout ")); seconds != "" { // StopContainer for "<id>" with timeout 30 (s)
		grace, _ := time.ParseDuration(seconds + "s")
		e.AddFields(event.FieldGrace.Duration(grace))
	}
	switch {
	case strings.HasSuffix(rest, "returns successfully"):
		e.Span.Edge = event.End
		e.AddFields(event.FieldOutcome.Text("ok"))
	case strings.HasSuffix(rest, " failed") || strings.Contains(rest, "failed, error"):
		e.Span.Edge = event.End
		e.Text += " failed"
		reason := table.ErrorOf(r)
		if table.IsDeadline(reason) && strings.Contains(reason, "waiting for container") { // for its end, after SIGKILL
			e.Text += ": a container has not ended after SIGKILL"
		}
		e.AddFields(failureFields(method, reason)...)
	}
	return e, true
}

// networkLeft is the clean-up after a sandbox that could not be made, which fails, too, in the
// network plugin:
//
//	error Failed to destroy network for sandbox "<id>"      error="plugin type=\"calico\" failed (delete): …"
func networkLeft(r *event.Record) (event.Event, bool) {
	reason := table.ErrorOf(r)
	e := event.New(event.KindCRICall, "StopPodSandbox failed", event.FieldMethod.Text("StopPodSandbox"))
	e.IDs.Sandbox = scan.FindID(r.Message())
	e.AddFields(failureFields("StopPodSandbox", reason)...)
	return e, strings.HasPrefix(r.Message(), "Failed to destroy network for sandbox ") && repeated.NetworkPlugin(reason) != ""
}

// failureFields is how a call of the CRI ended that did not end well. One that is canceled is one
// whose caller waits no longer.
func failureFields(method, reason string) []event.Field {
	plugin := repeated.NetworkPlugin(reason)
	fields := []event.Field{
		event.FieldOutcome.Text("failed"), event.FieldError.Text(reason), event.FieldExited.Bool(isExitedError(reason)),
		event.FieldDeadline.Bool(plugin == "" && !repeated.IsGuestMute(reason) && (table.IsDeadline(reason) || strings.Contains(reason, "context canceled"))),
	}
	if plugin != "" {
		fields = append(fields, event.FieldPlugin.Text(plugin))
	}
	return append(fields, repeated.FailureReason(method, reason)...)
}

// createCall is one end of a call that makes a sandbox or a container, which has no id before its
// end. What it was asked for is the same at both ends.
//
//	info  RunPodSandbox for &PodSandboxMetadata{Name:p,Uid:u,Namespace:n,Attempt:0,}      (≤ 1.6: RunPodsandbox)
//	info  RunPodSandbox for &PodSandboxMetadata{…} returns sandbox id "<id>"
//	error RunPodSandbox for &PodSandboxMetadata{…} failed, error      error="…"
//	info  CreateContainer within sandbox "<sandbox>" for container &ContainerMetadata{Name:main,Attempt:0,}
//	info  CreateContainer within sandbox "<sandbox>" for &ContainerMetadata{…} returns container id "<id>"
//	error CreateContainer within sandbox "<sandbox>" for &ContainerMetadata{…} failed      error="…"
func createCall(r *event.Record) (event.Event, bool) {
	text := r.Message()
	e := event.Event{Kind: event.KindCRICall}
	method, what := "RunPodSandbox", ""
	if rest, ok := strings.CutPrefix(text, "CreateContainer within sandbox "); ok {
		method = "CreateContainer"
		e.IDs.Sandbox = scan.ContainerID(rest)
		what = strings.TrimPrefix(scan.After(rest, " for "), "container ")
	} else if strings.HasPrefix(text, "RunPod") {
		what = scan.After(text, " for ")
	}
	asked, _, returned := strings.Cut(what, " returns ")
	failed := false
	if !returned {
		asked, _, failed = strings.Cut(what, " failed")
	}
	name, namespace := metadataField(asked, "Name"), metadataField(asked, "Namespace")
	if namespace != "" {
		e.IDs.Pod, e.IDs.PodUID = namespace+"/"+name, metadataField(asked, "Uid")
	}
	e.Fields = []event.Field{event.FieldMethod.Text(method)}
	e.Text = method + " of " + cmp.Or(e.IDs.Pod, name)
	e.Span = event.Span{Key: "cri/" + method + "/" + e.IDs.Sandbox + "/" + asked, Edge: event.Begin}
	switch {
	case returned:
		e.Span.Edge = event.End
		e.AddFields(event.FieldOutcome.Text("ok"))
	case failed:
		e.Span.Edge = event.End
		e.Text += " failed"
		e.AddFields(failureFields(method, table.ErrorOf(r))...)
	}
	return e, name != ""
}

// metadataField is a field of what a sandbox or a container is called, as Go prints it (Name:p,) or
// protobuf's own text (name:"p").
func metadataField(metadata, key string) string {
	if v, ok := scan.Between(metadata, key+":", ","); ok {
		return v
	}
	v, _ := scan.Between(metadata, strings.ToLower(key)+`:"`, `"`)
	return v
}

// listFailed is a list that failed. Containerd does not say when it began.
//
//	error ListContainers with filter &ContainerFilter{…} failed       error="…"
//	error StreamContainers with filter &ContainerFilter{…} failed     error="…"      (≥ 2.4)
func listFailed(r *event.Record) (event.Event, bool) {
	text := r.Message()
	method, rest, _ := strings.Cut(text, " with filter ")
	if strings.Contains(method, " ") || !strings.HasSuffix(rest, " failed") || strings.Contains(rest, "from runtime service") {
		return event.Event{}, false // the kubelet's own words, or no failure
	}
	e := event.New(event.KindCRICall, method+" failed", event.FieldMethod.Text(method))
	e.AddFields(failureFields(method, table.ErrorOf(r))...)
	return e, true
}

// execFailed is a moment and no interval: a container has many probes at once, and only the debug
// log tells of their begins.
//
//	error ExecSync for "<id>" failed      error="failed to exec in container: …: context canceled: unknown"
func execFailed(r *event.Record) (event.Event, bool) {
	id, failed := strings.CutSuffix(scan.After(r.Message(), "ExecSync for "), " failed")
	e, ok := containerEvent(event.KindCRICall, id, "ExecSync of * failed", event.FieldMethod.Text("ExecSync"))
	e.AddFields(failureFields("ExecSync", table.ErrorOf(r))...)
	return e, failed && ok
}

// containerEvent is an event of the container whose id stands at the start of text; * in what it
// says stands for the id. Ok is false without an id.
func containerEvent(kind event.Kind, text, says string, fields ...event.Field) (e event.Event, ok bool) {
	id := scan.ContainerID(text)
	e = event.New(kind, strings.Replace(says, "*", scan.Short(id), 1), fields...)
	e.IDs.Container = id
	return e, id != ""
}

// quickCall is how long a CRI call lasts at most in ordinary life; the incidents are about minutes.
const quickCall = 2 * time.Second

// Ordinary says that the two ends of a span tell of nothing but ordinary life: a CRI call that
// ended well at once.
func Ordinary(begin, end *event.Event) bool {
	outcome, _ := end.Get(event.FieldOutcome)
	took := end.Start.T.Sub(begin.Start.T)
	return begin.Kind == event.KindCRICall && outcome.Text() == "ok" && took >= 0 && took < quickCall
}

// PartOf is the key of the span that lies within the one of this key: a
// StartContainer that has returned has got its scope. Empty when there is none.
func PartOf(key string) string {
	if id, ok := strings.CutPrefix(key, "cri/StartContainer/"); ok {
		return "scope/" + id
	}
	return ""
}

// isExitedError tells an update that reached a container whose process had
// gone: go-runc's and the shim's deletedState and stoppedState refuse it so.
func isExitedError(s string) bool {
	return strings.Contains(s, "cannot update a deleted process") || strings.Contains(s, "cannot update a stopped container")
}

// updateCost: [UpdateContainerResources] <id> cost 2m0.271565471s (build of the short-task
// write-up).
func updateCost(r *event.Record) (event.Event, bool) {
	e, ok := costOf(event.KindCRICall, "[UpdateContainerResources] ", "UpdateContainerResources")(r)
	e.AddFields(event.FieldMethod.Text("UpdateContainerResources"))
	e.Span.Key = "cri/UpdateContainerResources/" + e.IDs.Container
	return e, ok
}

// listCost: [ListContainers] all list containers cost 1m28.99s (same build).
func listCost(r *event.Record) (event.Event, bool) {
	d, ok := scan.Duration(r.Message(), "list containers cost ", "")
	if !ok {
		return event.Event{}, false
	}
	e := event.Event{Kind: event.KindCRICall, Start: r.Time.Add(-d), End: r.Time, Text: "ListContainers"}
	e.Fields = []event.Field{event.FieldMethod.Text("ListContainers")}
	return e, true
}

// snapshotsCollected: level=debug msg="snapshot garbage collected" d=14.018002362s snapshotter=soci
// (1.1 to 2.2; metadata/snapshot.go). Ordinary ones take milliseconds, and are left out.
func snapshotsCollected(r *event.Record) (event.Event, bool) {
	const slow = 10 * time.Second
	value, _ := r.Field("d")
	d, err := time.ParseDuration(value)
	if err != nil || d < slow {
		return event.Event{}, false
	}
	snapshotter, _ := r.Field("snapshotter")
	e := event.Event{Kind: event.KindSnapshotsCollected, Start: r.Time.Add(-d), End: r.Time}
	e.Fields = []event.Field{event.FieldSnapshotter.Text(snapshotter)}
	e.Text = "collected the garbage of the snapshotter " + snapshotter
	return e, true
}

// statusCost: [ListContainers] get container <id> status cost 1m28.99s (same build).
func statusCost(r *event.Record) (event.Event, bool) {
	e, ok := costOf(event.KindStatusGet, "get container ", "Status.Get")(r)
	if caller, found := scan.Between(r.Message(), "[", "]"); found {
		e.AddFields(event.FieldCall.Text(caller))
		e.Text += " in " + caller
	}
	return e, ok
}

// costOf makes an interval of a line that says how long something about a container took (same
// build):
//
//	[updateContainerSpec.taskUpdate] <id> cost 1m57.5s
//	handleContainerExit status.updateSync <id> cost 1m50.4s
func costOf(kind event.Kind, before, what string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		_, rest, _ := strings.Cut(r.Message(), before)
		d, found := scan.Duration(rest, "cost ", "")
		e, ok := containerEvent(kind, rest, what+" of *", event.FieldCost.Duration(d))
		e.Start, e.End = r.Time.Add(-d), r.Time
		return e, ok && found
	}
}

// taskExit is the exit of a container's first process, at the time the shim
// noted, in both spellings of the event; 2.0 and later "received container exit event":
//
//	≤ 1.6  &TaskExit{ContainerID:<id>,ID:<id>,Pid:2375,ExitStatus:137,ExitedAt:2026-11-20 18:25:36.161354478 +0000 UTC,…}
//	≥ 1.7  container_id:"<id>" id:"<id>" pid:2375 exit_status:137 exited_at:{seconds:1763663136 nanos:161354478}
//
// The event carries UTC, whatever zone the line's own stamp is in, so a pair of both tells that
// zone.
func taskExit(r *event.Record) (event.Event, bool) {
	text := r.Message()
	e := event.Event{Kind: event.KindTaskExit}
	e.IDs.Container = scan.ContainerID(scan.After(text, "ContainerID:", "container_id:"))
	process := scan.ContainerID(scan.After(text, ",ID:", " id:", "{ID:", " ID:"))
	if e.IDs.Container == "" {
		e.IDs.Container = process
	}
	if e.IDs.Container == "" || process != "" && process != e.IDs.Container {
		return event.Event{}, false // without an id, or the exit of an exec
	}
	e.AddNumber(event.FieldExitStatus, scan.Digits(scan.After(text, "ExitStatus:", "exit_status:")))
	if at, ok := exitedAt(text); ok {
		e.Start = at
		if !r.Time.IsZero() && r.Time.Lacks == 0 && event.Plausible(r.Time.T) {
			e.AddFields(event.FieldLag.Duration(r.Time.T.Sub(at.T)))
		}
	}
	e.Text = "container " + scan.Short(e.IDs.Container) + " exited"
	return e, true
}

// exitedAt reads the time inside an exit event; write-ups cut its fraction and zone, which are
// always UTC.
func exitedAt(text string) (event.Time, bool) {
	if s := scan.After(text, "ExitedAt:"); s != "" {
		for _, layout := range []string{"2006-01-02 15:04:05.999999999 -0700 MST", "2006-01-02 15:04:05"} {
			end := len(s)
			if layout == "2006-01-02 15:04:05" {
				end = min(end, len(layout))
			} else if i := strings.Index(s, " UTC"); i >= 0 {
				end = i + len(" UTC")
			}
			if t, err := time.Parse(layout, s[:end]); err == nil {
				return event.At(t), event.Plausible(t) // the zero time is no time
			}
		}
		return event.Time{}, false
	}
	s := scan.After(text, "exited_at:{")
	seconds, err := strconv.ParseInt(scan.Digits(scan.After(s, "seconds:")), 10, 64)
	if err != nil {
		return event.Time{}, false
	}
	// protobuf text leaves a zero out
	nanos, _ := strconv.ParseInt(scan.Digits(scan.After(s, "nanos:")), 10, 64)
	at := time.Unix(seconds, nanos).UTC()
	return event.At(at), event.Plausible(at)
}

// deleteFailed: debug failed to delete task  error="context deadline exceeded" id=<id>
// (error level in 2.x): the shim did not answer Delete within handleEventTimeout,
// 10 s (pkg/cri/server/events.go). "not found" is a task already gone.
func deleteFailed(r *event.Record) (event.Event, bool) {
	reason := table.ErrorOf(r)
	e, ok := containerEvent(event.KindDeleteFailed, r.Value("id"), "the shim did not answer Delete of *", table.ErrorFields(reason)...)
	return e, ok && strings.HasPrefix(r.Message(), "failed to delete task") && !strings.Contains(reason, "not found")
}

// exitFailed:
//
//	error failed to handle container TaskExit event &TaskExit{…}       error="failed to stop container: …"
//	error failed to handle sandbox TaskExit event &TaskExit{…}         error="failed to stop sandbox: …"
//	error Failed to handle backOff event &TaskExit{…} for <id>         error="failed to handle container TaskExit event: …"
func exitFailed(r *event.Record) (event.Event, bool) {
	exit, ok := taskExit(r)
	if !ok {
		return event.Event{}, false
	}
	e := event.Event{Kind: event.KindExitFailed, IDs: exit.IDs, Fields: table.ErrorFields(table.ErrorOf(r))}
	e.AddFields(event.FieldAgain.Bool(strings.HasPrefix(r.Message(), "Failed to handle backOff")))
	if lag, ok := exit.Get(event.FieldLag); ok {
		e.AddFields(event.Field{Key: event.FieldLag, Value: lag})
	}
	e.Text = "containerd could not handle the exit of " + scan.Short(exit.IDs.Container)
	return e, true
}

// shimClosed: warning Shim ttrpc connection closed when stopping container "<id>", retry after
// 100ms error="ttrpc: closed" (≥ 2.2; also "sandbox container"): the shim ended, or was killed,
// while containerd talked to it.
func shimClosed(r *event.Record) (event.Event, bool) {
	text := r.Message()
	id := scan.After(text, ` container "`, ` container \"`)
	e, ok := containerEvent(event.KindShimClosed, id, "the connection to the shim of * broke")
	if strings.Contains(text, "sandbox container") {
		e.IDs.Sandbox = e.IDs.Container
	}
	e.AddText(event.FieldError, table.ErrorOf(r))
	return e, ok
}

// eventUnsent is a shim that could not hand an event over to containerd. That of containerd 1.0 to
// 1.7 (runtime v1) tries once, the others six times:
//
//	error post event error="failed to publish event" namespace=k8s.io path=/run/containerd/…
//	error post event error="context deadline exceeded"
//	error evicting /tasks/exit from queue because of retry count
func eventUnsent(r *event.Record) (event.Event, bool) {
	text := r.Message()
	e := event.New(event.KindEventUnsent, "a shim could not hand an event over to containerd")
	e.Component = "shim"
	if rest, ok := strings.CutPrefix(text, "evicting "); ok {
		topic := scan.FirstWord(rest)
		e.Text = "a shim has given up handing an event over to containerd (" + topic + ")"
		e.AddText(event.FieldWhat, topic)
		return e, strings.HasPrefix(topic, "/")
	}
	e.AddText(event.FieldError, table.ErrorOf(r))
	return e, text == "post event" && table.ErrorOf(r) != ""
}

// stopRepeated is a container that was told to end before and has not (≥ 1.7.24, 2.0):
//
//	info Skipping the sending of signal terminated to container "<id>" because a prior stop with timeout>0 request already sent the signal
func stopRepeated(r *event.Record) (event.Event, bool) {
	id := scan.After(r.Message(), ` to container "`, ` to container \"`)
	e, ok := containerEvent(event.KindKillLate, id, "container * was told to stop before, and has not ended")
	e.AddText(event.FieldSignal, scan.FirstWord(scan.After(r.Message(), "sending of signal ")))
	return e, ok
}

// endNotSeen is a container whose end containerd has not noted in time (1.0 to 2.x), after the
// signal that it asks for, and after SIGKILL:
//
//	≤ 1.2  error An error occurs during waiting for container "<id>" to be stopped      error="wait container \"<id>\" stop timeout"
//	       error An error occurs during waiting for container "<id>" to be killed       error="wait container \"<id>\" stop timeout"
//	≥ 1.3  error An error occurs during waiting for container "<id>" to be stopped      error="wait container \"<id>\": context deadline exceeded"
//
// A caller that has stopped to wait (context canceled) says nothing about the container.
func endNotSeen(r *event.Record) (event.Event, bool) {
	text, reason := r.Message(), table.ErrorOf(r)
	id := scan.After(text, `waiting for container "`, `waiting for container \"`)
	e, ok := containerEvent(event.KindKillLate, id, "containerd has not seen container * end in time")
	signal := "stop signal"
	if strings.Contains(text, "to be killed") {
		signal = "9"
	}
	e.AddText(event.FieldSignal, signal)
	return e, ok && strings.HasPrefix(text, "An error occurs during waiting") && (strings.Contains(r.Raw, "stop timeout") || table.IsDeadline(reason))
}

// shimLeaked: info cleaning leaked shim process id=<id> namespace=k8s.io (≥ 1.6, while containerd
// loads what it finds at its start). Up to 2.3.4 it waits without a limit for such a shim's answer
// (containerd#13848).
func shimLeaked(r *event.Record) (event.Event, bool) {
	return containerEvent(event.KindShimLeaked, r.Value("id"), "containerd cleans up after the leaked shim of *")
}

// oomUnknown: warning failed to check and update container <id> if oom event occurred error="…" (≥
// 2.3): before the deletion of a container that ended with 137 its shim is asked for metrics. A
// shim that does not answer is met there first.
func oomUnknown(r *event.Record) (event.Event, bool) {
	id := scan.After(r.Message(), "failed to check and update container ")
	return containerEvent(
		event.KindOOMUnknown, id, "the shim of * did not say whether it was killed for memory", table.ErrorFields(table.ErrorOf(r))...,
	)
}

// mountsLeft: error failed to deactivate mounts error="…" task=<id> (≥ 2.2).
func mountsLeft(r *event.Record) (event.Event, bool) {
	return containerEvent(event.KindMountsLeft, r.Value("task"), "mounts of * are left", table.ErrorFields(table.ErrorOf(r))...)
}

// rootfsLeft is an overlay that somebody still uses, mostly in another mount namespace:
//
//	warning failed to cleanup rootfs mount  error="failed to unmount target /run/containerd/io.containerd.runtime.v2.task/k8s.io/<id>/rootfs: device or resource busy"
func rootfsLeft(r *event.Record) (event.Event, bool) {
	reason := table.ErrorOf(r)
	return containerEvent(event.KindMountsLeft, scan.FindID(reason), "the rootfs of * is left mounted", table.ErrorFields(reason)...)
}

// cleanupKilled is "containerd-shim-runc-v2 … delete", which containerd runs when the connection to
// a shim has broken, and ends after io.containerd.timeout.shim.cleanup, 5 s: runc or an unmount
// hangs in it.
//
//	warning failed to clean up after shim disconnected  error=": signal: killed" id=<id> namespace=k8s.io
func cleanupKilled(r *event.Record) (event.Event, bool) {
	reason := table.ErrorOf(r)
	e, ok := containerEvent(event.KindCleanupKilled, r.Value("id"), "what cleans up after the shim of * did not end within 5 s", event.FieldError.Text(reason))
	return e, ok && strings.HasSuffix(reason, "signal: killed")
}

// criPluginFailed is containerd without the CRI; without other plugins it works, and says so at
// each start:
//
//	warning failed to load plugin io.containerd.grpc.v1.cri  error="invalid plugin config: …"
//	warning failed to load plugin  error="failed to create CRI service: …" id=io.containerd.grpc.v1.cri type=io.containerd.grpc.v1      (≥ 2.0)
func criPluginFailed(r *event.Record) (event.Event, bool) {
	plugin := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(r.Message(), "failed to load plugin"), " "), r.Value("id"))
	reason := table.ErrorOf(r)
	return event.New(
		event.KindPluginFailed, "containerd does not serve the CRI: its plugin is not loaded: "+scan.Clip(reason),
		event.FieldPlugin.Text(plugin), event.FieldError.Text(scan.Clip(reason)),
	), strings.HasPrefix(plugin, "io.containerd.") && strings.HasSuffix(plugin, "cri")
}

// fatalError is the last line of a daemon that ends by logrus' Fatal:
//
//	containerd  fatal Failed to run CRI service      error="failed to recover state: failed to reserve sandbox name …"
//	crio        fatal Validating root config: failed to get store to set defaults: …
//
// A line that does not name its writer counts in a file that does, as containerd.log of k3s.
func fatalError(component string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		text := r.Message()
		if reason := table.ErrorOf(r); reason != "" {
			text += ": " + reason
		}
		writer := daemon.Component(r.Unit, r.Pos.File)
		e := crash.Event(writer, "ends", text)
		return e, (r.Unit != "" || writer == component) && r.Level == event.Fatal && !strings.Contains(r.Unit, "shim")
	}
}

// NRI is what NRI 0.2 to 0.12 says, which is a library of containerd and of CRI-O.
var NRI = table.Table{Unnamed: "containerd", Rows: []table.Row{
	{[]string{"closing plugin "}, nriPluginClosed},
	{[]string{"failed to synchronize plugin: "}, nriPluginNotSynchronized},
}}

// nriPluginNotSynchronized is a plugin of NRI that was told of all pods when it registered, and
// failed or did not answer in time. The runtime does not take it in, and does not name it.
//
//	info failed to synchronize plugin: context deadline exceeded
func nriPluginNotSynchronized(r *event.Record) (event.Event, bool) {
	e := event.New(event.KindPluginClosed, "the runtime does not take in a plugin, which did not handle Synchronize", event.FieldCall.Text("Synchronize"))
	e.AddFields(table.ErrorFields(scan.After(r.Message(), "synchronize plugin: "))...)
	return e, strings.HasPrefix(r.Message(), "failed to synchronize plugin: ")
}

// nriPluginClosed is a plugin of NRI that the runtime drops: it failed, or did not answer within
// its two seconds. Pods go on without it.
//
//	error closing plugin 10-balloons, failed to handle CreateContainer request: context deadline exceeded
//	error closing plugin 10-dranet, failed to handle event 1: context deadline exceeded      (pkg/adaptation/plugin.go, StateChange)
func nriPluginClosed(r *event.Record) (event.Event, bool) {
	plugin, rest, ok := strings.Cut(scan.After(r.Message(), "closing plugin "), ", failed to handle ")
	call, reason, named := strings.Cut(rest, " request: ")
	if number, why, isEvent := strings.Cut(strings.TrimPrefix(rest, "event "), ": "); isEvent && strings.HasPrefix(rest, "event ") {
		call, reason, named = cmp.Or(nriEvents[number], "event "+number), why, true
	}
	e := event.New(event.KindPluginClosed, "the runtime drops plugin "+plugin+", which did not handle "+call)
	e.Fields = []event.Field{event.FieldPlugin.Text(plugin), event.FieldCall.Text(call)}
	e.AddFields(table.ErrorFields(reason)...)
	return e, ok && named && plugin != ""
}

// nriEvents are the events that the runtime tells its plugins of, by number (pkg/api/api.proto of
// NRI, Event), where no request has the same name.
var nriEvents = map[string]string{
	"1": "RunPodSandbox", "2": "StopPodSandbox", "3": "RemovePodSandbox", "5": "PostCreateContainer", "6": "StartContainer",
	"7": "PostStartContainer", "9": "PostUpdateContainer", "11": "RemoveContainer",
}

// stateTimeout: error get state for <id> error="context deadline exceeded: unknown": the shim did
// not answer State within io.containerd.timeout.task.state, 2 s. With "context canceled" it was the
// caller who waited no longer, which says nothing of the shim.
//
//	≥ 2.3.4  error failed to get task for container <id> error="context deadline exceeded"; 2.2.9 does not
//	         print it: it goes on without the state
//	         error converting task to protobuf  error="context canceled: unknown" id=<id>
//
// The last is a list of tasks, which asks one shim after the other: when its client has gone, those
// that come next fail, too.
func stateTimeout(r *event.Record) (event.Event, bool) {
	id := cmp.Or(scan.After(r.Message(), "get state for ", "failed to get task for container "), r.Value("id"))
	if r.Message() == "converting task to protobuf" && strings.Contains(table.ErrorOf(r), "context canceled") {
		return containerEvent(event.KindStateUnasked, id, "a client of containerd waited no longer for the State of *")
	}
	e, ok := containerEvent(event.KindStateTimeout, id, "the shim did not answer State of *")
	return e, ok && table.IsDeadline(table.ErrorOf(r))
}

// updateRefused: container "<id>" is in removing state (stock), … is in removing or stopping state
// (private patch).
func updateRefused(r *event.Record) (event.Event, bool) {
	text := r.Message() + table.ErrorOf(r)
	e := event.New(event.KindUpdateRefused, "containerd refused to update a container that is going")
	e.IDs.Container = scan.ContainerID(scan.After(text, `container "`, `container \"`))
	e.Fields = []event.Field{event.FieldPatched.Bool(strings.Contains(text, "removing or stopping state"))}
	return e, true
}

// createdEvent:
//
//	info RunPodSandbox for &PodSandboxMetadata{Name:p,Uid:u,Namespace:n,Attempt:0,} returns sandbox id "<id>"
//	info CreateContainer within sandbox "<sandbox>" for &ContainerMetadata{Name:main,Attempt:0,} returns container id "<id>"
func createdEvent(r *event.Record) (event.Event, bool) {
	text := r.Message()
	e := event.Event{Kind: event.KindCreated}
	if rest := scan.After(text, "returns sandbox id "); rest != "" {
		e.IDs.Sandbox = scan.ContainerID(rest)
		name, _ := scan.Between(text, "Name:", ",")
		namespace, _ := scan.Between(text, "Namespace:", ",")
		e.IDs.PodUID, _ = scan.Between(text, "Uid:", ",")
		if name != "" {
			e.IDs.Pod = namespace + "/" + name
		}
		e.Text = "sandbox " + scan.Short(e.IDs.Sandbox) + " runs"
		return e, e.IDs.Sandbox != ""
	}
	e.IDs.Container = scan.ContainerID(scan.After(text, "returns container id "))
	e.IDs.Sandbox = scan.ContainerID(scan.After(text, "within sandbox "))
	if name, ok := scan.Between(text, "Name:", ","); ok {
		e.Fields = []event.Field{event.FieldName.Text(name)}
	}
	e.Text = "container " + scan.Short(e.IDs.Container) + " created"
	return e, e.IDs.Container != ""
}

// scopeAsked: info StartContainer for "<id>": runc create comes next, and with the
// systemd driver it asks PID 1 for the container's scope.
func scopeAsked(r *event.Record) (event.Event, bool) {
	rest, ok := strings.CutPrefix(r.Message(), "StartContainer for ")
	id := scan.ContainerID(rest)
	return repeated.ScopeStart(id, event.Begin), ok && id != "" && !scan.ContainsAny(rest, []string{" returns ", " failed"})
}

// shimStart: info starting signal loop namespace=k8s.io
// path=/run/containerd/io.containerd.runtime.v2.task/k8s.io/<id> pid=4626 runtime=… The shim of a
// docker container or of a sandbox asks systemd for the scope of that id right after, so the line
// also begins the scope's start.
func shimStart(r *event.Record) (event.Event, bool) {
	dir, ok := r.Field("path")
	id := scan.ContainerID(path.Base(dir))
	runtime, named := r.Field("runtime")
	if !ok || id == "" || named && !strings.Contains(runtime, ".runc.") {
		return event.Event{}, false // kata and gVisor ask systemd for nothing
	}
	e := repeated.ScopeStart(id, event.Begin)
	if pid, ok := r.Field("pid"); ok {
		e.IDs.PID, _ = strconv.Atoi(pid)
	}
	return e, true
}

// shimProcessStart reads the line of shimStart once more, for the pid of the shim. That pid ties
// sampled threads to the sandbox, or to docker's container.
func shimProcessStart(r *event.Record) (event.Event, bool) {
	pid := r.Value("pid")
	e, ok := containerEvent(event.KindShimStart, path.Base(r.Value("path")), "shim "+pid+" of * starts")
	e.IDs.PID, _ = strconv.Atoi(pid)
	return e, ok && e.IDs.PID > 0
}

func shimGone(r *event.Record) (event.Event, bool) {
	return containerEvent(event.KindShimGone, r.Value("id"), "shim of * gone")
}

// sandboxRemoved: info RemovePodSandbox \"<id>\" returns successfully: the last that the CRI knows
// of a sandbox.
func sandboxRemoved(r *event.Record) (event.Event, bool) {
	rest, ok := strings.CutPrefix(r.Message(), "RemovePodSandbox ")
	e, named := containerEvent(event.KindRemoved, rest, "sandbox * removed")
	e.IDs.Sandbox = e.IDs.Container
	return e, ok && named && strings.HasSuffix(rest, "returns successfully")
}

// lateCleanupDone: info Ensure that sandbox <id> in task-service has been cleanup successfully
// (also "container <id>"; ≥ 1.6.24, 1.7.4): a deletion that had run into its time limit was made up
// for.
func lateCleanupDone(r *event.Record) (event.Event, bool) {
	id := scan.After(r.Message(), "Ensure that sandbox ", "Ensure that container ")
	return containerEvent(event.KindCleanedUp, id, "task of * cleaned up later")
}

func dumpWritten(r *event.Record) (event.Event, bool) {
	file := scan.After(r.Message(), " written to ")
	return event.New(event.KindDumpWritten, "goroutine dump written to "+file, event.FieldPath.Text(file)), file != ""
}

// systemdCgroup: debug use OCI runtime {… Options:map[… SystemdCgroup:true] …} and SystemdCgroup =
// true of config.toml.
func systemdCgroup(r *event.Record) (event.Event, bool) {
	text := strings.ReplaceAll(r.Message(), " ", "")
	switch {
	case strings.Contains(text, "SystemdCgroup:true"), strings.HasPrefix(text, "SystemdCgroup=true"):
		return facts.New("containerd.systemd-cgroup", "true")
	case strings.Contains(text, "SystemdCgroup:false"), strings.HasPrefix(text, "SystemdCgroup=false"):
		return facts.New("containerd.systemd-cgroup", "false")
	}
	return event.Event{}, false
}

// mountOptions: mount_options = ["volatile"] of config.toml; only the overlayfs snapshotter has
// that key.
func mountOptions(r *event.Record) (event.Event, bool) {
	key, value, ok := strings.Cut(r.Message(), "=")
	if !ok || strings.TrimSpace(key) != "mount_options" {
		return event.Event{}, false
	}
	return facts.New("containerd.overlay-mount-options", strings.TrimSpace(value))
}
