package timeline

import (
	"cmp"
	"fmt"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// yearRange is the years of the moments that count as times, both ends included.
type yearRange struct{ first, last int }

// years are those that the stamps of the bundle can be of. Where no stamp has a plausible time the
// whole node may have run with a clock that nobody set, which begins at 1970.
func (r *reconciler) years() yearRange {
	if r.stamped.IsZero() {
		return yearRange{1970, event.LastPlausibleYear}
	}
	return yearRange{event.FirstPlausibleYear, event.LastPlausibleYear}
}

// hold says whether a moment counts as a time. One without a known year does.
func (y yearRange) hold(t time.Time) bool {
	return y.first <= t.Year() && t.Year() <= y.last || isInvented(t)
}

// undate takes away the times that no clock of the node can have shown: zero times, numbers that
// overflowed, stamps of a clock that was not set yet. An order, or a length, with one of
// them would say nothing. The clock of the file says so.
func (r *reconciler) undate(events []*event.Event, sources []*Source) {
	years := r.years()
	for _, e := range events {
		startHolds, endHolds := !e.Start.Known || years.hold(e.Start.T), !e.End.Known || years.hold(e.End.T)
		switch {
		case startHolds && endHolds:
			continue
		case startHolds:
			r.noteUndated(e.Pos(), e.End.T)
			e.End = event.Time{}
		default:
			r.noteUndated(e.Pos(), e.Start.T)
			e.Start, e.End = e.End, event.Time{}
			if !endHolds {
				e.Start, e.Basis = event.Time{}, ""
			}
		}
	}
	for _, s := range sources {
		if s.First.Known && !years.hold(s.First.T) {
			r.noteUndated(event.Pos{File: s.File}, s.First.T)
			s.First = s.Last
		}
		if s.Last.Known && !years.hold(s.Last.T) {
			r.noteUndated(event.Pos{File: s.File}, s.Last.T)
			s.Last = s.First
		}
		if s.First.Known && !years.hold(s.First.T) {
			s.First, s.Last = event.Time{}, event.Time{}
		}
	}
}

// noteUndated keeps the first stamp of a file that was taken for no time.
func (r *reconciler) noteUndated(at event.Pos, t time.Time) {
	c := r.clockOf(at.File)
	order := cmp.Or(cmp.Compare(at.Line, c.undatedAt.Line), t.Compare(c.undated))
	if c.undated.IsZero() || c.undatedAt.Line == 0 && at.Line > 0 || at.Line > 0 && order < 0 {
		c.undated, c.undatedAt = t, at
	}
}

// undatedText is the remark on stamps that were taken for no time; empty where there are none.
func (c *clock) undatedText(years yearRange) string {
	if c.undated.IsZero() {
		return ""
	}
	return fmt.Sprintf("stamps outside of the years %d to %d, such as %s (%s), count as undated",
		years.first, years.last, c.undated.UTC().Format(time.DateOnly), c.undatedAt)
}
