package rules

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// compile checks a decoded rule and prepares it for matching. It goes on after
// a mistake: an id that is nearly one that exists is told and read as that one.
func compile(r *Rule, src *source) Problems {
	c := &compiler{rule: r, src: src, uses: map[int]int{}}
	c.head()
	c.exposures()
	c.forecasts()
	c.stepPatterns()
	c.edges()
	c.imply()
	c.absences()
	c.objections()
	c.verdicts()
	c.unreachable()
	c.prose()
	c.explanations()
	c.unused()
	if len(c.wrong) == 0 {
		r.prepare()
	}
	return c.wrong
}

// prepare works out what the search looks up and does not depend on the events.
func (r *Rule) prepare() {
	for i := range r.Steps {
		r.Steps[i].events = r.eventSet(r.Steps[i].patterns)
	}
	for i := range r.Absent {
		r.Absent[i].events = r.eventSet([]Pattern{r.Absent[i].Pattern})
	}
	for i := range r.RulesOut {
		r.RulesOut[i].events = r.eventSet([]Pattern{r.RulesOut[i].Pattern})
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
			if a != b && r.bestJoin(a, b) > byTime {
				r.related[a] |= 1 << b
			}
		}
	}
}

func (r *Rule) eventSet(patterns []Pattern) eventSet {
	s := eventSet{patterns: patterns, binds: make([]bind, len(r.variables))}
	for i := range s.binds {
		s.binds[i] = bind{fields: make([]reading, len(patterns)), prefix: r.variables[i].prefix}
	}
	var key strings.Builder
	for i := range patterns {
		p := &patterns[i]
		fmt.Fprintf(&key, "%q", p.Kind)
		for j := range p.conditions {
			fmt.Fprintf(&key, " %q", p.conditions[j].key)
		}
		for _, b := range p.bindings {
			fmt.Fprintf(&key, " bind %#v %t", b.reading, b.optional)
			s.binds[b.variable].fields[i] = b.reading
		}
		key.WriteString("\n")
	}
	s.key = key.String()
	for i := range s.binds {
		if b := &s.binds[i]; slices.ContainsFunc(b.fields, func(field reading) bool { return field != reading{} }) {
			b.key = fmt.Sprintf("%#v %t", b.fields, b.prefix)
		}
	}
	return s
}

type compiler struct {
	rule  *Rule
	src   *source
	wrong Problems
	uses  map[int]int // how many places speak of a variable
	// untied says that an edge names a step that does not exist: what else ties the steps is not known then.
	untied bool
}

func (c *compiler) errorf(at place, format string, args ...any) {
	c.wrong = append(c.wrong, c.src.problem(at, format, args...))
}

var slug = regexp.MustCompile(`^[a-z][a-z0-9]*([-_][a-z0-9]+)*$`)

func (c *compiler) head() {
	r := c.rule
	if !slug.MatchString(r.ID) {
		c.errorf(place{"id"}, "id %q is no slug: lower-case words with hyphens between", r.ID)
	}
	c.required(r.Title, "title")
	c.required(r.Headline, "headline")
	c.oneOf(string(r.Role), ruleRoles, "role")
	c.oneOf(string(r.Phase), phases, "phase")
	c.versions(r.Versions, place{"versions"})
	if len(r.Needs) == 0 {
		c.errorf(place{"needs"}, "needs is empty: a rule says which sources it reads")
	}
	for i := range r.Needs {
		if len(r.Needs[i].Any) == 0 {
			c.errorf(place{"needs", i}, "a need names at least one source under any")
		}
		c.required(r.Needs[i].Collect, "needs", i, "collect")
	}
}

func (c *compiler) versions(versions []VersionRange, at place) {
	for i := range versions {
		v := &versions[i]
		c.required(v.Fact, at.in(i, "fact")...)
		var err error
		if v.affected, err = parseVersionRange(v.Affected); err != nil {
			c.errorf(at.in(i, "affected"), "%v", err)
		}
	}
}

