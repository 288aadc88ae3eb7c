package timeline

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline/steps"
)

// clock is what is known about the stamps of one file.
type clock struct {
	dated bool        // the file has a stamp at all
	lacks event.Lacks // what any of them lacked
	zone  zone
	// sources says where year, date and the moment of the boot come from, by the largest part that
	// stamps lack. note says what a reader should do about it.
	sources map[event.Lacks]string
	note    string
	// booted is the moment of the boot, where the file is of one boot only.
	booted time.Time
	// stepped says what was done about steps of the clock.
	stepped string
	moves   *steps.Moves
	// ignored says which flag the file's lines contradict.
	ignored string
	// twice counts the stamps in hours that the clock showed twice, never those in hours that it
	// skipped.
	twice, never int
	// undated is the first stamp, and its place, that was taken for no time at all; zero when none
	// was.
	undated   time.Time
	undatedAt event.Pos
	// offset is what was subtracted from the first stamp without a zone, else what all stamps name;
	// first is when the former was.
	offset time.Duration
	first  time.Time
	bases  *[1 << 4]string // of events, by what they lacked: joined once; nil before the first
}

// largestPart is the part of a stamp that is missing and that repeats the least often: of a stamp
// without zone and year the year.
func largestPart(lacked event.Lacks) event.Lacks { return 1 << bits.Len8(uint8(lacked)) >> 1 }

// basisFor says where the parts come from that a stamp lacked; empty when it lacked none.
func (c *clock) basisFor(lacked event.Lacks) string {
	if lacked == 0 {
		return ""
	}
	if c.bases == nil {
		c.bases = &[1 << 4]string{}
	}
	if c.bases[lacked] != "" {
		return c.bases[lacked]
	}
	zone := ""
	if lacked&event.LacksZone != 0 {
		zone = c.zone.basis
	}
	c.bases[lacked] = joinParts(", ", zone, c.sources[largestPart(lacked)])
	return c.bases[lacked]
}

// reconciler turns every stamp of the input into an instant.
type reconciler struct {
	options Options
	zones   zones
	clocks  map[string]*clock
	// written is the window of all complete stamps of lines whose writer is known; stamped is that
	// of all complete stamps. Both grow while other stamps are resolved.
	written, stamped Window
	modified         map[string]time.Time // by file, where stamps lack the year
	incomplete       [1 << 4]sequences    // by the largest part that is missing
	asked            string               // the file that clockOf was asked about last, and its clock
	answered         *clock
}

// reconcileClocks turns every stamp of the events and sources into a moment in UTC, and says how,
// one row per file. Order of trust: the stamp itself, lines of the file with two stamps, flags,
// lines that another file has with a full stamp, the zone of the node's other files unless events
// of the same containers contradict it, UTC. A missing year or date comes from the nearest dated
// evidence, else from the archive, never from today. A time since boot is placed by lines that
// carry both clocks.
func reconcileClocks(events []*event.Event, sources []*Source, o Options) []Clock {
	r := &reconciler{
		options: o, zones: countZones(sources, copiedLines(events), o.Zone, findToldZone(events)), clocks: map[string]*clock{},
		modified: map[string]time.Time{},
	}
	r.written = r.zones.pairs
	r.collectStamps(events, sources)
	for _, s := range sources {
		if len(r.incomplete[event.LacksYear].of) > 0 && !s.Modified.IsZero() {
			r.modified[s.File] = s.Modified
		}
	}
	for _, cy := range [...]*cycle{&always, &yearly, &daily} {
		stamps := &r.incomplete[cy.lacks]
		if len(stamps.of) == 0 {
			continue
		}
		known := containerTimesOf(events, stamps) // those of the cycles before have their years by now
		for _, file := range stamps.groupByFile() {
			r.settleFile(file, cy, known)
		}
		if cy != &daily {
			r.addResolved(stamps)
		}
	}
	r.undoClockSteps(events, sources)
	if len(r.incomplete[event.LacksBoot].of) > 0 {
		// by a wall clock that runs through: the time since boot knows no steps
		r.settleBoots(events, sources)
	}
	r.undate(events, sources)
	return r.describeClocks()
}

func (r *reconciler) clockOf(file string) *clock {
	if r.answered != nil && r.asked == file { // events come file by file
		return r.answered
	}
	c := r.clocks[file]
	if c == nil {
		c = &clock{zone: r.zones.zoneOf(file), sources: map[event.Lacks]string{}}
		r.clocks[file] = c
	}
	r.asked, r.answered = file, c
	return c
}

