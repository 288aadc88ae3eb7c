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
	answered    bool // the runtime took a call soon afterwards
}

// soonAnswered is how soon the runtime must be seen to take a call again: most of those that it
// answers are in no log.
const soonAnswered = 5 * time.Minute

// aloneFor is how long nothing else may be refused, and no daemon may end, before and after calls
// that only a restart explains: a runtime that ends again and again is trouble.
const aloneFor = 30 * time.Minute

// markShortRefusals marks calls that found nobody for some seconds, once, where the runtime answers
// soon afterwards and no line says that a daemon has ended or is started again by systemd. They met
// a restart of which only what the kubelet says is there, as in a log that somebody has searched
// for errors. The events are in the order of time.
func markShortRefusals(events []*event.Event) {
	runs, ends, oneHost := listRefusals(events)
	for i, run := range runs {
		alone := (i == 0 || run.first.Sub(runs[i-1].last) > aloneFor) && (i+1 == len(runs) || runs[i+1].first.Sub(run.last) > aloneFor)
		if !oneHost || !alone || !run.answered || run.last.Sub(run.first) > longestShort {
			continue
		}
		ended := slices.ContainsFunc(ends, func(at time.Time) bool {
			return at.After(run.first.Add(-aloneFor)) && at.Before(run.last.Add(aloneFor))
		})
		if !ended {
			run.mark()
		}
	}
}

// listRefusals lists the refusals of all runtimes, and when a daemon ended by itself. oneHost says
// that all lines are of one node, as far as they name it.
func listRefusals(events []*event.Event) (runs []*refusals, ends []time.Time, oneHost bool) {
	host := ""
	oneHost = true
	for _, e := range events {
		if !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		if e.Host != "" && host != "" && e.Host != host {
			oneHost = false
		}
		if e.Host != "" {
			host = e.Host
		}
		at, last := e.Start.T, len(runs)-1
		switch {
		case slices.Contains(endsByItself, e.Kind):
			ends = append(ends, at)
		case e.FieldText(event.FieldGone) != "" || e.FieldText(event.FieldCut) == "true":
			if last < 0 || at.Sub(runs[last].last) > longestShort {
				runs = append(runs, &refusals{first: at})
				last++
			}
			runs[last].calls, runs[last].last, runs[last].answered = append(runs[last].calls, e), e.Last().T, false
		case last >= 0 && servesCalls(e) && at.After(runs[last].last) && at.Sub(runs[last].last) <= soonAnswered:
			runs[last].answered = true
		}
	}
	return runs, ends, oneHost
}

// endsByItself are the kinds of events with which a daemon ends that nobody has told to.
var endsByItself = []event.Kind{
	event.KindCrash, event.KindUnitExit, event.KindUnitRestart, event.KindOOMKill, event.KindUnitStartFailed, event.KindUnitGivenUp,
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
