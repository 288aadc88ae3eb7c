package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// addLane begins a lane below the others.
func (d *drawing) addLane(name string) *drawnLane {
	d.Lanes = append(d.Lanes, drawnLane{Name: name, Y: d.Height, H: laneStrip})
	d.Height += laneStrip
	return &d.Lanes[len(d.Lanes)-1]
}

// growLastLane makes room for a row in the last lane, and returns where it begins.
func (d *drawing) growLastLane(height int) (top int) {
	top = d.Height
	d.Height += height
	d.Lanes[len(d.Lanes)-1].H += height
	return top
}

// drawChain draws a row for each step, below that of the one before, and ties them; then the stalls
// that are no steps.
func (p *Picture) drawChain(inc *incident.Incident) {
	d := &p.Chain
	d.Height = axisSpace
	at := p.span() * 3 / 100
	for i := range p.steps {
		s := &p.steps[i]
		if i == 0 || s.lane != p.steps[i-1].lane || s.dated != p.steps[i-1].dated {
			l := d.addLane(laneRules[s.lane].name)
			l.Undated = !s.dated
		}
		before := at
		if s.dated {
			at = min(max(p.clampTime(s.Start), p.span()*26/1000), p.span()*974/1000)
		}
		lane := &d.Lanes[len(d.Lanes)-1]
		if len(lane.Steps) == 0 {
			lane.NameEnd = at < p.span()/2
		}
		row := p.newStepRow(i, at, d.growLastLane(stepHeight))
		lane.Steps = append(lane.Steps, row)
		if i > 0 && !s.Apart {
			t := tie{From: before, To: at, Y2: row.Y - knotRadius, Inferred: !s.Observed}
			above := d.stepAboveY()
			t.Y1 = above + knotRadius
			t.YMid = above + stepHeight/2
			d.Ties = append(d.Ties, t)
		}
	}
	p.drawStalls(inc.Timeline.Stalls)
	p.hatchLanes(d, inc.Timeline.Coverage)
}

// stepAboveY is the middle of the step before the last one.
func (d *drawing) stepAboveY() int {
	n := len(d.Lanes) - 1
	if steps := d.Lanes[n].Steps; len(steps) > 1 {
		return steps[len(steps)-2].Y
	}
	steps := d.Lanes[n-1].Steps
	return steps[len(steps)-1].Y
}

// newStepRow draws the step of that index, with its knot at a time.
func (p *Picture) newStepRow(i int, at time.Duration, top int) stepRow {
	s := &p.steps[i]
	row := stepRow{
		Number: i + 1, Target: StepAnchor(p.Finding, i), At: at, Y: top + stepHeight/2,
		Title: fmt.Sprintf("%d. %s", i+1, show.Escape(s.Text, show.MaxQuote)),
	}
	bar := p.shapeOf(s.Start, s.end)
	bar.Y, bar.H, bar.Class = row.Y-barHeight/2, barHeight, "bar"
	if s.Basis != "" {
		bar.Class += " inferred"
	}
	bar.Class += classOf(s.kind)
	switch {
	case !s.dated:
		bar.From, bar.To, bar.Class = 0, p.span(), "bar undated"
		row.Marks = []shape{bar}
	case len(s.events) > 1:
		bar.Class += " range"
		single := p.thinOut(p.eventShapes(s.events, row.Y+barHeight/2-singleHeight, singleHeight))
		row.Marks = append([]shape{bar}, single...)
	default:
		row.Marks = []shape{bar}
	}
	row.Again = p.eventShapes(s.again, row.Y-barHeight/2, barHeight)
	for k := range row.Again {
		row.Again[k].Class += " again"
	}
	row.Labels = p.placeLabel(s.label(), at, p.clampTime(s.end), row.Y+4, knotSpace)
	return row
}

// classOf gives what the kubelet says of its node a colour of its own.
func classOf(kind event.Kind) string {
	switch kind {
	case event.KindStall, event.KindPLEGUnhealthy:
		return " stall"
	case event.KindNodeNotReady:
		return " notready"
	}
	return ""
}

