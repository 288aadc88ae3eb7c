package rules

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/condition"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/rules/template"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// The ladder of evidence. A short input rarely holds the whole chain of a rule. What it holds may
// still show the mechanism: a tell and an effect make it likely, a tell alone possible, and what
// fits other mechanisms too is weighed.

// weighing is what speaks for and against a rule, besides its chain.
type weighing struct {
	tells, supports []sign // those that were seen
	// effects are what goes with the tells in time, in the order of effects.yaml.
	effects []sign
	against []opposed
	verdict language.Verdict // NotEvaluable where nothing was seen
	bout    bout             // of the tells; any time where they are not split
}

// sign is a tell, a support or an effect that was seen.
type sign struct {
	rule   *language.TellRule
	events []int32 // in order
	// stray says that a dense source shows the tell far from every effect.
	stray  bool
	effect bool
}

// effectSlack is how far apart a tell and its effect may lie: a call waits for two minutes, and is
// tried again.
const effectSlack = 5 * time.Minute

// weighRule asks for the tells and supports of the rule of a search.
func (s *search) weighRule(effects []effectSpans) *weighing {
	w := &weighing{bout: anyTime}
	var tells []sign
	for i := range s.rule.Tells {
		t := &s.rule.Tells[i]
		stands := func(e effectSpans) bool { return e.rule.ID == t.Unless }
		if found, ok := s.findSign(t); ok && !slices.ContainsFunc(effects, stands) {
			tells = append(tells, found)
		}
	}
	tells, w.against = s.dropOpposed(tells)
	for _, t := range tells {
		w.addTell(s, t, effects)
	}
	for i := range s.rule.Supports {
		if found, ok := s.findSign(&s.rule.Supports[i]); ok {
			w.supports = append(w.supports, found)
		}
	}
	signs := w.tells
	if len(signs) == 0 {
		signs = w.supports
	}
	w.against = append(w.against, s.listAgainstTells(signs)...)
	w.climb(s.index, s.limit)
	return w
}

// findSign returns the events that fit a tell, if they are enough.
func (s *search) findSign(t *language.TellRule) (sign, bool) {
	return s.index.takeSign(t, s.index.findHits(&t.Compiled.Events).events)
}

// takeSign returns those of some events of a tell that make a sign, if they are enough.
func (x *index) takeSign(t *language.TellRule, events []int32) (sign, bool) {
	if len(events) >= t.Min && t.Min > 1 {
		events = x.listRows(t, events)
	}
	enough := len(events) >= t.Min && x.spanAtLeast(events, t.Compiled.Lasts) && x.differIn(t, events)
	return sign{rule: t, events: events}, enough
}

// differIn says whether the events of a tell have as many values of its field Differ as it takes
// events.
func (x *index) differIn(t *language.TellRule, events []int32) bool {
	if t.Differ == "" {
		return true
	}
	seen := map[string]bool{}
	for _, ev := range events {
		if value := x.events[ev].FieldText(event.Key(t.Differ)); value != "" {
			seen[value] = true
		}
	}
	return len(seen) >= t.Min
}

// spanAtLeast says whether some events, in their order, go on for a time. Those without a time do
// not show it.
func (x *index) spanAtLeast(events []int32, least time.Duration) bool {
	if least == 0 || len(events) == 0 {
		return true
	}
	from, to := &x.spans[events[0]], &x.spans[events[len(events)-1]]
	return from.dated && to.dated && to.endHi-from.startLo >= int64(least)
}

// listRows returns those of some events that are enough for a tell: of one machine, with one value
// of a field, and in its time.
func (x *index) listRows(t *language.TellRule, events []int32) []int32 {
	byValue := map[string][]int32{}
	for _, ev := range events {
		value := ""
		if t.Same != "" {
			value = x.events[ev].FieldText(event.Key(t.Same))
		}
		byValue[value] = append(byValue[value], ev)
	}
	var rows [][]int32
	for _, events := range byValue {
		rows = append(rows, x.splitByMachine(events)...)
	}
	var all []int32
	for _, row := range rows {
		if !x.spanAtLeast(row, t.Compiled.Lasts) {
			continue
		}
		from := 0 // of the events that are in a row and not yet listed
		for i := range row {
			first := i + 1 - t.Min
			if first < 0 || !x.liesWithin(row[first], row[i], t.Compiled.Within) {
				continue
			}
			all = append(all, row[max(first, from):i+1]...)
			from = i + 1
		}
	}
	slices.Sort(all)
	return slices.Compact(all) // of no known machine, and in the rows of several
}

