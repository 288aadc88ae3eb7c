package threads

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// Names are the names and states of threads as other inputs show them: a listing of processes, a
// line of the kernel, and the daemons by the numbers before their own lines. A stack out of /proc
// has neither. The zero value holds none.
type Names struct {
	known   map[int]*namedThread // by thread
	writers map[int]*namedThread // by process
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
	if !ok {
		n.addWriter(e)
	}
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

// addWriter takes a line that a daemon has written with its own number before it, as
// "kubelet[3310]: ". What else has a number in a line may be of another process, and what stands
// behind containerd's name a shim may have written.
func (n *Names) addWriter(e *event.Event) {
	if e.IDs.PID <= 0 || e.Component == "containerd" || !slices.Contains(samples.NamedProcesses, e.Component) || len(e.Evidence) == 0 || len(n.writers) >= maxParts ||
		!strings.Contains(e.Evidence[0].Text, "["+strconv.Itoa(e.IDs.PID)+"]: ") {
		return
	}
	if n.writers == nil {
		n.writers = map[int]*namedThread{}
	}
	switch was := n.writers[e.IDs.PID]; {
	case was == nil:
		n.writers[e.IDs.PID] = &namedThread{comm: e.Component, line: e.Evidence[0]}
	case was.comm != e.Component:
		was.several = true
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
	if t == nil && s.PID > 0 { // threads have the name of their process until they choose one
		t = n.writers[s.PID]
	}
	if t == nil || t.several || s.Comm != "" {
		return
	}
	s.Comm = t.comm
	if s.State == "" {
		s.State = t.state
	}
	s.More = append(s.More, t.line)
}
