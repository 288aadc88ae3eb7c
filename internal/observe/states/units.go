package states

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
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
		dst = append(dst, facts.Reading(facts.Units, facts.OfUnits, float64(n), event.Time{}, quoteOf(e)))
	}
	if _, ok := unitNames[name]; ok && len(e.Path) == 1 {
		u.keepProperty(name, e)
	}
	if strings.Contains(e.Value, "--") && (strings.HasPrefix(name, "KUBELET") || name == "ExecStart" || name == "Environment") {
		dst = addFlags(dst, e.Value, e)
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
	u.unit.Evidence = append(u.unit.Evidence, quoteOf(e))
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
	facts.AddFull(&e, event.FieldTasks, event.FieldTasksMax)
	e.Text = messages.UnitText(props["Id"], props["ActiveState"])
	return append(dst, e)
}

func (u *unitProperties) finishFile(dst []event.Event) []event.Event { return u.endUnit(dst) }
