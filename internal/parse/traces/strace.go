// Package traces turns the output of strace into system calls, and the data that they moved into
// D-Bus messages.
package traces

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// Syscall is one traced call. One without a Name is a line of the trace that is
// no call (a signal, an exit, a message of strace itself, a stack frame, a row
// of a summary): it is there for the account and for its time.
type Syscall struct {
	PID   int    // of the thread; 0 when the trace does not say
	First bool   // the thread has no line before
	Name  string // "umount2"
	// Nth numbers the names in the order of their first lines, from 0; -1 beyond the first 4096.
	Nth  int
	Args string // as printed; of a call on two lines, both halves joined
	// Result is as printed, without strace's marks: "0", "-1 EINVAL (Invalid argument)", "?"; empty
	// when Unfinished.
	Result string
	Errno  string // "EINVAL", "ERESTARTSYS"; empty on success
	// Start is when the call was entered. A trace without -t has none. Past midnight the date of
	// a stamp without one is 2 January of year 0, and so on.
	Start event.Time
	// Since is the time from the trace's first line to the call's, where only -r shows it.
	Since    time.Duration
	HasSince bool
	// Duration is what -T printed, else the time from entry to "resumed"; when
	// Unfinished, up to the last stamp of the file. Without HasDuration it is unknown.
	Duration    time.Duration
	HasDuration bool
	// AtMost is an upper bound of a Duration that a trace without -T does not show: the time to the
	// next line, as strace would have printed the call on two lines if anything had happened
	// meanwhile. 0 when that is unknown too. Only with Input.Calls.
	AtMost     time.Duration
	Returned   bool // strace -c counts it: the call has a result other than a bare "?"
	Unfinished bool // the file ended inside the call, or strace detached
	// AtLeast says that Duration is a lower bound: the end, or the start (before strace attached),
	// is not in the trace.
	AtLeast  bool
	Injected bool // strace made the result up (-e inject)
	Delayed  bool // strace delayed the call (-e inject=…:delay_enter)
	Pos      event.Pos
	EndPos   event.Pos // the line of its end; zero when that is Pos
	// Raw and EndRaw are both lines as written, at most event.MaxRaw bytes each; EndRaw is empty
	// when EndPos is zero.
	Raw, EndRaw string
	Lines       int  // input lines covered
	Wanted      bool // Args, Result, Raw and EndRaw are set
	// Count is a row of a table of -c or -C; such a line has no Name. Nil for every other line.
	Count *CallTotal
	// Rest are the calls that the filter leaves out, counted by name. It has no Name either, comes
	// behind all that has returned, lasts from the first of their starts to the last of their ends,
	// and covers all their lines. Where stamps of several kinds stand in one file, more such calls
	// follow that only have the time of the others. Nil otherwise.
	Rest []CallTotal
}

// Span is the time in which the trace shows the call. Of a call that began before the trace it is
// only the end.
func (s *Syscall) Span() (from, to event.Time) {
	from, to = s.Start, s.Start
	if s.HasDuration {
		to = to.Add(s.Duration)
	}
	if s.AtLeast && !s.Unfinished && s.EndPos.Line == 0 {
		from = to
	}
	return from, to
}

// Input is one trace to be read.
type Input struct {
	lines.Input
	// Calls says which calls may matter; nil leaves it to Want.
	Calls *CallFilter
	// Thread is the one of the lines that name none, as strace -ff has it in the name of the file;
	// 0 without.
	Thread int
}

// CallFilter says which calls of a trace matter. The others, which are most, are only counted
// (Syscall.Rest), but for the first one of each thread: that is several times as fast as to ask for
// all.
type CallFilter struct {
	// Least is how long a call must last to matter, by its name; "" stands for all other names,
	// which never matter without it. What never returned always does, and what has no known length
	// where it was interrupted by the line of another thread.
	Least map[string]time.Duration
	// Ask says of calls that are too short whether they matter, by their names; nil for none. It is
	// asked in the order of the trace.
	Ask map[string]func(*CallView) bool
}

// CallView is a call that has returned, seen without a copy: the bytes are valid until the next
// step.
type CallView struct {
	PID        int
	Name       string
	Args, More []byte // what the first line shows of the arguments, and what a second one adds
	Result     []byte
	Failed     bool // with an error
}

