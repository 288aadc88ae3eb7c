package series

import (
	"cmp"
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// Digest is what of a dump is compared with other dumps. It has nothing of the dump's text, and 24
// bytes of each goroutine: a bundle may hold hundreds of dumps of thousands of goroutines.
type Digest struct {
	// Print is the dump's Fingerprint.
	Print string
	// Partial says that goroutines are missing, or may be: the dump is Incomplete or an excerpt.
	Partial bool

	first      known       // the goroutine that was printed first
	goroutines []goroutine // by id; those with one id as printed
	places     []place     // each once
}

// goroutine is a goroutine in a digest.
type goroutine struct {
	id    uint64
	args  uint64
	place uint32 // index of places
	wait  uint32 // minutes
}

// sight is a goroutine as one dump shows it.
type sight struct {
	place
	// args is a hash of the arguments of all frames; 0 when no address is among them.
	args uint64
	wait time.Duration
}

// place is where goroutines are, by hashes.
type place struct {
	frames uint64 // functions and lines
	state  uint64
	// root is the function that they were started with.
	root uint64
	runs bool // or is about to
}

// seed is one for all dumps, so that their hashes compare.
var seed = maphash.MakeSeed()

func newSight(g *stackdump.Goroutine) sight {
	s := sight{wait: g.Wait}
	s.state, s.runs = hash(g.State), strings.HasPrefix(g.State, "run")
	s.root = rootOf(g)
	pointers := false
	for i := range g.Frames {
		f := &g.Frames[i]
		s.frames = mix(mix(s.frames, f.Function().Hash), uint64(f.Line))
		s.args = mix(s.args, hash(f.Args))
		pointers = pointers || f.HasPointer()
	}
	if s.args |= 1; !pointers {
		s.args = 0
	}
	return s
}

func hash(s string) uint64 { return maphash.String(seed, s) }

// mix adds a hash to that of what stands before it.
func mix(before, next uint64) uint64 {
	hi, lo := bits.Mul64(before^0x9e3779b97f4a7c15, next^0xd6e8feb86659fd93)
	return hi ^ lo
}

// rootOf is a hash of the function that a goroutine was started with; 0 when it was not printed.
func rootOf(g *stackdump.Goroutine) uint64 {
	for _, f := range slices.Backward(g.Frames) {
		if !strings.HasPrefix(f.Func, "runtime.") {
			return f.Function().Hash
		}
	}
	return 0
}

// NewDigest is the digest of a dump.
func NewDigest(d *stackdump.Dump) *Digest {
	digest := &Digest{Print: d.Fingerprint(), Partial: d.Incomplete || d.IsExcerpt()}
	digest.goroutines = make([]goroutine, len(d.Goroutines))
	places := map[place]uint32{}
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		s := newSight(g)
		at, known := places[s.place]
		if !known {
			at = uint32(len(digest.places))
			places[s.place] = at
			digest.places = append(digest.places, s.place)
		}
		digest.goroutines[i] = goroutine{id: g.ID, args: s.args, place: at, wait: uint32(s.wait / time.Minute)}
	}
	if len(digest.goroutines) > 0 {
		digest.first = digest.identify(&digest.goroutines[0])
	}
	slices.SortStableFunc(digest.goroutines, func(a, b goroutine) int { return cmp.Compare(a.id, b.id) })
	return digest
}

// sightOf is a goroutine of the digest as it was seen.
func (d *Digest) sightOf(g *goroutine) sight {
	return sight{d.places[g.place], g.args, time.Duration(g.wait) * time.Minute}
}

// inBoth yields the goroutines that two dumps have, as both show them. It leaves out goroutine 0,
// which is every thread's, and later copies.
func inBoth(a, b *Digest) iter.Seq2[uint64, [2]sight] {
	return func(yield func(id uint64, seen [2]sight) bool) {
		was := a.goroutines
		last := uint64(0)
		for i := range b.goroutines {
			is := &b.goroutines[i]
			if is.id == last {
				continue
			}
			last = is.id
			for len(was) > 0 && was[0].id < is.id {
				was = was[1:]
			}
			if len(was) > 0 && was[0].id == is.id && !yield(is.id, [2]sight{a.sightOf(&was[0]), b.sightOf(is)}) {
				return
			}
		}
	}
}

