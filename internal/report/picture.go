package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// picture is an incident drawn: lanes of components above one another, one time axis, the chain of
// the root cause through them. Times count from the picture's start; the page draws them in percent
// of its width, so that the drawing fits every window while letters keep their size. Places across
// it are pixels.
type picture struct {
	Start, End time.Time
	Height     int
	Lanes      []drawnLane
	Axis       []mark
	Knots      []knot // the steps of the chain
	Ties       []tie  // between one knot and the next
	LeftOut    int    // events and stalls that are not drawn
	most       int    // of them that are
}

// drawnLane is one lane.
type drawnLane struct {
	Name   string
	Y      int // of its name; what happened stands below
	Top, H int // of what happened
	Shapes []shape
	Gaps   []shape // nothing was recorded there
}

// shape is an interval, or a moment.
type shape struct {
	From, To time.Duration
	Y, H     int
	Class    string
	Title    string
	Number   int // of the event in the table; 0 for none
}

// mark is a moment on the axis.
type mark struct {
	At   time.Duration
	Text string
	// Anchor is where its text stands: "middle", or "start" or "end" beside an end of the axis.
	Anchor string
	Minor  bool // not shown on a narrow screen
}

type knot struct {
	At     time.Duration
	Y      int
	Number int
	Text   string
	Target string // id of the step in the page
}

type tie struct {
	From, To time.Duration
	Y1, Y2   int
	Inferred bool
}

// laneRule says what belongs into a lane, and which sources would have shown it.
type laneRule struct {
	name    string
	kinds   []string // kinds, or groups of them
	actors  []string // components; empty for any
	sources []string // beginnings of the sources that cover it; empty for a lane that is never hatched
}

// laneRules are tried in order: the first that takes an event has it.
var laneRules = []laneRule{
	{"kubelet: relist", []string{"kubelet"}, nil, []string{"kubelet."}},
	{"CRI calls", []string{"cri"}, nil, []string{"containerd.log"}},
	{"locks: holders and waiters", []string{"lock"}, nil, []string{"goroutines."}},
	{"containerd", nil, []string{"containerd"}, []string{"containerd."}},
	{"dockerd", nil, []string{"dockerd"}, []string{"dockerd."}},
	{"cri-o", nil, []string{"crio"}, []string{"crio."}},
	{"shim, runc, CNI", []string{"shim"}, []string{"shim", "runc", "cni"}, nil},
	{"syscalls", []string{"syscall"}, nil, []string{"strace"}},
	{"threads, sampled", []string{"thread"}, nil, []string{"samples"}},
	{"systemd, D-Bus", []string{"systemd", "dbus"}, []string{"systemd", "dbus"}, []string{"systemd."}},
	{"kernel", []string{"kernel"}, []string{"kernel"}, []string{"kernel."}},
	{"other", nil, nil, nil},
}

func (l *laneRule) takesEvent(e *event.Event) bool {
	group, _, _ := strings.Cut(string(e.Kind), ".")
	switch {
	case len(l.kinds) == 0 && len(l.actors) == 0:
		return true
	case slices.Contains(l.kinds, group) || slices.Contains(l.kinds, string(e.Kind)):
		return true
	}
	return slices.Contains(l.actors, e.Component)
}

// coversSource says whether a source would have shown what belongs into the lane.
func (l *laneRule) coversSource(source string) bool {
	return slices.ContainsFunc(l.sources, func(s string) bool { return strings.HasPrefix(source, s) })
}

// Measures of the picture in pixels, and its bounds.
const (
	laneName    = 18 // the row of a lane's name
	barHeight   = 10
	rowHeight   = 14
	laneGap     = 8
	axisSpace   = 22
	maxLaneRows = 6    // of intervals that overlap, in one lane
	maxLosses   = 200  // of one lane
	maxShapes   = 1500 // in one picture: beyond that nothing can be told apart, and the file grows
)

