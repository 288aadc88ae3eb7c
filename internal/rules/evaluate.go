package rules

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/condition"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/rules/template"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Evaluate asks every rule. The result depends on what is on the timeline, not
// on the order in which it is given; the timeline is not changed, and the
// result shares its events and quotes.
func Evaluate(cat *language.Catalog, tl *timeline.Timeline) Result {
	x := newIndex(tl)
	effects := x.findEffects(cat)
	var result Result
	answers := make([]answer, len(cat.Rules))
	for i := range cat.Rules {
		answers[i] = x.askRule(&cat.Rules[i], effects)
	}
	for i := range answers {
		answers[i].nameSoleExplanation(answers)
	}
	for i := range answers {
		a := &answers[i]
		if a.hypothesis != nil {
			result.Hypotheses = append(result.Hypotheses, *a.hypothesis)
		}
		result.Findings = append(result.Findings, a.findings...)
		result.More = append(result.More, a.more...)
		if a.dismissed != nil {
			result.RuledOut = append(result.RuledOut, *a.dismissed)
		}
		if a.unanswered != nil {
			result.NotEvaluable = append(result.NotEvaluable, *a.unanswered)
		}
	}
	slices.SortStableFunc(result.Findings, compareFindings)
	slices.SortStableFunc(result.More, compareFindings)
	slices.SortStableFunc(result.Hypotheses, compareHypotheses)
	result.AskedFacts = x.listWeighed(cat)
	result.Exposed, result.Forecasts = x.listExposures(cat, result.Findings), x.listForecasts(cat)
	return result
}

// compareFindings orders findings: the surer first, then the higher score, then the earlier.
func compareFindings(a, b Finding) int {
	return cmp.Or(cmp.Compare(b.Verdict, a.Verdict), cmp.Compare(b.Score, a.Score),
		a.Start.Compare(b.Start), cmp.Compare(a.Rule, b.Rule), slices.Compare(a.bound, b.bound))
}

// compareHypotheses orders hypotheses: the surer first, then those for which more speaks.
func compareHypotheses(a, b Hypothesis) int {
	return cmp.Or(cmp.Compare(b.Verdict, a.Verdict), cmp.Compare(len(b.For), len(a.For)), cmp.Compare(a.Rule, b.Rule))
}

// answer is what one rule says: findings, or else one of the other two. Hypothesis is nil where
// nothing speaks for the rule.
type answer struct {
	findings   []Finding
	more       []Finding
	hypothesis *Hypothesis
	dismissed  *Dismissed
	unanswered *Unanswered

	search   *search
	weighing *weighing
	missing  []Missing
}

// maxFindings bounds the findings of one rule: what hits forty containers at once has one cause.
const maxFindings = 16

// maxMatches bounds the matches of one rule that are written down: the findings, and what only says
// that an episode of a node that flaps has the same cause.
const maxMatches = 256

// maxEvidence bounds the quotes of one step.
const maxEvidence = 64

func (x *index) askRule(r *language.Rule, effects []effectSpans) answer {
	limit, notes, dismissed := x.checkVersions(r)
	if dismissed != nil {
		return answer{dismissed: dismissed}
	}
	missing := x.listMissing(r)
	s := newSearch(r, x, limit)
	found := s.findMatches()
	s.lowerShared(found)
	w := s.weighRule(effects)
	w.fillEffects(x, effects)
	var a answer
	switch {
	case len(found) > 0:
		all := s.writeFindings(found, missing, notes)
		s.raiseFindings(all, found, s.splitByBout(w, effects))
		a.findings, a.more = all[:min(len(all), maxFindings)], all[min(len(all), maxFindings):]
	case s.rejected == nil && w.verdict >= language.Possible:
		for _, part := range s.splitByBout(w, effects) {
			a.findings = append(a.findings, s.writeTellFinding(part, missing))
		}
	default:
		a = s.explainNoMatch(missing, w)
	}
	a.search, a.weighing, a.missing = s, w, missing
	a.writeHypothesis()
	return a
}

func (a *answer) writeHypothesis() {
	if h, ok := a.search.writeHypothesis(a.weighing, a.findings, a.missing); ok {
		a.hypothesis = &h
	}
}

