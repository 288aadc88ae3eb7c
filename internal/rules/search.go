package rules

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// Qualities of the tie between two events, in thousandths. They are the
// weights of timeline-based correlation everywhere: an id says more than a
// process number, which the kernel reuses, and that more than mere time.
const (
	byID      = 1000
	byProcess = 800
	byTime    = 500
	// vague is what is left of a quality when the order is possible, not certain.
	vague = 700
)

// penalty is what a contradiction that lowers a verdict takes from the score, in hundredths.
const penalty = 20

// maxNodes bounds the search of one rule, in events tried. A rule whose binds
// join needs a few times its candidates; only long chains that hang together
// by time alone come near it, and the finding then says so.
const maxNodes = 500_000

// none is the choice of a step without an event.
const none = -1

// minPrefix is the least number of digits by which a cut id counts as the same.
const minPrefix = 6

// search finds, for one rule, the best consistent assignment of events to
// steps, exactly: depth first over the steps in the order of the rule, events
// looked up by what is bound already, branches cut when even the best
// continuation would not win.
//
// An assignment is consistent when no event serves two steps, all values of a
// bind agree, no edge between two matched steps is impossible in time, every
// matched step is tied to the others by matched edges or shared binds, and each
// step with all: true gathers its minimum. Only assignments count to which no
// further step can be added: leaving a step out must not hide a contradiction.
// Among them the highest verdict wins, then the score, then whatever comes
// first on the timeline in the order of the steps.
type search struct {
	rule  *Rule
	index *index
	limit Verdict // cap for reasons outside the events: an unknown version

	steps      [][]candidate
	every      [][]int32              // all candidates of a step
	lookup     [][]map[string][]int32 // by step and variable: key of a value to candidates; "" for those without
	absent     [][]candidate
	objections [][]candidate
	plain      []bool   // steps whose like candidates can stand for each other
	edged      []uint64 // by step: those to which it has an edge
	related    []uint64 // by step: those to which it has an edge or may share a bind

	per      int    // variable that groups, or none
	group    string // its value in this run; empty for matches that bind none
	within   []bool // steps that can take part in a match of this group
	chosen   []int  // candidate per step, or none
	bound    []string
	nodes    int
	best     *match
	rejected *match // the best of those that a contradiction rules out
}

// match is an assignment with its verdict.
type match struct {
	verdict, unopposed Verdict // with and without contradictions
	points             int     // score in 1/100 000
	chosen             []int
	bound              []string
	gathered           [][]int32 // events by step
	against            []opposed
	absent             uint64
	timeOnly           bool // capped because nothing but time ties the events
}

// opposed is a contradiction that applies.
type opposed struct {
	objection *Objection
	event     int32
}

func newSearch(r *Rule, x *index, limit Verdict) *search {
	s := &search{rule: r, index: x, limit: limit, per: none}
	for i := range r.Steps {
		s.steps = append(s.steps, x.candidates(r.Steps[i].patterns, len(r.variables)))
	}
	for i := range r.Absent {
		s.absent = append(s.absent, x.candidates([]Pattern{r.Absent[i].Pattern}, len(r.variables)))
	}
	for i := range r.RulesOut {
		s.objections = append(s.objections, x.candidates([]Pattern{r.RulesOut[i].Pattern}, len(r.variables)))
	}
	s.per = slices.IndexFunc(r.variables, func(v variable) bool { return v.name == r.Per })
	return s
}

// prepare builds what the search looks things up in.
func (s *search) prepare() {
	for i := range s.steps {
		s.every = append(s.every, s.all(i))
		s.lookup = append(s.lookup, s.byValue(s.steps[i]))
	}
	s.plain = s.plainSteps()
	s.relate()
}

// hopeless says that no verdict is left for the steps that have candidates at
// all: most rules of a catalogue on most bundles.
func (s *search) hopeless() bool {
	truths := ^uint64(1<<maxSteps - 1)
	for step := range s.steps {
		if len(s.steps[step]) > 0 {
			truths |= 1 << step
		}
	}
	return s.verdict(truths) < Possible
}

// relate notes which steps can be tied to each other.
func (s *search) relate() {
	s.edged = make([]uint64, len(s.steps))
	for _, e := range s.rule.ties {
		s.edged[e.from] |= 1 << e.to
		s.edged[e.to] |= 1 << e.from
	}
	s.related = slices.Clone(s.edged)
	for a := range s.steps {
		for b := range s.steps {
			if a != b && s.rule.bestJoin(a, b) > byTime {
				s.related[a] |= 1 << b
			}
		}
	}
}

