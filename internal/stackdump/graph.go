package stackdump

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/stackdump/args"
	"github.com/plegdiag/plegdiag/internal/stackdump/funcname"
)

// Graph is who waits for whom in a dump.
type Graph struct {
	Locks  []Lock  // as Dump.Locks gives them
	Chains []Chain // one for each of Locks
	Queues []Queue // the most wanted first
	// Cycles are deadlocks: each goroutine, an index, wants a lock that the next
	// one holds, and the last one wants what the first one holds.
	Cycles []Cycle
	// Longest is the chain with the most goroutines, an index of Chains; -1 when no lock has a
	// holder.
	Longest int

	d      *Dump
	lock   map[int]int       // goroutine to the lock it waits for, an index of Locks
	groups map[int]waitGroup // by the goroutine that waits for one
}

// Cycle is a deadlock: goroutines of which each waits for the next, the last for the first.
type Cycle struct {
	Goroutines []int  // indexes into Dump.Goroutines, the first is the lowest
	Certainty  string // Observed when all its holders are
}

// Chain leads from a lock to what everyone who wants it waits for in the end.
type Chain struct {
	// Goroutines begins with a holder of the lock; each waits for the next, for
	// its lock or to be done. Empty when the lock has no holder.
	Goroutines []int
	// Inferred says that a holder on the way, or that one waits for another, is an inference.
	Inferred bool
	// Cyclic says that the last one waits for Goroutines[Back]: everyone from there
	// on is in a deadlock. Then End is zero.
	Cyclic bool
	Back   int
	End    End // of the last goroutine
}

// Queue is goroutines that wait together for something else than a lock.
type Queue struct {
	// Addr is that of the thing waited for; empty when it was not printed.
	Addr     string
	AddrSure bool // it is no slot that may be stale, as Go 1.17 prints without saying so
	// Type is "sync.WaitGroup", "sync.Cond", "chan receive", "chan send", "ttrpc client", "grpc
	// client", "net/rpc client".
	Type    string
	Owner   string // the type whose method waits; empty when none does
	Waiters []Waiter
	// Workers, of a WaitGroup, are the goroutines that its waiter started in
	// the function in which it waits: an inference, and possible since Go 1.21.
	Workers []int
}

// clients are calls whose receiver is a connection: the same client is the same server at the other
// end.
var clients = indexByBase([]call{
	{"containerd/ttrpc.(*Client).dispatch", "ttrpc client", ""},
	{"containerd/ttrpc.(*Client).Call", "ttrpc client", ""},
	{"stevvooe/ttrpc.(*Client).Call", "ttrpc client", ""},
	{"grpc.(*ClientConn).Invoke", "grpc client", ""},
	{"net/rpc.(*Client).Call", "net/rpc client", ""},
})

// Graph builds the graph of a dump. The catalogue is that of Locks.
func (d *Dump) Graph(catalogue Catalogue) Graph {
	b := Graph{d: d, lock: map[int]int{}, groups: map[int]waitGroup{}}
	b.Locks = d.Locks(catalogue)
	for i := range b.Locks {
		for _, w := range b.Locks[i].Waiters {
			b.lock[w.Goroutine] = i
		}
	}
	var queues []*Queue
	for lo, hi := range d.partBounds() {
		queues = append(queues, b.findQueues(lo, hi)...)
	}
	slices.SortStableFunc(queues, func(x, y *Queue) int { return cmp.Compare(len(y.Waiters), len(x.Waiters)) })
	for _, q := range queues {
		b.Queues = append(b.Queues, *q)
	}
	b.Longest = -1
	for i := range b.Locks {
		c := b.chainFrom(i)
		if len(c.Goroutines) > 0 && (b.Longest < 0 || len(c.Goroutines) > len(b.Chains[b.Longest].Goroutines)) {
			b.Longest = i
		}
		b.Chains = append(b.Chains, c)
	}
	b.findCycles()
	return b
}

// waitGroup is the queue of a WaitGroup and the function in which a goroutine waits for it.
type waitGroup struct {
	*Queue
	caller string // empty when it was cut off
}

// maxChain bounds the way to an end. Real ones have two or three goroutines.
const maxChain = 100

// chainFrom follows the holders from a lock. Of several, readers, the one that has waited longest.
func (b *Graph) chainFrom(lock int) Chain {
	first, certain := b.longestHolder(lock)
	if first < 0 {
		return Chain{}
	}
	c := b.Follow(first)
	c.Inferred = c.Inferred || !certain
	return c
}

