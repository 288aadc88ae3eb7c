package rules

import (
	"math/bits"
	"slices"

	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// The outlook of a search: the order in which it decides the steps, and what may yet come of those
// that are not decided, so that a branch that cannot win ends early.

// outlook is what may come of the steps that have no event.
type outlook struct {
	open uint64                 // those for which a candidate may fit what is chosen
	most [language.MaxSteps]int // the most that the quality of an open one can become
}

// newOutlook is the outlook where nothing is decided.
func (s *search) newOutlook() *outlook {
	o := &outlook{open: s.within}
	for i := range o.most {
		o.most[i] = language.ByID
	}
	return o
}

// orderSteps orders the steps of a group: next comes always the one with the fewest candidates, of
// those that are tied to one before where there is any. What few events can only be, leaves few of
// the others to be tried.
func (s *search) orderSteps() {
	counts := make([]int, len(s.steps))
	for step := range s.steps {
		agreeing := s.listAgreeing(&s.steps[step])
		counts[step] = len(agreeing[0]) + len(agreeing[1])
	}
	s.order = s.order[:0]
	var ordered, tied uint64
	for range s.steps {
		next := none
		for step, count := range counts {
			isTied, better := tied>>step&1 != 0, next == none
			if !better {
				nextIsTied := tied>>next&1 != 0
				better = isTied && !nextIsTied || isTied == nextIsTied && count < counts[next]
			}
			if ordered>>step&1 == 0 && better {
				next = step
			}
		}
		s.order = append(s.order, next)
		ordered |= 1 << next
		if counts[next] > 0 {
			tied |= s.rule.Compiled.Related[next]
		}
	}
	s.rest = append(s.rest[:0], make([]uint64, len(s.steps)+1)...)
	for at, step := range slices.Backward(s.order) {
		s.rest[at] = s.rest[at+1] | 1<<step
	}
}

// lookAhead returns the outlook behind a step for which an event was just chosen. Without it, what
// lies apart is tried together as long as some later step could tie it.
func (s *search) lookAhead(step int, before *outlook) *outlook {
	o := *before
	for rest := o.open & s.rule.Compiled.Related[step]; rest != 0; rest &= rest - 1 {
		if other := bits.TrailingZeros64(rest); s.chosen[other] == none && !s.hasFitting(other) {
			o.open &^= 1 << other
		}
	}
	return &o
}

// hasFitting says whether a candidate of a step is consistent with what is chosen.
func (s *search) hasFitting(step int) bool {
	near := s.listNear(step)
	for i, ok := near.takeNext(); ok; i, ok = near.takeNext() {
		if s.fitsChosen(step, int(i)) {
			return true
		}
	}
	return false
}

// refineOutlook finds how good open steps can become by the event that was just chosen for a step,
// and says whether that is less than before. Without it, what is no better than the best match is
// tried as long as a later step could be better than any of its events is.
func (s *search) refineOutlook(step int, open uint64, o *outlook) (less bool) {
	if s.chosen[step] == none {
		return false
	}
	for rest := open & s.rule.Compiled.Related[step]; rest != 0; rest &= rest - 1 {
		later := bits.TrailingZeros64(rest)
		if most := s.rateFitting(later, o.most[later]); most < o.most[later] {
			o.most[later], less = most, true
		}
	}
	return less
}

// rateFitting returns the best quality that a candidate of a step has by what is chosen, up to a
// ceiling.
func (s *search) rateFitting(step, ceiling int) (most int) {
	ceiling = min(ceiling, s.rateByTies(step, func(e *language.Tie) int { return e.Best }))
	near := s.listNear(step)
	for i, ok := near.takeNext(); ok && most < ceiling; i, ok = near.takeNext() {
		if s.fitsChosen(step, int(i)) {
			s.chosen[step] = int(i)
			most = max(most, s.rateByTies(step, s.rateEdge))
			s.chosen[step] = none
		}
	}
	return min(most, ceiling)
}

// rateByTies is the weakest rating of the edges that lead to a step from chosen ones.
func (s *search) rateByTies(step int, rate func(*language.Tie) int) int {
	weakest := language.ByID
	for i := range s.rule.Compiled.Ties {
		if e := &s.rule.Compiled.Ties[i]; e.To == step && s.chosen[e.From] != none {
			weakest = min(weakest, rate(e))
		}
	}
	return weakest
}

// canName says whether a match with some of these steps, besides those that are chosen, may speak
// of the group.
func (s *search) canName(open uint64) bool {
	return s.group == "" || open&s.own != 0 || s.namesGroup()
}

// canConnect says whether open steps could still tie all that are chosen to each other. Without it,
// a step that only a missing one would tie is tried with all choices of the others.
func (s *search) canConnect(open uint64) bool {
	var chosen uint64
	for step, i := range s.chosen {
		if i != none {
			chosen |= 1 << step
		}
	}
	usable := chosen | open
	var reached uint64
	for frontier := chosen & -chosen; frontier != 0; {
		reached |= frontier
		step := bits.TrailingZeros64(frontier)
		frontier = frontier&(frontier-1) | s.rule.Compiled.Related[step]&usable&^reached
	}
	return chosen&^reached == 0
}

// canWin says whether open steps could still make a better match than the best.
func (s *search) canWin(at int, open uint64, o *outlook) bool {
	left := open
	points := 0
	for step := range s.steps {
		switch {
		case s.chosen[step] == none && open&(1<<step) != 0:
			points += s.rule.Steps[step].Weight * o.most[step]
		case s.chosen[step] != none && at == len(s.steps):
			points += s.rule.Steps[step].Weight * s.rateStep(step)
			left |= 1 << step
		case s.chosen[step] != none:
			points += s.rule.Steps[step].Weight * s.rateByTies(step, s.rateEdge)
			left |= 1 << step
		}
	}
	verdict := s.findVerdict(addAbsences(left))
	isBelow := func(m *match) bool { return m != nil && m.verdict < verdict }
	if verdict == language.Confirmed && (isBelow(s.best) || isBelow(s.worst)) && s.mustRestOnTimeAlone(left) {
		verdict = language.Likely
	}
	isAsSure := func(m *match) bool { return m != nil && m.verdict >= verdict }
	if s.nodes-s.foundAt > s.patience && (isAsSure(s.best) || isAsSure(s.worst)) {
		return false
	}
	return verdict >= language.Possible && s.beatsBest(verdict, min(points, fullScore))
}

// mustRestOnTimeAlone says that only time can tie the steps that a confirmed verdict rests on,
// whatever is chosen of those that are left.
func (s *search) mustRestOnTimeAlone(left uint64) bool {
	if left&s.alone != 0 {
		return false
	}
	left &= s.rule.Verdict.Compiled[language.Confirmed].CollectLeaves()
	for steps := left; steps != 0; steps &= steps - 1 {
		a := bits.TrailingZeros64(steps)
		for others := s.joined[a] & left; others != 0; others &= others - 1 {
			if b := bits.TrailingZeros64(others); s.chosen[a] == none || s.chosen[b] == none || s.rateJoin(a, b) > language.ByTime {
				return false
			}
		}
	}
	return true
}

// fullScore is a score of 1.
const fullScore = 100 * 1000

func (s *search) beatsBest(verdict language.Verdict, points int) bool {
	m := match{verdict: verdict, points: points}
	return (s.best == nil || compareMatches(&m, s.best) < 0) && (s.worst == nil || compareMatches(&m, s.worst) < 0)
}
