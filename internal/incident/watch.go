package incident

import (
	"strings"
	"sync"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// watch makes events of the lines that matter. It shares nothing with the
// reading of the lines, so that both can go on side by side.
type watch struct {
	events store
	fresh  []event.Event   // of the line at hand
	begun  map[spanKey]int // slots of events that wait for their end
	// late holds moments that a line tells beside its own stamp.
	late map[*timeline.Source][]timeline.Pair
	// sources are those that the events name.
	sources map[string]bool
	// lines is what rules ask for by text; asked counts what was found of it.
	lines *observe.Lines
	asked int
	noise map[spanKey]noise // by what they say
	// readings are the latest of each number that a log reads again and again.
	readings map[spanKey]lastReading
}

// line is a wanted record and the source that it belongs to, which is only named here: whoever reads the lines writes to it.
type line struct {
	event.Record
	source *timeline.Source
}

// spanKey tells spans, or what they say, apart, also those of several nodes in one file.
type spanKey struct{ host, span string }

// record makes events of a wanted line.
func (w *watch) record(l *line) {
	rec := &l.Record
	w.fresh = observe.Record(w.fresh[:0], rec)
	if e, ok := w.lines.Record(rec, strings.TrimSuffix(l.source.Name, ".log")); ok {
		if w.asked++; w.asked <= maxAsked {
			w.fresh = append(w.fresh, e)
		}
	}
	for i := range w.fresh {
		e := &w.fresh[i]
		e.Host = rec.Host
		if rec.Time.Known && rec.Time.Lacks&event.LacksZone != 0 && len(w.late[l.source]) < maxPairs {
			w.tells(l, e)
		}
		w.keep(e)
	}
}

// tells keeps the moment that a line without a zone tells beside its own stamp: that of an exit, of a heartbeat.
func (w *watch) tells(l *line, e *event.Event) {
	at := e.Start.T
	switch {
	case e.Kind == event.KindNodeNotReady || e.Kind == event.KindNodeReady:
		told, ok := observe.Heartbeat(&l.Record)
		if !ok {
			return
		}
		at = told.UTC()
	case !e.Start.Known || e.Start.Lacks != 0:
		return
	}
	if w.late == nil {
		w.late = map[*timeline.Source][]timeline.Pair{}
	}
	w.late[l.source] = append(w.late[l.source], timeline.Pair{Local: l.Time, True: at, Late: true})
}

// maxAsked bounds the lines of one file that are kept because a rule asks for
// their text: nothing else bounds what a text fits.
const maxAsked = 10_000

// keep adds an event, unless it ends a call that was ordinary life from begin
// to end: of those a busy node logs thousands, and they would only cost memory.
func (w *watch) keep(e *event.Event) {
	if !w.sources[e.Source] {
		if w.sources == nil {
			w.sources = map[string]bool{}
		}
		w.sources[e.Source] = true
	}
	switch e.Kind {
	case event.KindNoise:
		w.harmless(e)
		return
	case event.KindCount:
		w.reading(e)
		return
	}
	key := spanKey{e.Host, e.Span.Key}
	if slot, ok := w.begun[key]; ok && e.Span.Edge == event.End {
		delete(w.begun, key)
		if observe.Ordinary(w.events.at(slot), e) {
			w.events.drop(slot)
			inner := spanKey{e.Host, observe.PartOf(e.Span.Key)}
			if part, ok := w.begun[inner]; ok { // what went on inside it is over, too
				delete(w.begun, inner)
				w.events.drop(part)
			}
			return
		}
	}
	slot := w.events.add(e)
	if e.Span.Edge != event.Begin {
		return
	}
	if _, twice := w.begun[key]; twice {
		delete(w.begun, key) // two at once: not ordinary, the timeline sorts them out
		return
	}
	if w.begun == nil {
		w.begun = map[spanKey]int{}
	}
	w.begun[key] = slot
}

// harmless keeps the first line of each sort of noise; the others are counted in it.
func (w *watch) harmless(e *event.Event) {
	key := spanKey{e.Host, e.Text}
	at := e.Start.T
	if n, ok := w.noise[key]; ok {
		if pause := at.Sub(n.last); pause < 0 || pause > rowEnds {
			n.begin = at
		}
		n.last = at
		w.noise[key] = n
		observe.CountNoise(w.events.at(n.slot), at.Sub(n.begin))
		return
	}
	if w.noise == nil {
		w.noise = map[spanKey]noise{}
	}
	w.noise[key] = noise{w.events.add(e), at, at}
}

// noise is the event of one sort of noise, and the row of such lines at hand.
type noise struct {
	slot        int
	begin, last time.Time
}

// rowEnds is the pause that ends a row of lines: the kubelet's complaints come every 5 s.
const rowEnds = 20 * time.Second

// lastReading is the latest reading of a number, and when the stretch began of which it is to be the only one.
type lastReading struct {
	slot  int
	begin time.Time
	first bool // the file's first, which stays
}

// betweenReadings is how far apart readings are kept. The kubelet reads every 10 s, and a slope needs no more than this.
const betweenReadings = 10 * time.Minute

// reading keeps the first reading of a number, the last of each stretch, and the last of all.
func (w *watch) reading(e *event.Event) {
	key := spanKey{e.Host, e.Source}
	last, ok := w.readings[key]
	if passed := e.Start.T.Sub(last.begin); ok && !last.first && passed >= 0 && passed < betweenReadings {
		*w.events.at(last.slot) = *e
		return
	}
	if w.readings == nil {
		w.readings = map[spanKey]lastReading{}
	}
	w.readings[key] = lastReading{slot: w.events.add(e), begin: e.Start.T, first: !ok}
}

// batchSize is how many lines change hands at once: with one at a time the hand-over would cost more than the work.
const batchSize = 128

// aside runs a watch in a goroutine of its own, which begins with the first line: most files of a node hold none that matters.
type aside struct {
	watch *watch
	batch []line
	full  chan []line
	free  chan []line
	done  sync.WaitGroup
}

func (w *watch) aside() *aside { return &aside{watch: w} }

func (a *aside) begin() {
	a.batch, a.full, a.free = make([]line, 0, batchSize), make(chan []line, 2), make(chan []line, 3)
	a.done.Go(func() {
		for batch := range a.full {
			for i := range batch {
				a.watch.record(&batch[i])
			}
			clear(batch)
			a.free <- batch[:0]
		}
	})
	for range cap(a.free) - 1 {
		a.free <- make([]line, 0, batchSize)
	}
}

// record hands a line over; its strings are the watch's from then on.
func (a *aside) record(rec *event.Record, source *timeline.Source) {
	if a.full == nil {
		a.begin()
	}
	a.batch = append(a.batch, line{*rec, source})
	if len(a.batch) == batchSize {
		a.full <- a.batch
		a.batch = <-a.free
	}
}

// wait hands the rest over and returns when all of it is done.
func (a *aside) wait() {
	if a.full == nil {
		return
	}
	a.full <- a.batch
	close(a.full)
	a.done.Wait()
}
