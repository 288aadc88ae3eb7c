package incident

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/layout"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Lines are the lines of the logs that a filter takes and that no event of the timeline was made
// from.
type Lines struct {
	Events []*event.Event // of kind log.line, in the order of the timeline
	// Left is how many more there are, behind the last one: memory is bounded.
	Left int
}

// maxLines bounds the lines that are kept at once.
const maxLines = 50_000

// ReadLines reads the logs among the inputs a second time, now that the window and the clocks are
// known, and keeps what the filter takes. What cannot be read again, as stdin, gives none.
func ReadLines(ctx context.Context, in Inputs, inc *Incident, f timeline.Filter) (Lines, error) {
	r := lineReader{
		most: maxLines, inc: inc, filter: inc.Timeline.LineFilter(f), ofEvents: linesOfEvents(inc.Timeline),
		clocks: map[string]timeline.Clock{}, files: map[string]*File{}, copied: map[lineKey]string{},
	}
	for _, c := range inc.Timeline.Clocks {
		r.clocks[c.File] = c
	}
	for _, f := range inc.Files {
		r.files[f.Path] = f
	}
	mayHold := func(path string) bool { return r.mayHold(path, &f) }
	err := rereadInputs(ctx, in, mayHold, func(path string, opened parse.Opened) { r.readFile(ctx, path, opened) })
	r.sortLines()
	return r.lines, err
}

// linesOfEvents are the places that events were made from.
func linesOfEvents(tl *timeline.Timeline) map[event.Pos]bool {
	told := map[event.Pos]bool{}
	for _, e := range tl.Events {
		for _, q := range e.Evidence {
			told[q.Pos] = true
		}
	}
	return told
}

// lineKey is what copies of one line in several files have in common.
type lineKey struct {
	at              int64
	component, text string
}

type lineReader struct {
	most     int // lines that are kept
	inc      *Incident
	filter   timeline.LineFilter
	ofEvents map[event.Pos]bool
	clocks   map[string]timeline.Clock // by file
	files    map[string]*File
	// copied maps lines of events in the window to the file in which they are quoted: their copies
	// are not shown.
	copied map[lineKey]string
	lines  Lines
}

// mayHold says that a file can have lines of the window.
func (r *lineReader) mayHold(path string, f *timeline.Filter) bool {
	a := r.files[path]
	if a == nil {
		return false
	}
	undated := f.Since.IsZero() && f.Until.IsZero()
	return undated || !a.Start.IsZero() && (f.Until.IsZero() || !a.Start.After(f.Until)) && !a.End.Before(f.Since)
}

// readFile reads one file; what is no log has no lines.
func (r *lineReader) readFile(ctx context.Context, path string, in parse.Opened) {
	read, ok := in.Reader.(parse.Records)
	if !ok {
		return
	}
	account := r.files[path]
	clock := lineClock{Clock: r.clocks[path], start: account.Start}
	place := layout.Of(path)
	for rec, err := range read(lines.Input{Path: path, R: in.R}) {
		if err != nil {
			if _, skip := errors.AsType[*event.Skip](err); skip {
				continue
			}
			return
		}
		at := clock.resolveTime(&rec)
		if !rec.Wanted || !r.filter.MatchesTime(at) || !r.filter.MatchesLine(rec.Raw) || r.isOfOtherNode(rec.Host, account) {
			continue
		}
		nameRelayedUnit(&rec)
		nameForeignUnit(&rec, place)
		e := messages.NewLogLine(&rec)
		e.Start, e.Basis = at, clock.basis
		if !r.filter.MatchesComponent(e.Component) {
			continue
		}
		if r.ofEvents[rec.Pos] {
			r.copied[keyOfLine(&e)] = path
			continue
		}
		r.addLine(&e)
		if ctx.Err() != nil {
			return
		}
	}
}

// isOfOtherNode says that a line is of another node: by the name that it has itself, or else by
// that of its file.
func (r *lineReader) isOfOtherNode(host string, a *File) bool {
	host = cmp.Or(host, a.Node)
	isHost := func(node string) bool { return layout.SameNode(node, host) }
	return host != "" && !isHost(r.inc.Node) && slices.ContainsFunc(r.inc.LeftOut, isHost)
}

