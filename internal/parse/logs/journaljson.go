package logs

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// jsonEntry is what a JSON log line says, as slices of that line. It is journald's (journalctl -o
// json, keys in random order, all values strings):
//
//	{"__REALTIME_TIMESTAMP":"1795199112300980","SYSLOG_IDENTIFIER":"containerd","_PID":"43","MESSAGE":"…"}
//
// or one of the loggers' own: logrus {"level":"info","msg":"…","time":"…"}, kubelet
// {"ts":1763203532053.9302,"caller":"kubelet/kubelet.go:2406","msg":"…","err":"…"}, and docker's
// json-file {"log":"…\n","stream":"stderr","time":"…"}.
type jsonEntry struct {
	journal           header // of the journal's numbers
	ident, comm, host jsonValue
	message           jsonValue
	time, level       jsonValue
	container         bool        // docker's json-file
	others            []jsonField // of a logger's own line
	scratch           []byte
}

type jsonField struct{ key, value jsonValue }

// jsonValue is one value as written: a string without its quotes, or the text of anything else.
type jsonValue struct {
	raw    []byte
	quoted bool
	set    bool
}

// jsonNull is what journalctl writes for a field above 4096 bytes, unless -a is given.
const jsonNull = "null"

// readJSON turns one JSON line into a record.
func (l *logReader) readJSON(n int, b []byte) bool {
	e := &l.json
	at, ok := e.scanObject(b)
	if !ok && len(b) == 1 {
		return l.startPretty(n)
	}
	return l.readObject(n, b, at, ok)
}

// readObject turns an object that was scanned into a record; b is its text.
func (l *logReader) readObject(n int, b []byte, at int, ok bool) bool {
	e := &l.json
	if !ok && l.started == 0 && !IsJournalJSON(b) { // text that happens to start with a brace
		return l.readContinuation(n, l.withColours(b), b, &scannedLine{})
	}
	if !ok {
		return l.yieldSkip(n, max(1, l.filled), "JSON breaks off at byte %d: %.40q", at, b[min(at, len(b)):])
	}
	var h header
	e.fillHeader(&h)
	switch {
	case h.body == none && l.started > 0:
		return l.yieldSkip(n, l.filled, "an object without a time and a message")
	case h.body == none:
		return l.readContinuation(n, l.withColours(b), b, &scannedLine{})
	case h.body == plain && (h.carried || h.container) && len(e.scratch) > 0 && e.scratch[0] == '{' && e.message.quoted:
		e.scratch = undoJSONEscapes(e.scratch[:0], e.message.raw)
		l.nested.readNested(&h, e.scratch)
	case h.body == plain && h.carried && !e.message.quoted:
		if text := e.messageText(); strings.HasPrefix(text, "{") {
			l.nested.readNested(&h, []byte(text))
		}
	}
	rec := l.newRecord(n, &h)
	l.placeAtMessage(&rec)
	if e.message.raw != nil && !e.message.quoted && string(e.message.raw) == jsonNull {
		rec.Wanted, rec.Lost, rec.Raw = true, true, l.quoteObject(b)
		return l.yieldSkip(rec.Pos.Line, 0, "MESSAGE is null: journalctl -o json drops fields above 4096 bytes; collect it again with journalctl -o export (or add -a)") &&
			l.yield(rec, nil)
	}
	piece := l.open != nil && (h.carried || h.container)
	if !e.message.quoted && bytes.HasPrefix(e.message.raw, []byte{'['}) { // bytes, as numbers
		b = []byte(e.messageText())
	}
	if h.container {
		h.part = !endsLine(e.message.raw)
		if i := h.streamIndex(); h.part || l.parts[i] != nil {
			rec.Raw = l.quoteMessage(e.message)
			return l.readPart(i, rec, &h, []byte(strings.TrimSuffix(e.messageText(), "\n")))
		}
	}
	if !piece && !l.Wants(b) {
		return l.yield(rec, nil)
	}
	text := e.messageText()
	if h.container {
		text = strings.TrimSuffix(text, "\n")
	}
	if piece {
		if done, ok := l.extendHeld(&rec, &h, []byte(text)); done {
			return ok
		}
		if !l.Wants(b) {
			return l.yield(rec, nil)
		}
	}
	rec.Raw = l.quoteMessage(e.message)
	// what matters may stand in any field, as in klog's and logrus' own lines
	if !h.carried && !h.container {
		if l.started == 0 {
			rec.Raw = l.quoteObject(b)
		}
		rec.Wanted, rec.Text, rec.Fields = true, text, e.otherFields()
		return l.yieldRecord(rec)
	}
	return l.yieldMessage(rec, &h, text[min(h.msg, len(text)):])
}

