package picture

import (
	"cmp"
	"time"

	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Dated says whether the picture has a time axis.
func (p *Picture) Dated() bool { return !p.Start.IsZero() }

// Caption says when it happened.
func (p *Picture) Caption() string {
	if !p.Dated() {
		return "in its order; nothing of it is dated"
	}
	return show.Window(timeline.Window{Start: p.Start.Truncate(time.Second), End: p.End.Truncate(time.Second)})
}

// steps of the axis, of which the first is taken that gives few enough marks.
var axisSteps = []time.Duration{
	time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 2 * 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// So many marks leave room for one and a half of their texts between two of them: a text at an end
// of the axis stands beside its mark. A date is longer than a time of day.
const (
	maxMarks    = 7
	maxDayMarks = 5
)

// atEdge is how near to an end, in per cent, a mark has no room for half of its text there on a
// narrow screen.
const atEdge = 8

func (p *Picture) drawAxis() {
	if p.Start.IsZero() {
		return
	}
	span := p.span()
	step := axisSteps[len(axisSteps)-1]
	for _, s := range axisSteps {
		if span/s <= maxMarks && (s < 24*time.Hour || span/s <= maxDayMarks) {
			step = s
			break
		}
	}
	for span/step > maxDayMarks { // decades
		step *= 2
	}
	layout := time.TimeOnly
	if step < time.Second {
		layout = "15:04:05.000"
	} else if step >= 24*time.Hour {
		layout = cmp.Or(show.DayLayout(p.Start), time.TimeOnly)
	}
	for t := p.Start.Truncate(step).Add(step); t.Before(p.End); t = t.Add(step) {
		m := mark{At: t.Sub(p.Start), Text: t.UTC().Format(layout), Anchor: "middle", Minor: len(p.Axis)%2 == 1}
		if x := p.percentOf(m.At); x < atEdge {
			m.Anchor = "start"
		} else if x > 100-atEdge {
			m.Anchor = "end"
		}
		p.Axis = append(p.Axis, m)
	}
}
