// Package goroutines turns a goroutine dump into events: locks with their holders and waiters, what
// each holder waits for in the end, deadlocks, and goroutines that wait for something outside.
package goroutines

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/crash"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/stackdump/funcname"
	"github.com/plegdiag/plegdiag/internal/stackdump/series"
)

// Program names the component whose goroutines a dump holds; empty when no frame tells.
func Program(d *stackdump.Dump) string {
	first := len(programs)
	seen := map[*funcname.Name]bool{} // the same functions come again and again
	for i := range d.Goroutines {
		for j := range d.Goroutines[i].Frames {
			f := &d.Goroutines[i].Frames[j]
			fn := f.Function()
			if seen[fn] {
				continue
			}
			seen[fn] = true
			name := fn.Plain
			for n := range programs[:first] {
				part := programs[n].part
				if strings.Contains(name, part) || strings.HasSuffix(part, vendored) && (strings.Contains(f.Func, part) || strings.Contains(f.File, part)) {
					first = n
					break
				}
			}
		}
	}
	switch {
	case first == len(programs):
		return ""
	case programs[first].part == netlinkLibrary && isOfDocker(d):
		return "dockerd"
	}
	return programs[first].component
}

// isOfDocker says whether the source of a dump's program lies in a tree of docker.
func isOfDocker(d *stackdump.Dump) bool {
	for i := range d.Goroutines {
		if slices.ContainsFunc(d.Goroutines[i].Frames, func(f stackdump.Frame) bool { return dockerTree.MatchString(f.File) }) {
			return true
		}
	}
	return false
}

// Dump appends to dst what the goroutines of one dump tell: locks with their
// holders and waiters, what each holder waits for in the end, deadlocks, and
// goroutines that wait for something outside their process. Program is the
// component that wrote it; empty when that is not known. The events have no times: see Date.
func Dump(dst []event.Event, d *stackdump.Dump, program string) []event.Event {
	o := dumpObserver{d: d, component: program, graph: d.Graph(Holds()), tells: map[*funcname.Name]tells{}}
	o.chosen = isChosenOfProfile(d)
	o.excerpt = d.IsExcerpt() || o.chosen
	locked := map[int]bool{}
	for i := range o.graph.Locks {
		lock := &o.graph.Locks[i]
		if len(lock.Holders) == 0 { // waiters alone name no cause
			if o.countWaiters(lock) > 1 || o.waitsLong(lock) || o.isChosenRequest(lock) {
				dst = append(dst, o.queueEvent(lock))
			}
			continue
		}
		for _, h := range lock.Holders {
			dst = append(dst, o.holderEvent(lock, h))
			locked[h.Goroutine] = true
		}
		for _, w := range lock.Waiters {
			dst = append(dst, o.waiterEvent(lock, w))
			locked[w.Goroutine] = true
		}
	}
	crashed, dead := o.crashEvent()
	for _, c := range o.graph.Cycles {
		if dead { // nobody waits any more: the crash is what happened
			break
		}
		if doing, _, _, _ := o.waitOf(&d.Goroutines[c.Goroutines[0]]); len(c.Goroutines) > 1 || doing != ownLock {
			dst = append(dst, o.deadlockEvent(c))
		}
	}
	if dead {
		dst = append(dst, crashed)
	}
	if e, ok := o.threadEvent(); ok {
		dst = append(dst, e)
	}
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		told := o.tellsOf(g)
		if !o.excerpt && !mayBeStuck(g) && !told.relist && !told.syncLoop && told.waits == (waitSet{}) {
			continue
		}
		if told.relist {
			if e, ok := o.relistEvent(i); ok {
				dst = append(dst, e)
			}
		}
		if told.syncLoop {
			if e, ok := o.syncLoopEvent(i); ok {
				dst = append(dst, e)
			}
		}
		if e, ok := o.outsideEvent(i); ok && !locked[i] {
			dst = append(dst, e)
		}
	}
	return foldCrowds(dst)
}

