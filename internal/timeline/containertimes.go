package timeline

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// containerTimes are the dated moments of every container, by its id as written. They date the
// stamps of traces, which have the time of day only.
type containerTimes struct {
	moments map[string][]time.Time // in the order of the time of day
	// whole maps the first digits of an id to the longest id that begins with them; to "" where two
	// containers share them.
	whole map[string]string
}

// minID is how many digits of an id are needed to name a container.
const minID = 6

// containerTimesOf are the moments of the containers that the voters of the sequences name.
func containerTimesOf(events []*event.Event, named *sequences) containerTimes {
	l := containerTimes{map[string][]time.Time{}, map[string]string{}}
	wanted := map[string]bool{} // the first digits of ids
	for _, q := range named.of {
		for i := 0; i < len(q.stamps); i += q.stride() {
			if e := q.stamps[i].event; e != nil && len(e.IDs.Container) >= minID {
				wanted[e.IDs.Container[:minID]] = true
			}
		}
	}
	for _, e := range events {
		id := e.IDs.Container
		if len(id) >= minID && e.Start.Known && e.Start.Lacks == 0 && wanted[id[:minID]] {
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

// timesOf returns the moments of a container. Its id can be cut short in one of the places.
func (l containerTimes) timesOf(id string) []time.Time {
	if own := l.moments[id]; own != nil || len(id) < minID {
		return own
	}
	if known := l.whole[id[:minID]]; strings.HasPrefix(known, id) || known != "" && strings.HasPrefix(id, known) {
		return l.moments[known]
	}
	return nil
}

// closeness is how near a sequence is to the known moments of the same containers.
type closeness struct {
	days  int           // by which it must be moved to be nearest
	apart time.Duration // how far the nearest of its events then is from its container's moment
	near  int           // how many events are then within familiar
	ok    bool          // at least one container is known
	// firm says that most events of known containers are then within familiar, of two containers,
	// at two times.
	firm bool
}

// tally counts the events that are nearest when a sequence is moved by so many days.
type tally struct {
	weight, least int64 // seconds
	near          int
	container     string    // of the first that is near
	at            time.Time // when that was
	two           bool
}

func (t *tally) addVote(off int64, container string, at time.Time) {
	if t.weight == 0 || off < t.least {
		t.least = off
	}
	t.weight += 1 + int64(day/time.Second)/2 - off
	if off > int64(familiar/time.Second) {
		return
	}
	if t.near++; t.near == 1 {
		t.container, t.at = container, at
	}
	t.two = t.two || container != t.container && at.Sub(t.at).Abs() > 2*familiar
}

// maxVotes bounds the stamps of a sequence that are compared.
const maxVotes = 10_000

// stride is from one stamp that votes to the next: voters are spread over the whole sequence.
func (q *sequence) stride() int { return 1 + len(q.stamps)/maxVotes }

// measureCloseness finds by how many days a sequence must be moved so that its events are nearest
// to the known moments of the same containers. Every event votes; the nearer it is, the more its
// vote counts. Stamps with a date are not moved.
func (l containerTimes) measureCloseness(q *sequence, z zone, c *cycle) closeness {
	const daySeconds = int64(day / time.Second)
	votes := map[int]*tally{}
	all := 0
	for i := 0; i < len(q.stamps); i += q.stride() {
		s := &q.stamps[i]
		if s.event == nil {
			continue
		}
		moments := l.timesOf(s.event.IDs.Container)
		if len(moments) == 0 {
			continue
		}
		all++
		local := q.timeAt(&daily, i, 0)
		if c != &daily {
			local = s.main.T // its carry counts years
		}
		instant := local.Add(-z.offsetOfLocal(local))
		// 2000 years do not fit a time.Duration
		ahead := nearestInDay(moments, instant).Unix() - instant.Unix()
		n := int(math.Round(float64(ahead) / float64(daySeconds)))
		if c == &always && n != 0 {
			continue
		}
		if votes[n] == nil {
			votes[n] = &tally{}
		}
		votes[n].addVote(max(ahead-int64(n)*daySeconds, int64(n)*daySeconds-ahead), s.event.IDs.Container, instant)
	}
	most, at := int64(0), closeness{}
	for _, n := range slices.Sorted(maps.Keys(votes)) {
		if v := votes[n]; v.weight > most {
			most, at = v.weight, closeness{
				days: n, apart: time.Duration(v.least) * time.Second, near: v.near, ok: true,
				firm: v.two && 2*v.near > all,
			}
		}
	}
	return at
}

// nearestInDay is the moment whose time of day is nearest to that of t, also across midnight. There
// is at least one moment; they are in the order of the time of day.
func nearestInDay(moments []time.Time, t time.Time) time.Time {
	i, _ := slices.BinarySearchFunc(moments, timeOfDay(t),
		func(m time.Time, d time.Duration) int { return cmp.Compare(timeOfDay(m), d) })
	above, below := moments[i%len(moments)], moments[(i+len(moments)-1)%len(moments)]
	if clockDistance(above, t) < clockDistance(below, t) {
		return above
	}
	return below
}

// clockDistance is how far apart two moments are on a clock of 24 hours.
func clockDistance(a, b time.Time) time.Duration {
	d := (timeOfDay(a) - timeOfDay(b)).Abs()
	return min(d, day-d)
}

// timeOfDay is the time since midnight, UTC.
func timeOfDay(t time.Time) time.Duration { return t.Sub(t.Truncate(day)) }
