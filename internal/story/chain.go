package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// completeChain lets the chain of a root go on with its links, up to the node, and notes what a
// reader must know about where it begins and ends.
func (s *story) completeChain(root *part) {
	stall := s.findMainStall(root)
	shown := map[*event.Event]bool{}
	for _, step := range root.Chain {
		for _, e := range step.Events {
			shown[e] = true
		}
	}
	for _, link := range s.listLinks(root) {
		addLink(root, link, shown)
	}
	if stall == nil {
		if call := s.findOpenCall(root); call != nil {
			root.Chain = append(root.Chain, describeOpenCall(root, call))
		}
		root.Notes = append(root.Notes, s.whyNoStall())
	} else {
		addNode(root, stall)
	}
	slices.SortStableFunc(root.Chain, func(a, b rules.Step) int { return cmp.Compare(rankRecovery(a), rankRecovery(b)) })
	for _, cause := range root.deeper {
		root.Notes = append(root.Notes, fmt.Sprintf(unprovenCause, cause.Rule, cause.Verdict))
	}
}

// findOpenCall returns the first call to the runtime that has not ended, where a cause was only
// seen by looks at what runs: it began before anybody looked, and the call has waited since then.
// Nil for none.
func (s *story) findOpenCall(p *part) *event.Event {
	for i := range p.Chain {
		step := &p.Chain[i]
		looked := !slices.ContainsFunc(step.Events, func(e *event.Event) bool { return !slices.Contains(looks, e.Kind) })
		if !looked && (step.Role == "cause" || step.Role == "mechanism") {
			return nil
		}
	}
	var first *event.Event
	for _, e := range s.timeline.Events {
		early := p.Cause.Start.Sub(e.Start.T)
		if e.Kind == event.KindCRICall && e.Open && e.Duration() >= longOpen && early > 0 && early <= liveTime &&
			(first == nil || e.Start.T.Before(first.Start.T)) {
			first = e
		}
	}
	return first
}

// longOpen is how long a call must be open where nothing else tells since when it waits.
const longOpen = 10 * time.Second

// describeOpenCall is the step of a call that has not ended.
func describeOpenCall(root *part, call *event.Event) rules.Step {
	return rules.Step{
		ID: "open-call", Rule: root.Rule, Role: "symptom", Start: call.Start.T, End: call.End.T, Duration: call.Duration(), AtLeast: true,
		Text: fmt.Sprintf(openCallStep, call.Text), Evidence: call.Evidence, Events: []*event.Event{call},
	}
}

// rankRecovery puts steps of recovery behind all others.
func rankRecovery(s rules.Step) int {
	if s.Role == "recovery" {
		return 1
	}
	return 0
}

// listLinks returns the proven links above a root, one per rule, those nearest to it first.
func (s *story) listLinks(root *part) []*part {
	var links []*part
	level := []*part{root}
	listed := map[string]bool{root.Rule: true}
	for len(level) > 0 {
		var above []*part
		for _, p := range s.parts {
			explained := slices.ContainsFunc(p.deeper, func(d *part) bool { return slices.Contains(level, d) })
			if explained && p.eligible && p.Role == language.Link && !listed[p.Rule] {
				listed[p.Rule] = true
				above = append(above, p)
			}
		}
		links = append(links, above...)
		level = above
	}
	return links
}

// addLink adds the steps of a link of which the chain does not yet show the events.
func addLink(root, link *part, shown map[*event.Event]bool) {
	tied := sharesBind(root, link)
	for _, step := range link.Chain {
		fresh := slices.ContainsFunc(step.Events, func(e *event.Event) bool { return !shown[e] })
		for _, e := range step.Events {
			shown[e] = true
		}
		if !fresh {
			tied = true // the two share what was seen
			continue
		}
		step.Observed = step.Observed && tied
		tied = true
		root.Chain = append(root.Chain, step)
	}
}

// sharesBind says that a link has the same value as its root of a bind that joins them.
func sharesBind(root, link *part) bool {
	return slices.ContainsFunc(link.rule.ExplainedBy, func(e language.Deeper) bool {
		return slices.ContainsFunc(e.Join, func(name string) bool {
			both, same := root.CompareBind(&link.Finding.Finding, name)
			return both && same
		})
	})
}

// addNode leads the chain of a root to the stall and the node's condition. Where a step of a rule
// shows one of them, that step takes its place, and it is not shown twice.
func addNode(root *part, stall *timeline.Stall) {
	endChain(root, event.KindStall, rules.Step{
		ID: "stall", Rule: root.Rule, Role: "symptom",
		Start: stall.Start, End: stall.End, Duration: stall.End.Sub(stall.Start), AtLeast: stall.Open, Text: fmt.Sprintf(stallStep, describeLength(stall)), Evidence: stall.Evidence,
	})
	if stall.NotReady.IsZero() {
		root.Notes = append(root.Notes, notReadyNotLogged)
		return
	}
	endChain(root, event.KindNodeNotReady, rules.Step{
		ID: "not-ready", Rule: root.Rule, Role: "symptom", Observed: true,
		Start: stall.NotReady, Text: notReadyStep, Evidence: stall.NotReadyEvidence,
	})
}

// endChain puts a step at the end of a chain: the one that shows an event of this kind and of the
// step's start, if there is any.
func endChain(root *part, kind event.Kind, step rules.Step) {
	if i := slices.IndexFunc(root.Chain, func(s rules.Step) bool { return showsEvent(&s, kind, step.Start) }); i >= 0 {
		step = root.Chain[i]
		root.Chain = slices.Delete(root.Chain, i, i+1)
	}
	root.Chain = append(root.Chain, step)
}

// showsEvent says whether a step matched an event of this kind and start.
func showsEvent(step *rules.Step, kind event.Kind, start time.Time) bool {
	return slices.ContainsFunc(step.Events, func(e *event.Event) bool { return e.Kind == kind && e.Start.T.Equal(start) })
}

// whyNoStall says why the chain of a root does not lead to a stall.
func (s *story) whyNoStall() string {
	switch {
	case !s.hasKubeletLog():
		return notReadyNoJournal
	case len(s.timeline.Stalls) == 0:
		return notReadyNoStall
	}
	return undatedRoot
}

// hasKubeletLog says that the bundle holds a log of the kubelet; a dump does not tell the node's
// condition.
func (s *story) hasKubeletLog() bool {
	return slices.ContainsFunc(s.timeline.Coverage, func(c timeline.Coverage) bool {
		return strings.HasPrefix(c.Source, "kubelet.")
	})
}

// describeLength is "3m12s", "at least 3m12s".
func describeLength(stall *timeline.Stall) string {
	length := event.DurationText(stall.End.Sub(stall.Start))
	if stall.Open {
		return "at least " + length
	}
	return length
}
