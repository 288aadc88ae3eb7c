package traces

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"regexp"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// traceKind is the shape of one line of a trace.
type traceKind uint8

const (
	traceNothing    traceKind = iota
	traceCall                 // close(3) = 0 <0.000013>
	traceUnfinished           // recvfrom(5,  <unfinished ...>  or  <detached ...>
	traceResumed              // <... recvfrom resumed>0x13c3, 65536) = 12 <0.1>
	traceCut                  // futex(0x601f18, FUTEX_WAIT: the rest is elsewhere, or missing
	traceSignal               // --- SIGURG {…} ---
	traceExit                 // +++ exited with 0 +++
)

// traceLine is one line taken apart; its slices are parts of the line.
type traceLine struct {
	kind traceKind
	pid  int
	// from is where the arguments start in the line, or the text of a signal or an exit.
	from     int
	at       traceMoment   // the stamp: since the epoch, or since midnight
	delta    time.Duration // of -r: since the line before
	hasDelta bool
	name     []byte
	args     []byte
	result   []byte
	took     time.Duration
	hasTook  bool
	failed   bool // the result has an errno
	injected bool
	delayed  bool
}

// traceClock says what the stamp of a line is.
type traceClock uint8

const (
	noClock       traceClock = iota
	faceClock                // -t, -tt: the time of day
	epochClock               // -ttt
	relativeClock            // -r alone: moments since the first line
)

func scanTrace(b []byte) (l traceLine) {
	l.scan(b)
	return l
}

// scan takes a line apart; l must be zero. The order of what may stand before the call is that of
// strace's printleader: pid, absolute and relative time, syscall number, instruction pointer.
func (l *traceLine) scan(b []byte) {
	all := len(b)
	b = l.scanPID(b)
	b = l.scanTimes(b)
	for len(b) > 2 && b[0] == '[' { // -n, -i, a security context
		end := bytes.Index(b, []byte("] "))
		if end < 0 {
			return
		}
		b = b[end+2:]
	}
	l.from = all - len(b)
	switch {
	case len(b) < 3:
	case b[0] == '-' && bytes.HasPrefix(b, []byte("--- ")):
		l.kind = traceSignal
	case b[0] == '+' && bytes.HasPrefix(b, []byte("+++ ")):
		l.kind = traceExit
	case b[0] == '<':
		l.scanResumed(b)
	default:
		n := callNameLength(b)
		if n == 0 || n >= len(b) || b[n] != '(' {
			break
		}
		l.name = b[:n]
		l.from += n + 1
		l.scanCall(b[n+1:])
	}
}

// callNameLength is the length of the name of a call at the start of b; a digit does not begin one.
func callNameLength(b []byte) int {
	if len(b) == 0 || lines.IsDigit(b[0]) {
		return 0
	}
	n := 0
	for n < len(b) && inName[b[n]] {
		n++
	}
	return n
}

// inName are the bytes of names of calls. Strace names one that it does not know "???" or
// "syscall_0x1c3".
var inName = func() (in [256]bool) {
	for c := range in {
		in[c] = c == '_' || c == '?' || c|0x20 >= 'a' && c|0x20 <= 'z' || lines.IsDigit(byte(c))
	}
	return in
}()

// scanPID reads "[pid 18307] " of stderr and "9100  " of a file, either with <comm> (-Y).
func (l *traceLine) scanPID(b []byte) []byte {
	rest := b
	bracket := len(b) > 0 && b[0] == '[' && bytes.HasPrefix(b, []byte("[pid "))
	if bracket {
		rest = bytes.TrimLeft(b[5:], " ")
	}
	pid, n := lines.Digits(rest)
	if n == 0 || n >= len(rest) || pid > kernel.MaxPID {
		return b
	}
	if rest[n] == '<' {
		end := bytes.Index(rest, []byte("> "))
		if bracket {
			end = bytes.Index(rest, []byte(">] "))
		}
		if end < 0 {
			return b
		}
		n = end + 1
	}
	if bracket {
		if rest[n] != ']' {
			return b
		}
		n++
	}
	if n >= len(rest) || rest[n] != ' ' {
		return b
	}
	l.pid = int(pid)
	rest = rest[n+1:]
	if bracket {
		return rest
	}
	// The pid is padded to five; with -r the blanks may also be padding of the delta.
	return bytes.TrimLeft(rest, " ")
}

