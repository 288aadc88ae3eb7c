package story

import (
	"cmp"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Episode is one incident of a bundle: stalls that follow each other closely, or a hang without any
// stall. A bundle may hold several, with different causes.
type Episode struct {
	timeline.Window      // zero when nothing is dated
	Open            bool // it was still going on where the evidence ends
	Undated         bool // what shows its cause was also seen at a time that is not known: it may go on
	Stalls          []int
	Cause           string // rule of its root; empty when none is named
	Verdict         language.Verdict
	Summary         string // of its root; empty without one
	Suspect         string // at what it hung, where no root is named: see [Suspect]; empty where nothing shows it
}

// addSuspects says of the episodes without a cause at what they hung.
func (r *Result) addSuspects() {
	for i := range r.Episodes {
		e := &r.Episodes[i]
		for _, stall := range e.Stalls {
			if suspects := r.SuspectsOf(stall); e.Cause == "" && e.Suspect == "" && len(suspects) > 0 {
				e.Suspect = suspects[0].String()
			}
		}
	}
}

// calmTime is how long relist must work again until a further stall is another episode: a node that
// flaps is sick in between.
const calmTime = 15 * time.Minute

// liveTime is how close to the end of the evidence something must have been seen to be going on
// there.
const liveTime = 10 * time.Minute

// listBouts groups the stalls that follow each other closely, as indices.
func (s *story) listBouts() [][]int {
	var all [][]int
	var end time.Time
	for i := range s.timeline.Stalls {
		stall := &s.timeline.Stalls[i]
		if n := len(all) - 1; n >= 0 && stall.Start.Sub(end) < calmTime {
			all[n] = append(all[n], i)
		} else {
			all = append(all, []int{i})
		}
		if stall.End.After(end) {
			end = stall.End
		}
	}
	return all
}

// describeEpisodes returns the episodes, first what is going on, then the others by time. About is
// the part that the headline is about; nil for none.
func (s *story) describeEpisodes(about *part) []Episode {
	var all []Episode
	told := map[*part]bool{}
	undated, alike := s.findUndatedRoot(), s.findAlike()
	for _, bout := range s.listBouts() {
		e := Episode{Stalls: bout, Open: s.isBoutOpen(bout)}
		for _, i := range bout {
			stall := &s.timeline.Stalls[i]
			e.Window = e.Union(stall.Window)
			root := cmp.Or(s.findRootOf(i), undated, alike[i])
			if root != nil {
				told[root] = true
				e.addCause(root)
			}
		}
		all = append(all, e)
	}
	bouts := len(all)
	for _, p := range s.parts {
		cause := p.Role == language.Root || p.Role == language.NotReady || p == about && !p.Cause.Start.IsZero()
		if told[p] || !cause || len(p.stalls) > 0 {
			continue
		}
		if p.Cause.Start.IsZero() && bouts == 1 { // without a time, it may only belong to these stalls
			all[0].addCause(p)
			continue
		}
		e := Episode{Window: p.sureWindow(), Open: p.live || len(s.timeline.Stalls) == 0 && s.goesOn(p) && !s.hasStopped(p)}
		if call := s.findOpenCall(p); call != nil && e.Open {
			e.Start = call.Start.T
		}
		if end := p.findRecovery(); end.After(e.End) && !e.Open {
			e.End = end
		}
		if e.Open && p.End.After(e.End) { // what it makes wait still did
			e.End = p.End
		}
		e.Undated = p.findRecovery().IsZero() && slices.ContainsFunc(p.Chain, isUndatedSight)
		e.addCause(p)
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b Episode) int {
		return cmp.Or(cmp.Compare(rankOpen(a), rankOpen(b)), a.Start.Compare(b.Start))
	})
	return all
}

// isUndatedSight says that a step is a cause, a thread or process that somebody saw held, nobody
// knows when.
func isUndatedSight(step rules.Step) bool {
	sights := []event.Kind{event.KindThreadSample, event.KindProcess}
	return step.Role == "cause" && step.Start.IsZero() && len(step.Events) > 0 && slices.Contains(sights, step.Events[0].Kind)
}

