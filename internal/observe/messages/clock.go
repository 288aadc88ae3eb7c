package messages

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// clockTable: who sets the wall clock.
var clockTable = table{
	component: "clock",
	rows: []row{
		{[]string{"clock_step ", "clock was stepped by", "step time server"}, clockStep},
	},
}

// clockStep:
//
//	ntpd     0.0.0.0 c61c 0c clock_step -28818.771869 s
//	ntpdate  step time server 10.0.0.1 offset -28818.771869 sec
//	chronyd  System clock was stepped by -28818.771869 seconds
func clockStep(r *event.Record) (event.Event, bool) {
	seconds, err := strconv.ParseFloat(
		strings.TrimPrefix(scan.FirstWord(scan.After(r.Message(), "clock_step ", "clock was stepped by ", " offset ")), "+"),
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

// maxStep is the longest step that is believed; a time.Duration reaches 292 years.
const maxStep = 100 * 365 * 24 * time.Hour
