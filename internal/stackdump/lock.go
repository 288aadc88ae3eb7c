package stackdump

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/stackdump/args"
	"github.com/plegdiag/plegdiag/internal/stackdump/funcname"
)

// Lock is a mutex that goroutines wait for.
type Lock struct {
	// Addr is the lock's own address, or that of the object which owns it,
	// whichever is known: "0xc000130f80". Empty when neither was printed:
	// then Waiters want it in the same code, but perhaps on different objects.
	Addr string
	// AddrSure is false when every value that Addr was read from carried a '?'.
	AddrSure bool
	Type     string // "sync.Mutex", "sync.RWMutex"
	// Owner is the type whose method calls Lock: "container.(*statusStorage)".
	// Empty when no method does, or when its receiver cannot hold the lock.
	Owner   string
	Waiters []Waiter // in printed order
	// Holders is who holds it. Empty when the dump does not show it; more than one are readers of an
	// RWMutex.
	Holders []Holder
	// Pending are the writers, as indexes of goroutines, behind which readers
	// queue while other readers hold the lock. Each is also a Waiter, never a Holder.
	Pending []int
}

// Waiter is a goroutine inside a call of Lock or RLock.
type Waiter struct {
	Goroutine int    // index into Dump.Goroutines
	Mode      string // "lock" of a Mutex; "read" or "write" of an RWMutex
	Caller    int    // index of the frame that calls Lock; -1 when it was cut off
}

// Holder is a goroutine that holds a lock.
type Holder struct {
	Goroutine int // index into Dump.Goroutines
	// Certainty is "observed" when the address stands, live, in a method of the lock's owner that
	// this goroutine alone is inside of; else "inferred". In a dump that is Incomplete, or an
	// excerpt, nobody is alone, and only a circle of locks is observed.
	Certainty string
	Rule      string // "R1" same object, "R2" past the lock, "R3" itself, "R4" catalogue
	Frame     int    // the frame that shows it
	// Alone says that nothing but the absence of others shows it: the dump has no other goroutine
	// that can hold the lock.
	Alone bool
}

// Certainties of a Holder.
const (
	Observed = "observed"
	Inferred = "inferred"
)

// wait is a goroutine inside of a call of Lock or RLock.
type wait struct {
	g    int
	call int // frame that calls sync; len(Frames) when it was cut off
	// eff is the frame that wants the lock: call, or the caller of helpers that only lock.
	eff      int
	rw       bool
	mode     string
	draining bool // a writer that has shut out other writers and waits for readers to leave
	addr     uint64
	sure     bool   // addr was printed without '?'
	typ      string // of which call runs the code; empty when it is no method
	recv     Arg
}

// Offsets of the semaphores a goroutine parks on (sync/mutex.go, sync/rwmutex.go, unchanged since
// Go 1.5).
const (
	mutexSem  = 4
	writerSem = 8
	readerSem = 12
)

// findWait recognizes a waiter by its frames; states had no names of their own before Go 1.20.
func (a *analysis) findWait(i int) (w wait, ok bool) {
	frames := a.dump.Goroutines[i].Frames
	var sem uint64
	mutex := false
scan:
	for w.call = 0; w.call < len(frames); w.call++ {
		f := &frames[w.call]
		name := strings.TrimPrefix(f.Func, "internal/")
		arg, _ := f.firstArg()
		switch {
		case name == "runtime.semacquire1": // printed by abort dumps of Go ≥ 1.19
			if arg.Known && arg.Sure {
				sem = arg.Value
			}
			continue
		case strings.HasPrefix(name, "runtime."):
			continue
		case strings.HasPrefix(name, "sync.runtime_"):
			// Since Go 1.17 these slots hold junk, in 1.17 itself without a '?'.
			if a.era == stackArgs && arg.Known {
				sem = arg.Value
			}
			continue
		case name == "sync.(*Mutex).lockSlow": // right in every version
			mutex = true
			w.setAddress(arg)
			continue
		case name == "sync.(*Mutex).Lock":
			mutex = true
		case name == "sync.(*RWMutex).Lock":
			w.rw, w.mode, w.draining = true, "write", !mutex
		case name == "sync.(*RWMutex).RLock", name == "sync.(*rlocker).Lock":
			w.rw, w.mode = true, "read"
		case name == "sync.(*Cond).Wait" && (mutex || w.rw): // taking its lock again
			continue
		default:
			break scan
		}
		if a.era != unmarked {
			w.setAddress(arg)
		}
	}
	if !mutex && !w.rw {
		if mutex, ok = w.readListed(&a.dump.Goroutines[i]); !ok {
			return wait{}, false
		}
	}
	w.g = i
	if !w.rw {
		w.mode = "lock"
	}
	if w.addr == 0 && sem != 0 {
		w.addr, w.sure = sem-semOffset(&w, mutex), true
	}
	a.describeCaller(&w)
	return w, true
}

