package rules

import (
	"cmp"
	"slices"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/condition"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
	"github.com/plegdiag/plegdiag/internal/timeline/reach"
)

// index is a timeline made ready for matching: one order whatever the order of
// the input, and events by kind. What one rule has looked up serves every other
// rule that asks the same: a catalogue asks for few things in many ways.
type index struct {
	timeline *timeline.Timeline
	covered  map[string]bool // by source that was asked for: see covers
	events   []*event.Event
	spans    []span
	kinds    map[event.Kind][]int32
	place    []int32 // of an event among those of its kind

	logs      map[fileSource]logShown // see readLogs; nil until asked for
	anyDense  bool                    // one of them is dense
	nodeNames map[writer][]string     // see namesOfNode; nil until asked for

	severalHosts bool                   // see nameSeveralHosts
	oneMachine   map[[2]string]sameness // by two hosts: see compareMachines

	columns map[columnKey]*column
	tested  map[testKey]*tested
	hits    map[string]*hits // by [language.EventSet] key

	texts []string                  // interned values; 0 is the empty one
	ids   map[string]int32          // their numbers
	cut   []int32                   // by number: the key of the text where ids are cut short; 0 or no place until asked for
	cuts  map[[minPrefix]byte]int32 // by the beginning of texts: the number of the first that has it
	marks []uint64                  // scratch, by number of a value; all zero between uses
}

func newIndex(tl *timeline.Timeline) *index {
	x := &index{
		timeline: tl,
		covered:  map[string]bool{},
		events:   tl.Events,
		spans:    make([]span, len(tl.Events)),
		kinds:    map[event.Kind][]int32{},
		place:    make([]int32, len(tl.Events)),
		columns:  map[columnKey]*column{},
		tested:   map[testKey]*tested{},
		hits:     map[string]*hits{},
		texts:    []string{""},
		cuts:     map[[minPrefix]byte]int32{},
		ids:      make(map[string]int32, len(tl.Events)/2),

		severalHosts: nameSeveralHosts(tl.Events),
		oneMachine:   map[[2]string]sameness{},
	}
	x.ids[""] = 0
	if !slices.IsSortedFunc(x.events, compareEvents) {
		x.events = slices.Clone(x.events) // the timeline keeps its order
		slices.SortStableFunc(x.events, compareEvents)
	}
	x.sortByKind()
	x.boundHungTasks()
	return x
}

// sortByKind lists the events of each kind.
func (x *index) sortByKind() {
	count := map[event.Kind]int32{}
	for i, e := range x.events {
		x.spans[i] = newSpan(e)
		x.place[i] = count[e.Kind]
		count[e.Kind]++
	}
	for kind, n := range count {
		x.kinds[kind] = make([]int32, n)
	}
	for i, e := range x.events {
		x.kinds[e.Kind][x.place[i]] = int32(i)
	}
}

// compareEvents is event.Compare, with what else can tell two events of one line apart.
func compareEvents(a, b *event.Event) int {
	if c := event.Compare(a, b); c != 0 {
		return c
	}
	return cmp.Or(a.Last().T.Compare(b.Last().T), cmp.Compare(a.Text, b.Text),
		cmp.Compare(a.IDs.Container, b.IDs.Container), cmp.Compare(a.IDs.Sandbox, b.IDs.Sandbox),
		cmp.Compare(a.IDs.Lock, b.IDs.Lock),
		cmp.Compare(a.IDs.Goroutine, b.IDs.Goroutine), cmp.Compare(a.IDs.PID, b.IDs.PID), cmp.Compare(a.IDs.TID, b.IDs.TID))
}

// column is one reading of all events of a kind. Events share few values of most
// fields, so that a condition need only be asked about each value once.
type column struct {
	codes []int32 // by place: which of the values; noValue for an event without the field
	// values are, by code, the numbers of texts. Below zero are those of others: -1 is the first.
	values []int32
	others []event.Value // what is no text
	counts []int32       // by code
	absent int
	ids    []int32 // by code: the number of the value's text; nil until asked for
}

type columnKey struct {
	kind    event.Kind
	reading condition.Reading
}

const noValue = -1

func (x *index) readColumn(kind event.Kind, r condition.Reading) *column {
	key := columnKey{kind, r}
	if c := x.columns[key]; c != nil {
		return c
	}
	c := &column{codes: make([]int32, len(x.kinds[kind]))}
	others, read := map[event.Value]int32{}, r.Reader()
	for i, ev := range x.kinds[kind] {
		v, ok := read(x.events[ev])
		if !ok {
			c.codes[i] = noValue
			c.absent++
			continue
		}
		code := int32(0)
		if v.IsText() {
			code = x.codeOfText(c, v.Text())
		} else if known, found := others[v]; found {
			code = known
		} else {
			c.others = append(c.others, v)
			code = c.addValue(int32(-len(c.others)))
			others[v] = code
		}
		c.codes[i] = code
		c.counts[code]++
	}
	for _, id := range c.values {
		if id >= 0 {
			x.marks[id] = 0
		}
	}
	x.columns[key] = c
	return c
}

