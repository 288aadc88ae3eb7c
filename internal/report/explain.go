package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/document"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules"
)

// ExplainSchema names the JSON of the command explain. Fields are added to it, never renamed.
const ExplainSchema = "plegdiag.explain/v1"

// ExplainJSON writes how a line was read for programs. Lists are never null.
func ExplainJSON(w io.Writer, inc *incident.Incident, r *incident.Reading, o Options) error {
	line := event.Quote{Pos: r.Pos, Text: r.Text}
	doc := document.Explanation{
		Schema: ExplainSchema, Tool: show.Tool{Version: o.Version}, Line: show.NewEvidence(&line), File: newFile(r.File),
		Part: r.Part, From: r.From, To: r.To, Writer: r.Writer, Time: show.Stamp(r.Time.T), Basis: r.Basis,
		Lacks: []string{}, Unused: r.Unused, Mentioned: append([]document.Mention{}, listMentions(r)...),
		Events: show.Rows(r.Events, func(e *incident.ReadEvent) document.ReadEvent {
			return document.ReadEvent{Event: newEventRow(e.Event), Evidence: show.EvidenceRows(e.Evidence), Fits: fitRows(inc, e.Fits)}
		}),
		Dropped: show.Rows(r.Dropped, func(d *incident.DroppedEvent) document.Dropped {
			return document.Dropped{Kind: string(d.Kind), Text: d.Text, Why: d.Why}
		}),
		For: useRows(r, false), Against: useRows(r, true),
	}
	if rec := r.Record; rec != nil {
		doc.Unit, doc.Host, doc.PID, doc.Level, doc.Message = rec.Unit, rec.Host, rec.PID, rec.Level.String(), rec.Text
		doc.Lacks = append(doc.Lacks, rec.Time.Lacks.Names()...)
	}
	if r.Clock != nil {
		row := newClock(r.Clock)
		doc.Clock = &row
	}
	return show.EncodeJSON(w, doc)
}

func fitRows(inc *incident.Incident, fits []rules.Fit) []document.Fit {
	return show.Rows(fits, func(f *rules.Fit) document.Fit {
		return document.Fit{Rule: f.Rule.ID, Verdict: inc.VerdictOf(f.Rule.ID).String(), Part: f.Part, ID: f.ID, Text: f.Text}
	})
}

func useRows(r *incident.Reading, against bool) []document.Use {
	rows := []document.Use{}
	for _, u := range r.Uses {
		if u.Against == against {
			rows = append(rows, document.Use{Rule: u.Rule, Title: u.Title, Verdict: u.Verdict.String(), Text: u.Text})
		}
	}
	return rows
}

// listMentions says in words what else rests on a line.
func listMentions(r *incident.Reading) (all []document.Mention) {
	for _, s := range r.Stalls {
		all = append(all, document.Mention{What: "stall", Text: "shows the stall of relist of " + show.Window(s.Window)})
	}
	for _, name := range r.Facts {
		all = append(all, document.Mention{What: "fact", Text: "tells the fact " + name})
	}
	for _, s := range r.Signs {
		all = append(all, document.Mention{What: "sign", Text: "a sign that is not routine: " + s.Text})
	}
	for _, s := range r.Suspects {
		all = append(all, document.Mention{What: "suspect", Text: "shows where a stall hung: " + s.String()})
	}
	for _, h := range r.Harmless {
		all = append(all, document.Mention{What: "harmless", Text: h.Name + ": " + h.Why})
	}
	for _, g := range r.Gaps {
		all = append(all, document.Mention{What: "gap", Text: "shows that lines are missing: " + g.Reason})
	}
	return all
}

// ExplainText writes how a line was read: as what, who wrote it and when, what was made of it, and
// what it counts for.
func ExplainText(w io.Writer, inc *incident.Incident, r *incident.Reading, o Options) error {
	out := bufio.NewWriter(w)
	t := newText(out, o)
	fmt.Fprintln(out, t.Position.Render(show.Escape(r.Pos.String(), show.MaxQuote)))
	if r.Text != "" {
		fmt.Fprintln(out, t.Quote.Render(show.Escape(r.Text, event.MaxRaw)))
	}
	t.writeReadAs(r)
	t.writeTimeOf(r)
	for i := range r.Events {
		t.writeReadEvent(inc, &r.Events[i], r.Pos)
	}
	for i := range r.Dropped {
		d := &r.Dropped[i]
		t.WriteHeading("EVENT %s, not on the timeline", d.Kind)
		t.WriteLabeled("says", t.Plain, d.Text)
		t.WriteLabeled("why not", t.Plain, d.Why)
	}
	if r.Unused != "" {
		t.WriteHeading("NO EVENT")
		t.WriteLabeled("why", t.Plain, r.Unused)
	}
	t.writeUses("SPEAKS FOR", useRows(r, false))
	t.writeUses("SPEAKS AGAINST", useRows(r, true))
	if len(useRows(r, false))+len(useRows(r, true)) == 0 {
		t.WriteHeading("SPEAKS FOR nothing and against nothing that the report says")
	}
	if all := listMentions(r); len(all) > 0 {
		t.WriteHeading("ALSO")
		for _, m := range all {
			t.WriteLabeled(m.What, t.Plain, m.Text)
		}
	}
	return out.Flush()
}

