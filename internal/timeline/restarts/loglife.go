package restarts

import (
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// logLife is one process of a runtime as its own log shows it: it has begun to work, or answered a
// call, and goes on to write.
type logLife struct {
	file  string
	ready time.Time
	last  time.Time // its last line that is an event
	lines int
	ended bool
}

// leastLines is how many events of its log show that a process goes on.
const leastLines = 3

// findLogLives finds the processes of each runtime in what they wrote themselves. The events are in
// the order of time.
func findLogLives(events []*event.Event) map[string][]*logLife {
	all := map[string][]*logLife{}
	for _, e := range events {
		name := e.Component
		if daemon := e.FieldText(event.FieldDaemon); slices.Contains(ends, e.Kind) && daemon != "" {
			name = daemon
		}
		if ownSockets[name] == "" || !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		own := e.Source == name+".log"
		served := own && !e.Open && (e.Kind == event.KindDaemonBoot || e.Kind == event.KindCRICall)
		file := e.Pos().File
		i := slices.IndexFunc(all[name], func(l *logLife) bool { return l.file == file && !l.ended })
		if slices.Contains(ends, e.Kind) {
			for _, l := range all[name] {
				l.ended = true
			}
			i = -1
		}
		switch {
		case i < 0 && served:
			all[name] = append(all[name], &logLife{file: file, ready: e.Last().T, last: e.Last().T})
		case i >= 0 && own:
			l := all[name][i]
			if l.lines++; e.Start.T.After(l.last) {
				l.last = e.Start.T
			}
		}
	}
	return all
}

// quietTime is for how long a process is taken to run after its last line where nothing tells of
// its end: one that is killed leaves the file of its socket behind.
const quietTime = 30 * time.Minute

// shows says that the process served before a time and wrote on after it, or shortly before.
func (l *logLife) shows(t time.Time) bool {
	until := l.last
	if !l.ended {
		until = until.Add(quietTime)
	}
	return l.lines >= leastLines && !t.Before(l.ready.Add(staleError)) && !t.After(until)
}

// isLast says that nothing tells of the end of the process.
func (l *logLife) isLast() bool { return l.lines >= leastLines && !l.ended }

// runsByLog says that one process of a runtime, and no other, is shown by its log to run at the
// time of an event: without a time, when the evidence was collected.
func runsByLog(lives []*logLife, e *event.Event) bool {
	n := 0
	for _, l := range lives {
		if e.Start.Known && l.shows(e.Start.T) || !e.Start.Known && l.isLast() {
			n++
		}
	}
	return n == 1
}
