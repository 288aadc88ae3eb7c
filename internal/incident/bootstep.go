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
	boots := map[event.Lacks][]time.Time{} // by what their stamps lack
	var steps []*event.Event
	for _, f := range files {
		for e := range f.events.All() {
			switch {
			case !e.Start.Known:
			case e.Kind == event.KindBoot:
				boots[e.Start.Lacks] = append(boots[e.Start.Lacks], e.Start.T)
			case e.Kind == event.KindClockStep:
				steps = append(steps, e)
			}
		}
	}
	for _, all := range boots {
		slices.SortFunc(all, time.Time.Compare)
	}
	for _, e := range steps {
		step, told := e.Get(event.FieldStep)
		seconds, _ := step.Number()
		before := e.Last().T.Add(-time.Duration(seconds * float64(time.Second)))
		all := boots[e.Start.Lacks]
		i, _ := slices.BinarySearchFunc(all, before.Add(-bootSettles), time.Time.Compare)
		if told && i < len(all) && before.Sub(all[i]) >= -time.Second {
			e.AddFields(event.FieldBooting.Bool(true))
		}
	}
}