func (c *compiler) required(value string, at ...any) {
	if strings.TrimSpace(value) == "" {
		c.errorf(at, "%v is missing", at[len(at)-1])
	}
}

func (c *compiler) oneOf(value string, known []string, at ...any) {
	if !slices.Contains(known, value) {
		c.errorf(at, "%v %q is none of %s%s", at[len(at)-1], value, strings.Join(known, ", "), didYouMean(value, known))
	}
}

func (c *compiler) stepPatterns() {
	r := c.rule
	if len(r.Steps) == 0 || len(r.Steps) > maxSteps {
		c.errorf(place{"steps"}, "a rule has 1 to %d steps, not %d", maxSteps, len(r.Steps))
		r.Steps = r.Steps[:min(len(r.Steps), maxSteps)] // sets of steps have no more bits
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if !slug.MatchString(s.ID) || s.ID == "and" || s.ID == "or" {
			c.errorf(place{"steps", i, "id"}, "step id %q is no slug", s.ID)
		}
		if c.step(s.ID) != i {
			c.errorf(place{"steps", i, "id"}, "step id %q is taken", s.ID)
		}
		c.oneOf(s.Role, stepRoles, "steps", i, "role")
		c.oneOf(s.Certainty, certainties, "steps", i, "certainty")
		c.required(s.Text, "steps", i, "text")
		s.Weight = cmp.Or(s.Weight, defaultWeight)
		if s.Weight < 0 || s.Weight > 100 {
			c.errorf(place{"steps", i, "weight"}, "weight %d is not between 1 and 100", s.Weight)
		}
		if s.Min < 0 || s.Min > 0 && !s.All {
			c.errorf(place{"steps", i, "min"}, "min counts the events of a step with all: true")
		}
		s.Min = max(s.Min, 1)
		c.alternatives(i)
	}
}

// alternatives compiles the patterns of a step and counts each variable once.
func (c *compiler) alternatives(i int) {
	s := &c.rule.Steps[i]
	if (s.Kind != "") == (len(s.Any) > 0) {
		c.errorf(place{"steps", i}, "step %q wants either a kind or alternatives under any", s.ID)
	}
	s.patterns = s.Any
	if len(s.Any) == 0 {
		s.patterns = []Pattern{s.Pattern}
	}
	for j := range s.patterns {
		c.pattern(&s.patterns[j], s.at(i, j), true)
	}
	for _, v := range bindsOf(s.patterns) {
		c.uses[v]++
	}
}

