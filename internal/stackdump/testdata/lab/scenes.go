package main

import (
	"os"
	"sync"
)

var plays = []func(){
	updateCallback, rwWriter, rwPending, embeddedEntry, condition, idleLoop, pastUnlock, pastUnlockAlone, nested, abba,
	transferOrder, valueReceiver, closure, self, once, twoInstances, longPoll, perKey, global, syscallHeld, neighbour,
	cacheFetch, deadReceiver, readersMoved, helper, twoLocks, reader, deepStranger,
	handedOn, farGuess, listener, ring, readTwice, queueGroup, queueCond, queueChannel,
}

// A method keeps the lock while a callback blocks, like a status store's UpdateSync.
type store struct {
	id int
	mu sync.Mutex
	n  int
}

//go:noinline
func (s *store) Update(f func() int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n += f()
	return s.n
}

//go:noinline
func (s *store) Get() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

//go:noinline
func callUpdate(s *store) int { return s.Update(block) + s.Get() }

//go:noinline
func callGet(s *store) int { return s.Get() + s.id }

func updateCallback() {
	c, s := scene("update-callback"), &store{}
	c.in("h", func() { callUpdate(s) })
	for i := 0; i < 3; i++ {
		c.in("w", func() { callGet(s) })
	}
}

// Two objects of one type, each with its own holder.
func twoInstances() {
	for i := 0; i < 2; i++ {
		c, s := scene("two-instances"), &twin{}
		c.in("h", func() { callTwin(s) })
		c.in("w", func() { s.Get() })
		c.in("w", func() { s.Get() })
	}
}

type twin struct {
	mu sync.RWMutex
	n  int
}

//go:noinline
func (s *twin) Update(f func() int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n += f()
	return s.n
}

//go:noinline
func (s *twin) Get() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.n
}

//go:noinline
func callTwin(s *twin) int { return s.Update(block) + s.n }

// A writer holds an RWMutex, readers wait.
type status struct {
	id string
	mu sync.RWMutex
	n  int
}

//go:noinline
func (s *status) UpdateSync(f func() int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n += f()
	return s.n
}

//go:noinline
func (s *status) Get() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.n
}

//go:noinline
func callUpdateSync(s *status) int { return s.UpdateSync(block) + s.n }

func rwWriter() {
	c, s := scene("rw-writer"), &status{}
	c.in("h", func() { callUpdateSync(s) })
	for i := 0; i < 3; i++ {
		c.in("w", func() { s.Get() })
	}
}

// Readers hold, a writer is pending, further readers queue behind it.
type network struct {
	id [13]int
	mu sync.RWMutex
	n  int
}

//go:noinline
func (s *network) Alloc() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.allocate()
}

//go:noinline
func (s *network) allocate() int { return block() + s.n }

//go:noinline
func (s *network) Release() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.n
}

//go:noinline
func (s *network) collect() {
	s.mu.Lock()
	s.n++
	s.mu.Unlock()
}

func rwPending() {
	c, s := scene("rw-pending"), &network{}
	c.in("h", func() { s.Alloc() })
	c.in("h", func() { s.Alloc() })
	c.in("p", func() { s.collect() })
	c.in("w", func() { s.Alloc() })
	c.in("w", func() { s.Release() })
}

// The lock is the first field, and the holder's method is where the goroutine began.
type embedded struct {
	sync.Mutex
	n int
}

//go:noinline
func (e *embedded) HoldChan(in chan int) {
	e.Lock()
	e.n += <-in
	e.Unlock()
}

//go:noinline
func (e *embedded) Peek() int {
	e.Lock()
	defer e.Unlock()
	return e.n
}

func embeddedEntry() {
	c, e := scene("embedded-entry"), &embedded{}
	c.in("h", func() { e.HoldChan(never) })
	c.in("w", func() { e.Peek() })
}

// Goroutines in Cond.Wait have let go of the lock.
type queue struct {
	mu   sync.Mutex
	cond *sync.Cond
	n    int
}

