// Package picture draws an incident: the chain of its root on a time axis, what happened beside it,
// and who waits for whom in its goroutine dumps. It gives marks and names their places; how they
// look is the page's. Text from the bundle comes out escaped for people, not for HTML.
package picture

import (
	"cmp"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Picture is an incident drawn on one time axis: the chain of the root cause, a row for each step,
// and what else happened beside it. Times count from the picture's start; the page draws them in
// percent of its width, so that the drawing fits every window while letters keep their size. Places
// across it are pixels.
type Picture struct {
	Start, End time.Time // of the axis; zero when nothing is dated
	Axis       []mark
	Chain      drawing // its steps, and the stalls
	Beside     drawing // everything else
	Others     int     // events beside the chain
	LeftOut    int     // events and stalls that are not drawn

	most    int                  // of the events that are drawn
	Table   []*event.Event       // the events that are drawn
	numbers map[*event.Event]int // of the events in the table, from 1 on
	Finding int                  // whose chain is drawn; below 0 for none
	steps   []drawnStep
}

// drawing is a part of the picture: lanes below each other.
type drawing struct {
	Height int
	Lanes  []drawnLane
	Ties   []tie // between one step and the next
}

// drawnLane is one lane. The chain may come back to a lane; it is drawn again then, so that the
// chain runs downwards everywhere.
type drawnLane struct {
	Name    string
	Y, H    int
	NameEnd bool // on a narrow screen the name stands at the right, because the chain runs at the left
	Undated bool
	Steps   []stepRow
	Rows    []markRow
	Gaps    []shape // nothing was recorded there
}

// stepRow is a step of the chain: a knot with its number, its bar, and the bar's name.
type stepRow struct {
	Number int
	Target string // id of the step in the page
	Title  string
	At     time.Duration // of the knot
	Y      int           // of the middle
	Marks  []shape
	Again  []shape   // calls of the same kind that follow
	Labels [2]placed // for a wide and a narrow screen
}

// markRow is a row of events with one name.
type markRow struct {
	Number int // of the first of them in the table; 0 for none
	Marks  []shape
	Labels [2]placed
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

// tie leads from a step to the next: down, across between two rows, and down.
type tie struct {
	From, To     time.Duration
	Y1, YMid, Y2 int
	Inferred     bool
}

// drawnStep is a step with the events that it was made of.
type drawnStep struct {
	*rules.Step
	events []*event.Event
	kind   event.Kind     // of all of them; empty where they differ, or none is known
	again  []*event.Event // calls of the same kind that follow
	lane   int
	dated  bool
	end    time.Time
}

// Measures of the picture in pixels, and its bounds.
const (
	axisSpace    = 20
	laneStrip    = 18 // above the rows of a lane; a narrow screen has its name there
	barHeight    = 20
	stepHeight   = 30
	singleHeight = 4 // of one of several events of a step, below their name
	knotRadius   = 9
	nameHeight   = 15 // of a row of marks
	markHeight   = 8
	markPitch    = 10
	maxMarkRows  = 4    // of intervals that overlap, in one row
	maxRows      = 5    // of one lane
	maxLosses    = 200  // of one lane
	MaxShapes    = 1500 // in one picture: beyond that nothing can be told apart, and the file grows
)

// inARow is how soon after a call the next one of its kind begins, when nothing but the program
// itself is between them.
const inARow = 2 * time.Second

// New draws an incident, at most so many events of it; nil when there is nothing to draw.
func New(inc *incident.Incident, most int) *Picture {
	if inc.Timeline == nil {
		return nil
	}
	p := &Picture{most: most, numbers: map[*event.Event]int{}}
	p.Finding = chooseChain(inc.Result.Findings)
	if p.Finding >= 0 {
		p.collectSteps(inc)
	}
	p.setWindow(inc)
	if p.Start.IsZero() && len(p.steps) == 0 {
		return nil
	}
	p.chooseEvents(inc.Timeline)
	p.drawChain(inc)
	p.drawBeside(inc.Timeline.Coverage)
	p.drawAxis()
	if len(p.Chain.Lanes)+len(p.Beside.Lanes) == 0 {
		return nil
	}
	return p
}

// chooseChain returns the index of the finding whose chain is drawn: that of the headline, which is
// the first, or else the best one with a chain; below 0 for none.
func chooseChain(fs []story.Finding) int {
	return slices.IndexFunc(fs, func(f story.Finding) bool { return len(f.Chain) > 0 })
}

// collectSteps takes the steps of the chain with their events.
func (p *Picture) collectSteps(inc *incident.Incident) {
	chain := inc.Result.Findings[p.Finding].Chain
	if len(chain) > p.most {
		p.LeftOut += len(chain) - p.most
		chain = chain[:p.most]
	}
	for i := range chain {
		s := drawnStep{Step: &chain[i], dated: !chain[i].Start.IsZero()}
		s.end = s.Start.Add(s.Duration)
		s.takeEvents()
		s.takeStall(inc.Timeline.Stalls)
		p.steps = append(p.steps, s)
	}
	p.collectRepeats(inc.Timeline)
}

// takeEvents gives the step the events that it shows, and of their lanes the one nearest to the
// cause.
func (s *drawnStep) takeEvents() {
	s.lane = len(laneRules) - 1
	for _, e := range s.Events {
		if e.Kind == event.KindFact {
			continue
		}
		s.events = append(s.events, e)
		s.lane = min(s.lane, laneOf(e))
	}
	same := len(s.events) > 0
	for _, e := range s.events {
		same = same && e.Kind == s.events[0].Kind
	}
	if same {
		s.kind = s.events[0].Kind
	}
}

// takeStall makes a step that says that relist stands still, or that the node is NotReady, one of
// the kubelet's. NotReady lasts as long as the stall has it.
func (s *drawnStep) takeStall(stalls []timeline.Stall) {
	for i := range stalls {
		st := &stalls[i]
		switch {
		case !s.dated || s.kind != "" && s.kind != event.KindStall && s.kind != event.KindNodeNotReady:
			return
		case s.kind != event.KindNodeNotReady && st.Start.Equal(s.Start):
			s.kind = event.KindStall
		case s.kind != event.KindStall && st.NotReady.Equal(s.Start):
			s.kind = event.KindNodeNotReady
			if s.Duration == 0 {
				s.end = cmp.Or(st.Ready, st.End)
			}
		default:
			continue
		}
		s.lane = laneNamed(kubeletLane)
		return
	}
}

// caller tells the calls of one thread for one container from all others.
type caller struct {
	kind      event.Kind
	name      string
	pid, tid  int
	container string
}

func callerOf(e *event.Event) caller {
	name, _ := nameBar(e)
	return caller{e.Kind, name, e.IDs.PID, e.IDs.TID, e.IDs.Container}
}

// collectRepeats finds the calls that follow the call of a step at once: a program that tries the
// same again hangs for the sum of them.
func (p *Picture) collectRepeats(tl *timeline.Timeline) {
	calls := map[caller]*drawnStep{}
	taken := map[*event.Event]bool{}
	for i := range p.steps {
		s := &p.steps[i]
		for _, e := range s.events {
			taken[e] = true
		}
		if s.dated && len(s.events) == 1 && isCall(s.events[0]) {
			calls[callerOf(s.events[0])] = s
		}
	}
	if len(calls) == 0 {
		return
	}
	for _, e := range tl.Events {
		if isCall(e) && !taken[e] {
			if s := calls[callerOf(e)]; s != nil && s.isFollowedBy(e) {
				s.again = append(s.again, e)
			}
		}
	}
}

// isCall says whether an event is a call that lasted.
func isCall(e *event.Event) bool {
	return (e.Kind == event.KindSyscall || e.Kind == event.KindCRICall) && !e.Start.IsZero() && e.Duration() > 0
}

// isFollowedBy says whether a call begins when the last one of the step has ended.
func (s *drawnStep) isFollowedBy(e *event.Event) bool {
	last := s.events[0]
	if n := len(s.again); n > 0 {
		last = s.again[n-1]
	}
	return e.Start.T.After(last.Start.T) && e.Start.T.Sub(last.Last().T).Abs() < inARow
}

// setWindow is the stretch of time that is drawn: that of the chain with its stalls, or else of the
// incident.
func (p *Picture) setWindow(inc *incident.Incident) {
	var w timeline.Window
	for i := range p.steps {
		if s := &p.steps[i]; s.dated {
			w = w.Union(timeline.Window{Start: s.Start, End: s.end})
			for _, e := range s.again {
				w = w.Union(timeline.Window{Start: e.Start.T, End: e.Last().T})
			}
		}
	}
	if w.IsZero() {
		w = inc.Window
	} else {
		for i := range inc.Timeline.Stalls {
			if st := &inc.Timeline.Stalls[i]; !st.Start.After(w.End) && !st.End.Before(w.Start) {
				w = w.Union(st.Window)
			}
		}
	}
	if w.IsZero() {
		return
	}
	slack := max(10*time.Second, w.End.Sub(w.Start)/20)
	p.Start, p.End = w.Start.Add(-slack), w.End.Add(slack)
}

// chooseEvents takes what can be drawn: first the evidence of the chain, then what lasted longest.
func (p *Picture) chooseEvents(tl *timeline.Timeline) {
	told := map[*event.Event]bool{}
	for i := range p.steps {
		for _, e := range slices.Concat(p.steps[i].events, p.steps[i].again) {
			told[e] = true
		}
	}
	var all []*event.Event
	for _, e := range tl.Events {
		outside := !e.Start.IsZero() && (e.Start.T.After(p.End) || e.Last().T.Before(p.Start))
		if told[e] || e.Kind != event.KindFact && e.Kind != event.KindStall && !outside {
			all = append(all, e)
		}
	}
	if len(all) > p.most {
		p.LeftOut += len(all) - p.most
		rank := func(e *event.Event) int {
			if told[e] {
				return 1
			}
			return 0
		}
		ranked := slices.Clone(all)
		slices.SortStableFunc(ranked, func(a, b *event.Event) int {
			return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(b.Duration(), a.Duration()))
		})
		kept := map[*event.Event]bool{}
		for _, e := range ranked[:p.most] {
			kept[e] = true
		}
		all = slices.DeleteFunc(all, func(e *event.Event) bool { return !kept[e] })
	}
	p.Table = all
	for i, e := range all {
		p.numbers[e] = i + 1
	}
}