// isBoutOpen says that some stalls go on where the evidence ends: the end of one was not seen, one
// more may have come, or what causes several of them is still there.
func (s *story) isBoutOpen(bout []int) bool {
	var end time.Time
	for _, i := range bout {
		stall := &s.timeline.Stalls[i]
		if stall.Open {
			return true
		}
		if stall.End.After(end) {
			end = stall.End
		}
	}
	if len(bout) == 1 || s.findLastMoment().Sub(end) > liveTime {
		return false
	}
	return s.mayStallAgain(bout) || slices.ContainsFunc(bout, func(i int) bool {
		root := s.findRootOf(i)
		return root != nil && s.mayGoOn(root)
	})
}

// mayStallAgain says that the kubelet's logs end sooner after several stalls than one of them came
// after another, and was told: nothing shows that no more came.
func (s *story) mayStallAgain(bout []int) bool {
	var pause time.Duration
	for n, i := range bout[1:] {
		pause = max(pause, s.timeline.Stalls[i].Start.Sub(s.timeline.Stalls[bout[n]].End))
	}
	var end time.Time
	for i := range s.timeline.Coverage {
		if c := &s.timeline.Coverage[i]; c.Source == "kubelet.log" && c.End.After(end) {
			end = c.End
		}
	}
	return !end.IsZero() && max(0, end.Sub(s.timeline.Stalls[bout[len(bout)-1]].End)) < min(pause+untoldTime, liveTime)
}

// untoldTime is how long relist stands still before the kubelet says so (pkg/kubelet/pleg,
// relistThreshold).
const untoldTime = 3 * time.Minute

// findAlike returns, by stall, what shows its cause behind the findings that one rule may have: a
// match of a rule that is the root of another stall.
func (s *story) findAlike() map[int]*part {
	alike := map[int]*part{}
	for i := range s.more {
		f := &s.more[i]
		if !slices.ContainsFunc(s.parts, func(p *part) bool { return p.Role == language.Root && p.Rule == f.Rule }) {
			continue
		}
		p := s.newPart(f)
		for _, stall := range p.stalls {
			alike[stall] = cmp.Or(alike[stall], p)
		}
	}
	return alike
}

// numberEpisode returns the number, from 1, of the episode that a part belongs to, or of the first
// one where no cause is named; 0 where the part has none.
func (s *story) numberEpisode(about *part, all []Episode) int {
	if about == nil {
		return min(1, len(all))
	}
	main := slices.IndexFunc(all, func(e Episode) bool {
		return slices.ContainsFunc(about.stalls, func(i int) bool { return slices.Contains(e.Stalls, i) })
	})
	if main < 0 {
		main = slices.IndexFunc(all, func(e Episode) bool { return e.Cause == about.Rule })
	}
	return main + 1
}

// addCause takes over the root, unless the episode has a surer one.
func (e *Episode) addCause(root *part) {
	if root.Verdict > e.Verdict {
		e.Cause, e.Verdict, e.Summary = root.Rule, root.Verdict, trimSentence(root.Summary)
	}
}

// rankOpen puts what is going on before what is over.
func rankOpen(e Episode) int {
	if e.Open {
		return 0
	}
	return 1
}

// findUndatedRoot returns the root that has no time, and may belong to any stall that has no other;
// nil for none.
func (s *story) findUndatedRoot() *part {
	i := slices.IndexFunc(s.parts, func(p *part) bool { return p.Role == language.Root && p.Cause.Start.IsZero() })
	if i < 0 {
		return nil
	}
	return s.parts[i]
}

// findRootOf returns the root of a stall; nil for none.
func (s *story) findRootOf(stall int) *part {
	i := slices.IndexFunc(s.parts, func(p *part) bool { return p.Role == language.Root && slices.Contains(p.stalls, stall) })
	if i < 0 {
		return nil
	}
	return s.parts[i]
}

