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

// Dockerd is what dockerd 1.11 to 28 says.
var Dockerd = table.Table{
	Component: "dockerd",
	Rows: []table.Row{
		{[]string{"goroutine stacks written to"}, dumpWritten},
		{handlers, clientGaveUp},
		{handlers, requestFailed},
		{[]string{"ailed to exit within "}, killLate},
		{[]string{"Docker daemon"}, table.FactFrom("docker.version", versionField)},
		// info Starting up; info Daemon has completed initialization
		{[]string{"Starting up"}, dockerdStartingUp},
		{[]string{"Daemon has completed initialization"}, bootEdge("dockerd", event.End)},
		{[]string{"Processing signal "}, toldByDocker},
		{[]string{"failed to start daemon: "}, lastError("failed to start daemon: ")},
		{[]string{"can't create unix socket "}, cannotListen},
		{[]string{"failed to start containerd: "}, lastError("failed to start containerd: ")},
		{[]string{"unable to configure the Docker daemon with file "}, lastError("unable to configure the Docker daemon with file ")},
		{[]string{"Error adding pod ", "Error deleting pod "}, podNetworkFailed},
		{[]string{"Error starting daemon: "}, lastError("Error starting daemon: ")}, // up to 18.06
		{[]string{"containerd did not exit successfully", "ailed to receive event from containerd", "ailed to get event"}, containerdLost},
		{[]string{"daemon is not responding"}, containerdUnhealthy},
		table.Crash,
	},
}

// dockerdStartingUp is dockerd's first line (≥ 18.09), which is no more than these two words.
func dockerdStartingUp(r *event.Record) (event.Event, bool) {
	e, _ := bootEdge("dockerd", event.Begin)(r)
	return e, r.Message() == "Starting up"
}

// handlers stand in the line about a request that dockerd could not answer.
var handlers = []string{"Handler for GET", "Handler for POST", "Handler for DELETE"}

// requestFailed is a request that dockerd failed at because of the node, not because it was asked
// for something that it cannot do:
//
//	Handler for POST /v1.38/containers/<id>/stop returned error: context deadline exceeded
//	Handler for POST /v1.41/containers/<id>/kill returned error: Cannot kill container: <id>: tried to kill container, but did not receive an exit event
//	Handler for POST /v1.31/containers/<id>/start returned error: transport is closing: unknown
//	Handler for POST /v1.24/containers/<id>/start returned error: containerd: container did not start before the specified timeout
func requestFailed(r *event.Record) (event.Event, bool) {
	call, reason, ok := strings.Cut(scan.After(r.Message(), "Handler for "), " returned error: ")
	e := event.New(event.KindRequestFailed, "dockerd fails at "+call, event.FieldPath.Text(call))
	e.AddFields(table.ErrorFields(reason)...)
	e.IDs.Container = scan.FindID(call)
	ofNode := table.IsDeadline(reason) || len(repeated.LostRuntime(reason)) > 0 || scan.ContainsAny(reason, repeated.NodeErrors)
	return e, ok && ofNode
}

// containerdLost is the end of the containerd that dockerd runs as its child, or dockerd's stream
// of events from it that broke:
//
//	error containerd did not exit successfully      error="exit status 2" module=libcontainerd      (≥ 17.12)
//	error failed to get event      error="rpc error: code = Unavailable desc = transport is closing" module=libcontainerd namespace=moby
//	error libcontainerd: failed to receive event from containerd: rpc error: code = 13 desc = transport is closing      (up to 17.09)
//
// Docker's own stop ends them, too.
func containerdLost(r *event.Record) (event.Event, bool) {
	text := r.Message()
	reason := cmp.Or(table.ErrorOf(r), scan.After(text, "event from containerd: "))
	if text == "containerd did not exit successfully" {
		e := crash.Event("dockerd's containerd", "ends", reason)
		e.Component, e.Source = "containerd", "dockerd.log"
		return e, reason != ""
	}
	broken := strings.Contains(reason, "code = 13") || len(repeated.LostRuntime(reason)) > 0
	e := event.New(event.KindRequestFailed, "dockerd loses its connection to containerd: "+scan.Clip(reason), table.ErrorFields(reason)...)
	return e, broken && (strings.Contains(text, "from containerd: ") || r.Value("module") == "libcontainerd")
}

