package rules

import (
	"math"
	"time"

	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline/reach"
)

// reachOf holds the times of hits, so that those near a moment are found without a look at all. It
// is made when first asked for.
func (x *index) reachOf(h *hits) *reach.Index {
	if h.reach == nil {
		h.reach = reach.New(len(h.events))
		for _, ev := range h.events {
			h.reach.Add(x.spans[ev].extent())
		}
	}
	return h.reach
}

// extent is when an event can have been. One without a time can have been at any.
func (s *span) extent() (lo, hi int64) {
	if !s.dated {
		return math.MinInt64, math.MaxInt64
	}
	return min(s.startLo, s.endLo), max(s.startHi, s.endHi)
}

// fewHits are looked at one by one.
const fewHits = 4

// nearHits are hits of a step, to be taken one by one.
type nearHits struct {
	rest        [2][]int32   // of [search.listAgreeing]
	reach       *reach.Index // nil where all are taken
	from, until int64        // the time in which they are to lie, at least in part
}

// listNear returns the hits of a step that may agree with what is bound, without those that lie too
// far from the chosen events to which the step is tied.
func (s *search) listNear(step int) nearHits {
	near := nearHits{rest: s.listAgreeing(&s.steps[step])}
	if !near.areFew() {
		from, until := s.timeOf(step)
		near.keepWithin(s.index.reachOf(s.steps[step].hits), from, until)
	}
	return near
}

// listDuring returns the hits of a set that may agree with what is bound, and lie at least in part
// in a time; those without one lie in any.
func (s *search) listDuring(f *found, from, until int64) nearHits {
	near := nearHits{rest: s.listAgreeing(f)}
	if !near.areFew() {
		near.keepWithin(s.index.reachOf(f.hits), from, until)
	}
	return near
}

func (n *nearHits) areFew() bool { return len(n.rest[0])+len(n.rest[1]) <= fewHits }

func (n *nearHits) keepWithin(r *reach.Index, from, until int64) {
	if n.from, n.until = from, until; from != math.MinInt64 || until != math.MaxInt64 {
		n.reach = r
	}
}

// takeNext takes the next hit; false for none.
func (n *nearHits) takeNext() (hit int32, ok bool) {
	for i := range n.rest {
		rest, next := n.rest[i], 0
		if n.reach != nil {
			next = n.reach.NextOf(rest, n.from, n.until)
		}
		if next < len(rest) {
			n.rest[i] = rest[next+1:]
			return rest[next], true
		}
		n.rest[i] = nil
	}
	return 0, false
}

// timeOf is the time in which an event of a step has to lie, at least in part, by the chosen events
// to which the step is tied.
func (s *search) timeOf(step int) (from, until int64) {
	from, until = math.MinInt64, math.MaxInt64
	for i := range s.rule.Compiled.Ties {
		e := &s.rule.Compiled.Ties[i]
		other, ok := e.FindOther(step)
		if !ok || s.chosen[other] == none {
			continue
		}
		if at := &s.index.spans[s.steps[other].events[s.chosen[other]]]; at.dated {
			lo, hi := timeTied(e, other, at)
			from, until = max(from, lo), min(until, hi)
		}
	}
	return from, until
}

// timeTied is the time in which the event at one end of a tie has to lie, at least in part, when
// that of the other step is at a time.
func timeTied(e *language.Tie, other int, at *span) (from, until int64) {
	from, until = math.MinInt64, math.MaxInt64
	if e.Shared {
		from, until = shift(at.startLo, -e.Overlap), shift(at.endHi, e.Overlap)
	}
	switch {
	case !e.Measured:
	case other == e.From:
		lo, hi := at.pointAt(e.FromEnd)
		from, until = max(from, shift(lo, e.Min)), min(until, shift(hi, e.Max))
	default:
		lo, hi := at.pointAt(e.ToEnd)
		from, until = max(from, shift(lo, -e.Max)), min(until, shift(hi, -e.Min))
	}
	return from, until
}

// shift moves a moment by a length of time that can be without limit.
func shift(t int64, by time.Duration) int64 {
	switch d := int64(by); {
	case d > ever-max(t, 0):
		return math.MaxInt64
	case d < never-min(t, 0):
		return math.MinInt64
	default:
		return t + d
	}
}
