package language

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/rules/condition"
)

// explainWidth is the width of a terminal nobody has widened.
const explainWidth = 80

// Explain writes the rule as prose: what it claims, what it takes to claim it,
// what speaks against it, what to collect and what to do.
func (r *Rule) Explain(w io.Writer) error {
	p := &prose{w: bufio.NewWriter(w)}
	p.printLine("%s", r.ID)
	p.writeWrapped("", r.Title)
	if r.Mechanism != "" {
		p.printLine("")
		p.writeWrapped("", r.Mechanism)
	}
	p.writeHeading("At most", strings.TrimSpace(roleProse[r.Role]+" "+r.Phase.Sentence()))
	p.writeSteps(r)
	p.writeVerdicts(r)
	p.writeList("Tells: with an effect likely, alone possible", listTexts(r.Tells, (*TellRule).explain))
	p.writeList("Fits it and other causes", listTexts(r.Supports, (*TellRule).explain))
	p.writeList("Speaks against it", listTexts(r.RulesOut, (*Objection).explain))
	p.writeList("May be explained by", listTexts(r.ExplainedBy, (*Deeper).explain))
	p.writeList("Versions", listTexts(r.Versions, func(v *VersionRange) string { return v.Fact + " " + v.Affected }))
	p.writeHeading("Needs", "of each line one.")
	for _, n := range r.Needs {
		p.writeItem("%s", strings.Join(n.Any, " or "))
		p.printLine("      %s", strings.ReplaceAll(strings.TrimSpace(n.Collect), "\n", "\n      "))
		if n.Note != "" {
			p.writeWrapped("      ", n.Note)
		}
	}
	p.writeNotes(r.Notes)
	exposed, forecast := listTexts(r.Exposed, (*ExposureRule).explain), listTexts(r.Forecast, (*ForecastRule).explain)
	p.writeList("Warns", append(exposed, forecast...))
	p.writeActions(r.Remediation.Now)
	p.writeList("For good", r.Remediation.Durable)
	p.writeList("References", r.References)
	return p.w.Flush()
}

var roleProse = map[Role]string{
	Root:         "the root of an incident.",
	Link:         "a link above a deeper cause; the root when none is proven.",
	Contributing: "a contributing circumstance.",
	Fallback:     "a fallback, when no rule names a cause.",
	NotReady:     "a reason of its own why the node is not ready.",
}

// prose writes wrapped plain text. Write errors surface at Flush.
type prose struct{ w *bufio.Writer }

func (p *prose) printLine(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

func (p *prose) writeHeading(title, text string) {
	p.printLine("")
	p.writeWrapped("", strings.TrimSpace(title+": "+text))
}

func (p *prose) writeItem(format string, args ...any) {
	p.writeWrapped("  - ", fmt.Sprintf(format, args...))
}

func (p *prose) writeList(title string, items []string) {
	if len(items) == 0 {
		return
	}
	p.writeHeading(title, "")
	for _, s := range items {
		p.writeItem("%s", s)
	}
}

// writeActions writes what to do now. Commands are not wrapped.
func (p *prose) writeActions(all []Action) {
	if len(all) == 0 {
		return
	}
	p.writeHeading("Now", "")
	for i := range all {
		p.writeItem("%s", all[i].describe())
		p.writeCommands(&all[i])
	}
}

// writeNotes writes what is said besides, and what to do then.
func (p *prose) writeNotes(all []NoteRule) {
	if len(all) == 0 {
		return
	}
	p.writeHeading("Says besides", "")
	for i := range all {
		p.writeItem("%s", all[i].explain())
		if now := all[i].Now; now != nil {
			p.writeWrapped("    do now: ", now.describe())
			p.writeCommands(now)
		}
	}
}

// writeCommands writes the commands of an action, what to fill in, and what can go wrong.
func (p *prose) writeCommands(a *Action) {
	for _, command := range a.Commands {
		p.printLine("      %s", command)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Find)) {
		p.writeWrapped("      ", "{"+name+"}: "+a.Find[name])
	}
	if a.Hazard != "" {
		p.writeWrapped("      ", "hazard: "+a.Hazard)
	}
}

