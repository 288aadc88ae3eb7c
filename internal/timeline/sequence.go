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

// stamp is one written time, what was computed from it, and whom it belongs to.
type stamp struct {
	main  *event.Time
	other *event.Time  // nil or unknown when there is none
	event *event.Event // nil for a stamp of a source
	line  int
	// carry is how many years, or days, have passed since the first stamp of the sequence, as the faces show it.
	carry int
	// second says that it was written when the clock showed its hour for the second
	// time, and sure that this, or the opposite, is known.
	second, sure bool
}

// lastLine puts the last stamp of a source behind all others.
const lastLine = math.MaxInt

// set makes an instant of the stamp; face is what it shows, with year and date.
// What was computed from it moves along.
func (s *stamp) set(face time.Time, c *clock) {
	lacked, written := s.main.Lacks, s.main.T
	instant, open := face, time.Duration(0)
	if lacked&event.LacksZone != 0 {
		first, second, skips := c.zone.shows(face)
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
		instant = face.Add(-offset)
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
		s.event.Basis = c.basis(lacked)
	}
}

// sequence is the stamps of one place that lack the same thing, in the order of
// their lines, which shows where a year, or a day, ended between them.
type sequence struct {
	place
	stamps      []stamp
	first, last int // the stamps that are the earliest and the latest
}

type sequences map[place]*sequence

func (qs sequences) add(p place, s stamp) {
	q := qs[p]
	if q == nil {
		q = &sequence{place: p}
		qs[p] = q
	}
	q.stamps = append(q.stamps, s)
}

// byFile lists the sequences of each file, the longest first: it leads the others.
func (qs sequences) byFile() [][]*sequence {
	files := map[string][]*sequence{}
	for p, q := range qs {
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

// cycle is what a face comes back to when its writer left out the year, or the date.
type cycle struct {
	length time.Duration
	// disorder is how far a line may stand behind a later one, as lines of several threads do.
	disorder time.Duration
	// forward puts a face n years, or days, later.
	forward func(face time.Time, n int) time.Time
	// near is the gap at which two stretches all but meet.
	near time.Duration
	// tries is how far from the nearest guess the best place can lie.
	tries int
}

const day = 24 * time.Hour

// always is the cycle of faces that lack neither year nor date: they never come back.
var always = cycle{length: math.MaxInt64, forward: func(t time.Time, _ int) time.Time { return t }}

// Leap years come every eighth year at worst, and a file may hold 29 February.
var (
	yearly = cycle{366 * day, day, func(t time.Time, n int) time.Time { return inYear(t, t.Year()+n) }, 30 * day, 8}
	daily  = cycle{day, time.Minute, func(t time.Time, n int) time.Time { return t.AddDate(0, 0, n) }, 2 * time.Hour, 1}
)

// inYear keeps month and day; 29 February of a common year becomes 1 March, as time.Date has it.
func inYear(t time.Time, year int) time.Time {
	return time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// unroll counts the cycles that pass from stamp to stamp: a face that falls
// back by more than half a cycle belongs to the next one. A small step back
// is disorder, and so is a step forward by nearly a whole cycle.
func (q *sequence) unroll(c cycle) {
	slices.SortStableFunc(q.stamps, func(a, b stamp) int { return cmp.Or(cmp.Compare(a.line, b.line), a.main.T.Compare(b.main.T)) })
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
		at := q.at(c, i, 0)
		if i == 0 || at.Before(earliest) {
			earliest, q.first = at, i
		}
		if i == 0 || at.After(latest) {
			latest, q.last = at, i
		}
	}
}

// at is what stamp i shows when the sequence is moved base cycles forward.
func (q *sequence) at(c cycle, i, base int) time.Time {
	return c.forward(q.stamps[i].main.T, base+q.stamps[i].carry)
}

// span is what the sequence spans, as instants of the zone.
func (q *sequence) span(c cycle, base int, z zone) Window {
	first, last := q.at(c, q.first, base), q.at(c, q.last, base)
	return Window{first.Add(-z.offsetAt(first)), last.Add(-z.offsetAt(last))}
}

// fit is how many cycles forward the sequence lies nearest to a window. Where it
// meets the window in several ways, or all but meets it, it ends as near to the
// window's end as it can: logs end when somebody collects them.
func (q *sequence) fit(c cycle, w Window, z zone) int {
	type choice struct {
		base, impossible int
		gap, end         time.Duration
	}
	guess := q.guess(c, w)
	var choices []choice
	for base := guess - c.tries; base <= guess+c.tries; base++ {
		s := q.span(c, base, z)
		gap := max(0, w.Start.Sub(s.End)-c.near, s.Start.Sub(w.End)-c.near)
		choices = append(choices, choice{base, q.impossible(c, base), gap, s.End.Sub(w.End).Abs()})
	}
	return slices.MinFunc(choices, func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.impossible, b.impossible), cmp.Compare(a.gap, b.gap), cmp.Compare(a.end, b.end))
	}).base
}