// liesWithin says whether two events, in their order, begin within a time of each other. Without
// times nothing speaks against it.
func (x *index) liesWithin(a, b int32, within time.Duration) bool {
	from, to := &x.spans[a], &x.spans[b]
	return !from.dated || !to.dated || from.startLo == never || to.startHi-int64(within) <= from.startLo
}

// addTell adds a tell, without those of its events that are stray, and its effects.
func (w *weighing) addTell(s *search, tell sign, effects []effectSpans) {
	x := s.index
	searched := x.findSearched(tell.events)
	var near, held []int32 // held are those that an effect goes with
	for _, ev := range tell.events {
		goes := w.noteEffectsOf(s, ev, effects)
		if goes {
			held = append(held, ev)
		}
		if goes || !x.isInDenseSource(ev) || searched[x.sourceOf(ev)] {
			near = append(near, ev)
		}
	}
	if agreeing := s.listAgreeingTells(tell.rule, near, held); len(agreeing) >= tell.rule.Min {
		near = agreeing
	}
	if len(near) < tell.rule.Min {
		tell.stray = true
	} else {
		tell.events = near
	}
	w.tells = append(w.tells, tell)
}

// listAgreeingTells returns the events of a tell that are about the same program, or other thing
// that is no container, as those that an effect goes with: the effect makes nothing likely of
// another one. All of them where no effect goes with any.
func (s *search) listAgreeingTells(t *language.TellRule, near, held []int32) []int32 {
	if len(held) == 0 || len(held) == len(near) {
		return near
	}
	f := s.findSet(&t.Compiled.Events)
	valueOf := func(ev int32, v int) string {
		at, _ := slices.BinarySearch(f.events, ev)
		return s.readValue(&f, at, v)
	}
	return slices.DeleteFunc(slices.Clone(near), func(ev int32) bool {
		return !slices.ContainsFunc(held, func(with int32) bool {
			for v := range s.rule.Compiled.Variables {
				a, b := valueOf(ev, v), valueOf(with, v)
				if !s.rule.Compiled.Variables[v].Container && a != "" && b != "" && s.findValueKey(v, a) != s.findValueKey(v, b) {
					return false
				}
			}
			return true
		})
	})
}

// noteEffectsOf notes the effects that go with an event of a tell, and says whether there is one.
func (w *weighing) noteEffectsOf(s *search, ev int32, effects []effectSpans) bool {
	found := false
	for i := range effects {
		if e := &effects[i]; e.rule.CountsFor(s.rule) && e.goesWith(s.index, ev) {
			w.noteEffect(e)
			found = true
		}
	}
	return found
}

// noteEffect notes that something of an effect goes with a tell.
func (w *weighing) noteEffect(e *effectSpans) {
	if !slices.ContainsFunc(w.effects, func(known sign) bool { return known.rule == e.rule }) {
		w.effects = append(w.effects, sign{rule: e.rule, effect: true})
	}
}

// climb finds the verdict that the signs allow, within the limit of the rule.
func (w *weighing) climb(x *index, limit language.Verdict) {
	switch near := w.listNear(); {
	case len(near) > 0:
		w.verdict = language.Possible
		free := slices.DeleteFunc(slices.Clone(near), w.isCapped)
		if len(free) > 0 && (len(w.effects) > 0 || x.haveTwoWriters(free)) {
			w.verdict = language.Likely
		}
		for _, o := range w.against {
			if o.objection.Effect != "lowers" {
				w.verdict = language.RuledOut
				return
			}
			w.verdict = max(w.verdict-1, language.Weighed) // each time: below the first verdict the last would follow
		}
		w.verdict = min(w.verdict, limit)
	case len(w.tells)+len(w.supports) > 0:
		w.verdict = language.Weighed
		if len(w.tells) == 0 && slices.ContainsFunc(w.against, func(o opposed) bool { return o.objection.Effect != "lowers" }) {
			w.verdict = language.RuledOut
		}
	}
}

