package language

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/condition"
	"github.com/plegdiag/plegdiag/internal/rules/spelling"
	"github.com/plegdiag/plegdiag/internal/rules/template"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

// lint checks a rule that is well-formed and yet cannot mean what it says: it
// asks for events that nobody makes, or that cannot be. Without a vocabulary any
// kind, field and source will do. It copes with a rule that has mistakes.
func lint(r *Rule, src *yamlfile.Source, known []event.KindInfo) yamlfile.Problems {
	l := &linter{compiler: compiler{rule: r, src: src}, known: known}
	for i := range r.Steps {
		for j := range r.Steps[i].Compiled.Patterns {
			l.checkPattern(&r.Steps[i].Compiled.Patterns[j], r.Steps[i].placeOf(i, j))
		}
		l.checkShadowed(i)
	}
	for i := range r.Absent {
		l.checkPattern(&r.Absent[i].Pattern, yamlfile.Place{"absent", i})
		l.checkSource(r.Absent[i].Source, "absent", i, "source")
	}
	for i := range r.RulesOut {
		l.checkPattern(&r.RulesOut[i].Pattern, yamlfile.Place{"rules_out", i})
	}
	for i := range r.Tells {
		l.checkTell(&r.Tells[i], yamlfile.Place{"tells", i})
	}
	for i := range r.Supports {
		l.checkTell(&r.Supports[i], yamlfile.Place{"supports", i})
	}
	for i := range r.Needs {
		for j, source := range r.Needs[i].Any {
			l.checkSource(source, "needs", i, "any", j)
		}
	}
	for i := range r.Exposed {
		l.checkContradictions(r.Exposed[i].Compiled, nil, yamlfile.Place{"exposed", i}, "facts")
	}
	for i := range r.Forecast {
		f, at := &r.Forecast[i], yamlfile.Place{"forecast", i}
		l.checkPattern(&f.Pattern, at)
		for key, field := range map[string]string{"value": f.Value, "rate": f.Rate, "limit": f.Compiled.Field} {
			if field != "" {
				l.checkField([]event.Kind{f.Kind}, field, at.In(key)...)
			}
		}
	}
	l.checkVerdicts()
	l.checkTimes()
	l.checkTexts()
	return l.wrong
}

// linter is the compiler's second look.
type linter struct {
	compiler
	known []event.KindInfo
}

// checkPattern checks the conditions of a pattern, its kind, and the fields it matches and binds.
func (l *linter) checkPattern(p *Pattern, at yamlfile.Place) {
	l.checkContradictions(p.Compiled.Conditions, p.Bind, at, "match")
	if p.Kind == "" || l.known == nil {
		return
	}
	info := l.findKind(p.Kind)
	if info == nil {
		kinds := listTexts(l.known, func(k *event.KindInfo) string { return string(k.Kind) })
		l.errorf(at.In("kind"), "unknown kind %q%s", p.Kind, spelling.DidYouMean(string(p.Kind), kinds))
		return
	}
	for i := range p.Compiled.Conditions {
		c := &p.Compiled.Conditions[i]
		written := at.In("match", c.WrittenKey())
		l.checkField([]event.Kind{p.Kind}, c.Field, written...)
		if f := info.Field(event.Key(c.Field)); f != nil {
			if why := condition.WhyNever(f, c); why != "" {
				l.warnf(written, "no %s has such a value of %q: %s", p.Kind, c.Field, why)
			}
		}
	}
	for _, field := range slices.Sorted(maps.Keys(p.Bind)) {
		l.checkField([]event.Kind{p.Kind}, field, at.In("bind", field)...)
	}
}

func (l *linter) findKind(kind event.Kind) *event.KindInfo {
	i := slices.IndexFunc(l.known, func(k event.KindInfo) bool { return k.Kind == kind })
	if i < 0 {
		return nil
	}
	return &l.known[i]
}