// callName is what is known of a name that the trace holds.
type callName struct {
	name     string
	nth      int
	least    time.Duration
	fixed    bool // named by the filter
	hasLeast bool // calls of at least that length matter
	ask      func(*CallView) bool
	rest     CallTotal // of those that the filter leaves out
}

func (t *tracer) lookUpName(b []byte) *callName {
	slot := &t.names[(len(b)*5+int(b[0])+int(b[len(b)-1])*3)%len(t.names)]
	if n := *slot; n != nil && n.name == string(b) {
		return n
	}
	if n := t.known[string(b)]; n != nil {
		*slot = n
		return n
	}
	n := &callName{name: string(b), nth: -1}
	if f := t.Calls; f != nil {
		n.least, n.fixed = f.Least[n.name]
		n.hasLeast, n.ask = n.fixed, f.Ask[n.name]
		if !n.fixed {
			n.least, n.hasLeast = f.Least[""]
		}
	}
	if len(t.known) < lines.MaxNames {
		n.nth = len(t.known)
		t.known[n.name] = n
	}
	return n
}

// alwaysMatters says that every call of the name matters.
func (n *callName) alwaysMatters() bool { return n.hasLeast && n.least == 0 }

// Read reads the text of strace, from 4.15 to 7.2, as -o and stderr carry it:
//
//	9100  18:25:36.238768 umount2("/run/…/rootfs", 0 <unfinished ...>
//	[pid 18307] 1795199296.105449 <... epoll_pwait resumed>[], 128, 495, NULL, 0) = 0 <0.495640>
//
// A call on one line comes in its place, one on two lines at its second. Calls that are open at
// the end come last, in the order of their start.
func Read(in Input) iter.Seq2[*Syscall, error] {
	return func(yield func(*Syscall, error) bool) {
		t := tracer{Input: in, lines: in.NewReader(), yield: yield, known: map[string]*callName{}, threads: map[int]*tracedThread{}}
		for row := range t.rows() {
			if !t.readRow(row) {
				return
			}
		}
		if t.settleHeld(traceMoment{}) && t.giveUpPart() && t.yieldRest() && t.yieldOpenCalls() && t.lines.Err != nil {
			yield(&Syscall{}, t.lines.Err)
		}
	}
}

// tracer is the state of one pass over a trace.
type tracer struct {
	Input
	lines   *lines.Reader
	yield   func(*Syscall, error) bool
	call    Syscall // what is yielded; a new one would cost more than the line
	known   map[string]*callName
	names   [128]*callName // of the known ones, by length and letters: most are found here
	errnos  lines.Names
	threads map[int]*tracedThread
	unknown int          // lines of threads that were not known, since room was made for them
	recent  [64]struct { // of threads, by the last digits of their ids
		pid int
		th  *tracedThread
	}
	free  []*openCall
	rest  leftOut
	held  heldCall
	clock stamps
	view  CallView
	// execs says that the trace starts with execve, so that no call can have begun before it.
	execs bool
	part  *openCall // a line that strace's messages cut in two
	table *countTable
	// attached says that strace attached to a process before the first call.
	attached bool
}

// tracedThread is a thread with a line.
type tracedThread struct {
	open *openCall // at most one
}

// openCall is a call that has not returned yet.
type openCall struct {
	pid           int
	name          *callName
	raw           []byte // the line so far, without colours and strace's own messages
	quote         []byte // the first line as written, where that is not the start of raw
	first         int    // how much of raw is the first line
	args          int    // where the arguments start in raw
	end           int    // where they end in raw
	at            traceMoment
	line          int // its first one
	lines         int
	mayPrecede    bool // the call may have begun before the trace
	firstOfThread bool // the first line of its thread
	want          bool
}

// attachTime is how long after its first line a trace may still show threads
// that were found inside a call: strace prints them one by one.
const attachTime = 20 * time.Millisecond

// maxThreads bounds what is remembered of threads; a node that is traced at all has fewer at a
// time.
const maxThreads = 1 << 16

// maxParts bounds in how many lines a line may have been cut.
const maxParts = 64

