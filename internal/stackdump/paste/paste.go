// Package paste takes off a line what editors, trackers and mail put around the text that somebody
// pasted. It knows Markdown and HTML, and nothing of what the line says.
package paste

import (
	"html"
	"strings"
)

// tags are marks of HTML that tickets keep around dumps.
var tags = strings.NewReplacer("<br>", "", "<br/>", "", "<br />", "", "<pre>", "", "</pre>", "", "<code>", "",
	"</code>", "", "<p>", "", "</p>", "", "<details>", "", "</details>", "", "<blockquote>", "", "</blockquote>", "")

// CleanLine takes the marks of Markdown and HTML off a line: quote marks, dashes of lists, code
// fences, bold, escaped characters, entities and tags. It returns the line itself when it has none.
func CleanLine(s string) string {
	if IsFence(s) {
		return ""
	}
	if strings.IndexByte(s, '&') >= 0 {
		s = html.UnescapeString(html.UnescapeString(s)) // some forms escape twice
	}
	if strings.IndexByte(s, '<') >= 0 {
		s = tags.Replace(s)
	}
	if strings.Contains(s, "](http") {
		s = cutLinks(s)
	}
	s = unescapeMarkdown(s)
	for {
		before := s
		s = strings.Trim(s, "` \t")
		for _, mark := range [...]string{"> ", "- ", "* ", "+ ", "• ", "**"} {
			s = strings.TrimPrefix(s, mark)
		}
		if s = strings.TrimSuffix(s, "**"); s == ">" {
			s = ""
		}
		if s == before {
			return s
		}
	}
}

// IsFence says whether a line begins or ends a block of code.
func IsFence(s string) bool { return strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~") }

// unescapeMarkdown takes the backslashes off that editors put before what Markdown would change.
func unescapeMarkdown(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("_*()[]{}.-+#<>!`~|\\", s[i+1]) >= 0 {
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// cutLinks leaves of "[github.com/x](http://github.com/x).f(0x1)" what it shows.
func cutLinks(s string) string {
	for from := 0; ; {
		mid := strings.Index(s[from:], "](http")
		if mid < 0 {
			return s
		}
		mid += from
		open, end := strings.LastIndexByte(s[:mid], '['), strings.IndexByte(s[mid:], ')')
		if open < 0 || end < 0 {
			return s
		}
		s = s[:open] + s[open+1:mid] + s[mid+end+1:]
		from = mid - 1
	}
}
