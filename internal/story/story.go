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
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story/node"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Result is what happened, as far as the evidence shows it.
type Result struct {
	Headline     string // one sentence; see FullHeadline
	Opening      Opening
	Findings     []Finding // confirmed, likely and possible; that of the headline, then roots before links, best first
	RuledOut     []rules.Dismissed
	NotEvaluable []rules.Unanswered
	Hypotheses   []rules.Hypothesis // the rules for which something speaks, the surer first
	Suspects     []Suspect          // where stalls without a root hung, in the order of the stalls
	Harmless     []Harmless         // seen, and of no meaning here
	AskedFacts   []string           // names of the known facts that rules ask for
	Exposed      []rules.Exposure
	Forecasts    []rules.Forecast
	Next         []NextStep // what to collect next, best first; empty when there is nothing to find
	Signs        []Sign     // what is not routine, where no cause is named; beside a possible one what it does not explain
	Episodes     []Episode  // first what is going on where the evidence ends
}

// Finding is a rule that matched, with its part in the incident. A root's chain goes on with the
// links above it, up to the node.
type Finding struct {
	rules.Finding
	Role   language.Role
	Rivals []Rival // other causes at the same time, between which the evidence does not decide
}

// IsApartFrom says that a finding has a time, and lies apart from another one, or that has none.
func (f *Finding) IsApartFrom(other *Finding) bool {
	return !f.Start.IsZero() && (other.Start.IsZero() || f.End.Before(other.Start) || other.End.Before(f.Start))
}

// Rival is another finding that may as well be the root.
type Rival struct {
	Rule      string
	Container string          // empty when it is about none
	Decide    []rules.Missing // what would decide between the two; empty when the bundle has all that either rule asks for
}

// maxStepEvents bounds the events that a step of the result names.
const maxStepEvents = 64

// spreadEvents returns at most maxStepEvents of some events, the first and the last among them: a
// step may have thousands, and a picture of it shows where they lie.
func spreadEvents(events []*event.Event) []*event.Event {
	kept := make([]*event.Event, min(len(events), maxStepEvents))
	for i := range kept {
		kept[i] = events[i]
		if last := len(kept) - 1; last > 0 {
			kept[i] = events[i*(len(events)-1)/last]
		}
	}
	return kept
}

// Tell gives the findings of a catalogue's rules their parts in what happened on a timeline, of the
// node that [node.Find] found in it. It changes neither; the result shares their quotes and events,
// of each step at most maxStepEvents.
func Tell(catalog *language.Catalog, tl *timeline.Timeline, of node.Node, answers rules.Result) Result {
	s := newStory(catalog, tl, answers.Findings)
	s.more = answers.More
	s.node = of
	result := Result{
		RuledOut: answers.RuledOut, NotEvaluable: answers.NotEvaluable,
		AskedFacts: answers.AskedFacts, Hypotheses: answers.Hypotheses, Exposed: answers.Exposed, Forecasts: answers.Forecasts,
		Harmless: s.listHarmless(),
	}
	s.assignRoles()
	s.attachNear()
	result.Hypotheses = s.weighDropped(answers.Hypotheses)
	result.Suspects = s.listSuspects()
	about := s.findSubject()
	signs := listSigns(tl, s.isStalled())
	state := s.findState(about, signs)
	if state == Unrecognised {
		if signs = listWorkload(tl); len(signs) > 0 {
			state = Signs
		}
	}
	switch {
	case state <= Stalled:
		result.Signs = signs
	case state == Possible:
		result.Signs = s.listUnexplained()
	}
	result.Next = s.chooseNext(about, state, &answers)
	result.Opening = s.writeOpening(about, state, result.Next, result.Hypotheses)
	result.Headline, result.Opening.Short = s.writeHeadlines(about, state, signs, result.Suspects)
	result.Episodes = s.describeEpisodes(about)
	result.addSuspects()
	result.Opening.Episode = s.numberEpisode(about, result.Episodes)
	for _, p := range s.parts {
		if p.Role == language.Root {
			s.completeChain(p)
		}
	}
	slices.SortStableFunc(s.parts, func(a, b *part) int {
		return cmp.Or(comparePlace(a, b, about), cmp.Compare(slices.Index(roleOrder, a.Role), slices.Index(roleOrder, b.Role)))
	})
	result.Opening.Finding = slices.Index(s.parts, about) + 1
	for _, p := range s.parts {
		for i := range p.Chain {
			step := &p.Chain[i]
			kept := spreadEvents(step.Events)
			step.Events, step.More = kept, len(step.Events)-len(kept)
		}
		result.Findings = append(result.Findings, p.Finding)
	}
	if s.node.Windows {
		result.useWindowsCommands()
	} else if u := s.node.Units; u.Kubelet != "" {
		result.nameUnits(u)
	}
	return result
}