// Follow leads from a goroutine, an index into Dump.Goroutines and the first of the
// chain, to what it waits for in the end.
func (b *Graph) Follow(goroutine int) (c Chain) {
	at := map[int]int{}
	next, certain := goroutine, true
	for ; next >= 0 && len(c.Goroutines) < maxChain; next, certain = b.nextGoroutine(next) {
		c.Inferred = c.Inferred || !certain
		if c.Back, c.Cyclic = at[next]; c.Cyclic {
			return c
		}
		at[next] = len(c.Goroutines)
		c.Goroutines = append(c.Goroutines, next)
	}
	c.End = b.d.Goroutines[c.Goroutines[len(c.Goroutines)-1]].End()
	return c
}

// Wants is the lock that a goroutine waits for, as an index of Locks; -1 when it waits for none.
func (b *Graph) Wants(goroutine int) int {
	if lock, waits := b.lock[goroutine]; waits {
		return lock
	}
	return -1
}

// nextGoroutine is whom a goroutine waits for: the holder of the lock it wants, or whom it has
// started and waits for. It is -1 for none.
func (b *Graph) nextGoroutine(g int) (next int, certain bool) {
	if lock, waits := b.lock[g]; waits {
		return b.longestHolder(lock)
	}
	if group, waits := b.groups[g]; waits {
		return b.longestWaiting(group.Workers), false
	}
	return -1, false
}

// longestHolder is the holder of a lock that has waited longest; -1 when the dump shows none.
func (b *Graph) longestHolder(lock int) (g int, certain bool) {
	g = -1
	for _, h := range b.Locks[lock].Holders {
		if g < 0 || b.d.Goroutines[h.Goroutine].Wait > b.d.Goroutines[g].Wait {
			g, certain = h.Goroutine, h.Certainty == Observed
		}
	}
	return g, certain
}

// longestWaiting is the goroutine that has waited longest, the first of those; -1 of none.
func (b *Graph) longestWaiting(goroutines []int) int {
	slowest := -1
	for _, g := range goroutines {
		if slowest < 0 || b.d.Goroutines[g].Wait > b.d.Goroutines[slowest].Wait {
			slowest = g
		}
	}
	return slowest
}

// findCycles looks for goroutines that, lock by lock, wait for themselves.
func (b *Graph) findCycles() {
	state := map[int]int{} // 1 on the way, 2 done
	var way []int
	var visit func(g int)
	visit = func(g int) {
		state[g] = 1
		way = append(way, g)
		if l, waits := b.lock[g]; waits && len(way) < maxChain {
			for _, h := range b.Locks[l].Holders {
				switch state[h.Goroutine] {
				case 0:
					visit(h.Goroutine)
				case 1:
					b.Cycles = append(b.Cycles, b.newCycle(way[slices.Index(way, h.Goroutine):]))
				}
			}
		}
		way = way[:len(way)-1]
		state[g] = 2
	}
	for i := range b.Locks {
		for _, h := range b.Locks[i].Holders {
			if state[h.Goroutine] == 0 {
				visit(h.Goroutine)
			}
		}
	}
}

// newCycle puts the lowest goroutine of a circle first.
func (b *Graph) newCycle(way []int) Cycle {
	first := slices.Index(way, slices.Min(way))
	c := Cycle{Goroutines: slices.Concat(way[first:], way[:first]), Certainty: Observed}
	for i, g := range c.Goroutines {
		next := c.Goroutines[(i+1)%len(c.Goroutines)]
		observed := slices.ContainsFunc(b.Locks[b.lock[g]].Holders, func(h Holder) bool {
			return h.Goroutine == next && h.Certainty == Observed
		})
		if !observed {
			c.Certainty = Inferred
		}
	}
	return c
}

// findQueues finds what goroutines of one dump wait for together.
func (b *Graph) findQueues(lo, hi int) (all []*Queue) {
	a := analysis{dump: b.d, lo: lo, hi: hi}
	a.findEra()
	type key struct{ typ, addr string }
	known := map[key]*Queue{}
	for i := lo; i < hi; i++ {
		found, frame, ok := a.findQueue(i)
		if !ok || b.d.Goroutines[i].Idle() {
			continue
		}
		k := key{found.Type, found.Addr}
		if found.Type == "sync.WaitGroup" && found.Addr == "" {
			k.addr = strconv.Itoa(i) // nothing says that two wait for the same one
		}
		q := known[k]
		if q == nil {
			q = new(found)
			known[k] = q
			all = append(all, q)
		}
		q.AddrSure = q.AddrSure || found.AddrSure
		q.Waiters = append(q.Waiters, Waiter{Goroutine: i, Mode: "wait", Caller: frame})
		if q.Type == "sync.WaitGroup" {
			b.groups[i] = waitGroup{Queue: q}
			if f := a.frameAt(i, max(frame, 0)); frame >= 0 && f != nil {
				b.groups[i] = waitGroup{q, f.Func}
			}
		}
	}
	b.findWorkers(lo, hi)
	return all
}

