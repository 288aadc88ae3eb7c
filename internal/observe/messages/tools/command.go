// Package tools knows what the other programs of a node print: clients of the runtimes, listings,
// versions, what measures the node and its disks, sudo, and the keepers of the clock.
package tools

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/repeated"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Commands is what the clients of a runtime print when it does not answer them: docker 1.10 to
// 28, crictl 1.11 to 1.36, ctr. The words of systemd's clients stand in the table of the bus.
var Commands = table.Table{Component: "node", Told: true, Rows: []table.Row{
	{[]string{"annot connect to the Docker daemon", "error during connect: ", "Error response from daemon: "}, dockerFailed},
	{[]string{"DeadlineExceeded", "failed to connect: ", "connect: connect endpoint ", "unable to determine runtime API version", "validate service connection", brokenOff[0], brokenOff[1]}, crictlFailed},
	{[]string{"dial unix "}, socketRefused},
	{[]string{"docker ps", "docker inspect", "docker info", "docker exec", "crictl ps", "crictl pods", "crictl info", "crictl inspect", "nerdctl ps", "ctr -n k8s"}, commandHangTold},
	{[]string{" message larger than max ("}, answerTooLarge},
	{enterStopped, execRefused},
	{[]string{"upgrade connection: container not found"}, containerNotFound},
	{[]string{"cni config load failed: "}, networkNotLoaded},
	{[]string{"ctr: failed to ", "ctr: context deadline", "ctr: cannot access socket", "cannot access containerd socket"}, ctrFailed},
}}

// dockerFailed is docker's client without its daemon:
//
//	Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?
//	error during connect: Get "http://%2Fvar%2Frun%2Fdocker.sock/v1.24/containers/json": dial unix /var/run/docker.sock: connect: connection refused
//	error during connect: This error may indicate that the docker daemon is not running.: Get "http://%2F%2F.%2Fpipe%2Fdocker_engine/v1.24/containers/json": open //./pipe/docker_engine: The system cannot find the file specified.
//	Error response from daemon: Get …: context deadline exceeded.
//
// or with a daemon that meets an error of its node:
//
//	Error response from daemon: cannot stop container: web: tried to kill container, but did not receive an exit event
//	Error response from daemon: container <id>: driver "overlay2" failed to remove root filesystem: unlinkat /var/lib/docker/overlay2/<layer>/merged: device or resource busy
func dockerFailed(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	said := strings.TrimPrefix(strings.TrimPrefix(text, "docker: "), "ERROR: ")
	if reason, ok := strings.CutPrefix(said, "Error response from daemon: "); ok {
		e := daemonAnswered(text, reason)
		return e, r.Unit == "" && e.Kind != "" // or a daemon that repeats it, who says more
	}
	refused := strings.HasPrefix(said, "Cannot connect to the Docker daemon")
	if !refused && (!strings.HasPrefix(said, "error during connect: ") || !table.IsDeadline(text) && !isRefused(text)) {
		return event.Event{}, false
	}
	return commandFailed("dockerd", "docker", text, refused || isRefused(text)), r.Unit == ""
}

// daemonAnswered is what the answer of a dockerd tells that fails: it was late, met an error of its
// node, or found nobody at containerd's socket. Nothing when it does not tell of its node.
func daemonAnswered(text, reason string) event.Event {
	if table.IsDeadline(text) {
		return commandFailed("dockerd", "docker", text, false)
	}
	if scan.ContainsAny(reason, repeated.NodeErrors) {
		e := event.New(event.KindRequestFailed, "dockerd fails: "+scan.Clip(reason), table.ErrorFields(reason)...)
		e.Component, e.Source, e.IDs.Container = "dockerd", facts.Commands, scan.FindID(reason)
		return e
	}
	for _, f := range repeated.LostRuntime(reason) {
		if name := f.Value.Text(); f.Key == event.FieldGone && slices.Contains(runtimes, name) {
			return commandFailed(name, "docker", text, true)
		}
	}
	return event.Event{}
}

// brokenOff are how grpc says that who was to answer has closed the connection (≤ 1.36, and later).
var brokenOff = []string{"desc = transport is closing", "error reading from server: EOF"}