// Date gives the events of a dump the times that follow from when it was taken; at is zero when
// nothing tells.
func Date(events []event.Event, at event.Time) {
	for i := range events {
		e := &events[i]
		if e.Kind == event.KindCrash {
			e.Start = at
			continue
		}
		v, _ := e.Get(event.FieldWait)
		seconds, _ := v.Number()
		e.Start, e.Begun = startOfWait(at, time.Duration(seconds)*time.Second)
		e.End = at
	}
}

// BoundStarts raises the starts of events that Dump made of one dump by an earlier one of the same
// process, taken at a moment: a goroutine that it does not have, or has somewhere else, began to
// wait after it. An earlier dump that is not whole shows no absence.
func BoundStarts(events []event.Event, d, earlier *series.Digest, at event.Time) {
	if at.IsZero() || at.Lacks != 0 || earlier.Partial {
		return
	}
	stayed := series.Stayed(earlier, d)
	for i := range events {
		if e := &events[i]; e.IDs.Goroutine != 0 && !stayed[e.IDs.Goroutine] {
			e.RaiseStart(at.T)
		}
	}
}

type dumpObserver struct {
	d         *stackdump.Dump
	component string
	graph     stackdump.Graph
	excerpt   bool // the dump is some goroutines that somebody chose
	chosen    bool // the same, of a profile
	tells     map[*funcname.Name]tells
	told      tells // by the functions of the latest goroutine
	latest    *stackdump.Goroutine
}

// tells is what the name of a function says.
type tells struct {
	relist, syncLoop bool
	waits            waitSet // rows of waits whose innermost frame it may be
	serves           bool    // a request, which may have no name
	request          string
}

// waitSet is a set of rows of waits. It has room for 128.
type waitSet [2]uint64

func (s *waitSet) hasRow(i int) bool { return s[i/64]>>(i%64)&1 != 0 }

// tellsOf is what the functions of a goroutine say together. A dump has thousands of goroutines and
// some hundred functions, so what a function says is found out once.
func (o *dumpObserver) tellsOf(g *stackdump.Goroutine) tells {
	if g == o.latest {
		return o.told
	}
	all := tells{}
	for i := range g.Frames {
		fn := g.Frames[i].Function()
		one, known := o.tells[fn]
		if !known {
			name := fn.Plain
			one.relist, one.syncLoop = scan.ContainsAny(name, relists), strings.Contains(name, syncLoop)
			one.request, one.serves = requestOf(name)
			for n := range waits {
				if strings.Contains(name, waits[n].frames[0]) {
					one.waits[n/64] |= 1 << (n % 64)
				}
			}
			o.tells[fn] = one
		}
		all.relist, all.syncLoop = all.relist || one.relist, all.syncLoop || one.syncLoop
		all.waits[0] |= one.waits[0]
		all.waits[1] |= one.waits[1]
		if one.serves { // the outermost counts
			all.serves, all.request = true, one.request
		}
	}
	o.latest, o.told = g, all
	return all
}

const (
	// markPhase is more than a mark phase of the garbage collector lasts. A goroutine that parks
	// within one is stamped with its end at the latest.
	markPhase = 10 * time.Second
	// collectionGap is the longest between two collections: the runtime forces one two minutes after
	// the last, and an idle process looks for that once a minute (sysmon in runtime/proc.go).
	collectionGap = 3 * time.Minute
)

// startOfWait is when a goroutine of a dump taken at a moment began to wait, as "N minutes" tell
// it. The runtime stamps a goroutine that a collection finds parked with the end of the collection
// before (gcMarkTermination and markroot in runtime/mgc*.go), and prints whole minutes. So the wait
// is shorter than N+1 minutes and a mark phase, and can be shorter than N by the time between two
// collections: half a second can print "1 minutes". Without minutes nothing is known, and begun
// says that only the dump itself shows the wait.
func startOfWait(at event.Time, wait time.Duration) (start event.Time, begun bool) {
	if wait == 0 {
		return at, true
	}
	most := wait + time.Minute + markPhase
	least := max(0, wait-collectionGap-markPhase)
	start = at.Add(-most)
	start.Prec = at.Prec + most - least
	return start, false
}

// fieldsOfMost is how many fields most events of goroutines have at most.
const fieldsOfMost = 8

