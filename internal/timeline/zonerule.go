package timeline

import (
	"slices"
	"time"
)

// rule is how far a clock is ahead of UTC, and from when on.
type rule struct {
	// location is a zone of the tz database; nil where only offsets were seen.
	location *time.Location
	// turns are the offsets that were seen, in the order of time. The first one counts before it
	// was seen, too.
	turns []turnOfZone
}

// turnOfZone is an offset and the first moment at which it was seen. The clock changed to it later
// than after, the last moment with the offset before.
type turnOfZone struct {
	after, from time.Time
	offset      time.Duration
}

// night is the time of day until which clocks change their offset, from midnight on.
const night = 4 * time.Hour

// withTurn adds an offset that was seen from one moment on; the offset before it was seen until
// after. Clocks change at night, so only the nights in between stay unknown.
func (r rule) withTurn(after, from time.Time, offset time.Duration) rule {
	turn := turnOfZone{after, from, offset}
	if n := len(r.turns); n > 0 {
		before := r.turns[n-1]
		if after.Before(before.from) {
			turn.after = before.from
		}
		if tod := timeOfDay(turn.after.Add(before.offset)); tod > night {
			turn.after = turn.after.Add(day - tod)
		}
		if tod := timeOfDay(from.Add(before.offset)); tod > night {
			turn.from = from.Add(night - tod)
		}
		if !turn.after.Before(turn.from) {
			turn.after, turn.from = after, from
		}
	}
	return rule{turns: append(r.turns, turn)}
}

func fixedRule(offset time.Duration) rule { return rule{turns: []turnOfZone{{offset: offset}}} }

// offsetAt is the offset at a moment. Between two turns that were seen, the earlier offset counts
// as long as it can.
func (r rule) offsetAt(t time.Time) time.Duration {
	if r.location != nil {
		_, seconds := t.In(r.location).Zone()
		return time.Duration(seconds) * time.Second
	}
	i, found := slices.BinarySearchFunc(r.turns, t, func(turn turnOfZone, t time.Time) int { return turn.from.Compare(t) })
	if !found {
		i = max(0, i-1)
	}
	return r.turns[i].offset
}

// offsetsOfLocal are the offsets at which a clock of the rule shows a local time. There are two in
// the hour that the clock shows twice, and while it is not known whether it changed yet; the offset
// of the earlier moment is first. In the hour that the clock skips there is none: then skips is
// true, and both are the offset before that hour.
func (r rule) offsetsOfLocal(local time.Time) (first, second time.Duration, skips bool) {
	if r.location == nil && len(r.turns) == 1 {
		return r.turns[0].offset, r.turns[0].offset, false
	}
	if local.Year() < 1970 { // the year is not known: take the rules of 2024
		local = inYear(local, 2024)
	}
	if r.location == nil {
		return r.offsetsBetweenTurns(local)
	}
	const far = 16 * time.Hour // more than every offset, and less than the time between two turns
	before, after := r.offsetAt(local.Add(-far)), r.offsetAt(local.Add(far))
	if before == after {
		return before, before, false
	}
	was, is := r.offsetAt(local.Add(-before)) == before, r.offsetAt(local.Add(-after)) == after
	switch {
	case was && is:
		return before, after, false
	case is:
		return after, after, false
	}
	return before, before, !was
}

// offsetsBetweenTurns is offsetsOfLocal for turns that are known only from moments before and after
// them.
func (r rule) offsetsBetweenTurns(local time.Time) (first, second time.Duration, skips bool) {
	n := 0
	for i, turn := range r.turns {
		instant := local.Add(-turn.offset)
		if i > 0 && !instant.After(turn.after) || i+1 < len(r.turns) && !instant.Before(r.turns[i+1].from) {
			continue
		}
		if n++; n == 1 || turn.offset > first {
			first = turn.offset
		}
		if n == 1 || turn.offset < second {
			second = turn.offset
		}
	}
	if n == 0 {
		first = r.offsetAt(local)
		return first, first, true
	}
	return first, second, false
}

// offsetOfLocal is how far a clock of the zone is ahead of UTC when it shows a local time for the
// first time.
func (r rule) offsetOfLocal(local time.Time) time.Duration {
	first, _, _ := r.offsetsOfLocal(local)
	return first
}