// Stayed are the ids of the goroutines that have not moved from one dump of a process to a later
// one, as Compare tells them.
func Stayed(earlier, later *Digest) map[uint64]bool {
	stayed := map[uint64]bool{}
	for id, seen := range inBoth(earlier, later) {
		if hasStayed(&seen[0], &seen[1]) {
			stayed[id] = true
		}
	}
	return stayed
}

// hasStayed says whether a goroutine has not moved between two dumps. A wait that
// has become shorter has begun anew.
func hasStayed(was, is *sight) bool {
	return was.state == is.state && is.wait >= was.wait && !is.runs && was.frames == is.frames
}

// SameProcess says whether two dumps seem to be of one process. Processes of
// one program number their first goroutines alike; but those that have not
// moved show the same addresses only in the same process.
func SameProcess(a, b *Digest) bool {
	same, other, started := 0, 0, 0
	for _, seen := range inBoth(a, b) {
		was, is := &seen[0], &seen[1]
		switch {
		case was.root != is.root:
			other++
		case was.frames != is.frames || is.args == 0:
			started++
		case was.args == is.args:
			started++
			same++
		default:
			started++
			other++
		}
	}
	if same+other == 0 {
		return started > 0
	}
	return same > other
}

// known identifies a goroutine in one dump: in a dump of a minute later it has waited for a minute
// more.
type known struct {
	id, state uint64
	wait      uint32
}

func (d *Digest) identify(g *goroutine) known { return known{g.id, d.places[g.place].state, g.wait} }

// IsPartOf says whether a dump shows nothing but goroutines of another one, which has more of them,
// in the same state and for as long.
func (d *Digest) IsPartOf(whole *Digest) bool {
	if len(d.goroutines) == 0 || len(d.goroutines) >= len(whole.goroutines) || !whole.holds(d.first) {
		return false
	}
	all := make(map[known]bool, len(whole.goroutines))
	for i := range whole.goroutines {
		all[whole.identify(&whole.goroutines[i])] = true
	}
	return !slices.ContainsFunc(d.goroutines, func(g goroutine) bool { return !all[d.identify(&g)] })
}

func (d *Digest) holds(one known) bool {
	at, _ := slices.BinarySearchFunc(d.goroutines, one.id, func(g goroutine, id uint64) int { return cmp.Compare(g.id, id) })
	for ; at < len(d.goroutines) && d.goroutines[at].id == one.id; at++ {
		if d.identify(&d.goroutines[at]) == one {
			return true
		}
	}
	return false
}

// Wholes finds the dumps that may hold all goroutines of one that lost some.
type Wholes struct {
	holders map[known][]int32 // of a few goroutines: the dumps that show them, by number
}

// maxProbes bounds the goroutines of a dump that are looked for in the others.
const maxProbes = 8

// FindWholes looks for them among all dumps. Of which ones it will be asked, lost says.
func FindWholes(all []*Digest, lost func(i int) bool) Wholes {
	w := Wholes{map[known][]int32{}}
	for i, d := range all {
		if lost(i) {
			for one := range d.probes() {
				w.holders[one] = nil
			}
		}
	}
	for i := 0; i < len(all) && len(w.holders) > 0; i++ {
		for j := range all[i].goroutines {
			one := all[i].identify(&all[i].goroutines[j])
			holders, asked := w.holders[one]
			if asked && (len(holders) == 0 || holders[len(holders)-1] != int32(i)) {
				w.holders[one] = append(holders, int32(i))
			}
		}
	}
	return w
}

// Of are the dumps, by number and in order, that may hold all goroutines of a dump: those with the
// rarest of them.
func (w *Wholes) Of(d *Digest) (fewest []int32) {
	first := true
	for one := range d.probes() {
		if holders := w.holders[one]; first || len(holders) < len(fewest) {
			first, fewest = false, holders
		}
	}
	return fewest
}

// probes yields some goroutines of a dump, from all over it.
func (d *Digest) probes() iter.Seq[known] {
	return func(yield func(known) bool) {
		step := max(1, len(d.goroutines)/maxProbes)
		for i := 0; i < len(d.goroutines); i += step {
			if !yield(d.identify(&d.goroutines[i])) {
				return
			}
		}
	}
}
