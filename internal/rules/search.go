package rules

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// vague is what is left of a quality, in thousandths, when the order is possible, not certain.
const vague = 700

// penalty is what a contradiction that lowers a verdict takes from the score, in hundredths.
const penalty = 20

// maxNodes bounds the search of one rule, in events tried. A rule whose binds
// join needs a few times its candidates; only long chains that hang together
// by time alone come near it, and the finding then says so.
const maxNodes = 500_000

// maxBetter bounds the search for a match that is better than the best and no surer, in events
// tried since that was found: of a hundred incidents that are alike one shows the cause as well as
// another.
const maxBetter = 1_000

// none is the choice of a step without an event.
const none = -1

// minPrefix is the least number of digits by which a cut id counts as the same.
const minPrefix = 6

// search finds, for one rule, the best consistent assignment of events to
// steps: depth first, the step with the fewest candidates first, events
// looked up by what is bound already, branches cut when even the best
// continuation would not win. It is exact unless a bound ends it: maxNodes, or
// maxBetter where no surer match is to be had.
//
// An assignment is consistent when no event serves two steps, none shows another
// machine than the others, all values of a bind agree, no edge between two matched
// steps is impossible in time, every
// matched step is tied to the others by matched edges or shared binds, and each
// step with all: true gathers its minimum. Only assignments count to which no
// further step can be added: leaving a step out must not hide a contradiction.
// Among them the highest verdict wins, then the score, then whatever comes
// first on the timeline, in the order in which the steps are decided.
type search struct {
	rule  *language.Rule
	index *index
	limit language.Verdict // cap for reasons outside the events: an unknown version

	steps      []found
	absent     []found // by absence; made when the search begins, as are the objections
	objections []found
	plain      []alikeness // by step; see isPlain
	joined     []uint64    // by step: those that more than time may tie to it
	alone      uint64      // steps each of which confirms the rule alone
	patience   int         // see maxBetter

	per      int    // variable that groups, or none
	group    string // its value in this run; empty for matches that bind none
	within   uint64 // steps that can take part in a match of this group
	own      uint64 // those of them with events of the group
	chosen   []int  // candidate per step, or none
	bound    []string
	nodes    int
	room     []int32         // scratch, of listFitting
	enough   map[string]bool // see gathersEnough
	best     *match
	rejected *match // the best of those that a contradiction rules out
	foundAt  int    // nodes when the best was found, or the search for it began
	worst    *match // that of another group which a match has to be better than; nil for none

	bout     *bout // in which the events of boutStep begin; nil for any time
	boutStep int

	order []int    // the steps as they are decided
	rest  []uint64 // by place in that order: the steps from it on
}

// match is an assignment with its verdict.
type match struct {
	verdict, unopposed language.Verdict // with and without contradictions
	points             int              // score in 1/100 000
	chosen             []int
	bound              []string
	gathered           [][]int32 // events by step
	against            []opposed
	absent             uint64
	timeOnly           bool // capped because nothing but time ties the events
}

// opposed is a contradiction that applies.
type opposed struct {
	objection *language.Objection
	event     int32
}

// found are the events that fit a step, an absence or a contradiction.
type found struct {
	*hits
	set    *language.EventSet
	values []*values // by variable; nil where the set does not bind it
}

func newSearch(r *language.Rule, x *index, limit language.Verdict) *search {
	s := &search{rule: r, index: x, limit: limit, patience: maxBetter, steps: make([]found, len(r.Steps))}
	for i := range r.Steps {
		set := &r.Steps[i].Compiled.Events
		s.steps[i] = found{hits: x.findHits(set), set: set}
	}
	s.per = slices.IndexFunc(r.Compiled.Variables, func(v language.Variable) bool { return v.Name == r.Per })
	return s
}

