package stackdump

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/stackdump/args"
	"github.com/plegdiag/plegdiag/internal/stackdump/funcname"
)

// candidate is a goroutine that may hold a lock.
type candidate struct {
	g, frame   int
	sure       bool // the value is live
	receiver   bool // the value is a method's receiver, not just an argument
	wantsOther bool // it stands in the frame that wants another lock
	arg        int
	weak       bool // the frame is where the goroutine began, or where it waits for work
	idle       bool // it looks like a service loop
	listens    bool // it began in the method in which it waits for work
	past       bool // it is behind the line where others wait
	user       bool // it only hands the object to a function
}

// candidates is every goroutine that may hold a lock, sorted by what speaks for it.
type candidates struct {
	strong []candidate // show the object live
	users  []candidate // show it live, but in no method of its own
	vague  []candidate // show it with a '?'
	past   []candidate // are behind the line where others wait
	// Further goroutines inside of the owner's methods: rivals do not show the
	// object and there is no other of its type, strangers do not show it and
	// there are others, doubts look like service loops.
	rivals, strangers, doubts int
}

// findHolders applies the rules, the strongest first. It returns none where it could only guess.
func (a *analysis) findHolders(l *lockState) []Holder {
	if a.cut && slices.ContainsFunc(l.waits, func(w wait) bool { return a.frameAt(w.g, w.call) == nil }) {
		return nil // whose lock it is was cut off
	}
	q := a.collectCandidates(l)
	listed := a.candidatesByCatalogue(l)
	if len(listed) == 1 && a.waitsFor(l, listed[0].g) {
		return []Holder{{Goroutine: listed[0].g, Certainty: Inferred, Rule: "R3", Frame: listed[0].frame}}
	}
	if l.shared && len(q.past) > 0 {
		return a.readHolders(l, q)
	}
	if held := a.holderInside(l, q, listed); held != nil || len(q.strong) > 0 {
		return held
	}
	if selves := a.holdersBehindThemselves(l); len(selves) == 1 {
		return selves
	}
	if selves := a.readersBehindThemselves(l, q); len(selves) == 1 {
		return selves
	}
	if a.cut && !(len(listed) == 1 && listed[0].sure) {
		return nil // those who are left are named because nobody else is there
	}
	if len(q.past) == 1 && q.rivals+q.strangers+len(q.vague) == 0 && !q.hasOthers(q.users) {
		return []Holder{{q.past[0].g, Inferred, "R2", q.past[0].frame, true}}
	}
	if len(listed) == 1 && (listed[0].sure || !a.hasRival(l, listed[0])) {
		return []Holder{{listed[0].g, Inferred, "R4", listed[0].frame, !listed[0].sure}}
	}
	return nil
}

func (a *analysis) collectCandidates(l *lockState) candidates {
	var q candidates
	same := a.candidatesByObject(l)
	for _, c := range same {
		switch {
		case c.idle:
			q.doubts++
		case c.user:
			q.users = append(q.users, c)
		case c.sure:
			q.strong = append(q.strong, c)
		default:
			q.vague = append(q.vague, c)
		}
	}
	if busy := slices.DeleteFunc(slices.Clone(q.strong), func(c candidate) bool { return c.listens }); len(busy) > 0 {
		q.doubts += len(q.strong) - len(busy)
		q.strong = busy
	}
	q.past = a.candidatesPastLock(l)
	if l.Addr == "" && l.Owner != "" {
		q.past = nil // waiters of several objects, perhaps
	}
	if l.strange { // its waiters disagree about the owner: only the lock itself counts
		q.strong = slices.DeleteFunc(q.strong, func(c candidate) bool { return !a.showsLock(l, c) })
		q.vague, q.past = nil, nil
	}
	a.countHidden(l, &q, same)
	return q
}

