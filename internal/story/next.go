package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story/node"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// NextStep is something to do next: a command, and what its answer decides.
type NextStep struct {
	rules.Missing
	Decides   []string // rules between which the answer decides, the surest first
	Supported int      // for how many of these something speaks: all or none
	Hazard    string   // what the command does to the node
}

// Bounds of what is asked for.
const (
	maxNext    = 3
	maxDecides = 5
)

// chooseNext returns what to collect next, best first: what the part that the headline is about
// lacks, else the open questions of a stall, else what most of the other hypotheses lack. Nothing
// where a cause is confirmed, or where nothing is wrong.
func (s *story) chooseNext(about *part, state State, answers *rules.Result) []NextStep {
	n := &nextChooser{story: s, answers: answers, known: map[string]bool{}, dead: s.isRuntimeDead(answers), held: s.holdsThread(), runs: s.node.Runtimes, talos: s.node.Talos}
	if state >= Signs && state <= Possible {
		n.addKernelStacks()
		n.addPlugins()
		n.addDriver()
		n.addGracePeriod()
	}
	if state == Signs {
		n.addForCounts()
	}
	switch {
	case state == Confirmed:
		n.addRivals(about)
		return n.steps
	case about != nil:
		if about.Verdict <= language.Possible && slices.Contains(ofDisks, about.Rule) {
			n.addDisks()
		}
		if about.Verdict <= language.Possible && slices.Contains(deadRuntime, about.Rule) {
			n.addLastWords()
		}
		if about.Verdict <= language.Possible {
			n.addWholeDump()
		}
		n.addMissing(about.Missing)
		n.addRivals(about)
		s.others = len(n.steps) == 0 && !s.curesByDump(about)
	}
	stalled := s.isStalled()
	if about == nil && n.dead {
		n.addEndedRuntime()
	}
	if (stalled || state == Signs && (n.hasOpenStop() || n.hasMuteClient() || n.hasUnheldLock())) && state <= Possible {
		n.addQuestions(stalled)
	}
	if state >= Signs && state <= Possible {
		for i := range answers.Hypotheses {
			if h := &answers.Hypotheses[i]; h.Verdict == language.Possible || h.Verdict == language.Weighed {
				n.addMissing(h.Undecided)
			}
		}
	}
	if stalled && len(n.steps) == 0 && state <= Possible {
		n.addMissing([]rules.Missing{s.findMostAsked(answers.NotEvaluable)})
	}
	if state == Signs && len(n.steps) == 0 {
		n.addForSigns()
	}
	if state == Unrecognised {
		n.addAsleep()
		n.addMissing([]rules.Missing{{Source: "collect", Command: collectAll, Note: wantAll}})
	}
	if state == Stalled && s.isOver() {
		n.waitForHang()
	}
	return n.steps
}

// isOver says that relist works again after all stalls.
func (s *story) isOver() bool {
	bouts := s.listBouts()
	return len(bouts) > 0 && s.complaint == nil && !s.isBoutOpen(bouts[len(bouts)-1])
}

// waitForHang says of the commands that show what a program waits for that they show it while it
// hangs only.
func (n *nextChooser) waitForHang() {
	for i := range n.steps {
		if step := &n.steps[i]; asksForDump.MatchString(step.Command) || asksForTrace.MatchString(step.Command) {
			step.Note = strings.TrimSuffix(whenAgain+"; "+strings.TrimPrefix(step.Note, whileHanging), "; ")
		}
	}
}

// When a command is run: the second is runtime-latency's note.
const (
	whenAgain    = "when it hangs again"
	whileHanging = "while it hangs"
)

// collectAll is what shows how a node is where the input does not.
const collectAll = "plegdiag collect -o - > node.tgz"

// wantAll is what to know before it is run.
const wantAll = "it collects what the rules ask for"

// nextChooser gathers the next steps.
type nextChooser struct {
	*story
	answers *rules.Result
	steps   []NextStep
	known   map[string]bool // commands
	talos   bool            // the node runs Talos
	runs    []string        // the runtimes of the node; nil where they are not known
	dead    bool            // the runtime is gone or stopped: it writes no dump
	held    bool            // a thread of a daemon is in the kernel or held by a tracer: strace hangs on it
}