// scanObject reads the top level of one object. At is where it breaks off when ok is false.
func (e *jsonEntry) scanObject(b []byte) (at int, ok bool) {
	*e = jsonEntry{others: e.others[:0], scratch: e.scratch}
	i := skipBlank(b, 1)
	if i < len(b) && b[i] == '}' {
		return i, true
	}
	for {
		key, next, ok := scanJSONValue(b, i)
		if !ok || !key.quoted {
			return i, false
		}
		i = skipBlank(b, next)
		if i >= len(b) || b[i] != ':' {
			return i, false
		}
		value, next, ok := scanJSONValue(b, skipBlank(b, i+1))
		if !ok {
			return i, false
		}
		e.keepField(key, value)
		i = skipBlank(b, next)
		if i >= len(b) {
			return i, false
		}
		if b[i] == '}' {
			return i, skipBlank(b, i+1) == len(b)
		}
		if b[i] != ',' {
			return i, false
		}
		i = skipBlank(b, i+1)
	}
}

// keepField files one field under its name.
func (e *jsonEntry) keepField(key, value jsonValue) {
	switch string(key.raw) {
	case "SYSLOG_IDENTIFIER":
		e.ident = value
	case "_COMM":
		e.comm = value
	case "_HOSTNAME":
		e.host = value
	case "MESSAGE", "msg", "message": // zap of the operators says message
		e.message = value
	case "time", "ts":
		e.time = value
	case "level":
		e.level = value
	case "log":
		e.message, e.container = value, true
	default:
		if !e.journal.setNumber(key.raw, value.raw) && len(e.others) < 64 {
			e.others = append(e.others, jsonField{key, value})
		}
	}
}

// fillHeader fills h from the fields and from the header inside the message.
func (e *jsonEntry) fillHeader(h *header) {
	if !e.journal.carried {
		e.fillLoggerHeader(h)
		return
	}
	*h = e.journal
	h.unit, h.host = e.ident.raw, e.host.raw
	if !e.ident.quoted {
		if h.unit = lastStringOf(e.ident.raw); h.unit == nil {
			h.unit = e.comm.raw
		}
	}
	e.scratch = e.scratch[:0]
	if !e.message.quoted { // an array of byte numbers: read when wanted
		if len(e.message.raw) > 0 && e.message.raw[0] == '[' {
			h.scanInner([]byte(e.messageText()))
		}
		return
	}
	e.scanMessage(h)
}

// lastStringOf is the last of the strings that a repeated field holds; nil when it is no list.
func lastStringOf(raw []byte) []byte {
	end := bytes.LastIndexByte(raw, '"')
	if end < 0 || raw[0] != '[' {
		return nil
	}
	return raw[bytes.LastIndexByte(raw[:end], '"')+1 : end]
}

// readSinceBoot reads __MONOTONIC_TIMESTAMP: microseconds from the boot to __REALTIME_TIMESTAMP.
func readSinceBoot(b []byte) time.Duration {
	us, n := lines.Digits(b)
	if n == 0 || us > maxUptime.Microseconds() {
		return 0
	}
	return time.Duration(us) * time.Microsecond
}

// scanMessage reads the header inside of a message that a carrier brought.
func (e *jsonEntry) scanMessage(h *header) {
	// The headers of klog and logrus need no more than this.
	e.scratch = undoJSONEscapes(e.scratch[:0], e.message.raw[:min(len(e.message.raw), 512)])
	h.scanInner(e.scratch)
}

// fillLoggerHeader fills h from a line that a logger wrote as JSON itself.
func (e *jsonEntry) fillLoggerHeader(h *header) {
	if !e.message.quoted || !e.time.set {
		h.body = none
		return
	}
	if e.time.quoted {
		h.carrier, _ = stamp.ISO(e.time.raw)
	} else if ms, err := strconv.ParseFloat(string(e.time.raw), 64); err == nil && ms > 1e11 && ms < 1e13 {
		// component-base/logs of the kubelet: float milliseconds. A float64 of this size resolves a
		// quarter of a µs.
		h.carrier = event.Time{T: time.UnixMicro(int64(ms * 1000)).UTC(), Prec: time.Microsecond, Known: true}
	}
	if h.container = e.container; h.container {
		h.carrier.T = h.carrier.T.UTC() // docker's json-file is in UTC on every node
		for _, f := range e.others {
			h.stderr = h.stderr || string(f.key.raw) == "stream" && string(f.value.raw) == "stderr"
		}
		e.scanMessage(h)
		return
	}
	h.level = readLevel(e.level.raw)
	if !e.level.set {
		h.level = event.Info
		for _, f := range e.others {
			if string(f.key.raw) == "err" {
				h.level = event.Error
			}
		}
	}
}

// endsLine says that the inside of a string ends in a line break: docker gives a message in parts
// without.
func endsLine(raw []byte) bool {
	raw, ok := bytes.CutSuffix(raw, []byte{'n'})
	return ok && trailingSlashes(raw)%2 == 1
}

