package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/plegdiag/plegdiag/internal/report/picture"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// chart is the chain of a picture in characters: a row for each step, in the order of the chain,
// with its number, its bar and the bar's name.
type chart struct {
	text
	span    time.Duration // of the axis
	lane    int           // columns of the widest lane name
	columns int           // of the axis
}

// chartRow is one row: what it stands for, and its intervals. A bar ends where its interval ends;
// its name stands on it, or beside it where it is too short.
type chartRow struct {
	number string // of the step; empty for a stall
	name   string
	dated  bool
	// all is from the first to the last moment of the row; parts are its intervals where it has
	// several, as the calls that a step counts or those that follow it.
	all   interval
	parts []interval
}

// interval counts from the start of the axis.
type interval struct{ from, to time.Duration }

// maxChartSteps is how many steps a chart has at most; a longer chain is no chart any more.
const maxChartSteps = 40

// writeChart draws the chain of the root; nothing where it has a single step, or none with a time.
func (t text) writeChart(v *view) {
	p := picture.New(v.Incident, maxChartSteps)
	if p == nil || p.Finding < 0 {
		return
	}
	steps, dated, widest := 0, 0, 0
	for i := range p.Chain.Lanes {
		l := &p.Chain.Lanes[i]
		if steps += len(l.Steps); !l.Undated {
			dated += len(l.Steps)
		}
		widest = max(widest, lipgloss.Width(l.Name))
	}
	if steps < 2 || dated == 0 {
		return
	}
	c := chart{text: t, span: p.End.Sub(p.Start), lane: widest, columns: max(show.MinText, t.Width-len(show.Margin)-widest-2)}
	t.WriteHeading("PICTURE (numbers are the steps of finding %d)", p.Finding+1)
	c.writeRow("", t.Plain, axisLine(timeline.Window{Start: p.Start, End: p.End}, c.columns))
	for i := range p.Chain.Lanes {
		c.writeLane(p, i)
	}
	if dated < steps {
		t.WritePara(show.Margin, t.Plain, "┄ undated: its place says nothing about its time")
	}
}

// writeLane writes the rows of a lane, the steps first; its name stands at the first of them.
func (c *chart) writeLane(p *picture.Picture, lane int) {
	l := &p.Chain.Lanes[lane]
	name := l.Name
	for i := range l.Steps {
		s := &l.Steps[i]
		r := chartRow{number: strconv.Itoa(s.Number), name: s.Labels[0].FullText(), dated: !l.Undated}
		for j, m := range s.Marks {
			if part := (interval{m.From, m.To}); j == 0 {
				r.all = part
			} else {
				r.parts = append(r.parts, part)
			}
		}
		if len(s.Again) > 0 {
			r.parts = append(r.parts, r.all)
		}
		for _, m := range s.Again {
			r.parts = append(r.parts, interval{m.From, m.To})
			r.all.to = max(r.all.to, m.To)
		}
		c.writeRow(name, c.Plain, c.drawRow(&r)...)
		name = ""
	}
	for i := range l.Rows {
		m := &l.Rows[i]
		r := chartRow{name: m.Labels[0].FullText(), dated: true, all: interval{m.Marks[0].From, m.Marks[0].To}}
		for _, s := range m.Marks {
			r.parts = append(r.parts, interval{s.From, s.To})
			r.all = interval{min(r.all.from, s.From), max(r.all.to, s.To)}
		}
		c.writeRow(name, c.Critical, c.drawRow(&r)...)
		name = ""
	}
}

func (c *chart) writeRow(lane string, style lipgloss.Style, rows ...string) {
	for _, row := range rows {
		label := c.Label.Render(show.Pad(lane, c.lane))
		fmt.Fprintln(c.W, strings.TrimRight(show.Margin+label+"  "+style.Render(strings.TrimRight(row, " ")), " "))
		lane = ""
	}
}

// drawRow draws the bar of a row, its number at its start, and its name where there is room: on the
// bar, right of it, left of it, or else below it. It returns a line or two.
func (c *chart) drawRow(r *chartRow) []string {
	cells := []rune(strings.Repeat(" ", c.columns))
	fill := func(at interval, mark rune) (from, to int) {
		from, to = c.columnOf(at.from), c.columnOf(at.to)
		for i := from; i <= to; i++ {
			cells[i] = mark
		}
		return from, to
	}
	from, to := 0, c.columns-1
	switch {
	case !r.dated:
		fill(interval{0, c.span}, '┄')
	case len(r.parts) > 0:
		from, to = fill(r.all, '─')
	default:
		from, to = fill(r.all, '━')
	}
	if r.dated && from == to {
		cells[from] = '•'
	}
	for _, part := range r.parts {
		if first, last := fill(part, '━'); first == last {
			cells[first] = '•'
		}
	}
	begin := max(0, min(from, c.columns-len(r.number)))
	copy(cells[begin:], []rune(r.number))
	begin += len(r.number)
	return c.placeName(cells, show.Escape(r.name, c.columns-1), from, begin, max(to, begin-1))
}

// placeName writes a name into the cells of a row whose bar begins at from, has its number up to
// begin, and ends at to.
func (c *chart) placeName(cells []rune, name string, from, begin, to int) []string {
	switch width := lipgloss.Width(name); {
	case width+3 <= to-begin: // on the bar
		return []string{string(cells[:begin+1]) + " " + name + " " + string(cells[begin+width+3:])}
	case width <= c.columns-to-2:
		return []string{string(cells[:to+1]) + " " + name}
	case width+2 <= from:
		return []string{strings.Repeat(" ", from-width-1) + name + " " + string(cells[from:])}
	default:
		return []string{string(cells), strings.Repeat(" ", max(0, min(begin, c.columns-width))) + name}
	}
}

// columnOf is the column of a moment.
func (c *chart) columnOf(at time.Duration) int {
	return min(c.columns-1, max(0, int(float64(c.columns)*float64(at)/float64(c.span+1))))
}
