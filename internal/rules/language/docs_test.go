package language

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestDocs: docs/rules.md is what the catalogue says.
func TestDocs(t *testing.T) {
	cat := loadAll(t, builtinFiles)
	var p page
	p.line("<!-- Generated from internal/rules/catalog: go test ./internal/rules/language -update. -->")
	p.line("# Rules\n")
	p.line("What plegdiag knows to look for. `plegdiag rules explain ID` prints the same in a terminal, also of a user's own rules;")
	p.line("[rule-language.md](rule-language.md) says how to write one, [events.md](events.md) lists what a step can match. A rule names a cause only where its steps are in the evidence;")
	p.line("what it takes for each verdict is said with the rule.\n")
	p.index(cat)
	for i := range cat.Rules {
		p.rule(&cat.Rules[i])
	}
	p.golden(t, "../../../docs/rules.md")
}

// golden compares the page with its file, or writes it.
func (p *page) golden(t *testing.T, path string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(p.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), p.String(), "go test ./internal/rules/language -update accepts it")
}

// page is a Markdown page.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// mdText escapes what Markdown would take for its own.
func mdText(s string) string {
	s = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", `\|`, "*", `\*`, "`", "\\`").Replace(strings.Join(strings.Fields(s), " "))
	return strings.ReplaceAll(s, " _", ` \_`)
}