func (s *search) byValue(candidates []candidate) []map[string][]int32 {
	byValue := make([]map[string][]int32, len(s.rule.variables))
	for v := range byValue {
		byValue[v] = map[string][]int32{}
		for i, c := range candidates {
			key := s.key(v, c.values[v])
			byValue[v][key] = append(byValue[v][key], int32(i))
		}
	}
	return byValue
}

// key is the same for all values that may agree.
func (s *search) key(variable int, value string) string {
	if s.rule.variables[variable].prefix && len(value) > minPrefix {
		return value[:minPrefix]
	}
	return value
}

// agree joins two values of a variable into the one that says more.
func (v *variable) agree(a, b string) (string, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	same := a == b || b == "" || v.prefix && len(b) >= minPrefix && strings.HasPrefix(a, b) && hex(a)
	return a, same
}

func hex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// plainSteps marks the steps of which two candidates with the same values and
// the same qualities of edges are as good as each other: nothing that is
// decided later looks at their time, and no other step could want them.
func (s *search) plainSteps() []bool {
	wanted := make([]uint8, len(s.index.events))
	for _, candidates := range s.steps {
		for _, c := range candidates {
			wanted[c.event]++
		}
	}
	plain := make([]bool, len(s.steps))
	for i := range plain {
		plain[i] = !s.anchors(i) && !slices.ContainsFunc(s.steps[i], func(c candidate) bool { return wanted[c.event] > 1 }) &&
			!slices.ContainsFunc(s.rule.ties, func(e EdgeRule) bool {
				other, ok := e.other(i)
				return ok && (other > i || s.rule.Steps[other].Min > 1)
			})
	}
	return plain
}

// anchors says whether an absence or a contradiction asks for the time of a step.
func (s *search) anchors(step int) bool {
	return slices.ContainsFunc(s.rule.Absent, func(a Absence) bool { return a.anchor == step }) ||
		slices.ContainsFunc(s.rule.RulesOut, func(o Objection) bool { return o.anchor == step })
}

// other returns the step at the other end of an edge.
func (e *EdgeRule) other(step int) (int, bool) {
	switch step {
	case e.from:
		return e.to, true
	case e.to:
		return e.from, true
	}
	return none, false
}

// run returns the best match of each group, groups in the order of their
// values, without those below possible.
func (s *search) run() []*match {
	if s.hopeless() {
		return nil
	}
	s.prepare()
	var found []*match
	s.chosen = slices.Repeat([]int{none}, len(s.steps))
	s.within = make([]bool, len(s.steps))
	for _, group := range s.groups() {
		s.group = group
		s.best = nil
		s.bound = make([]string, len(s.rule.variables))
		if group != "" {
			s.bound[s.per] = group
		}
		s.narrow()
		s.place(0)
		if s.best != nil {
			found = append(found, s.best)
		}
	}
	return found
}

// narrow finds the steps that can take part in a match of this group: those that
// have candidates and hang together with one that has candidates of the group.
// In a bundle of thousands of containers that leaves most groups without a match at once.
func (s *search) narrow() {
	var fitting, own uint64
	for step := range s.steps {
		keyed, free := s.fitting(step)
		if len(keyed)+len(free) > 0 {
			fitting |= 1 << step
		}
		if s.group == "" || len(s.lookup[step][s.per][s.key(s.per, s.group)]) > 0 {
			own |= fitting & (1 << step)
		}
	}
	for grown := uint64(0); grown != own; {
		grown = own
		for step := range s.steps {
			if own&(1<<step) != 0 {
				own |= s.related[step] & fitting
			}
		}
	}
	for step := range s.within {
		s.within[step] = own&(1<<step) != 0
	}
}

// groups are the values of the grouping bind, of cut ids the longest form, and
// last the empty one: matches without any.
func (s *search) groups() []string {
	if s.per == none {
		return []string{""}
	}
	distinct := map[string]bool{}
	for step := range s.steps {
		for _, c := range s.steps[step] {
			if c.values[s.per] != "" {
				distinct[c.values[s.per]] = true
			}
		}
	}
	values := sortedKeys(distinct)
	variable := &s.rule.variables[s.per]
	var groups []string
	for i, v := range values { // a cut id sorts right before its longer forms
		if i+1 < len(values) {
			if longer, same := variable.agree(v, values[i+1]); same && longer == values[i+1] {
				continue
			}
		}
		groups = append(groups, v)
	}
	return append(groups, "")
}