// holderInside is R1: the one goroutine that is inside of the object. Among several, and among
// those that only hand it on, a weaker rule may tell which.
func (a *analysis) holderInside(l *lockState, q candidates, listed []candidate) []Holder {
	switch {
	case len(q.strong) == 1 && q.rivals+len(q.vague)+len(q.users) == 0:
		c, doubts := q.strong[0], q.doubts+q.strangers
		if c.weak && doubts > 0 {
			return chooseByCatalogue(q.strong, listed)
		}
		l.wantsOther = c.wantsOther && doubts == 0 && a.compareArgOrder(l, c) < 0
		return []Holder{{Goroutine: c.g, Certainty: a.certaintyOf(l, c, doubts), Rule: "R1", Frame: c.frame}}
	case len(q.strong) > 0:
		return chooseByCatalogue(slices.Concat(q.strong, q.users), listed)
	case len(q.vague) == 1 && len(q.users) == 0 && !a.cut && !q.vague[0].weak && q.rivals+q.strangers+q.doubts == 0:
		return []Holder{{q.vague[0].g, Inferred, "R1", q.vague[0].frame, true}}
	}
	return nil
}

// certaintyOf says how certain it is that a goroutine holds the lock: the only one that shows the
// object live.
func (a *analysis) certaintyOf(l *lockState, c candidate, doubts int) string {
	state := a.dump.Goroutines[c.g].State
	if doubts > 0 || l.guessed || !c.receiver || c.wantsOther || c.weak || a.era == unmarked || a.cut ||
		strings.HasPrefix(state, "run") || a.isDoubtful(l, c.g) || a.dump.IsExcerpt() {
		return Inferred
	}
	return Observed
}

// chooseByCatalogue chooses by the catalogue among several goroutines that show the object. That
// one is past the lock does not show that it holds it: the function may have let go since.
func chooseByCatalogue(strong, listed []candidate) []Holder {
	listed = slices.DeleteFunc(slices.Clone(listed), func(c candidate) bool {
		return !slices.ContainsFunc(strong, func(s candidate) bool { return s.g == c.g })
	})
	if len(listed) == 1 {
		return []Holder{{Goroutine: listed[0].g, Certainty: Inferred, Rule: "R4", Frame: listed[0].frame}}
	}
	return nil
}

// hasOthers says whether some of these are not behind the line where others wait.
func (q *candidates) hasOthers(some []candidate) bool {
	return slices.ContainsFunc(some, func(c candidate) bool {
		return !slices.ContainsFunc(q.past, func(p candidate) bool { return p.g == c.g })
	})
}

// readHolders is everyone behind the line where readers wait, when a writer
// shuts further readers out. They are observed when nobody else is inside of the object.
func (a *analysis) readHolders(l *lockState, q candidates) []Holder {
	if q.rivals+q.strangers+len(q.vague) > 0 || q.hasOthers(q.strong) || q.hasOthers(q.users) {
		return nil // these may be the only ones that still hold it
	}
	held := make([]Holder, len(q.past))
	for i, c := range q.past {
		held[i] = Holder{Goroutine: c.g, Certainty: Inferred, Rule: "R2", Frame: c.frame}
		if c.receiver = c.sure; c.sure {
			held[i].Certainty = a.certaintyOf(l, c, q.doubts)
		}
	}
	return held
}

// candidatesByObject is R1: goroutines, the lock's waiters aside, that show the lock's
// address, or its owner as receiver of a method, each in the frame that says it best.
func (a *analysis) candidatesByObject(l *lockState) []candidate {
	byG := map[int]candidate{}
	note := func(h hit, receiver bool) {
		if a.mayWaitFor(l, h.g) {
			return
		}
		c, again := byG[h.g]
		if again && !isBetterHit(h, receiver, c) {
			return
		}
		c = candidate{g: h.g, frame: h.frame, sure: h.sure, receiver: receiver, arg: h.arg}
		if w := a.waitOfGoroutine(h.g); w != nil {
			c.wantsOther = w.call == h.frame
		}
		a.judgeShape(&c)
		byG[h.g] = c
	}
	for _, h := range a.hitsOn(l.addr) {
		note(h, h.typ != "")
	}
	for _, o := range l.owners {
		for _, h := range a.hitsOn(o.addr) {
			if h.typ == o.typ {
				note(h, true)
			}
		}
	}
	for _, o := range l.owners {
		for _, h := range a.hitsOn(o.addr) {
			if _, known := byG[h.g]; h.typ == "" && h.sure && !known {
				note(h, false)
				if c, ok := byG[h.g]; ok {
					c.user = true
					byG[h.g] = c
				}
			}
		}
	}
	var found []candidate
	for _, c := range byG {
		if !a.hasReleased(l, c) && !a.wantsSame(l, c) && !(c.wantsOther && a.compareArgOrder(l, c) > 0) && !a.hasRead(l, c.g) &&
			!a.isFreeOf(l, c.g) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(x, y candidate) int { return cmp.Compare(x.g, y.g) })
	return found
}

