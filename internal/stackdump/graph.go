package stackdump

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Graph is who waits for whom in a dump.
type Graph struct {
	Locks  []Lock  // as Dump.Locks gives them
	Chains []Chain // one for each of Locks
	Queues []Queue // the most wanted first
	// Cycles are deadlocks: each goroutine, an index, wants a lock that the next
	// one holds, and the last one wants what the first one holds.
	Cycles []Cycle
	// Longest is the chain with the most goroutines, an index of Chains; -1 when no lock has a holder.
	Longest int

	d     *Dump
	lock  map[int]int       // goroutine to the lock it waits for, an index of Locks
	queue map[int]waitGroup // by the goroutine that waits for one
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
	// Type is "sync.WaitGroup", "sync.Cond", "chan receive", "chan send", "ttrpc client", "grpc client", "net/rpc client".
	Type    string
	Owner   string // the type whose method waits; empty when none does
	Waiters []Waiter
	// Workers, of a WaitGroup, are the goroutines that its waiter started in
	// the function in which it waits: an inference, and possible since Go 1.21.
	Workers []int
}

// clients are calls whose receiver is a connection: the same client is the same server at the other end.
var clients = byBase([]call{
	{"containerd/ttrpc.(*Client).dispatch", "ttrpc client", ""},
	{"containerd/ttrpc.(*Client).Call", "ttrpc client", ""},
	{"stevvooe/ttrpc.(*Client).Call", "ttrpc client", ""},
	{"grpc.(*ClientConn).Invoke", "grpc client", ""},
	{"net/rpc.(*Client).Call", "net/rpc client", ""},
})

// Graph builds the graph of a dump. The catalogue is that of Locks.
func (d *Dump) Graph(catalogue []Hold) Graph {
	b := Graph{d: d, lock: map[int]int{}, queue: map[int]waitGroup{}}
	b.Locks = d.Locks(catalogue)
	for i := range b.Locks {
		for _, w := range b.Locks[i].Waiters {
			b.lock[w.Goroutine] = i
		}
	}
	for lo, hi := range d.parts() {
		b.queues(lo, hi)
	}
	b.sortQueues()
	b.Longest = -1
	for i := range b.Locks {
		c := b.chain(i)
		if len(c.Goroutines) > 0 && (b.Longest < 0 || len(c.Goroutines) > len(b.Chains[b.Longest].Goroutines)) {
			b.Longest = i
		}
		b.Chains = append(b.Chains, c)
	}
	b.cycles()
	return b
}

// sortQueues puts the most wanted first.
func (b *Graph) sortQueues() {
	order := make([]int, len(b.Queues))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(len(b.Queues[y].Waiters), len(b.Queues[x].Waiters)) })
	sorted, place := make([]Queue, 0, len(order)), make([]int, len(order))
	for _, old := range order {
		place[old] = len(sorted)
		sorted = append(sorted, b.Queues[old])
	}
	b.Queues = sorted
	for g, q := range b.queue {
		q.queue = place[q.queue]
		b.queue[g] = q
	}
}

// waitGroup is the queue of a WaitGroup and the function in which a goroutine waits for it.
type waitGroup struct {
	queue  int
	caller string // empty when it was cut off
}

// maxChain bounds the way to an end. Real ones have two or three goroutines.
const maxChain = 100