// code is a span of code.
func code(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" }

func (p *page) index(cat *Catalog) {
	p.line("| rule | at most | what | versions |\n|---|---|---|---|")
	for i := range cat.Rules {
		r := &cat.Rules[i]
		var versions []string
		for _, v := range r.Versions {
			versions = append(versions, mdText(v.Fact+" "+v.Affected))
		}
		p.line("| [%s](#%s) | %s | %s | %s |", r.ID, r.ID, highest(r), mdText(r.Title), cmp.Or(strings.Join(versions, "; "), "any"))
	}
}

// actionText is an action as an item of a list.
func actionText(a *Action) string {
	var text strings.Builder
	text.WriteString(mdText(a.describe()))
	if len(a.Commands) > 0 {
		text.WriteString("\n\n  ```sh\n  " + strings.Join(a.Commands, "\n  ") + "\n  ```\n")
	}
	for _, name := range slices.Sorted(maps.Keys(a.Find)) {
		text.WriteString("\n  " + code("{"+name+"}") + " is " + mdText(strings.TrimSuffix(a.Find[name], ".")) + ".\n")
	}
	if a.Hazard != "" {
		text.WriteString("\n  Hazard: " + mdText(a.Hazard) + "\n")
	}
	return text.String()
}

// highest is the best that a rule can say: its role and its verdict.
func highest(r *Rule) string {
	for level := Confirmed; level >= Possible; level-- {
		if r.Verdict.Compiled[level] != nil {
			return string(r.Role) + ", " + level.String()
		}
	}
	return string(r.Role)
}

func (p *page) rule(r *Rule) {
	p.line("\n## %s\n\n%s\n\n%s At most %s\n", r.ID, "**"+mdText(r.Title)+"**", mdText(r.Mechanism), strings.TrimSpace(roleProse[r.Role]+" "+r.Phase.Sentence()))
	p.line("| step | role | what | seen as |\n|---|---|---|---|")
	for i := range r.Steps {
		s := &r.Steps[i]
		var seen []string
		for j := range s.Compiled.Patterns {
			seen = append(seen, mdText(s.Compiled.Patterns[j].describe(j > 0)))
		}
		if number := s.describeNumber(); number != "" {
			seen = append(seen, number)
		}
		p.line("| %s | %s | %s | %s |", s.ID, s.Role, mdText(placeholder.ReplaceAllString(s.Text, "<$1>")), strings.Join(seen, "<br>"))
	}
	p.line("")
	for i := range r.Edges {
		p.line("- %s", mdText(r.Edges[i].describe()))
	}
	p.verdicts(r)
	p.list("May be explained by", len(r.ExplainedBy), func(i int) string {
		d := &r.ExplainedBy[i]
		return fmt.Sprintf("[%s](#%s)%s", d.Rule, d.Rule, strings.TrimPrefix(d.explain(), d.Rule))
	})
	p.list("Versions affected", len(r.Versions), func(i int) string { return mdText(r.Versions[i].Fact + " " + r.Versions[i].Affected) })
	p.line("\nNeeds, of each line one:\n")
	for _, n := range r.Needs {
		note := ""
		if n.Note != "" {
			note = ": " + mdText(n.Note)
		}
		p.line("- %s%s\n\n  ```sh\n  %s\n  ```", mdText(strings.Join(n.Any, " or ")), note, strings.ReplaceAll(strings.TrimSpace(n.Collect), "\n", "\n  "))
	}
	p.list("Says besides", len(r.Notes), func(i int) string {
		text := mdText(r.Notes[i].explain())
		if r.Notes[i].Now != nil {
			text += "; do now: " + actionText(r.Notes[i].Now)
		}
		return text
	})
	p.list("Warns", len(r.Exposed)+len(r.Forecast), func(i int) string {
		if i < len(r.Exposed) {
			return mdText(r.Exposed[i].explain())
		}
		return mdText(r.Forecast[i-len(r.Exposed)].explain())
	})
	p.list("Now", len(r.Remediation.Now), func(i int) string { return actionText(&r.Remediation.Now[i]) })
	p.list("For good", len(r.Remediation.Durable), func(i int) string { return mdText(r.Remediation.Durable[i]) })
	p.list("References", len(r.References), func(i int) string { return reference(r.References[i]) })
}

func (p *page) verdicts(r *Rule) {
	p.line("\nVerdict:\n")
	for _, row := range []struct{ level, text string }{
		{"confirmed", r.Verdict.Confirmed}, {"likely", r.Verdict.Likely}, {"possible", r.Verdict.Possible},
	} {
		if row.text != "" {
			p.line("- **%s**: %s", row.level, mdText(row.text))
		}
	}
	for i := range r.Absent {
		p.line("- %s", mdText(r.Absent[i].explain()))
	}
	if r.Per != "" {
		p.line("- one finding per %s", r.Per)
	}
	p.list("Speaks against it", len(r.RulesOut), func(i int) string { return mdText(r.RulesOut[i].explain()) })
}

func (p *page) list(title string, n int, item func(int) string) {
	if n == 0 {
		return
	}
	p.line("\n%s:\n", title)
	for i := range n {
		p.line("- %s", item(i))
	}
}

var issue = regexp.MustCompile(`^([\w.-]+/[\w.-]+)#(\d+)$`)

// reference links repo#number.
func reference(s string) string {
	if m := issue.FindStringSubmatch(s); m != nil {
		return fmt.Sprintf("[%s](https://github.com/%s/issues/%s)", s, m[1], m[2])
	}
	return mdText(s)
}

// TestEventsDoc: docs/events.md is what package event declares.
func TestEventsDoc(t *testing.T) {
	var p page
	p.line("<!-- Generated from internal/event: go test ./internal/rules/language -update. -->")
	p.line("# Events\n")
	p.line("What plegdiag makes of logs, dumps, traces, samples and listings, and what the steps of rules match and bind.")
	p.line("`plegdiag rules events KIND` prints one kind in a terminal, or with `-o json` for programs (`plegdiag.events/v1`).")
	p.line("[rule-language.md](rule-language.md) says how rules use events.\n")
	p.line("A duration compares with seconds (`duration|gte: 90`) or with a duration (`duration|gte: 1m30s`). Where a field names its")
	p.line("values, it has no others; it may be empty where the value is not known. A field may be absent.\n")
	p.line("| kind | what |\n|---|---|")
	for _, k := range event.Kinds() {
		p.line("| [%s](#%s) | %s |", k.Kind, anchor(k.Kind), mdText(k.About))
	}
	p.line("\n## Every event\n")
	p.fields(event.CommonFields())
	p.line("\n## Ids\n\nEach kind names those that its events may carry.\n")
	p.fields(event.IDFields())
	for _, k := range event.Kinds() {
		p.line("\n## %s\n\n%s.", k.Kind, mdText(k.About))
		if len(k.IDs) > 0 {
			var ids []string
			for _, id := range k.IDs {
				ids = append(ids, code(string(id)))
			}
			p.line("\nIds: %s.", strings.Join(ids, ", "))
		}
		if len(k.Fields) > 0 {
			p.line("")
			p.fields(k.Fields)
		}
		if k.Open {
			p.line("\nEvery key=value of the line is a field by its key, as text.")
		}
	}
	p.golden(t, "../../../docs/events.md")
}

// anchor is how Markdown calls the section of a kind.
func anchor(kind event.Kind) string { return strings.ReplaceAll(string(kind), ".", "") }

func (p *page) fields(fields []event.FieldInfo) {
	p.line("| field | type | what |\n|---|---|---|")
	for i := range fields {
		f := &fields[i]
		p.line("| %s | %s | %s |", code(string(f.Key)), f.Type, mdText(f.Describe()))
	}
}
