// Package logs turns logs into event.Record: journals in all their forms, syslog, dmesg, klog,
// logrus, the log files of containers, and plain text. It holds no more than one line, and messages
// that are written in several pieces (64 MiB).
package logs

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/pairs"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
	"github.com/plegdiag/plegdiag/internal/parse/tailed"
)

// ReadLines reads every log format that is written line by line: journald's and syslog's text,
// journald's JSON, klog, logrus and plain text. Each line is read by what it looks like, whatever
// the lines around it are, because files are excerpts, concatenations and pastes.
//
// A line without a header is a record of its own at the time of the last dated line.
func ReadLines(in lines.Input) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		l := newLogReader(in, yield)
		head := l.lines.Head(wrapHead)
		if text, ok := lines.WithoutBlankLines(head); ok {
			head, l.doubled = text, true
		}
		l.boot = kernel.IsBootLog(head, hasStart)
		l.pad = lines.FindPad(head)
		if l.limit = findLimit(head); l.limit == 0 {
			l.width = findWidth(head, l.pad)
		}
		switch {
		case l.width > 0:
			l.readFile(l.readWrapped, l.endWrappedFile)
		case l.limit > 0 || isBroken(head):
			l.readFile(l.readBroken, l.endWrappedFile)
		case isJoined(head):
			l.readFile(l.readJoined, l.endFile)
		default:
			l.readAhead()
		}
	}
}

func newLogReader(in lines.Input, yield func(event.Record, error) bool) logReader {
	return logReader{Input: in, lines: in.NewReader(), yield: yield}
}

// readFile calls read with each line until it is false, at the end end, and yields why the file
// ended early.
func (l *logReader) readFile(read func(lines.Line) bool, end func() bool) {
	for l.lines.Next() {
		if !read(l.lines.Line) {
			return
		}
	}
	l.yieldEnd(end)
}

// readAhead reads a file whose lines stand as they were written.
func (l *logReader) readAhead() {
	ahead := l.rowsAhead()
	for row := range ahead.All() {
		if !l.readRow(row.Line, &row.Of) {
			return
		}
	}
	l.yieldEnd(l.endFile)
}

// yieldEnd gives out what the end of the file leaves open, and why it ended early.
func (l *logReader) yieldEnd(end func() bool) {
	if end() && l.lines.Err != nil {
		l.yield(event.Record{}, l.lines.Err)
	}
}

func (l *logReader) endWrappedFile() bool { return l.endWrapped() && l.endFile() }

// endFile gives out what the end of the file leaves open.
func (l *logReader) endFile() bool {
	return l.endPretty() && l.endPart(0) && l.endPart(1) && l.closeAll()
}

// logReader is the state of one pass over one file.
type logReader struct {
	lines.Input
	lines *lines.Reader
	yield func(event.Record, error) bool
	units lines.Names
	hosts lines.Names
	files lines.Names // of klog's callers
	last  writer      // of the last line with a time, for those without
	open  []*held
	json  jsonEntry
	// nested is the object that a logger wrote into the current message.
	nested jsonEntry
	// prev is the last record, for a syslog daemon that says that it came again; only when it was
	// wanted.
	prev  event.Record
	plain []byte // the current line without its colours
	// coloured is the line of the current object with its colours; nil without any.
	coloured []byte
	pretty   []byte // an object on several lines that is not closed yet
	started  int    // where it starts; 0 outside of one
	quote    []byte // its line that holds the message
	quoted   int
	filled   int      // its lines that are not blank
	parts    [2]*part // messages of a container that are not whole yet, of stdout and of stderr
	wrapped
	message int    // of the current line, of which it has several; 0 for the first
	boot    bool   // the kernel's lines have no stamps
	section string // the unit of lines that name none, by the line that tail prints above them
	// status is the unit whose systemctl status the current lines are from; empty outside of one.
	status string
}

// writer is who wrote a line, and when.
type writer struct {
	time       event.Time
	unit, host string
	pid        int
}