// newEvent is what every event of a goroutine has.
func (o *dumpObserver) newEvent(kind event.Kind, i int) event.Event {
	g := &o.d.Goroutines[i]
	e := event.Event{Kind: kind, Component: o.component, Source: "goroutines." + o.component, Open: true}
	e.IDs.Goroutine = g.ID
	e.Fields = append(make([]event.Field, 0, fieldsOfMost), event.FieldState.Text(g.State))
	if g.Wait > 0 { // no minutes are no evidence of a short wait
		e.AddFields(event.FieldWait.Duration(g.Wait))
	}
	if o.excerpt {
		e.AddFields(event.FieldExcerpt.Bool(true))
	}
	if g.Alike > 0 {
		e.AddFields(event.FieldCount.Int(1 + g.Alike))
	}
	e.AddText(event.FieldCall, o.tellsOf(g).request)
	e.AddText(event.FieldIDPtr, idPointer(g))
	e.AddText(event.FieldClient, ttrpcClient(g))
	return e
}

// holderEvent is a goroutine that holds a lock others wait for, and what keeps it from
// letting go: what it waits for itself, or what those it waits for do.
func (o *dumpObserver) holderEvent(lock *stackdump.Lock, h stackdump.Holder) event.Event {
	g := &o.d.Goroutines[h.Goroutine]
	e := o.newEvent(event.KindLockHeld, h.Goroutine)
	e.IDs.Lock = lock.Addr
	w := o.followWait(h.Goroutine)
	certainty := h.Certainty
	if w.inferred {
		certainty = stackdump.Inferred
	}
	e.AddFields(
		event.FieldOwner.Text(ownerName(lock.Owner)), event.FieldLockType.Text(lock.Type),
		event.FieldCertainty.Text(certainty), event.FieldRule.Text(h.Rule),
		event.FieldWaiters.Int(o.countWaiters(lock)),
	)
	if h.Alone && o.excerpt {
		e.AddFields(event.FieldAlone.Bool(true))
	}
	e.AddFields(w.fields...)
	e.Text = "holds " + lockName(lock) + ", " + w.text
	if h.Certainty == stackdump.Inferred {
		e.Text = "probably " + e.Text
	}
	e.Evidence = o.uniqueQuotes(g, append([]event.Quote{quoteFrame(&g.Frames[h.Frame])}, w.evidence...))
	return e
}

// way is what a goroutine waits for in the end.
type way struct {
	fields []event.Field // doing, rpc, ends, ends_in, waiting, through
	text   string
	// of each goroutine on the way: where it wants a lock and why the next one has it
	evidence []event.Quote
	inferred bool
}

// maxLinks bounds the goroutines of a chain that are quoted; the last one always is.
const maxLinks = 5

// followWait follows a goroutine from lock to lock. What its own frames say it does stands
// before what the last one does: a call may wait for a lock of its client.
func (o *dumpObserver) followWait(goroutine int) way {
	c := o.graph.Follow(goroutine)
	who := &o.d.Goroutines[goroutine]
	doing, rpc, frame, _ := o.waitOf(who)
	w := way{inferred: c.Inferred && doing == ""}
	if doing == "" && !c.Cyclic {
		who = &o.d.Goroutines[c.Goroutines[len(c.Goroutines)-1]]
		doing, rpc, frame, _ = o.waitOf(who)
	}
	w.text = doingText(doing, rpc, who.ShownState())
	ends := c.End.Kind
	switch {
	case c.Cyclic:
		ends, w.text = deadlocked, "in a deadlock"
	case doing == "":
		w.text = endText(c.End, who.ShownState())
		if at := c.End.Frame; at >= 0 && at < len(who.Frames) {
			frame = who.Beyond(at)
		}
	}
	if _, _, stuck := o.stuckCall(who); stuck && doing == "" && !c.Cyclic {
		doing = stuckInCall
	}
	w.fields = []event.Field{
		event.FieldDoing.Text(doing), event.FieldRPC.Text(rpc), event.FieldEnds.Text(ends),
		event.FieldEndsIn.Text(c.End.What), event.FieldWaiting.Text(w.text),
	}
	if through := o.nameChain(&c); through != "" {
		w.fields = append(w.fields, event.FieldThrough.Text(through))
		w.text = "waiting for " + through + ", " + w.text
		w.evidence = o.quoteChain(&c)
	}
	if frame >= 0 {
		w.evidence = append(w.evidence, quoteFrame(&who.Frames[frame]))
	}
	return w
}