// readRow turns one line into a call or a part of one.
func (t *tracer) readRow(r *traceRow) bool {
	if r.blank && r.cut == 0 {
		return true
	}
	if r.cut > 0 && !t.yieldSkip(r.n, 0, "line of %d bytes is cut at %d", int64(len(r.raw))+r.cut, lines.MaxLine) {
		return false
	}
	if r.own >= 0 {
		return t.settleHeld(traceMoment{}) && t.readOwnMessage(r.n, r.raw, r.own)
	}
	if t.part != nil && continuesLine(r.b) {
		return t.joinPart(r.n, r.b, r.raw)
	}
	l := &r.traceLine
	if l.kind == traceNothing {
		return t.readOther(r.n, r.b, r.raw)
	}
	if t.part != nil && !t.giveUpPart() {
		return false
	}
	t.clock.takeStamp(l)
	if !t.settleHeld(t.clock.now) {
		return false
	}
	th, first := t.lookUpThread(l)
	switch l.kind {
	case traceCall:
		return t.readWholeCall(r, th, first)
	case traceUnfinished, traceCut:
		o := t.beginCall(r.n, l, r.b, r.raw, first)
		if l.kind == traceCut {
			t.part = o
			return true
		}
		return t.suspendCall(o, th)
	case traceResumed:
		return t.resumeCall(r.n, l, th, first, r.b, r.raw)
	case traceExit:
		return t.readExit(r.n, l, th, r.b, r.raw)
	}
	return t.yieldNote(r.n, l.pid, t.clock.now, nil, r.raw)
}

// readOther handles a line that is neither call nor signal nor exit.
func (t *tracer) readOther(n int, b, raw []byte) bool {
	switch {
	case t.isTableRow(b):
		return t.yieldNote(n, 0, traceMoment{}, t.table.readRow(b), raw)
	case isAside(b):
		return t.yieldNote(n, 0, traceMoment{}, nil, raw)
	case t.completesPart(b):
		return t.joinPart(n, b, raw)
	}
	return t.settleHeld(traceMoment{}) && t.yieldSkip(n, 1, "no line of a trace: %.40q", b)
}

// lookUpThread is what is known of the line's thread; first says that this is its first line.
func (t *tracer) lookUpThread(l *traceLine) (th *tracedThread, first bool) {
	if l.pid == 0 {
		l.pid = t.Thread
	}
	slot := &t.recent[l.pid%len(t.recent)]
	if slot.th != nil && slot.pid == l.pid {
		return slot.th, false
	}
	if th = t.threads[l.pid]; th != nil {
		slot.pid, slot.th = l.pid, th
		return th, false
	}
	// Where all threads are in a call, forgetting the others frees no room: it must not be tried with
	// each line.
	const betweenTries = 1024
	if t.unknown++; len(t.threads) >= maxThreads && t.unknown >= betweenTries {
		t.unknown = 0
		maps.DeleteFunc(t.threads, func(_ int, th *tracedThread) bool { return th.open == nil })
		clear(t.recent[:])
	}
	th = t.addThread(l.pid)
	t.execs = t.execs || len(t.threads) == 1 && string(l.name) == "execve"
	return th, true
}

// addThread remembers a thread, while there are not too many of them.
func (t *tracer) addThread(pid int) *tracedThread {
	th := &tracedThread{}
	if len(t.threads) < maxThreads {
		t.threads[pid] = th
	}
	return th
}

func (t *tracer) yieldSkip(n, lines int, format string, args ...any) bool {
	return t.yield(&Syscall{}, t.Skip(n, lines, format, args...))
}

// wantsCall says whether a call matters that has returned on the line l; args is what its first
// line shows of the arguments.
func (t *tracer) wantsCall(name *callName, l *traceLine, args []byte, took time.Duration, known bool, line []byte) bool {
	if t.Calls == nil {
		return t.Wants(line)
	}
	if name.hasLeast && (name.least == 0 || known && took >= name.least || !known && name.fixed && l.kind == traceResumed) {
		return true
	}
	if name.ask == nil {
		return false
	}
	t.view = CallView{PID: l.pid, Name: name.name, Args: args, Result: l.result, Failed: l.failed}
	if l.kind == traceResumed {
		t.view.More = l.args
	}
	return name.ask(&t.view)
}

// yieldNote passes on a line that is no call. Without at it has no time.
func (t *tracer) yieldNote(n, pid int, at traceMoment, count *CallTotal, raw []byte) bool {
	if t.Calls != nil && count == nil {
		t.rest.countLines(n, 1, at, at)
		return true
	}
	s := &t.call
	*s = Syscall{PID: pid, Start: at.eventTime(), Count: count, Pos: event.Pos{File: t.Path, Line: n}, Lines: 1}
	if t.Calls == nil && t.Wants(raw) {
		s.Wanted, s.Raw = true, lines.Clip(raw)
	}
	return t.yield(s, nil)
}

