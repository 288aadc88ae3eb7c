package redact

import (
	"bytes"
)

var (
	pemBegin = []byte("-----BEGIN ")
	pemEnd   = []byte("-----END ")
	pemDash  = []byte("-----")
)

// block is a PEM block whose end was not read yet. In a log each of its lines has a head of its
// own, and lines of other programs stand between them.
type block struct {
	open   bool
	lead   string // what stands before each of its lines, as app[123]: or MESSAGE=; empty where it is a file of its own
	missed int    // lines since the last one that belongs to it
	lines  int    // of it
}

// findPEM finds the begin of a block, and its end where that is in the same line.
func findPEM(l *search, at int) {
	b := l.line
	if !bytes.HasPrefix(b[at:], pemBegin) || l.isTired() {
		return
	}
	name := at + len(pemBegin)
	p := name
	for p < len(b) && (is(b[p], isUpper|isDigit) || b[p] == ' ') {
		p++
	}
	if p == name || !bytes.HasPrefix(b[p:], pemDash) {
		return
	}
	p += len(pemDash)
	if end := bytes.Index(b[p:], pemEnd); end >= 0 {
		l.add(PEM, at, afterEnd(b, p+end))
		return
	}
	to := len(bytes.TrimRight(b, "\r\n"))
	l.spent += to - p
	lead := leadOf(b[:at])
	if q := bytes.IndexAny(b[p:to], "\"'`"); q >= 0 {
		inner := bytes.TrimRight(b[p:p+q], `\`)
		to = p + len(inner)
		if len(bytes.Trim(inner, "\\nr \t")) > 0 { // the text ends in this line
			l.add(PEM, at, to)
			return
		}
	}
	l.add(PEM, at, to)
	if l.block != nil {
		*l.block = block{open: true, lead: lead}
	}
}

// afterEnd is the place behind -----END X-----.
func afterEnd(b []byte, end int) int {
	p := end + len(pemEnd)
	if i := bytes.Index(b[p:], pemDash); i >= 0 {
		return p + i + len(pemDash)
	}
	return len(bytes.TrimRight(b, "\r\n"))
}

// leadOf is what stands before the lines of a block: the last word before its begin.
func leadOf(before []byte) string {
	before = bytes.TrimRight(before, " \t")
	if len(bytes.Trim(before, " \t-|>'\"")) == 0 {
		return ""
	}
	const shortest, longest = 4, 40
	i := bytes.LastIndexAny(before[:max(0, len(before)-shortest)], " \t{,[")
	return string(before[max(i+1, len(before)-longest):])
}

// findBody adds a line of an open block.
func (k *block) findBody(line []byte, found []span) []span {
	from := indentOf(line)
	to := len(bytes.TrimRight(line, " \t\r\n"))
	if i := bytes.Index(line, []byte(k.lead)); k.lead != "" && i >= 0 {
		from = skipSpaces(line, i+len(k.lead))
	} else if k.lead != "" {
		return k.findLoose(line, from, to, found)
	}
	if from >= to {
		return found
	}
	if end := bytes.Index(line[from:to], pemEnd); end >= 0 {
		k.open = false
		return append(found, span{from: from, to: afterEnd(line, from+end), rule: PEM})
	}
	end := skipKind(line[:to], from, isBase64)
	rest := bytes.TrimLeft(line[end:to], " \t")
	closed := end == to || k.lead != "" && len(rest) > 0 && (rest[0] == '"' || rest[0] == '\\')
	k.lines++
	switch {
	case bytes.HasPrefix(line[from:], []byte(mark)): // from an earlier run
		return found
	case end > from && closed:
		k.missed = 0
		return append(found, span{from: from, to: end, rule: PEM})
	case k.lines <= 4 && isPEMHeader(line[from:to]):
		return append(found, span{from: from, to: to, rule: PEM})
	}
	k.open = false
	return found
}

// findLoose adds a line of a block that lacks the lead: the next line of a file.
func (k *block) findLoose(line []byte, from, to int, found []span) []span {
	const few, long = 200, 40
	if end := bytes.Index(line, pemEnd); end >= 0 {
		k.open = false
		return append(found, span{from: end, to: afterEnd(line, end), rule: PEM})
	}
	if to-from >= long && skipKind(line[:to], from, isBase64) == to {
		k.missed = 0
		return append(found, span{from: from, to: to, rule: PEM})
	}
	if k.missed++; k.missed > few {
		k.open = false
	}
	return found
}

// isPEMHeader says that a line is a header of a block: Proc-Type: 4,ENCRYPTED.
func isPEMHeader(text []byte) bool {
	end := 0
	for end < len(text) && (is(text[end], isUpper|isLowerCase) || text[end] == '-') {
		end++
	}
	return end > 0 && bytes.HasPrefix(text[end:], []byte(": "))
}

// findEncodedPEM finds a PEM block in base64.
func findEncodedPEM(l *search, at int) {
	if end := skipKind(l.line, at, isBase64); end-at >= 40 {
		l.add(PEM, at, end)
	}
}
