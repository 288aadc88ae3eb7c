// Package report writes an incident for people and for programs: one file per
// output. A renderer decides nothing and computes nothing; it puts into words
// what [incident.Incident] says, in one order for all outputs: the verdict in a
// sentence, the findings with their evidence, what was ruled out, what could
// not be asked, what was assumed about the clocks, the account of every file.
//
// Text that comes from a bundle is not trusted: no output hands control bytes,
// escape sequences or invisible characters on to a terminal.
package report

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Render writes an incident to w. Its only errors are those of w.
type Render func(w io.Writer, inc *incident.Incident, o Options) error

// Options is how a report looks. The zero value is plain text of 80 columns.
type Options struct {
	// Version of plegdiag, for the JSON report.
	Version string
	// Width in columns; 0 means 80. Only the text output has a width of its own.
	Width int
	// Verbose adds how scores came about, every reason for skipped lines, and all evidence.
	Verbose bool
	// Inputs are the arguments that the incident was read from, for the commands that a report names; nil when unknown.
	Inputs []string
	// Renderer knows which colours the stream can show; nil means none.
	Renderer *lipgloss.Renderer
}

// commandLine is a command of plegdiag that reads the same inputs, as a shell takes it.
func commandLine(words string, inputs []string) string {
	line := "plegdiag " + words
	if inputs == nil {
		return line + " INPUT..."
	}
	for _, in := range inputs {
		if !plainWord.MatchString(in) {
			in = "'" + strings.ReplaceAll(in, "'", `'\''`) + "'"
		}
		line += " " + in
	}
	return line
}

// plainWord is what no shell acts on.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./,:=@%+-]+$`)

// Format is one kind of report.
type Format struct {
	Name   string // as --output names it
	Ending string // of the files it is written to
	Render Render
	// Context says that it shows the lines around quoted ones.
	Context bool
}

// Formats is every kind of report. The order is that of the help text; of two
// endings that both fit a file name the first one wins.
var Formats = []Format{
	{"text", ".txt", Text, false},
	{"markdown", ".md", Markdown, false},
	{"jira", ".jira", Jira, false},
	{"html", ".html", HTML, true},
	{"json", ".json", JSON, false},
}

