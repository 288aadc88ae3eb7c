package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// text lays a report out.
type text struct{ *show.Text }

func newText(w *bufio.Writer, o Options) text { return text{show.NewText(w, o)} }

// verdictStyle is the style of how certain a finding is.
func (t text) verdictStyle(v language.Verdict) lipgloss.Style {
	if v == language.Confirmed {
		return t.Critical
	}
	return t.Warning
}

// Text writes the report for a terminal, or for a pipe: on one screen, or all of it where the
// options say so.
func Text(w io.Writer, inc *incident.Incident, o Options) error {
	v := newView(inc, o)
	if o.Full {
		return writeWhole(w, v)
	}
	return writeScreen(w, v)
}

// writeWhole writes everything that is known. Its first lines alone tell the story: what, how
// certain, where, when, what to do.
func writeWhole(w io.Writer, v *view) error {
	out := bufio.NewWriter(w)
	t := newText(out, v.Options)
	t.writeOpening(v)
	t.writeChart(v)
	for i := range sections {
		switch s := &sections[i]; {
		case s.findings:
			t.writeFindings(v.Result.Findings)
		case s.drawn == nil:
			t.writeSection(s, v)
		}
	}
	return out.Flush()
}

// writeSection writes a section of blocks under its title; nothing where it says nothing.
func (t text) writeSection(s *section, v *view) {
	if all := s.blocks(v); len(all) > 0 {
		t.WriteHeading("%s", s.heading(strings.ToUpper(s.title), v))
		t.writeBlocks(all)
	}
}

func (t text) writeOpening(v *view) {
	o := &v.Result.Opening
	style := t.Warning
	if o.State == story.Confirmed {
		style = t.Critical
	}
	word := strings.ToUpper(o.State.Words())
	for i, line := range show.Wrap(word+": "+v.Result.Headline, t.Width) {
		if i == 0 {
			fmt.Fprint(t.W, style.Render(word))
			line = line[len(word):]
		}
		fmt.Fprintln(t.W, t.Styles.Heading.Render(line))
	}
	t.WritePara("", t.Plain, "node "+v.nodeText()+", "+v.describeTime())
	if first := o.Advice + o.Command; first != "" {
		t.WritePara(t.Label.Render("do first: "), t.Plain, first)
	}
	for _, c := range o.Commands {
		t.WriteScript(c)
	}
	if o.Note != "" {
		t.WritePara(t.Label.Render("note:     "), t.Plain, o.Note)
	}
	if o.Hazard != "" {
		t.WritePara(t.Label.Render("hazard:   "), t.Warning, o.Hazard)
	}
}

// writeBlocks writes what a section says.
func (t text) writeBlocks(all []block) {
	for i := range all {
		b := &all[i]
		lead := show.Margin
		if b.lead != "" {
			lead += b.lead + " "
		}
		t.writeBlock(lead, b)
	}
}

// writeBlock writes a sentence behind a lead, then what belongs to it. Commands have lines of their
// own, ready to be copied.
func (t text) writeBlock(lead string, b *block) {
	text, style := b.text, t.Plain
	if len(b.places) > 0 {
		text += " (" + b.places[0].String() + ")"
	}
	if b.warning {
		style = t.Warning
	}
	if text != "" {
		t.WritePara(lead, style, text)
	}
	t.WriteQuotes(b.quotes, b.most)
	for _, c := range b.commands {
		t.WriteCommand(c)
	}
	if b.hazard != "" && b.hazard != story.ReadsOnly {
		t.WriteLabeled("", t.Warning, "hazard: "+b.hazard)
	}
	if len(b.files) > 0 {
		t.writeFileTable(b.files)
	}
}

func (t text) writeFindings(fs []story.Finding) {
	told := shown{}
	for i := range fs {
		t.writeFinding(i+1, &fs[i], told)
	}
}

func (t text) writeFinding(n int, f *story.Finding, told shown) {
	lead := fmt.Sprintf("\n%d. %s %s  ", n, t.verdictStyle(f.Verdict).Render(strings.ToUpper(f.Verdict.String())), f.Role)
	fmt.Fprint(t.W, lead, t.Styles.Heading.Render(show.Escape(f.Rule, show.MaxQuote)))
	if t.Verbose {
		fmt.Fprintf(t.W, "  score %.2f", f.Score)
	}
	fmt.Fprintln(t.W)
	t.writeFindingBody(f, told)
}

// writeFindingBody writes what a finding says below its heading.
func (t text) writeFindingBody(f *story.Finding, told shown) {
	if !repeatsTitle(f) {
		t.WritePara(show.Margin, t.Styles.Heading, f.Title)
	}
	t.WritePara(show.Margin, t.Plain, f.Summary)
	if f.Container != "" {
		t.WriteLabeled("container", t.Plain, f.Container)
	}
	if t.Verbose && f.Formula != "" {
		t.WriteLabeled("score", t.Plain, f.Formula)
	}
	t.writeChain(f.Chain, told.takeNew(f.Chain))
	for _, p := range findingParts(f) {
		label := p.label
		for i := range p.blocks {
			t.writeBlock(show.Margin+t.Label.Render(show.Pad(label, show.LabelWidth)), &p.blocks[i])
			label = ""
		}
	}
}

