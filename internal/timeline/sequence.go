package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// place is one component's part of one file.
type place struct{ file, source string }

// stamp is one written time, the time computed from it, and the event that it belongs to.
type stamp struct {
	main  *event.Time
	other *event.Time  // nil or unknown when there is none
	event *event.Event // nil for a stamp of a source
	line  int
	// carry is how many years, or days, have passed since the first stamp of the sequence, as the
	// stamps show.
	carry int
	// second says that it was written when the clock showed its hour for the second time; sure says
	// whether second is known.
	second, sure bool
}

// lastLine puts the last stamp of a source after all others.
const lastLine = math.MaxInt

// resolve makes a moment in UTC of the stamp. local is what it shows, with year and date. The time
// computed from it moves along.
func (s *stamp) resolve(local time.Time, c *clock) {
	lacked, written := s.main.Lacks, s.main.T
	instant, open := local, time.Duration(0)
	if lacked&event.LacksZone != 0 {
		first, second, skips := c.zone.offsetsOfLocal(local)
		offset := first
		switch {
		case skips:
			c.never++
		case first == second:
		case !s.sure:
			open = first - second
			c.twice++
		case s.second:
			offset = second
		}
		instant = local.Add(-offset)
		if c.first.IsZero() || instant.Before(c.first) {
			c.first, c.offset = instant, offset
		}
	}
	s.main.T, s.main.Lacks = instant.UTC(), 0
	s.main.Prec += open
	if s.other != nil && s.other.Known {
		if s.other.Lacks != 0 {
			s.other.T = s.main.T.Add(s.other.T.Sub(written))
			s.other.Prec += open
		}
		s.other.T, s.other.Lacks = s.other.T.UTC(), 0
	}
	if s.event != nil {
		s.event.Basis = c.basisFor(lacked)
	}
}

// sequence is the stamps of one place that lack the same thing. They are in the order of their
// lines, so they show where a year, or a day, ended.
type sequence struct {
	place
	stamps      []stamp
	first, last int // indexes of the earliest and the latest stamp
}

// sequences are all whose stamps lack the same part.
type sequences struct {
	of   map[place]*sequence
	last *sequence // that a stamp was added to; nil while there is none
}

func (qs *sequences) addStamp(p place, s stamp) {
	if qs.last == nil || qs.last.place != p {
		qs.last = qs.of[p]
	}
	if qs.last == nil {
		if qs.of == nil {
			qs.of = map[place]*sequence{}
		}
		qs.last = &sequence{place: p}
		qs.of[p] = qs.last
	}
	qs.last.stamps = append(qs.last.stamps, s)
}

// groupByFile lists the sequences of each file, the longest first: it decides for the others.
func (qs *sequences) groupByFile() [][]*sequence {
	files := map[string][]*sequence{}
	for p, q := range qs.of {
		files[p.file] = append(files[p.file], q)
	}
	var all [][]*sequence
	for _, file := range slices.Sorted(maps.Keys(files)) {
		slices.SortFunc(files[file], func(a, b *sequence) int {
			return cmp.Or(cmp.Compare(len(b.stamps), len(a.stamps)), cmp.Compare(a.source, b.source))
		})
		all = append(all, files[file])
	}
	return all
}

// cycle is the period after which stamps repeat: a year where they lack the year, a day where they
// lack the date.
type cycle struct {
	lacks  event.Lacks // the largest part that the stamps lack
	length time.Duration
	// disorder is how far a stamp can be behind an earlier line's, as lines of several threads are.
	disorder time.Duration
	// forward moves a local time by n years, or days.
	forward func(local time.Time, n int) time.Time
	// near is the gap up to which two windows count as adjacent.
	near time.Duration
	// tries is how many cycles the best place can be away from the first guess.
	tries int
}

const day = 24 * time.Hour

// always is the cycle of stamps that lack neither year nor date: they never repeat.
var always = cycle{
	lacks: event.LacksZone, length: math.MaxInt64,
	forward: func(t time.Time, _ int) time.Time { return t },
}

