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
	"time"

	"github.com/plegdiag/plegdiag/internal/comparison"
	"github.com/plegdiag/plegdiag/internal/report/document"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/story"
)

// CompareSchema names the JSON of the command compare. Fields are added to it, never renamed.
const CompareSchema = "plegdiag.compare/v1"

// CompareFormat is one kind of comparison.
type CompareFormat struct {
	Name   string
	Render func(w io.Writer, c *comparison.Result, o Options) error
}

// CompareFormats is every kind of comparison, in the order of the help text.
var CompareFormats = []CompareFormat{{"text", CompareText}, {"markdown", CompareMarkdown}, {"json", CompareJSON}}

// compared is one table of a comparison.
type compared struct {
	title string
	head  []string
	rows  [][]string
}

// compareTables of a comparison, without those that would be empty. Every cell is escaped.
func compareTables(c *comparison.Result) []compared {
	stalls := compared{"Stalls", []string{"", "A", "B"}, [][]string{
		{"node", c.A.Node, c.B.Node},
		{"seen", show.Duration(c.A.Seen, false), show.Duration(c.B.Seen, false)},
		{"stalls", stallsText(&c.A), stallsText(&c.B)},
		{"per day", perDayText(&c.A), perDayText(&c.B)},
		{"stalled", show.Duration(c.A.Stalled, c.A.Open), show.Duration(c.B.Stalled, c.B.Open)},
		{"longest", show.Duration(c.A.Longest, c.A.Open), show.Duration(c.B.Longest, c.B.Open)},
	}}
	for _, r := range []struct{ row, fact string }{
		{"relist mean, s", "kubelet.relist-mean-seconds"},
		{"relist p99, s", "kubelet.relist-p99-seconds"},
		{"relist interval p99, s", "kubelet.relist-interval-p99-seconds"},
	} {
		if a, b := c.A.Timeline.Facts[r.fact].Value, c.B.Timeline.Facts[r.fact].Value; a != "" || b != "" {
			stalls.rows = append(stalls.rows, []string{r.row, a, b})
		}
	}
	found := compared{title: "Findings", head: []string{"rule", "A", "B", ""}}
	for _, f := range c.Findings {
		found.rows = append(found.rows, []string{f.Rule, verdictOf(f.A), verdictOf(f.B), changeText(&f)})
	}
	calls := compared{title: "CRI calls", head: []string{
		"method", "A count", "failed", "median", "p95", "max", "B count", "failed", "median", "p95", "max",
	}}
	for _, p := range c.Calls {
		calls.rows = append(calls.rows, append(append([]string{p.Method}, callCells(&p.A)...), callCells(&p.B)...))
	}
	errors := compared{title: "CRI errors of the kubelet (of them deadlines)", head: []string{"method", "A", "B"}}
	for _, e := range c.Errors {
		errors.rows = append(errors.rows, []string{e.Method, errorsText(&c.A, e.A, e.DeadlineA), errorsText(&c.B, e.B, e.DeadlineB)})
	}
	facts := compared{title: "Facts that differ", head: []string{"fact", "A", "B"}}
	single := compared{title: "Facts that one side alone shows", head: facts.head}
	for _, f := range c.Facts {
		table := &facts
		if f.A == "" || f.B == "" {
			table = &single
		}
		table.rows = append(table.rows, []string{f.Name, f.A, f.B})
	}
	all := []compared{stalls, found, calls, errors, facts, single}
	for _, t := range all {
		for _, row := range t.rows {
			for i := range row {
				row[i] = cmp.Or(show.Escape(row[i], show.MaxQuote), "-")
			}
		}
	}
	return slices.DeleteFunc(all, func(t compared) bool { return len(t.rows) == 0 })
}

func perDayText(s *comparison.Side) string {
	rate, ok := s.StallsPerDay()
	switch {
	case stallsText(s) == "":
		return ""
	case !ok:
		return "seen too short"
	}
	return show.Number(rate)
}

func verdictOf(f *story.Finding) string {
	if f == nil {
		return ""
	}
	return f.Verdict.String() + " " + string(f.Role)
}

// changeText is what became of a finding from A to B, in words.
func changeText(f *comparison.FindingPair) string {
	side := "A"
	if f.A != nil {
		side = "B"
	}
	if change := f.Change(); change != comparison.Unknown {
		return string(change)
	}
	return side + " does not show it: " + f.Unknown
}

// countText is how often something was seen; where nothing is and the kubelet's log is missing,
// that is not known.
func countText(s *comparison.Side, n int) string {
	if n == 0 && !s.HasLog {
		return ""
	}
	return strconv.Itoa(n)
}

func errorsText(s *comparison.Side, all, deadlines int) string {
	if text := countText(s, all); text != "" {
		return fmt.Sprintf("%s (%d)", text, deadlines)
	}
	return ""
}

func stallsText(s *comparison.Side) string { return countText(s, len(s.Timeline.Stalls)) }

