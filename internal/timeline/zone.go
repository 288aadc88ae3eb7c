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

// zone is how far a file's clock is from UTC, and how that is known.
type zone struct {
	rule
	basis, note string
	// pairs is the window of the moments that the file stamps twice; empty when there are none.
	pairs Window
	// proven says that lines carry both clocks at the same moment. They outweigh every flag.
	proven bool
	// ignored says which flag these lines contradict; empty when none.
	ignored string
}

// zones are the zones of the files that show theirs, and the one of all other files.
type zones struct {
	files map[string]zone
	node  zone
	// pairs is the window of all moments that are stamped twice, whether or not they show a zone.
	pairs Window
}

func (z zones) zoneOf(file string) zone {
	if own, ok := z.files[file]; ok {
		return own
	}
	return z.node
}

// countZones finds the zone of stamps without one: for every file by its lines with two stamps, or
// by lines that another file has with a full stamp, else the zone that most stamps of the node
// show. A zone that was given counts everywhere except where the lines themselves prove another
// one; that of the machine, as timedatectl told it, where nothing shows another one.
func countZones(sources []*Source, copies map[string][]Pair, given, told *time.Location) zones {
	z := zones{files: map[string]zone{}}
	ballots, node := map[string]*ballot{}, map[time.Duration]int{}
	var dated Window
	for _, s := range sources {
		b := ballots[s.File]
		if b == nil && len(s.Pairs) > 0 {
			b = newBallot()
			ballots[s.File] = b
		}
		for _, p := range s.Pairs {
			if event.Plausible(p.True) {
				b.addPair(p)
				z.pairs = z.pairs.extendTo(p.True.UTC())
			}
		}
		if s.First.Known && s.First.Lacks == 0 && event.Plausible(s.First.T) {
			dated = dated.extendTo(s.First.T.UTC())
		}
		for _, z := range s.Zones {
			node[time.Duration(z.Seconds)*time.Second] += z.Stamps
		}
	}
	for _, s := range sources {
		if b := ballots[s.File]; b != nil {
			b.foreign = b.foreign || s.Foreign
		}
	}
	for _, file := range slices.Sorted(maps.Keys(ballots)) {
		if own, offset, n := ballots[file].decideZone(); n > 0 {
			z.files[file] = own
			if !ballots[file].foreign {
				node[offset] += n
			}
		}
	}
	z.node = decideNodeZone(sources, node)
	z.addZonesOfCopies(copies, node)
	z.node = decideNodeZone(sources, node)
	for file, own := range z.files {
		if !own.proven {
			continue
		}
		b := ballots[file]
		narrowed := b.narrowTurns(z.node.rule)
		if len(narrowed.turns) > 1 && b.countAgreeing(narrowed) > b.countAgreeing(own.rule) {
			// the node knows of a turn that few lines of the file are from beyond
			own.rule, own.note = narrowed, ""
			own.basis = fmt.Sprintf("zone %s from lines that carry both clocks", zoneNames(own.turns))
			z.files[file] = own
		}
	}
	switch {
	case given != nil:
		z.applyGivenZone(given, dated)
	case told != nil:
		z.applyToldZone(told, dated)
	}
	return z
}

// findToldZone is the zone of the machine, by its name in what was collected; nil for none and for
// several.
func findToldZone(events []*event.Event) (told *time.Location) {
	for _, e := range events {
		if e.Kind != event.KindFact || e.FieldText(event.FieldName) != "clock.zone" {
			continue
		}
		name := e.FieldText(event.FieldValue)
		if name == "Local" { // it would be the zone of whoever reads the evidence
			return nil
		}
		zone, err := time.LoadLocation(name)
		if err != nil || told != nil && told.String() != zone.String() {
			return nil
		}
		told = zone
	}
	return told
}