// isCapped says that a tell proves no more than that its rule is possible, whatever else was seen.
func (w *weighing) isCapped(t sign) bool {
	return t.rule.AtMost == language.Possible.String() && !slices.ContainsFunc(w.effects, func(effect sign) bool {
		return slices.Contains(t.rule.ShownBy, effect.rule.ID)
	})
}

// listNear are the tells that are not stray.
func (w *weighing) listNear() []sign {
	return slices.DeleteFunc(slices.Clone(w.tells), func(t sign) bool { return t.stray })
}

// haveTwoWriters says whether tells are of several sources of one machine: two that say the same
// know it from each other only where one program wrote both.
func (x *index) haveTwoWriters(tells []sign) bool {
	for i, t := range tells {
		first := t.events[0]
		for _, other := range tells[:i] {
			if x.events[first].Source != x.events[other.events[0]].Source && x.areOfOneMachine(first, other.events[0]) {
				return true
			}
		}
	}
	return false
}

// dropOpposed leaves out the events of tells against which a contradiction speaks that has bound
// the same values, and the tells of which too few events are left. Where none is left, all stay,
// with what speaks against them.
func (s *search) dropOpposed(tells []sign) (free []sign, against []opposed) {
	if !slices.ContainsFunc(s.rule.RulesOut, func(o language.Objection) bool { return o.BindsAlways() }) {
		return tells, nil
	}
	for _, t := range tells {
		var left []int32
		hits := s.findSet(&t.rule.Compiled.Events)
		for _, ev := range t.events {
			o, found := s.findContradiction(&hits, ev)
			if !found {
				left = append(left, ev)
			} else if !slices.ContainsFunc(against, func(known opposed) bool { return known.objection == o.objection }) {
				against = append(against, o)
			}
		}
		if rest, ok := s.index.takeSign(t.rule, left); ok {
			free = append(free, rest)
		}
	}
	if len(free) > 0 {
		return free, nil
	}
	return tells, against
}

// findContradiction returns the first contradiction that has bound what an event of a tell binds.
func (s *search) findContradiction(tell *found, ev int32) (opposed, bool) {
	defer func(bound []string) { s.bound = bound }(s.bound)
	s.bound = make([]string, len(s.rule.Compiled.Variables))
	at, _ := slices.BinarySearch(tell.events, ev)
	for v := range s.bound {
		s.bound[v] = s.readValue(tell, at, v)
	}
	for i := range s.rule.RulesOut {
		o := &s.rule.RulesOut[i]
		if !o.BindsAlways() || !s.areAllBound(o.Pattern.Compiled.Bindings) {
			continue
		}
		f := s.findSet(&o.Compiled.Events)
		for _, part := range s.listAgreeing(&f) {
			for _, j := range part {
				if s.agreesWithBound(&f, int(j)) && s.index.mayBeOfOneChain(ev, f.events[j]) &&
					(o.Compiled.Anchor < 0 || s.index.mayLieNear(o, f.events[j], ev)) {
					return opposed{o, f.events[j]}, true
				}
			}
		}
	}
	return opposed{}, false
}

// mayLieNear says whether the event of a contradiction may lie in the time of an event of a tell.
// Without a time nothing speaks against it.
func (x *index) mayLieNear(o *language.Objection, ev, tell int32) bool {
	a, b := x.spans[ev], x.spans[tell]
	return !a.dated || !b.dated || mayLieIn(o, b, a)
}

// listAgainstTells returns the contradictions of the rule that apply to some tells or supports.
// Those that bind have spoken before, one with a time has to lie in that of a tell, and none is of
// another machine than a tell. An event speaks once, however many of them it fits.
func (s *search) listAgainstTells(tells []sign) []opposed {
	var all []opposed
	writers := s.index.listWriters(tells)
	for i := range s.rule.RulesOut {
		o := &s.rule.RulesOut[i]
		if o.BindsAlways() {
			continue
		}
		for _, ev := range s.index.findHits(&o.Compiled.Events).events {
			isElsewhere := func(tell int32) bool { return !s.index.mayBeOfOneChain(tell, ev) }
			if (o.Compiled.Anchor < 0 || s.index.liesInTells(o, tells, ev)) && !slices.ContainsFunc(writers, isElsewhere) {
				if !slices.ContainsFunc(all, func(known opposed) bool { return known.event == ev }) {
					all = append(all, opposed{o, ev})
				}
				break
			}
		}
	}
	return all
}

