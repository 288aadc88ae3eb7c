package tools

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Clock is what those say who set the wall clock.
var Clock = table.Table{
	Component: "clock",
	Relays:    []string{table.HostProgram}, // journald
	Rows: []table.Row{
		{[]string{"clock_step ", "clock was stepped by", "step time server", "time reset "}, clockStep},
		{[]string{"System clock wrong by "}, clockWrong},
		{[]string{" time jump detected", "time unset or jumped backwards", "Time jumped backwards, rotating", "Realtime clock jumped backwards"}, clockJumped},
		{[]string{" exceeds sanity limit ", "Could not step system clock"}, clockGivenUp},
		{[]string{"is not yet valid: current time "}, notValidYet},
	},
}

// clockStep:
//
//	ntpd     0.0.0.0 c61c 0c clock_step -28818.771869 s
//	ntpdate  step time server 10.0.0.1 offset -28818.771869 sec
//	ntpd     time reset -28818.771869 s                                    (≤ 4.2.6)
//	chronyd  System clock was stepped by -28818.771869 seconds
func clockStep(r *event.Record) (event.Event, bool) {
	seconds, err := strconv.ParseFloat(
		strings.TrimPrefix(scan.FirstWord(scan.After(r.Message(), "clock_step ", "clock was stepped by ", " offset ", "time reset ", "System clock wrong by ")), "+"),
		64,
	)
	if err != nil || math.Abs(seconds) > maxStep.Seconds() {
		return event.Event{}, false
	}
	step := time.Duration(seconds * float64(time.Second))
	e := event.New(
		event.KindClockStep, "the clock is set by "+step.Round(time.Millisecond).String(),
		event.FieldStep.Duration(step),
	)
	if step > 0 { // the times in between did not happen
		e.Start, e.End = r.Time.Add(-step), r.Time
	}
	return e, true
}

// clockWrong: chronyd  System clock wrong by -28818.771869 seconds (before 3.0 with ", adjustment
// started"). It steps the clock then, or lets it run faster or slower.
func clockWrong(r *event.Record) (event.Event, bool) {
	step, ok := parseSeconds(scan.After(r.Message(), "System clock wrong by "))
	return event.New(
		event.KindClockWrong, "the clock is found wrong by "+step.Round(time.Millisecond).String(), event.FieldStep.Duration(step),
	), ok
}

// clockGivenUp is a clock so wrong that its keeper does not set it, or one that cannot be set:
//
//	ntpd     time correction of 3600 seconds exceeds sanity limit (1000); set clock manually to the correct UTC time.
//	chronyd  Could not step system clock
func clockGivenUp(r *event.Record) (event.Event, bool) {
	step, ok := parseSeconds(scan.After(r.Message(), "time correction of "))
	if !ok {
		return event.New(event.KindClockWrong, "the clock cannot be set"), strings.HasPrefix(strings.TrimSpace(r.Message()), "Could not step")
	}
	return event.New(
		event.KindClockWrong, "the clock is wrong by "+step.Round(time.Millisecond).String()+", and ntpd does not set it", event.FieldStep.Duration(step),
	), true
}

// parseSeconds reads the number of seconds at the start of a text, with its sign.
func parseSeconds(text string) (time.Duration, bool) {
	seconds, err := strconv.ParseFloat(strings.TrimPrefix(scan.FirstWord(text), "+"), 64)
	if err != nil || math.Abs(seconds) > maxStep.Seconds() {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// maxStep is the longest step that is believed; a time.Duration reaches 292 years.
const maxStep = 100 * 365 * 24 * time.Hour

// clockJumped is a clock that moved without its keeper, or that stood wrong at the boot. journald
// belongs to systemd, and says so whoever set the clock:
//
//	chronyd            Forward time jump detected!       (also: Backward)
//	systemd-journald   Time jumped backwards, rotating.      (≥ 254 "…/system.journal: Realtime clock jumped backwards relative to last journal entry, rotating.")
//	systemd-timesyncd  System clock time unset or jumped backwards, restored from recorded timestamp: Thu 2026-11-19 10:00:00 UTC
func clockJumped(r *event.Record) (event.Event, bool) {
	e := event.New(event.KindClockStep, "the clock has jumped")
	if scan.ContainsAny(r.Raw, []string{"Time jumped backwards, rotating", "Realtime clock jumped backwards"}) {
		e.Component = "systemd"
	}
	return e, true
}

// notValidYet is a program written in Go, of whichever name, by whose clock a certificate is not
// valid yet. The one of the kubelet says more.
//
//	panic: error while connecting to Kubernetes cluster: Get "https://…": x509: certificate has expired or is not yet valid: current time 2022-11-03T12:01:01Z is before 2022-12-01T14:19:13Z
func notValidYet(r *event.Record) (event.Event, bool) {
	now, valid, ok := strings.Cut(scan.After(r.Raw, "is not yet valid: current time "), " is before ")
	clock, err := time.Parse(time.RFC3339, now)
	from, err2 := time.Parse(time.RFC3339, strings.TrimRight(scan.FirstWord(valid), `.,;:)]"'\`))
	if !ok || err != nil || err2 != nil || from.Sub(clock) <= 0 || from.Sub(clock) > maxStep {
		return event.Event{}, false
	}
	return event.New(
		event.KindClockWrong, "by the clock, "+now+", a certificate is not valid before "+from.Format(time.RFC3339),
		event.FieldStep.Duration(from.Sub(clock)), event.FieldWhat.Text("certificate"),
	), true
}