// addMissing adds the commands for inputs that are missing.
func (n *nextChooser) addMissing(missing []rules.Missing) {
	for _, m := range missing {
		m = node.AskOnly(m, n.runs)
		if n.talos {
			m = node.ForTalos(m)
		}
		have := m.Source == "kubernetes" && n.listSources()[m.Source]
		if m.Command == "" || n.known[m.Command] || have || len(n.steps) == maxNext || n.dead && asksForDump.MatchString(m.Command) || n.held && asksForTrace.MatchString(m.Command) || n.isAsked(m) {
			continue
		}
		n.known[m.Command] = true
		if m.Note == "" && n.hasPiece(m.Source) {
			m.Note = wantWhole
		}
		step := NextStep{Missing: m, Hazard: Hazard(m.Command)}
		if m.Command != collectAll { // which is for all rules, and those that ask for it alone are few
			step.Decides, step.Supported = n.listDecidedBy(m)
		}
		n.steps = append(n.steps, step)
	}
}

// hasPiece says that the input holds chosen lines of the one log that is missing.
func (n *nextChooser) hasPiece(source string) bool {
	return strings.HasSuffix(source, ".log") && n.listSources()[source] && !n.hasWhole(source)
}

// curesByDump says that the first step of a cure collects goroutines, and that the input has some:
// what they show is known.
func (s *story) curesByDump(about *part) bool {
	if len(about.Remediation.Now) == 0 || !slices.ContainsFunc(slices.Concat(runtimeDumps, []string{"goroutines.kubelet", "goroutines.shim"}), func(source string) bool { return s.listSources()[source] }) {
		return false
	}
	return slices.ContainsFunc(about.Remediation.Now[0].Commands, func(command string) bool {
		return asksForDump.MatchString(command) || strings.Contains(command, "debug/pprof/goroutine")
	})
}

// isAsked says that a step collects the best source of what is missing already.
func (n *nextChooser) isAsked(m rules.Missing) bool {
	best, _, _ := strings.Cut(m.Source, " or ")
	return slices.ContainsFunc(n.steps, func(s NextStep) bool { return sharesSource(s.Source, best) })
}

func (n *nextChooser) addRivals(about *part) {
	for _, r := range about.Rivals {
		n.addMissing(r.Decide)
	}
}

// addQuestions adds what would answer the open questions of a stall, or of a call that does not
// end: of that relist and its phase are no question.
func (n *nextChooser) addQuestions(ofStall bool) {
	sources := n.listSources()
	for i := range questions {
		if q := &questions[i]; (ofStall || q.phase == "") && n.mustAsk(q, sources) {
			n.addMissing([]rules.Missing{{Source: strings.Join(q.lacks, " or "), Command: q.command, Note: q.note}})
		}
	}
}

// addWholeDump adds the dump of a program of which an excerpt shows a wait for a lock, and not its
// holder.
func (n *nextChooser) addWholeDump() {
	sources := n.listSources()
	for i := range questions {
		if q := &questions[i]; q.again && n.mustAsk(q, sources) {
			n.addMissing([]rules.Missing{{Source: strings.Join(q.lacks, " or "), Command: q.command, Note: q.note}})
		}
	}
}

// listDecidedBy returns the rules that lack an input, those for which something speaks; where there
// is none, those that could not be evaluated without it. It also returns the number of the first
// sort.
func (n *nextChooser) listDecidedBy(m rules.Missing) (all []string, supported int) {
	add := func(rule string, lacks []rules.Missing) {
		shares := func(other rules.Missing) bool { return sharesSource(other.Source, m.Source) }
		if len(all) < maxDecides && !slices.Contains(all, rule) && slices.ContainsFunc(lacks, shares) {
			all = append(all, rule)
		}
	}
	for i := range n.answers.Hypotheses {
		if h := &n.answers.Hypotheses[i]; h.Verdict != language.RuledOut {
			add(h.Rule, h.Undecided)
		}
	}
	if len(all) > 0 {
		return all, len(all)
	}
	for i := range n.answers.NotEvaluable {
		u := &n.answers.NotEvaluable[i]
		add(u.Rule, u.Missing)
	}
	return all, 0
}

