package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// writeHeadline is the incident in one sentence.
func (s *story) writeHeadline(suspects []Suspect) string {
	root := s.findRole(rules.Root)
	if root == nil {
		return s.writeHeadlineWithoutRoot(suspects)
	}
	said := []string{trimSentence(root.Summary)}
	for _, link := range s.listLinks(root) {
		said = append(said, trimSentence(link.Summary))
	}
	if stall := s.findMainStall(root); stall != nil {
		said = append(said, s.describeStall(stall))
	} else if len(s.timeline.Stalls) > 0 { // the root has no time
		said = append(said, s.describeStall(&s.timeline.Stalls[0]))
	}
	return strings.Join(said, "; ")
}

// findRole returns the best part of a role; nil for none.
func (s *story) findRole(role rules.Role) *part {
	if i := slices.IndexFunc(s.parts, func(p *part) bool { return p.Role == role }); i >= 0 {
		return s.parts[i]
	}
	return nil
}

// trimSentence makes a clause of a sentence.
func trimSentence(s string) string { return strings.TrimRight(s, ".; ") }

// writeHeadlineWithoutRoot is the headline when no cause may be named.
func (s *story) writeHeadlineWithoutRoot(suspects []Suspect) string {
	var said []string
	if fallback := s.findRole(rules.Fallback); fallback != nil {
		said = append(said, trimSentence(fallback.Summary))
	}
	if len(s.timeline.Stalls) > 0 {
		said = append(said, s.describeStall(&s.timeline.Stalls[0]))
	}
	if len(said) == 0 && s.complaint != nil {
		said = append(said, describeComplaint(s.complaint))
	}
	if len(said) == 0 && len(s.parts) > 0 { // they contribute to stalls, and none was seen
		return fmt.Sprintf(contributingOnly, trimSentence(s.parts[0].Summary))
	}
	if len(said) == 0 {
		return nothingFound
	}
	if len(suspects) > 0 {
		said = append(said, fmt.Sprintf(firstSuspect, suspects[0]))
	}
	said = append(said, causeUnknown)
	return strings.Join(said, "; ")
}

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
	text := fmt.Sprintf(stallHeadline, describeLength(stall))
	if !stall.NotReady.IsZero() {
		text += fmt.Sprintf(notReadyHeadline, event.TimeOfDay(stall.NotReady))
	}
	if all := len(s.timeline.Stalls); all > 1 {
		text += fmt.Sprintf(oneOfStalls, all)
	}
	return text
}
