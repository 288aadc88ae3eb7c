// Package restarts tells which daemons were replaced by a new process within the evidence, and who
// asked for it.
package restarts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

const (
	// oneStart is how long after its process began a daemon, or systemd, can log that it has
	// started.
	oneStart = 90 * time.Second
	// endBefore is how long before a start the process before can have ended: systemd waits up to
	// 90 s for a unit to stop, and can wait before it starts it.
	endBefore = 5 * time.Minute
	// stampSlack is how far the start of a process, which /proc counts from the boot, may lie from
	// the line of the log about the end before it.
	stampSlack = 500 * time.Millisecond
	// ordered is how long before the stop of a unit the command for it can have been given.
	ordered = 10 * time.Second
)

// sign is an event that shows the start or the end of a daemon, or the command for it.
type sign struct {
	*event.Event
	at time.Time
}

// daemonHistory is what is known about one daemon's processes.
type daemonHistory struct {
	starts, ends, orders []sign
	first                time.Time // of its own log lines
}

// Find makes an event of every daemon that was replaced by a new process within the evidence: a
// start after an end, or after lines of an earlier process. It says who asked for it, where that is
// known. The stop or the end of a unit gets the time until its daemon was started again. The events
// that it is given are in the order of time.
func Find(events []*event.Event) (all []*event.Event) {
	giveAwayCrashes(events)
	lives := historiesOfDaemons(events)
	defer noteWritesAgain(events)
	for _, name := range slices.Sorted(maps.Keys(lives)) {
		l := lives[name]
		last := time.Time{}
		for _, group := range l.groupStarts() {
			if e, ok := l.restartEvent(name, group, last); ok {
				all = append(all, e)
			}
			last = group[len(group)-1].at
		}
	}
	return all
}

// writesAgain is how long after the end of its process a line of a daemon is one of the next: what
// the process wrote last can come to the journal after systemd's line.
const writesAgain = 5 * time.Second

// noteWritesAgain gives the end of a unit, of which no start is seen, the time until its daemon
// writes again, and a start that failed the time until one that did not.
func noteWritesAgain(events []*event.Event) {
	next := map[string]time.Time{} // the first line of each daemon behind those that were looked at
	begun := map[string]time.Time{}
	for _, e := range slices.Backward(events) {
		if !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		daemon := cmp.Or(e.FieldText(event.FieldDaemon), e.FieldText(event.FieldRuntime))
		switch e.Kind {
		case event.KindUnitStart, event.KindKubeletStart, event.KindDaemonBoot:
			begun[cmp.Or(daemon, e.Component)] = e.Start.T
		case event.KindUnitStartFailed:
			if at, ok := begun[daemon]; ok && daemon != "" {
				e.AddFields(event.FieldBackAfter.Duration(at.Sub(e.Start.T)))
			}
			continue
		}
		if e.Kind != event.KindUnitExit {
			if writer, ok := strings.CutSuffix(e.Source, ".log"); ok && writer == e.Component {
				next[e.Component] = e.Start.T
			}
			continue
		}
		_, known := e.Get(event.FieldBackAfter)
		at, ok := next[daemon]
		if back := at.Sub(e.Start.T); ok && !known && back >= writesAgain {
			e.AddFields(event.FieldBackAfter.Duration(back))
			e.Text += ", and writes again after " + event.DurationText(back)
		}
	}
}