// readListed recognizes a waiter of whose stack a list shows one frame, as that of dlv: the
// function of sync in which it sleeps or, with a state that names the lock, the one that calls
// sync. Mutex says that the lock is one.
func (w *wait) readListed(g *Goroutine) (mutex, ok bool) {
	if len(g.Frames) != 1 || g.Elided == 0 {
		return false, false
	}
	switch name := strings.TrimPrefix(g.Frames[0].Func, "internal/"); {
	case name == "sync.runtime_SemacquireMutex", g.State == "sync.Mutex.Lock":
		mutex = true
	case name == "sync.runtime_SemacquireRWMutexR", g.State == "sync.RWMutex.RLock":
		w.rw, w.mode = true, "read"
	case name == "sync.runtime_SemacquireRWMutex", g.State == "sync.RWMutex.Lock":
		w.rw, w.mode = true, "write"
	default:
		return false, false
	}
	return mutex, true
}

func semOffset(w *wait, mutex bool) uint64 {
	switch {
	case mutex:
		return mutexSem
	case w.mode == "read":
		return readerSem
	}
	return writerSem
}

// setAddress takes the receiver of a frame of sync, if it can be one. A value with '?' is not worth
// it.
func (w *wait) setAddress(a Arg) {
	if w.addr == 0 && a.Known && a.Sure && args.IsAddress(a.Value) {
		w.addr, w.sure = a.Value, true
	}
}

func (a *analysis) describeCaller(w *wait) {
	frames := a.dump.Goroutines[w.g].Frames
	w.eff = w.call
	if w.call == len(frames) {
		return
	}
	f := &frames[w.call]
	w.typ, _ = f.receiverType()
	if r, ok := f.Receiver(); ok && args.IsAddress(r.Value) && (r.Sure || args.IsHeap(r.Value)) {
		w.recv = r
	}
	for _, row := range a.rows[f.baseName()] {
		if row.Owner != "" && matchName(f.Name(), row.Func) {
			w.typ, w.recv = row.Owner, Arg{}
		}
	}
	for w.eff+1 < len(frames) && isLockHelper(&frames[w.eff]) {
		w.eff++
	}
}

// isLockHelper says whether a function returns with a lock held, going by its
// name: promoted methods of embedded mutexes, LockKey, acquireLock.
func isLockHelper(f *Frame) bool {
	name := strings.ToLower(f.baseName())
	return strings.HasPrefix(name, "lock") || strings.HasPrefix(name, "rlock") || strings.HasPrefix(name, "acquire")
}

// lockState is a Lock while its holder is looked for.
type lockState struct {
	Lock
	addr    uint64 // of the lock itself; 0 when unknown
	waits   []wait
	kinds   []wait // one of each place in the code and object: thousands may wait alike
	owners  []owner
	shared  bool // readers hold it
	strange bool // its waiters contradict each other, or a guess of its owner is doubtful
	maxWait time.Duration
	guessed bool // the owner was found by its place in memory alone
	// object is the address of the object that is proven to contain it, of which no method wants
	// it; 0 when nothing is proven.
	object uint64
	// marks are the addresses that its waiters show, and those of no other lock do, besides the
	// receivers of their methods.
	marks map[uint64]bool
	// wantsOther says that the holder was found in the frame where it wants another lock, after this
	// one by the order of arguments.
	wantsOther bool
}