// writeFindings writes down the best matches of the chain.
func (s *search) writeFindings(found []*match, missing []Missing, notes []string) []Finding {
	slices.SortStableFunc(found, compareMatches)
	var all []Finding
	for _, m := range found[:min(len(found), maxMatches)] {
		f := s.writeFinding(m, missing)
		if f.Verdict == s.limit {
			f.Notes = append(f.Notes, notes...)
		}
		if s.isSpent() {
			f.Notes = append(f.Notes, fmt.Sprintf("the search stopped after %d tries: there may be a better match", maxNodes))
		}
		all = append(all, f)
	}
	if len(all) > maxFindings {
		last := &all[maxFindings-1]
		last.Notes = append(last.Notes, fmt.Sprintf("only the best %d of this rule are shown", maxFindings))
	}
	return all
}

// checkVersions returns the highest verdict that the known versions allow. A
// version outside the affected ones dismisses the rule.
func (x *index) checkVersions(r *language.Rule) (limit language.Verdict, notes []string, dismissed *Dismissed) {
	limit = language.Confirmed
	for i := range r.Versions {
		v := &r.Versions[i]
		fact := x.timeline.Facts[v.Fact]
		in, known := v.Compiled.Contains(fact.Value)
		switch {
		case !known:
			limit = language.Likely
			notes = append(notes,
				fmt.Sprintf("%s is unknown (affected: %s): without it this cause is very probable, and not proven", v.Fact, v.Affected))
		case !in:
			why := fmt.Sprintf("%s %s is not affected (%s is)", v.Fact, event.OneLine(fact.Value), v.Affected)
			return language.RuledOut, nil, &Dismissed{r.ID, why, fact.Evidence}
		}
	}
	return limit, notes, nil
}

// listMissing returns the needs of which the bundle has no source.
func (x *index) listMissing(r *language.Rule) []Missing {
	var all []Missing
	for _, need := range r.Needs {
		if !slices.ContainsFunc(need.Any, x.covers) {
			all = append(all, Missing{strings.Join(need.Any, " or "), need.Collect, need.Note})
		}
	}
	return all
}

func joinSources(missing []Missing) string {
	sources := make([]string, len(missing))
	for i := range missing {
		sources[i] = missing[i].Source
	}
	return strings.Join(sources, ", no ")
}

// explainNoMatch says why nothing was found. Only what speaks against a rule rules it out: a
// contradiction, or that nothing of it is to be seen in sources that would show it.
func (s *search) explainNoMatch(missing []Missing, w *weighing) answer {
	r := s.rule
	switch {
	case s.rejected == nil && w.verdict == language.RuledOut:
		o := w.against[0]
		return answer{dismissed: &Dismissed{r.ID, o.objection.Why, s.index.events[o.event].Evidence}}
	case s.rejected != nil:
		d := &Dismissed{Rule: r.ID}
		var whys []string
		for _, o := range s.rejected.against {
			whys = append(whys, o.objection.Why)
			d.Evidence = append(d.Evidence, s.index.events[o.event].Evidence...)
		}
		d.Why = strings.Join(whys, "; ")
		return answer{dismissed: d}
	case s.isSpent():
		return answer{unanswered: &Unanswered{r.ID, fmt.Sprintf("the search stopped after %d tries", maxNodes), missing}}
	case len(missing) == len(r.Needs) && len(missing) > 0:
		return answer{unanswered: &Unanswered{r.ID, "no " + joinSources(missing), missing}}
	case len(missing) > 0:
		return answer{unanswered: &Unanswered{r.ID, "no " + joinSources(missing) + "; " + s.describeNotSeen(), missing}}
	case w.verdict == language.Weighed || s.seesStep():
		return answer{unanswered: &Unanswered{r.ID, s.describeNotSeen(), nil}}
	case !s.index.showAbsence(r.Needs):
		return answer{unanswered: &Unanswered{r.ID, "too few lines to show that it was not so; " + s.describeNotSeen(), nil}}
	}
	return answer{dismissed: &Dismissed{Rule: r.ID, Why: s.describeNotSeen()}}
}