func (s *search) spent() bool { return s.nodes >= maxNodes }

// place decides the steps from this one on.
func (s *search) place(step int) {
	if s.spent() || !s.promising(step) {
		return
	}
	if step == len(s.steps) {
		s.finish()
		return
	}
	if !s.within[step] {
		s.place(step + 1)
		return
	}
	keyed, free := s.fitting(step)
	var tried map[string]bool
	if s.plain[step] && s.partnersChosen(step) && len(keyed)+len(free) > 1 {
		tried = map[string]bool{}
	}
	for _, part := range [...][]int32{keyed, free} {
		for _, i := range part {
			if s.foreign(step, int(i)) || !s.fits(step, int(i)) {
				continue
			}
			if tried != nil {
				like := s.likeness(step, int(i))
				if tried[like] {
					continue
				}
				tried[like] = true
			}
			undo := s.choose(step, int(i))
			s.place(step + 1)
			s.restore(step, undo)
		}
	}
	s.place(step + 1)
}

// choose puts a candidate in a step's place and returns what was bound before.
func (s *search) choose(step, i int) []string {
	before := s.bound
	s.bound = slices.Clone(s.bound)
	for v, value := range s.steps[step][i].values {
		s.bound[v], _ = s.rule.variables[v].agree(s.bound[v], value)
	}
	s.chosen[step] = i
	return before
}

func (s *search) restore(step int, bound []string) {
	s.chosen[step] = none
	s.bound = bound
}

// fitting returns the candidates of a step that may agree with what is bound,
// by the bind that leaves the fewest: those with the bound value, those without any.
func (s *search) fitting(step int) (keyed, free []int32) {
	fewest := len(s.steps[step]) + 1
	for v, value := range s.bound {
		if value == "" {
			continue
		}
		byValue := s.lookup[step][v]
		k, f := byValue[s.key(v, value)], byValue[""]
		if len(k)+len(f) < fewest {
			keyed, free, fewest = k, f, len(k)+len(f)
		}
	}
	if fewest > len(s.steps[step]) {
		return nil, s.every[step]
	}
	return keyed, free
}