// scanTimes reads the absolute stamp (-t, -tt, -ttt, any precision) and the relative one (-r).
func (l *traceLine) scanTimes(b []byte) []byte {
	if len(b) > 8 && lines.IsDigit(b[0]) {
		if l.scanMicro(b) {
			b = b[16:]
		} else if face, prec, n := stamp.TimeOfDay(b); n > 0 && n < len(b) && b[n] == ' ' {
			l.at = traceMoment{int64(face), prec, faceClock}
			b = b[n+1:]
		} else if t, n := stamp.Epoch(b); n > 0 && n < len(b) && b[n] == ' ' {
			l.at = traceMoment{t.T.UnixNano(), t.Prec, epochClock}
			b = b[n+1:]
		}
	}
	rest := b
	if len(b) > 2 && b[0] == '(' && b[1] == '+' {
		rest = b[2:]
	} else if l.at.clock != noClock || len(b) == 0 || b[0] != ' ' && !lines.IsDigit(b[0]) {
		return b
	}
	rest = bytes.TrimLeft(rest, " ")
	delta, whole, n := readSeconds(rest)
	if rest = rest[n:]; whole == 0 || n == whole || len(rest) < 2 {
		return b
	}
	if rest[0] == ')' {
		rest = rest[1:]
	}
	l.delta, l.hasDelta = delta, true
	return bytes.TrimLeft(rest, " ")
}

// scanMicro reads "18:25:36.238768 ", the stamp of -tt, which nearly every trace has.
func (l *traceLine) scanMicro(b []byte) bool {
	if len(b) < 17 {
		return false
	}
	face, isFace := faceColumns.read(b)
	frac, isFrac := fracColumns.read(b[8:])
	h, m, s := face&255*10+face>>8&255, face>>24&255*10+face>>32&255, face>>48&255*10+face>>56
	if !isFace || !isFrac || h > 23 || m > 59 || s > 60 {
		return false
	}
	l.at = traceMoment{int64(h*3600+m*60+s)*1e9 + readSixDigits(frac<<8)*1e3, time.Microsecond, faceClock}
	return true
}

// scanTook reads " <0.000013>" at the end, which -T leaves behind a call of less than ten seconds.
func (l *traceLine) scanTook(b []byte) bool {
	n := len(b)
	if n < 11 || b[n-11] != ' ' || b[n-10] != '<' || b[n-1] != '>' {
		return false
	}
	v, ok := tookColumns.read(b[n-9:])
	if ok {
		l.took, l.hasTook = time.Duration(int64(v&255)*1e9+readSixDigits(v)*1e3), true
	}
	return ok
}

// columns are eight bytes of a fixed form, read at once: each line of a trace has three such words.
type columns struct{ form, room uint64 }

var (
	faceColumns = newColumns("00:00:00")
	fracColumns = newColumns(".000000 ")
	tookColumns = newColumns("0.000000")
)

// newColumns takes a form in which 0 stands for any digit, and all else for itself.
func newColumns(form string) (c columns) {
	for i := range 8 {
		// what a byte may grow by before its top bit shows: none but 0 is right
		room := uint64(0x7f)
		if form[i] == '0' {
			room = 0x7f - 9
		}
		c.form |= uint64(form[i]) << (8 * i)
		c.room |= room << (8 * i)
	}
	return c
}

// read gives the values of the digits, the first one lowest, and 0 for what stands for itself.
func (c *columns) read(b []byte) (values uint64, ok bool) {
	v := binary.LittleEndian.Uint64(b) ^ c.form
	return v, (v|(v+c.room))&0x8080808080808080 == 0
}

// readSixDigits is the number of the six values in the upper bytes of v, two of which make one at
// each step.
func readSixDigits(v uint64) int64 {
	v &^= 0xffff
	v = (v*10 + v>>8) & 0x00ff00ff00ff00ff
	v = (v*100 + v>>16) & 0x0000ffff0000ffff
	return int64((v*10000 + v>>32) & 0xffffffff)
}

// scanResumed reads "<... name resumed>args) = result".
func (l *traceLine) scanResumed(b []byte) {
	if !bytes.HasPrefix(b, []byte("<... ")) {
		return
	}
	n := callNameLength(b[5:])
	rest, ok := bytes.CutPrefix(b[5+n:], []byte(" resumed>"))
	if n == 0 || !ok {
		return
	}
	l.name = b[5 : 5+n]
	// Killed inside the call: "<... clock_nanosleep resumed> <unfinished ...>) = ?"
	rest, _ = bytes.CutPrefix(rest, unfinished)
	l.from += len(b) - len(rest)
	l.scanCall(rest)
	if l.kind == traceCall {
		l.kind = traceResumed
	} else {
		l.kind = traceNothing
	}
}

var (
	unfinished = []byte(" <unfinished ...>")
	detached   = []byte(" <detached ...>")
)

