package observe

import (
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// unitProperties reads systemctl show, unit files, files of environment variables, os-release and sysctl -a.
type unitProperties struct {
	doc   int
	unit  event.Event
	props map[string]string
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

// unitNames are the properties of systemctl show that an event of a unit has, and the fields that they become.
var unitNames = map[string]event.Key{
	"Id": event.FieldUnit, "ActiveState": event.FieldState, "SubState": event.FieldSub, "Result": event.FieldResult, "NRestarts": event.FieldRestarts, "TasksCurrent": event.FieldTasks, "TasksMax": event.FieldTasksMax, "MainPID": event.FieldPID,
	"ActiveEnterTimestamp": "", "InactiveEnterTimestamp": "", "ExecMainStartTimestamp": "",
}

func (u *unitProperties) datum(dst []event.Event, e *snapshots.Datum) []event.Event {
	if e.Doc != u.doc {
		dst = u.end(dst)
		u.doc = e.Doc
	}
	if len(e.Path) == 0 {
		return dst
	}
	name := e.Path[len(e.Path)-1]
	if n, err := strconv.ParseUint(e.Value, 10, 32); err == nil && name == "NNames" && len(e.Path) == 1 { // of systemctl show without a unit
		dst = append(dst, reading(Units, ofUnits, float64(n), event.Time{}, quoteOf(e)))
	}
	if _, ok := unitNames[name]; ok && len(e.Path) == 1 {
		u.property(name, e)
	}
	if strings.Contains(e.Value, "--") && (strings.HasPrefix(name, "KUBELET") || name == "ExecStart" || name == "Environment") {
		dst = addFlags(dst, e.Value, e)
	}
	for _, s := range propertySettings {
		if len(e.Path) == 1 && s.path == name {
			before := len(dst)
			dst = addFact(dst, Node, s.fact, e.Value, e)
			if strings.HasPrefix(name, "kernel.") { // sysctl.conf reads as sysctl -a does
				dst = configured(dst, before)
			}
		}
	}
	return dst
}

// property notes a property of the unit at hand.
func (u *unitProperties) property(name string, e *snapshots.Datum) {
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
	u.unit.Fields = append(u.unit.Fields, v)
}

// end makes the event of a unit.
func (u *unitProperties) end(dst []event.Event) []event.Event {
	e, props := u.unit, u.props
	u.unit, u.props = event.Event{}, nil
	if props["Id"] == "" && props["MainPID"] == "" && props["ActiveState"] == "" {
		return dst
	}
	e.Kind, e.Component, e.Source = event.KindUnit, "systemd", Units
	e.IDs.PID, _ = strconv.Atoi(props["MainPID"])
	since := "ActiveEnterTimestamp"
	if props["ActiveState"] == "failed" || props["ActiveState"] == "inactive" {
		since = "InactiveEnterTimestamp"
	}
	if props[since] != "" { // when it was printed is not known: a time of last year would mislead the clocks of other files
		e.Fields = append(e.Fields, event.FieldSince.Text(props[since]))
	}
	e.Text = unitText(props["Id"], props["ActiveState"])
	return append(dst, e)
}

func unitText(unit, state string) string {
	if unit == "" {
		unit = "a unit"
	}
	return strings.TrimSpace(unit + " is " + state)
}

func (u *unitProperties) finish(dst []event.Event) []event.Event { return u.end(dst) }

// unitTable: systemctl status, line by line; the field unit says whose status it is.
var unitTable = table{
	component: "systemd",
	rows: []row{
		{[]string{"Active: active", "Active: failed", "Active: inactive", "Active: activating", "Active: deactivating"}, unitActive},
		{[]string{"Tasks: "}, unitTasks},
		{[]string{"Main PID: "}, unitPID},
	},
}

// unitEvent begins an event of a unit; ok is false for a line that is none of systemctl status.
func unitEvent(r *event.Record) (e event.Event, text string, ok bool) {
	unit, ok := r.Field("unit")
	if !ok || r.Unit != "" {
		return e, "", false
	}
	return event.Event{Kind: event.KindUnit, Source: Units, Fields: []event.Field{event.FieldUnit.Text(unit)}}, strings.TrimSpace(r.Text), true
}

// unitActive is since when a unit is in its state:
//
//	Active: active (running) since Fri 2026-11-20 18:22:10 UTC; 3min 2s ago
//	Active: failed (Result: signal) since Fri 2026-11-20 18:24:00 UTC; 1min 2s ago
func unitActive(r *event.Record) (event.Event, bool) {
	e, text, ok := unitEvent(r)
	state, ok2 := strings.CutPrefix(text, "Active: ")
	if !ok || !ok2 {
		return event.Event{}, false
	}
	state, _, _ = strings.Cut(state, " ")
	e.Fields = append(e.Fields, event.FieldState.Text(state))
	if sub, ok := between(text, "(", ")"); ok {
		if result, ok := strings.CutPrefix(sub, "Result: "); ok {
			e.Fields = append(e.Fields, event.FieldResult.Text(result))
		} else {
			e.Fields = append(e.Fields, event.FieldSub.Text(sub))
		}
	}
	if since, ago, ok := strings.Cut(after(text, " since "), "; "); ok {
		e.Fields = append(e.Fields, event.FieldSince.Text(since))
		start, _ := stamp.Date(since)
		if d, ok := span(strings.TrimSuffix(ago, " ago")); ok && start.Known {
			e.Start, e.End, e.Open = start, start.Add(d), true // it was so when it was printed
		}
	}
	e.Text = unitText(e.Fields[0].Value.Text(), state)
	return e, true
}

// span reads the lengths that systemd prints: 3min 2s, 2 weeks 3 days, 1h 4min.
func span(s string) (d time.Duration, ok bool) {
	s = strings.ReplaceAll(s, " ", "")
	for s != "" {
		n := digits(s)
		rest := s[len(n):]
		unit := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz"))]
		length := spanUnits[strings.TrimSuffix(unit, "s")]
		if unit == "s" {
			length = time.Second
		}
		v, err := strconv.Atoi(n)
		if err != nil || length == 0 || v > 1e6 {
			return 0, false
		}
		d += time.Duration(v) * length
		s, ok = rest[len(unit):], true
	}
	return d, ok
}

// spanUnits are systemd's, format_timespan and format_timestamp_relative.
var spanUnits = map[string]time.Duration{
	"y": 365 * 24 * time.Hour, "year": 365 * 24 * time.Hour, "month": 30 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "day": 24 * time.Hour,
	"h": time.Hour, "min": time.Minute, "m": time.Millisecond, "u": time.Microsecond,
}

// unitTasks is how many threads a unit has: Tasks: 27990 (limit: 28844).
func unitTasks(r *event.Record) (event.Event, bool) {
	e, text, ok := unitEvent(r)
	rest, ok2 := strings.CutPrefix(text, "Tasks: ")
	n, err := strconv.Atoi(digits(rest))
	if !ok || !ok2 || err != nil {
		return event.Event{}, false
	}
	e.Fields = append(e.Fields, event.FieldTasks.Int(n))
	if limit, ok := between(rest, "limit: ", ")"); ok {
		if n, err := strconv.Atoi(limit); err == nil {
			e.Fields = append(e.Fields, event.FieldTasksMax.Int(n))
		}
	}
	e.Text = e.Fields[0].Value.Text() + " has " + digits(rest) + " tasks"
	return e, true
}

// unitPID is the main process, or how it ended: Main PID: 43 (containerd); Main PID: 77 (code=killed, signal=KILL).
func unitPID(r *event.Record) (event.Event, bool) {
	e, text, ok := unitEvent(r)
	rest, ok2 := strings.CutPrefix(text, "Main PID: ")
	pid, err := strconv.Atoi(digits(rest))
	if !ok || !ok2 || err != nil {
		return event.Event{}, false
	}
	e.IDs.PID = pid
	if signal, ok := between(rest, "signal=", ")"); ok {
		e.Fields = append(e.Fields, event.FieldSignal.Text(signal))
	}
	e.Text = "the main process of " + e.Fields[0].Value.Text() + " is " + digits(rest)
	return e, true
}
