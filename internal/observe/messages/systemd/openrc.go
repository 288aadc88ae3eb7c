package systemd

import (
	"path"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// OpenRC is what the service manager of nodes without systemd says.
var OpenRC = table.Table{Component: "systemd", Relays: []string{table.HostProgram}, Rows: []table.Row{
	{[]string{", exited with return code ", ", terminated by signal ", " too many times, exiting"}, supervised},
}}

// supervised is what OpenRC's supervise-daemon says of the daemon that it runs, where there is no
// systemd (Alpine, Gentoo, k3OS):
//
//	/sbin/k3s, pid 2302, exited with return code 2
//	/usr/bin/containerd, pid 411, terminated by signal 9
//	respawned "/sbin/k3s" too many times, exiting
func supervised(r *event.Record) (event.Event, bool) {
	text := r.Message()
	if program, given := scan.Between(text, "respawned \"", "\" too many times"); given {
		e, ok := newSupervised(program, r)
		e.Kind, e.Text = event.KindUnitGivenUp, "supervise-daemon starts "+path.Base(program)+" no more: it was started too often"
		return e, ok
	}
	program, rest, _ := strings.Cut(text, ", pid ")
	how := "exited " + scan.Digits(scan.After(rest, "exited with return code "))
	if signal := scan.Digits(scan.After(rest, "terminated by signal ")); signal != "" {
		how = "killed " + signal
	}
	e, ok := newSupervised(program, r)
	e.Kind, e.Text = event.KindUnitExit, path.Base(program)+" ended: "+how
	e.AddFields(event.FieldHow.Text(how))
	return e, ok && how != "exited " && how != "exited 0"
}

// newSupervised begins an event of a program that supervise-daemon runs. Ok is false for one that
// neither is a runtime or a kubelet nor is needed by one.
func newSupervised(program string, r *event.Record) (e event.Event, ok bool) {
	unit := path.Base(program)
	name := daemon.OfService(unit)
	e = newUnitEvent(unit, name)
	e.Fields[0] = event.FieldUnit.Text(unit)
	return e, name != "" && strings.HasPrefix(program, "/") && r.Unit == "supervise-daemon"
}