// addLine adds a line. Where there are too many, the later ones go.
func (r *lineReader) addLine(e *event.Event) {
	if r.lines.Left > 0 && event.Compare(e, r.lines.Events[r.most-1]) > 0 {
		r.lines.Left++
		return
	}
	r.lines.Events = append(r.lines.Events, e)
	if len(r.lines.Events) >= r.most+r.most/4+1 {
		r.sortLines()
	}
}

// sortLines orders the lines, leaves one of each set of copies, and no more than the bound.
func (r *lineReader) sortLines() {
	all := r.lines.Events
	slices.SortStableFunc(all, event.Compare)
	all = slices.CompactFunc(all, func(a, b *event.Event) bool {
		return a.Pos().File != b.Pos().File && a.Start.T.Equal(b.Start.T) && a.Component == b.Component && a.Text == b.Text
	})
	all = slices.DeleteFunc(all, func(e *event.Event) bool {
		file, told := r.copied[keyOfLine(e)]
		return told && file != e.Pos().File
	})
	if len(all) > r.most {
		r.lines.Left += len(all) - r.most
		clear(all[r.most:])
		all = all[:r.most]
	}
	r.lines.Events = all
}

func keyOfLine(e *event.Event) lineKey { return lineKey{e.Start.T.UnixNano(), e.Component, e.Text} }

// lineClock turns the stamps of one file into instants, by what the timeline found out about them.
type lineClock struct {
	timeline.Clock
	start time.Time  // of the file
	last  event.Time // of the line before, which a line without a stamp belongs to
	basis string     // of the latest
}

// basisOfFile is the basis of a stamp whose zone, year or date the file's clock tells.
const basisOfFile = "as the file's other lines"

// resolveTime is when a line was written; zero when not known.
func (c *lineClock) resolveTime(rec *event.Record) event.Time {
	t := rec.Time
	c.basis = ""
	switch {
	case t.IsZero():
		c.basis = "of the line before"
		return c.last
	case t.Lacks == 0:
		t.T = c.ResolveStamp(t.T, true, rec.Pos.Line, time.Time{})
	case t.Lacks == event.LacksBoot && (c.Boot.IsZero() || rec.Uptime == 0):
		return event.Time{}
	case t.Lacks == event.LacksBoot:
		t.T, t.Lacks, c.basis = c.Boot.Add(rec.Uptime), 0, "seconds since boot, as the file's other lines"
	case !rec.Outer.IsZero() && rec.Outer.Lacks == 0:
		t, c.basis = c.resolveNear(t, rec.Pos.Line, rec.Outer.T), "as the file's other lines, near the line's other clock"
	default:
		t, c.basis = c.resolveNear(t, rec.Pos.Line, cmp.Or(c.last.T, c.start)), basisOfFile
	}
	if t.T.IsZero() {
		return event.Time{} // a stamp that counts as undated
	}
	c.last = t
	return t
}

// resolveNear reads a time of day in the year, or on the day, in which it lies nearest to a moment.
func (c *lineClock) resolveNear(t event.Time, line int, near time.Time) event.Time {
	if near.IsZero() {
		return event.Time{}
	}
	near = near.UTC()
	var best time.Time
	for shift := -1; shift <= 1; shift++ {
		face := t.T
		switch {
		case t.Lacks&event.LacksDate != 0:
			y, m, d := near.Date()
			face = time.Date(y, m, d+shift, face.Hour(), face.Minute(), face.Second(), face.Nanosecond(), time.UTC)
		case t.Lacks&event.LacksYear != 0:
			face = face.AddDate(near.Year()+shift-face.Year(), 0, 0)
		}
		at := c.ResolveStamp(face, t.Lacks&event.LacksZone == 0, line, near)
		if best.IsZero() || at.Sub(near).Abs() < best.Sub(near).Abs() {
			best = at
		}
	}
	t.T, t.Lacks = best, 0
	return t
}
