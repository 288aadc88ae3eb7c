package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/timeline"
)

// story gives every draft its role. Each stall has at most one root: the
// deepest proven draft near it; the drafts that it explains are its links.
type story struct {
	catalog  *Catalog
	timeline *timeline.Timeline
	drafts   []*draft
	// deeper is, by draft, the drafts that may have caused it.
	deeper [][]int
	// pool is the drafts that may be roots and links of the stories: the proven
	// ones near a stall, or, where nothing is proven, the possible ones.
	pool []bool
}

// explainSlack is how far apart a finding and its cause may lie: the kubelet's
// runtimeRequestTimeout, after which a caller tries again.
const explainSlack = 2 * time.Minute

func newStory(cat *Catalog, tl *timeline.Timeline, drafts []*draft) *story {
	slices.SortStableFunc(drafts, better)
	s := &story{catalog: cat, timeline: tl, pool: make([]bool, len(drafts))}
	proven, stands := false, false
	for _, d := range drafts {
		ours := s.near(d) && d.rule.Role != Contributing && d.rule.Role != Fallback
		stands = stands || ours
		proven = proven || ours && d.Verdict >= Likely
	}
	s.drafts = drafts
	if stands { // a fallback only says that nothing better is known
		s.drafts = slices.DeleteFunc(drafts, func(d *draft) bool { return d.rule.Role == Fallback })
	}
	s.deeper = make([][]int, len(s.drafts))
	for i, d := range s.drafts {
		d.Role = Contributing
		if d.rule.Role == Fallback {
			if s.beside(d) {
				d.Role = Fallback
			}
			continue
		}
		s.pool[i] = s.near(d) && d.rule.Role != Contributing && (d.Verdict >= Likely || !proven)
		for j, other := range s.drafts {
			if i != j && s.near(d) && s.near(other) && explains(other, d) {
				s.deeper[i] = append(s.deeper[i], j)
			}
		}
	}
	return s
}

// better orders drafts: the surer first, then the higher score, then the earlier.
func better(a, b *draft) int {
	return cmp.Or(cmp.Compare(b.Verdict, a.Verdict), cmp.Compare(b.Score, a.Score),
		a.Start.Compare(b.Start), cmp.Compare(a.Rule, b.Rule), slices.Compare(a.bound, b.bound))
}

// near says that a draft may belong to some stall. Where no stall is known, or
// the draft has no time, nothing speaks against it.
func (s *story) near(d *draft) bool {
	return len(s.timeline.Stalls) == 0 || d.from.IsZero() || len(s.stalls(d)) > 0
}

// beside says that symptoms may be those of some stall: unlike causes they may come as late as it ends.
func (s *story) beside(d *draft) bool {
	return len(s.timeline.Stalls) == 0 || d.from.IsZero() ||
		slices.ContainsFunc(s.timeline.Stalls, func(stall timeline.Stall) bool { return during(d.from, d.to, &stall) })
}

// stalls returns those that the draft's interval touches.
func (s *story) stalls(d *draft) []int {
	var all []int
	for i := range s.timeline.Stalls {
		if !d.from.IsZero() && touches(d.from, d.to, d.open, &s.timeline.Stalls[i]) {
			all = append(all, i)
		}
	}
	return all
}

// explains says that one draft may have caused the other: its rule is named as
// a deeper cause, the joined binds agree where both have them, and the two lie close in time.
func explains(cause, d *draft) bool {
	return slices.ContainsFunc(d.rule.ExplainedBy, func(e Deeper) bool {
		if e.Rule != cause.Rule {
			return false
		}
		for _, name := range e.Join {
			if _, same := joined(cause, d, name); !same {
				return false
			}
		}
		return together(cause, d)
	})
}

// joined compares a bind of two drafts. Both says that both have it; same that nothing contradicts.
func joined(a, b *draft, name string) (both, same bool) {
	va, vb := a.rule.variableNamed(name), b.rule.variableNamed(name)
	if va < 0 || vb < 0 || a.bound[va] == "" || b.bound[vb] == "" {
		return false, true
	}
	_, same = a.rule.variables[va].agree(a.bound[va], b.bound[vb])
	return true, same
}

