// Package talos knows what machined, the first process of Talos, says of the services that it runs.
package talos

import (
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/repeated"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Table is what machined writes into the kernel's log, and shows on the console, 0.3 to 1.12:
//
//	[talos] service[kubelet](Running): Health check failed: Get "http://127.0.0.1:10248/healthz": context deadline exceeded
var Table = table.Table{
	Component: "talos", Relays: []string{"kernel", table.HostProgram}, Unnamed: "talos",
	Rows: []table.Row{
		{[]string{"Health check failed: ", "Health check successful"}, healthCheck},
		{[]string{"Health check failed: "}, listedHealthCheck},
		{[]string{"going to restart forever: "}, startRefused},
		{[]string{"going to restart forever: "}, serviceEnds},
		{[]string{"going to restart forever: "}, serviceRestart},
		{[]string{"Failed to run pre stage: "}, serviceNotPrepared},
		{[]string{"Sending SIGKILL to cgroup"}, cgroupKilled},
	},
}

// source is the log of machined, wherever its lines are read.
const source = "talos.log"

// cutService takes the service and the message off a line of machined. The services cri and kubelet
// are the runtime of the pods and the kubelet; containerd is another one, for the programs of Talos
// alone.
func cutService(r *event.Record) (service, message string, ok bool) {
	head, message, ok := strings.Cut(r.Message(), "): ")
	service, _, found := strings.Cut(scan.After(head, "service["), "](")
	return service, strings.TrimSpace(message), ok && found && service != "" && !strings.ContainsAny(service, " []")
}

// cutServiceEnd takes the service and the reason off a line about one that has ended or cannot be
// started, of which nobody has lost the runtime. talosctl service has the line without the service
// before it:
//
//	service[kubelet](Waiting): Error running Containerd(kubelet), going to restart forever: task "kubelet" failed: exit code 255
//	service[cri](Waiting): Error running Process(["/bin/containerd" "--address" …]), going to restart forever: signal: killed
//	EVENTS   [Waiting]: Error running Containerd(kubelet), going to restart forever: failed to create task: "kubelet": failed to start shim: mkdir /var: file exists: unknown (3s ago)
func cutServiceEnd(r *event.Record) (service, reason string, ok bool) {
	head, reason, _ := strings.Cut(strings.TrimSpace(r.Message()), "going to restart forever: ")
	service, _, ok = cutService(r)
	if !ok {
		service, ok = scan.Between(head, "Error running Containerd(", ")")
	}
	if i := strings.LastIndex(reason, " ("); i >= 0 && strings.HasSuffix(reason, " ago)") {
		reason = reason[:i]
	}
	return service, strings.TrimSpace(reason), ok && componentOf(service) != "talos" && !strings.Contains(reason, "connection refused")
}

// signals are systemd's names of the signals that end a program, by those of Go's package syscall.
var signals = map[string]string{
	"aborted": "6/ABRT", "bus error": "7/BUS", "floating point exception": "8/FPE", "illegal instruction": "4/ILL", "killed": "9/KILL", "quit": "3/QUIT",
	"segmentation fault": "11/SEGV", "trace/breakpoint trap": "5/TRAP",
}

// serviceEnds is the end of the kubelet or of the runtime as a service of Talos, or that it cannot
// be made.
func serviceEnds(r *event.Record) (event.Event, bool) {
	service, reason, ok := cutServiceEnd(r)
	how := ""
	if code := scan.Digits(scan.After(reason, "exit code ", "exit status ")); code != "" {
		how = "exited " + code
	} else if signal := signals[scan.After(strings.TrimSuffix(reason, " (core dumped)"), "signal: ")]; signal != "" {
		how = "killed " + signal
	} else if made := scan.After(reason, "failed to create task: "); made != "" {
		how = "not made: " + scan.Clip(made)
	}
	daemon := componentOf(service)
	e := event.New(event.KindUnitExit, service+" ended: "+how, event.FieldUnit.Text(service), event.FieldDaemon.Text(daemon), event.FieldHow.Text(how))
	if daemon != "kubelet" {
		e.AddFields(event.FieldRuntime.Text(daemon))
	}
	e.Component, e.Source = "talos", source
	return e, ok && how != ""
}

// serviceRestart reads the line of serviceEnds once more, for what comes next: Talos starts the
// service again in 5 seconds.
func serviceRestart(r *event.Record) (event.Event, bool) {
	service, reason, ok := cutServiceEnd(r)
	daemon := componentOf(service)
	e := event.New(event.KindUnitRestart, "Talos starts "+service+" again", event.FieldUnit.Text(service), event.FieldDaemon.Text(daemon), event.FieldHow.Text(scan.Clip(reason)))
	if daemon != "kubelet" {
		e.AddFields(event.FieldRuntime.Text(daemon))
	}
	e.Component, e.Source = "talos", source
	return e, ok
}

// serviceNotPrepared is the kubelet or the runtime that Talos does not start, as what it needs is
// not there, mostly its image:
//
//	service[kubelet](Failed): Failed to run pre stage: failed to pull image "ghcr.io/siderolabs/kubelet:v1.32.0": …
func serviceNotPrepared(r *event.Record) (event.Event, bool) {
	service, message, ok := cutService(r)
	reason, failed := strings.CutPrefix(message, "Failed to run pre stage: ")
	daemon := componentOf(service)
	e := event.New(
		event.KindUnitStartFailed, "Talos does not start "+service+": "+scan.Clip(reason), event.FieldUnit.Text(service), event.FieldDaemon.Text(daemon),
	)
	if daemon != "kubelet" {
		e.AddFields(event.FieldRuntime.Text(daemon))
	}
	e.Component, e.Source = "talos", source
	return e, ok && failed && daemon != "talos"
}

// cgroupKilled is Talos' own answer to a node that has too little memory (1.12 and later): all
// processes of the cgroup that counts least are killed, before the kernel does so.
//
//	Sending SIGKILL to cgroup {"component": "controller-runtime", "controller": "runtime.OOMController", "cgroup": "/sys/fs/cgroup/kubepods/burstable/podc11937f9-…"}
func cgroupKilled(r *event.Record) (event.Event, bool) {
	cgroup, _ := scan.Between(strings.ReplaceAll(r.Raw, `\"`, `"`), `"cgroup": "`, `"`)
	cgroup = strings.TrimPrefix(cgroup, "/sys/fs/cgroup/")
	return event.New(
		event.KindOutOfMemory, "the node has too little memory: Talos kills the processes in "+cgroup,
	), cgroup != "" && strings.Contains(r.Raw, "OOMController")
}

// componentOf is what a service is called where other programs tell of it.
func componentOf(service string) string {
	switch service {
	case "kubelet":
		return "kubelet"
	case "cri":
		return "containerd"
	}
	return "talos"
}

// healthCheck is a change of a service's health. Machined asks each service every few seconds, and
// says only what is new (internal/app/machined/pkg/system/service_runner.go):
//
//	service[cri](Running): Health check failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded
//	service[cri](Running): Health check successful
func healthCheck(r *event.Record) (event.Event, bool) {
	service, message, ok := cutService(r)
	reason, failed := strings.CutPrefix(message, "Health check failed: ")
	if !ok || !failed && message != "Health check successful" {
		return event.Event{}, false
	}
	e := event.Event{
		Kind: event.KindHealthFailed, Component: componentOf(service), Source: source,
		Text: "the health check of " + service + " succeeds again", Fields: []event.Field{event.FieldService.Text(service)},
		Span: event.Span{Key: "health/" + service, State: true, Edge: event.End},
	}
	if failed {
		e.Span.Edge, e.Text = event.Begin, "the health check of "+service+" fails: "+scan.Clip(reason)
		e.AddFields(event.FieldError.Text(scan.Clip(reason)), event.FieldDeadline.Bool(table.IsDeadline(reason)))
	}
	return e, true
}

// startsWithin is the time in which a kubelet that starts listens at its port.
const startsWithin = time.Minute

// listedHealthCheck is a health check that fails, in what talosctl service prints of all services
// or of one:
//
//	10.5.0.2   kubelet      Running   Fail     12m2s ago     Health check failed: Get "http://127.0.0.1:10248/healthz": context deadline exceeded
//	EVENTS     [Running]: Health check failed: Get "http://127.0.0.1:10248/healthz": context deadline exceeded (18h57m0s ago)
//
// Of one service the newest stands first, and the row does not name it: the kubelet is known by its
// port.
func listedHealthCheck(r *event.Record) (event.Event, bool) {
	head, reason, _ := strings.Cut(strings.TrimSpace(r.Message()), "Health check failed: ")
	words, since := strings.Fields(head), ""
	service := ""
	switch n := len(words); {
	case n == 6 && words[3] == "Fail" && words[5] == "ago":
		service, since = words[1], words[4]
	case n == 2 && words[0] == "EVENTS" && strings.HasSuffix(words[1], "]:") && strings.Contains(reason, ":10248/healthz"):
		i := strings.LastIndex(reason, " (")
		if i < 0 {
			return event.Event{}, false
		}
		service, since = "kubelet", strings.TrimSuffix(reason[i+len(" ("):], " ago)")
		reason = reason[:i]
	default:
		return event.Event{}, false
	}
	age, err := time.ParseDuration(since)
	e := event.New(
		event.KindHealthFailed, "the health check of "+service+" fails, since "+since+" before the list: "+scan.Clip(reason),
		event.FieldService.Text(service), event.FieldError.Text(scan.Clip(reason)), event.FieldDeadline.Bool(table.IsDeadline(reason)),
		event.FieldAge.Duration(age),
	)
	if service == "kubelet" && strings.Contains(reason, "connection refused") && age >= startsWithin {
		e.AddFields(event.FieldRefused.Bool(true))
	}
	e.Component, e.Source, e.Open = componentOf(service), source, true
	return e, err == nil
}

// startRefused is a service of which machined cannot make a container, because nobody listens at
// the socket of the runtime of the pods:
//
//	service[kubelet](Waiting): Error running Containerd(kubelet), going to restart forever: failed to create task: "kubelet": connection error: desc = "transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused"
func startRefused(r *event.Record) (event.Event, bool) {
	service, message, ok := cutService(r)
	if !ok || !strings.Contains(message, "connection refused") || strings.Contains(message, "/system/run/") {
		return event.Event{}, false
	}
	for _, f := range repeated.LostRuntime(message) {
		if f.Key == event.FieldGone {
			e := event.New(
				event.KindSocketRefused, "Talos cannot start "+service+": nobody listens at the socket of "+f.Value.Text(), f,
				event.FieldProgram.Text(service), event.FieldError.Text(scan.Clip(message)),
			)
			e.Component, e.Source = componentOf(service), source
			return e, true
		}
	}
	return event.Event{}, false
}
