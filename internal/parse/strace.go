package parse

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Syscall is one traced call. One without a Name is a line of the trace that is
// no call (a signal, an exit, a message of strace itself, a stack frame, a row
// of a summary): it is there for the account and for its time.
type Syscall struct {
	PID    int    // of the thread; 0 when the trace does not say
	Name   string // "umount2"
	Args   string // as printed; of a call on two lines, both halves joined
	Result string // as printed, without strace's marks: "0", "-1 EINVAL (Invalid argument)", "?"; empty when Unfinished
	Errno  string // "EINVAL", "ERESTARTSYS"; empty on success
	// Start is when the call was entered. A trace without -t has none. Past midnight the date of
	// a stamp without one is 2 January of year 0, and so on.
	Start event.Time
	// Duration is what -T printed, else the time from entry to "resumed"; when
	// Unfinished, up to the last stamp of the file. Without HasDuration it is unknown.
	Duration    time.Duration
	HasDuration bool
	Returned    bool // strace -c counts it: the call has a result other than a bare "?"
	Unfinished  bool // the file ended inside the call, or strace detached
	AtLeast     bool // Duration is a lower bound: the end, or the start (before strace attached), was not seen
	Injected    bool // strace made the result up (-e inject)
	Delayed     bool // strace delayed the call (-e inject=…:delay_enter)
	Pos         event.Pos
	EndPos      event.Pos // the line of its end; zero when that is Pos
	Raw, EndRaw string    // both lines as written, at most event.MaxRaw bytes each; EndRaw is empty when EndPos is zero
	Lines       int       // input lines covered
	Wanted      bool      // Args, Result, Raw and EndRaw are set
}

// syscalls reads the text of strace, from 4.15 to 7.2, as -o and stderr carry it:
//
//	9100  18:25:36.238768 umount2("/run/…/rootfs", 0 <unfinished ...>
//	[pid 18307] 1795199296.105449 <... epoll_pwait resumed>[], 128, 495, NULL, 0) = 0 <0.495640>
//
// A call on one line comes in its place, one on two lines at its second. Calls that are open at
// the end come last, in the order of their start.
func syscalls(in Input) iter.Seq2[Syscall, error] {
	return func(yield func(Syscall, error) bool) {
		t := tracer{Input: in, lines: newLineReader(in.R, in.Stats), yield: yield, open: map[int]*openCall{}, seen: map[int]bool{}}
		for t.lines.next() {
			if !t.read(t.lines.line) {
				return
			}
		}
		if t.giveUp() && t.finish() && t.lines.err != nil {
			yield(Syscall{}, t.lines.err)
		}
	}
}

// tracer is the state of one pass over a trace.
type tracer struct {
	Input
	lines *lineReader
	yield func(Syscall, error) bool
	names names
	open  map[int]*openCall // by thread: each has at most one
	free  []*openCall
	seen  map[int]bool // threads with a line
	clock stamps
	// execs says that the trace starts with execve, so that no call can have begun before it.
	execs bool
	part  *openCall // a line that strace's messages cut in two
	table bool      // inside a summary of -C
	plain []byte    // a line without colours
}

// openCall is a call whose end is still to come.
type openCall struct {
	call Syscall
	raw  []byte // the line so far, without strace's own messages
	args int    // where the arguments start in raw
	end  int    // where they end in raw
	face event.Time
}

// attachTime is how long after its first line a trace may still show threads
// that were found inside a call: strace prints them one by one.
const attachTime = 20 * time.Millisecond

// maxThreads bounds what is remembered of threads; a node that is traced at all has fewer.
const maxThreads = 1 << 16

// maxParts bounds in how many lines a line may have been cut.
const maxParts = 64