// deadlocked is what a chain ends in that leads back to itself.
const deadlocked = "deadlock"

// nameChain names the goroutines of a chain behind its first: "goroutine 52 → 37".
func (o *dumpObserver) nameChain(c *stackdump.Chain) string {
	var ids []string
	for _, i := range c.Goroutines[1:] {
		ids = append(ids, strconv.FormatUint(o.d.Goroutines[i].ID, 10))
	}
	if c.Cyclic {
		ids = append(ids, strconv.FormatUint(o.d.Goroutines[c.Goroutines[c.Back]].ID, 10))
	}
	if len(ids) == 0 {
		return ""
	}
	return "goroutine " + strings.Join(ids, " → ")
}

// quoteChain quotes why each goroutine of a chain waits for the next.
func (o *dumpObserver) quoteChain(c *stackdump.Chain) (all []event.Quote) {
	for n, i := range c.Goroutines {
		next := -1
		switch {
		case n+1 < len(c.Goroutines):
			next = c.Goroutines[n+1]
		case c.Cyclic:
			next = c.Goroutines[c.Back]
		}
		if next < 0 || n >= maxLinks && n+2 < len(c.Goroutines) {
			continue
		}
		all = append(all, o.quoteLink(i, next)...)
	}
	return all
}

// quoteLink quotes why one goroutine waits for another: the frame in which it wants
// the lock, the one that shows who has it, and whose that is.
func (o *dumpObserver) quoteLink(from, to int) (all []event.Quote) {
	f, t := &o.d.Goroutines[from], &o.d.Goroutines[to]
	if i := o.graph.Wants(from); i >= 0 {
		lock := &o.graph.Locks[i]
		w := slices.IndexFunc(lock.Waiters, func(w stackdump.Waiter) bool { return w.Goroutine == from })
		if at := lock.Waiters[w].Caller; at >= 0 {
			all = append(all, quoteFrame(&f.Frames[at]))
		}
		h := slices.IndexFunc(lock.Holders, func(h stackdump.Holder) bool { return h.Goroutine == to })
		all = append(all, quoteFrame(&t.Frames[lock.Holders[h].Frame]))
	}
	return append(all, quoteHeader(t))
}

// uniqueQuotes is evidence without what comes twice, a goroutine's own header last.
func (o *dumpObserver) uniqueQuotes(g *stackdump.Goroutine, all []event.Quote) (once []event.Quote) {
	for _, q := range append(all, quoteHeader(g)) {
		if q.Text != "" && !slices.Contains(once, q) {
			once = append(once, q)
		}
	}
	return once
}

// deadlockEvent is goroutines of which each waits for a lock that the next one holds. It
// began when the one of them began to wait that came last.
func (o *dumpObserver) deadlockEvent(c stackdump.Cycle) event.Event {
	last := slices.MinFunc(c.Goroutines, func(a, b int) int {
		return cmp.Compare(o.d.Goroutines[a].Wait, o.d.Goroutines[b].Wait)
	})
	e := o.newEvent(event.KindLockCycle, last)
	var ids []string
	var evidence []event.Quote
	for n, i := range c.Goroutines {
		ids = append(ids, strconv.FormatUint(o.d.Goroutines[i].ID, 10))
		if n < maxLinks {
			evidence = append(evidence, o.quoteLink(i, c.Goroutines[(n+1)%len(c.Goroutines)])...)
		}
	}
	ring := strings.Join(append(ids, ids[0]), " → ")
	e.AddFields(event.FieldCertainty.Text(c.Certainty), event.FieldGoroutines.Text(ring), event.FieldMembers.Int(len(ids)))
	e.Text = "deadlock: goroutines " + ring + " wait for each other's locks"
	if len(ids) == 1 {
		e.Text = "deadlock: goroutine " + ids[0] + " waits for a lock that it holds itself"
	}
	e.Evidence = o.uniqueQuotes(&o.d.Goroutines[last], evidence)
	return e
}

