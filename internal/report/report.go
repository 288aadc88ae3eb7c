// Package report writes an incident for people and for programs: one file per output. A renderer
// decides nothing and computes nothing; it puts into words what [incident.Incident] says, in one
// order for all outputs: the verdict in a sentence, the findings with their evidence, what was
// ruled out, what could not be asked, what was assumed about the clocks, the account of every file.
//
// Text that comes from a bundle is not trusted: no output hands control bytes, escape sequences or
// invisible characters on to a terminal.
package report

import (
	"io"
	"regexp"
	"strings"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules"
)

// Render writes an incident to w. Its only errors are those of w.
type Render func(w io.Writer, inc *incident.Incident, o show.Options) error

// Options is how a report looks.
type Options = show.Options

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
	{"slack", ".slack", Slack, false},
	{"html", ".html", HTML, true},
	{"json", ".json", JSON, false},
}

// ByEnding returns the format that a file of that name is written in: a report, or the whole
// timeline.
func ByEnding(file string) (f Format, ok bool) {
	for _, t := range TimelineFormats {
		if t.Ending != "" && strings.HasSuffix(file, t.Ending) {
			return Format{t.Name, t.Ending, t.renderAll, false}, true
		}
	}
	for _, f := range Formats {
		if strings.HasSuffix(file, f.Ending) {
			return f, true
		}
	}
	return Format{}, false
}

// shown remembers which steps a report has told, so that a link does not repeat those of its root.
type shown map[shownStep]bool

type shownStep struct {
	rule, id string
	line     string // of the step's first evidence
}

func newShownStep(s *rules.Step) shownStep {
	k := shownStep{rule: s.Rule, id: s.ID}
	if len(s.Evidence) > 0 {
		k.line = s.Evidence[0].Pos.String()
	}
	return k
}

// takeNew returns the steps that no finding has shown yet, by their index, and marks them as shown.
func (m shown) takeNew(chain []rules.Step) (steps []int) {
	for i := range chain {
		if k := newShownStep(&chain[i]); !m[k] {
			m[k] = true
			steps = append(steps, i)
		}
	}
	return steps
}
