package incident

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Reading is how one line of the inputs was read, and what it counts for.
type Reading struct {
	Pos event.Pos
	// Missing says that the file ends before that line, or that reading did.
	Missing bool
	// Text is the line as written, at most event.MaxRaw bytes of it; empty for an entry of a file that
	// is no text of which no event was made.
	Text string
	File *File
	// Part is what the line was read as: "a line of a log", "goroutine 7 [select] of a dump". It is
	// empty for a line that was not read. From and To are the first and last line of that part.
	Part     string
	From, To int
	// Record is the part where it is a line of a log, else nil; Writer the component that wrote it,
	// empty where none is known.
	Record *event.Record
	Writer string
	// Time is when it was written, zero where that is not known; Basis where its parts come from that
	// were not written, empty where all were.
	Time  event.Time
	Basis string
	Clock *timeline.Clock // of the file; nil where it shows none
	// Events are those of the timeline that were made of the line, Dropped those that are not on it.
	Events  []ReadEvent
	Dropped []DroppedEvent
	Unused  string // why no event was made of it; empty where one was
	Uses    []Use
	Mentions
}

// ReadEvent is an event of the timeline that was made of a line.
type ReadEvent struct {
	*event.Event
	Fits []rules.Fit // the places of rules that take it
}

// DroppedEvent is an event that was made of a line and that is not on the timeline.
type DroppedEvent struct {
	event.Event
	Why string
}

// Use is a line as evidence for or against a rule.
type Use struct {
	Rule, Title string
	Verdict     language.Verdict
	Against     bool
	Text        string // what it shows, or why it speaks against the rule
}

// Mentions are the other parts of an incident that rest on a line.
type Mentions struct {
	Stalls   []timeline.Stall
	Facts    []string // names, in order
	Signs    []story.Sign
	Suspects []story.Suspect
	Harmless []story.Harmless
	Gaps     []timeline.SharedGap
}

// watchesOf are the watches of files, in their order; nil where nothing is watched.
func watchesOf(files []*file) []*lineWatch {
	watches := make([]*lineWatch, len(files))
	for i, f := range files {
		watches[i] = f.watching()
	}
	return watches
}

// explainReadings says how the watched line was read, in every file whose path fits. A path that is
// exactly the one asked for is the only one.
func explainReadings(watches []*lineWatch, o Options, inc *Incident) []Reading {
	var all []Reading
	for i, w := range watches {
		f := inc.Files[i]
		if w == nil {
			w = newWatch(f.Path, o.Watch) // of what was not read
		}
		switch {
		case w == nil:
		case f.Path == o.Watch.File:
			return []Reading{w.explainReading(f, o.Catalog, inc)}
		default:
			all = append(all, w.explainReading(f, o.Catalog, inc))
		}
	}
	return all
}

// explainReading says how the line of a watch was read.
func (w *lineWatch) explainReading(f *File, catalog *language.Catalog, inc *Incident) Reading {
	r := Reading{
		Pos: w.at, File: f, Text: string(lines.TrimReturn(w.text)),
		Part: w.part, From: w.from, To: w.to, Record: w.record, Writer: cmp.Or(w.writer, f.Component),
		Missing: w.at.Line < 1 || w.at.Line > f.Lines,
	}
	if w.record != nil && w.entries {
		r.Text = w.record.Raw
	}
	for i := range inc.Timeline.Clocks {
		if c := &inc.Timeline.Clocks[i]; c.File == w.at.File {
			r.Clock = c
		}
	}
	for _, e := range inc.Timeline.Events {
		if w.isMadeOfLine(e) {
			r.Events = append(r.Events, ReadEvent{e, rules.ListFits(catalog, e)})
		}
	}
	r.addDropped(w.made, inc)
	if r.Part == "" && len(r.Events)+len(r.Dropped) > 0 { // a prompt, of which no reader tells
		r.Part, r.From, r.To = "a line that somebody typed or saw at a prompt", w.at.Line, w.at.Line
	}
	w.resolveTime(&r, f)
	r.addUses(catalog, &inc.Result)
	r.Mentions = listMentions(inc, w.at)
	if len(r.Events)+len(r.Dropped) == 0 {
		r.Unused = w.explainUnused(f)
	}
	return r
}

// addDropped adds the events that were made and that are not on the timeline.
func (r *Reading) addDropped(made []event.Event, inc *Incident) {
	for i := range made {
		e := &made[i]
		kept := func(k ReadEvent) bool { return k.Kind == e.Kind }
		if !slices.ContainsFunc(r.Events, kept) {
			r.Dropped = append(r.Dropped, DroppedEvent{*e, explainDropped(e, inc)})
		}
	}
}

// explainDropped says why an event that was made of a line is not on the timeline under this line.
func explainDropped(e *event.Event, inc *Incident) string {
	for _, k := range inc.Timeline.Events {
		if k.Kind == e.Kind && k.Text == e.Text && k.IDs == e.IDs {
			switch {
			case k.Kind == event.KindNoise:
				return fmt.Sprintf("one of many alike, which are counted in %s", k.Pos())
			case k.Pos().File != e.Pos().File:
				return fmt.Sprintf("the same as %s, which is kept", k.Pos())
			}
			return fmt.Sprintf("joined with %s, which says the same", k.Pos())
		}
	}
	switch {
	case slices.Contains(inc.LeftOut, e.Host):
		return fmt.Sprintf("of node %s, which is not analysed (--node)", e.Host)
	case e.Kind == event.KindCount:
		return "one of many readings of a number: one in ten minutes is kept"
	case e.Span.Edge != event.Whole:
		return "an ordinary call, which begins and ends as it should: only those that fail or last are kept"
	}
	return "an event of the timeline tells it, which quotes other lines"
}

