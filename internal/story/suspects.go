package story

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Suspect is a container, a sandbox or a pod at which a stall without a root hung, as far as single
// lines show it. It is no cause: it says where to look.
type Suspect struct {
	Stall    int    // index of the stall on the timeline
	What     string // "container", "sandbox", "pod"
	ID       string // the id as it was written; of a pod namespace/name
	Why      string
	Evidence []event.Quote // at most maxSuspectQuotes
}

// String is the suspect in half a sentence.
func (s Suspect) String() string {
	id := s.ID
	if s.What != "pod" {
		id = event.ShortID(id)
	}
	return s.What + " " + event.OneLine(id) + ": " + event.OneLine(s.Why)
}

// Bounds of what is said of suspects.
const (
	maxSuspects      = 3 // per stall
	maxSuspectQuotes = 2
)

// SuspectsOf returns the suspects of one stall, by its index on the timeline. They are shared with
// the result.
func (r *Result) SuspectsOf(stall int) []Suspect {
	compare := func(s Suspect, stall int) int { return cmp.Compare(s.Stall, stall) }
	first, _ := slices.BinarySearchFunc(r.Suspects, stall, compare)
	after, _ := slices.BinarySearchFunc(r.Suspects, stall+1, compare)
	return r.Suspects[first:after:after]
}

// sign is what the events of one rank say against one container, sandbox or pod in one stall.
type sign struct {
	Suspect              // its Why is written when it is chosen
	why     *suspicion   // of the first event
	first   *event.Event // says why
	count   int
}

// signKey is what the events of one sign have in common, besides the stall.
type signKey struct {
	id   string
	rank int
}

// signs are those of one stall, in the order of their first events.
type signs struct {
	all   []*sign
	byKey map[signKey]*sign
}

// listSuspects names, for each stall that has no root, at which containers, sandboxes or pods it
// hung.
func (s *story) listSuspects() []Suspect {
	rooted := s.markRooted()
	stalls := make([]signs, len(s.timeline.Stalls))
	for _, e := range s.timeline.Events {
		why := s.findSuspicion(e)
		if why == nil || e.Start.IsZero() {
			continue
		}
		what, id := findNarrowestID(e)
		if id == "" {
			continue
		}
		for _, stall := range s.findSuspected(e, why) {
			if !rooted[stall] {
				stalls[stall].countEvent(Suspect{Stall: stall, What: what, ID: id}, why, e)
			}
		}
	}
	var all []Suspect
	for i := range stalls {
		all = append(all, stalls[i].chooseSuspects()...)
	}
	return all
}

// markRooted says of every stall whether it has a root.
func (s *story) markRooted() []bool {
	rooted := make([]bool, len(s.timeline.Stalls))
	for _, p := range s.parts {
		if p.Role == language.Root {
			for _, stall := range p.stalls {
				rooted[stall] = true
			}
		}
	}
	return rooted
}

// findSuspicion returns the first suspicion that takes an event; nil for none.
func (s *story) findSuspicion(e *event.Event) *suspicion {
	if s.isOfRelist(e) {
		return &ofRelist
	}
	for i := range suspicions {
		if suspicions[i].fits(e) {
			return &suspicions[i]
		}
	}
	return nil
}

// ofRelist is the call that a relist waited for.
var ofRelist = suspicion{eventSort{kind: event.KindCRIError, fields: pastDeadline}, 2, false, "relist waited for {method}, which ran into its deadline"}

// isOfRelist says that a call which relist makes ran into its deadline, and began as a stall did.
func (s *story) isOfRelist(e *event.Event) bool {
	if !ofRelist.fits(e) || !slices.Contains(callsOfRelist, e.FieldText(event.FieldMethod)) {
		return false
	}
	begun, stalls := e.Last().T.Add(-timeline.CallLimit), s.timeline.Stalls
	i := sort.Search(len(stalls), func(i int) bool { return !stalls[i].Start.Before(begun.Add(-sameMoment)) })
	return i < len(stalls) && !stalls[i].Start.After(begun.Add(sameMoment))
}

// callsOfRelist are the calls of relist that name what they ask about.
var callsOfRelist = []string{"PodSandboxStatus", "ContainerStatus"}

// sameMoment is how far a stall's start, which its age gives to milliseconds, lies from that of the
// call it waits for: relist lists all pods first.
const sameMoment = time.Second

// findSuspected returns the stalls of which an event may tell what they wait for.
func (s *story) findSuspected(e *event.Event, why *suspicion) []int {
	if why.late {
		return s.stalls.findWithSymptom(findWindow(e))
	}
	return s.stalls.findCausedBy(findWindow(e), e.Open)
}

// findWindow is the time of an event.
func findWindow(e *event.Event) timeline.Window {
	return timeline.Window{Start: e.Start.T, End: e.Last().T}
}

// findNarrowestID is the narrowest thing that an event speaks of.
func findNarrowestID(e *event.Event) (what, id string) {
	switch {
	case e.IDs.Container != "":
		return "container", e.IDs.Container
	case e.IDs.Sandbox != "":
		return "sandbox", e.IDs.Sandbox
	case e.IDs.Pod != "":
		return "pod", e.IDs.Pod
	}
	return "", ""
}

// describe says why an event speaks against its container.
func (s *suspicion) describe(e *event.Event) string {
	text := strings.ReplaceAll(s.why, "{duration}", event.DurationText(e.Duration()))
	return strings.ReplaceAll(text, "{method}", e.FieldText(event.FieldMethod))
}

// countEvent adds an event to the sign of its suspect and rank.
func (s *signs) countEvent(suspect Suspect, why *suspicion, e *event.Event) {
	key := signKey{suspect.ID, why.rank}
	g := s.byKey[key]
	if g == nil {
		g = &sign{Suspect: suspect, why: why, first: e}
		if s.byKey == nil {
			s.byKey = map[signKey]*sign{}
		}
		s.byKey[key] = g
		s.all = append(s.all, g)
	}
	g.count++
	if len(e.Evidence) > 0 && len(g.Evidence) < maxSuspectQuotes {
		g.Evidence = append(g.Evidence, e.Evidence[0])
	}
}

// chooseSuspects returns the suspects of which the signs are worth most, or else are most frequent.
func (s *signs) chooseSuspects() []Suspect {
	slices.SortStableFunc(s.all, func(a, b *sign) int {
		return cmp.Or(cmp.Compare(a.why.rank, b.why.rank), cmp.Compare(b.count, a.count))
	})
	var chosen []Suspect
	for _, g := range s.all {
		if len(chosen) == maxSuspects {
			break
		}
		if slices.ContainsFunc(chosen, func(o Suspect) bool { return o.ID == g.ID }) {
			continue
		}
		g.Why = g.why.describe(g.first)
		if g.count > 1 {
			g.Why += fmt.Sprintf(" (%d×)", g.count)
		}
		chosen = append(chosen, g.Suspect)
	}
	return chosen
}