// wantsSame says whether a candidate itself waits for an RWMutex in the function where waiters want
// one of which no address is printed, and in the other mode: func (l *T) lock(read bool) takes one
// lock in two ways, and the pending writer keeps the readers waiting without having it.
func (a *analysis) wantsSame(l *lockState, c candidate) bool {
	own := a.waitOfGoroutine(c.g)
	if own == nil || !own.rw || l.addr != 0 && !l.guessed {
		return false
	}
	at := a.frameAt(own.g, own.call)
	return at != nil && slices.ContainsFunc(l.kinds, func(w wait) bool {
		f := a.frameAt(w.g, w.call)
		return w.rw && w.mode != own.mode && f != nil && f.Func == at.Func
	})
}

// isBetterHit says whether a hit tells more than what is known of a candidate: live
// before stale, a method's receiver before a mere argument, inner before outer frames.
func isBetterHit(h hit, receiver bool, c candidate) bool {
	switch {
	case h.sure != c.sure:
		return h.sure
	case receiver != c.receiver:
		return receiver
	}
	return h.frame < c.frame
}

// showsLock says whether a candidate's frame shows the lock's own address, not just its owner's.
func (a *analysis) showsLock(l *lockState, c candidate) bool {
	return slices.ContainsFunc(a.hitsOn(l.addr),
		func(h hit) bool { return h.g == c.g && h.frame == c.frame && h.sure })
}

func (a *analysis) waitsFor(l *lockState, g int) bool { return a.lockOf[g-a.lo] == l }

// mayWaitFor says whether a goroutine waits for the lock, or for one of its kind and owner of which
// no address is printed.
func (a *analysis) mayWaitFor(l *lockState, g int) bool {
	other := a.lockOf[g-a.lo]
	return other == l || other != nil && other.addr == 0 && len(other.owners) == 0 && other.Owner != "" && other.Owner == l.Owner && other.Type == l.Type
}

// hasReleased says whether a goroutine sits in Cond.Wait, called by the very
// frame that shows the object or by its type: Wait has let go of the lock.
func (a *analysis) hasReleased(l *lockState, c candidate) bool {
	frames := a.dump.Goroutines[c.g].Frames
	for j := range frames {
		name := frames[j].Func
		if name != "sync.(*Cond).Wait" {
			if strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "sync.") {
				continue
			}
			return false
		}
		if j+1 == len(frames) || j+1 == c.frame {
			return true
		}
		typ, _ := frames[j+1].receiverType()
		return typ != "" && slices.ContainsFunc(l.kinds, func(w wait) bool { return w.typ == typ })
	}
	return false
}

// countHidden counts goroutines inside of the owner's methods that do not show
// on which object they work: any of them may be the holder.
func (a *analysis) countHidden(l *lockState, q *candidates, same []candidate) {
	known := map[int]bool{}
	for _, c := range slices.Concat(same, q.past) {
		known[c.g] = true
	}
	asked := map[string]bool{}
	for _, w := range l.kinds {
		if asked[w.typ] {
			continue
		}
		asked[w.typ] = true
		if n := len(a.hidden[w.typ]); n > maxAlike {
			q.strangers += n
			continue
		}
		for _, h := range a.hidden[w.typ] {
			c := candidate{g: h.g, frame: h.frame}
			if known[h.g] || a.waitsFor(l, h.g) || a.hasReleased(l, c) || a.isFreeOf(l, h.g) {
				continue
			}
			known[h.g] = true
			object, shown := a.objectOf(h)
			switch a.judgeShape(&c); {
			case c.idle, shown && !slices.Contains(l.owners, object) && a.era != unmarked:
				q.doubts++
			case len(a.objects[w.typ]) > 1:
				q.strangers++
			default:
				q.rivals++
			}
		}
	}
}

