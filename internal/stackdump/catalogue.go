package stackdump

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/stackdump/args"
)

// Hold is a row of a catalogue: a goroutine inside of a frame whose Name is
// Func and, deeper, inside of one whose Name contains While, holds the lock
// that waiters want in a frame whose Name is Lock. Func and Lock may lack
// leading path elements ("daemon.(*Daemon).start"); a Lock that ends in a dot
// stands for all methods ("daemon.(*Daemon)."). An empty While asks for nothing.
type Hold struct {
	Func, While, Lock string
	// Next is the function that Func must be calling, in the form of Lock; empty asks for nothing.
	Next string
	// NotNext are functions, in the form of Lock, that Func calls without the lock: before it has
	// taken the lock, or after.
	NotNext []string
	// Word is the one of Func's arguments, counted from 0 and as dumps up to Go 1.16 print them, that
	// must be Value; 0 asks for nothing.
	Word  int
	Value uint64
	// State begins the state that the goroutine must be in, as "chan send"; empty asks for nothing.
	State string
	// Names is how many strings behind the receiver, of Func and of Lock alike, name the object
	// that the lock belongs to.
	Names int
	// Self says that the goroutine that wants the lock is the one that holds it: it took the lock
	// in Func and wants it again.
	Self bool
	// Never turns the row around: inside of Func a goroutine does not hold the lock, whatever else
	// it shows.
	Never bool
	// Owner turns the row around, too: Func is where a lock is wanted that belongs to an object of
	// this type, not to Func's receiver.
	Owner string
	// Type is what the lock must be, as "sync.RWMutex"; empty asks for nothing.
	Type string
	// Several says that Func holds all of the locks that its rows name, and not one of them.
	Several bool
	// Arg says that the lock belongs to an argument of Func: its receiver tells no objects apart.
	Arg bool
	// Doubtful says that not all versions of the program do so: such a holder is never observed.
	Doubtful bool
}

// listing is a goroutine inside of a frame that the catalogue names.
type listing struct {
	g, frame int
	row      Hold
}

// isInRow says whether frame j of a goroutine is what a row of the catalogue describes.
func (a *analysis) isInRow(g, j int, row *Hold) bool {
	frames := a.dump.Goroutines[g].Frames
	if row.Owner != "" || !matchName(frames[j].Name(), row.Func) || row.While != "" && a.innermostFrame(g, row.While) >= j {
		return false
	}
	if row.Word != 0 && !hasWord(&frames[j], row) || !strings.HasPrefix(a.dump.Goroutines[g].State, row.State) {
		return false
	}
	if row.Next == "" && row.NotNext == nil {
		return true
	}
	next := ""
	if j > 0 {
		next = frames[j-1].Name()
	}
	return (row.Next == "" || matchName(next, row.Next)) &&
		!slices.ContainsFunc(row.NotNext, func(name string) bool { return matchName(next, name) })
}

// hasWord says whether a frame shows the argument that a row asks for.
func hasWord(f *Frame, row *Hold) bool {
	n := 0
	for w := range f.argWords() {
		if n == row.Word {
			return w.Known && w.Depth == 0 && w.Value == row.Value
		}
		n++
	}
	return false
}

// isAboutLock says whether waiters want a lock where a row of the catalogue says.
func (a *analysis) isAboutLock(row *Hold, l *lockState) bool {
	return (row.Type == "" || row.Type == l.Type) && slices.ContainsFunc(l.kinds, func(w wait) bool { return a.isWanted(row, &w) })
}

func (a *analysis) isWanted(row *Hold, w *wait) bool {
	frames := a.dump.Goroutines[w.g].Frames
	for j := w.call; j <= w.eff && j < len(frames); j++ {
		if matchName(frames[j].Name(), row.Lock) {
			return true
		}
	}
	return false
}

