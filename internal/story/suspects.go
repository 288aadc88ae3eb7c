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
	kind     event.Kind    // of the first sign
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
	manyTimeouts     = 3    // of one shim; a busy node lets one or two of them pass
	maxCounted       = 1000 // signs per stall: calls that never end are near all later stalls
)

// SuspectsOf returns the suspects of one stall, by its index on the timeline. They are shared with
// the result.
func (r *Result) SuspectsOf(stall int) []Suspect {
	compare := func(s Suspect, stall int) int { return cmp.Compare(s.Stall, stall) }
	first, _ := slices.BinarySearchFunc(r.Suspects, stall, compare)
	after, _ := slices.BinarySearchFunc(r.Suspects, stall+1, compare)
	return r.Suspects[first:after:after]
}

// suspectEvent is one that may tell at what a stall hung.
type suspectEvent struct {
	event        *event.Event
	why          *suspicion
	what, id     string
	sign         int // its number
	first, after int // the stalls near it
}

// signKey is what the events of one sign have in common.
type signKey struct {
	id  string
	why *suspicion
}

// sign is what the events of one suspicion say against one container, sandbox or pod in one stall.
type sign struct {
	first  *suspectEvent // says why
	count  int
	quoted [maxSuspectQuotes]*event.Event // the first with a line; nil for no more
}

// rank is how little a sign is worth, 0 for the most. A shim that does not answer State again and
// again is stuck: calls that last are as often held up by it.
func (g *sign) rank() int {
	if g.first.event.Kind == event.KindStateTimeout && g.count >= manyTimeouts {
		return ofRelist.rank + 1
	}
	return g.first.why.rank
}

// describe says what a sign speaks of, and how often.
func (g *sign) describe() string {
	text := g.first.why.describe(g.first.event)
	if g.count > 1 {
		text += fmt.Sprintf(" (%d×)", g.count)
	}
	return text
}

// evidence are the lines of a sign.
func (g *sign) evidence() (all []event.Quote) {
	for _, e := range g.quoted {
		if e != nil {
			all = append(all, event.FirstMessages(e.Evidence, 1)...)
		}
	}
	return all
}

// listSuspects names, for each stall that has no root, at which containers, sandboxes or pods it
// hung.
func (s *story) listSuspects() []Suspect {
	rooted := s.markRooted()
	found, signs := s.listSuspectEvents()
	var all []Suspect
	var near []*suspectEvent
	for stall := range s.timeline.Stalls {
		for len(found) > 0 && found[0].first <= stall {
			near, found = append(near, &found[0]), found[1:]
		}
		near = slices.DeleteFunc(near, func(e *suspectEvent) bool { return e.after <= stall })
		if !rooted[stall] {
			all = append(all, chooseSuspects(stall, s.countSigns(stall, near, signs))...)
		}
	}
	return all
}

// listSuspectEvents lists them in the order of the first stall that is near, and makes room for one
// sign of each suspicion and id.
func (s *story) listSuspectEvents() ([]suspectEvent, []sign) {
	var all []suspectEvent
	numbers := map[signKey]int{}
	for _, e := range s.timeline.Events {
		why := s.findSuspicion(e)
		if why == nil || e.Start.IsZero() {
			continue
		}
		what, id := findNarrowestID(e)
		if id == "" {
			continue
		}
		key := signKey{id, why}
		number, known := numbers[key]
		if !known {
			number = len(numbers)
			numbers[key] = number
		}
		first, after := s.stalls.findRangeNear(findWindow(e))
		all = append(all, suspectEvent{e, why, what, id, number, first, after})
	}
	slices.SortStableFunc(all, func(a, b suspectEvent) int { return cmp.Compare(a.first, b.first) })
	return all, make([]sign, len(numbers))
}

// countSigns lists the signs of a stall, in the order of their first events. room has one sign of
// each kind, all empty, as they are again when it returns.
func (s *story) countSigns(stall int, near []*suspectEvent, room []sign) []sign {
	var numbers []int
	for _, e := range near {
		if !s.maySuspect(stall, e) {
			continue
		}
		g := &room[e.sign]
		if g.count == 0 {
			if len(numbers) == maxCounted {
				continue
			}
			g.first = e
			numbers = append(numbers, e.sign)
		}
		g.count++
		if i := slices.Index(g.quoted[:], nil); i >= 0 && len(e.event.Evidence) > 0 {
			g.quoted[i] = e.event
		}
	}
	all := make([]sign, len(numbers))
	for i, number := range numbers {
		all[i], room[number] = room[number], sign{}
	}
	return all
}

// markRooted says of every stall whether it has a root.
func (s *story) markRooted() []bool {
	rooted := make([]bool, len(s.timeline.Stalls))
	for stall := range s.findAlike() {
		rooted[stall] = true
	}
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
var ofRelist = suspicion{eventSort{kind: event.KindCRIError, fields: pastDeadline}, 1, false, "relist waited for {method}, which ran into its deadline"}

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

// maySuspect says whether an event may tell what a stall waits for.
func (s *story) maySuspect(stall int, e *suspectEvent) bool {
	if e.why.late {
		return s.timeline.Stalls[stall].MayHaveSymptom(findWindow(e.event))
	}
	return s.timeline.Stalls[stall].MayHaveCause(findWindow(e.event), e.event.Open)
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

// chooseSuspects returns the suspects of which the signs are worth most, or else are of the most
// kinds, or else are most frequent. A second sign of another kind is said, too.
func chooseSuspects(stall int, signs []sign) []Suspect {
	kinds := map[string][]event.Kind{} // by container, sandbox or pod
	for i := range signs {
		id, kind := signs[i].first.id, signs[i].first.event.Kind
		if !slices.Contains(kinds[id], kind) {
			kinds[id] = append(kinds[id], kind)
		}
	}
	slices.SortStableFunc(signs, func(a, b sign) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(len(kinds[b.first.id]), len(kinds[a.first.id])), cmp.Compare(b.count, a.count))
	})
	var chosen []Suspect
	for i := range signs {
		g, about := &signs[i], signs[i].first
		n := slices.IndexFunc(chosen, func(o Suspect) bool { return o.ID == about.id })
		switch {
		case n < 0 && len(chosen) < maxSuspects:
			chosen = append(chosen, Suspect{Stall: stall, What: about.what, ID: about.id, Why: g.describe(), Evidence: g.evidence(), kind: about.event.Kind})
		case n >= 0 && chosen[n].kind != about.event.Kind && !strings.Contains(chosen[n].Why, secondSign):
			chosen[n].addSign(g)
		}
	}
	return chosen
}

// addSign adds a second sign: before the first one where that is a call that waited, and so says
// less.
func (s *Suspect) addSign(g *sign) {
	why, lines := s.Why, s.Evidence
	s.Why, s.Evidence = why+secondSign+g.describe(), append(firstOf(lines), firstOf(g.evidence())...)
	if s.kind == event.KindCRIError {
		s.Why, s.Evidence = g.describe()+secondSign+why, append(firstOf(g.evidence()), firstOf(lines)...)
	}
}

// firstOf is the first of some lines, to be appended to.
func firstOf(lines []event.Quote) []event.Quote { return lines[:min(len(lines), 1):min(len(lines), 1)] }

// secondSign joins two reasons for which something is suspected.
const secondSign = "; "