// scanCall splits what follows the name into arguments, result and strace's marks.
func (l *traceLine) scanCall(b []byte) {
	if n := len(b); n > 4 && b[n-1] == '>' && b[n-2] == '.' {
		args, ok := bytes.CutSuffix(b, unfinished)
		if !ok {
			args, ok = bytes.CutSuffix(b, detached)
		}
		if ok {
			l.kind, l.args = traceUnfinished, args
			return
		}
	}
	end, result := splitResult(b)
	if end < 0 {
		l.kind, l.args = traceCut, b
		return
	}
	l.kind, l.args = traceCall, b[:end]
	l.scanResult(b[result:])
}

// splitResult finds the ") = " between arguments and result: end is where the
// arguments end, result where the result starts; end is -1 without one. Strings
// and decorated paths may hold the same text, so quotes are stepped over, and of several
// candidates the first outside of <…> is taken.
func splitResult(b []byte) (end, result int) {
	end = -1
	several := false
	for i := 0; i < len(b); {
		q := bytes.IndexByte(b[i:], '"')
		stop := len(b)
		if q >= 0 {
			stop = i + q
		}
		for from := i; ; {
			p := bytes.IndexByte(b[from:stop], ')')
			if p < 0 {
				break
			}
			from += p + 1
			if r := resultAfter(b, from); r > 0 {
				if end >= 0 {
					several = true
				} else {
					end, result = from-1, r
				}
			}
		}
		if q < 0 {
			break
		}
		if i = lines.QuoteEnd(b, stop+1) + 1; i == 0 {
			break // an open string: the line is cut, or what follows is a program's own output
		}
	}
	if several {
		return splitDecorated(b)
	}
	return end, result
}

// resultAfter is the offset behind the " = " that stands at i, with blanks in front of it as strace
// aligns results; 0 without one. The blank behind it may be missing at the end of b.
func resultAfter(b []byte, i int) int {
	from := i
	i = lines.SkipBlanks(b, i)
	if i == from || i >= len(b) || b[i] != '=' || i+1 < len(b) && b[i+1] != ' ' {
		return 0
	}
	return min(i+2, len(b))
}

// splitDecorated is splitResult for a line where " = " occurs in a decoration such as
// 3</tmp/a) = 0>. A < opens one when it follows a digit or AT_FDCWD; -> and << do not count.
func splitDecorated(b []byte) (end, result int) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = lines.QuoteEnd(b, i+1); i < 0 {
				return -1, 0
			}
		case '<':
			if i+1 < len(b) && b[i+1] == '<' {
				i++
			} else if i > 0 && (lines.IsDigit(b[i-1]) || b[i-1] == 'D') || depth > 0 {
				depth++
			}
		case '>':
			if depth > 0 && b[i-1] != '-' {
				depth--
			}
		case ')':
			if r := resultAfter(b, i+1); depth == 0 && r > 0 {
				return i, r
			}
		}
	}
	return -1, 0
}

// scanResult reads "-1 EINVAL (Invalid argument) (INJECTED) (DELAYED) <60.000173>".
func (l *traceLine) scanResult(b []byte) {
	b = bytes.TrimRight(b, " ")
	if l.scanTook(b) {
		b = bytes.TrimRight(b[:len(b)-11], " ")
	} else if n := len(b); n > 2 && b[n-1] == '>' {
		if open := bytes.LastIndexByte(b, '<'); open > 0 && b[open-1] == ' ' {
			if took, whole, all := readSeconds(b[open+1 : n-1]); whole > 0 && open+1+all == n-1 {
				l.took, l.hasTook = took, true
				b = bytes.TrimRight(b[:open], " ")
			}
		}
	}
	if rest, ok := bytes.CutSuffix(b, []byte(" (DELAYED)")); ok {
		l.delayed, b = true, rest
	}
	if len(b) > 0 && b[len(b)-1] == ')' {
		if i := bytes.LastIndexByte(b, '('); i > 0 && bytes.HasPrefix(b[i:], []byte("(INJECTED")) {
			l.injected, b = true, bytes.TrimRight(b[:i], " ")
		}
	}
	l.result = b
	l.failed = len(b) > 3 && (b[0] == '-' || b[0] == '?') && (bytes.HasPrefix(b, []byte("-1 E")) || bytes.HasPrefix(b, []byte("? E")))
}

// errno is "EINVAL"; nil for a call that has not failed.
func (l *traceLine) errno() []byte {
	if !l.failed {
		return nil
	}
	b := l.result[bytes.IndexByte(l.result, 'E'):]
	return b[:callNameLength(b)]
}

// returned says that the call came back: a bare "?" is the result of one that never did, as
// exit_group.
func (l *traceLine) returned() bool {
	return len(l.result) > 0 && (l.failed || l.result[0] != '?')
}

