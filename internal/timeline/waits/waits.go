// Package waits tells when goroutines began to wait, as nearly as several dumps and the logs show
// it.
package waits

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// ByOnlyCall says how a goroutine got its container; the start of that call is then known, too.
const ByOnlyCall = "the only call of its kind open at the dump"

// NarrowStart narrows the start of a wait by an earlier sight of it: it began when both dumps say
// that it can have begun, and before the earlier one.
func NarrowStart(to, earlier *event.Event) {
	if earlier.Begun && to.Begun {
		to.Start = earlier.Start
		return
	}
	from, until := to.Start.T, earlier.End.T
	if to.Begun {
		from = earlier.Start.T
	} else if latest := to.Start.T.Add(to.Start.Prec); latest.Before(until) {
		until = latest
	}
	if !earlier.Begun {
		if earlier.Start.T.After(from) {
			from = earlier.Start.T
		}
		if latest := earlier.Start.T.Add(earlier.Start.Prec); latest.Before(until) {
			until = latest
		}
	}
	if until.Before(from) { // they contradict each other: a mark phase was longer than any
		from, until = until, from
	}
	to.Start.T, to.Start.Prec, to.Begun = from, until.Sub(from), false
}

// BoundByLog raises the starts of goroutines' waits by what the logs show: none began before its
// process, or, where a shim is asked about a container that exits and the call is not known, before
// that exit. Restarted are the restarts of daemons, in the order of daemons and time.
func BoundByLog(events, restarted []*event.Event) {
	isVague := func(e *event.Event) bool { return e.IDs.Goroutine != 0 && e.HasVagueStart() }
	if !slices.ContainsFunc(events, isVague) {
		return
	}
	exits := map[string]*event.Event{} // the last of each container
	for _, e := range events {
		if e.Kind == event.KindTaskExit && e.IDs.Container != "" && e.Start.Known && e.Start.Lacks == 0 {
			exits[e.IDs.Container] = e
		}
	}
	births := birthsOfDaemons(events)
	for _, e := range events {
		if !isVague(e) {
			continue
		}
		raiseToRestart(e, restarted)
		if begun := births[e.Component]; begun.Before(e.End.T) {
			e.RaiseStart(begun)
		}
		if exit := exits[e.IDs.Container]; exit != nil && e.FieldText(event.FieldDoing) == "shim" &&
			e.FieldText(event.FieldContainerFrom) != ByOnlyCall {
			e.RaiseStart(exit.Start.T)
		}
	}
}

// raiseToRestart raises the vague start of a wait to the last restart before its end that can raise
// it: what is known to less than a minute is raised no more. The restarts are in the order of
// daemons and time.
func raiseToRestart(e *event.Event, restarted []*event.Event) {
	vague := e.Start.T.Add(e.Start.Prec - time.Minute)
	if e.End.T.Before(vague) {
		vague = e.End.T
	}
	i := sort.Search(len(restarted), func(i int) bool {
		r := restarted[i]
		return r.Component > e.Component || r.Component == e.Component && r.Last().T.After(vague)
	})
	for _, r := range restarted[max(0, i-1):min(i+1, len(restarted))] {
		if r.Component == e.Component && !r.Last().T.After(e.End.T) {
			e.RaiseStart(r.Last().T)
		}
	}
}

// birthsOfDaemons are when the processes of daemons began, by /proc or their own logs: of each
// daemon the last start. Where two processes of one daemon run at a time, the goroutines may be of
// either, and no start counts.
func birthsOfDaemons(events []*event.Event) map[string]time.Time {
	births, pids := map[string]time.Time{}, map[string]int{}
	for _, e := range events {
		if e.Kind != event.KindDaemonStart && e.Kind != event.KindDaemonBoot || !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		name, begun := e.FieldText(event.FieldDaemon), e.Start.T
		switch {
		case e.Kind == event.KindDaemonBoot:
			begun = begun.Add(-beforeLog)
		case pids[name] == 0:
			pids[name] = e.IDs.PID
		case pids[name] != e.IDs.PID:
			pids[name] = twoProcesses
		}
		if begun.After(births[name]) {
			births[name] = begun
		}
	}
	maps.DeleteFunc(births, func(name string, _ time.Time) bool { return pids[name] == twoProcesses })
	return births
}

const (
	// beforeLog is how long a daemon may have run before the first line of its log.
	beforeLog = time.Second
	// twoProcesses stands for the process id of more than one.
	twoProcesses = -1
)
