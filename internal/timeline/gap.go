package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// maxGaps bounds the gaps of one source. Further ones are merged into the last one.
const maxGaps = 1000

// findGaps adds gaps to the coverage: what writers say they dropped (events of kind log.loss), the
// times in which the machine slept, the end of files that were cut, and the part of a stall before
// a log begins.
func findGaps(tl *Timeline, events []*event.Event, sources []*Source) {
	for _, e := range events {
		switch e.Kind {
		case event.KindLoss:
			tl.addLoss(e)
		case event.KindSuspend:
			if e.Duration() > 0 {
				tl.addGap(func(*Coverage) bool { return true },
					Gap{Window{e.Start.T, e.End.T}, "the machine slept", e.Evidence})
			}
		}
	}
	for i := range tl.Coverage { // in the order of sources
		c := &tl.Coverage[i]
		if sources[i].Cut != "" && !c.End.IsZero() {
			c.Gaps = append(c.Gaps, Gap{Window{Start: c.End}, "the file is cut off: " + sources[i].Cut, nil})
		}
	}
	tl.addLateStarts()
	for i := range tl.Coverage {
		c := &tl.Coverage[i]
		slices.SortStableFunc(c.Gaps, func(a, b Gap) int {
			return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End), strings.Compare(a.Reason, b.Reason))
		})
		c.Gaps = mergeGaps(c.Gaps)
	}
}

// addLoss adds a gap to every source that an event of kind log.loss is about.
func (tl *Timeline) addLoss(e *event.Event) {
	of, file := e.FieldText(event.FieldOf), e.Pos().File
	anywhere := e.FieldText(event.FieldAnywhere) == "true"
	takes := func(c *Coverage) bool {
		if of != "" && c.Source != of+".log" {
			return false
		}
		return c.File == file || e.FieldText(event.FieldReach) == "node" && strings.HasSuffix(c.Source, ".log")
	}
	gap := Gap{Reason: e.Text, Evidence: e.Evidence}
	switch {
	case anywhere || e.Start.IsZero(): // somewhere in it
		for i := range tl.Coverage {
			if c := &tl.Coverage[i]; takes(c) && c.File == file && !c.Start.IsZero() {
				gap.Window = Window{c.Start, c.End}
				c.Gaps = append(c.Gaps, gap)
			}
		}
		return
	case e.End.IsZero():
		gap.Window = Window{e.Start.T, e.Start.T.Add(e.Start.Prec)}
	default:
		gap.Window = Window{e.Start.T, e.End.T.Add(e.End.Prec)}
	}
	tl.addGap(takes, gap)
}

// addGap adds a gap to every source that takes accepts and that covers a part of it.
func (tl *Timeline) addGap(takes func(*Coverage) bool, g Gap) {
	for i := range tl.Coverage {
		c := &tl.Coverage[i]
		if takes(c) && !c.Start.IsZero() && c.End.After(c.Start) && !g.End.Before(c.Start) && !g.Start.After(c.End) {
			c.Gaps = append(c.Gaps, g)
		}
	}
}

// addLateStarts adds a gap for the part of a stall before the first line of a log, where no other
// file has that part.
func (tl *Timeline) addLateStarts() {
	for i := range tl.Stalls {
		s := &tl.Stalls[i]
		// by source: of the rows that reach into the stall, the one that begins first
		first := map[string]int{}
		for j, c := range tl.Coverage {
			if !strings.HasSuffix(c.Source, ".log") || c.Start.IsZero() || !c.End.After(s.Start) ||
				c.End.Equal(c.Start) {
				continue
			}
			if k, ok := first[c.Source]; !ok || c.Start.Before(tl.Coverage[k].Start) {
				first[c.Source] = j
			}
		}
		for _, j := range first {
			if c := &tl.Coverage[j]; c.Start.After(s.Start) && c.Start.Before(s.End) {
				c.Gaps = append(c.Gaps,
					Gap{Window{s.Start, c.Start}, "the log begins inside the stall", event.FirstMessages(s.Evidence, 1)})
			}
		}
	}
}

// mergeGaps joins adjacent gaps of one reason, and all gaps beyond maxGaps.
func mergeGaps(gaps []Gap) []Gap {
	const meet = time.Second
	var all []Gap
	for _, g := range gaps {
		if n := len(all) - 1; n >= 0 {
			last := &all[n]
			known := !last.End.IsZero() && !g.End.IsZero()
			if known && last.Reason == g.Reason && g.Start.Sub(last.End) <= meet || len(all) == maxGaps {
				last.End = laterTime(last.End, g.End)
				if known && len(last.Evidence) < maxGapLines {
					last.Evidence = append(slices.Clip(last.Evidence), g.Evidence...)
				}
				continue
			}
		}
		all = append(all, g)
	}
	return all
}

// maxGapLines bounds the lines that are quoted for one gap.
const maxGapLines = 4

// Overlaps says whether lines can be missing between two moments.
func (g *Gap) Overlaps(start, end time.Time) bool {
	return !g.Start.After(end) && (g.End.IsZero() || !g.End.Before(start))
}

// SharedGap is one gap, and the sources that it is in.
type SharedGap struct {
	Gap
	Sources []string // "kubelet.log"
	Files   []string
}

// Gaps lists what is missing from the logs, in the order of time: one row for all sources with the
// same gap.
func (tl *Timeline) Gaps() []SharedGap {
	type key struct {
		Window
		reason string
	}
	var all []SharedGap
	known := map[key]int{}
	for _, c := range tl.Coverage {
		for _, g := range c.Gaps {
			k := key{g.Window, g.Reason}
			n, ok := known[k]
			if !ok {
				n = len(all)
				known[k] = n
				all = append(all, SharedGap{Gap: g})
			}
			shared := &all[n]
			if c.Source != "" && !slices.Contains(shared.Sources, c.Source) {
				shared.Sources = append(shared.Sources, c.Source)
			}
			if !slices.Contains(shared.Files, c.File) {
				shared.Files = append(shared.Files, c.File)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b SharedGap) int { return a.Start.Compare(b.Start) })
	return all
}