// label is what a step's bar is called.
func (s *drawnStep) label() label {
	length := show.Bounded(s.end.Sub(s.Start), s.AtLeast, s.AtMost)
	if !s.dated {
		length = show.Bounded(s.Duration, s.AtLeast, s.AtMost)
	}
	l := label{s.Text, length}
	if len(s.events) == 0 {
		l.Name = cmp.Or(barNames[s.kind].words, l.Name) // a stall
	} else if name, known := nameBar(s.events[0]); s.kind == "" || !known {
		l.Name = dropIDs(s.events[0], s.Text)
	} else if len(s.events) == 1 {
		l.Name = name
	} else if s.More > 0 {
		l = label{fmt.Sprintf("%d × %s,", len(s.events)+s.More, nameBars(s.events)), "over " + length}
	} else {
		l = newLabel(s.events)
	}
	if len(s.again) > 0 {
		calls := newLabel(slices.Concat(s.events, s.again))
		l.Name, l.Length = l.Name+" "+l.Length+"; "+calls.Name, calls.Length
	}
	return l
}

// eventShapes are the marks of events.
func (p *Picture) eventShapes(events []*event.Event, y, height int) (all []shape) {
	for _, e := range events {
		if e.Start.IsZero() {
			continue
		}
		s := p.shapeOf(e.Start.T, e.Last().T)
		s.Y, s.H, s.Number, s.Title, s.Class = y, height, p.numbers[e], eventTitle(e), "bar"
		if p.width(s) == 0 {
			s.Class = "tick"
		}
		if e.Basis != "" {
			s.Class += " inferred"
		}
		all = append(all, s)
	}
	return all
}

// thinOut leaves one of the marks that would be drawn onto the same pixels.
func (p *Picture) thinOut(all []shape) []shape {
	type place struct {
		from, to float64
		y        int
	}
	seen := map[place]bool{}
	return slices.DeleteFunc(all, func(s shape) bool {
		at := place{math.Round(p.percentOf(s.From) * 10), math.Round(p.percentOf(s.To) * 10), s.Y}
		again := seen[at]
		seen[at] = true
		return again
	})
}

// drawStalls draws the kubelet's stalls, and the times in which the node was NotReady, that are no
// steps of the chain.
func (p *Picture) drawStalls(stalls []timeline.Stall) {
	isStep := func(kind event.Kind, start time.Time) bool {
		return slices.ContainsFunc(p.steps, func(s drawnStep) bool {
			return s.kind == kind && s.Start.Equal(start)
		})
	}
	var still, down []shape
	var longest, longestDown length
	if most := p.most / 2; len(stalls) > most {
		p.LeftOut += len(stalls) - most
		stalls = stalls[:most]
	}
	for i := range stalls {
		st := &stalls[i]
		if st.Start.After(p.End) || st.End.Before(p.Start) {
			continue
		}
		if !isStep(event.KindStall, st.Start) {
			s := p.shapeOf(st.Start, st.End)
			s.Class, s.Title = "bar stall", "relist did not complete: "+show.Window(st.Window)+", "+show.Duration(st.End.Sub(st.Start), st.Open)
			still, longest = append(still, s), longest.max(st.End.Sub(st.Start), st.Open)
		}
		if end := cmp.Or(st.Ready, st.End); !st.NotReady.IsZero() && !isStep(event.KindNodeNotReady, st.NotReady) {
			s := p.shapeOf(st.NotReady, end)
			s.Class, s.Title = "bar notready", "node NotReady from "+show.Clock(st.NotReady)
			down, longestDown = append(down, s), longestDown.max(end.Sub(st.NotReady), st.Ready.IsZero())
		}
	}
	if n := len(p.Chain.Lanes); len(still)+len(down) > 0 && (n == 0 || p.Chain.Lanes[n-1].Name != kubeletLane) {
		p.Chain.addLane(kubeletLane)
	}
	p.addStallRow(still, label{stallName, longest.text()})
	p.addStallRow(down, label{notReadyName, longestDown.text()})
}

// length is how long something lasted; a lower bound where its end was not seen.
type length struct {
	d       time.Duration
	atLeast bool
}

func (l length) max(d time.Duration, atLeast bool) length {
	if d > l.d {
		return length{d, atLeast}
	}
	return l
}

// text leaves out what only says that nothing follows.
func (l length) text() string {
	if l.atLeast && l.d < time.Second {
		return ""
	}
	return show.Duration(l.d, l.atLeast)
}

