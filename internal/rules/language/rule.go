// Package language turns rule files into rules that are checked, compiled and ready to be matched,
// and says of each mistake where it stands. It also lints rules and explains them as prose. It
// knows the shape of events and not what happened: what a rule finds is decided in package rules.
package language

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/condition"
	"github.com/plegdiag/plegdiag/internal/rules/logic"
	"github.com/plegdiag/plegdiag/internal/rules/template"
	"github.com/plegdiag/plegdiag/internal/rules/version"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Rule is one signature, as a file of the catalogue writes it. [Load] is the
// only way to make one: it checks and compiles what the YAML keys say.
type Rule struct {
	ID    string // a slug that names the mechanism: "umount2-overlay-sync"
	Title string
	// Role is what a finding of this rule may at most be. A link becomes the
	// root of its story when nothing deeper is proven.
	Role Role
	// Phase is the part of relist in which a stall of this cause sits; empty
	// when it may sit in any. It only decides which command is proposed next.
	Phase     timeline.Phase
	Mechanism string // two sentences of prose
	Versions  []VersionRange
	Needs     []Need
	Steps     []StepRule
	Edges     []EdgeRule
	Absent    []Absence
	Verdict   Conditions
	RulesOut  []Objection `yaml:"rules_out"`
	// Tells are what an expert knows the mechanism by, Supports what fits it and others too.
	Tells    []TellRule
	Supports []TellRule
	// ExplainedBy names deeper rules that may cause this one.
	ExplainedBy []Deeper `yaml:"explained_by"`
	// Per names the bind that gets one finding per value; empty for one finding in all.
	Per         string
	Headline    string // one sentence with placeholders
	Notes       []NoteRule
	Remediation Remediation
	References  []string
	// Exposed are the versions and settings that make a node run into this some day, without any
	// incident.
	Exposed []ExposureRule
	// Forecast are the numbers that grow towards a limit at which this happens.
	Forecast []ForecastRule

	Compiled CompiledRule `yaml:"-"`

	lines []event.LineWatch // of its log.line patterns
}

// CompiledRule is what [Load] makes of a rule. As all that is compiled it stands in a field that no
// file can set, belongs to the catalogue, and is the same for all who read it.
type CompiledRule struct {
	Headline  template.Template
	Variables []Variable // the binds of the rule
	// Ties are the pairs of steps of all edges, then those implied between steps that nothing else
	// ties: so many come from Edges.
	Ties     []Tie
	FromEdge int
	// Edged and Related are, by step, the steps to which it has a tie, and those to which it has
	// one or may share a bind, as bits.
	Edged, Related []uint64
}

// VersionRange says for which versions of a component the rule can hold.
type VersionRange struct {
	Fact     string // "kubelet.version"
	Affected string // "<1.14.0", ">=1.7.0 <1.7.17 || 2.0.0"

	Compiled version.Range `yaml:"-"` // of Affected
}

// Need is a group of sources of which one is enough, and how to collect it.
type Need struct {
	Any     []string // "goroutines.containerd", as event.Event.Source spells it, or "path:var/log/acme/*.log"
	Collect string   // a command
	Note    string   // what to know before it is run; empty where there is nothing
}

// Pattern says which events fit: those of one kind that meet every condition
// and carry every field that is bound.
type Pattern struct {
	Kind event.Kind
	// Match is field or field|operator to the wanted value; see operators.
	Match map[string]any
	// Bind is field to the name under which events of other steps must carry the same value. Of
	// "field|optional" an event may lack the field.
	Bind map[string]string

	Compiled CompiledPattern `yaml:"-"`
}

// CompiledPattern is a pattern made ready to be asked of events.
type CompiledPattern struct {
	Conditions []condition.Condition // in the order of their keys in Match
	Bindings   []Binding
}

// StepRule is one step of the causal chain.
type StepRule struct {
	ID     string
	Role   string // cause, mechanism, symptom, recovery
	Text   string // what happened, with placeholders
	Weight int    // share of the score in hundredths; 0 is read as defaultWeight
	// The step's pattern stands in the step itself or, when there are
	// alternatives, in Any; an event fits by the first alternative that takes it.
	Pattern `yaml:",inline"`
	Any     []Pattern
	// All gathers every event that would fit in this step's place, not only the best one.
	All bool
	Min int // with All: how many it takes; 0 is 1
	// GoesOn says that the step is the beginning of a row: each event that fits and comes within this
	// time of the one before it belongs to it, however far it is from the other steps; empty for no
	// row. It changes what is told of a step, and no verdict.
	GoesOn string `yaml:"goes_on"`
	// Certainty "inferred" marks what the step says as concluded, not seen. Empty: as the event's
	// field of that name says.
	Certainty string

	Compiled CompiledStep `yaml:"-"`
}

// CompiledStep is a step made ready to be looked up.
type CompiledStep struct {
	Text     template.Template
	GoesOn   time.Duration // 0 for no row
	Patterns []Pattern     // the alternatives, in their order
	Events   EventSet
}

// EdgeRule says how steps lie in time: each step of From to each step of To. Both a gap and an
// overlap may be asked for.
type EdgeRule struct {
	From, To StepIDs // ids of steps
	// Gap is how long after a step of From one of To may come.
	Gap *Gap
	// Overlap asks the intervals to intersect, or to miss each other by no more than this; empty
	// asks nothing.
	Overlap string
	// FromAt and ToAt name the ends between which the gap is measured: "start" (also when empty) or
	// "end".
	FromAt   string `yaml:"from_at"`
	ToAt     string `yaml:"to_at"`
	Relation string // "delays": prose for a reader
}

// StepIDs are one id of a step or a list of them.
type StepIDs []string

// SetText makes a list of one id, which needs no brackets.
func (ids *StepIDs) SetText(text string) { *ids = StepIDs{text} }