// seesStep says whether an event fits a step of the rule.
func (s *search) seesStep() bool {
	return slices.ContainsFunc(s.steps, func(f found) bool { return len(f.events) > 0 })
}

// showAbsence says whether each need has a source in which absence is evidence.
func (x *index) showAbsence(needs []language.Need) bool {
	return !slices.ContainsFunc(needs, func(need language.Need) bool {
		return !slices.ContainsFunc(need.Any, func(source string) bool {
			return slices.ContainsFunc(x.timeline.Coverage, func(c timeline.Coverage) bool {
				return isSource(source, &c) && x.isDense(fileSource{c.File, c.Source})
			})
		})
	})
}

// maxDescribed bounds the steps that are named where nothing was found: the first ones are the
// causes. The others are counted.
const maxDescribed = 2

// describeNotSeen says what was looked for in vain, and where, in the words of the steps: "not seen
// in containerd.log: umount2 takes …; StopContainer ends; and 2 more steps".
func (s *search) describeNotSeen() string {
	var steps, read []string
	others := 0
	for i := range s.steps {
		words := s.rule.Steps[i].Describe()
		switch {
		case len(s.steps[i].events) > 0:
		case len(steps) < maxDescribed && words != "":
			steps = append(steps, words)
		default:
			others++
		}
	}
	for _, need := range s.rule.Needs {
		for _, source := range need.Any {
			if s.index.covers(source) && !slices.Contains(read, source) {
				read = append(read, source)
			}
		}
	}
	where := " in " + strings.Join(read, ", ")
	switch {
	case len(steps) == 0 && others == 0:
		return "the steps seen" + where + " do not belong together"
	case len(steps) == 0:
		return "none of its other steps is seen" + where
	}
	text := "not seen" + where + ": " + strings.Join(steps, "; ")
	switch {
	case others == 1:
		text += "; and 1 more step"
	case others > 1:
		text += fmt.Sprintf("; and %d more steps", others)
	}
	return text
}

// writeFinding writes a match down.
func (s *search) writeFinding(m *match, missing []Missing) Finding {
	r := s.rule
	s.chosen, s.bound = m.chosen, m.bound
	f := Finding{
		Rule: r.ID, Title: r.Title, Verdict: m.verdict,
		Score: float64(m.points) / fullScore, Formula: s.writeFormula(m), Container: s.findContainer(m),
		References: r.References, Lacks: missing, rule: r, bound: m.bound,
	}
	s.writeChain(&f, m)
	said := s.listSeen(m)
	said.Own = template.OwnStep
	f.Remediation = r.Remediation.Expand(said)
	f.Summary = cmp.Or(r.Compiled.Headline.Expand(said), r.Title)
	if f.Verdict < language.Confirmed {
		f.Missing = missing
	}
	if f.Verdict == language.Likely {
		lacking, complete := listLacking(r, m)
		f.NotSeen, f.StepsSeen, f.TimeOnly = lacking, complete && s.limit == language.Confirmed, m.timeOnly
	}
	for _, o := range m.against {
		f.Contradictions = append(f.Contradictions, Against{o.objection.Why, s.index.events[o.event].Evidence})
	}
	var now []language.Action
	if f.Notes, now = s.writeNotes(m, said); len(now) > 0 {
		f.Remediation.Now = now
	}
	return f
}

// listLacking names the steps that would make a match confirmed, in words: those of the set of
// which the fewest lack. Complete says that nothing lacks. No absence is named.
func listLacking(r *language.Rule, m *match) (lacking []string, complete bool) {
	confirmed := r.Verdict.Compiled[language.Confirmed]
	if confirmed == nil {
		return nil, false
	}
	has := m.absent
	for step, i := range m.chosen {
		if i != none {
			has |= 1 << step
		}
	}
	choices := confirmed.ListChoices()
	if len(choices) == 0 {
		return nil, false
	}
	least := slices.MinFunc(choices, func(a, b uint64) int { return bits.OnesCount64(a&^has) - bits.OnesCount64(b&^has) }) &^ has
	for step := range r.Steps {
		if words := r.Steps[step].Describe(); least>>step&1 != 0 && words != "" {
			lacking = append(lacking, words)
		}
	}
	return lacking, least == 0
}