//go:noinline
func (q *queue) Pop() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.n == 0 {
		q.cond.Wait()
	}
	return q.n
}

//go:noinline
func (q *queue) Drain(f func() int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.n = f()
	return q.n
}

//go:noinline
func (q *queue) Push() {
	q.mu.Lock()
	q.n++
	q.mu.Unlock()
}

//go:noinline
func callDrain(q *queue) int { return q.Drain(block) + q.n }

func condition() {
	c, q := scene("condition"), &queue{}
	q.cond = sync.NewCond(&q.mu)
	c.in("", func() { q.Pop() })
	c.in("", func() { q.Pop() })
	c.in("h", func() { callDrain(q) })
	c.in("w", func() { q.Push() })

	c, q = scene("condition-hidden"), &queue{}
	q.cond = sync.NewCond(&q.mu)
	c.in("", func() { q.Pop() })
	c.in("h", func() { q.mu.Lock(); block() })
	c.in("w", func() { q.Push() })
}

// A service loop shows the object live and does not hold its lock.
type daemon struct {
	id, jobs int
	mu       sync.Mutex
}

//go:noinline
func (d *daemon) loop() {
	for {
		select {
		case n := <-events:
			d.jobs += n
		case n := <-never:
			d.jobs -= n
		}
	}
}

//go:noinline
func (d *daemon) Inspect() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.jobs
}

//go:noinline
func holdElsewhere(mu *sync.Mutex) int {
	mu.Lock()
	return block()
}

func idleLoop() {
	c, d := scene("idle-loop"), &daemon{}
	c.in("", d.loop)
	c.in("h", func() { holdElsewhere(&d.mu) })
	c.in("w", func() { d.Inspect() })
	c.in("w", func() { d.Inspect() })
}

// Callers register under the lock, let go, and wait for an answer.
type client struct {
	id    int
	mu    sync.Mutex
	calls map[int]chan int
}

//go:noinline
func (c *client) Call(n int) int {
	done := make(chan int)
	c.mu.Lock()
	c.calls[n] = done
	c.mu.Unlock()
	v := <-done
	c.id += v
	return v
}

//go:noinline
func (c *client) reset() int {
	c.mu.Lock()
	n := block()
	return n
}

func pastUnlock() {
	c, cl := scene("past-unlock"), &client{calls: map[int]chan int{}}
	c.in("", func() { cl.Call(1) })
	c.in("", func() { cl.Call(2) })
	c.in("h", func() { cl.reset() })
	c.in("w", func() { cl.Call(3) })
}

func pastUnlockAlone() {
	c, cl := scene("past-unlock-alone"), &client{calls: map[int]chan int{}}
	c.in("", func() { cl.Call(1) })
	c.in("h", func() { cl.reset() })
	c.in("w", func() { cl.Call(3) })
}

// Inside of one object's lock, waiting for that of another.
type outer struct {
	id int
	mu sync.Mutex
	in *inner
}

type inner struct {
	id int
	mu sync.Mutex
}

//go:noinline
func (o *outer) Do() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.in.Do() + o.id
}

//go:noinline
func (o *outer) Get() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.id
}

//go:noinline
func (i *inner) Do() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.id
}

//go:noinline
func (i *inner) Hold(f func() int) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.id += f()
	return i.id
}

//go:noinline
func callHold(i *inner) int { return i.Hold(block) + i.id }

//go:noinline
func callDo(o *outer) int { return o.Do() + o.id }

func nested() {
	in, out := scene("nested-inner"), scene("nested-outer")
	i := &inner{}
	o := &outer{in: i}
	in.in("h", func() { callHold(i) })
	out.in("h", func() {
		in.mu.Lock()
		in.waiters = append(in.waiters, goid())
		in.mu.Unlock()
		callDo(o)
	})
	out.in("w", func() { o.Get() })
}