func callCells(c *comparison.Calls) []string {
	if c.Count == 0 {
		return []string{"0", "", "", "", ""}
	}
	open := c.Open > 0
	return []string{
		strconv.Itoa(c.Count), strconv.Itoa(c.Failed),
		measuredText(c.Median, false), measuredText(c.P95, open), measuredText(c.Max, open),
	}
}

// measuredText is a measured duration; unlike a step's, it may be nothing.
func measuredText(d time.Duration, atLeast bool) string {
	return cmp.Or(show.Duration(d, atLeast), "0s")
}

// comparisonText says in a sentence what the comparison shows, and how far it carries.
func comparisonText(c *comparison.Result) string {
	stalls := func(s *comparison.Side) string {
		if stallsText(s) == "" {
			return "not known without the kubelet's log"
		}
		return fmt.Sprintf("%d in %s", len(s.Timeline.Stalls), cmp.Or(show.Duration(s.Seen, false), "no known time"))
	}
	var said strings.Builder
	said.WriteString("stalls of relist: A " + stalls(&c.A) + ", B " + stalls(&c.B))
	rules := map[string][]string{}
	for i := range c.Findings {
		f := &c.Findings[i]
		said := ""
		switch change := f.Change(); {
		case change == comparison.Lost:
			said = "only in A"
		case change == comparison.Gained:
			said = "only in B"
		case change == comparison.Unknown && f.B == nil:
			said = "in A, and B does not show whether there, too"
		case change == comparison.Unknown:
			said = "in B, and A does not show whether there, too"
		default:
			continue
		}
		rules[said] = append(rules[said], f.Rule)
	}
	for _, words := range slices.Sorted(maps.Keys(rules)) {
		said.WriteString("; " + words + ": " + strings.Join(rules[words], ", "))
	}
	if c.A.Seen > 0 && c.B.Seen > 0 && (c.A.Seen > 4*c.B.Seen || c.B.Seen > 4*c.A.Seen) {
		said.WriteString("; one side is seen more than four times as long as the other, so that its counts weigh differently")
	}
	return said.String()
}

// CompareText writes a comparison for a terminal.
func CompareText(w io.Writer, c *comparison.Result, o Options) error {
	out := bufio.NewWriter(w)
	t := newText(out, o)
	t.WritePara("", t.Styles.Heading, comparisonText(c))
	for _, table := range compareTables(c) {
		t.WriteHeading("%s", strings.ToUpper(table.title))
		for _, line := range show.Columns(append([][]string{table.head}, table.rows...), "") {
			fmt.Fprintln(out, show.Margin+line)
		}
	}
	return out.Flush()
}

// CompareMarkdown writes a comparison for an issue or a chat.
func CompareMarkdown(w io.Writer, c *comparison.Result, _ Options) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "**%s.**\n\n", inline(comparisonText(c)))
	for _, table := range compareTables(c) {
		fmt.Fprintf(out, "## %s\n\n| %s |\n", table.title, strings.Join(table.head, " | "))
		fmt.Fprintf(out, "|%s\n", strings.Repeat("---|", len(table.head)))
		for _, row := range table.rows {
			for i := range row {
				row[i] = strings.ReplaceAll(inline(row[i]), "|", `\|`)
			}
			fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// CompareJSON writes a comparison for programs; durations are seconds.
func CompareJSON(w io.Writer, c *comparison.Result, o Options) error {
	return show.EncodeJSON(w, document.Comparison{
		Schema: CompareSchema, Tool: show.Tool{Version: o.Version}, A: newSideRow(&c.A), B: newSideRow(&c.B),
		Findings: show.Rows(c.Findings, func(f *comparison.FindingPair) document.FindingPair {
			return document.FindingPair{Rule: f.Rule, A: verdictOf(f.A), B: verdictOf(f.B), Change: string(f.Change()), Why: f.Unknown}
		}),
		Calls: show.Rows(c.Calls, func(p *comparison.CallPair) document.CallPair {
			return document.CallPair{Method: p.Method, A: newCallsRow(&p.A), B: newCallsRow(&p.B)}
		}),
		Errors: show.Rows(c.Errors, func(e *comparison.ErrorPair) document.ErrorPair { return document.ErrorPair(*e) }),
		Facts:  show.Rows(c.Facts, func(f *comparison.FactPair) document.FactPair { return document.FactPair(*f) }),
	})
}

func newSideRow(s *comparison.Side) document.Side {
	row := document.Side{
		Node: s.Node, Headline: s.Result.FullHeadline(), Seen: s.Seen.Seconds(), Stalls: len(s.Timeline.Stalls),
		Stalled: s.Stalled.Seconds(), Longest: s.Longest.Seconds(), Open: s.Open,
	}
	if rate, ok := s.StallsPerDay(); ok {
		row.PerDay = &rate
	}
	return row
}

func newCallsRow(c *comparison.Calls) document.Calls {
	return document.Calls{
		Count: c.Count, Failed: c.Failed, Open: c.Open, Median: c.Median.Seconds(), P95: c.P95.Seconds(), Max: c.Max.Seconds(),
	}
}
