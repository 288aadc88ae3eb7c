package incident

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// A fault that every request meets, such as a probe whose program is missing, makes the same event
// hundreds of times a second. Of events that differ in nothing but their times and in ids and
// numbers of their texts these are kept: the first firstRepeats, all that come repeatPause after the
// one before, then one each betweenRepeats, which counts those that it stands for
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
}

// addRepeated keeps an event or counts it as one more of those before. It returns false when the
// event is not of those that are counted.
func (m *eventMaker) addRepeated(e *event.Event) bool {
	if !mayRepeat(e) {
		return false
	}
	m.key = appendRepeatKey(m.key[:0], e)
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
	case r.kept >= firstRepeats && isWithin(r.previous, e.Start.T, repeatPause) && isWithin(r.at, e.Start.T, betweenRepeats):
		r.previous = e.Start.T
		m.countRepeat(r, e)
		return true
	}
	if r.last >= 0 {
		m.countInto(r)
		m.events.dropEvent(r.last)
	}
	*r = repeatedEvent{kept: r.kept + 1, slot: m.events.addEvent(e), at: e.Start.T, last: -1, counts: 1, previous: e.Start.T}
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
		r.last = m.events.addEvent(e)
		return
	}
	m.countInto(r)
	*m.events.eventAt(r.last) = *e
}

// countInto counts one more event in the latest that is kept for good.
func (m *eventMaker) countInto(r *repeatedEvent) {
	r.counts++
	kept := m.events.eventAt(r.slot)
	for i := range kept.Fields {
		if kept.Fields[i].Key == event.FieldRepeats {
			kept.Fields[i].Value = event.Int(int64(r.counts))
			return
		}
	}
	kept.AddFields(event.FieldRepeats.Int(r.counts))
}

// mayRepeat tells moments whose number says no more than their times. What is left out has a
// meaning one by one: ends of calls, the age of relist, settings, lines that rules ask for by text,
// which have a bound of their own.
func mayRepeat(e *event.Event) bool {
	switch e.Kind {
	case event.KindPLEGUnhealthy, event.KindFact, event.KindLogLine:
		return false
	}
	if _, counted := e.Get(event.FieldRepeats); counted {
		return false
	}
	return e.Span.Key == "" && e.Start.Known && e.End.IsZero()
}

// appendRepeatKey appends what events that repeat each other have in common.
func appendRepeatKey(dst []byte, e *event.Event) []byte {
	for _, s := range []string{
		string(e.Kind), e.Host, e.Component, e.Source, e.IDs.Container, e.IDs.Sandbox, e.IDs.Pod, e.IDs.PodUID, e.IDs.Lock,
	} {
		dst = append(append(dst, s...), 0)
	}
	dst = append(appendWithoutIDs(dst, e.Text), byte(e.Level), 0)
	for i := range e.Fields {
		dst = append(append(dst, e.Fields[i].Key...), 0)
		dst = append(appendWithoutIDs(dst, e.Fields[i].Value.Text()), 0)
	}
	return dst
}

// appendWithoutIDs appends a text with a # for each number and each hexadecimal id in it.
func appendWithoutIDs(dst []byte, s string) []byte {
	const shortID = 6 // letters; shorter is a word: "dead", "added"
	for i := 0; i < len(s); {
		end, digits := i, 0
		for ; end < len(s) && (isDigit(s[end]) || 'a' <= s[end] && s[end] <= 'f'); end++ {
			if isDigit(s[end]) {
				digits++
			}
		}
		switch n := end - i; {
		case n == 0:
			dst = append(dst, s[i])
			i++
			continue
		case digits == n || digits > 0 && n >= shortID:
			dst = append(dst, '#')
		default:
			dst = append(dst, s[i:end]...)
		}
		i = end
	}
	return dst
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
