package logs

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// A page that shows a log as running text takes its line breaks away, and so do some chats:
//
//	Nov 08 09:33:14 node-1 kubelet[2917]: E1108 … Nov 08 09:33:20 node-1 kubelet[2917]: E1108 …
//
// Such a line is cut before each header that is written as the first one of the line is.

// writing is how a header is written that is taken for one in the middle of a line.
type writing uint8

const (
	unwritten writing = iota
	byCarrier         // the stamp, the host and the writer of journald or syslog
	byKernel          // [42000.009100]
	byKlog            // E1108 09:30:11.885000    2917 kubelet.go:2412]
	byLogrus          // time="…" level=
)

// leastJoined is the length of the shortest line that holds two messages, in bytes: no header of
// the above has fewer than 16.
const leastJoined = 40

// isJoined says that as many messages of head begin inside of its lines as at their beginnings.
func isJoined(head []byte) bool {
	inside, first := 0, 0
	var joints []int
	for line := range lines.OfHead(head) {
		joints = findJoints(joints[:0], line)
		for _, at := range joints {
			if at > 0 {
				inside++
			}
		}
		if w, _ := findWriting(line); w != unwritten {
			first++
		}
	}
	return inside > 0 && inside >= first
}

// findJoints gives where the messages of a line begin, if it holds more than one, in the memory of
// joints, which is empty. The first may stand behind other words.
func findJoints(joints []int, line []byte) []int {
	if len(line) < leastJoined || line[0] == '{' {
		return joints
	}
	var as writing
	message, looked := 0, 0 // where the last message begins, and how far its quotations are known
	open := false           // one is, there
	for at := 0; at < len(line); {
		w, header := findWriting(line[at:min(len(line), at+longestHeader)])
		if w != unwritten && w == as {
			open, looked = open != lines.HasOpenQuote(line[looked:at]), at
		}
		switch {
		case w == unwritten:
		case as == unwritten, w == as && canEnd(line[message:at], as, open):
			as, joints = w, append(joints, at)
			message, looked, open = at+header, at+header, false
			at += max(0, header-1) // a header can hold another one's
		}
		next := bytes.IndexByte(line[at:], ' ')
		if next < 0 {
			break
		}
		at += next + 1
	}
	if len(joints) < 2 {
		return joints[:0]
	}
	return joints
}

// longestHeader is how much of a line is looked at for a header, in bytes.
const longestHeader = 512

// canEnd says that a message can end where the next header begins; open says that a quotation does
// not. A message can be, or quote, a line of another program, which has no carrier then.
func canEnd(message []byte, as writing, open bool) bool {
	message = bytes.TrimRight(message, " ")
	return len(message) > 0 && (as == byCarrier || !bytes.HasSuffix(message, []byte{':'}) && !open)
}

// findWriting says how the header is written with which a text begins, beyond doubt, and how long
// it is.
func findWriting(b []byte) (w writing, length int) {
	if len(b) < len("[0.000000] ") || !mayBeginHeader(b) {
		return unwritten, 0
	}
	h := scanHeader(b)
	switch {
	case h.dmesg && b[0] == '[':
		w = byKernel
	case h.carried && h.carrier.Known && len(h.unit) > 0 && (h.pid > 0 || string(h.unit) == "kernel"):
		w = byCarrier
	case h.carried || h.container:
	case h.body == klog && len(h.caller) > 0 && h.inner.Known:
		w = byKlog
	case h.body == logrus && h.inner.Known && bytes.HasPrefix(b[h.msg:], []byte("level=")):
		w = byLogrus
	}
	return w, h.msg
}

// mayBeginHeader looks at the first letters only: most words begin no header.
func mayBeginHeader(b []byte) bool {
	switch c := b[0]; {
	case c == '<':
		return lines.IsDigit(b[1])
	case c == '[':
		return b[1] == ' ' || lines.IsDigit(b[1])
	case c == 't':
		return bytes.HasPrefix(b, []byte("time="))
	case c >= 'A' && c <= 'Z':
		return lines.IsDigit(b[1]) && lines.IsDigit(b[4]) || b[1] >= 'a' && b[3] == ' ' && (b[4] == ' ' || lines.IsDigit(b[4]))
	case lines.IsDigit(c):
		return b[4] == '-' && b[7] == '-'
	}
	return false
}

// readJoined reads a line of a file whose lines were joined: each message of it as if it stood on a
// line of its own, whose number is the same.
func (l *logReader) readJoined(line lines.Line) bool {
	b, from := lines.TrimReturn(line.Bytes), 0
	for _, at := range findJoints(nil, b) {
		if before := b[from:at]; !lines.IsBlank(before) {
			if !l.readLine(lines.Line{N: line.N, Bytes: bytes.TrimRight(before, " ")}) {
				return false
			}
			l.message, l.more = l.message+1, -1
		}
		from = at
	}
	more := l.readLine(lines.Line{N: line.N, Bytes: b[from:], Cut: line.Cut})
	l.message, l.more = 0, 0
	return more
}