// lookUpEvents looks up what the search needs besides the events of the steps.
func (s *search) lookUpEvents() {
	for i := range s.steps {
		s.readValues(&s.steps[i])
	}
	for i := range s.rule.Absent {
		s.absent = append(s.absent, s.findSet(&s.rule.Absent[i].Compiled.Events))
	}
	for i := range s.rule.RulesOut {
		s.objections = append(s.objections, s.findSet(&s.rule.RulesOut[i].Compiled.Events))
	}
	s.plain = make([]alikeness, len(s.steps))
	s.chosen = slices.Repeat([]int{none}, len(s.steps))
	s.joined = make([]uint64, len(s.steps))
	confirmed := s.rule.Verdict.Compiled[language.Confirmed]
	for a := range s.steps {
		if confirmed != nil && confirmed.Holds(addAbsences(1<<a)) {
			s.alone |= 1 << a
		}
		for b := range a {
			if s.canJoin(a, b) {
				s.joined[a] |= 1 << b
				s.joined[b] |= 1 << a
			}
		}
	}
}

// canJoin says whether events of two steps may name one thing, whichever are chosen.
func (s *search) canJoin(a, b int) bool {
	av, bv := s.steps[a].values, s.steps[b].values
	for v := range av {
		if s.rule.Compiled.Variables[v].Quality > language.ByTime && av[v] != nil && bv[v] != nil && len(av[v].keys) > 0 && len(bv[v].keys) > 0 {
			return true
		}
	}
	return false
}

func (s *search) findSet(set *language.EventSet) found {
	f := found{hits: s.index.findHits(set), set: set}
	s.readValues(&f)
	return f
}

// readValues looks up what the events say about each variable.
func (s *search) readValues(f *found) {
	f.values = make([]*values, len(s.rule.Compiled.Variables))
	for v := range f.values {
		f.values[v] = s.index.findValues(f.set, f.hits, v)
	}
}

// readValue returns what a hit says about a variable; empty for nothing.
func (s *search) readValue(f *found, i, variable int) string {
	if v := f.values[variable]; v != nil {
		return s.index.texts[v.of[i]]
	}
	return ""
}

// addAbsences are the steps of a set, and every absence: it may yet be proven.
func addAbsences(steps uint64) uint64 { return steps | ^uint64(1<<language.MaxSteps-1) }

// findValueKey returns the same number for all values that may agree.
func (s *search) findValueKey(variable int, value string) int32 {
	if s.rule.Compiled.Variables[variable].Prefix && len(value) >= minPrefix {
		return s.index.cuts[cutText(value)]
	}
	return s.index.ids[value]
}