// messageText is the message as text; one that is written as bytes has its colours taken off.
func (e *jsonEntry) messageText() string {
	text := e.message.text()
	if !e.message.quoted && strings.IndexByte(text, '\x1b') >= 0 {
		return string(lines.WithoutColours(nil, []byte(text)))
	}
	return text
}

// readNested reads an object of a logger in the message of a journal, of syslog or of a container:
//
//	Nov 08 09:30:11 node-1 kubelet[2917]: {"ts":1762565411885.0,"caller":"kubelet/kubelet.go:2406","msg":"…"}
func (e *jsonEntry) readNested(h *header, msg []byte) {
	msg = bytes.TrimRight(msg, "\n")
	if _, ok := e.scanObject(msg); !ok || e.container || e.journal.carried {
		return
	}
	var inner header
	if e.fillLoggerHeader(&inner); inner.body == none || !inner.carrier.Known {
		return
	}
	h.inner, h.body, h.level = inner.carrier, inJSON, inner.level
	for _, f := range e.others {
		if string(f.key.raw) == "caller" {
			h.caller = callerFile(f.value.raw)
		}
	}
}

// otherFields are the remaining fields of a logger's own line.
func (e *jsonEntry) otherFields() []event.Pair {
	out := make([]event.Pair, len(e.others))
	for i, f := range e.others {
		out[i] = event.Pair{Key: f.key.text(), Value: f.value.text()}
	}
	return out
}

// priorityLevel is syslog's severity, a digit, as a level.
func priorityLevel(b []byte) event.Level {
	if len(b) != 1 || b[0]-'0' > 7 {
		return event.NoLevel
	}
	return severityLevel(int64(b[0] - '0'))
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}

// scanJSONValue reads the value at b[i:]; next is behind it.
func scanJSONValue(b []byte, i int) (v jsonValue, next int, ok bool) {
	if i >= len(b) {
		return v, i, false
	}
	end := i
	switch b[i] {
	case '"':
		if end = lines.QuoteEnd(b, i+1); end < 0 {
			return v, i, false
		}
		return jsonValue{raw: b[i+1 : end], quoted: true, set: true}, end + 1, true
	case '{', '[':
		end += lines.BracketEnd(b[i:])
	default:
		for end < len(b) && b[end] != ',' && b[end] != '}' && b[end] != ']' && b[end] > ' ' {
			end++
		}
	}
	if end <= i {
		return v, i, false
	}
	return jsonValue{raw: b[i:end], set: true}, end, true
}

// text is the value as a string: unescaped, from an array of byte numbers (a message with colours
// or invalid UTF-8), from an array of strings (a repeated field), or as written.
func (v jsonValue) text() string {
	if v.quoted {
		if bytes.IndexByte(v.raw, '\\') < 0 {
			return string(v.raw)
		}
		return string(undoJSONEscapes(make([]byte, 0, len(v.raw)), v.raw))
	}
	if len(v.raw) < 2 || v.raw[0] != '[' {
		return string(v.raw)
	}
	var out []byte
	var parts []string
	for i := skipBlank(v.raw, 1); i < len(v.raw) && v.raw[i] != ']'; {
		item, next, ok := scanJSONValue(v.raw, i)
		n, err := strconv.ParseUint(string(item.raw), 10, 8)
		switch {
		case !ok:
			return string(v.raw)
		case item.quoted:
			parts = append(parts, item.text())
		case err != nil:
			return string(v.raw)
		default:
			out = append(out, byte(n))
		}
		if i = skipBlank(v.raw, next); i < len(v.raw) && v.raw[i] == ',' {
			i = skipBlank(v.raw, i+1)
		}
	}
	if parts != nil {
		return strings.Join(parts, "\n")
	}
	return string(out)
}

// jsonEscapes are the escapes of one letter.
var jsonEscapes = [256]byte{
	'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', '\\': '\\', '/': '/',
}

// undoJSONEscapes appends the meaning of a JSON string's inside. A cut or unknown escape is kept.
func undoJSONEscapes(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
		n := 2
		if c := jsonEscapes[s[1]]; c != 0 {
			dst = append(dst, c)
		} else if s[1] != 'u' {
			dst = append(dst, s[:2]...)
		} else {
			var r rune
			if r, n = readJSONRune(s); n == 0 {
				return append(dst, s...)
			}
			dst = utf8.AppendRune(dst, r)
		}
		s = s[n:]
	}
}

// readJSONRune reads \u20ac, or a surrogate pair of two; n is 0 when s is cut.
func readJSONRune(s []byte) (r rune, n int) {
	if len(s) < 6 {
		return 0, 0
	}
	hi, err := strconv.ParseUint(string(s[2:6]), 16, 32)
	if err != nil {
		return 0, 0
	}
	r = rune(hi)
	if utf16.IsSurrogate(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if lo, err := strconv.ParseUint(string(s[8:12]), 16, 32); err == nil {
			return utf16.DecodeRune(r, rune(lo)), 12
		}
	}
	return r, 6
}
