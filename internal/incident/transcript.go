package incident

import (
	"context"
	"errors"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/states"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// readTranscript reads a file section by section, each as what it is.
func (r *reader) readTranscript(ctx context.Context, f bundle.File, in parse.Opened, slot *file) {
	name := slot.account.Format
	var counts states.Counts
	var missing []states.Missing
	all := parse.NewSections(lines.Input{Path: slot.account.Path, R: in.R})
	for s := all.Next(); s != nil && ctx.Err() == nil; s = all.Next() {
		if s.Quote.Pos.Line > 0 {
			slot.account.Lines++
			slot.account.Used++
		}
		slot.makeRare().section = s
		r.readSection(ctx, f, s, slot)
		slot.rare.section = nil
		if e, ok := hungCommand(s); ok {
			slot.addEvents([]event.Event{e})
			slot.sourceNamed(e.Source)
		}
		if s.Missing > 0 {
			missing = append(missing, states.Missing{PID: s.Missing, Quote: s.Missed})
		}
		counts.Add(parse.WithoutWrapper(s.Command), s.Number, s.Limit, s.Quote, s.Counted)
	}
	for _, e := range append(counts.Events(), states.LostExits(slot.readRare().tasks, missing)...) {
		slot.addEvents([]event.Event{e})
		slot.sourceNamed(e.Source)
	}
	slot.account.Format = name
	slot.account.Component = slot.mainComponent()
	if err := all.Err(); err != nil {
		slot.addError(err)
	}
}

// slowAnswer is how long a command takes whose daemon does not answer as it should. Clients of a
// busy one wait for seconds.
const slowAnswer = time.Minute

// hungCommand is the event of a command that was given up, or that took very long.
func hungCommand(s *parse.Section) (event.Event, bool) {
	quotes := []event.Quote{s.Quote}
	switch {
	case s.Took >= slowAnswer:
		quotes = append(quotes, s.Timed)
	case s.Filled > 0 || s.Broken.Pos.Line == 0:
		return event.Event{}, false
	default:
		quotes = append(quotes, s.Broken)
	}
	return states.HungCommand(parse.WithoutWrapper(s.Command), s.Took, quotes...)
}

// readSection reads a section of the slot's file. What holds sections again is read as text: it
// has been taken apart once.
func (r *reader) readSection(ctx context.Context, f bundle.File, s *parse.Section, slot *file) {
	path := s.As
	if path == "" {
		path = f.Path
	}
	opened, err := parse.Open(s.R, path)
	if errors.Is(err, parse.ErrEmpty) {
		return
	}
	if err != nil {
		return // it comes again at the end of the file
	}
	if _, again := opened.Reader.(parse.Transcript); again {
		opened.Format = parse.TextFormat()
	}
	slot.watching().noteFormat(opened.Name)
	r.readFormat(ctx, f, opened, slot)
}
