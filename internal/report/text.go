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

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Text writes the report for a terminal, or for a pipe. Its first lines alone
// tell the story: what, how certain, where, when, what to do.
func Text(w io.Writer, inc *incident.Incident, o Options) error {
	out := bufio.NewWriter(w)
	t := newText(out, o)
	v := newView(inc, o)
	t.opening(v)
	for i := range sections {
		switch s := &sections[i]; {
		case s.findings:
			t.findings(inc.Result.Findings)
		case s.drawn == nil:
			t.section(s, v)
		}
	}
	return out.Flush()
}

// section writes a section of blocks under its title; nothing where it says nothing.
func (t *text) section(s *section, v *view) {
	if all := s.blocks(v); len(all) > 0 {
		t.heading("%s", s.heading(strings.ToUpper(s.title), v))
		t.blocks(all)
	}
}

// text lays lines out in columns. It ignores write errors: the buffered writer
// keeps the first one for Flush.
type text struct {
	w       *bufio.Writer
	width   int
	verbose bool
	inputs  []string
	styles
}

func newText(w *bufio.Writer, o Options) *text {
	return &text{w: w, width: cmp.Or(o.Width, 80), verbose: o.Verbose, inputs: o.Inputs, styles: newStyles(o.Renderer)}
}

// Layout of a finding: a margin, a column of labels, the text.
const (
	margin     = "   "
	labelWidth = len("mechanism") + 2
	// minText is how narrow the text column may get before lines grow longer than the terminal.
	minText = 30
)

// para writes prose behind a lead; the lines after the first stand under it.
func (t *text) para(lead string, style lipgloss.Style, prose string) {
	indent := lipgloss.Width(lead)
	for i, line := range wrap(prose, max(minText, t.width-indent)) {
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		if line == "" {
			lead = strings.TrimRight(lead, " ")
		}
		fmt.Fprintf(t.w, "%s%s\n", lead, style.Render(line))
	}
}

// labeled writes prose beside a label of the left column; an empty label continues the one above.
func (t *text) labeled(label string, style lipgloss.Style, prose string) {
	t.para(margin+t.label.Render(pad(label, labelWidth)), style, prose)
}

// quotes writes the lines that prove something: path:line, then the line as
// written. Only the first most of them, unless the report is verbose.
func (t *text) quotes(qs []event.Quote, most int) {
	const indent = margin + "  "
	qs = distinct(qs)
	left := 0
	if !t.verbose && len(qs) > most {
		qs, left = qs[:most], len(qs)-most
	}
	for _, q := range qs {
		pos := Escape(q.Pos.String(), maxQuote)
		first := t.width - lipgloss.Width(indent+pos+"  ")
		rest := max(minText, t.width-len(indent)-2)
		if first < minText { // a long path has a line of its own
			first = rest
			fmt.Fprintf(t.w, "%s%s\n%s  ", indent, t.position.Render(pos), indent)
		} else {
			fmt.Fprintf(t.w, "%s%s  ", indent, t.position.Render(pos))
		}
		for i, piece := range chop(Escape(q.Text, maxQuote), first, rest) {
			if i > 0 {
				fmt.Fprint(t.w, indent, "  ")
			}
			fmt.Fprintln(t.w, t.quote.Render(strings.TrimRight(piece, " ")))
		}
	}
	if left > 0 {
		fmt.Fprintf(t.w, "%s(%d more, see --verbose)\n", indent, left)
	}
}

func (t *text) heading(format string, args ...any) {
	fmt.Fprintf(t.w, "\n%s\n", t.styles.heading.Render(fmt.Sprintf(format, args...)))
}

func (t *text) opening(v *view) {
	o := v.Opening()
	style := t.warning
	if o.Finding != nil {
		style = t.verdict(o.Finding.Verdict)
	}
	word := strings.ToUpper(o.State)
	for i, line := range wrap(word+": "+v.Result.Headline, t.width) {
		if i == 0 {
			fmt.Fprint(t.w, style.Render(word))
			line = line[len(word):]
		}
		fmt.Fprintln(t.w, t.styles.heading.Render(line))
	}
	t.para("", t.plain, "node "+v.nodeText()+", "+window(v.Window))
	if first := o.Advice + o.Command; first != "" {
		t.para(t.label.Render("do first: "), t.plain, first)
	}
	if o.Hazard != "" {
		t.para(t.label.Render("hazard:   "), t.warning, o.Hazard)
	}
}

// blocks writes what a section says.
func (t *text) blocks(all []block) {
	for i := range all {
		b := &all[i]
		lead := margin
		if b.lead != "" {
			lead += b.lead + " "
		}
		t.block(lead, b)
	}
}

// block writes a sentence behind a lead, then what belongs to it. Commands have lines of their own, ready to be copied.
func (t *text) block(lead string, b *block) {
	text, style := b.text, t.plain
	if len(b.places) > 0 {
		text += " (" + b.places[0].String() + ")"
	}
	if b.warning {
		style = t.warning
	}
	if text != "" {
		t.para(lead, style, text)
	}
	t.quotes(b.quotes, b.most)
	for _, c := range b.commands {
		t.command(c)
	}
	if b.hazard != "" && b.hazard != story.ReadsOnly {
		t.labeled("", t.warning, "hazard: "+b.hazard)
	}
	if len(b.files) > 0 {
		t.fileTable(b.files)
	}
}