//go:noinline
func lockAB(a, b *sync.Mutex, half chan bool) {
	a.Lock()
	half <- true
	<-half
	b.Lock()
	b.Unlock()
	a.Unlock()
}

func abba() {
	x, y := scene("abba"), scene("abba")
	a, b := new(sync.Mutex), new(sync.Mutex)
	first, second := make(chan bool), make(chan bool)
	x.in("h", func() { y.join(); lockAB(a, b, first) })
	y.in("h", func() { x.join(); lockAB(b, a, second) })
	<-first
	<-second
	first <- true
	second <- true
}

// join makes the running goroutine a waiter.
func (c *cast) join() {
	c.mu.Lock()
	c.waiters = append(c.waiters, goid())
	c.mu.Unlock()
}

//go:noinline
func transfer(from, to *sync.Mutex) {
	from.Lock()
	to.Lock()
	to.Unlock()
	from.Unlock()
}

// A goroutine shows a lock that it has not taken yet.
func transferOrder() {
	x, y := scene("transfer-first"), scene("transfer-second")
	a, b := new(sync.Mutex), new(sync.Mutex)
	x.in("h", func() { holdElsewhere(a) })
	y.in("h", func() { holdElsewhere(b) })
	x.in("w", func() { transfer(a, b) })
	y.in("w", func() { callLock(b) })
}

//go:noinline
func callLock(m *sync.Mutex) {
	m.Lock()
	m.Unlock()
}

type value struct {
	name string
	mu   *sync.Mutex
}

//go:noinline
func (v value) Hold() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return block() + len(v.name)
}

//go:noinline
func (v value) Get() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.name)
}

func valueReceiver() {
	c, v := scene("value-receiver"), value{"v", new(sync.Mutex)}
	c.in("h", func() { v.Hold() })
	c.in("w", func() { v.Get() })
}

func closure() {
	c := scene("closure")
	var mu sync.Mutex
	n := 0
	c.in("h", func() {
		mu.Lock()
		defer mu.Unlock()
		n += block()
	})
	c.in("w", func() {
		mu.Lock()
		defer mu.Unlock()
		n++
	})
}

type recursive struct {
	id int
	mu sync.Mutex
}

//go:noinline
func (r *recursive) Outer() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Inner() + r.id
}

//go:noinline
func (r *recursive) Inner() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

// A goroutine waits for itself.
func self() {
	c, r := scene("self-alone"), &recursive{}
	c.in("hw", func() { r.Outer() })

	c, r = scene("self"), &recursive{}
	c.in("hw", func() { r.Outer() })
	c.in("w", func() { r.Outer() })
}

func once() {
	c := scene("once")
	o := new(sync.Once)
	c.in("h", func() { o.Do(func() { block() }) })
	c.in("w", func() { o.Do(func() {}) })
}

// A request waits in a method that never takes the lock for long; the holder shows nothing.
type hub struct {
	id int
	mu sync.Mutex
}

//go:noinline
func (h *hub) Subscribe() int {
	n := <-never
	h.id += n
	return n
}

//go:noinline
func callSubscribe(h *hub) int { return h.Subscribe() + 1 }

//go:noinline
func (h *hub) Publish() {
	h.mu.Lock()
	h.id++
	h.mu.Unlock()
}

func longPoll() {
	c, h := scene("long-poll"), &hub{}
	c.in("", func() { callSubscribe(h) })
	c.in("h", func() { holdElsewhere(&h.mu) })
	c.in("w", func() { h.Publish() })
}

type locker struct {
	mu   sync.Mutex
	keys map[string]*sync.Mutex
}

//go:noinline
func (l *locker) key(name string) *sync.Mutex {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys[name] == nil {
		l.keys[name] = new(sync.Mutex)
	}
	return l.keys[name]
}

//go:noinline
func (l *locker) Work(name string) int {
	m := l.key(name)
	m.Lock()
	defer m.Unlock()
	return block() + len(name)
}

