package incident

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident/kept"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// A fault that every request meets, such as a probe whose program is missing, makes the same event
// hundreds of times a second. Of events that differ in nothing but their times and in ids and
// numbers of their texts these are kept: the first firstRepeats, all that come repeatPause after
// the one before, then one each betweenRepeats, which counts those that it stands for
// ([event.FieldRepeats]), and the last.
const (
	firstRepeats   = 32
	repeatPause    = 3 * time.Second  // the kubelet's sync loop complains every 5 s
	betweenRepeats = 20 * time.Second // rules ask for repeats 40 s apart
	// maxRepeated bounds how many different events of one file are followed.
	maxRepeated = 4096
)

// repeatedEvent is what is kept of one event that comes again and again.
type repeatedEvent struct {
	kept     int // how many
	slot     int // of the latest that is kept for good, and its moment
	at       time.Time
	last     int // slot of the last one; -1 when it is the one in slot
	counts   int // that the event in slot stands for
	previous time.Time
	latest   *lineRun // whose latest line makes the last one; nil when that is made
}

// countsAt says that an event at a time is one more of those before.
func (r *repeatedEvent) countsAt(at time.Time) bool {
	return r.kept >= firstRepeats && isWithin(r.previous, at, repeatPause) && isWithin(r.at, at, betweenRepeats)
}

// addRepeated keeps an event or counts it as one more of those before. It returns false when the
// event is not of those that are counted.
func (m *eventMaker) addRepeated(e *event.Event) bool {
	if !kept.MayRepeat(e) {
		return false
	}
	m.key = kept.AppendRepeatKey(m.key[:0], e)
	r := m.repeated[string(m.key)]
	switch {
	case r == nil && len(m.repeated) == maxRepeated:
		return false
	case r == nil:
		if m.repeated == nil {
			m.repeated = map[string]*repeatedEvent{}
		}
		r = &repeatedEvent{last: -1}
		m.repeated[string(m.key)] = r
	case r.countsAt(e.Start.T):
		m.counted, r.previous = append(m.counted, r), e.Start.T
		m.countRepeat(r, e)
		return true
	}
	if r.last >= 0 {
		m.countInto(r)
		m.events.Drop(r.last)
	}
	m.counted = append(m.counted, r)
	m.keeper.Keep(e)
	*r = repeatedEvent{kept: r.kept + 1, slot: m.events.Add(e), at: e.Start.T, last: -1, counts: 1, previous: e.Start.T}
	return true
}

// isWithin says that t is at most so long after from, and not before it.
func isWithin(from, t time.Time, most time.Duration) bool {
	passed := t.Sub(from)
	return passed >= 0 && passed < most
}

// countRepeat makes an event the last one; the one that was the last is only counted from then on.
func (m *eventMaker) countRepeat(r *repeatedEvent, e *event.Event) {
	if r.last < 0 {
		r.last = m.events.Add(e)
		return
	}
	m.countInto(r)
	*m.events.At(r.last), r.latest = *e, nil
}

// countInto counts one more event in the latest that is kept for good.
func (m *eventMaker) countInto(r *repeatedEvent) {
	r.counts++
	kept := m.events.At(r.slot)
	for i := range kept.Fields {
		if kept.Fields[i].Key == event.FieldRepeats {
			kept.Fields[i].Value = event.Int(int64(r.counts))
			return
		}
	}
	kept.AddFields(event.FieldRepeats.Int(r.counts))
}

// lineRuns are lines that are counted before anything is made of them. A line that differs from one
// before it in nothing but its time and ids makes the same events; while all of those are only
// counted, the events of its latest line alone are made, at the end.
type lineRuns struct {
	shapes map[string]*lineShape
	runs   map[string]*lineRun // by shape, and the ids that the events name
	key    []byte              // shape of the latest line; empty for a line that is not followed
	ids    []string            // its long ids, each once
	named  []byte              // the latest key of runs
}

// lineShape is a line without its time and its long ids.
type lineShape struct {
	unfit bool   // one of its events is not counted
	named uint64 // which of its long ids its events name, a bit for each
}

// lineRun are the lines of one shape whose events name the same ids.
type lineRun struct {
	events []*repeatedEvent // that each of its lines makes
	calm   bool             // none of them is trouble
	latest line             // that was only counted
}

// countLine counts a line, if nothing else is to be done about it.
func (m *eventMaker) countLine(l *line) bool {
	m.runs.readShape(l, m.watch != nil)
	shape := m.runs.shapes[string(m.runs.key)]
	if shape == nil || shape.unfit {
		return false
	}
	run := m.runs.runs[string(m.runs.runKey(shape))]
	at := l.Time.T
	if run == nil || slices.ContainsFunc(run.events, func(r *repeatedEvent) bool { return !r.countsAt(at) }) {
		return false
	}
	m.lives.Advance(l.Time, run.calm)
	for _, r := range run.events {
		r.previous, r.latest = at, run
		if r.last >= 0 {
			m.countInto(r)
		} else {
			r.last = m.events.Add(m.events.At(r.slot)) // until the last one is made
		}
	}
	run.latest = *l
	return true
}