// applyToldZone lets the zone of the machine count in files whose lines show no other one.
func (z *zones) applyToldZone(told *time.Location, dated Window) {
	by := func(known zone) zone {
		return zone{rule: rule{location: told}, basis: fmt.Sprintf("zone %s of timedatectl", told), pairs: known.pairs, proven: known.proven}
	}
	for file, own := range z.files {
		if !own.pairs.IsZero() && own.agreesAt(rule{location: told}, own.pairs) {
			z.files[file] = by(own)
		}
	}
	if z.node.note != "" || z.node.agreesAt(rule{location: told}, z.pairs.Union(dated)) {
		z.node = by(z.node)
	}
}

// addZonesOfCopies finds the zones of files by lines that another file has with a full stamp. A
// single such line can be from another time: it shows a zone only where the node's is not known, or
// where it agrees with the node's.
func (z *zones) addZonesOfCopies(copies map[string][]Pair, node map[time.Duration]int) {
	_, known := mostVotes(node)
	for _, file := range slices.Sorted(maps.Keys(copies)) {
		if z.files[file].proven {
			continue
		}
		b := newBallot()
		for _, p := range copies[file] {
			b.addPair(p)
		}
		offset, n := mostVotes(b.at)
		own := zone{rule: b.findTurns(offset)}
		agree, enough := b.countAgreeing(own.rule), n > 1 || known == 0
		narrowed := b.narrowTurns(z.node.rule)
		if inNode := b.countAgreeing(narrowed); known > 0 && inNode >= agree {
			own.rule, agree, enough = narrowed, inNode, true
		}
		if 2*agree > len(copies[file]) && enough {
			own.basis = fmt.Sprintf("zone %s from lines that another file holds with a full stamp",
				zoneNames(own.turns))
			own.pairs = b.windowOf(own.rule)
			z.files[file] = own
			node[offset] += n
		}
	}
}

// narrowTurns narrows the time in which each turn of a rule was by the pairs in it that show the
// offset from before or after it. Only pairs that are in order narrow it.
func (b *ballot) narrowTurns(r rule) rule {
	r.turns = slices.Clone(r.turns)
	for i := 1; i < len(r.turns); i++ {
		before, turn := r.turns[i-1].Offset, &r.turns[i]
		after, from := turn.After, turn.From
		for _, p := range b.pairs {
			switch d := offsetOfPair(p); {
			case p.Late || !p.True.After(turn.After) || !p.True.Before(turn.From):
			case (d-before).Abs() <= slack && p.True.After(after):
				after = p.True.UTC()
			case (d-turn.Offset).Abs() <= slack && p.True.Before(from):
				from = p.True.UTC()
			}
		}
		if after.Before(from) {
			turn.After, turn.From = after, from
		}
	}
	return r
}

// countAgreeing counts the pairs that a clock of the rule would have written.
func (b *ballot) countAgreeing(r rule) (n int) {
	for _, p := range b.pairs {
		if !p.Late && (offsetOfPair(p)-r.offsetAt(p.True)).Abs() <= slack {
			n++
		}
	}
	return n
}

// decideNodeZone returns the zone that most stamps of the node show.
func decideNodeZone(sources []*Source, votes map[time.Duration]int) zone {
	offset, n := mostVotes(votes)
	if n == 0 {
		return zone{rule: fixedRule(0), basis: "zone not known, taken as UTC", note: "give the node's zone with --tz"}
	}
	z := zone{rule: ruleFromSources(sources, offset)}
	z.basis = fmt.Sprintf("zone %s as in the node's other files", zoneNames(z.turns))
	return z
}

// applyGivenZone sets the zone of a flag for every file except those that prove another one. The
// node's dated stamps are where the two zones are compared.
func (z *zones) applyGivenZone(given *time.Location, dated Window) {
	override := func(told zone, agrees bool) zone {
		by := zone{rule: rule{location: given}, basis: "zone given by --tz", pairs: told.pairs, proven: told.proven}
		if !agrees {
			by.note = fmt.Sprintf("without --tz it would be %s", strings.TrimPrefix(told.basis, "zone "))
		}
		return by
	}
	for file, own := range z.files {
		agrees := own.agreesAt(rule{location: given}, own.pairs)
		if own.proven && !agrees {
			own.ignored = fmt.Sprintf("--tz %s contradicts these lines and is not used for them", given)
		} else {
			own = override(own, agrees)
		}
		z.files[file] = own
	}
	unknown := z.node.note != ""
	z.node = override(z.node, unknown || z.node.agreesAt(rule{location: given}, z.pairs.Union(dated)))
}