// Two leap years are at most eight years apart, and a file can contain 29 February.
var (
	yearly = cycle{
		event.LacksYear, 366 * day, day, func(t time.Time, n int) time.Time { return inYear(t, t.Year()+n) },
		30 * day, 8,
	}
	daily = cycle{
		event.LacksDate, day, time.Minute, func(t time.Time, n int) time.Time { return t.AddDate(0, 0, n) },
		2 * time.Hour, 1,
	}
)

// inYear sets the year and keeps month and day. 29 February of a common year becomes 1 March, as in
// time.Date.
func inYear(t time.Time, year int) time.Time {
	return time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// countCycles counts the cycles that pass from stamp to stamp: a stamp that falls back by more than
// half a cycle is in the next one. A small step back is disorder, and so is a step forward by
// nearly a whole cycle.
func (q *sequence) countCycles(c *cycle) {
	slices.SortStableFunc(q.stamps, func(a, b stamp) int {
		if c := cmp.Compare(a.line, b.line); c != 0 {
			return c
		}
		return a.main.T.Compare(b.main.T)
	})
	carry := 0
	var earliest, latest time.Time
	for i := range q.stamps {
		if i > 0 {
			switch step := q.stamps[i].main.T.Sub(q.stamps[i-1].main.T); {
			case step < -c.length/2:
				carry++
			case step > c.length-c.disorder:
				carry--
			}
		}
		q.stamps[i].carry = carry
		at := q.timeAt(c, i, 0)
		if i == 0 || at.Before(earliest) {
			earliest, q.first = at, i
		}
		if i == 0 || at.After(latest) {
			latest, q.last = at, i
		}
	}
}

// timeAt is what stamp i shows when the sequence is moved base cycles forward.
func (q *sequence) timeAt(c *cycle, i, base int) time.Time {
	s := &q.stamps[i]
	if base+s.carry == 0 {
		return s.main.T
	}
	return c.forward(s.main.T, base+s.carry)
}

// windowAt is the window of the sequence in UTC, when it is moved base cycles forward.
func (q *sequence) windowAt(c *cycle, base int, z zone) Window {
	first, last := q.timeAt(c, q.first, base), q.timeAt(c, q.last, base)
	return Window{first.Add(-z.offsetOfLocal(first)), last.Add(-z.offsetOfLocal(last))}
}

// fitWindow is how many cycles the sequence must move forward to be nearest to a window. Where
// several places overlap the window, or are adjacent to it, the one that ends nearest to the
// window's end counts: logs end when somebody collects them.
func (q *sequence) fitWindow(c *cycle, w Window, z zone) int {
	type choice struct {
		base, impossible int
		gap, end         time.Duration
	}
	guess, leapDays := q.guessCycles(c, w), q.listLeapDays(c)
	var choices []choice
	for base := guess - c.tries; base <= guess+c.tries; base++ {
		s := q.windowAt(c, base, z)
		gap := max(0, w.Start.Sub(s.End)-c.near, s.Start.Sub(w.End)-c.near)
		choices = append(choices, choice{base, q.countImpossible(leapDays, c, base), gap, s.End.Sub(w.End).Abs()})
	}
	return slices.MinFunc(choices, func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.impossible, b.impossible), cmp.Compare(a.gap, b.gap), cmp.Compare(a.end, b.end))
	}).base
}

// guessCycles is about how many cycles the sequence must move so that it ends with the window.
func (q *sequence) guessCycles(c *cycle, w Window) int {
	last := q.timeAt(c, q.last, 0)
	if c == &daily {
		return int((w.End.Unix() - last.Unix()) / int64(day/time.Second))
	}
	return w.End.Year() - last.Year()
}

// listLeapDays lists the stamps of 29 February by their indexes; none where the cycle is a day.
func (q *sequence) listLeapDays(c *cycle) (all []int) {
	if c == &daily {
		return nil
	}
	for i := range q.stamps {
		if _, month, day := q.stamps[i].main.T.Date(); month == time.February && day == 29 {
			all = append(all, i)
		}
	}
	return all
}

// countImpossible counts stamps of 29 February that fall into common years.
func (q *sequence) countImpossible(leapDays []int, c *cycle, base int) (n int) {
	for _, i := range leapDays {
		if q.timeAt(c, i, base).Day() != 29 {
			n++
		}
	}
	return n
}

