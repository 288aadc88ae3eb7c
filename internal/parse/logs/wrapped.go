package logs

import (
	"bytes"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// A terminal, and a screenshot of one, breaks long lines where its columns end:
//
//	Nov 08 09:33:14 node-1 kubelet[2917]: E1108 09:33:14.540000    2917 kubelet.go:2
//	412] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen
//	 active 3m0.5s ago; threshold is 3m0s"
//
// Every line but the last of a message is then as wide as the terminal, and no line is wider.

// wrapped is a message whose lines are joined again.
type wrapped struct {
	width int // of the terminal, in characters; 0 where no line was broken
	limit int // of an editor that broke lines at blanks, in characters; 0 for none
	pad   int // blanks that somebody's tool put behind every line
	// doubled says that somebody's tool put a blank line behind every line.
	doubled bool
	first   int // the number of its first line; 0 outside of a message
	text    []byte
	ends    []int  // offsets in text at which its lines end
	numbers []int  // of its lines
	altered []bool // whether the file has the line with more in it, such as colours
	quote   []byte // the start of its first line as the file has it
	held    bool   // the message is read now
	going   bool   // the last line is as wide as the terminal
	last    int    // the width of the last line, without blanks at its end
	more    int    // lines beyond the first of the message that is read now; -1 where its line is counted
}

// wrapHead is how much of a file shows its width, in bytes.
const wrapHead = 32 << 10

// oftenSet are widths of terminals at which a single broken line is taken for one.
var oftenSet = map[int]bool{80: true, 100: true, 120: true, 132: true}

// findWidth is the width of the terminal that broke the lines of head, without the blanks behind
// every line; 0 when none did.
func findWidth(head []byte, pad int) int {
	const least, most = 60, 300
	if i := bytes.LastIndexByte(head, '\n'); len(head) == wrapHead && i >= 0 {
		head = head[:i+1] // without a line that is cut
	}
	width, full := 0, 0
	for line := range bytes.Lines(head) {
		if len(line) < least { // which no terminal breaks
			continue
		}
		n := utf8.RuneCount(lines.CutPad(bytes.TrimRight(line, "\r\n"), pad))
		if n > most {
			return 0
		}
		if n > width {
			width, full = n, 0
		}
		if n == width {
			full++
		}
	}
	if width < least || full == 1 && !oftenSet[width] {
		return 0
	}
	broken, whole := 0, 0 // lines of that width that go on, and those that do not
	headed, wide := false, false
	for line := range bytes.Lines(head) {
		line = lines.CutPad(bytes.TrimRight(line, "\r\n"), pad)
		switch goesOn := mayContinueMessage(line); {
		case wide && headed && goesOn:
			broken++
		case wide && headed:
			whole++
		}
		if hasStart(line) {
			headed = true
		} else if !wide {
			headed = false
		}
		wide = utf8.RuneCount(line) == width
	}
	if broken <= whole {
		return 0
	}
	return width
}

// hasStart says that a message begins with the line.
func hasStart(line []byte) bool {
	return len(line) > 0 && line[0] != '{' && scanHeader(line).body != none
}

// mayContinueMessage says that a line can be the next piece of a message that was broken. A message
// of logrus can begin with its text, but where it was broken before that, its stamp stands in the
// line above.
func mayContinueMessage(line []byte) bool {
	return !lines.IsBlank(line) && line[0] != '\t' && (!hasStart(line) || bytes.HasPrefix(line, []byte("msg="))) && !lines.IsNoise(line) && !bytes.HasPrefix(line, []byte("goroutine "))
}

// readWrapped reads a line of a file whose lines were broken.
func (l *logReader) readWrapped(line lines.Line) bool {
	w := &l.wrapped
	b := lines.CutPad(lines.TrimReturn(line.Bytes), w.pad)
	if w.first > 0 && line.Cut == 0 && mayContinueMessage(b) {
		switch cut := lines.CutsWords(w.text, b); {
		case cut: // and the blank between them was lost
			w.addSeam(b)
			fallthrough
		case w.going:
			w.addLine(line.Bytes, b, line.N)
			return true
		}
	}
	if w.first > 0 && w.doubled && lines.IsBlank(b) {
		return l.readBlank()
	}
	if !l.endWrapped() {
		return false
	}
	if line.Cut > 0 || utf8.RuneCount(b) != w.width && !endsOpen(b) || !hasStart(b) || lines.IsNoise(b) || l.started > 0 {
		return l.readLine(line)
	}
	w.begin(lines.TrimReturn(line.Bytes), b, line.N)
	return true
}

// begin starts a message with a line, which is quoted as the file has it: with its colours.
func (w *wrapped) begin(raw, b []byte, n int) {
	w.first, w.text, w.ends, w.numbers, w.altered = n, w.text[:0], w.ends[:0], w.numbers[:0], w.altered[:0]
	w.quote = append(w.quote[:0], raw[:min(len(raw), event.MaxRaw)]...)
	w.addLine(raw, b, n)
}

func (w *wrapped) addLine(raw, b []byte, n int) {
	w.text, w.altered = append(w.text, b...), append(w.altered, !bytes.Contains(raw, b))
	w.ends, w.numbers = append(w.ends, len(w.text)), append(w.numbers, n)
	w.going = utf8.RuneCount(b) == w.width
	w.last = utf8.RuneCount(bytes.TrimRight(b, " "))
}

// endWrapped reads the message that was joined.
func (l *logReader) endWrapped() bool {
	w := &l.wrapped
	if w.first == 0 {
		return true
	}
	n := w.first
	w.first, w.more, w.held = 0, len(w.ends)-1, true
	more := l.readLine(lines.Line{N: n, Bytes: w.text})
	w.more, w.held = 0, false
	return more
}

// quoteLine is the line that a record begins with, as it stands in the file.
func (l *logReader) quoteLine(raw []byte) string {
	if l.wrapped.held {
		raw = l.wrapped.quote
	}
	return lines.Clip(bytes.TrimRight(raw, " \t"))
}

// placeWrapped says of a record that was joined where its pieces stand.
func (w *wrapped) placeWrapped(rec *event.Record) {
	if w.more <= 0 || rec.Pieces != nil {
		return
	}
	header := max(0, len(w.text)-len(rec.Text))
	rec.Pieces = []event.Piece{{Pos: rec.Pos}}
	for i, end := range w.ends[:w.more] {
		pos := rec.Pos
		pos.Line = w.numbers[i+1]
		piece := event.Piece{Off: min(max(0, end-header), len(rec.Text)), Pos: pos}
		if rec.Wanted && !w.altered[i+1] { // which no quote could be compared with
			piece.Raw = lines.Clip(bytes.TrimRight(w.text[end:w.ends[i+1]], " "))
		}
		rec.Pieces = append(rec.Pieces, piece)
	}
}