func (r *Rule) variableNamed(name string) int {
	return slices.IndexFunc(r.variables, func(v variable) bool { return v.name == name })
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
		if d.Role == Contributing && d.rule.Role != Contributing && s.aboveRoot(i, map[int]bool{}) {
			d.Role = Link
		}
	}
	for _, d := range s.drafts {
		if d.Role == Root && d.rule.Role == Link {
			d.Summary = sentence(d.Summary) + "; what lies below that is not shown by this bundle"
		}
	}
	s.suspect(result)
	result.Next = s.next(result)
	result.Headline = s.headline(result)
	for i, d := range s.drafts {
		if d.Role == Root {
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

var roleOrder = []Role{Root, Link, Contributing, Fallback}

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
	root.Role = Root
	for _, d := range all {
		if d.Role != Root && together(d, root) {
			s.setRivals(root, d)
		}
	}
}

// shared is how much of a stall a draft lasts: of several that are equally sure, a lock that was held before it is not the one.
func (s *story) shared(d *draft, stall int) time.Duration {
	if len(s.timeline.Stalls) == 0 || d.from.IsZero() {
		return 0
	}
	w := s.timeline.Stalls[stall].Window
	from, to := d.from, d.to
	if from.Before(w.Start) {
		from = w.Start
	}
	if d.open || to.After(w.End) {
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
	decide := slices.Clone(root.lacks)
	for _, m := range d.lacks {
		if !slices.Contains(decide, m) {
			decide = append(decide, m)
		}
	}
	root.Rivals = append(root.Rivals, Rival{d.Rule, d.Container, decide})
	d.Rivals = append(d.Rivals, Rival{root.Rule, root.Container, decide})
}

func (s *story) belongs(d *draft, stall int) bool {
	return len(s.timeline.Stalls) == 0 || d.from.IsZero() || slices.Contains(s.stalls(d), stall)
}

// deepest says that nothing in the pool explains a draft.
func (s *story) deepest(i int) bool {
	return !slices.ContainsFunc(s.deeper[i], func(j int) bool { return s.pool[j] })
}

// aboveRoot says that a root explains a draft, directly or through others.
func (s *story) aboveRoot(i int, visited map[int]bool) bool {
	visited[i] = true
	return slices.ContainsFunc(s.deeper[i], func(j int) bool {
		return s.drafts[j].Role == Root || !visited[j] && s.pool[j] && s.aboveRoot(j, visited)
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
			if explained && s.pool[i] && d.Role == Link && !told[d.Rule] {
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
	known := map[int32]bool{}
	for _, events := range d.events {
		for _, ev := range events {
			known[ev] = true
		}
	}
	for _, i := range s.links(root) {
		s.extend(d, s.drafts[i], known)
	}
	s.node(d)
	slices.SortStableFunc(d.Chain, func(a, b Step) int { return cmp.Compare(recovers(a), recovers(b)) })
	for _, j := range s.deeper[root] {
		d.Notes = append(d.Notes, fmt.Sprintf("%s may lie below it, but is only %s", s.drafts[j].Rule, s.drafts[j].Verdict))
	}
}

// extend adds the steps of a link of which the chain does not yet show the events.
func (s *story) extend(d, link *draft, known map[int32]bool) {
	bridged := s.tied(d, link)
	for n, step := range link.Chain {
		fresh := slices.ContainsFunc(link.events[n], func(ev int32) bool { return !known[ev] })
		for _, ev := range link.events[n] {
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
	return slices.ContainsFunc(link.rule.ExplainedBy, func(e Deeper) bool {
		return slices.ContainsFunc(e.Join, func(name string) bool {
			both, same := joined(d, link, name)
			return both && same
		})
	})
}

// recovers puts steps of recovery behind all others.
func recovers(s Step) int {
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
	d.Chain = append(d.Chain, Step{
		ID: "stall", Rule: d.Rule, Role: "symptom", Start: stall.Start, End: stall.End, Duration: stall.End.Sub(stall.Start),
		AtLeast: stall.Open, Text: "relist did not complete " + lasting(stall), Evidence: stall.Evidence,
	})
	if stall.NotReady.IsZero() {
		d.Notes = append(d.Notes, "NotReady itself was not seen in the kubelet's journal")
		return
	}
	d.Chain = append(d.Chain, Step{
		ID: "not-ready", Rule: d.Rule, Role: "symptom", Observed: true, Start: stall.NotReady, Text: "node NotReady", Evidence: stall.NotReadyEvidence,
	})
}

// lasting is "for 3m12s", "for at least 3m12s".
func lasting(stall *timeline.Stall) string {
	least := ""
	if stall.Open {
		least = "at least "
	}
	return "for " + least + length(stall.End.Sub(stall.Start))
}

// kubeletSeen says that the bundle holds a log of the kubelet; a dump does not tell the node's condition.
func (s *story) kubeletSeen() bool {
	return slices.ContainsFunc(s.timeline.Coverage, func(c timeline.Coverage) bool { return strings.HasPrefix(c.Source, "kubelet.") })
}