func perKey() {
	x, y := scene("per-key"), scene("per-key")
	l := &locker{keys: map[string]*sync.Mutex{}}
	x.in("h", func() { l.Work("pod-1") })
	y.in("h", func() { l.Work("other-pod") })
	x.in("w", func() { l.Work("pod-1") })
	y.in("w", func() { l.Work("other-pod") })
}

var (
	globalMu sync.Mutex
	globalN  int
)

//go:noinline
func refresh() int {
	globalMu.Lock()
	defer globalMu.Unlock()
	globalN += block()
	return globalN
}

func global() {
	c := scene("global")
	c.in("h", func() { refresh() })
	c.in("w", func() { refresh() })
	c.in("w", func() { refresh() })
}

type disk struct {
	id int
	mu sync.Mutex
	f  *os.File
}

//go:noinline
func (d *disk) Sync(buf []byte) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, _ := d.f.Read(buf)
	return n + d.id
}

//go:noinline
func (d *disk) Stat() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id
}

var keep []*os.File // a finalizer would end the read

//go:noinline
func callSync(d *disk) int { return d.Sync(make([]byte, 8)) + d.id }

func syscallHeld() {
	c := scene("syscall")
	r, w, _ := os.Pipe()
	r.Fd() // makes it blocking: the read is a system call
	d := &disk{f: r}
	keep = append(keep, w)
	c.in("h", func() { callSync(d) })
	c.in("w", func() { d.Stat() })
}

// Two objects of one size class stand side by side; the lock belongs to the second.
type boss struct {
	id [4]int
	of *worker
}

type worker struct {
	id [2]int
	mu sync.Mutex
	n  int
}

//go:noinline
func (b *boss) Tell() int {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	return b.id[0]
}

//go:noinline
func (b *boss) Rest(f func() int) int { return f() + b.id[0] }

//go:noinline
func callRest(b *boss) int { return b.Rest(block) + b.id[1] }

func neighbour() {
	c := scene("neighbour")
	b, w := &boss{}, &worker{}
	b.of = w
	c.in("", func() { callRest(b) })
	c.in("h", func() { holdElsewhere(&w.mu) })
	c.in("w", func() { b.Tell() })
}

// Readers that have let go and fetch, while the reader that holds shows nothing.
type cache struct {
	id int
	mu sync.RWMutex
	m  map[int]int
}

//go:noinline
func (c *cache) Get(n int) int {
	c.mu.RLock()
	v := c.m[n]
	c.mu.RUnlock()
	if v == 0 {
		v = block() + c.id
	}
	return v
}

//go:noinline
func (c *cache) Each() int {
	c.mu.RLock()
	n := block()
	return n
}

//go:noinline
func (c *cache) Put() {
	c.mu.Lock()
	c.m[1] = 1
	c.mu.Unlock()
}

func cacheFetch() {
	c, m := scene("cache-fetch"), &cache{}
	c.in("", func() { m.Get(1) })
	c.in("", func() { m.Get(2) })
	c.in("h", func() { m.Each() })
	c.in("p", func() { m.Put() })
	c.in("w", func() { m.Get(3) })
}

// The holder's receiver is dead, another method of the object shows it.
type session struct {
	id int
	mu sync.Mutex
}

//go:noinline
func (s *session) hold() int {
	s.mu.Lock()
	n := block()
	return n
}

//go:noinline
func (s *session) Copy(f func() int) int { return f() + s.id }

//go:noinline
func (s *session) Close() {
	s.mu.Lock()
	s.id = 0
	s.mu.Unlock()
}

//go:noinline
func callCopy(s *session) int { return s.Copy(block) + s.id }

func deadReceiver() {
	c, s := scene("dead-receiver"), &session{}
	c.in("", func() { callCopy(s) })
	c.in("h", func() { s.hold() })
	c.in("w", func() { s.Close() })
}