// crictlFailed is crictl without an answer of the runtime:
//
//	FATA[0002] listing containers: rpc error: code = DeadlineExceeded desc = context deadline exceeded
//	FATA[0002] connect: connect endpoint 'unix:///run/containerd/containerd.sock', make sure you are running as root and the endpoint has been started: context deadline exceeded
//	FATA[0010] failed to connect: failed to connect, make sure you are running as root and the runtime has been started: context deadline exceeded
//	time="…" level=fatal msg="unable to determine runtime API version: rpc error: code = Unavailable desc = connection error: …"
//	[ERROR CRI]: container runtime is not running: output: time="…" level=fatal msg="validate service connection: …"      (kubeadm)
//	FATA[0002] listing containers failed: rpc error: code = Unavailable desc = transport is closing      (the runtime has just ended; grpc ≥ 1.37 "error reading from server: EOF")
//	time="…" level=fatal msg="validate service connection: CRI v1 runtime API is not implemented for endpoint \"unix:///run/containerd/containerd.sock\": rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService"
func crictlFailed(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	unserved := strings.Contains(text, noService)
	said := r.Level == event.Fatal || strings.Contains(text, "[ERROR CRI]: ") // kubeadm repeats it
	if r.Unit != "" || !said || !table.IsDeadline(text) && !isRefused(text) && !unserved && !scan.ContainsAny(text, brokenOff) {
		return event.Event{}, false
	}
	component := "cri"
	switch {
	case strings.Contains(text, "containerd.sock"):
		component = "containerd"
	case strings.Contains(text, "crio.sock"):
		component = "crio"
	}
	return commandFailed(component, "crictl", text, isRefused(text)), true
}

// enterStopped are how runc (up to docker 17.05, up to 1.0, later) says that a container to enter
// has ended, and the shim, which does not ask runc.
var enterStopped = []string{
	"cannot exec a container that has run and stopped", "cannot exec a container that has stopped", "cannot exec in a stopped container",
	"cannot exec in a stopped state",
}

// execRefused is docker or crictl that does not enter a container. Its runtime asks the shim only
// for one that it has as running itself; of another it says "is not running":
//
//	FATA[0000] execing command in container: … failed to exec in container: failed to create exec "614075b3…": cannot exec in a stopped state: unknown
//	OCI runtime exec failed: exec failed: cannot exec a container that has stopped: unknown
//	cannot exec in a stopped state: unknown      (docker exec)
//
// runc's own exec says the same of any container that has ended.
func execRefused(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	e := event.New(
		event.KindContainerState, "a container that its runtime has as running cannot be entered, as it has stopped",
		event.FieldState.Text("Running"), event.FieldExited.Bool(true), event.FieldMethod.Text("exec"),
	)
	asked := scan.ContainsAny(text, []string{"OCI runtime exec failed: ", "failed to exec in container", "oci runtime error: exec failed: "})
	plain := slices.ContainsFunc(enterStopped, func(s string) bool { return strings.HasPrefix(text, s) })
	return e, r.Unit == "" && r.Caller == "" && (asked || plain) // klog names a caller: a probe of the kubelet
}

// containerNotFound is kubectl, or a program that enters pods as it does, whose kubelet has no such
// container in the pod that runs:
//
//	error: unable to upgrade connection: container not found ("cilium-agent")
func containerNotFound(r *event.Record) (event.Event, bool) {
	name, ok := scan.Between(r.Message(), `unable to upgrade connection: container not found ("`, `")`)
	e := event.New(
		event.KindContainerState, "no container "+name+" runs in the pod that somebody was to enter",
		event.FieldState.Text("NotRunning"), event.FieldName.Text(name), event.FieldMethod.Text("exec"),
	)
	return e, r.Unit == "" && ok
}

// networkNotLoaded is a piece of what crictl info prints of a containerd without a usable
// configuration of the CNI, copied alone, also without its name:
//
//	"lastCNILoadStatus": "cni config load failed: no network config found in /etc/cni/net.d: cni plugin not initialized: failed to load cni config",
func networkNotLoaded(r *event.Record) (event.Event, bool) {
	said, ok := scan.Between(r.Raw, `"lastCNILoadStatus": "`, `"`)
	if strings.HasPrefix(r.Raw, "cni config load failed: ") {
		said, ok = r.Raw, true
	}
	e, failed := repeated.NetworkNotReady(&event.Record{Text: "NetworkReady=false reason:NetworkPluginNotReady message:" + said})
	e.Component = "crictl"
	e.AddFields(event.FieldAnswered.Bool(true))
	return e, r.Unit == "" && ok && failed
}

// answerTooLarge is crictl or ctr whose list is larger than a message of grpc may be:
//
//	FATA[0000] listing containers: rpc error: code = ResourceExhausted desc = grpc: trying to send message larger than max (16791221 vs. 16777216)
//	ctr: grpc: received message larger than max (8613408 vs. 4194304): unknown
func answerTooLarge(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	program, fields := "crictl", repeated.TooLarge(text)
	if strings.HasPrefix(text, "ctr: ") {
		program = "ctr"
	}
	e := commandFailed("cri", program, text, false)
	e.Text = program + " gets no list: it is larger than a message of grpc may be"
	e.AddFields(fields...)
	return e, len(fields) > 0 && r.Unit == "" && (program == "ctr" || r.Level == event.Fatal)
}

