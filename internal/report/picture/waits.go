package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Waits says who waits for whom in the goroutine dumps. A goroutine waits for one thing and a
// lock is held by one goroutine, or by readers that wait for the same, so that the graph is a
// forest: what everybody waits for in the end stands on top, the holders below it, and those who
// wait for them below these, further to the right. Nothing crosses, however wide the screen is.
type Waits struct {
	Height int
	Nodes  []waitNode
	Edges  []waitEdge
	Left   int // nodes that are not drawn
}

// waitNode is a box.
type waitNode struct {
	X, Y     int
	Class    string // end, holder, waiter
	Title    string
	Number   int       // of its event in the table; 0 for none
	Texts    [2]placed // for a wide and a narrow screen
	Inferred bool
}

// waitEdge leads from who waits, at the end of its line, up to what it waits for.
type waitEdge struct{ X, Y1, Y2, ToX int }

// waiting is a node before it has a place.
type waiting struct {
	class    string
	label    label
	event    *event.Event // the first of those that it stands for
	inferred bool
	next     *waiting // what it waits for; nil for an end
	behind   []*waiting
}

// lockKey is a lock of a program.
type lockKey struct{ program, lock string }

// Measures of the graph in pixels, and its bound.
const (
	waitHeight   = 24 // of a box
	waitPitch    = 32
	waitIndent   = 22
	maxWaitNodes = 80
)

// NewWaits draws the locks of the dumps that goroutines wait for; nil where there are none.
func NewWaits(tl *timeline.Timeline, p *Picture) *Waits {
	ends := collectWaits(tl)
	if len(ends) == 0 {
		return nil
	}
	g := &Waits{}
	for _, end := range ends {
		g.addNode(p, end, 0)
		g.Height += waitPitch / 3
	}
	return g
}

// addNode places a node and, below it, all who wait for it. It returns the middle of its box.
func (g *Waits) addNode(p *Picture, w *waiting, depth int) (middle int) {
	n := waitNode{X: 1 + min(depth, 6)*waitIndent, Y: g.Height + 1, Class: w.class, Inferred: w.inferred, Title: eventTitle(w.event)}
	if p != nil {
		n.Number = p.numbers[w.event]
	}
	for i, on := range screens {
		t := placed{Y: n.Y + waitHeight/2 + 4, DX: n.X + 8, Screen: on.name}
		t.cutLabel(w.label, on.whole-float64(n.X)-16)
		n.Texts[i] = t
	}
	g.Nodes = append(g.Nodes, n)
	g.Height += waitPitch
	for _, b := range w.behind {
		if len(g.Nodes) >= maxWaitNodes {
			g.Left++
			continue
		}
		x := n.X + waitIndent/2
		y := g.addNode(p, b, depth+1)
		g.Edges = append(g.Edges, waitEdge{X: x, Y1: y, Y2: n.Y + waitHeight, ToX: 1 + min(depth+1, 6)*waitIndent})
	}
	return n.Y + waitHeight/2
}

// collectWaits makes the forest of the dumps; it returns its ends, those for which most goroutines
// wait first.
func collectWaits(tl *timeline.Timeline) (ends []*waiting) {
	kinds := []string{string(event.KindLockHeld), string(event.KindLockWait), string(event.KindLockQueue)}
	events := tl.Select(timeline.Filter{Kinds: kinds})
	holders, order := groupHolders(events)
	waitsFor := map[string]lockKey{} // by program and goroutine
	for _, e := range events {
		if e.Kind == event.KindLockWait {
			waitsFor[goroutineKey(e)] = lockKey{e.Component, e.IDs.Lock}
		}
	}
	endOf := map[string]*waiting{}
	addEnd := func(e *event.Event, text string) *waiting {
		name := e.Component + ": " + text
		if endOf[name] == nil {
			endOf[name] = &waiting{class: "end", label: label{Name: name}, event: e}
			ends = append(ends, endOf[name])
		}
		return endOf[name]
	}
	for _, h := range order {
		h.next = holders[waitsFor[goroutineKey(h.event)]]
		if h.next == nil {
			h.next = addEnd(h.event, cmp.Or(h.event.FieldText(event.FieldWaiting), "what the holder waits for is not shown"))
		}
	}
	for _, h := range order {
		if h.inCycle() {
			h.next = addEnd(h.event, "a deadlock: each waits for a lock that the next one holds")
		}
		h.next.behind = append(h.next.behind, h)
	}
	for _, w := range groupWaiters(events, holders) {
		w.next = holders[lockKey{w.event.Component, w.event.IDs.Lock}]
		if w.next == nil {
			w.next = addEnd(w.event, "the dump does not show who holds "+lockName(w.event))
		}
		w.next.behind = append(w.next.behind, w)
	}
	slices.SortStableFunc(ends, func(a, b *waiting) int { return cmp.Compare(b.countBehind(), a.countBehind()) })
	return ends
}

