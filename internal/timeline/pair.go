package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// pairer makes intervals of begins and ends that were written separately.
type pairer struct {
	logEnd map[string]time.Time // the last line of each file, of any component
	// ends is, by class, the last line of the files that hold ends of such
	// spans: until then an end would have been seen. No entry means no ends.
	ends map[string]time.Time
	// alive is the last edge that each process wrote; latest the process that
	// wrote the last one. A call dies with its process.
	alive  map[process]time.Time
	latest map[process]*event.Event // by file and class, pid 0
	// closed are the intervals whose begin stands at a place, for other spans that began with the same line.
	closed map[event.Pos]*event.Event
}

// process is a program that writes edges of one class into a file.
type process struct {
	file, class string
	pid         int
}

// pair joins the edges of each span, in the order of time: an end belongs to
// the oldest begin that is still open, or, where another program writes it, to
// the last that asked. A begin whose end was not seen stays open up to the last
// line of its file; an end whose begin was not seen has no length. An interval
// that is told twice, by its edges and by a line that gives its whole length, becomes one.
func pairSpans(events []*event.Event, coverage []Coverage) []*event.Event {
	p := newPairer(events, coverage)
	var done, foreign []*event.Event
	groups, order := map[group][]*event.Event{}, []group(nil)
	for _, e := range events {
		if e.Span.Key == "" {
			done = append(done, e)
			continue
		}
		g := group{e.Span.Key, e.Start.Known}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], e)
	}
	for _, g := range order {
		intervals, open := p.pairKey(groups[g])
		done, foreign = append(done, intervals...), append(foreign, open...)
	}
	for _, e := range foreign {
		if p.leaveForeignOpen(e) {
			done = append(done, e)
		}
	}
	return done
}

// group is the edges of one span; those without a time pair among themselves, line by line.
type group struct {
	key   string
	dated bool
}

func newPairer(events []*event.Event, coverage []Coverage) *pairer {
	p := &pairer{
		logEnd: map[string]time.Time{}, ends: map[string]time.Time{},
		alive: map[process]time.Time{}, latest: map[process]*event.Event{}, closed: map[event.Pos]*event.Event{},
	}
	for _, c := range coverage {
		p.logEnd[c.File] = laterTime(p.logEnd[c.File], c.End)
	}
	for _, e := range events { // in the order of time
		if e.Span.Edge == event.Whole || e.Start.IsZero() {
			continue
		}
		w := process{e.Pos().File, spanClass(e.Span.Key), e.IDs.PID}
		p.alive[w] = e.Start.T
		p.latest[process{file: w.file, class: w.class}] = e
		if e.Span.Edge == event.End {
			p.ends[w.class] = laterTime(p.ends[w.class], laterTime(e.Start.T, p.logEnd[w.file]))
		}
	}
	return p
}

// later is the later of two moments, of which the zero time is none.
func laterTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.After(a) {
		return b
	}
	return a
}

// class is the part of a span's key that says what kind of thing lasts: "cri" of "cri/UpdateContainerResources/<id>".
func spanClass(key string) string {
	c, _, _ := strings.Cut(key, "/")
	return c
}

// moment is when an edge has surely passed its line: an end that is stamped to
// the second may lie behind a begin that shows a later fraction of it.
func latestMoment(e *event.Event) time.Time {
	if e.Span.Edge == event.End && e.Start.Prec > 0 {
		return e.Start.T.Add(e.Start.Prec - 1)
	}
	return e.Start.T
}

// pairKey pairs the edges of one key. It returns begins that wait for another program's end apart.
func (p *pairer) pairKey(spans []*event.Event) (intervals, foreign []*event.Event) {
	if spans[0].Start.Known {
		slices.SortStableFunc(spans, func(a, b *event.Event) int {
			return cmp.Or(latestMoment(a).Compare(latestMoment(b)), cmp.Compare(a.Span.Edge, b.Span.Edge))
		})
	}
	var open, told []*event.Event
	for _, e := range spans {
		for len(open) > 0 && e.Span.Edge == event.End && isOfOtherProcess(open[0], e) {
			intervals, open = append(intervals, p.leaveOpen(open[0])), open[1:]
		}
		for len(open) > 0 && e.Span.Edge == event.End && isEndLost(open[0], e.Start.T) {
			open = open[1:]
		}
		switch {
		case e.Span.Edge == event.Whole:
			told = append(told, e)
		case e.Span.State && (e.Span.Edge == event.Begin) == (len(open) > 0):
			continue
		case e.Span.Edge == event.Begin && e.Span.Foreign:
			open = []*event.Event{e} // who asks again has given up waiting
		case e.Span.Edge == event.Begin:
			open = append(open, e)
		case len(open) > 0:
			pos := open[0].Pos()
			p.closed[pos] = joinEdges(open[0], e)
			intervals, open = append(intervals, p.closed[pos]), open[1:]
		default:
			e.Begun, e.End = true, e.Start
			intervals = append(intervals, e)
		}
	}
	for _, e := range open {
		if e.Span.Foreign {
			foreign = append(foreign, e)
		} else {
			intervals = append(intervals, p.leaveOpen(e))
		}
	}
	return joinWholeIntervals(intervals, told), foreign
}

