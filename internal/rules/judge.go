package rules

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// rateAssignment rates the current assignment and keeps it when it wins.
func (s *search) rateAssignment() {
	if s.namesGroup() && s.isConnected() && s.gathersMinimum() {
		if m := s.judgeAssignment(); m.unopposed >= language.Possible && s.isBetter(m) && s.isComplete() {
			s.keepMatch(m)
		}
	}
}

// namesGroup says whether a match of a group speaks of it at all.
func (s *search) namesGroup() bool {
	if s.group == "" {
		return true
	}
	for step, i := range s.chosen {
		if i != none && s.readValue(&s.steps[step], i, s.per) != "" {
			return true
		}
	}
	return false
}

// gathersMinimum says whether every chosen step with all: true gathers enough events.
func (s *search) gathersMinimum() bool {
	for step, i := range s.chosen {
		if i != none && s.rule.Steps[step].Min > 1 && !s.gathersEnough(step) {
			return false
		}
	}
	return true
}

// gathersEnough says whether a chosen step gathers its minimum. That hangs on the events of the
// other steps, on what is bound and on the machine, and is asked once for each of these: of two
// steps that gather, each event of the one is tried with each of the other.
func (s *search) gathersEnough(step int) bool {
	key := binary.AppendUvarint(nil, uint64(step))
	for other, i := range s.chosen {
		if other != step {
			key = binary.AppendVarint(key, int64(i))
		}
	}
	for _, value := range s.bound {
		key = append(append(key, value...), 0)
	}
	key = s.appendMachine(key, step, s.chosen[step])
	enough, known := s.enough[string(key)]
	if !known {
		least := s.rule.Steps[step].Min
		enough = len(s.gatherEvents(step, least)) >= least
		s.enough[string(key)] = enough
	}
	return enough
}

// gatherEvents returns the event chosen for a step and, for a step with all: true,
// every other of its machine that would fit in its place; at most limit of them.
func (s *search) gatherEvents(step, limit int) []int32 {
	own := s.chosen[step]
	events := []int32{s.steps[step].events[own]}
	if !s.rule.Steps[step].All {
		return events
	}
	s.chosen[step] = none
	defer func() { s.chosen[step] = own }()
	near := s.listNear(step)
	for i, ok := near.takeNext(); ok; i, ok = near.takeNext() {
		if len(events) == limit {
			return events
		}
		ofOne := s.index.mayBeOfOneChain(events[0], s.steps[step].events[i])
		if int(i) != own && ofOne && !s.isForeign(step, int(i)) && s.fitsChosen(step, int(i)) && s.isConnectedWith(step, int(i)) {
			events = append(events, s.steps[step].events[i])
		}
	}
	slices.Sort(events[1:])
	return events
}

// followRow adds to the events that a step has gathered those with which its row goes on: each
// comes soon after the one before it, and belongs to no other step.
func (s *search) followRow(step int, events []int32) []int32 {
	within := s.rule.Steps[step].Compiled.GoesOn
	if within == 0 {
		return events
	}
	known := map[int32]bool{}
	for other, i := range s.chosen {
		if i != none {
			known[s.steps[other].events[i]] = true
		}
	}
	last := never
	for _, ev := range events {
		known[ev] = true
		last = max(last, s.index.spans[ev].startLo)
	}
	f := &s.steps[step]
	next := func(i int) int { return s.index.reachOf(f.hits).Next(i, last, saturate(last, int64(within))) }
	for i := next(0); i < len(f.events); i = next(i + 1) {
		ev := f.events[i]
		at := &s.index.spans[ev]
		soon := at.dated && at.startLo >= last && at.startLo <= saturate(last, int64(within))
		if soon && !known[ev] && s.index.mayBeOfOneChain(events[0], ev) && !s.isForeign(step, i) && s.agreesWithBound(f, i) {
			events = append(events, ev)
			last = at.startLo
		}
	}
	return events
}

func (s *search) isConnectedWith(step, i int) bool {
	s.chosen[step] = i
	defer func() { s.chosen[step] = none }()
	return s.isConnected()
}

// isComplete says that no further step can be added to the assignment.
func (s *search) isComplete() bool {
	for step, i := range s.chosen {
		if i == none && s.canAdd(step) {
			return false
		}
	}
	return true
}

