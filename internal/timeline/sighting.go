package timeline

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// joinSightings makes one event of what several tools saw of one thread in one call at one time: a
// traced syscall, runs of samples, stacks from /proc and from the kernel's log. Strace has the
// exact begin and end of a call. The others have what the kernel waited for, and show a hang that
// has no end. Where two calls are possible, nothing is joined.
func joinSightings(events []*event.Event) []*event.Event {
	threads, order := map[int][]*event.Event{}, []int(nil)
	for _, e := range events {
		if isSighting(e) {
			if threads[e.IDs.TID] == nil {
				order = append(order, e.IDs.TID)
			}
			threads[e.IDs.TID] = append(threads[e.IDs.TID], e)
		}
	}
	gone := map[*event.Event]bool{}
	for _, tid := range order {
		if seen := threads[tid]; len(seen) > 1 {
			joinThread(seen, gone)
		}
	}
	return removeEvents(events, gone)
}

func isSighting(e *event.Event) bool {
	return e.IDs.TID != 0 && (e.Kind == event.KindThreadSample || e.Kind == event.KindSyscall)
}

// joinThread joins the sightings of one thread: first samples with each other, then with the one
// call that they show.
func joinThread(seen []*event.Event, gone map[*event.Event]bool) {
	slices.SortFunc(seen, compareEvents)
	var calls, runs, near, undated []*event.Event
	for _, e := range seen {
		switch {
		case e.Start.IsZero():
			undated = append(undated, e)
		case e.Kind == event.KindSyscall:
			calls = append(calls, e)
		default:
			near = keepNear(near, e)
			if !joinSameCall(near, e, gone) {
				runs, near = append(runs, e), append(near, e)
			}
		}
	}
	all, next := slices.Clone(calls), 0
	near = nil
	for _, e := range runs { // in the order of their starts, like the calls
		for next < len(calls) && !calls[next].Start.T.After(e.Last().T.Add(farOff)) {
			near = append(near, calls[next])
			next++
		}
		near = keepNear(near, e)
		if !joinSameCall(near, e, gone) {
			all = append(all, e)
		}
	}
	if len(all) > maxNear {
		return // a thread with many calls: nothing says which one was meant
	}
	for _, e := range undated {
		if e.Kind != event.KindSyscall {
			joinSameCall(all, e, gone)
		}
	}
}

// keepNear keeps the last of the events that can show the same call as e.
func keepNear(events []*event.Event, e *event.Event) []*event.Event {
	near := slices.DeleteFunc(events, func(o *event.Event) bool { return o.Last().T.Add(farOff).Before(e.Start.T) })
	return near[max(0, len(near)-maxNear):]
}

// joinSameCall joins e with the one event among others that shows the same call. It returns false
// where there is none.
func joinSameCall(others []*event.Event, e *event.Event, gone map[*event.Event]bool) bool {
	to := findOnlySameCall(others, e)
	if to == nil {
		return false
	}
	mergeSighting(to, e)
	// What the kernel waits for is a fact of its own, beside the call: rules ask samples for it.
	gone[e] = to.Kind == e.Kind || e.FieldText(event.FieldWaits) == ""
	return true
}

// maxNear bounds the calls of one thread that are compared with one sighting.
const maxNear = 64

// farOff is more than two sightings of one call can be apart: two and a half pauses of a slow
// sampler.
const farOff = 6 * time.Minute

// findOnlySameCall returns the one event that shows the same call as e; nil if there is none, or
// several.
func findOnlySameCall(among []*event.Event, e *event.Event) (found *event.Event) {
	for _, o := range among {
		if !isSameCall(o, e) {
			continue
		}
		if found != nil {
			return nil
		}
		found = o
	}
	return found
}

// isSameCall says whether two events of one thread show one call.
func isSameCall(a, b *event.Event) bool {
	if a.IDs.PID != 0 && b.IDs.PID != 0 && a.IDs.PID != b.IDs.PID {
		return false
	}
	if !b.Start.IsZero() && !isAtSameTime(a, b) { // of the calls of a thread most lie at other times
		return false
	}
	for _, key := range [...]event.Key{event.FieldName, event.FieldNumber, event.FieldCallID} {
		if x, y := a.FieldText(key), b.FieldText(key); x != "" && y != "" && x != y {
			return false
		}
	}
	if x, y := a.FieldText(event.FieldComm), b.FieldText(event.FieldComm); x != "" && y != "" &&
		!strings.HasPrefix(x, y) && !strings.HasPrefix(y, x) {
		return false // xcapture 1 cuts names
	}
	x, y := a.FieldText(event.FieldState), b.FieldText(event.FieldState)
	if x != "" && y != "" && (x == "D") != (y == "D") {
		return false
	}
	named := a.FieldText(event.FieldName) != "" && a.FieldText(event.FieldName) == b.FieldText(event.FieldName)
	if b.Start.IsZero() {
		return named
	}
	// A stack alone does not show the call. A thread in state D is in only one.
	inDisk := cmp.Or(x, "D") == "D" && cmp.Or(y, "D") == "D"
	return named || inDisk
}

// isAtSameTime says whether the times of two events fit one call.
func isAtSameTime(a, b *event.Event) bool {
	if b.Start.T.Before(a.Start.T) {
		a, b = b, a
	}
	slack := max(a.Start.Prec, b.Start.Prec, a.Last().Prec, b.Last().Prec)
	if a.Open && b.Begun && a.Kind == b.Kind { // a sampler that continues in its next file
		slack = max(slack, 2*samplePause(a)+samplePause(a)/2)
	}
	if b.Start.T.After(a.Last().T.Add(slack)) {
		return false
	}
	// An exact interval bounds a sampled one.
	for _, pair := range [...][2]*event.Event{{a, b}, {b, a}} {
		exact, other := pair[0], pair[1]
		most := max(slack, samplePause(other), time.Second)
		if hasExactEnd(exact) && other.Last().T.After(exact.End.T.Add(most)) ||
			hasExactStart(exact) && other.Start.T.Before(exact.Start.T.Add(-most)) {
			return false
		}
	}
	return true
}