// historiesOfDaemons collects the signs of each daemon, each kind in the order of time.
func historiesOfDaemons(events []*event.Event) map[string]*daemonHistory {
	lives := map[string]*daemonHistory{}
	of := func(name string) *daemonHistory {
		l := lives[name]
		if l == nil {
			l = &daemonHistory{}
			lives[name] = l
		}
		return l
	}
	for _, e := range events {
		if !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		s := sign{e, e.Start.T}
		name := func() string { return cmp.Or(e.FieldText(event.FieldDaemon), e.FieldText(event.FieldRuntime)) }
		switch e.Kind {
		case event.KindDaemonStart, event.KindDaemonBoot, event.KindUnitStart:
			l := of(name())
			l.starts = append(l.starts, s)
		case event.KindKubeletStart:
			of("kubelet").starts = append(of("kubelet").starts, s)
		case event.KindUnitStop, event.KindUnitExit, event.KindOOMKill, event.KindDaemonStop:
			if name := name(); name != "" {
				of(name).ends = append(of(name).ends, s)
			}
		case event.KindUnitTimeout: // systemd kills what does not stop in time
			if name := name(); name != "" && e.FieldText(event.FieldWhat) == "stop" {
				of(name).ends = append(of(name).ends, s)
			}
		case event.KindCrash:
			of(e.Component).ends = append(of(e.Component).ends, s)
		case event.KindOperator:
			l := of(name())
			l.orders = append(l.orders, s)
		default:
			if writer, ok := strings.CutSuffix(e.Source, ".log"); !ok || writer != e.Component {
				continue
			}
			if l := of(e.Component); l.first.IsZero() || s.at.Before(l.first) {
				l.first = s.at
			}
		}
	}
	for _, l := range lives {
		sortSigns(l.starts)
		l.putEndsAfterTheirStarts()
		sortSigns(l.ends)
		sortSigns(l.orders)
	}
	return lives
}

func sortSigns(signs []sign) {
	slices.SortStableFunc(signs, func(a, b sign) int { return a.at.Compare(b.at) })
}

// putEndsAfterTheirStarts moves each end that stands below a start in the same file to after it, as
// far as its stamp allows: one in whole seconds seems to be before what was written in that second.
func (l *daemonHistory) putEndsAfterTheirStarts() {
	for i := range l.ends {
		end := &l.ends[i]
		limit, pos := end.at.Add(end.Start.Prec), end.Pos()
		first, _ := slices.BinarySearchFunc(l.starts, end.at, func(s sign, at time.Time) int { return s.at.Compare(at) })
		for _, s := range l.starts[first:] {
			if !s.at.Before(limit) {
				break
			}
			if p := s.Pos(); p.File == pos.File && p.Line < pos.Line {
				end.at = s.at.Add(1)
			}
		}
	}
}

// groupStarts groups the signs of one start: the daemon's own, and systemd's. An end between two of
// them parts two starts.
func (l *daemonHistory) groupStarts() (groups [][]sign) {
	for _, s := range l.starts {
		if n := len(groups); n > 0 && s.at.Sub(groups[n-1][0].at) <= oneStart && !l.endsBetween(groups[n-1][0].at, s.at) {
			groups[n-1] = append(groups[n-1], s)
			continue
		}
		groups = append(groups, []sign{s})
	}
	return groups
}

// endsBetween says that the daemon ended between two of its starts.
func (l *daemonHistory) endsBetween(first, next time.Time) bool {
	after := signsFrom(l.ends, first.Add(stampSlack+1))
	return len(after) > 0 && after[0].at.Sub(next) <= stampSlack
}

// signsFrom are the signs from a time on, of signs in the order of time.
func signsFrom(signs []sign, t time.Time) []sign {
	i, _ := slices.BinarySearchFunc(signs, t, func(s sign, t time.Time) int { return s.at.Compare(t) })
	return signs[i:]
}

// restartEvent makes the event of a start that is not the first. last is the start before; zero
// when there was none.
func (l *daemonHistory) restartEvent(name string, group []sign, last time.Time) (*event.Event, bool) {
	at := group[0].at
	var ends []sign
	for _, s := range signsFrom(l.ends, at.Add(-endBefore)) {
		if s.at.After(group[len(group)-1].at) {
			break
		}
		if s.at.After(last) {
			ends = append(ends, s)
			if s.Kind == event.KindUnitStop || s.Kind == event.KindUnitExit || s.Kind == event.KindUnitTimeout {
				back := max(0, at.Sub(s.at))
				s.Event.AddFields(event.FieldBackAfter.Duration(back))
				if s.Kind == event.KindUnitExit {
					s.Event.Text += ", and was started again after " + event.DurationText(back)
				}
			}
		}
	}
	if len(ends) == 0 && last.IsZero() && (l.first.IsZero() || !l.first.Before(at.Add(-oneStart))) {
		return nil, false
	}
	e := &event.Event{
		Kind: event.KindDaemonRestart, Component: name, Source: "node", Start: group[0].Start,
		End: group[0].Start,
	}
	for _, s := range group {
		e.IDs.PID = cmp.Or(e.IDs.PID, daemonPID(s))
	}
	if len(ends) > 0 && ends[0].at.Before(at) {
		e.Start = ends[0].Start
	}
	how, why := explainEnd(ends)
	e.Fields = []event.Field{
		{Key: event.FieldDaemon, Value: event.String(name)},
		{Key: event.FieldHow, Value: event.String(how)},
	}
	e.Text = name + " is restarted: " + why
	if how == "asked" {
		l.addOrders(e, ends[0].at)
	}
	for _, s := range slices.Concat(ends, group) {
		if len(e.Evidence) < maxRestartEvidence {
			e.Evidence = append(e.Evidence, s.Evidence...)
		}
	}
	return e, true
}

