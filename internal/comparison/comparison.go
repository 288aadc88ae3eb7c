// Package comparison puts two incidents side by side: their calls, failures, findings and facts.
package comparison

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Result is two incidents side by side: a node before and after a fix, treatment and control of
// a canary.
type Result struct {
	A, B     Side
	Calls    []CallPair    // of the CRI, by method
	Errors   []ErrorPair   // CRI calls of which the kubelet says that they failed, by method
	Findings []FindingPair // by rule
	Facts    []FactPair    // those that differ, and those that one side knows
}

// Side is one of the two.
type Side struct {
	*incident.Incident
	// Seen is how long the kubelet's log is, or the whole evidence where there is none; 0 when
	// nothing is dated.
	Seen    time.Duration
	Stalled time.Duration // sum of the stalls; a lower bound when one was still open
	Longest time.Duration
	Open    bool // a stall had not ended
	// HasLog says that there is a log of the kubelet: without one, that nothing is seen of stalls and
	// of failed calls says nothing.
	HasLog bool
}

// minRate is the shortest stretch that gives a rate: one stall in seven minutes is not 200 a day.
const minRate = time.Hour

// StallsPerDay is the rate of stalls; ok is false when the evidence spans less than an hour.
func (s *Side) StallsPerDay() (rate float64, ok bool) {
	if s.Seen < minRate {
		return 0, false
	}
	return float64(len(s.Timeline.Stalls)) / (s.Seen.Hours() / 24), true
}

// Calls are the calls of one method.
type Calls struct {
	Count  int
	Failed int
	Open   int // of which no end was seen; their durations are lower bounds
	// Median, P95 and Max are of the durations; 0 when there is no call.
	Median, P95, Max time.Duration
}

// CallPair is one method on both sides.
type CallPair struct {
	Method string
	A, B   Calls
}

// ErrorPair counts the failures of one method on both sides, and those of them that ran into a
// deadline.
type ErrorPair struct {
	Method               string
	A, B                 int
	DeadlineA, DeadlineB int
}

// FindingPair is the best finding of one rule on each side; nil where there is none.
type FindingPair struct {
	Rule string
	A, B *story.Finding
	// Unknown says why the side without a finding does not show that there is none: what it would
	// take is not in its evidence. Empty where the rule is ruled out there, and where both have one.
	Unknown string
}

// Change is what became of a finding from A to B.
type Change string

// What may have become of a finding. It is lost, or gained, only where the other side rules it out.
const (
	Gained   Change = "gained"
	Lost     Change = "lost"
	Same     Change = "same"
	Weaker   Change = "weaker"
	Stronger Change = "stronger"
	Unknown  Change = "unknown"
)

// Change says what became of the finding.
func (f *FindingPair) Change() Change {
	switch {
	case f.Unknown != "":
		return Unknown
	case f.A == nil:
		return Gained
	case f.B == nil:
		return Lost
	case f.A.Verdict == f.B.Verdict:
		return Same
	case f.A.Verdict > f.B.Verdict:
		return Weaker
	}
	return Stronger
}

// FactPair is one fact on both sides; empty where it is not known, which says nothing about the
// node.
type FactPair struct {
	Name, A, B string
}

// Compare puts two incidents side by side.
func Compare(a, b *incident.Incident) *Result {
	c := &Result{A: newSide(a), B: newSide(b)}
	callsA, callsB := callsByMethod(a), callsByMethod(b)
	for _, method := range keysOfBoth(callsA, callsB) {
		c.Calls = append(c.Calls, CallPair{method, summarizeCalls(callsA[method]), summarizeCalls(callsB[method])})
	}
	errorsA, errorsB := countErrors(a), countErrors(b)
	for _, method := range keysOfBoth(errorsA, errorsB) {
		a, b := errorsA[method], errorsB[method]
		c.Errors = append(c.Errors, ErrorPair{method, a.all, b.all, a.deadline, b.deadline})
	}
	findingsA, findingsB := bestFindings(a), bestFindings(b)
	for _, rule := range keysOfBoth(findingsA, findingsB) {
		pair := FindingPair{Rule: rule, A: findingsA[rule], B: findingsB[rule]}
		if pair.A == nil {
			pair.Unknown = whyUnknown(a, rule)
		} else if pair.B == nil {
			pair.Unknown = whyUnknown(b, rule)
		}
		c.Findings = append(c.Findings, pair)
	}
	for _, name := range keysOfBoth(a.Timeline.Facts, b.Timeline.Facts) {
		if va, vb := a.Timeline.Facts[name].Value, b.Timeline.Facts[name].Value; va != vb {
			c.Facts = append(c.Facts, FactPair{name, va, vb})
		}
	}
	return c
}