// read turns one line into a call or a part of one.
func (t *tracer) read(line Line) bool {
	b := line.Bytes
	if isBlank(b) && line.Cut == 0 {
		return true
	}
	if line.Cut > 0 && !t.skip(line.N, 0, "line of %d bytes is cut at %d", int64(len(b))+line.Cut, MaxLine) {
		return false
	}
	raw := trimReturn(b)
	if own := ownMessage(raw); own >= 0 {
		return t.readOwn(line.N, raw, own)
	}
	b = raw
	if bytes.IndexByte(b, '\x1b') >= 0 {
		t.plain = stripColours(t.plain[:0], b)
		b = t.plain
	}
	if t.part != nil && continues(b) {
		return t.join(line.N, b, raw)
	}
	l := scanTrace(b)
	switch {
	case l.kind == traceNothing && t.isAside(b):
		return t.note(line.N, &l, raw)
	case l.kind == traceNothing && t.completes(b):
		return t.join(line.N, b, raw)
	case l.kind == traceNothing:
		return t.skip(line.N, 1, "no line of a trace: %.40q", b)
	case !t.giveUp():
		return false
	}
	t.clock.see(&l)
	first := !t.seen[l.pid]
	if first = first && len(t.seen) < maxThreads; first {
		t.seen[l.pid] = true
		t.execs = t.execs || len(t.seen) == 1 && string(l.name) == "execve"
	}
	switch l.kind {
	case traceCall:
		return t.single(line.N, &l, raw)
	case traceUnfinished, traceCut:
		o := t.begin(line.N, &l, b, first)
		if l.kind == traceCut {
			t.part = o
			return true
		}
		return t.suspend(o)
	case traceResumed:
		return t.resume(line.N, &l, b, raw)
	case traceExit:
		return t.exit(line.N, &l, raw)
	}
	return t.note(line.N, &l, raw)
}

func (t *tracer) skip(n, lines int, format string, args ...any) bool {
	return t.yield(Syscall{}, &event.Skip{Pos: event.Pos{File: t.Path, Line: n}, Lines: lines, Reason: fmt.Sprintf(format, args...)})
}

func (t *tracer) wants(line, name []byte) bool {
	if t.Calls != nil {
		return t.Calls[string(name)]
	}
	return t.Want == nil || t.Want(line)
}

// note passes on a line that is no call.
func (t *tracer) note(n int, l *traceLine, raw []byte) bool {
	s := Syscall{PID: l.pid, Start: t.clock.start(l), Pos: event.Pos{File: t.Path, Line: n}, Lines: 1}
	if t.wants(raw, nil) {
		s.Wanted, s.Raw = true, clip(raw)
	}
	return t.yield(s, nil)
}

// isAside knows lines that belong to the trace without being a call: stack
// frames (-k), dumps of data (-e read=), and the tables of -c and -C.
func (t *tracer) isAside(b []byte) bool {
	switch {
	case bytes.HasPrefix(b, []byte(" > ")), bytes.HasPrefix(b, []byte(" | ")):
		return true
	case bytes.HasPrefix(b, []byte("% time")), bytes.HasPrefix(b, []byte("System call usage summary")):
		t.table = true
		return true
	case t.table:
		t.table = !bytes.HasSuffix(b, []byte(" total"))
		return true
	}
	return false
}

// single passes on a call that stands on one line.
func (t *tracer) single(n int, l *traceLine, raw []byte) bool {
	if o := t.open[l.pid]; o != nil && !t.abandon(o, n) {
		return false
	}
	s := Syscall{
		PID: l.pid, Name: t.names.get(l.name), Start: t.clock.start(l),
		Duration: l.took, HasDuration: l.hasTook, Injected: l.injected, Delayed: l.delayed,
		Returned: l.returned(), Pos: event.Pos{File: t.Path, Line: n}, Lines: 1,
	}
	if len(l.errno) > 0 {
		s.Errno = t.names.get(l.errno)
	}
	if t.wants(raw, l.name) {
		s.Wanted, s.Raw = true, clip(raw)
		s.Args, s.Result = string(l.args), string(l.result)
	}
	return t.yield(s, nil)
}

// begin opens a call. Its line is copied: the end may be wanted where the start was not.
func (t *tracer) begin(n int, l *traceLine, b []byte, first bool) *openCall {
	o := &openCall{}
	if k := len(t.free); k > 0 {
		o, t.free = t.free[k-1], t.free[:k-1]
	}
	args := len(b) - len(l.rest) // l.rest is a tail of b
	o.raw = append(o.raw[:0], b...)
	o.args, o.end = args, args+len(l.args)
	o.call = Syscall{
		PID: l.pid, Name: t.names.get(l.name), Start: t.clock.start(l),
		Pos: event.Pos{File: t.Path, Line: n}, Lines: 1,
	}
	o.face = t.clock.now
	o.call.Wanted = t.wants(b, l.name)
	o.call.Raw = clip(t.lines.line.Bytes)
	o.call.AtLeast = o.call.Name == "restart_syscall" ||
		first && !t.execs && t.clock.known && o.face.T.Sub(t.clock.first.T) < attachTime
	return o
}

