// Package story turns the findings of the rules and the kubelet's stalls into the incident: which
// finding is the root of which stall, which are links above it, where a stall without a root hung,
// what means nothing, what to collect next, and the headline. It knows the kubelet and its
// runtimes; it knows no file format and no terminal.
package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Result is what happened, as far as the evidence shows it.
type Result struct {
	Headline     string
	Findings     []Finding // confirmed, likely and possible; root before links, best first
	RuledOut     []rules.Dismissed
	NotEvaluable []rules.Unanswered
	Suspects     []Suspect  // where stalls without a root hung
	Harmless     []Harmless // seen, and of no meaning here
	Weighed      []string   // names of the known facts that rules ask for
	Exposed      []rules.Exposure
	Forecasts    []rules.Forecast
	Next         rules.Missing // what to collect when no root is named; zero when there is nothing to find
}

// Finding is a rule that matched, with its part in the incident. A root's chain goes on with the
// links above it, up to the node.
type Finding struct {
	rules.Finding
	Role   rules.Role
	Rivals []Rival // other causes at the same time, between which the evidence does not decide
}

// Rival is another finding that may as well be the root.
type Rival struct {
	Rule      string
	Container string          // empty when it is about none
	Decide    []rules.Missing // what would decide between the two; empty when the bundle has all that either rule asks for
}

// Tell makes one story of what the rules of a catalogue answered about a timeline. It changes
// neither; the result shares their chains and quotes.
func Tell(cat *rules.Catalog, tl *timeline.Timeline, answers rules.Result) Result {
	result := Result{
		RuledOut: answers.RuledOut, NotEvaluable: answers.NotEvaluable,
		Weighed: answers.Weighed, Exposed: answers.Exposed, Forecasts: answers.Forecasts,
	}
	s := newStory(cat, tl, answers.Findings)
	result.Harmless = s.harmless()
	s.tell(&result)
	return result
}

// draft is a finding whose part in the story is being decided.
type draft struct {
	Finding
	rule *rules.Rule
}

// story gives every draft its role. Each stall has at most one root: the
// deepest proven draft near it; the drafts that it explains are its links.
type story struct {
	catalog  *rules.Catalog
	timeline *timeline.Timeline
	drafts   []*draft // best first
	// deeper is, by draft, the drafts that may have caused it.
	deeper [][]int
	// pool is the drafts that may be roots and links of the stories: the proven
	// ones near a stall, or, where nothing is proven, the possible ones.
	pool []bool
}

// explainSlack is how far apart a finding and its cause may lie: the kubelet's
// runtimeRequestTimeout, after which a caller tries again.
const explainSlack = 2 * time.Minute

func newStory(cat *rules.Catalog, tl *timeline.Timeline, findings []rules.Finding) *story {
	s := &story{catalog: cat, timeline: tl, pool: make([]bool, len(findings))}
	proven, stands := false, false
	for _, f := range findings {
		d := &draft{Finding{Finding: f}, cat.Rule(f.Rule)}
		d.Chain, d.Notes = slices.Clone(d.Chain), slices.Clip(d.Notes) // what is added here is not the rule's
		s.drafts = append(s.drafts, d)
		ours := s.near(d) && d.rule.Role != rules.Contributing && d.rule.Role != rules.Fallback
		stands = stands || ours
		proven = proven || ours && d.Verdict >= rules.Likely
	}
	if stands { // a fallback only says that nothing better is known
		s.drafts = slices.DeleteFunc(s.drafts, func(d *draft) bool { return d.rule.Role == rules.Fallback })
	}
	s.deeper = make([][]int, len(s.drafts))
	for i, d := range s.drafts {
		d.Role = rules.Contributing
		if d.rule.Role == rules.Fallback {
			if s.beside(d) {
				d.Role = rules.Fallback
			}
			continue
		}
		s.pool[i] = s.near(d) && d.rule.Role != rules.Contributing && (d.Verdict >= rules.Likely || !proven)
		for j, other := range s.drafts {
			if i != j && s.near(d) && s.near(other) && explains(other, d) {
				s.deeper[i] = append(s.deeper[i], j)
			}
		}
	}
	return s
}

// near says that a draft may belong to some stall. Where no stall is known, or
// the draft has no time, nothing speaks against it.
func (s *story) near(d *draft) bool {
	return len(s.timeline.Stalls) == 0 || d.Cause.Start.IsZero() || len(s.stalls(d)) > 0
}

// beside says that symptoms may be those of some stall: unlike causes they may come as late as it ends.
func (s *story) beside(d *draft) bool {
	return len(s.timeline.Stalls) == 0 || d.Cause.Start.IsZero() ||
		slices.ContainsFunc(s.timeline.Stalls, func(stall timeline.Stall) bool { return stall.MayHaveSymptom(d.Cause) })
}

