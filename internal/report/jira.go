package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/plegdiag/plegdiag/internal/incident"
)

// Jira writes the report in Jira's wiki markup: the story as prose, what quotes the bundle in noformat blocks, where
// nothing is markup. Fields of classic Jira projects show no Markdown.
func Jira(w io.Writer, inc *incident.Incident, o Options) error {
	out := &strings.Builder{}
	j := &jira{out, o.Verbose, o.Inputs}
	op := open(inc)
	fmt.Fprintf(out, "h1. %s\n\n%s\n\nNode %s, %s\n\n", upperFirst(op.Word), jiraText(op.Headline), jiraText(op.Node), op.Window)
	switch {
	case op.command() != "":
		j.block("*Do first:*", func(t *text) { t.script(op.Next) })
	case op.Next != "":
		fmt.Fprintf(out, "*Do first:* %s\n\n", jiraText(op.Next))
	}
	if op.Hazard != "" {
		fmt.Fprintf(out, "*Hazard:* %s\n\n", jiraText(op.Hazard))
	}
	if len(stalls(inc)) > 0 {
		j.block("h2. Stalls", func(t *text) { t.stalls(inc) })
	}
	told := shown{}
	for i := range inc.Result.Findings {
		f := &inc.Result.Findings[i]
		title := fmt.Sprintf("h2. %d. %s %s: %s", i+1, upperFirst(f.Verdict.String()), f.Role, jiraText(f.Rule))
		j.block(title, func(t *text) { t.finding(i+1, f, told) })
	}
	if es := inc.Result.Exposed; len(es) > 0 {
		j.block("h2. Exposed to, by versions and settings alone", func(t *text) { t.exposed(es) })
	}
	if fs := inc.Result.Forecasts; len(fs) > 0 {
		j.block("h2. Forecast", func(t *text) { t.forecasts(fs) })
	}
	if hs := inc.Result.Harmless; len(hs) > 0 {
		j.block("h2. Seen, harmless", func(t *text) { t.harmless(hs) })
	}
	if rs := inc.Result.RuledOut; len(rs) > 0 {
		j.block("h2. Ruled out", func(t *text) { t.ruledOut(rs) })
	}
	if us := inc.Result.NotEvaluable; len(us) > 0 {
		j.block("h2. Not evaluable", func(t *text) { t.notEvaluable(us) })
	}
	if fs := facts(inc); len(fs) > 0 {
		j.block("h2. Facts", func(t *text) { t.facts(fs, inc.Result.Weighed) })
	}
	if cs := clocks(inc); len(cs) > 0 {
		j.block("h2. Clocks", func(t *text) { t.clocks(cs, t.verbose) })
	}
	if gs := gaps(inc); len(gs) > 0 {
		j.block("h2. Gaps", func(t *text) { t.gaps(gs) })
	}
	j.block("h2. Files", func(t *text) { t.files(inc.Files) })
	_, err := io.WriteString(w, comment(o.Inputs).fit(out.String()))
	return err
}

// comment is what Jira takes as a description or a comment where nobody moved its limit: 32 767 characters
// (jira.text.field.character.limit).
func comment(inputs []string) *paste {
	return &paste{
		limit: 32_767, section: "h2. ", open: openNoformat,
		note: "*Cut here* to what Jira takes. The whole report, to be attached:\n\n{noformat}\n" + noformat(commandLine("analyze -o html", inputs)) + "\n{noformat}",
	}
}

// openNoformat is the mark of a noformat block that does not end within s.
func openNoformat(s string) string {
	if strings.Count(s, "{noformat}")%2 == 0 {
		return ""
	}
	return "{noformat}"
}

type jira struct {
	w       *strings.Builder
	verbose bool
	inputs  []string
}

// block writes plain text of 100 columns where Jira sees no markup.
func (j *jira) block(title string, write func(t *text)) {
	var inside strings.Builder
	w := bufio.NewWriter(&inside)
	write(newText(w, Options{Width: 100, Verbose: j.verbose, Inputs: j.inputs}))
	w.Flush() // a strings.Builder takes everything
	fmt.Fprintf(j.w, "%s\n\n{noformat}\n%s\n{noformat}\n\n", title, noformat(strings.Trim(inside.String(), "\n")))
}

// noformat is text for the inside of a block: what would end it there is broken up.
func noformat(text string) string { return strings.ReplaceAll(text, "{noformat", "{ noformat") }

// jiraMarkup are the characters that the wiki renderer acts on; a backslash before each takes that away.
const jiraMarkup = `\{}[]*_+^~?!|#@&<>`

// jiraText is prose as it is read, whatever a log put into it. A hyphen is markup at the start of a word only, a
// colon in an address or a smiley.
func jiraText(prose string) string {
	var b strings.Builder
	words := strings.Join(strings.Fields(Escape(prose, maxProse)), " ")
	before := ' '
	for i, r := range words {
		switch {
		case r < 0x80 && strings.ContainsRune(jiraMarkup, r), r == '-' && before == ' ':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == ':' && i+1 < len(words) && strings.IndexByte("/()DPp", words[i+1]) >= 0:
			b.WriteString("&#58;")
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}
