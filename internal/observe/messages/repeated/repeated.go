// Package repeated reads what one program of the node says and another says again, or what two of
// them see from both sides: the tables of both make their events here.
package repeated

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// LostRuntime says of an error that the runtime cannot be reached: gone names the runtime on whose
// socket nobody listens, no_file says that the socket has no file, cut is a connection that broke.
// A pipe of Windows is there as long as somebody serves it: without its file nobody listens.
//
//	connection error: desc = "transport: Error while dialing dial unix /run/containerd/containerd.sock: connect: connection refused"
//	… connect: no such file or directory
//	open \\.\pipe\containerd-containerd: The system cannot find the file specified.                       (Windows; so is docker's //./pipe/docker_engine)
//	Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?   (dockershim, docker 17.05 on)
//	cannot connect to Docker endpoint                                                                   (go-dockerclient, kubelet ≤ 1.5)
//	Error response from daemon: grpc: the connection is unavailable                                     (docker 1.11 to 17.12, which has lost containerd)
//	error reading from server: EOF; … read: connection reset by peer; transport is closing (grpc ≤ 1.36)
//
// Unready says that containerd answers, and has not yet read the state of its containers (code
// Unknown, Unavailable from 2.0 on):
//
//	rpc error: code = Unknown desc = server is not initialized yet
func LostRuntime(reason string) []event.Field {
	switch {
	case scan.ContainsAny(reason, []string{"Cannot connect to the Docker", "annot connect to Docker endpoint"}):
		return []event.Field{event.FieldGone.Text("dockerd")}
	case strings.Contains(reason, "Error response from daemon: grpc: the connection is unavailable"):
		return []event.Field{event.FieldGone.Text("containerd")}
	case scan.ContainsAny(reason, []string{"/systemd/private", "system_bus_socket"}):
		return nil // that of systemd, or of the bus
	case strings.Contains(reason, "dial unix") && scan.ContainsAny(reason, []string{"connection refused", "no such file or directory"}):
		socket, _, _ := strings.Cut(scan.After(reason, "dial unix ", "dial unix:"), ".sock")
		if isHelper(socket) {
			return nil // the runtime itself has answered
		}
		name := socket[strings.LastIndexByte(socket, '/')+1:]
		if name == "cri-containerd" { // a program of its own up to 2018
			name = "containerd"
		}
		fields := []event.Field{event.FieldGone.Text(daemon.RuntimeOf(name))}
		if !strings.Contains(reason, "connection refused") {
			fields = append(fields, event.FieldNoFile.Bool(true))
		}
		return fields
	case strings.Contains(reason, noPipe) && scan.ContainsAny(reason, []string{`\pipe\`, "//./pipe/"}):
		pipe, _, _ := strings.Cut(scan.After(strings.ReplaceAll(reason, `\\`, `\`), `\pipe\`, "//./pipe/"), ":")
		name, _, _ := strings.Cut(pipe, "-containerd")
		return []event.Field{event.FieldGone.Text(daemon.RuntimeOf(strings.TrimSuffix(name, "_engine")))}
	case scan.ContainsAny(reason, []string{"error reading from server: ", "transport is closing", "connection reset by peer"}):
		return []event.Field{event.FieldCut.Bool(true)}
	case strings.Contains(reason, "server is not initialized yet"):
		return []event.Field{event.FieldUnready.Bool(true)}
	}
	return nil
}

// NodeErrors are errors that a request to dockerd meets in the node, whatever it asks for. What can
// no file system or layer be removed is in use by somebody, mostly another mount namespace.
var NodeErrors = []string{
	"did not receive an exit event", "no space left on device", "cannot allocate memory", "resource temporarily unavailable",
	"input/output error", "read-only file system", "i/o timeout", "too many open files", "ttrpc: closed",
	"failed to remove root filesystem", "dataset is busy", "sysbox-mgr: ", "sysbox-fs: ", "device or resource busy", "is already in progress", "holding the xtables lock",
}

// NetworkPlugin is the plugin of the CNI that an error says has failed (libcni ≥ 1.0); empty where
// it names none. The runtime has answered then, and a time limit in the error is one of the
// plugin's own:
//
//	… failed to setup network for sandbox "<id>": plugin type="cilium-cni" failed (add): unable to create endpoint: Cilium API client timeout exceeded
//	… failed to setup network for sandbox "<id>": add cmd: failed to assign an IP address to container
func NetworkPlugin(reason string) string {
	name, named := scan.Between(strings.ReplaceAll(reason, `\"`, `"`), `plugin type="`, `"`)
	if !named && scan.ContainsAny(reason, []string{": add cmd: ", ": del cmd: "}) {
		return "aws-cni" // whose words these are, also below an older libcni
	}
	return name
}

// IsGuestMute says of an error that the agent in a virtual machine (Kata 1.5 to 3.21) did not
// answer its shim. The runtime has answered then, and the time limit in the error is the shim's
// own:
//
//	CreateContainer failed: Failed to check if grpc server is working: rpc error: code = DeadlineExceeded desc = timed out connecting to vsock 1217660058:1024: unknown
//	… rpc error: code = DeadlineExceeded desc = timed out connecting to hybrid vsocket hvsock:///run/vc/vm/…
//	… failed to create shim task: CreateContainerRequest timed out: context deadline exceeded: unknown
//
// Or of one of sysbox' daemons, that it did not answer sysbox-runc:
//
//	… failed to register container with sysbox-fs: rpc error: code = DeadlineExceeded desc = context deadline exceeded: unknown
func IsGuestMute(reason string) bool {
	return scan.ContainsAny(reason, []string{"with sysbox-", "timed out connecting to vsock", "timed out connecting to hybrid vsock", "ContainerRequest timed out"})
}

// noPipe is Windows' word for a pipe that is not there.
const noPipe = "The system cannot find the file specified"

// CRIMethods are the calls of the kubelet's remote clients; longer names first where one begins
// another. PullImage is not among them: what it waits for is a registry.
var CRIMethods = []string{
	"ListContainerStats", "ListContainers", "ListPodSandboxStats", "ListPodSandboxMetrics", "ListPodSandbox",
	"ContainerStatus", "ContainerStats",
	"PodSandboxStatus", "UpdateContainerResources", "ExecSync", "StartContainer", "StopContainer",
	"CreateContainer", "RemoveContainer",
	"RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "Status", "Version", "RuntimeConfig", "ListImages",
	"ImageFsInfo", "ImageStatus", "StreamContainers", "StreamPodSandboxes", "StreamContainerStats", "StreamPodSandboxStats",
	"StreamPodSandboxMetrics", "StreamImages",
}

// NetworkNotReady is the runtime's own condition, which the kubelet repeats every 5 s:
//
//	≤ 1.20  Container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized
//	≥ 1.21  "Container runtime network not ready" networkReady="NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
//
// containerd says it once, at its start and when somebody changes a file, and the kubelet with
// dockershim every 5 s:
//
//	failed to load cni during init, please check CRI plugin status before setting up network for pods   error="cni config load failed: no network config found in /etc/cni/net.d: …"
//	failed to reload cni configuration after receiving fs change event(WRITE "/etc/cni/net.d/10-x.conflist")   error="cni config load failed: …: unexpected end of JSON input: …"
//	Unable to update cni config: no networks found in /etc/cni/net.d
//
// The sync of each pod that waits for it repeats the condition, and is told from the kubelet's own
// line by caller:
//
//	"Error syncing pod, skipping" err="network is not ready: container runtime network not ready: NetworkReady=false reason:… message:…" pod="shop/web-1"
func NetworkNotReady(r *event.Record) (event.Event, bool) {
	ofPod := scan.ContainsAny(r.Raw, []string{"rror syncing pod", "network is not ready: "})
	text := cmp.Or(r.Value("networkReady"), r.Message())
	if ofPod {
		text = strings.TrimRight(cmp.Or(table.ErrorOf(r), r.Message()), "]")
	}
	reason, message, _ := strings.Cut(scan.After(text, " reason:"), " message:")
	if reason == "" {
		reason, message = "no-config", cmp.Or(table.ErrorOf(r), scan.After(text, "Unable to update cni config: "))
		if strings.HasPrefix(r.Message(), "failed to reload cni") {
			reason, message = "reload-failed", strings.TrimPrefix(message, "cni config load failed: ")
		}
	}
	e := event.New(event.KindNetworkNotReady, "the network of the runtime is not ready: "+message)
	e.Fields = []event.Field{event.FieldReason.Text(reason), event.FieldMessage.Text(message)}
	if ofPod {
		e.Text = "a pod waits for the network of the runtime, which is not ready: " + message
		e.AddFields(event.FieldCaller.Bool(true))
	}
	return e, message != ""
}

// NameReserved is a create that containerd (≥ 1.0, cri/pkg/store) refuses because one before it has
// the same name and attempt, and has neither ended nor failed, which would free the name:
//
//	failed to reserve container name "app_web-1_shop_<uid>_0": name "app_web-1_shop_<uid>_0" is reserved for "<id>"
//	failed to reserve sandbox name "web-1_shop_<uid>_0": name "web-1_shop_<uid>_0" is reserved for "<id>"
func NameReserved(r *event.Record) (event.Event, bool) {
	text := strings.ReplaceAll(r.Raw, `\`, "")
	method, name := "CreateContainer", scan.After(text, `failed to reserve container name "`)
	if name == "" {
		method, name = "RunPodSandbox", scan.After(text, `failed to reserve sandbox name "`)
	}
	holder := scan.ContainerID(scan.After(name, ` is reserved for "`))
	name, _, ok := strings.Cut(name, `"`)
	e := event.New(
		event.KindCRICall, method+" does not end in containerd: one before it still has the name", event.FieldMethod.Text(method),
		event.FieldOutcome.Text("failed"), event.FieldDeadline.Bool(true), event.FieldReserved.Bool(true),
	)
	parts := strings.Split(name, "_") // none of them can hold an underscore
	if n := len(parts); n >= 4 {
		e.IDs.Pod, e.IDs.PodUID = parts[n-3]+"/"+parts[n-4], parts[n-2]
	}
	if e.IDs.Container = holder; method == "RunPodSandbox" {
		e.IDs.Sandbox, e.IDs.Container = holder, ""
	}
	recovers := strings.Contains(text, "failed to recover state") // at the start of containerd, which ends with it
	// A list is cut at the edge of a terminal.
	return e, ok && !recovers && scan.ContainsAny(text, []string{"is reserved for", name + `": name "`})
}

// CreateStage is the stage at which CRI-O says that a create stands; empty where it says none. The
// kubelet repeats it:
//
//	Kubelet may be retrying requests that are timing out in CRI-O due to system load. Currently at stage container volume configuration: context deadline exceeded: error reserving ctr name …
func CreateStage(text string) string {
	stage := scan.After(text, "Currently at stage ")
	if i := strings.IndexAny(stage, ".:"); i >= 0 {
		stage = stage[:i]
	}
	return stage
}

// ScopeStart is one end of the time that systemd takes to start the scope of a container.
func ScopeStart(id string, edge event.Edge) event.Event {
	return event.Event{
		Kind: event.KindScopeStart, IDs: event.IDs{Container: id}, Text: "systemd starts the scope of " + scan.Short(id),
		Span: event.Span{Key: "scope/" + id, Edge: edge, Foreign: true},
	}
}

// ManagerCrash is the row of the end of PID 1, which PID 1 and the kernel tell.
var ManagerCrash = table.Row{managerCrashes, managerCrash}

var managerCrashes = []string{", dumped core as pid", "core dump failed", "for core dump", ", not dumping core", " from PID ", " from our own process", " from unknown sender process", "Freezing execution", "traps: systemd[1] ", "systemd[1]: segfault at "}

// managerCrash is the end of PID 1 (src/core/crash-handler.c): it sleeps for ever after its last
// word, and the kernel cannot do without it. A user's manager just ends.
//
//	systemd[1]: Caught <SEGV>, dumped core as pid 3237343.     (also: core dump failed, not dumping core, from PID 1)
//	systemd[1]: Freezing execution.                            (both also in the kernel's ring)
//	kernel: traps: systemd[1] general protection fault ip:… sp:… error:0 in libc-2.31.so[…]
//	kernel: systemd[1]: segfault at 8 ip … sp … error 4 in systemd[…]
func managerCrash(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	reason := ""
	if fault := scan.After(said, "traps: systemd[1] "); fault != "" && r.Unit == "kernel" {
		reason, _, _ = strings.Cut(fault, " ip:")
	} else if strings.HasPrefix(said, "systemd[1]: segfault at ") && r.Unit == "kernel" {
		reason = "segmentation fault"
	}
	if reason != "" {
		return event.New(event.KindManagerCrash, "PID 1 (systemd) has a fault: "+reason, event.FieldReason.Text(reason)), true
	}
	for _, name := range []string{"systemd[1]: ", "systemd: "} {
		if rest, named := strings.CutPrefix(said, name); named && (r.Unit == "" || r.Unit == "kernel") {
			said, reason = rest, name
		}
	}
	if reason == "" && (!table.FromServiceManager(r) || r.PID > 1) {
		return event.Event{}, false
	}
	return crashOfManager(said)
}

// ConsoleCrash is the row of what PID 1 prints on the console, where its lines name nobody:
//
//	Caught <SEGV>, dumped core as pid 27069.
//	Freezing execution.
var ConsoleCrash = table.Row{managerCrashes, func(r *event.Record) (event.Event, bool) {
	if r.Unit != "" {
		return event.Event{}, false
	}
	return crashOfManager(strings.TrimSpace(r.Text))
}}

// crashOfManager is what PID 1 says of its own end.
func crashOfManager(said string) (event.Event, bool) {
	e := event.New(event.KindManagerCrash, "PID 1 (systemd) has frozen itself and does nothing any more", event.FieldFrozen.Bool(true))
	if signal, _ := scan.Between(said, "Caught <", ">"); strings.HasPrefix(said, "Caught <") {
		e = event.New(event.KindManagerCrash, "PID 1 (systemd) crashes: SIG"+signal, event.FieldReason.Text("SIG"+signal))
	} else if !strings.HasPrefix(said, "Freezing execution") {
		return event.Event{}, false
	}
	e.Component = "systemd"
	return e, true
}

// TooLarge is what grpc says about an answer above the limit of the side that
// refuses it: the runtime that sends it, or the kubelet that receives it.
//
//	grpc ≥ 1.4  rpc error: code = ResourceExhausted desc = grpc: trying to send message larger than max (16791221 vs. 16777216)
//	            rpc error: code = ResourceExhausted desc = grpc: received message larger than max (4195017 vs. 4194304)
//	grpc ≤ 1.3  rpc error: code = Internal desc = grpc: received message length 5547796 exceeding the max size 4194304
func TooLarge(text string) []event.Field {
	side, rest := "", ""
	for _, s := range []struct{ side, before string }{
		{"sender", "trying to send message larger than max ("},
		{"receiver", "received message larger than max ("},
		{"receiver", "received message length "},
	} {
		if _, after, ok := strings.Cut(text, s.before); ok {
			side, rest = s.side, after
			break
		}
	}
	size, err := strconv.ParseInt(scan.Digits(rest), 10, 64)
	if err != nil {
		return nil
	}
	limit, err := strconv.ParseInt(scan.Digits(scan.After(rest, " vs. ", " exceeding the max size ")), 10, 64)
	if err != nil {
		return nil
	}
	return []event.Field{
		event.FieldSize.Number(float64(size)), event.FieldLimit.Number(float64(limit)),
		event.FieldRefusedBy.Text(side),
	}
}

// APIServerSilent is the event of an API server that does not answer somebody who asks it on the
// node; why is what the program that asked says of it, as "Connection timed out". The component and
// the evidence are the caller's.
func APIServerSilent(why string) event.Event {
	why = scan.Clip(why)
	return event.New(
		event.KindHealthFailed, "asked from the node, the API server does not answer: "+why, event.FieldService.Text("apiserver"),
		event.FieldError.Text(why), event.FieldDeadline.Bool(strings.Contains(strings.ToLower(why), "time")),
	)
}
