package timeline

import (
	"slices"

	"github.com/plegdiag/plegdiag/internal/event"
)

// maxCopied bounds the lines of one file of which a copy is looked for: a zone is clear after a few.
const maxCopied = 512

// copiedLines finds, for files whose stamps lack something, lines that exactly one other line of the
// bundle repeats with a full stamp: /var/log/messages and a journal, a daemon's own log and what
// journald keeps of it. What either says more than once pairs nothing.
func copiedLines(events []*event.Event) map[string][]Pair {
	type original struct {
		*event.Event
		twice bool
	}
	faces := facesByFile(events)
	wanted := map[saying]*original{}
	for _, lines := range faces {
		for _, e := range lines {
			wanted[sayingOf(e)] = &original{}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for _, e := range events {
		if t := writtenAt(e); t.Known && t.Lacks == 0 {
			if o := wanted[sayingOf(e)]; o != nil {
				o.twice, o.Event = o.Event != nil, e
			}
		}
	}
	pairs := map[string][]Pair{}
	for file, lines := range faces {
		times := map[saying]int{}
		for _, e := range lines {
			times[sayingOf(e)]++
		}
		for _, e := range lines {
			if o := wanted[sayingOf(e)]; o.Event != nil && !o.twice && times[sayingOf(e)] == 1 && event.Plausible(writtenAt(o.Event).T) {
				pairs[file] = append(pairs[file], Pair{Face: writtenAt(e), True: writtenAt(o.Event).T.UTC()})
			}
		}
		slices.SortStableFunc(pairs[file], func(a, b Pair) int { return a.True.Compare(b.True) })
	}
	return pairs
}

// facesByFile are lines without zone or year, some of each file.
func facesByFile(events []*event.Event) map[string][]*event.Event {
	faces := map[string][]*event.Event{}
	for _, e := range events {
		if t := writtenAt(e); t.Known && t.Lacks != 0 && t.Lacks&(event.LacksDate|event.LacksBoot) == 0 && e.Text != "" {
			if f := e.Pos().File; len(faces[f]) < maxCopied {
				faces[f] = append(faces[f], e)
			}
		}
	}
	return faces
}

// writtenAt is the stamp of the line that an event was made of: of an interval that a log tells, its end.
func writtenAt(e *event.Event) event.Time { return e.Last() }
