package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Steps of the clock that are undone. Smaller ones are within the precision of stamps. Before a
// larger one it is not known since when the clock was wrong: it can have been right until the
// machine slept.
const (
	leastStep = time.Second
	mostStep  = 15 * time.Minute
)

// setClock is one line that says by how much a clock was set.
type setClock struct {
	*event.Event
	by    time.Duration
	after time.Time // what the clock showed when it had been set
}

// move is how the stamps of a file from before a step of the clock were moved.
type move struct {
	last, first int // the line of the last stamp that was moved, and of the first that was not
	by          time.Duration
	after       time.Time // what the clock showed when it had been set
}

// undoClockSteps moves the stamps from before a step of the clock, so that order and durations
// across the step are right. Each file is split where its lines show the step.
func (r *reconciler) undoClockSteps(events []*event.Event, sources []Source) {
	var steps []setClock
	for _, e := range events {
		if by, ok := fieldDuration(e, event.FieldStep); ok && e.Kind == event.KindClockStep && e.Start.Known &&
			event.Plausible(e.Start.T) && by.Abs() >= leastStep {
			steps = append(steps, setClock{e, by, e.Last().T})
		}
	}
	if len(steps) == 0 {
		return
	}
	slices.SortFunc(steps,
		func(a, b setClock) int { return cmp.Or(b.after.Compare(a.after), compareEvents(a.Event, b.Event)) })
	steps = slices.CompactFunc(steps, func(a, b setClock) bool {
		// a copy, or another program's line about it
		return (a.by-b.by).Abs() <= leastStep && a.after.Sub(b.after).Abs() <= 2*leastStep
	})
	files := map[string][]stamp{}
	for i := range sources {
		files[sources[i].File] = append(files[sources[i].File], stampsOf(&sources[i])...)
	}
	for _, e := range events {
		files[e.Pos().File] = append(files[e.Pos().File],
			stamp{main: &e.Start, other: &e.End, event: e, line: e.Pos().Line})
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		stamps := slices.DeleteFunc(files[file],
			func(s stamp) bool { return !s.main.Known || !event.Plausible(s.main.T) })
		slices.SortStableFunc(stamps, func(a, b stamp) int { return cmp.Compare(a.line, b.line) })
		for i := range steps {
			r.clockOf(file).undoClockStep(stamps, &steps[i], file)
		}
	}
}

// undoClockStep moves the stamps of one file from before a step. A large step is only reported.
func (c *clock) undoClockStep(stamps []stamp, s *setClock, file string) {
	n, open := s.splitStamps(stamps, file)
	if n+open == 0 {
		return
	}
	told := fmt.Sprintf("the clock was set by %s (%s)", s.by.Round(time.Millisecond), s.Pos())
	if s.by.Abs() > mostStep {
		c.stepped = joinParts("; ", c.stepped, told+": earlier times are as the clock showed them")
		return
	}
	c.stepped = joinParts("; ", c.stepped, told+": earlier times were moved by as much")
	if open > 0 {
		c.stepped = joinParts("; ", c.stepped,
			fmt.Sprintf("%d stamps can be from before or after: each is an interval with both", open))
	}
	m := move{stamps[n+open-1].line, lastLine, s.by, s.after}
	if n+open < len(stamps) {
		m.first = stamps[n+open].line
	}
	if s.Pos().File == file {
		m.last, m.first = s.Pos().Line-1, s.Pos().Line
	}
	c.moves = append(c.moves, m)
	for i := range stamps[:n+open] {
		st := &stamps[i]
		if st.event == s.Event {
			continue
		}
		for _, t := range [...]*event.Time{st.main, st.other} {
			if t == nil || !t.Known {
				continue
			}
			t.T = t.T.Add(s.by)
			if i >= n {
				t.Prec += s.by.Abs()
			}
		}
		if st.event != nil {
			st.event.Basis = joinParts(", ", st.event.Basis, "the clock was set afterwards")
		}
	}
}

// splitStamps says how many of a file's stamps, in the order of lines, were written before the
// step: up to the line about it, else up to the jump in the stamps. Where a clock was set back and
// the file does not show it, open of them can be from before or after.
func (s *setClock) splitStamps(stamps []stamp, file string) (n, open int) {
	if s.Pos().File == file {
		n, _ = slices.BinarySearchFunc(stamps, s.Pos().Line,
			func(st stamp, line int) int { return cmp.Compare(st.line, line) })
		return n, 0
	}
	before := s.after.Add(-s.by) // what the clock showed just before it was set
	if s.by > 0 {
		for n < len(stamps) && stamps[n].main.T.Before(before.Add(s.by/2)) {
			n++
		}
		return n, 0
	}
	for i := range stamps {
		t := stamps[i].main.T
		if i > 0 && stamps[i-1].main.T.Sub(t) > -s.by/2 && !t.Before(s.after.Add(-leastStep)) &&
			!stamps[i-1].main.T.After(before.Add(leastStep)) {
			return i, 0
		}
		switch {
		case t.Before(s.after):
			n, open = i+1, 0
		case !t.After(before):
			open = i + 1 - n
		}
	}
	return n, open
}
