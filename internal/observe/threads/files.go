package threads

import (
	"cmp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// Files joins the files of threads out of /proc: stack, wchan, status and the
// others of one thread tell of one moment of it. The zero value holds none.
type Files struct {
	parts []samples.Sample
}

// maxParts bounds the files that are kept; a large node has some 10 000 threads.
const maxParts = 200_000

// Add takes one file.
func (t *Files) Add(s *samples.Sample) {
	if len(t.parts) < maxParts {
		t.parts = append(t.parts, *s)
	}
}

// Merge takes over the files of another input.
func (t *Files) Merge(from *Files) {
	for i := range from.parts {
		t.Add(&from.parts[i])
	}
}

// Events are what the threads tell. Machine is the node's, as uname spells it, for
// the numbers of system calls whose own files do not tell it; empty when it is not known.
func (t *Files) Events(machine string) []event.Event {
	type key struct {
		group string
		tid   int
		file  string // where the thread is not known, each file is on its own
		line  int
	}
	joined := map[key]*samples.Sample{}
	var order []*samples.Sample
	for i := range t.parts {
		p := &t.parts[i]
		k := key{group: p.Group, tid: p.TID}
		if p.TID == 0 {
			k.file, k.line = p.Pos.File, p.Pos.Line
		}
		if s := joined[k]; s != nil {
			addPart(s, p)
			continue
		}
		s := *p
		joined[k] = &s
		order = append(order, &s)
	}
	slices.SortStableFunc(order, func(a, b *samples.Sample) int {
		return cmp.Or(a.Time.T.Compare(b.Time.T), cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line))
	})
	scans := NewSamples()
	scans.Single = true
	var events []event.Event
	for _, s := range order {
		s.Machine = cmp.Or(s.Machine, machine)
		s.NameCall()
		if s.State != "S" && s.State != "R" {
			events = frameEvents(events, s)
		}
		events = scans.Sample(events, s)
		if s.TID == 0 && isTellingOnce(s) {
			events = append(events, momentEvent(s))
		}
	}
	events = scans.Finish(events)
	for i := range events {
		events[i].Source = SourceThreads
	}
	return events
}

// addPart puts what another file of a thread tells into its sample.
func addPart(s, p *samples.Sample) {
	if isQuotable(p) {
		if q := (event.Quote{Pos: s.Pos, Text: s.Raw}); isQuotable(s) && p.State == "" {
			s.More = append(s.More, event.Quote{Pos: p.Pos, Text: p.Raw})
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
	}
}

// isQuotable says that the first line of a file is worth a quote beside its stack.
func isQuotable(p *samples.Sample) bool { return p.State != "" || p.WChan != "" || p.HasNumber }

// frameEvents are the telling functions of a stack, as the kernel's log would have shown them.
func frameEvents(dst []event.Event, s *samples.Sample) []event.Event {
	for i, f := range strings.Fields(s.Stack) {
		if slices.Contains(tellingFrames, f) && i < len(s.Frames) {
			q := s.Frames[i]
			dst = messages.Record(
				dst,
				&event.Record{Pos: q.Pos, Lines: 1, Time: s.Time, Unit: "kernel", Raw: q.Text, Text: q.Text},
			)
		}
	}
	return dst
}
