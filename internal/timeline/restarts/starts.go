package restarts

import (
	"cmp"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// endsOf are the kinds of events with which a start ends, well or not: that of a unit, and that of
// a daemon by its own log. A line that the daemon is ready has ended the latter already.
var endsOf = map[event.Kind][]event.Kind{
	event.KindUnitStarting: {
		event.KindUnitStart, event.KindUnitStartFailed, event.KindUnitTimeout, event.KindUnitExit, event.KindUnitStop,
		event.KindUnitStarting, event.KindUnitGivenUp, event.KindUnitRestart,
	},
	event.KindDaemonBoot: {
		event.KindUnitTimeout, event.KindUnitExit, event.KindUnitStop, event.KindUnitStarting, event.KindUnitGivenUp,
		event.KindUnitRestart, event.KindCrash, event.KindDaemonBoot,
	},
}

// EndStarts gives each start of a unit its end: where systemd says that it has started it, has
// given up, or is told otherwise, or where the daemon itself says that it is ready. A start of
// which nothing tells stays open up to the end of its log. The start of a daemon that never said
// that it is ready lasts no longer than its process. The events are in the order of time.
func EndStarts(events []*event.Event, endOfLog func(file string) time.Time) {
	for i, e := range events {
		unit := e.Kind == event.KindUnitStarting
		if !unit && (e.Kind != event.KindDaemonBoot || !e.Open) || !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		end, found := findStartEnd(e, events[i+1:])
		switch {
		case !unit && (!found || !end.T.Before(e.Last().T)):
			continue
		case !found:
			end = event.At(endOfLog(e.Pos().File))
		}
		e.Open = !unit || !found
		if !end.T.Before(e.Start.T) {
			e.End = end
		}
	}
}

// findStartEnd finds the end of a start among what comes later.
func findStartEnd(start *event.Event, later []*event.Event) (end event.Time, found bool) {
	for _, e := range later {
		name := cmp.Or(e.FieldText(event.FieldDaemon), e.Component)
		if !e.Start.Known || e.Start.Lacks != 0 || name != start.FieldText(event.FieldDaemon) {
			continue
		}
		at := e.Start
		switch {
		case start.Kind == event.KindUnitStarting && e.Kind == event.KindDaemonBoot && !e.Open:
			at = e.Last()
		case !slices.Contains(endsOf[start.Kind], e.Kind):
			continue
		}
		if !found || at.T.Before(end.T) {
			end, found = at, true
		}
	}
	return end, found
}