// findWorkers finds whom the waiters of WaitGroups have started.
func (b *Graph) findWorkers(lo, hi int) {
	if len(b.groups) == 0 {
		return
	}
	byID := map[uint64]int{}
	for i := range b.groups {
		if i >= lo && i < hi {
			byID[b.d.Goroutines[i].ID] = i
		}
	}
	for i := lo; i < hi; i++ {
		g := &b.d.Goroutines[i]
		waiter, ok := byID[g.CreatorID]
		if !ok || g.CreatorID == 0 {
			continue
		}
		w := b.groups[waiter]
		// WaitGroup.Go (Go 1.25) stands in the place of the go statement.
		if w.caller != "" && (g.CreatedBy.Func == w.caller || g.CreatedBy.Func == "sync.(*WaitGroup).Go") {
			w.Workers = append(w.Workers, i)
		}
	}
}

// Offsets inside of the structures of package sync: the list of a Cond, and the
// semaphore of a WaitGroup since Go 1.18, which is when dumps began to show it.
const (
	condList     = 16
	waitGroupSem = 8
)

// findQueue recognizes what a goroutine waits for besides locks. Frame is the
// one that calls for it, -1 when it was cut off.
func (a *analysis) findQueue(i int) (q Queue, frame int, ok bool) {
	g := &a.dump.Goroutines[i]
	if g.lockCallFrame() >= 0 {
		return q, 0, false
	}
	var sem uint64
	for j := range g.Frames {
		f := &g.Frames[j]
		arg, _ := f.firstArg()
		sure := arg.Known && arg.Sure && args.IsAddress(arg.Value)
		switch f.Func {
		case "runtime.semacquire1":
			if sure {
				sem = arg.Value - waitGroupSem
			}
			continue
		case "sync.runtime_notifyListWait":
			if sure && a.era != unmarked {
				sem = arg.Value - condList
			}
			continue
		case "sync.(*WaitGroup).Wait", "sync.(*Cond).Wait":
			q.Type = strings.Replace(strings.TrimSuffix(f.Func, ".Wait"), "(*", "", 1)
			q.Type = strings.TrimSuffix(q.Type, ")")
			if sure && a.era != unmarked {
				sem = arg.Value
			}
			return a.completeQueue(q, g, j+1, sem)
		case "runtime.chanrecv", "runtime.chansend":
			q.Type = "chan receive"
			if f.Func == "runtime.chansend" {
				q.Type = "chan send"
			}
			if at := a.findClient(g, &q); at >= 0 {
				return q, at, true
			}
			for j++; j < len(g.Frames) && strings.HasPrefix(g.Frames[j].Func, "runtime."); j++ {
			}
			if !sure {
				return q, 0, false
			}
			return a.completeQueue(q, g, j, arg.Value)
		}
		if !isOfRuntime(f.Func) {
			break
		}
	}
	at := a.findClient(g, &q)
	return q, at, at >= 0
}

// isOfRuntime says whether a function is the runtime's, or one that it gives to package sync.
func isOfRuntime(name string) bool {
	return strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "sync.runtime_")
}

// completeQueue completes a queue at an address, for a caller in frame j. Without an
// address, only a WaitGroup is worth telling: it has mostly one waiter.
func (a *analysis) completeQueue(q Queue, g *Goroutine, j int, addr uint64) (Queue, int, bool) {
	if addr == 0 && q.Type != "sync.WaitGroup" {
		return q, 0, false
	}
	if addr != 0 {
		q.Addr, q.AddrSure = hex(addr), true
	}
	if j >= len(g.Frames) {
		return q, -1, true
	}
	typ, _ := g.Frames[j].receiverType()
	q.Owner = funcname.ShortType(typ)
	return q, j, true
}

// findClient looks for a call of a client further out; -1 when there is none. The
// receiver of any of its frames tells which client.
func (a *analysis) findClient(g *Goroutine, q *Queue) (frame int) {
	frame = -1
	for j := range g.Frames {
		f := &g.Frames[j]
		row := f.function().client
		if row == nil {
			continue
		}
		frame, q.Type = j, row.kind
		if r, ok := f.Receiver(); ok && r.Sure && args.IsHeap(r.Value) {
			q.Addr, q.AddrSure = hex(r.Value), a.era != unmarked
		}
	}
	return frame
}
