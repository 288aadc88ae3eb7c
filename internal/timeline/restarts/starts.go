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
		event.KindUnitRestart, event.KindCrash, event.KindDaemonBoot, event.KindDaemonStop,
	},
}

// begins are the kinds of events that are starts.
var begins = map[event.Kind]bool{event.KindUnitStarting: true, event.KindDaemonBoot: true}

// endsStarts are all kinds that begin or end a start.
var endsStarts = func() map[event.Kind]bool {
	all := map[event.Kind]bool{}
	for start, ends := range endsOf {
		all[start] = true
		for _, kind := range ends {
			all[kind] = true
		}
	}
	return all
}()

// EndStarts gives each start of a unit its end: where systemd says that it has started it, has
// given up, or is told otherwise, or where the daemon itself says that it is ready. A start of
// which nothing tells stays open up to the end of its log. The start of a daemon that never said
// that it is ready lasts no longer than its process, and ends where a runtime logs a call that it
// takes: the line may be lost. The events are in the order of time.
func EndStarts(events []*event.Event, endOfLog func(file string) time.Time) {
	ends, served := startEnds{}, map[string]event.Time{}
	for _, e := range slices.Backward(events) {
		if e.Kind == event.KindCRICall && e.Start.Known && e.Start.Lacks == 0 && slices.Contains(runtimes, e.Component) {
			served[e.Component] = e.Start
		}
		if !endsStarts[e.Kind] || !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		daemon := cmp.Or(e.FieldText(event.FieldDaemon), e.Component)
		end, found := ends[startOf{daemon, e.Kind}]
		ends.addEnd(daemon, e)
		unit := e.Kind == event.KindUnitStarting
		if call, ok := served[daemon]; ok && begins[e.Kind] && (unit || e.Open) && (!found || call.T.Before(end.T)) {
			e.Open, e.End = false, call
			continue
		}
		switch {
		case !unit && (e.Kind != event.KindDaemonBoot || !e.Open || !found || !end.T.Before(e.Last().T)):
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

// startOf says of which daemon and of which kind a start is.
type startOf struct {
	daemon string
	kind   event.Kind
}

// startEnds are the first ends of the starts that come before the events that were looked at.
type startEnds map[startOf]event.Time

// addEnd adds what ends the starts before it.
func (s startEnds) addEnd(daemon string, e *event.Event) {
	for start, ends := range endsOf {
		at := e.Start
		switch {
		case start == event.KindUnitStarting && e.Kind == event.KindDaemonBoot && !e.Open:
			at = e.Last()
		case !slices.Contains(ends, e.Kind):
			continue
		}
		key := startOf{daemon, start}
		if end, found := s[key]; !found || !end.T.Before(at.T) {
			s[key] = at
		}
	}
}

// triedAgain is how long after the end of a unit systemd says that it starts it again: RestartSec=
// is ten seconds for a kubelet.
const triedAgain = time.Minute

// MarkTriedAgain notes of each end of a unit that systemd starts it again by itself: it says so
// then, or has done so shortly before. The events are in the order of time.
func MarkTriedAgain(events []*event.Event) {
	restarts := map[string][]time.Time{}
	for _, e := range events {
		if e.Kind == event.KindUnitRestart && e.Start.Known && e.Start.Lacks == 0 {
			unit := e.FieldText(event.FieldUnit)
			restarts[unit] = append(restarts[unit], e.Start.T)
		}
	}
	for _, e := range events {
		if e.Kind != event.KindUnitExit || !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		of, at := restarts[e.FieldText(event.FieldUnit)], e.Start.T
		i, _ := slices.BinarySearchFunc(of, at.Add(-triedAgain), time.Time.Compare)
		if i < len(of) && of[i].Sub(at) <= triedAgain {
			e.AddFields(event.FieldAgain.Bool(true))
		}
	}
}
