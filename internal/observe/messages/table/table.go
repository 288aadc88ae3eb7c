// Package table is what the words of every writer are made of: a table for each component, of rows
// for each message, and the few things that are read alike whoever wrote the line. It knows no
// message of its own but the end of a Go program.
package table

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
)

// Row is one message of one component. Its literals are what the prefilter
// looks for: one of them stands in every spelling of the message, is at least
// eight bytes long and holds nothing that a log format would escape; see [lines.NewLiterals] for
// one that begins with a line break. The type has
// no name of its own, so that rows can be written without the names of fields.
type Row = struct {
	Literals []string
	// Observe makes the event; ok is false when the line only looks like the message.
	Observe func(r *event.Record) (e event.Event, ok bool)
}

// Table is everything one component is known to say.
type Table struct {
	Component string // empty for what any known component may print
	Rows      []Row
	// Relays are other components that repeat such messages as errors of their own calls; the empty
	// one stands for every program that is no daemon of the node, as those in containers.
	Relays []string
	// Unnamed is the component of a line that does not say who wrote it; empty when such a line
	// counts for nothing.
	Unnamed string
	Told    bool // what people write of it counts, too: also a heading of their prose
}

// Says makes the same event of every line that holds all of the parts.
func Says(kind event.Kind, text string, parts ...string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		for _, part := range parts {
			if !strings.Contains(r.Raw, part) {
				return event.Event{}, false
			}
		}
		return event.New(kind, text), true
	}
}

// FactFrom makes a fact of a line; none where value finds nothing in it.
func FactFrom(name string, value func(*event.Record) string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) { return facts.New(name, value(r)) }
}

// Complete fills in what every event of a line has in common.
func Complete(e *event.Event, r *event.Record, component string) {
	if e.Component == "" {
		e.Component = component
	}
	if e.Start.IsZero() {
		e.Start = r.Time
	}
	if e.Level == event.NoLevel {
		e.Level = r.Level
	}
	if e.IDs.PID == 0 {
		e.IDs.PID = r.PID
	}
	if e.Source == "" {
		e.Source = event.LogOf(e.Component)
	}
	if r.Repeats > 0 {
		e.AddFields(event.FieldRepeats.Int(r.Repeats))
	}
	e.Evidence = append(e.Evidence, r.Quotes()...)
}
