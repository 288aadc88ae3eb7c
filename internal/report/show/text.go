package show

import (
	"bufio"
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Options is how a report looks. The zero value is plain text of 80 columns.
type Options struct {
	// Version of plegdiag, for the JSON report.
	Version string
	// Width in columns; 0 means 80. Only the text output has a width of its own.
	Width int
	// Full asks the text output for everything, not for one screen.
	Full bool
	// Zone is the reader's; nil means that times in UTC are enough.
	Zone *time.Location
	// Verbose adds how scores came about, every reason for skipped lines, and all evidence.
	Verbose bool
	// Inputs are the arguments that the incident was read from, for the commands that a report
	// names; nil when unknown.
	Inputs []string
	// Renderer knows which colours the stream can show; nil means none.
	Renderer *lipgloss.Renderer
}

// Text lays lines out in columns. It ignores write errors: the buffered writer
// keeps the first one for Flush.
type Text struct {
	W       *bufio.Writer
	Width   int
	Verbose bool
	Styles
}

// NewText writes to w, 80 columns wide where the options give no width.
func NewText(w *bufio.Writer, o Options) *Text {
	return &Text{W: w, Width: cmp.Or(o.Width, 80), Verbose: o.Verbose, Styles: NewStyles(o.Renderer)}
}

// Layout of a report: a margin, a column of labels, the text.
const (
	Margin     = "   "
	LabelWidth = len("mechanism") + 2
	// MinText is how narrow the text column may get before lines grow longer than the terminal.
	MinText = 30
)

// WritePara writes prose behind a lead; the lines after the first stand under it.
func (t *Text) WritePara(lead string, style lipgloss.Style, prose string) {
	indent := lipgloss.Width(lead)
	for i, line := range Wrap(prose, max(MinText, t.Width-indent)) {
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		if line == "" {
			lead = strings.TrimRight(lead, " ")
		}
		fmt.Fprintf(t.W, "%s%s\n", lead, style.Render(line))
	}
}

// WriteLabeled writes prose beside a label of the left column; an empty label continues the one
// above.
func (t *Text) WriteLabeled(label string, style lipgloss.Style, prose string) {
	t.WritePara(Margin+t.Label.Render(Pad(label, LabelWidth)), style, prose)
}

// WriteQuotes writes the lines that prove something: path:line, then the line as written, all in
// one line, however wide: what is copied from a terminal must be what stands in the log. Only the
// first most of them, unless the report is verbose.
func (t *Text) WriteQuotes(qs []event.Quote, most int) {
	const indent = Margin + "  "
	qs = DistinctQuotes(qs)
	left := 0
	if !t.Verbose {
		first := event.FirstMessages(qs, most)
		qs, left = first, len(qs)-len(first)
	}
	for _, q := range qs {
		pos, said := Escape(q.Pos.String(), MaxQuote), strings.TrimRight(Escape(q.Text, MaxQuote), " ")
		fmt.Fprintln(t.W, strings.TrimRight(indent+t.Position.Render(pos)+"  "+t.Quote.Render(said), " "))
	}
	if left > 0 {
		fmt.Fprintf(t.W, "%s(%d more, see --verbose)\n", indent, left)
	}
}

// WriteHeading writes a title above which a line stays empty.
func (t *Text) WriteHeading(format string, args ...any) {
	fmt.Fprintf(t.W, "\n%s\n", t.Styles.Heading.Render(fmt.Sprintf(format, args...)))
}

// WriteCommand writes a command below the text that it belongs to.
func (t *Text) WriteCommand(command string) {
	for line := range strings.Lines(command) {
		if line = strings.TrimSpace(line); line != "" {
			indent := Margin + strings.Repeat(" ", LabelWidth)
			fmt.Fprintf(t.W, "%s%s\n", indent, t.Styles.Command.Render(Escape(line, MaxProse)))
		}
	}
}

// WriteScript writes the lines of a command as they are typed.
func (t *Text) WriteScript(command string) {
	for line := range strings.Lines(command) {
		fmt.Fprintln(t.W, Escape(strings.TrimRight(line, "\r\n"), MaxProse))
	}
}

// DistinctQuotes leaves one of equal quotes: one line may prove two facts of an entry.
func DistinctQuotes(quotes []event.Quote) []event.Quote {
	var all []event.Quote
	seen := map[event.Quote]bool{}
	for _, q := range quotes {
		if !seen[q] {
			seen[q] = true
			all = append(all, q)
		}
	}
	return all
}
