package document

import "github.com/plegdiag/plegdiag/internal/report/show"

// Comparison is two bundles side by side.
type Comparison struct {
	Schema   string        `json:"schema"`   // which document this is
	Tool     show.Tool     `json:"tool"`     // what made the document
	A        Side          `json:"a"`        // the first bundle
	B        Side          `json:"b"`        // the second bundle
	Findings []FindingPair `json:"findings"` // rules that are a finding on either side
	Calls    []CallPair    `json:"calls"`    // calls of the CRI, by method
	Errors   []ErrorPair   `json:"errors"`   // errors of the CRI that the kubelet saw, by method
	Facts    []FactPair    `json:"facts"`    // that differ, or that one side alone shows
}

// Side is one of two bundles.
type Side struct {
	Node     string   `json:"node"`            // host name; may be empty
	Headline string   `json:"headline"`        // the answer in one sentence
	Seen     float64  `json:"seen_seconds"`    // that the evidence spans
	Stalls   int      `json:"stalls"`          // of relist
	PerDay   *float64 `json:"stalls_per_day"`  // null when the evidence spans less than an hour
	Stalled  float64  `json:"stalled_seconds"` // of all stalls together
	Longest  float64  `json:"longest_seconds"` // of the longest stall
	Open     bool     `json:"open"`            // a stall had no end: its length is a lower bound
}

// FindingPair is what became of one rule.
type FindingPair struct {
	Rule string `json:"rule"` // its id
	A    string `json:"a"`    // verdict and role there; empty if it is no finding
	B    string `json:"b"`    // verdict and role there; empty if it is no finding
	// "lost" or "gained" only if the other side rules the rule out; "unknown" if its evidence does not
	// show whether it holds.
	Change string `json:"change"`
	Why    string `json:"unknown_why"` // of an unknown change; empty otherwise
}

// CallPair is the calls of one method of the CRI.
type CallPair struct {
	Method string `json:"method"` // as ListContainers
	A      Calls  `json:"a"`      // in the first bundle
	B      Calls  `json:"b"`      // in the second bundle
}

// Calls is how many there were, and how long they took.
type Calls struct {
	Count  int     `json:"count"`          // how many there were
	Failed int     `json:"failed"`         // of them, those that ended with an error
	Open   int     `json:"open"`           // that have no end
	Median float64 `json:"median_seconds"` // half of them took no longer
	P95    float64 `json:"p95_seconds"`    // 95 of 100 took no longer
	Max    float64 `json:"max_seconds"`    // the longest
}

// ErrorPair is the errors of one method of the CRI.
type ErrorPair struct {
	Method    string `json:"method"`      // as ListContainers
	A         int    `json:"a"`           // how many in the first bundle
	B         int    `json:"b"`           // how many in the second bundle
	DeadlineA int    `json:"a_deadlines"` // of them, those that ran out of time
	DeadlineB int    `json:"b_deadlines"` // of them, those that ran out of time
}

// FactPair is one fact of both sides.
type FactPair struct {
	Name string `json:"name"` // as in docs/facts.md
	A    string `json:"a"`    // empty: this side does not show it, which says nothing about its node
	B    string `json:"b"`    // empty: this side does not show it, which says nothing about its node
}
