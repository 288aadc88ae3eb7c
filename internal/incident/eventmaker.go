package incident

import (
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident/kept"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/observe/messages/kubelet"
	"github.com/plegdiag/plegdiag/internal/observe/messages/runtimes"
	"github.com/plegdiag/plegdiag/internal/observe/noise"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// eventMaker makes events of the records that matter and keeps those that are worth their memory.
// It shares nothing with the reading of the lines, so that both can run side by side.
type eventMaker struct {
	events *kept.Events
	made   []event.Event   // of the latest record
	begun  map[spanKey]int // slots of events that wait for their end
	young  []begin         // the latest of them, which may still be dropped
	keeper event.Keeper    // of all others
	// latePairs are moments that lines name besides their own stamps.
	latePairs map[*timeline.SourceBuilder][]timeline.Pair
	named     map[string]bool // sources that events name
	// lines is what rules ask for by text; asked counts what was found of it.
	lines    *messages.Lines
	asked    int
	noise    map[spanKey]noiseRun // by text
	readings map[spanKey]lastReading
	lives    kept.Lives
	watch    *lineWatch // of the file; nil for most
	repeated map[string]*repeatedEvent
	key      []byte           // of the latest event in repeated
	counted  []*repeatedEvent // of each event of the latest line: what it was added to; nil for none
	runs     lineRuns
}

// line is a wanted record and the source that it belongs to, which is only named here: whoever
// reads the lines writes to it.
type line struct {
	event.Record
	source *timeline.SourceBuilder
}

// spanKey is a span of one host; for noise a text, for readings a source.
type spanKey struct{ host, span string }

// maxAsked bounds the lines of one file that are kept because a rule asks for
// their text: nothing else bounds what a text fits.
const maxAsked = 10_000

// makeEvents makes events of a wanted line.
func (m *eventMaker) makeEvents(l *line) {
	rec := &l.Record
	if m.countLine(l) {
		return
	}
	m.made = messages.Append(m.made[:0], rec)
	e, asked := m.lines.EventOf(rec, strings.TrimSuffix(l.source.Name, ".log"))
	if asked {
		if m.asked++; m.asked <= maxAsked {
			m.made = append(m.made, e)
		}
	}
	m.counted = m.counted[:0]
	for i := range m.made {
		e := &m.made[i]
		e.Host = rec.Host
		if rec.Time.Known && rec.Time.Lacks&event.LacksZone != 0 {
			m.addLatePair(l, e)
		}
		m.addEvent(e, rec.Time)
		if len(m.counted) == i {
			m.counted = append(m.counted, nil)
		}
	}
	if !asked {
		m.learnLine(l)
	}
}

// addLatePair keeps the moment that a line without a zone names besides its own stamp: of an exit,
// of a heartbeat.
func (m *eventMaker) addLatePair(l *line, e *event.Event) {
	if len(m.latePairs[l.source]) == timeline.MaxPairs {
		return
	}
	at := e.Start.T
	switch {
	case e.Kind == event.KindNodeNotReady || e.Kind == event.KindNodeReady:
		told, ok := kubelet.HeartbeatTime(&l.Record)
		if !ok {
			return
		}
		at = told.UTC()
	case !e.Start.Known || e.Start.Lacks != 0:
		return
	}
	if m.latePairs == nil {
		m.latePairs = map[*timeline.SourceBuilder][]timeline.Pair{}
	}
	m.latePairs[l.source] = append(m.latePairs[l.source], timeline.Pair{Local: l.Time, True: at, Late: true})
}

// addEvent keeps an event of a line of that time, unless it ends a call that was ordinary from
// begin to end, or repeats what others say: of those a busy node logs thousands, and they would
// only cost memory.
func (m *eventMaker) addEvent(e *event.Event, at event.Time) {
	m.watch.noteEvent(e)
	m.lives.LookAt(e, at)
	if !m.named[e.Source] {
		if m.named == nil {
			m.named = map[string]bool{}
		}
		m.named[e.Source] = true
	}
	switch e.Kind {
	case event.KindNoise:
		m.countNoise(e)
		return
	case event.KindCount:
		m.addReading(e)
		return
	}
	if m.lives.Keep(e, at) || m.addRepeated(e) {
		return
	}
	key := spanKey{e.Host, e.Span.Key}
	switch {
	case e.Span.Edge == event.Begin:
		m.addBegin(key, e)
		return
	case e.Span.Edge == event.End && m.endOrdinary(key, e, at):
		return
	}
	m.keeper.Keep(e)
	m.events.Add(e)
}

// begin is the place of an event that waits for its end.
type begin struct {
	spanKey
	slot int
}

// maxYoung is how many begins may be dropped with next to no trace: ordinary calls end before as
// many others begin.
const maxYoung = 512

// addBegin adds an event that may be dropped when its end comes.
func (m *eventMaker) addBegin(key spanKey, e *event.Event) {
	slot := m.events.Add(e)
	if first, twice := m.begun[key]; twice {
		delete(m.begun, key) // two at once are not ordinary; the timeline sorts them out
		m.keepSlot(first)
		m.keepSlot(slot)
		return
	}
	if m.begun == nil {
		m.begun = map[spanKey]int{}
	}
	m.begun[key] = slot
	if len(m.young) == maxYoung {
		m.keepBegun(m.young[:maxYoung/2])
		m.young = m.young[:copy(m.young, m.young[maxYoung/2:])]
	}
	m.young = append(m.young, begin{key, slot})
}

// slowCall is how long a call lasts at least that is trouble. A sandbox that has to wait for its
// network or an image, and a container that gets 30 s to stop, are ordinary.
const slowCall = time.Minute

// endOrdinary drops a call that was ordinary from begin to end. It returns false when e is not the
// end of one.
func (m *eventMaker) endOrdinary(key spanKey, e *event.Event, at event.Time) bool {
	slot, ok := m.begun[key]
	if !ok {
		return false
	}
	delete(m.begun, key)
	if begin := m.events.At(slot); !runtimes.Ordinary(begin, e) {
		if e.Start.T.Sub(begin.Start.T) >= slowCall {
			m.lives.Advance(at, false)
		}
		m.keepSlot(slot)
		return false
	}
	m.events.Drop(slot)
	inner := spanKey{e.Host, runtimes.PartOf(e.Span.Key)}
	if part, ok := m.begun[inner]; ok { // what went on inside of it is over, too
		delete(m.begun, inner)
		m.events.Drop(part)
	}
	return true
}

// keepBegun keeps those of some begins that still wait for their end.
func (m *eventMaker) keepBegun(begins []begin) {
	for _, b := range begins {
		if slot, waits := m.begun[b.spanKey]; waits && slot == b.slot {
			m.keepSlot(slot)
		}
	}
}

func (m *eventMaker) keepSlot(slot int) { m.keeper.Keep(m.events.At(slot)) }

// noiseRun is the event of one sort of noise, and the latest run of such lines.
type noiseRun struct {
	slot        int
	pid         int // whose lines these are; 0 when not known
	begin, last time.Time
}

// noisePause is the pause that ends a run of lines: the kubelet's complaints come every 5 s. A
// ticket has longer pauses, where lines were left out: what is pending while a process starts is
// never pending again in that process, whose id another boot gives away again.
const noisePause, pauseOfProcess = 20 * time.Second, 30 * time.Minute

// countNoise keeps the first line of each sort of noise and counts the others in it.
func (m *eventMaker) countNoise(e *event.Event) {
	key := spanKey{e.Host, e.Text}
	at := e.Start.T
	if n, ok := m.noise[key]; ok {
		longest := noisePause
		if e.IDs.PID != 0 {
			longest = pauseOfProcess
		}
		if pause := at.Sub(n.last); pause < 0 || pause > longest || n.pid != e.IDs.PID {
			n.begin = at
		}
		n.last, n.pid = at, e.IDs.PID
		m.noise[key] = n
		noise.CountLine(m.events.At(n.slot), at.Sub(n.begin))
		return
	}
	if m.noise == nil {
		m.noise = map[spanKey]noiseRun{}
	}
	m.noise[key] = noiseRun{m.events.Add(e), e.IDs.PID, at, at}
}

// lastReading is the latest reading of a number that a log repeats, and when the stretch began of
// which only one is kept.
type lastReading struct {
	slot  int
	begin time.Time
	first bool // the file's first, which stays
}

// betweenReadings is how far apart readings are kept. The kubelet reads every 10 s, and a slope
// needs no more than this.
const betweenReadings = 10 * time.Minute

// addReading keeps the first reading of a number, the last of each stretch, and the last of all.
func (m *eventMaker) addReading(e *event.Event) {
	key := spanKey{e.Host, e.Source}
	last, ok := m.readings[key]
	if passed := e.Start.T.Sub(last.begin); ok && !last.first && passed >= 0 && passed < betweenReadings {
		*m.events.At(last.slot) = *e
		return
	}
	if m.readings == nil {
		m.readings = map[spanKey]lastReading{}
	}
	m.readings[key] = lastReading{slot: m.events.Add(e), begin: e.Start.T, first: !ok}
}
