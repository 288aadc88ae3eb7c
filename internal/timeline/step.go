package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	latestFirst bool      // the lines are negative: their file begins with the latest
}

// undoClockSteps moves the stamps from before a step of the clock, so that order and durations
// across the step are right. Each file is split where its lines show the step.
func (r *reconciler) undoClockSteps(events []*event.Event, sources []Source) {
	var steps []setClock
	for _, e := range events {
		if e.Kind != event.KindClockStep || !e.Start.Known || !event.Plausible(e.Start.T) {
			continue
		}
		if by, ok := e.FieldDuration(event.FieldStep); ok && by.Abs() >= leastStep {
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
		latestFirst := isLatestFirst(stamps, len(steps))
		if latestFirst {
			mirrorLines(stamps)
		}
		for i := range steps {
			r.clockOf(file).undoClockStep(stamps, &steps[i], file, latestFirst)
		}
	}
}

// isLatestFirst says that the lines of a file begin with the latest, as exports of log aggregators
// do. Each step of the clock can make one stamp that is earlier than the one above it.
func isLatestFirst(stamps []stamp, steps int) bool {
	down, up := 0, 0
	for i := 1; i < len(stamps); i++ {
		if stamps[i].line == lastLine || stamps[i-1].line == 0 {
			continue // of a source, and no line
		}
		switch order := stamps[i-1].main.T.Compare(stamps[i].main.T); {
		case order > 0:
			down++
		case order < 0:
			up++
		}
	}
	return down > up && down > steps
}

// mirrorLines turns the order of lines around, so that they rise with their times.
func mirrorLines(stamps []stamp) {
	for i := range stamps {
		switch line := &stamps[i].line; *line {
		case lastLine:
		case 0:
			*line = -lastLine
		default:
			*line = -*line
		}
	}
	slices.SortStableFunc(stamps, func(a, b stamp) int { return cmp.Compare(a.line, b.line) })
}

// undoClockStep moves the stamps of one file from before a step. A large step is only reported. The
// lines of a file that begins with the latest are negative.
func (c *clock) undoClockStep(stamps []stamp, s *setClock, file string, latestFirst bool) {
	line := s.Pos().Line
	if latestFirst {
		line = -line
	}
	n, open := s.splitStamps(stamps, file, line)
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
	m := move{stamps[n+open-1].line, lastLine, s.by, s.after, latestFirst}
	if n+open < len(stamps) {
		m.first = stamps[n+open].line
	}
	if s.Pos().File == file {
		m.last, m.first = line-1, line
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
		if st.event != nil && !strings.HasSuffix(st.event.Basis, "the clock was set afterwards") {
			st.event.Basis = joinParts(", ", st.event.Basis, "the clock was set afterwards")
		}
	}
}

// splitStamps says how many of a file's stamps, in the order of lines, were written before the
// step: up to the line about it, else up to the jump in the stamps. Where a clock was set back and
// the file does not show it, open of them can be from before or after.
func (s *setClock) splitStamps(stamps []stamp, file string, line int) (n, open int) {
	if s.Pos().File == file {
		n, _ = slices.BinarySearchFunc(stamps, line, func(st stamp, line int) int { return cmp.Compare(st.line, line) })
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
