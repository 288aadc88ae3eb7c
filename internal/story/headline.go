package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// writeHeadlines returns the incident in one sentence: what the headline is about, and where it
// led. The short one leaves out the links above it and the earlier episodes.
func (s *story) writeHeadlines(about *part, state State, signs []Sign, suspects []Suspect) (full, short string) {
	var cause string
	var links, effect, earlier []string
	switch {
	case state == Unrecognised:
		cause = s.describeUnrecognised()
	case state == Healthy:
		cause = s.describeHealthy()
	case state == Signs:
		cause = quoteSigns(signs)
	case state == Stalled:
		cause, earlier = s.describeStalled(suspects), s.describeEarlier(nil)
	case about.Role == language.NotReady:
		cause = notPLEG + lowerArticle(trimSentence(about.Summary))
		effect = s.describeDeeper(about)
	default:
		said := trimSentence(about.Summary)
		named := strings.TrimSuffix(said, causeOfLinkUnknown)
		cause = named + s.countContainers(about) + said[len(named):]
		links, effect, earlier = s.describeLinks(about), s.describeEffect(about), s.describeEarlier(about)
	}
	full = strings.Join(slices.Concat([]string{cause}, links, effect, earlier), "; ")
	return full, strings.Join(slices.Concat([]string{cause}, effect), "; ")
}

// countContainers says of how many containers the same is found as surely; nothing for one.
func (s *story) countContainers(about *part) string {
	found := map[string]bool{about.Container: true}
	for _, p := range s.parts {
		if p.Rule == about.Rule && p.Verdict == about.Verdict && p.relevant {
			found[p.Container] = true
		}
	}
	if delete(found, ""); about.Container == "" || len(found) < 2 {
		return ""
	}
	return fmt.Sprintf(oneOfContainers, len(found))
}

// describeDeeper says what a reason of NotReady may come from itself, where that is a finding that
// began no later.
func (s *story) describeDeeper(about *part) []string {
	for _, p := range s.parts {
		isCause := slices.ContainsFunc(about.rule.ExplainedBy, func(d language.Deeper) bool { return d.Rule == p.Rule })
		if isCause && p.Role == language.NotReady && !p.Start.After(about.Start) {
			return []string{fmt.Sprintf(mayComeFrom, trimSentence(p.Summary), p.Verdict)}
		}
	}
	return nil
}

// describeLinks are the summaries of the links above a cause. Those that rest on tells say nothing
// that is not proven.
func (s *story) describeLinks(about *part) []string {
	var said []string
	for _, link := range s.listLinks(about) {
		if !link.ByTells {
			said = append(said, trimSentence(link.Summary))
		}
	}
	return said
}

// describeEffect says what a cause led to: its stall, or that none is shown.
func (s *story) describeEffect(about *part) []string {
	stall := s.findMainStall(about)
	if stall == nil && len(s.timeline.Stalls) > 0 && !about.live && (about.Cause.Start.IsZero() || !s.comesAfterStalls(about)) {
		stall = &s.timeline.Stalls[0]
	}
	switch down := s.findReboot(about); {
	case stall == nil && about.live:
		return nil
	case stall == nil && down != nil:
		return []string{fmt.Sprintf(alsoSaid, down.Verdict, clauseOf(down.Summary))}
	case stall == nil && s.complaint != nil:
		return []string{describeComplaint(s.complaint)}
	case stall == nil && s.keepsKubeletDown(about):
		return []string{kubeletDown}
	case stall == nil:
		return []string{s.describeNotReady(about)}
	case about.Role != language.Root:
		return []string{s.describeStall(stall), stallUnexplained}
	}
	return []string{s.describeStall(stall)}
}

// describeNotReady says of a cause without a stall whether the node is NotReady, too. A node that
// was so before the cause began, and long before, does not count.
func (s *story) describeNotReady(about *part) string {
	const before = 10 * time.Minute
	for _, e := range s.timeline.Events {
		if !tellsNotReady(e) {
			continue
		}
		switch dated := !e.Start.IsZero() && e.Start.Known; {
		case !dated:
			return fmt.Sprintf(notReadyToo, "")
		case about.Cause.Start.IsZero() || !e.Start.T.Before(about.Cause.Start.Add(-before)):
			return fmt.Sprintf(notReadyToo, fmt.Sprintf(fromThere, event.TimeOfDay(e.Start.T)))
		}
	}
	return notReadyNotShown
}

// tellsNotReady says that an event shows the node NotReady, and not in a kubelet's first moments.
func tellsNotReady(e *event.Event) bool {
	switch e.Kind {
	case event.KindNodeNotReady:
		return !isRoutine(e)
	case event.KindNodeCondition:
		status := e.FieldText(event.FieldStatus)
		return e.FieldText(event.FieldCondition) == "Ready" && (status == "False" || status == "Unknown")
	}
	return e.Kind == event.KindKubeEvent && e.FieldText(event.FieldReason) == "NodeNotReady"
}

// findReboot returns the part that says that the machine went down after a cause, or with it; nil
// for none.
func (s *story) findReboot(about *part) *part {
	i := slices.IndexFunc(s.parts, func(p *part) bool {
		return p != about && p.Rule == rebooted && p.Verdict >= language.Likely &&
			(about.Cause.Start.IsZero() || !p.Cause.Start.IsZero() && !p.Cause.Start.Before(about.Cause.Start))
	})
	if i < 0 {
		return nil
	}
	return s.parts[i]
}

// clauseOf is the first clause of a sentence.
func clauseOf(text string) string {
	first, _, _ := strings.Cut(trimSentence(text), "; ")
	return first
}

