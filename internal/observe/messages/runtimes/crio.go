package runtimes

import (
	"cmp"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/crash"
	"github.com/plegdiag/plegdiag/internal/observe/messages/repeated"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// CRIO is what CRI-O 1.14 to 1.35 says, whose lines are logrus text as containerd's.
var CRIO = table.Table{
	Component: "crio",
	Rows: []table.Row{
		// info Starting CRI-O, version: 1.26.1, git: abc(dirty) (≥ 1.24; before that, without the
		// version)
		{[]string{"Starting CRI-O"}, table.FactFrom("crio.version", func(r *event.Record) string {
			return scan.Version(scan.After(r.Message(), "version: "))
		})},
		// warning Stopping container <id> with stop signal timed out: timeout reached after 30 seconds
		// waiting for container process to exit warning Stopping container <id> with stop signal(TERM)
		// timed out. Killing... (1.34)
		{[]string{"with stop signal timed out", "with stop signal("}, killLate},
		{[]string{"Detected process ("}, killFails},
		{[]string{"Stopping container: ", "Stopped container ", "Stopping pod sandbox: ", "Stopped pod sandbox"}, stopAsked},
		{[]string{"ailed to find container exit file"}, exitCodeLost},
		{[]string{"ailed to update container state for "}, runcStateKilled},
		{[]string{"Container creation error: "}, createFailed},
		{[]string{"Error adding network: ", "Error deleting network: "}, networkFailed},
		{[]string{"NetworkReady status: false", "Type:NetworkReady,Status:false,"}, networkNotReady},
		{[]string{"Could not restore sandbox "}, sandboxUnrestored},
		{[]string{"level=fatal"}, fatalError("crio")},
		{[]string{"not yet finished. Currently at stage ", "error reserving ctr name ", "error reserving pod name ", "context was either canceled or the deadline was exceeded"}, createWaits},
		table.Crash,
		table.CrashedCall,
	},
}

// sandboxUnrestored is a sandbox that CRI-O finds on its disk as it starts, and does not take over
// (internal/lib/sandbox, server.restore). It deletes its containers then, one sandbox after
// another, and serves the CRI when it is done with all of them:
//
//	warning Could not restore sandbox <id>: failed to Statfs \"/var/run/netns/…\": no such file or directory
func sandboxUnrestored(r *event.Record) (event.Event, bool) {
	rest := scan.After(r.Message(), "Could not restore sandbox ")
	id, reason, ok := strings.Cut(rest, ": ")
	e := event.New(event.KindUnrestored, "CRI-O starts, and cannot restore sandbox "+scan.Short(scan.ContainerID(id)), event.FieldError.Text(reason))
	e.IDs.Sandbox = scan.ContainerID(id)
	return e, ok && e.IDs.Sandbox != ""
}

// createFailed is a container that the OCI runtime does not create for a reason that is known and
// the node's (internal/oci, whose words are those of runc or crun):
//
//	error Container creation error: writing file `devices.allow`: Operation not permitted\n      id=<request> name=/runtime.v1.RuntimeService/CreateContainer
func createFailed(r *event.Record) (event.Event, bool) {
	reason := scan.After(r.Message(), "Container creation error: ")
	method := "CreateContainer"
	if strings.HasSuffix(r.Value("name"), "/RunPodSandbox") {
		method = "RunPodSandbox"
	}
	e := event.New(
		event.KindCRICall, method+" failed", event.FieldMethod.Text(method), event.FieldOutcome.Text("failed"),
		event.FieldError.Text(strings.TrimSuffix(reason, `\n`)), event.FieldDeadline.Bool(false),
	)
	fields := repeated.FailureReason(method, reason)
	e.AddFields(fields...)
	return e, fields != nil
}

// networkFailed is a network plugin that CRI-O ran in vain, to set up the network of a sandbox or
// to take it down:
//
//	error Error adding network: plugin type="multus-shim" name="multus-cni-network" failed (add): CmdAdd (shim): CNI request failed with status 400: …
//	error Error deleting network: [shop/web-1:ovn-kubernetes]: error removing container from network "ovn-kubernetes": …      (before)
func networkFailed(r *event.Record) (event.Event, bool) {
	method, reason := "RunPodSandbox", scan.After(r.Message(), "Error adding network: ")
	if reason == "" {
		method, reason = "StopPodSandbox", scan.After(r.Message(), "Error deleting network: ")
	}
	plain := strings.ReplaceAll(reason, `\"`, `"`)
	network, named := scan.Between(plain, ` network "`, `"`)
	if !named && strings.HasPrefix(plain, "Multus: ") {
		network = "multus"
	}
	e := event.New(
		event.KindCRICall, method+" failed", event.FieldMethod.Text(method), event.FieldOutcome.Text("failed"),
		event.FieldError.Text(reason), event.FieldDeadline.Bool(false), event.FieldPlugin.Text(cmp.Or(repeated.NetworkPlugin(plain), network, "cni")),
	)
	e.AddFields(repeated.FailureReason(method, reason)...)
	e.IDs.Sandbox = scan.FindID(reason)
	return e, reason != "" && (r.Unit != "" || strings.Contains(r.Raw, "level=error")) // the kubelet's old dockershim says it, too
}

// networkNotReady is CRI-O's own word on the condition that the kubelet asks it for (≥ 1.28):
//
//	warning CNI plugin not yet initialized. Ignoring NetworkReady status: false, message: Network plugin returns error: no CNI configuration file in /etc/cni/net.d/. Has your network provider started?, reason: NetworkPluginNotReady
//
// or its answer to Status, which it logs at level debug:
//
//	Response: &StatusResponse{Status:&RuntimeStatus{Conditions:[]*RuntimeCondition{…,&RuntimeCondition{Type:NetworkReady,Status:false,Reason:NetworkPluginNotReady,Message:Network plugin returns error: no CNI configuration file in …,},},},…
func networkNotReady(r *event.Record) (event.Event, bool) {
	message, reason, ok := strings.Cut(scan.After(r.Message(), "NetworkReady status: false, message: "), ", reason: ")
	if answer := scan.After(r.Message(), "Type:NetworkReady,Status:false,Reason:"); answer != "" {
		reason, message, _ = strings.Cut(answer, ",Message:")
		message, _, ok = strings.Cut(message, ",},")
	}
	return event.New(
		event.KindNetworkNotReady, "the network of the runtime is not ready: "+message, event.FieldReason.Text(reason), event.FieldMessage.Text(message),
	), ok
}

// stopAsked is one end of a stop (≥ 1.17). A stop that fails has no end here: the kubelet asks
// again. Each request has its own id=, but whichever of them stops it, it is stopped for all.
//
//	info Stopping container: <id> (timeout: 30s)      id=<request> name=/runtime.v1.RuntimeService/StopContainer
//	info Stopped container <id>: shop/web-1/app
//	info Stopping pod sandbox: <id>                   id=<request> name=/runtime.v1.RuntimeService/StopPodSandbox
//	info Stopped pod sandbox: <id>                    (also: Stopped pod sandbox (already stopped): <id>)
func stopAsked(r *event.Record) (event.Event, bool) {
	text := r.Message()
	id := scan.FindID(text)
	e := event.New(event.KindCRICall, "StopContainer of "+scan.Short(id), event.FieldMethod.Text("StopContainer"))
	if e.IDs.Container = id; strings.Contains(text, " pod sandbox") {
		e = event.New(event.KindCRICall, "StopPodSandbox of "+scan.Short(id), event.FieldMethod.Text("StopPodSandbox"))
		e.IDs.Sandbox = id
	}
	e.Span = event.Span{Key: "stop/" + id, State: true, Edge: event.Begin}
	if strings.HasPrefix(text, "Stopped ") {
		e.Span.Edge = event.End
		e.AddFields(event.FieldOutcome.Text("ok"))
	} else if grace, err := time.ParseDuration(strings.TrimSuffix(scan.After(text, "(timeout: "), ")")); err == nil {
		e.AddFields(event.FieldGrace.Duration(grace))
	}
	return e, id != "" && strings.HasPrefix(text, "Stop")
}

// killFails is a container that outlives SIGKILL, which CRI-O (1.34) says a few times a minute:
//
//	error Detected process (4711) blocked in uninterruptible sleep for more than 90 seconds for container <id>
//	warning Detected process (4711) in state S blocked for more than 90 seconds for container <id>. One of the child processes might be in uninterruptible sleep.
func killFails(r *event.Record) (event.Event, bool) {
	text := r.Message()
	e, ok := containerEvent(event.KindKillLate, scan.FindID(text), "container * did not end in time")
	if wait, err := time.ParseDuration(scan.Digits(scan.After(text, " for more than ")) + "s"); err == nil {
		e.AddFields(event.FieldWait.Duration(wait))
	}
	e.AddText(event.FieldSignal, "9")
	return e, ok && strings.Contains(text, " blocked ")
}

// exitCodeLost is a container that has ended of which nobody has written the exit code: its conmon
// is gone, mostly killed for memory, or cannot write. CRI-O asks for the state of all such
// containers again and again.
//
//	warning Failed to find container exit file for <id>: timed out waiting for the condition      (up to 1.30; newer ones with the error of stat)
func exitCodeLost(r *event.Record) (event.Event, bool) {
	said := r.Message()
	e, ok := containerEvent(event.KindExitLost, scan.FindID(said), "CRI-O finds no exit code of container *, which has ended")
	_, reason, _ := strings.Cut(scan.After(said, "container exit file for "), ": ")
	e.AddText(event.FieldError, reason)
	return e, ok
}

// runcStateKilled is a runc whose answer CRI-O wanted and did not get: it was ended, by CRI-O when
// its time was up, or for memory.
//
//	error Failed to update container state for <id>: `/usr/bin/runc --root /run/runc --systemd-cgroup state <id>` failed:   : signal: killed
func runcStateKilled(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	e, ok := containerEvent(event.KindRuncFailed, scan.FindID(said), "runc state of container * was killed before it answered")
	e.AddFields(event.FieldVerb.Text("state"), event.FieldReason.Text("timeout"), event.FieldError.Text("signal: killed"))
	return e, ok && strings.HasSuffix(said, "signal: killed")
}

// createWaits is a create that does not end. The kubelet has stopped waiting and asks again, and
// CRI-O finds the name taken by the request before; since 1.23 it says where that one stands:
//
//	warning error reserving ctr name k8s_app_web-1_shop_<uid>_0 for id <id>: name is reserved      (of a sandbox: "pod name k8s_web-1_shop_<uid>_0")
//	info Creation of container k8s_app_web-1_shop_<uid>_0 not yet finished. Currently at stage container volume configuration. Waiting up to 5m59.9s for it to finish      (of a sandbox: "Creation of sandbox …")
//	info CreateCtr: context was either canceled or the deadline was exceeded: context deadline exceeded      (of a sandbox: "RunSandbox: …")
//
// Each ends with id=… name=/runtime.v1.RuntimeService/CreateContainer.
func createWaits(r *event.Record) (event.Event, bool) {
	text := r.Message()
	method := "CreateContainer"
	if strings.HasSuffix(r.Value("name"), "/RunPodSandbox") || scan.ContainsAny(text, []string{"Creation of sandbox", "Creation of pod", "reserving pod", "Sandbox: context"}) {
		method = "RunPodSandbox"
	}
	e := event.New(
		event.KindCRICall, method+" does not end in CRI-O", event.FieldMethod.Text(method),
		event.FieldOutcome.Text("failed"), event.FieldDeadline.Bool(true),
	)
	name := scan.FirstWord(scan.After(text, "Creation of container ", "Creation of sandbox ", "Creation of pod ", "reserving ctr name ", "reserving pod name "))
	if parts := strings.Split(name, "_"); len(parts) >= 5 && parts[0] == "k8s" { // neither of them can hold an underscore
		last := len(parts) - 1
		e.IDs.Pod, e.IDs.PodUID = parts[last-2]+"/"+parts[last-3], parts[last-1]
		if method == "CreateContainer" && last == 5 {
			e.AddText(event.FieldName, parts[1])
		}
	}
	if stage := repeated.CreateStage(text); stage != "" {
		e.AddFields(event.FieldStage.Text(stage))
		e.Text += ": it is at the stage “" + stage + "”"
	}
	return e, name != "" || strings.Contains(text, ": context was either ")
}

// Reserved is what containerd says of a name, and the kubelet after it, and what it says on a
// terminal.
var Reserved = table.Table{
	Component: "containerd", Relays: []string{"kubelet"}, Unnamed: "containerd",
	Rows: []table.Row{
		{[]string{"failed to reserve container name ", "failed to reserve sandbox name "}, repeated.NameReserved},
		{[]string{"failed to create containerd task: ", "failed to start containerd task "}, taskNotStarted},
		{[]string{"containerd: failed to load TOML"}, containerdConfigRefused},
	},
}

// containerdConfigRefused is a containerd that does not start, where nothing but its own words name
// it:
//
//	containerd: failed to load TOML from /etc/containerd/config.toml: invalid plugin key URI "containerd.runtime.v1.linux" expect io.containerd.x.vx
func containerdConfigRefused(r *event.Record) (event.Event, bool) {
	reason, ok := strings.CutPrefix(strings.TrimSpace(r.Message()), "containerd: ")
	return crash.Event("containerd", "ends", reason), ok && r.Unit == ""
}

// taskNotStarted is the state of a container in what kubectl describes, where its shim did not
// start it in time; in a log the call says so itself:
//
//	Message:      failed to create containerd task: context deadline exceeded: unknown
func taskNotStarted(r *event.Record) (event.Event, bool) {
	reason, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(r.Message()), "Message:")), "failed to ")
	reason = "failed to " + reason
	e := event.New(event.KindCRICall, "the shim did not start a container in time", event.FieldMethod.Text("StartContainer"))
	e.AddFields(failureFields("StartContainer", reason)...)
	return e, ok && r.Unit == "" && table.IsDeadline(reason)
}