// leftOut are the lines that are only counted.
type leftOut struct {
	lines int
	line  int         // the first of them
	names []*callName // in the order of their first calls
	// from is the earliest moment of any, to the latest: of each clock by itself, for a file may
	// hold traces of several.
	spans [relativeClock + 1]traceSpan
}

type traceSpan struct{ from, to traceMoment }

func (r *leftOut) countLines(n, lines int, from, to traceMoment) {
	if r.lines += lines; r.line == 0 {
		r.line = n
	}
	s := &r.spans[from.clock]
	if s.from.clock == noClock || from.ns < s.from.ns {
		s.from = from
	}
	if s.to.clock == noClock || to.ns > s.to.ns {
		s.to = to
	}
}

// leaveOutCall counts a call that does not matter. It is false where the call must be passed on all
// the same.
func (t *tracer) leaveOutCall(name *callName, n, lines int, at traceMoment, took time.Duration, returned, failed bool) bool {
	if t.Calls == nil || name.nth < 0 {
		return false
	}
	end := at
	end.ns += int64(took)
	t.rest.countLines(n, lines, at, end)
	if !returned {
		return true
	}
	c := &name.rest
	if c.Calls++; c.Calls == 1 {
		c.Name = name.name
		t.rest.names = append(t.rest.names, name)
	}
	if failed {
		c.Errors++
	}
	c.Total += took
	c.Max = max(c.Max, took)
	return true
}

// yieldRest passes on what was only counted.
func (t *tracer) yieldRest() bool {
	r := &t.rest
	if r.lines == 0 {
		return true
	}
	rest := make([]CallTotal, len(r.names))
	for i, name := range r.names {
		rest[i] = name.rest
	}
	spans := slices.DeleteFunc(r.spans[:], func(s traceSpan) bool { return s.from.clock == noClock })
	if len(spans) == 0 {
		spans = r.spans[:1] // without a time
	}
	for _, span := range spans {
		s := &t.call
		*s = Syscall{Start: span.from.eventTime(), Pos: event.Pos{File: t.Path, Line: r.line}, Lines: r.lines, Rest: rest}
		s.Duration, s.HasDuration = span.to.since(span.from)
		s.setSince(span.from)
		if !t.yield(s, nil) {
			return false
		}
		r.lines, rest = 0, nil
	}
	return true
}

func isAside(b []byte) bool { return lines.StartsWith(b, " > ", " | ") }

// readWholeCall handles a call that stands on one line.
func (t *tracer) readWholeCall(r *traceRow, th *tracedThread, first bool) bool {
	if th.open != nil && !t.abandonCall(th, r.n) {
		return false
	}
	l := &r.traceLine
	name := t.lookUpName(l.name)
	wanted := t.wantsCall(name, l, l.args, l.took, l.hasTook, r.raw)
	if t.Calls != nil && !l.hasTook && l.returned() && t.clock.now.clock != noClock {
		t.holdCall(r, name, first, wanted)
		return true
	}
	if !wanted && !first && t.leaveOutCall(name, r.n, 1, t.clock.now, l.took, l.returned(), l.failed) {
		return true
	}
	return t.yield(t.newWholeCall(r.n, l, name, r.raw, t.clock.now, first, wanted), nil)
}

// newWholeCall is a call that stands on one line.
func (t *tracer) newWholeCall(n int, l *traceLine, name *callName, raw []byte, at traceMoment, first, wanted bool) *Syscall {
	s := t.newCall(l.pid, name, at, n, first)
	t.setResult(s, l)
	if wanted {
		s.Wanted, s.Raw = true, lines.Clip(raw)
		s.Args, s.Result = string(l.args), string(l.result)
	}
	return s
}

// newCall makes t.call a call whose first line is n.
func (t *tracer) newCall(pid int, name *callName, at traceMoment, n int, first bool) *Syscall {
	s := &t.call
	*s = Syscall{} // fields are set one by one: a literal would be built and then copied
	s.PID, s.First, s.Name, s.Nth, s.Start = pid, first, name.name, name.nth, at.eventTime()
	s.Pos.File, s.Pos.Line, s.Lines = t.Path, n, 1
	s.setSince(at)
	return s
}

// setResult adds what the line of its end says of a call.
func (t *tracer) setResult(s *Syscall, l *traceLine) {
	s.Duration, s.HasDuration, s.Returned = l.took, l.hasTook, l.returned()
	s.Injected, s.Delayed = l.injected, l.delayed
	if l.failed {
		s.Errno = t.errnos.Intern(l.errno())
	}
}

