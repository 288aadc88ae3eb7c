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
	item     func(text string) string // of a list; text is markup already
	place    func(pos string) string  // a path:line
	block    func(text string) string
	fold     func(title, body string) string // title is plain text, body is markup; nil leaves all parts out
	finding  func(m *markup, f *story.Finding, told shown)
	steps    int // of the chain that stand before the parts, at most
	paste    func(inputs []string) *paste
}

// markup writes a report in a dialect.
type markup struct {
	*dialect
	view *view
	w    strings.Builder
}

// render writes the answer and below it all parts of the report, each folded where the dialect can
// fold; of the parts as many as the place takes that it is pasted into.
func (d *dialect) render(w io.Writer, inc *incident.Incident, o Options) error {
	m := &markup{dialect: d, view: newView(inc, o)}
	m.writeAnswer()
	answer := m.takeText()
	var parts []string
	if d.fold != nil {
		parts = m.listParts()
	}
	_, err := io.WriteString(w, d.paste(o.Inputs).joinParts(answer, parts))
	return err
}

// listParts are the parts of the report below the answer.
func (m *markup) listParts() (parts []string) {
	told := shown{}
	for i := range sections {
		switch s := &sections[i]; {
		case s.findings:
			for n := range m.view.Result.Findings {
				f := &m.view.Result.Findings[n]
				m.finding(m, f, told)
				title := fmt.Sprintf("%d. %s %s: %s", n+1, upperFirst(f.Verdict.String()), f.Role, f.Rule)
				parts = append(parts, m.fold(title, m.takeText()))
			}
		case s.drawn == nil:
			if all := s.blocks(m.view); len(all) > 0 {
				m.writeFence(func(t text) { t.writeBlocks(all) })
				parts = append(parts, m.fold(s.heading(s.title, m.view), m.takeText()))
			}
		}
	}
	return parts
}

// takeText returns what was written since it was asked last.
func (m *markup) takeText() string {
	text := m.w.String()
	m.w.Reset()
	return text
}

// writePara writes a paragraph; an empty line follows.
func (m *markup) writePara(s string) { fmt.Fprintf(&m.w, "%s\n\n", s) }

// Bounds of what a ticket shows before its parts.
const (
	maxTicketSteps  = 30
	maxTicketOthers = 10
)

// writeAnswer writes what a reader of the ticket needs: what broke, where and when, how sure it is,
// what to do first, the chain, and what was not read.
func (m *markup) writeAnswer() {
	v := m.view
	o := &v.Result.Opening
	state := upperFirst(o.State.Words())
	m.writePara(m.heading(1, state))
	m.writePara(m.headline(state, v.Result.Headline))
	m.writeItems("Node", v.nodeText(), "When", v.describeTime(), "How sure", o.Reason)
	switch {
	case o.Command != "":
		m.writePara(m.label("Do first:"))
		m.writeFence(func(t text) { t.WriteScript(o.Command) })
		if o.Note != "" {
			m.writePara(m.prose(o.Note))
		}
	case o.Advice != "":
		m.writePara(m.label("Do first:") + " " + m.prose(o.Advice))
		m.writeFence(func(t text) {
			for _, c := range o.Commands {
				t.WriteScript(c)
			}
		})
	}
	if o.Hazard != "" {
		m.writePara(m.label("Hazard:") + " " + m.prose(o.Hazard))
	}
	m.writeSteps(v.listSteps())
	var others []string
	told := v.listOthers()
	for _, o := range told[:min(len(told), maxTicketOthers)] {
		others = append(others, "Also", o.text)
	}
	if lost := v.describeLosses(); lost != "" {
		others = append(others, "Not read", lost)
	}
	m.writeItems(others...)
}

// writeItems writes pairs of a label and its text as a list; texts that are empty are left out.
func (m *markup) writeItems(pairs ...string) {
	var items []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			items = append(items, m.item(m.label(pairs[i]+":")+" "+m.prose(pairs[i+1])))
		}
	}
	if len(items) > 0 {
		m.writePara(strings.Join(items, "\n"))
	}
}

// writeSteps writes the chain as a list; the middle of an endless one is left out.
func (m *markup) writeSteps(steps []answerStep) {
	var items []string
	day := ""
	for i := range steps {
		if middle := i - m.steps/2; middle >= 0 && middle < len(steps)-m.steps {
			if middle == 0 {
				items = append(items, m.item(fmt.Sprintf("… %s more", show.Plural(len(steps)-m.steps, "step"))))
			}
			continue
		}
		s := &steps[i]
		var words []string
		if s.at != "" {
			if words = append(words, s.at); s.day != day {
				words, day = []string{s.day, s.at}, s.day
			}
		}
		if s.length != "" {
			words = append(words, "("+s.length+")")
		}
		line := m.prose(strings.Join(append(words, s.text), " "))
		if s.pos.File != "" {
			line += " " + m.place(s.pos.String())
		}
		items = append(items, m.item(line))
	}
	if len(items) > 0 {
		m.writePara(strings.Join(items, "\n"))
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
	limit int // bytes, of which a character has one or more
	// open is the mark that ends the block which a text leaves open; empty when it leaves none
	// open.
	open func(text string) string
	note string // says that parts are missing, and how to get the whole
}

// joinParts is the report: the answer and the parts below it. Where the place takes less, parts
// that have no room are left out, which the note says.
func (p *paste) joinParts(answer string, parts []string) string {
	if all := answer + strings.Join(parts, ""); len(all) <= p.limit {
		return all
	}
	note := p.note + "\n"
	room := p.limit - len(answer) - len(note)
	if room < 0 {
		const mark = 20 // room for the end of a block
		answer = answer[:strings.LastIndexByte(answer[:p.limit-len(note)-mark], '\n')+1]
		if end := p.open(answer); end != "" {
			answer += end + "\n"
		}
	}
	for _, part := range parts {
		if len(part) <= room {
			answer += part
			room -= len(part)
		}
	}
	return answer + note
}
