package messages

import (
	"cmp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// Lines makes events of the log lines that rules ask for by their text. Its
// zero value asks for none.
type Lines struct {
	watches []event.LineWatch
	any     *lines.Literals // of all watches
}

// NewLines prepares what rules ask for.
func NewLines(watches []event.LineWatch) *Lines {
	l := &Lines{watches: watches}
	if len(watches) > 0 {
		l.any = lines.NewLiterals(l.Literals())
	}
	return l
}

// Literals are the strings of which one stands in every line asked for.
func (l *Lines) Literals() []string {
	var all []string
	for _, w := range l.watches {
		all = append(all, w.Literal)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// EventOf returns the event of a line, or false when nobody asks for it.
// Component is who writes the line's file; empty when that is not known.
func (l *Lines) EventOf(r *event.Record, component string) (event.Event, bool) {
	if l.any == nil || !l.any.Match([]byte(r.Raw)) {
		return event.Event{}, false
	}
	asked := false
	for _, w := range l.watches {
		if !strings.Contains(r.Raw, w.Literal) {
			continue
		}
		switch w.Component {
		case "", component:
			asked = true
		case r.Unit: // a rule may call a program by its syslog identifier, whatever plegdiag calls it
			asked, component = true, r.Unit
		}
	}
	if !asked {
		return event.Event{}, false
	}
	return newAskedLine(r, cmp.Or(component, r.Unit, unnamedWriter)), true
}

// NewLogLine is the event of any line of a log: what its writer said, and nothing made of it. One
// of nobody known is of the component "other".
func NewLogLine(r *event.Record) event.Event {
	e := event.Event{
		Kind: event.KindLogLine, Component: cmp.Or(daemon.Component(r.Unit, r.Pos.File), r.Unit, unnamedWriter),
		Text: spellOut(r),
	}
	e.IDs.Container = scan.FindID(r.Raw)
	if r.Unit != "" {
		e.Fields = []event.Field{event.FieldUnit.Text(r.Unit)}
	}
	table.Complete(&e, r, e.Component)
	return e
}

// newAskedLine is the event of a line that a rule asks for.
func newAskedLine(r *event.Record, component string) event.Event {
	e := event.Event{Kind: event.KindLogLine, Component: component, Text: r.Message()}
	e.IDs.Container = scan.FindID(r.Raw)
	e.IDs.Pod = r.Value("pod")
	e.Fields = []event.Field{event.FieldText.Text(r.Message())}
	if r.Unit != "" {
		e.AddFields(event.FieldUnit.Text(r.Unit))
	}
	e.AddText(event.FieldError, table.ErrorOf(r))
	for _, f := range r.Fields[:min(len(r.Fields), maxLineFields)] {
		key := event.Key(f.Key)
		has := func(other event.Field) bool { return other.Key == key }
		if !event.IsReserved(key) && !slices.ContainsFunc(e.Fields, has) {
			e.AddFields(key.Text(f.Value))
		}
	}
	table.Complete(&e, r, component)
	return e
}

// unnamedWriter is the component of a line that neither names its writer nor stands in a file of a
// known one.
const unnamedWriter = "other"

// maxLineFields bounds the fields that are taken over from one line.
const maxLineFields = 32
