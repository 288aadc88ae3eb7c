package document

import "github.com/plegdiag/plegdiag/internal/report/show"

// Comparison is two bundles side by side.
type Comparison struct {
	Schema   string        `json:"schema"` // which document this is
	Tool     show.Tool     `json:"tool"`
	A        Side          `json:"a"`
	B        Side          `json:"b"`
	Findings []FindingPair `json:"findings"`
	Calls    []CallPair    `json:"calls"`  // calls of the CRI, by method
	Errors   []ErrorPair   `json:"errors"` // errors of the CRI that the kubelet saw, by method
	Facts    []FactPair    `json:"facts"`  // that differ, or that one side alone shows
}

// Side is one of two bundles.
type Side struct {
	Node     string   `json:"node"`
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
	Rule string `json:"rule"`
	A    string `json:"a"` // verdict and role there; empty if it is no finding
	B    string `json:"b"` // verdict and role there; empty if it is no finding
	// "lost" or "gained" only if the other side rules the rule out; "unknown" if its evidence does not
	// show whether it holds.
	Change string `json:"change"`
	Why    string `json:"unknown_why"` // of an unknown change; empty otherwise
}

// CallPair is the calls of one method of the CRI.
type CallPair struct {
	Method string `json:"method"`
	A      Calls  `json:"a"`
	B      Calls  `json:"b"`
}

// Calls is how many there were, and how long they took.
type Calls struct {
	Count  int     `json:"count"`
	Failed int     `json:"failed"`
	Open   int     `json:"open"` // that have no end
	Median float64 `json:"median_seconds"`
	P95    float64 `json:"p95_seconds"`
	Max    float64 `json:"max_seconds"`
}

// ErrorPair is the errors of one method of the CRI.
type ErrorPair struct {
	Method    string `json:"method"`
	A         int    `json:"a"`
	B         int    `json:"b"`
	DeadlineA int    `json:"a_deadlines"` // of them, those that ran out of time
	DeadlineB int    `json:"b_deadlines"` // of them, those that ran out of time
}

// FactPair is one fact of both sides.
type FactPair struct {
	Name string `json:"name"`
	A    string `json:"a"` // empty: this side does not show it, which says nothing about its node
	B    string `json:"b"` // empty: this side does not show it, which says nothing about its node
}
