// Package steps tells which stamps of a file were written before its clock was set, and moves them.
package steps

import (
	"math"
	"time"
)

// Least is the shortest step that is undone. Shorter ones are within the precision of stamps.
const Least = time.Second

// Step is one setting of a clock.
type Step struct {
	By    time.Duration
	After time.Time // what the clock showed when it had been set
}

// Stamps are the stamps of a file, in the order of its lines. Steps are undone one after the other,
// the earliest first: each sees the stamps as those before have moved them. A clock can be set as
// often as lines are written, so no step looks at every stamp: a tree keeps the bounds of blocks of
// them.
type Stamps struct {
	at    []int64 // without what the nodes above have moved it by
	falls []int64 // by how much each is earlier than the one above it
	nodes []node  // of the tree: those below node i are 2*i and 2*i+1, the last half are of blocks
	// moved and spread are by how much more each stamp was moved, and made longer, than the one
	// before it.
	moved, spread []time.Duration
}

// node is what is known of the stamps below it.
type node struct {
	earliest, latest int64
	fall             int64 // the largest
	by               int64 // by how much all of them were moved; the bounds have it in them
}

// block is how many stamps are looked at one by one.
const block = 32

// NewStamps are the stamps of a file that shows these times.
func NewStamps(times []time.Time) *Stamps {
	blocks := 1
	for blocks*block < len(times) {
		blocks *= 2
	}
	s := &Stamps{
		at: make([]int64, len(times)), falls: make([]int64, len(times)), nodes: make([]node, 2*blocks),
		moved: make([]time.Duration, len(times)+1), spread: make([]time.Duration, len(times)+1),
	}
	for i, t := range times {
		s.at[i], s.falls[i] = t.UnixNano(), math.MinInt64
		if i > 0 {
			s.falls[i] = s.at[i-1] - s.at[i]
		}
	}
	for n := len(s.nodes) - 1; n > 0; n-- {
		s.bound(n)
	}
	return s
}

// Split says how many stamps were written before a step of which the file has no line: up to the
// jump in the stamps. Where a clock was set back and the file does not show it, open of them can be
// from before or after.
func (s *Stamps) Split(step Step) (n, open int) {
	after := step.After.UnixNano()
	before := after - int64(step.By) // what the clock showed just before it was set
	if step.By > 0 {
		return s.first(&query{from: before + int64(step.By/2), until: math.MaxInt64, fall: math.MinInt64}), 0
	}
	jump := s.first(&query{from: after - int64(Least), until: before + int64(Least), fall: int64(-step.By/2) + 1})
	if jump < len(s.at) {
		return jump, 0
	}
	n = s.countUntilLast(after - 1)
	return n, max(0, s.countUntilLast(before)-n)
}

// Undo moves the first stamps by a step. Open stamps after them can be from before or after it:
// they are moved, too, and are as long as the step.
func (s *Stamps) Undo(n, open int, by time.Duration) {
	s.moved[0] += by
	s.moved[n+open] -= by
	s.spread[n] += by.Abs()
	s.spread[n+open] -= by.Abs()
	s.move(1, n+open, int64(by))
}

// Sum turns what Undo has noted into a length for each stamp: by how much it was moved, and made
// longer, in all.
func (s *Stamps) Sum() (moved, spread []time.Duration) {
	for i := range s.at {
		s.moved[i+1] += s.moved[i]
		s.spread[i+1] += s.spread[i]
	}
	return s.moved[:len(s.at)], s.spread[:len(s.at)]
}

// query asks for a stamp that is not before from, and that is earlier by fall or more than the one
// above it, which is not after until. Without a fall the one above is not looked at.
type query struct{ from, until, fall int64 }

// first is the first stamp that a query asks for; the number of stamps when there is none.
func (s *Stamps) first(q *query) int {
	i, found := s.firstBelow(1, 0, q)
	if !found {
		return len(s.at)
	}
	return i
}

// firstBelow is the first stamp below a node that a query asks for. By is how far the nodes above
// have moved it.
func (s *Stamps) firstBelow(n int, by int64, q *query) (int, bool) {
	d := &s.nodes[n]
	if d.earliest > d.latest || d.latest+by < q.from || d.fall < q.fall || q.fall > 0 && d.earliest+by > q.until {
		return 0, false
	}
	by += d.by
	if lo, hi, isBlock := s.stampsOf(n); isBlock {
		for i := lo; i < hi; i++ {
			at := s.at[i] + by
			if at >= q.from && s.falls[i] >= q.fall && (q.fall < 0 || at+s.falls[i] <= q.until) {
				return i, true
			}
		}
		return 0, false
	}
	if i, found := s.firstBelow(2*n, by, q); found {
		return i, true
	}
	return s.firstBelow(2*n+1, by, q)
}

// countUntilLast is how many stamps there are up to the last one that is not after a moment.
func (s *Stamps) countUntilLast(until int64) int {
	n, by := 1, int64(0)
	if s.nodes[n].earliest > until || len(s.at) == 0 {
		return 0
	}
	for 2*n < len(s.nodes) {
		by += s.nodes[n].by
		n = 2*n + 1
		if d := &s.nodes[n]; d.earliest > d.latest || d.earliest+by > until {
			n--
		}
	}
	lo, i, _ := s.stampsOf(n)
	for by += s.nodes[n].by; i > lo && s.at[i-1]+by > until; {
		i--
	}
	return i
}

// move moves the stamps below a node that are among the first ones.
func (s *Stamps) move(n, first int, by int64) {
	lo, hi, isBlock := s.stampsOf(n)
	switch d := &s.nodes[n]; {
	case first < lo || lo == hi:
		return
	case first >= hi:
		d.by += by
		d.earliest, d.latest = d.earliest+by, d.latest+by
		return
	case isBlock:
		for i := lo; i < first; i++ {
			s.at[i] += by
		}
		if first > 0 {
			s.falls[first] += by
		}
	default:
		s.move(2*n, first, by)
		s.move(2*n+1, first, by)
	}
	s.bound(n)
}

// bound computes the bounds of a node by what is below it.
func (s *Stamps) bound(n int) {
	d := node{earliest: math.MaxInt64, latest: math.MinInt64, fall: math.MinInt64, by: s.nodes[n].by}
	if lo, hi, isBlock := s.stampsOf(n); isBlock {
		for i := lo; i < hi; i++ {
			d.earliest, d.latest, d.fall = min(d.earliest, s.at[i]+d.by), max(d.latest, s.at[i]+d.by), max(d.fall, s.falls[i])
		}
	} else {
		for _, b := range s.nodes[2*n : 2*n+2] {
			if b.earliest <= b.latest {
				d.earliest, d.latest, d.fall = min(d.earliest, b.earliest+d.by), max(d.latest, b.latest+d.by), max(d.fall, b.fall)
			}
		}
	}
	s.nodes[n] = d
}

// stampsOf are the bounds of the stamps below a node.
func (s *Stamps) stampsOf(n int) (lo, hi int, isBlock bool) {
	first, blocks := n, 1
	for 2*first < len(s.nodes) {
		first, blocks = 2*first, 2*blocks
	}
	lo = (first - len(s.nodes)/2) * block
	return min(lo, len(s.at)), min(lo+blocks*block, len(s.at)), blocks == 1
}