func (t *text) findings(fs []story.Finding) {
	told := shown{}
	for i := range fs {
		t.finding(i+1, &fs[i], told)
	}
}

func (t *text) finding(n int, f *story.Finding, told shown) {
	lead := fmt.Sprintf("\n%d. %s %s  ", n, t.verdict(f.Verdict).Render(strings.ToUpper(f.Verdict.String())), f.Role)
	fmt.Fprintf(t.w, "%s%s  score %.2f\n", lead, t.styles.heading.Render(Escape(f.Rule, maxQuote)), f.Score)
	t.para(margin, t.styles.heading, f.Title)
	t.para(margin, t.plain, f.Summary)
	if f.Container != "" {
		t.labeled("container", t.plain, f.Container)
	}
	if t.verbose && f.Formula != "" {
		t.labeled("score", t.plain, f.Formula)
	}
	steps, repeated := told.fresh(f.Chain)
	t.chain(steps, repeated)
	for _, p := range findingParts(f) {
		label := p.label
		for i := range p.blocks {
			t.block(margin+t.label.Render(pad(label, labelWidth)), &p.blocks[i])
			label = ""
		}
	}
}

// chain writes steps in their order: role, time, duration, text, then the lines that prove it.
func (t *text) chain(steps []rules.Step, repeated int) {
	date := ""
	for i := range steps {
		s := &steps[i]
		if d := day(s.Start); d != "" && d != date {
			date = d
			t.labeled("", t.plain, d+" UTC")
		}
		tie := " [" + edge(s) + "]"
		if i == 0 && repeated == 0 {
			tie = "" // nothing comes before it
		}
		t.step(s, tie)
	}
	if repeated > 0 {
		t.labeled("steps", t.plain, fmt.Sprintf("%d shown above, with their evidence", repeated))
	}
	t.inferredTimes(steps)
}

func (t *text) step(s *rules.Step, tie string) {
	at := cmp.Or(clock(s.Start), "undated")
	if s.Basis != "" {
		at = "~" + at
	}
	// The widest values are "~15:04:05.000" and "≥1h59m59s".
	lead := t.label.Render(pad(s.Role, labelWidth)) + pad(at, 14) + pad(duration(s.Duration, s.AtLeast), 10)
	t.para(margin+lead, t.plain, s.Text+tie)
	t.quotes(s.Evidence, 2)
}

// edge says how a step is tied to the one before it.
func edge(s *rules.Step) string {
	if s.Observed {
		return "observed"
	}
	return "inferred"
}

// inferredTimes is the footnote to the times marked with ~.
func (t *text) inferredTimes(steps []rules.Step) {
	var seen []string
	for i := range steps {
		if b := steps[i].Basis; b != "" && !slices.Contains(seen, b) {
			seen = append(seen, b)
			t.labeled("~ time", t.plain, b)
		}
	}
}

// command writes a command below the text that it belongs to.
func (t *text) command(command string) {
	for line := range strings.Lines(command) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintf(t.w, "%s%s$ %s\n", margin, strings.Repeat(" ", labelWidth), t.styles.command.Render(Escape(line, maxProse)))
		}
	}
}

// script writes the lines of a command as they are typed.
func (t *text) script(command string) {
	for line := range strings.Lines(command) {
		fmt.Fprintln(t.w, Escape(strings.TrimRight(line, "\r\n"), maxProse))
	}
}

// fileTable is a table. The path comes last: it may be as long as it likes.
func (t *text) fileTable(files []incident.File) {
	rows := [][]string{{"lines", "used", "blank", "skipped", "format", "component", "path"}}
	widths := make([]int, len(rows[0]))
	for i := range files {
		f := &files[i]
		rows = append(rows, []string{
			strconv.Itoa(f.Lines), strconv.Itoa(f.Used), strconv.Itoa(f.Blank), strconv.Itoa(f.Skipped),
			cmp.Or(Escape(f.Format, maxCell), "-"), cmp.Or(Escape(f.Component, maxCell), "-"), Escape(f.Path, maxProse),
		})
	}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	for i, row := range rows {
		fmt.Fprint(t.w, margin)
		for col, cell := range row[:len(row)-1] {
			gap := strings.Repeat(" ", widths[col]-lipgloss.Width(cell))
			if col < 4 { // numbers stand to the right
				cell = gap + cell
			} else {
				cell += gap
			}
			fmt.Fprint(t.w, cell, "  ")
		}
		fmt.Fprintln(t.w, t.position.Render(row[len(row)-1]))
		if i > 0 {
			t.fileRemarks(&files[i-1])
		}
	}
}

// fileRemarks says when a file speaks, and what of it was lost.
func (t *text) fileRemarks(f *incident.File) {
	const indent = margin + "   "
	if !f.Start.IsZero() {
		t.para(indent, t.plain, window(timeline.Window{Start: f.Start, End: f.End}))
	}
	if f.Node != "" {
		t.para(indent, t.plain, "of "+f.Node)
	}
	if f.Note != "" {
		t.para(indent, t.plain, f.Note)
	}
	if f.Err != "" {
		t.para(indent+"error: ", t.warning, f.Err)
	}
	if f.FirstSkip != "" {
		t.para(indent+"first skip: ", t.warning, f.FirstSkip)
	}
	if !t.verbose {
		return
	}
	for _, reason := range slices.Sorted(maps.Keys(f.Skips)) {
		t.para(indent+"skipped: ", t.plain, fmt.Sprintf("%d × %s", f.Skips[reason], reason))
	}
}
