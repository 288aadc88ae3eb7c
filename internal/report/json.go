package report

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
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
	doc := document{{"schema", Schema}, {"tool", tool{o.Version}}, {"incident", newSummary(inc)}}
	for i := range sections {
		if s := &sections[i]; s.key != "" {
			doc = append(doc, member{s.key, s.rows(inc)})
		}
	}
	return encode(w, doc)
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

// encode writes a document of JSON, in ASCII where a terminal would obey or hide a character.
func encode(w io.Writer, document any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return err
	}
	_, err := w.Write(ascii(buf.Bytes()))
	return err
}

// ascii writes the characters that a terminal would obey or hide, and that
// encoding/json leaves as they are (DEL, C1, bidi controls), as \uXXXX. They
// stand in strings only, so that the value stays the same.
func ascii(doc []byte) []byte {
	out := make([]byte, 0, len(doc))
	for i := 0; i < len(doc); {
		r, n := utf8.DecodeRune(doc[i:])
		if r < 0x7f || unicode.IsPrint(r) {
			out = append(out, doc[i:i+n]...)
		} else {
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
		i += n
	}
	return out
}

type tool struct {
	Version string `json:"version"`
}

type summary struct {
	Headline string   `json:"headline"`
	Node     string   `json:"node"`
	LeftOut  []string `json:"left_out,omitempty"` // other nodes that the inputs hold evidence of
	Window   span     `json:"window"`
	Stalls   []stall  `json:"stalls"`
	// Next is what to collect when no root is named; empty strings otherwise.
	Next missing `json:"next"`
}

type span struct {
	Start stamp `json:"start"`
	End   stamp `json:"end"`
}

// stamp is a time as RFC 3339 in UTC, with nanoseconds as far as known; empty when unknown.
type stamp time.Time

// MarshalText implements [encoding.TextMarshaler].
func (s stamp) MarshalText() ([]byte, error) {
	t := time.Time(s)
	if t.IsZero() {
		return nil, nil
	}
	return t.UTC().AppendFormat(nil, time.RFC3339Nano), nil
}

type stall struct {
	span
	Open             bool       `json:"open"`
	Phase            string     `json:"phase"`
	PhaseBasis       string     `json:"phase_basis"`
	Tooth            int        `json:"tooth"`
	Restarted        stamp      `json:"restarted"`
	Suspects         []suspect  `json:"suspects"`
	NotReady         stamp      `json:"not_ready"`
	Evidence         []evidence `json:"evidence"`
	NotReadyEvidence []evidence `json:"not_ready_evidence"`
}

type suspect struct {
	What     string     `json:"what"`
	ID       string     `json:"id"`
	Why      string     `json:"why"`
	Evidence []evidence `json:"evidence"`
}

type exposure struct {
	Rule     string     `json:"rule"`
	Text     string     `json:"text"`
	Because  []string   `json:"because"`
	Evidence []evidence `json:"evidence"`
}

type harmless struct {
	Name     string     `json:"name"`
	Why      string     `json:"why"`
	Count    int        `json:"count"`
	Evidence []evidence `json:"evidence"`
}

type forecast struct {
	Rule     string     `json:"rule"`
	Text     string     `json:"text"`
	At       stamp      `json:"at"`
	Earliest stamp      `json:"earliest"`
	Latest   stamp      `json:"latest"`
	Readings int        `json:"readings"`
	Value    float64    `json:"value"`
	Limit    float64    `json:"limit"`
	Rate     float64    `json:"rate_per_second"`
	Span     float64    `json:"measured_seconds"`
	Evidence []evidence `json:"evidence"`
}

type evidence struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
	// Raw is the line in base64 when it is not UTF-8: Text then has U+FFFD in the place of each bad byte.
	Raw string `json:"raw,omitempty"`
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
	Start          stamp       `json:"start"`
	End            stamp       `json:"end"`
	Chain          []step      `json:"chain"`
	Contradictions []dismissal `json:"contradictions"`
	Missing        []missing   `json:"missing"`
	Rivals         []rival     `json:"rivals"`
	Remediation    remediation `json:"remediation"`
	References     []string    `json:"references"`
	Notes          []string    `json:"notes"`
}

