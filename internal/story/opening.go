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
	"github.com/plegdiag/plegdiag/internal/story/node"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Opening is what a report says first, besides the headline.
type Opening struct {
	State State
	// Short is the headline without the links above the cause and without earlier episodes: a
	// reader sees them in the chain and in the list of episodes.
	Short string
	// Reason says why the state is not a surer one, or what makes it sure.
	Reason string
	// Finding and Episode are the numbers, from 1, of the finding that the headline is about and of
	// its episode; 0 where there is none.
	Finding, Episode int

	Advice   string   // what to do first, in prose; empty where Command says it, or where there is nothing
	Commands []string // what Advice is done with, in their order
	Command  string   // the command that would decide, as written; empty where Advice says what to do
	Note     string   // what to know before Command is run; empty where there is nothing
	Hazard   string   // what Commands or Command do to the node; empty without a command
}

// State is the whole incident in one or two words.
type State uint8

// States, from nothing to certain. The last three are the verdict of the finding that the headline
// is about.
const (
	Unrecognised State = iota // nothing that plegdiag knows, or too little that would show a stall
	Healthy                   // only routine, where a stall would be seen
	Signs                     // something that is not routine, and no cause for which more speaks
	Stalled                   // a stall or a hung runtime, and no cause for which more speaks
	Possible
	Likely
	Confirmed
)

var states = [...]struct{ name, words string }{
	{"unrecognised", "nothing recognised"},
	{"healthy", "healthy so far"},
	{"signs", "signs only"},
	{"stalled", "stalled, cause not shown"},
	{"possible", "possible"},
	{"likely", "likely"},
	{"confirmed", "confirmed"},
}

// String is the state as programs read it.
func (s State) String() string { return states[s].name }

// Words is the state as people read it, in lower case: "stalled, cause not shown".
func (s State) Words() string { return states[s].words }

var stateOfVerdict = map[language.Verdict]State{language.Possible: Possible, language.Likely: Likely, language.Confirmed: Confirmed}

// MarkUnread makes a result say that no line of the inputs could be read.
func (r *Result) MarkUnread() {
	r.Headline, r.Opening = nothingRead, Opening{State: Unrecognised, Short: nothingRead}
}

// MarkUnrecognised makes a result of inputs in which nobody wrote that plegdiag knows say what they
// seem to be. Goroutines says that there are some among them, of which nothing tells the program.
func (r *Result) MarkUnrecognised(what string, goroutines bool) {
	if r.Headline == fmt.Sprintf(nothingRecognised, anotherKind) {
		text := nothingRecognised
		if goroutines {
			text = nothingStuck
		}
		r.Headline = fmt.Sprintf(text, what)
		r.Opening.Short = r.Headline
	}
}

// FullHeadline is the headline for a reader who sees nothing else of the report: it begins with the
// state.
func (r *Result) FullHeadline() string {
	return strings.ToUpper(r.Opening.State.Words()) + ": " + r.Headline
}

// findState says how certain the incident is: by the part that the headline is about, or by what
// was seen without one.
func (s *story) findState(about *part, signs []Sign) State {
	switch {
	case about != nil:
		return stateOfVerdict[about.Verdict]
	case s.isStalled():
		return Stalled
	case len(signs) > 0:
		return Signs
	case s.showsNode():
		return Healthy
	}
	return Unrecognised
}

// isStalled says that a stall or a hung runtime is seen, or a complaint of the kubelet about one.
func (s *story) isStalled() bool {
	return len(s.timeline.Stalls) > 0 || s.complaint != nil || s.findRole(language.Fallback) != nil
}

// findSubject returns the part that the headline is about; nil where no cause is named. What is
// going on comes before what is over: a cause of an earlier episode is not that of an open one.
func (s *story) findSubject() *part {
	bouts := s.listBouts()
	stalls := len(bouts) > 0 && s.isBoutOpen(bouts[len(bouts)-1])
	for _, p := range s.parts {
		if p.live && (p.Role == language.Root || p.Role == language.NotReady && !stalls) {
			return p
		}
	}
	past := slices.ContainsFunc(s.parts, func(p *part) bool { return p.past && p.Role == language.Root })
	if stalls && (len(bouts) > 1 || past) {
		return s.findSubjectOf(bouts[len(bouts)-1])
	}
	root, other := s.findCurrent(language.Root), s.findCurrent(language.NotReady)
	switch surer := root == nil || len(s.timeline.Stalls) == 0 && other != nil && other.Verdict > root.Verdict; {
	case other != nil && surer && s.comesAfterStalls(other):
		return cmp.Or(s.findBeneath(other), s.findGoingOn(other), s.findSurer(other), s.findProven(other), other)
	case root != nil && len(s.timeline.Stalls) == 0:
		return cmp.Or(s.findGoingOn(root), s.findSurer(root), s.findProven(root), root)
	case root != nil:
		return cmp.Or(s.findGoingOn(root), s.findLatest(root))
	}
	return s.findOpenOne(s.findContributing(func(p *part) bool { return p.relevant }))
}