// isGoingOn says whether a finding shows something that was going on where the evidence ends, after
// all stalls were over: it is what the reader has to do with now.
func (s *story) isGoingOn(p *part) bool {
	lasts := p.rule.Role == language.Root && p.End.Sub(p.Cause.Start) >= calmTime // and is no moment near the end
	goesOn := (p.rule.Role == language.NotReady || lasts) && s.goesOn(p)
	open := p.namesCause() && (p.Open || s.keepsKubeletDown(p)) || goesOn
	if !open || p.Verdict < language.Likely || p.Cause.Start.IsZero() || len(s.timeline.Stalls) == 0 || len(p.stalls) > 0 {
		return false
	}
	last := s.findLastMoment()
	for i := range s.timeline.Stalls {
		if s.timeline.Stalls[i].Open || !s.timeline.Stalls[i].End.Before(p.Cause.Start) {
			return false
		}
	}
	if goesOn { // what it makes wait still does
		return last.Sub(p.End) <= liveTime
	}
	return last.Sub(p.Cause.End) <= liveTime
}

// sureWindow is the time of the cause, from when it lasted for sure: a wait that is printed in
// minutes can have begun at any moment between two.
func (p *part) sureWindow() timeline.Window {
	w := timeline.Window{End: p.Cause.End}
	for _, step := range p.Chain {
		if step.Role != "cause" && step.Role != "mechanism" {
			continue
		}
		for _, e := range step.Events {
			start := e.Start.T
			if e.HasVagueStart() {
				start = start.Add(e.Start.Prec)
			}
			if !e.Start.IsZero() && e.Start.Lacks == 0 && (w.Start.IsZero() || start.Before(w.Start)) {
				w.Start = start
			}
		}
	}
	if w.Start.Before(p.Cause.Start) || w.Start.After(w.End) {
		return p.Cause
	}
	return w
}

// goesOn says that the end of a cause was not seen.
func (s *story) goesOn(p *part) bool {
	return s.findEnd(p).IsZero() && (s.mayGoOn(p) || p.Open && !s.isReportedNoMore(p))
}

// isReportedNoMore says that all that a part shows is open are tasks in the kernel that its
// watchdog reported, and would have reported again: it looks at each task again after as long as it
// had waited (kernel/hung_task.c), until its warnings are used up.
func (s *story) isReportedNoMore(p *part) bool {
	told := false
	for _, step := range p.Chain {
		for _, e := range step.Events {
			switch {
			case e.Start.IsZero() || e.Start.Lacks != 0 || e.Kind == event.KindHungTask:
			case e.FieldText(event.FieldWatchdog) == "true":
				if !s.isSilentAfter(e) {
					return false
				}
				told = true
			case e.Open:
				return false
			}
		}
	}
	return told
}

// isSilentAfter says that the kernel's watchdog looked at a task again, and did not report it.
func (s *story) isSilentAfter(report *event.Event) bool {
	seconds, _ := report.FieldDuration(event.FieldSeconds)
	next, times, later := report.Last().T.Add(2*seconds), 0, false
	for _, e := range s.listKind(report.Kind) {
		if e.FieldText(event.FieldWatchdog) == "true" && e.Pos().File == report.Pos().File {
			times++
			later = later || e.Last().T.After(next)
		}
	}
	whole := slices.ContainsFunc(s.timeline.Coverage, func(c timeline.Coverage) bool {
		return c.File == report.Pos().File && c.Source == report.Source && c.IsDense() && c.End.After(next)
	})
	return seconds > 0 && (later || whole && times < rules.HungTaskWarnings)
}

// hasStopped says that what a part showed many times came no more, in a log that goes on for longer
// than it ever paused: what was seen open in between is over, too.
func (s *story) hasStopped(p *part) bool {
	return slices.ContainsFunc(p.Chain, func(step rules.Step) bool {
		var pause time.Duration
		var last *event.Event
		times := 0
		for _, e := range step.Events {
			if e.Start.IsZero() || e.Start.Lacks != 0 {
				continue
			}
			if last != nil {
				pause = max(pause, e.Start.T.Sub(last.Start.T))
			}
			last = e
			times++
		}
		return times >= manyTimes && step.Role != "recovery" && s.endOfSource(last).Sub(p.End) > max(2*pause, calmTime)
	})
}

// manyTimes is how often something must have been seen so that its pauses tell when it is over.
const manyTimes = 10

