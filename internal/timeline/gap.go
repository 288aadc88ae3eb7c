package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// maxGaps bounds the gaps of one source; further ones widen the last.
const maxGaps = 1000

// findGaps puts into the coverage what is missing from it: what writers say they
// dropped (events of kind log.loss), the times in which the machine slept, the end of
// files that were cut, and the part of a stall that a log begins too late for.
func findGaps(tl *Timeline, events []*event.Event, sources []Source) {
	for _, e := range events {
		switch e.Kind {
		case "log.loss":
			tl.lose(e)
		case "kernel.suspend":
			if e.Duration() > 0 {
				tl.gap(func(*Coverage) bool { return true }, Gap{Window{e.Start.T, e.End.T}, "the machine slept", e.Evidence})
			}
		}
	}
	for i := range tl.Coverage { // of the sources, in their order
		c := &tl.Coverage[i]
		if sources[i].Cut != "" && !c.End.IsZero() {
			c.Gaps = append(c.Gaps, Gap{Window{Start: c.End}, "the file is cut off: " + sources[i].Cut, nil})
		}
	}
	tl.beginsTooLate()
	for i := range tl.Coverage {
		c := &tl.Coverage[i]
		slices.SortStableFunc(c.Gaps, func(a, b Gap) int {
			return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End), strings.Compare(a.Reason, b.Reason))
		})
		c.Gaps = mergeGaps(c.Gaps)
	}
}

// lose adds a gap to every source that an event of kind log.loss speaks of.
func (tl *Timeline) lose(e *event.Event) {
	of, file := fieldText(e, "of"), e.Pos().File
	anywhere := fieldText(e, "anywhere") == "true"
	takes := func(c *Coverage) bool {
		if of != "" && c.Source != of+".log" {
			return false
		}
		return c.File == file || fieldText(e, "reach") == "node" && strings.HasSuffix(c.Source, ".log")
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
	tl.gap(takes, gap)
}

// gap adds a gap to the sources that it meets, of those that takes says.
func (tl *Timeline) gap(takes func(*Coverage) bool, g Gap) {
	for i := range tl.Coverage {
		c := &tl.Coverage[i]
		if takes(c) && !c.Start.IsZero() && c.End.After(c.Start) && !g.End.Before(c.Start) && !g.Start.After(c.End) {
			c.Gaps = append(c.Gaps, g)
		}
	}
}

// beginsTooLate adds what of a stall lies before the first line of a log, where no other file has it.
func (tl *Timeline) beginsTooLate() {
	for i := range tl.Stalls {
		s := &tl.Stalls[i]
		first := map[string]int{} // by source, the row that begins first of those that reach into the stall
		for j, c := range tl.Coverage {
			if !strings.HasSuffix(c.Source, ".log") || c.Start.IsZero() || !c.End.After(s.Start) || c.End.Equal(c.Start) {
				continue
			}
			if k, ok := first[c.Source]; !ok || c.Start.Before(tl.Coverage[k].Start) {
				first[c.Source] = j
			}
		}
		for _, j := range first {
			if c := &tl.Coverage[j]; c.Start.After(s.Start) && c.Start.Before(s.End) {
				c.Gaps = append(c.Gaps, Gap{Window{s.Start, c.Start}, "the log begins inside the stall", s.Evidence[:min(1, len(s.Evidence))]})
			}
		}
	}
}

// mergeGaps joins gaps of one reason that meet, and what is beyond the bound.
func mergeGaps(gaps []Gap) []Gap {
	const meet = time.Second
	var all []Gap
	for _, g := range gaps {
		if n := len(all) - 1; n >= 0 {
			last := &all[n]
			known := !last.End.IsZero() && !g.End.IsZero()
			if known && last.Reason == g.Reason && g.Start.Sub(last.End) <= meet || len(all) == maxGaps {
				last.End = later(last.End, g.End)
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

// In says whether lines may be missing between two moments.
func (g *Gap) In(start, end time.Time) bool {
	return !g.Start.After(end) && (g.End.IsZero() || !g.End.Before(start))
}

// SharedGap is one gap, and the sources that it is in.
type SharedGap struct {
	Gap
	Sources []string // "kubelet.log"
	Files   []string
}

// Gaps lists what is missing from the logs, in the order of time: one row for all sources with the same gap.
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