// ownMessages is how strace writes about itself: "strace: Process 18301 attached with 9 threads",
// perhaps with its path in front, and before 4.11 "Process 2613 attached (waiting for parent)".
var ownMessages = regexp.MustCompile(`(?:/[\w./-]*)?strace: (?:Process |\[ Process |attach: |Can't |Could not |exec: )` +
	`|Process \d+ (?:attached|detached|suspended|resumed)`)

// findOwnMessage finds what strace says about itself; -1 when there is none.
func findOwnMessage(b []byte) int {
	if len(b) == 0 {
		return -1
	}
	// the end of -T, of a mark, of a result: none of its messages ends so
	if c := b[len(b)-1]; c == '>' || c == ')' || lines.IsDigit(c) {
		return -1
	}
	if !bytes.Contains(b, []byte("strace: ")) && !bytes.Contains(b, []byte("Process ")) {
		return -1
	}
	at := ownMessages.FindIndex(b)
	if at == nil || bytes.Count(b[:at[0]], []byte{'"'})%2 == 1 { // in a string argument
		return -1
	}
	return at[0]
}

// readSuperseded reads "+++ superseded by execve in pid 10 +++"; 0 for any other line.
func readSuperseded(b []byte) int {
	rest, ok := bytes.CutPrefix(b, []byte("+++ superseded by execve in pid "))
	if !ok {
		return 0
	}
	pid, _ := lines.Digits(rest)
	return int(pid)
}

// isStrace says that a line is one of a trace beyond doubt.
func isStrace(line []byte) bool {
	if bytes.IndexByte(line, '\x1b') >= 0 {
		line = lines.WithoutColours(nil, line)
	}
	switch l := scanTrace(line); l.kind {
	case traceCall, traceUnfinished, traceResumed:
		return true
	case traceSignal, traceExit:
		return bytes.HasSuffix(line, []byte("---")) || bytes.HasSuffix(line, []byte("+++"))
	}
	return findOwnMessage(line) >= 0
}

// traceMoment is a moment on the axis of its trace.
type traceMoment struct {
	ns    int64
	prec  time.Duration // how fine its stamp is
	clock traceClock    // noClock: unknown
}

// eventTime is the moment for the outside: unknown when there is only -r.
func (m traceMoment) eventTime() event.Time {
	switch m.clock {
	case faceClock:
		return event.Time{T: time.Unix(stamp.YearZero*86400+m.ns/1e9, m.ns%1e9).UTC(), Lacks: stamp.NoDate, Prec: m.prec, Known: true}
	case epochClock:
		return event.Time{T: time.Unix(m.ns/1e9, m.ns%1e9).UTC(), Prec: m.prec, Known: true}
	}
	return event.Time{}
}

func (m traceMoment) sub(from traceMoment) time.Duration { return time.Duration(m.ns - from.ns) }

// since is how long after another moment this one is. Ok is false when the trace does not show it.
func (m traceMoment) since(from traceMoment) (d time.Duration, ok bool) {
	if m.clock == noClock || m.clock != from.clock {
		return 0, false
	}
	return max(0, m.sub(from)), true
}

func (m traceMoment) compare(with traceMoment) int {
	return cmp.Or(cmp.Compare(m.clock, with.clock), cmp.Compare(m.ns, with.ns))
}

// stamps turns the stamps of a trace into moments that can be subtracted.
type stamps struct {
	first, last traceMoment
	now         traceMoment // of the line that was seen last
	known       bool
	// days are the nanoseconds of the whole days since the first stamp, for stamps without a date.
	days     int64
	prev     int64 // the last time of day as written
	relative int64 // of -r alone, since the first line
}

const halfDay = int64(12 * time.Hour)

// takeStamp takes note of the next line's stamp.
func (c *stamps) takeStamp(l *traceLine) {
	now := l.at
	switch {
	case now.clock == faceClock:
		// A step of 12 hours is midnight; a shorter one is lines that are a little out of order.
		if step := now.ns - c.prev; c.known && step < -halfDay {
			c.days += 2 * halfDay
		} else if c.days > 0 && step > halfDay {
			c.days -= 2 * halfDay
		}
		c.prev = now.ns
		now.ns += c.days
	case now.clock == epochClock:
	case l.hasDelta:
		c.relative += int64(l.delta)
		now = traceMoment{ns: c.relative, clock: relativeClock}
	}
	c.now = now
	if now.clock == noClock {
		return
	}
	if !c.known || c.first.clock != now.clock {
		c.first, c.last, c.known = now, now, true
	}
	if now.ns > c.last.ns {
		c.last = now
	}
}
