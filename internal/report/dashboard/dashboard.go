// Package dashboard shows what a fleet's rows answer: as text, as JSON, and as a page of HTML. It
// does not know what the questions are; only the summary is also said as a sentence.
package dashboard

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/plegdiag/plegdiag/fleet"
	"github.com/plegdiag/plegdiag/internal/report/document"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// Schema names the JSON document. Members are added to it, never renamed; the columns are those of
// the questions.
const Schema = "plegdiag.fleet/v1"

// Text writes the answers as tables: on one screen each the first rows, and of the columns as many
// as there is room for; all of them with o.Full. Its errors are those of w.
func Text(w io.Writer, answers []fleet.Answer, o show.Options) error {
	out := bufio.NewWriter(w)
	t := show.NewText(out, o)
	t.WritePara("", lipgloss.NewStyle(), headline(answers))
	for i := range answers {
		a := &answers[i]
		if a.Name == summary {
			continue
		}
		t.WriteHeading("%s", a.Title)
		if o.Full && a.About != "" {
			t.WritePara("", lipgloss.NewStyle(), a.About)
		}
		writeTable(t, a, o.Full)
	}
	return out.Flush()
}

// summary is the question whose answer is one row about everything.
const summary = "summary"

// rowsOfText is how many rows of a table a screen shows.
const rowsOfText = 8

func writeTable(t *show.Text, a *fleet.Answer, full bool) {
	if len(a.Rows) == 0 {
		fmt.Fprintln(t.W, "none")
		return
	}
	shown, most := a.Rows, show.MaxQuote
	if !full {
		shown, most = shown[:min(len(shown), rowsOfText)], show.MaxCell
	}
	lines, align := []([]string){nil}, ""
	for col, name := range a.Columns {
		if kindOfColumn(name) == report && !full {
			continue
		}
		letter, whole := "l", isWholeColumn(a, col)
		if isNumberColumn(a, col) {
			letter = "r"
		}
		align += letter
		lines[0] = append(lines[0], columnTitle(name))
		for row, values := range shown {
			if row+1 == len(lines) {
				lines = append(lines, nil)
			}
			lines[row+1] = append(lines[row+1], show.Escape(formatValue(name, values[col], whole), most))
		}
	}
	table := show.Columns(lines, align)
	for !full && len(lines[0]) > 1 && widestLine(table) > t.Width {
		for i := range lines {
			lines[i] = lines[i][:len(lines[i])-1]
		}
		table = show.Columns(lines, align)
	}
	for _, line := range table {
		fmt.Fprintln(t.W, line)
	}
	if left := len(a.Rows) - len(shown); left > 0 {
		fmt.Fprintf(t.W, "and %d more\n", left)
	}
}

func widestLine(lines []string) (columns int) {
	for _, line := range lines {
		columns = max(columns, lipgloss.Width(line))
	}
	return columns
}

// headline says what was read in one sentence.
func headline(answers []fleet.Answer) string {
	counts := map[string]float64{}
	for i := range answers {
		if a := &answers[i]; a.Name == summary && len(a.Rows) > 0 {
			for col, name := range a.Columns {
				counts[name], _ = a.Rows[0][col].(float64)
			}
		}
	}
	said := fmt.Sprintf("%s of %s", show.Plural(int(counts["bundles"]), "bundle"), show.Plural(int(counts["nodes"]), "node"))
	var parts []string
	for _, part := range []struct{ state, words string }{
		{"confirmed", "a cause is confirmed in %d"},
		{"likely", "likely in %d"},
		{"possible", "possible in %d"},
		{"stalled", "%d stalled without a known cause"},
		{"signs", "%d show signs only"},
		{"healthy", "%d healthy"},
		{"unrecognised", "%d show too little"},
		{"failed", "%d could not be analysed"},
	} {
		if n := int(counts[part.state]); n > 0 {
			parts = append(parts, fmt.Sprintf(part.words, n))
		}
	}
	if len(parts) > 0 {
		said += ": " + strings.Join(parts, ", ")
	}
	if kinds := int(counts["kinds_of_analysis"]); kinds > 1 {
		said += fmt.Sprintf(". The rows come of %d different versions, rules or settings: the same plegdiag batch again makes them alike", kinds)
	}
	return said
}

// JSON writes all answers as one document. Its errors are those of w.
func JSON(w io.Writer, answers []fleet.Answer, version string) error {
	doc := document.Fleet{Schema: Schema, Version: version, Answers: []document.Answer{}}
	for i := range answers {
		a := &answers[i]
		shown := document.Answer{Name: a.Name, Title: a.Title, About: a.About, Rows: []map[string]any{}}
		for _, values := range a.Rows {
			row := map[string]any{}
			for col, name := range a.Columns {
				row[name] = values[col]
			}
			shown.Rows = append(shown.Rows, row)
		}
		doc.Answers = append(doc.Answers, shown)
	}
	return show.EncodeJSON(w, doc)
}