// owner is an object that, by what its methods show, contains the lock.
type owner struct {
	typ  string
	addr uint64
}

// Catalogue has the rows of all holds by the last element of Func.
type Catalogue map[string][]Hold

// NewCatalogue is made once for all dumps.
func NewCatalogue(rows ...Hold) Catalogue {
	all := Catalogue{}
	for _, row := range rows {
		all[funcname.Base(row.Func)] = append(all[funcname.Base(row.Func)], row)
	}
	return all
}

// Locks is the locks that goroutines wait for, the most wanted first, with their holders as far as
// the dump, or the caller's catalogue, shows them.
func (d *Dump) Locks(catalogue Catalogue) []Lock {
	var all []*lockState
	for lo, hi := range d.partBounds() {
		all = append(all, newAnalysis(d, lo, hi, catalogue).findLocks()...)
	}
	slices.SortStableFunc(all, func(a, b *lockState) int {
		return cmp.Or(cmp.Compare(len(b.Waiters), len(a.Waiters)), cmp.Compare(b.maxWait, a.maxWait))
	})
	locks := make([]Lock, len(all))
	for i, l := range all {
		locks[i] = l.Lock
	}
	return locks
}

// lockKey tells locks apart: by address, else by owner, else by the code that wants it.
type lockKey struct {
	addr uint64
	typ  string
	recv uint64
	rw   bool
}

// forgetJunk forgets receivers with a '?' that nothing else in the dump bears
// out: a live receiver of the type, or another waiter.
func (a *analysis) forgetJunk() {
	seen := map[owner]int{}
	for _, w := range a.waits {
		seen[owner{w.typ, w.recv.Value}]++
	}
	for i := range a.waits {
		w := &a.waits[i]
		_, live := slices.BinarySearch(a.objects[w.typ], w.recv.Value)
		if !w.recv.Sure && !live && seen[owner{w.typ, w.recv.Value}] < 2 {
			w.recv = Arg{}
		}
	}
}

// groupWaits makes locks of waits.
func (a *analysis) groupWaits() []*lockState {
	byKey := map[lockKey]*lockState{}
	var all []*lockState
	a.forgetJunk()
	for _, w := range a.waits {
		key := lockKey{addr: w.addr}
		if w.addr == 0 {
			key = lockKey{typ: w.typ, recv: w.recv.Value, rw: w.rw}
			if w.typ == "" || w.recv.Value == 0 {
				if f := a.frameAt(w.g, w.eff); f != nil {
					key.typ = f.Func
				}
			}
		}
		l := byKey[key]
		if l == nil {
			l = &lockState{addr: w.addr}
			byKey[key] = l
			all = append(all, l)
		}
		l.waits = append(l.waits, w)
	}
	return a.mergeReaders(all)
}

// mergeReaders puts readers of which only the owner is known to the RWMutex inside of that owner.
func (a *analysis) mergeReaders(all []*lockState) []*lockState {
	byOwner := map[owner][]*lockState{}
	for _, l := range all {
		for _, w := range l.waits {
			o := owner{w.typ, w.recv.Value}
			if l.addr != 0 && w.rw && a.mayContain(o.addr, l.addr) && !slices.Contains(byOwner[o], l) {
				byOwner[o] = append(byOwner[o], l)
			}
		}
	}
	return slices.DeleteFunc(all, func(l *lockState) bool {
		w := l.waits[0]
		into := byOwner[owner{w.typ, w.recv.Value}]
		if l.addr != 0 || !w.rw || len(into) != 1 {
			return false
		}
		into[0].waits = append(into[0].waits, l.waits...)
		return true
	})
}