// A reader that let go stands behind the line where readers wait for a writer.
func readersMoved() {
	c, m := scene("readers-moved"), &cache{m: map[int]int{}}
	c.in("", func() { m.Get(1) })
	c.in("h", func() { m.mu.Lock(); block() })
	c.in("w", func() { m.Get(2) })
	c.in("w", func() { m.Put() })
}

// A helper takes the lock and returns.
type vault struct {
	id int
	mu sync.Mutex
}

//go:noinline
func (v *vault) lockIt() { v.mu.Lock() }

//go:noinline
func (v *vault) Open() int {
	v.lockIt()
	defer v.mu.Unlock()
	return block() + v.id
}

func helper() {
	c, v := scene("helper"), &vault{}
	c.in("h", func() { v.Open() })
	c.in("w", func() { v.Open() })
}

// One object, two locks.
type pair struct {
	id   int
	a, b sync.Mutex
}

//go:noinline
func (p *pair) HoldA(f func() int) int {
	p.a.Lock()
	defer p.a.Unlock()
	p.id += f()
	return p.id
}

//go:noinline
func (p *pair) HoldB(f func() int) int {
	p.b.Lock()
	defer p.b.Unlock()
	p.id += f()
	return p.id
}

//go:noinline
func (p *pair) GetA() int {
	p.a.Lock()
	defer p.a.Unlock()
	return p.id
}

//go:noinline
func (p *pair) GetB() int {
	p.b.Lock()
	defer p.b.Unlock()
	return p.id
}

//go:noinline
func callA(p *pair) int { return p.HoldA(block) + p.id }

//go:noinline
func callB(p *pair) int { return p.HoldB(block) + p.id }

func twoLocks() {
	x, y := scene("two-locks"), scene("two-locks")
	p := &pair{}
	x.in("h", func() { callA(p) })
	y.in("h", func() { callB(p) })
	x.in("w", func() { p.GetA() })
	y.in("w", func() { p.GetB() })
}

// One reader holds; the writer waits; nobody else.
func reader() {
	c, s := scene("reader"), &network{}
	c.in("h", func() { s.Alloc() })
	c.in("p", func() { s.collect() })
}

// The only goroutine that shows the object is deep in a callback of a method
// that takes no lock. The holder took it from a closure of a method.
type god struct {
	id int
	mu sync.Mutex
}

//go:noinline
func (g *god) Each(f func() int) int { return f() + g.id }

//go:noinline
func (g *god) Get() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.id
}

//go:noinline
func (g *god) background() func() {
	return func() {
		g.mu.Lock()
		block()
	}
}

//go:noinline
func callEach(g *god) int { return g.Each(block) + g.id }

func deepStranger() {
	c, g := scene("deep-stranger"), &god{}
	c.in("", func() { callEach(g) })
	c.in("h", g.background())
	c.in("w", func() { g.Get() })
}

//go:noinline
func lockRing(mine, next *sync.Mutex, half chan bool) {
	mine.Lock()
	half <- true
	<-half
	next.Lock()
	next.Unlock()
	mine.Unlock()
}

// Three goroutines, each of which wants what the next one holds.
func ring() {
	var locks [3]*sync.Mutex
	var scenes [3]*cast
	var half [3]chan bool
	for i := range locks {
		locks[i], scenes[i], half[i] = new(sync.Mutex), scene("ring"), make(chan bool)
	}
	for i := range locks {
		mine, next := i, (i+1)%3
		scenes[mine].in("h", func() {
			scenes[next].join()
			lockRing(locks[mine], locks[next], half[mine])
		})
		<-half[mine]
	}
	for i := range half {
		half[i] <- true
	}
}

// A reader reads again while a writer waits: both wait for ever.
type registry struct {
	id int
	mu sync.RWMutex
	n  int
}

//go:noinline
func (r *registry) All(gate chan bool) int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	gate <- true
	<-gate
	return r.One() + r.id
}

//go:noinline
func (r *registry) One() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.n
}