const (
	// cutOff is how long after its first line a log shows again what a daemon did before it: one that
	// systemd starts again and again comes back within seconds.
	cutOff = time.Minute
	// nearStall is how far from a stall a cause may be seen that belongs to it all the same, where a
	// part of what shows it has no time: who looks at a sick node comes minutes later.
	nearStall = 30 * time.Minute
)

// attachNear makes parts that are likely belong to the stalls near to them where no cause belongs
// to any: whether the stall came from it is not shown.
func (s *story) attachNear() {
	if slices.ContainsFunc(s.parts, func(p *part) bool { return p.relevant && p.Role != language.Fallback }) {
		return
	}
	first := s.findFirstMoment()
	for _, p := range s.parts {
		if p.Verdict < language.Likely || p.Role == language.Fallback || p.Cause.Start.IsZero() {
			continue
		}
		for i := range s.timeline.Stalls {
			if isNear(p, &s.timeline.Stalls[i], first) {
				p.stalls, p.relevant = append(p.stalls, i), true
			}
		}
	}
}

// isNear says that a part is seen as soon as the logs begin, which is at first, in a stall that
// began before them; or, where a part of what shows it has no time, shortly before a stall or
// behind the last line about one that may go on.
func isNear(p *part, stall *timeline.Stall, first time.Time) bool {
	if stall.Start.Before(first) && p.Cause.Start.Sub(first) <= cutOff && !p.Cause.Start.After(stall.End) {
		return true
	}
	if !slices.ContainsFunc(p.Chain, func(step rules.Step) bool { return step.Start.IsZero() }) {
		return false
	}
	end := stall.End
	if stall.Open {
		end = end.Add(nearStall)
	}
	return !p.Cause.End.Before(stall.Start.Add(-nearStall)) && !p.Cause.Start.After(end)
}

// findLatest returns the last incident of a root's kind that is as well proven: of a node that
// flaps it is the one whose traces are still there.
func (s *story) findLatest(root *part) *part {
	for _, p := range s.parts {
		if p.Role == language.Root && p.Rule == root.Rule && p.Verdict == root.Verdict && p.Score == root.Score && p.Start.After(root.Start) {
			root = p
		}
	}
	return root
}

// findCurrent returns the best part of a role, and of two incidents with that cause the one that
// goes on; nil for none.
func (s *story) findCurrent(role language.Role) *part {
	return s.findOpenOne(s.findRole(role))
}

// findOpenOne returns the part that goes on, of those with the cause, the role and the verdict of
// one that is over; else that one.
func (s *story) findOpenOne(best *part) *part {
	if best == nil || len(s.timeline.Stalls) > 0 || s.goesOn(best) {
		return best
	}
	i := slices.IndexFunc(s.parts, func(p *part) bool {
		return p.Role == best.Role && p.Rule == best.Rule && p.Verdict == best.Verdict && s.goesOn(p)
	})
	if i < 0 {
		return best
	}
	return s.parts[i]
}

// findBeneath returns the surer part that has what shows a reason of NotReady as its symptom; nil
// for none.
func (s *story) findBeneath(reason *part) *part {
	shown := map[event.Pos]bool{}
	for _, step := range reason.Chain {
		for _, q := range step.Evidence {
			shown[q.Pos] = true
		}
	}
	i := slices.IndexFunc(s.parts, func(p *part) bool {
		return p.Role == language.Contributing && p.relevant && p.Verdict > reason.Verdict && slices.ContainsFunc(p.Chain, func(step rules.Step) bool {
			return step.Role == "symptom" && slices.ContainsFunc(step.Evidence, func(q event.Quote) bool { return shown[q.Pos] })
		})
	})
	if i < 0 {
		return nil
	}
	return s.parts[i]
}

