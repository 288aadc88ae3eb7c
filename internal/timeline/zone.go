package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// zone is where the clock of a file stands, and how that is known.
type zone struct {
	*time.Location
	basis, note string
	// pairs spans the moments that the file stamps twice; empty when there are none.
	pairs Window
	// proven says that lines carry both clocks at once: no flag can be righter than they are.
	proven bool
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
// that are stamped twice, else by the zone that most stamps of the node show.
// A zone that was given holds everywhere but where the lines themselves prove another one.
func countZones(sources []Source, given *time.Location) zones {
	z := zones{files: map[string]zone{}}
	ballots, node := map[string]*ballot{}, map[time.Duration]int{}
	for i := range sources {
		s := &sources[i]
		b := ballots[s.File]
		if b == nil {
			b = &ballot{at: map[time.Duration]int{}, after: map[time.Time]time.Duration{}}
			ballots[s.File] = b
		}
		for _, p := range s.Pairs {
			if plausible(p.True) {
				b.add(p)
				z.pairs = z.pairs.with(p.True.UTC())
			}
		}
		for seconds, n := range s.Zones {
			node[time.Duration(seconds)*time.Second] += n
		}
	}
	for _, file := range slices.Sorted(maps.Keys(ballots)) {
		if own, offset, n := ballots[file].zone(); n > 0 {
			z.files[file] = own
			node[offset] += n
		}
	}
	z.node = zone{Location: time.UTC, basis: "zone not known, taken as UTC", note: "give the node's zone with --tz"}
	if offset, n := most(node); n > 0 {
		z.node = zone{Location: fixed(offset), basis: fmt.Sprintf("zone %s as in the node's other files", zoneName(offset))}
	}
	if given != nil {
		z.node = zone{Location: given, basis: "zone given by --tz"}
		for file, own := range z.files {
			if own.proven && own.offsetAt(own.pairs.Start) != z.node.offsetAt(own.pairs.Start) {
				own.note = join("; ", own.note, fmt.Sprintf("--tz %s contradicts these lines and is not used for them", given))
				z.files[file] = own
				continue
			}
			z.files[file] = zone{Location: given, basis: z.node.basis, pairs: own.pairs}
		}
	}
	return z
}

// offsetAt is how far east of UTC a clock of the zone runs when it shows face. A
// year before 1970 is one that nobody knows: there the rules of 2024 hold.
func (z zone) offsetAt(face time.Time) time.Duration {
	year := face.Year()
	if year < 1970 {
		year = 2024
	}
	t := time.Date(year, face.Month(), face.Day(), face.Hour(), face.Minute(), face.Second(), 0, z.Location)
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// ballot counts what the double stamps of one file say about its zone.
type ballot struct {
	pairs []Pair
	at    map[time.Duration]int // offsets of faces written at the moment they tell
	// after is how far a face was ahead of each moment that was told late, the
	// least of them: an exit is told again and again, and only the first time counts.
	after map[time.Time]time.Duration
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
	if offset := d.Round(zoneStep); (d-offset).Abs() <= slack && minOffset <= offset && offset <= maxOffset {
		b.at[offset]++
	}
}

// zone is what most double stamps tell, n of them. Moments told late count only
// where there are no others.
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
	all := 0
	for _, v := range votes {
		all += v
	}
	z = zone{Location: fixed(offset), basis: fmt.Sprintf("zone %s from %s", zoneName(offset), from), proven: len(b.at) > 0}
	if n < all {
		z.note = fmt.Sprintf("%d of %d double stamps tell another zone", all-n, all)
	}
	for _, p := range b.pairs {
		if late := lead(p) - offset; late > -slack && (late < slack || p.Late) {
			z.pairs = z.pairs.with(p.True.UTC())
		}
	}
	return z, offset, n
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

func fixed(offset time.Duration) *time.Location { return time.FixedZone("", int(offset/time.Second)) }

func zoneName(offset time.Duration) string {
	return time.Unix(0, 0).In(fixed(offset)).Format("-07:00")
}