// joinValues joins two values of a variable into the one that says more.
func joinValues(v *language.Variable, a, b string) (string, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	same := a == b || b == "" || v.Prefix && len(b) >= minPrefix && strings.HasPrefix(a, b) && isHex(a)
	return a, same
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// alikeness says whether the like candidates of a step can stand for each other.
type alikeness uint8

const (
	unasked alikeness = iota
	alike
	unlike
)

// isPlain tells the steps of which two candidates with the same values and
// the same qualities of edges are as good as each other: nothing that is
// decided later looks at their time, and no other step could want them.
func (s *search) isPlain(step int) bool {
	if s.plain[step] == unasked {
		s.plain[step] = unlike
		if !s.isAnchor(step) && !s.isContested(step) && !slices.ContainsFunc(s.rule.Compiled.Ties, func(e language.Tie) bool {
			other, ok := e.FindOther(step)
			return ok && s.rule.Steps[other].Min > 1
		}) {
			s.plain[step] = alike
		}
	}
	return s.plain[step] == alike
}

// isContested says whether an event that fits a step fits another one, too.
func (s *search) isContested(step int) bool {
	for other := range s.steps {
		if other != step && shareEvent(s.steps[step].events, s.steps[other].events) {
			return true
		}
	}
	return false
}

// shareEvent compares two ordered lists.
func shareEvent(a, b []int32) bool {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			return true
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return false
}

// isAnchor says whether an absence or a contradiction asks for the time of a step.
func (s *search) isAnchor(step int) bool {
	return slices.ContainsFunc(s.rule.Absent, func(a language.Absence) bool { return a.Compiled.Anchor == step }) ||
		slices.ContainsFunc(s.rule.RulesOut, func(o language.Objection) bool { return o.Compiled.Anchor == step })
}

// findMatches returns the best match of each group, groups in the order of their
// values, without those below possible.
func (s *search) findMatches() []*match {
	groups := s.listGroups()
	if len(groups) == 0 {
		return nil // most rules of a catalogue on most bundles
	}
	s.lookUpEvents()
	var found []*match
	for _, g := range groups {
		s.group, s.within, s.own = g.value, g.steps, g.own
		s.best, s.foundAt, s.enough = nil, s.nodes, map[string]bool{}
		s.bound = make([]string, len(s.rule.Compiled.Variables))
		if g.value != "" {
			s.bound[s.per] = g.value
		}
		s.orderSteps()
		s.placeSteps(0, s.newOutlook())
		if s.best != nil {
			found = append(found, s.best)
			found = append(found, s.findOtherBouts()...)
			s.worst = findWorst(found)
		}
	}
	return found
}

// lowerShared makes likely what is confirmed of several groups by one event that names none of
// them and is tied to each by time alone: a thread that unmounts is of one container, and which of
// ten that is, nothing shows.
func (s *search) lowerShared(found []*match) {
	if s.per == none {
		return
	}
	asked := uint64(0)
	if confirmed := s.rule.Verdict.Compiled[language.Confirmed]; confirmed != nil {
		asked = confirmed.CollectLeaves()
	}
	uses := map[int32]int{}
	listLoose := func(m *match) (loose []int32) {
		s.chosen = m.chosen
		for step, i := range m.chosen {
			if i != none && asked>>step&1 != 0 && m.verdict == language.Confirmed && !s.isJoined(step) {
				loose = append(loose, s.steps[step].events[i])
			}
		}
		return loose
	}
	for _, m := range found {
		for _, ev := range listLoose(m) {
			uses[ev]++
		}
	}
	for _, m := range found {
		if slices.ContainsFunc(listLoose(m), func(ev int32) bool { return uses[ev] > 1 }) {
			m.verdict, m.timeOnly = language.Likely, true
		}
	}
}

// isJoined says whether a chosen step names what another one does.
func (s *search) isJoined(step int) bool {
	for other, i := range s.chosen {
		if i != none && other != step && s.rateJoin(step, other) > language.ByTime {
			return true
		}
	}
	return false
}

// findWorst returns the last of the matches that will be written down; nil where others will, too.
func findWorst(found []*match) *match {
	if len(found) < maxMatches {
		return nil
	}
	slices.SortStableFunc(found, compareMatches)
	return found[maxMatches-1]
}

// compareMatches orders matches: the surer first, then the higher score.
func compareMatches(a, b *match) int {
	return cmp.Or(cmp.Compare(b.verdict, a.verdict), cmp.Compare(b.points, a.points))
}

// group is one value of the grouping bind; empty for matches that bind none.
type group struct {
	value string
	steps uint64 // those that can take part in a match of it
	own   uint64 // those of them with events of it
}

// listGroups returns those for whose steps a verdict is left, by value, and last the empty one.
// In a bundle of thousands of containers most have no match to hope for, which
// takes a look at what each step's hits are about, and not at the hits.
func (s *search) listGroups() []group {
	var any, free uint64 // steps with hits; with hits of no group
	for step := range s.steps {
		if len(s.steps[step].events) > 0 {
			any |= 1 << step
		}
	}
	if s.findVerdict(addAbsences(any)) < language.Possible {
		return nil
	}
	if s.per == none {
		return []group{{steps: any}}
	}
	keys := make([][]int32, len(s.steps))
	for step := range s.steps {
		f := &s.steps[step]
		v := s.index.findValues(f.set, f.hits, s.per)
		if any&(1<<step) != 0 && (v == nil || v.free) {
			free |= 1 << step
		}
		if v != nil {
			keys[step] = v.keys
		}
	}
	marks := s.index.growMarks()
	var touched []int32
	for step := range keys {
		for _, key := range keys[step] {
			if marks[key] == 0 {
				touched = append(touched, key)
			}
			marks[key] |= 1 << step
		}
	}
	groups := s.listHopefulGroups(touched, free)
	for _, key := range touched {
		marks[key] = 0
	}
	if s.findVerdict(addAbsences(free)) >= language.Possible {
		groups = append(groups, group{value: "", steps: free})
	}
	return groups
}

// listHopefulGroups returns the groups of the keys that are marked with their steps, of
// cut ids the longest form.
func (s *search) listHopefulGroups(keys []int32, free uint64) []group {
	joinable := map[uint64]uint64{} // by marked steps; containers lead few kinds of lives
	var groups []group
	for _, key := range keys {
		own := s.index.marks[key]
		steps, known := joinable[own]
		if !known {
			if steps = s.listJoinable(own, free); s.findVerdict(addAbsences(steps)) < language.Possible {
				steps = 0
			}
			joinable[own] = steps
		}
		if steps == 0 {
			continue
		}
		for _, value := range s.listForms(key) {
			groups = append(groups, group{value, steps, own})
		}
	}
	slices.SortFunc(groups, func(a, b group) int { return strings.Compare(a.value, b.value) })
	return s.dropIdle(groups)
}

// dropIdle leaves out the groups of whose own steps no verdict asks for any, where they are many:
// what happens beside each of many containers says nothing about one of them.
func (s *search) dropIdle(groups []group) []group {
	var asked uint64
	for _, e := range s.rule.Verdict.Compiled {
		if e != nil {
			asked |= e.CollectLeaves()
		}
	}
	isIdle := func(g group) bool { return g.own&asked == 0 }
	busy := slices.DeleteFunc(slices.Clone(groups), isIdle)
	if len(groups)-len(busy) > maxFindings {
		return busy
	}
	return groups
}

// listForms returns the values of the grouping bind that share a key, without those
// of which there is a longer form.
func (s *search) listForms(key int32) []string {
	x := s.index
	distinct := map[string]bool{}
	for step := range s.steps {
		f := &s.steps[step]
		if v := x.findValues(f.set, f.hits, s.per); v != nil {
			for _, i := range x.listByKey(v)[key] {
				distinct[x.texts[v.of[i]]] = true
			}
		}
	}
	values := slices.Sorted(maps.Keys(distinct))
	variable := &s.rule.Compiled.Variables[s.per]
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool {
		i, _ := slices.BinarySearch(values, v) // a cut id sorts right before its longer forms
		if i+1 == len(values) {
			return false
		}
		longer, same := joinValues(variable, v, values[i+1])
		return same && longer == values[i+1]
	})
}