// heldCall is a call on one line without a length. The next line shows whether it may have taken
// long.
type heldCall struct {
	n             int // its line; 0 without one
	pid           int
	name          *callName
	at            traceMoment
	first, wanted bool
	failed        bool
	b, quote      []byte // as those of openCall
}

func (t *tracer) holdCall(r *traceRow, name *callName, first, wanted bool) {
	h := &t.held
	h.n, h.pid, h.name, h.at, h.first, h.wanted, h.failed = r.n, r.pid, name, t.clock.now, first, wanted, r.failed
	if h.b, h.quote = append(h.b[:0], r.b...), h.quote[:0]; len(r.raw) != len(r.b) {
		h.quote = append(h.quote, r.raw...)
	}
}

// settleHeld passes on the call that is held, if any: now is when the next line shows that it is
// over.
func (t *tracer) settleHeld(now traceMoment) bool {
	h := &t.held
	n := h.n
	if n == 0 {
		return true
	}
	h.n = 0
	most, known := now.since(h.at)
	wanted := h.wanted || known && h.name.hasLeast && most >= h.name.least
	if !wanted && !h.first && t.leaveOutCall(h.name, n, 1, h.at, 0, true, h.failed) {
		return true
	}
	l, raw := scanTrace(h.b), h.b
	l.pid = h.pid
	if len(h.quote) > 0 {
		raw = h.quote
	}
	s := t.newWholeCall(n, &l, h.name, raw, h.at, h.first, wanted)
	s.AtMost = most
	return t.yield(s, nil)
}

// beginCall opens a call. Its line is copied: whether it matters shows at its end.
func (t *tracer) beginCall(n int, l *traceLine, b, raw []byte, first bool) *openCall {
	var o *openCall
	if k := len(t.free); k > 0 {
		o, t.free = t.free[k-1], t.free[:k-1]
	} else {
		o = &openCall{}
	}
	o.pid, o.name, o.raw, o.quote, o.first = l.pid, t.lookUpName(l.name), append(o.raw[:0], b...), o.quote[:0], len(b)
	o.args, o.end, o.at = l.from, l.from+len(l.args), t.clock.now
	o.line, o.lines, o.firstOfThread = n, 1, first
	if len(raw) != len(b) { // colours, or a message of strace
		o.quote = append(o.quote, raw...)
	}
	o.want = o.name.alwaysMatters() || t.Calls == nil && t.Wants(b)
	o.mayPrecede = o.name.name == "restart_syscall" ||
		first && !t.execs && t.clock.known && t.clock.now.sub(t.clock.first) < attachTime
	return o
}

// newOpenCall is an open call as far as it is known.
func (t *tracer) newOpenCall(o *openCall) *Syscall {
	s := t.newCall(o.pid, o.name, o.at, o.line, o.firstOfThread)
	s.AtLeast, s.Lines = o.mayPrecede, o.lines
	return s
}

func (s *Syscall) setSince(at traceMoment) {
	if at.clock == relativeClock {
		s.Since, s.HasSince = time.Duration(at.ns), true
	}
}

// firstLine is the first line as written.
func (o *openCall) firstLine() string {
	if len(o.quote) > 0 {
		return lines.Clip(o.quote)
	}
	return lines.Clip(o.raw[:min(o.first, len(o.raw))])
}

// withoutEnd is an open call whose end is not in the trace.
func (t *tracer) withoutEnd(o *openCall) *Syscall {
	s := t.newOpenCall(o)
	s.Args, s.Raw, s.Wanted = o.argsText(), o.firstLine(), true
	return s
}

// suspendCall files an open call under its thread.
func (t *tracer) suspendCall(o *openCall, th *tracedThread) bool {
	if th.open != nil && !t.abandonCall(th, o.line) {
		return false
	}
	if len(t.threads) >= maxThreads && t.threads[o.pid] != th {
		return t.yieldSkip(o.line, o.lines, "more than %d threads are in a call", maxThreads)
	}
	if len(o.raw) > event.MaxRaw { // enough to know the call by
		o.raw, o.end = o.raw[:event.MaxRaw:event.MaxRaw], min(o.end, event.MaxRaw)
		o.args = min(o.args, o.end)
	}
	th.open = o
	return true
}

