package facts

import (
	"strconv"

	"github.com/plegdiag/plegdiag/internal/event"
)

// What is counted, as the field "of" of a event.KindCount says. Different ways of counting are
// never mixed.
const (
	OfThreads   = "threads"   // of the node; each of them takes a process id
	OfProcesses = "processes" // of the node
	// processes and threads of one cgroup, as its pids controller counts them.
	OfPIDs        = "pids"
	OfUnits       = "units"        // that systemd has loaded
	OfActiveUnits = "active units" // of a listing that leaves out the others
)

// fewLeft is how many processes and threads are too few to start a container with: a shim alone has
// about ten threads.
const fewLeft = 10

// MarkFull marks an event of a cgroup that can have hardly any more processes and threads.
func MarkFull(e *event.Event, count, limit event.Key) {
	has, _ := e.Get(count)
	n, counted := has.Number()
	may, _ := e.Get(limit)
	if most, limited := may.Number(); counted && limited && most > fewLeft && n > most-fewLeft {
		e.AddFields(event.FieldFull.Bool(true))
	}
}

// NewReading is one reading of a number that may run out. It says something only together with a
// later one, so that a reading whose time stays unknown is dropped.
func NewReading(source, of string, value float64, at event.Time, q event.Quote, more ...event.Field) event.Event {
	e := event.Event{Kind: event.KindCount, Component: "node", Source: source, Start: at, Evidence: []event.Quote{q}}
	e.Fields = append([]event.Field{event.FieldOf.Text(of), event.FieldValue.Number(value)}, more...)
	e.Text = strconv.FormatFloat(value, 'f', -1, 64) + " " + of
	return e
}