// suspend files an open call under its thread.
func (t *tracer) suspend(o *openCall) bool {
	if old := t.open[o.call.PID]; old != nil && !t.abandon(old, o.call.Pos.Line) {
		return false
	}
	if len(t.open) >= maxThreads {
		return t.skip(o.call.Pos.Line, o.call.Lines, "more than %d threads are in a call", maxThreads)
	}
	if len(o.raw) > event.MaxRaw { // enough to know the call by
		o.raw, o.end = o.raw[:event.MaxRaw:event.MaxRaw], min(o.end, event.MaxRaw)
		o.args = min(o.args, o.end)
	}
	t.open[o.call.PID] = o
	return true
}

// abandon passes on a call whose end the trace does not show: a filter of -z or -e status hid it.
func (t *tracer) abandon(o *openCall, n int) bool {
	delete(t.open, o.call.PID)
	o.call.Args = o.text()
	o.call.Wanted = true
	return t.yield(o.call, nil) &&
		t.skip(o.call.Pos.Line, 0, "end of %s is missing: the thread is in another call at line %d", o.call.Name, n)
}

// text is what is known of the arguments.
func (o *openCall) text() string { return strings.TrimRight(string(o.raw[o.args:o.end]), " ,") }

// resume ends the open call that the line belongs to.
func (t *tracer) resume(n int, l *traceLine, b, raw []byte) bool {
	o := t.match(l)
	if o == nil { // the trace began inside this call
		o = &openCall{call: Syscall{PID: l.pid, Name: t.names.get(l.name), AtLeast: true, Lines: 1, Pos: event.Pos{File: t.Path, Line: n}}}
		o.call.Start = t.clock.start(l)
		if l.hasTook {
			o.call.Start = o.call.Start.Add(-l.took)
		}
		o.call.Raw = clip(raw)
	} else {
		delete(t.open, o.call.PID)
		o.call.Lines++
		o.call.EndPos = event.Pos{File: t.Path, Line: n}
		o.call.EndRaw = clip(raw)
		if face := t.clock.now; face.Known && o.face.Known {
			o.call.Duration, o.call.HasDuration = face.T.Sub(o.face.T), true
		}
	}
	s := &o.call
	s.Wanted = t.wants(b, l.name) || s.Wanted
	if l.hasTook {
		s.Duration, s.HasDuration = l.took, true
	}
	s.Injected, s.Delayed, s.Returned = l.injected, l.delayed, l.returned()
	s.Errno = t.names.get(l.errno)
	if s.Wanted {
		s.Args, s.Result = joinArgs(o.text(), string(l.args)), string(l.result)
	} else {
		s.Raw, s.EndRaw = "", ""
	}
	call := *s
	t.free = append(t.free, o)
	return t.yield(call, nil)
}

// match finds the open call that a resumed line ends. On stderr, strace leaves
// the pid out while only one thread is traced, so that either half may lack it.
func (t *tracer) match(l *traceLine) *openCall {
	if o := t.open[l.pid]; o != nil && o.call.Name == string(l.name) {
		return o
	}
	if l.pid != 0 {
		if o := t.open[0]; o != nil && o.call.Name == string(l.name) {
			return o
		}
		return nil
	}
	var only *openCall
	for _, o := range t.open {
		if o.call.Name == string(l.name) {
			if only != nil {
				return nil
			}
			only = o
		}
	}
	return only
}