// liesInTells says whether the event of a contradiction lies in the time of a tell. Lines of one
// writer that have no date at all, as of a ring of the kernel, are taken for one time.
func (x *index) liesInTells(o *language.Objection, tells []sign, ev int32) bool {
	return slices.ContainsFunc(tells, func(t sign) bool {
		events := t.events
		if o.After { // what comes late after the first is no answer to it, however near to the last it is
			events = events[:min(1, len(events))]
		}
		return slices.ContainsFunc(events, func(tell int32) bool {
			if !x.spans[ev].dated && !x.spans[tell].dated && !o.After {
				return x.sourceOf(ev) == x.sourceOf(tell)
			}
			return x.spans[ev].dated && x.spans[tell].dated && x.mayLieNear(o, ev, tell)
		})
	})
}

// isInDenseSource says whether an event was read from what its writer wrote, see [index.isDense].
func (x *index) isInDenseSource(ev int32) bool { return x.isDense(x.sourceOf(ev)) }

func (x *index) sourceOf(ev int32) fileSource {
	return fileSource{x.events[ev].Pos().File, x.events[ev].Source}
}

// findSearched returns the sources of which every other line says what a tell asks for: that is
// what somebody searched a log for, however many lines it has.
func (x *index) findSearched(tell []int32) map[fileSource]bool {
	lines := map[fileSource]int{}
	for _, ev := range tell {
		lines[x.sourceOf(ev)] += x.events[ev].Count()
	}
	searched := map[fileSource]bool{}
	for source, n := range lines {
		searched[source] = 2*n >= x.readLogs()[source].lines
	}
	return searched
}

// logShown sums up the coverages of a log: one of several boots has several.
type logShown struct {
	lines int
	end   int64 // of what is dense
	dense bool
}

// readLogs returns what the logs show. A source that is no log is not among them, or has no lines.
func (x *index) readLogs() map[fileSource]logShown {
	if x.logs == nil {
		x.logs = make(map[fileSource]logShown, len(x.timeline.Coverage))
		for i := range x.timeline.Coverage {
			c := &x.timeline.Coverage[i]
			source := fileSource{c.File, c.Source}
			shown := x.logs[source]
			if shown.lines += c.Lines; c.IsDense() {
				shown.end, shown.dense, x.anyDense = max(shown.end, c.End.UnixNano()), true, true
			}
			x.logs[source] = shown
		}
	}
	return x.logs
}

// isDense says whether a source holds what its writer wrote, and not lines that somebody chose.
// Nothing shows that of what is no log (a dump, a table of kubectl): it is chosen where all logs
// are.
func (x *index) isDense(source fileSource) bool {
	logs := x.readLogs()
	if strings.HasSuffix(source.source, ".log") {
		return logs[source].dense
	}
	return x.anyDense
}

// hasDenseLog says whether one of the logs is dense.
func (x *index) hasDenseLog() bool {
	x.readLogs()
	return x.anyDense
}

// fileSource is a source in one file.
type fileSource struct{ file, source string }

// effectSpans are the events of one effect, made ready to be looked up by their time.
type effectSpans struct {
	rule    *language.TellRule
	all     []int32 // its events, in order
	events  []int32 // by start, those without a time left out; none of an effect that counts by itself
	latest  []int64 // by event: the last moment at which a tell of it, or of one before it, may begin
	undated bool    // one of its events has no time
	about   subjects
}

// findEffects looks up the effects of a catalogue that the timeline shows.
func (x *index) findEffects(cat *language.Catalog) []effectSpans {
	var all []effectSpans
	for i := range cat.Effects {
		e := effectSpans{rule: &cat.Effects[i]}
		stands := func(other effectSpans) bool { return other.rule.ID == e.rule.Unless }
		found, ok := x.takeSign(e.rule, x.findHits(&e.rule.Compiled.Events).events)
		if e.all = found.events; !ok || len(e.all) == 0 || slices.ContainsFunc(all, stands) {
			continue
		}
		if e.rule.Same != "" {
			e.findSubjects(x)
		}
		if e.rule.Own {
			all = append(all, e)
			continue
		}
		for _, ev := range e.all {
			if x.spans[ev].dated {
				e.events = append(e.events, ev)
			} else {
				e.undated = true
			}
		}
		sort.SliceStable(e.events, func(a, b int) bool { return x.spans[e.events[a]].startLo < x.spans[e.events[b]].startLo })
		latest := never
		for _, ev := range e.events {
			latest = max(latest, e.lastBegin(x, ev))
			e.latest = append(e.latest, latest)
		}
		all = append(all, e)
	}
	return all
}

