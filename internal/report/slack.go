package report

import (
	"io"
	"strings"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// Slack writes the answer alone, for a message in a chat: in Slack's mrkdwn, at most 3 000
// characters, which is what a text of a section block takes.
func Slack(w io.Writer, inc *incident.Incident, o Options) error {
	return (&dialect{
		heading:  func(_ int, title string) string { return "*" + title + "*" },
		label:    func(text string) string { return "*" + text + "*" },
		prose:    slackText,
		headline: func(_, headline string) string { return slackText(headline) },
		item:     func(text string) string { return "• " + text },
		place:    slackCode,
		block:    func(text string) string { return slackFence + "\n" + slackPlain(text) + "\n" + slackFence },
		steps:    8,
		paste: func(inputs []string) *paste {
			return &paste{limit: 3_000, open: openSlackFence, note: "… the whole report: " + slackCode(commandLine("analyze --full", inputs))}
		},
	}).render(w, inc, o)
}

const slackFence = "```"

// openSlackFence is the mark of a block that does not end within s.
func openSlackFence(s string) string {
	if strings.Count(s, slackFence)%2 == 0 {
		return ""
	}
	return slackFence
}

// slackEscape takes the meaning from what Slack reads as mentions, channels and links.
var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slackPlain is text inside of a block or a code span: what would end it becomes a quote.
func slackPlain(s string) string { return slackEscape.Replace(strings.ReplaceAll(s, "`", "'")) }

func slackCode(s string) string { return "`" + slackPlain(show.Escape(s, show.MaxProse)) + "`" }

// slackText is prose as it is read: a word that mrkdwn would format stands in a code span.
func slackText(prose string) string {
	words := strings.Fields(show.Escape(prose, show.MaxProse))
	for i, word := range words {
		if strings.ContainsAny(word, "*_~`@#") || strings.Contains(word, "://") {
			words[i] = slackCode(word)
		} else {
			words[i] = slackEscape.Replace(word)
		}
	}
	return strings.Join(words, " ")
}