// crashEvent is the line before a dump that says why the program gave up. A signal that asks for a
// dump is no crash.
func (o *dumpObserver) crashEvent() (event.Event, bool) {
	e, ok := crash.Read(o.component, o.d.Crash.Text)
	if _, known := e.Get(event.FieldDamaged); ok && !known && o.endsInDatabase() {
		crash.MarkDamaged(&e, o.component, "crashes", e.FieldText(event.FieldReason))
	}
	e.Component, e.Source = o.component, "goroutines."+o.component
	e.Evidence = []event.Quote{o.d.Crash}
	return e, ok && o.component != ""
}

// endsInDatabase says that the goroutine that ended the program did so in bbolt, which trusts what
// it finds in its file: an index out of range, or a fault where a page should be.
//
//	panic: runtime error: slice bounds out of range [::2407710372] with length 2147483647
//	goroutine 24 [running]:
//	github.com/containerd/containerd/vendor/go.etcd.io/bbolt.unsafeByteSlice(...)
func (o *dumpObserver) endsInDatabase() bool {
	for i := range o.d.Goroutines {
		g := &o.d.Goroutines[i]
		if g.State != "running" {
			continue
		}
		for _, f := range g.Frames {
			if f.Func != "panic" && !strings.HasPrefix(f.Func, "runtime.") {
				return strings.Contains(f.Func, "go.etcd.io/bbolt.") || strings.Contains(f.Func, "boltdb/bolt.")
			}
		}
	}
	return false
}

// threadEvent is a program that gave up because it could make no thread. Whose process it was
// does not matter where the kernel refused it: the limit may be the node's. Go's own limit is not.
func (o *dumpObserver) threadEvent() (event.Event, bool) {
	last := o.d.Crash.Text
	return event.Event{
		Kind: event.KindForkFailed, Component: cmp.Or(o.component, "node"), Source: "goroutines." + o.component,
		Text: "no thread can be made, the process aborts", Fields: []event.Field{event.FieldFatal.Bool(true)},
		Evidence: []event.Quote{o.d.Crash},
	}, crash.IsOfThread(last) && (o.component != "" || !strings.HasPrefix(last, "runtime: program "))
}

// waiterEvent is a goroutine that waits for a lock whose holder is known.
func (o *dumpObserver) waiterEvent(lock *stackdump.Lock, w stackdump.Waiter) event.Event {
	g := &o.d.Goroutines[w.Goroutine]
	e := o.newEvent(event.KindLockWait, w.Goroutine)
	e.IDs.Lock = lock.Addr
	e.AddFields(
		event.FieldOwner.Text(ownerName(lock.Owner)), event.FieldMode.Text(w.Mode),
		event.FieldAddressSure.Bool(lock.AddrSure),
	)
	if doing, rpc, _, _ := o.waitOf(g); doing != "" {
		e.AddFields(event.FieldDoing.Text(doing), event.FieldRPC.Text(rpc))
	}
	e.Text = "waits for " + lockName(lock)
	if w.Caller >= 0 && w.Caller < len(g.Frames) {
		e.Evidence = append(e.Evidence, quoteFrame(&g.Frames[w.Caller]))
	}
	e.Evidence = append(e.Evidence, quoteHeader(g))
	return e
}

// queueEvent is goroutines that wait for a lock whose holder the dump does not show: it was cut, or
// the holder's frames show no address. It is told by the one that has waited longest; one whose
// stack was cut before it shows who wants the lock does not hide another.
func (o *dumpObserver) queueEvent(lock *stackdump.Lock) event.Event {
	whole := func(w stackdump.Waiter) int {
		if w.Caller < 0 || o.d.Goroutines[w.Goroutine].Wait == 0 {
			return 0
		}
		return 1
	}
	longest := slices.MaxFunc(lock.Waiters, func(a, b stackdump.Waiter) int {
		return cmp.Or(
			cmp.Compare(whole(a), whole(b)),
			cmp.Compare(o.d.Goroutines[a.Goroutine].Wait, o.d.Goroutines[b.Goroutine].Wait),
			cmp.Compare(b.Goroutine, a.Goroutine),
		)
	})
	e := o.waiterEvent(lock, longest)
	e.Kind = event.KindLockQueue
	e.AddFields(event.FieldLockType.Text(lock.Type), event.FieldWaiters.Int(o.countWaiters(lock)))
	waiting := strconv.Itoa(o.countWaiters(lock)) + " goroutines wait for "
	if o.countWaiters(lock) == 1 {
		waiting = "a goroutine waits for "
	}
	e.Text = waiting + lockName(lock) + ", whose holder the dump does not show"
	return e
}