// isFreeOf says whether the catalogue knows that a goroutine does not hold a lock, in spite of what
// it shows.
func (a *analysis) isFreeOf(l *lockState, g int) bool {
	free := false
	for i := range a.listed {
		e := &a.listed[i]
		if e.g != g || !a.isAboutLock(&e.row, l) {
			continue
		}
		if !e.row.Never {
			return false
		}
		free = true
	}
	return free
}

// isDoubtful says whether some versions of a program do not hold the lock where this goroutine is.
func (a *analysis) isDoubtful(l *lockState, g int) bool {
	return slices.ContainsFunc(a.listed, func(e listing) bool {
		return e.g == g && e.row.Doubtful && a.isAboutLock(&e.row, l)
	})
}

// candidatesByCatalogue is R4: goroutines of which the catalogue knows that they hold such a lock,
// without those that work on another object. Where one is seen to work on the same object, the
// others, of which this is not known, do not count.
func (a *analysis) candidatesByCatalogue(l *lockState) []candidate {
	var found []candidate
	same := false
	for i := range a.listed {
		e := &a.listed[i]
		if e.row.Never || a.waitsFor(l, e.g) != e.row.Self || !a.isAboutLock(&e.row, l) ||
			slices.ContainsFunc(found, func(c candidate) bool { return c.g == e.g }) {
			continue
		}
		if e.row.Self { // the lock that it wants is the one it took
			if w := a.waitOfGoroutine(e.g); w.call >= e.frame || !a.isWanted(&e.row, w) {
				continue
			}
			found, same = append(found, candidate{g: e.g, frame: e.frame, sure: true}), true
			continue
		}
		switch a.compareObjects(e, l) {
		case otherObject:
		case sameObject:
			found, same = append(found, candidate{g: e.g, frame: e.frame, sure: true}), true
		default:
			found = append(found, candidate{g: e.g, frame: e.frame})
		}
	}
	if same {
		return slices.DeleteFunc(found, func(c candidate) bool { return !c.sure })
	}
	if len(found) > 1 { // what one of them alone shows with a '?' was there when it made that call
		if near := slices.DeleteFunc(slices.Clone(found), func(c candidate) bool { return !a.hintsAtOwner(l, c) }); len(near) == 1 {
			return near
		}
	}
	return found
}

// hasRival says whether another goroutine may hold the lock as well as the one that the catalogue
// names for want of others: it is inside of such a function, whatever that calls, or the dump has
// left out frames of it.
func (a *analysis) hasRival(l *lockState, c candidate) bool {
	for i := range a.unlisted {
		e := &a.unlisted[i]
		if e.g != c.g && !a.waitsFor(l, e.g) && a.isAboutLock(&e.row, l) && !a.isFreeOf(l, e.g) && a.compareObjects(e, l) != otherObject {
			return true
		}
	}
	i := slices.IndexFunc(a.listed, func(e listing) bool { return e.g == c.g && e.frame == c.frame && a.isAboutLock(&e.row, l) })
	for g := a.lo; g < a.hi && i >= 0; g++ {
		if other := &a.dump.Goroutines[g]; g != c.g && other.Elided > 0 && a.waitOfGoroutine(g) == nil &&
			slices.ContainsFunc(other.Frames, func(f Frame) bool { return matchName(f.Name(), a.listed[i].row.Lock) }) {
			return true
		}
	}
	return false
}

// hintsAtOwner says whether a candidate shows the lock, or its owner, in the frame that the
// catalogue names or in the one that this calls, perhaps with a '?'.
func (a *analysis) hintsAtOwner(l *lockState, c candidate) bool {
	for j := max(a.firstFrame(c.g), c.frame-1); j <= c.frame && a.era != unmarked; j++ {
		for w := range a.frameAt(c.g, j).argWords() {
			if w.Value != 0 && w.Depth == 0 && slices.ContainsFunc(l.owners, func(o owner) bool { return o.addr == w.Value }) {
				return true
			}
		}
	}
	return false
}

// likeness is what two stacks show of the objects that they work on.
type likeness uint8

const (
	unknownObject likeness = iota
	otherObject
	sameObject
)