// stalls returns those that the draft's interval touches.
func (s *story) stalls(d *draft) []int {
	var all []int
	for i := range s.timeline.Stalls {
		if !d.Cause.Start.IsZero() && s.timeline.Stalls[i].MayHaveCause(d.Cause, d.Open) {
			all = append(all, i)
		}
	}
	return all
}

// explains says that one draft may have caused the other: its rule is named as
// a deeper cause, the joined binds agree where both have them, and the two lie close in time.
func explains(cause, d *draft) bool {
	return slices.ContainsFunc(d.rule.ExplainedBy, func(e rules.Deeper) bool {
		if e.Rule != cause.Rule {
			return false
		}
		for _, name := range e.Join {
			if _, same := cause.CompareBind(&d.Finding.Finding, name); !same {
				return false
			}
		}
		return together(cause, d)
	})
}

// together says that two drafts overlap, give or take explainSlack; without times nothing speaks against it.
func together(a, b *draft) bool {
	return a.Start.IsZero() || b.Start.IsZero() ||
		!a.Start.After(b.End.Add(explainSlack)) && !b.Start.After(a.End.Add(explainSlack))
}

// tell gives roles, completes the roots' chains, and writes findings and headline.
func (s *story) tell(result *Result) {
	for stall := range max(1, len(s.timeline.Stalls)) {
		s.castStall(stall)
	}
	for i, d := range s.drafts {
		if d.Role == rules.Contributing && d.rule.Role != rules.Contributing && s.aboveRoot(i, map[int]bool{}) {
			d.Role = rules.Link
		}
	}
	for _, d := range s.drafts {
		if d.Role == rules.Root && d.rule.Role == rules.Link {
			d.Summary = sentence(d.Summary) + "; what lies below that is not shown by this bundle"
		}
	}
	s.suspect(result)
	result.Next = s.next(result)
	result.Headline = s.headline(result)
	for i, d := range s.drafts {
		if d.Role == rules.Root {
			s.complete(i)
		}
	}
	slices.SortStableFunc(s.drafts, func(a, b *draft) int {
		return cmp.Compare(slices.Index(roleOrder, a.Role), slices.Index(roleOrder, b.Role))
	})
	for _, d := range s.drafts {
		result.Findings = append(result.Findings, d.Finding)
	}
}

var roleOrder = []rules.Role{rules.Root, rules.Link, rules.Contributing, rules.Fallback}