// codeOfText is the code of a text in a column that is being read, whose values are marked.
func (x *index) codeOfText(c *column, text string) int32 {
	id := x.intern(text)
	marks := x.growMarks()
	if marks[id] == 0 {
		marks[id] = 1 + uint64(c.addValue(id))
	}
	return int32(marks[id] - 1)
}

// addValue adds a value and returns its code.
func (c *column) addValue(value int32) int32 {
	c.values, c.counts = append(c.values, value), append(c.counts, 0)
	return int32(len(c.values) - 1)
}

// valueOf is the value of a code.
func (x *index) valueOf(c *column, code int) event.Value {
	if id := c.values[code]; id >= 0 {
		return event.String(x.texts[id])
	}
	return c.others[-1-c.values[code]]
}

// readTexts are the numbers of the texts of a column's values, by code.
func (x *index) readTexts(c *column) []int32 {
	switch {
	case c.ids != nil:
	case len(c.others) == 0:
		c.ids = c.values
	default:
		c.ids = make([]int32, len(c.values))
		for code := range c.values {
			c.ids[code] = x.intern(x.valueOf(c, code).Text())
		}
	}
	return c.ids
}

func (x *index) intern(s string) int32 {
	id, known := x.ids[s]
	if !known {
		id = int32(len(x.texts))
		x.ids[s] = id
		x.texts = append(x.texts, s)
	}
	return id
}

// findKey is the number of what a value is looked up by: of itself or, where ids are cut short, of
// the first value that begins as it does.
func (x *index) findKey(id int32, prefix bool) int32 {
	if !prefix || len(x.texts[id]) < minPrefix {
		return id
	}
	if int(id) >= len(x.cut) {
		x.cut = append(x.cut, make([]int32, len(x.texts)-len(x.cut))...)
	}
	if x.cut[id] == 0 {
		begin := cutText(x.texts[id])
		if x.cuts[begin] == 0 {
			x.cuts[begin] = id
		}
		x.cut[id] = x.cuts[begin]
	}
	return x.cut[id]
}

// cutText is the beginning of a text by which a cut id counts as the same.
func cutText(text string) [minPrefix]byte { return [minPrefix]byte([]byte(text[:minPrefix])) }

// tested is what a condition says of a kind's events.
type tested struct {
	column *column
	holds  []bool // by code
	absent bool   // of an event without the field
	count  int    // events for which it holds
}

type testKey struct {
	kind      event.Kind
	condition string
}

func (x *index) testCondition(kind event.Kind, c *condition.Condition) *tested {
	key := testKey{kind, c.Key}
	if a := x.tested[key]; a != nil {
		return a
	}
	col := x.readColumn(kind, c.Reading)
	a := &tested{column: col, holds: make([]bool, len(col.values))}
	for code := range col.values {
		if c.Holds(x.valueOf(col, code), true) {
			a.holds[code] = true
			a.count += int(col.counts[code])
		}
	}
	if a.absent = c.Holds(event.Value{}, false); a.absent {
		a.count += col.absent
	}
	x.tested[key] = a
	return a
}

func (a *tested) holdsAt(place int) bool {
	if code := a.column.codes[place]; code != noValue {
		return a.holds[code]
	}
	return a.absent
}

// listMatching returns the events that fit a pattern, in order.
func (x *index) listMatching(p *language.Pattern) []int32 {
	all := x.kinds[p.Kind]
	if len(all) == 0 {
		return nil
	}
	var conditions []*tested
	for i := range p.Compiled.Conditions {
		a := x.testCondition(p.Kind, &p.Compiled.Conditions[i])
		switch a.count {
		case 0:
			return nil
		case len(all): // says nothing
		default:
			conditions = append(conditions, a)
		}
	}
	var bound []*column
	for i := range p.Compiled.Bindings {
		c := x.readColumn(p.Kind, p.Compiled.Bindings[i].Reading)
		x.readTexts(c)
		if !p.Compiled.Bindings[i].Optional {
			bound = append(bound, c)
		}
	}
	slices.SortFunc(conditions, func(a, b *tested) int { return cmp.Compare(a.count, b.count) })
	var found []int32
	for place, ev := range all {
		fits := true
		for _, a := range conditions {
			if fits = a.holdsAt(place); !fits {
				break
			}
		}
		for _, c := range bound {
			code := c.codes[place]
			fits = fits && code != noValue && c.ids[code] != 0
		}
		if fits {
			found = append(found, ev)
		}
	}
	return found
}

