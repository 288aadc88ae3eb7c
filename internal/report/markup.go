package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/story"
)

// dialect is a language that a report is pasted in. What quotes the bundle stands in blocks in
// which nothing is markup, as plain text of 100 columns.
type dialect struct {
	heading  func(level int, title string) string // title is markup already
	label    func(text string) string
	prose    func(text string) string // text as it is read, whatever a log put into it
	headline func(state, headline string) string
	block    func(text string) string
	finding  func(m *markup, n int, f *story.Finding, told shown)
	paste    func(inputs []string) *paste
}

// markup writes a report in a dialect.
type markup struct {
	*dialect
	view *view
	w    strings.Builder
}

// render writes the whole report, cut to what the place takes that it is pasted into.
func (d *dialect) render(w io.Writer, inc *incident.Incident, o Options) error {
	m := &markup{dialect: d, view: newView(inc, o)}
	m.writeOpening()
	told := shown{}
	for i := range sections {
		switch s := &sections[i]; {
		case s.findings:
			for n := range inc.Result.Findings {
				d.finding(m, n+1, &inc.Result.Findings[n], told)
			}
		case s.drawn == nil:
			if all := s.blocks(m.view); len(all) > 0 {
				m.writePara(d.heading(2, s.heading(s.title, m.view)))
				m.writeFence(func(t text) { t.writeBlocks(all) })
			}
		}
	}
	_, err := io.WriteString(w, d.paste(o.Inputs).cutToLimit(m.w.String()))
	return err
}

// writePara writes a paragraph; an empty line follows.
func (m *markup) writePara(s string) { fmt.Fprintf(&m.w, "%s\n\n", s) }

func (m *markup) writeOpening() {
	o := &m.view.Result.Opening
	state := upperFirst(o.State.String())
	m.writePara(m.heading(1, state))
	m.writePara(m.headline(state, m.view.Result.Headline))
	m.writePara("Node " + m.prose(m.view.nodeText()) + ", " + show.Window(m.view.Window) + ".")
	switch {
	case o.Command != "":
		m.writePara(m.label("Do first:"))
		m.writeFence(func(t text) { t.WriteScript(o.Command) })
		m.writePara(m.label("Hazard:") + " " + m.prose(o.Hazard))
	case o.Advice != "":
		m.writePara(m.label("Do first:") + " " + m.prose(o.Advice))
	}
}

// writeFence writes plain text as a block; nothing where there is none.
func (m *markup) writeFence(write func(t text)) {
	var inside strings.Builder
	w := bufio.NewWriter(&inside)
	write(newText(w, Options{Width: 100, Verbose: m.view.Verbose}))
	w.Flush() // a strings.Builder takes everything
	if text := strings.Trim(inside.String(), "\n"); text != "" {
		m.writePara(m.block(text))
	}
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// paste is what the place takes that a report is pasted into.
type paste struct {
	limit   int    // characters
	section string // how a line begins that a section begins with
	// open is the mark that ends the block which a text leaves open; empty when it leaves none
	// open.
	open func(text string) string
	note string // says that it was cut, and how to get the whole
}

// cutToLimit is the report, cut to what the place takes: sections go from the end, for the verdict
// and the chain stand first; a section that has no room as a whole is cut after a line, and its
// block closed.
func (p *paste) cutToLimit(all string) string {
	if len(all) <= p.limit {
		return all
	}
	note := "\n" + p.note + "\n"
	kept := all[:p.limit-len(note)-200] // room for the end of a block
	if last := strings.LastIndex(kept, "\n"+p.section); last > len(kept)/2 {
		return kept[:last+1] + note[1:]
	}
	kept = kept[:strings.LastIndexByte(kept, '\n')+1]
	if mark := p.open(kept); mark != "" {
		kept += mark + "\n"
	}
	return kept + note
}
