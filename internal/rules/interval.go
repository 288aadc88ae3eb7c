package rules

import (
	"math"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// span is the interval of an event with what is not known about its ends: each
// lies between two moments, in nanoseconds since 1970. An end that was not seen
// has no limit on its far side.
type span struct {
	startLo, startHi, endLo, endHi int64
	dated                          bool
}

// never and ever stand for no limit; their difference still fits an int64.
const (
	never int64 = math.MinInt64 / 2
	ever  int64 = int64(language.NoLimit)
)

func newSpan(e *event.Event) span {
	if e.Start.IsZero() || e.Start.Lacks != 0 || e.Last().Lacks != 0 {
		return span{}
	}
	var s span
	s.dated = true
	s.startLo, s.startHi = boundTime(e.Start)
	s.endLo, s.endHi = boundTime(e.Last())
	if e.Begun {
		s.startLo = earliestBegin(e, s.startLo)
	}
	if e.Open {
		s.endHi = ever
	}
	return s
}

// longestFailing is how long a call of the CRI lasts that fails by anything but its deadline: what
// it waits for answers it. The kubelet itself waits for two minutes, twice that for a sandbox
// (pkg/kubelet/cri, runtimeRequestTimeout), and longer only for the end of a container and for an
// image.
const longestFailing = int64(10 * time.Minute)

// earliestBegin is the earliest moment at which an event can have begun whose begin was not seen.
func earliestBegin(e *event.Event, seen int64) int64 {
	switch method := e.FieldText(event.FieldMethod); {
	case e.Kind != event.KindCRICall || e.FieldText(event.FieldOutcome) != "failed" || e.FieldText(event.FieldDeadline) != "false":
		return never
	case method == "StopContainer" || method == "PullImage":
		return never
	}
	return seen - longestFailing
}

// boundHungTasks bounds the spans of tasks that the kernel's watchdog reports, of which a report
// says only that they have been blocked for longer than so many seconds. It looks at each task
// again after as many, and reports it again until its warnings are used up (kernel/hung_task.c): a
// whole log without an earlier report shows that the task was not blocked much earlier, and one
// that goes on and has none of this task at the next look that it went on, if there are reports
// later or fewer than the warnings.
func (x *index) boundHungTasks() {
	reports := map[fileSource][]int64{}
	var tasks []int32
	for _, ev := range x.kinds[event.KindThreadSample] {
		if x.spans[ev].dated && x.events[ev].FieldText(event.FieldWatchdog) == "true" && x.isDense(x.sourceOf(ev)) {
			tasks = append(tasks, ev)
			from := x.sourceOf(ev)
			reports[from] = append(reports[from], x.spans[ev].endLo)
		}
	}
	for _, times := range reports {
		slices.Sort(times)
	}
	for _, ev := range tasks {
		at := &x.spans[ev]
		v, _ := x.events[ev].Get(event.FieldSeconds)
		seconds, known := v.Number()
		if !known {
			continue
		}
		every := int64(seconds * float64(time.Second))
		if at.startLo == never && x.beginsBefore(x.sourceOf(ev), at.startHi-every) {
			at.startLo = at.startHi - every
		}
		times, next := reports[x.sourceOf(ev)], at.endLo+2*every
		i, _ := slices.BinarySearch(times, next)
		if at.endHi == ever && (i < len(times) || len(times) < HungTaskWarnings && x.readLogs()[x.sourceOf(ev)].end >= next) {
			at.endHi = next
		}
	}
}

// HungTaskWarnings are how many reports the watchdog writes since the boot
// (kernel.hung_task_warnings).
const HungTaskWarnings = 10

// beginsBefore says that a source was read from a moment on, or from an earlier one.
func (x *index) beginsBefore(from fileSource, moment int64) bool {
	return slices.ContainsFunc(x.timeline.Coverage, func(c timeline.Coverage) bool {
		return fileSource{c.File, c.Source} == from && !c.Start.IsZero() && unixNanoseconds(c.Start) <= moment
	})
}

// boundTime are the two moments between which a written time lies.
func boundTime(t event.Time) (lo, hi int64) {
	return unixNanoseconds(t.T), unixNanoseconds(t.T.Add(max(0, t.Prec)))
}

// unixNanoseconds since 1970, held between never and ever: a hostile year must not wrap around.
func unixNanoseconds(t time.Time) int64 {
	switch sec := t.Unix(); {
	case sec <= never/int64(time.Second):
		return never
	case sec >= ever/int64(time.Second):
		return ever
	}
	return t.UnixNano()
}

// order says whether two events lie in time as an edge asks.
type order uint8

const (
	impossible order = iota
	unknown          // one of them has no time
	possible         // their uncertainties leave room for it
	certain
)

// orderTied compares the events of the two steps of a tie. Where one of them has no time, nothing
// shows that the other comes some time later.
func orderTied(e *language.Tie, from, to span) order {
	if !from.dated || !to.dated {
		if e.Measured && e.Min > 0 {
			return impossible
		}
		return unknown
	}
	result := certain
	if e.Measured {
		fromLo, fromHi := from.pointAt(e.FromEnd)
		toLo, toHi := to.pointAt(e.ToEnd)
		result = min(result, orderWithin(toLo-fromHi, toHi-fromLo, int64(e.Min), int64(e.Max)))
	}
	if e.Shared {
		result = min(result, orderOverlap(from, to, int64(e.Overlap)))
	}
	return result
}

// pointAt is the end of an interval or else its start: the two moments between which it lies.
func (s span) pointAt(end bool) (lo, hi int64) {
	if end {
		return s.endLo, s.endHi
	}
	return s.startLo, s.startHi
}

// orderWithin asks whether a value between lo and hi lies in [least, most].
func orderWithin(lo, hi, least, most int64) order {
	switch {
	case lo >= least && hi <= most:
		return certain
	case hi >= least && lo <= most:
		return possible
	}
	return impossible
}

// orderOverlap asks whether two intervals intersect, or miss each other by no more than slack.
func orderOverlap(a, b span, slack int64) order {
	switch {
	case a.startHi <= b.endLo+slack && b.startHi <= a.endLo+slack:
		return certain
	case a.startLo <= b.endHi+slack && b.startLo <= a.endHi+slack:
		return possible
	}
	return impossible
}