// ByName returns the format of that name.
func ByName(name string) (f Format, ok bool) {
	for _, f := range Formats {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// ByEnding returns the format that a file of that name is written in: a report, or the whole timeline.
func ByEnding(file string) (f Format, ok bool) {
	for _, t := range TimelineFormats {
		if t.Ending != "" && strings.HasSuffix(file, t.Ending) {
			return Format{t.Name, t.Ending, t.whole, false}, true
		}
	}
	for _, f := range Formats {
		if strings.HasSuffix(file, f.Ending) {
			return f, true
		}
	}
	return Format{}, false
}

// opening is what a report says first, the same in every output for people.
type opening struct {
	Word     string // the verdict: "confirmed", "no cause found"
	Headline string
	Node     string
	Window   string
	Next     string // the first thing to do, or the command that would decide; empty when there is none
	Hazard   string // what next does to the node; empty when it is no command
}

// command is the first thing to do where it is a command to be copied, as written; empty when it is prose, or nothing.
func (o *opening) command() string {
	if o.Hazard == "" {
		return ""
	}
	return o.Next
}

func open(inc *incident.Incident) opening {
	o := opening{
		Word:     "nothing found",
		Headline: inc.Result.Headline,
		Node:     inc.Node,
		Window:   window(inc.Window),
	}
	if o.Node == "" {
		o.Node = "(no line names it)"
	}
	if len(inc.LeftOut) > 0 {
		o.Node += "; not looked at: " + strings.Join(inc.LeftOut, ", ")
	}
	if len(stalls(inc)) > 0 || inc.Result.Next.Command != "" {
		o.Word = "no cause found"
	}
	if inc.Unread {
		o.Word = "nothing read"
	}
	if f := told(inc); f != nil {
		o.Word = f.Verdict.String()
		o.Next, o.Hazard = next(f)
	}
	if m := inc.Result.Next; m.Command != "" {
		o.Next, o.Hazard = m.Command, story.Hazard(m.Command)
	}
	return o
}

// told is the finding that the headline speaks of: the root, or the fallback, or, where no relist stood still, the
// first of those that only contribute; nil for none.
func told(inc *incident.Incident) *story.Finding {
	fs := inc.Result.Findings
	for i := range fs {
		if fs[i].Role != rules.Link && fs[i].Role != rules.Contributing {
			return &fs[i]
		}
	}
	if len(fs) > 0 && len(stalls(inc)) == 0 {
		return &fs[0]
	}
	return nil
}

// next is what the reader of a finding can do first: the cure where the cause
// is certain enough to act on, else the command that would make it certain.
func next(f *story.Finding) (command, hazard string) {
	certain := f.Verdict >= rules.Likely && f.Role != rules.Fallback
	if now := f.Remediation.Now; certain && len(now) > 0 {
		return now[0], ""
	}
	for _, m := range f.Missing {
		if m.Command != "" {
			return m.Command, story.Hazard(m.Command)
		}
	}
	return "", ""
}

// distinct leaves one of equal quotes: one line may prove two facts of an entry.
func distinct(quotes []event.Quote) []event.Quote {
	var all []event.Quote
	seen := map[event.Quote]bool{}
	for _, q := range quotes {
		if !seen[q] {
			seen[q] = true
			all = append(all, q)
		}
	}
	return all
}

// rivalText is another cause that the evidence leaves open, in a sentence.
func rivalText(r *story.Rival) string {
	of := ""
	if r.Container != "" {
		of = " of container " + r.Container
	}
	if len(r.Decide) == 0 {
		return r.Rule + of + " lies in the same time, and nothing shows that either caused the other; two goroutine dumps 20 s apart in the next stall would decide"
	}
	return r.Rule + of + " lies in the same time, and nothing shows that either caused the other; what would decide:"
}

// forecastText is a forecast in a sentence.
func forecastText(f *rules.Forecast) string {
	if f.Earliest.IsZero() {
		measured := ""
		if f.Span > 0 {
			measured = ", measured over " + f.Span.Round(time.Second).String()
		}
		return fmt.Sprintf("%s %s UTC: %s (%s of %s, growing by %s%s)", f.At.UTC().Format(time.DateOnly), f.At.UTC().Format(time.TimeOnly), f.Text,
			number(f.Value), number(f.Limit), rate(f.Rate), measured)
	}
	latest := "much later"
	if !f.Latest.IsZero() {
		latest = minute(f.Latest)
	}
	grew := fmt.Sprintf("%s of %s, from %s at %s to %s at %s", number(f.Value), number(f.Limit), number(f.First), minute(f.From), number(f.Value), minute(f.To))
	if f.Readings == 2 {
		grew += "; two readings do not show whether it grows steadily"
	} else {
		grew += fmt.Sprintf(", %d readings", f.Readings)
	}
	return fmt.Sprintf("about %s UTC, between %s and %s: %s (%s; growing by %s)", minute(f.At), minute(f.Earliest), latest, f.Text, grew, rate(f.Rate))
}

// minute is a moment as exactly as a forecast is worth.
func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// rate is a growth per second in the unit in which it is a number that people can picture.
func rate(perSecond float64) string {
	for _, unit := range [...]struct {
		seconds float64
		name    string
	}{{1, "second"}, {60, "minute"}, {3600, "hour"}} {
		if v := perSecond * unit.seconds; v >= 1 {
			return fmt.Sprintf("%s a %s", strconv.FormatFloat(v, 'f', digitsOf(v), 64), unit.name)
		}
	}
	return number(perSecond*86400) + " a day"
}

// digitsOf is how many digits behind the point a rate is worth.
func digitsOf(v float64) int {
	if v < 10 && v != math.Trunc(v) {
		return 1
	}
	return 0
}

// harmlessText is a sort of harmless lines in a sentence.
func harmlessText(h story.Harmless) string {
	return fmt.Sprintf("%d× %s: %s", h.Count, h.Name, h.Why)
}

// number is a measured value with at most three digits behind the point.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}

// stalls of an incident; none when it has no timeline.
func stalls(inc *incident.Incident) []timeline.Stall {
	if inc.Timeline == nil {
		return nil
	}
	return inc.Timeline.Stalls
}

func facts(inc *incident.Incident) map[string]timeline.Fact {
	if inc.Timeline == nil {
		return nil
	}
	return inc.Timeline.Facts
}

// lack is one missing input: one dump may silence many rules, and the reader needs its command once.
type lack struct {
	source   string
	rules    []string // that ask for it
	commands []string // that collect it, as those rules put it
}

// lacks turns the rules that could not be evaluated into what they lack, in the
// order of the rules. Rules that lack no input are in others.
func lacks(all []rules.Unanswered) (missing []lack, others []rules.Unanswered) {
	at := map[string]int{}
	for _, u := range all {
		if len(u.Missing) == 0 {
			others = append(others, u)
		}
		for _, m := range u.Missing {
			i, ok := at[m.Source]
			if !ok {
				i = len(missing)
				at[m.Source] = i
				missing = append(missing, lack{source: m.Source})
			}
			l := &missing[i]
			l.rules = append(l.rules, u.Rule)
			if !slices.Contains(l.commands, m.Command) {
				l.commands = append(l.commands, m.Command)
			}
		}
	}
	return missing, others
}

// shown remembers which steps a report has already told, so that a link does
// not repeat the chain of its root.
type shown map[shownStep]bool

type shownStep struct {
	rule, id string
	line     string // of the step's first evidence
}

func keyOf(s *rules.Step) shownStep {
	k := shownStep{rule: s.Rule, id: s.ID}
	if len(s.Evidence) > 0 {
		k.line = s.Evidence[0].Pos.String()
	}
	return k
}

// fresh returns the steps that were not told yet, marks them as told and counts the others.
func (m shown) fresh(chain []rules.Step) (steps []rules.Step, repeated int) {
	for i := range chain {
		if k := keyOf(&chain[i]); m[k] {
			repeated++
			continue
		} else {
			m[k] = true
		}
		steps = append(steps, chain[i])
	}
	return steps, repeated
}
