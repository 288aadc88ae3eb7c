package timeline

import (
	"slices"

	"github.com/plegdiag/plegdiag/internal/event"
)

// maxCopied bounds the lines of one file whose copies are searched: a few are enough to show a
// zone.
const maxCopied = 512

// copiedLines finds, for files whose stamps lack something, lines of which exactly one copy in the
// bundle has a full stamp: /var/log/messages and a journal, a daemon's own log and journald's copy
// of it. A text that is in either file more than once makes no pair.
func copiedLines(events []*event.Event) map[string][]Pair {
	type original struct {
		*event.Event
		twice bool
	}
	incomplete := incompleteLinesByFile(events)
	wanted, kinds := map[content]*original{}, map[event.Kind]bool{}
	for _, lines := range incomplete {
		for _, e := range lines {
			wanted[contentOf(e)], kinds[e.Kind] = &original{}, true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for _, e := range events {
		if t := e.Last(); t.Known && t.Lacks == 0 && kinds[e.Kind] {
			if o := wanted[contentOf(e)]; o != nil {
				o.twice, o.Event = o.Event != nil, e
			}
		}
	}
	pairs := map[string][]Pair{}
	for file, lines := range incomplete {
		times := map[content]int{}
		for _, e := range lines {
			times[contentOf(e)]++
		}
		for _, e := range lines {
			if o := wanted[contentOf(e)]; o.Event != nil && !o.twice && times[contentOf(e)] == 1 &&
				event.Plausible(o.Event.Last().T) {
				pairs[file] = append(pairs[file], Pair{Local: e.Last(), True: o.Event.Last().T.UTC()})
			}
		}
		slices.SortStableFunc(pairs[file], func(a, b Pair) int { return a.True.Compare(b.True) })
	}
	return pairs
}

// incompleteLinesByFile returns lines without zone or year, at most maxCopied of each file. A log
// writes an interval at its end.
func incompleteLinesByFile(events []*event.Event) map[string][]*event.Event {
	incomplete := map[string][]*event.Event{}
	for _, e := range events {
		if t := e.Last(); t.Known && t.Lacks != 0 && t.Lacks&(event.LacksDate|event.LacksBoot) == 0 &&
			e.Text != "" {
			if f := e.Pos().File; len(incomplete[f]) < maxCopied {
				incomplete[f] = append(incomplete[f], e)
			}
		}
	}
	return incomplete
}
