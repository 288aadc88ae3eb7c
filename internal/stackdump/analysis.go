package stackdump

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/stackdump/args"
)

// era is how the runtime prints arguments.
type era uint8

const (
	// stackArgs: up to Go 1.16 arguments are words on the stack, printed flat and usually right.
	stackArgs era = iota
	// unmarked: Go 1.17 prints registers' spill slots, dead ones too, without saying so.
	unmarked
	// marked: since Go 1.18 a '?' follows what may be stale.
	marked
)

// maxOffset is how deep inside of its owner a lock is looked for.
const maxOffset = 1024

// analysis finds the locks of one dump among Dump.Goroutines[lo:hi].
type analysis struct {
	dump     *Dump
	lo, hi   int
	cut      bool // goroutines may be missing
	rows     Catalogue
	era      era
	unproven bool // the dump does not show its era: what stands for a receiver may be anything
	waits    []wait
	waitOf   []int32      // goroutine, from lo on, to index into waits; -1 for none
	lockOf   []*lockState // goroutine, from lo on, to the lock it waits for; nil for none
	// receivers are the addresses, in rising order, that live receivers show: where objects begin.
	receivers []uint64
	objects   map[string][]uint64 // the same by type
	// pointers are the frames that show an address of interest, but for those of goroutines that
	// wait for the only lock that asks for it. Stacks are the frames that run a function that waits
	// elsewhere, hidden those inside of an owner's method of which it is unknown on which object it
	// works.
	pointers map[uint64]*sights
	stacks   map[string][]hit
	hidden   map[string][]hit
	listed   []listing
	unlisted []listing // inside of such a frame, and calling something that no row names
	// lowest and highest bound the addresses of interest; asked says of functions whether some lock
	// asks for them.
	lowest, highest uint64
	asked           map[*function]bool
	// shared says of the addresses that waiters show whether those of several locks do.
	shared map[uint64]bool
	// guesses are the locks whose owner was guessed, by their addresses.
	guesses []*lockState
	// found are the innermost frames with a part in their Name, of goroutine foundOf.
	found   map[string]int
	foundOf int
}

// hit is a frame, or a word of its arguments, that a lock asks about.
type hit struct {
	g, frame int
	typ      string // the type when the word is a receiver
	arg      int
	sure     bool
}

// sights are the frames that show an address.
type sights struct {
	of   *lockState // that asks for it; nil when several do
	hits []hit
}

func (a *analysis) hitsOn(addr uint64) []hit {
	if s := a.pointers[addr]; s != nil {
		return s.hits
	}
	return nil
}

// askFor notes that a lock asks who shows an address.
func (a *analysis) askFor(l *lockState, addr uint64) {
	if s := a.pointers[addr]; addr != 0 && s == nil {
		a.pointers[addr] = &sights{of: l}
		a.lowest, a.highest = min(a.lowest, addr), max(a.highest, addr)
	} else if s != nil && s.of != l {
		s.of = nil
	}
}

// newAnalysis takes the goroutines [lo:hi] of one dump.
func newAnalysis(d *Dump, lo, hi int, rows Catalogue) *analysis {
	a := &analysis{dump: d, lo: lo, hi: hi, rows: rows, cut: d.isPartIncomplete(hi)}
	a.findEra()
	return a
}

func (a *analysis) findEra() {
	for i := a.lo; i < a.hi; i++ {
		if g := &a.dump.Goroutines[i]; g.CreatorID != 0 || strings.HasPrefix(g.State, "sync.Mutex.") || strings.HasPrefix(g.State, "sync.RWMutex.") {
			a.era = marked // printed since Go 1.21, 1.20
			return
		}
		frames := a.dump.Goroutines[i].Frames
		for j := range frames {
			f := &frames[j]
			if strings.IndexByte(f.Args, '?') >= 0 {
				a.era = marked
				return
			}
			if strings.IndexByte(f.Args, '{') >= 0 {
				a.era = unmarked
			}
		}
	}
	if a.era == stackArgs && a.cut && !a.provesStackArgs() {
		a.era, a.unproven = unmarked, true // what would show it may have been cut off
	}
}

