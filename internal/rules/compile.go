package rules

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/condition"
	"github.com/plegdiag/plegdiag/internal/rules/logic"
	"github.com/plegdiag/plegdiag/internal/rules/spelling"
	"github.com/plegdiag/plegdiag/internal/rules/template"
	"github.com/plegdiag/plegdiag/internal/rules/version"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

// compile checks a decoded rule and prepares it for matching. It goes on after
// a mistake: an id that is nearly one that exists is told and read as that one.
func compile(r *Rule, src *yamlfile.Source) yamlfile.Problems {
	c := &compiler{rule: r, src: src, uses: map[int]int{}}
	c.checkHead()
	c.compileExposures()
	c.compileForecasts()
	c.compileSteps()
	c.compileEdges()
	c.addImpliedTies()
	c.compileAbsences()
	c.compileObjections()
	c.compileTells()
	c.compileVerdicts()
	c.checkReachable()
	c.compileTexts()
	c.countJoins()
	c.checkUnusedBinds()
	if len(c.wrong) == 0 {
		r.prepareSearch()
	}
	return c.wrong
}

// listPatterns returns the patterns of all steps, absences and contradictions.
func (r *Rule) listPatterns() []*Pattern {
	var all []*Pattern
	for i := range r.Steps {
		for j := range r.Steps[i].patterns {
			all = append(all, &r.Steps[i].patterns[j])
		}
	}
	for i := range r.Absent {
		all = append(all, &r.Absent[i].Pattern)
	}
	for i := range r.RulesOut {
		all = append(all, &r.RulesOut[i].Pattern)
	}
	for _, t := range r.listTells() {
		for i := range t.patterns {
			all = append(all, &t.patterns[i])
		}
	}
	return all
}

// prepareSearch works out what the search looks up and does not depend on the events.
func (r *Rule) prepareSearch() {
	for i := range r.Steps {
		r.Steps[i].events = r.newEventSet(r.Steps[i].patterns)
	}
	for i := range r.Absent {
		r.Absent[i].events = r.newEventSet([]Pattern{r.Absent[i].Pattern})
	}
	for i := range r.RulesOut {
		r.RulesOut[i].events = r.newEventSet([]Pattern{r.RulesOut[i].Pattern})
	}
	for _, t := range r.listTells() {
		t.events = r.newEventSet(t.patterns)
	}
	r.edged = make([]uint64, len(r.Steps))
	for i := range r.ties {
		e := &r.ties[i]
		r.edged[e.from] |= 1 << e.to
		r.edged[e.to] |= 1 << e.from
	}
	r.related = slices.Clone(r.edged)
	for a := range r.Steps {
		for b := range r.Steps {
			if a != b && r.rateBestJoin(a, b) > byTime {
				r.related[a] |= 1 << b
			}
		}
	}
}

func (r *Rule) newEventSet(patterns []Pattern) eventSet {
	s := eventSet{patterns: patterns, binds: make([]bind, len(r.variables))}
	for i := range s.binds {
		s.binds[i] = bind{fields: make([]condition.Reading, len(patterns)), prefix: r.variables[i].prefix}
	}
	var key []byte
	for i := range patterns {
		p := &patterns[i]
		key = strconv.AppendQuote(key, string(p.Kind))
		for j := range p.conditions {
			key = strconv.AppendQuote(append(key, ' '), p.conditions[j].Key)
		}
		for _, b := range p.bindings {
			key = strconv.AppendBool(b.reading.AppendTo(append(key, " bind "...)), b.optional)
			s.binds[b.variable].fields[i] = b.reading
		}
		key = append(key, '\n')
	}
	s.key = string(key)
	for i := range s.binds {
		s.binds[i].key = s.binds[i].writeKey()
	}
	return s
}

// writeKey writes what is equal for two binds that read the same; nothing for one that reads nothing.
func (b *bind) writeKey() string {
	if !slices.ContainsFunc(b.fields, func(field condition.Reading) bool { return field != condition.Reading{} }) {
		return ""
	}
	key := strconv.AppendBool(nil, b.prefix)
	for _, field := range b.fields {
		key = field.AppendTo(key)
	}
	return string(key)
}