// findSurer returns the surer part that contributes in the time of a reason of NotReady which is
// possible alone, where no stall is known; nil for none.
func (s *story) findSurer(reason *part) *part {
	i := slices.IndexFunc(s.parts, func(p *part) bool {
		return p.Role == language.Contributing && p.relevant && p.Verdict > reason.Verdict && mayOverlap(p, reason)
	})
	if i < 0 || len(s.timeline.Stalls) > 0 || reason.Verdict > language.Possible {
		return nil
	}
	return s.parts[i]
}

// findProven returns the part that is likely at least and surer than a root whose cause has not
// been seen for long at the end, or as sure as a reason of NotReady: what has no time, as a dump,
// is of the end. Nil for none.
func (s *story) findProven(root *part) *part {
	if root.Cause.End.IsZero() || s.findLastMoment().Sub(root.Cause.End) < calmTime {
		return nil
	}
	i := slices.IndexFunc(s.parts, func(p *part) bool {
		later := p.Start.IsZero() || p.Start.After(root.Cause.End)
		surer := p.Verdict > root.Verdict || p.Verdict == root.Verdict && root.Role == language.NotReady && p.Start.IsZero()
		return p.Role == language.Contributing && p.relevant && later && p.Verdict >= language.Likely && surer && !slices.Contains(p.deeper, root)
	})
	if i < 0 {
		return nil
	}
	return s.parts[i]
}

// findGoingOn returns the part that contributes to what goes on, or that makes the node NotReady,
// and began when a root and all stalls were over, or had not been seen for long; nil for none. It
// is as sure as the root, or likely.
func (s *story) findGoingOn(root *part) *part {
	over := root.Cause.End
	if s.goesOn(root) {
		over = root.End.Add(calmTime)
	}
	i := slices.IndexFunc(s.parts, func(p *part) bool {
		return (p.Role == language.Contributing || p.Role == language.NotReady) && p.relevant && p.Verdict >= min(root.Verdict, language.Likely) &&
			!root.Start.IsZero() && p.Cause.Start.After(over) && s.goesOn(p) && s.comesAfterStalls(p)
	})
	if i < 0 {
		return nil
	}
	return s.parts[i]
}

// comesAfterStalls says that no stall is known, or that all were over when something began.
func (s *story) comesAfterStalls(p *part) bool {
	return !slices.ContainsFunc(s.timeline.Stalls, func(stall timeline.Stall) bool {
		return stall.Open || p.Start.IsZero() || !stall.End.Before(p.Start)
	})
}

// findSubjectOf returns the part that is the cause of some of these stalls, or contributes to one.
func (s *story) findSubjectOf(stalls []int) *part {
	for _, i := range stalls {
		if root := s.findRootOf(i); root != nil {
			return root
		}
	}
	return s.findContributing(func(p *part) bool {
		return slices.ContainsFunc(p.stalls, func(i int) bool { return slices.Contains(stalls, i) })
	})
}

// findContributing returns the best link or contributing part of those that are asked for.
func (s *story) findContributing(asked func(*part) bool) *part {
	for _, role := range []language.Role{language.Link, language.Contributing} {
		i := slices.IndexFunc(s.parts, func(p *part) bool { return p.Role == role && asked(p) })
		if i >= 0 {
			return s.parts[i]
		}
	}
	return nil
}

// writeOpening says how certain the incident is and why, and what to do first: the cure where the
// cause is certain enough to act on, else the command that would make it certain. Where nothing
// would, or only what other hypotheses ask for, a possible cause has the first step of its cure,
// which only looks.
func (s *story) writeOpening(about *part, state State, next []NextStep, hypotheses []rules.Hypothesis) Opening {
	o := Opening{State: state, Reason: s.explainState(about, state, hypotheses)}
	cure := about != nil && len(about.Remediation.Now) > 0
	switch {
	case cure && (about.Verdict >= language.Likely || len(next) == 0 || s.others):
		first := &about.Remediation.Now[0]
		if o.Advice, o.Hazard = first.Do, first.Hazard; s.findReboot(about) != nil {
			o.Advice = downSince + o.Advice
		}
		runs := s.node.Runtimes
		for _, command := range first.Commands {
			o.Commands = append(o.Commands, node.CommandFor(command, runs))
		}
		if s.node.Talos {
			if o.Commands = node.CureForTalos(o.Commands); !strings.Contains(o.Advice, "NODE") {
				o.Advice = strings.TrimSuffix(o.Advice, ".") + "; " + node.WantNode + "."
			}
		}
	case len(next) > 0:
		o.Command, o.Note, o.Hazard = next[0].Command, next[0].Note, next[0].Hazard
	}
	return o
}

