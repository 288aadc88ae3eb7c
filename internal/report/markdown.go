package report

import (
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/story"
)

// Markdown writes the report for an issue or a chat: the same content as [Text],
// with the parts that quote the bundle in code fences. Nothing that a log line
// holds becomes a mention, a link, an image or HTML there.
func Markdown(w io.Writer, inc *incident.Incident, o Options) error {
	return (&dialect{
		heading: func(level int, title string) string { return strings.Repeat("#", level) + " " + title },
		label:   func(text string) string { return text },
		prose:   inline,
		headline: func(state, headline string) string {
			return strings.TrimSpace("**" + state + ".** " + inline(headline))
		},
		item:    func(text string) string { return "- " + text },
		place:   codeSpan,
		block:   codeFence,
		fold:    foldMarkdown,
		finding: findingMarkdown,
		steps:   maxTicketSteps,
		paste:   issuePaste,
	}).render(w, inc, o)
}

// issuePaste is what GitHub takes as the body of an issue or a comment: 65 536 characters.
func issuePaste(inputs []string) *paste {
	return &paste{
		limit: 65_536, open: openFence,
		note: "**Parts are missing here**: an issue takes no more. Attach the whole report, which this command writes: " +
			codeSpan(commandLine("analyze -o html", inputs)),
	}
}

// openFence is the mark of a code fence that does not end within s.
func openFence(s string) string {
	mark := ""
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		switch {
		case mark == "" && strings.HasPrefix(line, "```") && strings.HasSuffix(line, "text"):
			mark = strings.TrimSuffix(line, "text")
		case mark != "" && line == mark:
			mark = ""
		}
	}
	return mark
}

// foldMarkdown is a part that the reader opens: GitHub and GitLab show the title alone.
func foldMarkdown(title, body string) string {
	words := strings.Fields(title)
	for i, word := range words {
		word = show.Escape(word, show.MaxProse)
		if words[i] = html.EscapeString(word); special.MatchString(word) && !numbered.MatchString(word) {
			words[i] = "<code>" + words[i] + "</code>"
		}
	}
	return "<details><summary>" + strings.Join(words, " ") + "</summary>\n\n" + body + "</details>\n\n"
}

// numbered begins a list in Markdown only.
var numbered = regexp.MustCompile(`^[0-9]+[.]$`)

// findingMarkdown writes a finding: what is prose as lists, the rest in code fences.
func findingMarkdown(m *markup, f *story.Finding, told shown) {
	if !repeatsTitle(f) {
		m.writePara("**" + inline(f.Title) + "**")
	}
	m.writePara(inline(f.Summary))
	if f.Container != "" {
		m.writePara("Container " + inline(f.Container))
	}
	if m.view.Verbose && f.Formula != "" {
		m.writePara(fmt.Sprintf("Score %.2f: %s", f.Score, inline(f.Formula)))
	}
	fresh := told.takeNew(f.Chain)
	m.writeFence(func(t text) { t.writeChain(f.Chain, fresh) })
	for _, p := range findingParts(f) {
		m.writePara("**" + upperFirst(p.label) + ":**")
		var items []string
		for i := range p.blocks {
			b := &p.blocks[i]
			item := "- " + inline(b.text)
			if b.link && link.MatchString(b.text) {
				item = "- " + b.text
			}
			if items = append(items, item); len(b.quotes)+len(b.commands) > 0 {
				m.writePara(strings.Join(items, "\n"))
				m.writeFence(func(t text) {
					t.writeBlock("", &block{quotes: b.quotes, most: b.most, commands: b.commands, hazard: b.hazard})
				})
				items = nil
			}
		}
		if len(items) > 0 {
			m.writePara(strings.Join(items, "\n"))
		}
	}
}

// codeFence is text in a code fence that is longer than any run of backticks inside.
func codeFence(text string) string {
	mark := strings.Repeat("`", max(3, longestRun(text)+1))
	return mark + "text\n" + text + "\n" + mark
}

// longestRun counts the backticks of the longest run of them.
func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// special finds words that Markdown, or GitHub's reading of it, would not show
// as they are: markup and HTML, mentions and issue numbers, addresses that
// become links, hexadecimal words that become commits, words that begin a list or a
// rule. A backslash does not stop mentions and links; a code span stops all.
var special = regexp.MustCompile("[`*_<>\\[\\]\\\\|~@#&$!]|://|(?i)www\\.|mailto:|xmpp:|gh-[0-9]|" +
	`\b[0-9a-f]{7,}\b|:[a-z+-][a-z0-9+-]*:|^(?:[-+=]+|[0-9]+[.)])$`)

// link is an address that a reader may follow.
var link = regexp.MustCompile(`^https://[A-Za-z0-9._~/?=%+:#-]+$`)

// inline is prose inside a Markdown line, with every word as written.
func inline(prose string) string {
	words := strings.Fields(prose)
	for i, word := range words {
		word = show.Escape(word, show.MaxProse)
		if special.MatchString(word) && word != "|" { // a table takes two lines
			code := strings.TrimRight(word, ";,") // which are the sentence's
			word = codeSpan(code) + word[len(code):]
		}
		words[i] = word
	}
	return strings.Join(words, " ")
}

// codeSpan is text as a code span, whatever backticks it holds.
func codeSpan(s string) string {
	s = show.Escape(s, show.MaxProse)
	mark := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " " // CommonMark takes one space off again
	}
	return mark + s + mark
}