// bindsOf is the variables that any of the patterns binds, each once.
func bindsOf(patterns []Pattern) []int {
	var all []int
	for i := range patterns {
		for _, b := range patterns[i].bindings {
			all = append(all, b.variable)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// pattern compiles conditions and binds. Only steps introduce variables.
func (c *compiler) pattern(p *Pattern, at place, introduce bool) {
	if p.Kind == "" {
		c.errorf(at, "kind is missing")
	}
	p.conditions = c.conditions(p.Match, at.in("match"))
	for _, key := range sortedKeys(p.Bind) {
		field, modifier, modified := strings.Cut(key, "|")
		if modified && modifier != optionalModifier {
			c.errorf(at.in("bind", key), "unknown modifier %q%s", modifier, didYouMean(modifier, []string{optionalModifier}))
		}
		c.bind(p, p.Bind[key], binding{reading: reading{field: field}, optional: modified, key: place{"bind", key}}, at, introduce)
	}
	for i := range p.conditions {
		text := &p.conditions[i]
		for _, name := range text.placeholders() {
			read := reading{field: text.field, text: fmt.Sprint(text.arg), placeholder: name}
			c.bind(p, name, binding{reading: read, key: place{"match", text.written()}}, at, introduce)
		}
	}
	c.watches(p, at)
}

// optionalModifier stands behind a bound field that an event may lack.
const optionalModifier = "optional"

// bind adds one bind to a pattern. Only where introduce is set may its name be a new one.
func (c *compiler) bind(p *Pattern, name string, b binding, at place, introduce bool) {
	written := at.in(b.key...)
	b.variable = c.variable(name)
	if b.variable < 0 && !introduce {
		if b.variable = c.bound(name, written...); b.variable < 0 {
			return
		}
	}
	if b.variable < 0 {
		b.variable = len(c.rule.variables)
		c.rule.variables = append(c.rule.variables, variable{name: name, quality: byID})
	}
	if introduce {
		c.rule.variables[b.variable].learn(cmp.Or(b.reading.placeholder, b.reading.field))
	}
	if b.reading.placeholder != "" && slices.ContainsFunc(p.bindings, binds(b.variable)) {
		c.errorf(written, "this pattern binds %q already", name)
		return
	}
	p.bindings = append(p.bindings, b)
}

// learn takes in what kind of value a field holds.
func (v *variable) learn(field string) {
	switch field {
	case "container", "sandbox":
		v.prefix = true
		v.container = v.container || field == "container"
	case "pod", "pod_uid", "lock", "goroutine", "id_ptr": // id_ptr: where a dump shows an id by its address
	default: // the kernel reuses pids, and words such as the name of a call are shared by many
		v.quality = byProcess
	}
}

func (c *compiler) conditions(match map[string]any, at place) []condition {
	var all []condition
	for _, key := range sortedKeys(match) {
		condition, err := newCondition(key, match[key])
		if err != nil {
			c.errorf(at.in(key), "%v", err)
			continue
		}
		all = append(all, condition)
	}
	return all
}

// plainConditions are conditions where nothing can be bound.
func (c *compiler) plainConditions(match map[string]any, at place) []condition {
	all := c.conditions(match, at)
	for i := range all {
		if names := all[i].placeholders(); len(names) > 0 {
			c.errorf(at.in(all[i].written()), "nothing can be bound here: write {} instead of {%s}", names[0])
		}
	}
	return all
}

// step returns the number of a step, or -1.
func (c *compiler) step(id string) int {
	return slices.IndexFunc(c.rule.Steps, func(s StepRule) bool { return s.ID == id })
}

// namedStep is step with an error for an unknown id. It returns the nearest one, if any is near.
func (c *compiler) namedStep(id string, at ...any) int {
	i := c.step(id)
	if i < 0 {
		near := nearestWord(id, c.stepIDs())
		c.errorf(at, "unknown step %q%s", id, suggestion(near))
		i = c.step(near)
	}
	return i
}

func (c *compiler) stepIDs() []string {
	var ids []string
	for i := range c.rule.Steps {
		ids = append(ids, c.rule.Steps[i].ID)
	}
	return ids
}

func (c *compiler) variable(name string) int {
	return slices.IndexFunc(c.rule.variables, func(v variable) bool { return v.name == name })
}

func (c *compiler) variableNames() []string {
	var names []string
	for _, v := range c.rule.variables {
		names = append(names, v.name)
	}
	return names
}

// edges compiles each edge to the pairs of steps that it stands for.
func (c *compiler) edges() {
	for i := range c.rule.Edges {
		e := &c.rule.Edges[i]
		c.oneOf(e.FromAt, ends, "edges", i, "from_at")
		c.oneOf(e.ToAt, ends, "edges", i, "to_at")
		pair := tie{edge: i, fromEnd: e.FromAt == "end", toEnd: e.ToAt == "end"}
		if e.Gap == nil && e.Overlap == "" {
			c.errorf(place{"edges", i}, "an edge wants a gap or an overlap")
		}
		if e.Gap != nil {
			pair.measured = true
			pair.min = c.duration(e.Gap.Min, 0, "edges", i, "gap", "min")
			pair.max = c.duration(e.Gap.Max, math.MaxInt64, "edges", i, "gap", "max")
			if pair.min > pair.max {
				c.errorf(place{"edges", i, "gap"}, "gap from %s to %s is empty", pair.min, pair.max)
			}
		}
		if e.Overlap != "" {
			pair.shared = true
			pair.overlap = c.duration(e.Overlap, 0, "edges", i, "overlap")
		}
		c.tieSteps(pair, c.edgeSteps(e.From, i, "from"), c.edgeSteps(e.To, i, "to"))
	}
	c.rule.fromEdge = len(c.rule.ties)
}

// edgeSteps are the steps at one end of an edge.
func (c *compiler) edgeSteps(ids StepIDs, edge int, key string) []int {
	if len(ids) == 0 {
		c.errorf(place{"edges", edge}, "%s is missing", key)
	}
	var steps []int
	for i, id := range ids {
		step := c.namedStep(id, "edges", edge, key, i)
		if step >= 0 && slices.Contains(steps, step) {
			c.errorf(place{"edges", edge, key, i}, "step %q is named twice", id)
		}
		steps = append(steps, step)
	}
	return steps
}

// tieSteps adds what an edge asks of each pair of its steps. Steps that do not exist are negative.
func (c *compiler) tieSteps(pair tie, from, to []int) {
	if len(c.rule.ties)+len(from)*len(to) > maxTies {
		c.errorf(place{"edges", pair.edge}, "the edges up to here tie more than %d pairs of steps", maxTies)
		return
	}
	for _, pair.from = range from {
		for _, pair.to = range to {
			switch {
			case pair.from < 0 || pair.to < 0:
				c.untied = true
				continue
			case pair.from == pair.to:
				c.errorf(place{"edges", pair.edge}, "step %q has an edge to itself", c.rule.Steps[pair.from].ID)
			}
			pair.best = c.rule.bestJoin(pair.from, pair.to)
			c.rule.ties = append(c.rule.ties, pair)
		}
	}
}

func (c *compiler) duration(s string, unset time.Duration, at ...any) time.Duration {
	if s == "" {
		return unset
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		c.errorf(at, "%q is no duration such as \"10m\" or \"-5s\"", s)
	}
	return d
}

// bestJoin is the best quality by which two steps can be tied.
func (r *Rule) bestJoin(a, b int) int {
	best := byTime
	other := bindsOf(r.Steps[b].patterns)
	for _, v := range bindsOf(r.Steps[a].patterns) {
		if slices.Contains(other, v) {
			best = max(best, r.variables[v].quality)
		}
	}
	return best
}

// loose is how far apart steps may lie that nothing else ties: a stuck call and
// what follows from it are seen within some minutes of each other.
const loose = 10 * time.Minute

// imply adds an edge between every two steps that no edge and no bind ties,
// directly or through others: their events could else be of any container at any time.
func (c *compiler) imply() {
	group := make([]int, len(c.rule.Steps))
	for i := range group {
		group[i] = i
	}
	if c.untied {
		return
	}
	for i := range group {
		for j := range i {
			if c.tied(i, j) {
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
				c.rule.ties = append(c.rule.ties, tie{edge: -1, from: from, to: to, shared: true, overlap: loose, best: c.rule.bestJoin(from, to)})
			}
		}
	}
}

// tied says that two steps have an edge, or share a bind whichever alternatives they take.
func (c *compiler) tied(a, b int) bool {
	own := always(c.rule.Steps[a].patterns)
	return slices.ContainsFunc(always(c.rule.Steps[b].patterns), func(v int) bool { return slices.Contains(own, v) }) ||
		slices.ContainsFunc(c.rule.ties[:c.rule.fromEdge], func(e tie) bool { return e.from == a && e.to == b || e.from == b && e.to == a })
}

// always is the variables that every pattern binds.
func always(patterns []Pattern) []int {
	return slices.DeleteFunc(bindsOf(patterns), func(v int) bool {
		return slices.ContainsFunc(patterns, func(p Pattern) bool {
			return !slices.ContainsFunc(p.bindings, func(b binding) bool { return b.variable == v && !b.optional })
		})
	})
}

// unreachable reports causes and mechanisms that no verdict, edge or bind speaks
// of: they could only swell the score. A symptom may stand for itself.
func (c *compiler) unreachable() {
	var judged uint64
	for _, e := range c.rule.Verdict.levels {
		if e != nil {
			judged |= e.leaves()
		}
	}
	for i := range c.rule.Steps {
		role := c.rule.Steps[i].Role
		alone := judged&(1<<i) == 0 && (role == "cause" || role == "mechanism")
		for j := range c.rule.Steps {
			alone = alone && (i == j || !c.tied(i, j))
		}
		if alone {
			c.errorf(place{"steps", i, "id"}, "step %q is unreachable: no verdict, edge or shared bind speaks of it", c.rule.Steps[i].ID)
		}
	}
}

func (c *compiler) absences() {
	for i := range c.rule.Absent {
		a := &c.rule.Absent[i]
		at := place{"absent", i}
		if !slug.MatchString(a.ID) || c.step(a.ID) >= 0 || c.absence(a.ID) != i {
			c.errorf(place{"absent", i, "id"}, "id %q is no slug, or taken", a.ID)
		}
		c.pattern(&a.Pattern, at, false)
		c.count(a.Pattern)
		c.required(a.Source, "absent", i, "source")
		if (a.Before == "") == (a.During == "") {
			c.errorf(at, "an absence wants either before or during")
			continue
		}
		a.anchor = c.namedStep(cmp.Or(a.Before, a.During), "absent", i, map[bool]string{true: "before", false: "during"}[a.Before != ""])
		level, ok := levels[a.Level]
		if !ok {
			c.errorf(place{"absent", i, "level"}, "unknown level %q%s", a.Level, didYouMean(a.Level, sortedKeys(levels)))
		}
		a.level = level
	}
	if len(c.rule.Absent) > maxSteps {
		c.errorf(place{"absent"}, "more than %d absences", maxSteps)
	}
}

var levels = map[string]event.Level{
	"": event.NoLevel, "trace": event.Trace, "debug": event.Debug, "info": event.Info,
	"warning": event.Warning, "error": event.Error,
}

func (c *compiler) absence(id string) int {
	return slices.IndexFunc(c.rule.Absent, func(a Absence) bool { return a.ID == id })
}

// count notes that a pattern speaks of its variables.
func (c *compiler) count(p Pattern) {
	for _, b := range p.bindings {
		c.uses[b.variable]++
	}
}

func (c *compiler) objections() {
	for i := range c.rule.RulesOut {
		o := &c.rule.RulesOut[i]
		c.pattern(&o.Pattern, place{"rules_out", i}, false)
		c.count(o.Pattern)
		c.required(o.Why, "rules_out", i, "why")
		c.oneOf(o.Effect, effects, "rules_out", i, "effect")
		o.anchor = -1
		if o.During != "" {
			o.anchor = c.namedStep(o.During, "rules_out", i, "during")
		}
	}
}

func (c *compiler) verdicts() {
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
		e, err := parseExpression(row.text, func(id string) uint64 { return c.knownBit(id, "verdict", row.level.String()) })
		if err != nil {
			c.errorf(place{"verdict", row.level.String()}, "%v", err)
			continue
		}
		if e.leaves()&(1<<maxSteps-1) == 0 {
			c.errorf(place{"verdict", row.level.String()}, "a verdict needs a step: absence alone proves nothing")
		}
		v.levels[row.level] = e
	}
	if !found {
		c.errorf(place{"verdict"}, "verdict has no condition")
	}
}

func (c *compiler) bit(id string) uint64 {
	if i := c.step(id); i >= 0 {
		return 1 << i
	}
	if i := c.absence(id); i >= 0 {
		return 1 << (maxSteps + i)
	}
	return 0
}

// knownBit is bit with an error for an unknown id. It always returns a bit, so that the expression can be read on.
func (c *compiler) knownBit(id string, at ...any) uint64 {
	bit := c.bit(id)
	if bit == 0 {
		near := nearestWord(id, append(c.stepIDs(), c.absenceIDs()...))
		c.errorf(at, "unknown id %q%s", id, suggestion(near))
		bit = max(1, c.bit(near))
	}
	return bit
}

func (c *compiler) absenceIDs() []string {
	var ids []string
	for i := range c.rule.Absent {
		ids = append(ids, c.rule.Absent[i].ID)
	}
	return ids
}

// prose compiles headline, step texts and notes.
func (c *compiler) prose() {
	r := c.rule
	for i := range r.Steps {
		r.Steps[i].text = c.template(r.Steps[i].Text, true, "steps", i, "text")
	}
	r.headline = c.template(r.Headline, false, "headline")
	for i := range r.Notes {
		n := &r.Notes[i]
		c.required(n.Text, "notes", i, "text")
		n.text = c.template(n.Text, false, "notes", i, "text")
		if n.When != nil {
			n.When.step = c.namedStep(n.When.Step, "notes", i, "when", "step")
			n.When.conditions = c.plainConditions(n.When.Match, place{"notes", i, "when", "match"})
		}
	}
}

func (c *compiler) template(s string, own bool, at ...any) template {
	t, err := parseTemplate(s, scope{steps: c.step, variables: c.variable, captured: c.captured, own: own}, func(v int) { c.uses[v]++ })
	if err != nil {
		c.errorf(at, "%v", err)
	}
	return t
}

// captured returns the variable that a step takes from a text under a name, or -1.
func (c *compiler) captured(step int, name string) int {
	for _, p := range c.rule.Steps[step].patterns {
		for _, b := range p.bindings {
			if b.reading.placeholder == name {
				return b.variable
			}
		}
	}
	return -1
}

func (c *compiler) explanations() {
	r := c.rule
	if r.Per != "" {
		c.uses[c.bound(r.Per, "per")]++
	}
	for i := range r.ExplainedBy {
		for j, name := range r.ExplainedBy[i].Join {
			c.uses[c.bound(name, "explained_by", i, "join", j)]++
		}
	}
}

// bound is variable with an error for an unknown name. It returns the nearest one, if any is near.
func (c *compiler) bound(name string, at ...any) int {
	v := c.variable(name)
	if v < 0 {
		near := nearestWord(name, c.variableNames())
		c.errorf(at, "no step binds %q%s", name, suggestion(near))
		v = c.variable(near)
	}
	return v
}

// unused reports binds that tie nothing to anything, where they are first made.
func (c *compiler) unused() {
	for i := range c.rule.Steps {
		s := &c.rule.Steps[i]
		for _, v := range bindsOf(s.patterns) {
			if c.uses[v] != 1 {
				continue
			}
			j := slices.IndexFunc(s.patterns, func(p Pattern) bool { return slices.ContainsFunc(p.bindings, binds(v)) })
			b := s.patterns[j].bindings[slices.IndexFunc(s.patterns[j].bindings, binds(v))]
			name, hint := c.rule.variables[v].name, ""
			if b.reading.placeholder != "" {
				hint = "; {} stands for any word"
			}
			c.errorf(append(s.at(i, j), b.key...), "bind %q is used nowhere else%s", name, hint)
		}
	}
}

func binds(variable int) func(binding) bool {
	return func(b binding) bool { return b.variable == variable }
}

// at is the place of pattern j of step i in the file.
func (s *StepRule) at(i, j int) place {
	if len(s.Any) == 0 {
		return place{"steps", i}
	}
	return place{"steps", i, "any", j}
}