// describeLock fills the public half of a lock from its waits.
func (a *analysis) describeLock(l *lockState) {
	slices.SortFunc(l.waits, func(x, y wait) int { return cmp.Compare(x.g, y.g) })
	l.Type = "sync.Mutex"
	recvs := map[string]uint64{}
	l.kinds = a.firstOfEachKind(l.waits)
	for _, w := range l.waits {
		a.lockOf[w.g-a.lo] = l
		frames := a.dump.Goroutines[w.g].Frames
		caller := w.call
		if caller == len(frames) {
			caller = -1
		}
		l.Waiters = append(l.Waiters, Waiter{Goroutine: w.g, Mode: w.mode, Caller: caller})
		l.maxWait = max(l.maxWait, a.dump.Goroutines[w.g].Wait)
		if w.rw {
			l.Type = "sync.RWMutex"
		}
		l.shared = l.shared || w.draining
		if w.typ == "" {
			continue
		}
		if w.recv.Sure {
			l.strange = l.strange || recvs[w.typ] != 0 && recvs[w.typ] != w.recv.Value
			recvs[w.typ] = w.recv.Value
		}
		disproved := w.recv.Sure && l.addr != 0 && !a.mayContain(w.recv.Value, l.addr)
		if l.Owner == "" && !disproved {
			l.Owner = funcname.ShortType(w.typ)
		}
		if o := (owner{w.typ, w.recv.Value}); o.addr != 0 && (l.addr == 0 || a.mayContain(o.addr, l.addr)) &&
			!slices.Contains(l.owners, o) {
			l.owners = append(l.owners, o)
		}
	}
	a.guessOwner(l)
	for _, w := range l.waits {
		if w.mode == "write" && l.shared {
			l.Pending = append(l.Pending, w.g)
		}
		l.AddrSure = l.AddrSure || w.addr != 0 && w.sure || l.addr == 0 && w.recv.Sure
	}
	switch {
	case l.addr != 0:
		l.Addr = hex(l.addr)
	case len(l.owners) > 0 && !a.unproven:
		l.Addr = hex(l.owners[0].addr)
	}
}

// firstOfEachKind is the first of all waits that stand in the same line for the same object.
func (a *analysis) firstOfEachKind(waits []wait) []wait {
	type kind struct {
		mode, eff string
		line      int
		recv      uint64
	}
	seen := map[kind]bool{}
	var first []wait
	for _, w := range waits {
		k := kind{mode: w.mode, recv: w.recv.Value}
		if f := a.frameAt(w.g, w.eff); f != nil {
			k.eff, k.line = f.Func, f.Line
		}
		if !seen[k] {
			seen[k] = true
			first = append(first, w)
		}
	}
	return first
}

// guessOwner looks for the owner of a lock whose waiters do not show it: the
// object of their type that begins right before the lock.
func (a *analysis) guessOwner(l *lockState) {
	if l.addr == 0 || len(l.owners) > 0 {
		return
	}
	for _, w := range l.kinds {
		objects := a.objects[w.typ]
		i, exact := slices.BinarySearch(objects, l.addr)
		if !exact {
			i--
		}
		if w.recv.Sure || i < 0 || len(objects) == 0 || !a.mayContain(objects[i], l.addr) {
			continue
		}
		l.guessed = true
		l.owners = append(l.owners, owner{w.typ, objects[i]})
		return
	}
}

// dropFarGuesses takes a guessed owner back when another lock lies closer to
// it: the farther one may belong to a neighbour that was not printed.
func dropFarGuesses(locks []*lockState) {
	nearest := map[owner]uint64{}
	for _, l := range locks {
		for _, o := range l.owners {
			if n, ok := nearest[o]; l.addr != 0 && (!ok || l.addr < n) {
				nearest[o] = l.addr
			}
		}
	}
	for _, l := range locks {
		if l.guessed && nearest[l.owners[0]] != l.addr {
			l.owners, l.guessed = nil, false
		}
	}
}

// doubtGuess notes that something begins between a lock and the owner that was guessed for it: that
// may be the object to which the lock belongs.
func (a *analysis) doubtGuess(addr uint64) {
	i, _ := slices.BinarySearchFunc(a.guesses, addr+1, func(l *lockState, at uint64) int { return cmp.Compare(l.addr, at) })
	if i < len(a.guesses) && addr > a.guesses[i].owners[0].addr {
		a.guesses[i].strange = true
	}
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