// newPicture draws an incident, at most so many events of it; nil when nothing is dated. The table
// is the events in it, by their numbers from 1 on.
func newPicture(inc *incident.Incident, most int) (p *picture, table []*event.Event) {
	if inc.Timeline == nil || inc.Window.IsZero() {
		return nil, nil
	}
	p = &picture{Start: inc.Window.Start, End: inc.Window.End, most: most}
	slack := max(10*time.Second, p.End.Sub(p.Start)/20)
	p.Start, p.End = p.Start.Add(-slack), p.End.Add(slack)
	events := inc.Timeline.Select(timeline.Filter{Since: p.Start, Until: p.End})
	events = slices.DeleteFunc(events, func(e *event.Event) bool { return e.Kind == event.KindFact })
	told := rootLines(&Selection{Incident: inc})
	table = p.chooseEvents(events, told)
	y := axisSpace
	places := map[*event.Event]shape{}
	byLane := eventsByLane(table)
	for i := range laneRules {
		y = p.drawLane(i, y, inc, byLane[i], told, places)
	}
	p.Height = y
	p.drawAxis()
	p.drawChain(inc.Result.Findings, places)
	return p, table
}

// chooseEvents takes what can be drawn: first the evidence of the root, then what lasted longest.
func (p *picture) chooseEvents(events []*event.Event, told map[event.Pos]bool) []*event.Event {
	if len(events) <= p.most {
		return events
	}
	p.LeftOut = len(events) - p.most
	ranked := slices.Clone(events)
	slices.SortStableFunc(ranked, func(a, b *event.Event) int {
		return cmp.Or(cmp.Compare(provesRoot(told, b), provesRoot(told, a)), cmp.Compare(b.Duration(), a.Duration()))
	})
	kept := map[*event.Event]bool{}
	for _, e := range ranked[:p.most] {
		kept[e] = true
	}
	return slices.DeleteFunc(slices.Clone(events), func(e *event.Event) bool { return !kept[e] })
}

// provesRoot is 1 for an event of which a line stands in the root's chain.
func provesRoot(told map[event.Pos]bool, e *event.Event) int {
	if slices.ContainsFunc(e.Evidence, func(q event.Quote) bool { return told[q.Pos] }) {
		return 1
	}
	return 0
}

// eventsByLane gives each event to the first rule that takes it.
func eventsByLane(table []*event.Event) [][]eventLine {
	lanes := make([][]eventLine, len(laneRules))
	for i, e := range table {
		lane := slices.IndexFunc(laneRules, func(r laneRule) bool { return r.takesEvent(e) })
		lanes[lane] = append(lanes[lane], eventLine{e, i + 1})
	}
	return lanes
}

// drawLane draws the events of a lane, and returns where the next one begins.
func (p *picture) drawLane(lane, y int, inc *incident.Incident, events []eventLine,
	told map[event.Pos]bool, places map[*event.Event]shape,
) int {
	rule := &laneRules[lane]
	l := drawnLane{Name: rule.name, Y: y + laneName - 5, Top: y + laneName}
	rows := []float64{}
	if lane == 0 {
		rows = append(rows, p.drawStalls(&l, inc)...)
	}
	for _, e := range events {
		s := p.shapeOf(e.Start.T, e.Last().T)
		s.Number, s.Title = e.Number, eventTitle(e.Event)
		s.Class = "bar"
		if p.width(s) == 0 {
			s.Class = "tick"
		}
		if provesRoot(told, e.Event) == 1 {
			s.Class += " root"
		}
		if e.Basis != "" {
			s.Class += " inferred"
		}
		if e.Open {
			s.Class += " open"
		}
		row := p.placeInRow(&rows, s)
		s.Y, s.H = l.Top+row*rowHeight, barHeight
		places[e.Event] = s
		l.Shapes = append(l.Shapes, s)
	}
	covered := p.hatchGaps(&l, rule, inc.Timeline.Coverage)
	if len(l.Shapes) == 0 && !covered {
		return y // nothing happened, and nothing would have shown it
	}
	l.H = max(len(rows), 1) * rowHeight
	for i := range l.Gaps {
		l.Gaps[i].Y, l.Gaps[i].H = l.Top-2, l.H
	}
	p.Lanes = append(p.Lanes, l)
	return l.Top + l.H + laneGap
}