// sharesSource says whether two lists of sources, joined by "or", have one in common.
func sharesSource(a, b string) bool {
	others := strings.Split(b, " or ")
	return slices.ContainsFunc(strings.Split(a, " or "), func(source string) bool { return slices.Contains(others, source) })
}

// isAnswered says that a runtime took a call of the kubelet: it ran late in it, or answered it with
// an error of its own.
func isAnswered(e *event.Event) bool {
	return e.Kind == event.KindCRIError && e.FieldText(event.FieldGone) == "" && e.FieldText(event.FieldCut) != "true" && e.FieldText(event.FieldUnready) != "true"
}

// isRuntimeDead says whether a rule that names a dead or stopped runtime is likely at least, or a
// line says that the runtime is not there or sits in the kernel.
func (s *story) isRuntimeDead(answers *rules.Result) bool {
	return s.findEnded() != nil || slices.ContainsFunc(answers.Hypotheses, func(h rules.Hypothesis) bool {
		return h.Verdict >= language.Likely && slices.Contains(deadRuntime, h.Rule)
	}) || s.hasRuntimeInKernel() || s.hasAny(deadRuntimeSigns...) || s.isRefused()
}

// isRefused says that nobody listens at the socket of a runtime, and that nothing shows one later:
// a restart refuses clients for a second.
func (s *story) isRefused() (refused bool) {
	for _, e := range s.timeline.Events {
		switch {
		case slices.ContainsFunc(refusals, func(sort eventSort) bool { return sort.fits(e) }):
			refused = true
		case !refused || e.Kind == event.KindFact || e.Kind == event.KindDaemonStop || e.Kind == event.KindCrash:
		case isAnswered(e), slices.Contains(beginnings, e.Kind) && node.IsRuntime(e.FieldText(event.FieldDaemon)), node.IsRuntime(e.Component):
			refused = false
		}
	}
	return refused
}

// findEnded is the end of a runtime, or the first call that met nobody at its socket, after which
// nothing shows it again: neither a start nor a line of its own, nor a call that it took. Nil where
// there is none.
func (s *story) findEnded() *event.Event {
	ends := map[string]*event.Event{}
	for _, e := range s.afterLastAnswer() {
		name := endedRuntime(e)
		switch {
		case name != "" && ends[name] == nil:
			ends[name] = e
		case len(ends) == 0 || name != "" || e.Kind == event.KindFact: // which version it has does not show that it runs
		case slices.Contains(beginnings, e.Kind):
			delete(ends, e.FieldText(event.FieldDaemon))
		default:
			delete(ends, e.Component) // who writes runs
		}
	}
	for _, r := range node.Programs() {
		if e := ends[r]; e != nil {
			return e
		}
	}
	return nil
}

// afterLastAnswer are the events after the last call that somebody took.
func (s *story) afterLastAnswer() []*event.Event {
	all := s.timeline.Events
	for i, e := range slices.Backward(all) {
		if isAnswered(e) && endedRuntime(e) == "" {
			return all[i+1:]
		}
	}
	return all
}

// endedRuntime is the runtime whose process an event says has ended, or of which it shows that
// nobody listens at its socket; empty for every other event.
func endedRuntime(e *event.Event) string {
	switch e.Kind {
	case event.KindUnitExit, event.KindOOMKill:
		return e.FieldText(event.FieldRuntime)
	case event.KindCRIError, event.KindRelistFailed:
		if gone := e.FieldText(event.FieldGone); node.IsRuntime(gone) {
			return gone
		}
	case event.KindCrash:
		if node.IsRuntime(e.Component) {
			return e.Component
		}
	}
	return ""
}

// addEndedRuntime asks for what a runtime said last that has ended, and whether it runs again:
// nobody is there who could be asked for goroutines.
func (n *nextChooser) addEndedRuntime() {
	end := n.findEnded()
	if end == nil { // it is dead in another way
		return
	}
	name := endedRuntime(end)
	unit := unitOf(name)
	n.addMissing([]rules.Missing{{
		Source: name + ".log", Command: fmt.Sprintf(lookAfterEnd, unit, unit), Note: fmt.Sprintf(wantAfterEnd, sayEnd(end, name)),
	}})
}