// countWaiters counts the goroutines that wait for a lock: an entry of a profile stands for many.
func (o *dumpObserver) countWaiters(lock *stackdump.Lock) (n int) {
	for _, w := range lock.Waiters {
		n += 1 + o.d.Goroutines[w.Goroutine].Alike
	}
	return n
}

// isChosenRequest says whether a request waits for a lock among entries of a profile that somebody
// chose. They have no ages; whoever chose this one did not see a wait of a moment.
func (o *dumpObserver) isChosenRequest(lock *stackdump.Lock) bool {
	return o.chosen && slices.ContainsFunc(lock.Waiters, func(w stackdump.Waiter) bool {
		return o.tellsOf(&o.d.Goroutines[w.Goroutine]).request != ""
	})
}

// isChosenOfProfile says that entries of a profile are not all of it: whoever writes a profile is
// in it.
func isChosenOfProfile(d *stackdump.Dump) bool {
	return d.Profile && !slices.ContainsFunc(d.Goroutines, func(g stackdump.Goroutine) bool {
		return frameWith(&g, 0, "runtime/pprof.") >= 0
	})
}

// waitsLong says whether the first waiter of a lock has waited for long: a lock that works is free
// again within moments.
func (o *dumpObserver) waitsLong(lock *stackdump.Lock) bool {
	return len(lock.Waiters) > 0 && o.d.Goroutines[lock.Waiters[0].Goroutine].Wait >= time.Minute
}

// relistEvent is the kubelet's relist goroutine and the step in which it sits
// (pkg/kubelet/pleg/generic.go).
func (o *dumpObserver) relistEvent(i int) (event.Event, bool) {
	g := &o.d.Goroutines[i]
	at := frameWith(g, 0, relists...)
	if at < 0 || strings.Contains(g.Frames[at].Name(), relistLoop) && !strings.HasPrefix(g.State, "chan send") {
		return event.Event{}, false // it waits for the next relist
	}
	phase := "unknown"
	switch {
	case strings.HasPrefix(g.State, "chan send") && !strings.Contains(strings.Join(frameNames(g.Frames[:at]), " "), "/"):
		phase = "send" // nothing but the runtime above relist itself
	case at == 0 && o.d.Profile && waitsItself(g): // up to 1.13 there is no other place where relist itself waits
		phase = "send"
	case frameWith(g, 0, "(*GenericPLEG).updateCache") >= 0:
		phase = "pod"
	case frameNamed(g, "GetPods", "getPods", "GetPod", "getPod") >= 0: // of all pods; of one, since 1.36
		phase = "list"
	}
	e := o.newEvent(event.KindRelist, i)
	w := o.followWait(i)
	e.Fields = append(append(e.Fields, event.FieldPhase.Text(phase)), w.fields...)
	if cache := frameWith(g, 0, "(*GenericPLEG).updateCache"); cache >= 0 {
		e.AddText(event.FieldPodPtr, uidPointer(g.Frames[cache].Args))
	}
	e.Text = "relist sits in phase " + phase + ", " + w.text
	e.Evidence = o.uniqueQuotes(g, append([]event.Quote{quoteFrame(&g.Frames[at])}, w.evidence...))
	return e, true
}

