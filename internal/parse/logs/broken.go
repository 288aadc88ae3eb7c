package logs

import (
	"bytes"
	"regexp"
	"unicode/utf8"

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
// that is not closed, or a phrase that programs always write whole is cut. A mailer breaks at one
// width, wherever the next word would pass it; then every line that obeys this law is joined.

// maxBroken bounds the lines that are joined to one message, maxFilled those at one width.
const (
	maxBroken = 6
	maxFilled = 40
)

// isBroken says that messages of head were broken where no message ends.
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

// Widths, in characters, at which mailers and editors break lines at blanks, and those at which a
// single broken line is taken for one (72 by git, 76 by RFC 2045, 78 by RFC 5322).
const (
	leastLimit, mostLimit = 55, 132
	leastUsual, mostUsual = 70, 80 // which is a terminal's
)

// findLimit is the width that the lines of messages of head do not pass because each was broken at
// the last blank before it; 0 when they were not.
func findLimit(head []byte) int {
	limit, seams := findSeams(head)
	fits, short := 0, 0
	for _, s := range seams {
		if s.joined > limit {
			fits++
			if s.above < limit { // where a terminal would have gone on
				short++
			}
		}
	}
	often := 8 * short // a mailer breaks below its limit now and then, a terminal never
	if oftenSet[limit] {
		often = 2 * short
	}
	switch {
	case limit < leastLimit || limit > mostLimit || 3*fits < 2*len(seams):
		return 0
	case fits > 1 && short > 0 && often >= fits, fits == 1 && limit >= leastUsual && limit < mostUsual && !seams[0].capital:
		return limit
	}
	return 0
}

// seam is where two lines of a message meet.
type seam struct {
	above   int  // the width of the first
	joined  int  // the same with the first word of the second
	capital bool // with which the second begins
}

// findSeams gives where lines of messages of head meet, and the width of the widest that is not one
// word. It looks no further than a line that no mailer leaves.
func findSeams(head []byte) (widest int, seams []seam) {
	if end := len(head); end > 0 && end < wrapHead && head[end-1] != '\n' {
		head = append(head[:end:end], '\n') // the last line of a file is whole
	}
	above := 0       // the width of the line above, which is a message's; 0 for any other
	var first []byte // of that message
	for line := range lines.OfHead(head) {
		line = bytes.TrimRight(line, " ")
		rest := above > 0 && !isIndented(first, line) && line[0] != '[' && isRest(first, line) // [ begins a stamp in another language
		switch {
		case rest:
			seams = append(seams, seam{above, above + 1 + firstWordWidth(line), line[0] >= 'A' && line[0] <= 'Z'})
		case hasStart(line):
			first = line
		default:
			above = 0
			continue
		}
		above = utf8.RuneCount(line)
		if bytes.IndexByte(line, ' ') > 0 {
			widest = max(widest, above)
		}
		if widest > mostLimit {
			break
		}
	}
	return widest, seams
}

func firstWordWidth(line []byte) int {
	word, _, _ := bytes.Cut(line, []byte{' '})
	return utf8.RuneCount(word)
}

// isRest says that a line can be the next piece of a message that begins with first: by a time of
// day or a level, where messages have more before them, and by the header of klog or logrus, where
// only that of journald stands in the line above.
func isRest(first, line []byte) bool {
	if mayContinueMessage(line) || startsWeakly(line) && !startsWeakly(first) {
		return true
	}
	h := scanHeader(first)
	return h.carried && h.msg >= len(bytes.TrimRight(first, " ")) && !scanHeader(line).carrier.Known && !lines.IsBlank(line)
}

func startsWeakly(line []byte) bool {
	return len(line) > 2 && lines.IsDigit(line[0]) && line[2] == ':' || bytes.HasPrefix(line, []byte("level="))
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

// isIndented says that a line is further to the right than the message above it. The console of
// Talos has a blank before each line, and what was broken off one as well.
func isIndented(above, line []byte) bool {
	return line[0] == ' ' && (above[0] != ' ' || len(line) < 2 || line[1] == ' ')
}

// cannotBegin says that a line is the rest of the message above it.
func cannotBegin(above, line []byte) bool {
	above = bytes.TrimRight(above, " ")
	if isIndented(above, line) {
		return continuesValues(above, bytes.TrimLeft(line, " "))
	}
	return lines.HasOpenQuote(above) || hasOpenObject(above) || lines.CutsWords(above, bytes.TrimPrefix(line, []byte{' '}))
}

// continuesValues says that an indented line is what somebody broke off the message and the values
// of klog, which writes a line break in one of them as \n. Any other message has lines of its own.
//
//	E1123 10:11:12.123456    1234 controller.go:201] "Failed to ensure lease exists, will retry"
//	  err="Get \"https://10.0.0.1:6443/apis/coordination.k8s.io/v1/…?timeout=10s\":
//	  dial tcp 10.0.0.1:6443: connect: connection refused" interval="7s"
func continuesValues(above, line []byte) bool {
	h := scanHeader(above)
	if h.body != klog || h.msg >= len(above) || above[h.msg] != '"' {
		return false
	}
	return lines.HasOpenQuote(above) || bytes.HasSuffix(above, []byte{'"'}) && valueStart.Match(line)
}

// valueStart is the key of a value, and the quotation that it begins with.
var valueStart = regexp.MustCompile(`^[A-Za-z]\w*="`)

// hasOpenObject says that the values that a controller of Talos writes behind its message have no
// end:
//
//	[talos] controller failed {"component": "controller-runtime", "controller":
func hasOpenObject(message []byte) bool {
	i := bytes.Index(message, []byte(`{"component":`))
	return i >= 0 && bytes.Count(message[i:], []byte{'{'}) > bytes.Count(message[i:], []byte{'}'})
}

// continues says that a line is the next piece of the message that is joined.
func (w *wrapped) continues(line []byte) bool {
	if w.limit > 0 && len(w.ends) < maxFilled && isRest(w.text, line) && !isIndented(w.text, line) && w.last+1+firstWordWidth(line) > w.limit {
		return true
	}
	return len(w.ends) < maxBroken && mayContinueMessage(line) && cannotBegin(w.text, line)
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
	if w.first > 0 && line.Cut == 0 && w.continues(b) {
		if isIndented(w.text, b) {
			b = bytes.TrimLeft(b, " ")
		}
		w.addSeam(b)
		w.addLine(line.Bytes, b, line.N)
		return true
	}
	if w.first > 0 && w.doubled && lines.IsBlank(b) {
		return l.readBlank()
	}
	if !l.endWrapped() {
		return false
	}
	if line.Cut > 0 || l.started > 0 || !(w.limit > 0 && hasStart(b) || l.open == nil && endsOpen(b)) {
		return l.readLine(line)
	}
	w.begin(lines.TrimReturn(line.Bytes), b, line.N)
	return true
}