func (s *search) listSeen(m *match) template.Seen {
	steps := make([][]*event.Event, len(m.gathered))
	for i := range m.gathered {
		for _, ev := range m.gathered[i] {
			steps[i] = append(steps[i], s.index.events[ev])
		}
	}
	return template.Seen{Steps: steps, Bound: m.bound}
}

// writeFormula writes the arithmetic of the score, as it was done.
func (s *search) writeFormula(m *match) string {
	var terms []string
	sum := 0
	for step, i := range m.chosen {
		if i != none {
			weight, quality := s.rule.Steps[step].Weight, s.rateStep(step)
			terms = append(terms, fmt.Sprintf("%s %d×%s", s.rule.Steps[step].ID, weight, writeFactors(quality)))
			sum += weight * quality
		}
	}
	f := "(" + strings.Join(terms, " + ") + ")/100"
	if sum > fullScore {
		f = "min(1, " + f + ")"
	}
	lowered := 0
	for _, o := range m.against {
		if o.objection.Effect == "lowers" {
			f += " − " + formatDecimal(penalty, 100)
			lowered += penalty * 1000
		}
	}
	if min(sum, fullScore) < lowered {
		f = "max(0, " + f + ")"
	}
	return f + " = " + formatDecimal(m.points, fullScore)
}

// writeFactors takes a quality apart: how a step is tied, and what the clocks leave open of its
// order.
func writeFactors(quality int) string {
	for _, join := range []int{language.ByID, language.ByProcess, language.ByTime} {
		if quality == join*vague/1000 {
			return formatDecimal(join, 1000) + "×" + formatDecimal(vague, 1000)
		}
	}
	return formatDecimal(quality, 1000)
}

func formatDecimal(n, unit int) string {
	return strconv.FormatFloat(float64(n)/float64(unit), 'f', -1, 64)
}

// findContainer returns what the match is about: the grouping bind when it holds containers, else
// any that does.
func (s *search) findContainer(m *match) string {
	if s.per != none && s.rule.Compiled.Variables[s.per].Container {
		return m.bound[s.per]
	}
	for i, v := range s.rule.Compiled.Variables {
		if v.Container && m.bound[i] != "" {
			return m.bound[i]
		}
	}
	return ""
}

// writeNotes returns the notes that apply, and what they say to do now instead of what the rule
// says.
func (s *search) writeNotes(m *match, said template.Seen) (notes []string, now []language.Action) {
	for i := range s.rule.Notes {
		n := &s.rule.Notes[i]
		applies := n.When == nil || slices.ContainsFunc(said.Steps[n.When.Compiled.Step], func(e *event.Event) bool {
			return condition.AreMet(e, n.When.Compiled.Conditions)
		})
		if text := n.Compiled.Expand(said); applies && text != "" {
			notes = append(notes, text)
			if n.Now != nil {
				now = append(now, n.Now.Expand(said))
			}
		}
	}
	if m.timeOnly {
		notes = append(notes, "nothing but their times ties the steps together: this cause is very probable, and not proven")
	}
	return notes, now
}

// writeChain writes the steps in the order of roles, then of time, and the interval of them all.
func (s *search) writeChain(f *Finding, m *match) {
	var order []int
	for step, i := range m.chosen {
		if i != none {
			order = append(order, step)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(language.CompareRoles(s.rule.Steps[a].Role, s.rule.Steps[b].Role),
			cmp.Compare(s.earliestStart(m.gathered[a]), s.earliestStart(m.gathered[b])))
	})
	said, causes := s.listSeen(m), false
	for n, step := range order {
		said.Own = step
		written := s.writeStep(step, said)
		written.Observed = !s.isInferred(step, said.Steps[step][0]) && s.isObserved(step, order[:n])
		written.Apart = !written.Observed && s.isApart(step, order[:n])
		f.Chain = append(f.Chain, written)
		f.Open = f.Open || written.AtLeast || written.isLasting()
		f.Start, f.End = widenInterval(f.Start, f.End, written.Start, lastMoment(written))
		if causes = causes || isCausing(written.Role); isCausing(written.Role) {
			f.Cause.Start, f.Cause.End = widenInterval(f.Cause.Start, f.Cause.End, written.Start, lastMoment(written))
		}
	}
	if !causes {
		f.Cause = timeline.Window{Start: f.Start, End: f.End}
	}
}