// whyUnknown says why an incident does not show whether a rule holds; empty where it rules it out.
func whyUnknown(inc *incident.Incident, rule string) string {
	if slices.ContainsFunc(inc.Result.RuledOut, func(d rules.Dismissed) bool { return d.Rule == rule }) {
		return ""
	}
	for _, u := range inc.Result.NotEvaluable {
		if u.Rule == rule {
			return u.Why
		}
	}
	return "the evidence does not decide it"
}

func newSide(inc *incident.Incident) Side {
	s := Side{Incident: inc}
	var log, all timeline.Window
	for _, c := range inc.Timeline.Coverage {
		w := timeline.Window{Start: c.Start, End: c.End}
		all = all.Union(w)
		if c.Source == "kubelet.log" {
			log = log.Union(w)
		}
	}
	s.HasLog = !log.IsZero()
	if !s.HasLog {
		log = all
	}
	s.Seen = log.End.Sub(log.Start)
	for i := range inc.Timeline.Stalls {
		st := &inc.Timeline.Stalls[i]
		lasted := st.End.Sub(st.Start)
		s.Stalled += lasted
		s.Longest = max(s.Longest, lasted)
		s.Open = s.Open || st.Open
	}
	return s
}

// callsByMethod are the CRI calls whose length is known, at least in part.
func callsByMethod(inc *incident.Incident) map[string][]*event.Event {
	all := map[string][]*event.Event{}
	for _, e := range inc.Timeline.Events {
		if e.Kind == event.KindCRICall && !e.End.IsZero() {
			all[e.FieldText(event.FieldMethod)] = append(all[e.FieldText(event.FieldMethod)], e)
		}
	}
	return all
}

func summarizeCalls(all []*event.Event) Calls {
	if len(all) == 0 {
		return Calls{}
	}
	c := Calls{Count: len(all)}
	var lasted []time.Duration
	for _, e := range all {
		lasted = append(lasted, e.Duration())
		if e.FieldText(event.FieldOutcome) == "failed" {
			c.Failed++
		}
		if e.Open {
			c.Open++
		}
	}
	slices.Sort(lasted)
	c.Median, c.P95, c.Max = percentile(lasted, 50), percentile(lasted, 95), lasted[len(lasted)-1]
	return c
}

// percentile is the nearest-rank percentile of sorted values.
func percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

// failures counts calls that failed, and those of them that ran into a deadline.
type failures struct{ all, deadline int }

// countErrors counts the failed CRI calls of each method.
func countErrors(inc *incident.Incident) map[string]failures {
	all := map[string]failures{}
	for _, e := range inc.Timeline.Events {
		if e.Kind != event.KindCRIError {
			continue
		}
		f := all[e.FieldText(event.FieldMethod)]
		f.all++
		if e.FieldText(event.FieldDeadline) == "true" {
			f.deadline++
		}
		all[e.FieldText(event.FieldMethod)] = f
	}
	return all
}

// bestFindings are the best of each rule; those of an incident come best first.
func bestFindings(inc *incident.Incident) map[string]*story.Finding {
	all := map[string]*story.Finding{}
	for i := range inc.Result.Findings {
		f := &inc.Result.Findings[i]
		best := all[f.Rule]
		if best == nil || cmp.Or(cmp.Compare(f.Verdict, best.Verdict), cmp.Compare(f.Score, best.Score)) > 0 {
			all[f.Rule] = f
		}
	}
	return all
}

// keysOfBoth are the keys of two maps, sorted.
func keysOfBoth[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}
