package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/story"
)

// Bounds of the screen, in rows of a terminal. It answers six questions without scrolling: what
// broke, since when, is it going on, how sure, what to type now, and what that may do.
const (
	screenRows     = 24
	maxHeadline    = 4
	maxAnswer      = 3 // of an answer in prose
	maxStepRows    = 2
	maxCommandRows = 7 // of what to do first, where there is room; a row below counts the others
	maxOthers      = 2 // other episodes, other findings
	screenLabels   = len("all of it") + 1
)

// screen puts the answer on one screen.
type screen struct {
	text
	view        *view
	commandRows int // for what to do first
	stepRows    int // for the text of a step
}

// writeScreen writes the short form of the report: the answer, and where the rest is.
func writeScreen(w io.Writer, v *view) error {
	out := bufio.NewWriter(w)
	s := &screen{newText(out, v.Options), v, maxCommandRows, maxStepRows}
	top := slices.Concat(s.layHeadline(), []string{""}, s.layAnswers())
	end := slices.Concat([]string{""}, s.layAnswer("not read", s.view.describeLosses()), s.layMore())
	told := s.view.listOthers()
	others, next := s.layOthers(told, maxStepRows), s.layNext()
	proven := s.layOthers(slices.DeleteFunc(slices.Clone(told), func(o other) bool { return !o.proven }), 1)
	steps := s.view.listSteps()
	// What is never left out: another cause that is proven, the first step, the last, and a row
	// that counts the others.
	least := s.countLeast(steps)
	rest := screenRows - s.countRows(proven) - s.countRows(end) - least
	left := rest - s.countRows(top)
	for ; left < 0 && s.commandRows > 0; s.commandRows-- {
		top = slices.Concat(s.layHeadline(), []string{""}, s.layAnswers())
		left = rest - s.countRows(top)
	}
	if left < 0 {
		s.stepRows = 1
		shorter := s.countLeast(steps)
		left, least = left+least-shorter, shorter
	}
	if rows := s.countRows(next); rows <= left {
		left -= rows
	} else {
		next = nil
	}
	for _, others = range [][]string{others, s.layOthers(told, 1), proven} {
		if s.countRows(others)-s.countRows(proven) <= left {
			break
		}
	}
	left -= s.countRows(others) - s.countRows(proven)
	chain := s.layChain(steps, left+least)
	for _, line := range slices.Concat(top, others, chain, next, end) {
		fmt.Fprintln(out, line)
	}
	return out.Flush()
}

// countRows is how many rows of the terminal lines take: a long one takes several.
func (s *screen) countRows(lines []string) (rows int) {
	for _, line := range lines {
		rows += max(1, (lipgloss.Width(line)+s.Width-1)/s.Width)
	}
	return rows
}

func (s *screen) layHeadline() []string {
	o := &s.view.Result.Opening
	style := s.Warning
	if o.State == story.Confirmed {
		style = s.Critical
	}
	word := strings.ToUpper(o.State.Words())
	lines := clip(show.Wrap(word+": "+s.view.sentence(), s.Width), maxHeadline)
	for i, line := range lines {
		if i == 0 {
			lines[i] = style.Render(word) + s.Styles.Heading.Render(line[len(word):])
		} else {
			lines[i] = s.Styles.Heading.Render(line)
		}
	}
	return lines
}

// clip leaves the first lines of a paragraph; a mark shows that there was more.
func clip(lines []string, most int) []string {
	if len(lines) <= most {
		return lines
	}
	lines = slices.Clone(lines[:most])
	lines[most-1] += " …"
	return lines
}

// layProse lays prose out behind a lead, in at most so many rows.
func (s *screen) layProse(lead string, style lipgloss.Style, prose string, most int) []string {
	indent := lipgloss.Width(lead)
	lines := clip(show.Wrap(prose, max(show.MinText, s.Width-indent-lipgloss.Width(" …"))), most)
	for i := range lines {
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		lines[i] = lead + style.Render(lines[i])
	}
	return lines
}

// layAnswer lays the answer to one question out beside its label.
func (s *screen) layAnswer(label, prose string) []string {
	if prose == "" {
		return nil
	}
	return s.layProse(s.Label.Render(show.Pad(label, screenLabels)), s.Plain, prose, maxAnswer)
}

// layCommand lays a command out in a line of its own, ready to be copied.
func (s *screen) layCommand(command string) (lines []string) {
	for line := range strings.Lines(command) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, "  "+s.Styles.Command.Render(show.Escape(line, show.MaxProse)))
		}
	}
	return lines
}

// layAnswers answers where, since when, what to do first with what that does, and how sure it is.
func (s *screen) layAnswers() []string {
	o := &s.view.Result.Opening
	lines := slices.Concat(
		s.layAnswer("node", s.view.nodeText()),
		s.layAnswer("when", s.view.describeTime()),
		s.layAnswer("how sure", o.Reason),
		s.layAnswer("do first", s.view.describeFirst()),
	)
	commands := o.Commands
	if o.Command != "" {
		commands = []string{o.Command}
	}
	return slices.Concat(lines, s.layCommands(commands), s.layAnswer("hazard", o.Hazard))
}

// layCommands lays commands out below each other, in the rows that there are: the first in any
// case, and in the place of those that have no room a row that counts them.
func (s *screen) layCommands(commands []string) (lines []string) {
	for i, command := range commands {
		laid := s.layCommand(command)
		if i > 0 && s.countRows(lines)+s.countRows(laid) > s.commandRows {
			left := show.Plural(len(commands)-i, "more command")
			return append(lines, "  "+s.Plain.Render("… "+left+", with --full"))
		}
		lines = append(lines, laid...)
	}
	return lines
}