// provesStackArgs says whether a wait shows one lock twice, as dumps up to Go 1.16 do: its address,
// and that of the semaphore inside of it.
func (a *analysis) provesStackArgs() bool {
	for i := a.lo; i < a.hi; i++ {
		frames := a.dump.Goroutines[i].Frames
		for j := 0; j+1 < len(frames); j++ {
			if !strings.HasPrefix(frames[j].Func, "sync.runtime_Semacquire") {
				continue
			}
			sem, _ := frames[j].firstArg()
			lock, _ := frames[j+1].firstArg()
			if sem.Known && lock.Known && args.IsAddress(lock.Value) && sem.Value > lock.Value && sem.Value-lock.Value <= readerSem {
				return true
			}
		}
	}
	return false
}

func (a *analysis) findLocks() []*lockState {
	a.waitOf = make([]int32, a.hi-a.lo)
	for i := a.lo; i < a.hi; i++ {
		a.waitOf[i-a.lo] = -1
		if w, ok := a.findWait(i); ok {
			a.waitOf[i-a.lo] = int32(len(a.waits))
			a.waits = append(a.waits, w)
		}
	}
	if len(a.waits) == 0 {
		return nil
	}
	a.lockOf = make([]*lockState, a.hi-a.lo)
	a.findReceivers()
	locks := a.groupWaits()
	for _, l := range locks {
		a.describeLock(l)
	}
	dropFarGuesses(locks)
	a.proveEmbedding(locks)
	a.indexFrames(locks)
	for _, l := range locks {
		l.Holders = a.findHolders(l)
	}
	a.dropAmbiguous(locks)
	a.confirmCycles(locks)
	return locks
}

// waitOfGoroutine is a goroutine's wait for a lock; nil when it does not wait for one.
func (a *analysis) waitOfGoroutine(g int) *wait {
	if i := a.waitOf[g-a.lo]; i >= 0 {
		return &a.waits[i]
	}
	return nil
}

// frameAt is a frame of a goroutine; nil when the goroutine was cut off before it.
func (a *analysis) frameAt(g, frame int) *Frame {
	frames := a.dump.Goroutines[g].Frames
	if frame >= len(frames) {
		return nil
	}
	return &frames[frame]
}

func (a *analysis) findReceivers() {
	a.objects = map[string][]uint64{}
	shown := map[*function][]uint64{}
	for i := a.lo; i < a.hi; i++ {
		frames := a.dump.Goroutines[i].Frames
		for j := range frames {
			if r, ok := frames[j].Receiver(); ok && r.Sure && args.IsAddress(r.Value) {
				fn := frames[j].function()
				shown[fn] = append(shown[fn], r.Value)
			}
		}
	}
	for fn, objects := range shown {
		isLock := strings.HasPrefix(fn.Printed, "sync.") || strings.HasPrefix(fn.Printed, "internal/sync.")
		if !isLock {
			a.objects[fn.Type] = append(a.objects[fn.Type], objects...)
		}
	}
	for typ, objects := range a.objects {
		slices.Sort(objects)
		a.objects[typ] = slices.Compact(objects)
		a.receivers = append(a.receivers, a.objects[typ]...)
	}
	slices.Sort(a.receivers)
	a.receivers = slices.Compact(a.receivers)
}

// mayContain says whether the object at addr may contain the lock: it begins
// shortly before it, and no other known object begins between them.
func (a *analysis) mayContain(addr, lock uint64) bool {
	if addr == 0 || addr > lock || lock-addr >= maxOffset {
		return false
	}
	i, _ := slices.BinarySearch(a.receivers, addr+1)
	return addr == lock || i == len(a.receivers) || a.receivers[i] > lock
}