// maxCall is the longest that a CRI call lasts: its caller gives it up after
// runtimeRequestTimeout, 2 minutes by default and 15 on AKS.
const maxCall = 16 * time.Minute

// lostEnd says that a begin is so old at a moment that its end must have been
// written, and the line was lost.
func isEndLost(begin *event.Event, at time.Time) bool {
	return spanClass(begin.Span.Key) == "cri" && begin.Start.Known && at.Sub(begin.Start.T) > maxCall
}

// diedBefore says that a begin was written by another process than the end, so that they do not belong together.
func isOfOtherProcess(begin, end *event.Event) bool {
	return !begin.Span.Foreign && begin.IDs.PID != 0 && end.IDs.PID != 0 && begin.IDs.PID != end.IDs.PID
}

// joined is the interval from one edge to the other; what the end says wins.
func joinEdges(begin, end *event.Event) *event.Event {
	begin.End = end.Start
	if begin.End.T.Before(begin.Start.T) { // within the precision of the end
		begin.End.T = begin.Start.T
	}
	for _, f := range end.Fields {
		begin.Fields = setField(begin.Fields, f)
	}
	begin.Level = max(begin.Level, end.Level)
	begin.Evidence = append(slices.Clone(begin.Evidence), end.Evidence...)
	begin.Basis = cmp.Or(begin.Basis, end.Basis)
	return begin
}

// leaveOpen makes an interval of a begin without an end: up to the last line of
// the file, or of the process where another one has followed it.
func (p *pairer) leaveOpen(e *event.Event) *event.Event {
	w := process{e.Pos().File, spanClass(e.Span.Key), e.IDs.PID}
	until := p.logEnd[w.file]
	if last := p.latest[process{file: w.file, class: w.class}]; last != nil && isOfOtherProcess(e, last) {
		until = p.alive[w]
	}
	e.Open = true
	if e.Start.Known {
		e.End = event.At(laterTime(e.Start.T, until))
	}
	return e
}

// leaveForeignOpen decides about a begin that waits for another program's end.
// It stays open as far as such ends would have been seen. Where the span that
// began with the same line has ended, it is known no longer, unless that one
// only ran into its time limit.
func (p *pairer) leaveForeignOpen(e *event.Event) bool {
	until, seen := p.ends[spanClass(e.Span.Key)]
	if twin := p.closed[e.Pos()]; twin != nil {
		if fieldText(twin, "deadline") != "true" {
			return false
		}
		until = twin.Last().T
	}
	if !seen || e.Start.IsZero() || until.Before(e.Start.T) {
		return false
	}
	e.Open, e.End = true, event.At(until)
	return true
}

// joinTold folds the lines that tell a whole interval into the intervals of
// the same key: those that end at the same time, and open ones that began at the same time.
func joinWholeIntervals(intervals, told []*event.Event) []*event.Event {
	var open, closed []*event.Event
	for _, e := range intervals {
		if e.Open {
			open = append(open, e)
		} else {
			closed = append(closed, e)
		}
	}
	told = joinWholeByEdge(closed, told, (*event.Event).Last)
	told = joinWholeByEdge(open, told, func(e *event.Event) event.Time { return e.Start })
	return append(intervals, told...)
}

// match folds told intervals into others where one end of both is the same,
// give or take the precision of a stamp, and returns those that are left.
func joinWholeByEdge(intervals, told []*event.Event, end func(*event.Event) event.Time) (left []*event.Event) {
	const same = time.Second
	order := func(a, b *event.Event) int { return cmp.Or(end(a).T.Compare(end(b).T), compareEvents(a, b)) }
	slices.SortFunc(intervals, order)
	slices.SortFunc(told, order)
	for _, t := range told {
		for len(intervals) > 0 && end(t).T.Sub(end(intervals[0]).T) > same {
			intervals = intervals[1:]
		}
		if t.Start.IsZero() || len(intervals) == 0 || end(intervals[0]).T.Sub(end(t).T) > same {
			left = append(left, t)
			continue
		}
		mergeWhole(intervals[0], t)
		intervals = intervals[1:]
	}
	return left
}

// tellTwice adds what a line tells of a whole interval to the interval, first
// of all the edge that it lacks.
func mergeWhole(e, told *event.Event) {
	if e.Begun {
		e.Start, e.Begun = told.Start, false
		if e.End.T.Before(e.Start.T) {
			e.Start.T = e.End.T
		}
	}
	if e.Open {
		e.End, e.Open = told.Last(), false
		if e.End.T.Before(e.Start.T) {
			e.End.T = e.Start.T
		}
	}
	for _, f := range told.Fields {
		if _, ok := e.Get(f.Key); !ok {
			e.Fields = setField(e.Fields, f)
		}
	}
	e.Evidence = append(slices.Clone(e.Evidence), told.Evidence...)
	e.Basis = cmp.Or(e.Basis, told.Basis)
}