func isCausing(role string) bool { return role == "cause" || role == "mechanism" }

// earliestStart returns the start of the first of some events; one without a time comes last.
func (s *search) earliestStart(events []int32) int64 {
	first := ever
	for _, ev := range events {
		if e := s.index.events[ev]; s.index.spans[ev].dated {
			first = min(first, unixNanoseconds(e.Start.T))
		}
	}
	return first
}

// lastMoment returns the end of a step, or its only moment.
func lastMoment(s Step) time.Time {
	if s.End.IsZero() {
		return s.Start
	}
	return s.End
}

// widenInterval widens an interval; zero times are none.
func widenInterval(start, end, from, to time.Time) (time.Time, time.Time) {
	if from.IsZero() {
		return start, end
	}
	if start.IsZero() || from.Before(start) {
		start = from
	}
	if to.After(end) {
		end = to
	}
	return start, end
}

// writeStep writes one step: times from the first to the last of its events.
func (s *search) writeStep(step int, said template.Seen) Step {
	r := &s.rule.Steps[step]
	out := Step{ID: r.ID, Rule: s.rule.ID, Role: r.Role, Text: r.Compiled.Text.Expand(said), Events: said.Steps[step]}
	out.addEvents(out.Events)
	return out
}

// addEvents gives a step the times and the quotes of its events.
func (out *Step) addEvents(events []*event.Event) {
	quoted := map[event.Quote]bool{}
	for _, e := range events {
		if newSpan(e).dated {
			out.Start, out.End = widenInterval(out.Start, out.End, e.Start.T, e.Last().T)
			out.AtLeast = out.AtLeast || e.AtLeast()
			if e.Start.T.Equal(out.Start) {
				out.AtMost = e.HasVagueStart()
			}
			out.Basis = cmp.Or(out.Basis, e.Basis)
		}
		for _, q := range e.Evidence {
			if !quoted[q] && len(out.Evidence) < maxEvidence {
				quoted[q] = true
				out.Evidence = append(out.Evidence, q)
			}
		}
	}
	out.Duration = out.End.Sub(out.Start)
	if out.Duration == 0 {
		out.End = time.Time{}
	}
}

// isLasting says that one of its events is a state that was found without a time, and goes on, or a
// process of a listing that has none.
func (out *Step) isLasting() bool {
	return slices.ContainsFunc(out.Events, func(e *event.Event) bool {
		return (e.Open || e.Kind == event.KindProcess) && e.Start.IsZero() && e.End.IsZero()
	})
}

func (s *search) isInferred(step int, e *event.Event) bool {
	if c := s.rule.Steps[step].Certainty; c != "" {
		return c == "inferred"
	}
	c, _ := e.Get(event.FieldCertainty)
	return c.Text() == "inferred"
}

// isObserved says whether a step is tied to one before it in the chain by an id
// and a certain order. The first of a chain needs no tie.
func (s *search) isObserved(step int, before []int) bool {
	return len(before) == 0 || slices.ContainsFunc(s.rule.Compiled.Ties[:s.rule.Compiled.FromEdge], func(e language.Tie) bool {
		other, ok := e.FindOther(step)
		return ok && slices.Contains(before, other) && s.rateJoin(step, other) > language.ByTime &&
			s.orderEdge(&e, e.From, s.chosen[e.From]) == certain
	})
}

// isApart says that no step before this one in the chain leads to it by its role, an
// edge or an id.
func (s *search) isApart(step int, before []int) bool {
	if n := len(before); n == 0 || s.rule.Steps[before[n-1]].Role != s.rule.Steps[step].Role {
		return false
	}
	return !slices.ContainsFunc(before, func(other int) bool {
		return s.rateJoin(step, other) > language.ByTime ||
			slices.ContainsFunc(s.rule.Compiled.Ties[:s.rule.Compiled.FromEdge], func(e language.Tie) bool {
				return e.From == other && e.To == step
			})
	})
}
