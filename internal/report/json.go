package report

import (
	"io"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/document"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Schema names the JSON report. Fields are added to it, never renamed; docs/fields.md describes
// them.
const Schema = "plegdiag.report/v1"

// JSON writes the report for programs. Lists are never null; an unknown time is
// the empty string; a duration is a number of seconds; the text of an evidence
// is the line as it stands in the bundle.
func JSON(w io.Writer, inc *incident.Incident, o Options) error {
	v := newView(inc, o)
	return show.EncodeJSON(w, document.Report{
		Schema: Schema, Tool: show.Tool{Version: o.Version}, Incident: newSummary(v),
		Findings:     show.Rows(v.Result.Findings, newFinding),
		Next:         show.Rows(v.Result.Next, newNextStep),
		Hypotheses:   show.Rows(v.Result.Hypotheses, newHypothesis),
		Exposed:      show.Rows(v.Result.Exposed, newExposure),
		Forecasts:    show.Rows(v.Result.Forecasts, newForecast),
		Harmless:     show.Rows(v.Result.Harmless, newHarmless),
		RuledOut:     show.Rows(v.Result.RuledOut, newDismissed),
		NotEvaluable: show.Rows(v.Result.NotEvaluable, newNotEvaluable),
		Facts:        newFacts(v.timeline.Facts),
		Account:      newInputs(v),
	})
}

// newInputs is what became of the inputs.
func newInputs(v *view) document.Account {
	return document.Account{
		Clock: show.Rows(v.timeline.Clocks, newClock), Gaps: show.Rows(v.timeline.Gaps(), newGap),
		Files: show.Rows(v.Files, func(f **incident.File) document.File { return newFile(*f) }),
	}
}

func newSummary(v *view) document.Incident {
	suspects := map[int][]document.Suspect{}
	for i := range v.Result.Suspects {
		s := &v.Result.Suspects[i]
		suspects[s.Stall] = append(suspects[s.Stall], newSuspect(s))
	}
	stalls := show.Rows(v.timeline.Stalls, newStall)
	for i := range stalls {
		stalls[i].Suspects = append(stalls[i].Suspects, suspects[i]...)
	}
	var next document.Missing
	if n := v.Result.Next; len(n) > 0 && v.Result.Opening.State < story.Likely {
		next = newMissing(&n[0].Missing)
	}
	var chosen *document.Span
	if w := v.Chosen; !w.IsZero() {
		chosen = new(newSpan(w))
	}
	return document.Incident{
		Chosen:   chosen,
		Headline: v.Result.FullHeadline(),
		Node:     v.Node,
		LeftOut:  v.LeftOut,
		Window:   newSpan(v.Window),
		Stalls:   stalls,
		Next:     next,
		State:    v.Result.Opening.State.String(),
		Episodes: show.Rows(v.Result.Episodes, newEpisode),
		Signs: show.Rows(v.Result.Signs, func(s *story.Sign) document.Reason {
			return document.Reason{Text: s.Text, Evidence: show.EvidenceRows(s.Evidence)}
		}),
	}
}

func newSpan(w timeline.Window) document.Span {
	return document.Span{Start: show.Stamp(w.Start), End: show.Stamp(w.End)}
}

func newSuspect(s *story.Suspect) document.Suspect {
	return document.Suspect{What: s.What, ID: s.ID, Why: s.Why, Evidence: show.EvidenceRows(s.Evidence)}
}

func newEpisode(e *story.Episode) document.Episode {
	row := document.Episode{
		Span: newSpan(e.Window), Open: e.Open, Stalls: append([]int{}, e.Stalls...), Cause: e.Cause, Summary: e.Summary,
	}
	if e.Cause != "" {
		row.Verdict = e.Verdict.String()
	}
	return row
}

func newHypothesis(h *rules.Hypothesis) document.Hypothesis {
	return document.Hypothesis{
		Rule: h.Rule, Title: h.Title, Verdict: h.Verdict.String(),
		For: show.Rows(h.For, func(r *rules.Reason) document.Reason {
			return document.Reason{Text: r.Text, Evidence: show.EvidenceRows(r.Evidence)}
		}),
		Against: show.Rows(h.Against, newDismissal), NotSeen: append([]string{}, h.NotSeen...),
		Undecided: show.Rows(h.Undecided, newMissing),
	}
}

func newNextStep(n *story.NextStep) document.NextStep {
	return document.NextStep{
		Command: n.Command, Source: n.Source, Decides: append([]string{}, n.Decides...), Hazard: n.Hazard, Note: n.Note,
	}
}

func newHarmless(h *story.Harmless) document.Harmless {
	return document.Harmless{Name: h.Name, Why: h.Why, Count: h.Count, Evidence: show.EvidenceRows(h.Evidence)}
}

func newFacts(facts map[string]timeline.Fact) map[string]document.Fact {
	rows := map[string]document.Fact{}
	for name, f := range facts {
		rows[name] = document.Fact{Value: f.Value, Evidence: show.EvidenceRows(f.Evidence)}
	}
	return rows
}

func newStall(s *timeline.Stall) document.Stall {
	return document.Stall{
		Span:             newSpan(s.Window),
		Open:             s.Open,
		Phase:            string(s.Phase),
		PhaseBasis:       s.PhaseBasis,
		Tooth:            s.Tooth,
		Restarted:        show.Stamp(s.Restarted),
		Suspects:         []document.Suspect{},
		NotReady:         show.Stamp(s.NotReady),
		Evidence:         show.EvidenceRows(s.Evidence),
		NotReadyEvidence: show.EvidenceRows(s.NotReadyEvidence),
	}
}

func newFinding(f *story.Finding) document.Finding {
	return document.Finding{
		Rule:           f.Rule,
		Title:          f.Title,
		Verdict:        f.Verdict.String(),
		Role:           string(f.Role),
		Score:          f.Score,
		Formula:        f.Formula,
		Summary:        f.Summary,
		Container:      f.Container,
		Start:          show.Stamp(f.Start),
		End:            show.Stamp(f.End),
		Chain:          show.Rows(f.Chain, newStep),
		Contradictions: show.Rows(f.Contradictions, newDismissal),
		Missing:        show.Rows(f.Missing, newMissing),
		Rivals: show.Rows(f.Rivals, func(r *story.Rival) document.Rival {
			return document.Rival{Rule: r.Rule, Container: r.Container, Decide: show.Rows(r.Decide, newMissing)}
		}),
		Remediation: newRemediation(&f.Remediation),
		References:  show.NonNil(f.References),
		Notes:       show.NonNil(f.Notes),
	}
}

func newRemediation(r *language.Remediation) document.Remediation {
	return document.Remediation{Now: show.NonNil(r.Lines()), Actions: show.Rows(r.Now, newAction), Durable: show.NonNil(r.Durable)}
}

func newAction(a *language.Action) document.Action {
	return document.Action{Do: a.Do, Commands: show.NonNil(a.Commands), Hazard: a.Hazard}
}

func newMissing(m *rules.Missing) document.Missing {
	return document.Missing{Source: m.Source, Command: m.Command, Hazard: story.Hazard(m.Command), Note: m.Note}
}

func newExposure(e *rules.Exposure) document.Exposure {
	return document.Exposure{Rule: e.Rule, Text: e.Text, Because: show.NonNil(e.Because), Evidence: show.EvidenceRows(e.Evidence)}
}

func newForecast(f *rules.Forecast) document.Forecast {
	return document.Forecast{
		Rule: f.Rule, Text: f.Text, At: show.Stamp(f.At), Earliest: show.Stamp(f.Earliest), Latest: show.Stamp(f.Latest),
		Readings: f.Readings, Value: f.Value, Limit: f.Limit, Rate: f.Rate, Span: f.Span.Seconds(), Evidence: show.EvidenceRows(f.Evidence),
	}
}

func newStep(s *rules.Step) document.Step {
	return document.Step{
		Step:     s.ID,
		Rule:     s.Rule,
		Role:     s.Role,
		Edge:     edgeText(s),
		Start:    show.Stamp(s.Start),
		End:      show.Stamp(s.End),
		Duration: s.Duration.Seconds(),
		AtLeast:  s.AtLeast,
		AtMost:   s.AtMost,
		Basis:    s.Basis,
		Text:     s.Text,
		Evidence: show.EvidenceRows(s.Evidence),
	}
}

func newDismissal(a *rules.Against) document.Against {
	return document.Against{Why: a.Why, Evidence: show.EvidenceRows(a.Evidence)}
}

func newDismissed(r *rules.Dismissed) document.RuledOut {
	return document.RuledOut{Rule: r.Rule, Against: document.Against{Why: r.Why, Evidence: show.EvidenceRows(r.Evidence)}}
}

func newNotEvaluable(u *rules.Unanswered) document.NotEvaluable {
	return document.NotEvaluable{
		Rule:     u.Rule,
		Why:      u.Why,
		Missing:  show.Rows(u.Missing, func(m *rules.Missing) string { return m.Source }),
		Commands: show.Rows(u.Missing, func(m *rules.Missing) string { return m.Command }),
	}
}

func newClock(c *timeline.Clock) document.Clock {
	return document.Clock{Path: c.File, Basis: c.Basis, Offset: c.Offset.Seconds(), Note: c.Note}
}

// noReasons is what most files have; nobody writes to it.
var noReasons = map[string]int{}

func newFile(f *incident.File) document.File {
	reasons := f.Skips
	if reasons == nil {
		reasons = noReasons
	}
	return document.File{
		Path:      f.Path,
		Format:    f.Format,
		Component: f.Component,
		Lines:     f.Lines,
		Used:      f.Used,
		Blank:     f.Blank,
		Skipped:   f.Skipped,
		FirstSkip: f.FirstSkip,
		Start:     show.Stamp(f.Start),
		End:       show.Stamp(f.End),
		Error:     f.Err,
		Reasons:   reasons,
		Events:    f.Events,
		Findings:  f.Findings,
		Node:      f.Node,
		Note:      f.Note,
	}
}

func newGap(g *timeline.SharedGap) document.Gap {
	return document.Gap{
		Span:    newSpan(g.Window),
		Sources: show.NonNil(g.Sources), Paths: show.NonNil(g.Files), Reason: g.Reason, Evidence: show.EvidenceRows(g.Evidence),
	}
}