// disorderInHour is how far the stamps of several threads' lines can fall back.
const disorderInHour = 2 * time.Minute

// splitRepeatedHours finds which stamps of an hour that the clock showed twice are from the first
// time, and which from the second: the clock changed where a stamp falls back between two lines.
func (q *sequence) splitRepeatedHours(c *cycle, base int, z zone) {
	if z.location == nil && len(z.turns) < 2 {
		return
	}
	from := -1 // the first stamp of the hour
	for i := 0; i <= len(q.stamps); i++ {
		in := false
		if i < len(q.stamps) {
			first, second, skips := z.offsetsOfLocal(q.timeAt(c, i, base))
			in = first != second && !skips
		}
		switch {
		case in && from < 0:
			from = i
		case !in && from >= 0:
			q.splitHour(c, base, from, i)
			from = -1
		}
	}
}

func (q *sequence) splitHour(c *cycle, base, from, to int) {
	for i := from + 1; i < to; i++ {
		if q.timeAt(c, i, base).Sub(q.timeAt(c, i-1, base)) < -disorderInHour {
			for j := from; j < to; j++ {
				q.stamps[j].sure, q.stamps[j].second = true, j >= i
			}
			return
		}
	}
}

// resolve makes moments of all stamps of the sequence.
func (q *sequence) resolve(c *cycle, base int, k *clock) {
	q.splitRepeatedHours(c, base, k.zone)
	for i := range q.stamps {
		q.stamps[i].resolve(q.timeAt(c, i, base), k)
	}
}

// unknownYear stands for a year that is not known, and reports say so. It is a leap year, so that
// every date exists in it, and near enough to real years for a time.Duration. A log that goes over
// New Year ends in it, and begins in one of the years before.
const unknownYear = 2000

// UnknownDay stands for a day that is not known, where nothing but the time of day is. It lies in a
// year of its own, which no time of an incident is in, so that reports can say the time of day
// alone.
var UnknownDay = time.Date(1990, 6, 15, 0, 0, 0, 0, time.UTC)

// unknownDay is UnknownDay in days from 1 January of year 0, the date of a stamp without one.
var unknownDay = int((UnknownDay.Unix() - bootEpoch.Unix()) / 86400)

// isInvented says that a date, or its year, stands for one that is not known.
func isInvented(t time.Time) bool { return UnknownDay.Year() <= t.Year() && t.Year() <= unknownYear }

// settleFile decides the zone of one file and, by its longest sequence, its year or its day. All
// these stamps lack the part that the cycle gives.
func (r *reconciler) settleFile(file []*sequence, cy *cycle, known containerTimes) {
	lead, c := file[0], r.clockOf(file[0].file)
	lead.countCycles(cy)
	c.correctZone(r, lead, cy, known)
	base := 0
	if cy != &always {
		base = r.settleBase(lead, cy, c, known)
	}
	near := lead.windowAt(cy, base, c.zone)
	lead.resolve(cy, base, c)
	for _, q := range file[1:] {
		q.countCycles(cy)
		q.resolve(cy, q.fitWindow(cy, near, c.zone), c)
	}
}

// settleBase decides how many cycles a sequence moves forward, and says in its clock by which
// evidence. A flag outweighs everything except lines that carry both clocks.
func (r *reconciler) settleBase(lead *sequence, cy *cycle, c *clock, known containerTimes) int {
	base, from := r.findBase(lead, cy, c, known)
	year := lead.timeAt(cy, lead.last, 0).Year()
	switch given := r.options.Year; {
	case given == 0 || cy != &yearly || c.zone.proven && given == year+base:
	case c.zone.proven:
		c.ignored = fmt.Sprintf("--year %d contradicts lines that carry both clocks and is not used", given)
	default:
		if from != "" && given != year+base {
			c.addNote(fmt.Sprintf("without --year it would be %d %s", year+base, from))
		}
		base, from = given-year, "given by --year"
	}
	switch {
	case from == "" && cy == &yearly:
		c.sources[cy.lacks], base = "year not known", unknownYear-year
		c.addNote(fmt.Sprintf("no evidence shows the year, so it is written as %d: give it with --year", unknownYear))
	case from == "":
		c.sources[cy.lacks], base = "date not known", unknownDay
		c.addNote("no other file shows the date, so only the time of day is shown; outputs for programs have " + UnknownDay.Format(time.DateOnly))
	case cy == &yearly:
		c.sources[cy.lacks] = fmt.Sprintf("year %d %s", year+base, from)
		if n := lead.countImpossible(lead.listLeapDays(cy), cy, base); n > 0 {
			c.addNote(fmt.Sprintf("29 February in a year that has none, %d times: read as 1 March", n))
		}
	default:
		c.sources[cy.lacks] = "date " + from
	}
	return base
}