type step struct {
	Step     string     `json:"step"`
	Rule     string     `json:"rule"`
	Role     string     `json:"role"`
	Edge     string     `json:"edge"`
	Start    stamp      `json:"start"`
	End      stamp      `json:"end"`
	Duration float64    `json:"duration"`
	AtLeast  bool       `json:"at_least"`
	Basis    string     `json:"basis"`
	Text     string     `json:"text"`
	Evidence []evidence `json:"evidence"`
}

type dismissal struct {
	Why      string     `json:"why"`
	Evidence []evidence `json:"evidence"`
}

type missing struct {
	Source  string `json:"source"`
	Command string `json:"command"`
	Hazard  string `json:"hazard"`
}

type rival struct {
	Rule      string    `json:"rule"`
	Container string    `json:"container"`
	Decide    []missing `json:"decide"`
}

type remediation struct {
	Now     []string `json:"now"`
	Durable []string `json:"durable"`
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
	Value    string     `json:"value"`
	Evidence []evidence `json:"evidence"`
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
	Start     stamp          `json:"start"`
	End       stamp          `json:"end"`
	Error     string         `json:"error"`
	Reasons   map[string]int `json:"skip_reasons"`
	Node      string         `json:"node,omitempty"` // where the inputs hold several
	Note      string         `json:"note,omitempty"`
}

func newSummary(inc *incident.Incident) summary {
	v := newView(inc, Options{})
	suspects := map[int][]suspect{}
	for i := range inc.Result.Suspects {
		s := &inc.Result.Suspects[i]
		suspects[s.Stall] = append(suspects[s.Stall], suspect{s.What, s.ID, s.Why, each(s.Evidence, newEvidence)})
	}
	stalls := each(v.timeline.Stalls, newStall)
	for i := range stalls {
		stalls[i].Suspects = append(stalls[i].Suspects, suspects[i]...)
	}
	return summary{
		Headline: inc.Result.Headline,
		Node:     inc.Node,
		LeftOut:  inc.LeftOut,
		Window:   span{stamp(inc.Window.Start), stamp(inc.Window.End)},
		Stalls:   stalls,
		Next:     newMissing(&inc.Result.Next),
	}
}

func findingRows(inc *incident.Incident) any  { return each(inc.Result.Findings, newFinding) }
func exposureRows(inc *incident.Incident) any { return each(inc.Result.Exposed, newExposure) }
func forecastRows(inc *incident.Incident) any { return each(inc.Result.Forecasts, newForecast) }
func ruledOutRows(inc *incident.Incident) any { return each(inc.Result.RuledOut, newDismissed) }
func fileRows(inc *incident.Incident) any     { return each(inc.Files, newFile) }
func clockRows(inc *incident.Incident) any {
	return each(newView(inc, Options{}).timeline.Clocks, newClock)
}
func gapRows(inc *incident.Incident) any {
	return each(newView(inc, Options{}).timeline.Gaps(), newGap)
}

func harmlessRows(inc *incident.Incident) any {
	return each(inc.Result.Harmless, func(h *story.Harmless) harmless {
		return harmless{h.Name, h.Why, h.Count, each(h.Evidence, newEvidence)}
	})
}

func notEvaluableRows(inc *incident.Incident) any {
	return each(inc.Result.NotEvaluable, newNotEvaluable)
}

func factRows(inc *incident.Incident) any {
	rows := map[string]fact{}
	for name, f := range newView(inc, Options{}).timeline.Facts {
		rows[name] = fact{f.Value, each(f.Evidence, newEvidence)}
	}
	return rows
}

// each turns a list into its JSON rows; an empty list is [], not null.
func each[T, U any](in []T, row func(*T) U) []U {
	out := make([]U, len(in))
	for i := range in {
		out[i] = row(&in[i])
	}
	return out
}

