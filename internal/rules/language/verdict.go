package language

// Verdict is a rule's answer. A rule whose input is missing has not been passed: it is
// NotEvaluable.
type Verdict uint8

// Verdicts from nothing to certain.
const (
	NotEvaluable Verdict = iota
	RuledOut
	Weighed // something fits it, and other causes too
	Possible
	Likely
	Confirmed
)

var verdictNames = [...]string{"not-evaluable", "ruled-out", "weighed", "possible", "likely", "confirmed"}

// String is the verdict as reports write it.
func (v Verdict) String() string { return verdictNames[v] }

// Role is the part a finding plays in the incident; a rule says what its findings may at most be.
type Role string

// Roles of findings. A root is the deepest proven link; the links above it form its chain.
const (
	Root         Role = "root"
	Link         Role = "link"
	Contributing Role = "contributing"
	Fallback     Role = "fallback"
	// NotReady is a reason of its own why the node is not ready, apart from every root.
	NotReady Role = "notready"
)