// addStallRow draws a row of stalls: one of them as a step is drawn, with its name on the bar.
func (p *Picture) addStallRow(all []shape, l label) {
	switch len(all) {
	case 0:
		return
	case 1:
		s := &all[0]
		s.Y, s.H = p.Chain.growLastLane(stepHeight)+(stepHeight-barHeight)/2, barHeight
		lane := &p.Chain.Lanes[len(p.Chain.Lanes)-1]
		labels := p.placeLabel(l, s.From, s.To, s.Y+barHeight/2+4, barSpace)
		lane.Rows = append(lane.Rows, markRow{Marks: all, Labels: labels})
	default:
		l = label{fmt.Sprintf("%d × %s,", len(all), l.Name), "longest " + l.Length}
		p.addMarkRow(&p.Chain, all, l, 0)
	}
}

// addMarkRow draws marks with a name above them. Intervals that overlap stand below each other.
func (p *Picture) addMarkRow(d *drawing, all []shape, l label, number int) {
	var rows []float64
	for i := range all {
		all[i].H = markHeight
		all[i].Y = p.placeInRow(&rows, all[i])
	}
	top := d.growLastLane(nameHeight + max(len(rows), 1)*markPitch)
	for i := range all {
		all[i].Y = top + nameHeight + all[i].Y*markPitch
	}
	all = p.thinOut(all)
	at := time.Duration(0)
	if len(all) > 0 {
		at = slices.MinFunc(all, func(a, b shape) int { return cmp.Compare(a.From, b.From) }).From
	}
	lane := &d.Lanes[len(d.Lanes)-1]
	lane.Rows = append(lane.Rows, markRow{
		Number: number, Marks: all, Labels: p.placeAbove(l, at, top+nameHeight-4),
	})
}

// placeInRow takes the first row in which a shape overlaps nothing; the last one takes what has no
// place. Rows remember where their last shape ends.
func (p *Picture) placeInRow(rows *[]float64, s shape) int {
	start := p.percentOf(s.From)
	end := start + p.width(s)
	for i, busy := range *rows {
		if start >= busy {
			(*rows)[i] = end
			return i
		}
	}
	if len(*rows) < maxMarkRows {
		*rows = append(*rows, end)
		return len(*rows) - 1
	}
	last := len(*rows) - 1
	(*rows)[last] = max((*rows)[last], end)
	return last
}

// drawBeside draws the events that are no part of the chain: a row for each name, in lanes from
// cause to effect; what has no time stands in a lane of its own, behind them.
func (p *Picture) drawBeside(coverage []timeline.Coverage) {
	told := map[*event.Event]bool{}
	for i := range p.steps {
		for _, e := range slices.Concat(p.steps[i].events, p.steps[i].again) {
			told[e] = true
		}
	}
	lanes := make([][]*event.Event, len(laneRules))
	var undated []*event.Event
	for _, e := range p.Table {
		switch lane := laneOf(e); {
		case told[e]:
			continue
		case e.Start.IsZero():
			undated = append(undated, e)
		default:
			lanes[lane] = append(lanes[lane], e)
		}
		p.Others++
	}
	p.Beside.Height = axisSpace
	for i, events := range lanes {
		p.addBesideLane(laneRules[i].name, events)
	}
	p.hatchLanes(&p.Beside, coverage)
	p.addBesideLane("undated", undated)
}

func (p *Picture) addBesideLane(name string, events []*event.Event) {
	if len(events) == 0 {
		return // a lane in which nothing happened takes no room
	}
	p.Beside.addLane(name).NameEnd = true
	var order []string
	rows := map[string][]*event.Event{}
	for _, e := range events {
		row := rowName(e)
		if rows[row] == nil {
			order = append(order, row)
		}
		rows[row] = append(rows[row], e)
	}
	if len(order) > maxRows {
		slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(len(rows[b]), len(rows[a])) })
		var rest []*event.Event
		for _, row := range order[maxRows-1:] {
			rest = append(rest, rows[row]...)
		}
		others := "other events: " + show.JoinFirst(order[maxRows-1:], 3, ", ")
		order = append(order[:maxRows-1:maxRows-1], others)
		rows[others] = rest
	}
	for _, row := range order {
		l := newLabel(rows[row])
		if strings.HasPrefix(row, "other events: ") {
			l.Name = fmt.Sprintf("%d %s", len(rows[row]), row)
		}
		p.addMarkRow(&p.Beside, p.eventShapes(rows[row], 0, markHeight), l, p.numbers[rows[row][0]])
	}
}

