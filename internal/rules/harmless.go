package rules

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Harmless is a sort of line that frightens readers and means nothing here.
type Harmless struct {
	Name     string
	Why      string // it is harmless
	Count    int
	Evidence []event.Quote // one of them
}

// harmless are the harmless lines of all files, and complaints that are normal outside of a stall.
func (x *index) harmless() []Harmless {
	byName := map[string]*Harmless{}
	see := func(name, why string, e *event.Event, count int) {
		h := byName[name]
		if h == nil {
			h = &Harmless{Name: name, Why: why, Evidence: e.Evidence[:min(1, len(e.Evidence))]}
			byName[name] = h
		}
		h.Count += count
	}
	for _, ev := range x.kinds["noise"] {
		e := x.events[ev]
		count, _ := e.Get("count")
		n, _ := count.Number()
		see(fieldOf(e, "name"), fieldOf(e, "why"), e, int(n))
	}
	for _, ev := range x.kinds["kubelet.pleg-unhealthy"] {
		if e := x.events[ev]; fieldOf(e, "never") == "true" && !e.Start.IsZero() && !x.stalled(e) {
			see("pleg has yet to be successful", "normal in a kubelet's first moments; it was over before the threshold", e, 1)
		}
	}
	var all []Harmless
	for _, name := range sortedKeys(byName) {
		all = append(all, *byName[name])
	}
	slices.SortStableFunc(all, func(a, b Harmless) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// stalled says that an event lies in a stall.
func (x *index) stalled(e *event.Event) bool {
	return slices.ContainsFunc(x.timeline.Stalls, func(s timeline.Stall) bool {
		return !e.Start.T.Before(s.Start) && !e.Start.T.After(s.End)
	})
}