// readLine turns one line into a record. It returns false when the consumer has had enough.
func (l *logReader) readLine(line lines.Line) bool {
	var s scannedLine
	s.scanLine(lineBody(line.Bytes), true, l.Literals)
	return l.readRow(line, &s)
}

// readRow is readLine for a line that was looked at.
func (l *logReader) readRow(line lines.Line, s *scannedLine) bool {
	if lines.IsBlank(line.Bytes) && line.Cut == 0 {
		return l.readBlank()
	}
	if err := l.CutSkip(line); err != nil && !l.yield(event.Record{}, err) {
		return false
	}
	if l.started > 0 {
		return l.readPretty(line.N, lines.TrimReturn(line.Bytes))
	}
	b := lineBody(line.Bytes)
	switch {
	case s.object >= 0:
		return l.readJSON(line.N, b[s.object:])
	case s.headed:
		return l.readHeaded(line.N, b, b, s)
	}
	return l.readText(line.N, b)
}

// readText reads a line that is no JSON, and may have colours.
func (l *logReader) readText(n int, b []byte) bool {
	s, raw := scannedLine{header: scanHeader(b)}, b
	if (s.header.body == plain || s.header.body == none) && bytes.IndexByte(b, '\x1b') >= 0 {
		l.plain = lines.WithoutColours(l.plain[:0], b)
		b = l.plain
		if len(b) > 0 && b[0] == '{' {
			l.coloured = raw
			more := l.readJSON(n, b)
			l.coloured = nil
			return more
		}
		s.header = scanHeader(b)
	}
	return l.readHeaded(n, raw, b, &s)
}

// readHeaded reads a line whose header is known; b is raw without its colours.
func (l *logReader) readHeaded(n int, raw, b []byte, s *scannedLine) bool {
	h := &s.header
	if h.body == none {
		quoted := cutQuoted(b, quotations)
		if quoted == nil {
			if code := lines.WholeCode(b); code != nil && len(raw) == len(b) {
				raw, b = code, code
			}
			return l.readContinuation(n, raw, lines.CutQuoteMarks(b), s)
		}
		b, *s = quoted, scannedLine{header: scanHeader(quoted)}
	}
	if h.body == plain && h.msg < len(b) && b[h.msg] == '{' {
		l.nested.readNested(h, b[h.msg:])
	}
	rec := l.newRecord(n, h)
	switch {
	case h.body == created:
		rec.Outer = createdAt(b)
		return l.yield(rec, nil)
	case h.body == banner:
		if rec.Outer = bannerEnd(b); bytes.HasPrefix(b, []byte(event.RebootBanner)) {
			rec.Wanted, rec.Text, rec.Raw = true, event.RebootBanner, l.quoteLine(raw)
		}
		return l.yield(rec, nil)
	case h.sameAsBefore && h.repeats > 0:
		return l.readLastRepeated(rec, raw)
	case h.repeats > 0:
		b = bytes.TrimSuffix(b, []byte{']'})
		h.msg = min(h.msg, len(b))
	}
	if h.container {
		if i := h.streamIndex(); h.part || l.parts[i] != nil {
			rec.Raw = l.quoteLine(raw)
			return l.readPart(i, rec, h, b)
		}
	}
	if l.open != nil {
		if done, ok := l.extendHeld(&rec, h, b[h.msg:]); done {
			return ok
		}
	}
	if !l.wants(s, b[h.msg:]) {
		return l.yield(rec, nil)
	}
	text := string(b)
	if rec.Raw = lines.Clip(strings.TrimRight(text, " \t")); l.held || len(raw) != len(b) {
		rec.Raw = l.quoteLine(raw)
	}
	return l.yieldMessage(rec, h, text[h.msg:])
}

// readLastRepeated reads "last message repeated 3 times": the record before it once more, at this
// time.
func (l *logReader) readLastRepeated(rec event.Record, raw []byte) bool {
	rec.Unit, rec.PID, rec.Level = l.last.unit, l.last.pid, l.prev.Level
	if l.prev.Wanted {
		rec.Wanted, rec.Text, rec.Fields, rec.Raw = true, l.prev.Text, l.prev.Fields, l.quoteLine(raw)
	}
	return l.yield(rec, nil)
}