// comparePlace puts the part that the headline is about before all others.
func comparePlace(a, b, about *part) int {
	switch about {
	case a:
		return -1
	case b:
		return 1
	}
	return 0
}

var roleOrder = []language.Role{language.Root, language.NotReady, language.Link, language.Contributing, language.Fallback}

// story is the incident while it is put together.
type story struct {
	catalog   *language.Catalog
	timeline  *timeline.Timeline
	kinds     map[event.Kind][]*event.Event // see listKind; nil until asked for
	stalls    *stallIndex
	complaint *event.Event    // the kubelet's, that no stall covers and that was not over; nil for none
	parts     []*part         // best first
	more      []rules.Finding // see [rules.Result.More]
	episodes  []episode
	last      time.Time       // see findLastMoment; zero until asked for
	dropped   map[string]bool // rules of possible findings that are only weighed here
	node      node.Node
	others    bool // what to collect next is asked for by other hypotheses than that of the headline
}

// part is a finding with what its role follows from.
type part struct {
	Finding
	rule *language.Rule
	// stalls are those, as indices, that its causing steps may have caused; none when they have no
	// time.
	stalls []int
	// relevant says that it may belong to some stall: it has stalls, or no time, or no stall is
	// known.
	relevant bool
	// eligible says that it may be a root or a link: it is relevant and proven or, where nothing is
	// proven, possible.
	eligible bool
	live     bool    // see isGoingOn
	past     bool    // it was over before the stalls that are close to it
	deeper   []*part // that may have caused it, best first
}

// episode is one stall with its own cause. A bundle that shows no stall has one episode, of unknown
// time.
type episode struct {
	stall      *timeline.Stall // nil when none is known
	candidates []*part         // that may be its root, best first
}

func newStory(catalog *language.Catalog, tl *timeline.Timeline, findings []rules.Finding) *story {
	s := &story{catalog: catalog, timeline: tl, stalls: newStallIndex(tl.Stalls), complaint: findComplaint(tl)}
	proven, stands, deep := false, false, false
	for i := range findings {
		p := s.newPart(&findings[i])
		s.parts = append(s.parts, p)
		named := p.relevant && p.namesCause()
		stands = stands || named || p.relevant && p.rule.Role == language.NotReady && p.Verdict >= language.Possible
		proven = proven || named && p.Verdict >= language.Likely
		deep = deep || p.relevant && (p.rule.Role == language.Root || p.rule.Role == language.NotReady)
	}
	if stands { // a fallback only says that nothing better is known
		s.parts = slices.DeleteFunc(s.parts, func(p *part) bool {
			return p.rule.Role == language.Fallback && (deep || !p.isEnd())
		})
	}
	s.dropPossible(proven)
	s.foldFallbacks()
	for _, p := range s.parts {
		p.eligible = p.relevant && p.namesCause() && (p.Verdict >= language.Likely || !proven)
	}
	s.linkParts()
	s.listEpisodes()
	return s
}

func (s *story) newPart(f *rules.Finding) *part {
	p := &part{Finding: Finding{Finding: *f, Role: language.Contributing}, rule: s.catalog.Rule(f.Rule)}
	p.Chain, p.Notes = slices.Clone(f.Chain), slices.Clip(f.Notes) // what is added here is not the rule's
	if undated := f.Cause.Start.IsZero(); !undated {
		for _, spell := range listSpells(f) {
			p.stalls = append(p.stalls, s.stalls.findCausedBy(spell, f.Open)...)
		}
		if i := s.stalls.findOpenBefore(f); i >= 0 {
			p.stalls = append(p.stalls, i)
		}
		slices.Sort(p.stalls)
		p.stalls = slices.Compact(p.stalls)
		// A relist that completed after the recovery was not held up any more.
		over, near := p.findRecovery(), len(p.stalls)
		p.stalls = slices.DeleteFunc(p.stalls, func(i int) bool {
			start := s.timeline.Stalls[i].Start
			return !over.IsZero() && over.Before(start) && f.Cause.End.Before(start)
		})
		p.past = near > 0 && len(p.stalls) == 0
	}
	p.live = s.isGoingOn(p)
	p.relevant = len(p.stalls) > 0 || p.live || p.past || s.mayBelongAnywhere(p)
	if p.rule.Role == language.Fallback && (s.mayBelongAnywhere(p) || len(s.stalls.findWithSymptom(f.Cause)) > 0) {
		p.Role = language.Fallback // it is about symptoms: unlike causes they may come as late as a stall ends
	}
	return p
}

