package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
)

// noCause ends every headline that names none.
const noCause = "the evidence does not carry a cause"

// headline is the incident in one sentence.
func (s *story) headline(result *Result) string {
	root := slices.IndexFunc(s.drafts, func(d *draft) bool { return d.Role == rules.Root })
	if root < 0 {
		return s.withoutRoot(result)
	}
	d := s.drafts[root]
	parts := []string{sentence(d.Summary)}
	for _, i := range s.links(root) {
		parts = append(parts, sentence(s.drafts[i].Summary))
	}
	if stalls := s.stalls(d); len(stalls) > 0 {
		parts = append(parts, s.standstill(stalls[0]))
	} else if len(s.timeline.Stalls) > 0 { // it has no time
		parts = append(parts, s.standstill(0))
	}
	if d.Verdict == rules.Possible {
		parts[0] = "possible, not proven: " + parts[0]
	}
	return strings.Join(parts, "; ")
}

func sentence(s string) string { return strings.TrimRight(s, ".; ") }

// withoutRoot is the headline when no cause may be named.
func (s *story) withoutRoot(result *Result) string {
	var parts []string
	for _, d := range s.drafts {
		if d.Role == rules.Fallback {
			parts = append(parts, sentence(d.Summary))
			break
		}
	}
	if len(s.timeline.Stalls) > 0 {
		parts = append(parts, s.standstill(0))
	}
	if complaint := s.complaint(); len(parts) == 0 && complaint != "" {
		parts = append(parts, complaint)
	}
	if len(parts) == 0 && len(s.drafts) > 0 { // they contribute to stalls, and none was seen
		return "no PLEG stall in this bundle; " + sentence(s.drafts[0].Summary)
	}
	if len(parts) == 0 {
		return "no PLEG stall and no known signature in this bundle"
	}
	if len(result.Suspects) > 0 {
		parts = append(parts, "suspect: "+result.Suspects[0].String())
	}
	parts = append(parts, noCause)
	if result.Next.Command != "" {
		parts = append(parts, "next: "+result.Next.Command)
	}
	return strings.Join(parts, "; ")
}

// complaint is what the kubelet says of PLEG in lines that give no stall. Empty when all was well, or over.
func (s *story) complaint() string {
	switch e := unanswered(s.timeline); {
	case e == nil:
		return ""
	case e.Kind == "kubelet.runtime-down":
		return "the kubelet finds the container runtime down: for 30 s it has not said that it is well"
	case e.FieldText("never") == "true":
		return "the kubelet has not completed a relist since it started; the log does not show since when"
	default:
		return e.Text + ", by a line without a time"
	}
}

// standstill is "relist stood still 3m12s, NotReady from 09:33:02".
func (s *story) standstill(i int) string {
	stall := &s.timeline.Stalls[i]
	text := "relist stood still " + strings.TrimPrefix(lasting(stall), "for ")
	if !stall.NotReady.IsZero() {
		text += ", NotReady from " + event.TimeOfDay(stall.NotReady)
	}
	if others := len(s.timeline.Stalls) - 1; others > 0 {
		text += fmt.Sprintf(" (one of %d stalls)", others+1)
	}
	return text
}