// placeInRow takes the first row in which a shape overlaps nothing; the last one takes what has no
// place. Rows remember where their last shape ends; a moment takes a little room so that two of
// them can be told apart.
func (p *picture) placeInRow(rows *[]float64, s shape) int {
	start := p.percentOf(s.From)
	end := start + max(p.width(s), 0.4)
	for i, busy := range *rows {
		if start >= busy {
			(*rows)[i] = end
			return i
		}
	}
	if len(*rows) < maxLaneRows {
		*rows = append(*rows, end)
		return len(*rows) - 1
	}
	last := len(*rows) - 1
	(*rows)[last] = max((*rows)[last], end)
	return last
}

// drawStalls draws the kubelet's stalls and the times in which the node was NotReady, in rows of
// their own.
func (p *picture) drawStalls(l *drawnLane, inc *incident.Incident) []float64 {
	var rows []float64
	add := func(s shape) {
		row := p.placeInRow(&rows, s)
		s.Y, s.H = l.Top+row*rowHeight, barHeight
		l.Shapes = append(l.Shapes, s)
	}
	drawn, left := shorten(inc.Timeline.Stalls, p.most/2)
	p.LeftOut += left
	for i := range drawn {
		st := &drawn[i]
		s := p.shapeOf(st.Start, st.End)
		s.Class, s.Title = "bar stall", "relist did not complete: "+stallText(st)
		add(s)
		if !st.NotReady.IsZero() {
			end := st.Ready
			if end.IsZero() {
				end = st.End
			}
			n := p.shapeOf(st.NotReady, laterOf(end, st.NotReady))
			n.Class, n.Title = "bar notready", "node NotReady from "+show.Clock(st.NotReady)
			add(n)
		}
	}
	return rows
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// hatchGaps hatches where no source of the lane has a line; it says whether any has one.
func (p *picture) hatchGaps(l *drawnLane, rule *laneRule, coverage []timeline.Coverage) bool {
	var spans []timeline.Window
	for _, c := range coverage {
		if !c.Start.IsZero() && rule.coversSource(c.Source) {
			spans = append(spans, timeline.Window{Start: c.Start, End: c.End})
		}
	}
	if len(spans) == 0 {
		return false
	}
	slices.SortFunc(spans, func(a, b timeline.Window) int { return a.Start.Compare(b.Start) })
	at := p.Start
	hatch := func(from, to time.Time) {
		if s := p.shapeOf(from, to); p.width(s) > minLoss {
			s.Title = "no line of " + rule.name + " from " + show.Clock(from) + " to " + show.Clock(to)
			l.Gaps = append(l.Gaps, s)
		}
	}
	for _, s := range spans {
		if s.Start.After(at) {
			hatch(at, s.Start)
		}
		at = laterOf(at, s.End)
	}
	hatch(at, p.End)
	p.hatchLosses(l, rule, coverage)
	return true
}

// hatchLosses hatches where lines are missing from a source of the lane. A moment stays as wide as
// a pixel or two.
func (p *picture) hatchLosses(l *drawnLane, rule *laneRule, coverage []timeline.Coverage) {
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
				l.Gaps = append(l.Gaps, s)
			}
		}
	}
}

// minLoss is how wide a gap is drawn at least, in percent.
const minLoss = 0.2

// shapeOf is a place in time, cut to the picture.
func (p *picture) shapeOf(from, to time.Time) shape {
	from, to = laterOf(from, p.Start), laterOf(to, p.Start)
	if to.After(p.End) {
		to = p.End
	}
	if from.After(p.End) {
		from = p.End
	}
	return shape{From: from.Sub(p.Start), To: max(from.Sub(p.Start), to.Sub(p.Start))}
}

