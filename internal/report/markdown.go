package report

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/story"
)

// Markdown writes the report for an issue or a chat: the same content as [Text],
// with the parts that quote the bundle in code fences. Nothing that a log line
// holds becomes a mention, a link, an image or HTML there.
func Markdown(w io.Writer, inc *incident.Incident, o Options) error {
	m := &markdown{w: &strings.Builder{}, verbose: o.Verbose, inputs: o.Inputs}
	m.opening(inc)
	if s := stalls(inc); len(s) > 0 {
		m.section("Stalls")
		for i := range s {
			m.para("- " + inline(stallText(&s[i])))
			m.fence(func(t *text) { t.quotes(s[i].Evidence, 2); t.quotes(s[i].NotReadyEvidence, 1) })
			for _, suspect := range inc.Result.SuspectsOf(i) {
				m.para("- Suspect: " + inline(suspect.String()))
				m.fence(func(t *text) { t.quotes(suspect.Evidence, 2) })
			}
		}
	}
	told := shown{}
	for i := range inc.Result.Findings {
		m.finding(i+1, &inc.Result.Findings[i], told)
	}
	if es := inc.Result.Exposed; len(es) > 0 {
		m.section("Exposed to")
		m.para("By versions and settings alone; not what happened here.")
		m.fence(func(t *text) { t.exposed(es) })
	}
	if fs := inc.Result.Forecasts; len(fs) > 0 {
		m.section("Forecast")
		m.fence(func(t *text) { t.forecasts(fs) })
	}
	if hs := inc.Result.Harmless; len(hs) > 0 {
		m.section("Seen, harmless")
		m.fence(func(t *text) { t.harmless(hs) })
	}
	if rs := inc.Result.RuledOut; len(rs) > 0 {
		m.section("Ruled out")
		m.fence(func(t *text) { t.ruledOut(rs) })
	}
	if us := inc.Result.NotEvaluable; len(us) > 0 {
		m.section(fmt.Sprintf("Not evaluable (rules: %d)", len(us)))
		m.fence(func(t *text) { t.notEvaluable(us) })
	}
	if fs := facts(inc); len(fs) > 0 {
		m.section("Facts")
		m.fence(func(t *text) { t.facts(fs, inc.Result.Weighed) })
	}
	if cs := clocks(inc); len(cs) > 0 {
		m.section("Clocks")
		m.fence(func(t *text) { t.clocks(cs, t.verbose) })
	}
	if gs := gaps(inc); len(gs) > 0 {
		m.section("Gaps")
		m.fence(func(t *text) { t.gaps(gs) })
	}
	m.section("Files")
	m.fence(func(t *text) { t.files(inc.Files) })
	_, err := io.WriteString(w, issue(o.Inputs).fit(m.w.String()))
	return err
}

