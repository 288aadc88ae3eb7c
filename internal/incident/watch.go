package incident

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// lineWatch notes what becomes of one line of a file while the file is read. Of most files there is
// none, and all its methods may then be called on nil. What the reader of the lines notes and what
// the maker of events notes are apart: both run side by side.
type lineWatch struct {
	at      event.Pos
	entries bool // the file is no text: at.Line is the number of an entry

	// Noted by the reader.
	line   int    // the line that is read now
	format string // of the section that is read now; empty in a file without any
	text   []byte // of the watched line, as written; at most event.MaxRaw bytes
	part   string // what the line was read as; empty when nothing of it was read
	from   int    // the lines of that part
	to     int
	joint  bool          // what is made of that part is made of all its lines
	record *event.Record // where it is a line of a log
	writer string        // of the record
	prose  bool          // the record stands in prose, inside of a file that has other parts
	skip   *event.Skip   // that the line was lost with
	// dated are the dated lines before the watched one, one in each stretch of stampPause, then the
	// last: by them a clock without a date is followed.
	dated []event.Record

	// Noted by the maker of events.
	made []event.Event
}

// isWatched says whether a path is the one that the user wrote, or ends with it. A path on disk may
// end with that of a file in its directory.
func isWatched(path, wanted string) bool {
	return wanted != "" && (path == wanted || strings.HasSuffix(path, "/"+wanted) || strings.HasSuffix(wanted, "/"+path))
}

// newWatch is the watch of a file; nil where its path is not wanted.
func newWatch(path string, wanted event.Pos) *lineWatch {
	if !isWatched(path, wanted.File) {
		return nil
	}
	return &lineWatch{at: event.Pos{File: path, Line: wanted.Line}}
}

// tapText returns the text of the file unchanged, and notes the watched line while it is read.
func (w *lineWatch) tapText(r io.Reader) io.Reader {
	if w == nil || w.entries {
		return r
	}
	w.line, w.text = 1, nil
	return &lineTap{r, w}
}

// lineTap passes text on to its reader.
type lineTap struct {
	io.Reader
	watch *lineWatch
}

// Read implements [io.Reader].
func (t *lineTap) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	t.watch.noteText(p[:n])
	return n, err
}

func (w *lineWatch) noteText(p []byte) {
	for len(p) > 0 && w.line <= w.at.Line {
		end := bytes.IndexByte(p, '\n')
		piece := p
		if end >= 0 {
			piece = p[:end]
		}
		if w.line == w.at.Line {
			w.text = append(w.text, piece[:min(len(piece), event.MaxRaw-len(w.text))]...)
		}
		if end < 0 {
			return
		}
		w.line++
		p = p[end+1:]
	}
}

// tapOpener is tapText for a text that is opened later.
func (w *lineWatch) tapOpener(open func() (io.Reader, io.Closer, error)) func() (io.Reader, io.Closer, error) {
	if w == nil {
		return open
	}
	return func() (io.Reader, io.Closer, error) {
		text, file, err := open()
		if err == nil {
			text = w.tapText(text)
		}
		return text, file, err
	}
}

// noteFormat notes of which format the section is that is read next.
func (w *lineWatch) noteFormat(format string) {
	if w != nil {
		w.format = format
	}
}

// notePart notes that the lines from one on were read as part of something, if the watched line is
// one of them. What covers fewer lines says more: a line of a log in a document.
func (w *lineWatch) notePart(pos event.Pos, count int, part string) bool {
	if w == nil || pos.File != w.at.File || w.at.Line < pos.Line || w.at.Line >= pos.Line+max(count, 1) {
		return false
	}
	if w.part == "" || max(count, 1) <= w.to-w.from+1 {
		w.part, w.from, w.to = part, pos.Line, pos.Line+max(count, 1)-1
	}
	return true
}

// stampPause is how far apart the dated lines are that are kept: a clock that shows no date is
// followed as long as it is seen twice a day.
const stampPause = time.Hour

