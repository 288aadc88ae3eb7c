package story

import (
	"slices"

	"github.com/plegdiag/plegdiag/internal/rules"
)

// Opening is what a report says first, besides the headline.
type Opening struct {
	State   State
	Advice  string // what to do first, in prose; empty where Command says it, or where there is nothing
	Command string // the command that would decide, as written; empty where Advice says what to do
	Hazard  string // what Command does to the node; empty without a command
}

// State is the whole incident in one or two words.
type State uint8

// States, from nothing to certain. The last three are the verdict of the finding that the headline
// is about.
const (
	NothingFound State = iota
	NothingRead
	NoCauseFound
	Possible
	Likely
	Confirmed
)

var stateNames = [...]string{"nothing found", "nothing read", "no cause found", "possible", "likely", "confirmed"}

// String is the state as reports write it.
func (s State) String() string { return stateNames[s] }

var stateOfVerdict = map[rules.Verdict]State{rules.Possible: Possible, rules.Likely: Likely, rules.Confirmed: Confirmed}

// MarkUnread makes a result say that no line of the inputs could be read.
func (r *Result) MarkUnread() {
	r.Headline, r.Opening.State = nothingRead, NothingRead
}

// FullHeadline is the headline for a reader who sees nothing else of the report: it says that a
// cause is only possible, and, where none is named, which command comes next.
func (r *Result) FullHeadline() string {
	root := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Role == rules.Root })
	switch {
	case root >= 0 && r.Findings[root].Verdict == rules.Possible:
		return possibleCause + r.Headline
	case root >= 0 || r.Next.Command == "":
		return r.Headline
	}
	return r.Headline + nextCommand + r.Next.Command
}

// writeOpening says how certain the incident is, and what to do first.
func writeOpening(r *Result, stalled bool) Opening {
	var o Opening
	if stalled || r.Next.Command != "" {
		o.State = NoCauseFound
	}
	if f := findHeadlineFinding(r.Findings, stalled); f != nil {
		o.State = stateOfVerdict[f.Verdict]
		o.Advice, o.Command = chooseFirstStep(f)
	}
	if r.Next.Command != "" {
		o.Advice, o.Command = "", r.Next.Command
	}
	o.Hazard = Hazard(o.Command)
	return o
}

// findHeadlineFinding returns the finding that the headline is about: the root, or the fallback,
// or, where relist never stood still, the first of those that only contribute. Nil for none.
func findHeadlineFinding(all []Finding, stalled bool) *Finding {
	i := slices.IndexFunc(all, func(f Finding) bool { return f.Role == rules.Root || f.Role == rules.Fallback })
	switch {
	case i >= 0:
		return &all[i]
	case len(all) > 0 && !stalled:
		return &all[0]
	}
	return nil
}

// chooseFirstStep returns what the reader of a finding can do first: the cure where the cause is
// certain enough to act on, else the command that would make it certain.
func chooseFirstStep(f *Finding) (advice, command string) {
	certain := f.Verdict >= rules.Likely && f.Role != rules.Fallback
	if now := f.Remediation.Now; certain && len(now) > 0 {
		return now[0], ""
	}
	return "", firstCommand(f.Missing).Command
}

// firstCommand returns the first missing input for which there is a command; zero for none.
func firstCommand(missing []rules.Missing) rules.Missing {
	if i := slices.IndexFunc(missing, func(m rules.Missing) bool { return m.Command != "" }); i >= 0 {
		return missing[i]
	}
	return rules.Missing{}
}
