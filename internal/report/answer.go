package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// The answer is what a person needs first: the screen, a ticket and a chat show the same.

// sentence is what broke, without the state.
func (v *view) sentence() string { return cmp.Or(v.Result.Opening.Short, v.Result.Headline) }

// describeTime says since when it lasts, whether it goes on, and which part of the evidence was
// asked for.
func (v *view) describeTime() string { return v.episodeTime() + v.chosenText() }

// chosenText says which part of the evidence was analysed; empty where all was.
func (v *view) chosenText() string {
	moment := func(t time.Time) string { return show.Window(timeline.Window{Start: t, End: t}) }
	switch w := v.Chosen; {
	case w.IsZero():
		return ""
	case w.End.IsZero():
		return "; analysed was only what came from " + moment(w.Start) + " on"
	case w.Start.IsZero():
		return "; analysed was only what came until " + moment(w.End)
	default:
		return "; analysed was only " + show.Window(w)
	}
}

// episodeTime says since when it lasts, and whether it goes on.
func (v *view) episodeTime() string {
	r := &v.Result
	if r.Opening.Episode == 0 || r.Episodes[r.Opening.Episode-1].Start.IsZero() {
		if logs := v.logWindow(); r.Opening.Finding > 0 && r.Findings[r.Opening.Finding-1].Start.IsZero() && !logs.IsZero() {
			return "what shows it is not dated; the logs are from " + v.windowText(logs)
		}
		return v.windowText(v.Window)
	}
	e := &r.Episodes[r.Opening.Episode-1]
	text := v.windowText(e.Window)
	if e.End.Sub(e.Start) < time.Second { // a moment, of which nobody knows how it went on
		return text
	}
	text += " (" + show.Duration(e.End.Sub(e.Start), e.Open) + ")"
	if e.Open {
		return text + "; end not seen"
	}
	if e.Undated {
		return text
	}
	return text + "; over"
}

// logWindow is from when to when the logs are; zero where none is dated.
func (v *view) logWindow() (w timeline.Window) {
	for i := range v.timeline.Coverage {
		if c := &v.timeline.Coverage[i]; c.Source != "" {
			w = w.Union(timeline.Window{Start: c.Start, End: c.End})
		}
	}
	return w
}

// windowText is a stretch of time in UTC and, where the reader has a zone, also in that; else as
// the logs are stamped, because they lie beside the report.
func (v *view) windowText(w timeline.Window) string {
	zone, stamped := v.Zone, ""
	if zone == nil {
		zone, stamped = show.StampZone(v.timeline.Clocks), ", as the logs are stamped,"
	}
	if zone == nil || w.Start.IsZero() {
		return show.Window(w)
	}
	return show.LocalWindow(w, zone) + stamped + " = " + show.Window(w)
}

// describeFirst says what to do first in prose: the advice, or what the command collects.
func (v *view) describeFirst() string {
	o := &v.Result.Opening
	i := slices.IndexFunc(v.Result.Next, func(n story.NextStep) bool { return n.Command == o.Command })
	if o.Advice != "" || o.Command == "" || i < 0 {
		return o.Advice
	}
	text := "collect " + story.DescribeSource(v.Result.Next[i].Source)
	if o.Note != "" {
		text += "; " + o.Note
	}
	return text
}

// other is what else is known besides what the headline is about.
type other struct {
	text   string
	proven bool // likely or confirmed
}

// rank puts what is proven first.
func (o other) rank() int {
	if o.proven {
		return 0
	}
	return 1
}

// listOthers are the other episodes, findings that belong to none, and the signs that a possible
// cause does not explain, those that are proven first; on a healthy node what is going to happen.
func (v *view) listOthers() (told []other) {
	r := &v.Result
	for i := range r.Episodes {
		if e := &r.Episodes[i]; i+1 != r.Opening.Episode {
			told = append(told, other{episodeText(e), e.Verdict >= language.Likely})
		}
	}
	told = append(told, v.listContributing()...)
	if r.Opening.State == story.Possible {
		for i := range r.Signs {
			told = append(told, other{text: countSign(&r.Signs[i], r.Signs[i].Brief())})
		}
	}
	if len(told) == 0 && r.Opening.State <= story.Healthy {
		for i := range r.Forecasts {
			told = append(told, other{text: forecastText(&r.Forecasts[i])})
		}
	}
	slices.SortStableFunc(told, func(a, b other) int { return a.rank() - b.rank() })
	return told
}