type compiler struct {
	rule  *Rule
	src   *yamlfile.Source
	wrong yamlfile.Problems
	uses  map[int]int // how many places speak of a variable
	// untied says that an edge names a step that does not exist: what else ties the steps is not
	// known then.
	untied bool
}

func (c *compiler) errorf(at yamlfile.Place, format string, args ...any) {
	c.wrong = append(c.wrong, c.src.Problem(at, format, args...))
}

var slug = regexp.MustCompile(`^[a-z][a-z0-9]*([-_][a-z0-9]+)*$`)

func (c *compiler) checkHead() {
	r := c.rule
	if !slug.MatchString(r.ID) {
		c.errorf(yamlfile.Place{"id"}, "id %q is no slug: lower-case words with hyphens between", r.ID)
	}
	c.requireText(r.Title, "title")
	c.requireText(r.Headline, "headline")
	c.requireWord(string(r.Role), ruleRoles, "role")
	c.requireWord(string(r.Phase), phases, "phase")
	c.compileVersions(r.Versions, yamlfile.Place{"versions"})
	if len(r.Needs) == 0 {
		c.errorf(yamlfile.Place{"needs"}, "needs is empty: a rule says which sources it reads")
	}
	for i := range r.Needs {
		if len(r.Needs[i].Any) == 0 {
			c.errorf(yamlfile.Place{"needs", i}, "a need names at least one source under any")
		}
		c.requireText(r.Needs[i].Collect, "needs", i, "collect")
	}
}

func (c *compiler) compileVersions(versions []VersionRange, at yamlfile.Place) {
	for i := range versions {
		v := &versions[i]
		c.requireText(v.Fact, at.In(i, "fact")...)
		var err error
		if v.affected, err = version.ParseRange(v.Affected); err != nil {
			c.errorf(at.In(i, "affected"), "%v", err)
		}
	}
}

func (c *compiler) requireText(value string, at ...any) {
	if strings.TrimSpace(value) == "" {
		c.errorf(at, "%v is missing", at[len(at)-1])
	}
}

func (c *compiler) requireWord(value string, known []string, at ...any) {
	if !slices.Contains(known, value) {
		c.errorf(at, "%v %q is none of %s%s", at[len(at)-1], value, strings.Join(known, ", "), spelling.DidYouMean(value, known))
	}
}

func (c *compiler) compileSteps() {
	r := c.rule
	if len(r.Steps) == 0 || len(r.Steps) > maxSteps {
		c.errorf(yamlfile.Place{"steps"}, "a rule has 1 to %d steps, not %d", maxSteps, len(r.Steps))
		r.Steps = r.Steps[:min(len(r.Steps), maxSteps)] // sets of steps have no more bits
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if !slug.MatchString(s.ID) || s.ID == "and" || s.ID == "or" {
			c.errorf(yamlfile.Place{"steps", i, "id"}, "step id %q is no slug", s.ID)
		}
		if c.rule.findStep(s.ID) != i {
			c.errorf(yamlfile.Place{"steps", i, "id"}, "step id %q is taken", s.ID)
		}
		c.requireWord(s.Role, stepRoles, "steps", i, "role")
		c.requireWord(s.Certainty, certainties, "steps", i, "certainty")
		c.requireText(s.Text, "steps", i, "text")
		s.Weight = cmp.Or(s.Weight, defaultWeight)
		if s.Weight < 0 || s.Weight > 100 {
			c.errorf(yamlfile.Place{"steps", i, "weight"}, "weight %d is not between 1 and 100", s.Weight)
		}
		if s.Min < 0 || s.Min > 0 && !s.All {
			c.errorf(yamlfile.Place{"steps", i, "min"}, "min counts the events of a step with all: true")
		}
		s.Min = max(s.Min, 1)
		c.compileAlternatives(i)
	}
}

