package states

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/systemd"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// unitProperties reads systemctl show, unit files, files of environment variables, os-release,
// sysctl -a, and the dates of certificates.
type unitProperties struct {
	doc   int
	unit  event.Event
	props map[string]string

	certificate certificate
}

// propertySettings: os-release(5), sysctl.
var propertySettings = []setting{
	{"PRETTY_NAME", "os.name", nil},
	{"ID", "os.id", nil},
	{"VERSION_ID", "os.version", nil},
	{"kernel.pid_max", "node.pid-max", nil},
	{"kernel.threads-max", "node.threads-max", nil},
	{"kernel.osrelease", "kernel.version", nil},
}

// unitNames are the properties of systemctl show that an event of a unit has, and the fields that
// they become.
var unitNames = map[string]event.Key{
	"Id": event.FieldUnit, "ActiveState": event.FieldState, "SubState": event.FieldSub,
	"Result": event.FieldResult, "NRestarts": event.FieldRestarts, "TasksCurrent": event.FieldTasks,
	"TasksMax": event.FieldTasksMax, "MainPID": event.FieldPID,
	"ActiveEnterTimestamp": "", "InactiveEnterTimestamp": "", "ExecMainStartTimestamp": "",
}

func (u *unitProperties) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	if e.Doc != u.doc {
		dst = u.endUnit(dst)
		u.doc = e.Doc
	}
	if len(e.Path) == 0 {
		return dst
	}
	dst = u.certificate.takeDatum(dst, e)
	name := e.Path[len(e.Path)-1]
	// of systemctl show without a unit
	if n, err := strconv.ParseUint(e.Value, 10, 32); err == nil && name == "NNames" && len(e.Path) == 1 {
		dst = append(dst, facts.NewReading(facts.Units, facts.OfUnits, float64(n), event.Time{}, e.Quote()))
	}
	if _, ok := unitNames[name]; ok && len(e.Path) == 1 {
		u.keepProperty(name, e)
	}
	if strings.Contains(e.Value, "--") && (strings.HasPrefix(name, "KUBELET") || name == "ExecStart" || name == "Environment") {
		dst = facts.AppendKubeletFlags(dst, e.Value, e.Quote())
	}
	for _, s := range propertySettings {
		if len(e.Path) == 1 && s.path == name {
			before := len(dst)
			dst = addFact(dst, facts.Node, s.fact, e.Value, e)
			if strings.HasPrefix(name, "kernel.") { // sysctl.conf reads as sysctl -a does
				dst = markConfigured(dst, before)
			}
		}
	}
	return dst
}

// keepProperty notes a property of the unit at hand.
func (u *unitProperties) keepProperty(name string, e *snapshots.Datum) {
	if u.props == nil {
		u.props = map[string]string{}
	}
	if e.Value == "" || e.Value == "[not set]" || u.props[name] != "" {
		return
	}
	u.props[name] = e.Value
	u.unit.Evidence = append(u.unit.Evidence, e.Quote())
	field := unitNames[name]
	if field == "" || field == event.FieldPID {
		return
	}
	v := field.Text(e.Value)
	if n, err := strconv.ParseUint(e.Value, 10, 64); err == nil && field != event.FieldUnit {
		v = field.Number(float64(n))
	}
	u.unit.AddFields(v)
}

// endUnit makes the event of a unit.
func (u *unitProperties) endUnit(dst []event.Event) []event.Event {
	e, props := u.unit, u.props
	u.unit, u.props = event.Event{}, nil
	if props["Id"] == "" && props["MainPID"] == "" && props["ActiveState"] == "" {
		return dst
	}
	e.Kind, e.Component, e.Source = event.KindUnit, "systemd", facts.Units
	e.IDs.PID, _ = strconv.Atoi(props["MainPID"])
	since := "ActiveEnterTimestamp"
	if props["ActiveState"] == "failed" || props["ActiveState"] == "inactive" {
		since = "InactiveEnterTimestamp"
	}
	// when it was printed is not known: a time of last year would mislead the clocks of other files
	if props[since] != "" {
		e.AddFields(event.FieldSince.Text(props[since]))
	}
	facts.MarkFull(&e, event.FieldTasks, event.FieldTasksMax)
	e.AddText(event.FieldDaemon, daemon.OfUnit(props["Id"]))
	e.Text = systemd.UnitText(props["Id"], props["ActiveState"])
	return append(dst, e)
}

func (u *unitProperties) finishFile(dst []event.Event) []event.Event { return u.endUnit(dst) }

// listedUnits are the units of the node's daemons in a listing.
type listedUnits struct {
	active map[string]bool // components that have an active unit
	events []event.Event   // of those that are not in their usual state
}

// takeRow takes a row of systemctl list-units about a daemon of the node. A unit that is well says
// nothing: a listing has hundreds of them.
//
//	containerd.service loaded activating start-pre containerd container runtime
//	kubelet.service    loaded failed     failed    kubelet.service
//
// It was so when it was listed, and goes on.
func (l *listedUnits) takeRow(row *snapshots.Datum, at event.Time) {
	unit, state, sub := row.Column("UNIT"), row.Column("ACTIVE"), row.Column("SUB")
	owner := daemon.OfUnit(unit)
	switch {
	case owner == "" || row.Column("LOAD") != "loaded":
		return
	case state == "active":
		if l.active == nil {
			l.active = map[string]bool{}
		}
		l.active[owner] = true
		if strings.HasPrefix(unit, "k3s") || strings.HasPrefix(unit, "rke2") { // they start a containerd of their own
			l.active["containerd"] = true
		}
		return
	case state == "inactive" && owner == daemon.Kubelet.Component:
		// what else is inactive may be the runtime or the bus that this node does not use
	case state == "failed", state == "activating", state == "deactivating":
	default:
		return
	}
	if len(l.events) == maxListed {
		return
	}
	e := event.Event{
		Kind: event.KindUnit, Component: "systemd", Source: facts.Units, Start: at, End: at, Open: true,
		Fields: []event.Field{
			event.FieldUnit.Text(unit), event.FieldDaemon.Text(owner), event.FieldState.Text(state), event.FieldSub.Text(sub),
		},
		Text: systemd.UnitText(unit, state), Evidence: []event.Quote{row.Quote()},
	}
	if sub != state {
		e.Text += " (" + sub + ")"
	}
	l.events = append(l.events, e)
}

// finishListing appends what was listed, without the units that do not run because another one does
// their work.
func (l *listedUnits) finishListing(dst []event.Event) []event.Event {
	for i := range l.events {
		if e := &l.events[i]; !l.isReplaced(e.FieldText(event.FieldDaemon), e.FieldText(event.FieldState)) {
			dst = append(dst, *e)
		}
	}
	return dst
}

// isReplaced says that a unit which does not run is not missed: another of the same component is
// active, or another runtime. A dockerd needs its containerd.
func (l *listedUnits) isReplaced(owner, state string) bool {
	if state != "failed" && state != "inactive" {
		return false
	}
	return l.active[owner] || daemon.IsRuntime(owner) && (l.active["containerd"] || l.active["crio"] || l.active["dockerd"] && owner != "containerd")
}
