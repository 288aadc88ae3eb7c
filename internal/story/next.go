package story

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// chooseNext returns the one thing to collect when no root is proven: what a possible one lacks,
// else the first question that is open, else what most of the unanswered rules ask for. Without a
// stall or a complaint nothing is asked for.
func (s *story) chooseNext(unanswered []rules.Unanswered) rules.Missing {
	root := s.findRole(rules.Root)
	if root != nil {
		if root.Verdict >= rules.Likely {
			return rules.Missing{}
		}
		if m := firstCommand(root.Missing); m.Command != "" {
			return m
		}
	}
	if len(s.timeline.Stalls) == 0 && s.findRole(rules.Fallback) == nil && s.complaint == nil {
		return rules.Missing{}
	}
	sources := s.listSources()
	for i := range questions {
		if q := &questions[i]; s.mustAsk(q, sources) {
			return rules.Missing{Source: strings.Join(q.lacks, " or "), Command: q.command}
		}
	}
	return s.findMostAsked(unanswered)
}

// listSources are the sources of which the bundle holds anything.
func (s *story) listSources() map[string]bool {
	sources := map[string]bool{}
	for i := range s.timeline.Coverage {
		sources[s.timeline.Coverage[i].Source] = true
	}
	for i := range s.timeline.Events {
		sources[s.timeline.Events[i].Source] = true
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
	for i := range s.timeline.Events {
		e := &s.timeline.Events[i]
		if slices.ContainsFunc(q.signs, func(sign eventSort) bool { return sign.fits(e) }) && (!q.inStall || s.mayBeInStall(e)) {
			return true
		}
	}
	return false
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
