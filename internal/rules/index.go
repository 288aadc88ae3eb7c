package rules

import (
	"cmp"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// index is a timeline made ready for matching: one order whatever the order of the input, and events by kind.
type index struct {
	timeline *timeline.Timeline
	events   []*event.Event
	spans    []span
	kinds    map[event.Kind][]int32
}

func newIndex(tl *timeline.Timeline) *index {
	x := &index{
		timeline: tl,
		events:   make([]*event.Event, len(tl.Events)),
		spans:    make([]span, len(tl.Events)),
		kinds:    map[event.Kind][]int32{},
	}
	for i := range tl.Events {
		x.events[i] = &tl.Events[i]
	}
	slices.SortStableFunc(x.events, compare)
	for i, e := range x.events {
		x.spans[i] = newSpan(e)
		x.kinds[e.Kind] = append(x.kinds[e.Kind], int32(i))
	}
	return x
}

// compare is event.Compare, with what else can tell two events of one line apart.
func compare(a, b *event.Event) int {
	if c := event.Compare(*a, *b); c != 0 {
		return c
	}
	return cmp.Or(a.Last().T.Compare(b.Last().T), cmp.Compare(a.Text, b.Text),
		cmp.Compare(a.IDs.Container, b.IDs.Container), cmp.Compare(a.IDs.Sandbox, b.IDs.Sandbox), cmp.Compare(a.IDs.Lock, b.IDs.Lock),
		cmp.Compare(a.IDs.Goroutine, b.IDs.Goroutine), cmp.Compare(a.IDs.PID, b.IDs.PID), cmp.Compare(a.IDs.TID, b.IDs.TID))
}

// candidate is an event that fits a pattern.
type candidate struct {
	event  int32
	values []string // by variable; empty where the pattern binds none
}

// candidates returns the events that fit, in order; each by the first pattern that takes it.
func (x *index) candidates(patterns []Pattern, variables int) []candidate {
	var all []candidate
	for i := range patterns {
		for _, ev := range x.kinds[patterns[i].Kind] {
			taken := slices.ContainsFunc(patterns[:i], func(p Pattern) bool { return p.takes(x.events[ev]) })
			if taken || !patterns[i].takes(x.events[ev]) {
				continue
			}
			all = append(all, candidate{ev, patterns[i].values(x.events[ev], variables)})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.event, b.event) })
	return all
}

// A cause overlaps [start-2m, start+3m] of its stall: what ends earlier is
// unrelated, what begins later is a consequence. Two minutes are the kubelet's
// runtimeRequestTimeout, three its relistThreshold.
const (
	beforeStall = 2 * time.Minute
	afterStall  = 3 * time.Minute
)

// touches says whether an interval lies where causes of a stall lie. An open
// wait may also be seen for the first time later in the stall.
func touches(start, end time.Time, open bool, s *timeline.Stall) bool {
	last := s.Start.Add(afterStall)
	if open && s.End.After(last) {
		last = s.End
	}
	return !end.Before(s.Start.Add(-beforeStall)) && !start.After(last)
}

// covers says whether a source is in the bundle and, when there are stalls, was written around one of them.
func (x *index) covers(source string) bool {
	for _, c := range x.timeline.Coverage {
		if c.Source != source {
			continue
		}
		if len(x.timeline.Stalls) == 0 || c.Start.IsZero() {
			return true
		}
		for i := range x.timeline.Stalls {
			if touches(c.Start, c.End, true, &x.timeline.Stalls[i]) {
				return true
			}
		}
	}
	return false
}
