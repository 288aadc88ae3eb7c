package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline/steps"
)

// mostStep is the largest step of the clock that is undone for all that comes before it. Before a
// larger one it is not known since when the clock was wrong: it can have been right until the
// machine slept. It was surely wrong where it showed more than it does after it was set back.
const mostStep = 15 * time.Minute

// setClock is one line that says by how much a clock was set.
type setClock struct {
	*event.Event
	steps.Step
}

// toldSteps is how many steps of one kind a clock's note tells one by one.
const toldSteps = 3

// undoClockSteps moves the stamps from before a step of the clock, so that order and durations
// across the step are right. Each file is split where its lines show the step.
func (r *reconciler) undoClockSteps(events []*event.Event, sources []*Source) {
	var set []setClock
	for _, e := range events {
		if e.Kind != event.KindClockStep || !e.Start.Known || !event.Plausible(e.Start.T) {
			continue
		}
		if by, ok := e.FieldDuration(event.FieldStep); ok && by.Abs() >= steps.Least {
			set = append(set, setClock{e, steps.Step{By: by, After: e.Last().T}})
		}
	}
	if len(set) == 0 {
		return
	}
	slices.SortFunc(set,
		func(a, b setClock) int { return cmp.Or(b.After.Compare(a.After), compareEvents(a.Event, b.Event)) })
	set = slices.CompactFunc(set, func(a, b setClock) bool {
		// a copy, or another program's line about it
		return (a.By-b.By).Abs() <= steps.Least && a.After.Sub(b.After).Abs() <= 2*steps.Least
	})
	slices.Reverse(set) // what is from before a step must show the clock of its time to the next one
	files := map[string][]stamp{}
	for i := range sources {
		files[sources[i].File] = append(files[sources[i].File], stampsOf(sources[i])...)
	}
	for _, e := range events {
		files[e.Pos().File] = append(files[e.Pos().File],
			stamp{main: &e.Start, other: &e.End, event: e, line: e.Pos().Line})
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		stamps := slices.DeleteFunc(files[file],
			func(s stamp) bool { return !s.main.Known || !event.Plausible(s.main.T) })
		slices.SortStableFunc(stamps, func(a, b stamp) int { return cmp.Compare(a.line, b.line) })
		latestFirst := isLatestFirst(stamps, len(set))
		if latestFirst {
			mirrorLines(stamps)
		}
		r.clockOf(file).undoClockSteps(stamps, set, file, latestFirst)
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

// undoClockSteps moves the stamps of one file from before each step. A large step is only reported.
// The lines of a file that begins with the latest are negative.
func (c *clock) undoClockSteps(stamps []stamp, set []setClock, file string, latestFirst bool) {
	times := make([]time.Time, len(stamps))
	for i := range stamps {
		times[i] = stamps[i].main.T
	}
	shown, most := steps.NewStamps(times), 0
	var moves []steps.Move
	var undone, large []*setClock
	for i := range set {
		s, m := &set[i], steps.Move{Step: set[i].Step}
		n, open := 0, 0
		if s.Pos().File == file {
			m.First = s.Pos().Line
			if latestFirst {
				m.First = -m.First
			}
			m.Last = m.First - 1
			n, _ = slices.BinarySearchFunc(stamps, m.First, func(st stamp, line int) int { return cmp.Compare(st.line, line) })
		} else if n, open = shown.Split(s.Step); n+open > 0 {
			m.Last, m.First = stamps[n+open-1].line, lastLine
			if n+open < len(stamps) {
				m.First = stamps[n+open].line
			}
		}
		switch {
		case n+open == 0:
		case s.By < -mostStep && s.Pos().File == file && isAhead(times[:n], s):
			last := countBefore(times[:n], s.After)
			first := countAhead(times[:last], s.After)
			m.Last, m.First = stamps[last-1].line, stamps[last-1].line+1
			if first > 0 { // what is before those is as it was
				back := steps.Move{Step: steps.Step{By: -s.By, After: s.After}, Last: stamps[first-1].line, First: stamps[first-1].line + 1}
				moves = append(moves, back)
				shown.Undo(first, 0, -s.By)
			}
			undone, moves, most = append(undone, s), append(moves, m), max(most, last)
			shown.Undo(last, 0, s.By)
		case s.By.Abs() > mostStep:
			large = append(large, s)
		default:
			undone, moves, most = append(undone, s), append(moves, m), max(most, n+open)
			shown.Undo(n, open, s.By)
		}
	}
	if most > 0 {
		c.moves = steps.NewMoves(moves, latestFirst)
	}
	open := moveStamps(stamps[:most], shown)
	c.stepped = joinParts("; ", tellSteps(undone, "earlier times were moved by as much"), openText(open),
		tellSteps(large, "earlier times are as the clock showed them"))
}

// shortlyBefore is how long before the clock was set the last line is from that shows it ahead.
const shortlyBefore = 10 * time.Minute

// isAhead says that the stamps before the line that tells of a step show that the clock was ahead,
// by as much as it was then set back.
func isAhead(times []time.Time, s *setClock) bool {
	n := countBefore(times, s.After)
	if n == 0 {
		return false
	}
	early := s.After.Add(-s.By).Sub(times[n-1])
	return early > -toldLater && early < shortlyBefore
}

// toldLater is how long after it was set lines come before the one that tells of it.
const toldLater = time.Minute

// countBefore counts the stamps before those that were written when the clock had been set, and
// before somebody said so.
func countBefore(times []time.Time, after time.Time) int {
	n := len(times)
	for n > 0 && !times[n-1].After(after) && after.Sub(times[n-1]) < toldLater {
		n--
	}
	return n
}

// countAhead counts the stamps before those that, up to the last, are all later than a time.
func countAhead(times []time.Time, than time.Time) int {
	n := len(times)
	for n > 0 && times[n-1].After(than) {
		n--
	}
	return n
}

// moveStamps moves stamps by the steps that were undone. It returns how many of them can be from
// before or after one.
func moveStamps(stamps []stamp, shown *steps.Stamps) (open int) {
	moved, spread := shown.Sum()
	for i := range stamps {
		st := &stamps[i]
		for _, t := range [...]*event.Time{st.main, st.other} {
			if t != nil && t.Known {
				t.T, t.Prec = t.T.Add(moved[i]), t.Prec+spread[i]
			}
		}
		if spread[i] > 0 {
			open++
		}
		if st.event != nil && (moved[i] != 0 || spread[i] > 0) {
			st.event.Basis = joinParts(", ", st.event.Basis, "the clock was set afterwards")
		}
	}
	return open
}

// openText says of how many stamps it is not known on which side of a step they are.
func openText(open int) string {
	if open == 0 {
		return ""
	}
	return fmt.Sprintf("%d stamps can be from before or after: each is an interval with both", open)
}

// tellSteps says when the clock was set, and what that means for the times before: of many steps
// the first, the last and how many they are.
func tellSteps(set []*setClock, meaning string) string {
	if n := len(set); n > toldSteps {
		return fmt.Sprintf("the clock was set %d times, first by %s and last by %s: %s", n, set[0].text(), set[n-1].text(), meaning)
	}
	var all []string
	for _, s := range set {
		all = append(all, fmt.Sprintf("the clock was set by %s: %s", s.text(), meaning))
	}
	return joinParts("; ", all...)
}

// text is by how much the clock was set, and where that is written.
func (s *setClock) text() string {
	return fmt.Sprintf("%s (%s)", s.By.Round(time.Millisecond), s.Pos())
}
