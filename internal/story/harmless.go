package story

import (
	"maps"
	"slices"
	"time"

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
func (s *story) harmless() []Harmless {
	byName := map[string]*Harmless{}
	see := func(name, why string, e *event.Event, count int) {
		h := byName[name]
		if h == nil {
			h = &Harmless{Name: name, Why: why, Evidence: e.Evidence[:min(1, len(e.Evidence))]}
			byName[name] = h
		}
		h.Count += count
	}
	open := unanswered(s.timeline)
	for i := range s.timeline.Events {
		switch e := &s.timeline.Events[i]; {
		case e.Kind == "noise" && e.FieldText("lasted") == "":
			count, _ := e.Get("count")
			n, _ := count.Number()
			see(e.FieldText("name"), e.FieldText("why"), e, int(n))
		case e.Kind == "kubelet.pleg-unhealthy" && open == nil && e.FieldText("never") == "true" && !e.Start.IsZero() && !s.stalled(e):
			see("pleg has yet to be successful", "normal in a kubelet's first moments; it was over before the threshold", e, 1)
		}
	}
	var all []Harmless
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, *byName[name])
	}
	return all
}

// stalled says that an event lies in a stall.
func (s *story) stalled(e *event.Event) bool {
	return slices.ContainsFunc(s.timeline.Stalls, func(stall timeline.Stall) bool {
		return !e.Start.T.Before(stall.Start) && !e.Start.T.After(stall.End)
	})
}

// The kubelet's first moments: relist has listed the pods a second or so after the
// start, and syncLoop asks again after 100 ms, at last after 5 s.
const (
	firstMoments = 10 * time.Second
	asksAgain    = 6 * time.Second
	// syncedBy is when a kubelet up to 1.12 stops to call the runtime down because it has not been asked yet (maxWaitForContainerRuntime).
	syncedBy = 30 * time.Second
)

// unanswered is a complaint about PLEG that no stall covers and that cannot be called over: one without a time, or
// the last of a row that outlasts a kubelet's first moments and ends with the log; or one about the runtime that ends with it. Nil when there is none.
func unanswered(tl *timeline.Timeline) *event.Event {
	if len(tl.Stalls) > 0 {
		return nil
	}
	var first, last, down *event.Event
	for i := range tl.Events {
		e := &tl.Events[i]
		switch {
		case e.Kind == "kubelet.start":
			first = nil
		case e.Kind == "kubelet.runtime-down" && !e.Start.IsZero():
			down = e
		case e.Kind != "kubelet.pleg-unhealthy":
		case e.FieldText("never") != "true":
			if e.Start.IsZero() {
				return e
			}
		case !e.Start.IsZero():
			if first == nil || e.Start.T.Sub(last.Start.T) > asksAgain {
				first = e
			}
			last = e
		}
	}
	if first == nil || last.Start.T.Sub(first.Start.T) < firstMoments {
		if last = down; down == nil {
			return nil
		}
	}
	for _, c := range tl.Coverage {
		if c.Source == "kubelet.log" && (c.End.Sub(last.Start.T) > asksAgain || last == down && last.Start.T.Sub(c.Start) < syncedBy) {
			return nil
		}
	}
	return last
}