// nearFrames is how many frames further out still work on the object of a lock: a method, the one
// that calls it, and the request.
const nearFrames = 4

// compareObjects says whether a goroutine of the catalogue works on the object whose lock is
// wanted: by the strings that name it, by the receivers of methods of one type, by the addresses
// that both show.
func (a *analysis) compareObjects(e *listing, l *lockState) likeness {
	like := unknownObject
	for i := range l.kinds {
		w := &l.kinds[i]
		if a.hasOtherKey(*e, w) {
			return otherObject
		}
		if a.hasSameNames(e, w) {
			like = sameObject
		}
		if e.row.Arg {
			continue
		}
		switch a.compareReceivers(e, w) {
		case otherObject:
			return otherObject
		case sameObject:
			like = sameObject
		}
	}
	if like == unknownObject && a.differInArgs(e, l) {
		return otherObject
	}
	for addr := range a.shownAddresses(e.g, e.frame, e.frame+2) {
		switch {
		case l.marks[addr], slices.ContainsFunc(l.owners, func(o owner) bool { return o.addr == addr }):
			return sameObject
		case a.isMarkOfOther(l, addr):
			like = otherObject
		}
	}
	return like
}

// differInArgs says whether a waiter is in the same function as a goroutine of the catalogue, and
// none of the addresses that both were called with, besides the receiver, is the same.
func (a *analysis) differInArgs(e *listing, l *lockState) bool {
	f := &a.dump.Goroutines[e.g].Frames[e.frame]
	for i := range l.kinds {
		w := &l.kinds[i]
		wf := a.frameAt(w.g, w.call)
		if wf == nil || wf.Func != f.Func || a.era != marked {
			continue
		}
		own, differ := listAddresses(f), false
		for top, addr := range listAddresses(wf) {
			if other, ok := own[top]; ok && other == addr {
				return false
			} else if ok {
				differ = true
			}
		}
		if differ {
			return true
		}
	}
	return false
}

// listAddresses are the live addresses on the heap that a function was called with, by the place of
// the argument.
func listAddresses(f *Frame) map[int]uint64 {
	all := map[int]uint64{}
	for w := range f.argWords() {
		if w.Known && w.Sure && w.Depth == 0 && w.Top > 0 && args.IsHeap(w.Value) {
			all[w.Top] = w.Value
		}
	}
	return all
}

// compareReceivers compares the live receivers of methods of one type, nearest first. A type of
// which there is only one object tells nothing.
func (a *analysis) compareReceivers(e *listing, w *wait) likeness {
	frames, wframes := a.dump.Goroutines[e.g].Frames, a.dump.Goroutines[w.g].Frames
	for j := w.call; j < min(w.call+nearFrames, len(wframes)); j++ {
		typ, _ := wframes[j].receiverType()
		wr, ok := wframes[j].Receiver()
		if !ok || !wr.Sure || typ == "" || a.era == unmarked || len(a.objects[typ]) < 2 {
			continue
		}
		for i := e.frame; i < min(e.frame+nearFrames, len(frames)); i++ {
			if t, _ := frames[i].receiverType(); t != typ {
				continue
			}
			if r, ok := frames[i].Receiver(); ok && r.Sure && args.IsAddress(r.Value) {
				if r.Value == wr.Value {
					return sameObject
				}
				return otherObject
			}
		}
	}
	return unknownObject
}

// shownAddresses yields the live addresses on the heap that the frames [from:to] of a goroutine
// show as arguments of their own. Receivers of methods are left out: they are often the one object
// of a program that serves all requests.
func (a *analysis) shownAddresses(g, from, to int) map[uint64]bool {
	shown := map[uint64]bool{}
	frames := a.dump.Goroutines[g].Frames
	for j := from; j < min(to, len(frames)) && a.era != unmarked; j++ {
		_, method := frames[j].receiverType()
		for w := range frames[j].argWords() {
			if w.Known && w.Sure && w.Depth == 0 && args.IsHeap(w.Value) && !(method && w.Top == 0) {
				shown[w.Value] = true
			}
		}
	}
	return shown
}