// checkField reports a field, or "field|operator", that events of none of the kinds carry.
func (l *linter) checkField(kinds []event.Kind, key string, at ...any) {
	if l.known == nil {
		return
	}
	field, _, _ := strings.Cut(key, "|")
	var names []string
	withdrawn := false
	for _, kind := range kinds {
		info := l.findKind(kind)
		if info == nil || info.Open {
			return // told elsewhere, or anything goes
		}
		for _, key := range info.Keys() {
			names = append(names, string(key))
		}
		withdrawn = withdrawn || slices.Contains(info.Withdrawn, event.Key(field))
	}
	switch {
	case slices.Contains(names, field):
	case withdrawn:
		l.warnf(at, "%s never had a value of %q", joinKinds(kinds), field)
	case event.IsReserved(event.Key(field)):
		l.warnf(at, "%s carries no %s", joinKinds(kinds), field)
	default:
		l.errorf(at, "%s has no field %q%s", joinKinds(kinds), field, spelling.DidYouMean(field, names))
	}
}

// warnf adds a finding that is no mistake yet, so that rules written before it was one still load.
func (l *linter) warnf(at yamlfile.Place, format string, args ...any) {
	p := l.src.Problem(at, format, args...)
	p.Warning = true
	l.wrong = append(l.wrong, p)
}

func joinKinds(kinds []event.Kind) string {
	return strings.Join(listTexts(kinds, func(k *event.Kind) string { return string(*k) }), " or ")
}

