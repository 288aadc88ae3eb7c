package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// zone is where the clock of a file stands, and how that is known.
type zone struct {
	rule
	basis, note string
	// pairs spans the moments that the file stamps twice; empty when there are none.
	pairs Window
	// proven says that lines carry both clocks at once: no flag can be righter than they are.
	proven bool
	// ignored says what of the flags these lines contradict; empty when nothing.
	ignored string
}

// zones are those of the files that tell theirs, and the one of all others.
type zones struct {
	files map[string]zone
	node  zone
	// pairs spans all moments that are stamped twice, whether or not they tell a zone.
	pairs Window
}

func (z zones) of(file string) zone {
	if own, ok := z.files[file]; ok {
		return own
	}
	return z.node
}

// countZones finds the zone of stamps without one: in every file by the lines
// that are stamped twice, or that another file holds with a full stamp, else by the zone that most stamps of the node show.
// A zone that was given holds everywhere but where the lines themselves prove another one.
func countZones(sources []Source, copies map[string][]Pair, given *time.Location) zones {
	z := zones{files: map[string]zone{}}
	ballots, node := map[string]*ballot{}, map[time.Duration]int{}
	var dated Window
	for i := range sources {
		s := &sources[i]
		b := ballots[s.File]
		if b == nil {
			b = newBallot()
			ballots[s.File] = b
		}
		b.foreign = b.foreign || s.Foreign
		for _, p := range s.Pairs {
			if event.Plausible(p.True) {
				b.add(p)
				z.pairs = z.pairs.with(p.True.UTC())
			}
		}
		if s.First.Known && s.First.Lacks == 0 && event.Plausible(s.First.T) {
			dated = dated.with(s.First.T.UTC())
		}
		for seconds, n := range s.Zones {
			node[time.Duration(seconds)*time.Second] += n
		}
	}
	for _, file := range slices.Sorted(maps.Keys(ballots)) {
		if own, offset, n := ballots[file].zone(); n > 0 {
			z.files[file] = own
			if !ballots[file].foreign {
				node[offset] += n
			}
		}
	}
	z.node = nodeZone(sources, node)
	z.countCopies(copies, node)
	z.node = nodeZone(sources, node)
	for file, own := range z.files {
		if own.proven && len(z.node.turns) > 1 && ballots[file].agree(z.node.rule) > ballots[file].agree(own.rule) {
			own.rule, own.note = z.node.rule, "" // which knows of a turn that few lines of the file are from beyond
			own.basis = fmt.Sprintf("zone %s from lines that carry both clocks", zoneNames(own.turns))
			z.files[file] = own
		}
	}
	if given != nil {
		z.give(given, dated)
	}
	return z
}

// countCopies finds the zones of files by lines that another file holds with a full stamp. One alone may be
// another occasion of the same: it tells a zone only where nobody knows the node's, or agrees with it.
func (z *zones) countCopies(copies map[string][]Pair, node map[time.Duration]int) {
	_, known := most(node)
	for _, file := range slices.Sorted(maps.Keys(copies)) {
		if z.files[file].proven {
			continue
		}
		b := newBallot()
		for _, p := range copies[file] {
			b.add(p)
		}
		offset, n := most(b.at)
		own := zone{rule: b.turns(offset)}
		agree, enough := b.agree(own.rule), n > 1 || known == 0
		if inNode := b.agree(z.node.rule); known > 0 && inNode >= agree {
			own.rule, agree, enough = z.node.rule, inNode, true
		}
		if 2*agree > len(copies[file]) && enough {
			own.basis = fmt.Sprintf("zone %s from lines that another file holds with a full stamp", zoneNames(own.turns))
			own.pairs = b.span(own.rule)
			z.files[file] = own
			node[offset] += n
		}
	}
}

// agree is how many double stamps a clock of the rule would have made so.
func (b *ballot) agree(r rule) (n int) {
	for _, p := range b.pairs {
		if !p.Late && (lead(p)-r.at(p.True)).Abs() <= slack {
			n++
		}
	}
	return n
}

// nodeZone is the zone that most stamps of the node show.
func nodeZone(sources []Source, votes map[time.Duration]int) zone {
	offset, n := most(votes)
	if n == 0 {
		return zone{rule: fixedRule(0), basis: "zone not known, taken as UTC", note: "give the node's zone with --tz"}
	}
	z := zone{rule: turnsOf(sources, offset)}
	z.basis = fmt.Sprintf("zone %s as in the node's other files", zoneNames(z.turns))
	return z
}

