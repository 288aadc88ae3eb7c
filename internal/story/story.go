// Package story turns the findings of the rules and the kubelet's stalls into the incident: which
// finding is the root of which stall, which are links above it, where a stall without a root hung,
// what means nothing, what to collect next, and the headline. It knows the kubelet and its
// runtimes; it knows no file format and no terminal. What it knows and says stands in tables.go and
// sentences.go.
package story

import (
	"cmp"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Result is what happened, as far as the evidence shows it.
type Result struct {
	Headline     string // one sentence; see FullHeadline
	Opening      Opening
	Findings     []Finding // confirmed, likely and possible; roots before links, best first
	RuledOut     []rules.Dismissed
	NotEvaluable []rules.Unanswered
	Suspects     []Suspect  // where stalls without a root hung, in the order of the stalls
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

// Tell gives the findings of a catalogue's rules their parts in what happened on a timeline. It
// changes neither; the result shares their quotes, and its steps name no events.
func Tell(catalog *rules.Catalog, tl *timeline.Timeline, answers rules.Result) Result {
	s := newStory(catalog, tl, answers.Findings)
	result := Result{
		RuledOut: answers.RuledOut, NotEvaluable: answers.NotEvaluable,
		Weighed: answers.Weighed, Exposed: answers.Exposed, Forecasts: answers.Forecasts,
		Harmless: s.listHarmless(),
	}
	s.assignRoles()
	result.Suspects = s.listSuspects()
	result.Next = s.chooseNext(answers.NotEvaluable)
	result.Headline = s.writeHeadline(result.Suspects)
	for _, p := range s.parts {
		if p.Role == rules.Root {
			s.completeChain(p)
		}
	}
	slices.SortStableFunc(s.parts, func(a, b *part) int {
		return cmp.Compare(slices.Index(roleOrder, a.Role), slices.Index(roleOrder, b.Role))
	})
	for _, p := range s.parts {
		for i := range p.Chain {
			p.Chain[i].Events = nil // a step may have thousands, and its quotes say what is shown
		}
		result.Findings = append(result.Findings, p.Finding)
	}
	result.Opening = writeOpening(&result, len(tl.Stalls) > 0)
	return result
}

var roleOrder = []rules.Role{rules.Root, rules.Link, rules.Contributing, rules.Fallback}

// story is the incident while it is put together.
type story struct {
	catalog   *rules.Catalog
	timeline  *timeline.Timeline
	stalls    *stallIndex
	complaint *event.Event // the kubelet's, that no stall covers and that was not over; nil for none
	parts     []*part      // best first
	episodes  []episode
}

// part is a finding with what its role follows from.
type part struct {
	Finding
	rule *rules.Rule
	// stalls are those, as indices, that its causing steps may have caused; none when they have no
	// time.
	stalls []int
	// relevant says that it may belong to some stall: it has stalls, or no time, or no stall is
	// known.
	relevant bool
	// eligible says that it may be a root or a link: it is relevant and proven or, where nothing is
	// proven, possible.
	eligible bool
	deeper   []*part // that may have caused it, best first
}

// episode is one stall with its own cause. A bundle that shows no stall has one episode, of unknown
// time.
type episode struct {
	stall      *timeline.Stall // nil when none is known
	candidates []*part         // that may be its root, best first
}

func newStory(catalog *rules.Catalog, tl *timeline.Timeline, findings []rules.Finding) *story {
	s := &story{catalog: catalog, timeline: tl, stalls: newStallIndex(tl.Stalls), complaint: findComplaint(tl)}
	proven, stands := false, false
	for i := range findings {
		p := s.newPart(&findings[i])
		s.parts = append(s.parts, p)
		named := p.relevant && p.namesCause()
		stands = stands || named
		proven = proven || named && p.Verdict >= rules.Likely
	}
	if stands { // a fallback only says that nothing better is known
		s.parts = slices.DeleteFunc(s.parts, func(p *part) bool { return p.rule.Role == rules.Fallback })
	}
	for _, p := range s.parts {
		p.eligible = p.relevant && p.namesCause() && (p.Verdict >= rules.Likely || !proven)
	}
	s.linkParts()
	s.listEpisodes()
	return s
}

func (s *story) newPart(f *rules.Finding) *part {
	p := &part{Finding: Finding{Finding: *f, Role: rules.Contributing}, rule: s.catalog.Rule(f.Rule)}
	p.Chain, p.Notes = slices.Clone(f.Chain), slices.Clip(f.Notes) // what is added here is not the rule's
	if undated := f.Cause.Start.IsZero(); !undated {
		p.stalls = s.stalls.findCausedBy(f.Cause, f.Open)
	}
	p.relevant = len(p.stalls) > 0 || s.mayBelongAnywhere(p)
	if p.rule.Role == rules.Fallback && (s.mayBelongAnywhere(p) || len(s.stalls.findWithSymptom(f.Cause)) > 0) {
		p.Role = rules.Fallback // it is about symptoms: unlike causes they may come as late as a stall ends
	}
	return p
}

// mayBelongAnywhere says that time does not tell to which stall a finding belongs: no stall is
// known, or the finding has no time.
func (s *story) mayBelongAnywhere(p *part) bool {
	return len(s.timeline.Stalls) == 0 || p.Cause.Start.IsZero()
}

// namesCause says whether a finding of the rule may be a root or a link.
func (p *part) namesCause() bool {
	return p.rule.Role != rules.Contributing && p.rule.Role != rules.Fallback
}

// linkParts finds for every part those that may have caused it.
func (s *story) linkParts() {
	byRule := map[string][]*part{}
	place := map[*part]int{}
	for i, p := range s.parts {
		place[p] = i
		if p.relevant {
			byRule[p.Rule] = append(byRule[p.Rule], p)
		}
	}
	for _, p := range s.parts {
		if !p.relevant || p.rule.Role == rules.Fallback {
			continue
		}
		for _, e := range p.rule.ExplainedBy {
			for _, cause := range byRule[e.Rule] {
				if cause != p && agreeOnBinds(cause, p, e.Join) && mayOverlap(cause, p) && !slices.Contains(p.deeper, cause) {
					p.deeper = append(p.deeper, cause)
				}
			}
		}
		slices.SortFunc(p.deeper, func(a, b *part) int { return cmp.Compare(place[a], place[b]) })
	}
}

// agreeOnBinds says whether two findings agree on all binds of these names that both have.
func agreeOnBinds(a, b *part, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, same := a.CompareBind(&b.Finding.Finding, name)
		return !same
	})
}

