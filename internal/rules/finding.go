package rules

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Finding is a rule that matched, as far as the rule alone tells: what part it plays in the
// incident is decided elsewhere.
type Finding struct {
	Rule      string
	Title     string
	Verdict   language.Verdict
	Score     float64 // 0 to 1; Formula says how it came about
	Formula   string
	Summary   string // one sentence, for the headline
	Container string // the container the finding is about; empty when it is about none
	Start     time.Time
	End       time.Time // zero times when no step is dated
	// Cause spans the steps that cause, or all steps where none causes: a symptom may come as late
	// as it likes. Zero when none of them is dated.
	Cause timeline.Window
	Open  bool // a step's end or start was not seen
	// Chain is cause, mechanism, symptom, recovery.
	Chain          []Step
	Contradictions []Against
	Lacks          []Missing // needs of the rule that the bundle does not meet
	Missing        []Missing // those of Lacks that would decide: none of a confirmed finding
	Remediation    language.Remediation
	// StepsSeen says of a likely finding that all is there that would make it confirmed, also a
	// version that is known: something speaks against it. TimeOnly says that nothing but time ties its
	// steps.
	StepsSeen, TimeOnly bool
	// NotSeen are the steps, in words, that would make a likely finding confirmed; where several sets
	// of them would, those of the smallest. None where no step would.
	NotSeen    []string
	References []string
	Notes      []string // what a reader must know before trusting it: "the tracer injected the delay"
	// ByTells says that no more than tells and their effects were seen of the rule's chain.
	ByTells bool

	rule  *language.Rule
	bound []string // by variable of the rule
}

// CompareBind compares what two findings have bound to a name. Both says that both have bound it;
// same that nothing contradicts.
func (f *Finding) CompareBind(other *Finding, name string) (both, same bool) {
	a, b := f.rule.FindVariable(name), other.rule.FindVariable(name)
	if a < 0 || b < 0 || f.bound[a] == "" || other.bound[b] == "" {
		return false, true
	}
	_, same = joinValues(&f.rule.Compiled.Variables[a], f.bound[a], other.bound[b])
	return true, same
}

// Step is one matched step of a rule.
type Step struct {
	ID   string
	Rule string // the rule the step belongs to
	Role string // cause, mechanism, symptom, recovery
	// Observed says that the step is tied to the one before it by an id and a certain order;
	// otherwise the tie is inferred.
	Observed bool
	// Apart says that neither its role nor an edge nor an id leads to the step from one before it: the
	// two are signs of the same, told one after the other.
	Apart      bool
	Start, End time.Time     // zero when unknown; End zero for an instant
	Duration   time.Duration // zero for an instant; a lower bound when AtLeast
	AtLeast    bool
	// AtMost says that Start is the earliest of the moments at which it can have begun, as of a
	// goroutine's wait that is printed in minutes: Duration is then the longest that it can have
	// lasted.
	AtMost   bool
	Basis    string // how the times came about; empty when they were written
	Text     string
	Evidence []event.Quote
	Events   []*event.Event // what it was made of; shared with the timeline
	More     int            // how many more than Events it was made of, where not all are kept
}

// Against is evidence that speaks against a finding.
type Against struct {
	Why      string
	Evidence []event.Quote
}

// Missing is an input that would decide, and the command that collects it.
type Missing struct {
	Source  string
	Command string
	// Note is what to know before the command is run: what to fill in, what it asks for. Empty where
	// there is nothing.
	Note string
}

// Dismissed is a rule that was evaluated and does not hold.
type Dismissed struct {
	Rule     string
	Why      string
	Evidence []event.Quote
}

// Unanswered is a rule that could not be evaluated.
type Unanswered struct {
	Rule    string
	Why     string
	Missing []Missing
}

// Result is the answer of all rules.
type Result struct {
	Findings []Finding // confirmed, likely and possible; best first
	// More are matches of rules that have all the findings that one rule may have, no better than
	// these; best first.
	More         []Finding
	RuledOut     []Dismissed
	NotEvaluable []Unanswered
	// Hypotheses are the rules for which something speaks, the surer first.
	Hypotheses []Hypothesis
	AskedFacts []string // names of the known facts that rules ask for
	Exposed    []Exposure
	Forecasts  []Forecast
}