// samplePause is how far apart the samples of a run are. It is 0 when the event is no run.
func samplePause(e *event.Event) time.Duration {
	pause, _ := e.FieldDuration(event.FieldEvery)
	return pause
}

// hasExactStart and hasExactEnd say that the edge itself was seen, not only a moment inside the
// interval.
func hasExactStart(e *event.Event) bool { return !e.Begun && !e.End.IsZero() }

func hasExactEnd(e *event.Event) bool {
	_, bounded := e.Get(event.FieldMost)
	return !e.Open && !e.End.IsZero() && !bounded
}

// mergeSighting adds to e what another event shows of the same call.
func mergeSighting(e, other *event.Event) {
	sources := cmp.Or(e.FieldText(event.FieldSeenBy), e.Source)
	if !slices.Contains(strings.Split(sources, ", "), other.Source) {
		sources += ", " + other.Source
	}
	exact := hasExactEnd(e) || hasExactEnd(other)
	samples := e.FieldInt(event.FieldSamples) + other.FieldInt(event.FieldSamples)
	every := max(samplePause(e), samplePause(other))
	if !other.Start.IsZero() {
		joinIntervals(e, other)
	}
	addMissingFields(e, other)
	if e.FieldText(event.FieldNetlink) != other.FieldText(event.FieldNetlink) {
		e.SetField(event.FieldNetlink.Bool(true))
	}
	e.SetField(event.FieldReturned.Bool(!e.Open))
	e.SetField(event.FieldSamples.Int(samples))
	e.SetField(event.FieldSeenBy.Text(sources))
	boundDuration(e, every, exact)
	e.IDs.PID, e.IDs.Container = cmp.Or(e.IDs.PID, other.IDs.PID), cmp.Or(e.IDs.Container, other.IDs.Container)
	if e.Component == "process" {
		e.Component = other.Component
	}
	e.Evidence = slices.Clone(e.Evidence)
	for _, q := range other.Evidence {
		if !slices.Contains(e.Evidence, q) {
			e.Evidence = append(e.Evidence, q)
		}
	}
	if e.Kind == event.KindSyscall {
		state := e.FieldText(event.FieldState)
		e.Text = fmt.Sprintf("%s in thread %d, state %s in %d samples",
			e.FieldText(event.FieldName), e.IDs.TID, cmp.Or(state, "unknown"), samples)
		if e.Open {
			e.Text += ", has not returned"
		}
	}
}

// joinIntervals makes e the interval of both: exact edges where one of them has one, else the
// widest interval that both prove.
func joinIntervals(e, other *event.Event) {
	if e.End.IsZero() && other.End.IsZero() && e.Start.T.Equal(other.Start.T) {
		return // one moment
	}
	last, otherLast := e.Last(), other.Last()
	switch {
	case hasExactStart(e):
	case hasExactStart(other) || other.Start.T.Before(e.Start.T):
		e.Start, e.Begun, e.Basis = other.Start, !hasExactStart(other), cmp.Or(e.Basis, other.Basis)
	default:
		e.Begun = true
	}
	switch {
	case hasExactEnd(e):
		return
	case hasExactEnd(other):
		e.End, e.Open = other.End, false
	case otherLast.T.After(last.T):
		e.End, e.Open = otherLast, other.Open || other.End.IsZero()
	default:
		e.End = last
	}
}

// boundDuration sets how long the call lasted at most, where only samples show its end.
func boundDuration(e *event.Event, every time.Duration, exact bool) {
	if _, bounded := e.Get(event.FieldMost); !bounded {
		return
	}
	if exact {
		e.Fields = slices.DeleteFunc(slices.Clone(e.Fields),
			func(f event.Field) bool { return f.Key == event.FieldMost })
		return
	}
	most := e.Duration() + every
	if e.Begun {
		most += every
	}
	e.SetField(event.FieldMost.Duration(most))
}

// leastSamples is how many samples must lack a thread: the last walk over /proc can be cut.
const leastSamples = 3

// markReturned marks the processes of a listing that are in state D there and not in the samples of
// all threads beside it: they slept for a moment, as whoever reads a disk does.
func markReturned(events []*event.Event, coverage []Coverage) {
	sampled := map[string]Window{} // by directory
	for i := range coverage {
		if c := &coverage[i]; c.Samples >= leastSamples {
			sampled[path.Dir(c.File)] = Window{Start: c.Start, End: c.End}
		}
	}
	if len(sampled) == 0 {
		return
	}
	stuck := map[int]bool{} // by process
	var listed []*event.Event
	for _, e := range events {
		switch {
		case !strings.HasPrefix(e.FieldText(event.FieldState), "D"):
		case e.Kind == event.KindThreadSample:
			stuck[e.IDs.PID], stuck[e.IDs.TID] = true, true
		case e.Kind == event.KindProcess:
			listed = append(listed, e)
		}
	}
	for _, e := range listed {
		w, beside := sampled[path.Dir(e.Pos().File)]
		if beside && !stuck[e.IDs.PID] && (e.End.IsZero() || isNearWindow(e.End.T, w)) {
			e.SetField(event.FieldReturned.Bool(true))
		}
	}
}

// isNearWindow says that a listing was written when samples were taken, or right before or after.
func isNearWindow(t time.Time, w Window) bool {
	return !t.Before(w.Start.Add(-time.Minute)) && !t.After(w.End.Add(time.Minute))
}