// findMarks notes by which addresses the objects of locks can be told apart.
func (a *analysis) findMarks(locks []*lockState) {
	for _, l := range locks {
		l.marks = map[uint64]bool{}
		for i := range l.kinds {
			w := &l.kinds[i]
			for addr := range a.shownAddresses(w.g, w.call, w.call+2) {
				l.marks[addr] = true
			}
		}
	}
	marked := map[uint64][]*lockState{}
	for _, l := range locks {
		for addr := range l.marks {
			marked[addr] = append(marked[addr], l)
		}
	}
	a.shared = map[uint64]bool{}
	for addr, of := range marked {
		a.shared[addr] = len(of) > 1 && !areFieldsOf(addr, of)
	}
	for _, l := range locks {
		for addr := range l.marks {
			if a.shared[addr] { // it belongs to none of them
				delete(l.marks, addr)
			}
		}
	}
}

// areFieldsOf says whether all of these locks are fields of the object at an address, which owns
// one of them.
func areFieldsOf(object uint64, locks []*lockState) bool {
	return !slices.ContainsFunc(locks, func(l *lockState) bool { return l.addr < object || l.addr-object >= maxOffset }) &&
		slices.ContainsFunc(locks, func(l *lockState) bool {
			return slices.ContainsFunc(l.owners, func(o owner) bool { return o.addr == object })
		})
}

// isMarkOfOther says whether the waiters of exactly one other lock show an address.
func (a *analysis) isMarkOfOther(l *lockState, addr uint64) bool {
	shared, shown := a.shared[addr]
	return shown && !shared && !l.marks[addr]
}

// fullID is the length of a sha256 in hex: an id may name the object that a short string names
// elsewhere.
const fullID = 64

// hasOtherKey says whether a goroutine of the catalogue and a waiter work on
// objects of different names: their methods of one type show strings of different length.
func (a *analysis) hasOtherKey(e listing, w *wait) bool {
	frames, wframes := a.dump.Goroutines[e.g].Frames, a.dump.Goroutines[w.g].Frames
	for i := e.frame; i < min(e.frame+2, len(frames)); i++ {
		for j := w.call; j < min(w.eff+2, len(wframes)); j++ {
			typ, _ := frames[i].receiverType()
			wtyp, _ := wframes[j].receiverType()
			if typ == "" || typ != wtyp {
				continue
			}
			if a.era == stackArgs {
				if i == e.frame && showOtherNames(&frames[i], &wframes[j], e.row.Names) {
					return true
				}
				continue
			}
			if anyStringPair(&frames[i], &wframes[j], func(top int, n, m args.Text) bool {
				return top >= 1 && top <= max(1, e.row.Names) && n.Len != m.Len && n.Len != fullID && m.Len != fullID
			}) {
				return true
			}
		}
	}
	return false
}

// showOtherNames compares the first n strings behind the receivers of two methods, as dumps up to
// Go 1.16 print them: an address and a length, one after the other.
func showOtherNames(f, g *Frame, n int) bool {
	words := func(f *Frame) (all []args.Word) {
		for w := range f.argWords() {
			all = append(all, w)
		}
		return all
	}
	fw, gw := words(f), words(g)
	for i := 2; i <= 2*n && i < len(fw) && i < len(gw); i += 2 {
		if fw[i].Known && gw[i].Known && fw[i].Value != gw[i].Value {
			return true
		}
	}
	return false
}

// hasSameNames says whether a goroutine of the catalogue and a waiter show the same strings, by
// their addresses, as the names of their objects. A '?' makes no difference: junk would not be
// alike in every one of them.
func (a *analysis) hasSameNames(e *listing, w *wait) bool {
	if e.row.Names == 0 || w.call >= len(a.dump.Goroutines[w.g].Frames) {
		return false
	}
	names := namesOf(&a.dump.Goroutines[e.g].Frames[e.frame], e.row.Names, a.era)
	return names != nil && slices.Equal(names, namesOf(a.frameAt(w.g, w.call), e.row.Names, a.era))
}

