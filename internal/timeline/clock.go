package timeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// clock is what is known about the stamps of one file.
type clock struct {
	dated bool        // the file has a stamp at all
	lacks event.Lacks // what any of them lacked
	zone  zone
	// year and date say where those come from, and note what a reader should do
	// about it; empty while no stamp lacks them.
	year, date, note string
	// boot says where the moment of the boot comes from; empty while no stamp lacks it.
	boot string
	// booted is that moment, where the file tells of one boot only.
	booted time.Time
	// stepped says what was done about the clock being set.
	stepped string
	moves   []move
	// ignored says which flag the file's lines contradict.
	ignored string
	// twice and never count the stamps in hours that the clock showed twice, and left out.
	twice, never int
	// undated is the first stamp, and its place, that was taken for no time at all; zero when none was.
	undated   time.Time
	undatedAt event.Pos
	// offset is what was taken from the first stamp without a zone, at which time.
	offset time.Duration
	first  time.Time
	bases  [1 << 4]string // of events, by what they lacked
}

// basis says where the parts come from that a stamp lacked; empty when it lacked none.
func (c *clock) basis(lacked event.Lacks) string {
	if lacked == 0 || c.bases[lacked] != "" {
		return c.bases[lacked]
	}
	zone, rest := "", ""
	if lacked&event.LacksZone != 0 {
		zone = c.zone.basis
	}
	switch {
	case lacked&event.LacksBoot != 0:
		rest = c.boot
	case lacked&event.LacksDate != 0:
		rest = c.date
	case lacked&event.LacksYear != 0:
		rest = c.year
	}
	c.bases[lacked] = join(", ", zone, rest)
	return c.bases[lacked]
}

// reconciler turns every stamp of the input into an instant.
type reconciler struct {
	options Options
	zones   zones
	clocks  map[string]*clock
	// What the stamps span that are known in full: those of lines whose writer is known, and all. Both grow while others are resolved.
	written, stamped Window
	modified         map[string]time.Time
	// What lacks the zone only, the year, the date, the boot.
	zoneless, yearless, dateless, bootless sequences
}

// reconcile turns every stamp of the events and sources into an instant, and
// says how, one row per file. Order of trust: what the stamp itself carries, lines
// of the file that are stamped twice, flags, lines that another file holds with a full stamp, the zone that the
// node's other files show unless events of the same containers contradict it, UTC. A year or a date that is missing
// comes from the dated evidence nearest to it, else from the archive, never from today. A time since boot
// is placed by lines that carry both clocks.
func reconcile(events []*event.Event, sources []Source, o Options) []Clock {
	r := &reconciler{
		options: o, zones: countZones(sources, copiedLines(events), o.Zone), clocks: map[string]*clock{}, modified: map[string]time.Time{},
		zoneless: sequences{}, yearless: sequences{}, dateless: sequences{}, bootless: sequences{},
	}
	r.written = r.zones.pairs
	r.collect(events, sources)
	if len(r.zoneless)+len(r.yearless) > 0 {
		known := livesOf(events)
		for _, file := range r.zoneless.byFile() {
			r.settleZone(file, known)
		}
		r.widen(r.zoneless)
		for _, file := range r.yearless.byFile() {
			r.settleYears(file, known)
		}
		r.widen(r.yearless)
	}
	if len(r.dateless) > 0 {
		known := livesOf(events)
		for _, file := range r.dateless.byFile() {
			r.settleDates(file, known)
		}
	}
	r.unstep(events, sources)
	if len(r.bootless) > 0 {
		r.settleBoots(events, sources) // by a wall clock that runs through: the time since boot knows no steps
	}
	r.undate(events, sources)
	return r.describe()
}

func (r *reconciler) clock(file string) *clock {
	c := r.clocks[file]
	if c == nil {
		c = &clock{zone: r.zones.of(file)}
		r.clocks[file] = c
	}
	return c
}

