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
	if r.Mechanism != "" {
		p.line("")
		p.wrap("", r.Mechanism)
	}
	p.heading("At most", strings.TrimSpace(roleProse[r.Role]+" "+r.Phase.Sentence()))
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
	p.heading("Needs", "of each line one.")
	for _, n := range r.Needs {
		p.item("%s", strings.Join(n.Any, " or "))
		p.line("      %s", strings.ReplaceAll(strings.TrimSpace(n.Collect), "\n", "\n      "))
	}
	p.notes(r)
	p.risks(r)
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

// wrap writes words within the width, the lead before the first line and as many blanks before the
// others.
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

// namePlaceholders is a text for a reader to whom no match fills it in: {duration|dur} is <duration>.
func namePlaceholders(text string) string { return placeholder.ReplaceAllString(text, "<$1>") }

// describe is the step's id with the first clause of its text: "umount (umount2 takes <duration>)".
// A text that only a match fills in says nothing here.
func (s *StepRule) describe() string {
	clause, _, _ := strings.Cut(s.Text, ";")
	clause, _, _ = strings.Cut(clause, ", ")
	if placeholder.ReplaceAllString(clause, "") == "" {
		return s.ID
	}
	return s.ID + " (" + namePlaceholders(clause) + ")"
}

func (p *prose) steps(r *Rule) {
	p.heading("Steps", "a name after = is the same value in every step that gives it.")
	for i := range r.Steps {
		s := &r.Steps[i]
		p.wrap("  - ", fmt.Sprintf("%s (%s): %s", s.ID, s.Role, namePlaceholders(s.Text)))
		for j := range s.patterns {
			p.wrap("      ", s.patterns[j].prose(j > 0))
		}
		if s.All {
			p.wrap("      ", s.howMany())
		}
	}
	if len(r.Edges) > 0 {
		p.heading("In time", "")
	}
	for i := range r.Edges {
		p.item("%s", r.Edges[i].prose())
	}
}

func (s *StepRule) howMany() string {
	if s.Min > 1 {
		return fmt.Sprintf("all of them, at least %d", s.Min)
	}
	return "all of them"
}

// prose is the pattern in words: "lock.held where doing is fsync, lock = lock".
func (p *Pattern) prose(alternative bool) string {
	var b strings.Builder
	if alternative {
		b.WriteString("or ")
	}
	b.WriteString(string(p.Kind))
	for i, key := range sortedKeys(p.Match) {
		conjunction := " and "
		if i == 0 {
			conjunction = " where "
		}
		b.WriteString(conjunction + conditionProse(key, p.Match[key]))
	}
	for _, field := range sortedKeys(p.Bind) {
		name, modifier, _ := strings.Cut(field, "|")
		fmt.Fprintf(&b, ", %s = %s", name, p.Bind[field])
		if modifier == optionalModifier {
			b.WriteString(" if it is given")
		}
	}
	return b.String()
}

