package document

import "github.com/plegdiag/plegdiag/internal/report/show"

// RuleList is the catalogue of rules.
type RuleList struct {
	Schema string    `json:"schema"` // which document this is
	Tool   show.Tool `json:"tool"`   // what made the document
	Rules  []Rule    `json:"rules"`  // by id
}

// Rule is one known cause.
type Rule struct {
	ID          string      `json:"id"`           // by which all outputs name it
	Title       string      `json:"title"`        // the cause in a few words
	Role        string      `json:"role"`         // what its findings may at most be
	Mechanism   string      `json:"mechanism"`    // how it comes to a stall
	Headline    string      `json:"headline"`     // with placeholders
	Versions    []Version   `json:"versions"`     // that are affected
	Needs       []Need      `json:"needs"`        // inputs without which it is not evaluable
	ExplainedBy []string    `json:"explained_by"` // deeper rules
	Remediation Remediation `json:"remediation"`  // what to do
	References  []string    `json:"references"`   // where to read more
}

// Version is which versions of a program are affected.
type Version struct {
	Fact     string `json:"fact"`     // that has the version
	Affected string `json:"affected"` // a range, or the words of the rule
}

// Need is an input that a rule needs.
type Need struct {
	Any     []string `json:"any"`     // sources of which one is enough
	Collect string   `json:"collect"` // the command that collects it
}

// KindList is the kinds of events that rules can match.
type KindList struct {
	Schema string    `json:"schema"` // which document this is
	Tool   show.Tool `json:"tool"`   // what made the document
	Kinds  []Kind    `json:"kinds"`  // by component
	IDs    []Field   `json:"ids"`    // by which events belong together
	Common []Field   `json:"common"` // fields of every event
}

// Kind is one kind of event.
type Kind struct {
	Kind   string   `json:"kind"`   // its name
	About  string   `json:"about"`  // what it is
	IDs    []string `json:"ids"`    // that an event of the kind may carry
	Fields []Field  `json:"fields"` // that an event of the kind may carry
	Open   bool     `json:"open"`   // every other key of a log line is a field, too
}

// Field is one named value of an event.
type Field struct {
	Name   string   `json:"name"`   // as rules and outputs name it
	Type   string   `json:"type"`   // what its values are; a duration is a number of seconds
	Unit   string   `json:"unit"`   // what a number counts or measures; may be empty
	Values []string `json:"values"` // all that it may be; empty where anything goes
	About  string   `json:"about"`  // what it holds
}