// hatchLanes marks where nothing was recorded.
func (p *Picture) hatchLanes(d *drawing, coverage []timeline.Coverage) {
	if p.Start.IsZero() {
		return
	}
	for i := range d.Lanes {
		if l := &d.Lanes[i]; !l.Undated {
			p.hatchGaps(l, &laneRules[laneNamed(l.Name)], coverage)
			for k := range l.Gaps {
				l.Gaps[k].Y, l.Gaps[k].H = l.Y+1, l.H-1
			}
		}
	}
}

// hatchGaps marks where no source of the lane has a line.
func (p *Picture) hatchGaps(l *drawnLane, rule *laneRule, coverage []timeline.Coverage) {
	var spans []timeline.Window
	for _, c := range coverage {
		if !c.Start.IsZero() && rule.coversSource(c.Source) {
			spans = append(spans, timeline.Window{Start: c.Start, End: c.End})
		}
	}
	if len(spans) == 0 {
		return
	}
	slices.SortFunc(spans, func(a, b timeline.Window) int { return a.Start.Compare(b.Start) })
	at := p.Start
	hatch := func(from, to time.Time) {
		if s := p.shapeOf(from, to); p.width(s) > minLoss {
			s.Title = "no line of " + rule.name + " from " + show.Clock(from) + " to " + show.Clock(to)
			s.Class = "gap"
			l.Gaps = append(l.Gaps, s)
		}
	}
	for _, s := range spans {
		if s.Start.After(at) {
			hatch(at, s.Start)
		}
		if s.End.After(at) {
			at = s.End
		}
	}
	hatch(at, p.End)
	p.hatchLosses(l, rule, coverage)
}

// hatchLosses marks where lines are missing from a source of the lane. A moment stays as wide as
// a pixel or two.
func (p *Picture) hatchLosses(l *drawnLane, rule *laneRule, coverage []timeline.Coverage) {
	known := map[shape]bool{}
	for i := range coverage {
		if !rule.coversSource(coverage[i].Source) {
			continue
		}
		for _, g := range coverage[i].Gaps {
			if g.End.IsZero() || !g.Overlaps(p.Start, p.End) {
				continue // beyond the last line everything is hatched
			}
			s := p.shapeOf(g.Start, g.End)
			s.Title = show.Escape(g.Reason, show.MaxQuote) + ", from " + show.Clock(g.Start) + " to " + show.Clock(g.End)
			s.To = max(s.To, s.From+time.Duration(minLoss/100*float64(p.span())))
			if !known[s] && len(known) < maxLosses {
				known[s] = true
				s.Class = "gap"
				l.Gaps = append(l.Gaps, s)
			}
		}
	}
}

// minLoss is how wide a gap is drawn at least, in percent.
const minLoss = 0.2

// shapeOf is a place in time, cut to the picture.
func (p *Picture) shapeOf(from, to time.Time) shape {
	start := p.clampTime(from)
	return shape{From: start, To: max(start, p.clampTime(to))}
}

// clampTime is a time since the picture's start; what lies outside of the picture is at its edge.
func (p *Picture) clampTime(t time.Time) time.Duration {
	return min(max(t.Sub(p.Start), 0), p.span())
}

// span is how long the picture lasts. Where nothing is dated it only gives undated steps a place.
func (p *Picture) span() time.Duration { return cmp.Or(p.End.Sub(p.Start), time.Second) }

// percentOf is a time as a share of the picture, with the digits that a drawing needs.
func (p *Picture) percentOf(since time.Duration) float64 {
	return float64(int(1e5*float64(since)/float64(p.span()))) / 1e3
}

// width of a shape, in percent; 0 for a moment.
func (p *Picture) width(s shape) float64 { return p.percentOf(s.To) - p.percentOf(s.From) }

func eventTitle(e *event.Event) string {
	title := show.Moment(e.Start.T, e.Basis) + "  " + show.Escape(e.Component, show.MaxCell) + ": " +
		cmp.Or(show.Escape(e.Text, show.MaxQuote), string(e.Kind))
	if d := show.Length(e); d != "" {
		title += ", " + d
	}
	if e.Basis != "" {
		title += " (" + show.Escape(e.Basis, show.MaxQuote) + ")"
	}
	return title + "\n" + show.Escape(e.Pos().String(), show.MaxQuote)
}

// StepAnchor is where a link to a step leads.
func StepAnchor(finding, step int) string { return fmt.Sprintf("f%d-%d", finding+1, step+1) }
