package logs

import (
	"bytes"
	"strings"

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

// cutPhrases are phrases of the errors of Go and of the messages that matter.
var cutPhrases = splitPhrases(
	"i/o timeout", "connect: connection refused", "connection reset by peer", "connect: no route to host", "no such host", "network is unreachable",
	"net/http: TLS handshake timeout", "net/http: request canceled", "context deadline exceeded", "context canceled", "rpc error: code =", "use of closed network connection",
	"Client.Timeout exceeded while awaiting headers", "PLEG is not healthy:", "pleg was last seen active", "threshold is", "container runtime is down",
	"resource temporarily unavailable", "cannot allocate memory", "no space left on device", "waiting for lo to become free.", "blocked for more than",
)

// phraseCut is a phrase at one of its blanks.
type phraseCut struct{ before, behind []byte }

func splitPhrases(phrases ...string) (cuts []phraseCut) {
	for _, p := range phrases {
		for i := range p {
			if p[i] == ' ' {
				cuts = append(cuts, phraseCut{[]byte(p[:i]), []byte(p[i+1:])})
			}
		}
	}
	return cuts
}

// isBroken says that messages of head were broken in this way.
func isBroken(head []byte) bool {
	var above []byte // a line with a header, and what was broken off it
	for line := range lines.OfHead(head) {
		switch {
		case endsOpen(line):
			above = line
		case above != nil && mayGoOn(line) && cannotBegin(above, line):
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
	return quotesOpen(above) || cutsWords(above, line)
}

// cutsWords says that what programs always write in one line stands over the end of a line.
func cutsWords(above, line []byte) bool {
	return len(above) > 0 && len(line) > 0 && (cutsRequest(above, line) || cutsPhrase(above, line))
}

// quotesOpen says that a quotation of a line has no end.
func quotesOpen(line []byte) bool {
	open := false
	for i, c := range line {
		if c == '"' && (i == 0 || line[i-1] != '\\') {
			open = !open
		}
	}
	return open
}

// cutsRequest: Get "https://…, dial tcp 10.0.0.1:6443 (net/url.Error, net.OpError).
func cutsRequest(above, line []byte) bool {
	last := above[bytes.LastIndexByte(above, ' ')+1:]
	switch string(last) {
	case "Get", "Put", "Post", "Patch", "Delete", "Head":
		return lines.StartsWith(bytes.TrimLeft(line, `\`), `"http`, "http")
	case "tcp", "lookup":
		return lines.IsDigit(line[0]) || line[0] == '[' || bytes.HasPrefix(line, []byte("lookup ")) || bytes.IndexByte(line, ':') > 0
	}
	return false
}

// cutsPhrase says that one of cutPhrases stands over the end of a line.
func cutsPhrase(above, line []byte) bool {
	for _, p := range cutPhrases {
		before, found := bytes.CutSuffix(above, p.before)
		if found && bytes.HasPrefix(line, p.behind) && (len(before) == 0 || strings.IndexByte(" :\"(", before[len(before)-1]) >= 0) {
			return true
		}
	}
	return false
}

// seam is what stood where a line was broken: a blank, but not inside of an address.
func seam(above, line []byte) string {
	last := above[bytes.LastIndexByte(above, ' ')+1:]
	inside := bytes.Contains(last, []byte("://")) && !bytes.HasSuffix(last, []byte(`"`)) && !bytes.HasSuffix(last, []byte(`":`))
	if inside || len(last) == 0 || line[0] == ' ' {
		return ""
	}
	return " "
}

// addSeam adds what stood between the last line of the message and the next one.
func (w *wrapped) addSeam(next []byte) {
	w.text = append(w.text, seam(w.text, next)...)
	w.ends[len(w.ends)-1] = len(w.text)
}

// readBroken reads a line of a file whose messages were broken at blanks.
func (l *logReader) readBroken(line lines.Line) bool {
	w := &l.wrapped
	b := lines.TrimReturn(line.Bytes)
	if w.first > 0 && line.Cut == 0 && len(w.ends) < maxBroken && mayGoOn(b) && cannotBegin(w.text, b) {
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
