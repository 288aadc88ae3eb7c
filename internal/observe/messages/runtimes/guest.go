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
		event.KindGuestLost, "the virtual machine of sandbox "+scan.Short(id)+", or the agent in it, is gone: "+reason, event.FieldError.Text(table.Clip(reason)),
	)
	e.IDs.Container, e.IDs.Sandbox = r.Value("container"), r.Value("sandbox")
	ofShim := r.Unit == "kata" || strings.Contains(r.Raw, "containerd-shim-v2") || scan.ContainsAny(reason, []string{"agent", "hypervisor"})
	return e, id != "" && ofShim && scan.ContainsAny(reason, guestErrors)
}