// describe is what the action does, for a reader to whom no match fills it in.
func (a *Action) describe() string {
	if a.alone {
		return a.Do
	}
	return namePlaceholders(a.Do)
}

// writeWrapped writes words within the width, the lead before the first line and as many blanks
// before the others.
func (p *prose) writeWrapped(lead, text string) {
	indent := strings.Repeat(" ", len(lead))
	line := lead
	for word := range strings.FieldsSeq(text) {
		if line == lead {
			line += word
			continue
		}
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > explainWidth {
			p.printLine("%s", line)
			line = indent + word
			continue
		}
		line += " " + word
	}
	p.printLine("%s", line)
}

// placeholder is {name|format} of a text.
var placeholder = regexp.MustCompile(`\{([^{}|]*)(?:\|[^{}]*)?\}`)

// namePlaceholders is a text for a reader to whom no match fills it in: {duration|dur} is
// <duration>.
func namePlaceholders(text string) string { return placeholder.ReplaceAllString(text, "<$1>") }

// Describe is the step in words: the first clause of its text, with … where only a match has a
// value: "umount2 takes …". It is empty for a text of values alone, which says nothing here.
func (s *StepRule) Describe() string {
	return describeText(s.Text)
}

// Describe is the tell in words, as [StepRule.Describe].
func (t *TellRule) Describe(r *Rule) string {
	if t.Step != "" {
		return r.Steps[t.Compiled.Step].Describe()
	}
	return describeText(t.Text)
}

// describeText is the first clause of the text of a step or a tell, see [StepRule.Describe].
func describeText(clause string) string {
	for _, end := range []string{";", ", ", " ("} {
		clause, _, _ = strings.Cut(clause, end)
	}
	if strings.IndexByte(clause, '{') < 0 { // as in most clauses
		return clause
	}
	if placeholder.ReplaceAllString(clause, "") == "" {
		return ""
	}
	return placeholder.ReplaceAllString(clause, "…")
}

func (p *prose) writeSteps(r *Rule) {
	p.writeHeading("Steps", "a name after = is the same value in every step that gives it.")
	for i := range r.Steps {
		s := &r.Steps[i]
		p.writeWrapped("  - ", fmt.Sprintf("%s (%s): %s", s.ID, s.Role, namePlaceholders(s.Text)))
		for j := range s.Compiled.Patterns {
			p.writeWrapped("      ", s.Compiled.Patterns[j].describe(j > 0))
		}
		if number := s.describeNumber(); number != "" {
			p.writeWrapped("      ", number)
		}
	}
	p.writeList("In time", listTexts(r.Edges, (*EdgeRule).describe))
}

// describeNumber says which of the events that fit a step it takes; empty for the best one alone.
func (s *StepRule) describeNumber() string {
	var says []string
	if s.All {
		says = append(says, "all of them")
	}
	if s.Min > 1 {
		says = append(says, fmt.Sprintf("at least %d", s.Min))
	}
	if s.GoesOn != "" {
		says = append(says, fmt.Sprintf("to the end of its row, each within %s of the one before", s.GoesOn))
	}
	return strings.Join(says, ", ")
}

// describe is the pattern in words: "lock.held where doing is fsync, lock = lock".
func (p *Pattern) describe(alternative bool) string {
	var b strings.Builder
	if alternative {
		b.WriteString("or ")
	}
	b.WriteString(string(p.Kind))
	for i, key := range slices.Sorted(maps.Keys(p.Match)) {
		conjunction := " and "
		if i == 0 {
			conjunction = " where "
		}
		b.WriteString(conjunction + condition.Describe(key, p.Match[key]))
	}
	for _, field := range slices.Sorted(maps.Keys(p.Bind)) {
		name, modifier, _ := strings.Cut(field, "|")
		fmt.Fprintf(&b, ", %s = %s", name, p.Bind[field])
		if modifier == optionalModifier {
			b.WriteString(" if it is given")
		}
	}
	return b.String()
}