// ctrFailed is ctr or nerdctl without an answer of containerd:
//
//	ctr: failed to dial "/run/containerd/containerd.sock": context deadline exceeded
//	ctr: failed to kill task: context deadline exceeded: unknown
//	ctr: failed to delete task: failed rootfs umount: failed to unmount target /run/containerd/…/<id>/rootfs: device or resource busy: unknown
//	FATA[0000] cannot access containerd socket "/run/containerd/containerd.sock": no such file or directory      (nerdctl)
func ctrFailed(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	if strings.HasSuffix(text, "/rootfs: device or resource busy: unknown") {
		e := event.New(event.KindMountsLeft, "the rootfs of "+scan.Short(scan.FindID(text))+" is left mounted", table.ErrorFields(text)...)
		e.Component, e.Source, e.IDs.Container = "containerd", facts.Commands, scan.FindID(text)
		return e, r.Unit == ""
	}
	if strings.HasSuffix(text, ": permission denied\"") {
		return event.Event{}, false // whoever asks has not the right to
	}
	if strings.HasPrefix(text, "ctr: failed to ") && !table.IsDeadline(text) && !isRefused(text) && !strings.HasPrefix(text, "ctr: failed to dial ") {
		return event.Event{}, false // it was asked for something that is not there
	}
	program, absent := "ctr", strings.Contains(text, "cannot access socket")
	if strings.Contains(text, "cannot access containerd socket ") {
		program, absent = "nerdctl", true
	}
	return commandFailed("containerd", program, text, isRefused(text) || absent), r.Unit == ""
}

// runtimes are the daemons at whose sockets clients of a runtime ask.
var runtimes = []string{"containerd", "dockerd", "crio"}

// refusedBeginnings are how such a client's line begins.
var refusedBeginnings = []string{
	"connection error: ", "dial unix ", "grpc: addrConn.createTransport failed to connect to ", "grpc: addrConn.resetTransport failed to create client transport: ",
}

// cutChannel takes off what grpc-go writes before its words from 1.48 on: "[core] [Channel #1
// SubChannel #2] ", with and without the blanks between.
func cutChannel(text string) string {
	rest, ok := strings.CutPrefix(text, "[core]")
	if _, behind, found := strings.Cut(rest, "]"); ok && found && strings.HasPrefix(strings.TrimLeft(rest, " "), "[Channel #") {
		rest = behind
	}
	if !ok {
		return text
	}
	return strings.TrimLeft(rest, " ")
}

// socketRefused is a client of the CRI, of any name, that finds nobody at a runtime's socket:
//
//	connection error: desc = "transport: Error while dialing dial unix /run/containerd/containerd.sock: connect: connection refused"
//	dial unix /var/run/crio/crio.sock: connect: no such file or directory
//	grpc: addrConn.createTransport failed to connect to {/run/k3s/containerd/containerd.sock …}. Err :connection error: … connect: connection refused". Reconnecting...
//	[core] [Channel #1 SubChannel #2] grpc: addrConn.createTransport failed to connect to {Addr: "/run/containerd/containerd.sock", …}. Err: connection error: …      (grpc-go 1.48 and later)
func socketRefused(r *event.Record) (event.Event, bool) {
	text := cutChannel(strings.TrimSpace(r.Message()))
	opens := func(prefix string) bool { return strings.HasPrefix(text, prefix) }
	if r.Unit != "" || !isRefused(text) || !slices.ContainsFunc(refusedBeginnings, opens) {
		return event.Event{}, false
	}
	for _, f := range repeated.LostRuntime(text) {
		if name := f.Value.Text(); f.Key == event.FieldGone && slices.Contains(runtimes, name) {
			return commandFailed(name, "a client", text, true), true
		}
	}
	return event.Event{}, false
}

// Clients is what a daemon or a tool of the node says that is itself a client of a runtime.
var Clients = table.Table{
	Component: "dockerd", Relays: []string{"kubelet", "crio", "containerd", "cni", table.HostProgram}, Unnamed: "node",
	Rows: []table.Row{{[]string{"dial unix", "annot connect to the Docker daemon"}, runtimeSocketRefused}},
}

