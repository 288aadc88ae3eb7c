package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// TimelineText writes one event a line: time, how long it lasted, component, what happened, and
// where that is written. On a terminal, or with Chart, lanes per component stand before them.
func TimelineText(w io.Writer, s *Selection, o Options) error {
	out := bufio.NewWriter(w)
	t := newText(out, o)
	if o.Width > 0 {
		t.drawChart(s)
	}
	date := ""
	widest := 0
	for _, e := range s.Events {
		widest = max(widest, lipgloss.Width(e.Component))
	}
	type namedFact struct{ name, value string }
	told, facts := rootLines(s), map[namedFact]bool{}
	events := s.Events
	if !o.Verbose {
		events = foldUnits(events, told)
	}
	for _, e := range events {
		if e.Kind == event.KindFact {
			known := namedFact{name: e.FieldText(event.FieldName), value: e.FieldText(event.FieldValue)}
			if facts[known] {
				continue // it was true before
			}
			facts[known] = true
		}
		switch d := show.Day(e.Start.T); {
		case d == "" && !e.Start.IsZero() && date != "dayless":
			date = "dayless"
			fmt.Fprintf(out, "%s\n", t.Styles.Heading.Render("UTC (the date is not known)"))
		case d == "" && !e.Start.IsZero():
		case d == "" && date != "undated":
			date = "undated"
			fmt.Fprintf(out, "%s\n", t.Styles.Heading.Render("undated"))
		case d != "" && d != date:
			date = d
			fmt.Fprintf(out, "%s\n", t.Styles.Heading.Render(d+" UTC"))
		}
		t.writeEvent(e, widest, told)
	}
	if len(events) == 0 {
		fmt.Fprintln(out, "no event in this window")
	}
	return out.Flush()
}

// rootLines are the lines that the chains of the roots quote.
func rootLines(s *Selection) map[event.Pos]bool {
	told := map[event.Pos]bool{}
	for _, f := range s.Incident.Result.Findings {
		for _, step := range f.Chain {
			for _, q := range step.Evidence {
				told[q.Pos] = told[q.Pos] || f.Role == language.Root
			}
		}
	}
	return told
}

// runtimeUnits are told one by one: their state is what a reader looks for.
var runtimeUnits = []string{"kubelet.service", "containerd.service", "docker.service", "crio.service", "dbus.service"}

// maxUnits bounds the units that are told one by one, and those named, where one listing shows many
// in one state since one moment: everything that was mounted when the node started.
const maxUnits = 3

// foldUnits puts one event for many units that are active, or inactive, since one moment. One that
// a root's chain quotes stays.
func foldUnits(events []*event.Event, told map[event.Pos]bool) []*event.Event {
	type alike struct {
		file, state string
		start, end  time.Time
	}
	keyOf := func(e *event.Event) (k alike, ok bool) {
		state := e.FieldText(event.FieldState)
		fold := e.Kind == event.KindUnit && (state == "active" || state == "inactive") &&
			!told[e.Pos()] && !slices.Contains(runtimeUnits, e.FieldText(event.FieldUnit))
		return alike{e.Pos().File, state, e.Start.T, e.End.T}, fold
	}
	units := map[alike][]string{}
	for _, e := range events {
		if k, ok := keyOf(e); ok {
			units[k] = append(units[k], e.FieldText(event.FieldUnit))
		}
	}
	var all []*event.Event
	for _, e := range events {
		k, fold := keyOf(e)
		if !fold {
			all = append(all, e)
			continue
		}
		names := units[k]
		switch {
		case len(names) <= maxUnits:
			all = append(all, e)
		case names[0] == e.FieldText(event.FieldUnit): // the first stands for all
			sum := *e
			sum.Text = fmt.Sprintf("%d units are %s: %s, see --verbose",
				len(names), k.state, show.JoinFirst(names, maxUnits, ", "))
			all = append(all, &sum)
		}
	}
	return all
}

// writeEvent writes one line, however long: a line that is cut cannot be searched for. A star marks
// what is part of the root's chain.
func (t text) writeEvent(e *event.Event, widest int, told map[event.Pos]bool) {
	at := show.Pad(show.Moment(e.Start.T, e.Basis), 14)
	mark, style := " ", t.Plain
	if slices.ContainsFunc(e.Evidence, func(q event.Quote) bool { return told[q.Pos] }) {
		mark, style = "*", t.Styles.Heading
	} else if e.Kind == event.KindLogLine {
		style = t.Position // what was made something of stands out
	}
	component := t.styleOf(e.Component).Render(show.Pad(show.Escape(e.Component, show.MaxCell), widest))
	said := cmp.Or(show.Escape(e.Text, show.MaxQuote), show.Escape(string(e.Kind), show.MaxCell))
	id := event.ShortID(cmp.Or(e.IDs.Container, e.IDs.Sandbox))
	if id != "" && !strings.Contains(e.Text, id) {
		said += " [" + show.Escape(id, show.MaxCell) + "]"
	}
	fmt.Fprintf(t.W, "%s %s%s %s  %s  %s\n", mark, at, show.Pad(show.Length(e)+" ", 10), component,
		style.Render(said), t.Position.Render(show.Escape(e.Pos().String(), show.MaxQuote)))
}

