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
	t.opening(inc)
	t.stalls(inc)
	t.findings(inc.Result.Findings)
	if es := inc.Result.Exposed; len(es) > 0 {
		t.heading("EXPOSED TO (by versions and settings alone; not what happened here)")
		t.exposed(es)
	}
	if fs := inc.Result.Forecasts; len(fs) > 0 {
		t.heading("FORECAST (if it goes on as it did)")
		t.forecasts(fs)
	}
	if hs := inc.Result.Harmless; len(hs) > 0 {
		t.heading("SEEN, HARMLESS")
		t.harmless(hs)
	}
	if rs := inc.Result.RuledOut; len(rs) > 0 {
		t.heading("RULED OUT")
		t.ruledOut(rs)
	}
	if us := inc.Result.NotEvaluable; len(us) > 0 {
		t.heading("NOT EVALUABLE (rules: %d)", len(us))
		t.notEvaluable(us)
	}
	if fs := facts(inc); len(fs) > 0 {
		t.heading("FACTS")
		t.facts(fs, inc.Result.Weighed)
	}
	if cs := clocks(inc); len(cs) > 0 {
		t.heading("CLOCKS")
		t.clocks(cs, t.verbose)
	}
	if gs := gaps(inc); len(gs) > 0 {
		t.heading("GAPS (what happened in them may have left no line)")
		t.gaps(gs)
	}
	t.heading("FILES (every line is accounted for)")
	t.files(inc.Files)
	return out.Flush()
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

// list writes each entry as its own paragraph beside one label.
func (t *text) list(label string, entries []string) {
	for _, e := range entries {
		t.labeled(label, t.plain, e)
		label = ""
	}
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

func (t *text) opening(inc *incident.Incident) {
	o := open(inc)
	style := t.warning
	if f := told(inc); f != nil {
		style = t.verdict(f.Verdict)
	}
	word := strings.ToUpper(o.Word)
	for i, line := range wrap(word+": "+o.Headline, t.width) {
		if i == 0 {
			fmt.Fprint(t.w, style.Render(word))
			line = line[len(word):]
		}
		fmt.Fprintln(t.w, t.styles.heading.Render(line))
	}
	t.para("", t.plain, "node "+o.Node+", "+o.Window)
	if o.Next != "" {
		t.para(t.label.Render("do first: "), t.plain, o.Next)
	}
	if o.Hazard != "" {
		t.para(t.label.Render("hazard:   "), t.warning, o.Hazard)
	}
}

func (t *text) stalls(inc *incident.Incident) {
	stalls := stalls(inc)
	if len(stalls) == 0 {
		return
	}
	t.heading("STALLS (relist did not complete, by the kubelet's own arithmetic)")
	for i := range stalls {
		s := &stalls[i]
		t.para(margin, t.plain, stallText(s))
		t.quotes(s.Evidence, 2)
		t.quotes(s.NotReadyEvidence, 1)
		for _, suspect := range inc.Result.SuspectsOf(i) {
			t.para(margin+"suspect ", t.plain, suspect.String())
			t.quotes(suspect.Evidence, 2)
		}
	}
}

func (t *text) exposed(es []rules.Exposure) {
	for _, e := range es {
		t.para(margin, t.plain, e.Rule+": "+e.String())
		t.quotes(e.Evidence, 2)
	}
}

func (t *text) harmless(hs []story.Harmless) {
	for _, h := range hs {
		t.para(margin, t.plain, harmlessText(h))
		t.quotes(h.Evidence, 1)
	}
}

func (t *text) forecasts(fs []rules.Forecast) {
	for i := range fs {
		t.para(margin, t.plain, forecastText(&fs[i]))
		t.quotes(fs[i].Evidence, 2)
	}
}

// stallText is a stall in a sentence.
func stallText(s *timeline.Stall) string {
	d := duration(s.End.Sub(s.Start), s.Open)
	txt := fmt.Sprintf("%s (%s), phase %s", window(s.Window), d, s.Phase)
	if s.PhaseBasis != "" {
		txt += " (" + s.PhaseBasis + ")"
	}
	if s.Tooth > 0 {
		txt += fmt.Sprintf(", tooth %d of a saw-tooth", s.Tooth)
	}
	if !s.Restarted.IsZero() {
		txt += ", again after the kubelet's restart at " + clock(s.Restarted)
	}
	if s.Open {
		txt += ", no recovery seen"
	}
	if s.NotReady.IsZero() {
		return txt + "; no line says that the node became NotReady"
	}
	return txt + "; node NotReady at " + clock(s.NotReady)
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
	for _, a := range f.Contradictions {
		t.labeled("against", t.warning, a.Why)
		t.quotes(a.Evidence, 2)
	}
	if len(f.Contradictions) == 0 {
		t.labeled("against", t.plain, againstNothing)
	}
	t.list("note", f.Notes)
	t.rivals(f.Rivals)
	t.missing("missing", f.Missing)
	t.list("do now", f.Remediation.Now)
	t.list("for good", f.Remediation.Durable)
	t.list("see", f.References)
}

// againstNothing is said rather than left out: the reader asks for it.
const againstNothing = "nothing in this bundle"

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

func (t *text) rivals(rs []story.Rival) {
	for i := range rs {
		t.labeled("rival", t.warning, rivalText(&rs[i]))
		t.missing("", rs[i].Decide)
	}
}

// missing writes the inputs that would decide, each with its command on lines of its own, ready to be copied.
func (t *text) missing(label string, ms []rules.Missing) {
	for _, m := range ms {
		t.labeled(label, t.plain, m.Source)
		t.commands(m.Command)
		if hazard := story.Hazard(m.Command); hazard != "" && hazard != story.ReadsOnly {
			t.labeled("", t.warning, "hazard: "+hazard)
		}
		label = ""
	}
}

func (t *text) commands(command string) {
	for line := range strings.Lines(command) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintf(t.w, "%s%s$ %s\n", margin, strings.Repeat(" ", labelWidth), t.command.Render(Escape(line, maxProse)))
		}
	}
}