// castStall names the root of one stall, and what rivals it.
func (s *story) castStall(stall int) {
	var all []*draft
	for i, d := range s.drafts { // best first
		if s.pool[i] && s.deepest(i) && s.belongs(d, stall) {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return
	}
	root := all[0]
	for _, d := range all {
		if d.Verdict == root.Verdict && d.Score == root.Score && s.shared(d, stall) > s.shared(root, stall) {
			root = d
		}
	}
	root.Role = rules.Root
	for _, d := range all {
		if d.Role != rules.Root && together(d, root) {
			s.setRivals(root, d)
		}
	}
}

// shared is how much of a stall a draft lasts: of several that are equally sure, a lock that was held before it is not the one.
func (s *story) shared(d *draft, stall int) time.Duration {
	if len(s.timeline.Stalls) == 0 || d.Cause.Start.IsZero() {
		return 0
	}
	w := s.timeline.Stalls[stall].Window
	from, to := d.Cause.Start, d.Cause.End
	if from.Before(w.Start) {
		from = w.Start
	}
	if d.Open || to.After(w.End) {
		to = w.End
	}
	return max(0, to.Sub(from))
}

// setRivals tells two roots of one stall of each other: either may be the cause, and the reader needs what would decide.
func (s *story) setRivals(root, d *draft) {
	if d.Rule == root.Rule {
		d.Notes = append(d.Notes, "the same as the root, at the same time, elsewhere")
		return
	}
	decide := slices.Clone(root.Lacks)
	for _, m := range d.Lacks {
		if !slices.Contains(decide, m) {
			decide = append(decide, m)
		}
	}
	root.Rivals = append(root.Rivals, Rival{d.Rule, d.Container, decide})
	d.Rivals = append(d.Rivals, Rival{root.Rule, root.Container, decide})
}

func (s *story) belongs(d *draft, stall int) bool {
	return len(s.timeline.Stalls) == 0 || d.Cause.Start.IsZero() || slices.Contains(s.stalls(d), stall)
}

// deepest says that nothing in the pool explains a draft.
func (s *story) deepest(i int) bool {
	return !slices.ContainsFunc(s.deeper[i], func(j int) bool { return s.pool[j] })
}

// aboveRoot says that a root explains a draft, directly or through others.
func (s *story) aboveRoot(i int, visited map[int]bool) bool {
	visited[i] = true
	return slices.ContainsFunc(s.deeper[i], func(j int) bool {
		return s.drafts[j].Role == rules.Root || !visited[j] && s.pool[j] && s.aboveRoot(j, visited)
	})
}

// links returns the proven drafts above a root, one per rule, those nearest to it first.
func (s *story) links(root int) []int {
	var links []int
	level := []int{root}
	told := map[string]bool{s.drafts[root].Rule: true}
	for len(level) > 0 {
		var above []int
		for i, d := range s.drafts {
			explained := slices.ContainsFunc(level, func(j int) bool { return slices.Contains(s.deeper[i], j) })
			if explained && s.pool[i] && d.Role == rules.Link && !told[d.Rule] {
				told[d.Rule] = true
				above = append(above, i)
			}
		}
		links = append(links, above...)
		level = above
	}
	return links
}

// complete lets the chain of a root go on with its links, up to the node, and
// says what a reader must know about where it begins and ends.
func (s *story) complete(root int) {
	d := s.drafts[root]
	known := map[*event.Event]bool{}
	for _, step := range d.Chain {
		for _, ev := range step.Events {
			known[ev] = true
		}
	}
	for _, i := range s.links(root) {
		s.extend(d, s.drafts[i], known)
	}
	s.node(d)
	slices.SortStableFunc(d.Chain, func(a, b rules.Step) int { return cmp.Compare(recovers(a), recovers(b)) })
	for _, j := range s.deeper[root] {
		d.Notes = append(d.Notes, fmt.Sprintf("%s may lie below it, but is only %s", s.drafts[j].Rule, s.drafts[j].Verdict))
	}
}

// extend adds the steps of a link of which the chain does not yet show the events.
func (s *story) extend(d, link *draft, known map[*event.Event]bool) {
	bridged := s.tied(d, link)
	for _, step := range link.Chain {
		fresh := slices.ContainsFunc(step.Events, func(ev *event.Event) bool { return !known[ev] })
		for _, ev := range step.Events {
			known[ev] = true
		}
		if !fresh {
			bridged = true // the two share what was seen
			continue
		}
		step.Observed = step.Observed && bridged
		bridged = true
		d.Chain = append(d.Chain, step)
	}
}

// tied says that a link shares a joined bind with its root.
func (s *story) tied(d, link *draft) bool {
	return slices.ContainsFunc(link.rule.ExplainedBy, func(e rules.Deeper) bool {
		return slices.ContainsFunc(e.Join, func(name string) bool {
			both, same := d.CompareBind(&link.Finding.Finding, name)
			return both && same
		})
	})
}

// recovers puts steps of recovery behind all others.
func recovers(s rules.Step) int {
	if s.Role == "recovery" {
		return 1
	}
	return 0
}

// node leads the chain of a root to the node's condition.
func (s *story) node(d *draft) {
	stalls := s.stalls(d)
	if len(stalls) == 0 {
		switch {
		case !s.kubeletSeen():
			d.Notes = append(d.Notes, "NotReady itself was not seen: no kubelet journal in the bundle")
		case len(s.timeline.Stalls) == 0:
			d.Notes = append(d.Notes, "NotReady itself was not seen: the kubelet's journal shows no stall of relist")
		default:
			d.Notes = append(d.Notes, "it has no time, so that nothing shows that it belongs to the stall")
		}
		return
	}
	stall := &s.timeline.Stalls[stalls[0]]
	d.Chain = append(d.Chain, rules.Step{
		ID: "stall", Rule: d.Rule, Role: "symptom", Start: stall.Start, End: stall.End, Duration: stall.End.Sub(stall.Start),
		AtLeast: stall.Open, Text: "relist did not complete " + lasting(stall), Evidence: stall.Evidence,
	})
	if stall.NotReady.IsZero() {
		d.Notes = append(d.Notes, "NotReady itself was not seen in the kubelet's journal")
		return
	}
	d.Chain = append(d.Chain, rules.Step{
		ID: "not-ready", Rule: d.Rule, Role: "symptom", Observed: true, Start: stall.NotReady, Text: "node NotReady", Evidence: stall.NotReadyEvidence,
	})
}

// lasting is "for 3m12s", "for at least 3m12s".
func lasting(stall *timeline.Stall) string {
	least := ""
	if stall.Open {
		least = "at least "
	}
	return "for " + least + event.DurationText(stall.End.Sub(stall.Start))
}

// kubeletSeen says that the bundle holds a log of the kubelet; a dump does not tell the node's condition.
func (s *story) kubeletSeen() bool {
	return slices.ContainsFunc(s.timeline.Coverage, func(c timeline.Coverage) bool { return strings.HasPrefix(c.Source, "kubelet.") })
}
