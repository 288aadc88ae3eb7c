package rules

import (
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

	headline  template.Template
	variables []variable
	// ties are the pairs of steps of all edges, then those implied between steps that nothing else
	// ties: so many come from Edges.
	ties     []tie
	fromEdge int
	// edged and related are, by step, the steps to which it has a tie, and those to which it has
	// one or may share a bind.
	edged, related []uint64
	lines          []event.LineWatch // of its log.line patterns
}

// VersionRange says for which versions of a component the rule can hold.
type VersionRange struct {
	Fact     string // "kubelet.version"
	Affected string // "<1.14.0", ">=1.7.0 <1.7.17 || 2.0.0"

	affected version.Range
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

	conditions []condition.Condition
	bindings   []binding
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
	// Certainty "inferred" marks what the step says as concluded, not seen. Empty: as the event's
	// field of that name says.
	Certainty string

	text     template.Template
	patterns []Pattern
	events   eventSet
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

// tie is one pair of steps of an edge, compiled.
type tie struct {
	edge             int // that says it, in Rule.Edges; -1 for an implied one
	from, to         int // steps
	min, max         time.Duration
	overlap          time.Duration
	fromEnd, toEnd   bool // which ends the gap is measured between; the starts otherwise
	measured, shared bool // asks for a gap, for an overlap
	best             int  // upper bound of its quality, by the binds that both steps may have
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

	anchor int
	level  event.Level
	events eventSet
}

// Conditions are the expressions over ids of steps and absences: and, or, parentheses.
type Conditions struct {
	Confirmed, Likely, Possible string

	levels [Confirmed + 1]*logic.Expression // by verdict; nil where the rule has none
}

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

	anchor int // -1 without During
	near   time.Duration
	events eventSet
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

	text template.Template
}

// When is a condition on the event of one step.
type When struct {
	Step  string
	Match map[string]any

	step       int
	conditions []condition.Condition
}

// variable is a bind of a rule.
type variable struct {
	name string
	// prefix says that it holds container or sandbox ids, which write-ups cut short.
	prefix bool
	// quality is how well it ties two events together.
	quality int
	// container says that it holds a container's id.
	container bool
}

// binding is one bound field of a pattern.
type binding struct {
	reading  condition.Reading
	variable int
	optional bool  // an event may lack it
	key      []any // where it stands in the pattern: {"bind", "container"}
}

// defaultWeight is the weight of a step that names none.
const defaultWeight = 10

// maxSteps bounds a rule: sets of steps are bit masks.
const maxSteps = 32

// maxTies bounds the pairs of steps that the edges of a rule speak of: twice as many as there are
// pairs of maxSteps steps. The search looks at each of them for every event that it tries.
const maxTies = maxSteps * maxSteps

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
