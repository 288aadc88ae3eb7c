package runtimes

import (
	"cmp"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Guests is what the shim of Kata Containers (1.5 to 3.21) says of the virtual machine of its pod,
// in the log of containerd, or as "kata".
var Guests = table.Table{
	Component: "containerd",
	Relays:    []string{""},
	Rows: []table.Row{
		{[]string{"sandbox stopped unexpectedly", "Wait for process failed", "failed to ping hypervisor process", "agent connection is dead", "failed to ping agent: "}, guestLost},
	},
}

// guestErrors are why such a shim gives up: the machine's process has ended, or the agent in it
// does not answer.
var guestErrors = []string{"Dead agent", "dead agent", "ttrpc: closed", "transport is closing", "failed to ping ", "agent connection is dead", "is not running"}

// guestLost is a virtual machine that has ended, or in which nobody answers. That is the affair of
// its pod: the runtime and other pods go on.
//
//	warning sandbox stopped unexpectedly   error="failed to ping hypervisor process: …" name=containerd-shim-v2 sandbox=<id> source=containerd-kata-shim-v2
//	error   Wait for process failed   container=<id> error="Dead agent" name=containerd-shim-v2 pid=<id> sandbox=<id>      (2.0 and later "ttrpc: closed")
func guestLost(r *event.Record) (event.Event, bool) {
	reason := cmp.Or(table.ErrorOf(r), r.Message())
	id := cmp.Or(r.Value("sandbox"), r.Value("container"))
	e := event.New(
		event.KindGuestLost, "the virtual machine of sandbox "+scan.Short(id)+", or the agent in it, is gone: "+reason, event.FieldError.Text(scan.Clip(reason)),
	)
	e.IDs.Container, e.IDs.Sandbox = r.Value("container"), r.Value("sandbox")
	ofShim := r.Unit == "kata" || strings.Contains(r.Raw, "containerd-shim-v2") || scan.ContainsAny(reason, []string{"agent", "hypervisor"})
	return e, id != "" && ofShim && scan.ContainsAny(reason, guestErrors)
}

// Sandboxes is what is told of the sandboxes of gVisor: by runsc (2018 to 2026), whose errors the
// runtime and the kubelet repeat, and by the sandbox itself in its log for debugging (boot).
var Sandboxes = table.Table{
	Component: "containerd",
	Relays:    []string{"", "kubelet", "dockerd", "crio"},
	Rows: []table.Row{
		{[]string{"connecting to control server at ", "urpc method "}, sandboxLost},
		{[]string{"Systrap task goroutine has been waiting on ", "Sentry detected "}, sandboxStuck},
	},
}

var (
	// sandboxEnded are why runsc reaches nobody in a sandbox whose process has ended.
	sandboxEnded = []string{"connection refused", "no such file or directory", "connection reset", "broken pipe", "failed: EOF"}
	// sandboxMute are why it reaches nobody in one that runs: its kernel takes no connection, or no
	// call.
	sandboxMute = []string{"deadline exceeded", "i/o timeout", "timed out", "temporarily unavailable"}
)

// sandboxLost is a sandbox of gVisor in which nobody answers runsc. As of a virtual machine, that
// is the affair of its pod, until the calls for it pile up in its shim. A sandbox that ends while
// runsc waits for its end is none.
//
//	OCI runtime start failed: starting container: starting root container: urpc method "containerManager.StartRoot" failed: EOF: unknown
//	FATAL ERROR: destroying container "web": connecting to control server at PID 42: connection refused
func sandboxLost(r *event.Record) (event.Event, bool) {
	text := r.Message() + " " + table.ErrorOf(r)
	method, called := scan.Between(text, `urpc method "`, `"`)
	at := max(strings.Index(text, "connecting to control server at "), strings.Index(text, "urpc method "))
	if at < 0 || strings.HasPrefix(method, "containerManager.Wait") || strings.Contains(r.Raw, "cleanup warnings") || r.Level == event.Info || r.Level == event.Debug {
		return event.Event{}, false
	}
	reason, how := scan.Clip(strings.TrimRight(text[at:], " ")), ""
	switch {
	case scan.ContainsAny(reason, sandboxMute):
		how = "does not answer"
	case scan.ContainsAny(reason, sandboxEnded) && (!called || strings.Contains(reason, "failed: ")):
		how = "is gone"
	}
	return sandboxEvent(scan.FindID(r.Raw), how+": "+reason, reason), how != ""
}

// sandboxStuck is a sandbox of gVisor that finds itself stuck: a thread of its platform systrap has
// not come back from the program for half a minute, or the watchdog's three minutes are over.
//
//	W0825 07:11:00.123456       1 context.go:193] Systrap task goroutine has been waiting on ThreadContext.State futex too long. ThreadContext: &{…
//	W0825 07:11:00.123456       1 watchdog.go:306] Sentry detected 1 stuck task(s):
func sandboxStuck(r *event.Record) (event.Event, bool) {
	reason := "a thread does not come back from the program that it runs"
	if n := scan.Digits(scan.After(r.Message(), "Sentry detected ")); n != "" {
		reason = "its watchdog finds stuck tasks: " + n
	}
	ofSandbox := strings.Contains(r.Raw, " stuck task(s)") || strings.Contains(r.Raw, "ThreadContext.State futex too long")
	return sandboxEvent(scan.FindID(r.Pos.File), "is stuck: "+reason, r.Message()), ofSandbox
}

func sandboxEvent(id, how, reason string) event.Event {
	name := "a sandbox of gVisor"
	if id != "" {
		name = "the gVisor sandbox of " + scan.Short(id)
	}
	e := event.New(event.KindGuestLost, name+" "+event.OneLine(how), event.FieldError.Text(reason))
	e.IDs.Container = id
	return e
}
