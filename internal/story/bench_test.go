package story

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story/node"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// flapping is a timeline of a node that stalls every ten minutes, with so many events in each
// stall, of as many containers, half of which speak against theirs.
func flapping(stalls, eventsOfEach int) *timeline.Timeline {
	tl := &timeline.Timeline{}
	for i := range stalls {
		s := stall()
		shift := time.Duration(i) * 10 * time.Minute
		s.Start, s.End, s.NotReady = s.Start.Add(shift), s.End.Add(shift), s.NotReady.Add(shift)
		tl.Stalls = append(tl.Stalls, s)
		for j := range eventsOfEach {
			seconds := shift.Seconds() + 10 + 170*float64(j)/float64(eventsOfEach)
			e := event.Event{Kind: "containerd.created", Start: at(seconds)}
			if j%2 == 0 {
				e = event.Event{Kind: "kubelet.cri-error", Start: at(seconds), Fields: []event.Field{
					{Key: "method", Value: event.String("ContainerStatus")}, {Key: "deadline", Value: event.Bool(true)},
				}}
			}
			e.IDs.Container = fmt.Sprintf("%012x%s", uint64(j+1)*0x9e3779b97f4a7c15>>16, idA[12:])
			tl.Events = append(tl.Events, &e)
		}
	}
	return tl
}

// BenchmarkTell shows how the time grows with the stalls at the same number of events, with the
// events of each, and with both: ns/event should stay what it is.
func BenchmarkTell(b *testing.B) {
	for _, size := range []struct{ stalls, events int }{{1, 1000}, {1, 100_000}, {10, 10_000}, {100, 1000}, {1000, 100}, {100, 100}, {100, 10_000}} {
		b.Run(fmt.Sprintf("stalls=%d/events=%d", size.stalls, size.events), func(b *testing.B) {
			tl := flapping(size.stalls, size.events)
			b.ReportAllocs()
			for b.Loop() {
				require.NotEmpty(b, Tell(&language.Catalog{}, tl, node.Find(tl), rules.Result{}).Suspects)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(tl.Events)), "ns/event")
		})
	}
}

// TestStallsAreLookedUp: an event is compared with the stalls near it, not with all of them.
func TestStallsAreLookedUp(t *testing.T) {
	tl := flapping(1000, 1)
	x := newStallIndex(tl.Stalls)
	compared := 0
	for i := range tl.Stalls {
		w := timeline.Window{Start: tl.Stalls[i].Start, End: tl.Stalls[i].End}
		found := x.findNear(w, func(s *timeline.Stall) bool {
			compared++
			return s.MayHaveCause(w, false)
		})
		require.Equal(t, []int{i}, found)
	}
	require.LessOrEqual(t, compared, 3*len(tl.Stalls))
}

// TestIndexAgreesWithEveryStall: what the index finds is what asking every stall finds.
func TestIndexAgreesWithEveryStall(t *testing.T) {
	stalls := flapping(20, 1).Stalls
	stalls[4].End = stalls[9].End // overlaps others
	x := newStallIndex(stalls)
	for seconds := -600.0; seconds < 13_000; seconds += 59 {
		for _, lasts := range []float64{0, 60, 2000} {
			w := timeline.Window{Start: at(seconds).T, End: at(seconds + lasts).T}
			var caused, open, symptom []int
			inside := false
			for i := range stalls {
				s := &stalls[i]
				if s.MayHaveCause(w, false) {
					caused = append(caused, i)
				}
				if s.MayHaveCause(w, true) {
					open = append(open, i)
				}
				if s.MayHaveSymptom(w) {
					symptom = append(symptom, i)
				}
				inside = inside || !w.Start.Before(s.Start) && !w.Start.After(s.End)
			}
			require.Equal(t, caused, x.findCausedBy(w, false))
			require.Equal(t, open, x.findCausedBy(w, true))
			require.Equal(t, symptom, x.findWithSymptom(w))
			require.Equal(t, inside, x.coversMoment(w.Start))
		}
	}
}