// mayGoOn says that what tells of a cause ended before the cause could have come again: no line
// says that it is over.
func (s *story) mayGoOn(p *part) bool {
	var moments []*event.Event
	if recovery := p.findRecovery(); !recovery.IsZero() && !p.Cause.End.After(recovery) {
		return false
	}
	for _, step := range p.Chain {
		if step.Role == "recovery" {
			continue
		}
		for _, e := range step.Events {
			if e.Kind == event.KindUnitGivenUp && !s.isStartedAfter(e) {
				return true
			}
			if !e.Start.IsZero() && e.Start.Lacks == 0 {
				moments = append(moments, e)
			}
		}
	}
	if slices.ContainsFunc(moments, s.isAnswerAtEnd) || slices.ContainsFunc(moments, isStillWaiting) {
		return true
	}
	slices.SortStableFunc(moments, func(a, b *event.Event) int { return a.Last().T.Compare(b.Last().T) })
	if len(moments) == 0 {
		return false
	}
	last, pause := moments[len(moments)-1], leastPause
	if !last.End.IsZero() && last.Duration() > 0 {
		return s.isRowAtEnd(last) // else it has an end
	}
	for i, e := range moments[1:] {
		pause = max(pause, 2*e.Last().T.Sub(moments[i].Last().T))
	}
	end := s.endOfSource(last)
	return !end.IsZero() && end.Sub(last.Last().T) <= min(pause, liveTime) && s.findLastMoment().Sub(last.Last().T) <= liveTime
}

// isRowAtEnd says that an event of many lines, which came again and again, lasts until their source
// ends: nothing shows that no more of them came.
func (s *story) isRowAtEnd(e *event.Event) bool {
	n, end := e.Count(), s.endOfSource(e)
	if n < leastRow || end.IsZero() {
		return false
	}
	pause := max(leastPause, 2*e.Duration()/time.Duration(n-1))
	return end.Sub(e.Last().T) <= min(pause, liveTime) && s.findLastMoment().Sub(e.Last().T) <= liveTime
}

// leastRow is how many lines that became one event show how often such a line comes.
const leastRow = 5

// isStillWaiting says that a dump shows a wait, which was not over then. It is no lower bound where
// only its minutes are known.
func isStillWaiting(e *event.Event) bool { return e.Open && e.HasVagueStart() }

// isAnswerAtEnd says that an event is an answer to collect, at the end of the input: so it was when
// collect asked, however short the answer took.
func (s *story) isAnswerAtEnd(e *event.Event) bool {
	return e.Kind == event.KindCollectRPC && e.FieldText(event.FieldAnswered) == "true" && s.findLastMoment().Sub(e.Last().T) <= liveTime
}

// isStartedAfter says that the daemon of a unit started after an event.
func (s *story) isStartedAfter(e *event.Event) bool {
	daemon := e.FieldText(event.FieldDaemon)
	return slices.ContainsFunc(s.timeline.Events, func(other *event.Event) bool {
		switch other.Kind {
		case event.KindKubeletStart, event.KindDaemonStart, event.KindDaemonBoot, event.KindUnitStart:
			return other.Start.T.After(e.Start.T) && (other.Component == daemon || other.FieldText(event.FieldDaemon) == daemon)
		}
		return false
	})
}

// leastPause is how long a source must go on without a cause before it counts as over.
const leastPause = 30 * time.Second

// endOfSource is until when the source of an event would have told of more; zero where that is not
// known. Lines that were pasted do not say who wrote them: for those it is the end of all lines of
// the file that have no writer.
func (s *story) endOfSource(e *event.Event) (end time.Time) {
	for i := range s.timeline.Coverage {
		c := &s.timeline.Coverage[i]
		until := c.End
		if c.Asked.After(until) {
			until = c.Asked
		}
		switch {
		case c.File != e.Pos().File || until.IsZero():
		case c.Source == e.Source:
			return until
		case c.Source == "":
			end = until
		}
	}
	return end
}

// findFirstMoment is the first moment of all sources; zero for none.
func (s *story) findFirstMoment() (first time.Time) {
	for i := range s.timeline.Coverage {
		if start := s.timeline.Coverage[i].Start; !start.IsZero() && (first.IsZero() || start.Before(first)) {
			first = start
		}
	}
	return first
}

// findLastMoment is the end of the evidence.
func (s *story) findLastMoment() time.Time {
	if s.last.IsZero() {
		for _, e := range s.timeline.Events {
			if e.Last().T.After(s.last) && e.Kind != event.KindFact {
				s.last = e.Last().T
			}
		}
	}
	return s.last
}