// nodePrefixLength is where a JSON record begins behind the node that talosctl logs puts before
// every line; 0 when nothing stands there:
//
//	10.200.1.3: {"ts":1753121294157.29,"caller":"internal/log.go:32","msg":…
func nodePrefixLength(b []byte) int {
	const longest = 64 // an address or a name, and the colon
	i := bytes.Index(b[:min(len(b), longest)], beforeObject)
	if i <= 0 || bytes.IndexByte(b[:i], ' ') >= 0 {
		return 0
	}
	return i + len(": ")
}

// newRecord is a record with what the header says. It allocates nothing.
func (l *logReader) newRecord(n int, h *header) event.Record {
	rec := event.Record{
		Pos: event.Pos{File: l.Path, Line: n, Message: l.message}, Lines: 1 + l.more,
		Time: h.carrier, Uptime: h.uptime, PID: h.pid, Level: h.level, Contained: h.container,
	}
	if h.inner.Known {
		rec.Time, rec.Outer = h.inner, h.carrier
	}
	if rec.Repeats = h.repeats; h.repeats == 0 {
		l.prev.Wanted = false
		if h.sameAsBefore && !rec.Time.Known {
			rec.Time = l.last.time
		}
	}
	switch {
	case len(h.unit) > 0:
		rec.Unit = l.units.Intern(h.unit)
	case h.body != banner:
		rec.Unit = l.section
	}
	if len(h.caller) > 0 {
		rec.Caller = l.files.Intern(h.caller)
	}
	if len(h.host) > 0 {
		rec.Host = l.hosts.Intern(h.host)
	}
	if h.repeats == 0 && rec.Time.Known {
		l.last = writer{rec.Time, rec.Unit, rec.Host, rec.PID}
	}
	return rec
}

// yieldMessage finishes a wanted record; msg is what follows its headers.
func (l *logReader) yieldMessage(rec event.Record, h *header, msg string) bool {
	rec.Wanted = true
	if h.body == klog || h.body == plain {
		msg = strings.TrimRight(msg, " \t") // with which a terminal fills its rows
	}
	switch h.body {
	case inJSON:
		rec.Text, rec.Fields = l.nested.message.text(), l.nested.otherFields()
	case terminal:
		rec.Text, rec.Fields = pairs.ParseTerminal(msg)
	case klog:
		if h.carried {
			msg = lines.UndoOctal(msg)
		}
		if strings.HasSuffix(msg, "=<") { // klog writes a value of several lines as a block
			return l.holdMessage(&held{rec: rec, body: klog, bare: !h.carried, raw: []byte(msg)})
		}
		rec.Text, rec.Fields = pairs.ParseKlog(msg)
	case logrus:
		return l.readLogrus(rec, h, msg)
	default:
		rec.Text = lines.UndoEscapes(msg)
		if h.carried {
			rec.Text = lines.UndoOctal(rec.Text)
		}
	}
	return l.yieldRecord(rec)
}

// yieldRecord yields a record that is complete, with a remark when journald printed a size instead
// of its text.
func (l *logReader) yieldRecord(rec event.Record) bool {
	if strings.HasSuffix(rec.Text, "B blob data]") && strings.HasPrefix(rec.Text, "[") && len(rec.Text) < 32 {
		rec.Lost = true
		if !l.yieldSkip(rec.Pos.Line, 0, "journalctl printed %q for a message that is not UTF-8, or long; collect it again with journalctl -o export", rec.Text) {
			return false
		}
	}
	l.placeWrapped(&rec)
	for i := range rec.Pieces { // those of a message whose quotes and keys were taken off
		rec.Pieces[i].Off = min(rec.Pieces[i].Off, len(rec.Text))
	}
	if l.prev = rec; len(rec.Pieces) > 0 {
		l.prev.Wanted = false
	}
	return l.yield(rec, nil)
}