// span is how long the picture lasts.
func (p *picture) span() time.Duration { return p.End.Sub(p.Start) }

// percentOf is a time as a share of the picture, with the digits that a drawing needs.
func (p *picture) percentOf(since time.Duration) float64 {
	return float64(int(1e5*float64(since)/float64(p.span()))) / 1e3
}

// width of a shape, in percent; 0 for a moment.
func (p *picture) width(s shape) float64 { return p.percentOf(s.To) - p.percentOf(s.From) }

func eventTitle(e *event.Event) string {
	title := show.Moment(e.Start.T, e.Basis) + "  " + show.Escape(e.Component, show.MaxCell) + ": " +
		cmp.Or(show.Escape(e.Text, show.MaxQuote), string(e.Kind))
	if d := show.Duration(e.Duration(), e.Open || e.Begun); d != "" {
		title += ", " + d
	}
	if e.Basis != "" {
		title += " (" + show.Escape(e.Basis, show.MaxQuote) + ")"
	}
	return title + "\n" + show.Escape(e.Pos().String(), show.MaxQuote)
}

// steps of the axis, of which the first is taken that gives at most maxMarks marks.
var axisSteps = []time.Duration{
	time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

const maxMarks = 8

// atEdge is how near to an end, in per cent, a mark has no room for half of its text there on a
// narrow screen.
const atEdge = 8

func (p *picture) drawAxis() {
	span := p.span()
	step := axisSteps[len(axisSteps)-1]
	for _, s := range axisSteps {
		if span/s <= maxMarks {
			step = s
			break
		}
	}
	for span/step > maxMarks { // decades
		step *= 2
	}
	layout := time.TimeOnly
	if step < time.Second {
		layout = "15:04:05.000"
	} else if step >= 24*time.Hour {
		layout = time.DateOnly
	}
	for t := p.Start.Truncate(step).Add(step); t.Before(p.End); t = t.Add(step) {
		m := mark{At: t.Sub(p.Start), Text: t.UTC().Format(layout), Anchor: "middle", Minor: len(p.Axis)%2 == 1}
		if x := p.percentOf(m.At); x < atEdge {
			m.Anchor = "start"
		} else if x > 100-atEdge {
			m.Anchor = "end"
		}
		p.Axis = append(p.Axis, m)
	}
}

// drawChain puts a knot at each dated step of the first root, in the lane of its event, and ties
// them.
func (p *picture) drawChain(fs []story.Finding, places map[*event.Event]shape) {
	root := slices.IndexFunc(fs, func(f story.Finding) bool { return f.Role == rules.Root })
	if root < 0 {
		return
	}
	byLine := map[event.Pos]shape{}
	for e, s := range places {
		for _, q := range e.Evidence {
			if old, ok := byLine[q.Pos]; !ok || s.Number < old.Number {
				byLine[q.Pos] = s
			}
		}
	}
	steps, _ := shorten(fs[root].Chain, p.most)
	for i := range steps {
		step := &steps[i]
		if step.Start.IsZero() || step.Start.After(p.End) || step.Start.Before(p.Start) {
			continue
		}
		y := axisSpace + laneName
		if len(p.Lanes) > 0 {
			y = p.Lanes[0].Top // the node's condition, and relist
		}
		if len(step.Evidence) > 0 {
			if s, ok := byLine[step.Evidence[0].Pos]; ok {
				y = s.Y
			}
		}
		k := knot{
			At: step.Start.Sub(p.Start), Y: y + barHeight/2,
			Number: i + 1, Text: show.Escape(step.Text, show.MaxQuote), Target: stepAnchor(root, i),
		}
		if n := len(p.Knots); n > 0 {
			before := p.Knots[n-1]
			p.Ties = append(p.Ties, tie{From: before.At, To: k.At, Y1: before.Y, Y2: k.Y, Inferred: !step.Observed})
		}
		p.Knots = append(p.Knots, k)
	}
}