// listContributing are the findings that contribute, besides what the headline is about: of each
// rule the first one, how many there are, and when, where that was at another time.
func (v *view) listContributing() (told []other) {
	r, count := &v.Result, map[string]int{}
	isOther := func(i int) bool { return i+1 != r.Opening.Finding && r.Findings[i].Role == language.Contributing }
	for i := range r.Findings {
		if isOther(i) {
			count[r.Findings[i].Rule]++
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		n := count[f.Rule]
		if !isOther(i) || n == 0 {
			continue
		}
		text := f.Verdict.String()
		if count[f.Rule] = 0; n > 1 {
			text += fmt.Sprintf(", %d of this kind", n)
		}
		if n := r.Opening.Finding; n > 0 && f.IsApartFrom(&r.Findings[n-1]) {
			text += ", " + show.Window(timeline.Window{Start: f.Start, End: f.End})
		}
		told = append(told, other{text + ": " + f.Summary, f.Verdict >= language.Likely})
	}
	return told
}

// episodeText is an episode in a sentence.
func episodeText(e *story.Episode) string {
	text := "undated"
	if !e.Start.IsZero() {
		text = show.Window(e.Window)
	}
	if length := e.End.Sub(e.Start); length > 0 {
		text += " (" + show.Duration(length, e.Open) + ")"
	}
	if e.Cause == "" {
		return text + ": " + unknownCause(e)
	}
	return fmt.Sprintf("%s: %s (%s)", text, e.Summary, e.Verdict)
}

// unknownCause says of an episode without a cause at what it hung, as far as that is known.
func unknownCause(e *story.Episode) string {
	if e.Suspect == "" {
		return "the cause is not shown"
	}
	return "the cause is not shown; suspect: " + e.Suspect
}

// answerStep is one step of the chain, in a line.
type answerStep struct {
	at, length string
	day        string
	text       string
	pos        event.Pos
}

// listSteps are the steps of the cause that the headline is about; without one, the stall and what
// is suspected, or the signs, or what is harmless where nothing else is there.
func (v *view) listSteps() (all []answerStep) {
	r := &v.Result
	switch {
	case r.Opening.Finding > 0:
		chain := r.Findings[r.Opening.Finding-1].Chain
		for i := range chain {
			c := &chain[i]
			all = append(all, newAnswerStep(c.Start, c.Basis, show.BoundedSeconds(c.Duration, c.AtLeast, c.AtMost), c.Text, c.Evidence))
		}
	case r.Opening.State == story.Stalled:
		all = v.listStalledSteps()
	default:
		for i := range r.Signs {
			all = append(all, newAnswerStep(time.Time{}, "", "", countSign(&r.Signs[i], r.Signs[i].Brief()), r.Signs[i].Evidence))
		}
		if r.Opening.State == story.Unrecognised { // then it is what the input is about
			for _, h := range r.Harmless {
				all = append(all, newAnswerStep(time.Time{}, "", "", harmlessText(h), h.Evidence))
			}
		}
	}
	return all
}

// listStalledSteps are the stalls of the episode that is told, each with its suspects, or what the
// fallback saw.
func (v *view) listStalledSteps() (all []answerStep) {
	r := &v.Result
	told := []int{}
	if r.Opening.Episode > 0 {
		told = r.Episodes[r.Opening.Episode-1].Stalls
	}
	for _, i := range told {
		stall := &v.timeline.Stalls[i]
		text := "relist does not complete"
		switch {
		case stall.RuntimeDown:
			text = "the runtime does not answer the kubelet"
		case stall.Phase != timeline.PhaseUnknown:
			text += ", phase " + string(stall.Phase)
		}
		all = append(all, newAnswerStep(stall.Start, "", show.Duration(stall.End.Sub(stall.Start), stall.Open), text, stall.Evidence))
		if !stall.NotReady.IsZero() {
			all = append(all, newAnswerStep(stall.NotReady, "", "", "the node becomes NotReady", stall.NotReadyEvidence))
		}
		for _, suspect := range r.SuspectsOf(i) {
			all = append(all, newAnswerStep(time.Time{}, "", "", "suspect: "+suspect.String(), suspect.Evidence))
		}
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Role == language.Fallback {
			for k := range f.Chain {
				c := &f.Chain[k]
				if slices.ContainsFunc(all, func(s answerStep) bool { return len(c.Evidence) > 0 && s.pos == c.Evidence[0].Pos }) {
					continue // the stall says it
				}
				all = append(all, newAnswerStep(c.Start, c.Basis, show.BoundedSeconds(c.Duration, c.AtLeast, c.AtMost), c.Text, c.Evidence))
			}
		}
	}
	return all
}

func newAnswerStep(start time.Time, basis, length, text string, evidence []event.Quote) answerStep {
	step := answerStep{length: length, text: text}
	if !start.IsZero() {
		step.at, step.day = show.Moment(start.Truncate(time.Second), basis), show.Day(start)
	}
	if len(evidence) > 0 {
		step.pos = evidence[0].Pos
	}
	return step
}

// nextText says what a next step collects and decides, and what it does to the node.
func nextText(n *story.NextStep) string {
	text := "collect " + story.DescribeSource(n.Source)
	if n.Supported > 1 {
		text += ": it decides between " + listRules(n.Decides[:n.Supported])
	}
	if n.Note != "" {
		text += "; " + n.Note
	}
	if n.Hazard != "" && n.Hazard != story.ReadsOnly {
		text += "; hazard: " + n.Hazard
	}
	return text
}

// listRules names up to three rules of some, "a, b and 2 more" where there are more.
func listRules(rules []string) string {
	if len(rules) > 3 {
		return fmt.Sprintf("%s, %s and %d more", rules[0], rules[1], len(rules)-2)
	}
	last := len(rules) - 1
	return strings.Join(rules[:last], ", ") + " and " + rules[last]
}

// findNext is the next step besides what is to be done first; nil for none.
func (v *view) findNext() *story.NextStep {
	for i := range v.Result.Next {
		if n := &v.Result.Next[i]; n.Command != v.Result.Opening.Command {
			return n
		}
	}
	return nil
}

// describeLosses says what the bundle lacks, and which files could not be read to their end; of
// inputs of which nothing was read, what each is. Empty when nothing is lost.
func (v *view) describeLosses() string {
	first, lost := "", 0
	for _, f := range v.Files {
		if f.Format == "link" || f.Err == "" && !v.Unread {
			continue
		}
		if lost++; lost == 1 {
			said := cmp.Or(f.Err, f.Note, f.Format)
			if rest, cut := strings.CutPrefix(said, "unexpected EOF"); cut && !f.End.IsZero() {
				said = "incomplete: cut at " + f.End.UTC().Format(time.TimeOnly) + rest
			}
			first = f.Path + ": " + said
		}
	}
	if lost > 1 {
		first += "; and " + show.Plural(lost-1, "more file")
	}
	if why := v.timeline.Facts["collect.sealed"].Value; why != "" {
		first = strings.TrimSuffix("the bundle is incomplete: "+why+"; "+first, "; ")
	}
	return first
}

// maxSubject is how long the subject of a ticket is at most, in columns: what mail programs and
// trackers show of it.
const maxSubject = 72

// Subject is an incident as the subject of a ticket: the state, the node and what broke, in one
// line of at most 72 columns.
func Subject(inc *incident.Incident) string {
	v := newView(inc, Options{})
	o := &v.Result.Opening
	text := strings.ToUpper(o.State.Words()) + ": "
	if v.Node != "" {
		text += v.Node + ": "
	}
	if o.Finding > 0 {
		f := &v.Result.Findings[o.Finding-1]
		if f.Role == language.NotReady {
			text += "not PLEG: "
		}
		text += strings.TrimRight(f.Title, ". ")
	} else {
		text += v.sentence()
	}
	lines := show.Wrap(text, maxSubject)
	if len(lines) == 1 {
		return lines[0]
	}
	return show.Wrap(text, maxSubject-lipgloss.Width(" …"))[0] + " …"
}
