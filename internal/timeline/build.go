package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline/links"
	"github.com/plegdiag/plegdiag/internal/timeline/restarts"
	"github.com/plegdiag/plegdiag/internal/timeline/retold"
	"github.com/plegdiag/plegdiag/internal/timeline/runs"
	"github.com/plegdiag/plegdiag/internal/timeline/scopes"
	"github.com/plegdiag/plegdiag/internal/timeline/waits"
)

// Input is what the observers saw in all files, in any order.
type Input struct {
	Events  []*event.Event // each of them once
	Sources []*Source
}

// Source is one component's part of one file: which time it spans and what it shows about its
// clock.
type Source struct {
	File string
	Name string // "containerd.log", "strace"
	// First and Last are the first and the last stamp of the component in the file; zero when it
	// has none.
	First, Last event.Time
	Lines       int         // dated lines of the component in the file
	Samples     int         // of all threads; 0 for a log
	Level       event.Level // the least serious level seen
	// Foreign says that the program runs in a container. Its clock can show another zone than the
	// node's.
	Foreign bool
	Earlier bool      // it is of a boot before the last one
	Cut     string    // why the end of the file is missing; empty when it is not
	Until   time.Time // when the log was asked for and had no line more; zero when unknown
	// Zones are the offsets from UTC that the component's own stamps carry, each once.
	Zones []Zone
	// Modified is when the file was last written, by the archive that it came in; zero when
	// unknown.
	Modified time.Time
	*Clues   // nil for a source that shows nothing of the kind
}

// Clues are what few sources show about their clocks.
type Clues struct {
	Pairs []Pair
	// Turns are the offsets of the component's own stamps, in the order in which they changed, each
	// with the first moment that has it. Empty when they never changed, or change all the time.
	Turns []Turn
	// Seen are moments at which somebody read the node's clock to make the files: the end of the
	// journal in journalctl's first line, the output of date.
	Seen []event.Time
	// Boots are moments with two stamps: wall clock and time since boot.
	Boots, Told []Boot // Told: the wall clock stands in the words of a line that has no date
}

func (c *Clues) none() bool {
	return c.Pairs == nil && c.Turns == nil && c.Seen == nil && c.Boots == nil && c.Told == nil
}

// noClues are those of all sources that have none.
var noClues Clues

// Zone is an offset from UTC, in seconds east, and how many stamps carry it.
type Zone struct{ Seconds, Stamps int }

// Turn is an offset from UTC, the first moment that was stamped with it, and the last one before
// that, which was stamped with another.
type Turn struct {
	After, From time.Time
	Offset      time.Duration
}

// Boot is one moment by two clocks: the wall clock, and the time since the machine booted.
type Boot struct {
	Uptime time.Duration
	At     event.Time
	Line   int
	// Read says that the time since boot was taken when the line was read, after it was stamped.
	// Otherwise both were taken at one moment, or the wall clock was taken at the reading.
	Read bool
}

// Pair is one moment that is written twice: as a local time, and as a moment in UTC.
type Pair struct {
	Local event.Time
	True  time.Time
	// Late says that Local was written some time after True (a log line about an exit). Otherwise
	// both are the same moment, stamped by two programs.
	Late bool
}

// PairOf is the pair of a moment that was written with the offset of its zone.
func PairOf(at event.Time) Pair {
	_, offset := at.T.Zone()
	local := event.Time{T: at.T.UTC().Add(time.Duration(offset) * time.Second), Prec: at.Prec, Lacks: event.LacksZone, Known: true}
	return Pair{Local: local, True: at.T.UTC()}
}

// Options say what the reader knows about the clocks. They override everything that is inferred,
// but not lines that carry both clocks: such lines prove an option wrong. They are read as they
// are, and Clock.Ignored says so.
type Options struct {
	Zone *time.Location // of stamps without a zone; nil infers it
	Year int            // of the last stamp of every file without years; 0 infers it
}

// Build makes one timeline of the events of all files. The order of the input does not matter.
// Build takes over the events and both slices: it changes them, and the events that stay are those
// of the timeline.
func Build(in Input, o Options) *Timeline {
	for _, s := range in.Sources {
		s.Clues = cmp.Or(s.Clues, &noClues)
	}
	slices.SortFunc(in.Sources,
		func(a, b *Source) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File)) })
	events := in.Events
	tl := &Timeline{Clocks: reconcileClocks(events, in.Sources, o), Coverage: coverageOf(in.Sources)}
	events = dropQuoted(events, tl.Coverage)
	runs.Sort(events, compareEvents)
	events = retold.DropRelief(retold.FoldRestarts(retold.FoldLimits(retold.FoldConditions(retold.FoldCallers(foldCopies(events))))))
	links.NameThreads(events)
	events = joinSightings(pairSpans(events, tl.Coverage))
	markReturned(events, tl.Coverage)
	runs.Sort(events, compareEvents)
	links.LinkGoroutines(events)
	linkShims(events)
	links.LinkPods(events)
	restarted := restarts.Find(events)
	events = restarts.MarkRunning(events)
	restarts.MarkRestarting(events, restarted, tl.endOfFile)
	restarts.EndStarts(events, tl.endOfFile)
	restarts.MarkTriedAgain(events)
	waits.BoundByLog(events, restarted)
	events = joinDumps(events, restarted)
	scopes.MarkAnswered(events)
	tl.Stalls = findStalls(events, tl.Coverage, collectFacts(events)["kubelet.version"].Value)
	markSlowRelists(events, tl.Stalls)
	findGaps(tl, events, in.Sources)
	events = append(append(events, restarted...), restarts.MakeFacts(restarted)...)
	for i := range tl.Stalls {
		events = append(events, tl.Stalls[i].toEvent())
	}
	runs.Sort(events, compareEvents)
	tl.Facts = collectFacts(events)
	tl.Events = events
	return tl
}