// abandonCall passes on a call whose end the trace does not show: a filter of -z or -e status hid
// it.
func (t *tracer) abandonCall(th *tracedThread, n int) bool {
	o := th.open
	th.open = nil
	return t.yield(t.withoutEnd(o), nil) &&
		t.yieldSkip(o.line, 0, "end of %s is missing: the thread is in another call at line %d", o.name.name, n)
}

// argsText is what is known of the arguments.
func (o *openCall) argsText() string { return string(bytes.TrimRight(o.raw[o.args:o.end], " ,")) }

// resumeCall ends the open call that the line belongs to.
func (t *tracer) resumeCall(n int, l *traceLine, th *tracedThread, first bool, b, raw []byte) bool {
	o := t.takeOpenCall(l, th)
	if o == nil {
		return t.yieldEndAlone(n, l, first, b, raw)
	}
	took, known := t.clock.now.since(o.at)
	if l.hasTook {
		took, known = l.took, true
	}
	wanted := o.want || t.wantsCall(o.name, l, o.raw[o.args:o.end], took, known, b)
	t.free = append(t.free, o)
	if !wanted && !o.firstOfThread && t.leaveOutCall(o.name, o.line, o.lines+1, o.at, took, l.returned(), l.failed) {
		return true
	}
	s := t.newOpenCall(o)
	s.Lines++
	s.EndPos = event.Pos{File: t.Path, Line: n}
	t.setResult(s, l)
	s.Duration, s.HasDuration = took, known
	if s.Wanted = wanted; wanted {
		s.Raw, s.EndRaw = o.firstLine(), lines.Clip(raw)
		s.Args, s.Result = joinArgs(o.argsText(), string(l.args)), string(l.result)
	}
	return t.yield(s, nil)
}

// yieldEndAlone passes on the end of a call that the trace began inside.
func (t *tracer) yieldEndAlone(n int, l *traceLine, first bool, b, raw []byte) bool {
	name := t.lookUpName(l.name)
	s := t.newCall(l.pid, name, t.clock.now, n, first)
	t.setResult(s, l)
	s.AtLeast = true
	if l.hasTook {
		s.Start, s.Since = s.Start.Add(-l.took), s.Since-l.took
	}
	if s.Wanted = t.wantsCall(name, l, nil, l.took, l.hasTook, b); s.Wanted {
		s.Raw, s.Args, s.Result = lines.Clip(raw), joinArgs("", string(l.args)), string(l.result)
	}
	return t.yield(s, nil)
}

// takeOpenCall finds the open call that a resumed line ends. On stderr, strace leaves
// the pid out while only one thread is traced, so that either half may lack it.
func (t *tracer) takeOpenCall(l *traceLine, th *tracedThread) *openCall {
	if th.isInCall(l.name) {
		return th.takeCall()
	}
	if l.pid != 0 {
		if th = t.threads[0]; th != nil && th.isInCall(l.name) {
			return th.takeCall()
		}
		return nil
	}
	var only *tracedThread
	for _, th := range t.threads {
		if th.isInCall(l.name) {
			if only != nil {
				return nil
			}
			only = th
		}
	}
	if only == nil {
		return nil
	}
	return only.takeCall()
}

func (th *tracedThread) isInCall(name []byte) bool {
	return th.open != nil && th.open.name.name == string(name)
}

