package incident

import (
	"context"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/observe/states"
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
	if taken := snapshot.Taken(); taken.All.Known || len(taken.Files) > 0 || taken.Face.Known {
		f.makeRare().taken = &taken
	}
	if f.rare != nil && f.rare.section != nil {
		f.rare.tasks = append(f.rare.tasks, snapshot.Tasks(f.rare.section.Command)...)
	}
	f.addStats(stats)
	f.account.Component = f.mainComponent()
}