// mayOverlap says whether two findings overlap, give or take the limit of a call, after which a caller
// tries again. Without times nothing speaks against it.
func mayOverlap(a, b *part) bool {
	return a.Start.IsZero() || b.Start.IsZero() ||
		!a.Start.After(b.End.Add(timeline.CallLimit)) && !b.Start.After(a.End.Add(timeline.CallLimit))
}

// listEpisodes makes an episode of every stall, with the deepest of the eligible parts that may
// belong to it.
func (s *story) listEpisodes() {
	s.episodes = make([]episode, max(1, len(s.timeline.Stalls)))
	for i := range s.timeline.Stalls {
		s.episodes[i].stall = &s.timeline.Stalls[i]
	}
	for _, p := range s.parts {
		if !p.eligible || slices.ContainsFunc(p.deeper, func(d *part) bool { return d.eligible }) {
			continue
		}
		if s.mayBelongAnywhere(p) {
			for i := range s.episodes {
				s.episodes[i].candidates = append(s.episodes[i].candidates, p)
			}
		}
		for _, i := range p.stalls {
			s.episodes[i].candidates = append(s.episodes[i].candidates, p)
		}
	}
}

// assignRoles names the roots and the links above them.
func (s *story) assignRoles() {
	for i := range s.episodes {
		s.episodes[i].chooseRoot()
	}
	explained := map[*part]bool{}
	for _, p := range s.parts {
		if p.Role == rules.Contributing && p.rule.Role != rules.Contributing && isExplainedByRoot(p, explained) {
			p.Role = rules.Link
		}
	}
	for _, p := range s.parts {
		if p.Role == rules.Root && p.rule.Role == rules.Link {
			p.Summary = trimSentence(p.Summary) + causeOfLinkUnknown
		}
	}
}

// chooseRoot makes a root of the best candidate and rivals of the others that lie in its time.
// Of several that are equally sure the best is the one that lasts longest in the stall.
func (e *episode) chooseRoot() {
	if len(e.candidates) == 0 {
		return
	}
	root := e.candidates[0]
	for _, p := range e.candidates {
		if p.Verdict == root.Verdict && p.Score == root.Score && e.measureSharedTime(p) > e.measureSharedTime(root) {
			root = p
		}
	}
	root.Role = rules.Root
	for _, p := range e.candidates {
		if p.Role != rules.Root && mayOverlap(p, root) {
			addRivals(root, p)
		}
	}
}

// measureSharedTime is how long the causing steps of a finding last in the stall: a lock that was held
// before it is not the one. Zero when one of them has no time.
func (e *episode) measureSharedTime(p *part) time.Duration {
	if e.stall == nil || p.Cause.Start.IsZero() {
		return 0
	}
	from, to := p.Cause.Start, p.Cause.End
	if from.Before(e.stall.Start) {
		from = e.stall.Start
	}
	if p.Open || to.After(e.stall.End) {
		to = e.stall.End
	}
	return max(0, to.Sub(from))
}

// addRivals tells two possible roots of one stall of each other: either may be the cause, and the
// reader needs what would decide. Two that meet in several stalls are told once.
func addRivals(root, p *part) {
	if p.Rule == root.Rule {
		if !slices.Contains(p.Notes, sameAsRoot) {
			p.Notes = append(p.Notes, sameAsRoot)
		}
		return
	}
	if slices.ContainsFunc(root.Rivals, func(r Rival) bool { return r.Rule == p.Rule && r.Container == p.Container }) {
		return
	}
	decide := slices.Clone(root.Lacks)
	for _, m := range p.Lacks {
		if !slices.Contains(decide, m) {
			decide = append(decide, m)
		}
	}
	root.Rivals = append(root.Rivals, Rival{p.Rule, p.Container, decide})
	p.Rivals = append(p.Rivals, Rival{root.Rule, root.Container, decide})
}

// isExplainedByRoot says that a root explains a part, directly or through others. Known holds the
// answers so far.
func isExplainedByRoot(p *part, known map[*part]bool) bool {
	if answer, ok := known[p]; ok {
		return answer
	}
	known[p] = false // while it is asked
	known[p] = slices.ContainsFunc(p.deeper, func(d *part) bool {
		return d.Role == rules.Root || d.eligible && isExplainedByRoot(d, known)
	})
	return known[p]
}

// findMainStall is the stall with which the story of a root ends: the one that its chain shows, else
// the first that it may have caused; nil when it caused none.
func (s *story) findMainStall(p *part) *timeline.Stall {
	if len(p.stalls) == 0 {
		return nil
	}
	for _, i := range p.stalls {
		if stall := &s.timeline.Stalls[i]; slices.ContainsFunc(p.Chain, func(step rules.Step) bool { return showsEvent(&step, event.KindStall, stall.Start) }) {
			return stall
		}
	}
	return &s.timeline.Stalls[p.stalls[0]]
}
