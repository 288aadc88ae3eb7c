package language

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
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

// ListPatterns returns the patterns of all steps, absences and contradictions.
func (r *Rule) ListPatterns() []*Pattern {
	var all []*Pattern
	for i := range r.Steps {
		for j := range r.Steps[i].Compiled.Patterns {
			all = append(all, &r.Steps[i].Compiled.Patterns[j])
		}
	}
	for i := range r.Absent {
		all = append(all, &r.Absent[i].Pattern)
	}
	for i := range r.RulesOut {
		all = append(all, &r.RulesOut[i].Pattern)
	}
	for _, t := range r.listTells() {
		for i := range t.Compiled.Patterns {
			all = append(all, &t.Compiled.Patterns[i])
		}
	}
	return all
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
		if v.Compiled, err = version.ParseRange(v.Affected); err != nil {
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
	if len(r.Steps) == 0 || len(r.Steps) > MaxSteps {
		c.errorf(yamlfile.Place{"steps"}, "a rule has 1 to %d steps, not %d", MaxSteps, len(r.Steps))
		r.Steps = r.Steps[:min(len(r.Steps), MaxSteps)] // sets of steps have no more bits
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
		s.Compiled.GoesOn = c.parseDuration(s.GoesOn, 0, "steps", i, "goes_on")
		if s.Compiled.GoesOn < 0 {
			c.errorf(yamlfile.Place{"steps", i, "goes_on"}, "goes_on is the longest time between the events of a row, not %s", s.GoesOn)
		}
		c.compileAlternatives(i)
	}
}

// compileAlternatives compiles the patterns of a step and counts each variable once.
func (c *compiler) compileAlternatives(i int) {
	s := &c.rule.Steps[i]
	if (s.Kind != "") == (len(s.Any) > 0) {
		c.errorf(yamlfile.Place{"steps", i}, "step %q wants either a kind or alternatives under any", s.ID)
	}
	s.Compiled.Patterns = s.Any
	if len(s.Any) == 0 {
		s.Compiled.Patterns = []Pattern{s.Pattern}
	}
	for j := range s.Compiled.Patterns {
		c.compilePattern(&s.Compiled.Patterns[j], s.placeOf(i, j), true)
	}
	for _, v := range listVariables(s.Compiled.Patterns) {
		c.uses[v]++
	}
}

// listVariables is the variables that any of the patterns binds, each once.
func listVariables(patterns []Pattern) []int {
	var all []int
	for i := range patterns {
		for _, b := range patterns[i].Compiled.Bindings {
			all = append(all, b.Variable)
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
	p.Compiled.Conditions = c.compileConditions(p.Match, at.In("match"))
	for _, key := range slices.Sorted(maps.Keys(p.Bind)) {
		field, modifier, modified := strings.Cut(key, "|")
		if modified && modifier != optionalModifier {
			c.errorf(at.In("bind", key), "unknown modifier %q%s", modifier, spelling.DidYouMean(modifier, []string{optionalModifier}))
		}
		b := Binding{Reading: condition.Reading{Field: field}, Optional: modified, key: yamlfile.Place{"bind", key}}
		c.addBinding(p, p.Bind[key], b, at, introduce)
	}
	for i := range p.Compiled.Conditions {
		text := &p.Compiled.Conditions[i]
		for _, name := range text.ListPlaceholders() {
			c.addBinding(p, name, Binding{Reading: text.ReadPlaceholder(name), key: yamlfile.Place{"match", text.WrittenKey()}}, at, introduce)
		}
	}
	c.addLineWatches(p, at)
}

// optionalModifier stands behind a bound field that an event may lack.
const optionalModifier = "optional"

// addBinding adds one bind to a pattern. Only where introduce is set may its name be a new one.
func (c *compiler) addBinding(p *Pattern, name string, b Binding, at yamlfile.Place, introduce bool) {
	written := at.In(b.key...)
	b.Variable = c.rule.FindVariable(name)
	if b.Variable < 0 && !introduce {
		if b.Variable = c.resolveBind(name, written...); b.Variable < 0 {
			return
		}
	}
	if b.Variable < 0 {
		b.Variable = len(c.rule.Compiled.Variables)
		c.rule.Compiled.Variables = append(c.rule.Compiled.Variables, Variable{Name: name, Quality: ByID})
	}
	if introduce {
		c.rule.Compiled.Variables[b.Variable].learnField(cmp.Or(b.Reading.Placeholder, b.Reading.Field))
	}
	if b.Reading.Placeholder != "" && slices.ContainsFunc(p.Compiled.Bindings, bindsVariable(b.Variable)) {
		c.errorf(written, "this pattern binds %q already", name)
		return
	}
	p.Compiled.Bindings = append(p.Compiled.Bindings, b)
}

// learnField takes in what kind of value a field holds.
func (v *Variable) learnField(field string) {
	switch field {
	case "container", "sandbox":
		v.Prefix = true
		v.Container = v.Container || field == "container"
	case "pod", "pod_uid", "lock", "goroutine", "id_ptr": // id_ptr: where a dump shows an id by its address
	default: // the kernel reuses pids, and words such as the name of a call are shared by many
		v.Quality = ByProcess
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
	return listTexts(r.Compiled.Variables, func(v *Variable) string { return v.Name })
}

// findStep returns the number of a step, or -1.
func (r *Rule) findStep(id string) int {
	return slices.IndexFunc(r.Steps, func(s StepRule) bool { return s.ID == id })
}

// FindVariable returns the variable of a name, or -1.
func (r *Rule) FindVariable(name string) int {
	return slices.IndexFunc(r.Compiled.Variables, func(v Variable) bool { return v.Name == name })
}

// resolve returns the index of a name among the known ones. Where it is none of them it says so and
// returns the nearest, or -1 when none is near.
func (c *compiler) resolve(problem, name string, known []string, at yamlfile.Place) int {
	if i := slices.Index(known, name); i >= 0 {
		return i
	}
	near := spelling.NearestWord(name, known)
	c.errorf(at, "%s %q%s", problem, name, spelling.FormatHint(near))
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
		i += MaxSteps - len(c.rule.Steps)
	}
	return 1 << max(0, i)
}

// compileEdges compiles each edge to the pairs of steps that it stands for.
func (c *compiler) compileEdges() {
	for i := range c.rule.Edges {
		e := &c.rule.Edges[i]
		c.requireWord(e.FromAt, ends, "edges", i, "from_at")
		c.requireWord(e.ToAt, ends, "edges", i, "to_at")
		pair := Tie{Edge: i, FromEnd: e.FromAt == "end", ToEnd: e.ToAt == "end"}
		if e.Gap == nil && e.Overlap == "" {
			c.errorf(yamlfile.Place{"edges", i}, "an edge wants a gap or an overlap")
		}
		if e.Gap != nil {
			pair.Measured = true
			pair.Min = c.parseDuration(e.Gap.Min, 0, "edges", i, "gap", "min")
			pair.Max = c.parseDuration(e.Gap.Max, math.MaxInt64, "edges", i, "gap", "max")
			if pair.Min > pair.Max {
				c.errorf(yamlfile.Place{"edges", i, "gap"}, "gap from %s to %s is empty", pair.Min, pair.Max)
			}
		}
		if e.Overlap != "" {
			pair.Shared = true
			pair.Overlap = c.parseDuration(e.Overlap, 0, "edges", i, "overlap")
		}
		c.addTies(pair, c.resolveSteps(e.From, i, "from"), c.resolveSteps(e.To, i, "to"))
	}
	c.rule.Compiled.FromEdge = len(c.rule.Compiled.Ties)
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
func (c *compiler) addTies(pair Tie, from, to []int) {
	if len(c.rule.Compiled.Ties)+len(from)*len(to) > maxTies {
		c.errorf(yamlfile.Place{"edges", pair.Edge}, "the edges up to here tie more than %d pairs of steps", maxTies)
		return
	}
	for _, pair.From = range from {
		for _, pair.To = range to {
			switch {
			case pair.From < 0 || pair.To < 0:
				c.untied = true
				continue
			case pair.From == pair.To:
				c.errorf(yamlfile.Place{"edges", pair.Edge}, "step %q has an edge to itself", c.rule.Steps[pair.From].ID)
			}
			pair.Best = c.rule.rateBestJoin(pair.From, pair.To)
			c.rule.Compiled.Ties = append(c.rule.Compiled.Ties, pair)
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
	best := ByTime
	other := listVariables(r.Steps[b].Compiled.Patterns)
	for _, v := range listVariables(r.Steps[a].Compiled.Patterns) {
		if slices.Contains(other, v) {
			best = max(best, r.Compiled.Variables[v].Quality)
		}
	}
	return best
}

// loose is how far apart steps may lie that nothing else ties: a stuck call and
// what follows from it are seen within some minutes of each other.
const loose = 10 * time.Minute

// addImpliedTies adds an edge between every two steps that no edge and no bind ties,
// directly or through others: their events could else be of any container at any time. A step that
// gathers begins there, and is told to the end of its row.
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
				c.rule.Compiled.Ties = append(c.rule.Compiled.Ties, Tie{
					Edge: -1, From: from, To: to, Shared: true, Overlap: loose, Best: c.rule.rateBestJoin(from, to),
				})
				c.followRow(from)
				c.followRow(to)
			}
		}
	}
}

// followRow lets a step that gathers events go on beyond an implied tie.
func (c *compiler) followRow(step int) {
	if s := &c.rule.Steps[step]; s.All && s.Compiled.GoesOn == 0 {
		s.Compiled.GoesOn = loose
	}
}

// areTied says that two steps have an edge, or share a bind whichever alternatives they take.
func (c *compiler) areTied(a, b int) bool {
	edge := func(e Tie) bool {
		other, ok := e.FindOther(a)
		return ok && other == b
	}
	own := listAlwaysBound(c.rule.Steps[a].Compiled.Patterns)
	shared := func(v int) bool { return slices.Contains(own, v) }
	return slices.ContainsFunc(listAlwaysBound(c.rule.Steps[b].Compiled.Patterns), shared) ||
		slices.ContainsFunc(c.rule.Compiled.Ties[:c.rule.Compiled.FromEdge], edge)
}

// listAlwaysBound is the variables that every pattern binds.
func listAlwaysBound(patterns []Pattern) []int {
	return slices.DeleteFunc(listVariables(patterns), func(v int) bool {
		return slices.ContainsFunc(patterns, func(p Pattern) bool {
			return !slices.ContainsFunc(p.Compiled.Bindings, func(b Binding) bool { return b.Variable == v && !b.Optional })
		})
	})
}

// checkReachable reports causes and mechanisms that no verdict, edge or bind speaks
// of: they could only swell the score. A symptom may stand for itself.
func (c *compiler) checkReachable() {
	var judged uint64
	for _, e := range c.rule.Verdict.Compiled {
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
		a.Compiled.Anchor = c.resolveStep(cmp.Or(a.Before, a.During), "absent", i, key)
		level, ok := levels[a.Level]
		if !ok {
			c.errorf(yamlfile.Place{"absent", i, "level"}, "unknown level %q%s", a.Level, spelling.DidYouMean(a.Level, slices.Sorted(maps.Keys(levels))))
		}
		a.Compiled.Level = level
	}
	if len(c.rule.Absent) > MaxSteps {
		c.errorf(yamlfile.Place{"absent"}, "more than %d absences", MaxSteps)
	}
}

var levels = map[string]event.Level{
	"": event.NoLevel, "trace": event.Trace, "debug": event.Debug, "info": event.Info,
	"warning": event.Warning, "error": event.Error,
}

// countUses notes that a pattern speaks of its variables.
func (c *compiler) countUses(p Pattern) {
	for _, b := range p.Compiled.Bindings {
		c.countUse(b.Variable)
	}
}

func (c *compiler) compileObjections() {
	for i := range c.rule.RulesOut {
		o := &c.rule.RulesOut[i]
		c.compilePattern(&o.Pattern, yamlfile.Place{"rules_out", i}, false)
		c.countUses(o.Pattern)
		c.requireText(o.Why, "rules_out", i, "why")
		c.requireWord(o.Effect, effects, "rules_out", i, "effect")
		o.Compiled.Anchor = -1
		if o.During != "" {
			o.Compiled.Anchor = c.resolveStep(o.During, "rules_out", i, "during")
		}
		o.Compiled.Near = c.parseDuration(o.Near, 0, "rules_out", i, "near")
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
		if e.CollectLeaves()&(1<<MaxSteps-1) == 0 {
			c.errorf(yamlfile.Place{"verdict", row.level.String()}, "a verdict needs a step: absence alone proves nothing")
		}
		v.Compiled[row.level] = e
	}
	if !found {
		c.errorf(yamlfile.Place{"verdict"}, "verdict has no condition")
	}
}

// compileTexts compiles headline, step texts, notes and what to do.
func (c *compiler) compileTexts() {
	r := c.rule
	for i := range r.Steps {
		r.Steps[i].Compiled.Text = c.compileTemplate(r.Steps[i].Text, true, "steps", i, "text")
	}
	r.Compiled.Headline = c.compileTemplate(r.Headline, false, "headline")
	for i := range r.Remediation.Now {
		c.compileAction(&r.Remediation.Now[i], yamlfile.Place{"remediation", "now", i})
	}
	for i := range r.Notes {
		n := &r.Notes[i]
		c.requireText(n.Text, "notes", i, "text")
		n.Compiled = c.compileTemplate(n.Text, false, "notes", i, "text")
		if n.When != nil {
			n.When.Compiled.Step = c.resolveStep(n.When.Step, "notes", i, "when", "step")
			n.When.Compiled.Conditions = c.compileBindless(n.When.Match, yamlfile.Place{"notes", i, "when", "match"})
		}
		if n.Now != nil {
			c.compileAction(n.Now, yamlfile.Place{"notes", i, "now"})
		}
	}
}

func (c *compiler) compileTemplate(s string, own bool, at ...any) template.Template {
	t, err := template.Parse(s, c.newScope(own), c.countUse)
	if err != nil {
		c.errorf(at, "%v", err)
	}
	return t
}

// newScope are the names that a text of the rule may speak of. Own says that it is the text of a
// step.
func (c *compiler) newScope(ofStep bool) template.Scope {
	return template.Scope{Steps: c.rule.findStep, Variables: c.rule.FindVariable, Captured: c.findCaptured, Own: ofStep}
}

// countUse notes that something speaks of a variable.
func (c *compiler) countUse(variable int) { c.uses[variable]++ }

// findCaptured returns the variable that a step takes from a text under a name, or -1.
func (c *compiler) findCaptured(step int, name string) int {
	for _, p := range c.rule.Steps[step].Compiled.Patterns {
		for _, b := range p.Compiled.Bindings {
			if b.Reading.Placeholder == name {
				return b.Variable
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
		for _, v := range listVariables(s.Compiled.Patterns) {
			if c.uses[v] != 1 {
				continue
			}
			j := slices.IndexFunc(s.Compiled.Patterns, func(p Pattern) bool { return slices.ContainsFunc(p.Compiled.Bindings, bindsVariable(v)) })
			b := s.Compiled.Patterns[j].Compiled.Bindings[slices.IndexFunc(s.Compiled.Patterns[j].Compiled.Bindings, bindsVariable(v))]
			name, hint := c.rule.Compiled.Variables[v].Name, ""
			if b.Reading.Placeholder != "" {
				hint = "; {} stands for any word"
			}
			c.errorf(append(s.placeOf(i, j), b.key...), "bind %q is used nowhere else%s", name, hint)
		}
	}
}

func bindsVariable(variable int) func(Binding) bool {
	return func(b Binding) bool { return b.Variable == variable }
}

// placeOf is the place of pattern j of step i in the file.
func (s *StepRule) placeOf(i, j int) yamlfile.Place {
	if len(s.Any) == 0 {
		return yamlfile.Place{"steps", i}
	}
	return yamlfile.Place{"steps", i, "any", j}
}
