package restarts

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline/reach"
)

const (
	// seenLong is how long after somebody has seen a process it is taken to run, where nothing tells
	// of its end: collect reads the threads first and the journals last.
	seenLong = time.Minute
	// bootSlack is how far the start of a process, which /proc counts from the boot, may lie behind
	// the first line of its log.
	bootSlack = time.Second
	// staleError is how long after a runtime serves its clients can still say what they met before: a
	// client of gRPC (backoff.DefaultConfig: 1 s, then 1.6 times as long each time) fails calls with
	// the error of its last attempt until the next one.
	staleError = 10 * time.Second
)

// life is one process of a runtime.
type life struct {
	daemon             string
	pid                int
	own                bool      // it runs in the cgroup of a unit
	start, seen, until time.Time // until it is taken to run
	ready              time.Time // since when it is known to serve; zero for never
	settled            bool      // ready, and until by what tells of its end, have been looked for
}

// runtime is what is known of the processes of one runtime.
type runtime struct {
	lives  []life
	times  reach.Index    // of the lives, in which the runtime is taken to run
	events []*event.Event // what tells of its starts and ends, and the calls that it answered, in the order of time
}

// MarkRunning tells apart what a client of a runtime sees alike. A call that finds nobody at the
// socket during the life of a process of the runtime is marked as alive: the process has not
// ended. Where it had been ready before, and the file of the socket is not there, somebody has
// removed the file: the event then says that the runtime runs, and no more that it is gone. So it
// says where the log of the process goes on, whichever socket it has. MarkRunning returns the
// events without those that say the same of collect where no such call is known.
func MarkRunning(events []*event.Event) []*event.Event {
	var runtimes map[string]*runtime // nil until there is such a call
	var logs map[string][]*logLife
	marked := map[string]bool{}
	for _, e := range events {
		name, noFile := e.FieldText(event.FieldGone), e.FieldText(event.FieldNoFile) == "true"
		if e.Kind == event.KindCommandFailed && e.FieldText(event.FieldRefused) == "true" {
			name, noFile = e.Component, strings.Contains(e.FieldText(event.FieldError), "no such file or directory")
		}
		if ownSockets[name] == "" {
			continue
		}
		if runtimes == nil {
			runtimes, logs = findRuntimes(events), findLogLives(events)
		}
		var l *life
		if e.Start.Known && strings.Contains(e.FieldText(event.FieldError), ownSockets[name]) {
			l = runtimes[name].findLife(e.Start.T)
		}
		switch {
		case e.Kind == event.KindCommandFailed && !(noFile && runsByLog(logs[name], e)):
		case l == nil && (!noFile || !runsByLog(logs[name], e)):
		case l != nil && (!noFile || !l.servesAt(e.Start.T)):
			e.AddFields(event.FieldAlive.Bool(true))
		default:
			marked[name] = true
			e.Fields = slices.DeleteFunc(slices.Clone(e.Fields), func(f event.Field) bool { return f.Key == event.FieldGone })
			e.AddText(event.FieldRuns, name)
			e.Text += ", and " + name + " runs"
		}
	}
	return slices.DeleteFunc(events, func(e *event.Event) bool {
		return e.Kind == event.KindCollectItem && e.FieldText(event.FieldOutcome) == "absent" && !marked[e.FieldText(event.FieldRuns)]
	})
}

// ownSockets are the sockets of runtimes that are units of their own. A distribution of Kubernetes
// that starts a runtime has its socket in another place, and two processes of one name may then
// run.
var ownSockets = map[string]string{
	"containerd": "/run/containerd/containerd.sock", "crio": "/run/crio/crio.sock", "dockerd": "/run/docker.sock",
}

// runsAt says that the process ran at a time.
func (l *life) runsAt(t time.Time) bool { return !t.Before(l.start) && !t.After(l.until) }

// servesAt says that the process had been ready for so long before a time that clients know it.
func (l *life) servesAt(t time.Time) bool {
	return !l.ready.IsZero() && !t.Before(l.ready.Add(staleError))
}

// findRuntimes finds the runtimes that are units of their own, with the processes of which somebody
// saw that they ran. A runtime that somebody has started by hand, beside the unit's or in its
// place, listens elsewhere: where systemd knows the unit of one process, or says that the unit has
// none, a process outside of it is not the unit's.
func findRuntimes(events []*event.Event) map[string]*runtime {
	all := map[string]*runtime{}
	for name := range ownSockets {
		all[name] = &runtime{}
	}
	for _, l := range livesOfRuntimes(events) {
		all[l.daemon].lives = append(all[l.daemon].lives, l)
		all[l.daemon].times.Add(reach.Moment(l.start), reach.Moment(l.until))
	}
	for _, e := range events {
		if !e.Start.Known || e.Kind != event.KindCRICall && e.Kind != event.KindUnitStart && !slices.Contains(ends, e.Kind) {
			continue
		}
		names := []string{e.FieldText(event.FieldDaemon), e.FieldText(event.FieldRuntime), e.Component}
		for i, name := range names {
			if r := all[name]; r != nil && !slices.Contains(names[:i], name) {
				r.events = append(r.events, e)
			}
		}
	}
	for _, r := range all {
		slices.SortStableFunc(r.events, func(a, b *event.Event) int { return a.Start.T.Compare(b.Start.T) })
	}
	return all
}