// layOthers tells of what else is known, each in at most so many rows.
func (s *screen) layOthers(told []other, most int) (lines []string) {
	for i, o := range told {
		label := ""
		if i == 0 {
			label = "also"
		}
		if i == maxOthers {
			o, most = other{text: fmt.Sprintf("and %d more", len(told)-i)}, 1
		}
		if i <= maxOthers {
			lines = append(lines, s.layProse(s.Label.Render(show.Pad(label, screenLabels)), s.Plain, o.text, most)...)
		}
	}
	return lines
}

// countLeast is how many rows the first step, the last and what counts the others take, with what
// stands above them.
func (s *screen) countLeast(steps []answerStep) (rows int) {
	if len(steps) == 0 {
		return 0
	}
	folder := sharedFolder(steps)
	laid := s.laySteps(slices.Clone(steps), folder)
	rows = s.countRows(laid[0])
	if folder != "" {
		rows += s.countRows(s.layChainHead(steps, folder, true))
	} else {
		rows++
	}
	if len(laid) > 1 {
		rows += s.countRows(laid[len(laid)-1])
	}
	if len(laid) > 2 {
		rows++
	}
	return rows
}

// sharedFolder is the folder of the files of all steps; empty where they share none.
func sharedFolder(steps []answerStep) string {
	var files []string
	for i := range steps {
		files = append(files, steps[i].pos.File)
	}
	return show.SharedFolder(files)
}

// layChainHead is what stands above the steps: a blank row, the folder of their files, and where
// there is room for it what ~ means.
func (s *screen) layChainHead(steps []answerStep, folder string, room bool) []string {
	said := ""
	if room && slices.ContainsFunc(steps, func(step answerStep) bool { return strings.HasPrefix(step.at, "~") }) {
		said = "(~: a part of the time is inferred)"
	}
	if folder != "" {
		said = strings.TrimRight("lines of "+s.Position.Render(show.Escape(folder, show.MaxQuote))+" "+said, " ")
	}
	if said == "" {
		return []string{""}
	}
	return []string{"", s.Plain.Render(said)}
}

// layChain lays the steps out in at most so many rows; where they take more, those of the middle
// become one row that counts them.
func (s *screen) layChain(steps []answerStep, rows int) []string {
	if len(steps) == 0 {
		return nil
	}
	folder := sharedFolder(steps)
	laid := s.laySteps(steps, folder)
	room := folder != "" || s.countRows(slices.Concat(laid...))+2 <= rows
	head := s.layChainHead(steps, folder, room)
	rows -= s.countRows(head)
	front, back := chooseSteps(laid, rows, s.countRows)
	lines := head
	for _, step := range laid[:front] {
		lines = append(lines, step...)
	}
	if folded := len(laid) - front - back; folded > 0 {
		lines = append(lines, s.Plain.Render(fmt.Sprintf("… %s more", show.Plural(folded, "step"))))
	}
	for _, step := range laid[len(laid)-back:] {
		lines = append(lines, step...)
	}
	return lines
}

// chooseSteps returns how many steps are shown from the front and from the back, so that they fit
// in so many rows: all, or the first and the last and then alternately more.
func chooseSteps(laid [][]string, rows int, count func([]string) int) (front, back int) {
	all := 0
	for _, step := range laid {
		all += count(step)
	}
	if all <= rows {
		return len(laid), 0
	}
	rows-- // the row that counts what is folded
	for front+back < len(laid) {
		i := front // the next one
		if back < front {
			i = len(laid) - 1 - back
		}
		if rows -= count(laid[i]); rows < 0 && front+back > 1 {
			break
		}
		if back < front {
			back++
		} else {
			front++
		}
	}
	return front, back
}

// laySteps lays every step out: time, length, text, and where it is said.
func (s *screen) laySteps(steps []answerStep, folder string) [][]string {
	at, length := 0, 0
	day := ""
	for i := range steps {
		step := &steps[i]
		if step.day != "" && step.day != day {
			if day != "" {
				step.at = strings.TrimPrefix(step.day+" "+step.at, "20")
			}
			day = step.day
		}
		at, length = max(at, lipgloss.Width(step.at)+2), max(length, lipgloss.Width(step.length)+2)
	}
	if at == 2 {
		at = 0 // none is dated
	}
	if length == 2 {
		length = 0
	}
	laid := make([][]string, len(steps))
	for i := range steps {
		step := &steps[i]
		lead := show.Pad(step.at, at) + show.Pad(step.length, length)
		lines := s.layProse(s.Label.Render(lead), s.Plain, step.text, s.stepRows)
		laid[i] = s.addPosition(lines, lipgloss.Width(lead), &step.pos, folder)
	}
	return laid
}

// addPosition puts where something is said behind it, or below where there is no room.
func (s *screen) addPosition(lines []string, indent int, pos *event.Pos, folder string) []string {
	if pos.File == "" {
		return lines
	}
	said := show.Escape(strings.TrimPrefix(pos.String(), folder), show.MaxProse)
	last := &lines[len(lines)-1]
	if free := s.Width - lipgloss.Width(*last) - 2 - lipgloss.Width(said); free >= 0 {
		*last += "  " + s.Position.Render(said)
		return lines
	}
	indent = min(indent, max(0, s.Width-lipgloss.Width(said)))
	return append(lines, strings.Repeat(" ", indent)+s.Position.Render(said))
}

// layNext lays out what would decide, besides what is to be done first.
func (s *screen) layNext() []string {
	n := s.view.findNext()
	if n == nil {
		return nil
	}
	return slices.Concat([]string{""}, s.layAnswer("then", nextText(n)), s.layCommand(n.Command))
}

// layMore says how to see the rest.
func (s *screen) layMore() []string {
	return s.layAnswer("all of it", "the same command with --full, or with --report FILE.html")
}