// compareEvents is event.Compare. For events of one line it compares everything else, too, so that
// no two different events are equal.
func compareEvents(a, b *event.Event) int {
	if c := event.Compare(a, b); c != 0 {
		return c
	}
	return cmp.Or(a.End.T.Compare(b.End.T), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Source, b.Source),
		cmp.Compare(a.Span.Key, b.Span.Key), cmp.Compare(a.Span.Edge, b.Span.Edge),
		cmp.Compare(a.IDs.Container, b.IDs.Container), cmp.Compare(a.IDs.Sandbox, b.IDs.Sandbox),
		cmp.Compare(a.IDs.Lock, b.IDs.Lock),
		cmp.Compare(a.IDs.Goroutine, b.IDs.Goroutine), cmp.Compare(a.IDs.PID, b.IDs.PID),
		cmp.Compare(a.IDs.TID, b.IDs.TID),
		slices.CompareFunc(a.Fields, b.Fields, func(f, g event.Field) int {
			return cmp.Or(cmp.Compare(f.Key, g.Key), cmp.Compare(f.Value.Text(), g.Value.Text()))
		}),
		slices.CompareFunc(a.Evidence, b.Evidence, func(p, q event.Quote) int {
			return cmp.Or(cmp.Compare(p.Pos.Line, q.Pos.Line), strings.Compare(p.Text, q.Text))
		}))
}

// endOfFile is the last line of a file, of any component, or when it had no more; zero for none.
func (tl *Timeline) endOfFile(file string) (end time.Time) {
	for i := range tl.Coverage {
		if c := &tl.Coverage[i]; c.File == file {
			end = laterTime(end, laterTime(c.End, c.Asked))
		}
	}
	return end
}

// coverageOf makes one row for each file and component, in the order of the sources.
func coverageOf(sources []*Source) []Coverage {
	all := make([]Coverage, 0, len(sources))
	for _, s := range sources {
		c := Coverage{Source: s.Name, File: s.File, Level: s.Level, Lines: s.Lines, Samples: s.Samples, Asked: s.Until}
		if !s.First.IsZero() {
			c.Start, c.End = s.First.T, s.Last.T
			if c.End.Before(c.Start) {
				c.Start, c.End = c.End, c.Start
			}
		}
		all = append(all, c)
	}
	markMixed(all)
	return all
}

// markMixed marks the logs that stand line by line between those of a dense one, for half of its
// time at least.
func markMixed(all []Coverage) {
	dense := map[string]Window{} // by file, the longest
	for i := range all {
		c := &all[i]
		if w, ok := dense[c.File]; c.IsDense() && (!ok || c.End.Sub(c.Start) > w.End.Sub(w.Start)) {
			dense[c.File] = Window{Start: c.Start, End: c.End}
		}
	}
	for i := range all {
		c := &all[i]
		w, ok := dense[c.File]
		if !ok || c.Lines < mixedLines || c.IsDense() {
			continue
		}
		from, until := laterTime(c.Start, w.Start), c.End
		if w.End.Before(until) {
			until = w.End
		}
		c.Mixed = until.Sub(from) >= w.End.Sub(w.Start)/2
	}
}

// collectFacts collects what events say about the node as a whole. Where two lines disagree, the
// later one counts. A line without a time counts only where no log shows what was running: first
// what was asked of a running program, then what is configured, then what is installed.
func collectFacts(events []*event.Event) map[string]Fact {
	known, trust := map[string]Fact{}, map[string]int{}
	for _, e := range events {
		if e.Kind != event.KindFact {
			continue
		}
		name, rank := e.FieldText(event.FieldName), 3
		switch basis := e.FieldText(event.FieldBasis); {
		case basis == "installed":
			rank = 1
		case basis == "configured":
			rank = 2
		case !e.Start.IsZero():
			rank = 4
		}
		if rank < trust[name] {
			continue
		}
		known[name], trust[name] = Fact{Value: e.FieldText(event.FieldValue), Evidence: e.Evidence}, rank
	}
	return known
}