// containerdUnhealthy is the containerd that dockerd runs as its child, and that does not say in
// time whether it serves (17.12 to 28, at level debug):
//
//	debug daemon is not responding      binary=docker-containerd error="rpc error: code = DeadlineExceeded desc = context deadline exceeded" module=libcontainerd
func containerdUnhealthy(r *event.Record) (event.Event, bool) {
	reason := table.ErrorOf(r)
	e := event.New(
		event.KindHealthFailed, "containerd does not answer the health check of dockerd", event.FieldService.Text("cri"),
		event.FieldError.Text(reason), event.FieldDeadline.Bool(true),
	)
	e.Component, e.Source = "containerd", "dockerd.log"
	return e, r.Message() == "daemon is not responding" && table.IsDeadline(reason)
}

// podNetworkFailed is a network plugin that cri-dockerd ran in vain:
//
//	error Error adding pod shop/web-1 to network {docker <id>}:/proc/3652/ns/net:calico:k8s-pod-network: stat /var/lib/calico/nodename: no such file or directory: …
//	error Error deleting pod shop/web-1 from network {docker <id>}:/proc/3652/ns/net:calico:k8s-pod-network: …
func podNetworkFailed(r *event.Record) (event.Event, bool) {
	of, reason, ok := strings.Cut(r.Message(), ": ")
	target, network, named := strings.Cut(of, " network {docker ")
	method, pod := "RunPodSandbox", scan.FirstWord(scan.After(target, "Error adding pod "))
	if pod == "" {
		method, pod = "StopPodSandbox", scan.FirstWord(scan.After(target, "Error deleting pod "))
	}
	parts := strings.Split(network, ":")
	if !ok || !named || pod == "" || len(parts) < 3 {
		return event.Event{}, false
	}
	e := event.New(
		event.KindCRICall, method+" failed", event.FieldMethod.Text(method), event.FieldOutcome.Text("failed"), event.FieldError.Text(reason),
		event.FieldDeadline.Bool(false), event.FieldPlugin.Text(parts[len(parts)-2]),
	)
	e.AddFields(repeated.FailureReason(method, reason)...)
	e.IDs.Sandbox, e.IDs.Pod = scan.ContainerID(network), pod
	return e, true
}

// killLate is a container that did not end after a signal:
//
//	≤ 19.03  Container <id> failed to exit within 10 seconds of signal 15 - using the force
//	≥ 20.10  Container failed to exit within 10s of signal 15 - using the force      container=<id>
//	         Container failed to exit within 10 seconds of kill - trying direct SIGKILL      container=<id>
//	CRI-O    Stopping container <id> with stop signal timed out: timeout reached after 30 seconds waiting for container process to exit
//	         Stopping container <id> with stop signal(TERM) timed out. Killing...      (1.34)
//
// A program that does not care for signal 15 is ordinary; one that outlives SIGKILL is not.
func killLate(r *event.Record) (event.Event, bool) {
	text := r.Message()
	id := r.Value("container")
	if id == "" {
		id = scan.FindID(text)
	}
	e, ok := containerEvent(event.KindKillLate, id, "container * did not end in time")
	seconds := scan.Digits(scan.After(text, " exit within ", " reached after "))
	if wait, err := time.ParseDuration(seconds + "s"); err == nil {
		e.AddFields(event.FieldWait.Duration(wait))
	}
	signal := scan.FirstWord(scan.After(text, " of signal "))
	if signal == "" {
		signal, _ = scan.Between(text, " with stop signal(", ")")
	}
	switch {
	case strings.Contains(text, " of kill "):
		signal = "9"
	case strings.Contains(text, " with stop signal timed out"): // of CRI-O, which names none
		signal = "stop signal"
	}
	e.AddText(event.FieldSignal, signal)
	return e, ok
}

// clientGaveUp: Handler for GET /v1.24/containers/json returned error: write unix
// /var/run/docker.sock->@: write: broken pipe. Or the request ended before the answer was there:
// Handler for GET /v1.40/images/json returned error: context canceled. A pull, a build and what
// follows a stream is ended so by whoever has seen enough.
func clientGaveUp(r *event.Record) (event.Event, bool) {
	call, _ := scan.Between(r.Message(), "Handler for ", " returned")
	e := event.New(event.KindClientGaveUp, "a client gave up waiting for "+call, event.FieldPath.Text(call))
	return e, strings.Contains(r.Message(), "broken pipe") || strings.HasSuffix(r.Message(), "/json returned error: context canceled")
}