// runtimeSocketRefused is such a program that finds nobody at the socket of a runtime that is not
// its own:
//
//	dockerd  grpc: addrConn.createTransport failed to connect to {unix:///run/containerd/containerd.sock …}. Err :connection error: desc = "transport: Error while dialing dial unix /run/containerd/containerd.sock: connect: connection refused". Reconnecting...
//	cri-dockerd  failed to get docker version from dockerd: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?
//	         failed to retrieve containerd version: rpc error: code = Unavailable desc = connection error: … connect: connection refused
//
// Of the kubelet it is what grpc says there, of a connection that serves all calls; calls that fail
// say so themselves.
func runtimeSocketRefused(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message() + " " + table.ErrorOf(r))
	owner, absent := table.WriterOf(r.Unit), strings.Contains(text, "annot connect to the Docker daemon")
	if strings.Contains(r.Unit, "cri-docker") {
		owner = "cri-dockerd"
	}
	if owner == "kubelet" && !scan.ContainsAny(text, []string{"addrConn.createTransport failed", "addrConn.resetTransport failed"}) { // 1.8 to 1.13, and later
		return event.Event{}, false
	}
	if r.Unit == "" || !isRefused(text) && (!absent || owner != "cri-dockerd") {
		return event.Event{}, false
	}
	for _, f := range repeated.LostRuntime(text) {
		if name := f.Value.Text(); f.Key == event.FieldGone && name != owner && slices.Contains(runtimes, name) {
			e := event.New(event.KindSocketRefused, r.Unit+" finds nobody at the socket of "+name, f, event.FieldProgram.Text(r.Unit), event.FieldError.Text(scan.Clip(text)))
			return e, true
		}
	}
	return event.Event{}, false
}

// commandHangTold is somebody's word that a client of the runtime does not come back: docker ps
// hangs, the `crictl pods` command never returns.
func commandHangTold(r *event.Record) (event.Event, bool) {
	m := hangSentence.FindStringSubmatch(r.Message())
	if m == nil || r.Unit != "" || r.Time.Known {
		return event.Event{}, false
	}
	component := map[string]string{"docker": "dockerd", "crictl": "cri"}[m[1]]
	component = cmp.Or(component, "containerd")
	command := strings.TrimRight(m[1]+" "+m[2], " `'\"")
	e := event.New(
		event.KindCommandHung, command+" does not come back, somebody says", event.FieldCommand.Text(command), event.FieldProgram.Text(m[1]),
		event.FieldTold.Bool(true),
	)
	e.Component, e.Source, e.IDs.Container = component, facts.Commands, scan.FindID(m[0])
	return e, true
}

// hangSentence is a command and, a few words behind it, that it hangs: 1 the program, 2 the rest.
var hangSentence = regexp.MustCompile("\\b(docker|crictl|nerdctl|ctr) ((?:-n k8s\\.io )?(?:ps|pods|inspectp?|info|exec|t(?:asks?)? ls|tasks? list|c(?:ontainers?)? ls)\\b(?: [0-9a-f]{12,64})?)[`'\"]*(?: (?:commands?|calls?|is|was|also|just|will|would|it|and|or|on|that|the|this|node|still|all|completely|simply))* ?(?:hangs?|hung|hanging|stuck|never (?:returns?|comes? back)|(?:does not|doesn't|did not|didn't) (?:return|respond|answer|come back))\\b")

// isRefused tells a socket at which nobody listens, or that is not there.
func isRefused(s string) bool {
	return strings.Contains(s, "connect: connection refused") || strings.Contains(s, "code = Unavailable") ||
		strings.Contains(s, "connect: no such file or directory") || strings.Contains(s, "The system cannot find the file specified")
}

// noService is in the answer of a runtime that does not serve what a client of the CRI asks for.
const noService = "unknown service runtime."

func commandFailed(component, program, text string, refused bool) event.Event {
	what := " is not answered in time"
	if refused {
		what = " finds nobody at the socket of " + cmp.Or(map[string]string{"cri": "the runtime"}[component], component)
	}
	if scan.ContainsAny(text, brokenOff) {
		what = " loses its connection to the runtime, which ends, or is started anew"
	}
	if strings.Contains(text, noService) {
		what = " finds that the runtime does not serve the CRI, or not that version of it"
	}
	e := event.New(
		event.KindCommandFailed, program+what, event.FieldProgram.Text(program), event.FieldError.Text(scan.Clip(text)),
		event.FieldDeadline.Bool(table.IsDeadline(text)), event.FieldRefused.Bool(refused),
	)
	e.Component, e.Source, e.IDs.Container = component, facts.Commands, scan.FindID(text)
	return e
}