// issue is what GitHub takes as the body of an issue or a comment: 65 536 characters.
func issue(inputs []string) *paste {
	return &paste{
		limit: 65_536, section: "## ", open: openFence,
		note: "**Cut here** to what an issue takes. The whole report, to be attached: " + code(commandLine("analyze -o html", inputs)),
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

// markdown writes blocks with an empty line between them.
type markdown struct {
	w       *strings.Builder
	verbose bool
	inputs  []string
}

func (m *markdown) para(s string) { fmt.Fprintf(m.w, "%s\n\n", s) }

func (m *markdown) section(title string) { m.para("## " + title) }

func (m *markdown) opening(inc *incident.Incident) {
	o := open(inc)
	m.para("# " + upperFirst(o.Word))
	m.para(strings.TrimSpace("**" + upperFirst(o.Word) + ".** " + sentence(o.Headline, o.command())))
	m.para("Node " + inline(o.Node) + ", " + o.Window + ".")
	switch {
	case o.command() != "":
		m.para("Do first:")
		m.fence(func(t *text) { t.script(o.Next) })
	case o.Next != "":
		m.para("Do first: " + inline(o.Next))
	}
	if o.Hazard != "" {
		m.para("Hazard: " + inline(o.Hazard))
	}
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (m *markdown) finding(n int, f *story.Finding, told shown) {
	m.para(fmt.Sprintf("## %d. %s %s: %s", n, upperFirst(f.Verdict.String()), f.Role, inline(f.Rule)))
	m.para(strings.TrimSpace("**" + inline(f.Title) + "** (score " + fmt.Sprintf("%.2f)", f.Score)))
	m.para(inline(f.Summary))
	if f.Container != "" {
		m.para("Container " + inline(f.Container))
	}
	if m.verbose && f.Formula != "" {
		m.para("Score: " + inline(f.Formula))
	}
	steps, repeated := told.fresh(f.Chain)
	m.fence(func(t *text) { t.chain(steps, repeated) })
	m.against(f)
	m.list("Notes", f.Notes)
	for i := range f.Rivals {
		m.para("**Rival:** " + inline(rivalText(&f.Rivals[i])))
		m.fence(func(t *text) { t.missing("", f.Rivals[i].Decide) })
	}
	if len(f.Missing) > 0 {
		m.para("**Missing, would decide:**")
		m.fence(func(t *text) { t.missing("", f.Missing) })
	}
	m.list("Do now", f.Remediation.Now)
	m.list("For good", f.Remediation.Durable)
	m.references(f.References)
}

func (m *markdown) against(f *story.Finding) {
	if len(f.Contradictions) == 0 {
		m.para("**Against:** " + againstNothing)
		return
	}
	m.para("**Against:**")
	m.fence(func(t *text) {
		for _, a := range f.Contradictions {
			t.para(margin, t.plain, a.Why)
			t.quotes(a.Evidence, 2)
		}
	})
}

func (m *markdown) list(title string, entries []string) {
	if len(entries) == 0 {
		return
	}
	fmt.Fprintf(m.w, "**%s:**\n\n", title)
	for _, e := range entries {
		fmt.Fprintf(m.w, "- %s\n", inline(e))
	}
	fmt.Fprintln(m.w)
}

// references come from the rules, not from a log: addresses among them stay links.
func (m *markdown) references(refs []string) {
	if len(refs) == 0 {
		return
	}
	fmt.Fprint(m.w, "**See:**\n\n")
	for _, r := range refs {
		if !link.MatchString(r) {
			r = inline(r)
		}
		fmt.Fprintf(m.w, "- %s\n", r)
	}
	fmt.Fprintln(m.w)
}

// fence puts plain text of 100 columns into a code fence longer than any run of backticks inside.
func (m *markdown) fence(write func(t *text)) {
	var inside strings.Builder
	w := bufio.NewWriter(&inside)
	write(newText(w, Options{Width: 100, Verbose: m.verbose, Inputs: m.inputs}))
	w.Flush() // a strings.Builder takes everything
	if inside.Len() == 0 {
		return
	}
	mark := strings.Repeat("`", max(3, longestRun(inside.String())+1))
	fmt.Fprintf(m.w, "%stext\n%s%s\n\n", mark, inside.String(), mark)
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
		word = Escape(word, maxProse)
		if special.MatchString(word) && word != "|" { // a table takes two lines
			word = code(word)
		}
		words[i] = word
	}
	return strings.Join(words, " ")
}

// sentence is prose in which a command stands, maybe: the command is one code span, to be copied as a whole.
func sentence(prose, command string) string {
	before, after, found := strings.Cut(prose, command)
	if command == "" || !found {
		return inline(prose)
	}
	return strings.TrimSpace(inline(before) + " " + code(command) + " " + inline(after))
}

// code is text as a code span, whatever backticks it holds.
func code(s string) string {
	s = Escape(s, maxProse)
	mark := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " " // CommonMark takes one space off again
	}
	return mark + s + mark
}
