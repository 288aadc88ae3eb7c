package story

import (
	"slices"
	"sort"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// stallIndex finds the stalls of a time without looking at the others: a node that flaps has
// hundreds, and every event asks for its own.
type stallIndex struct {
	stalls []timeline.Stall // in the order of their starts
	latest []time.Time      // by stall: the latest end of it and of those before it
}

func newStallIndex(stalls []timeline.Stall) *stallIndex {
	x := &stallIndex{stalls, make([]time.Time, len(stalls))}
	for i := range stalls {
		x.latest[i] = stalls[i].End
		if i > 0 && x.latest[i-1].After(x.latest[i]) {
			x.latest[i] = x.latest[i-1]
		}
	}
	return x
}

// findCausedBy returns the stalls, as indices, that something which lasted for w may have caused.
func (x *stallIndex) findCausedBy(w timeline.Window, open bool) []int {
	return x.findNear(w, func(s *timeline.Stall) bool { return s.MayHaveCause(w, open) })
}

// longPause is how long nothing was seen of a cause that is then there again, and not still there.
const longPause = 12 * time.Hour

// listSpells are the times of a cause: from its first event to its last one, without its long
// pauses. What may have lasted has none, and what was too often to keep all of it.
func listSpells(f *rules.Finding) []timeline.Window {
	var events []timeline.Window
	lasting := f.Open
	for i := range f.Chain {
		step := &f.Chain[i]
		if step.Role != "cause" && step.Role != "mechanism" {
			continue
		}
		lasting = lasting || step.More > 0
		for _, e := range step.Events {
			if !e.Start.IsZero() {
				events = append(events, findWindow(e))
			}
		}
	}
	if lasting || len(events) == 0 {
		return []timeline.Window{f.Cause}
	}
	slices.SortFunc(events, func(a, b timeline.Window) int { return a.Start.Compare(b.Start) })
	spells := []timeline.Window{{Start: f.Cause.Start, End: events[0].End}}
	for _, e := range events[1:] {
		last := &spells[len(spells)-1]
		if e.Start.Sub(last.End) > longPause {
			spells = append(spells, e)
		} else if e.End.After(last.End) {
			last.End = e.End
		}
	}
	spells[len(spells)-1].End = f.Cause.End
	return spells
}

// unseenReach is how long after the last line about a stall, whose end was not seen, its cause may
// be seen for the first time: a list of processes is made after the journals are saved, or before.
const unseenReach = time.Hour

// findOpenBefore returns the last stall, as an index, where neither its end nor the start of a
// cause was seen, and the cause was seen soon after; -1 for any other.
func (x *stallIndex) findOpenBefore(f *rules.Finding) int {
	last := len(x.stalls) - 1
	if last < 0 || !x.stalls[last].Open || !f.Open || f.Cause.Start.After(x.stalls[last].End.Add(unseenReach)) || f.Cause.End.Before(x.stalls[last].Start) {
		return -1
	}
	for i := range f.Chain {
		isSeenToStart := func(e *event.Event) bool { return !e.Begun }
		if f.Chain[i].Role == "cause" && slices.ContainsFunc(f.Chain[i].Events, isSeenToStart) {
			return -1
		}
	}
	return last
}

// findWithSymptom returns the stalls, as indices, of which something that lasted for w may be a
// symptom.
func (x *stallIndex) findWithSymptom(w timeline.Window) []int {
	return x.findNear(w, func(s *timeline.Stall) bool { return s.MayHaveSymptom(w) })
}

// findNear returns the stalls near w that pass a test of timeline.Stall.
func (x *stallIndex) findNear(w timeline.Window, passes func(*timeline.Stall) bool) (found []int) {
	first, after := x.findRangeNear(w)
	for i := first; i < after; i++ {
		if passes(&x.stalls[i]) {
			found = append(found, i)
		}
	}
	return found
}

// findRangeNear returns the first of the stalls near w, and the one behind the last.
func (x *stallIndex) findRangeNear(w timeline.Window) (first, after int) {
	from, to := w.Start.Add(-timeline.StallReach), w.End.Add(timeline.StallReach)
	first = sort.Search(len(x.stalls), func(i int) bool { return !x.latest[i].Before(from) })
	after = first + sort.Search(len(x.stalls)-first, func(i int) bool { return x.stalls[first+i].Start.After(to) })
	return first, after
}

// coversMoment says whether a moment lies inside some stall.
func (x *stallIndex) coversMoment(t time.Time) bool {
	first, _ := slices.BinarySearchFunc(x.latest, t, time.Time.Compare)
	for i := first; i < len(x.stalls) && !x.stalls[i].Start.After(t); i++ {
		if !t.After(x.stalls[i].End) {
			return true
		}
	}
	return false
}