func conditionProse(key string, arg any) string {
	field, operator, _ := strings.Cut(key, "|")
	switch list, isList := arg.([]any); {
	case operator == existsOperator && arg == true:
		return field + " is given"
	case operator == existsOperator:
		return field + " is not given"
	case isList:
		var words []string
		for _, word := range list {
			words = append(words, fmt.Sprint(word))
		}
		return field + " is one of " + strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s %s %v", field, cmp.Or(operatorProse[operator], operator), arg)
}

var operatorProse = map[string]string{
	"": "is", "lacks": "does not contain", "startswith": "starts with", "endswith": "ends with", "re": "matches", "captures": "has",
	"lt": "<", "lte": "≤", "gt": ">", "gte": "≥", "semver": "is of version",
}

// prose is the edge in words: "exit starts umount: umount begins 5s before to 10m after it".
func (e *EdgeRule) prose() string {
	var says []string
	if e.Gap != nil {
		verb, of := "begins", "it"
		if e.ToAt == "end" {
			verb = "ends"
		}
		if e.FromAt == "end" {
			of = "its end"
		}
		says = append(says, fmt.Sprintf("%s %s %s", verb, e.Gap.prose(), of))
	}
	if e.Overlap != "" {
		says = append(says, fmt.Sprintf("is going on at the same time, give or take %s", e.Overlap))
	}
	from, to := strings.Join(e.From, " or "), strings.Join(e.To, " or ")
	who := to
	if len(e.To) > 1 {
		who = "each"
	}
	return fmt.Sprintf("%s %s %s: %s %s", from, cmp.Or(e.Relation, "and"), to, who, strings.Join(says, " and "))
}

// prose is the gap in words: "5s before to 10m after".
func (g *Gap) prose() string {
	early, before := strings.CutPrefix(g.Min, "-")
	late, bothBefore := strings.CutPrefix(g.Max, "-")
	none := g.Min == "" || g.Min == "0s" || g.Min == "0"
	switch {
	case bothBefore:
		return early + " to " + late + " before"
	case before && g.Max == "":
		return "at most " + early + " before, or after"
	case before:
		return early + " before to " + g.Max + " after"
	case none && g.Max == "":
		return "after"
	case none:
		return "at most " + g.Max + " after"
	case g.Max == "":
		return "at least " + g.Min + " after"
	}
	return g.Min + " to " + g.Max + " after"
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
		p.item("%s", r.Absent[i].sentence())
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
		p.item("%s", r.RulesOut[i].sentence())
	}
}

func (p *prose) notes(r *Rule) {
	if len(r.Notes) > 0 {
		p.heading("Says besides", "")
	}
	for i := range r.Notes {
		p.item("%s", r.Notes[i].sentence())
	}
}

// risks are what the rule says of a node to which nothing has happened yet.
func (p *prose) risks(r *Rule) {
	if len(r.Exposed)+len(r.Forecast) > 0 {
		p.heading("Warns", "")
	}
	for i := range r.Exposed {
		p.item("%s", r.Exposed[i].sentence())
	}
	for i := range r.Forecast {
		p.item("%s", r.Forecast[i].sentence())
	}
}

func (e *ExposureRule) sentence() string {
	var all []string
	for _, v := range e.Versions {
		all = append(all, v.Fact+" is "+v.Affected)
	}
	for _, key := range sortedKeys(e.Facts) {
		all = append(all, conditionProse(key, e.Facts[key]))
	}
	return e.Text + " (where " + strings.Join(all, " and ") + ")"
}

func (f *ForecastRule) sentence() string {
	what := f.Pattern
	what.Bind = nil // what binds tell apart, they do not ask for
	return fmt.Sprintf("%s (when %s of %s grows to %v)", f.Text, f.Value, what.prose(false), f.Limit)
}

func (n *NoteRule) sentence() string {
	text := namePlaceholders(n.Text)
	if n.Now != "" {
		text += "; do now: " + n.Now
	}
	if n.When == nil {
		return text
	}
	var all []string
	for _, key := range sortedKeys(n.When.Match) {
		all = append(all, n.When.Step+"."+conditionProse(key, n.When.Match[key]))
	}
	return text + " (when " + strings.Join(all, " and ") + ")"
}

func (a *Absence) sentence() string {
	when := "before " + a.Before
	if a.During != "" {
		when = "during " + a.During
	}
	return fmt.Sprintf("%s means: no %s %s, and %s covers that time", a.ID, a.prose(false), when, a.Source)
}

func (o *Objection) sentence() string {
	effect := "rules it out"
	if o.Effect == "lowers" {
		effect = "lowers the verdict"
	}
	if o.During != "" {
		effect = "during " + o.During + ", " + effect
	}
	return fmt.Sprintf("%s (%s, %s)", o.Why, o.prose(false), effect)
}

func among(lead string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	return lead + strings.Join(words, ", ")
}