// findLife is the first process of which somebody saw that it ran, and that ran at a time; nil for
// none.
func (r *runtime) findLife(t time.Time) *life {
	at := reach.Moment(t)
	for i := r.times.Next(0, at, at); i < len(r.lives); i = r.times.Next(i+1, at, at) {
		l := &r.lives[i]
		if !l.settled {
			l.settled = true
			l.addReady(r.eventsFrom(l.start.Add(-bootSlack)))
			l.cutAtEnd(r.eventsFrom(l.seen))
			r.times.Set(i, reach.Moment(l.start), reach.Moment(l.until))
		}
		if l.runsAt(t) {
			return l
		}
	}
	return nil
}

// eventsFrom are the events that do not start before a time.
func (r *runtime) eventsFrom(t time.Time) []*event.Event {
	first := sort.Search(len(r.events), func(i int) bool { return !r.events[i].Start.T.Before(t) })
	return r.events[first:]
}

// livesOfRuntimes are the processes of runtimes that are units of their own.
func livesOfRuntimes(events []*event.Event) (all []life) {
	own, without := map[string]*reach.Index{}, map[string]*reach.Index{} // when a unit had a process, and had none
	for name := range ownSockets {
		own[name], without[name] = &reach.Index{}, &reach.Index{}
	}
	for _, e := range events {
		daemon := e.FieldText(event.FieldDaemon)
		if ownSockets[daemon] == "" || !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		if hasNoProcess(e) {
			at := e.Last().T
			without[daemon].Add(reach.Moment(at.Add(-seenLong)), reach.Moment(at.Add(seenLong)))
		}
		if isRunningUnit(e) {
			all = append(all, life{
				daemon: daemon, own: true, start: e.Start.T, ready: e.Start.T,
				seen: e.End.T, until: e.End.T.Add(e.End.Prec + seenLong),
			})
			own[daemon].Add(reach.Moment(e.Start.T), reach.Moment(e.End.T))
		}
		age, ok := e.Get(event.FieldAge)
		if seconds, number := age.Number(); e.Kind == event.KindDaemonStart && ok && number {
			seen := e.Start.T.Add(time.Duration(seconds * float64(time.Second)))
			all = append(all, life{
				daemon: daemon, pid: e.IDs.PID, own: e.FieldText(event.FieldUnit) != "",
				start: e.Start.T, seen: seen, until: seen.Add(seenLong),
			})
			if l := &all[len(all)-1]; l.own {
				own[daemon].Add(reach.Moment(l.start), reach.Moment(l.until))
			}
		}
	}
	return slices.DeleteFunc(all, func(l life) bool {
		at := reach.Moment(l.seen)
		return !l.own && (without[l.daemon].Has(at) || own[l.daemon].Has(at))
	})
}

// isRunningUnit says that by systemd the unit of a daemon runs since its start, which the runtimes
// tell systemd when they serve.
func isRunningUnit(e *event.Event) bool {
	return e.Kind == event.KindUnit && e.Open && e.FieldText(event.FieldState) == "active" && e.FieldText(event.FieldSub) == "running"
}

// hasNoProcess says that by systemd the unit of a daemon has no main process.
func hasNoProcess(e *event.Event) bool {
	return e.Kind == event.KindUnit &&
		(e.FieldText(event.FieldState) == "failed" || slices.Contains(withoutProcess, e.FieldText(event.FieldSub)))
}

// withoutProcess are the states of a unit that has no main process, or not yet.
var withoutProcess = []string{"dead", "start-pre", "auto-restart", "auto-restart-queued"}

// ends are the kinds of events that tell of the end of a process.
var ends = []event.Kind{event.KindUnitStop, event.KindUnitExit, event.KindCrash, event.KindOOMKill, event.KindDaemonStart, event.KindDaemonStop, event.KindUnitStarting, event.KindDaemonBoot}

// cutAtEnd cuts the time for which a process is taken to run at what tells of its end. The events
// are in the order of time.
func (l *life) cutAtEnd(events []*event.Event) {
	for _, e := range events {
		if !e.Start.T.Before(l.until) {
			return
		}
		name := cmp.Or(e.FieldText(event.FieldDaemon), e.FieldText(event.FieldRuntime), e.Component)
		if slices.Contains(ends, e.Kind) && name == l.daemon && e.Start.T.After(l.seen) {
			l.until = e.Start.T
		}
	}
}

// addReady finds since when a process is known to serve: its own line that it is ready, systemd's
// about a unit that tells it, or a call that it had answered. A runtime that starts makes the file
// of its socket late. What an earlier process did does not count: one with another number, or one
// that has ended since. The events are in the order of time, from bootSlack before its start on.
func (l *life) addReady(events []*event.Event) {
	for _, e := range events {
		if e.Start.T.After(l.seen) {
			return
		}
		if e.Start.Lacks != 0 || e.Last().T.After(l.seen) {
			continue
		}
		own, at := e.FieldText(event.FieldDaemon) == l.daemon, e.Last().T
		switch e.Kind {
		case event.KindUnitStop, event.KindUnitExit, event.KindUnitStarting:
			if own && at.After(l.ready) {
				l.ready = time.Time{}
			}
			continue
		case event.KindDaemonBoot:
			own = own && !e.Open && l.mayHavePID(e.IDs.PID)
		case event.KindUnitStart:
		case event.KindCRICall:
			own = e.Component == l.daemon && !e.Open && e.Start.T.After(l.start) && strings.HasSuffix(e.Source, ".log") && l.mayHavePID(e.IDs.PID)
		default:
			continue
		}
		if own && (l.ready.IsZero() || at.Before(l.ready)) {
			l.ready = at
		}
	}
}

// mayHavePID says that a line with this process id may be the process's; zero is a line without
// one.
func (l *life) mayHavePID(pid int) bool { return pid == 0 || l.pid == 0 || pid == l.pid }
