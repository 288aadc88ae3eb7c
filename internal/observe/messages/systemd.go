package messages

import (
	"path"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// systemdTable: PID 1, logind and what tools print about them. systemd 219 to 257.
var systemdTable = table{
	component: "systemd",
	rows: []row{
		{[]string{".scope - libcontainer", "Started libcontainer container"}, scopeStarted},
		{[]string{"propagate agent release message", "Operation not supported"}, busUnsupported},
		{[]string{"maximum number of pending replies"}, says(event.KindPendingReplies, "too many unanswered calls to PID 1")},
		{[]string{"Failed to introspect object"}, introspectTimeout},
		{[]string{"cookie = ", "cookie=42949", "cookie=0x1000"}, cookieSeen},
		{[]string{"Reexecuting"}, reexecuted},
		// systemd 219 running in system mode. (+PAM …); systemd 252.30-1~deb12u2 running in system
		// mode.
		{[]string{"running in system mode"}, factFrom("systemd.version", func(r *event.Record) string {
			v, _ := scan.Between(r.Message(), "systemd ", " running in system mode")
			return strings.TrimPrefix(v, "v")
		})},
		{[]string{"ain process exited, code=", ".service: Failed with result "}, unitExit},
		{[]string{" loaded units listed"}, unitCount},
		{runtimeJobs("Stopping "), runtimeJob("Stopping ", event.KindUnitStop, "systemd stops ")},
		{runtimeJobs("Started "), runtimeJob("Started ", event.KindUnitStart, "systemd has started ")},
		{[]string{"Stopping " + daemon.Kubelet.Description, "Stopping kubelet.service"}, kubeletStop},
	},
}

// scopeStarted ends the wait of a runc that asked for a scope:
//
//	Started docker-<id>.scope - libcontainer container <id>.      (systemd ≥ 249, or with StatusUnitFormat=combined)
//	Started libcontainer container <id>.                          (before)
func scopeStarted(r *event.Record) (event.Event, bool) {
	id := scan.FindID(r.Message())
	return scopeStart(id, event.End), id != "" && strings.HasPrefix(r.Message(), "Started ")
}

// busUnsupported: PID 1 could not seal a message because its 32-bit cookie is
// used up. With "Transport endpoint is not connected" the same line is harmless (systemd#6777).
//
//	Failed to propagate agent release message: Operation not supported
//	Failed to send unit change signal for x.scope: Operation not supported
func busUnsupported(r *event.Record) (event.Event, bool) {
	text := r.Message()
	i := strings.LastIndex(text, ": ")
	agent := strings.HasPrefix(text, "Failed to propagate agent release message")
	if i < 0 || !agent && !(r.Unit == "systemd" && strings.HasPrefix(text, "Failed to send ")) {
		return event.Event{}, false // other programs fail to send, too
	}
	errno := strings.TrimRight(strings.TrimSpace(text[i+2:]), ".")
	return event.New(event.KindBusUnsupported, "PID 1 could not send on the bus: "+errno, event.FieldErrno.Text(errno)), true
}

// introspectTimeout: Failed to introspect object / of service org.freedesktop.systemd1: Connection
// timed out (busctl tree).
func introspectTimeout(r *event.Record) (event.Event, bool) {
	text := r.Message()
	return event.New(event.KindIntrospectTimeout, "PID 1 does not answer on the bus"),
		strings.Contains(text, "org.freedesktop.systemd1") && strings.Contains(text, "timed out")
}

// cookieSeen is what a debugger session shows at sd_bus_send or sd_bus_message_seal:
// cookie=4294967731, cookie = 0x1000001b3.
func cookieSeen(r *event.Record) (event.Event, bool) {
	text := r.Message()
	_, rest, ok := strings.Cut(text, "cookie")
	if !ok || r.Unit != "" || strings.Contains(text, "://") || strings.Contains(text, "HTTP/") {
		// no daemon logs it; a note or a debugger does, and a web server has cookies of its own
		return event.Event{}, false
	}
	rest = strings.TrimLeft(rest, " =:@")
	n := 0
	for n < len(rest) && scan.IsWord(rest[n]) {
		n++
	}
	v, err := strconv.ParseUint(rest[:n], 0, 64)
	if err != nil || v < 1<<16 || v >= 1<<40 {
		// too small to tell, or an address: a debugger prints the argument's pointer too
		return event.Event{}, false
	}
	e := event.New(event.KindCookie, "systemd's bus cookie is "+strconv.FormatUint(v, 10))
	e.Fields = []event.Field{event.FieldCookie.Number(float64(v)), event.FieldOverflow.Bool(v > 0xffffffff)}
	return e, true
}

// unitCount is the last but one line of systemctl list-units, which is often all that is pasted:
// 28511 loaded units listed. None is the answer to a question for some of them: a node that runs
// has units.
func unitCount(r *event.Record) (event.Event, bool) {
	before, _, _ := strings.Cut(r.Message(), " loaded units listed")
	n, err := strconv.Atoi(strings.TrimSpace(before))
	if err != nil || n == 0 || r.Unit != "" || ListsSomeUnits(r.Pos.File) {
		return event.Event{}, false
	}
	e, ok := facts.New("systemd.units", strconv.Itoa(n))
	e.Source = facts.Units
	return e, ok
}

// ListsSomeUnits says that a file named after its command, as those of sosreport are, lists not all
// units: systemctl_list-units_--failed.
func ListsSomeUnits(file string) bool {
	_, options, _ := strings.Cut(path.Base(file), "list-units")
	return scan.ContainsAny(options, []string{"failed", "--state", "--type", "_-t_"})
}

// unitsFull is systemd at MANAGER_MAX_NAMES (src/core/manager.h, 131072 units), which it reports as
// E2BIG:
//
//	Failed to start transient scope unit: Argument list too long
func unitsFull(r *event.Record) (event.Event, bool) {
	return event.New(event.KindUnitsFull, "systemd takes no more units"),
		scan.ContainsAny(r.Raw, []string{"Failed to start transient ", "unit: Argument list too long"})
}

// unitExit is a runtime, or a kubelet, that ended without being asked to:
//
//	219     containerd.service: main process exited, code=killed, status=9/KILL
//	≥ 230   containerd.service: Main process exited, code=exited, status=2/INVALIDARGUMENT
//	≥ 236   containerd.service: Failed with result 'oom-kill'.
func unitExit(r *event.Record) (event.Event, bool) {
	unit, rest, ok := strings.Cut(r.Message(), ".service: ")
	name := daemon.Named(unit)
	if !ok || strings.Contains(unit, " ") || name == "" {
		return event.Event{}, false
	}
	how, ok := scan.Between(rest, "Failed with result '", "'")
	if !ok {
		how = strings.ReplaceAll(scan.After(rest, "exited, code="), ", status=", " ")
	}
	if how == "" || strings.HasPrefix(how, "exited 0") || r.Unit != "" && r.Unit != "systemd" {
		return event.Event{}, false
	}
	e := event.New(
		event.KindUnitExit, unit+".service ended: "+how, event.FieldUnit.Text(unit+".service"),
		event.FieldDaemon.Text(name), event.FieldHow.Text(how),
	)
	if daemon.IsRuntime(name) {
		e.AddFields(event.FieldRuntime.Text(name))
	}
	return e, true
}

// runtimeJobs are the starts of what systemd writes about a job of a runtime's unit.
func runtimeJobs(verb string) []string {
	var all []string
	for _, r := range daemon.Runtimes {
		all = append(all, verb+r.Description, verb+r.Names[0]+".service")
	}
	return all
}

// runtimeJob is systemd's word about a job of a runtime's unit:
//
//	Stopping Docker Application Container Engine...                       (≤ 248)
//	Stopping docker.service - Docker Application Container Engine...      (≥ 249)
func runtimeJob(verb string, kind event.Kind, text string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		what, ok := strings.CutPrefix(r.Message(), verb)
		if !ok || r.Unit != "" && r.Unit != "systemd" {
			return event.Event{}, false
		}
		for _, known := range daemon.Runtimes {
			unit := known.Names[0] + ".service"
			if strings.HasPrefix(what, unit) || strings.HasPrefix(what, known.Description) {
				e := event.New(kind, text+unit)
				e.Fields = []event.Field{
					event.FieldUnit.Text(unit), event.FieldDaemon.Text(known.Component),
					event.FieldRuntime.Text(known.Component),
				}
				return e, true
			}
		}
		return event.Event{}, false
	}
}

// kubeletStop: Stopping kubelet: The Kubernetes Node Agent... (≤ 248), Stopping kubelet.service -
// kubelet: The Kubernetes Node Agent...
func kubeletStop(r *event.Record) (event.Event, bool) {
	e := event.New(
		event.KindUnitStop, "systemd stops kubelet.service", event.FieldUnit.Text("kubelet.service"),
		event.FieldDaemon.Text(daemon.Kubelet.Component),
	)
	return e, r.Unit == "" || r.Unit == "systemd"
}

func reexecuted(r *event.Record) (event.Event, bool) {
	return event.New(event.KindReexec, "systemd re-executes itself"), strings.HasPrefix(r.Message(), "Reexecuting")
}