// listJoinable returns the steps that have hits of a group, or none of any, and hang
// together with one of the group's own.
func (s *search) listJoinable(own, free uint64) uint64 {
	fitting := own | free
	for grown := uint64(0); grown != own; {
		grown = own
		for rest := own; rest != 0; rest &= rest - 1 {
			own |= s.rule.Compiled.Related[bits.TrailingZeros64(rest)] & fitting
		}
	}
	return own
}

func (s *search) isSpent() bool { return s.nodes >= maxNodes }

// placeSteps decides the steps from this place of their order on.
func (s *search) placeSteps(at int, o *outlook) {
	open := o.open & s.rest[at]
	if s.isSpent() || !s.canName(open) || !s.canConnect(open) || !s.canWin(at, open, o) {
		return
	}
	if at > 0 && s.refineOutlook(s.order[at-1], open, o) && !s.canWin(at, open, o) {
		return
	}
	if at == len(s.order) {
		s.rateAssignment()
		return
	}
	step := s.order[at]
	if open&(1<<step) == 0 {
		s.placeSteps(at+1, o)
		return
	}
	candidates := s.listFitting(step)
	var tried map[string]bool
	if len(candidates) > 1 && s.arePartnersDecided(step, o) && s.isPlain(step) {
		tried = map[string]bool{}
	}
	for _, i := range candidates {
		if tried != nil {
			like := s.writeLikeness(step, int(i))
			if tried[like] {
				continue
			}
			tried[like] = true
		}
		undo := s.chooseEvent(step, int(i))
		if s.canGather(step) {
			s.placeSteps(at+1, s.lookAhead(step, o))
		}
		s.restoreStep(step, undo)
	}
	s.placeSteps(at+1, o)
}

// listFitting returns the candidates of a step that are consistent with what is chosen; none where
// they are fewer than the step has to gather.
func (s *search) listFitting(step int) []int32 {
	s.room = s.room[:0]
	near := s.listNear(step)
	for i, ok := near.takeNext(); ok; i, ok = near.takeNext() {
		if !s.isForeign(step, int(i)) && s.fitsChosen(step, int(i)) && !s.isOutside(step, int(i)) {
			s.room = append(s.room, i)
		}
	}
	if len(s.room) < s.rule.Steps[step].Min {
		return nil
	}
	return slices.Clone(s.room)
}