// Bounds of what a reason names.
const (
	maxNotSeen = 2
	maxFitting = 2
)

// explainState says why the state is what it is.
func (s *story) explainState(about *part, state State, hypotheses []rules.Hypothesis) string {
	switch {
	case about != nil:
		return s.explainVerdict(about, hypotheses)
	case state == Stalled:
		return joinFitting(noCauseShown, hypotheses)
	case state == Signs:
		return joinFitting(signsNameNoCause, hypotheses)
	}
	return ""
}

// joinFitting adds to a sentence the causes for which something speaks.
func joinFitting(text string, hypotheses []rules.Hypothesis) string {
	var titles []string
	for i := range hypotheses {
		if h := &hypotheses[i]; h.Verdict == language.Weighed && h.Role != language.Fallback && len(titles) < maxFitting {
			titles = append(titles, lowerArticle(trimSentence(h.Title)))
		}
	}
	if len(titles) == 0 {
		return text
	}
	return text + "; " + fmt.Sprintf(someSpeaksFor, strings.Join(titles, "; "))
}

// lowerArticle writes the first word of a title small, for the middle of a sentence. Names of
// programs and calls stay as they are.
func lowerArticle(title string) string {
	first, _, _ := strings.Cut(title, " ")
	switch first {
	case "A", "An", "The", "One", "This":
		return strings.ToLower(first) + title[len(first):]
	}
	return title
}

// explainVerdict says what makes the finding that the headline is about as certain as it is, and
// what speaks against it. Other tells than those that were seen are other signs of the same: where
// a chain of steps was seen, they say nothing.
func (s *story) explainVerdict(about *part, hypotheses []rules.Hypothesis) string {
	said := []string{stepsSeen}
	switch {
	case about.Verdict == language.Possible:
		said[0] = onlySigns
	case about.Verdict == language.Likely && about.ByTells:
		said[0] = signsAndEffect
	case about.Verdict == language.Likely && !about.rule.CanConfirm():
		said[0] = neverSurer
	case about.Verdict == language.Likely && about.TimeOnly:
		said[0] = tiedByTime
	case about.Verdict == language.Likely && !about.StepsSeen:
		said[0] = someStepsSeen
	}
	if about.Verdict < language.Confirmed {
		if unseen := listUnseen(about, hypotheses); len(unseen) > 0 {
			said = append(said, fmt.Sprintf(notSeen, strings.Join(unseen, "; ")))
		} else if len(about.Missing) > 0 {
			said = append(said, fmt.Sprintf(whatLacks, DescribeSource(node.AskOnly(about.Missing[0], s.node.Runtimes).Source)))
		}
	}
	for _, a := range about.Contradictions {
		said = append(said, fmt.Sprintf(speaksAgainst, trimSentence(a.Why)))
	}
	for _, r := range about.Rivals {
		said = append(said, fmt.Sprintf(mayBeRival, trimSentence(s.catalog.Rule(r.Rule).Title)))
	}
	return strings.Join(said, "; ")
}

// listUnseen returns what an expert would look for and did not see of a cause: the first of what is
// said without ids that nobody knows, and that the headline does not say in other words.
func listUnseen(about *part, hypotheses []rules.Hypothesis) []string {
	unseen := slices.Clone(about.NotSeen)
	i := slices.IndexFunc(hypotheses, func(h rules.Hypothesis) bool { return h.Rule == about.Rule })
	if i >= 0 && (about.ByTells || about.Verdict == language.Possible) {
		unseen = slices.Clone(hypotheses[i].NotSeen)
	}
	unseen = slices.DeleteFunc(unseen, func(text string) bool {
		return strings.Contains(text, "…") || strings.Contains(about.Summary, endOfSentence(text))
	})
	return unseen[:min(maxNotSeen, len(unseen))]
}

// endOfSentence is what a sentence says of its subject: its last words.
func endOfSentence(text string) string {
	const words = 4
	all := strings.Fields(text)
	return strings.Join(all[max(0, len(all)-words):], " ")
}
