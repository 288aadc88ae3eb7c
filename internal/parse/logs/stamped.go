package logs

import (
	"bytes"
	"iter"
	"regexp"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// ReadStamped reads what prose quotes of logs, as an incident's description does:
//
//	At half past nine the kubelet said
//	> E1108 09:30:11.885000 1234 kubelet.go:2400] "Skipping pod synchronization" err="PLEG is not healthy: …"
//	and containerd was restarted.
//
// Lines that carry the header of a log are read as ReadLines does; the marks of a quotation or of a
// list may stand before it, and a sentence where it is code of Markdown. So are lines that are code
// of Markdown as a whole, and the last words of dockerd or containerd, which have no header. All
// others are somebody's words: they are used, and none is wanted.
func ReadStamped(in lines.Input) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		l := newLogReader(in, yield)
		l.readFile(l.readStampedLine, l.endFile)
	}
}

// eventRow is a row of the Events that kubectl describe prints, with the age of the last one.
var eventRow = regexp.MustCompile(`^(Warning|Normal) +[A-Z]\w+ +(<unknown>|\d+[smhd])`)

// lastWords begin the line with which dockerd or containerd ends, as it prints it to stderr.
var lastWords = []string{"failed to start daemon: ", "unable to configure the Docker daemon with file ", "containerd: failed to load TOML: "}

// readStampedLine reads a line that has a header, or needs none, and accounts for any other.
func (l *logReader) readStampedLine(line lines.Line) bool {
	b := lines.TrimReturn(line.Bytes)
	if code := cutQuoted(b, "`"); code != nil {
		b = code
	} else {
		b = TrimQuotation(b)
	}
	if code := lines.WholeCode(line.Bytes); code != nil { // pasted, as between two fences
		line.Bytes = code
		return l.readLine(line)
	}
	if len(b) > 0 && (HasHeader(b) || lines.StartsWith(b, lastWords...) || eventRow.Match(b) || IsJournalJSON(b) || b[0] == '{' && (IsKlog(b) || IsLogrus(b) || IsContainer(b))) {
		line.Bytes = b
		return l.readLine(line)
	}
	if lines.IsBlank(line.Bytes) && line.Cut == 0 {
		return l.readBlank()
	}
	if !l.closeAll() {
		return false
	}
	if err := l.CutSkip(line); err != nil && !l.yield(event.Record{}, err) {
		return false
	}
	return l.yield(event.Record{Pos: event.Pos{File: l.Path, Line: line.N}, Lines: 1}, nil)
}

// ownLine is how exact a time is that stands on a line of its own: whoever wrote it may have looked
// at the lines below a little later.
const ownLine = time.Minute

// readOwnStamp reads a line that is a date with a time and nothing else, as people write it above
// what they quote and scripts above what they print:
//
//	Nov 23 10:11:12
//	=== 2025-11-08 09:30:11 ===
//	[Fri Nov 20 18:25:50 UTC 2026]
func readOwnStamp(b []byte) (t event.Time, ok bool) {
	const longest = 60
	if len(b) > longest || bytes.IndexByte(b, ':') < 0 {
		return t, false
	}
	b = bytes.Trim(b, " \t=-#*[]()>")
	if end := len(b) - 1; end > 0 && b[end] == ':' {
		b = b[:end]
	}
	if len(b) < len("Nov  3 10:11:12") {
		return t, false
	}
	t, n := stamp.Short(b)
	if ok = n > 0 && n == len(b); !ok {
		t, ok = stamp.Date(string(b))
	}
	t.Prec = max(t.Prec, ownLine)
	return t, ok
}

// TrimQuotation removes what people put before a line that they quote: indentation, the mark of a
// quotation or of a list, a backquote.
func TrimQuotation(line []byte) []byte {
	line = bytes.TrimLeft(line, " \t>")
	if len(line) > 2 && (line[0] == '-' || line[0] == '*') && line[1] == ' ' {
		line = line[2:]
	}
	return bytes.TrimLeft(line, "`")
}