// drawChart draws a lane for each component: bars for what lasted, dots for moments.
func (t text) drawChart(s *Selection) {
	var span timeline.Window
	var names []string
	for _, e := range s.Events {
		if e.Start.IsZero() {
			continue
		}
		if span.Start.IsZero() || e.Start.T.Before(span.Start) {
			span.Start = e.Start.T
		}
		if e.Last().T.After(span.End) {
			span.End = e.Last().T
		}
		if !slices.Contains(names, e.Component) {
			names = append(names, e.Component)
		}
	}
	if !span.End.After(span.Start) {
		return
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(laneIndex(a), laneIndex(b)), strings.Compare(a, b))
	})
	widest := len("stall")
	for _, name := range names {
		widest = max(widest, lipgloss.Width(show.Escape(name, show.MaxCell)))
	}
	columns := max(show.MinText, t.Width-widest-2)
	scale := func(at time.Time) int {
		return min(columns-1, max(0, int(float64(columns)*float64(at.Sub(span.Start))/float64(span.End.Sub(span.Start)+1))))
	}
	t.drawLaneRow("", widest, t.Plain, axisLine(span, columns))
	for _, name := range names {
		cells := slices.Repeat([]rune{' '}, columns)
		for _, e := range s.Events {
			if e.Component == name && !e.Start.IsZero() {
				drawInterval(cells, scale(e.Start.T), scale(e.Last().T), !e.End.IsZero(), e.Open)
			}
		}
		t.drawLaneRow(name, widest, t.styleOf(name), string(cells))
	}
	if stalls := newView(s.Incident, Options{}).timeline.Stalls; len(stalls) > 0 {
		cells := slices.Repeat([]rune{' '}, columns)
		for i := range stalls {
			if st := &stalls[i]; st.Start.Before(span.End) && st.End.After(span.Start) {
				drawInterval(cells, scale(st.Start), scale(st.End), true, st.Open)
			}
		}
		t.drawLaneRow("stall", widest, t.Critical, string(cells))
	}
	fmt.Fprintln(t.W)
}

func (t text) drawLaneRow(name string, widest int, style lipgloss.Style, cells string) {
	label := t.Label.Render(show.Pad(show.Escape(name, show.MaxCell), widest))
	fmt.Fprintf(t.W, "%s  %s\n", label, style.Render(strings.TrimRight(cells, " ")))
}

// drawInterval puts an interval or a moment into the cells of a lane; a bar hides no moment.
func drawInterval(cells []rune, from, to int, lasted, open bool) {
	if !lasted {
		if cells[from] == '━' || cells[from] == '┿' {
			cells[from] = '┿'
		} else {
			cells[from] = '•'
		}
		return
	}
	for i := from; i <= to; i++ {
		switch cells[i] {
		case ' ', '━':
			cells[i] = '━'
		default:
			cells[i] = '┿'
		}
	}
	if open {
		cells[to] = '▶'
	}
}

// axisLine is a line with the first and the last moment of the chart, and the middle where there is
// room.
func axisLine(span timeline.Window, columns int) string {
	start, end := show.Clock(span.Start.Truncate(time.Second)), show.Clock(span.End.Truncate(time.Second))
	middle := show.Clock(span.Start.Add(span.End.Sub(span.Start) / 2).Truncate(time.Second))
	gap := columns - len(start) - len(middle) - len(end)
	if gap < 4 {
		return start + strings.Repeat(" ", max(1, columns-len(start)-len(end))) + end
	}
	return start + strings.Repeat(" ", gap/2) + middle + strings.Repeat(" ", gap-gap/2) + end
}

func laneIndex(component string) int {
	if i := slices.Index(lanes, component); i >= 0 {
		return i
	}
	return len(lanes)
}

// styleOf is the colour of a component's lane and of its lines: neighbours differ, and the words
// say the same.
func (t text) styleOf(name string) lipgloss.Style {
	return t.Lanes[laneIndex(name)%len(t.Lanes)]
}