// collectStamps sorts the stamps by what they lack. Complete ones, and those that lack only the
// zone, are evidence for the years and dates of the others.
func (r *reconciler) collectStamps(events []*event.Event, sources []*Source) {
	for _, s := range sources {
		for _, stamp := range stampsOf(s) {
			r.addStamp(place{s.File, s.Name}, stamp)
		}
		for j := range s.Seen {
			r.addStamp(place{s.File, s.Name}, stamp{main: &s.Seen[j]})
		}
		if len(s.Zones) == 1 { // several name none
			r.clockOf(s.File).offset = time.Duration(s.Zones[0].Seconds) * time.Second
		}
	}
	for _, e := range events {
		s := stamp{main: &e.Start, other: &e.End, event: e, line: e.Pos().Line}
		// Of the two stamps one was written, and the other one is computed from it and a duration.
		// A trace stamps the start of a call, and only traces write no dates. A log stamps the line
		// that says how long something took.
		if !e.End.IsZero() && e.Start.Lacks&event.LacksDate == 0 {
			s.main, s.other = s.other, s.main
		}
		r.addStamp(place{e.Pos().File, e.Source}, s)
	}
}

// stampsOf are the stamps of a source's lines that no event has.
func stampsOf(s *Source) []stamp {
	all := []stamp{{main: &s.First}, {main: &s.Last, line: lastLine}}
	for i := range s.Boots {
		all = append(all, stamp{main: &s.Boots[i].At, line: s.Boots[i].Line})
	}
	return all
}

// addStamp adds one stamp. A complete one is resolved at once.
func (r *reconciler) addStamp(p place, s stamp) {
	if s.main.IsZero() {
		return
	}
	c := r.clockOf(p.file)
	c.dated = true
	c.lacks |= s.main.Lacks
	if part := largestPart(s.main.Lacks); part != 0 {
		r.incomplete[part].addStamp(p, s)
		return
	}
	s.resolve(s.main.T, c)
	if event.Plausible(s.main.T) {
		r.addEvidence(p, s.main.T)
	}
}

// addEvidence makes a complete stamp evidence for others.
func (r *reconciler) addEvidence(p place, t time.Time) {
	if p.source != "" {
		r.written = r.written.extendTo(t)
	}
	r.stamped = r.stamped.extendTo(t)
}

// evidenceWindow is the time that the files are about. Lines without a known writer count only
// where there are no others: a listing shows when certificates end, and a counter can look like a
// time.
func (r *reconciler) evidenceWindow() Window {
	if r.written.IsZero() {
		return r.stamped
	}
	return r.written
}

// addResolved makes evidence of stamps that now have their zone or their year. A year that nobody
// knows is evidence for the other files, too: they then have the same one.
func (r *reconciler) addResolved(qs *sequences) {
	for _, q := range qs.of {
		for i := range q.stamps {
			if t := q.stamps[i].main.T; event.Plausible(t) || isInvented(t) {
				r.addEvidence(q.place, t)
			}
		}
	}
}

// describeClocks lists the clocks of all files that contain a stamp.
func (r *reconciler) describeClocks() []Clock {
	rows := make([]Clock, 0, len(r.clocks)) // at once: there may be 100 000
	for _, file := range slices.Sorted(maps.Keys(r.clocks)) {
		c := r.clocks[file]
		if !c.dated {
			continue
		}
		row := Clock{
			File: file, Basis: "written", Offset: c.offset, Boot: c.booted, zone: c.zone.rule, moves: c.moves,
			years: r.years(),
		}
		if c.lacks != 0 {
			zone, note := "", ""
			if c.lacks&event.LacksZone != 0 {
				zone, note, row.Ignored = c.zone.basis, c.zone.note, c.zone.ignored
			}
			row.Basis = joinParts(", ", zone, c.sources[event.LacksYear], c.sources[event.LacksDate],
				c.sources[event.LacksBoot])
			row.Ignored = joinParts("; ", row.Ignored, c.ignored)
			row.Note = joinParts("; ", note, c.note, c.describeAmbiguousStamps())
		}
		row.Note = joinParts("; ", row.Ignored, row.Note, c.stepped, c.undatedText(r.years()))
		rows = append(rows, row)
	}
	return rows
}

// describeAmbiguousStamps says how many stamps a change to or from summer time leaves open.
func (c *clock) describeAmbiguousStamps() string {
	twice, never := "", ""
	if c.twice > 0 {
		twice = fmt.Sprintf("the clock showed the hour of %d stamps twice, and nothing shows which time is meant: "+
			"each is an interval with both", c.twice)
	}
	if c.never > 0 {
		never = fmt.Sprintf("the clock skipped the hour that %d stamps show: "+
			"they are read with the offset from before it", c.never)
	}
	return joinParts("; ", twice, never)
}

// addNote adds a remark to the clock's note.
func (c *clock) addNote(note string) { c.note = joinParts("; ", c.note, note) }

// joinParts joins the parts that are not empty.
func joinParts(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
}