// CompareRoles orders the roles of steps, as a chain tells them: cause, mechanism, symptom,
// recovery.
func CompareRoles(a, b string) int {
	return cmp.Compare(slices.Index(stepRoles, a), slices.Index(stepRoles, b))
}

// Tie is one pair of steps of an edge, compiled.
type Tie struct {
	Edge             int // that says it, in Rule.Edges; -1 for an implied one
	From, To         int // steps
	Min, Max         time.Duration
	Overlap          time.Duration
	FromEnd, ToEnd   bool // which ends the gap is measured between; the starts otherwise
	Measured, Shared bool // asks for a gap, for an overlap
	Best             int  // upper bound of its quality, by the binds that both steps may have
}

// FindOther returns the step at the other end of an edge.
func (e *Tie) FindOther(step int) (int, bool) {
	switch step {
	case e.From:
		return e.To, true
	case e.To:
		return e.From, true
	}
	return -1, false
}

// Gap bounds a distance in time. An empty Min is 0s, an empty Max has no limit.
type Gap struct{ Min, Max string }

// Absence is a condition that holds when an event is provably missing: the
// source covers the time in question and no such event is there.
type Absence struct {
	ID      string
	Pattern `yaml:",inline"`
	Before  string // id of a step: no such event before it begins
	During  string // id of a step: no such event while it lasts
	Source  string // the source that would have shown it, by name or by "path:…"
	// Level is that of the line in question: a log without any line of that level proves nothing.
	// Empty for any.
	Level string

	Compiled CompiledAbsence `yaml:"-"`
}

// CompiledAbsence is an absence made ready to be looked up.
type CompiledAbsence struct {
	Anchor int         // the step of Before or During
	Level  event.Level // NoLevel for any
	Events EventSet
}

// Conditions are the expressions over ids of steps and absences: and, or, parentheses.
type Conditions struct {
	Confirmed, Likely, Possible string

	Compiled [Confirmed + 1]*logic.Expression `yaml:"-"` // by verdict; nil where the rule has none
}

// CanConfirm says whether anything makes the rule confirmed.
func (r *Rule) CanConfirm() bool { return r.Verdict.Compiled[Confirmed] != nil }

// Objection is evidence that speaks against a match.
type Objection struct {
	ID      string
	Pattern `yaml:",inline"`
	During  string // id of a step it has to overlap; empty for any time
	// Near is by how much it may miss the step of During; empty for not at all.
	Near string
	// After is true when it must not begin before that step does, as a restart before an end does.
	After  bool
	Why    string
	Effect string // "ruled-out" (also when empty) or "lowers"

	Compiled CompiledObjection `yaml:"-"`
}

// CompiledObjection is an objection made ready to be looked up.
type CompiledObjection struct {
	Anchor int // the step of During; -1 without it
	Near   time.Duration
	Events EventSet
}

// BindsAlways says that a contradiction binds values that its event must have: it speaks only
// against events that have bound the same.
func (o *Objection) BindsAlways() bool {
	return slices.ContainsFunc(o.Pattern.Compiled.Bindings, func(b Binding) bool { return !b.Optional })
}

// Deeper is a rule that may be the cause of this one.
type Deeper struct {
	Rule string
	Join []string // binds that must agree where both findings have them
}

// NoteRule is something a reader must know when a step's event is of a certain sort.
type NoteRule struct {
	When *When // nil for always
	Text string
	// Now is what to do now instead of what the rule says otherwise; nil where the note changes
	// nothing about that.
	Now *Action

	Compiled template.Template `yaml:"-"` // of Text
}

// When is a condition on the event of one step.
type When struct {
	Step  string
	Match map[string]any

	Compiled CompiledWhen `yaml:"-"`
}

// CompiledWhen is a condition on a step made ready to be asked.
type CompiledWhen struct {
	Step       int
	Conditions []condition.Condition
}

// Variable is a bind of a rule.
type Variable struct {
	Name string
	// Prefix says that it holds container or sandbox ids, which write-ups cut short.
	Prefix bool
	// Quality is how well it ties two events together.
	Quality int // ByID or ByProcess
	// Container says that it holds a container's id.
	Container bool
}

// Binding is one bound field of a pattern.
type Binding struct {
	Reading  condition.Reading
	Variable int
	Optional bool  // an event may lack it
	key      []any // where it stands in the pattern: {"bind", "container"}
}

// Qualities of the tie between two events, in thousandths. They are the
// weights of timeline-based correlation everywhere: an id says more than a
// process number, which the kernel reuses, and that more than mere time.
const (
	ByID      = 1000
	ByProcess = 800
	ByTime    = 500
)

// NoLimit stands for no limit of time; its double still fits a time.Duration.
const NoLimit = time.Duration(math.MaxInt64 / 2)

// defaultWeight is the weight of a step that names none.
const defaultWeight = 10

// MaxSteps bounds a rule: sets of steps are bit masks.
const MaxSteps = 32

// maxTies bounds the pairs of steps that the edges of a rule speak of: twice as many as there are
// pairs of MaxSteps steps. The search looks at each of them for every event that it tries.
const maxTies = MaxSteps * MaxSteps

// The words of the language, by the key they stand behind. An empty one is for a key that may be
// missing.
var (
	ruleRoles   = []string{string(Root), string(Link), string(Contributing), string(Fallback), string(NotReady)}
	phases      = []string{"", string(timeline.PhaseList), string(timeline.PhasePod), string(timeline.PhaseUnknown)}
	stepRoles   = []string{"cause", "mechanism", "symptom", "recovery"}
	certainties = []string{"", "observed", "inferred"}
	ends        = []string{"", "start", "end"}
	effects     = []string{"", "ruled-out", "lowers"}
)
