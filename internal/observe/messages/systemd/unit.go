package systemd

import (
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// UnitText is the sentence about the state of a unit of systemd; an empty unit is "a unit".
func UnitText(unit, state string) string {
	if unit == "" {
		unit = "a unit"
	}
	return strings.TrimSpace(unit + " is " + state)
}

// Units is systemctl status, line by line; the field unit says whose status it is.
var Units = table.Table{
	Component: "systemd",
	Rows: []table.Row{
		{
			[]string{"Active: active", "Active: failed", "Active: inactive", "Active: activating", "Active: deactivating", "Active: `", "Active: *"},
			unitActive,
		},
		{[]string{" Tasks: ", "\nTasks: ", " (limit: "}, unitTasks},
		{[]string{"Main PID: "}, unitPID},
		{[]string{"Unit kubelet.service "}, unitAbsent},
	},
}

// unitEvent begins an event of a unit of a line of systemctl status; rest is what stands behind the
// line's name. Ok is false for any other line.
func unitEvent(r *event.Record, name string) (e event.Event, rest string, ok bool) {
	unit, ok := r.Field("unit")
	rest, named := strings.CutPrefix(strings.TrimSpace(r.Text), name+": ")
	e = event.Event{Kind: event.KindUnit, Source: facts.Units, Fields: []event.Field{event.FieldUnit.Text(unit)}}
	e.AddText(event.FieldDaemon, daemon.OfUnit(unit))
	return e, rest, ok && named && r.Unit == ""
}

// unitActive is since when a unit is in its state:
//
//	Active: active (running) since Fri 2026-11-20 18:22:10 UTC; 3min 2s ago
//	Active: failed (Result: signal) since Fri 2026-11-20 18:24:00 UTC; 1min 2s ago
//	Active: activating (auto-restart) (Result: exit-code) since Fri 2026-11-20 18:24:00 UTC; 3s ago
//
// A page may set the state off: `inactive`, **inactive**.
func unitActive(r *event.Record) (event.Event, bool) {
	e, text, ok := unitEvent(r, "Active")
	if !ok {
		return event.Event{}, false
	}
	state := strings.Trim(scan.FirstWord(text), "`*")
	e.AddFields(event.FieldState.Text(state))
	if sub, ok := scan.Between(text, "(", ")"); ok {
		if result, ok := strings.CutPrefix(sub, "Result: "); ok {
			e.AddFields(event.FieldResult.Text(result))
		} else {
			e.AddFields(event.FieldSub.Text(sub))
			if result, ok := scan.Between(text, "(Result: ", ")"); ok {
				e.AddFields(event.FieldResult.Text(result))
			}
		}
	}
	if since, ago, ok := strings.Cut(scan.After(text, " since "), "; "); ok {
		e.AddFields(event.FieldSince.Text(since))
		start, _ := stamp.Date(since)
		if d, step, ok := parseSpan(strings.TrimSuffix(ago, " ago")); ok && start.Known {
			e.Start, e.End, e.Open = start, start.Add(d), true // it was so when it was printed
			e.End.Prec = max(e.End.Prec, step)
		}
	}
	e.Text = UnitText(e.Fields[0].Value.Text(), state)
	return e, true
}

// ToldZone is the moment since which a unit is in its state, in the zone of the machine:
//
//	Active: inactive (dead) since Tue 2020-07-07 14:13:10 EDT; 11s ago
//
// The lines that systemctl prints below it have the time of that zone and do not name it. Ok is
// false where the letters do not tell the offset.
func ToldZone(r *event.Record) (at event.Time, ok bool) {
	if r.Time.Known || !strings.Contains(r.Text, "Active: ") {
		return at, false
	}
	since, _, found := strings.Cut(scan.After(r.Text, " since "), "; ")
	if !found {
		return at, false
	}
	at, ok = stamp.Date(since)
	return at, ok && at.Lacks == 0
}

// unitAbsent is systemctl that knows no unit of the kubelet:
//
//	Unit kubelet.service could not be found.
//	Failed to start kubelet.service: Unit kubelet.service not found.      (also: restart, enable; "not loaded." of stop)
func unitAbsent(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Text)
	e := event.New(
		event.KindUnit, UnitText("kubelet.service", "not there"), event.FieldUnit.Text("kubelet.service"), event.FieldDaemon.Text("kubelet"),
		event.FieldState.Text("not-found"),
	)
	e.Source = facts.Units
	return e, r.Unit == "" && (strings.HasPrefix(said, "Unit ") || strings.HasPrefix(said, "Failed to ")) &&
		(strings.HasSuffix(said, "Unit kubelet.service could not be found.") || strings.HasSuffix(said, "Unit kubelet.service not found."))
}

// parseSpan reads the lengths that systemd prints, which it rounds down: 3min 2s, 2 weeks 3 days,
// 1h 4min. Step is the unit of the last number.
func parseSpan(s string) (d, step time.Duration, ok bool) {
	s = strings.ReplaceAll(s, " ", "")
	for s != "" {
		n := scan.Digits(s)
		rest := s[len(n):]
		unit := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz"))]
		length := spanUnits[strings.TrimSuffix(unit, "s")]
		if unit == "s" {
			length = time.Second
		}
		v, err := strconv.Atoi(n)
		if err != nil || length == 0 || v > 1e6 {
			return 0, 0, false
		}
		d += time.Duration(v) * length
		s, step, ok = rest[len(unit):], length, true
	}
	return d, step, ok
}

// spanUnits are systemd's, format_timespan and format_timestamp_relative.
var spanUnits = map[string]time.Duration{
	"y": 365 * 24 * time.Hour, "year": 365 * 24 * time.Hour, "month": 30 * 24 * time.Hour,
	"week": 7 * 24 * time.Hour, "day": 24 * time.Hour,
	"h": time.Hour, "min": time.Minute, "m": time.Millisecond, "u": time.Microsecond,
}

// unitTasks is how many threads a unit has: Tasks: 27990 (limit: 28844).
func unitTasks(r *event.Record) (event.Event, bool) {
	e, rest, ok := unitEvent(r, "Tasks")
	n, err := strconv.Atoi(scan.Digits(rest))
	if !ok || err != nil {
		return event.Event{}, false
	}
	e.AddFields(event.FieldTasks.Int(n))
	if limit, ok := scan.Between(rest, "limit: ", ")"); ok {
		e.AddNumber(event.FieldTasksMax, limit)
	}
	facts.MarkFull(&e, event.FieldTasks, event.FieldTasksMax)
	e.Text = e.Fields[0].Value.Text() + " has " + scan.Digits(rest) + " tasks"
	return e, true
}

// unitPID is the main process, or how it ended: Main PID: 43 (containerd); Main PID: 77
// (code=killed, signal=KILL).
func unitPID(r *event.Record) (event.Event, bool) {
	e, rest, ok := unitEvent(r, "Main PID")
	pid, err := strconv.Atoi(scan.Digits(rest))
	if !ok || err != nil {
		return event.Event{}, false
	}
	e.IDs.PID = pid
	if signal, ok := scan.Between(rest, "signal=", ")"); ok {
		e.AddFields(event.FieldSignal.Text(signal))
	}
	e.Text = "the main process of " + e.Fields[0].Value.Text() + " is " + scan.Digits(rest)
	return e, true
}
