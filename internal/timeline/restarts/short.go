package restarts

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// longestShort is how long a runtime takes at most to end, and then to begin to work, in a restart
// that explains the calls that met it. What lasts longer is an outage, whoever asked for it.
const longestShort = 20 * time.Second

// MarkRestarting marks the calls that broke, or found nobody, while a runtime was restarted:
// somebody had asked for that, and it served again within seconds. So they look on every node. A
// call that is told of for longer stays as it is. The events are in the order of time.
func MarkRestarting(events, restarted []*event.Event) {
	for _, r := range restarted {
		if r.FieldText(event.FieldHow) != "asked" || r.Duration() > longestShort {
			continue
		}
		served, ok := findServedAgain(events, r)
		if !ok {
			continue
		}
		for _, e := range events {
			runtime, cut := e.FieldText(event.FieldGone), e.FieldText(event.FieldCut) == "true"
			if (runtime == r.Component || runtime == "" && cut) && e.Start.Known && !e.Start.T.Before(r.Start.T) && !e.Last().T.After(served.Add(staleError)) {
				e.AddFields(event.FieldRestarting.Bool(true))
			}
		}
	}
}

// findServedAgain finds when a runtime that was restarted served again: at its own line that it is
// ready, or at systemd's about a unit that tells it. Without either it is not known.
func findServedAgain(events []*event.Event, restarted *event.Event) (at time.Time, ok bool) {
	for _, e := range events {
		ready := e.Kind == event.KindUnitStart || e.Kind == event.KindDaemonBoot && !e.Open
		if ready && e.FieldText(event.FieldDaemon) == restarted.Component && !e.Start.T.Before(restarted.Start.T) && e.Last().T.Sub(restarted.End.T) <= longestShort {
			return e.Last().T, true
		}
	}
	return time.Time{}, false
}