// listKinds is every kind that a step takes.
func (r *Rule) listKinds(step int) []event.Kind {
	var kinds []event.Kind
	for _, p := range r.Steps[step].Compiled.Patterns {
		kinds = append(kinds, p.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// sourceNames is how [event.Event.Source] spells inputs.
var sourceNames = regexp.MustCompile(`^([a-z0-9][a-z0-9._-]*\.log|goroutines\.[a-z0-9-]+|strace|samples(\.[a-z]+)?|processes|` +
	`udevcookies|versions|config|node|mounts|units|metrics|kubernetes|packages|collect)$`)

// checkSource reports a source that is spelled like none, and warns of one that nothing is known
// of.
func (l *linter) checkSource(name string, at ...any) {
	pattern, isPath := condition.PathSource(name)
	switch {
	case isPath:
		if err := condition.CheckPath(pattern); err != nil {
			l.errorf(at, "%v", err)
		}
	case l.known == nil || name == "":
	case !sourceNames.MatchString(name):
		l.errorf(at, "%q is no source: logs are COMPONENT.log, dumps goroutines.PROGRAM, "+
			"others as strace, samples, processes, config (docs/rule-language.md)", name)
	case !slices.Contains(event.Sources(), name) && !l.readsLog(name):
		hint := spelling.DidYouMean(name, event.Sources())
		if program, isLog := strings.CutSuffix(name, ".log"); isLog && hint == "" {
			hint = fmt.Sprintf(": no log.line of this rule has component: %s", program)
		}
		l.warnf(at, "unknown source %q%s", name, hint)
	}
}

// readsLog says that a source is the log of a program whose lines the rule takes by their text.
func (l *linter) readsLog(source string) bool {
	asked := func(p *Pattern) bool {
		program, isLog := strings.CutSuffix(source, ".log")
		return isLog && p.Kind == event.KindLogLine && slices.Contains(p.listComponents(), program)
	}
	return slices.ContainsFunc(l.rule.ListPatterns(), asked)
}

// checkTexts checks the fields that texts and notes speak of, and the commands.
func (l *linter) checkTexts() {
	r := l.rule
	for i := range r.Steps {
		l.checkTemplate(r.Steps[i].Compiled.Text, i, "steps", i, "text")
	}
	l.checkTemplate(r.Compiled.Headline, template.OwnStep, "headline")
	for i := range r.Remediation.Now {
		l.checkAction(&r.Remediation.Now[i], yamlfile.Place{"remediation", "now", i})
	}
	for i := range r.Notes {
		l.checkTemplate(r.Notes[i].Compiled, template.OwnStep, "notes", i, "text")
		if now := r.Notes[i].Now; now != nil {
			l.checkAction(now, yamlfile.Place{"notes", i, "now"})
		}
		if when := r.Notes[i].When; when != nil && when.Compiled.Step >= 0 {
			for _, key := range slices.Sorted(maps.Keys(when.Match)) {
				l.checkField(r.listKinds(when.Compiled.Step), key, "notes", i, "when", "match", key)
			}
		}
	}
}

func (l *linter) checkTemplate(t template.Template, own int, at ...any) {
	for _, p := range t.ListPlaceholders() {
		for _, name := range slices.Concat(p.Names[1:], p.Names[:1]) {
			l.checkName(name, own, at...)
		}
	}
}

func (l *linter) checkName(name template.Name, own int, at ...any) {
	step := name.Step
	if step == template.OwnStep {
		step = own
	}
	if name.Field == "" || name.Variable >= 0 || step == template.OwnStep || slices.Contains(momentFields, name.Field) {
		return
	}
	l.checkField(l.rule.listKinds(step), name.Field, at...)
}

// momentFields are what texts may say of an event beside its fields.
var momentFields = []string{"start", "end", "text"}

// minLiteral is the least number of bytes by which log lines are looked for:
// with shorter texts the search over all lines would be slow, and find too much.
const minLiteral = 6

// addLineWatches adds the lines that a log.line pattern asks for to the catalogue's.
func (c *compiler) addLineWatches(p *Pattern, at yamlfile.Place) {
	if p.Kind != event.KindLogLine {
		return
	}
	var literals []string
	for i := range p.Compiled.Conditions {
		found := p.Compiled.Conditions[i].ListLiterals()
		if found != nil && (literals == nil || shortestLength(found) > shortestLength(literals)) {
			literals = found
		}
	}
	if shortestLength(literals) < minLiteral {
		c.errorf(at.In("match"), "a log.line needs text|contains (or text, text|startswith, text|endswith, text|captures, "+
			"text|in, error|contains) with %d plain letters or more in a row: quotes, backslashes, <, >, & "+
			"and letters beyond ASCII may be written differently in a file", minLiteral)
		return
	}
	for _, literal := range literals {
		for _, component := range p.listComponents() {
			c.rule.lines = append(c.rule.lines, event.LineWatch{Component: component, Literal: literal})
		}
	}
}

// listComponents are those whose lines a pattern takes; one empty name for anybody's.
func (p *Pattern) listComponents() []string {
	for i := range p.Compiled.Conditions {
		if c := &p.Compiled.Conditions[i]; c.Field == "component" {
			if named := c.ListNames(); named != nil {
				return named
			}
		}
	}
	return []string{""}
}

func shortestLength(literals []string) int {
	if len(literals) == 0 {
		return 0
	}
	least := math.MaxInt
	for _, s := range literals {
		least = min(least, len(s))
	}
	return least
}

// checkContradictions reports conditions, under a key at a place, that no event can meet together.
func (l *linter) checkContradictions(conditions []condition.Condition, bound map[string]string, at yamlfile.Place, key string) {
	byField := map[string][]*condition.Condition{}
	for i := range conditions {
		byField[conditions[i].Field] = append(byField[conditions[i].Field], &conditions[i])
	}
	for _, field := range slices.Sorted(maps.Keys(byField)) {
		all := byField[field]
		_, binds := bound[field]
		if len(all) > 1 && condition.AreContradictory(all) || binds && slices.ContainsFunc(all, (*condition.Condition).WantsAbsent) {
			l.errorf(at.In(key, all[0].WrittenKey()), "no event meets all that is asked of %q", field)
		}
	}
}

// checkShadowed reports alternatives of a step that never get an event, because one before them
// takes it.
func (l *linter) checkShadowed(i int) {
	s := &l.rule.Steps[i]
	for j := range s.Compiled.Patterns {
		for k := range s.Compiled.Patterns[:j] {
			if s.Compiled.Patterns[k].Kind != "" && s.Compiled.Patterns[k].takesAllOf(&s.Compiled.Patterns[j]) {
				l.errorf(s.placeOf(i, j),
					"this alternative is never reached: alternative %d takes every event that fits it", k+1)
				break
			}
		}
	}
}

// takesAllOf says that a pattern asks for nothing that the other does not ask for, too.
func (p *Pattern) takesAllOf(other *Pattern) bool {
	return p.Kind == other.Kind &&
		!slices.ContainsFunc(p.Compiled.Conditions, func(c condition.Condition) bool {
			return !slices.ContainsFunc(other.Compiled.Conditions, func(d condition.Condition) bool { return c.Key == d.Key })
		}) &&
		!slices.ContainsFunc(p.Compiled.Bindings, func(b Binding) bool {
			same := func(d Binding) bool { return b.Reading == d.Reading && !d.Optional }
			return !b.Optional && !slices.ContainsFunc(other.Compiled.Bindings, same)
		})
}

// checkVerdicts reports a verdict that is never reached because a higher one holds wherever it
// does.
func (l *linter) checkVerdicts() {
	levels := &l.rule.Verdict.Compiled
	for low := Possible; low < Confirmed; low++ {
		for high := low + 1; high <= Confirmed; high++ {
			if levels[low] != nil && levels[high] != nil && levels[low].Implies(levels[high]) {
				l.errorf(yamlfile.Place{"verdict", low.String()}, "%s is never reached: %s holds wherever it does", low, high)
				break
			}
		}
	}
}

// checkTimes reports an edge that cannot hold together with those before it, as
// when one says that a step comes after another and the next that it comes before.
// The ends of the steps are points whose distances have upper bounds; a cycle
// of bounds with a negative sum has no solution.
func (l *linter) checkTimes() {
	const ever = int64(NoLimit)
	n := 2 * len(l.rule.Steps) // starts, then ends
	ends := len(l.rule.Steps)
	most := make([][]int64, n)
	for i := range most {
		most[i] = slices.Repeat([]int64{ever}, n)
		most[i][i] = 0
	}
	clamp := func(d int64) int64 { return max(-ever/4, min(d, ever/4)) } // three of them still fit an int64
	// bound says that point j lies at most so long after point i; it returns false when that cannot
	// be.
	bound := func(i, j int, by int64) bool {
		by = clamp(by)
		if most[j][i] != ever && most[j][i]+by < 0 {
			return false
		}
		for a := range most {
			for b := range most {
				if most[a][i] < ever && most[j][b] < ever {
					most[a][b] = min(most[a][b], clamp(most[a][i]+by+most[j][b]))
				}
			}
		}
		return true
	}
	for s := range ends {
		bound(ends+s, s, 0)
	}
	point := func(step int, end bool) int {
		if end {
			return ends + step
		}
		return step
	}
	for i := range l.rule.Compiled.Ties[:l.rule.Compiled.FromEdge] {
		e, holds := &l.rule.Compiled.Ties[i], true
		if e.From == e.To || e.Min > e.Max {
			continue
		}
		if e.Measured {
			from, to := point(e.From, e.FromEnd), point(e.To, e.ToEnd)
			holds = bound(to, from, -max(int64(e.Min), -ever)) && (e.Max == math.MaxInt64 || bound(from, to, int64(e.Max)))
		}
		if e.Shared {
			holds = holds && bound(ends+e.From, e.To, int64(e.Overlap)) && bound(ends+e.To, e.From, int64(e.Overlap))
		}
		if !holds {
			from, to := l.rule.Steps[e.From].ID, l.rule.Steps[e.To].ID
			l.errorf(yamlfile.Place{"edges", e.Edge}, "no events can lie so: the edges before it say otherwise of %q and %q", from, to)
		}
	}
}