// judgeShape says how much a goroutine looks like one that always stands there.
func (a *analysis) judgeShape(c *candidate) {
	g := &a.dump.Goroutines[c.g]
	entry := true
	for _, f := range g.Frames[c.frame+1:] {
		entry = entry && (funcname.IsClosure(f.baseName()) || f.Func == "main.main" || strings.HasPrefix(f.Func, "runtime."))
	}
	direct := true
	for _, f := range g.Frames[:c.frame] {
		direct = direct && (strings.HasPrefix(f.Func, "runtime.") || strings.HasPrefix(f.Func, "sync.") ||
			f.Func == "time.Sleep")
	}
	locking := a.waitOfGoroutine(c.g) != nil
	forWork := !locking && !strings.HasPrefix(g.State, "chan send") && g.State != "running" && g.State != "runnable"
	c.weak = entry || direct && forWork && !strings.HasPrefix(g.State, "syscall")
	f := &g.Frames[c.frame]
	c.listens = entry && direct && forWork
	c.idle = c.weak && forWork && (funcname.IsLoop(f.baseName()) || direct && funcname.IsClosure(f.baseName()) || f.function().idle != nil) ||
		entry && !c.wantsOther && isLifelong(g, f)
}

// isLifelong says whether a goroutine that began in a method was started together with the object:
// "created by shim.NewService". It is inside of that method as long as the object lives, with its
// lock and without, so the method does not tell that it holds the lock.
func isLifelong(g *Goroutine, began *Frame) bool {
	name := strings.ToLower(g.CreatedBy.baseName())
	_, method := began.receiverType()
	return method && !funcname.IsClosure(began.baseName()) && slices.ContainsFunc([]string{"new", "start", "init"}, func(p string) bool {
		return strings.HasPrefix(name, p)
	})
}

// candidatesPastLock is R2: goroutines in the function that wants the lock, behind the
// line where it wants it. Of an RWMutex held by readers only those behind
// RLock count, of one held by a writer only those behind Lock.
func (a *analysis) candidatesPastLock(l *lockState) []candidate {
	var found []candidate
	shown := false
	for _, w := range l.kinds {
		if w.rw && (w.mode == "read") != l.shared {
			continue
		}
		for _, h := range a.framesOfFunc(&w) {
			c := candidate{g: h.g, frame: h.frame, past: true}
			if a.waitsFor(l, h.g) || slices.ContainsFunc(found, func(f candidate) bool { return f.g == h.g }) ||
				!a.isPast(l, &w, h) || a.hasReleased(l, c) || a.isFreeOf(l, h.g) {
				continue
			}
			c.sure = a.showsOwner(l, h)
			shown = shown || a.worksOnOwner(l, h)
			if a.judgeShape(&c); !c.idle {
				found = append(found, c)
			}
		}
	}
	if shown { // then those that show nothing may be on another object
		found = slices.DeleteFunc(found,
			func(c candidate) bool { return !a.worksOnOwner(l, hit{g: c.g, frame: c.frame}) })
	}
	slices.SortFunc(found, func(x, y candidate) int { return cmp.Compare(x.g, y.g) })
	return found
}

// maxAlike bounds the goroutines looked at for one lock in one function or
// type. Where more stand, their place in the code tells nothing.
const maxAlike = 1000

// framesOfFunc is the frames, elsewhere, of the function that wants the lock.
func (a *analysis) framesOfFunc(w *wait) []hit {
	f := a.frameAt(w.g, w.eff)
	if f == nil || len(a.stacks[f.Func]) > maxAlike {
		return nil
	}
	return a.stacks[f.Func]
}

// hasRead says whether a goroutine is behind the line where readers wait while
// a writer holds the lock. It must have let go of it.
func (a *analysis) hasRead(l *lockState, g int) bool {
	if l.Type != "sync.RWMutex" || l.shared {
		return false
	}
	for _, w := range l.kinds {
		f := a.frameAt(w.g, w.eff)
		if w.mode != "read" || f == nil {
			continue
		}
		for j := range a.dump.Goroutines[g].Frames {
			if a.frameAt(g, j).Func == f.Func && a.isPast(l, &w, hit{g: g, frame: j}) {
				return true
			}
		}
	}
	return false
}