func (s *search) all(step int) []int32 {
	all := make([]int32, len(s.steps[step]))
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// foreign says whether a candidate belongs to a group while matches of none are sought.
func (s *search) foreign(step, i int) bool {
	return s.per != none && s.group == "" && s.steps[step][i].values[s.per] != ""
}

// fits says whether a candidate is consistent with all other steps chosen.
func (s *search) fits(step, i int) bool {
	s.nodes++
	c := &s.steps[step][i]
	if !s.agrees(c.values) {
		return false
	}
	for other, j := range s.chosen {
		if j != none && other != step && s.steps[other][j].event == c.event {
			return false
		}
	}
	for e := range s.rule.ties {
		edge := &s.rule.ties[e]
		if other, ok := edge.other(step); ok && s.chosen[other] != none && s.orderWith(edge, step, i) == impossible {
			return false
		}
	}
	return true
}

// connected says whether the chosen steps hang together: two by an edge or a
// shared bind, and so on. What only a missing step would tie is two matches, not one.
func (s *search) connected() bool {
	var chosen, reached uint64
	for step, i := range s.chosen {
		if i != none {
			chosen |= 1 << step
		}
	}
	for frontier := chosen & -chosen; frontier != 0; {
		reached |= frontier
		step := bits.TrailingZeros64(frontier)
		frontier = frontier&(frontier-1) | s.edged[step]&chosen&^reached
		for rest := chosen &^ (reached | frontier); rest != 0; rest &= rest - 1 {
			if other := bits.TrailingZeros64(rest); s.join(step, other) > byTime {
				frontier |= 1 << other
			}
		}
	}
	return reached == chosen
}

func (s *search) agrees(values []string) bool {
	for v, value := range values {
		if _, ok := s.rule.variables[v].agree(s.bound[v], value); !ok {
			return false
		}
	}
	return true
}

// orderWith is the order of an edge when the step takes a candidate and its other end is chosen.
func (s *search) orderWith(edge *EdgeRule, step, i int) order {
	from, to := s.chosen[edge.from], s.chosen[edge.to]
	if edge.from == step {
		from = i
	} else {
		to = i
	}
	return edge.order(s.index.spans[s.steps[edge.from][from].event], s.index.spans[s.steps[edge.to][to].event])
}

func (s *search) partnersChosen(step int) bool {
	return !slices.ContainsFunc(s.rule.ties, func(e EdgeRule) bool {
		other, ok := e.other(step)
		return ok && s.chosen[other] == none
	})
}

// likeness is equal for candidates that are as good as each other here.
func (s *search) likeness(step, i int) string {
	undo := s.choose(step, i)
	defer s.restore(step, undo)
	key := []byte(strings.Join(s.steps[step][i].values, "\x00"))
	for e := range s.rule.ties {
		if edge := &s.rule.ties[e]; edge.from == step || edge.to == step {
			key = append(key, 0, byte(s.edgeQuality(edge)/10))
		}
	}
	return string(key)
}

// join is how well the candidates of two chosen steps are tied by what both bind.
func (s *search) join(a, b int) int {
	best := byTime
	av, bv := s.steps[a][s.chosen[a]].values, s.steps[b][s.chosen[b]].values
	for v := range av {
		if av[v] != "" && bv[v] != "" {
			best = max(best, s.rule.variables[v].quality)
		}
	}
	return best
}

// edgeQuality rates an edge between two chosen steps.
func (s *search) edgeQuality(e *EdgeRule) int {
	switch s.orderWith(e, e.from, s.chosen[e.from]) {
	case certain:
		return s.join(e.from, e.to)
	case possible:
		return s.join(e.from, e.to) * vague / 1000
	}
	return byTime // an event without a time
}

// quality rates a chosen step by the weakest edge that leads to it from a
// chosen step. One without any edge to chosen steps is rated by its binds; a
// step alone, or one from which edges only lead away, is 1.
func (s *search) quality(step int) int {
	weakest, tied := byID, false
	for i := range s.rule.ties {
		e := &s.rule.ties[i]
		if other, ok := e.other(step); !ok || s.chosen[other] == none {
			continue
		}
		tied = true
		if e.to == step {
			weakest = min(weakest, s.edgeQuality(e))
		}
	}
	if tied {
		return weakest
	}
	best, alone := byTime, true
	for other, j := range s.chosen {
		if j != none && other != step {
			alone = false
			best = max(best, s.join(step, other))
		}
	}
	if alone {
		return byID
	}
	return best
}

// promising says whether the steps from this one on could still make a better match than the best.
func (s *search) promising(from int) bool {
	truths, points := ^uint64(1<<maxSteps-1), 0 // every absence may yet be proven
	for step := range s.steps {
		switch {
		case s.chosen[step] != none:
			points += s.rule.Steps[step].Weight * s.qualityBound(step, from)
		case step >= from && s.within[step]:
			points += s.rule.Steps[step].Weight * s.qualityBound(step, from)
		default:
			continue
		}
		truths |= 1 << step
	}
	verdict := s.verdict(truths)
	return verdict >= Possible && s.beats(verdict, min(points, fullScore))
}

// fullScore is a score of 1.
const fullScore = 100 * 1000

func (s *search) beats(verdict Verdict, points int) bool {
	return s.best == nil || cmp.Or(cmp.Compare(verdict, s.best.verdict), cmp.Compare(points, s.best.points)) > 0
}

// qualityBound is the most that the quality of a step can become.
func (s *search) qualityBound(step, from int) int {
	if from == len(s.steps) {
		return s.quality(step)
	}
	bound := byID
	for i := range s.rule.ties {
		if e := &s.rule.ties[i]; e.to == step && s.chosen[e.from] != none {
			if s.chosen[step] != none {
				bound = min(bound, s.edgeQuality(e))
			} else {
				bound = min(bound, e.best)
			}
		}
	}
	return bound
}

// verdict is the highest level whose expression holds, within the rule's limit.
func (s *search) verdict(truths uint64) Verdict {
	for level := Confirmed; level >= Possible; level-- {
		if e := s.rule.Verdict.levels[level]; e != nil && e.holds(truths) {
			return min(level, s.limit)
		}
	}
	return RuledOut
}
