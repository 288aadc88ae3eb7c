package incident

import (
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// bootSettles is how long after its start a machine may take to set its clock: until then it shows
// what the hardware kept while it was off.
const bootSettles = 5 * time.Minute

// markBootSteps marks the steps of a clock that belong to the start of a machine. What the clock
// showed before the step is compared with the stamp of the start, which came from the same wrong
// clock; so it looks at stamps as they are written.
func markBootSteps(files []*file) {
	var boots []event.Time
	var steps []*event.Event
	for _, f := range files {
		for e := range f.events.allEvents() {
			switch {
			case !e.Start.Known:
			case e.Kind == event.KindBoot:
				boots = append(boots, e.Start)
			case e.Kind == event.KindClockStep:
				steps = append(steps, e)
			}
		}
	}
	for _, e := range steps {
		step, told := e.Get(event.FieldStep)
		seconds, _ := step.Number()
		before := e.Last().T.Add(-time.Duration(seconds * float64(time.Second)))
		if told && slices.ContainsFunc(boots, func(boot event.Time) bool {
			since := before.Sub(boot.T)
			return boot.Lacks == e.Start.Lacks && since >= -time.Second && since <= bootSettles
		}) {
			e.AddFields(event.FieldBooting.Bool(true))
		}
	}
}