// list is the same list, [] in the place of null.
func list(in []string) []string { return append([]string{}, in...) }

func newStall(s *timeline.Stall) stall {
	return stall{
		span:             span{stamp(s.Start), stamp(s.End)},
		Open:             s.Open,
		Phase:            string(s.Phase),
		PhaseBasis:       s.PhaseBasis,
		Tooth:            s.Tooth,
		Restarted:        stamp(s.Restarted),
		Suspects:         []suspect{},
		NotReady:         stamp(s.NotReady),
		Evidence:         each(s.Evidence, newEvidence),
		NotReadyEvidence: each(s.NotReadyEvidence, newEvidence),
	}
}

func newEvidence(q *event.Quote) evidence {
	e := evidence{Path: q.Pos.File, Line: q.Pos.Line, Text: q.Text}
	if !utf8.ValidString(q.Text) {
		e.Raw = base64.StdEncoding.EncodeToString([]byte(q.Text))
	}
	return e
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
		Start:          stamp(f.Start),
		End:            stamp(f.End),
		Chain:          each(f.Chain, newStep),
		Contradictions: each(f.Contradictions, func(a *rules.Against) dismissal { return dismissal{a.Why, each(a.Evidence, newEvidence)} }),
		Missing:        each(f.Missing, newMissing),
		Rivals: each(f.Rivals, func(r *story.Rival) rival {
			return rival{r.Rule, r.Container, each(r.Decide, newMissing)}
		}),
		Remediation: remediation{list(f.Remediation.Now), list(f.Remediation.Durable)},
		References:  list(f.References),
		Notes:       list(f.Notes),
	}
}

func newMissing(m *rules.Missing) missing {
	return missing{m.Source, m.Command, story.Hazard(m.Command)}
}

func newExposure(e *rules.Exposure) exposure {
	return exposure{e.Rule, e.Text, list(e.Because), each(e.Evidence, newEvidence)}
}

func newForecast(f *rules.Forecast) forecast {
	return forecast{f.Rule, f.Text, stamp(f.At), stamp(f.Earliest), stamp(f.Latest), f.Readings, f.Value, f.Limit, f.Rate, f.Span.Seconds(), each(f.Evidence, newEvidence)}
}

func newStep(s *rules.Step) step {
	return step{
		Step:     s.ID,
		Rule:     s.Rule,
		Role:     s.Role,
		Edge:     edge(s),
		Start:    stamp(s.Start),
		End:      stamp(s.End),
		Duration: s.Duration.Seconds(),
		AtLeast:  s.AtLeast,
		Basis:    s.Basis,
		Text:     s.Text,
		Evidence: each(s.Evidence, newEvidence),
	}
}

func newDismissed(r *rules.Dismissed) dismissed {
	return dismissed{r.Rule, dismissal{r.Why, each(r.Evidence, newEvidence)}}
}

func newNotEvaluable(u *rules.Unanswered) notEvaluable {
	return notEvaluable{
		Rule:     u.Rule,
		Why:      u.Why,
		Missing:  each(u.Missing, func(m *rules.Missing) string { return m.Source }),
		Commands: each(u.Missing, func(m *rules.Missing) string { return m.Command }),
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
		Start:     stamp(f.Start),
		End:       stamp(f.End),
		Error:     f.Err,
		Reasons:   reasons,
		Node:      f.Node,
		Note:      f.Note,
	}
}

type gapRow struct {
	span
	Sources  []string   `json:"sources"`
	Paths    []string   `json:"paths"`
	Reason   string     `json:"reason"`
	Evidence []evidence `json:"evidence"`
}

func newGap(g *timeline.SharedGap) gapRow {
	return gapRow{span{stamp(g.Start), stamp(g.End)}, list(g.Sources), list(g.Files), g.Reason, each(g.Evidence, newEvidence)}
}