// describe is the edge in words: "exit starts umount: umount begins 5s before to 10m after it".
func (e *EdgeRule) describe() string {
	var says []string
	if e.Gap != nil {
		verb, of := "begins", "it"
		if e.ToAt == "end" {
			verb = "ends"
		}
		if e.FromAt == "end" {
			of = "its end"
		}
		says = append(says, fmt.Sprintf("%s %s %s", verb, e.Gap.describe(), of))
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

// describe is the gap in words: "5s before to 10m after".
func (g *Gap) describe() string {
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

func (p *prose) writeVerdicts(r *Rule) {
	p.writeHeading("Verdict", "")
	for _, row := range []struct{ level, text string }{
		{"confirmed", r.Verdict.Confirmed}, {"likely", r.Verdict.Likely}, {"possible", r.Verdict.Possible},
	} {
		if row.text != "" {
			p.writeItem("%s: %s", row.level, row.text)
		}
	}
	for i := range r.Absent {
		p.writeItem("%s", r.Absent[i].explain())
	}
	if r.Per != "" {
		p.writeItem("one finding per %s", r.Per)
	}
}

func (e *ExposureRule) explain() string {
	var all []string
	for _, v := range e.Versions {
		all = append(all, v.Fact+" is "+v.Affected)
	}
	for _, key := range slices.Sorted(maps.Keys(e.Facts)) {
		all = append(all, condition.Describe(key, e.Facts[key]))
	}
	return e.Text + " (where " + strings.Join(all, " and ") + ")"
}

func (f *ForecastRule) explain() string {
	what := f.Pattern
	what.Bind = nil // what binds tell apart, they do not ask for
	return fmt.Sprintf("%s (when %s of %s grows to %v)", f.Text, f.Value, what.describe(false), f.Limit)
}

// explain is a tell or a support: what it is seen in, and why it tells.
func (t *TellRule) explain() string {
	text := fmt.Sprintf("%s: %s", t.ID, namePlaceholders(t.Text))
	if t.Step != "" {
		text = fmt.Sprintf("%s: as the step %s", t.ID, t.Step)
	}
	var patterns []string
	for i := range t.Compiled.Patterns {
		patterns = append(patterns, t.Compiled.Patterns[i].describe(i > 0))
	}
	text += " (" + strings.Join(patterns, " ")
	if t.Min > 1 {
		text += fmt.Sprintf(", at least %d", t.Min)
	}
	text += ")"
	if t.AtMost != "" {
		text += ", at most " + t.AtMost
	}
	if t.Why != "" {
		text += ": " + t.Why
	}
	return text
}

// explain is a note, and when it is told.
func (n *NoteRule) explain() string {
	text := namePlaceholders(n.Text)
	if n.When != nil {
		text += " (when " + n.When.explain() + ")"
	}
	return text
}

// explain is what the event of a step must say, or that it must be there.
func (w *When) explain() string {
	if len(w.Match) == 0 {
		return w.Step + " was seen"
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(w.Match)) {
		all = append(all, w.Step+"."+condition.Describe(key, w.Match[key]))
	}
	return strings.Join(all, " and ")
}

func (a *Absence) explain() string {
	when := "before " + a.Before
	if a.During != "" {
		when = "during " + a.During
	}
	return fmt.Sprintf("%s means: no %s %s, and %s covers that time", a.ID, a.Pattern.describe(false), when, a.Source)
}

func (o *Objection) explain() string {
	effect := "rules it out"
	if o.Effect == "lowers" {
		effect = "lowers the verdict"
	}
	switch {
	case o.Near != "" && o.After:
		effect = "at most " + o.Near + " after " + o.During + ", " + effect
	case o.After:
		effect = "in the course of " + o.During + ", " + effect
	case o.Near != "":
		effect = "at most " + o.Near + " from " + o.During + ", " + effect
	case o.During != "":
		effect = "during " + o.During + ", " + effect
	}
	return fmt.Sprintf("%s (%s, %s)", o.Why, o.Pattern.describe(false), effect)
}

func (d *Deeper) explain() string {
	if len(d.Join) == 0 {
		return d.Rule
	}
	return d.Rule + " with the same " + strings.Join(d.Join, ", ")
}