// noteRecord notes a line of a log, which a writer wrote. It takes a copy, so that the reader's
// record stays off the heap.
func (w *lineWatch) noteRecord(rec event.Record, writer string) {
	inPieces := slices.ContainsFunc(rec.Pieces, func(p event.Piece) bool { return p.Pos == w.at })
	if w.notePart(rec.Pos, rec.Lines, "a line of a log") || inPieces {
		if w.record == nil {
			if inPieces {
				w.part, w.from, w.to = "a line of a log", rec.Pos.Line, max(w.at.Line, rec.Pos.Line+rec.Lines-1)
			}
			w.record, w.writer, w.joint = &rec, writer, true
			w.prose = w.format == parse.Prose
		}
		return
	}
	if !rec.Time.IsZero() && rec.Pos.Line < w.at.Line {
		if n := len(w.dated); n > 1 && rec.Time.T.Sub(w.dated[n-2].Time.T).Abs() < stampPause {
			w.dated = w.dated[:n-1]
		}
		rec.Text, rec.Raw, rec.Fields, rec.Pieces = "", "", nil, nil
		w.dated = append(w.dated, rec)
	}
}

// noteSkip notes input that was lost, if the watched line is part of it.
func (w *lineWatch) noteSkip(s *event.Skip) {
	if w != nil && w.skip == nil && s.Pos.File == w.at.File && w.at.Line >= s.Pos.Line && w.at.Line < s.Pos.Line+s.Lines {
		w.skip = s
	}
}

// noteEvent notes an event that was made of the watched line.
func (w *lineWatch) noteEvent(e *event.Event) {
	if w != nil && quotesLine(e.Evidence, w.at) {
		w.made = append(w.made, *e)
	}
}

// isMadeOfLine says whether an event was made of the watched line, or of the part that the line
// belongs to.
func (w *lineWatch) isMadeOfLine(e *event.Event) bool {
	return slices.ContainsFunc(e.Evidence, func(q event.Quote) bool {
		return q.Pos.WholeLine() == w.at || w.joint && q.Pos.File == w.at.File && q.Pos.Line >= w.from && q.Pos.Line <= w.to
	})
}

// quotesLine says whether a line is among quotes.
func quotesLine(quotes []event.Quote, at event.Pos) bool {
	return slices.ContainsFunc(quotes, func(q event.Quote) bool { return q.Pos.WholeLine() == at })
}

// noteCall notes a system call of a trace.
func (w *lineWatch) noteCall(call *traces.Syscall) {
	if w != nil && call.Pos.File == w.at.File {
		w.notePart(call.Pos, call.Lines, "the system call "+call.Name)
	}
}

// noteSample notes a row of a sampler, or a file of /proc.
func (w *lineWatch) noteSample(s *samples.Sample) {
	if w == nil {
		return
	}
	part := "a sample"
	switch {
	case s.Legend != samples.NoLegend:
		part = "what an id of a sampler stands for"
	case s.Comm != "" && s.TID > 0:
		part = fmt.Sprintf("a sample of thread %d (%s)", s.TID, s.Comm)
	case s.TID > 0:
		part = fmt.Sprintf("a sample of thread %d", s.TID)
	}
	w.notePart(s.Pos, s.Lines, part)
}

// noteDatum notes a datum of a snapshot, which path names.
func (w *lineWatch) noteDatum(pos event.Pos, count int, path []string) {
	if w == nil {
		return
	}
	part := "a line of a snapshot"
	if name := strings.Join(path, "."); name != "" {
		part = fmt.Sprintf("the value of %s in a snapshot", name)
	}
	w.notePart(pos, count, part)
}

// noteDump notes a goroutine of a dump.
func (w *lineWatch) noteDump(d *stackdump.Dump) {
	if w == nil || d.File != w.at.File {
		return
	}
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		last := max(g.Pos.Line, g.CreatedBy.Pos.Line)
		for _, f := range g.Frames {
			last = max(last, f.Pos.Line)
		}
		if last++; w.at.Line >= g.Pos.Line && w.at.Line <= last { // the file line of the last frame follows it
			w.part, w.from, w.to, w.joint = nameGoroutine(g), g.Pos.Line, last, true
			return
		}
	}
}

func nameGoroutine(g *stackdump.Goroutine) string {
	if g.ID == 0 {
		return "goroutines of a profile"
	}
	state := g.State
	if g.Wait > 0 {
		state = fmt.Sprintf("%s, %d minutes", state, int(g.Wait.Minutes()))
	}
	return fmt.Sprintf("goroutine %d [%s] of a dump", g.ID, state)
}

// isBlank says whether the watched line is there and of white space only.
func (w *lineWatch) isBlank() bool { return w.line > w.at.Line && lines.IsBlank(w.text) }
