package threads

import (
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// Names are the names and states of threads as other inputs show them: a listing of processes, a
// line of the kernel. A stack out of /proc has neither. The zero value holds none.
type Names struct {
	known map[int]*namedThread // by thread
}

// namedThread is what the inputs say of one thread.
type namedThread struct {
	comm, state string
	line        event.Quote
	several     bool // they differ: the id was used again, or they are of several nodes
}

// namingKinds are the kinds of events that name a thread, and whether the thread's id is in the
// pid.
var namingKinds = map[event.Kind]bool{
	event.KindProcess: true, event.KindHungTask: true, event.KindAllocDeadlock: false, event.KindSoftLockup: false,
}

// Add takes what an event says of a thread; most say nothing.
func (n *Names) Add(e *event.Event) {
	inPID, ok := namingKinds[e.Kind]
	id := e.IDs.TID
	if id == 0 && inPID {
		id = e.IDs.PID
	}
	comm := e.FieldText(event.FieldComm)
	if !ok || id == 0 || comm == "" || len(e.Evidence) == 0 || len(n.known) >= maxParts {
		return
	}
	t := namedThread{comm: comm, state: stateOf(e), line: e.Evidence[0]}
	was := n.known[id]
	switch {
	case was == nil && n.known == nil:
		n.known = map[int]*namedThread{id: &t}
	case was == nil:
		n.known[id] = &t
	case was.comm != t.comm:
		was.several = true
	case was.state == "":
		was.state, was.line = t.state, t.line
	}
}

// stateOf is the state that an event shows of its thread, as a letter of ps.
func stateOf(e *event.Event) string {
	if e.Kind == event.KindHungTask {
		return "D"
	}
	state := e.FieldText(event.FieldState)
	return state[:min(len(state), 1)]
}

// completeSample gives a sample the name and the state that it lacks, with the line that shows
// them.
func (n *Names) completeSample(s *samples.Sample) {
	t := n.known[s.TID]
	if t == nil || t.several || s.Comm != "" {
		return
	}
	s.Comm = t.comm
	if s.State == "" {
		s.State = t.state
	}
	s.More = append(s.More, t.line)
}
