package logs

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/journal"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// journalctl -o json-pretty writes an entry on several lines, in this spelling and no other:
//
//	{
//		"_HOSTNAME" : "node-1",
//		"MESSAGE" : [
//			27,
//			91
//		]
//	}

// startPretty begins an object that fills several lines, if the next line agrees.
func (l *logReader) startPretty(n int) bool {
	l.started, l.filled, l.quoted = n, 1, 0
	l.pretty, l.quote = append(l.pretty[:0], '{'), l.quote[:0]
	return true
}

// isPrettyField knows a field of the journal as json-pretty writes it.
func isPrettyField(b []byte) bool {
	name, ok := bytes.CutPrefix(bytes.TrimLeft(b, "\t "), []byte{'"'})
	if !ok || len(b) == len(name)+1 {
		return false
	}
	name, _, ok = bytes.Cut(name, []byte(`" : `))
	return ok && journal.IsFieldName(name)
}

// readPretty takes the next line of the object.
func (l *logReader) readPretty(n int, b []byte) bool {
	if l.filled == 1 && !isPrettyField(b) { // a brace in some text
		start := l.started
		l.started, l.filled = 0, 0
		return l.readContinuation(start, []byte{'{'}, []byte{'{'}, &scannedLine{}) && l.readText(n, b)
	}
	inner := bytes.TrimLeft(b, "\t ")
	closed := len(inner) == len(b) && inner[0] == '}'
	if len(inner) == len(b) && !closed || len(l.pretty)+len(b) > maxHeld {
		if !l.endPretty() {
			return false
		}
		return l.readLine(lines.Line{N: n, Bytes: b})
	}
	l.filled++
	if bytes.HasPrefix(inner, []byte(`"MESSAGE" : `)) {
		l.quote, l.quoted = append(l.quote[:0], b[:min(len(b), event.MaxRaw)]...), n
	}
	l.pretty = append(append(l.pretty, ' '), inner...)
	if !closed {
		return true
	}
	at, ok := l.json.scanObject(l.pretty)
	more := l.readObject(l.started, l.pretty, at, ok)
	l.started, l.filled = 0, 0
	return more
}

// endPretty names an object that is not closed.
func (l *logReader) endPretty() bool {
	start, lines := l.started, l.filled
	l.started, l.filled = 0, 0
	switch {
	case start == 0:
		return true
	case lines == 1:
		return l.readContinuation(start, []byte{'{'}, []byte{'{'}, &scannedLine{})
	}
	return l.yieldSkip(start, lines, "an entry of several lines breaks off")
}

// placeAtMessage puts a record where its message stands.
func (l *logReader) placeAtMessage(rec *event.Record) {
	if l.started == 0 {
		return
	}
	rec.Lines = l.filled
	if l.quoted > 0 {
		rec.Pos.Line = l.quoted
	}
}

// quoteMessage is what can be quoted of a message: what of it stands on one line.
func (l *logReader) quoteMessage(message jsonValue) string {
	if message.quoted && l.coloured == nil {
		return lines.Clip(message.raw)
	}
	return l.quoteObject(message.raw)
}

// quoteObject is what can be quoted of an object whose line is b: the line of its message where it
// fills several.
func (l *logReader) quoteObject(b []byte) string {
	if l.started > 0 {
		return string(l.quote)
	}
	return lines.Clip(l.withColours(b))
}

// withColours is b, or the line that b is without its colours.
func (l *logReader) withColours(b []byte) []byte {
	if l.coloured != nil {
		return l.coloured
	}
	return b
}
