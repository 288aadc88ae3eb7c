package timeline

import (
	"slices"
	"time"
)

// rule is how far a clock runs ahead of UTC, and from when on.
type rule struct {
	// location is a zone with a name; nil for one that was seen only.
	location *time.Location
	// turns are the offsets that were seen, in the order of time. The first holds before it, too.
	turns []turnOfZone
}

// turnOfZone is an offset and the first moment at which it was seen. The clock was turned to
// it after the moment after, at which the offset before it was seen last.
type turnOfZone struct {
	after, from time.Time
	offset      time.Duration
}

// night is until when clocks are turned, from midnight on.
const night = 4 * time.Hour

// with adds an offset that was seen from a moment on, the one before it up to another. Only
// the nights in between are what nobody knows.
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

// at is the offset at an instant; between two turns that were seen, the one before holds as long as it can.
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

// shows are the offsets with which a clock of the rule shows a face: one, two in the hour
// that it shows twice, or while nobody saw whether it was turned yet, the one of the earlier moment first. In the hour that it
// leaves out it shows none, and skips is true: then the offset before it counts.
func (r rule) offsetsOfLocal(face time.Time) (first, second time.Duration, skips bool) {
	if r.location == nil && len(r.turns) == 1 {
		return r.turns[0].offset, r.turns[0].offset, false
	}
	if face.Year() < 1970 { // a year that nobody knows: there the rules of 2024 hold
		face = inYear(face, 2024)
	}
	if r.location == nil {
		return r.offsetsBetweenTurns(face)
	}
	const far = 16 * time.Hour // beyond every offset, and less than what lies between two turns
	before, after := r.offsetAt(face.Add(-far)), r.offsetAt(face.Add(far))
	if before == after {
		return before, before, false
	}
	was, is := r.offsetAt(face.Add(-before)) == before, r.offsetAt(face.Add(-after)) == after
	switch {
	case was && is:
		return before, after, false
	case is:
		return after, after, false
	}
	return before, before, !was
}

// seen is shows for turns of which only some moments before and after are known.
func (r rule) offsetsBetweenTurns(face time.Time) (first, second time.Duration, skips bool) {
	n := 0
	for i, turn := range r.turns {
		instant := face.Add(-turn.offset)
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
		first = r.offsetAt(face)
		return first, first, true
	}
	return first, second, false
}

// offsetAt is how far ahead of UTC a clock of the zone is when it shows face, the first time.
func (r rule) offsetOfLocal(face time.Time) time.Duration {
	first, _, _ := r.offsetsOfLocal(face)
	return first
}