// lastBegin is the last moment at which a tell of an effect may begin.
func (e *effectSpans) lastBegin(x *index, ev int32) int64 {
	return min(x.spans[ev].endLo+int64(effectSlack), saturate(x.spans[ev].startHi, int64(e.rule.Compiled.Begins)))
}

// saturate adds two numbers of nanoseconds, at most to ever.
func saturate(a, b int64) int64 {
	if b > ever-max(a, 0) {
		return ever
	}
	return a + b
}

// recentTime is how long before the end of a log a call of it may have failed that what was
// collected with the log, as the state of a process, explains: one that failed yesterday is over.
const recentTime = time.Hour

// mayGoWithUndated says that what has no time may lie in the time of an event. Only a call, of the
// runtime or the API server, that failed long before the end of a whole log is known to be over.
func (x *index) mayGoWithUndated(ev int32) bool {
	if kind := x.events[ev].Kind; kind != event.KindCRICall && kind != event.KindCRIError && kind != event.KindAPIFailed {
		return true
	}
	log := x.readLogs()[x.sourceOf(ev)]
	return !log.dense || log.end-x.spans[ev].endHi < int64(recentTime)
}

// goesWith says whether the effect lies in the time of an event. Without a time nothing speaks
// against it: the lines of an excerpt belong together, and what was collected shows the end of a
// log.
func (e *effectSpans) goesWith(x *index, ev int32) bool {
	if e.rule.Excerpt && (x.isInDenseSource(ev) || !x.spans[ev].dated && x.hasDenseLog()) {
		return false // what has no time, beside a whole journal, may be of any
	}
	if _, itself := slices.BinarySearch(e.all, ev); itself || e.rule.Own {
		return itself && e.rule.Own // what a tell shows is no second sign of it
	}
	if e.rule.Same != "" && !e.sharesSubject(x, ev) {
		return false
	}
	at := x.spans[ev]
	if !at.dated || e.undated && x.mayGoWithUndated(ev) {
		return slices.ContainsFunc(e.all, func(other int32) bool { return x.areOfOneMachine(ev, other) })
	}
	after := sort.Search(len(e.events), func(i int) bool {
		return x.spans[e.events[i]].startLo > at.endHi+int64(effectSlack)
	})
	for ; after > 0 && e.latest[after-1] >= at.startLo; after-- {
		if other := e.events[after-1]; e.lastBegin(x, other) >= at.startLo && x.areOfOneMachine(ev, other) {
			return true
		}
	}
	return false
}

// youngProcess is how old a process is at most that waits since it was started, as a helper does: a
// daemon was started long before.
const youngProcess = int64(6 * time.Hour)

// spanOfSight is when an event was seen: of a daemon in a list of processes, which is as old as its
// process, when the list was made.
func (x *index) spanOfSight(ev int32) span {
	at := x.spans[ev]
	if x.events[ev].Kind == event.KindProcess && at.endLo-at.startLo > youngProcess {
		at.startLo, at.startHi = at.endLo, at.endHi
	}
	return at
}

// fillEffects gives the effects of a weighing the events that go with its tells.
func (w *weighing) fillEffects(x *index, effects []effectSpans) {
	var own []int32
	whole := span{startLo: ever, endHi: never} // of the tells that have a time
	for _, t := range w.listNear() {
		own = append(own, t.events...)
		for _, ev := range t.events {
			if at := x.spanOfSight(ev); at.dated {
				whole.dated = true
				whole.startLo, whole.endHi = min(whole.startLo, at.startLo), max(whole.endHi, at.endHi)
			}
		}
	}
	slices.Sort(own)
	for i := range w.effects {
		e := &effects[slices.IndexFunc(effects, func(e effectSpans) bool { return e.rule == w.effects[i].rule })]
		isAbout := func(int32) bool { return true }
		if e.rule.Same != "" {
			isAbout = e.aboutTells(x, own)
		}
		for _, ev := range e.all {
			at := x.spans[ev]
			near := !at.dated || !whole.dated ||
				at.startLo <= whole.endHi+int64(effectSlack) && e.lastBegin(x, ev) >= whole.startLo
			if e.rule.Own {
				_, near = slices.BinarySearch(own, ev)
			}
			if near && isAbout(ev) && slices.ContainsFunc(own, func(tell int32) bool { return x.areOfOneMachine(tell, ev) }) {
				w.effects[i].events = append(w.effects[i].events, ev)
			}
		}
	}
}