// yieldSkip names n lines that cannot be read; with n 0 it is a remark about a line that is used.
func (l *logReader) yieldSkip(first, n int, format string, args ...any) bool {
	return l.yield(event.Record{}, l.Skip(first, n, format, args...))
}

// readContinuation reads a line without a header: the next line of a message, or text of no known
// shape. B is raw without its colours.
func (l *logReader) readContinuation(n int, raw, b []byte, s *scannedLine) bool {
	rec := event.Record{
		Pos: event.Pos{File: l.Path, Line: n, Message: l.message}, Lines: 1 + l.more,
		Time: l.last.time, Unit: cmp.Or(l.last.unit, l.section), Host: l.last.host, PID: l.last.pid,
	}
	if rec.Unit == "systemd" && l.last.pid == 1 && len(b) > 0 && (b[0] == ' ' || b[0] == '\t') { // whose messages have one line each
		rec.Unit, rec.PID = "", 0
	}
	if name, ok := tailed.CutName(b); ok { // whoever wrote the lines before says nothing of what follows
		l.last, l.status, l.section = writer{}, "", tailed.Writer(name)
		return l.closeAll() && l.yield(event.Record{Pos: rec.Pos, Lines: rec.Lines}, nil)
	}
	if l.open != nil {
		if done, ok := l.extendBareHeld(&rec, b); done {
			return ok
		}
	}
	if t, ok := readOwnStamp(b); ok && l.open == nil {
		l.last = writer{time: t} // of the lines below, whoever wrote them
		return l.yield(event.Record{Pos: rec.Pos, Lines: rec.Lines, Time: t}, nil)
	}
	if t, host, ok := stamp.Broadcast(b); ok && l.open == nil {
		l.last = writer{time: t, host: host} // of the line below, which says who wrote it
		return l.yield(event.Record{Pos: rec.Pos, Lines: rec.Lines, Time: t, Host: host}, nil)
	}
	if l.boot && rec.Unit == "" && kernel.IsBootLine(b) {
		rec.Unit = "kernel"
	}
	if l.followStatus(b); l.status != "" {
		rec = event.Record{Pos: rec.Pos, Lines: rec.Lines} // of no line before
	}
	if lines.IsNoise(b) {
		return l.yieldSkip(n, 1, "not text: %.40q", b)
	}
	if !l.wants(s, b) {
		return l.yield(rec, nil)
	}
	rec.Wanted, rec.Text = true, string(b)
	if rec.Raw = lines.Clip(rec.Text); len(raw) != len(b) {
		rec.Raw = lines.Clip(raw)
	}
	rec.Text = lines.UndoEscapes(rec.Text)
	if text, fields := pairs.ParseKlog(rec.Text); len(fields) > 0 && rec.Unit == "" {
		rec.Text, rec.Fields = text, fields // a message of klog without its header, as pages of logs show it
	}
	if l.status != "" {
		rec.Fields = []event.Pair{{Key: "unit", Value: l.status}}
	}
	return l.yieldRecord(rec)
}

// maxHeld bounds what is held of messages that may go on, in bytes: the largest dump seen is 1/100
// of it.
const maxHeld = 64 << 20

// leastCut is less than what any carrier cuts off a long message: 16 KiB in containers' logs, 48
// KiB in journald.
const leastCut = 4 << 10

// maxOpen bounds how many messages may be open at once.
const maxOpen = 64

// held is a message that goes on in later lines. journald cuts a long logrus message,
// such as a goroutine dump, into entries of LineMax (48 KiB) bytes; the later ones have no
// logrus header, and other writers' entries stand between them. A paste into a
// ticket is wrapped instead. klog writes a value of several lines as a block:
//
//	"Failed" err=<
//		first line
//		second line
//	 > pod="a/b"
type held struct {
	rec    event.Record
	body   body   // logrus or klog
	bare   bool   // without a carrier: the rest is on lines without a header
	raw    []byte // the pairs as written so far, still escaped
	quoted bool   // raw ends inside a quoted value
	// lines says that each piece is a line of its own: logrus before 1.0.3 wrote line breaks as
	// they are.
	lines  bool
	bounds []int // where in raw each piece starts
	pieces []event.Pos
	blanks int // blank lines since the last piece; part of the message if it goes on
}

