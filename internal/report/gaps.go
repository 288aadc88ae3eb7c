package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// gapLine is one gap, and the sources that it is in.
type gapLine struct {
	timeline.Gap
	Sources []string // "kubelet.log"
	Files   []string
}

// gaps lists what is missing from the logs, in the order of time.
func gaps(inc *incident.Incident) []gapLine {
	if inc.Timeline == nil {
		return nil
	}
	type key struct {
		timeline.Window
		reason string
	}
	var all []*gapLine
	known := map[key]*gapLine{}
	for _, c := range inc.Timeline.Coverage {
		for _, g := range c.Gaps {
			k := key{g.Window, g.Reason}
			l := known[k]
			if l == nil {
				l = &gapLine{Gap: g}
				known[k] = l
				all = append(all, l)
			}
			if c.Source != "" && !slices.Contains(l.Sources, c.Source) {
				l.Sources = append(l.Sources, c.Source)
			}
			if !slices.Contains(l.Files, c.File) {
				l.Files = append(l.Files, c.File)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *gapLine) int { return a.Start.Compare(b.Start) })
	lines := make([]gapLine, len(all))
	for i, l := range all {
		lines[i] = *l
	}
	return lines
}

// maxGapLines bounds the gaps that are shown for people; JSON has all.
const maxGapLines = 20

// gapTexts are the gaps as sentences.
func gapTexts(all []gapLine) []string {
	var texts []string
	for i := range all {
		if i == maxGapLines {
			return append(texts, fmt.Sprintf("and %s more", plural(len(all)-i, "gap")))
		}
		texts = append(texts, gapText(&all[i]))
	}
	return texts
}

func gapText(l *gapLine) string {
	text := "from " + clock(l.Start) + " on"
	if !l.End.IsZero() {
		text = window(l.Window)
	}
	text += ": " + l.Reason
	switch {
	case len(l.Evidence) > 0:
		text += " (" + l.Evidence[0].Pos.String() + ")"
	case len(l.Files) == 1:
		text += " (" + l.Files[0] + ")"
	}
	if len(l.Sources) > 0 {
		text += "; " + strings.Join(l.Sources, ", ")
	}
	return text
}

func (t *text) gaps(all []gapLine) {
	for _, line := range gapTexts(all) {
		t.para(margin, t.plain, line)
	}
}

type gapRow struct {
	span
	Sources  []string   `json:"sources"`
	Paths    []string   `json:"paths"`
	Reason   string     `json:"reason"`
	Evidence []evidence `json:"evidence"`
}

func newGap(l *gapLine) gapRow {
	return gapRow{span{stamp(l.Start), stamp(l.End)}, list(l.Sources), list(l.Files), l.Reason, each(l.Evidence, newEvidence)}
}