// addOrders says of a restart who has asked for the stop at a time.
func (l *daemonHistory) addOrders(e *event.Event, stop time.Time) {
	for _, s := range signsFrom(l.orders, stop.Add(-ordered)) {
		if s.at.After(stop.Add(time.Second)) {
			break
		}
		who := s.Event.FieldText(event.FieldUser)
		e.Fields = append(e.Fields, event.FieldBy.Text(who))
		e.Text += fmt.Sprintf(", by %s (%s)", who, s.Event.FieldText(event.FieldCommand))
		e.Evidence = append(e.Evidence, s.Evidence...)
	}
}

// maxRestartEvidence bounds the lines that one restart quotes.
const maxRestartEvidence = 6

// daemonPID is the daemon's PID, where a sign has it. Lines of systemd have systemd's own PID.
func daemonPID(s sign) int {
	if s.Kind == event.KindDaemonStart {
		return s.IDs.PID
	}
	return 0
}

// explainEnd says how the process before ended, and what that means. A stop job explains the exit
// that follows it.
func explainEnd(ends []sign) (how, why string) {
	how, why = "unknown", "how the process before it ended is not shown"
	for _, s := range ends {
		what := s.Event.FieldText(event.FieldHow)
		switch {
		case s.Kind == event.KindUnitTimeout: // a stop may follow a start that took too long
		case s.Kind == event.KindUnitStop:
			return "asked", "systemd was told to stop it"
		case s.Kind == event.KindOOMKill || strings.HasPrefix(what, "oom-kill"):
			return "out-of-memory", "it was killed for memory"
		case s.Kind == event.KindDaemonStop:
			if how == "unknown" {
				how, why = "asked", "it was told to end"
			}
		case s.Kind == event.KindCrash:
			how, why = "ended", "it crashed"
		case strings.HasPrefix(what, "killed"), strings.HasPrefix(what, "signal"):
			how, why = "killed", fmt.Sprintf("it was killed (%s) and systemd had not been told to stop it, "+
				"as by kill, systemctl kill, or a node-problem-detector that repairs", what)
		case how == "unknown" && what == "watchdog":
			how, why = "killed", "systemd's watchdog killed it"
		case how == "unknown":
			how, why = "ended", fmt.Sprintf("it ended by itself (%s)", what)
		}
	}
	return how, why
}

// MakeFacts makes a fact of the last restart of each daemon, out of what Find has found.
func MakeFacts(all []*event.Event) (facts []*event.Event) {
	for _, e := range all {
		why := strings.TrimPrefix(e.Text, e.Component+" is restarted")
		value := e.End.T.UTC().Format("2006-01-02 15:04:05 UTC") + why
		facts = append(facts, &event.Event{
			Kind: event.KindFact, Component: e.Component, Source: e.Source, Start: e.End, End: e.End,
			Evidence: e.Evidence,
			Fields: []event.Field{
				{Key: event.FieldName, Value: event.String(e.Component + ".restart")},
				{Key: event.FieldValue, Value: event.String(value)},
			},
			Text: e.Component + ".restart = " + value,
		})
	}
	return facts
}

// IsBetween says that a daemon was restarted between two moments, by what Find has found. Two
// processes can have goroutines of the same number.
func IsBetween(restarted []*event.Event, component string, from, to time.Time) bool {
	// those of a daemon follow each other, and none begins before the one before it has ended
	i := sort.Search(len(restarted), func(i int) bool {
		r := restarted[i]
		return r.Component > component || r.Component == component && r.End.T.After(from)
	})
	return i < len(restarted) && restarted[i].Component == component && !restarted[i].Start.T.After(to)
}
