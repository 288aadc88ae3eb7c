package restarts

import (
	"slices"
	"sort"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// longestShort is how long a runtime takes at most to end, and then to begin to work, in a restart
// that explains the calls that met it. What lasts longer is an outage, whoever asked for it.
const longestShort = 20 * time.Second

// MarkRestarting marks the calls that broke, or found nobody, while a runtime was restarted:
// somebody had asked for that, and it served again within seconds. So they look on every node. A
// call that is told of for longer stays as it is. A runtime that answers that it is not ready yet
// needs nobody who asked: so each start looks. So does the beginning of a node. The events are in
// the order of time.
func MarkRestarting(events, restarted []*event.Event, endOfLog func(file string) time.Time) {
	markEtcdBegins(events)
	markNodeBegins(events)
	markNetworkBegins(events, endOfLog)
	markShortRefusals(events)
	markReboots(events)
	all := findShortRestarts(events, restarted)
	starts := findShortStarts(events)
	if len(all) == 0 && len(starts) == 0 {
		return
	}
	for _, e := range events {
		if e.FieldText(event.FieldUnready) == "true" && e.Start.Known && starts.cover(e.Start.T, e.Last().T) {
			e.AddFields(event.FieldRestarting.Bool(true))
			continue
		}
		runtime := e.FieldText(event.FieldGone)
		if runtime == "" && e.FieldText(event.FieldCut) != "true" || !e.Start.Known {
			continue
		}
		if all[runtime].cover(e.Start.T, e.Last().T) {
			e.AddFields(event.FieldRestarting.Bool(true))
		}
	}
}

// shortRestarts are the times in which calls meet short restarts, in the order of their beginnings.
// Each ends with the latest end of it and those before it.
type shortRestarts []timespan

// timespan is what lies between two moments.
type timespan struct{ from, until time.Time }

// sort puts the times in the order of their beginnings, and lets each end with the latest end.
func (s shortRestarts) sort() {
	slices.SortFunc(s, func(a, b timespan) int { return a.from.Compare(b.from) })
	for i := range s[min(1, len(s)):] {
		if s[i].until.After(s[i+1].until) {
			s[i+1].until = s[i].until
		}
	}
}

// cover says that one of the times holds all from a moment until another.
func (s shortRestarts) cover(from, until time.Time) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].from.After(from) })
	return i > 0 && !until.After(s[i-1].until)
}

// findShortRestarts finds the times of short restarts, by runtime. Under the empty name are those
// of all: a call that breaks does not tell of which runtime it was.
func findShortRestarts(events, restarted []*event.Event) map[string]shortRestarts {
	all := map[string]shortRestarts{}
	ready := readyAgain(events, restarted)
	for _, r := range restarted {
		if r.FieldText(event.FieldHow) != "asked" || r.Duration() > longestShort {
			continue
		}
		served, ok := findServedAgain(ready[r.Component], r)
		if !ok {
			continue
		}
		for _, name := range [...]string{r.Component, ""} {
			all[name] = append(all[name], timespan{r.Start.T, served.Add(staleError)})
		}
	}
	for _, s := range all {
		s.sort()
	}
	return all
}

// findShortStarts finds the times in which containerd begins to serve: from its first line until
// its clients no longer say what they met before it was ready.
func findShortStarts(events []*event.Event) (all shortRestarts) {
	for _, e := range events {
		isStart := e.Kind == event.KindDaemonBoot && !e.Open && e.FieldText(event.FieldDaemon) == "containerd"
		if isStart && e.Start.Known && e.Duration() <= longestShort {
			all = append(all, timespan{e.Start.T, e.Last().T.Add(staleError)})
		}
	}
	all.sort()
	return all
}

// readyAgain are the events that show that a daemon serves, by daemon and in the order of time: its
// own line that it is ready, and systemd's about a unit that tells it. Only of daemons that were
// restarted.
func readyAgain(events, restarted []*event.Event) map[string][]*event.Event {
	ready := map[string][]*event.Event{}
	for _, r := range restarted {
		ready[r.Component] = nil
	}
	for _, e := range events {
		if e.Kind != event.KindUnitStart && (e.Kind != event.KindDaemonBoot || e.Open) {
			continue
		}
		if daemon := e.FieldText(event.FieldDaemon); e.Start.Known {
			if _, asked := ready[daemon]; asked {
				ready[daemon] = append(ready[daemon], e)
			}
		}
	}
	return ready
}

// findServedAgain finds when a runtime that was restarted served again, by what shows that it
// serves. Where nothing does, it is not known.
func findServedAgain(ready []*event.Event, restarted *event.Event) (at time.Time, ok bool) {
	latest := restarted.End.T.Add(longestShort)
	from := sort.Search(len(ready), func(i int) bool { return !ready[i].Start.T.Before(restarted.Start.T) })
	for _, e := range ready[from:] {
		if e.Start.T.After(latest) {
			break
		}
		if !e.Last().T.After(latest) {
			return e.Last().T, true
		}
	}
	return time.Time{}, false
}