// groupHolders puts the holders of one lock together: readers hold it side by side. The order is
// that of the events.
func groupHolders(events []*event.Event) (holders map[lockKey]*waiting, order []*waiting) {
	byLock := map[lockKey][]*event.Event{}
	holders = map[lockKey]*waiting{}
	for _, e := range events {
		if e.Kind != event.KindLockHeld {
			continue
		}
		key := lockKey{e.Component, e.IDs.Lock}
		byLock[key] = append(byLock[key], e)
		if holders[key] == nil {
			holders[key] = &waiting{class: "holder", event: e, inferred: e.FieldText(event.FieldCertainty) == "inferred"}
			order = append(order, holders[key])
		}
	}
	for key, h := range holders {
		all := byLock[key]
		name := fmt.Sprintf("goroutine %d", h.event.IDs.Goroutine)
		if call := h.event.FieldText(event.FieldCall); call != "" {
			name += ", " + call + ","
		}
		if len(all) > 1 {
			name = fmt.Sprintf("%d × %s", len(all), cmp.Or(h.event.FieldText(event.FieldCall), "a goroutine"))
		}
		name += " holds " + lockName(h.event)
		if through := h.event.FieldText(event.FieldThrough); through != "" {
			name += ", through " + through
		}
		h.label = label{name, longestWaitText(all)}
	}
	return holders, order
}

// groupWaiters puts those who wait for one lock in one call together. Who holds a lock is left out:
// it has a box.
func groupWaiters(events []*event.Event, holders map[lockKey]*waiting) (order []*waiting) {
	type group struct {
		lockKey
		call string
	}
	holds := map[string]bool{}
	for _, e := range events {
		if e.Kind == event.KindLockHeld && holders[lockKey{e.Component, e.IDs.Lock}].event == e {
			holds[goroutineKey(e)] = true
		}
	}
	groups := map[group][]*event.Event{}
	first := map[group]*waiting{}
	for _, e := range events {
		if e.Kind == event.KindLockHeld || holds[goroutineKey(e)] {
			continue
		}
		key := group{lockKey{e.Component, e.IDs.Lock}, e.FieldText(event.FieldCall)}
		groups[key] = append(groups[key], e)
		if first[key] == nil {
			first[key] = &waiting{class: "waiter", event: e}
			order = append(order, first[key])
		}
	}
	for key, w := range first {
		count := 0
		for _, e := range groups[key] {
			v, _ := e.Get(event.FieldWaiters)
			n, _ := v.Number()
			count += max(e.Count(), int(n))
		}
		w.label = label{fmt.Sprintf("%d × %s waiting", count, cmp.Or(key.call, "a goroutine")), longestWaitText(groups[key])}
	}
	return order
}

// lockName names a lock with its owner: "the sync.RWMutex of statusStorage 0xc000130f80".
func lockName(e *event.Event) string {
	name := "the " + cmp.Or(e.FieldText(event.FieldLockType), "lock")
	if owner := e.FieldText(event.FieldOwner); owner != "" {
		name += " of " + owner
	}
	return strings.TrimSpace(name + " " + e.IDs.Lock)
}

// goroutineKey tells the goroutines of all programs apart.
func goroutineKey(e *event.Event) string {
	return fmt.Sprintf("%s %s %d", e.Component, e.Pos().File, e.IDs.Goroutine)
}

// longestWaitText is how long the one that has waited longest waits.
func longestWaitText(events []*event.Event) string {
	var longest time.Duration
	for _, e := range events {
		longest = max(longest, e.Duration())
	}
	text := show.Duration(longest, true)
	if text != "" && len(events) > 1 {
		text = "longest " + text
	}
	return text
}

// inCycle says whether a holder waits, over others, for a lock that it holds itself.
func (w *waiting) inCycle() bool {
	seen := map[*waiting]bool{}
	for n := w.next; n != nil && !seen[n]; n = n.next {
		if n == w {
			return true
		}
		seen[n] = true
	}
	return false
}

// countBehind counts the nodes that wait for it.
func (w *waiting) countBehind() int {
	n := len(w.behind)
	for _, b := range w.behind {
		n += b.countBehind()
	}
	return n
}