// isOutside says that an event of the step that the bout is of begins outside of it.
func (s *search) isOutside(step, i int) bool {
	return s.bout != nil && step == s.boutStep && !s.bout.has(&s.index.spans[s.steps[step].events[i]])
}

// canGather says whether as many events agree with what is bound as the step has to gather. What is
// bound later can only leave fewer.
func (s *search) canGather(step int) bool {
	least := s.rule.Steps[step].Min
	if least <= 1 {
		return true
	}
	agreeing := s.listAgreeing(&s.steps[step])
	return len(agreeing[0])+len(agreeing[1]) >= least
}

// chooseEvent puts a candidate in a step's place and returns what was bound before.
func (s *search) chooseEvent(step, i int) []string {
	before := s.bound
	s.bound = slices.Clone(s.bound)
	for v := range s.bound {
		s.bound[v], _ = joinValues(&s.rule.Compiled.Variables[v], s.bound[v], s.readValue(&s.steps[step], i, v))
	}
	s.chosen[step] = i
	return before
}

func (s *search) restoreStep(step int, bound []string) {
	s.chosen[step] = none
	s.bound = bound
}

// listAgreeing returns the hits of a set that may agree with what is bound, by the bind that leaves
// the fewest: those with the bound value, then those without any.
func (s *search) listAgreeing(f *found) [2][]int32 {
	fewest := [2][]int32{nil, f.every}
	for v, value := range s.bound {
		if value == "" || f.values[v] == nil {
			continue
		}
		lists := s.index.listByKey(f.values[v])
		keyed, free := lists[s.findValueKey(v, value)], lists[0]
		if len(keyed)+len(free) < len(fewest[0])+len(fewest[1]) {
			fewest = [2][]int32{keyed, free}
		}
	}
	return fewest
}

// isForeign says whether a candidate belongs to a group while the search is for matches of no
// group.
func (s *search) isForeign(step, i int) bool {
	return s.per != none && s.group == "" && s.readValue(&s.steps[step], i, s.per) != ""
}

// fitsChosen says whether a candidate is consistent with all other steps chosen.
func (s *search) fitsChosen(step, i int) bool {
	s.nodes++
	f := &s.steps[step]
	if !s.agreesWithBound(f, i) {
		return false
	}
	for other, j := range s.chosen {
		if j != none && other != step && s.steps[other].events[j] == f.events[i] {
			return false
		}
	}
	if !s.isOfTheirMachine(f.events[i]) {
		return false
	}
	for e := range s.rule.Compiled.Ties {
		edge := &s.rule.Compiled.Ties[e]
		if other, ok := edge.FindOther(step); ok && s.chosen[other] != none && s.orderEdge(edge, step, i) == impossible {
			return false
		}
	}
	return true
}

// isOfTheirMachine says whether nothing shows that an event is of another machine than the chosen
// ones.
func (s *search) isOfTheirMachine(ev int32) bool {
	if !s.index.severalHosts {
		return true
	}
	for step, i := range s.chosen {
		if i != none && !s.index.mayBeOfOneChain(s.steps[step].events[i], ev) {
			return false
		}
	}
	return true
}

// isConnected says whether the chosen steps hang together: two by an edge or a
// shared bind, and so on. What only a missing step would tie is two matches, not one.
func (s *search) isConnected() bool {
	var chosen, reached uint64
	for step, i := range s.chosen {
		if i != none {
			chosen |= 1 << step
		}
	}
	for frontier := chosen & -chosen; frontier != 0; {
		reached |= frontier
		step := bits.TrailingZeros64(frontier)
		frontier = frontier&(frontier-1) | s.rule.Compiled.Edged[step]&chosen&^reached
		for rest := chosen &^ (reached | frontier); rest != 0; rest &= rest - 1 {
			if other := bits.TrailingZeros64(rest); s.rateJoin(step, other) > language.ByTime {
				frontier |= 1 << other
			}
		}
	}
	return reached == chosen
}

// agreesWithBound says whether a hit says nothing else about a variable than is bound.
func (s *search) agreesWithBound(f *found, i int) bool {
	for v, values := range f.values {
		if values == nil {
			continue
		}
		if _, ok := joinValues(&s.rule.Compiled.Variables[v], s.bound[v], s.index.texts[values.of[i]]); !ok {
			return false
		}
	}
	return true
}

