package logs

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// An editor, a chat or a page breaks a message where a blank stood, and not at one width:
//
//	E1123 10:11:12.123456    1234 controller.go:187] failed to update lease, error: Put
//	"https://10.0.0.1:6443/apis/coordination.k8s.io/v1/…?timeout=10s": dial tcp
//	10.0.0.1:6443: i/o
//	timeout
//
// Such lines are joined where the second cannot be a line of its own: the message has a quotation
// that is not closed, or a phrase that programs always write whole is cut.

// maxBroken bounds the lines that are joined to one message.
const maxBroken = 6

// isBroken says that messages of head were broken in this way.
func isBroken(head []byte) bool {
	var above []byte // a line with a header, and what was broken off it
	for line := range lines.OfHead(head) {
		switch {
		case endsOpen(line):
			above = line
		case above != nil && mayContinueMessage(line) && cannotBegin(above, line):
			return true
		default:
			above = nil
		}
	}
	return false
}

// endsOpen says that a line has a header and a message that may go on in the next line. A value of
// logrus that is not closed has line breaks of its own.
func endsOpen(line []byte) bool {
	if len(line) == 0 || line[0] == '{' {
		return false
	}
	h := scanHeader(line)
	return h.body == klog || h.body == plain
}

// cannotBegin says that a line is the rest of the message above it.
func cannotBegin(above, line []byte) bool {
	if line[0] == ' ' { // the next line of a message that has several
		return false
	}
	above = bytes.TrimRight(above, " ")
	return lines.HasOpenQuote(above) || lines.CutsWords(above, line)
}

// addSeam adds what stood between the last line of the message and the next one.
func (w *wrapped) addSeam(next []byte) {
	if bare := bytes.TrimRight(w.text, " "); len(bare) < len(w.text) {
		w.text = w.text[:len(bare)+1] // one of the blanks with which a tool filled the line
	}
	w.text = append(w.text, lines.Seam(w.text, next)...)
	w.ends[len(w.ends)-1] = len(w.text)
}

// readBroken reads a line of a file whose messages were broken at blanks.
func (l *logReader) readBroken(line lines.Line) bool {
	w := &l.wrapped
	b := lines.TrimReturn(line.Bytes)
	if w.first > 0 && line.Cut == 0 && len(w.ends) < maxBroken && mayContinueMessage(b) && cannotBegin(w.text, b) {
		w.addSeam(b)
		w.addLine(b, line.N)
		return true
	}
	if w.first > 0 && w.doubled && lines.IsBlank(b) {
		return l.readBlank()
	}
	if !l.endWrapped() {
		return false
	}
	if line.Cut > 0 || l.started > 0 || l.open != nil || !endsOpen(b) {
		return l.readLine(line)
	}
	w.begin(lines.TrimReturn(line.Bytes), b, line.N)
	return true
}
