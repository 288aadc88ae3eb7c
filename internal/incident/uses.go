package incident

import (
	"iter"
	"slices"

	"github.com/plegdiag/plegdiag/internal/event"
)

// countUses counts for every file what came of it: events of the timeline, and findings that cite
// its lines. An event that lines of two files tell counts for both.
func (inc *Incident) countUses() {
	byPath := make(map[string]*File, len(inc.Files))
	for _, f := range inc.Files {
		f.Events, f.Findings = 0, 0
		byPath[f.Path] = f
	}
	for _, e := range inc.Timeline.Events {
		for path := range distinctFiles(e.Evidence) {
			if f := byPath[path]; f != nil {
				f.Events += e.Count()
			}
		}
	}
	for i := range inc.Result.Findings {
		cited := map[*File]bool{}
		for _, step := range inc.Result.Findings[i].Chain {
			for j := range step.Evidence {
				cited[byPath[step.Evidence[j].Pos.File]] = true
			}
		}
		delete(cited, nil)
		for f := range cited {
			f.Findings++
		}
	}
}

// distinctFiles yields each file of the quotes once. An event has a quote or two: a scan is cheaper
// than a set.
func distinctFiles(quotes []event.Quote) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range quotes {
			path := quotes[i].Pos.File
			named := func(q event.Quote) bool { return q.Pos.File == path }
			if !slices.ContainsFunc(quotes[:i], named) && !yield(path) {
				return
			}
		}
	}
}