// waitsItself says whether the innermost function of an entry of a profile in text waits: the entry
// lists the runtime's own frames, of which it names none; the last of them began the goroutine.
//
//	1 @ 0x42fcaa 0x42fd5e 0x4066cb 0x406465 0x30d4f3e
//	#	0x30d4f3d	k8s.io/kubernetes/pkg/kubelet/pleg.(*GenericPLEG).relist+0x74d
func waitsItself(g *stackdump.Goroutine) bool {
	_, pcs, ok := strings.Cut(g.Header, " @ ")
	return ok && len(strings.Fields(pcs)) > len(g.Frames)+1
}

// syncLoop is the function that runs the handlers of the kubelet's sync loop.
const syncLoop = "(*Kubelet).syncLoopIteration"

// syncLoopEvent is the kubelet's sync loop inside of one of its handlers (pkg/kubelet/kubelet.go);
// between two of them it tells nothing.
func (o *dumpObserver) syncLoopEvent(i int) (event.Event, bool) {
	g := &o.d.Goroutines[i]
	at := frameWith(g, 0, syncLoop)
	if at < 1 || strings.HasPrefix(g.Frames[at-1].Name(), "runtime.") {
		return event.Event{}, false
	}
	e := o.newEvent(event.KindSyncLoop, i)
	doing, rpc, frame, _ := o.waitOf(g)
	handler := g.Frames[at-1].Name()
	handler = handler[strings.LastIndexByte(handler, '.')+1:]
	e.AddFields(event.FieldHandler.Text(handler), event.FieldDoing.Text(doing), event.FieldRPC.Text(rpc))
	e.Text = "the sync loop sits in " + handler + ", " + doingText(doing, rpc, g.ShownState())
	e.Evidence = append(e.Evidence, quoteFrame(&g.Frames[at-1]))
	if frame >= 0 && frame != at-1 {
		e.Evidence = append(e.Evidence, quoteFrame(&g.Frames[frame]))
	}
	e.Evidence = append(e.Evidence, quoteHeader(g))
	return e, true
}

// outsideEvent is a goroutine that waits, without a lock that others want, for something outside
// its process.
func (o *dumpObserver) outsideEvent(i int) (event.Event, bool) {
	g := &o.d.Goroutines[i]
	doing, rpc, frame, guess := o.waitOf(g)
	if call, at, ok := o.stuckCall(g); ok && doing == "" {
		e := o.newEvent(event.KindGoroutine, i)
		addStuckCall(&e, g, call, at)
		return e, true
	}
	if doing == "" {
		return o.chosenEvent(i)
	}
	if rpc == "Wait" && doing != "cni-plugin" && doing != "nsenter" { // one per running container, of any age, is normal
		return event.Event{}, false
	}
	e := o.newEvent(event.KindGoroutine, i)
	certainty := "observed"
	if guess {
		certainty = "inferred"
	}
	e.AddFields(event.FieldDoing.Text(doing), event.FieldRPC.Text(rpc), event.FieldCertainty.Text(certainty))
	e.Text = doingText(doing, rpc, g.ShownState())
	e.Evidence = append(e.Evidence, quoteFrame(&g.Frames[frame]), quoteHeader(g))
	return e, true
}

// waitOf is what a goroutine waits for outside its process, the method it
// called there, the frame that says so, -1 when nothing does, and whether this is an inference.
func (o *dumpObserver) waitOf(g *stackdump.Goroutine) (doing, rpc string, frame int, guess bool) {
	state := g.ShownState()
	possible := o.tellsOf(g).waits
	for i := range waits {
		if !possible.hasRow(i) {
			continue
		}
		w := &waits[i]
		first := frameWith(g, 0, w.frames[0])
		last := first
		for _, part := range w.frames[1:] {
			if last >= 0 {
				last = frameWith(g, last+1, part)
			}
		}
		if last < 0 || !strings.HasPrefix(state, w.state) || w.lock && !waitsForMutex(g, state) {
			continue
		}
		if receiver := w.frames[0]; strings.HasSuffix(receiver, ").") {
			// go-runc and generated clients call themselves: the outermost of their frames is the
			// call.
			for first+1 < len(g.Frames) && strings.Contains(g.Frames[first+1].Name(), receiver) {
				first++
			}
			rpc = methodAfter(g.Frames[first].Name(), receiver)
		}
		return w.doing, rpc, first, w.guess
	}
	return "", "", -1, false
}