// agreesAt says whether two rules have one offset at the start of a window. An empty window decides
// nothing: then they agree.
func (r rule) agreesAt(other rule, at Window) bool {
	return at.IsZero() || r.offsetAt(at.Start) == other.offsetAt(at.Start)
}

// ruleFromSources makes a rule of the offsets of a source whose own offset changed within the log,
// as in spring and autumn. Without such a source the rule is the offset that most stamps show.
func ruleFromSources(sources []*Source, offset time.Duration) rule {
	for i := range sources {
		turns := sources[i].Turns
		if !isTurned(turns) || !slices.ContainsFunc(turns, func(t Turn) bool { return t.Offset == offset }) {
			continue
		}
		for j, t := range turns[1:] {
			if !t.From.After(turns[j].From) || (t.Offset-turns[j].Offset).Abs() > 2*time.Hour {
				return fixedRule(offset) // two clocks, not one that was turned
			}
		}
		return ruleFromTurns(turns)
	}
	return fixedRule(offset)
}

// isTurned says that a clock had several offsets, but no more than a clock can have.
func isTurned(turns []Turn) bool { return len(turns) > 1 && len(turns) <= maxTurns }

// maxTurns is how often the offset of a clock can change within one log: twice a year, for some
// years.
const maxTurns = 8

func zoneNames(turns []Turn) string {
	names := []string{zoneName(turns[0].Offset)}
	for _, t := range turns[1:] {
		names = append(names, "from "+t.From.UTC().Format(time.DateOnly)+" on "+zoneName(t.Offset))
	}
	return strings.Join(names, ", ")
}

// ballot counts what the pairs of one file say about its zone.
type ballot struct {
	foreign bool // the file does not show the node's zone, see Source.Foreign
	pairs   []Pair
	// offsets of local times that were written at the moment that they are about
	at map[time.Duration]int
	// after is the least by which a local time was ahead of each moment that was logged late. An
	// exit is logged again and again, and only the first line counts.
	after map[time.Time]time.Duration
}

func newBallot() *ballot {
	return &ballot{at: map[time.Duration]int{}, after: map[time.Time]time.Duration{}}
}

// slack is how far the two stamps of one line can lie apart: journald stamps a line when it reads
// it, which takes seconds on a node that hangs.
const slack = time.Minute

// Offsets of zones reach from 12 hours behind UTC to 14 ahead of it, in steps of 15 minutes.
const (
	minOffset = -12 * time.Hour
	maxOffset = 14 * time.Hour
	zoneStep  = 15 * time.Minute
)

func (b *ballot) addPair(p Pair) {
	b.pairs = append(b.pairs, p)
	d := offsetOfPair(p)
	if p.Late {
		d += p.Local.Prec + time.Second // rounded down, by two programs
		if known, ok := b.after[p.True.UTC()]; !ok || d < known {
			b.after[p.True.UTC()] = d
		}
		return
	}
	if offset := d.Round(zoneStep); (d-offset).Abs() <= slack && isOffsetInUse(offset) {
		b.at[offset]++
	}
}

