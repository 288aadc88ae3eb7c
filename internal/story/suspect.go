package story

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Suspect is a container, a sandbox or a pod at which a stall without a root hung, as far as single lines
// show it. It is no cause: it says where to look.
type Suspect struct {
	Stall    int    // index of the stall on the timeline
	What     string // "container", "sandbox", "pod"
	ID       string // the id as it was written; of a pod namespace/name
	Why      string
	Evidence []event.Quote // at most maxSuspectQuotes
}

// String is the suspect in half a sentence.
func (s Suspect) String() string {
	id := s.ID
	if s.What != "pod" {
		id = event.ShortID(id)
	}
	return s.What + " " + event.OneLine(id) + ": " + event.OneLine(s.Why)
}

// Bounds of what is told of suspects.
const (
	maxSuspects      = 3 // per stall
	maxSuspectQuotes = 2
	// suspectWait is how long a call must last to speak against its container; half of what the kubelet waits for.
	suspectWait = timeline.CallLimit / 2
)

// suspect names, for each stall that has no root, at which containers or pods it hung.
func (s *story) suspect(result *Result) {
	rooted := map[int]bool{}
	for _, d := range s.drafts {
		if d.Role == rules.Root {
			for _, stall := range s.stalls(d) {
				rooted[stall] = true
			}
		}
	}
	for i := range s.timeline.Stalls {
		if !rooted[i] {
			result.Suspects = append(result.Suspects, s.suspectsOf(i)...)
		}
	}
}

// sign is what the events of one sort say against one container.
type sign struct {
	Suspect
	rank, count int
}

// suspectsOf are the containers that the lines of a stall speak of: a lock held for one beats a call that did not
// end, and that beats calls that ran into their deadlines; what was said more often comes first.
func (s *story) suspectsOf(stall int) []Suspect {
	var signs []*sign
	for i := range s.timeline.Events {
		e := &s.timeline.Events[i]
		rank, why := speaksAgainst(e)
		what, id := whose(e)
		if why == "" || id == "" || e.Start.IsZero() || !speaksOf(e, &s.timeline.Stalls[stall]) {
			continue
		}
		n := slices.IndexFunc(signs, func(g *sign) bool { return g.ID == id && g.rank == rank })
		if n < 0 {
			n = len(signs)
			signs = append(signs, &sign{Suspect{stall, what, id, why, nil}, rank, 0})
		}
		g := signs[n]
		g.count++
		if len(e.Evidence) > 0 && len(g.Evidence) < maxSuspectQuotes {
			g.Evidence = append(g.Evidence, e.Evidence[0])
		}
	}
	slices.SortStableFunc(signs, func(a, b *sign) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.count, a.count)) })
	var all []Suspect
	for _, g := range signs {
		told := slices.ContainsFunc(all, func(o Suspect) bool { return o.ID == g.ID })
		if told || len(all) == maxSuspects {
			continue
		}
		if g.count > 1 {
			g.Why += fmt.Sprintf(" (%d×)", g.count)
		}
		all = append(all, g.Suspect)
	}
	return all
}

// speaksOf says that an event may tell of what a stall waits for. A shim that does not answer is asked again and again, so that a log that was
// cut shows it late in the stall; what else begins late is a consequence.
func speaksOf(e *event.Event, stall *timeline.Stall) bool {
	if e.Kind == "containerd.state-timeout" {
		return stall.MayHaveSymptom(timeline.Window{Start: e.Start.T, End: e.Last().T})
	}
	return stall.MayHaveCause(timeline.Window{Start: e.Start.T, End: e.Last().T}, e.Open)
}

// speaksAgainst says what an event holds against its container, and how much that is worth; 0 is most.
func speaksAgainst(e *event.Event) (rank int, why string) {
	switch e.Kind {
	case "lock.held":
		return 0, "its lock is held while others wait"
	case "cri.call":
		if method := e.FieldText("method"); e.Duration() >= suspectWait {
			if e.Open {
				return 1, method + " did not end"
			}
			return 1, method + " lasted " + event.DurationText(e.Duration())
		}
	case "containerd.state-timeout":
		return 2, "its shim did not answer State"
	case "containerd.delete-failed":
		if e.FieldText("deadline") == "true" {
			return 2, "its shim did not answer Delete"
		}
	case "kubelet.cri-error":
		if e.FieldText("deadline") == "true" {
			return 2, e.FieldText("method") + " ran into its deadline"
		}
	}
	return 0, ""
}

// whose is the narrowest thing that an event speaks of.
func whose(e *event.Event) (what, id string) {
	switch {
	case e.IDs.Container != "":
		return "container", e.IDs.Container
	case e.IDs.Sandbox != "":
		return "sandbox", e.IDs.Sandbox
	case e.IDs.Pod != "":
		return "pod", e.IDs.Pod
	}
	return "", ""
}

// phaseOf is the phase of the first stall.
func phaseOf(tl *timeline.Timeline) timeline.Phase {
	if len(tl.Stalls) == 0 {
		return timeline.PhaseUnknown
	}
	return tl.Stalls[0].Phase
}
