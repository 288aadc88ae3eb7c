package stackdump

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/stackdump/paste"
)

// Found is a dump that a log carried.
type Found struct {
	Source Source
	At     event.Time // of the record with its first goroutine; zero when none was written
	Unit   string     // who wrote that record
	Host   string     // on which node; empty when the record does not say
	PID    int        // of the process; 0 when nothing tells
}

// Collector finds dumps among the records of one log: whole ones in a message,
// and raw ones, whose every line is a record of its own because a program's
// standard error goes to a log. The zero value is ready.
type Collector struct {
	runs []*run // raw dumps being written, oldest first
	at   int    // records seen
}

// Bounds of a raw dump. Two programs may write theirs at once, and ordinary
// lines come between.
const (
	maxRuns  = 16
	maxText  = 256 << 20 // bytes; some 250 000 goroutines
	maxStray = 16        // lines in a row of the same writer that are no part of a dump
	maxQuiet = 10_000    // lines in a row of others
)

// run is a raw dump while its lines come in.
type run struct {
	writer  writer
	lead    linePrefix
	profile bool // a profile in text, not a dump
	found   Found
	text    strings.Builder
	ids     map[uint64]bool
	stray   int
	last    int // record that was its last line
}

// writer tells whose line a record is.
type writer struct {
	unit, host string
	pid        int
}

func writerOf(rec *event.Record) writer { return writer{rec.Unit, rec.Host, rec.PID} }

// Want says whether a raw line may be part of a dump, for parse.Input. It is
// asked about a line before that line's record is added.
func (c *Collector) Want(line []byte) bool {
	return c.Pending() || bytes.Contains(line, []byte(headerWord[1:]))
}

// Pending says that a raw dump is being written, so that every line may be part
// of it. It is Want for those who look for headers themselves.
func (c *Collector) Pending() bool { return len(c.runs) > 0 }

// Add takes the next record and returns the dumps that are complete with it, mostly none.
func (c *Collector) Add(rec *event.Record) []Found {
	c.at++
	found := c.endQuietRuns()
	at, idEnd := findHeaderOfLine(rec.Text)
	profile := findProfile(rec.Text)
	if (at >= 0 || profile >= 0) && strings.Contains(rec.Text, "\n") {
		return append(found, newFoundInMessage(rec, rec.Text, rec.Pieces))
	}
	for _, field := range rec.Fields { // of loggers that write a stack beside the message
		if strings.Contains(field.Value, "\n") && (Contains(field.Value) || findProfile(field.Value) >= 0) {
			found = append(found, newFoundInMessage(rec, field.Value, nil))
		}
	}
	if !rec.Wanted {
		return found
	}
	r := c.findRun(writerOf(rec))
	if at >= 0 && r.acceptsHeader(rec.Text[:at], rec.Text[at:]) {
		return append(found, c.beginGoroutine(rec, at, parseID(rec.Text[at+len(headerWord):idEnd]))...)
	}
	if profile >= 0 && strings.TrimSpace(rec.Text[:profile]) == "" {
		if r != nil {
			found = append(found, c.endRun(r)...)
		}
		found = append(found, c.beginGoroutine(rec, profile, 0)...)
		c.runs[len(c.runs)-1].profile = true
		return found
	}
	if gap, ok := event.ParseSuppressed(rec.Text); ok {
		c.noteSuppressed(rec, gap)
		return found
	}
	if r == nil {
		return found
	}
	if line := r.lead.cutFrom(rec.Text); r.acceptsLine(strings.TrimSpace(line)) {
		if r.addLine(rec, line, c.at); r.text.Len() > maxText {
			found = append(found, c.endRun(r)...)
		}
	} else if r.stray++; r.stray > maxStray {
		found = append(found, c.endRun(r)...)
	}
	return found
}

// acceptsLine says whether a trimmed line may be the next one of the dump.
func (r *run) acceptsLine(line string) bool {
	if r.profile {
		_, pcs, entry := strings.Cut(line, " @ 0x")
		return line == "" || line[0] == '#' || entry && strings.Trim(pcs, " 0123456789abcdefx") == ""
	}
	return isDumpLine(line) || isDumpLine(paste.CleanLine(line))
}

// newFoundInMessage is a dump that one message holds, or a field of it.
func newFoundInMessage(rec *event.Record, text string, pieces []event.Piece) Found {
	if pieces == nil { // a message on one line has all its text there
		pieces = []event.Piece{{Pos: rec.Pos}}
	}
	f := newFound(rec, pidOf(rec))
	f.Source.Text, f.Source.Pieces = text, pieces
	return f
}

// newFound is a dump that begins with a record, still without its text.
func newFound(rec *event.Record, pid int) Found {
	return Found{
		At: rec.Time, Unit: rec.Unit, Host: rec.Host, PID: pid,
		Source: Source{File: rec.Pos.File, Line: rec.Pos.Line},
	}
}

// acceptsHeader says whether a header belongs to the dump r, nil for none, or begins one, by what
// stands before it in its line: nothing, or what a tool has put before every line.
func (r *run) acceptsHeader(before, header string) bool {
	switch {
	case strings.TrimSpace(before) == "":
		return true
	case !strings.HasSuffix(strings.TrimRight(header, " \t\r"), "]:"):
		return false // it is only spoken of
	case r == nil:
		return true
	}
	return r.lead.text != "" && len(r.lead.cutFrom(before)) == 0
}

// noteSuppressed notes in the raw dumps of a unit, in all when it is nobody's, that journald did
// not keep all their lines.
func (c *Collector) noteSuppressed(rec *event.Record, gap event.Suppressed) {
	nobodys := !slices.ContainsFunc(c.runs, func(r *run) bool { return gap.Of(r.writer.unit) })
	for _, r := range c.runs {
		if nobodys || gap.Of(r.writer.unit) {
			r.addLine(rec, rec.Text, c.at)
		}
	}
}

