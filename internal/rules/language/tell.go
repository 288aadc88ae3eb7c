package language

import (
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/template"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

// TellRule is an event that speaks for a rule without the rest of its chain. Under tells it is one
// by which an expert knows the mechanism on sight; under supports one that fits it and others too.
// In effects.yaml it is one that shows that something waits or fails, whatever the cause.
type TellRule struct {
	ID   string
	Text string // what was seen, with placeholders
	// Why is the mechanism by which it is a tell: what else could make this event. Only of tells.
	Why string
	// Step takes pattern and text of a step of the rule; then nothing else says them.
	Step    string
	Pattern `yaml:",inline"`
	Any     []Pattern
	Min     int // how many events it takes; 0 is 1
	// Same is a field that has one value in all of them, and Within the time in which they lie; empty
	// for any. Of an effect Same is the field that has one value in it and in its tell.
	Same, Within string
	// Differ is a field that has at least Min values in them; empty for none.
	Differ string
	// Own says of an effect that it counts only for a tell that is the same event: a thread of the
	// runtime that is stuck in what the tell shows.
	Own bool
	// Excerpt says of an effect that it counts only for a tell in lines that somebody chose: a whole
	// journal shows by itself what failed with the tell, or that nothing did.
	Excerpt bool
	// BeginsWithin says of an effect how long after its start a tell may begin: what begins later is
	// a consequence. Empty for no limit.
	BeginsWithin string `yaml:"begins_within"`
	// Lasts is how long the events of a tell go on at least; empty for any time.
	Lasts string
	// Unless is an effect that says the same and says it better: where it is seen, this tell or effect
	// does not count. Of an effect it is one that stands before it.
	Unless string
	// NeverWith is another tell of the rule with which this one cannot be: where that one is seen,
	// nobody looks for this one. Empty for none.
	NeverWith string `yaml:"never_with"`
	// Role says of an effect that only rules of the role notready count it, and no other effect counts
	// for them: what makes a node not ready is no sign that something waits. Empty for the others.
	Role string
	// AtMost caps what the tell may prove, with whatever effect but those of ShownBy: "possible".
	// Empty for no cap.
	AtMost string `yaml:"at_most"`
	// ShownBy are effects that show what the tell alone leaves open: beside one of them AtMost does
	// not hold.
	ShownBy []string `yaml:"shown_by"`

	Compiled CompiledTell `yaml:"-"`
}

// CompiledTell is a tell, a support or an effect made ready to be looked up.
type CompiledTell struct {
	Text     template.Template
	Patterns []Pattern // the alternatives, in their order
	Events   EventSet
	Within   time.Duration // [NoLimit] for any
	Lasts    time.Duration
	Begins   time.Duration // of BeginsWithin; [NoLimit] where there is none
	Step     int           // whose events its text speaks of: that of Step, or one behind the last
}

var (
	tellCaps    = []string{"", Possible.String()}
	effectRoles = []string{"", string(NotReady)}
)

// compileTells compiles tells and supports, after the steps.
func (c *compiler) compileTells() {
	r := c.rule
	for i := range r.Tells {
		c.compileTell(&r.Tells[i], yamlfile.Place{"tells", i})
		c.requireText(r.Tells[i].Why, "tells", i, "why")
	}
	for i := range r.Supports {
		c.compileTell(&r.Supports[i], yamlfile.Place{"supports", i})
	}
	taken := map[string]bool{}
	for _, t := range r.listTells() {
		if taken[t.ID] {
			c.errorf(yamlfile.Place{"tells"}, "id %q is taken", t.ID)
		}
		taken[t.ID] = true
	}
	for i := range r.Tells {
		if other := r.Tells[i].NeverWith; other != "" && !taken[other] {
			c.errorf(yamlfile.Place{"tells", i, "never_with"}, "%q is no tell of the rule", other)
		}
	}
}

func (c *compiler) compileTell(t *TellRule, at yamlfile.Place) {
	c.requireWord(t.AtMost, tellCaps, at.In("at_most")...)
	if len(t.ShownBy) > 0 && t.AtMost == "" {
		c.errorf(at.In("shown_by"), "%q has no at_most that an effect could lift", t.ID)
	}
	c.requireWord(t.Role, effectRoles, at.In("role")...)
	if t.Min < 0 {
		c.errorf(at.In("min"), "min counts events: %d is none", t.Min)
	}
	t.Min = max(t.Min, 1)
	t.Compiled.Within = c.parseDuration(t.Within, NoLimit, at.In("within")...)
	t.Compiled.Lasts = c.parseDuration(t.Lasts, 0, at.In("lasts")...)
	t.Compiled.Begins = c.parseDuration(t.BeginsWithin, NoLimit, at.In("begins_within")...)
	if t.Step != "" {
		c.copyStep(t, at)
		return
	}
	if !slug.MatchString(t.ID) {
		c.errorf(at.In("id"), "id %q is no slug", t.ID)
	}
	c.requireText(t.Text, at.In("text")...)
	if (t.Kind != "") == (len(t.Any) > 0) {
		c.errorf(at, "%q wants either a kind, or alternatives under any, or a step", t.ID)
	}
	t.Compiled.Patterns = t.Any
	if len(t.Any) == 0 {
		t.Compiled.Patterns = []Pattern{t.Pattern}
	}
	for i := range t.Compiled.Patterns {
		c.compilePattern(&t.Compiled.Patterns[i], t.placeOf(at, i), false)
		c.countUses(t.Compiled.Patterns[i])
	}
	t.Compiled.Step = len(c.rule.Steps)
	in := template.Scope{
		Steps: func(id string) int {
			if id == t.ID {
				return t.Compiled.Step
			}
			return -1
		},
		Variables: c.rule.FindVariable,
		Captured:  func(int, string) int { return -1 },
		Own:       true,
	}
	var err error
	if t.Compiled.Text, err = template.Parse(t.Text, in, c.countUse); err != nil {
		c.errorf(at.In("text"), "%v", err)
	}
}

// placeOf is the place of a pattern of a tell in the file.
func (t *TellRule) placeOf(at yamlfile.Place, i int) yamlfile.Place {
	if len(t.Any) == 0 {
		return at
	}
	return at.In("any", i)
}

// copyStep gives a tell the pattern and the text of the step that it names.
func (c *compiler) copyStep(t *TellRule, at yamlfile.Place) {
	if t.Kind != "" || len(t.Any) > 0 || t.Text != "" {
		c.errorf(at, "a tell that names a step has no kind, any or text of its own")
	}
	i := c.resolveStep(t.Step, at.In("step")...)
	if i < 0 {
		return
	}
	s := &c.rule.Steps[i]
	if t.ID == "" {
		t.ID = s.ID
	}
	t.Compiled.Step, t.Compiled.Patterns = i, s.Compiled.Patterns
	t.Compiled.Text = c.compileTemplate(s.Text, true, "steps", i, "text")
}

// CountsFor says whether an effect counts for the tells of a rule.
func (t *TellRule) CountsFor(r *Rule) bool {
	return (t.Role == string(NotReady)) == (r.Role == NotReady)
}

// ListKinds are the kinds of events of which the steps, tells and supports of a rule know, some of
// them several times.
func (r *Rule) ListKinds() (all []event.Kind) {
	for i := range r.Steps {
		all = append(all, r.Steps[i].Kind)
		for _, p := range r.Steps[i].Any {
			all = append(all, p.Kind)
		}
	}
	for _, t := range r.listTells() {
		for i := range t.Compiled.Patterns {
			all = append(all, t.Compiled.Patterns[i].Kind)
		}
	}
	return all
}

// listTells are the tells and supports of a rule.
func (r *Rule) listTells() []*TellRule {
	var all []*TellRule
	for _, list := range [][]TellRule{r.Tells, r.Supports} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// effectFile is what the file of that name holds: the effects that all rules share.
type effectFile struct{ Effects []TellRule }

// effectFileName is the one file in a tree of rules that is no rule.
const effectFileName = "effects.yaml"

// readEffects reads the effects of a tree of rules. They stand in the place of the tells of a rule
// without steps, so that they are checked and looked up like any others.
func readEffects(file string, text []byte, known []event.KindInfo) (*Rule, yamlfile.Problems) {
	src, problem := yamlfile.Read(file, text)
	if problem != nil {
		return nil, yamlfile.Problems{problem}
	}
	var read effectFile
	unread := src.Decode(&read, yamlfile.Keys{})
	r, wrong := compileEffects(read.Effects, src)
	l := &linter{compiler: compiler{rule: r, src: src}, known: known}
	for i := range r.Supports {
		l.checkTell(&r.Supports[i], yamlfile.Place{"effects", i})
	}
	return r, slices.Concat(unread, wrong, l.wrong)
}

// compileEffects checks effects and prepares them for matching.
func compileEffects(all []TellRule, src *yamlfile.Source) (*Rule, yamlfile.Problems) {
	r := &Rule{ID: "effects", Supports: all}
	c := &compiler{rule: r, src: src, uses: map[int]int{}}
	for i := range r.Supports {
		c.compileTell(&r.Supports[i], yamlfile.Place{"effects", i})
	}
	if len(c.wrong) == 0 {
		r.prepareSearch()
	}
	return r, c.wrong
}

// checkTell checks the patterns of a tell and the fields that its text speaks of.
func (l *linter) checkTell(t *TellRule, at yamlfile.Place) {
	if t.Step != "" {
		return
	}
	var kinds []event.Kind
	for i := range t.Compiled.Patterns {
		l.checkPattern(&t.Compiled.Patterns[i], t.placeOf(at, i))
		kinds = append(kinds, t.Compiled.Patterns[i].Kind)
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	l.checkFields(t.Compiled.Text, kinds, at.In("text")...)
	// An Event of the API that is about a node names it as its object.
	if t.Same != "" && !(t.Same == string(event.FieldNode) && slices.Contains(kinds, event.KindKubeEvent)) {
		l.checkField(kinds, t.Same, at.In("same")...)
	}
	if t.Differ != "" {
		l.checkField(kinds, t.Differ, at.In("differ")...)
	}
}

// checkFields checks the fields that the text of a tell speaks of.
func (l *linter) checkFields(t template.Template, kinds []event.Kind, at ...any) {
	for _, p := range t.ListPlaceholders() {
		if name := p.Names[0]; name.Field != "" && name.Variable < 0 && !slices.Contains(momentFields, name.Field) {
			l.checkField(kinds, name.Field, at...)
		}
	}
}