// collect sorts the stamps by what they lack. Complete ones, and those that
// lack only the zone, are evidence for the years and dates of the others.
func (r *reconciler) collect(events []*event.Event, sources []Source) {
	for i := range sources {
		s := &sources[i]
		r.add(place{s.File, s.Name}, stamp{main: &s.First, line: 0})
		r.add(place{s.File, s.Name}, stamp{main: &s.Last, line: lastLine})
		for j := range s.Boots {
			r.add(place{s.File, s.Name}, stamp{main: &s.Boots[j].At, line: s.Boots[j].Line})
		}
		for j := range s.Seen {
			r.add(place{s.File, s.Name}, stamp{main: &s.Seen[j], line: 0})
		}
		if !s.Modified.IsZero() {
			r.modified[s.File] = s.Modified
		}
	}
	for _, e := range events {
		s := stamp{main: &e.Start, other: &e.End, event: e, line: e.Pos().Line}
		// Of two stamps one was written and one computed from it by a length. A trace
		// stamps the start of a call, and it is traces that write no dates; a log
		// stamps the line that tells how long something took.
		if !e.End.IsZero() && e.Start.Lacks&event.LacksDate == 0 {
			s.main, s.other = s.other, s.main
		}
		r.add(place{e.Pos().File, e.Source}, s)
	}
}

// add takes one stamp in; what can be resolved at once is.
func (r *reconciler) add(p place, s stamp) {
	if s.main.IsZero() {
		return
	}
	c := r.clock(p.file)
	c.dated = true
	c.lacks |= s.main.Lacks
	switch {
	case s.main.Lacks&event.LacksBoot != 0:
		r.bootless.add(p, s)
	case s.main.Lacks&event.LacksDate != 0:
		r.dateless.add(p, s)
	case s.main.Lacks&event.LacksYear != 0:
		r.yearless.add(p, s)
	case s.main.Lacks != 0:
		r.zoneless.add(p, s)
	default:
		s.set(s.main.T, c)
		if event.Plausible(s.main.T) {
			r.learn(p, s.main.T)
		}
	}
}

// learn makes evidence of a moment that is known in full.
func (r *reconciler) learn(p place, t time.Time) {
	if p.source != "" {
		r.written = r.written.with(t)
	}
	r.stamped = r.stamped.with(t)
}

// evidence is the time that the files are about. Lines of nobody known are asked last: a listing shows the ends of
// certificates, and a counter may look like a moment.
func (r *reconciler) evidence() Window {
	if r.written.IsZero() {
		return r.stamped
	}
	return r.written
}

// widen makes evidence of stamps that have got their zone or their year; one that nobody knows is evidence for the files beside it, too.
func (r *reconciler) widen(qs sequences) {
	for _, q := range qs {
		for i := range q.stamps {
			if t := q.stamps[i].main.T; event.Plausible(t) || t.Year() == unknownYear {
				r.learn(q.place, t)
			}
		}
	}
}

// describe lists the clocks of all files that hold a stamp.
func (r *reconciler) describe() []Clock {
	var rows []Clock
	for _, file := range slices.Sorted(maps.Keys(r.clocks)) {
		c := r.clocks[file]
		if !c.dated {
			continue
		}
		row := Clock{File: file, Basis: "written", Offset: c.offset, Boot: c.booted, zone: c.zone.rule, moves: c.moves, years: r.years()}
		if c.lacks != 0 {
			zone, note := "", ""
			if c.lacks&event.LacksZone != 0 {
				zone, note, row.Ignored = c.zone.basis, c.zone.note, c.zone.ignored
			}
			row.Basis = join(", ", zone, c.year, c.date, c.boot)
			row.Ignored = join("; ", row.Ignored, c.ignored)
			row.Note = join("; ", note, c.note, c.doubled())
		}
		row.Note = join("; ", row.Ignored, row.Note, c.stepped, c.undatedText(r.years()))
		rows = append(rows, row)
	}
	return rows
}

// doubled tells of the stamps that a turn of the clock leaves open.
func (c *clock) doubled() string {
	twice, never := "", ""
	if c.twice > 0 {
		twice = fmt.Sprintf("the clock showed the hour of %d stamps twice, and nothing tells which time they mean: each stands for both", c.twice)
	}
	if c.never > 0 {
		never = fmt.Sprintf("the clock left out the hour that %d stamps show: they are read as if it had not been turned yet", c.never)
	}
	return join("; ", twice, never)
}

// join joins the parts that are not empty.
func join(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
}