// chain follows the holders from a lock. Of several, readers, the one that has waited longest.
func (b *Graph) chain(lock int) Chain {
	first, certain := b.holder(lock)
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
	for next, certain := goroutine, true; next >= 0 && len(c.Goroutines) < maxChain; next, certain = b.next(next) {
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

// next is whom a goroutine waits for: the holder of the lock it wants, or whom it has started and waits for. It is -1 for none.
func (b *Graph) next(g int) (next int, certain bool) {
	if lock, waits := b.lock[g]; waits {
		return b.holder(lock)
	}
	if q, waits := b.queue[g]; waits {
		return b.slowest(b.Queues[q.queue].Workers), false
	}
	return -1, false
}

// holder is who holds a lock; -1 when the dump does not tell.
func (b *Graph) holder(lock int) (g int, certain bool) {
	g = -1
	for _, h := range b.Locks[lock].Holders {
		if g < 0 || b.d.Goroutines[h.Goroutine].Wait > b.d.Goroutines[g].Wait {
			g, certain = h.Goroutine, h.Certainty == Observed
		}
	}
	return g, certain
}

// slowest is the goroutine that has waited longest, the first of those; -1 of none.
func (b *Graph) slowest(goroutines []int) int {
	slowest := -1
	for _, g := range goroutines {
		if slowest < 0 || b.d.Goroutines[g].Wait > b.d.Goroutines[slowest].Wait {
			slowest = g
		}
	}
	return slowest
}

// cycles looks for goroutines that, lock by lock, wait for themselves.
func (b *Graph) cycles() {
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
					b.Cycles = append(b.Cycles, b.cycle(way[slices.Index(way, h.Goroutine):]))
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

// cycle puts the lowest goroutine of a circle first.
func (b *Graph) cycle(way []int) Cycle {
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

// queues finds what goroutines of one dump wait for together.
func (b *Graph) queues(lo, hi int) {
	a := analysis{dump: b.d, lo: lo, hi: hi}
	a.findEra()
	type key struct{ typ, addr string }
	at := map[key]int{}
	for i := lo; i < hi; i++ {
		q, frame, ok := a.findQueue(i)
		if !ok || b.d.Goroutines[i].Idle() {
			continue
		}
		k := key{q.Type, q.Addr}
		if q.Type == "sync.WaitGroup" && q.Addr == "" {
			k.addr = strconv.Itoa(i) // nothing says that two wait for the same one
		}
		n, known := at[k]
		if !known {
			n = len(b.Queues)
			at[k] = n
			b.Queues = append(b.Queues, q)
		}
		b.Queues[n].AddrSure = b.Queues[n].AddrSure || q.AddrSure
		b.Queues[n].Waiters = append(b.Queues[n].Waiters, Waiter{Goroutine: i, Mode: "wait", Caller: frame})
		if q.Type == "sync.WaitGroup" {
			b.queue[i] = waitGroup{queue: n}
			if f := a.frame(i, max(frame, 0)); frame >= 0 && f != nil {
				b.queue[i] = waitGroup{n, f.Func}
			}
		}
	}
	b.workers(lo, hi)
}

// workers finds whom the waiters of WaitGroups have started.
func (b *Graph) workers(lo, hi int) {
	if len(b.queue) == 0 {
		return
	}
	byID := map[uint64]int{}
	for i := range b.queue {
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
		w := b.queue[waiter]
		// WaitGroup.Go (Go 1.25) stands in the place of the go statement.
		if w.caller != "" && (g.CreatedBy.Func == w.caller || g.CreatedBy.Func == "sync.(*WaitGroup).Go") {
			b.Queues[w.queue].Workers = append(b.Queues[w.queue].Workers, i)
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
	if g.lockCall() >= 0 {
		return q, 0, false
	}
	var sem uint64
	for j := range g.Frames {
		f := &g.Frames[j]
		arg, _ := f.first()
		sure := arg.Known && arg.Sure && isAddress(arg.Value)
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
			return a.queued(q, g, j+1, sem)
		case "runtime.chanrecv", "runtime.chansend":
			q.Type = "chan receive"
			if f.Func == "runtime.chansend" {
				q.Type = "chan send"
			}
			if at := a.client(g, &q); at >= 0 {
				return q, at, true
			}
			for j++; j < len(g.Frames) && strings.HasPrefix(g.Frames[j].Func, "runtime."); j++ {
			}
			if !sure {
				return q, 0, false
			}
			return a.queued(q, g, j, arg.Value)
		}
		if !strings.HasPrefix(f.Func, "runtime.") && !strings.HasPrefix(f.Func, "sync.runtime_") {
			break
		}
	}
	at := a.client(g, &q)
	return q, at, at >= 0
}

// queued completes a queue at an address, for a caller in frame j. Without an
// address, only a WaitGroup is worth telling: it has mostly one waiter.
func (a *analysis) queued(q Queue, g *Goroutine, j int, addr uint64) (Queue, int, bool) {
	if addr == 0 && q.Type != "sync.WaitGroup" {
		return q, 0, false
	}
	if addr != 0 {
		q.Addr, q.AddrSure = hex(addr), true
	}
	if j >= len(g.Frames) {
		return q, -1, true
	}
	typ, _ := g.Frames[j].method()
	q.Owner = shortType(typ)
	return q, j, true
}

// client looks for a call of a client further out; -1 when there is none. The
// receiver of any of its frames tells which client.
func (a *analysis) client(g *Goroutine, q *Queue) (frame int) {
	frame = -1
	for j := range g.Frames {
		f := &g.Frames[j]
		row := find(f, clients)
		if row == nil {
			continue
		}
		frame, q.Type = j, row.kind
		if r, ok := f.Receiver(); ok && r.Sure && isHeap(r.Value) {
			q.Addr, q.AddrSure = hex(r.Value), a.era != unmarked
		}
	}
	return frame
}
