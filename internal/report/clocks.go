package report

import (
	"fmt"
	"strings"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

func clocks(inc *incident.Incident) []timeline.Clock {
	if inc.Timeline == nil {
		return nil
	}
	return inc.Timeline.Clocks
}

// maxClockFiles bounds the files named for one assumption: a node has a log for each container.
const maxClockFiles = 3

// clockTexts are what was assumed about times, in sentences: one for all files of which the same was, or, where all are
// asked for, for each.
func clockTexts(cs []timeline.Clock, all bool) []string {
	var order []string
	files := map[string][]string{} // by what was assumed
	for _, c := range cs {
		b := clockBasis(c)
		if files[b] == nil {
			order = append(order, b)
		}
		files[b] = append(files[b], c.File)
	}
	var texts []string
	for _, b := range order {
		switch names := files[b]; {
		case all || len(names) <= maxClockFiles:
			for _, name := range names {
				texts = append(texts, name+": "+b)
			}
		default:
			named := strings.Join(names[:maxClockFiles], ", ")
			texts = append(texts, fmt.Sprintf("%s: %s (%s and %d more, see --verbose)", plural(len(names), "file"), b, named, len(names)-maxClockFiles))
		}
	}
	return texts
}

// clockBasis is what was assumed about the times of a file.
func clockBasis(c timeline.Clock) string {
	text := c.Basis
	if c.Offset != 0 {
		text += ", " + offset(c) + " from UTC"
	}
	if c.Note != "" {
		text += "; " + c.Note
	}
	return text
}

// offset is what was taken from a clock face, as +8h0m0s or -30s.
func offset(c timeline.Clock) string {
	if c.Offset > 0 {
		return "+" + c.Offset.String()
	}
	return c.Offset.String()
}

func (t *text) clocks(cs []timeline.Clock, all bool) {
	for _, line := range clockTexts(cs, all) {
		t.para(margin, t.plain, line)
	}
}
