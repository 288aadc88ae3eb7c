package restarts

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
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
}

// MarkRunning tells apart what a client of a runtime sees alike. A call that finds nobody at the
// socket during the life of a process of the runtime is marked as alive: the process has not ended.
// Where it had been ready before, and the file of the socket is not there, somebody has removed the
// file: the event then says that the runtime runs, and no more that it is gone. MarkRunning returns
// the events without those that say the same of collect where no such call is known.
func MarkRunning(events []*event.Event) []*event.Event {
	lives := livesOfRuntimes(events)
	marked := map[string]bool{}
	for _, e := range events {
		name := e.FieldText(event.FieldGone)
		if ownSockets[name] == "" || !e.Start.Known || !strings.Contains(e.FieldText(event.FieldError), ownSockets[name]) {
			continue
		}
		i := slices.IndexFunc(lives, func(l life) bool { return l.daemon == name && l.runsAt(e.Start.T) })
		switch {
		case i < 0:
		case e.FieldText(event.FieldNoFile) != "true" || !lives[i].servesAt(e.Start.T):
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

// livesOfRuntimes are the processes of which somebody saw that they ran. A runtime that somebody
// has started by hand, beside the unit's or in its place, listens elsewhere: where systemd knows
// the unit of one process, or says that the unit has none, a process outside of it is not the
// unit's.
func livesOfRuntimes(events []*event.Event) (all []life) {
	for _, e := range events {
		if e.Kind != event.KindDaemonStart || !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		age, ok := e.Get(event.FieldAge)
		if seconds, number := age.Number(); ok && number {
			seen := e.Start.T.Add(time.Duration(seconds * float64(time.Second)))
			all = append(all, life{
				daemon: e.FieldText(event.FieldDaemon), pid: e.IDs.PID, own: e.FieldText(event.FieldUnit) != "",
				start: e.Start.T, seen: seen, until: seen.Add(seenLong),
			})
		}
	}
	strangers := func(l life) bool {
		return !l.own && (hasNoProcess(events, &l) || slices.ContainsFunc(all, func(other life) bool {
			return other.own && other.daemon == l.daemon && other.runsAt(l.seen)
		}))
	}
	all = slices.DeleteFunc(slices.Clone(all), strangers)
	for i := range all {
		all[i].addReady(events)
		all[i].cutAtEnd(events)
	}
	return all
}

// hasNoProcess says that by systemd the unit of a daemon had no main process when somebody saw one.
func hasNoProcess(events []*event.Event, l *life) bool {
	return slices.ContainsFunc(events, func(e *event.Event) bool {
		if e.Kind != event.KindUnit || e.FieldText(event.FieldDaemon) != l.daemon || !e.Start.Known || e.Start.Lacks != 0 {
			return false
		}
		none := e.FieldText(event.FieldState) == "failed" || slices.Contains(withoutProcess, e.FieldText(event.FieldSub))
		return none && e.Last().T.Sub(l.seen).Abs() <= seenLong
	})
}

// withoutProcess are the states of a unit that has no main process, or not yet.
var withoutProcess = []string{"dead", "start-pre", "auto-restart", "auto-restart-queued"}

// cutAtEnd cuts the time for which a process is taken to run at what tells of its end.
func (l *life) cutAtEnd(events []*event.Event) {
	ends := []event.Kind{event.KindUnitStop, event.KindUnitExit, event.KindCrash, event.KindOOMKill, event.KindDaemonStart, event.KindUnitStarting, event.KindDaemonBoot}
	for _, e := range events {
		name := cmp.Or(e.FieldText(event.FieldDaemon), e.FieldText(event.FieldRuntime), e.Component)
		if slices.Contains(ends, e.Kind) && name == l.daemon && e.Start.T.After(l.seen) && e.Start.T.Before(l.until) {
			l.until = e.Start.T
		}
	}
}

// addReady finds since when a process is known to serve: its own line that it is ready, systemd's
// about a unit that tells it, or a call that it had answered. A runtime that starts makes the file
// of its socket late. What an earlier process did does not count: one with another number, or one
// that has ended since.
func (l *life) addReady(events []*event.Event) {
	for _, e := range events {
		if !e.Start.Known || e.Start.Lacks != 0 || e.Start.T.Before(l.start.Add(-bootSlack)) || e.Last().T.After(l.seen) {
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