// resolveTime finds out when the line was written: as its events say, or else by the clock of its
// file.
func (w *lineWatch) resolveTime(r *Reading, f *File) {
	if w.record == nil {
		if len(r.Events) > 0 {
			r.Time, r.Basis = r.Events[0].Start, r.Events[0].Basis
		}
		return
	}
	clock := lineClock{start: f.Start}
	if r.Clock != nil {
		clock.Clock = *r.Clock
	}
	for i := range w.dated {
		clock.resolveTime(&w.dated[i])
	}
	if r.Time = clock.resolveTime(w.record); !r.Time.Known {
		return
	}
	r.Basis = clock.basis
	if r.Clock != nil && r.Basis == basisOfFile {
		r.Basis = r.Clock.Basis
	}
}

// explainUnused says why no event was made of a line.
func (w *lineWatch) explainUnused(f *File) string {
	switch {
	case f.Format == "empty":
		return "the file is empty"
	case f.Format == "refused" || f.Format == "link":
		return "the file is not read: " + cmp.Or(f.Err, f.Note)
	case w.at.Line > f.Lines && f.Err != "":
		return "reading ended before it: " + f.Err
	case w.at.Line > f.Lines:
		return fmt.Sprintf("the file has only %d lines", f.Lines)
	case !w.entries && w.isBlank():
		return "the line is blank"
	case f.SetAside && w.record == nil && w.skip == nil, f.SetAside && f.Used == 0:
		return "the file is no evidence of a node: " + f.Format
	case f.Format == "unknown":
		return "the file is of no format that plegdiag reads: " + cmp.Or(f.Err, f.FirstSkip)
	case w.skip != nil:
		return "it was not understood: " + w.skip.Reason
	case w.record != nil && w.record.Lost:
		return "its message is missing: the carrier dropped it"
	case w.record != nil && f.Format == parse.Prose:
		return "the file is prose: what somebody wrote about an incident is no event of it"
	case w.prose:
		return "it stands in prose, of which only lines with the header of a log are read"
	case w.record != nil && !w.record.Wanted:
		return "it holds none of the texts by which plegdiag knows a message"
	case w.record != nil:
		return "it holds a text that plegdiag looks for, and is none of the messages that it knows"
	case w.part != "":
		return "it is read, and shows nothing that is an event"
	}
	return "nothing was read of it"
}

// addUses adds the rules for or against which the result quotes the line.
func (r *Reading) addUses(catalog *language.Catalog, result *story.Result) {
	addUse := func(rule, title string, verdict language.Verdict, against bool, text string, quotes []event.Quote) {
		u := Use{rule, title, verdict, against, text}
		if quotesLine(quotes, r.Pos) && !slices.Contains(r.Uses, u) {
			r.Uses = append(r.Uses, u)
		}
	}
	for i := range result.Findings {
		f := &result.Findings[i]
		for _, s := range f.Chain {
			if s.Rule == f.Rule { // the others are those of links, which are findings themselves
				addUse(f.Rule, f.Title, f.Verdict, false, s.Text, s.Evidence)
			}
		}
		for _, a := range f.Contradictions {
			addUse(f.Rule, f.Title, f.Verdict, true, a.Why, a.Evidence)
		}
	}
	for i := range result.Hypotheses {
		h := &result.Hypotheses[i]
		for _, reason := range h.For {
			addUse(h.Rule, h.Title, h.Verdict, false, reason.Text, reason.Evidence)
		}
		for _, a := range h.Against {
			addUse(h.Rule, h.Title, h.Verdict, true, a.Why, a.Evidence)
		}
	}
	for i := range result.RuledOut {
		d := &result.RuledOut[i]
		title := ""
		if rule := catalog.Rule(d.Rule); rule != nil {
			title = rule.Title
		}
		addUse(d.Rule, title, language.RuledOut, true, d.Why, d.Evidence)
	}
}

// VerdictOf is what became of a rule in an incident.
func (inc *Incident) VerdictOf(rule string) language.Verdict {
	for i := range inc.Result.Findings {
		if f := &inc.Result.Findings[i]; f.Rule == rule {
			return f.Verdict
		}
	}
	for i := range inc.Result.Hypotheses {
		if h := &inc.Result.Hypotheses[i]; h.Rule == rule {
			return h.Verdict
		}
	}
	if slices.ContainsFunc(inc.Result.RuledOut, func(d rules.Dismissed) bool { return d.Rule == rule }) {
		return language.RuledOut
	}
	return language.NotEvaluable
}

// listMentions lists what else rests on a line.
func listMentions(inc *Incident, at event.Pos) (m Mentions) {
	for _, s := range inc.Timeline.Stalls {
		if quotesLine(s.Evidence, at) || quotesLine(s.NotReadyEvidence, at) {
			m.Stalls = append(m.Stalls, s)
		}
	}
	for name, f := range inc.Timeline.Facts {
		if quotesLine(f.Evidence, at) {
			m.Facts = append(m.Facts, name)
		}
	}
	slices.Sort(m.Facts)
	for _, s := range inc.Result.Signs {
		if quotesLine(s.Evidence, at) {
			m.Signs = append(m.Signs, s)
		}
	}
	for _, s := range inc.Result.Suspects {
		if quotesLine(s.Evidence, at) {
			m.Suspects = append(m.Suspects, s)
		}
	}
	for _, h := range inc.Result.Harmless {
		if quotesLine(h.Evidence, at) {
			m.Harmless = append(m.Harmless, h)
		}
	}
	for _, g := range inc.Timeline.Gaps() {
		if quotesLine(g.Evidence, at) {
			m.Gaps = append(m.Gaps, g)
		}
	}
	return m
}