// hits are the events that fit a set, in order, each by the first pattern that takes it.
type hits struct {
	events []int32
	by     []uint16 // by hit: the pattern that took it
	every  []int32  // 0, 1, 2, …: all hits, as the lists of values holds hold them
	values map[string]*values
	reach  *reach.Index // nil until asked for
}

// findHits returns the events that fit a set.
func (x *index) findHits(s *language.EventSet) *hits {
	if h := x.hits[s.Key]; h != nil {
		return h
	}
	h := &hits{values: map[string]*values{}}
	for i := range s.Patterns {
		h.mergeHits(x.listMatching(&s.Patterns[i]), uint16(i))
	}
	h.every = make([]int32, len(h.events))
	for i := range h.every {
		h.every[i] = int32(i)
	}
	x.hits[s.Key] = h
	return h
}

// mergeHits adds what a further pattern takes. Both lists are in order; an event that is there
// stays as it is.
func (h *hits) mergeHits(events []int32, pattern uint16) {
	if len(h.events) == 0 {
		h.events, h.by = events, slices.Repeat([]uint16{pattern}, len(events))
		return
	}
	if len(events) == 0 {
		return
	}
	old, by := h.events, h.by
	h.events, h.by = make([]int32, 0, len(old)+len(events)), make([]uint16, 0, len(old)+len(events))
	for i, j := 0, 0; i < len(old) || j < len(events); {
		switch {
		case j == len(events) || i < len(old) && old[i] <= events[j]:
			if j < len(events) && old[i] == events[j] {
				j++
			}
			h.events, h.by = append(h.events, old[i]), append(h.by, by[i])
			i++
		default:
			h.events, h.by = append(h.events, events[j]), append(h.by, pattern)
			j++
		}
	}
}

// values is what the hits of a set say about one variable.
type values struct {
	of    []int32           // by hit: the number of its value; 0 for none
	byKey map[int32][]int32 // hits by what their value is looked up by; nil until asked for
	keys  []int32           // the distinct keys, in the order of their first hit; without 0
	free  bool              // a hit has no value

	prefix bool // keys are cut
}

func (x *index) findValues(s *language.EventSet, h *hits, variable int) *values {
	b := &s.Binds[variable]
	if b.Key == "" {
		return nil
	}
	if v := h.values[b.Key]; v != nil {
		return v
	}
	v := &values{of: make([]int32, len(h.events)), prefix: b.Prefix}
	for i, ev := range h.events {
		field := b.Fields[h.by[i]]
		if field == (condition.Reading{}) {
			continue
		}
		c := x.readColumn(s.Patterns[h.by[i]].Kind, field)
		if code := c.codes[x.place[ev]]; code != noValue {
			v.of[i] = c.ids[code]
		}
	}
	for _, id := range v.of {
		key := x.findKey(id, b.Prefix)
		marks := x.growMarks()
		switch {
		case key == 0:
			v.free = true
		case marks[key] == 0:
			marks[key] = 1
			v.keys = append(v.keys, key)
		}
	}
	for _, key := range v.keys {
		x.marks[key] = 0
	}
	h.values[b.Key] = v
	return v
}

// listByKey are the hits by key.
func (x *index) listByKey(v *values) map[int32][]int32 {
	if v.byKey == nil {
		v.byKey = make(map[int32][]int32, len(v.keys)+1)
		for i, id := range v.of {
			key := x.findKey(id, v.prefix)
			v.byKey[key] = append(v.byKey[key], int32(i))
		}
	}
	return v.byKey
}

// growMarks returns the scratch, with a place for every number of a value. Whoever marks must
// clear.
func (x *index) growMarks() []uint64 {
	if len(x.marks) < len(x.texts) {
		x.marks = append(x.marks, make([]uint64, len(x.texts)-len(x.marks)+len(x.texts)/2)...)
	}
	return x.marks
}

// covers says whether a source is in the bundle and may show a cause of what happened.
func (x *index) covers(source string) bool {
	covered, asked := x.covered[source]
	if !asked {
		covered = x.timeline.CoversStall(func(c *timeline.Coverage) bool { return isSource(source, c) })
		x.covered[source] = covered
	}
	return covered
}

// isSource says whether lines of a file are of a source, by its name or its path.
func isSource(source string, c *timeline.Coverage) bool {
	if pattern, ok := condition.PathSource(source); ok {
		return condition.MatchPath(pattern, c.File)
	}
	return c.Source == source
}