// waitsForMutex says that a goroutine waits for a lock. Up to Go 1.19 its state is then that of one
// that waits for the end of others, too.
func waitsForMutex(g *stackdump.Goroutine, state string) bool {
	return scan.ContainsAny(state, mutexStates) && frameWith(g, 0, "sync.(*WaitGroup).Wait") < 0
}

// requestOf is the request that a goroutine serves inside of a function: the method of one of the
// servers.
func requestOf(name string) (request string, serves bool) {
	for _, s := range servers {
		// cri-o's closures that serve HTTP call what does the work
		if !strings.Contains(name, s) || strings.Contains(name, ".GetExtendInterfaceMux") {
			continue
		}
		if m := methodAfter(name, s); m != "" {
			return m, true
		}
		return s[strings.IndexByte(s, '.')+1:], true
	}
	return "", false
}

// idPointer is the address of the container id in a containerstore.Container
// passed by value: its first field is Metadata, whose first field is the ID, a
// string of 64 (0x40) bytes. Goroutines that show the same address work on the same container.
func idPointer(g *stackdump.Goroutine) string {
	for i := range g.Frames {
		_, rest, ok := strings.Cut(g.Frames[i].Args, "{{{0x")
		if !ok {
			continue
		}
		addr, rest, _ := strings.Cut(rest, ",")
		if strings.HasPrefix(rest, " 0x40}") && !strings.HasSuffix(addr, "?") {
			return "0x" + addr
		}
	}
	return ""
}

// ttrpcClient is the address of the ttrpc client that a goroutine works in: one
// per shim, so goroutines that show the same address speak to the same shim.
func ttrpcClient(g *stackdump.Goroutine) string {
	for _, f := range slices.Backward(g.Frames) {
		if !strings.Contains(f.Name(), "ttrpc.(*Client).") {
			continue
		}
		if a, ok := f.Receiver(); ok && a.Sure && a.Known {
			return "0x" + strconv.FormatUint(a.Value, 16)
		}
	}
	return ""
}

// uidPointer is the address of a pod's uid, a string of 36 (0x24) bytes, among
// the arguments of updateCache. Within one relist another address is another pod.
func uidPointer(args string) string {
	before, _, ok := strings.Cut(args, ", 0x24")
	ptr := strings.TrimLeft(before[strings.LastIndex(before, " ")+1:], "{")
	if !ok || !strings.HasPrefix(ptr, "0x") || strings.HasSuffix(ptr, "?") {
		return ""
	}
	return ptr
}

// frameWith is the first frame from i on whose name holds one of the parts; -1 when none does.
func frameWith(g *stackdump.Goroutine, i int, parts ...string) int {
	for ; i < len(g.Frames); i++ {
		if scan.ContainsAny(g.Frames[i].Name(), parts) {
			return i
		}
	}
	return -1
}

// frameNamed is the first frame whose function or method has one of the names; -1 when none has.
func frameNamed(g *stackdump.Goroutine, names ...string) int {
	return slices.IndexFunc(g.Frames, func(f stackdump.Frame) bool {
		name := f.Name()
		return slices.Contains(names, name[strings.LastIndexByte(name, '.')+1:])
	})
}

func frameNames(frames []stackdump.Frame) []string {
	all := make([]string, len(frames))
	for i := range frames {
		all[i] = frames[i].Name()
	}
	return all
}

// methodAfter is the method behind a receiver in a function's name: "UpdateContainerResources" of
// "….(*criService).UpdateContainerResources.func1".
func methodAfter(name, receiver string) string {
	_, m, _ := strings.Cut(name, receiver)
	m, _, _ = strings.Cut(m, ".")
	m, _, _ = strings.Cut(m, "(") // arguments that a link of Markdown cut
	return strings.TrimSuffix(m, "-fm")
}

func quoteHeader(g *stackdump.Goroutine) event.Quote { return event.Quote{Pos: g.Pos, Text: g.Header} }

func quoteFrame(f *stackdump.Frame) event.Quote { return event.Quote{Pos: f.Pos, Text: f.Raw} }