//go:noinline
func (r *registry) Add() {
	r.mu.Lock()
	r.n++
	r.mu.Unlock()
}

func readTwice() {
	c, r, gate := scene("read-twice"), &registry{}, make(chan bool)
	c.in("hw", func() { r.All(gate) })
	<-gate
	c.in("p", func() { r.Add() })
	gate <- true
}

// A function keeps the lock of an object that it was given, while a method of the object, which has
// let go, waits for something else.
type item struct {
	id int
	mu sync.Mutex
	n  int
}

//go:noinline
func with(i *item, f func() int) int {
	i.mu.Lock()
	n := f()
	i.mu.Unlock()
	return n + i.n
}

//go:noinline
func (i *item) Await() int {
	i.mu.Lock()
	i.n++
	i.mu.Unlock()
	return block() + i.n
}

//go:noinline
func (i *item) Len() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.n
}

//go:noinline
func callAwait(i *item) int { return i.Await() + i.id }

func handedOn() {
	c, i := scene("handed-on"), &item{}
	c.in("", func() { callAwait(i) })
	c.in("h", func() { with(i, block) })
	c.in("w", func() { i.Len() })
}

// The waiters do not show the object, its neighbour in memory is in work, and a function shows
// where the object begins.
type row struct {
	id int
	mu sync.Mutex
	n  int
}

//go:noinline
func (r *row) Touch() {
	r.mu.Lock()
	block()
}

//go:noinline
func (r *row) Fill() int { return block() + r.n }

//go:noinline
func withRow(r *row, f func() int) int {
	r.mu.Lock()
	n := f()
	r.mu.Unlock()
	return n + r.n
}

func farGuess() {
	c, rows := scene("far-guess"), &[2]row{}
	c.in("", func() { rows[0].Fill() })
	c.in("h", func() { withRow(&rows[1], block) })
	c.in("w", func() { rows[1].Touch() })
}

// A goroutine that waits for work in the method in which it began, beside one that does work.
type desk struct {
	id int
	mu sync.Mutex
	n  int
}

//go:noinline
func (d *desk) Listen(in chan int) int {
	d.mu.Lock()
	d.n++
	d.mu.Unlock()
	return <-in + d.n
}

//go:noinline
func (d *desk) Update(f func() int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n += f()
	return d.n
}

//go:noinline
func (d *desk) Get() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

//go:noinline
func callDesk(d *desk) int { return d.Update(block) + d.id }

func listener() {
	c, d := scene("listener"), &desk{}
	c.in("", func() { d.Listen(never) })
	c.in("h", func() { callDesk(d) })
	c.in("w", func() { d.Get() })
}

// What else goroutines wait for together. The holders are those whom a WaitGroup waits for.
type fleet struct {
	id int
	wg sync.WaitGroup
}

//go:noinline
func (f *fleet) RunAll(c *cast) int {
	for i := 0; i < 2; i++ {
		f.wg.Add(1)
		go func() {
			c.hold()
			block()
			f.wg.Done()
		}()
	}
	f.wg.Wait()
	return f.id
}

// hold makes the running goroutine a holder.
func (c *cast) hold() {
	c.mu.Lock()
	c.holders = append(c.holders, goid())
	c.mu.Unlock()
}

//go:noinline
func callRunAll(f *fleet, c *cast) int { return f.RunAll(c) + f.id }

func queueGroup() {
	c, f := scene("queue-WaitGroup"), &fleet{}
	c.in("w", func() { callRunAll(f, c) })
}

func queueCond() {
	c, q := scene("queue-Cond"), &queue{}
	q.cond = sync.NewCond(&q.mu)
	c.in("w", func() { q.Pop() })
	c.in("w", func() { q.Pop() })
}

//go:noinline
func take(in chan int) int { return <-in }

func queueChannel() {
	c, in := scene("queue-chan"), make(chan int)
	c.in("w", func() { take(in) })
	c.in("w", func() { take(in) })
	c.in("w", func() { take(in) })
}