// beginGoroutine takes the header of a goroutine; it ends the dump before, if it belongs to another
// one.
func (c *Collector) beginGoroutine(rec *event.Record, at int, id uint64) (found []Found) {
	who := writerOf(rec)
	r := c.findRun(who)
	if r != nil && (r.profile || r.ids[id] && id != 0) { // the next dump of the same program
		found = append(found, c.endRun(r)...)
		r = nil
	}
	if r == nil {
		if len(c.runs) == maxRuns {
			found = append(found, c.endRun(c.runs[0])...)
		}
		r = &run{writer: who, ids: map[uint64]bool{}}
		if before := rec.Text[:at]; strings.TrimSpace(before) != "" {
			r.lead.text = before
		}
		r.found = newFound(rec, rec.PID)
		c.runs = append(c.runs, r)
	}
	r.ids[id] = true
	r.addLine(rec, rec.Text[at:], c.at)
	return found
}

// Close returns the dumps that end with the log.
func (c *Collector) Close() []Found {
	var found []Found
	for len(c.runs) > 0 {
		found = append(found, c.endRun(c.runs[0])...)
	}
	return found
}

// endQuietRuns ends raw dumps whose writer has been silent for long.
func (c *Collector) endQuietRuns() []Found {
	var found []Found
	for i := 0; i < len(c.runs); {
		if r := c.runs[i]; c.at-r.last > maxQuiet {
			found = append(found, c.endRun(r)...)
			continue
		}
		i++
	}
	return found
}

func (c *Collector) findRun(who writer) *run {
	if i := slices.IndexFunc(c.runs, func(r *run) bool { return r.writer == who }); i >= 0 {
		return c.runs[i]
	}
	return nil
}

// endRun takes a run off the list. Words before a header, and then no dump, were a sentence about a
// goroutine.
func (c *Collector) endRun(r *run) []Found {
	c.runs = slices.DeleteFunc(c.runs, func(o *run) bool { return o == r })
	if r.lead.text != "" && len(r.found.Source.Pieces) == 1 {
		return nil
	}
	r.found.Source.Text = r.text.String()
	return []Found{r.found}
}

// add takes a line of the dump, without what a tool has put before it.
func (r *run) addLine(rec *event.Record, line string, at int) {
	r.stray, r.last = 0, at
	r.found.Source.Pieces = append(r.found.Source.Pieces, event.Piece{Off: r.text.Len(), Pos: rec.Pos})
	r.text.WriteString(line)
	r.text.WriteByte('\n')
}

// linePrefix is what a tool has put before every line of a dump: "app_1  | " of docker compose,
// "[pod/a/b] " of kubectl, the numbers of less -N and grep -n. The zero value is nothing.
type linePrefix struct {
	text   string
	varies bool // its numbers do
	known  bool // varies is decided, by the line after the header
}

// cutFrom is a line without the prefix, or the line itself when it has none.
func (l *linePrefix) cutFrom(line string) string {
	if l.text == "" {
		return line
	}
	if rest, ok := strings.CutPrefix(line, l.text); ok {
		l.known = true
		return rest
	}
	if l.known && !l.varies {
		return line
	}
	rest, ok := cutAlike(line, l.text)
	if !ok {
		return line
	}
	l.known, l.varies = true, true
	return rest
}

// cutAlike takes off what is like text but for its numbers, and for the blanks that align them.
func cutAlike(line, text string) (rest string, ok bool) {
	number := func(c byte) bool { return c == ' ' || c-'0' <= 9 }
	for text != "" {
		switch {
		case line == "":
			return "", false
		case number(text[0]) && number(line[0]):
			text, line = strings.TrimLeft(text, " 0123456789"), strings.TrimLeft(line, " 0123456789")
		case text[0] != line[0]:
			return "", false
		default:
			text, line = text[1:], line[1:]
		}
	}
	return line, true
}

// pidOf is the process whose dump a message holds: containerd logs for its
// shims, and names the shim behind the message (runtime/v2/shim/shim.go, pid=).
func pidOf(rec *event.Record) int {
	if field, ok := rec.Field("pid"); ok {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
			return pid
		}
	}
	return rec.PID
}

// findHeaderOfLine is where a header begins in the text of a record, and where its id ends; -1 when
// there is none. One whose number somebody left out must begin the text.
func findHeaderOfLine(text string) (at, idEnd int) {
	if at, idEnd = findHeader(text); at >= 0 || !strings.Contains(text, headerWord) {
		return at, idEnd
	}
	trimmed := strings.TrimLeft(text, " \t")
	if n := elidedIDLen(trimmed); n > 0 {
		return len(text) - len(trimmed), len(text) - len(trimmed) + n
	}
	return -1, 0
}

// parseID is the number of a goroutine; 0 when it was left out.
func parseID(s string) (id uint64) {
	if strings.Trim(s, "0123456789") != "" {
		return 0
	}
	for i := range len(s) {
		id = id*10 + uint64(s[i]-'0')
	}
	return id
}

// isDumpLine says whether a trimmed line may stand below a header.
func isDumpLine(s string) bool {
	if s == "" {
		return true
	}
	if s[len(s)-1] == ')' {
		open, ok := openParen(s)
		return ok && open > 0 && strings.IndexByte(s[:open], ' ') < 0
	}
	if path, _, ok := parseFile(s); ok {
		return strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".s") || strings.HasSuffix(path, ".c") ||
			strings.HasSuffix(path, ">") // <autogenerated>
	}
	if _, ok := parseElided(s); ok {
		return true
	}
	return strings.HasPrefix(s, creatorWord) || isRegister(s) || isFurniture(s)
}