// sayEnd says what shows that a runtime has ended.
func sayEnd(end *event.Event, runtime string) string {
	if end.FieldText(event.FieldGone) != "" {
		return "nobody listened at the socket of " + runtime
	}
	return event.OneLine(end.Text)
}

// lookAfterEnd shows whether a unit runs, and its last lines.
const lookAfterEnd = "timeout 10 systemctl status %s --no-pager -l | head -40; timeout 30 journalctl -u %s -n 60 --no-pager"

// wantAfterEnd is what to know before it is run.
const wantAfterEnd = "%s, and no line shows that it runs again"

// beginnings are the kinds of events that show a daemon after its end.
var beginnings = []event.Kind{
	event.KindUnitStart, event.KindUnitStarting, event.KindUnitRestart, event.KindDaemonStart, event.KindDaemonBoot, event.KindDaemonRestart,
}

// holdsThread says whether a thread of a daemon does not leave the kernel, or has a tracer already.
func (s *story) holdsThread() bool {
	return s.hasRuntimeInKernel() || s.hasAny(heldThreads...)
}

// listSources are the sources of which the bundle holds anything.
func (s *story) listSources() map[string]bool {
	sources := map[string]bool{}
	for i := range s.timeline.Coverage {
		sources[s.timeline.Coverage[i].Source] = true
	}
	for _, e := range s.timeline.Events {
		sources[e.Source] = true
	}
	return sources
}

// mustAsk says whether a question is to be asked, and the bundle does not answer it.
func (s *story) mustAsk(q *question, sources map[string]bool) bool {
	switch {
	case q.has != "" && !sources[q.has]:
		return false
	case q.phase != "" && q.phase != s.firstPhase():
		return false
	case !q.again && slices.ContainsFunc(q.lacks, func(source string) bool { return sources[source] }):
		return false
	}
	return len(q.signs) == 0 || s.showsSign(q)
}

// showsSign says whether an event is a sign of what a question asks about.
func (s *story) showsSign(q *question) bool {
	return slices.ContainsFunc(q.signs, func(sign eventSort) bool {
		return slices.ContainsFunc(s.listKind(sign.kind), func(e *event.Event) bool {
			return sign.fits(e) && (!q.inStall || s.mayBeInStall(e))
		})
	})
}

// mayBeInStall says whether an event may tell of a stall: it lies in one, or has no time, or no
// stall is known.
func (s *story) mayBeInStall(e *event.Event) bool {
	return len(s.timeline.Stalls) == 0 || e.Start.IsZero() || len(s.stalls.findWithSymptom(findWindow(e))) > 0
}

// firstPhase is the phase of the first stall.
func (s *story) firstPhase() timeline.Phase {
	if len(s.timeline.Stalls) == 0 {
		return timeline.PhaseUnknown
	}
	return s.timeline.Stalls[0].Phase
}

// findMostAsked returns what most of the unanswered rules lack, of those whose stalls sit in the
// phase of the first stall.
func (s *story) findMostAsked(unanswered []rules.Unanswered) (best rules.Missing) {
	phase := s.firstPhase()
	votes := map[rules.Missing]int{}
	for _, u := range unanswered {
		asks := s.catalog.Rule(u.Rule).Phase
		if asks != "" && phase != "" && phase != timeline.PhaseUnknown && asks != phase {
			continue
		}
		for _, m := range u.Missing {
			if votes[m]++; votes[m] > votes[best] {
				best = m
			}
		}
	}
	return best
}

// ReadsOnly is the hazard of a command that only reads, and reads nothing that can hang.
const ReadsOnly = "none: it only reads"

// Hazard says what a command does to the node besides answering; empty without a command.
func Hazard(command string) string {
	if command == "" {
		return ""
	}
	command, _, _ = strings.Cut(command, " # ")
	for _, h := range hazards {
		if h.command.MatchString(command) {
			return h.says
		}
	}
	return ReadsOnly
}