// decideZone returns the zone that most pairs show; n is their number. Moments that were logged
// late only bound a zone, so they count only where there are no other pairs.
func (b *ballot) decideZone() (z zone, offset time.Duration, n int) {
	votes, from := b.at, "lines that carry both clocks"
	if len(votes) == 0 {
		votes, from = map[time.Duration]int{}, "lines that tell, a little later, of a moment in UTC"
		for _, d := range b.after {
			if offset, ok := offsetBelow(d); ok {
				votes[offset]++
			}
		}
	}
	offset, n = mostVotes(votes)
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
		z.rule = b.findTurns(offset)
	}
	z.basis = fmt.Sprintf("zone %s from %s", zoneNames(z.turns), from)
	if len(z.turns) == 1 && n < all {
		z.note = fmt.Sprintf("%d of %d lines with two stamps show another zone", all-n, all)
	}
	z.pairs = b.windowOf(z.rule)
	return z, offset, n
}

// windowOf is the window of the pairs that a clock of the rule can have written.
func (b *ballot) windowOf(r rule) (w Window) {
	for _, p := range b.pairs {
		if late := offsetOfPair(p) - r.offsetAt(p.True); late > -slack && (late < slack || p.Late) {
			w = w.extendTo(p.True.UTC())
		}
	}
	return w
}

// run is pairs in a row that show one offset.
type run struct {
	offset      time.Duration
	first, last time.Time
	n           int
}

// leastRun is how many pairs in a row show that the offset changed. Fewer are odd lines.
const leastRun = 2

// findRuns groups the pairs, in the order of time.
func (b *ballot) findRuns() (all []run) {
	pairs := slices.Clone(b.pairs)
	slices.SortStableFunc(pairs, func(a, b Pair) int { return a.True.Compare(b.True) })
	for _, p := range pairs {
		offset := offsetOfPair(p).Round(zoneStep)
		if p.Late || b.at[offset] == 0 || (offsetOfPair(p)-offset).Abs() > slack {
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

// findTurns makes a rule of the runs: where the offset of the file changed and stayed changed.
func (b *ballot) findTurns(most time.Duration) rule {
	var turns []Turn
	var last time.Time
	for _, run := range b.findRuns() {
		if n := len(turns); n == 0 || turns[n-1].Offset != run.offset {
			turns = append(turns, Turn{last, run.first, run.offset})
		}
		last = run.last
	}
	if !isTurned(turns) {
		return fixedRule(most)
	}
	return ruleFromTurns(turns)
}

// offsetOfPair is how far the local time is ahead of the moment at, or after, which it was written.
func offsetOfPair(p Pair) time.Duration {
	switch {
	case p.Local.Lacks&event.LacksDate != 0:
		d := timeOfDay(p.Local.T) - timeOfDay(p.True)
		if d > day/2 {
			d -= day
		} else if d <= -day/2 {
			d += day
		}
		return d
	case p.Local.Lacks&event.LacksYear != 0:
		return putInNearestYear(p.Local.T, p.True).Sub(p.True)
	}
	return p.Local.T.Sub(p.True)
}

// putInNearestYear gives a local time without a year the year that brings it nearest to a moment.
func putInNearestYear(local, to time.Time) time.Time {
	year := to.UTC().Year()
	return slices.MinFunc([]time.Time{inYear(local, year), inYear(local, year-1), inYear(local, year+1)},
		func(a, b time.Time) int {
			return cmp.Compare(a.Sub(to).Abs(), b.Sub(to).Abs())
		})
}

// oddOffsets are the offsets in use that are not whole hours, in minutes (tz database 2025b).
var oddOffsets = []time.Duration{-570, -210, -150, 210, 270, 330, 345, 390, 570, 630, 765, 825}

// isOffsetInUse says whether any zone has this offset. A journal that is a quarter of an hour late
// shows no zone.
func isOffsetInUse(offset time.Duration) bool {
	return minOffset <= offset && offset <= maxOffset &&
		(offset%time.Hour == 0 || slices.Contains(oddOffsets, offset/time.Minute))
}

// offsetBelow is the next offset in use at or below d. d is how far a local time is ahead of UTC:
// by its zone, and by the time that passed since the moment that it is about.
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

// mostVotes is the offset with the highest count; the smaller one wins a tie.
func mostVotes(votes map[time.Duration]int) (offset time.Duration, n int) {
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
