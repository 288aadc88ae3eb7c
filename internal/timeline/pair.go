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
	// the last line of each file with edges, of any component, or when it had no more
	logEnd map[string]time.Time
	// ends is, by class, the last line of the files that contain ends of such spans: until then an
	// end would have been seen. No entry means that there are no ends.
	ends map[string]time.Time
	// alive is when each process wrote its last edge; latest is the last edge of all. A call ends
	// with its process.
	alive  map[process]time.Time
	latest map[process]*event.Event // by file and class, pid 0
	// closed are the closed intervals by the position of their begin, for other spans that began
	// with the same line.
	closed map[event.Pos]*event.Event
	edges  int // with a time
}

// process is a process that writes edges of one class into a file.
type process struct {
	file, class string
	pid         int
}

// pairSpans joins the begin and the end of each span, in the order of time. An end belongs to the
// oldest begin that is still open or, where another program writes the ends, to the last begin. A
// begin without an end stays open up to the last line of its file. An end without a begin has no
// length. An interval that is written twice, as begin and end and in a line with its whole
// duration, becomes one.
func pairSpans(events []*event.Event, coverage []Coverage) []*event.Event {
	p := newPairer(events, coverage)
	done, groups := p.groupEdges(events)
	var foreign []*event.Event
	for _, edges := range groups {
		intervals, open := p.pairKey(edges)
		done, foreign = append(done, intervals...), append(foreign, open...)
	}
	for _, e := range foreign {
		if p.leaveForeignOpen(e) {
			done = append(done, e)
		}
	}
	return done
}

// groupEdges takes the events that are whole from those that are edges, and groups the latter by
// their spans, in the order of their first edges. The whole ones are in the slice of the events,
// with room for all others.
func (p *pairer) groupEdges(events []*event.Event) (whole []*event.Event, groups [][]*event.Event) {
	whole = events[:0]
	places, sizes := make(map[group]int32, p.edges), []int32(nil)
	edges := make([]*event.Event, 0, p.edges)
	of := make([]int32, 0, p.edges) // by edge: the place of its group
	for _, e := range events {
		if e.Span.Key == "" {
			whole = append(whole, e)
			continue
		}
		g := group{e.Span.Key, e.Start.Known}
		i, known := places[g]
		if !known {
			i, sizes = int32(len(sizes)), append(sizes, 0)
			places[g] = i
		}
		sizes[i]++
		edges, of = append(edges, e), append(of, i)
	}
	rest := make([]*event.Event, len(edges)) // of all groups
	groups = make([][]*event.Event, len(sizes))
	for i, size := range sizes {
		groups[i], rest = rest[:0:size], rest[size:]
	}
	for i, e := range edges {
		groups[of[i]] = append(groups[of[i]], e)
	}
	return whole, groups
}

// group is the edges of one span. Those without a time are paired among themselves, line by line.
type group struct {
	key   string
	dated bool
}

func newPairer(events []*event.Event, coverage []Coverage) *pairer {
	p := &pairer{
		logEnd: map[string]time.Time{}, ends: map[string]time.Time{},
		alive: map[process]time.Time{}, latest: map[process]*event.Event{}, closed: map[event.Pos]*event.Event{},
	}
	for _, e := range events {
		if e.Span.Edge != event.Whole {
			p.logEnd[e.Pos().File] = time.Time{} // of the other files nothing is asked
		}
	}
	for i := range coverage {
		c := &coverage[i]
		if end, asked := p.logEnd[c.File]; asked {
			p.logEnd[c.File] = laterTime(end, laterTime(c.End, c.Asked))
		}
	}
	for _, e := range events { // in the order of time
		if e.Span.Edge == event.Whole || e.Start.IsZero() {
			continue
		}
		w := process{e.Pos().File, spanClass(e.Span.Key), e.IDs.PID}
		p.alive[w] = e.Start.T
		p.latest[process{file: w.file, class: w.class}] = e
		if p.edges++; e.Span.Edge == event.End {
			p.ends[w.class] = laterTime(p.ends[w.class], laterTime(e.Start.T, p.logEnd[w.file]))
		}
	}
	return p
}

// laterTime is the later of two moments. A zero time is none.
func laterTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.After(a) {
		return b
	}
	return a
}

// spanClass is the part of a span's key that says what lasts: "cri" of
// "cri/UpdateContainerResources/<id>".
func spanClass(key string) string {
	c, _, _ := strings.Cut(key, "/")
	return c
}

// latestMoment is the latest time that the stamp of an edge allows. An end that is stamped to the
// second can be after a begin with a fraction of that second.
func latestMoment(e *event.Event) time.Time {
	if e.Span.Edge == event.End && e.Start.Prec > 0 {
		return e.Start.T.Add(e.Start.Prec - 1)
	}
	return e.Start.T
}