func (th *tracedThread) takeCall() *openCall {
	o := th.open
	th.open = nil
	return o
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

// readExit handles the end of a thread, and an execve that gives its caller the leader's id.
func (t *tracer) readExit(n int, l *traceLine, th *tracedThread, b, raw []byte) bool {
	if to := readSuperseded(b[l.from:]); to != 0 {
		if old := t.threads[to]; old != nil && old.open != nil && th.open == nil {
			th.open = old.takeCall()
			th.open.pid = l.pid
		}
	} else if th.open != nil && l.pid != 0 { // killed inside the call, which prints no result
		o := th.takeCall()
		s := t.withoutEnd(o)
		s.Duration, s.HasDuration = t.clock.now.since(o.at)
		if !t.yield(s, nil) {
			return false
		}
	}
	return t.yieldNote(n, l.pid, t.clock.now, nil, raw)
}

// yieldOpenCalls passes on the calls that are open at the end.
func (t *tracer) yieldOpenCalls() bool {
	var left []*openCall
	for _, th := range t.threads {
		if th.open != nil {
			left = append(left, th.open)
		}
	}
	slices.SortFunc(left, func(a, b *openCall) int {
		return cmp.Or(a.at.compare(b.at), cmp.Compare(a.line, b.line))
	})
	for _, o := range left {
		s := t.withoutEnd(o)
		s.Unfinished, s.AtLeast = true, true
		s.Duration, s.HasDuration = t.clock.last.since(o.at)
		if !t.yield(s, nil) {
			return false
		}
	}
	return true
}

// readOwnMessage cuts a message of strace itself out of a line. What stands before it is the first
// part of a line that goes on below; the trace and the messages share stderr.
func (t *tracer) readOwnMessage(n int, raw []byte, own int) bool {
	t.noteAttached(raw[own:])
	b := raw[:own]
	if bytes.IndexByte(b, '\x1b') >= 0 {
		b = lines.WithoutColours(nil, b)
	}
	l := &traceLine{}
	if l.scan(b); own == 0 || l.kind == traceNothing {
		return t.yieldNote(n, 0, traceMoment{}, nil, raw)
	}
	if !t.giveUpPart() {
		return false
	}
	if l.kind != traceCut {
		before := traceRow{n: n, own: -1, raw: raw[:own], b: b}
		before.scanRow()
		return t.readRow(&before)
	}
	t.clock.takeStamp(l)
	_, first := t.lookUpThread(l)
	t.part = t.beginCall(n, l, b, raw, first)
	return true
}

// attachedProcess is what strace says of the process that it attached to: 1 its pid.
var attachedProcess = regexp.MustCompile(`^strace: Process (\d{1,9}) attached`)

// noteAttached takes the lines without a pid for those of the process that strace attached to
// before the first call, where that was one: lines name theirs while there are several. With -f the
// same message tells of each new thread, too.
func (t *tracer) noteAttached(message []byte) {
	m := attachedProcess.FindSubmatch(message)
	if m == nil || len(t.threads) > 0 || t.Thread != 0 && !t.attached {
		return
	}
	pid, _ := lines.Digits(m[1])
	t.Thread = int(pid)
	if t.attached || bytes.Contains(message, []byte(" with ")) {
		t.Thread = 0
	}
	t.attached = true
}

func continuesLine(b []byte) bool {
	return lines.StartsWith(b, " =>", " <unfinished ...>", " <detached ...>", ", ", ") ", ")")
}

// completesPart says that b makes a whole of the line that was cut in two: output of the traced
// program on the same stderr may cut it anywhere.
func (t *tracer) completesPart(b []byte) bool {
	if t.part == nil || len(t.part.raw) > lines.ReadAhead {
		return false
	}
	n := len(t.part.raw)
	whole := append(t.part.raw, b...)
	t.part.raw = whole[:n]
	l := scanTrace(whole)
	return l.kind != traceCut
}

// joinPart adds the rest to a line that was cut in two, and reads the whole.
func (t *tracer) joinPart(n int, b, raw []byte) bool {
	o := t.part
	t.part = nil
	o.raw = append(o.raw, b...)
	o.lines++
	l := &traceLine{}
	l.scan(o.raw)
	l.pid = o.pid
	switch l.kind {
	case traceCall:
		s := t.newOpenCall(o)
		t.setResult(s, l)
		s.AtLeast = false
		s.EndPos = event.Pos{File: t.Path, Line: n}
		if s.Wanted = o.want || t.wantsCall(o.name, l, l.args, l.took, l.hasTook, b); s.Wanted {
			s.Raw, s.EndRaw = o.firstLine(), lines.Clip(raw)
			s.Args, s.Result = string(l.args), string(l.result)
		}
		return t.yield(s, nil)
	case traceUnfinished:
		o.end = o.args + len(l.args)
		return t.suspendEarlier(o)
	}
	if o.end = len(o.raw); o.lines >= maxParts {
		return t.suspendEarlier(o)
	}
	t.part = o // still not whole
	return true
}

// giveUpPart treats a line that was cut in two and never went on as a call that did
// not return: with -ff that is how one looks.
func (t *tracer) giveUpPart() bool {
	o := t.part
	t.part = nil
	return o == nil || t.suspendEarlier(o)
}

// suspendEarlier files a call that was read earlier.
func (t *tracer) suspendEarlier(o *openCall) bool {
	th := t.threads[o.pid]
	if th == nil {
		th = t.addThread(o.pid)
	}
	return t.suspendCall(o, th)
}
