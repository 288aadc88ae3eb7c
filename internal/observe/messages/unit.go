package messages

import (
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

func UnitText(unit, state string) string {
	if unit == "" {
		unit = "a unit"
	}
	return strings.TrimSpace(unit + " is " + state)
}

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
	return event.Event{Kind: event.KindUnit, Source: facts.Units, Fields: []event.Field{event.FieldUnit.Text(unit)}}, strings.TrimSpace(r.Text), true
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
	if sub, ok := scan.Between(text, "(", ")"); ok {
		if result, ok := strings.CutPrefix(sub, "Result: "); ok {
			e.Fields = append(e.Fields, event.FieldResult.Text(result))
		} else {
			e.Fields = append(e.Fields, event.FieldSub.Text(sub))
		}
	}
	if since, ago, ok := strings.Cut(scan.After(text, " since "), "; "); ok {
		e.Fields = append(e.Fields, event.FieldSince.Text(since))
		start, _ := stamp.Date(since)
		if d, ok := span(strings.TrimSuffix(ago, " ago")); ok && start.Known {
			e.Start, e.End, e.Open = start, start.Add(d), true // it was so when it was printed
		}
	}
	e.Text = UnitText(e.Fields[0].Value.Text(), state)
	return e, true
}

// span reads the lengths that systemd prints: 3min 2s, 2 weeks 3 days, 1h 4min.
func span(s string) (d time.Duration, ok bool) {
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
	n, err := strconv.Atoi(scan.Digits(rest))
	if !ok || !ok2 || err != nil {
		return event.Event{}, false
	}
	e.Fields = append(e.Fields, event.FieldTasks.Int(n))
	if limit, ok := scan.Between(rest, "limit: ", ")"); ok {
		if n, err := strconv.Atoi(limit); err == nil {
			e.Fields = append(e.Fields, event.FieldTasksMax.Int(n))
		}
	}
	e.Text = e.Fields[0].Value.Text() + " has " + scan.Digits(rest) + " tasks"
	return e, true
}

// unitPID is the main process, or how it ended: Main PID: 43 (containerd); Main PID: 77 (code=killed, signal=KILL).
func unitPID(r *event.Record) (event.Event, bool) {
	e, text, ok := unitEvent(r)
	rest, ok2 := strings.CutPrefix(text, "Main PID: ")
	pid, err := strconv.Atoi(scan.Digits(rest))
	if !ok || !ok2 || err != nil {
		return event.Event{}, false
	}
	e.IDs.PID = pid
	if signal, ok := scan.Between(rest, "signal=", ")"); ok {
		e.Fields = append(e.Fields, event.FieldSignal.Text(signal))
	}
	e.Text = "the main process of " + e.Fields[0].Value.Text() + " is " + scan.Digits(rest)
	return e, true
}