// writeReadAs says what a line was read as, and who wrote it.
func (t text) writeReadAs(r *incident.Reading) {
	as := cmp.Or(r.Part, "nothing: see below")
	if r.To > r.From {
		as += fmt.Sprintf(", lines %d to %d", r.From, r.To)
	}
	t.WriteHeading("READ")
	t.WriteLabeled("file", t.Plain, "format "+cmp.Or(r.File.Format, "unknown"))
	if r.File.Note != "" {
		t.WriteLabeled("", t.Plain, r.File.Note)
	}
	t.WriteLabeled("as", t.Plain, as)
	writer := []string{cmp.Or(r.Writer, "not known")}
	if rec := r.Record; rec != nil {
		if rec.Unit != "" && rec.Unit != r.Writer {
			writer = append(writer, "under the name "+rec.Unit)
		}
		if rec.PID != 0 {
			writer = append(writer, fmt.Sprintf("process %d", rec.PID))
		}
		if rec.Host != "" {
			writer = append(writer, "on "+rec.Host)
		}
		if rec.Level != event.NoLevel {
			writer = append(writer, "level "+rec.Level.String())
		}
	}
	t.WriteLabeled("writer", t.Plain, strings.Join(writer, ", "))
}

// writeTimeOf says when a line was written, and how that is known.
func (t text) writeTimeOf(r *incident.Reading) {
	when := "not known"
	switch {
	case r.Time.Known:
		when = strings.TrimSpace(show.Day(r.Time.T)+" "+show.Moment(r.Time.T, r.Basis)) + " UTC"
	case r.Record == nil:
		when = "the line shows none"
	}
	t.WriteLabeled("time", t.Plain, when)
	if rec := r.Record; rec != nil {
		if lacks := rec.Time.Lacks.Names(); len(lacks) > 0 {
			t.WriteLabeled("lacks", t.Plain, strings.Join(lacks, ", "))
		}
	}
	if r.Basis != "" {
		t.WriteLabeled("basis", t.Plain, r.Basis)
	}
	if r.Clock != nil && r.Clock.Note != "" {
		t.WriteLabeled("clock", t.Warning, r.Clock.Note)
	}
}

// writeReadEvent writes an event that was made of a line.
func (t text) writeReadEvent(inc *incident.Incident, e *incident.ReadEvent, pos event.Pos) {
	t.WriteHeading("EVENT %s of %s", e.Kind, cmp.Or(show.Escape(e.Component, show.MaxCell), "an unknown component"))
	t.WriteLabeled("says", t.Plain, e.Text)
	if !e.Start.IsZero() {
		t.WriteLabeled("time", t.Plain, strings.TrimSpace(show.Day(e.Start.T)+" "+show.Moment(e.Start.T, e.Basis)+" UTC "+show.Length(e.Event)))
	}
	for _, id := range event.IDFields() {
		if v, ok := e.Get(id.Key); ok {
			t.WriteLabeled("id", t.Plain, string(id.Key)+"="+v.Text())
		}
	}
	for _, f := range e.Fields {
		t.WriteLabeled("field", t.Plain, string(f.Key)+"="+f.Value.Text())
	}
	var others []event.Quote
	for _, q := range e.Evidence {
		if q.Pos.WholeLine() != pos {
			others = append(others, q)
		}
	}
	if len(others) > 0 {
		t.WriteLabeled("made with", t.Plain, "these lines, too:")
		t.WriteQuotes(others, 3)
	}
	for _, f := range firstFits(e.Fits, t.Verbose) {
		says := fmt.Sprintf("%s %s of %s (%s)", partNames[f.Part], f.ID, f.Rule.ID, inc.VerdictOf(f.Rule.ID))
		t.WriteLabeled("fits", t.Plain, says)
	}
	if left := len(e.Fits) - len(firstFits(e.Fits, t.Verbose)); left > 0 {
		t.WriteLabeled("", t.Plain, fmt.Sprintf("and %d more places of rules (--verbose)", left))
	}
}

// partNames are the places of a rule that may take an event, in words.
var partNames = map[string]string{
	"step": "step", "tell": "tell", "support": "support", "rules_out": "contradiction", "absent": "absence",
}

// maxFits bounds the places of rules that are named for one event.
const maxFits = 8

func firstFits(fits []rules.Fit, all bool) []rules.Fit {
	if all {
		return fits
	}
	return slices.Clip(fits[:min(len(fits), maxFits)])
}

// writeUses writes the rules for which, or against which, a line is evidence.
func (t text) writeUses(title string, uses []document.Use) {
	if len(uses) == 0 {
		return
	}
	t.WriteHeading("%s", title)
	for _, u := range uses {
		t.WriteLabeled(u.Verdict, t.Plain, u.Rule+": "+cmp.Or(u.Title, u.Text))
		if u.Title != "" {
			t.WriteLabeled("", t.Plain, u.Text)
		}
	}
}
