package incident

import (
	"fmt"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// EpisodeWindow is the time of the episode of that number, counted from 1 in the order of
// story.Result.Episodes: all that lies between the episode before it and the one after it, for a
// cause may be earlier than the first complaint. An end is zero where there is no further episode.
func (inc *Incident) EpisodeWindow(n int) (w timeline.Window, err error) {
	all := inc.Result.Episodes
	if n < 1 || n > len(all) {
		return w, fmt.Errorf("there is no incident %d: the inputs show %d", n, len(all))
	}
	chosen := all[n-1].Window
	if chosen.IsZero() && len(all) > 1 {
		return w, fmt.Errorf("incident %d has no time by which it could be told from the others", n)
	}
	for _, other := range all {
		switch {
		case other.IsZero() || other.Window == chosen:
		case !other.End.After(chosen.Start):
			w.Start = latest(w.Start, other.End.Add(apart))
		case !other.Start.Before(chosen.End) && (w.End.IsZero() || other.Start.Before(w.End)):
			w.End = other.Start.Add(-apart)
		}
	}
	return w, nil
}

// apart keeps what an episode ends or begins with out of the window of another.
const apart = time.Second

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// notLookedAt is why nothing is known outside of a chosen window.
const notLookedAt = "outside of the window that was chosen, and so not looked at"

// restrictTimeline is the timeline inside a window, of which an end may be zero: no limit. What has
// no time stays, and so do facts and clocks, which hold for all of the evidence. Outside of the
// window every source has a gap, so that nothing is taken for absent there.
func restrictTimeline(tl *timeline.Timeline, w timeline.Window) *timeline.Timeline {
	in := &timeline.Timeline{Facts: tl.Facts, Clocks: tl.Clocks, Node: tl.Node}
	for _, e := range tl.Events {
		if e.Start.IsZero() || e.Kind == event.KindFact || overlaps(w, e.Start.T, e.Last().T) {
			in.Events = append(in.Events, e)
		}
	}
	for _, s := range tl.Stalls {
		if overlaps(w, s.Start, s.End) {
			in.Stalls = append(in.Stalls, s)
		}
	}
	for _, c := range tl.Coverage {
		if c.Start.IsZero() {
			in.Coverage = append(in.Coverage, c)
			continue
		}
		if overlaps(w, c.Start, c.End) {
			in.Coverage = append(in.Coverage, restrictCoverage(c, w))
		}
	}
	return in
}

// restrictCoverage cuts a coverage to a window that it overlaps.
func restrictCoverage(c timeline.Coverage, w timeline.Window) timeline.Coverage {
	gaps := slices.DeleteFunc(slices.Clone(c.Gaps), func(g timeline.Gap) bool {
		return !overlaps(w, g.Start, g.End) && !g.End.IsZero()
	})
	if w.Start.After(c.Start) {
		gap := timeline.Gap{Window: timeline.Window{Start: c.Start, End: w.Start}, Reason: notLookedAt}
		gaps = slices.Insert(gaps, 0, gap)
		c.Start = w.Start
	}
	if !w.End.IsZero() && w.End.Before(c.End) {
		gaps = append(gaps, timeline.Gap{Window: timeline.Window{Start: w.End, End: c.End}, Reason: notLookedAt})
		c.End = w.End
	}
	c.Gaps = gaps
	return c
}

// overlaps says whether something that lasted from start to end lies in a window, at least in part.
func overlaps(w timeline.Window, start, end time.Time) bool {
	return (w.End.IsZero() || !start.After(w.End)) && !end.Before(w.Start)
}
