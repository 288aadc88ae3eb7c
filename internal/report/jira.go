package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/story"
)

// Jira writes the report in Jira's wiki markup: the story as prose, what quotes the bundle in
// noformat blocks, where nothing is markup. Fields of classic Jira projects show no Markdown.
func Jira(w io.Writer, inc *incident.Incident, o Options) error {
	return (&dialect{
		heading:  func(level int, title string) string { return fmt.Sprintf("h%d. %s", level, title) },
		label:    func(text string) string { return "*" + text + "*" },
		prose:    jiraText,
		headline: func(_, headline string) string { return jiraText(headline) },
		item:     func(text string) string { return "* " + text },
		place:    func(pos string) string { return "(" + jiraText(pos) + ")" },
		block:    noformatBlock,
		fold:     func(title, body string) string { return "h2. " + jiraText(title) + "\n\n" + body },
		finding:  findingJira,
		steps:    maxTicketSteps,
		paste:    jiraPaste,
	}).render(w, inc, o)
}

// findingJira writes a finding as the text report does.
func findingJira(m *markup, f *story.Finding, told shown) {
	m.writeFence(func(t text) { t.writeFindingBody(f, told) })
}

// jiraPaste is what Jira takes as a description or a comment where nobody moved its limit: 32 767
// characters (jira.text.field.character.limit).
func jiraPaste(inputs []string) *paste {
	return &paste{
		limit: 32_767, open: openNoformat,
		note: "*Parts are missing here*: Jira takes no more. Attach the whole report, which this command writes:\n\n" +
			noformatBlock(commandLine("analyze -o html", inputs)),
	}
}

// openNoformat is the mark of a noformat block that does not end within s.
func openNoformat(s string) string {
	if strings.Count(s, "{noformat}")%2 == 0 {
		return ""
	}
	return "{noformat}"
}

// noformatBlock is text as a block in which nothing is markup: what would end it inside is broken
// up.
func noformatBlock(text string) string {
	return "{noformat}\n" + strings.ReplaceAll(text, "{noformat", "{ noformat") + "\n{noformat}"
}

// jiraMarkup are the characters that the wiki renderer acts on; a backslash before each takes that
// away.
const jiraMarkup = `\{}[]*_+^~?!|#@&<>`

// jiraText is prose as it is read, whatever a log put into it. A hyphen is markup at the start of a
// word only, a colon in an address or a smiley.
func jiraText(prose string) string {
	var b strings.Builder
	words := strings.Join(strings.Fields(show.Escape(prose, show.MaxProse)), " ")
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