// writeTellFinding writes down what tells show without a match of the chain.
func (s *search) writeTellFinding(w *weighing, missing []Missing) Finding {
	r := s.rule
	near := w.listNear()
	f := Finding{
		Rule: r.ID, Title: r.Title, Verdict: w.verdict, ByTells: true,
		References: r.References, Lacks: missing, Missing: missing,
		rule: r, bound: make([]string, len(r.Compiled.Variables)),
	}
	f.Score, f.Formula = w.score(near)
	said := template.Seen{Steps: make([][]*event.Event, len(r.Steps)+1), Bound: f.bound, Own: template.OwnStep}
	for _, t := range near {
		s.bindFirst(&t, f.bound)
		if t.rule.Step != "" {
			said.Steps[t.rule.Compiled.Step] = s.listEvents(t.events)
		}
	}
	f.Remediation = r.Remediation.Expand(said)
	f.Container = s.nameContainer(f.bound)
	s.addSigns(&f, w, near)
	f.Summary = cmp.Or(r.Compiled.Headline.Expand(said), s.summarize(&f))
	var now []language.Action
	if f.Notes, now = s.writeNotes(&match{}, said); len(now) > 0 {
		f.Remediation.Now = now
	}
	for _, o := range w.against {
		f.Contradictions = append(f.Contradictions, Against{o.objection.Why, s.index.events[o.event].Evidence})
	}
	return f
}

// summarize says in a sentence what the first tell shows.
func (s *search) summarize(f *Finding) string {
	return strings.TrimRight(f.Title, ". ") + ": " + f.Chain[0].Text
}

// bindFirst binds what the first event of a tell says of the binds that it names.
func (s *search) bindFirst(t *sign, bound []string) {
	first := s.index.events[t.events[0]]
	for i := range t.rule.Compiled.Patterns {
		for _, b := range t.rule.Compiled.Patterns[i].Compiled.Bindings {
			if v, ok := b.Reading.Reader()(first); ok && bound[b.Variable] == "" {
				bound[b.Variable] = v.Text()
			}
		}
	}
}

// nameContainer returns the first container among bound values.
func (s *search) nameContainer(bound []string) string {
	for i, v := range s.rule.Compiled.Variables {
		if v.Container && bound[i] != "" {
			return bound[i]
		}
	}
	return ""
}

func (s *search) listEvents(events []int32) []*event.Event {
	all := make([]*event.Event, len(events))
	for i, ev := range events {
		all[i] = s.index.events[ev]
	}
	return all
}

// addSigns adds tells and effects to the chain of a finding, except those that it shows already.
func (s *search) addSigns(f *Finding, w *weighing, near []sign) {
	shown := map[*event.Event]bool{}
	for _, step := range f.Chain {
		for _, e := range step.Events {
			shown[e] = true
		}
	}
	for _, list := range [][]sign{near, w.effects} {
		for i := range list {
			t := &list[i]
			fresh := slices.DeleteFunc(s.listEvents(t.events), func(e *event.Event) bool { return shown[e] })
			if len(fresh) == 0 {
				continue
			}
			for _, e := range fresh {
				shown[e] = true
			}
			step := s.writeSign(t, fresh)
			f.Chain = append(f.Chain, step)
			f.Open = f.Open || step.AtLeast || step.isLasting()
			f.Start, f.End = widenInterval(f.Start, f.End, step.Start, lastMoment(step))
			if isCausing(step.Role) {
				f.Cause.Start, f.Cause.End = widenInterval(f.Cause.Start, f.Cause.End, step.Start, lastMoment(step))
			}
		}
	}
}