// keepsKubeletDown says that a kubelet does not start because of a cause, and that none started
// later.
func (s *story) keepsKubeletDown(about *part) bool {
	return slices.ContainsFunc(about.Chain, func(step rules.Step) bool {
		return slices.ContainsFunc(step.Events, func(failed *event.Event) bool {
			return failed.Kind == event.KindStartFailed && !slices.ContainsFunc(s.timeline.Events, func(e *event.Event) bool {
				return (e.Kind == event.KindKubeletStart || e.Kind == event.KindNodeReady) && !e.Start.T.Before(failed.Start.T)
			})
		})
	})
}

// describeStalled says, when no cause is named, where it hangs and since when.
func (s *story) describeStalled(suspects []Suspect) string {
	var said []string
	fallback := s.findRole(language.Fallback)
	switch {
	case s.complaint != nil && (fallback == nil || fallback.ByTells): // it is more exact
		said = append(said, describeComplaint(s.complaint))
	case fallback != nil && s.describeOneContainer(fallback) != "":
		said = append(said, s.describeOneContainer(fallback))
	case fallback != nil && fallback.ByTells: // the rule's own sentence says more than its tells show
		said = append(said, trimSentence(fallback.Chain[0].Text))
	case fallback != nil:
		said = append(said, trimSentence(fallback.Summary))
	}
	if bouts := s.listBouts(); len(bouts) > 0 {
		stall := &s.timeline.Stalls[0]
		if last := bouts[len(bouts)-1]; s.isBoutOpen(last) {
			stall = &s.timeline.Stalls[last[0]]
		}
		said = append(said, s.describeStall(stall))
	}
	if len(suspects) > 0 {
		said = append(said, fmt.Sprintf(firstSuspect, suspects[0]))
	}
	return strings.Join(said, "; ")
}

// describeOneContainer says which calls were late where all of them are about one container: the
// runtime answers for the others. Empty where that is not so.
func (s *story) describeOneContainer(fallback *part) string {
	container, methods, late := "", []string(nil), map[*event.Event]bool{}
	for _, e := range s.timeline.Events {
		method := e.FieldText(event.FieldMethod)
		if e.Kind != event.KindCRIError && e.Kind != event.KindCRICall || e.FieldText(event.FieldDeadline) != "true" {
			continue
		}
		if e.IDs.Container == "" || container != "" && e.IDs.Container != container {
			return ""
		}
		container, late[e] = e.IDs.Container, true
		if !slices.Contains(methods, method) {
			methods = append(methods, method)
		}
	}
	isLate := func(e *event.Event) bool { return late[e] || e.Kind == event.KindStall }
	if len(late) < 2 || slices.ContainsFunc(fallback.Chain, func(step rules.Step) bool {
		return !slices.ContainsFunc(step.Events, isLate)
	}) {
		return ""
	}
	return fmt.Sprintf(lateForOne, event.ShortID(container), strings.Join(methods[:min(len(methods), maxNamed)], ", "))
}

// describeEarlier names the causes of other episodes, in the past tense.
func (s *story) describeEarlier(about *part) []string {
	var said []string
	for _, p := range s.parts {
		if p != about && p.Role == language.Root && len(p.stalls) > 0 && (about == nil || !slices.Contains(p.stalls, s.firstStallOf(about))) &&
			len(said) < maxEarlier && !s.sharesBout(p, about) {
			said = append(said, fmt.Sprintf(earlierEpisode, event.TimeOfDay(s.timeline.Stalls[p.stalls[0]].Start), trimSentence(p.Summary), p.Verdict))
		}
	}
	return said
}

// maxEarlier bounds the earlier episodes that the headline names.
const maxEarlier = 1

func (s *story) firstStallOf(p *part) int {
	if len(p.stalls) == 0 {
		return -1
	}
	return p.stalls[0]
}

// sharesBout says whether two parts belong to stalls that follow each other closely.
func (s *story) sharesBout(a, b *part) bool {
	if b == nil || len(b.stalls) == 0 {
		return false
	}
	return slices.ContainsFunc(s.listBouts(), func(bout []int) bool {
		in := func(i int) bool { return slices.Contains(bout, i) }
		return slices.ContainsFunc(a.stalls, in) && slices.ContainsFunc(b.stalls, in)
	})
}

// findRole returns the best part of a role; nil for none.
func (s *story) findRole(role language.Role) *part {
	if i := slices.IndexFunc(s.parts, func(p *part) bool { return p.Role == role }); i >= 0 {
		return s.parts[i]
	}
	return nil
}

// trimSentence makes a clause of a sentence.
func trimSentence(s string) string { return strings.TrimRight(s, ".; ") }

// describeComplaint is what the kubelet says of PLEG or the runtime in lines that give no stall.
func describeComplaint(e *event.Event) string {
	switch {
	case e.Kind == event.KindRuntimeDown:
		return runtimeDown
	case e.FieldText(event.FieldNever) == "true":
		return neverRelisted
	}
	return fmt.Sprintf(undatedComplaint, e.Text)
}

// describeStall is "relist stood still 3m12s, NotReady from 09:33:02 (one of 2 stalls)".
func (s *story) describeStall(stall *timeline.Stall) string {
	says := stallHeadline
	if stall.RuntimeDown {
		says = runtimeDownHeadline
	}
	text := fmt.Sprintf(says, describeLength(stall))
	if !stall.NotReady.IsZero() {
		text += fmt.Sprintf(notReadyHeadline, event.TimeOfDay(stall.NotReady))
	}
	if all := len(s.timeline.Stalls); all > 1 {
		text += fmt.Sprintf(oneOfStalls, all)
	}
	return text
}
