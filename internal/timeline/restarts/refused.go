package restarts

import (
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// refusals are calls that found nobody at a runtime's socket, or broke, one soon after the other.
type refusals struct {
	calls       []*event.Event
	first, last time.Time
}

// markShortRefusals marks calls that found nobody for some seconds, where the runtime answers
// afterwards and no line says that its process has ended by itself: a restart of which only what
// the kubelet met is there, as in a log that somebody has searched for errors. The events are in
// the order of time.
func markShortRefusals(events []*event.Event) {
	var run refusals
	var ended time.Time // the last end of a runtime that nobody asked for
	for _, e := range events {
		if !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		switch at := e.Start.T; {
		case e.Kind == event.KindCrash, e.Kind == event.KindUnitExit, e.Kind == event.KindOOMKill, e.Kind == event.KindUnitStartFailed, e.Kind == event.KindUnitGivenUp:
			ended = at
		case e.FieldText(event.FieldGone) != "" || e.FieldText(event.FieldCut) == "true":
			if at.Sub(run.last) > longestShort {
				run = refusals{first: at}
			}
			run.calls, run.last = append(run.calls, e), e.Last().T
		case len(run.calls) > 0 && servesCalls(e) && at.After(run.last):
			if run.last.Sub(run.first) <= longestShort && run.first.Sub(ended) > endBefore {
				run.mark()
			}
			run = refusals{}
		}
	}
}

// servesCalls says that an event shows a runtime that takes calls: it ran late in one, or answered
// it with an error of its own.
func servesCalls(e *event.Event) bool {
	return e.Kind == event.KindCRIError && e.FieldText(event.FieldUnready) != "true" ||
		e.Kind == event.KindCRICall && slices.Contains(runtimes, e.Component)
}

var runtimes = []string{"containerd", "dockerd", "crio"}

func (r *refusals) mark() {
	for _, e := range r.calls {
		if e.FieldText(event.FieldRestarting) == "" {
			e.AddFields(event.FieldRestarting.Bool(true))
		}
	}
}