// indexFrames notes, in one pass, all frames that some lock will ask about.
func (a *analysis) indexFrames(locks []*lockState) {
	a.asked, a.lowest = map[*function]bool{}, math.MaxUint64
	a.pointers, a.stacks, a.hidden = map[uint64]*sights{}, map[string][]hit{}, map[string][]hit{}
	for _, l := range locks {
		if l.guessed {
			a.guesses = append(a.guesses, l)
		}
		a.askFor(l, l.addr)
		for _, o := range l.owners {
			a.askFor(l, o.addr)
		}
		for _, w := range l.kinds {
			if f := a.frameAt(w.g, w.eff); f != nil {
				a.stacks[f.Func] = nil
			}
			if w.typ != "" {
				a.hidden[w.typ] = nil
			}
		}
	}
	slices.SortFunc(a.guesses, func(x, y *lockState) int { return cmp.Compare(x.addr, y.addr) })
	for g := a.lo; g < a.hi; g++ {
		for j := a.firstFrame(g); j < len(a.dump.Goroutines[g].Frames); j++ {
			a.indexFrame(g, j)
		}
	}
}

// firstFrame is the innermost frame of a goroutine that is not part of its own lock call.
func (a *analysis) firstFrame(g int) int {
	if w := a.waitOfGoroutine(g); w != nil {
		return w.call
	}
	return 0
}

func (a *analysis) indexFrame(g, j int) {
	f := &a.dump.Goroutines[g].Frames[j]
	typ, method := f.receiverType()
	for w := range f.argWords() {
		if !w.Known || w.Depth > 0 || w.Value < a.lowest || w.Value > a.highest {
			continue
		}
		if w.Sure {
			a.doubtGuess(w.Value)
		}
		s := a.pointers[w.Value]
		if s == nil || s.of != nil && s.of == a.lockOf[g-a.lo] {
			continue
		}
		h := hit{g: g, frame: j, arg: w.Top, sure: w.Sure}
		if method && w.Top == 0 {
			h.typ = typ
		}
		s.hits = append(s.hits, h)
	}
	fn := f.function()
	asked, known := a.asked[fn]
	if !known {
		_, hidden := a.hidden[typ]
		_, stack := a.stacks[f.Func]
		asked = hidden || stack || a.rows[fn.Base] != nil
		a.asked[fn] = asked
	}
	if !asked {
		return
	}
	wait := a.waitOfGoroutine(g)
	if hits, wanted := a.hidden[typ]; wanted && !(wait != nil && wait.call == j) {
		recv, known := f.Receiver()
		if shown := method && known && recv.Sure && a.era != unmarked; !shown {
			a.hidden[typ] = append(hits, hit{g: g, frame: j})
		}
	}
	if hits, wanted := a.stacks[f.Func]; wanted && !(wait != nil && wait.eff == j) {
		a.stacks[f.Func] = append(hits, hit{g: g, frame: j})
	}
	for _, row := range a.rows[fn.Base] {
		switch {
		case a.isInRow(g, j, &row):
			a.listed = append(a.listed, listing{g, j, row})
		case row.While != "" && row.Owner == "" && !row.Never && matchName(f.Name(), row.Func) && !(wait != nil && wait.call <= j && j <= wait.eff):
			a.unlisted = append(a.unlisted, listing{g, j, row})
		}
	}
}

// innermostFrame is the index of the innermost frame whose Name contains part; beyond all frames
// when there is none. A stack may hold thousands of frames that ask for it, so that the answers for
// the latest goroutine are kept.
func (a *analysis) innermostFrame(g int, part string) int {
	if a.found == nil || a.foundOf != g {
		a.found, a.foundOf = map[string]int{}, g
	}
	i, known := a.found[part]
	if !known {
		frames := a.dump.Goroutines[g].Frames
		if i = slices.IndexFunc(frames, func(f Frame) bool { return strings.Contains(f.Name(), part) }); i < 0 {
			i = len(frames)
		}
		a.found[part] = i
	}
	return i
}