func (a *analysis) showsOwner(l *lockState, h hit) bool {
	typ, _ := a.dump.Goroutines[h.g].Frames[h.frame].receiverType()
	r, ok := a.dump.Goroutines[h.g].Frames[h.frame].Receiver()
	return ok && r.Sure && slices.Contains(l.owners, owner{typ, r.Value})
}

// objectOf is what the method of a frame works on, as that frame or the nearest
// one of the same type shows.
func (a *analysis) objectOf(h hit) (o owner, ok bool) {
	frames := a.dump.Goroutines[h.g].Frames
	typ, _ := frames[h.frame].receiverType()
	for away := 0; typ != "" && away < len(frames); away++ {
		for _, j := range [...]int{h.frame - away, h.frame + away} {
			if j < 0 || j >= len(frames) {
				continue
			}
			if t, _ := frames[j].receiverType(); t != typ {
				continue
			}
			if r, ok := frames[j].Receiver(); ok && r.Sure {
				return owner{typ, r.Value}, true
			}
		}
	}
	return owner{}, false
}

func (a *analysis) worksOnOwner(l *lockState, h hit) bool {
	o, ok := a.objectOf(h)
	return ok && slices.Contains(l.owners, o)
}

// isPast says whether a frame is behind the lock that w wants, and on the same object as far as can
// be seen.
func (a *analysis) isPast(l *lockState, w *wait, h hit) bool {
	f, wf := &a.dump.Goroutines[h.g].Frames[h.frame], &a.dump.Goroutines[w.g].Frames[w.eff]
	if f.File != wf.File || wf.Line == 0 || f.Line <= wf.Line || showDifferentStrings(f, wf) {
		return false
	}
	r, known := f.firstArg()
	wr, wknown := wf.firstArg()
	if known = known && r.Sure && args.IsAddress(r.Value); known && wknown && wr.Sure && args.IsAddress(wr.Value) &&
		wr.Value != r.Value {
		return false
	}
	_, method := f.receiverType()
	if object, ok := a.objectOf(h); ok && len(l.owners) > 0 && !slices.Contains(l.owners, object) {
		return false
	}
	if l.addr == 0 || !args.IsHeap(l.addr) {
		return true // a global, or unknown: nothing speaks against it
	}
	if known && method && !a.mayContain(r.Value, l.addr) {
		// The lock belongs to another object: only what shows that object can tell which.
		return sharesKey(f, wf) || a.showsObject(l, f, wf)
	}
	return true
}

// showDifferentStrings says whether two frames of one function show strings of different length in
// the same place.
func showDifferentStrings(f, g *Frame) bool {
	return anyStringPair(f, g, func(_ int, n, m args.Text) bool { return n.Len != m.Len })
}

// sharesKey says whether two frames of one function show the same string in the same place.
func sharesKey(f, g *Frame) bool {
	return anyStringPair(f, g, func(_ int, n, m args.Text) bool { return n == m })
}

// anyStringPair says whether test accepts two strings that two frames show in the same place. It
// gets the place, an index of the arguments.
func anyStringPair(f, g *Frame, test func(top int, n, m args.Text) bool) bool {
	for top, n := range args.Strings(f.Args) {
		for gtop, m := range args.Strings(g.Args) {
			if top == gtop && test(top, n, m) {
				return true
			}
		}
	}
	return false
}

// holdersBehindThemselves is R3: a waiter whose own outer frame is behind the line where the lock
// is wanted. That an outer frame is another method of the same object tells nothing: most of them
// only call the one that locks.
func (a *analysis) holdersBehindThemselves(l *lockState) []Holder {
	var held []Holder
	for _, self := range l.waits {
		if l.strange {
			break
		}
		for j := self.eff + 1; j < len(a.dump.Goroutines[self.g].Frames); j++ {
			if slices.ContainsFunc(l.kinds, func(w wait) bool {
				f := a.frameAt(w.g, w.eff)
				return f != nil && a.frameAt(self.g, j).Func == f.Func && a.isPast(l, &w, hit{g: self.g, frame: j})
			}) {
				held = append(held, Holder{Goroutine: self.g, Certainty: Inferred, Rule: "R3", Frame: j})
				break
			}
		}
	}
	return held
}