// give takes the zone of a flag for every file but those that prove another one. The node's dated stamps say when the two can be compared.
func (z *zones) give(given *time.Location, dated Window) {
	told := z.node
	z.node = zone{rule: rule{location: given}, basis: "zone given by --tz"}
	if told.note == "" && !told.agrees(z.node.rule, z.pairs.join(dated)) {
		z.node.note = fmt.Sprintf("without --tz it would be %s", strings.TrimPrefix(told.basis, "zone "))
	}
	for file, own := range z.files {
		agrees := own.agrees(z.node.rule, own.pairs)
		switch {
		case own.proven && !agrees:
			own.ignored = fmt.Sprintf("--tz %s contradicts these lines and is not used for them", given)
			z.files[file] = own
		default:
			mine := zone{rule: z.node.rule, basis: z.node.basis, pairs: own.pairs, proven: own.proven}
			if !agrees {
				mine.note = fmt.Sprintf("without --tz it would be %s", strings.TrimPrefix(own.basis, "zone "))
			}
			z.files[file] = mine
		}
	}
}

// agrees says whether two rules are of one offset at the start of a window; a window of nothing has no say.
func (r rule) agrees(other rule, at Window) bool {
	return at.IsZero() || r.at(at.Start) == other.at(at.Start)
}

// turnsOf are the offsets that a source wrote which changed its own in the course of the
// log, as clocks do in spring and autumn; else the one that most stamps show.
func turnsOf(sources []Source, offset time.Duration) rule {
	for i := range sources {
		turns := sources[i].Turns
		if len(turns) < 2 || len(turns) > maxTurns || !slices.ContainsFunc(turns, func(t Turn) bool { return t.Offset == offset }) {
			continue
		}
		r := rule{}
		for j, t := range turns {
			if j > 0 && (!t.From.After(turns[j-1].From) || (t.Offset-turns[j-1].Offset).Abs() > 2*time.Hour) {
				return fixedRule(offset) // two clocks, not one that was turned
			}
			r = r.with(t.After, t.From, t.Offset)
		}
		return r
	}
	return fixedRule(offset)
}

// maxTurns is how often a clock may be turned within one log: twice a year, some years.
const maxTurns = 8

func zoneNames(turns []turnOfZone) string {
	names := []string{zoneName(turns[0].offset)}
	for _, t := range turns[1:] {
		names = append(names, "from "+t.from.UTC().Format(time.DateOnly)+" on "+zoneName(t.offset))
	}
	return strings.Join(names, ", ")
}

// ballot counts what the double stamps of one file say about its zone.
type ballot struct {
	foreign bool // the file tells nothing of the node's zone, see Source.Foreign
	pairs   []Pair
	at      map[time.Duration]int // offsets of faces written at the moment they tell
	// after is how far a face was ahead of each moment that was told late, the
	// least of them: an exit is told again and again, and only the first time counts.
	after map[time.Time]time.Duration
}

func newBallot() *ballot {
	return &ballot{at: map[time.Duration]int{}, after: map[time.Time]time.Duration{}}
}

// slack is how far the two stamps of one line may lie apart: journald stamps a
// line when it gets to read it, which takes seconds on the nodes this is about.
const slack = time.Minute

// The clocks of the world run from 12 hours behind UTC to 14 ahead of it, on a grid of 15 minutes.
const (
	minOffset = -12 * time.Hour
	maxOffset = 14 * time.Hour
	zoneStep  = 15 * time.Minute
)

func (b *ballot) add(p Pair) {
	b.pairs = append(b.pairs, p)
	d := lead(p)
	if p.Late {
		d += p.Face.Prec + time.Second // rounded down, by two programs
		if known, ok := b.after[p.True.UTC()]; !ok || d < known {
			b.after[p.True.UTC()] = d
		}
		return
	}
	if offset := d.Round(zoneStep); (d-offset).Abs() <= slack && inUse(offset) {
		b.at[offset]++
	}
}

// zone is what most double stamps tell, n of them. Moments told late bound a zone and do not give it: they count only where there are no others.
func (b *ballot) zone() (z zone, offset time.Duration, n int) {
	votes, from := b.at, "lines that carry both clocks"
	if len(votes) == 0 {
		votes, from = map[time.Duration]int{}, "lines that tell, a little later, of a moment in UTC"
		for _, d := range b.after {
			if offset, ok := offsetBelow(d); ok {
				votes[offset]++
			}
		}
	}
	offset, n = most(votes)
	for o, times := range b.at {
		if times == n && o > offset {
			offset = o // journald reads late, and never too soon
		}
	}
	all := 0
	for _, v := range votes {
		all += v
	}
	z = zone{rule: fixedRule(offset), proven: len(b.at) > 0}
	if z.proven {
		z.rule = b.turns(offset)
	}
	z.basis = fmt.Sprintf("zone %s from %s", zoneNames(z.turns), from)
	if len(z.turns) == 1 && n < all {
		z.note = fmt.Sprintf("%d of %d double stamps tell another zone", all-n, all)
	}
	z.pairs = b.span(z.rule)
	return z, offset, n
}

