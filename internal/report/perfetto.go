package report

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story"
)

// traceEvent is an event of the Trace Event Format, which chrome://tracing and the Perfetto UI read
// ("Trace Event Format", Google, 2016). Times are microseconds.
type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Time     int64          `json:"ts"`
	Length   *int64         `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	ID       string         `json:"id,omitempty"`
	Scope    string         `json:"s,omitempty"`
	Binding  string         `json:"bp,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// Phases of the format.
const (
	phaseName     = "M" // metadata
	phaseSlice    = "X"
	phaseInstant  = "i"
	phaseBegin    = "b" // of an interval that may overlap others on its track
	phaseEnd      = "e"
	phaseFlow     = "s"
	phaseFlowEnds = "f"
)

// Perfetto writes the events for ui.perfetto.dev: a track per component, intervals as asynchronous
// slices (waits for a lock overlap, and slices of one thread must nest), instants, and the chain of
// the root cause as slices of their own with arrows from each step to the next. Undated events have
// no place there and are left out.
func Perfetto(w io.Writer, s *Selection, _ Options) error {
	p := &perfetto{tracks: map[string]int{}}
	p.drawChain(s.Incident.Result.Findings)
	for _, e := range s.Events {
		if !e.Start.IsZero() {
			p.addEvent(e)
		}
	}
	doc := struct {
		Unit   string       `json:"displayTimeUnit"`
		Events []traceEvent `json:"traceEvents"`
	}{"ms", append(p.trackNames(), p.events...)}
	return writeJSONLines(w, func(enc *json.Encoder) error { return enc.Encode(doc) })
}

type perfetto struct {
	tracks map[string]int // process number by component
	order  []string
	events []traceEvent
	ids    int
}

// trackNumber is the process that stands for a component. Numbers begin at 1: 0 is the idle process
// to the UI.
func (p *perfetto) trackNumber(component string) int {
	n, ok := p.tracks[component]
	if !ok {
		p.order = append(p.order, component)
		n = len(p.order)
		p.tracks[component] = n
	}
	return n
}

// chainTrack is where the steps of the root cause stand.
const chainTrack = "root cause"

// drawChain draws the root findings step by step, each on a line of its own, so that slices never
// overlap.
func (p *perfetto) drawChain(fs []story.Finding) {
	line := 0
	for i := range fs {
		if fs[i].Role != language.Root {
			continue
		}
		var before *traceEvent
		for j := range fs[i].Chain {
			step := &fs[i].Chain[j]
			if step.Start.IsZero() {
				continue
			}
			line++
			length := max(step.Duration.Microseconds(), 1)
			slice := traceEvent{
				Name: show.Escape(step.Text, show.MaxQuote), Category: step.Role, Phase: phaseSlice,
				Time: step.Start.UnixMicro(), Length: &length, Process: p.trackNumber(chainTrack), Thread: line,
				Args: map[string]any{
					"rule": step.Rule, "step": step.ID, "edge": edgeText(step), "evidence": quoteLines(step.Evidence),
				},
			}
			p.events = append(p.events, slice)
			if before != nil {
				p.drawArrow(*before, slice)
			}
			before = &slice
		}
	}
}

// drawArrow draws a flow from one slice to the next. Each end has to lie inside its slice, and time
// runs forward on it: a step that was over before the one it is told after gets none.
func (p *perfetto) drawArrow(from, to traceEvent) {
	if from.Time > to.Time+*to.Length {
		return
	}
	p.ids++
	start := traceEvent{
		Name: "then", Category: "chain", Phase: phaseFlow, ID: strconv.Itoa(p.ids),
		Time: from.Time, Process: from.Process, Thread: from.Thread,
	}
	end := start
	end.Phase, end.Binding, end.Time, end.Thread = phaseFlowEnds, "e", max(to.Time, from.Time), to.Thread
	p.events = append(p.events, start, end)
}

func (p *perfetto) addEvent(e *event.Event) {
	t := traceEvent{
		Name: cmp.Or(show.Escape(e.Text, show.MaxQuote), string(e.Kind)), Category: string(e.Kind),
		Phase: phaseInstant, Scope: "p", Time: e.Start.T.UnixMicro(), Process: p.trackNumber(e.Component), Thread: e.IDs.TID,
		Args: map[string]any{"kind": string(e.Kind), "evidence": quoteLines(e.Evidence)},
	}
	maps.Copy(t.Args, newEventRow(e).IDs)
	if e.Basis != "" {
		t.Args["time"] = e.Basis
	}
	if e.Duration() < time.Microsecond {
		p.events = append(p.events, t)
		return
	}
	p.ids++
	t.Phase, t.Scope, t.ID = phaseBegin, "", strconv.Itoa(p.ids)
	if e.Open {
		t.Args["end"] = "not seen"
	}
	end := t
	end.Phase, end.Time, end.Args = phaseEnd, e.End.T.UnixMicro(), nil
	p.events = append(p.events, t, end)
}

// quoteLines are "path:line  text" of at most as many lines as one looks at.
func quoteLines(all []event.Quote) []string {
	var lines []string
	for _, q := range all[:min(len(all), 4)] {
		lines = append(lines, show.Escape(q.Pos.String(), show.MaxQuote)+"  "+show.Escape(q.Text, show.MaxQuote))
	}
	return lines
}

// trackNames are the metadata that name the tracks and put them into the order of the lanes.
func (p *perfetto) trackNames() []traceEvent {
	var all []traceEvent
	for i, component := range p.order {
		pid := i + 1
		place := slices.Index(lanes, component) + 1
		switch {
		case component == chainTrack:
			place = 0
		case place == 0:
			place = len(lanes) + pid
		}
		describe := func(what, key string, value any) {
			all = append(all, traceEvent{Name: what, Phase: phaseName, Process: pid, Args: map[string]any{key: value}})
		}
		describe("process_name", "name", cmp.Or(show.Escape(component, show.MaxCell), "unknown"))
		describe("process_sort_index", "sort_index", place)
	}
	return all
}