// joinArgs puts the two halves together. Until 6.15 the comma stands at the
// end of the first, since 6.16 at the start of the second.
func joinArgs(a, b string) string {
	b = strings.TrimLeft(b, ", ")
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

// exit handles the end of a thread, and an execve that gives its caller the leader's id.
func (t *tracer) exit(n int, l *traceLine, raw []byte) bool {
	if to := supersededBy(l.rest); to != 0 {
		if o := t.open[to]; o != nil && t.open[l.pid] == nil {
			delete(t.open, to)
			o.call.PID = l.pid
			t.open[l.pid] = o
		}
		return t.note(n, l, raw)
	}
	if o := t.open[l.pid]; o != nil && l.pid != 0 { // killed inside the call, which prints no result
		delete(t.open, l.pid)
		o.call.Args, o.call.Wanted = o.text(), true
		if face := t.clock.now; face.Known && o.face.Known {
			o.call.Duration, o.call.HasDuration = face.T.Sub(o.face.T), true
		}
		if !t.yield(o.call, nil) {
			return false
		}
	}
	return t.note(n, l, raw)
}

// finish passes on the calls that are open at the end.
func (t *tracer) finish() bool {
	left := make([]*openCall, 0, len(t.open))
	for _, o := range t.open {
		left = append(left, o)
	}
	slices.SortFunc(left, func(a, b *openCall) int {
		return cmp.Or(a.face.T.Compare(b.face.T), cmp.Compare(a.call.Pos.Line, b.call.Pos.Line))
	})
	for _, o := range left {
		s := o.call
		s.Args, s.Wanted, s.Unfinished, s.AtLeast = o.text(), true, true, true
		if o.face.Known {
			s.Duration, s.HasDuration = t.clock.last.T.Sub(o.face.T), true
		}
		if !t.yield(s, nil) {
			return false
		}
	}
	return true
}

// readOwn cuts a message of strace itself out of a line. What stands before it is the first
// part of a line that goes on below; the trace and the messages share stderr.
func (t *tracer) readOwn(n int, raw []byte, own int) bool {
	b := raw[:own]
	if bytes.IndexByte(b, '\x1b') >= 0 {
		b = stripColours(nil, b)
	}
	l := scanTrace(b)
	if own == 0 || l.kind == traceNothing {
		return t.note(n, &traceLine{}, raw)
	}
	if !t.giveUp() {
		return false
	}
	t.clock.see(&l)
	first := !t.seen[l.pid] && len(t.seen) < maxThreads
	if first {
		t.seen[l.pid] = true
	}
	if l.kind != traceCut {
		return t.read(Line{N: n, Bytes: raw[:own]})
	}
	t.part = t.begin(n, &l, b, first)
	return true
}

// continues says that b can only be the rest of a line that was cut in two.
func continues(b []byte) bool {
	for _, s := range [...]string{" =>", " <unfinished ...>", " <detached ...>", ", ", ") ", ")"} {
		if len(b) >= len(s) && string(b[:len(s)]) == s {
			return true
		}
	}
	return false
}

// completes says that b makes a whole of the line that was cut in two: output of the traced
// program on the same stderr may cut it anywhere.
func (t *tracer) completes(b []byte) bool {
	if t.part == nil || len(t.part.raw) > readAhead {
		return false
	}
	n := len(t.part.raw)
	whole := append(t.part.raw, b...)
	t.part.raw = whole[:n]
	return scanTrace(whole).kind != traceCut
}

// join adds the rest to a line that was cut in two, and reads the whole.
func (t *tracer) join(n int, b, raw []byte) bool {
	o := t.part
	t.part = nil
	o.raw = append(o.raw, b...)
	o.call.Lines++
	l := scanTrace(o.raw)
	switch l.kind {
	case traceCall:
		s := o.call
		s.Duration, s.HasDuration, s.Injected, s.Delayed = l.took, l.hasTook, l.injected, l.delayed
		s.Errno, s.AtLeast, s.Returned = t.names.get(l.errno), false, l.returned()
		s.EndPos = event.Pos{File: t.Path, Line: n}
		if s.Wanted = s.Wanted || t.wants(b, l.name); s.Wanted {
			s.Args, s.Result, s.EndRaw = string(l.args), string(l.result), clip(raw)
		} else {
			s.Raw, s.EndRaw = "", ""
		}
		return t.yield(s, nil)
	case traceUnfinished:
		o.end = o.args + len(l.args)
		return t.suspend(o)
	}
	if o.end = len(o.raw); o.call.Lines >= maxParts {
		return t.suspend(o)
	}
	t.part = o // still not whole
	return true
}

// giveUp treats a line that was cut in two and never went on as a call that did
// not return: with -ff that is how one looks.
func (t *tracer) giveUp() bool {
	o := t.part
	t.part = nil
	return o == nil || t.suspend(o)
}
