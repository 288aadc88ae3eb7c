package incident

import (
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Opening is what a report says first.
type Opening struct {
	State   string         // "confirmed", "likely", "possible", "no cause found", "nothing found", "nothing read"
	Finding *story.Finding // that the headline speaks of; nil for none
	Advice  string         // what to do first, in prose; empty where Command says it, or where there is nothing
	Command string         // the command that would decide, as written; empty where Advice says what to do
	Hazard  string         // what Command does to the node; empty without one
}

// Opening sums the incident up.
func (inc *Incident) Opening() Opening {
	next := inc.Result.Next.Command
	o := Opening{State: "nothing found", Finding: inc.headlineFinding()}
	if len(inc.stalls()) > 0 || next != "" {
		o.State = "no cause found"
	}
	if inc.Unread {
		o.State = "nothing read"
	}
	if o.Finding != nil {
		o.State = o.Finding.Verdict.String()
		o.Advice, o.Command = firstStep(o.Finding)
	}
	if next != "" {
		o.Advice, o.Command = "", next
	}
	if o.Command != "" {
		o.Hazard = story.Hazard(o.Command)
	}
	return o
}

// headlineFinding is the root, or the fallback, or, where no relist stood still, the first of those that
// only contribute; nil for none.
func (inc *Incident) headlineFinding() *story.Finding {
	all := inc.Result.Findings
	for i := range all {
		if all[i].Role != rules.Link && all[i].Role != rules.Contributing {
			return &all[i]
		}
	}
	if len(all) > 0 && len(inc.stalls()) == 0 {
		return &all[0]
	}
	return nil
}

// firstStep is what the reader of a finding can do first: the cure where the cause is certain enough to
// act on, else the command that would make it certain.
func firstStep(f *story.Finding) (advice, command string) {
	certain := f.Verdict >= rules.Likely && f.Role != rules.Fallback
	if now := f.Remediation.Now; certain && len(now) > 0 {
		return now[0], ""
	}
	for _, m := range f.Missing {
		if m.Command != "" {
			return "", m.Command
		}
	}
	return "", ""
}

// stalls of an incident; none when it has no timeline.
func (inc *Incident) stalls() []timeline.Stall {
	if inc.Timeline == nil {
		return nil
	}
	return inc.Timeline.Stalls
}
