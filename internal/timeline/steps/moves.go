package steps

import (
	"slices"
	"sort"
	"time"
)

// Moves are how the steps of the clock moved the lines of a file.
type Moves struct {
	LatestFirst bool   // the file begins with the latest line: the lines of moves are negative
	all         []Move // in the order of their lines
	until       []time.Duration
}

// Move is how the lines from before a step were moved.
type Move struct {
	Step
	Last, First int // the line of the last stamp that was moved, and of the first that was not
}

// NewMoves are the moves of a file, which are given in the order of time.
func NewMoves(all []Move, latestFirst bool) *Moves {
	m := &Moves{LatestFirst: latestFirst, all: all, until: make([]time.Duration, len(all)+1)}
	for i := range all {
		all[i].First = max(all[i].First, all[i].Last+1)
	}
	slices.SortStableFunc(all, func(a, b Move) int { return a.Last - b.Last })
	for i := range all {
		m.until[i+1] = m.until[i] + all[i].By
	}
	return m
}

// Resolve is when a line was written that shows a moment. A line between two stamps, of which one
// was moved, was moved where its moment is before the step, or can be.
func (m *Moves) Resolve(at time.Time, line int) time.Time {
	if m == nil {
		return at
	}
	if m.LatestFirst {
		line = -line
	}
	sure := sort.Search(len(m.all), func(i int) bool { return m.all[i].Last >= line })
	open := sort.Search(sure, func(i int) bool { return m.all[i].First > line })
	for i := open; i < sure; i++ {
		if by := m.all[i].By; by < 0 || at.Before(m.all[i].After.Add(-by/2)) {
			at = at.Add(by)
		}
	}
	return at.Add(m.until[len(m.all)] - m.until[sure])
}