// readersBehindThemselves is R3 for a lock that is read twice: a reader waits behind a writer, and
// an outer frame of it is another method of the same object, which has called functions of others:
//
//	(*endpointManager).GetEndpoints(0xc000f4a0f0)      wants to read
//	(*authMapGarbageCollector).EndpointDeleted(…)
//	(*endpointManager).RemoveEndpoint(0xc000f4a0f0)    reads
//
// That method may have let go before. Therefore the reader must be the first that the writer keeps
// waiting, and nobody else may be there for whom the writer can wait.
func (a *analysis) readersBehindThemselves(l *lockState, q candidates) (held []Holder) {
	first := map[bool]time.Duration{} // how long the first writer waits, and the first reader
	for _, w := range l.waits {
		if reads := w.mode == "read"; reads || w.draining {
			first[reads] = max(first[reads], a.dump.Goroutines[w.g].Wait)
		}
	}
	if l.strange || len(q.strong)+len(q.users)+len(q.vague)+len(q.past)+q.rivals+q.strangers > 0 ||
		first[true] == 0 || first[false] == 0 || (first[true]-first[false]).Abs() > time.Minute {
		return nil
	}
	for _, self := range l.waits {
		if self.mode == "read" && a.dump.Goroutines[self.g].Wait == first[true] {
			if j := a.comesBack(l, self); j > 0 {
				held = append(held, Holder{Goroutine: self.g, Certainty: Inferred, Rule: "R3", Frame: j})
			}
		}
	}
	return held
}

// comesBack is the outer frame in which the lock's owner has called functions of others, from which
// a waiter came back to it; 0 for none.
func (a *analysis) comesBack(l *lockState, self wait) int {
	left := false
	for j := self.eff + 1; j < len(a.dump.Goroutines[self.g].Frames); j++ {
		typ, _ := a.frameAt(self.g, j).receiverType()
		left = left || typ != "" && typ != self.typ
		if left && typ == self.typ && a.showsOwner(l, hit{g: self.g, frame: j}) {
			return j
		}
	}
	return 0
}

// dropAmbiguous takes back holders that only a frame's place in the code names
// when the same frame was given more than one lock: it tells nothing about which, unless the
// catalogue says that it holds several.
func (a *analysis) dropAmbiguous(locks []*lockState) {
	type place struct{ g, frame int }
	given := map[place]int{}
	for _, l := range locks {
		for _, h := range l.Holders {
			given[place{h.Goroutine, h.Frame}]++
		}
	}
	for _, l := range locks {
		l.Holders = slices.DeleteFunc(l.Holders, func(h Holder) bool {
			return (h.Rule == "R2" || h.Rule == "R4") && h.Certainty == Inferred &&
				given[place{h.Goroutine, h.Frame}] > 1 &&
				!slices.ContainsFunc(a.listed, func(e listing) bool { return e.g == h.Goroutine && e.frame == h.Frame && e.row.Several })
		})
	}
}

// compareArgOrder compares, in the frame where a candidate wants another lock, the
// argument that shows this one with that lock's: negative when this one comes
// first and so is taken, positive when it comes later, 0 when they are not both shown.
func (a *analysis) compareArgOrder(l *lockState, c candidate) int {
	other := a.waitOfGoroutine(c.g).addr
	for w := range a.frameAt(c.g, c.frame).argWords() {
		if other != 0 && w.Value == other && w.Sure && w.Depth == 0 && a.showsLock(l, c) {
			return cmp.Compare(c.arg, w.Top)
		}
	}
	return 0
}

// confirmCycles makes holders observed that show a lock where they want the
// next one, when the locks close a circle: each is then the other's proof.
func (a *analysis) confirmCycles(locks []*lockState) {
	wanted := map[int]*lockState{}
	for _, l := range locks {
		for _, w := range l.waits {
			wanted[w.g] = l
		}
	}
	var confirmed []*lockState
	for _, l := range locks {
		next := l
		for range locks {
			if next == nil || !next.wantsOther || len(next.Holders) != 1 {
				break
			}
			if next = wanted[next.Holders[0].Goroutine]; next == l {
				confirmed = append(confirmed, l)
				break
			}
		}
	}
	for _, l := range confirmed {
		if a.era != unmarked {
			l.Holders[0].Certainty = Observed
		}
	}
}