// script writes the lines of a command as they are typed.
func (t *text) script(command string) {
	for line := range strings.Lines(command) {
		fmt.Fprintln(t.w, Escape(strings.TrimRight(line, "\r\n"), maxProse))
	}
}

func (t *text) ruledOut(rs []rules.Dismissed) {
	for _, r := range rs {
		t.para(margin, t.plain, r.Rule+": "+r.Why)
		t.quotes(r.Evidence, 1)
	}
}

// notEvaluable says what is missing rather than what was not answered: the
// former is what the reader can do something about.
func (t *text) notEvaluable(us []rules.Unanswered) {
	missing, others := lacks(us)
	for _, l := range missing {
		t.para(margin+"lacking ", t.plain, l.source+": "+strings.Join(l.rules, ", "))
		if !t.verbose {
			l.commands = l.commands[:1]
		}
		for _, c := range l.commands {
			t.commands(c)
		}
	}
	if t.verbose {
		others = us
	}
	for _, u := range others {
		t.para(margin, t.plain, u.Rule+": "+cmp.Or(u.Why, "lacks what is named above"))
	}
}

// facts writes those that a rule asks for; the others are told with --verbose.
func (t *text) facts(fs map[string]timeline.Fact, weighed []string) {
	names := slices.Sorted(maps.Keys(fs))
	if !t.verbose {
		names = weighed
	}
	for _, name := range names {
		f := fs[name]
		line := name + " = " + f.Value
		if len(f.Evidence) > 0 {
			line += " (" + f.Evidence[0].Pos.String() + ")"
		}
		t.para(margin, t.plain, line)
	}
	if left := len(fs) - len(names); left > 0 {
		t.para(margin, t.plain, fmt.Sprintf("%d more that no rule asks for, see --verbose", left))
	}
}

// files is the account of all files; where there are many, those that say little are told by directory.
func (t *text) files(files []incident.File) {
	if len(files) == 0 {
		fmt.Fprintln(t.w, margin+"no file was read")
		return
	}
	a := newAccount(files, t.verbose)
	if len(a.Files) > 0 {
		t.fileTable(a.Files)
	}
	if a.Left > 0 {
		t.para(margin, t.plain, a.foldedText())
		t.commands(commandLine("ls", t.inputs))
		t.fileTable(a.Folded)
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