// maxPossible bounds the possible findings that rest on tells alone: more of them are a list of
// symptoms, and no diagnosis.
const maxPossible = 3

// dropPossible drops the possible findings that rest on tells alone where a cause is proven, and
// all but the best of them elsewhere. They stay among the hypotheses.
func (s *story) dropPossible(proven bool) {
	s.dropped = map[string]bool{}
	kept := 0
	s.parts = slices.DeleteFunc(s.parts, func(p *part) bool {
		if !p.ByTells || p.Verdict != language.Possible {
			return false
		}
		if kept++; kept <= maxPossible && !proven {
			return false
		}
		s.dropped[p.Rule] = true
		return true
	})
	for _, p := range s.parts {
		delete(s.dropped, p.Rule)
	}
}

// weighDropped makes weighed hypotheses of those whose findings were dropped.
func (s *story) weighDropped(all []rules.Hypothesis) []rules.Hypothesis {
	all = slices.Clone(all)
	for i := range all {
		if s.dropped[all[i].Rule] && all[i].Verdict == language.Possible {
			all[i].Verdict = language.Weighed
		}
	}
	slices.SortStableFunc(all, func(a, b rules.Hypothesis) int { return cmp.Compare(b.Verdict, a.Verdict) })
	return all
}

// mayBelongAnywhere says that time does not tell to which stall a finding belongs: no stall is
// known, or the finding has no time.
func (s *story) mayBelongAnywhere(p *part) bool {
	return len(s.timeline.Stalls) == 0 || p.Cause.Start.IsZero()
}

// namesCause says whether a finding of the rule may be a root or a link.
func (p *part) namesCause() bool {
	return p.rule.Role == language.Root || p.rule.Role == language.Link
}

// isEnd says that a fallback is the end of the chains above it where nothing deeper is known: its
// rule names causes that may lie below.
func (p *part) isEnd() bool { return p.rule.Role == language.Fallback && len(p.rule.ExplainedBy) > 0 }

// foldFallbacks leaves one fallback of two at the same time: the one that shows where threads stand
// carries the story, and what the other saw joins its symptoms.
func (s *story) foldFallbacks() {
	end := slices.IndexFunc(s.parts, func(p *part) bool { return p.isEnd() && p.relevant })
	if end < 0 {
		return
	}
	stays := s.parts[end]
	s.parts = slices.DeleteFunc(s.parts, func(p *part) bool {
		if p.rule.Role != language.Fallback || p.isEnd() || p.Verdict > stays.Verdict || !mayOverlap(p, stays) {
			return false
		}
		stays.addSymptoms(p)
		return true
	})
}

