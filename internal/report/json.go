package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Schema names the JSON report. Fields are added to it, never renamed; docs/json.md describes them.
const Schema = "plegdiag.report/v1"

// JSON writes the report for programs. Lists are never null; an unknown time is
// the empty string; a duration is a number of seconds; the text of an evidence
// is the line as it stands in the bundle.
func JSON(w io.Writer, inc *incident.Incident, o Options) error {
	v := newView(inc, o)
	doc := document{{"schema", Schema}, {"tool", show.Tool{Version: o.Version}}, {"incident", newSummary(v)}}
	for i := range sections {
		if s := &sections[i]; s.key != "" {
			doc = append(doc, member{s.key, s.rows(v)})
		}
	}
	return show.EncodeJSON(w, doc)
}

// document is an object of JSON with its members in order.
type document []member

type member struct {
	key   string
	value any
}

// MarshalJSON implements [json.Marshaler].
func (d document) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for i, m := range d {
		buf.WriteByte("{,"[min(i, 1)])
		fmt.Fprintf(&buf, "%q:", m.key)
		if err := enc.Encode(m.value); err != nil {
			return nil, err
		}
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

type summary struct {
	Headline string   `json:"headline"`
	Node     string   `json:"node"`
	LeftOut  []string `json:"left_out,omitempty"` // other nodes that the inputs hold evidence of
	Window   span     `json:"window"`
	Chosen   *span    `json:"chosen,omitempty"` // the window that was asked for
	Stalls   []stall  `json:"stalls"`
	// Next is the first of what to collect next, where no cause is proven; empty strings otherwise.
	Next missing `json:"next"`
	// State is the incident in one word: confirmed, likely, possible, stalled, signs, healthy,
	// unrecognised.
	State string `json:"state"`
	// Episodes are the incidents of the bundle, first what is going on where the evidence ends.
	Episodes []episode `json:"episodes"`
	// Signs are what is not routine, where no cause is named.
	Signs []reason `json:"signs"`
}

type episode struct {
	span
	Open    bool   `json:"open"`
	Stalls  []int  `json:"stalls"` // by their place in the list of stalls
	Cause   string `json:"cause"`  // rule of its root; empty when none is named
	Verdict string `json:"verdict"`
	Summary string `json:"summary"`
}

type reason struct {
	Text     string          `json:"text"`
	Evidence []show.Evidence `json:"evidence"`
}

type hypothesis struct {
	Rule      string      `json:"rule"`
	Title     string      `json:"title"`
	Verdict   string      `json:"verdict"`
	For       []reason    `json:"for"`
	Against   []dismissal `json:"against"`
	NotSeen   []string    `json:"not_seen"`
	Undecided []missing   `json:"undecided"`
}

type nextStep struct {
	Command string   `json:"command"`
	Source  string   `json:"source"`
	Decides []string `json:"decides_between"`
	Hazard  string   `json:"hazard"`
	Note    string   `json:"note"` // what to know before the command is run
}

type span struct {
	Start show.Stamp `json:"start"`
	End   show.Stamp `json:"end"`
}

type stall struct {
	span
	Open             bool            `json:"open"`
	Phase            string          `json:"phase"`
	PhaseBasis       string          `json:"phase_basis"`
	Tooth            int             `json:"tooth"`
	Restarted        show.Stamp      `json:"restarted"`
	Suspects         []suspect       `json:"suspects"`
	NotReady         show.Stamp      `json:"not_ready"`
	Evidence         []show.Evidence `json:"evidence"`
	NotReadyEvidence []show.Evidence `json:"not_ready_evidence"`
}

type suspect struct {
	What     string          `json:"what"`
	ID       string          `json:"id"`
	Why      string          `json:"why"`
	Evidence []show.Evidence `json:"evidence"`
}

type exposure struct {
	Rule     string          `json:"rule"`
	Text     string          `json:"text"`
	Because  []string        `json:"because"`
	Evidence []show.Evidence `json:"evidence"`
}

type harmless struct {
	Name     string          `json:"name"`
	Why      string          `json:"why"`
	Count    int             `json:"count"`
	Evidence []show.Evidence `json:"evidence"`
}

type forecast struct {
	Rule     string          `json:"rule"`
	Text     string          `json:"text"`
	At       show.Stamp      `json:"at"`
	Earliest show.Stamp      `json:"earliest"`
	Latest   show.Stamp      `json:"latest"`
	Readings int             `json:"readings"`
	Value    float64         `json:"value"`
	Limit    float64         `json:"limit"`
	Rate     float64         `json:"rate_per_second"`
	Span     float64         `json:"measured_seconds"`
	Evidence []show.Evidence `json:"evidence"`
}

type finding struct {
	Rule           string      `json:"rule"`
	Title          string      `json:"title"`
	Verdict        string      `json:"verdict"`
	Role           string      `json:"role"`
	Score          float64     `json:"score"`
	Formula        string      `json:"formula"`
	Summary        string      `json:"summary"`
	Container      string      `json:"container"`
	Start          show.Stamp  `json:"start"`
	End            show.Stamp  `json:"end"`
	Chain          []step      `json:"chain"`
	Contradictions []dismissal `json:"contradictions"`
	Missing        []missing   `json:"missing"`
	Rivals         []rival     `json:"rivals"`
	Remediation    remediation `json:"remediation"`
	References     []string    `json:"references"`
	Notes          []string    `json:"notes"`
}

type step struct {
	Step     string          `json:"step"`
	Rule     string          `json:"rule"`
	Role     string          `json:"role"`
	Edge     string          `json:"edge"`
	Start    show.Stamp      `json:"start"`
	End      show.Stamp      `json:"end"`
	Duration float64         `json:"duration"`
	AtLeast  bool            `json:"at_least"`
	AtMost   bool            `json:"at_most"`
	Basis    string          `json:"basis"`
	Text     string          `json:"text"`
	Evidence []show.Evidence `json:"evidence"`
}

type dismissal struct {
	Why      string          `json:"why"`
	Evidence []show.Evidence `json:"evidence"`
}

type missing struct {
	Source  string `json:"source"`
	Command string `json:"command"`
	Hazard  string `json:"hazard"`
	Note    string `json:"note"` // what to know before the command is run
}

type rival struct {
	Rule      string    `json:"rule"`
	Container string    `json:"container"`
	Decide    []missing `json:"decide"`
}

type remediation struct {
	// Now is Actions as lines of text: of each what to do, then its commands.
	Now     []string `json:"now"`
	Actions []action `json:"actions"`
	Durable []string `json:"durable"`
}

type action struct {
	Do       string   `json:"do"`
	Commands []string `json:"commands"`
	Hazard   string   `json:"hazard"`
}

type dismissed struct {
	Rule string `json:"rule"`
	dismissal
}

type notEvaluable struct {
	Rule    string   `json:"rule"`
	Why     string   `json:"why"`
	Missing []string `json:"missing"`
	// Commands collect what is missing, one for each entry of Missing.
	Commands []string `json:"commands"`
}

type fact struct {
	Value    string          `json:"value"`
	Evidence []show.Evidence `json:"evidence"`
}

type clockRow struct {
	Path   string  `json:"path"`
	Basis  string  `json:"basis"`
	Offset float64 `json:"offset"`
	Note   string  `json:"note"`
}

type fileRow struct {
	Path      string         `json:"path"`
	Format    string         `json:"format"`
	Component string         `json:"component"`
	Lines     int            `json:"lines"`
	Used      int            `json:"used"`
	Blank     int            `json:"blank"`
	Skipped   int            `json:"skipped"`
	FirstSkip string         `json:"first_skip"`
	Start     show.Stamp     `json:"start"`
	End       show.Stamp     `json:"end"`
	Error     string         `json:"error"`
	Reasons   map[string]int `json:"skip_reasons"`
	Events    int            `json:"events"`
	Findings  int            `json:"findings"`
	Node      string         `json:"node,omitempty"` // where the inputs hold several
	Note      string         `json:"note,omitempty"`
}

func newSummary(v *view) summary {
	suspects := map[int][]suspect{}
	for i := range v.Result.Suspects {
		s := &v.Result.Suspects[i]
		suspects[s.Stall] = append(suspects[s.Stall], suspect{s.What, s.ID, s.Why, show.EvidenceRows(s.Evidence)})
	}
	stalls := show.Rows(v.timeline.Stalls, newStall)
	for i := range stalls {
		stalls[i].Suspects = append(stalls[i].Suspects, suspects[i]...)
	}
	var next missing
	if n := v.Result.Next; len(n) > 0 && v.Result.Opening.State < story.Likely {
		next = newMissing(&n[0].Missing)
	}
	var chosen *span
	if w := v.Chosen; !w.IsZero() {
		chosen = &span{show.Stamp(w.Start), show.Stamp(w.End)}
	}
	return summary{
		Chosen:   chosen,
		Headline: v.Result.FullHeadline(),
		Node:     v.Node,
		LeftOut:  v.LeftOut,
		Window:   span{show.Stamp(v.Window.Start), show.Stamp(v.Window.End)},
		Stalls:   stalls,
		Next:     next,
		State:    v.Result.Opening.State.String(),
		Episodes: show.Rows(v.Result.Episodes, newEpisode),
		Signs: show.Rows(v.Result.Signs, func(s *story.Sign) reason {
			return reason{s.Text, show.EvidenceRows(s.Evidence)}
		}),
	}
}

func findingRows(v *view) any  { return show.Rows(v.Result.Findings, newFinding) }
func exposureRows(v *view) any { return show.Rows(v.Result.Exposed, newExposure) }
func forecastRows(v *view) any { return show.Rows(v.Result.Forecasts, newForecast) }
func ruledOutRows(v *view) any { return show.Rows(v.Result.RuledOut, newDismissed) }
func fileRows(v *view) any     { return show.Rows(v.Files, newFile) }
func clockRows(v *view) any    { return show.Rows(v.timeline.Clocks, newClock) }
func gapRows(v *view) any      { return show.Rows(v.timeline.Gaps(), newGap) }

func newEpisode(e *story.Episode) episode {
	row := episode{
		span: span{show.Stamp(e.Start), show.Stamp(e.End)}, Open: e.Open, Stalls: append([]int{}, e.Stalls...), Cause: e.Cause, Summary: e.Summary,
	}
	if e.Cause != "" {
		row.Verdict = e.Verdict.String()
	}
	return row
}

func hypothesisRows(v *view) any {
	return show.Rows(v.Result.Hypotheses, func(h *rules.Hypothesis) hypothesis {
		return hypothesis{
			Rule: h.Rule, Title: h.Title, Verdict: h.Verdict.String(),
			For:     show.Rows(h.For, func(r *rules.Reason) reason { return reason{r.Text, show.EvidenceRows(r.Evidence)} }),
			Against: show.Rows(h.Against, newDismissal), NotSeen: append([]string{}, h.NotSeen...),
			Undecided: show.Rows(h.Undecided, newMissing),
		}
	})
}

func nextRows(v *view) any {
	return show.Rows(v.Result.Next, func(n *story.NextStep) nextStep {
		return nextStep{n.Command, n.Source, append([]string{}, n.Decides...), n.Hazard, n.Note}
	})
}

func harmlessRows(v *view) any {
	return show.Rows(v.Result.Harmless, func(h *story.Harmless) harmless {
		return harmless{h.Name, h.Why, h.Count, show.EvidenceRows(h.Evidence)}
	})
}

func notEvaluableRows(v *view) any { return show.Rows(v.Result.NotEvaluable, newNotEvaluable) }

func factRows(v *view) any {
	rows := map[string]fact{}
	for name, f := range v.timeline.Facts {
		rows[name] = fact{f.Value, show.EvidenceRows(f.Evidence)}
	}
	return rows
}

func newStall(s *timeline.Stall) stall {
	return stall{
		span:             span{show.Stamp(s.Start), show.Stamp(s.End)},
		Open:             s.Open,
		Phase:            string(s.Phase),
		PhaseBasis:       s.PhaseBasis,
		Tooth:            s.Tooth,
		Restarted:        show.Stamp(s.Restarted),
		Suspects:         []suspect{},
		NotReady:         show.Stamp(s.NotReady),
		Evidence:         show.EvidenceRows(s.Evidence),
		NotReadyEvidence: show.EvidenceRows(s.NotReadyEvidence),
	}
}

func newFinding(f *story.Finding) finding {
	return finding{
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
		Rivals: show.Rows(f.Rivals, func(r *story.Rival) rival {
			return rival{r.Rule, r.Container, show.Rows(r.Decide, newMissing)}
		}),
		Remediation: newRemediation(&f.Remediation),
		References:  show.NonNil(f.References),
		Notes:       show.NonNil(f.Notes),
	}
}

func newRemediation(r *rules.Remediation) remediation {
	return remediation{show.NonNil(r.Lines()), show.Rows(r.Now, newAction), show.NonNil(r.Durable)}
}

func newAction(a *rules.Action) action { return action{a.Do, show.NonNil(a.Commands), a.Hazard} }

func newMissing(m *rules.Missing) missing {
	return missing{m.Source, m.Command, story.Hazard(m.Command), m.Note}
}

func newExposure(e *rules.Exposure) exposure {
	return exposure{e.Rule, e.Text, show.NonNil(e.Because), show.EvidenceRows(e.Evidence)}
}

func newForecast(f *rules.Forecast) forecast {
	return forecast{
		f.Rule, f.Text, show.Stamp(f.At), show.Stamp(f.Earliest), show.Stamp(f.Latest), f.Readings,
		f.Value, f.Limit, f.Rate, f.Span.Seconds(), show.EvidenceRows(f.Evidence),
	}
}

func newStep(s *rules.Step) step {
	return step{
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

func newDismissal(a *rules.Against) dismissal { return dismissal{a.Why, show.EvidenceRows(a.Evidence)} }

func newDismissed(r *rules.Dismissed) dismissed {
	return dismissed{r.Rule, dismissal{r.Why, show.EvidenceRows(r.Evidence)}}
}

func newNotEvaluable(u *rules.Unanswered) notEvaluable {
	return notEvaluable{
		Rule:     u.Rule,
		Why:      u.Why,
		Missing:  show.Rows(u.Missing, func(m *rules.Missing) string { return m.Source }),
		Commands: show.Rows(u.Missing, func(m *rules.Missing) string { return m.Command }),
	}
}

func newClock(c *timeline.Clock) clockRow {
	return clockRow{c.File, c.Basis, c.Offset.Seconds(), c.Note}
}

func newFile(f *incident.File) fileRow {
	reasons := maps.Clone(f.Skips)
	if reasons == nil {
		reasons = map[string]int{}
	}
	return fileRow{
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

type gapRow struct {
	span
	Sources  []string        `json:"sources"`
	Paths    []string        `json:"paths"`
	Reason   string          `json:"reason"`
	Evidence []show.Evidence `json:"evidence"`
}

func newGap(g *timeline.SharedGap) gapRow {
	return gapRow{
		span{show.Stamp(g.Start), show.Stamp(g.End)},
		show.NonNil(g.Sources), show.NonNil(g.Files), g.Reason, show.EvidenceRows(g.Evidence),
	}
}