// orderEdge is the order of an edge when the step takes a candidate and its other end is chosen.
func (s *search) orderEdge(edge *language.Tie, step, i int) order {
	from, to := s.chosen[edge.From], s.chosen[edge.To]
	if edge.From == step {
		from = i
	} else {
		to = i
	}
	return orderTied(edge, s.index.spans[s.steps[edge.From].events[from]], s.index.spans[s.steps[edge.To].events[to]])
}

// arePartnersDecided says whether each step to which this one is tied has an event, or can have
// none, also not one of another group.
func (s *search) arePartnersDecided(step int, o *outlook) bool {
	return !slices.ContainsFunc(s.rule.Compiled.Ties, func(e language.Tie) bool {
		other, ok := e.FindOther(step)
		if !ok || s.chosen[other] != none || len(s.steps[other].events) == 0 {
			return false
		}
		return (o.open|^s.within)&(1<<other) != 0
	})
}

// writeLikeness returns the same for candidates that are as good as each other here.
func (s *search) writeLikeness(step, i int) string {
	undo := s.chooseEvent(step, i)
	defer s.restoreStep(step, undo)
	var key []byte
	for _, v := range s.steps[step].values {
		if v != nil {
			key = binary.LittleEndian.AppendUint32(key, uint32(v.of[i]))
		}
	}
	for e := range s.rule.Compiled.Ties {
		edge := &s.rule.Compiled.Ties[e]
		if other, ok := edge.FindOther(step); ok && s.chosen[other] != none {
			key = append(key, byte(s.rateEdge(edge)/10))
		}
	}
	return string(s.appendMachine(key, step, i))
}

// appendMachine adds to a key what tells of which machine a candidate is.
func (s *search) appendMachine(key []byte, step, i int) []byte {
	if !s.index.severalHosts {
		return key
	}
	e := s.index.events[s.steps[step].events[i]]
	return append(append(append(key, e.Host...), 0), e.Pos().File...)
}

// rateJoin is how well the candidates of two chosen steps are tied by what both bind.
func (s *search) rateJoin(a, b int) int {
	best := language.ByTime
	av, bv := s.steps[a].values, s.steps[b].values
	for v := range av {
		if av[v] != nil && bv[v] != nil && av[v].of[s.chosen[a]] != 0 && bv[v].of[s.chosen[b]] != 0 {
			best = max(best, s.rule.Compiled.Variables[v].Quality)
		}
	}
	return best
}

// rateEdge rates an edge between two chosen steps.
func (s *search) rateEdge(e *language.Tie) int {
	switch s.orderEdge(e, e.From, s.chosen[e.From]) {
	case certain:
		return s.rateJoin(e.From, e.To)
	case possible:
		return s.rateJoin(e.From, e.To) * vague / 1000
	}
	return language.ByTime // an event without a time
}

// rateStep rates a chosen step by the weakest edge that leads to it from a
// chosen step. One without any edge to chosen steps is rated by its binds; a
// step alone, or one from which edges only lead away, is 1.
func (s *search) rateStep(step int) int {
	weakest, tied := language.ByID, false
	for i := range s.rule.Compiled.Ties {
		e := &s.rule.Compiled.Ties[i]
		if other, ok := e.FindOther(step); !ok || s.chosen[other] == none {
			continue
		}
		tied = true
		if e.To == step {
			weakest = min(weakest, s.rateEdge(e))
		}
	}
	if tied {
		return weakest
	}
	best, alone := language.ByTime, true
	for other, j := range s.chosen {
		if j != none && other != step {
			alone = false
			best = max(best, s.rateJoin(step, other))
		}
	}
	if alone {
		return language.ByID
	}
	return best
}

// findVerdict returns the highest level whose expression holds, within the rule's limit.
func (s *search) findVerdict(truths uint64) language.Verdict {
	for level := language.Confirmed; level >= language.Possible; level-- {
		if e := s.rule.Verdict.Compiled[level]; e != nil && e.Holds(truths) {
			return min(level, s.limit)
		}
	}
	return language.RuledOut
}
