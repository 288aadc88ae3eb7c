package rules

import (
	"math"
	"sort"
	"time"
)

// reach bounds the times of hits, so that those near a moment are found without a look at all.
type reach struct {
	latest   []int64 // by hit: the latest moment of it and those before it
	earliest []int64 // by hit: the earliest moment of it and those after it, but for the undated end
	dated    int     // from here on no hit has a time
}

// reachOf bounds the times of hits. It is made when first asked for.
func (x *index) reachOf(h *hits) *reach {
	if h.reach != nil {
		return h.reach
	}
	r := &reach{latest: make([]int64, len(h.events)), dated: len(h.events)}
	for r.dated > 0 && !x.spans[h.events[r.dated-1]].dated {
		r.dated--
	}
	r.earliest = make([]int64, r.dated)
	last := int64(math.MinInt64)
	for i := range r.dated {
		lo, hi := x.spans[h.events[i]].extent()
		last = max(last, hi)
		r.latest[i], r.earliest[i] = last, lo
	}
	for i := r.dated - 2; i >= 0; i-- {
		r.earliest[i] = min(r.earliest[i], r.earliest[i+1])
	}
	h.reach = r
	return r
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

// listNear returns the hits of a step that may agree with what is bound, without most of those
// that lie too far from the chosen events to which the step is tied.
func (s *search) listNear(step int) [4][]int32 {
	agreeing := s.listAgreeing(&s.steps[step])
	near := [4][]int32{agreeing[0], nil, agreeing[1], nil}
	if len(agreeing[0])+len(agreeing[1]) <= fewHits {
		return near
	}
	from, until := s.timeOf(step)
	if from == math.MinInt64 && until == math.MaxInt64 {
		return near
	}
	r := s.index.reachOf(s.steps[step].hits)
	first := sort.Search(r.dated, func(i int) bool { return r.latest[i] >= from })
	end := sort.Search(r.dated, func(i int) bool { return r.earliest[i] > until })
	for i := 0; i < len(near); i += 2 {
		part := near[i]
		place := func(hit int) int { return sort.Search(len(part), func(i int) bool { return int(part[i]) >= hit }) }
		lo := place(first)
		near[i], near[i+1] = part[lo:max(lo, place(end))], part[place(r.dated):]
	}
	return near
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
		at := &s.index.spans[s.steps[other].events[s.chosen[other]]]
		if !at.dated {
			continue
		}
		if e.Shared {
			from, until = max(from, shift(at.startLo, -e.Overlap)), min(until, shift(at.endHi, e.Overlap))
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