// pairKey pairs the edges of one key. Begins that wait for another program's end are returned in
// foreign.
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
		case e.Span.State && len(open) > 0 && e.Span.Edge == event.Begin && isOfOtherProcess(open[0], e):
			intervals, open = append(intervals, p.leaveOpen(open[0])), []*event.Event{e}
		case e.Span.Edge == event.End && len(open)+len(intervals) == 0 && slices.Contains(toldByEnd, e.Kind):
			e.Begun, e.End = true, e.Start // its begin was not kept
			intervals = append(intervals, e)
		case e.Span.State && (e.Span.Edge == event.Begin) == (len(open) > 0):
			if len(open) > 0 && slices.Contains(askedAgain, e.Kind) { // asked again while it lasts
				open[0].SetField(event.FieldRepeats.Int(open[0].Count() + 1))
			}
		case e.Span.Edge == event.Begin && e.Span.Foreign:
			// a program that asks again no longer waits for the first answer
			open = []*event.Event{e}
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

// askedAgain are the kinds of states of which it counts how often they were asked for or about
// while they lasted.
var askedAgain = []event.Kind{event.KindCRICall, event.KindDaemonBoot}

// toldByEnd are the kinds of states of which the end alone tells that they were there: other states
// have an end at each start of their program.
var toldByEnd = []event.Kind{event.KindServerSilent}

// maxCall is how long a CRI call lasts at most: its caller gives up after runtimeRequestTimeout, 2
// minutes by default and 15 on AKS.
const maxCall = 16 * time.Minute

// isEndLost says that a begin is so old at a moment that the line of its end must have been lost.
func isEndLost(begin *event.Event, at time.Time) bool {
	return spanClass(begin.Span.Key) == "cri" && begin.Start.Known && at.Sub(begin.Start.T) > maxCall
}

// isOfOtherProcess says that another process wrote the begin than the end, so that they do not
// belong together.
func isOfOtherProcess(begin, end *event.Event) bool {
	return !begin.Span.Foreign && begin.IDs.PID != 0 && end.IDs.PID != 0 && begin.IDs.PID != end.IDs.PID
}

// joinEdges makes begin the interval between two edges. Of a field that both have the end's counts.
func joinEdges(begin, end *event.Event) *event.Event {
	begin.End = end.Start
	if begin.End.T.Before(begin.Start.T) { // within the precision of the end
		begin.End.T = begin.Start.T
	}
	for _, f := range end.Fields {
		begin.SetField(f)
	}
	begin.Level = max(begin.Level, end.Level)
	begin.AddQuotes(end)
	begin.Basis = cmp.Or(begin.Basis, end.Basis)
	return begin
}

// leaveOpen makes an interval of a begin without an end: up to the end of the log or, if another
// process followed, also one that only says that it starts, of its process.
func (p *pairer) leaveOpen(e *event.Event) *event.Event {
	w := process{e.Pos().File, spanClass(e.Span.Key), e.IDs.PID}
	until := p.logEnd[w.file]
	for _, class := range [...]string{w.class, "boot"} {
		last := p.latest[process{file: w.file, class: class}]
		if last != nil && last.Component == e.Component && isOfOtherProcess(e, last) && !last.Start.T.Before(e.Start.T) {
			until = p.alive[w]
		}
	}
	e.Open = true
	if e.Start.Known {
		e.End = event.At(laterTime(e.Start.T, until))
	}
	return e
}

// leaveForeignOpen makes an open interval of a begin that waits for another program's end, up to
// where such an end would have been seen. It says no when the span that began with the same line
// has ended, unless that one only reached its deadline.
func (p *pairer) leaveForeignOpen(e *event.Event) bool {
	until, seen := p.ends[spanClass(e.Span.Key)]
	if twin := p.closed[e.Pos()]; twin != nil {
		if twin.FieldText(event.FieldDeadline) != "true" {
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

// joinWholeIntervals merges lines that give a whole interval into the intervals of the same key:
// those that end at the same time, and open ones that began at the same time.
func joinWholeIntervals(intervals, told []*event.Event) []*event.Event {
	if len(told) == 0 {
		return intervals
	}
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

// joinWholeByEdge merges whole intervals into others that have the same edge, within the precision
// of a stamp. It returns those that are left.
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

// mergeWhole adds to an interval what a line about the whole of it says, first of all the edge that
// was not seen.
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
	addMissingFields(e, told)
	e.AddQuotes(told)
	e.Basis = cmp.Or(e.Basis, told.Basis)
}