// repeatsTitle says that the summary of a finding says its title again, as where it rests on tells.
func repeatsTitle(f *story.Finding) bool {
	rest, ok := strings.CutPrefix(f.Summary, strings.TrimRight(f.Title, ". "))
	return ok && (strings.Trim(rest, ". ") == "" || rest[0] == ':')
}

// writeChain writes those steps of a chain, by index, that are to be told, in their order: number,
// role, time, duration, text, then the lines that prove it.
func (t text) writeChain(chain []rules.Step, told []int) {
	date := ""
	steps := make([]rules.Step, 0, len(told))
	for _, i := range told {
		s := &chain[i]
		if d := show.Day(s.Start); d != "" && d != date {
			date = d
			t.WriteLabeled("", t.Plain, d+" UTC")
		}
		tie := " [" + edgeText(s) + "]"
		if i == 0 {
			tie = "" // nothing comes before it
		}
		t.writeStep(i+1, s, tie)
		steps = append(steps, *s)
	}
	if repeated := len(chain) - len(told); repeated > 0 {
		t.WriteLabeled("steps", t.Plain, fmt.Sprintf("%d shown above, with their evidence", repeated))
	}
	t.writeInferredTimes(steps)
}

func (t text) writeStep(n int, s *rules.Step, tie string) {
	// The widest values are "~15:04:05.000" and "≥1h59m59s".
	at := show.Pad(cmp.Or(show.Moment(s.Start, s.Basis), "undated"), 14)
	label := fmt.Sprintf("%*d ", len(show.Margin)-1, n) + show.Pad(s.Role, show.LabelWidth)
	lead := t.Label.Render(label) + at + show.Pad(show.Bounded(s.Duration, s.AtLeast, s.AtMost)+" ", 10)
	t.WritePara(lead, t.Plain, s.Text+tie)
	t.WriteQuotes(s.Evidence, 2)
}

// edgeText says how a step is tied to the one before it.
func edgeText(s *rules.Step) string {
	if s.Observed {
		return "observed"
	}
	return "inferred"
}

// writeInferredTimes is the footnote to the times marked with ~.
func (t text) writeInferredTimes(steps []rules.Step) {
	var seen []string
	for i := range steps {
		if b := steps[i].Basis; b != "" && !slices.Contains(seen, b) {
			seen = append(seen, b)
			t.WriteLabeled("~ time", t.Plain, b)
		}
	}
}

// writeFileTable is a table. The path comes last: it may be as long as it likes.
func (t text) writeFileTable(files []*incident.File) {
	rows := [][]string{{"lines", "used", "blank", "skipped", "events", "findings", "format", "component", "path"}}
	for _, f := range files {
		rows = append(rows, []string{
			strconv.Itoa(f.Lines), strconv.Itoa(f.Used), strconv.Itoa(f.Blank), strconv.Itoa(f.Skipped),
			strconv.Itoa(f.Events), strconv.Itoa(f.Findings),
			cmp.Or(show.Escape(f.Format, show.MaxCell), "-"), cmp.Or(show.Escape(f.Component, show.MaxCell), "-"),
			show.Escape(f.Path, show.MaxProse),
		})
	}
	for _, row := range rows {
		path := &row[len(row)-1]
		*path = t.Position.Render(*path)
	}
	for i, line := range show.Columns(rows, "rrrrrr") {
		fmt.Fprintln(t.W, show.Margin+line)
		if i > 0 {
			t.writeFileRemarks(files[i-1])
		}
	}
}

// writeFileRemarks says when a file speaks, and what of it was lost.
func (t text) writeFileRemarks(f *incident.File) {
	const indent = show.Margin + "   "
	if !f.Start.IsZero() {
		t.WritePara(indent, t.Plain, show.Window(timeline.Window{Start: f.Start, End: f.End}))
	}
	if f.Node != "" {
		t.WritePara(indent, t.Plain, "of "+f.Node)
	}
	if f.Note != "" {
		t.WritePara(indent, t.Plain, f.Note)
	}
	if f.Err != "" {
		t.WritePara(indent+"error: ", t.Warning, f.Err)
	}
	if f.FirstSkip != "" {
		t.WritePara(indent+"first skip: ", t.Warning, f.FirstSkip)
	}
	if !t.Verbose {
		return
	}
	for _, reason := range slices.Sorted(maps.Keys(f.Skips)) {
		t.WritePara(indent+"skipped: ", t.Plain, fmt.Sprintf("%d × %s", f.Skips[reason], reason))
	}
}
