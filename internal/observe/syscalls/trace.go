// Package syscalls turns the calls of a trace into events, and into a summary for people: what each
// descriptor is, the conversation over D-Bus, which call waits for which.
package syscalls

import (
	"bytes"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/runtimes"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

// Trace follows the calls of one strace output: which descriptor is which socket, and what went
// over a bus. The calls must come in the order in which the parser gives them.
type Trace struct {
	Bus     Bus
	Convoys []Convoy // known at the end
	// FileStates are the small files of /proc, /sys and cgroups that were read or written, in the
	// order in which they were met, each with its last content.
	FileStates []FileState

	files  *files
	opened int        // connections that may be buses
	last   event.Time // the latest moment of the trace
	moved  [2]bool    // some call that sends, that receives
	open   []TracedCall
	// stateAt is where FileStates has a path.
	stateAt map[string]int
}

// NewTrace starts with nothing known.
func NewTrace() *Trace {
	return &Trace{files: newFiles(), stateAt: map[string]int{}}
}

// Filter says which calls of the trace must be wanted for the events that [Trace.Call] makes.
func (t *Trace) Filter() *traces.CallFilter {
	return &traces.CallFilter{Least: tracedLeast(), Ask: t.callQuestions()}
}

func (t *Trace) maySendData(c *traces.CallView) bool {
	t.moved[0] = true
	return t.mayMoveData(c) || saysError(c)
}

// saysError tells a write to the standard error, which may be runc init's last word.
func saysError(c *traces.CallView) bool {
	return c.Name == "write" && len(c.Args) > 1 && c.Args[0] == '2' && (c.Args[1] == ',' || c.Args[1] == '<') &&
		bytes.Contains(c.Args, []byte("_linux.go:"))
}

// runcInitError is the event of runc init's last word. As the first call of a process that strace
// attached to, it had waited for somebody to read the pipe, until the attaching interrupted it.
func runcInitError(s *traces.Syscall) (e event.Event, ok bool) {
	fd, _, ok := traces.ReadDescriptor(s.Args)
	if s.Name != "write" || !ok || fd.N != 2 {
		return event.Event{}, false
	}
	text, _ := traces.FirstString(s.Args)
	if e, ok = runtimes.InitError(text); !ok {
		return event.Event{}, false
	}
	e.Start, e.Source, e.IDs.PID = s.Start, "strace", s.PID
	e.AddFields(event.FieldFirstCall.Bool(s.First))
	e.Evidence = []event.Quote{{Pos: s.Pos, Text: s.Raw}}
	return e, true
}

func (t *Trace) mayReceive(c *traces.CallView) bool {
	t.moved[1] = true
	return t.mayMoveData(c)
}

// mayMoveData tells calls that may have moved messages of D-Bus from all others, which are most.
func (t *Trace) mayMoveData(c *traces.CallView) bool {
	if c.Failed {
		return false
	}
	fd, label, ok := descriptorOf(c.Args)
	starts := func() bool { return mayStartBus(c.Args) || mayStartBus(c.More) }
	switch {
	case !ok:
		return len(c.Args) == 0 && starts()
	case len(label) > 0:
		return label[0] == 'U' || label[0] == 'N' || label[0] == 's' || label[0] == '/' && labelHoldsState(label) // UNIX, NETLINK, socket
	}
	h := t.files.processOf(c.PID).fds[fd]
	switch {
	case h == nil:
		return socketCall(c.Name) || starts()
	case h.kind == fileHandle:
		return holdsState(h.path)
	case h.kind == otherHandle:
		return false
	}
	return h.kind == netlinkSocket || h.conn != nil || isBusPath(h.path) || starts()
}

// mayFollow says whether a call tells something of descriptors or processes that the trace does not
// say again, as -y does.
func (t *Trace) mayFollow(c *traces.CallView) bool {
	switch {
	case c.Failed:
		return c.Name == "connect" // in progress
	case c.Name == "close":
		fd, _, _ := descriptorOf(c.Args)
		return t.files.processOf(c.PID).fds[fd] != nil
	case c.Name == "fcntl":
		return bytes.Contains(c.Args, []byte("F_DUPFD"))
	case c.Name[0] == 'o' || c.Name == "creat":
		return bytes.IndexByte(c.Result, '<') < 0
	}
	return true
}

// descriptorOf is parse.Descriptor for the start of arguments that may be thrown away: label is
// what follows the "<".
func descriptorOf(args []byte) (fd int, label []byte, ok bool) {
	if i := bytes.IndexByte(args[:min(len(args), 12)], '='); i > 0 {
		args = args[i+1:] // -N
	}
	n := 0
	for n < len(args) && n < 9 && '0' <= args[n] && args[n] <= '9' {
		fd = fd*10 + int(args[n]-'0')
		n++
	}
	if n < len(args) && args[n] == '<' {
		label = args[n+1:]
	}
	return fd, label, n > 0
}

// Call takes the next call and appends what it tells of: a call that took long, an answer
// that came late. Calls that were not wanted only move the clock.
func (t *Trace) Call(dst []event.Event, s *traces.Syscall) []event.Event {
	t.advanceClock(s)
	if s.Name == "" || !s.Wanted {
		return dst
	}
	t.files.followCall(s)
	h, answered := t.lookAtCall(s)
	if s.Unfinished {
		t.open = append(t.open, TracedCall{Syscall: *s, Wait: kindOfWait(s, h)})
	}
	if e, ok := newSyscall(s, h); ok {
		dst = append(dst, e)
	}
	if e, ok := runcInitError(s); ok {
		dst = append(dst, e)
	}
	t.noteFileState(s, h)
	for _, m := range answered {
		if d, ok := m.Answered(); ok && d >= slowAnswer {
			dst = append(dst, busEvent(m))
		}
	}
	return dst
}

// advanceClock moves the clock on.
func (t *Trace) advanceClock(s *traces.Syscall) {
	if _, to := s.Span(); to.Known && (!t.last.Known || to.T.After(t.last.T)) {
		t.last = to
	}
}

// lookAtCall finds out what the call's descriptor is, and reads what went over it.
func (t *Trace) lookAtCall(s *traces.Syscall) (h *handle, answered []*BusMessage) {
	fd, _, ok := traces.ReadDescriptor(s.Args)
	if !ok {
		return nil, nil
	}
	if sent, isMove := movingCalls[s.Name]; isMove {
		t.moved[sideOf(sent)] = true
	}
	p := t.files.processOf(s.PID)
	h = t.files.findHandle(p, fd)
	if fd.Label == "" && (strings.Contains(s.Args, "nlmsg_len=") || strings.Contains(s.Args, "sa_family=AF_NETLINK")) {
		if h == nil || h.kind != netlinkSocket {
			h = &handle{kind: netlinkSocket}
			p.setHandle(fd.N, h)
		}
	}
	answered = t.readBus(s, p, fd, h)
	if h == nil {
		h = p.fds[fd.N]
	}
	return h, answered
}

// Finish ends the trace and appends what is still open: waits for children that are blocked, locks
// that threads queue for, calls on the bus without an answer, and how far systemd has counted its
// messages.
func (t *Trace) Finish(dst []event.Event) []event.Event {
	followChildren(t.open, t.files)
	for i := range t.open {
		if c := &t.open[i]; c.Blocker != 0 {
			dst = append(dst, childEvent(c))
		}
	}
	t.Convoys = findConvoys(t.open, t.files)
	for i := range t.Convoys {
		dst = append(dst, convoyEvent(&t.Convoys[i]))
	}
	for _, c := range t.Bus.Conns {
		var open []*BusMessage
		for side := range c.waiting {
			deaf := !t.moved[1-side]
			c.Deaf = c.Deaf || deaf && len(c.waiting[side]) > 0
			for _, m := range c.waiting[side] {
				m.Unsure = m.Unsure || deaf
				if !m.At.IsZero() && t.last.Known {
					m.Age = max(0, t.last.T.Sub(m.At.T))
				}
				open = append(open, m)
			}
		}
		slices.SortFunc(open, func(a, b *BusMessage) int { return a.Pos.Line - b.Pos.Line })
		if c.AuthAt.Known && !c.AuthAnswered.Known && t.last.Known && t.moved[0] && t.moved[1] {
			c.AuthAge = max(0, t.last.T.Sub(c.AuthAt.T))
		}
		if d, _ := c.Handshake(); max(d, c.AuthAge) >= slowAnswer {
			dst = append(dst, handshakeEvent(c))
		}
		for _, m := range open {
			if m.Open() && m.Age >= slowAnswer {
				dst = append(dst, busEvent(m))
			}
		}
	}
	return t.appendCookies(dst)
}

// appendCookies appends how far systemd has counted on a bus. The bus hands its messages with their
// numbers to many: of these copies the one that spans the most counts.
func (t *Trace) appendCookies(dst []event.Event) []event.Event {
	type sender struct {
		name string
		conn *BusConn // of the traced process itself
	}
	at := map[sender]int{}
	var spans []uint32
	for _, c := range t.Bus.Conns {
		for _, n := range c.Serials {
			_, growing := n.Left()
			if !n.Systemd || n.Wrapped || c.isPrivate() || !growing && n.Last < nearOverflow {
				continue
			}
			from := sender{name: n.Sender}
			if n.Sender == "" {
				from.conn = c
			}
			i, known := at[from]
			switch {
			case !known:
				at[from] = len(dst)
				dst, spans = append(dst, cookieEvent(c, n)), append(spans, n.Last-n.First)
			case n.Last-n.First > spans[i-len(dst)+len(spans)]:
				spans[i-len(dst)+len(spans)] = n.Last - n.First
				dst[i] = cookieEvent(c, n)
			}
		}
	}
	return dst
}