// guess is about how many cycles the sequence must move for its end to meet the window's.
func (q *sequence) guess(c cycle, w Window) int {
	last := q.at(c, q.last, 0)
	if c.length == day {
		return int((w.End.Unix() - last.Unix()) / int64(day/time.Second))
	}
	return w.End.Year() - last.Year()
}

// impossible counts the 29 Februaries that fall into common years.
func (q *sequence) impossible(c cycle, base int) int {
	n := 0
	for i := range q.stamps {
		t := q.stamps[i].main.T
		if t.Month() == time.February && t.Day() == 29 && c.length > day && q.at(c, i, base).Day() != 29 {
			n++
		}
	}
	return n
}

// disorderInHour is how far lines of several threads stand behind one another at most.
const disorderInHour = 2 * time.Minute

// tellTwice finds which stamps of an hour that the clock showed twice were written
// the first time, and which the second: where a face falls back between two lines the clock was set back between them.
func (q *sequence) tellTwice(c cycle, base int, z zone) {
	if z.location == nil && len(z.turns) < 2 {
		return
	}
	from := -1 // the first stamp of the hour
	for i := 0; i <= len(q.stamps); i++ {
		in := false
		if i < len(q.stamps) {
			first, second, skips := z.shows(q.at(c, i, base))
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

func (q *sequence) splitHour(c cycle, base, from, to int) {
	for i := from + 1; i < to; i++ {
		if q.at(c, i, base).Sub(q.at(c, i-1, base)) < -disorderInHour {
			for j := from; j < to; j++ {
				q.stamps[j].sure, q.stamps[j].second = true, j >= i
			}
			return
		}
	}
}

// set makes instants of all stamps of the sequence.
func (q *sequence) set(c cycle, base int, k *clock) {
	q.tellTwice(c, base, k.zone)
	for i := range q.stamps {
		q.stamps[i].set(q.at(c, i, base), k)
	}
}

// unknownYear stands for a year that nothing tells. It is no guess, and reports
// say so; it is a leap year, so that every date exists in it, and near enough
// to real years for a time.Duration.
const unknownYear = 2000

// unknownDay is 1 January of unknownYear, in days from the face of a stamp without a date.
var unknownDay = int((time.Date(unknownYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix() - time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Unix()) / 86400)

// settleZone decides the zone of one file whose stamps lack nothing else.
func (r *reconciler) settleZone(file []*sequence, known lives) {
	c := r.clock(file[0].file)
	for _, q := range file {
		q.unroll(always)
	}
	c.reconsider(r, file[0], always, known)
	for _, q := range file {
		q.set(always, 0, c)
	}
}

// reconsider gives the file another zone where events of the same containers contradict the one at hand. A log
// tells of a container at many times: it contradicts the node's zone only where most of what it tells falls into place in another one.
func (c *clock) reconsider(r *reconciler, lead *sequence, cy cycle, known lives) {
	if at := known.days(lead, c.zone, cy); !at.ok && cy.length != always.length || at.ok && at.apart <= strange {
		return
	}
	z, at := r.zoneOfLives(lead, cy, known)
	unknown := r.zones.node.note != ""
	if !at.ok || cy.length != day && !unknown && !at.firm {
		return
	}
	if !unknown {
		z.note = fmt.Sprintf("%s in the node's other files", strings.TrimSuffix(strings.TrimPrefix(r.zones.node.basis, "zone "), " as in the node's other files"))
	}
	c.zone = z
}

// settleYears decides the years of one file. The longest sequence leads, the others follow it.
func (r *reconciler) settleYears(file []*sequence, known lives) {
	lead, c := file[0], r.clock(file[0].file)
	lead.unroll(yearly)
	c.reconsider(r, lead, yearly, known)
	lastYear := lead.at(yearly, lead.last, 0).Year()
	base, from := r.yearOf(lead, c)
	if given := r.options.Year; given != 0 && given != lastYear+base && from != "" {
		if c.zone.proven {
			c.ignored = fmt.Sprintf("--year %d contradicts lines that carry both clocks and is not used", given)
		} else {
			c.note = join("; ", c.note, fmt.Sprintf("without --year it would be %d %s", lastYear+base, from))
			base, from = given-lastYear, "given by --year"
		}
	} else if given != 0 && !c.zone.proven {
		base, from = given-lastYear, "given by --year"
	}
	c.year = "year not known"
	if from == "" {
		base, c.note = unknownYear-lastYear, join("; ", c.note, fmt.Sprintf("no evidence tells the year, shown as %d: give it with --year", unknownYear))
	} else {
		c.year = fmt.Sprintf("year %d %s", lastYear+base, from)
		if n := lead.impossible(yearly, base); n > 0 {
			c.note = join("; ", c.note, fmt.Sprintf("29 February stands in a common year, %d times, and was read as 1 March", n))
		}
	}
	r.follow(file, yearly, base, c)
}

// yearOf is how many years forward the evidence puts a file, and which evidence that is; from is empty where there is none.
func (r *reconciler) yearOf(lead *sequence, c *clock) (base int, from string) {
	modified := r.modified[lead.file]
	switch {
	case !c.zone.pairs.IsZero():
		return lead.fit(yearly, c.zone.pairs, c.zone), "from lines that carry both clocks"
	case !r.evidence().IsZero():
		return lead.fit(yearly, r.evidence(), c.zone), "from the node's dated evidence"
	case event.Plausible(modified):
		return lead.before(modified, c.zone), "from the file's own time in the archive, which copying changes"
	}
	return 0, ""
}

// before is how many years forward the sequence ends last that still lies before a moment, give or take a day.
func (q *sequence) before(t time.Time, z zone) int {
	base := t.Year() - q.at(yearly, q.last, 0).Year()
	if q.span(yearly, base, z).End.After(t.Add(day)) {
		base--
	}
	return base
}

// follow puts the other sequences of a file next to the one that leads, and makes instants of all.
func (r *reconciler) follow(file []*sequence, c cycle, base int, k *clock) {
	near := file[0].span(c, base, k.zone)
	file[0].set(c, base, k)
	for _, q := range file[1:] {
		q.unroll(c)
		q.set(c, q.fit(c, near, k.zone), k)
	}
}

// A trace of a container lies within minutes of what the logs tell of it. Where
// the zone puts it farther than strange from that, the zone may be wrong; another one must put it within familiar.
const (
	strange  = 30 * time.Minute
	familiar = 2 * time.Minute
)

// zoneOfLives is the zone that brings a file next to what is known of the same
// containers, for one that tells no zone itself: journalctl prints in
// the zone of whoever looks, strace and the daemons in that of the node.
func (r *reconciler) zoneOfLives(lead *sequence, cy cycle, known lives) (best zone, least closeness) {
	if _, own := r.zones.files[lead.file]; own || r.options.Zone != nil {
		return zone{}, closeness{}
	}
	least.apart = familiar
	for offset := minOffset; offset <= maxOffset; offset += time.Hour {
		z := zone{rule: fixedRule(offset), basis: fmt.Sprintf("zone %s from events of the same container", zoneName(offset))}
		if at := known.days(lead, z, cy); at.ok && at.apart < familiar && (at.near > least.near || at.near == least.near && at.apart < least.apart) {
			best, least = z, at
		}
	}
	return best, least
}

// settleDates decides the days of one file that writes the time of day only: the
// one on which its events lie nearest to dated events of the same container,
// else the one nearest to the dated evidence as a whole.
func (r *reconciler) settleDates(file []*sequence, known lives) {
	lead, c := file[0], r.clock(file[0].file)
	lead.unroll(daily)
	c.reconsider(r, lead, daily, known)
	at := known.days(lead, c.zone, daily)
	base := 0
	switch {
	case !c.zone.pairs.IsZero():
		base, c.date = lead.fit(daily, c.zone.pairs, c.zone), "date from lines that carry both clocks"
	case at.ok:
		base, c.date = at.days, "date from events of the same container"
	case !r.evidence().IsZero():
		base, c.date = lead.fit(daily, r.evidence(), c.zone), "date from the node's dated evidence"
	default:
		base = unknownDay
		c.date, c.note = "date not known", join("; ", c.note, fmt.Sprintf("no other file tells the date, shown as 1 January %d", unknownYear))
	}
	r.follow(file, daily, base, c)
}