// span is what the pairs span that a clock of the rule can have stamped.
func (b *ballot) span(r rule) (w Window) {
	for _, p := range b.pairs {
		if late := lead(p) - r.at(p.True); late > -slack && (late < slack || p.Late) {
			w = w.with(p.True.UTC())
		}
	}
	return w
}

// run is double stamps in a row that tell one offset.
type run struct {
	offset      time.Duration
	first, last time.Time
	n           int
}

// leastRun is how many double stamps in a row show that a clock was turned. Fewer are odd lines.
const leastRun = 2

// runs are the double stamps in the order of time.
func (b *ballot) runs() (all []run) {
	pairs := slices.Clone(b.pairs)
	slices.SortStableFunc(pairs, func(a, b Pair) int { return a.True.Compare(b.True) })
	for _, p := range pairs {
		offset := lead(p).Round(zoneStep)
		if p.Late || b.at[offset] == 0 || (lead(p)-offset).Abs() > slack {
			continue
		}
		if i := len(all) - 1; i < 0 || all[i].offset != offset {
			all = append(all, run{offset: offset, first: p.True})
		}
		all[len(all)-1].last = p.True
		all[len(all)-1].n++
	}
	return slices.DeleteFunc(all, func(r run) bool { return r.n < leastRun })
}

// turns finds where the offset of the file changed and stayed so.
func (b *ballot) turns(most time.Duration) rule {
	r, last := rule{}, time.Time{}
	for _, run := range b.runs() {
		if i := len(r.turns) - 1; i < 0 || r.turns[i].offset != run.offset {
			r = r.with(last, run.first, run.offset)
		}
		last = run.last
	}
	if len(r.turns) < 2 || len(r.turns) > maxTurns {
		return fixedRule(most)
	}
	return r
}

// lead is how far a face is ahead of the instant at, or after, which it was written.
func lead(p Pair) time.Duration {
	switch {
	case p.Face.Lacks&event.LacksDate != 0:
		d := timeOfDay(p.Face.T) - timeOfDay(p.True)
		if d > day/2 {
			d -= day
		} else if d <= -day/2 {
			d += day
		}
		return d
	case p.Face.Lacks&event.LacksYear != 0:
		return nearestYear(p.Face.T, p.True).Sub(p.True)
	}
	return p.Face.T.Sub(p.True)
}

// nearestYear puts a face without a year into the year that brings it nearest to an instant.
func nearestYear(face, to time.Time) time.Time {
	year := to.UTC().Year()
	return slices.MinFunc([]time.Time{inYear(face, year), inYear(face, year-1), inYear(face, year+1)}, func(a, b time.Time) int {
		return cmp.Compare(a.Sub(to).Abs(), b.Sub(to).Abs())
	})
}

// oddOffsets are the offsets in use that are no whole hours, in minutes (tz database 2025b).
var oddOffsets = []time.Duration{-570, -210, -150, 210, 270, 330, 345, 390, 570, 630, 765, 825}

// inUse says whether clocks run so far ahead of UTC anywhere: a journal that is a quarter of an hour late tells no zone.
func inUse(offset time.Duration) bool {
	return minOffset <= offset && offset <= maxOffset && (offset%time.Hour == 0 || slices.Contains(oddOffsets, offset/time.Minute))
}

// offsetBelow is the zone of a face that is ahead of UTC by its zone and by the
// time that passed since the moment it tells: the next offset in use at or below d.
func offsetBelow(d time.Duration) (time.Duration, bool) {
	offset := d.Truncate(time.Hour)
	if offset > d {
		offset -= time.Hour
	}
	for _, minutes := range oddOffsets {
		if odd := minutes * time.Minute; offset < odd && odd <= d {
			offset = odd
		}
	}
	return offset, minOffset <= offset && offset <= maxOffset
}

// most is the key with the highest count; the smaller offset wins a tie.
func most(votes map[time.Duration]int) (offset time.Duration, n int) {
	for _, k := range slices.Sorted(maps.Keys(votes)) {
		if votes[k] > n {
			offset, n = k, votes[k]
		}
	}
	return offset, n
}

func zoneName(offset time.Duration) string {
	return time.Unix(0, 0).In(time.FixedZone("", int(offset/time.Second))).Format("-07:00")
}
