package threads

import (
	"cmp"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// Threads of a busy node wait for a disk for a second or two all day long. Of such brief intervals
// that differ in nothing but the thread and the times these are told: the first firstBriefs, and
// then the longest of those that begin within betweenBriefs, which counts the others
// ([event.FieldRepeats]).
const (
	longestBrief  = 10 * time.Second // exclusive; rules ask for more, or for [slowRun]
	firstBriefs   = 32
	betweenBriefs = 20 * time.Second
	maxBriefs     = 4096 // bounds how many different ones are followed
)

// briefKey is what brief intervals have in common.
type briefKey struct {
	comm, syscall, state, function, target, cgroup string
	kernel                                         bool
}

// briefRuns are the brief intervals of one sort.
type briefRuns struct {
	told    int
	longest *event.Event // of those that are not told yet; nil for none
	from    time.Time    // when the first of them began
	count   int          // how many they are
}

// countsRun counts a run from a time on, of that length, as one of those that are not told yet.
// It is false where the run has to be told, now or later.
func (b *briefRuns) countsRun(from time.Time, length time.Duration) bool {
	if b.longest == nil || from.Before(b.from) || from.Sub(b.from) >= betweenBriefs || length > b.longest.End.T.Sub(b.longest.Start.T) {
		return false
	}
	b.count++
	return true
}

// addRun adds a run that countsRun refused, and appends what is to be told now.
func (b *briefRuns) addRun(dst []event.Event, e *event.Event) []event.Event {
	if b.told < firstBriefs {
		b.told++
		return append(dst, *e)
	}
	if from := e.Start.T; b.longest == nil || from.Before(b.from) || from.Sub(b.from) >= betweenBriefs {
		dst = b.appendLongest(dst)
		b.from = from
	}
	b.longest = e
	b.count++
	return dst
}

// appendLongest tells the longest of those that were not told.
func (b *briefRuns) appendLongest(dst []event.Event) []event.Event {
	if b.longest == nil {
		return dst
	}
	if b.count > 1 {
		b.longest.AddFields(event.FieldRepeats.Int(b.count))
	}
	dst = append(dst, *b.longest)
	b.longest, b.count = nil, 0
	return dst
}

// briefsOf are the brief intervals that a run is one of; nil for one that is not brief, or where
// too many are followed.
func (t *Samples) briefsOf(s *samples.Sample, function string, length time.Duration) *briefRuns {
	if length >= longestBrief {
		return nil
	}
	key := briefKey{s.Comm, s.Syscall, s.State, function, s.Target, s.Cgroup, s.Kernel}
	b := t.briefs[key]
	if b == nil && len(t.briefs) < maxBriefs {
		if t.briefs == nil {
			t.briefs = map[briefKey]*briefRuns{}
		}
		b = &briefRuns{}
		t.briefs[key] = b
	}
	return b
}

// appendBriefs tells what is left of all brief intervals.
func (t *Samples) appendBriefs(dst []event.Event) []event.Event {
	told := len(dst)
	for _, b := range t.briefs {
		dst = b.appendLongest(dst)
	}
	slices.SortFunc(dst[told:], func(a, b event.Event) int {
		return cmp.Compare(a.Pos().Line, b.Pos().Line) // one file, and each line is of one thread
	})
	return dst
}