// writeSign writes a tell or an effect as a step of the chain.
func (s *search) writeSign(t *sign, events []*event.Event) Step {
	said := template.Seen{Steps: make([][]*event.Event, len(s.rule.Steps)+1), Bound: make([]string, len(s.rule.Compiled.Variables)), Own: t.rule.Compiled.Step}
	said.Steps[t.rule.Compiled.Step] = events
	out := Step{ID: t.rule.ID, Rule: s.rule.ID, Role: "mechanism", Text: t.rule.Compiled.Text.Expand(said), Events: events}
	if t.effect {
		out.Role = "symptom"
	}
	out.addEvents(events)
	return out
}

// score is what tells and effects are worth, and how that came about.
func (w *weighing) score(near []sign) (float64, string) {
	points := 30
	if w.verdict == language.Likely {
		points = 50
	}
	more := len(near) + len(w.effects) - 1
	points += 5 * min(more, 4)
	var ids []string
	for _, t := range slices.Concat(near, w.effects) {
		ids = append(ids, t.rule.ID)
	}
	return float64(points) / 100, fmt.Sprintf("%s by its tells: %s = %s", w.verdict, strings.Join(ids, ", "), formatDecimal(points, 100))
}

// raiseFinding gives a match of the chain the verdict that tells allow.
func (s *search) raiseFinding(f *Finding, w *weighing) {
	if w.verdict <= f.Verdict || len(f.Contradictions) > 0 {
		return
	}
	near := w.listNear()
	f.Verdict = w.verdict
	_, by := w.score(near)
	f.Formula += "; " + by
	s.addSigns(f, w, near)
}

// nameSoleExplanation makes a rule possible for which several supports speak that no other rule
// explains. What dense logs show of them is noise more often than not.
func (a *answer) nameSoleExplanation(all []answer) {
	w := a.weighing
	if w == nil || len(a.findings) > 0 || a.search.rejected != nil || w.verdict != language.Weighed || a.search.limit < language.Possible || len(w.supports) < 2 || len(w.tells)+len(w.against) > 0 {
		return
	}
	for i := range w.supports {
		first := w.supports[i].events[0]
		if a.search.index.isInDenseSource(first) || isExplainedElsewhere(first, a, all) {
			return
		}
	}
	w.tells, w.supports, w.verdict = w.supports, nil, language.Possible
	a.findings, a.unanswered, a.dismissed = []Finding{a.search.writeTellFinding(w, a.missing)}, nil, nil
	a.writeHypothesis()
}

// isExplainedElsewhere says whether an event also speaks for another rule.
func isExplainedElsewhere(ev int32, own *answer, all []answer) bool {
	for i := range all {
		a := &all[i]
		if a.weighing == nil || a == own {
			continue
		}
		for _, list := range [][]sign{a.weighing.tells, a.weighing.supports} {
			if slices.ContainsFunc(list, func(s sign) bool { _, found := slices.BinarySearch(s.events, ev); return found }) {
				return true
			}
		}
	}
	return false
}

// Reason is something that speaks for a hypothesis.
type Reason struct {
	Text     string
	Evidence []event.Quote
}

// Hypothesis is a rule for which something speaks, whatever its verdict.
type Hypothesis struct {
	Rule, Title string
	Role        language.Role // of the rule
	Verdict     language.Verdict
	For         []Reason
	Against     []Against
	NotSeen     []string  // what an expert would look for and the input does not show, in words
	Undecided   []Missing // what would decide
	Container   string    // empty when it is about none
	Window      timeline.Window
}

