package threads

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/linux"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// Files joins the files of threads out of /proc: stack, wchan, status and the
// others of one thread tell of one moment of it. The zero value holds none.
type Files struct {
	parts []*samples.Sample
}

// maxParts bounds the files that are kept; a large node has some 10 000 threads.
const maxParts = 200_000

// Add takes one file.
func (t *Files) Add(s *samples.Sample) {
	if len(t.parts) < maxParts {
		kept := s.Clone()
		t.parts = append(t.parts, &kept)
	}
}

// Merge takes over the files of another input, which are no longer its own.
func (t *Files) Merge(from *Files) {
	t.parts = append(t.parts, from.parts[:min(len(from.parts), maxParts-len(t.parts))]...)
}

// Events are what the threads tell; of the files none stays as it was. Machine is the node's, as
// uname spells it, for the numbers of system calls whose own files do not tell it; empty when it is
// not known. Names are what other inputs say of the threads.
func (t *Files) Events(machine string, names *Names) []event.Event {
	type key struct {
		group string
		tid   int
		file  string // where the thread is not known, each file is on its own
		line  int
	}
	joined := map[key]*samples.Sample{}
	var order []*samples.Sample
	for _, p := range t.parts {
		k := key{group: p.Group, tid: p.TID}
		if p.TID == 0 {
			k.file, k.line = p.Pos.File, p.Pos.Line
		}
		if s := joined[k]; s != nil {
			mergePart(s, p)
			continue
		}
		joined[k] = p
		order = append(order, p)
	}
	slices.SortStableFunc(order, func(a, b *samples.Sample) int {
		return cmp.Or(a.Time.T.Compare(b.Time.T), cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line))
	})
	scans := NewSamples()
	scans.Single, scans.picked = true, len(order) == 1
	var events []event.Event
	for _, s := range order {
		s.Machine = cmp.Or(s.Machine, machine)
		names.completeSample(s)
		useUnsureFrames(s)
		s.NameSyscall()
		if s.State != "S" && s.State != "R" {
			events = frameEvents(events, s)
		}
		if e, ok := listedEvent(s); ok {
			events = append(events, e)
			continue
		}
		events = scans.Sample(events, s)
		if s.TID == 0 && (isTellingOnce(s) || scans.picked && s.Stack != "") {
			events = append(events, momentEvent(s))
		}
	}
	events = scans.Finish(events)
	for i := range events {
		events[i].Source = SourceThreads
	}
	return events
}

// listedEvent is a process of a daemon of which nothing is known but that it sleeps in the kernel
// or is stopped, as a list of the processes would show it. Ok is false for every other sample.
func listedEvent(s *samples.Sample) (e event.Event, ok bool) {
	component := writerOf(s)
	if heldState(s.State) == "" || s.Stack != "" || s.WChan != "" || s.HasNumber || component == "process" || component == "kernel" {
		return e, false
	}
	e = event.Event{
		Kind: event.KindProcess, Component: component, Start: s.Time, IDs: event.IDs{PID: cmp.Or(s.PID, s.TID)},
		Fields:   []event.Field{event.FieldComm.Text(s.Comm), event.FieldState.Text(s.State)},
		Evidence: append([]event.Quote{s.Quote()}, s.More...),
	}
	if s.TID != e.IDs.PID {
		e.IDs.TID = s.TID
	}
	name := cmp.Or(s.Comm, "PID "+strconv.Itoa(e.IDs.PID))
	switch s.State {
	case "T":
		e.Text = name + " is stopped by a signal (state T)"
	case "t":
		e.Text = name + " is stopped by a debugger (state t)"
	default:
		e.Text = name + " is in state D"
	}
	return e, true
}

// mergePart puts what another file of a thread tells into its sample.
func mergePart(s, p *samples.Sample) {
	if isQuotable(p) {
		if q := s.Quote(); isQuotable(s) && p.State == "" {
			s.More = append(s.More, p.Quote())
		} else { // the line that tells D from S comes first
			if isQuotable(s) {
				s.More = append(s.More, q)
			}
			s.Pos, s.Raw = p.Pos, p.Raw
		}
	}
	s.PID, s.Comm, s.State = cmp.Or(s.PID, p.PID), cmp.Or(s.Comm, p.Comm), cmp.Or(s.State, p.State)
	s.WChan, s.Cgroup, s.Machine = cmp.Or(s.WChan, p.WChan), cmp.Or(s.Cgroup, p.Cgroup), cmp.Or(s.Machine, p.Machine)
	s.Kernel = s.Kernel || p.Kernel
	if !s.HasNumber {
		s.Number, s.HasNumber, s.Args = p.Number, p.HasNumber, p.Args
	}
	if s.Stack == "" {
		s.Stack, s.Frames = p.Stack, p.Frames
		s.UnsureStack, s.UnsureFrames = p.UnsureStack, p.UnsureFrames
	}
}

// isQuotable says that the first line of a file is worth a quote beside its stack.
func isQuotable(p *samples.Sample) bool { return p.State != "" || p.WChan != "" || p.HasNumber }

// frameEvents are the telling functions of a stack, as the kernel's log would have shown them.
func frameEvents(dst []event.Event, s *samples.Sample) []event.Event {
	for i, f := range strings.Fields(s.Stack) {
		e, ok := linux.FrameEvent(f)
		if !ok || i >= len(s.Frames) {
			continue
		}
		e.Component, e.Start, e.Evidence = "kernel", s.Time, []event.Quote{s.Frames[i]}
		if s.Unsure {
			e.AddFields(event.FieldUnsure.Bool(true))
		}
		dst = append(dst, e)
	}
	return dst
}
