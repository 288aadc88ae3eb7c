package rules

import (
	"cmp"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// A cause may come, go and come again. What lies further apart than a bout is another incident with
// the same cause.

// boutsApart is how long nothing of a cause is seen at least between two incidents with it.
const boutsApart = 30 * time.Minute

// maxBouts bounds the bouts that are searched for one cause, the last ones. Of these the last
// closeBouts are searched as the first was; the others only say which stalls have that cause, too.
const (
	maxBouts   = 64
	closeBouts = 8
)

// bout is a time in which a cause is seen again and again. It has what begins in [from, to).
type bout struct{ from, to int64 }

// anyTime has every event, also those without a time.
var anyTime = bout{never, ever}

func (b bout) has(at *span) bool { return b.from <= at.startLo && at.startLo < b.to }

// listBouts returns the bouts of some events in time, without those that have none.
func (x *index) listBouts(events []int32) []bout {
	events = slices.DeleteFunc(slices.Clone(events), x.isUndated)
	slices.SortFunc(events, func(a, b int32) int { return cmp.Compare(x.spans[a].startLo, x.spans[b].startLo) })
	var all []bout
	var last int64 // the end of what came before
	for _, ev := range events {
		at := &x.spans[ev]
		if n := len(all); n == 0 {
			all = append(all, anyTime)
		} else if at.startLo > last && at.startLo-last >= int64(boutsApart) {
			all[n-1].to = at.startLo
			all = append(all, bout{at.startLo, ever})
		}
		last = max(last, at.endHi)
	}
	return all
}

func (x *index) isUndated(ev int32) bool { return !x.spans[ev].dated }

// splitByBout returns what speaks for a rule in each bout of its tells, with their effects, where
// that is enough to make it possible, of the last closeBouts. It is the whole where there is one
// bout, or where only several together make the rule as sure as it is.
func (s *search) splitByBout(w *weighing, effects []effectSpans) []*weighing {
	var events []int32
	for _, t := range w.listNear() {
		events = append(events, t.events...)
	}
	bouts := s.index.listBouts(events) // effects are of all causes, and go on between two bouts on a node that flaps
	for _, t := range w.effects {
		events = append(events, t.events...)
	}
	if len(bouts) < 2 || slices.ContainsFunc(events, s.index.isUndated) {
		return []*weighing{w}
	}
	var parts []*weighing
	surest := w.verdict - 1
	for _, b := range bouts[max(0, len(bouts)-closeBouts):] {
		if part := s.weighBout(w, b, effects); part.verdict >= language.Possible {
			parts = append(parts, part)
			surest = max(surest, part.verdict)
		}
	}
	if surest < w.verdict {
		return []*weighing{w}
	}
	return parts
}

// weighBout weighs those events of a weighing that begin in a bout.
func (s *search) weighBout(w *weighing, b bout, effects []effectSpans) *weighing {
	part := &weighing{supports: w.supports, bout: b}
	for _, t := range w.listNear() {
		within := slices.DeleteFunc(slices.Clone(t.events), func(ev int32) bool { return !b.has(&s.index.spans[ev]) })
		found, ok := s.index.takeSign(t.rule, within)
		if !ok || len(within) == 0 {
			continue
		}
		part.tells = append(part.tells, found)
		for _, ev := range found.events {
			part.noteEffectsOf(s, ev, effects)
		}
	}
	part.against = slices.DeleteFunc(slices.Clone(w.against), func(o opposed) bool { return !o.objection.BindsAlways() })
	part.against = append(part.against, s.listAgainstTells(part.tells)...)
	part.climb(s.index, s.limit)
	part.fillEffects(s.index, effects)
	return part
}

// raiseFindings gives the best match of the chain that has something of the bout of some tells the
// verdict that these allow. Findings are of the best matches, in the same order.
func (s *search) raiseFindings(findings []Finding, found []*match, parts []*weighing) {
	for _, part := range parts {
		i := slices.IndexFunc(found[:len(findings)], func(m *match) bool {
			return slices.ContainsFunc(slices.Concat(m.gathered...), func(ev int32) bool { return part.bout.has(&s.index.spans[ev]) })
		})
		if i >= 0 {
			s.raiseFinding(&findings[i], part)
		}
	}
}

// findOtherBouts returns the best match of a cause in each other bout of what the first step of the
// match that was found shows, the last bout first, where that is as sure; none of a rule that
// groups, which has a match for each value anyway. Of a day with several incidents of one cause the
// last one is what may go on.
func (s *search) findOtherBouts() []*match {
	if s.per != none {
		return nil
	}
	first := s.best
	found := []*match{first}
	s.boutStep = s.findDatedStep(first)
	if s.boutStep < 0 {
		return nil
	}
	bouts := s.index.listBouts(s.steps[s.boutStep].events)
	for i, b := range slices.Backward(bouts) {
		isIn := func(ev int32) bool { return b.has(&s.index.spans[ev]) }
		if len(bouts)-i > maxBouts || slices.ContainsFunc(first.gathered[s.boutStep], isIn) {
			continue
		}
		if len(bouts)-i > closeBouts {
			s.patience = maxBetter / 10
		}
		s.best, s.foundAt, s.bout = nil, s.nodes, &b
		s.placeSteps(0, s.newOutlook())
		m := s.best
		if m != nil && m.verdict >= first.verdict && m.chosen[s.boutStep] != none && !slices.ContainsFunc(found, func(other *match) bool { return s.areSame(m, other) }) {
			found = append(found, m)
		}
	}
	s.bout, s.patience = nil, maxBetter
	return found[1:]
}

// findDatedStep is the first step of a match or, where that has no time, the first one with a time
// that shows a cause; -1 where there is none.
func (s *search) findDatedStep(m *match) int {
	first := true
	for step, i := range m.chosen {
		if i == none {
			continue
		}
		if dated := !s.index.isUndated(s.steps[step].events[i]); dated && (first || isCausing(s.rule.Steps[step].Role)) {
			return step
		}
		first = false
	}
	return -1
}

// areSame says that two matches tell of one incident: they have an event in common. Of a symptom of
// which a step has all that it finds, the first incident may have left some behind: a call that
// never ends.
func (s *search) areSame(a, b *match) bool {
	own := map[int32]bool{}
	for _, ev := range s.listTelling(a) {
		own[ev] = true
	}
	return slices.ContainsFunc(s.listTelling(b), func(ev int32) bool { return own[ev] })
}

// listTelling are the events of a match that no other incident has. What has no time, as a listing,
// may tell of all.
func (s *search) listTelling(m *match) (events []int32) {
	for i, gathered := range m.gathered {
		if step := &s.rule.Steps[i]; !step.All || step.Role != "symptom" {
			events = append(events, slices.DeleteFunc(slices.Clone(gathered), s.index.isUndated)...)
		}
	}
	return events
}