// writeHypothesis says what speaks for and against the rule of a search. Ok is false where nothing
// speaks for it.
func (s *search) writeHypothesis(w *weighing, findings []Finding, missing []Missing) (h Hypothesis, ok bool) {
	h = Hypothesis{Rule: s.rule.ID, Title: s.rule.Title, Role: s.rule.Role, Verdict: w.verdict, Undecided: missing, NotSeen: s.listNotSeen(w)}
	for _, o := range w.against {
		h.Against = append(h.Against, Against{o.objection.Why, s.index.events[o.event].Evidence})
	}
	if len(findings) > 0 {
		f := &findings[0]
		h.Verdict, h.Container, h.Against = f.Verdict, f.Container, f.Contradictions
		h.Window = timeline.Window{Start: f.Start, End: f.End}
		for _, step := range f.Chain {
			h.For = append(h.For, Reason{step.Text, step.Evidence})
		}
		if f.Verdict == language.Confirmed {
			h.Undecided = nil
		}
		return h, true
	}
	for _, list := range [][]sign{w.tells, w.supports} {
		for i := range list {
			t := &list[i]
			step := s.writeSign(t, s.listEvents(t.events))
			h.For = append(h.For, Reason{step.Text, step.Evidence})
			h.Window = h.Window.Union(timeline.Window{Start: step.Start, End: lastMoment(step)})
		}
	}
	return h, len(h.For) > 0
}

// maxNotSeen bounds what is named of what was not seen.
const maxNotSeen = 3

// listNotSeen names the tells that were not seen, in words. It leaves out a tell of which some
// events were seen, though too few: they are there. It leaves out one that a listing shows to be
// otherwise, one of collect itself, which nobody looks for, and one that cannot be with what was
// seen. It also leaves out what the line that was seen could have said, and did not.
func (s *search) listNotSeen(w *weighing) []string {
	var all []string
	for i := range s.rule.Tells {
		t := &s.rule.Tells[i]
		seen := slices.ContainsFunc(w.tells, func(other sign) bool {
			return other.rule == t || t.NeverWith != "" && other.rule.ID == t.NeverWith
		}) || len(s.index.findHits(&t.Compiled.Events).events) > 0 || s.index.showsOtherState(t)
		if words := t.Describe(s.rule); !seen && words != "" && !isOfCollect(t) && !s.index.lacksFact(t) && !isAlternative(t, w.tells) && len(all) < maxNotSeen {
			all = append(all, words)
		}
	}
	return all
}

// isAlternative says that all events of a tell are of kinds that tells which were seen have, too.
func isAlternative(t *language.TellRule, seen []sign) bool {
	return !slices.ContainsFunc(t.Compiled.Patterns, func(p language.Pattern) bool {
		return !slices.ContainsFunc(seen, func(s sign) bool {
			return slices.ContainsFunc(s.rule.Compiled.Patterns, func(other language.Pattern) bool { return other.Kind == p.Kind })
		})
	})
}

// isOfCollect says that only collect can meet the tell.
func isOfCollect(t *language.TellRule) bool {
	return !slices.ContainsFunc(t.Compiled.Patterns, func(p language.Pattern) bool {
		return p.Kind != event.KindCollectItem && p.Kind != event.KindCollectRPC
	})
}

// lacksFact says that a tell asks for facts alone, and that the input has none of their names:
// nobody measured it.
func (x *index) lacksFact(t *language.TellRule) bool {
	return !slices.ContainsFunc(t.Compiled.Patterns, func(p language.Pattern) bool {
		if p.Kind != event.KindFact {
			return true
		}
		name := slices.IndexFunc(p.Compiled.Conditions, func(c condition.Condition) bool { return c.Field == string(event.FieldName) })
		return name >= 0 && slices.ContainsFunc(x.kinds[event.KindFact], func(ev int32) bool {
			return condition.AreMet(x.events[ev], p.Compiled.Conditions[name:name+1])
		})
	})
}

// showsOtherState says that a listing has the process of which a tell asks for a state, by its
// number, in another state.
func (x *index) showsOtherState(t *language.TellRule) bool {
	return slices.ContainsFunc(t.Compiled.Patterns, func(p language.Pattern) bool {
		pid := slices.IndexFunc(p.Compiled.Conditions, func(c condition.Condition) bool { return c.Field == string(event.FieldPID) })
		state := slices.IndexFunc(p.Compiled.Conditions, func(c condition.Condition) bool { return c.Field == string(event.FieldState) })
		if pid < 0 || state < 0 {
			return false
		}
		letter, isOne := p.Compiled.Conditions[state].Arg.(string)
		return isOne && slices.ContainsFunc(x.kinds[event.KindProcess], func(ev int32) bool {
			e := x.events[ev]
			listed := e.FieldText(event.FieldState)
			return listed != "" && !strings.HasPrefix(listed, letter) && condition.AreMet(e, p.Compiled.Conditions[pid:pid+1])
		})
	})
}