// addSymptoms adds the symptoms of another part that this one does not show.
func (p *part) addSymptoms(other *part) {
	shown := map[*event.Event]bool{}
	for _, step := range p.Chain {
		for _, e := range step.Events {
			shown[e] = true
		}
	}
	for _, step := range other.Chain {
		if slices.ContainsFunc(step.Events, func(e *event.Event) bool { return !shown[e] }) {
			p.Chain = append(p.Chain, step)
		}
	}
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
		if !p.relevant || p.rule.Role == language.Fallback {
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

// mayOverlap says whether two findings overlap, give or take the limit of a call, after which a
// caller tries again. Without times nothing speaks against it.
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
	live, over := episode{}, episode{}
	for _, p := range s.parts {
		if !p.eligible || slices.ContainsFunc(p.deeper, func(d *part) bool { return d.eligible }) {
			continue
		}
		if s.isOverBefore(p) {
			over.candidates = append(over.candidates, p)
			continue
		}
		if p.live {
			live.candidates = append(live.candidates, p)
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
	for _, e := range []episode{live, over} {
		if len(e.candidates) > 0 {
			s.episodes = append(s.episodes, e)
		}
	}
}

// isOverBefore says that a part belongs to no stall, that its recovery or the end of its cause was
// seen, and that a stall or another cause begins after it: two incidents in a row.
func (s *story) isOverBefore(p *part) bool {
	over := p.findRecovery()
	if end := s.findEnd(p); over.IsZero() && !end.IsZero() {
		over = end.Add(calmTime)
	}
	return p.past || len(p.stalls) == 0 && !over.IsZero() && slices.ContainsFunc(s.parts, func(other *part) bool {
		return other.eligible && other.Verdict >= language.Likely && other.Cause.Start.After(over)
	})
}

// findEnd is when a cause that lasted was seen to end, where nothing of its part was seen later,
// and none of its kind goes on or begins again soon; zero for any other.
func (s *story) findEnd(p *part) time.Time {
	for _, step := range p.Chain {
		for _, e := range step.Events {
			if step.Role != "cause" || e.Open || e.Duration() <= 0 || !e.End.T.Equal(p.End) || s.isRowAtEnd(e) {
				continue
			}
			goesOn := func(other *event.Event) bool {
				again := other.Start.T.After(p.End) && other.Start.T.Sub(p.End) < calmTime
				return again || other.Open && !other.Last().T.Before(p.End)
			}
			if !slices.ContainsFunc(s.listKind(e.Kind), goesOn) {
				return p.End
			}
		}
	}
	return time.Time{}
}

// findRecovery is when the chain of a part shows that it was over; zero where it does not.
func (p *part) findRecovery() (at time.Time) {
	for _, step := range p.Chain {
		if step.Role == "recovery" && step.Start.After(at) {
			at = step.Start
		}
	}
	return at
}

// assignRoles names the roots and the links above them.
func (s *story) assignRoles() {
	for i := range s.episodes {
		s.episodes[i].chooseRoot()
	}
	for _, p := range s.parts {
		if p.rule.Role == language.NotReady && s.isApartFromRoots(p) {
			p.Role = language.NotReady
		}
	}
	explained := map[*part]bool{}
	for _, p := range s.parts {
		if p.Role == language.Contributing && p.rule.Role != language.Contributing && isExplainedByRoot(p, explained) {
			p.Role = language.Link
		}
	}
	for _, p := range s.parts {
		if p.Role == language.Root && p.rule.Role == language.Link {
			s.endLink(p)
		}
	}
}

// endLink says where the chain of a link ends that has become a root: at a fallback that is such an
// end and was seen with it, or with what the bundle does not show.
func (s *story) endLink(p *part) {
	end := slices.IndexFunc(s.parts, func(o *part) bool { return o.isEnd() && o.relevant && mayOverlap(o, p) })
	if end < 0 {
		p.Summary = trimSentence(p.Summary) + causeOfLinkUnknown
		return
	}
	p.Summary = trimSentence(p.Summary) + "; " + trimSentence(s.parts[end].Summary)
	var causes []rules.Step
	for _, step := range s.parts[end].Chain {
		if step.Role == "cause" {
			causes = append(causes, step)
		}
	}
	if len(causes) > 0 && len(p.Chain) > 0 {
		p.Chain[0].Observed = false // nothing but time ties the two
	}
	p.Chain = append(causes, p.Chain...)
}

// isApartFromRoots says that no root, and no stall, lies in the time of a part: the node is
// NotReady for this reason and not by PLEG. Without a stall a root that is less sure does not
// count.
func (s *story) isApartFromRoots(p *part) bool {
	return len(p.stalls) == 0 && !slices.ContainsFunc(s.parts, func(o *part) bool {
		surer := len(s.timeline.Stalls) > 0 || o.Verdict >= p.Verdict
		return o.Role == language.Root && mayOverlap(o, p) && surer
	})
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
	root.Role = language.Root
	for _, p := range e.candidates {
		if p.Role != language.Root && mayOverlap(p, root) {
			addRivals(root, p)
		}
	}
}

// measureSharedTime is how long the causing steps of a finding last in the stall: a lock that was
// held before it is not the one. Zero when one of them has no time.
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
		return d.Role == language.Root || d.eligible && isExplainedByRoot(d, known)
	})
	return known[p]
}

// findMainStall is the stall with which the story of a root ends: the one that its chain shows,
// else the first that it may have caused; nil when it caused none.
func (s *story) findMainStall(p *part) *timeline.Stall {
	if len(p.stalls) == 0 {
		return nil
	}
	shown := map[int64]bool{} // when the stalls of the chain began
	for i := range p.Chain {
		for _, e := range p.Chain[i].Events {
			if e.Kind == event.KindStall {
				shown[e.Start.T.UnixNano()] = true
			}
		}
	}
	for _, i := range p.stalls {
		if stall := &s.timeline.Stalls[i]; shown[stall.Start.UnixNano()] {
			return stall
		}
	}
	return &s.timeline.Stalls[p.stalls[0]]
}