// findBase says how many cycles the evidence moves a sequence forward, and which evidence that is,
// the most trusted one first; from is empty where there is none.
func (r *reconciler) findBase(lead *sequence, cy *cycle, c *clock, known containerTimes) (base int, from string) {
	if !c.zone.pairs.IsZero() {
		return lead.fitWindow(cy, c.zone.pairs, c.zone), "from lines that carry both clocks"
	}
	if cy == &daily {
		if at := known.measureCloseness(lead, c.zone, cy); at.ok {
			return at.days, "from events of the same container"
		}
	}
	if dated := r.evidenceWindow(); !dated.IsZero() {
		return lead.fitWindow(cy, dated, c.zone), "from the node's dated evidence"
	}
	if modified := r.modified[lead.file]; cy == &yearly && event.Plausible(modified) {
		return lead.yearsBefore(modified, c.zone), "from the file's own time in the archive, which copying changes"
	}
	return 0, ""
}

// correctZone gives the file another zone where events of the same containers contradict its zone.
// A log names a container at many times, so it contradicts the node's zone only where most of its
// events fit in another zone.
func (c *clock) correctZone(r *reconciler, lead *sequence, cy *cycle, known containerTimes) {
	if at := known.measureCloseness(lead, c.zone, cy); !at.ok && cy != &always || at.ok && at.apart <= strange {
		return
	}
	z, at := r.findZoneByContainers(lead, cy, known)
	unknown := r.zones.node.note != ""
	if !at.ok || cy != &daily && !unknown && !at.firm {
		return
	}
	if !unknown {
		z.note = fmt.Sprintf("%s in the node's other files",
			strings.TrimSuffix(strings.TrimPrefix(r.zones.node.basis, "zone "), " as in the node's other files"))
	}
	c.zone = z
}

// yearsBefore is the greatest number of years by which the sequence can move forward and still end
// before a moment, with a day of slack.
func (q *sequence) yearsBefore(t time.Time, z zone) int {
	base := t.Year() - q.timeAt(&yearly, q.last, 0).Year()
	if q.windowAt(&yearly, base, z).End.After(t.Add(day)) {
		base--
	}
	return base
}

// A trace of a container is within minutes of the log lines about it. Where the zone puts it
// farther away than strange, the zone can be wrong; another one must put it within familiar.
const (
	strange  = 30 * time.Minute
	familiar = 2 * time.Minute
)

// findZoneByContainers finds the zone that brings a file next to the known moments of the same
// containers, for a file that shows no zone itself. journalctl prints in the zone of the user,
// strace and the daemons print in that of the node.
func (r *reconciler) findZoneByContainers(lead *sequence, cy *cycle, known containerTimes) (best zone, least closeness) {
	if _, own := r.zones.files[lead.file]; own || r.options.Zone != nil {
		return zone{}, closeness{}
	}
	least.apart = familiar
	for offset := minOffset; offset <= maxOffset; offset += time.Hour {
		z := zone{
			rule:  fixedRule(offset),
			basis: fmt.Sprintf("zone %s from events of the same container", zoneName(offset)),
		}
		if at := known.measureCloseness(lead, z, cy); at.ok && at.apart < familiar &&
			(at.near > least.near || at.near == least.near && at.apart < least.apart) {
			best, least = z, at
		}
	}
	return best, least
}