func (s *search) canAdd(step int) bool {
	if !s.canReach(step) {
		return false
	}
	near := s.listNear(step)
	for i, ok := near.takeNext(); ok; i, ok = near.takeNext() {
		if !s.fitsChosen(step, int(i)) {
			continue
		}
		undo := s.chooseEvent(step, int(i))
		enough := s.canGather(step) && s.isConnected() && s.gathersMinimum()
		s.restoreStep(step, undo)
		if enough {
			return true
		}
	}
	return false
}

// canReach says whether anything could tie a step to those that are chosen.
func (s *search) canReach(step int) bool {
	alone := true
	for other, i := range s.chosen {
		if i != none && s.rule.Compiled.Related[step]&(1<<other) != 0 {
			return true
		}
		alone = alone && i == none
	}
	return alone
}

// judgeAssignment gives the assignment its verdict and score.
func (s *search) judgeAssignment() *match {
	m := &match{}
	var steps uint64
	for step, i := range s.chosen {
		if i != none {
			steps |= 1 << step
			m.points += s.rule.Steps[step].Weight * s.rateStep(step)
		}
	}
	m.points = min(m.points, fullScore)
	for i := range s.rule.Absent {
		if s.isProvenAbsent(i) {
			m.absent |= 1 << (language.MaxSteps + i)
		}
	}
	m.unopposed = s.findVerdict(steps | m.absent)
	if m.unopposed == language.Confirmed && s.restsOnTimeAlone(s.rule.Verdict.Compiled[language.Confirmed].CollectLeaves()&steps) {
		m.unopposed, m.timeOnly = language.Likely, true
	}
	m.verdict = m.unopposed
	m.against = s.listOppositions()
	for _, o := range m.against {
		if o.objection.Effect == "lowers" {
			m.points = max(0, m.points-penalty*1000)
			m.verdict = max(m.verdict-1, language.Weighed)
		}
	}
	if slices.ContainsFunc(m.against, func(o opposed) bool { return o.objection.Effect != "lowers" }) {
		m.verdict = language.RuledOut
	}
	return m
}

// restsOnTimeAlone says that only time ties the steps that a verdict rests
// on: two things that merely happened together prove no cause.
func (s *search) restsOnTimeAlone(steps uint64) bool {
	count := 0
	for a := range s.chosen {
		if steps&(1<<a) == 0 {
			continue
		}
		count++
		for b := range a {
			if steps&(1<<b) != 0 && s.rateJoin(a, b) > language.ByTime {
				return false
			}
		}
	}
	return count > 1
}

// isBetter says whether a match is better than the best so far, in its class.
func (s *search) isBetter(m *match) bool {
	if m.verdict >= language.Possible {
		return s.beatsBest(m.verdict, m.points)
	}
	return s.rejected == nil || m.unopposed > s.rejected.unopposed
}

// keepMatch completes a match with copies of what the search goes on to change.
func (s *search) keepMatch(m *match) {
	m.chosen = slices.Clone(s.chosen)
	m.bound = slices.Clone(s.bound)
	m.gathered = make([][]int32, len(s.chosen))
	for step, i := range s.chosen {
		if i != none {
			m.gathered[step] = s.followRow(step, s.gatherEvents(step, len(s.steps[step].events)))
			slices.SortStableFunc(m.gathered[step], func(a, b int32) int { // texts speak of the longest
				return cmp.Compare(s.index.events[b].Duration(), s.index.events[a].Duration())
			})
		}
	}
	if m.verdict >= language.Possible {
		s.best, s.foundAt = m, s.nodes
	} else {
		s.rejected = m
	}
}

// listOppositions returns the contradictions that apply. One that binds applies only
// to a match that has bound the same: an unrelated event contradicts nothing.
func (s *search) listOppositions() []opposed {
	var all []opposed
	for i := range s.rule.RulesOut {
		o := &s.rule.RulesOut[i]
		if !s.areAllBound(o.Pattern.Compiled.Bindings) || o.Compiled.Anchor >= 0 && s.chosen[o.Compiled.Anchor] == none {
			continue
		}
		if ev, ok := s.findOpposition(o, &s.objections[i]); ok {
			all = append(all, opposed{o, ev})
		}
	}
	return all
}

// findOpposition returns the first event of a contradiction that applies.
func (s *search) findOpposition(o *language.Objection, f *found) (ev int32, ok bool) {
	from, until := s.timeOfObjection(o)
	near := s.listDuring(f, from, until)
	for i, ok := near.takeNext(); ok; i, ok = near.takeNext() {
		s.nodes++
		if s.agreesWithBound(f, int(i)) && s.isOfTheirMachine(f.events[i]) && s.liesDuring(o, f.events[i]) {
			return f.events[i], true
		}
	}
	return 0, false
}