// readLogrus finishes a wanted logrus record, or holds it when its message goes on elsewhere.
func (l *logReader) readLogrus(rec event.Record, h *header, written string) bool {
	text, fields, _, open := pairs.ParseLogrus(written, nil)
	if !open && !(strings.HasSuffix(written, ` \`) && !h.carried) {
		if rec.Text, rec.Fields = text, fields; h.child {
			unpackChild(&rec)
		}
		return l.yieldRecord(rec)
	}
	return l.holdMessage(&held{
		rec: rec, body: logrus, bare: !h.carried, raw: []byte(written), quoted: open, bounds: []int{0}, pieces: []event.Pos{rec.Pos},
	})
}

// unpackChild takes the line of a child out of the message of its supervisor; see
// [header.scanChild].
func unpackChild(rec *event.Record) {
	h := header{carried: true}
	rec.Fields = nil // the supervisor's
	if !h.scanInner([]byte(rec.Text)) {
		return
	}
	switch said := rec.Text[h.msg:]; h.body {
	case klog:
		rec.Text, rec.Fields = pairs.ParseKlog(said)
	case logrus:
		rec.Text, rec.Fields, _, _ = pairs.ParseLogrus(said, nil)
	}
}

// holdMessage keeps a message until it is whole, and yields the oldest when there are too many.
func (l *logReader) holdMessage(o *held) bool {
	l.open = append(l.open, o)
	size := 0
	for _, o := range l.open {
		size += len(o.raw)
	}
	if len(l.open) > maxOpen || size > maxHeld {
		return l.closeOne(l.open[0])
	}
	return true
}

// extendHeld gives an entry to the open message of the same writer. Done says that it was taken.
func (l *logReader) extendHeld(rec *event.Record, h *header, msg []byte) (done, ok bool) {
	if bytes.HasPrefix(msg, []byte("Suppressed ")) {
		l.noteGap(rec, string(msg))
	}
	i := slices.IndexFunc(l.open, func(o *held) bool {
		return o.bare != h.carried && (o.bare || o.rec.Unit == rec.Unit && o.rec.PID == rec.PID)
	})
	if i < 0 {
		return false, true
	}
	o := l.open[i]
	if h.body == plain && (h.carried || h.container || h.carrier.Known && o.rec.Outer.Known) && o.mayGoOn(msg) {
		return true, l.growHeld(o, rec, msg)
	}
	// The writer has gone on with something else: the rest of its message is lost.
	return !l.closeOne(o), false
}

// noteGap notes in the open messages of a unit that journald did not keep all their pieces, as a
// line of their text.
func (l *logReader) noteGap(rec *event.Record, msg string) {
	gap, ok := event.ParseSuppressed(msg)
	for _, o := range l.open {
		if !ok || o.bare || o.body != logrus || !gap.Of(o.rec.Unit) {
			continue
		}
		if trailingSlashes(o.raw)%2 == 1 {
			o.raw = o.raw[:len(o.raw)-1] // the cut fell into an escape
		}
		o.addPiece(rec.Pos, []byte(`\n`+msg+`\n`))
	}
}

// extendBareHeld gives a line without a header to the open message of a line without a carrier.
func (l *logReader) extendBareHeld(rec *event.Record, b []byte) (done, ok bool) {
	i := slices.IndexFunc(l.open, func(o *held) bool { return o.bare })
	if i < 0 {
		return false, true
	}
	o := l.open[i]
	if !o.mayGoOn(b) {
		return !l.closeOne(o), false
	}
	if o.body == klog {
		return true, l.growHeld(o, rec, b)
	}
	if bytes.HasSuffix(o.raw, []byte(` \`)) { // a shell's line continuation, as write-ups wrap
		o.raw = o.raw[:len(o.raw)-1]
	} else {
		o.raw = append(o.raw, bytes.Repeat([]byte{'\n'}, 1+o.blanks)...)
	}
	o.blanks = 0
	return true, l.growHeld(o, rec, b)
}

// trailingSlashes is how many backslashes b ends in: what follows an odd number is escaped.
func trailingSlashes(b []byte) int { return len(b) - len(bytes.TrimRight(b, `\`)) }

// addPiece adds what a line gives to the message.
func (o *held) addPiece(pos event.Pos, text []byte) {
	o.bounds, o.pieces = append(o.bounds, len(o.raw)), append(o.pieces, pos)
	o.raw = append(o.raw, text...)
}

// piecesAt are the pieces by their offsets in the text of the record; nil for a single one.
func (o *held) piecesAt(offsets []int) (all []event.Piece) {
	for i, pos := range o.pieces {
		if len(o.pieces) > 1 {
			all = append(all, event.Piece{Off: offsets[i], Pos: pos})
		}
	}
	return all
}

// mayContinueMessage says that msg may be the next part of the message.
func (o *held) mayGoOn(msg []byte) bool {
	if len(o.raw)+len(msg) > maxHeld {
		return false
	}
	return o.body != klog || len(msg) > 0 && (msg[0] == '\t' || msg[0] == ' ')
}

// growHeld adds a piece and emits the message once it is whole.
func (l *logReader) growHeld(o *held, rec *event.Record, msg []byte) bool {
	if o.body == klog {
		o.rec.Lines += rec.Lines
		o.raw = append(append(o.raw, '\n'), msg...)
		if !bytes.HasPrefix(bytes.TrimLeft(msg, " "), []byte{'>'}) {
			return true
		}
		return l.closeOne(o)
	}
	if len(o.bounds) == 1 && !o.bare {
		o.lines = len(o.raw) < leastCut && !bytes.HasPrefix(msg, []byte(`\`)) && (bytes.HasSuffix(o.raw, []byte("stack dump ===")) || bytes.HasSuffix(o.raw, []byte("]:")))
	}
	if o.lines {
		o.raw = append(o.raw, `\n`...)
	}
	from := len(o.raw)
	o.addPiece(rec.Pos, msg)
	o.rec.Lines += rec.Lines
	for i := from; ; i++ {
		q := bytes.IndexByte(o.raw[i:], '"')
		if q < 0 {
			break
		}
		i += q
		if endsEscaped := trailingSlashes(o.raw[:i])%2 == 1; !endsEscaped { // slashes may stand in the piece before
			o.quoted = !o.quoted
		}
	}
	if o.quoted {
		return true
	}
	return l.closeOne(o)
}

// readBlank ends an open message of lines without a carrier, unless it is a goroutine
// dump: there, blank lines stand between goroutines.
func (l *logReader) readBlank() bool {
	for _, o := range l.open {
		if o.bare && !bytes.Contains(o.raw, []byte("goroutine ")) {
			return l.closeOne(o)
		}
		o.blanks++
	}
	return true
}

// closeOne emits one of the open messages.
func (l *logReader) closeOne(o *held) bool {
	l.open = slices.DeleteFunc(l.open, func(p *held) bool { return p == o })
	return l.closeHeld(o)
}

// closeAll emits all open messages.
func (l *logReader) closeAll() bool {
	for len(l.open) > 0 {
		if !l.closeOne(l.open[0]) {
			return false
		}
	}
	return true
}

// closeHeld emits one message, whole or cut.
func (l *logReader) closeHeld(o *held) bool {
	if o.body == klog {
		o.rec.Text, o.rec.Fields = pairs.ParseKlog(string(o.raw))
		return l.yieldRecord(o.rec)
	}
	text, fields, offsets, open := pairs.ParseLogrus(string(o.raw), o.bounds)
	rec := o.rec
	rec.Text, rec.Fields = text, fields
	rec.Pieces = o.piecesAt(offsets)
	if rec.Pieces != nil && open && !l.yieldSkip(rec.Pos.Line, 0, "message of %d lines is cut: its quote is never closed", rec.Lines) {
		return false
	}
	return l.yieldRecord(rec)
}