// learnLine learns what a line made, by which those of its shape are known.
func (m *eventMaker) learnLine(l *line) {
	if len(m.runs.key) == 0 {
		return
	}
	shape := m.runs.shapes[string(m.runs.key)]
	if shape == nil {
		if len(m.runs.shapes) == maxFollowed {
			return
		}
		if m.runs.shapes == nil {
			m.runs.shapes, m.runs.runs = map[string]*lineShape{}, map[string]*lineRun{}
		}
		shape = &lineShape{named: m.runs.findNamed(m.made)}
		m.runs.shapes[string(m.runs.key)] = shape
	}
	if shape.unfit = shape.unfit || !m.onlyCounts(l); shape.unfit {
		return
	}
	key := m.runs.runKey(shape)
	if run := m.runs.runs[string(key)]; run == nil && len(m.runs.runs) < maxFollowed {
		m.runs.runs[string(key)] = &lineRun{events: slices.Clone(m.counted), calm: !slices.ContainsFunc(m.made, isTrouble)}
	}
}

// onlyCounts says that all events of the latest line are counted, each for itself, at its time.
func (m *eventMaker) onlyCounts(l *line) bool {
	for i := range m.made {
		e, r := &m.made[i], m.counted[i]
		if r == nil || slices.Contains(m.counted[:i], r) || !e.Start.T.Equal(l.Time.T) ||
			e.Kind == event.KindNodeNotReady || e.Kind == event.KindNodeReady { // these tell of clocks, too
			return false
		}
	}
	return true
}

func isTrouble(e event.Event) bool { return !kept.IsCalm(&e) }

// makeLatest makes the last event of each run whose latest line was only counted.
func (m *eventMaker) makeLatest() {
	for _, r := range m.repeated {
		if r.latest == nil {
			continue
		}
		l := &r.latest.latest
		m.made = messages.Append(m.made[:0], &l.Record)
		if i := slices.Index(r.latest.events, r); i < len(m.made) {
			m.made[i].Host = l.Host
			*m.events.At(r.last) = m.made[i]
		}
	}
}

// readShape finds the shape of a line and its long ids. What JSON holds besides text and fields is
// no part of a shape, so that such lines are not followed.
func (s *lineRuns) readShape(l *line, watched bool) {
	s.key, s.ids = s.key[:0], s.ids[:0]
	if watched || len(l.Text) > maxShape || l.Repeats != 0 || len(l.Pieces) > 0 || l.Quiet != 0 || l.Uptime != 0 || !l.Time.Known || strings.Contains(l.Raw, `{"`) {
		return
	}
	for _, text := range [...]string{l.Host, l.Unit, l.Caller, l.source.Name} {
		s.key = append(append(s.key, text...), 0)
	}
	s.key = append(s.key, byte(l.Level), byte(l.Time.Lacks))
	s.key = strconv.AppendInt(s.key, int64(l.PID), 10)
	s.addText(l.Text)
	for i := range l.Fields {
		s.addText(l.Fields[i].Key)
		s.addText(l.Fields[i].Value)
	}
	if len(s.key) > maxShape {
		s.key = s.key[:0]
	}
}

// maxShape bounds the length of a shape, in bytes; a longer line is not followed. maxFollowed
// bounds how many shapes are kept of one file, and how many runs.
const (
	maxShape    = 2 << 10
	maxFollowed = 1024
)

// addText adds a text to a shape. In the place of a long id stands its number among those of the
// line.
func (s *lineRuns) addText(text string) {
	const longID, maxIDs = 32, 64
	rest := 0 // what is not added yet
	for i := 0; i+longID <= len(text) && len(s.ids) < maxIDs; {
		end := i + longID
		if other := lastOther(text[i:end]); other >= 0 {
			i += other + 1 // no id of that length begins before
			continue
		}
		for end < len(text) && isHex[text[end]] {
			end++
		}
		n := slices.Index(s.ids, text[i:end])
		if n < 0 {
			n = len(s.ids)
			s.ids = append(s.ids, text[i:end])
		}
		s.key = append(append(s.key, text[rest:i]...), 0, byte(n))
		i, rest = end, end
	}
	s.key = append(append(s.key, text[rest:]...), 0)
}

// lastOther is where the last byte stands that is no digit of an id; -1 without one.
func lastOther(text string) int {
	i := len(text) - 1
	for i >= 0 && isHex[text[i]] {
		i--
	}
	return i
}

// isHex are the digits of ids.
var isHex = lines.NewByteSet("0123456789abcdef")

// findNamed says which of the long ids of the latest line its events name.
func (s *lineRuns) findNamed(events []event.Event) (named uint64) {
	for i := range events {
		e := &events[i]
		for _, told := range [...]string{e.Source, e.IDs.Container, e.IDs.Sandbox, e.IDs.Pod, e.IDs.PodUID, e.IDs.Lock} {
			for n, id := range s.ids {
				if told != "" && (strings.Contains(told, id) || strings.Contains(id, told)) {
					named |= 1 << n
				}
			}
		}
	}
	return named
}

// runKey is the shape of the latest line with the ids that its events name.
func (s *lineRuns) runKey(shape *lineShape) []byte {
	s.named = append(s.named[:0], s.key...)
	for n, id := range s.ids {
		if shape.named&(1<<n) != 0 {
			s.named = append(append(s.named, 0), id...)
		}
	}
	return s.named
}
