package story

import (
	"maps"
	"slices"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Harmless is a sort of line that frightens readers and means nothing here.
type Harmless struct {
	Name     string
	Why      string // it is harmless
	Count    int
	Evidence []event.Quote // one of them
}

// listHarmless lists the harmless lines of all files, and complaints that are normal outside of a
// stall, by name.
func (s *story) listHarmless() []Harmless {
	byName := map[string]*Harmless{}
	count := func(name, why string, e *event.Event, times int) {
		h := byName[name]
		if h == nil {
			h = &Harmless{Name: name, Why: why, Evidence: e.Evidence[:min(1, len(e.Evidence))]}
			byName[name] = h
		}
		h.Count += times
	}
	for _, e := range s.timeline.Events {
		switch {
		case e.Kind == event.KindNoise && e.FieldText(event.FieldLasted) == "":
			times, _ := e.Get(event.FieldCount)
			n, _ := times.Number()
			count(e.FieldText(event.FieldName), e.FieldText(event.FieldWhy), e, int(n))
		case reachedOwnLimit(e):
			count(ownLimitName, ownLimit, e, 1)
		case s.complaint == nil && isFirstComplaint(e) && !s.stalls.coversMoment(e.Start.T):
			count(startingUpName, startingUp, e, 1)
		}
	}
	var all []Harmless
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, *byName[name])
	}
	return all
}

// reachedOwnLimit says that a container had no memory left below its own limit.
func reachedOwnLimit(e *event.Event) bool {
	return e.Kind == event.KindOOMKill && e.FieldText(event.FieldOfPod) == "true" && e.FieldText(event.FieldScope) == "cgroup"
}

// isFirstComplaint says whether a kubelet complains at a known time that it has not relisted yet.
func isFirstComplaint(e *event.Event) bool {
	return e.Kind == event.KindPLEGUnhealthy && e.FieldText(event.FieldNever) == "true" && !e.Start.IsZero()
}
