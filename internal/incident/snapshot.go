package incident

import (
	"cmp"
	"context"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/observe/states"
	"github.com/plegdiag/plegdiag/internal/observe/tasks"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// readSnapshot reads a file that shows a state at one moment. It may hold lines of a log, too.
func (f *file) readSnapshot(ctx context.Context, read parse.Data, opened parse.Opened, asked *messages.Lines) {
	var stats lines.Stats
	var events []event.Event
	snapshot := states.NewSnapshot(opened.Name, f.readRare().dated)
	log, maker := logReader{file: f}, f.newMaker(asked)
	for datum, err := range read(f.input(opened.R, states.WantedDatum, &stats)) {
		if err != nil {
			if f.addError(err) {
				break
			}
			continue
		}
		f.account.Used += datum.Lines
		f.watching().noteDatum(datum.Pos, datum.Lines, datum.Path)
		if rec := datum.Log; rec != nil {
			nameRelayedUnit(rec)
			source := log.addToSource(rec)
			if f.watching() != nil {
				f.watching().noteRecord(*rec, strings.TrimSuffix(source.Name, ".log"))
			}
			log.addLoss(rec)
			maker.makeEvents(&line{*rec, source})
			continue
		}
		if f.place.Foreign {
			continue // of something else, or not in force
		}
		events = snapshot.Datum(events[:0], &datum)
		f.addEvents(events)
		if ctx.Err() != nil {
			break
		}
	}
	f.addEvents(snapshot.Finish(nil))
	f.addEvents(log.losses)
	for name := range snapshot.Sources() {
		f.sourceNamed(name)
	}
	f.takeMade(maker)
	if node := snapshot.Node(); node != "" {
		f.makeRare().object = node
	}
	f.keepTaken(snapshot.Taken())
	of := cmp.Or(f.readRare().section, &parse.Section{})
	f.keepSeen(tasks.Seen{Tasks: snapshot.Tasks(of.Command)})
	f.addStats(stats)
	f.account.Component = f.mainComponent()
}

// keepTaken keeps what the file shows of when it was made, and of its zone.
func (f *file) keepTaken(t states.Taken) {
	switch known := f.readRare().taken; {
	case t.All.Known || len(t.Files) > 0 || t.Face.Known:
		f.makeRare().taken = &t
	case !t.Zoned.Known:
	case known == nil:
		f.makeRare().taken = &t
	case !known.Zoned.Known:
		known.Zoned = t.Zoned
	}
}

// keepSeen keeps what the file shows of containers, for joinSeen.
func (f *file) keepSeen(s tasks.Seen) {
	if len(s.Tasks)+len(s.Missing) > 0 {
		f.makeRare().seen.Add(s)
		f.sourceNamed(facts.Node)
	}
}

// joinSeen adds what the listings of containers show together: each program that lists them is
// asked in a file of its own, or in a session.
func joinSeen(files []*file) {
	var seen tasks.Seen
	byPath := map[string]*file{}
	for _, f := range files {
		if r := f.rare; r != nil && len(r.seen.Tasks) > 0 {
			seen.Add(r.seen)
			byPath[f.account.Path], r.seen = f, tasks.Seen{}
		}
	}
	for _, e := range seen.LostExits() {
		byPath[e.Pos().File].addEvents([]event.Event{e})
	}
}
