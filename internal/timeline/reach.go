package timeline

import (
	"sort"
	"time"
)

// CallLimit is how long the kubelet waits for one call of the runtime (runtimeRequestTimeout).
const CallLimit = 2 * time.Minute

// StallReach is how far from a stall its causes and symptoms may lie. A cause overlaps
// [start-CallLimit, start+StallReach] of its stall: what ends earlier is unrelated, what begins
// later is a consequence.
const StallReach = relistThreshold

// MayHaveCause says whether something that lasted for w lies where causes of the stall lie. What is
// open, of which the start or the end was not seen, may also be seen for the first time later in
// the stall. A stall of which no recovery was seen goes on behind its last line: what collect saw
// some minutes later may be its cause, too.
func (s *Stall) MayHaveCause(w Window, open bool) bool {
	return !w.End.Before(s.Start.Add(-CallLimit)) && !w.Start.After(s.lastCause(open))
}

// lastCause is when causes of the stall begin at the latest.
func (s *Stall) lastCause(open bool) time.Time {
	last := s.Start.Add(StallReach)
	if open && s.End.After(last) {
		last = s.End
	}
	if open && s.Open {
		last = s.End.Add(StallReach)
	}
	return last
}

// MayHaveSymptom says whether something that lasted for w lies in the stall, give or take what one
// call of it may last: symptoms may come as late as it ends.
func (s *Stall) MayHaveSymptom(w Window) bool {
	return !w.End.Before(s.Start.Add(-CallLimit)) && !w.Start.After(s.End.Add(CallLimit))
}

// CoversStall says whether a source, of those that want accepts, may show the cause of a stall: it
// was written around one, or no stall is known, or its lines have no time.
func (tl *Timeline) CoversStall(want func(*Coverage) bool) bool {
	latest := make([]time.Time, len(tl.Stalls)) // of the causes of each and of those before it
	for i := range latest {
		latest[i] = laterTime(tl.Stalls[i].lastCause(true), latest[max(0, i-1)])
	}
	for i := range tl.Coverage { // in place: a bundle may have 100 000
		c := &tl.Coverage[i]
		if !want(c) {
			continue
		}
		if len(latest) == 0 || c.Start.IsZero() {
			return true
		}
		n := sort.Search(len(latest), func(i int) bool { return tl.Stalls[i].Start.Add(-CallLimit).After(c.End) })
		if n > 0 && !c.Start.After(latest[n-1]) {
			return true
		}
	}
	return false
}