// timeOfObjection is the time in which an event of a contradiction has to lie, at least in part.
func (s *search) timeOfObjection(o *language.Objection) (from, until int64) {
	from, until = math.MinInt64, math.MaxInt64
	if o.Compiled.Anchor < 0 {
		return from, until
	}
	at := &s.index.spans[s.steps[o.Compiled.Anchor].events[s.chosen[o.Compiled.Anchor]]]
	if at.dated {
		from, until = shift(at.startLo, -o.Compiled.Near), shift(at.endHi, o.Compiled.Near)
	}
	return from, until
}

func (s *search) areAllBound(bindings []language.Binding) bool {
	return !slices.ContainsFunc(bindings, func(b language.Binding) bool { return !b.Optional && s.bound[b.Variable] == "" })
}

// liesDuring says whether an event lies in time where a contradiction asks for it.
// Without a time it has to be tied by a bind.
func (s *search) liesDuring(o *language.Objection, ev int32) bool {
	if o.Compiled.Anchor < 0 {
		return true
	}
	a, b := s.index.spans[s.steps[o.Compiled.Anchor].events[s.chosen[o.Compiled.Anchor]]], s.index.spans[ev]
	if !a.dated || !b.dated {
		return slices.ContainsFunc(o.Pattern.Compiled.Bindings, func(b language.Binding) bool { return !b.Optional })
	}
	return mayLieIn(o, a, b)
}

// mayLieIn says whether an event at b may lie in the time of a step or a tell at a.
func mayLieIn(o *language.Objection, a, b span) bool {
	return orderOverlap(a, b, int64(o.Compiled.Near)) != impossible && (!o.After || b.startHi >= a.startLo)
}

// isProvenAbsent says that an event is missing where its source would have shown it.
func (s *search) isProvenAbsent(i int) bool {
	a := &s.rule.Absent[i]
	if s.chosen[a.Compiled.Anchor] == none || !s.areAllBound(a.Pattern.Compiled.Bindings) {
		return false
	}
	anchor := s.steps[a.Compiled.Anchor].events[s.chosen[a.Compiled.Anchor]]
	if !s.isCovered(a, s.index.events[anchor]) {
		return false
	}
	f := &s.absent[i]
	from, until := s.timeOfAbsence(a, anchor)
	near := s.listDuring(f, from, until)
	for j, ok := near.takeNext(); ok; j, ok = near.takeNext() {
		s.nodes++
		if s.agreesWithBound(f, int(j)) && s.isOfTheirMachine(f.events[j]) && s.mayFillAbsence(a, f.events[j], anchor) {
			return false
		}
	}
	return true
}

// timeOfAbsence is the time in which nothing may lie, not even in part.
func (s *search) timeOfAbsence(a *language.Absence, anchor int32) (from, until int64) {
	switch at := &s.index.spans[anchor]; {
	case !at.dated:
		return math.MinInt64, math.MaxInt64
	case a.During != "":
		return at.startLo, at.endHi
	default:
		return math.MinInt64, at.startHi
	}
}

// mayFillAbsence says whether an event may lie where it should be absent.
func (s *search) mayFillAbsence(a *language.Absence, ev, anchor int32) bool {
	e, at := s.index.spans[ev], s.index.spans[anchor]
	if !e.dated {
		return true
	}
	if a.During != "" {
		return orderOverlap(e, at, 0) != impossible
	}
	return e.startLo <= at.startHi
}

// isCovered says whether one file of the source reaches over the whole of the
// step, without a gap, at the level of the line in question.
func (s *search) isCovered(a *language.Absence, anchor *event.Event) bool {
	if anchor.Start.IsZero() {
		return false
	}
	start, end := anchor.Start.T, anchor.Last().T
	if a.Before != "" { // what a gap before it hides may be what is looked for
		start, end = time.Time{}, anchor.Start.T
	}
	hidden := func(g timeline.Gap) bool { return g.Overlaps(start, end) }
	for _, c := range s.index.timeline.Coverage {
		if isSource(a.Source, &c) && !c.Start.IsZero() && !c.Start.After(anchor.Start.T) && !c.End.Before(end) &&
			(a.Compiled.Level == event.NoLevel || c.Level != event.NoLevel && c.Level <= a.Compiled.Level) &&
			!slices.ContainsFunc(c.Gaps, hidden) {
			return true
		}
	}
	return false
}
