package timeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// lives are the dated moments of every container, by its id as written. They
// date the stamps of traces, which show the time of day only.
type lives struct {
	moments map[string][]time.Time // in the order of the time of day
	// whole maps the first digits of an id to the longest id that begins so; to
	// nothing where two containers share them.
	whole map[string]string
}

// minID is the shortest piece of an id that names a container.
const minID = 6

func livesOf(events []*event.Event) lives {
	l := lives{map[string][]time.Time{}, map[string]string{}}
	for _, e := range events {
		if id := e.IDs.Container; len(id) >= minID && e.Start.Known && e.Start.Lacks == 0 {
			l.moments[id] = append(l.moments[id], e.Start.T)
		}
	}
	for id, moments := range l.moments {
		slices.SortFunc(moments, func(a, b time.Time) int {
			return cmp.Or(cmp.Compare(timeOfDay(a), timeOfDay(b)), a.Compare(b))
		})
		known, seen := l.whole[id[:minID]]
		switch {
		case !seen || known != "" && strings.HasPrefix(id, known):
			l.whole[id[:minID]] = id
		case !strings.HasPrefix(known, id):
			l.whole[id[:minID]] = ""
		}
	}
	return l
}

// of returns the moments of a container, whose id may be cut short here or there.
func (l lives) of(id string) []time.Time {
	if own := l.moments[id]; own != nil || len(id) < minID {
		return own
	}
	if known := l.whole[id[:minID]]; strings.HasPrefix(known, id) || known != "" && strings.HasPrefix(id, known) {
		return l.moments[known]
	}
	return nil
}

// days is how many days a sequence has to be moved for its events to lie nearest
// to what is known of the same containers. Every event votes, the closer
// the more; ok is false when none can. Apart is how far the nearest of them then lies from its container's moment.
func (l lives) days(q *sequence, z zone) (days int, apart time.Duration, ok bool) {
	const daySeconds = int64(day / time.Second)
	votes, nearest := map[int]int64{}, map[int]int64{}
	for i := range q.stamps {
		s := &q.stamps[i]
		if s.event == nil {
			continue
		}
		face := q.at(daily, i, 0)
		at := face.Add(-z.offsetAt(face))
		near, found := nearestInDay(l.of(s.event.IDs.Container), at)
		if !found {
			continue
		}
		ahead := near.Unix() - at.Unix() // 2000 years do not fit a time.Duration
		n := floorDiv(ahead+daySeconds/2, daySeconds)
		off := max(ahead-n*daySeconds, n*daySeconds-ahead)
		if _, seen := votes[int(n)]; !seen || off < nearest[int(n)] {
			nearest[int(n)] = off
		}
		votes[int(n)] += daySeconds/2 - off
	}
	most := int64(-1)
	for _, n := range slices.Sorted(maps.Keys(votes)) {
		if votes[n] > most {
			days, most = n, votes[n]
		}
	}
	return days, time.Duration(nearest[days]) * time.Second, most >= 0
}

// nearestInDay is the moment whose time of day is nearest to that of t, around
// midnight too. The moments are in the order of the time of day.
func nearestInDay(moments []time.Time, t time.Time) (time.Time, bool) {
	if len(moments) == 0 {
		return time.Time{}, false
	}
	i, _ := slices.BinarySearchFunc(moments, timeOfDay(t), func(m time.Time, d time.Duration) int { return cmp.Compare(timeOfDay(m), d) })
	above, below := moments[i%len(moments)], moments[(i+len(moments)-1)%len(moments)]
	if aroundClock(above, t) < aroundClock(below, t) {
		return above, true
	}
	return below, true
}

// aroundClock is how far apart two moments show on a clock of 24 hours.
func aroundClock(a, b time.Time) time.Duration {
	d := (timeOfDay(a) - timeOfDay(b)).Abs()
	return min(d, day-d)
}

// timeOfDay is what a clock of 24 hours shows.
func timeOfDay(t time.Time) time.Duration {
	t = t.UTC()
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
