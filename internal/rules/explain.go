package rules

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// explainWidth is the width of a terminal nobody has widened.
const explainWidth = 80

// Explain writes the rule as prose: what it claims, what it takes to claim it,
// what speaks against it, what to collect and what to do.
func (r *Rule) Explain(w io.Writer) error {
	p := &prose{w: bufio.NewWriter(w)}
	p.line("%s", r.ID)
	p.wrap("", r.Title)
	p.line("")
	p.wrap("", r.Mechanism)
	p.heading("At most", roleProse[r.Role])
	p.steps(r)
	p.verdicts(r)
	p.against(r)
	if len(r.ExplainedBy) > 0 {
		p.heading("May be explained by", "")
		for _, d := range r.ExplainedBy {
			p.item("%s%s", d.Rule, among(" with the same ", d.Join))
		}
	}
	if len(r.Versions) > 0 {
		p.heading("Versions", "")
		for _, v := range r.Versions {
			p.item("%s %s", v.Fact, v.Affected)
		}
	}
	p.heading("Reads", "")
	for _, n := range r.Needs {
		p.item("%s", strings.Join(n.Any, " or "))
		p.line("      %s", strings.ReplaceAll(strings.TrimSpace(n.Collect), "\n", "\n      "))
	}
	p.list("Now", r.Remediation.Now)
	p.list("For good", r.Remediation.Durable)
	p.list("References", r.References)
	return p.w.Flush()
}

var roleProse = map[Role]string{
	Root:         "the root of an incident.",
	Link:         "a link above a deeper cause; the root when none is proven.",
	Contributing: "a contributing circumstance.",
	Fallback:     "a fallback, when no rule names a cause.",
}

// prose writes wrapped plain text. Write errors surface at Flush.
type prose struct{ w *bufio.Writer }

func (p *prose) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

func (p *prose) heading(title, text string) {
	p.line("")
	p.wrap("", strings.TrimSpace(title+": "+text))
}

func (p *prose) item(format string, args ...any) { p.wrap("  - ", fmt.Sprintf(format, args...)) }

func (p *prose) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	p.heading(title, "")
	for _, s := range items {
		p.item("%s", s)
	}
}

// wrap writes words within the width, the lead before the first line and as many blanks before the others.
func (p *prose) wrap(lead, text string) {
	indent := strings.Repeat(" ", len(lead))
	line := lead
	for word := range strings.FieldsSeq(text) {
		if line == lead {
			line += word
			continue
		}
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > explainWidth {
			p.line("%s", line)
			line = indent + word
			continue
		}
		line += " " + word
	}
	p.line("%s", line)
}

// placeholder is {name|format} of a text.
var placeholder = regexp.MustCompile(`\{([^{}|]*)(?:\|[^{}]*)?\}`)

func (p *prose) steps(r *Rule) {
	p.heading("Steps", "")
	for i := range r.Steps {
		s := &r.Steps[i]
		p.wrap("  - ", fmt.Sprintf("%s (%s): %s", s.ID, s.Role, placeholder.ReplaceAllString(s.Text, "<$1>")))
		for j := range s.patterns {
			p.wrap("      ", s.patterns[j].prose(j > 0))
		}
		if s.Min > 1 {
			p.wrap("      ", fmt.Sprintf("at least %d of them", s.Min))
		}
	}
	for i := range r.Edges {
		p.item("%s", r.Edges[i].prose())
	}
}

// prose is the pattern in words: "a lock.held with doing task.Update, same lock".
func (p *Pattern) prose(alternative bool) string {
	var b strings.Builder
	if alternative {
		b.WriteString("or ")
	}
	b.WriteString(string(p.Kind))
	for i, key := range sortedKeys(p.Match) {
		field, operator, _ := strings.Cut(key, "|")
		conjunction := " and"
		if i == 0 {
			conjunction = " where"
		}
		if word, ok := operatorProse[operator]; ok {
			operator = word
		}
		fmt.Fprintf(&b, "%s %s %s %v", conjunction, field, operator, p.Match[key])
	}
	for _, field := range sortedKeys(p.Bind) {
		fmt.Fprintf(&b, ", %s as %s", field, p.Bind[field])
	}
	return b.String()
}

var operatorProse = map[string]string{
	"": "is", "startswith": "starts with", "endswith": "ends with", "re": "matches",
	"lt": "<", "lte": "≤", "gt": ">", "gte": "≥", "semver": "is of version",
}

func (e *EdgeRule) prose() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", e.From, cmp.Or(e.Relation, "and"), e.To)
	if e.Gap != nil {
		fmt.Fprintf(&b, ", %s to %s later", cmp.Or(e.Gap.Min, "0s"), cmp.Or(e.Gap.Max, "any time"))
		if e.FromAt == "end" {
			b.WriteString(" than the end of the first")
		}
		if e.ToAt == "end" {
			b.WriteString(", to the end of the second")
		}
	}
	if e.Overlap != "" {
		fmt.Fprintf(&b, ", at the same time give or take %s", e.Overlap)
	}
	return b.String()
}

func (p *prose) verdicts(r *Rule) {
	p.heading("Verdict", "")
	for _, row := range []struct{ level, text string }{
		{"confirmed", r.Verdict.Confirmed}, {"likely", r.Verdict.Likely}, {"possible", r.Verdict.Possible},
	} {
		if row.text != "" {
			p.item("%s: %s", row.level, row.text)
		}
	}
	for i := range r.Absent {
		a := &r.Absent[i]
		when := "before " + a.Before
		if a.During != "" {
			when = "during " + a.During
		}
		p.item("%s means: no %s %s, and %s covers that time", a.ID, a.prose(false), when, a.Source)
	}
	if r.Per != "" {
		p.item("one finding per %s", r.Per)
	}
}

func (p *prose) against(r *Rule) {
	if len(r.RulesOut) == 0 {
		return
	}
	p.heading("Speaks against it", "")
	for i := range r.RulesOut {
		o := &r.RulesOut[i]
		effect := "rules it out"
		if o.Effect == "lowers" {
			effect = "lowers the verdict"
		}
		p.item("%s (%s, %s)", o.Why, o.prose(false), effect)
	}
}

func among(lead string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	return lead + strings.Join(words, ", ")
}
