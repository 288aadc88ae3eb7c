package rules

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Verdict is a rule's answer. A rule whose input is missing has not been passed: it is NotEvaluable.
type Verdict uint8

// Verdicts from nothing to certain.
const (
	NotEvaluable Verdict = iota
	RuledOut
	Possible
	Likely
	Confirmed
)

var verdictNames = [...]string{"not-evaluable", "ruled-out", "possible", "likely", "confirmed"}

// String is the verdict as reports write it.
func (v Verdict) String() string { return verdictNames[v] }

// Role is the part a finding plays in the story of the incident.
type Role string

// Roles of findings. A root is the deepest proven link; the links above it form its chain.
const (
	Root         Role = "root"
	Link         Role = "link"
	Contributing Role = "contributing"
	Fallback     Role = "fallback"
)

// Finding is a rule that matched.
type Finding struct {
	Rule      string
	Title     string
	Verdict   Verdict
	Role      Role
	Score     float64 // 0 to 1; Formula says how it came about
	Formula   string
	Summary   string // one sentence, for the headline
	Container string // the container the finding is about; empty when it is about none
	Start     time.Time
	End       time.Time // zero times when no step is dated
	// Chain is cause, mechanism, symptom, recovery. A root's chain goes on with the links above it, up to the node.
	Chain          []Step
	Contradictions []Against
	Missing        []Missing
	Rivals         []Rival // other causes at the same time, between which the evidence does not decide
	Remediation    Remediation
	References     []string
	Notes          []string // what a reader must know before trusting it: "the delay was injected by strace"
}

// Step is one matched step of a rule.
type Step struct {
	ID   string
	Rule string // the rule the step belongs to
	Role string // cause, mechanism, symptom, recovery
	// Observed says that the step is tied to the one before it by an id and a certain order; otherwise the tie is inferred.
	Observed   bool
	Start, End time.Time     // zero when unknown; End zero for an instant
	Duration   time.Duration // zero for an instant; a lower bound when AtLeast
	AtLeast    bool
	Basis      string // how the times came about; empty when they were written
	Text       string
	Evidence   []event.Quote
}

// Against is evidence that speaks against a finding.
type Against struct {
	Why      string
	Evidence []event.Quote
}

// Rival is another finding that may as well be the root.
type Rival struct {
	Rule      string
	Container string    // empty when it is about none
	Decide    []Missing // what would decide between the two; empty when the bundle has all that either rule asks for
}

// Missing is an input that would decide, and the command that collects it.
type Missing struct {
	Source  string
	Command string
}

// Remediation is what to do: now, on the sick node, and for good.
type Remediation struct {
	Now, Durable []string
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
	Headline     string
	Findings     []Finding // confirmed, likely and possible; root before links, best first
	RuledOut     []Dismissed
	NotEvaluable []Unanswered
	Suspects     []Suspect  // where stalls without a root hung
	Harmless     []Harmless // seen, and of no meaning here
	Weighed      []string   // names of the known facts that rules ask for
	Exposed      []Exposure
	Forecasts    []Forecast
	Next         Missing // what to collect when no root is named; zero when there is nothing to find
}