// compileAlternatives compiles the patterns of a step and counts each variable once.
func (c *compiler) compileAlternatives(i int) {
	s := &c.rule.Steps[i]
	if (s.Kind != "") == (len(s.Any) > 0) {
		c.errorf(yamlfile.Place{"steps", i}, "step %q wants either a kind or alternatives under any", s.ID)
	}
	s.patterns = s.Any
	if len(s.Any) == 0 {
		s.patterns = []Pattern{s.Pattern}
	}
	for j := range s.patterns {
		c.compilePattern(&s.patterns[j], s.placeOf(i, j), true)
	}
	for _, v := range listVariables(s.patterns) {
		c.uses[v]++
	}
}

// listVariables is the variables that any of the patterns binds, each once.
func listVariables(patterns []Pattern) []int {
	var all []int
	for i := range patterns {
		for _, b := range patterns[i].bindings {
			all = append(all, b.variable)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// compilePattern compiles conditions and binds. Only steps introduce variables.
func (c *compiler) compilePattern(p *Pattern, at yamlfile.Place, introduce bool) {
	if p.Kind == "" {
		c.errorf(at, "kind is missing")
	}
	p.conditions = c.compileConditions(p.Match, at.In("match"))
	for _, key := range slices.Sorted(maps.Keys(p.Bind)) {
		field, modifier, modified := strings.Cut(key, "|")
		if modified && modifier != optionalModifier {
			c.errorf(at.In("bind", key), "unknown modifier %q%s", modifier, spelling.DidYouMean(modifier, []string{optionalModifier}))
		}
		b := binding{reading: condition.Reading{Field: field}, optional: modified, key: yamlfile.Place{"bind", key}}
		c.addBinding(p, p.Bind[key], b, at, introduce)
	}
	for i := range p.conditions {
		text := &p.conditions[i]
		for _, name := range text.ListPlaceholders() {
			c.addBinding(p, name, binding{reading: text.ReadPlaceholder(name), key: yamlfile.Place{"match", text.WrittenKey()}}, at, introduce)
		}
	}
	c.addLineWatches(p, at)
}

// optionalModifier stands behind a bound field that an event may lack.
const optionalModifier = "optional"

// addBinding adds one bind to a pattern. Only where introduce is set may its name be a new one.
func (c *compiler) addBinding(p *Pattern, name string, b binding, at yamlfile.Place, introduce bool) {
	written := at.In(b.key...)
	b.variable = c.rule.findBind(name)
	if b.variable < 0 && !introduce {
		if b.variable = c.resolveBind(name, written...); b.variable < 0 {
			return
		}
	}
	if b.variable < 0 {
		b.variable = len(c.rule.variables)
		c.rule.variables = append(c.rule.variables, variable{name: name, quality: byID})
	}
	if introduce {
		c.rule.variables[b.variable].learnField(cmp.Or(b.reading.Placeholder, b.reading.Field))
	}
	if b.reading.Placeholder != "" && slices.ContainsFunc(p.bindings, bindsVariable(b.variable)) {
		c.errorf(written, "this pattern binds %q already", name)
		return
	}
	p.bindings = append(p.bindings, b)
}

// learnField takes in what kind of value a field holds.
func (v *variable) learnField(field string) {
	switch field {
	case "container", "sandbox":
		v.prefix = true
		v.container = v.container || field == "container"
	case "pod", "pod_uid", "lock", "goroutine", "id_ptr": // id_ptr: where a dump shows an id by its address
	default: // the kernel reuses pids, and words such as the name of a call are shared by many
		v.quality = byProcess
	}
}

func (c *compiler) compileConditions(match map[string]any, at yamlfile.Place) []condition.Condition {
	var all []condition.Condition
	for _, key := range slices.Sorted(maps.Keys(match)) {
		compiled, err := condition.New(key, match[key])
		if err != nil {
			c.errorf(at.In(key), "%v", err)
			continue
		}
		all = append(all, compiled)
	}
	return all
}

// compileBindless are conditions where nothing can be bound.
func (c *compiler) compileBindless(match map[string]any, at yamlfile.Place) []condition.Condition {
	all := c.compileConditions(match, at)
	for i := range all {
		if names := all[i].ListPlaceholders(); len(names) > 0 {
			c.errorf(at.In(all[i].WrittenKey()), "nothing can be bound here: write {} instead of {%s}", names[0])
		}
	}
	return all
}

// listTexts returns a text for each element of a list.
func listTexts[T any](list []T, text func(*T) string) []string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = text(&list[i])
	}
	return texts
}

func (r *Rule) listStepIDs() []string {
	return listTexts(r.Steps, func(s *StepRule) string { return s.ID })
}

func (r *Rule) listAbsenceIDs() []string {
	return listTexts(r.Absent, func(a *Absence) string { return a.ID })
}

func (r *Rule) listBinds() []string {
	return listTexts(r.variables, func(v *variable) string { return v.name })
}

// findStep returns the number of a step, or -1.
func (r *Rule) findStep(id string) int {
	return slices.IndexFunc(r.Steps, func(s StepRule) bool { return s.ID == id })
}

// findBind returns the variable of a name, or -1.
func (r *Rule) findBind(name string) int {
	return slices.IndexFunc(r.variables, func(v variable) bool { return v.name == name })
}

// resolve returns the index of a name among the known ones. Where it is none of them it says so and
// returns the nearest, or -1 when none is near.
func (c *compiler) resolve(problem, name string, known []string, at yamlfile.Place) int {
	if i := slices.Index(known, name); i >= 0 {
		return i
	}
	near := spelling.NearestWord(name, known)
	c.errorf(at, "%s %q%s", problem, name, spelling.Suggest(near))
	return slices.Index(known, near)
}

func (c *compiler) resolveStep(id string, at ...any) int {
	return c.resolve("unknown step", id, c.rule.listStepIDs(), at)
}

func (c *compiler) resolveBind(name string, at ...any) int {
	return c.resolve("no step binds", name, c.rule.listBinds(), at)
}

// resolveBit returns the bit of a step or an absence. It always returns one, so that the expression
// can be read on.
func (c *compiler) resolveBit(id string, at ...any) uint64 {
	i := c.resolve("unknown id", id, append(c.rule.listStepIDs(), c.rule.listAbsenceIDs()...), at)
	if i >= len(c.rule.Steps) {
		i += maxSteps - len(c.rule.Steps)
	}
	return 1 << max(0, i)
}

// compileEdges compiles each edge to the pairs of steps that it stands for.
func (c *compiler) compileEdges() {
	for i := range c.rule.Edges {
		e := &c.rule.Edges[i]
		c.requireWord(e.FromAt, ends, "edges", i, "from_at")
		c.requireWord(e.ToAt, ends, "edges", i, "to_at")
		pair := tie{edge: i, fromEnd: e.FromAt == "end", toEnd: e.ToAt == "end"}
		if e.Gap == nil && e.Overlap == "" {
			c.errorf(yamlfile.Place{"edges", i}, "an edge wants a gap or an overlap")
		}
		if e.Gap != nil {
			pair.measured = true
			pair.min = c.parseDuration(e.Gap.Min, 0, "edges", i, "gap", "min")
			pair.max = c.parseDuration(e.Gap.Max, math.MaxInt64, "edges", i, "gap", "max")
			if pair.min > pair.max {
				c.errorf(yamlfile.Place{"edges", i, "gap"}, "gap from %s to %s is empty", pair.min, pair.max)
			}
		}
		if e.Overlap != "" {
			pair.shared = true
			pair.overlap = c.parseDuration(e.Overlap, 0, "edges", i, "overlap")
		}
		c.addTies(pair, c.resolveSteps(e.From, i, "from"), c.resolveSteps(e.To, i, "to"))
	}
	c.rule.fromEdge = len(c.rule.ties)
}

// resolveSteps are the steps at one end of an edge.
func (c *compiler) resolveSteps(ids StepIDs, edge int, key string) []int {
	if len(ids) == 0 {
		c.errorf(yamlfile.Place{"edges", edge}, "%s is missing", key)
	}
	var steps []int
	for i, id := range ids {
		step := c.resolveStep(id, "edges", edge, key, i)
		if step >= 0 && slices.Contains(steps, step) {
			c.errorf(yamlfile.Place{"edges", edge, key, i}, "step %q is named twice", id)
		}
		steps = append(steps, step)
	}
	return steps
}

// addTies adds what an edge asks of each pair of its steps. Steps that do not exist are negative.
func (c *compiler) addTies(pair tie, from, to []int) {
	if len(c.rule.ties)+len(from)*len(to) > maxTies {
		c.errorf(yamlfile.Place{"edges", pair.edge}, "the edges up to here tie more than %d pairs of steps", maxTies)
		return
	}
	for _, pair.from = range from {
		for _, pair.to = range to {
			switch {
			case pair.from < 0 || pair.to < 0:
				c.untied = true
				continue
			case pair.from == pair.to:
				c.errorf(yamlfile.Place{"edges", pair.edge}, "step %q has an edge to itself", c.rule.Steps[pair.from].ID)
			}
			pair.best = c.rule.rateBestJoin(pair.from, pair.to)
			c.rule.ties = append(c.rule.ties, pair)
		}
	}
}

func (c *compiler) parseDuration(s string, unset time.Duration, at ...any) time.Duration {
	if s == "" {
		return unset
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		c.errorf(at, "%q is no duration such as \"10m\" or \"-5s\"", s)
	}
	return d
}

// rateBestJoin is the best quality by which two steps can be tied.
func (r *Rule) rateBestJoin(a, b int) int {
	best := byTime
	other := listVariables(r.Steps[b].patterns)
	for _, v := range listVariables(r.Steps[a].patterns) {
		if slices.Contains(other, v) {
			best = max(best, r.variables[v].quality)
		}
	}
	return best
}

// loose is how far apart steps may lie that nothing else ties: a stuck call and
// what follows from it are seen within some minutes of each other.
const loose = 10 * time.Minute

// addImpliedTies adds an edge between every two steps that no edge and no bind ties,
// directly or through others: their events could else be of any container at any time.
func (c *compiler) addImpliedTies() {
	group := make([]int, len(c.rule.Steps))
	for i := range group {
		group[i] = i
	}
	if c.untied {
		return
	}
	for i := range group {
		for j := range i {
			if c.areTied(i, j) {
				old := group[i]
				for k := range group {
					if group[k] == old {
						group[k] = group[j]
					}
				}
			}
		}
	}
	for to := range group {
		for from := range to {
			if group[from] != group[to] {
				c.rule.ties = append(c.rule.ties, tie{
					edge: -1, from: from, to: to, shared: true, overlap: loose, best: c.rule.rateBestJoin(from, to),
				})
			}
		}
	}
}

// areTied says that two steps have an edge, or share a bind whichever alternatives they take.
func (c *compiler) areTied(a, b int) bool {
	edge := func(e tie) bool {
		other, ok := e.findOther(a)
		return ok && other == b
	}
	own := listAlwaysBound(c.rule.Steps[a].patterns)
	shared := func(v int) bool { return slices.Contains(own, v) }
	return slices.ContainsFunc(listAlwaysBound(c.rule.Steps[b].patterns), shared) ||
		slices.ContainsFunc(c.rule.ties[:c.rule.fromEdge], edge)
}

// listAlwaysBound is the variables that every pattern binds.
func listAlwaysBound(patterns []Pattern) []int {
	return slices.DeleteFunc(listVariables(patterns), func(v int) bool {
		return slices.ContainsFunc(patterns, func(p Pattern) bool {
			return !slices.ContainsFunc(p.bindings, func(b binding) bool { return b.variable == v && !b.optional })
		})
	})
}

// checkReachable reports causes and mechanisms that no verdict, edge or bind speaks
// of: they could only swell the score. A symptom may stand for itself.
func (c *compiler) checkReachable() {
	var judged uint64
	for _, e := range c.rule.Verdict.levels {
		if e != nil {
			judged |= e.CollectLeaves()
		}
	}
	for i := range c.rule.Steps {
		role := c.rule.Steps[i].Role
		alone := judged&(1<<i) == 0 && (role == "cause" || role == "mechanism")
		for j := range c.rule.Steps {
			alone = alone && (i == j || !c.areTied(i, j))
		}
		if alone {
			c.errorf(yamlfile.Place{"steps", i, "id"}, "step %q is unreachable: no verdict, edge or shared bind speaks of it",
				c.rule.Steps[i].ID)
		}
	}
}

func (c *compiler) compileAbsences() {
	for i := range c.rule.Absent {
		a := &c.rule.Absent[i]
		at := yamlfile.Place{"absent", i}
		if !slug.MatchString(a.ID) || c.rule.findStep(a.ID) >= 0 || slices.Index(c.rule.listAbsenceIDs(), a.ID) != i {
			c.errorf(yamlfile.Place{"absent", i, "id"}, "id %q is no slug, or taken", a.ID)
		}
		c.compilePattern(&a.Pattern, at, false)
		c.countUses(a.Pattern)
		c.requireText(a.Source, "absent", i, "source")
		if (a.Before == "") == (a.During == "") {
			c.errorf(at, "an absence wants either before or during")
			continue
		}
		key := "before"
		if a.During != "" {
			key = "during"
		}
		a.anchor = c.resolveStep(cmp.Or(a.Before, a.During), "absent", i, key)
		level, ok := levels[a.Level]
		if !ok {
			c.errorf(yamlfile.Place{"absent", i, "level"}, "unknown level %q%s", a.Level, spelling.DidYouMean(a.Level, slices.Sorted(maps.Keys(levels))))
		}
		a.level = level
	}
	if len(c.rule.Absent) > maxSteps {
		c.errorf(yamlfile.Place{"absent"}, "more than %d absences", maxSteps)
	}
}

var levels = map[string]event.Level{
	"": event.NoLevel, "trace": event.Trace, "debug": event.Debug, "info": event.Info,
	"warning": event.Warning, "error": event.Error,
}

// countUses notes that a pattern speaks of its variables.
func (c *compiler) countUses(p Pattern) {
	for _, b := range p.bindings {
		c.countUse(b.variable)
	}
}

func (c *compiler) compileObjections() {
	for i := range c.rule.RulesOut {
		o := &c.rule.RulesOut[i]
		c.compilePattern(&o.Pattern, yamlfile.Place{"rules_out", i}, false)
		c.countUses(o.Pattern)
		c.requireText(o.Why, "rules_out", i, "why")
		c.requireWord(o.Effect, effects, "rules_out", i, "effect")
		o.anchor = -1
		if o.During != "" {
			o.anchor = c.resolveStep(o.During, "rules_out", i, "during")
		}
		o.near = c.parseDuration(o.Near, 0, "rules_out", i, "near")
		if o.Near != "" && o.During == "" {
			c.errorf(yamlfile.Place{"rules_out", i, "near"}, "near is measured from the step of during, and there is none")
		}
		if o.After && o.During == "" {
			c.errorf(yamlfile.Place{"rules_out", i, "after"}, "after speaks of the step of during, and there is none")
		}
	}
}

func (c *compiler) compileVerdicts() {
	v := &c.rule.Verdict
	found := false
	for _, row := range []struct {
		level Verdict
		text  string
	}{{Confirmed, v.Confirmed}, {Likely, v.Likely}, {Possible, v.Possible}} {
		if row.text == "" {
			continue
		}
		found = true
		e, err := logic.Parse(row.text, func(id string) uint64 { return c.resolveBit(id, "verdict", row.level.String()) })
		if err != nil {
			c.errorf(yamlfile.Place{"verdict", row.level.String()}, "%v", err)
			continue
		}
		if e.CollectLeaves()&(1<<maxSteps-1) == 0 {
			c.errorf(yamlfile.Place{"verdict", row.level.String()}, "a verdict needs a step: absence alone proves nothing")
		}
		v.levels[row.level] = e
	}
	if !found {
		c.errorf(yamlfile.Place{"verdict"}, "verdict has no condition")
	}
}

// compileTexts compiles headline, step texts, notes and what to do.
func (c *compiler) compileTexts() {
	r := c.rule
	for i := range r.Steps {
		r.Steps[i].text = c.compileTemplate(r.Steps[i].Text, true, "steps", i, "text")
	}
	r.headline = c.compileTemplate(r.Headline, false, "headline")
	for i := range r.Remediation.Now {
		c.compileAction(&r.Remediation.Now[i], yamlfile.Place{"remediation", "now", i})
	}
	for i := range r.Notes {
		n := &r.Notes[i]
		c.requireText(n.Text, "notes", i, "text")
		n.text = c.compileTemplate(n.Text, false, "notes", i, "text")
		if n.When != nil {
			n.When.step = c.resolveStep(n.When.Step, "notes", i, "when", "step")
			n.When.conditions = c.compileBindless(n.When.Match, yamlfile.Place{"notes", i, "when", "match"})
		}
		if n.Now != nil {
			c.compileAction(n.Now, yamlfile.Place{"notes", i, "now"})
		}
	}
}

func (c *compiler) compileTemplate(s string, own bool, at ...any) template.Template {
	t, err := template.Parse(s, c.listNames(own), c.countUse)
	if err != nil {
		c.errorf(at, "%v", err)
	}
	return t
}

// listNames are the names that a text of the rule may speak of. Own says that it is the text of a step.
func (c *compiler) listNames(own bool) template.Scope {
	return template.Scope{Steps: c.rule.findStep, Variables: c.rule.findBind, Captured: c.findCaptured, Own: own}
}

// countUse notes that something speaks of a variable.
func (c *compiler) countUse(variable int) { c.uses[variable]++ }

// findCaptured returns the variable that a step takes from a text under a name, or -1.
func (c *compiler) findCaptured(step int, name string) int {
	for _, p := range c.rule.Steps[step].patterns {
		for _, b := range p.bindings {
			if b.reading.Placeholder == name {
				return b.variable
			}
		}
	}
	return -1
}

func (c *compiler) countJoins() {
	r := c.rule
	if r.Per != "" {
		c.uses[c.resolveBind(r.Per, "per")]++
	}
	for i := range r.ExplainedBy {
		for j, name := range r.ExplainedBy[i].Join {
			c.uses[c.resolveBind(name, "explained_by", i, "join", j)]++
		}
	}
}

// checkUnusedBinds reports binds that tie nothing to anything, where they are first made.
func (c *compiler) checkUnusedBinds() {
	for i := range c.rule.Steps {
		s := &c.rule.Steps[i]
		for _, v := range listVariables(s.patterns) {
			if c.uses[v] != 1 {
				continue
			}
			j := slices.IndexFunc(s.patterns, func(p Pattern) bool { return slices.ContainsFunc(p.bindings, bindsVariable(v)) })
			b := s.patterns[j].bindings[slices.IndexFunc(s.patterns[j].bindings, bindsVariable(v))]
			name, hint := c.rule.variables[v].name, ""
			if b.reading.Placeholder != "" {
				hint = "; {} stands for any word"
			}
			c.errorf(append(s.placeOf(i, j), b.key...), "bind %q is used nowhere else%s", name, hint)
		}
	}
}

func bindsVariable(variable int) func(binding) bool {
	return func(b binding) bool { return b.variable == variable }
}

// placeOf is the place of pattern j of step i in the file.
func (s *StepRule) placeOf(i, j int) yamlfile.Place {
	if len(s.Any) == 0 {
		return yamlfile.Place{"steps", i}
	}
	return yamlfile.Place{"steps", i, "any", j}
}
