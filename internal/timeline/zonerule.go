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
	turns []Turn
}

// night is the time of day until which clocks change their offset, from midnight on.
const night = 4 * time.Hour

// ruleFromTurns makes a rule of the offsets that a clock had one after the other. Clocks change at
// night, so only the nights between two offsets stay unknown.
func ruleFromTurns(turns []Turn) (r rule) {
	for i, turn := range turns {
		if i > 0 {
			turn = turn.narrowToNight(r.turns[i-1])
		}
		r.turns = append(r.turns, turn)
	}
	return r
}

// narrowToNight narrows the time in which the clock changed from the turn before to the nights in
// it, if there are any.
func (t Turn) narrowToNight(before Turn) Turn {
	narrow := t
	if t.After.Before(before.From) {
		narrow.After = before.From
	}
	if tod := timeOfDay(narrow.After.Add(before.Offset)); tod > night {
		narrow.After = narrow.After.Add(day - tod)
	}
	if tod := timeOfDay(t.From.Add(before.Offset)); tod > night {
		narrow.From = t.From.Add(night - tod)
	}
	if !narrow.After.Before(narrow.From) {
		return t
	}
	return narrow
}

func fixedRule(offset time.Duration) rule { return rule{turns: []Turn{{Offset: offset}}} }

// offsetAt is the offset at a moment. Between two turns that were seen, the earlier offset counts
// as long as it can.
func (r rule) offsetAt(t time.Time) time.Duration {
	if r.location != nil {
		_, seconds := t.In(r.location).Zone()
		return time.Duration(seconds) * time.Second
	}
	i, found := slices.BinarySearchFunc(r.turns, t, func(turn Turn, t time.Time) int { return turn.From.Compare(t) })
	if !found {
		i = max(0, i-1)
	}
	return r.turns[i].Offset
}

// offsetsOfLocal are the offsets at which a clock of the rule shows a local time. There are two in
// the hour that the clock shows twice, and while it is not known whether it changed yet; the offset
// of the earlier moment is first. In the hour that the clock skips there is none: then skips is
// true, and both are the offset before that hour.
func (r rule) offsetsOfLocal(local time.Time) (first, second time.Duration, skips bool) {
	if r.location == nil && len(r.turns) == 1 {
		return r.turns[0].Offset, r.turns[0].Offset, false
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
		instant := local.Add(-turn.Offset)
		if i > 0 && !instant.After(turn.After) || i+1 < len(r.turns) && !instant.Before(r.turns[i+1].From) {
			continue
		}
		if n++; n == 1 {
			first, second = turn.Offset, turn.Offset
		}
		first, second = max(first, turn.Offset), min(second, turn.Offset)
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
