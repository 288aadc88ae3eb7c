package incident

import (
	"cmp"
	"context"
	"errors"
	"path"
	"strings"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/session"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// readTranscript reads a file section by section, each as what it is.
func (r *reader) readTranscript(ctx context.Context, f bundle.File, in parse.Opened, slot *file) {
	name := slot.account.Format
	var commands session.Commands
	var date session.Date
	all := parse.NewSections(lines.Input{Path: slot.account.Path, R: in.R})
	for s := all.Next(); s != nil && ctx.Err() == nil; s = all.Next() {
		if s.Quote.Pos.Line > 0 {
			slot.account.Lines++
			slot.account.Used++
		}
		slot.makeRare().section, slot.rare.dated = s, date.Before(s)
		r.readSection(ctx, f, s, slot)
		slot.rare.section, slot.rare.dated = nil, event.Time{}
		date.Take(s)
		slot.addAnswers(commands.Take(s))
	}
	slot.addAnswers(commands.Finish())
	slot.keepSeen(commands.Seen())
	slot.account.Format = name
	slot.account.Component = slot.mainComponent()
	if err := all.Err(); err != nil {
		slot.addError(err)
	}
}

// addAnswers adds events that a session shows by its commands.
func (f *file) addAnswers(events []event.Event) {
	for _, e := range events {
		f.addEvents([]event.Event{e})
		f.sourceNamed(e.Source)
	}
}

// readSection reads a section of the slot's file. What holds sections again is read as text: it
// has been taken apart once.
func (r *reader) readSection(ctx context.Context, f bundle.File, s *parse.Section, slot *file) {
	notes := strings.TrimSuffix(f.Path, path.Ext(f.Path)) // what the ending tells holds for the whole file
	opened, err := parse.Open(s.R, cmp.Or(s.As, notes))
	if errors.Is(err, parse.ErrEmpty) {
		return
	}
	if err != nil {
		return // it comes again at the end of the file
	}
	if _, again := opened.Reader.(parse.Transcript); again {
		opened.Format = parse.TextFormat()
	}
	opened.ReadAsRows(s.Header)
	slot.watching().noteFormat(opened.Name)
	r.readFormat(ctx, f, opened, slot)
}