// namesOf is the addresses of the first n strings behind a receiver; nil when one is not shown.
func namesOf(f *Frame, n int, e era) (all []uint64) {
	flat := 0
	last := 0
	for w := range f.argWords() {
		flat++
		first := w.Depth == 1 && w.Top != last
		if e == stackArgs {
			first = flat%2 == 0
		}
		if last = w.Top; !first || len(all) == n {
			continue
		}
		if !w.Known || !args.IsAddress(w.Value) {
			return nil
		}
		all = append(all, w.Value)
	}
	if len(all) < n {
		return nil
	}
	return all
}

// embedding is a place in the code that shows an object, and how far behind its beginning the lock
// lies that is wanted there.
type embedding struct {
	fn    string
	arg   int
	delta uint64
}

// maxEmbedding is how large the objects are in which a lock is looked for by several pairs.
const maxEmbedding = 1 << 16

// proveEmbedding finds locks that lie inside of objects which are arguments, not receivers: two
// locks at the same distance from what one argument of one function shows are no accident. The
// object of such a lock tells who works on it.
func (a *analysis) proveEmbedding(locks []*lockState) {
	a.findMarks(locks)
	pairs := map[embedding]map[uint64]bool{} // the locks of each
	seen := func(l *lockState, yield func(k embedding)) {
		for i := range l.kinds {
			w := &l.kinds[i]
			frames := a.dump.Goroutines[w.g].Frames
			for j := w.call; j < min(w.call+nearFrames, len(frames)) && a.era != unmarked; j++ {
				for arg := range frames[j].argWords() {
					if arg.Known && arg.Sure && arg.Depth == 0 && args.IsHeap(arg.Value) && arg.Value <= l.addr &&
						l.addr-arg.Value < maxEmbedding {
						yield(embedding{frames[j].Func, arg.Top, l.addr - arg.Value})
					}
				}
			}
		}
	}
	for _, l := range locks {
		seen(l, func(k embedding) {
			if pairs[k] == nil {
				pairs[k] = map[uint64]bool{}
			}
			pairs[k][l.addr] = true
		})
	}
	for _, l := range locks {
		seen(l, func(k embedding) {
			if len(pairs[k]) > 1 {
				l.object = l.addr - k.delta
				l.marks[l.object] = true
			}
		})
	}
}

// showsObject says whether a frame shows, live, the object that is proven to contain a lock, or the
// same object as a waiter's frame of the same function does.
func (a *analysis) showsObject(l *lockState, f, wf *Frame) bool {
	if a.era == unmarked {
		return false
	}
	if l.object != 0 {
		for w := range f.argWords() {
			if w.Sure && w.Value == l.object {
				return true
			}
		}
		return false
	}
	return shareAddresses(f, wf)
}

// shareAddresses says whether two frames of one function, a method, show the same live address in
// an argument, and nowhere different ones. The receiver does not count.
func shareAddresses(f, g *Frame) bool {
	others := map[int]uint64{}
	for w := range g.argWords() {
		if w.Known && w.Sure && w.Depth == 0 && args.IsHeap(w.Value) {
			others[w.Top] = w.Value
		}
	}
	same := false
	for w := range f.argWords() {
		if w.Top == 0 || !w.Known || !w.Sure || w.Depth > 0 || !args.IsHeap(w.Value) || others[w.Top] == 0 {
			continue
		}
		if others[w.Top] != w.Value {
			return false
		}
		same = true
	}
	return same
}

// matchName compares a frame's Name with a name of the catalogue, see Hold.
func matchName(name, want string) bool {
	if want == "" {
		return false
	}
	if strings.HasSuffix(want, ".") {
		i := strings.Index(name, want)
		return i == 0 || i > 0 && name[i-1] == '/'
	}
	rest, ok := strings.CutSuffix(name, want)
	return ok && (rest == "" || strings.HasSuffix(rest, "/"))
}
