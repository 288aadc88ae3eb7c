package kept

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Lives drops what a log says of containers that lived and ended in order, while nothing else was
// wrong: a node that runs short jobs has tens of thousands of them a day. What is kept of each kind
// of event: the first firstOfKind, then one of every minute, which counts the others
// ([event.FieldRepeats]), and all for which one of these does not hold:
//   - The log has no trouble within ten minutes before or after the event.
//   - The log goes on for ten minutes.
//   - Of what a runtime did with a container: it was removed in the end. What does not end may be
//     the sign of trouble that another log shows.
//
// Times are those of the lines, which one clock wrote.
type Lives struct {
	events   *Events
	troubled map[int64]bool    // spans of calm with trouble in them
	now      int64             // the span of the latest line
	waiting  []life            // in the order of the lines, until it is known what came after them
	ending   map[string][]life // what a runtime did with a container, by its id, until it is removed
	kept     map[kindOfHost]int
	samples  map[sample]counting
}

// life is an event of a life that may be ordinary.
type life struct {
	slot int
	span int64 // of its line
}

type kindOfHost struct {
	kind    event.Kind
	host    string
	sandbox bool   // it is of a sandbox alone
	method  string // of the call that failed
}

// counting is the event of a sample, and its text without the number of the others.
type counting struct {
	slot int
	text string
}

type sample struct {
	kindOfHost
	minute int64
}

const (
	firstOfKind = 32
	// calm is how long nothing happens before and after what is ordinary: a kubelet complains of a
	// relist after 3 minutes, and of a call after 2.
	calm = 10 * time.Minute
	// late is how long after an exit a runtime tells of it at most in ordinary life.
	late = 10 * time.Second
)

// NewLives follows the events that are added to those of a file. It allocates nothing until then.
func NewLives(events *Events) Lives { return Lives{events: events} }

// LookAt looks at an event, which a line of that time told, before it is kept.
func (l *Lives) LookAt(e *event.Event, at event.Time) {
	l.Advance(at, IsCalm(e))
	id := removedID(e)
	if id == "" {
		return
	}
	l.waiting = append(l.waiting, l.ending[id]...)
	delete(l.ending, id)
}

// Advance takes note that the log goes on, and whether it is calm.
func (l *Lives) Advance(at event.Time, isCalm bool) {
	if !at.Known {
		return
	}
	l.now = at.T.Unix() / int64(calm/time.Second)
	if !isCalm {
		if l.troubled == nil {
			l.troubled = map[int64]bool{}
		}
		l.troubled[l.now] = true
	}
	n := 0
	for ; n < len(l.waiting) && l.waiting[n].span+1 < l.now; n++ {
		if first := l.waiting[n]; l.wasCalm(first.span) {
			l.count(first.slot)
		}
	}
	l.waiting = l.waiting[n:]
}

// wasCalm says that nothing happened in a span, in the one before it and in the one after it.
func (l *Lives) wasCalm(span int64) bool {
	return !l.troubled[span-1] && !l.troubled[span] && !l.troubled[span+1]
}

// Keep keeps an event of the latest line that may be of an ordinary life, with all that it points
// to. It returns false for all others, and in times of trouble.
func (l *Lives) Keep(e *event.Event, at event.Time) bool {
	ends, isLife := lifeKinds[e.Kind]
	if !isLife || !at.Known || !e.Start.Known || !e.End.IsZero() || e.Span.Key != "" || !IsCalm(e) || !l.wasCalm(l.now) {
		return false
	}
	var alone event.Keeper // so that nothing of it stays when it is dropped
	alone.Keep(e)
	one := life{l.events.Add(e), l.now}
	if !ends {
		l.waiting = append(l.waiting, one)
		return true
	}
	if l.ending == nil {
		l.ending = map[string][]life{}
	}
	id := cmp.Or(e.IDs.Container, e.IDs.Sandbox)
	l.ending[id] = append(l.ending[id], one)
	return true
}

// count keeps the event of a slot as one of the first, or as the first of its minute, or counts it
// in that one.
func (l *Lives) count(slot int) {
	if l.kept == nil {
		l.kept, l.samples = map[kindOfHost]int{}, map[sample]counting{}
	}
	e := l.events.At(slot)
	kind := kindOfHost{e.Kind, e.Host, e.IDs.Container == "", e.FieldText(event.FieldMethod)}
	if l.kept[kind]++; l.kept[kind] <= firstOfKind {
		return
	}
	one := sample{kind, e.Start.T.Unix() / 60}
	first, found := l.samples[one]
	if !found {
		l.samples[one] = counting{slot, e.Text}
		return
	}
	counts := l.events.At(first.slot)
	n := counts.Count()
	counts.SetField(event.FieldRepeats.Int(n + 1))
	counts.Text = fmt.Sprintf("%s, and %d more like it in this minute", first.text, n)
	l.events.Drop(slot)
}

// lifeKinds are the kinds of events that every life of a container has, and whether its runtime
// tells of them: then the life ends when the container is removed.
var lifeKinds = map[event.Kind]bool{
	event.KindContainerDied: false, event.KindRemoved: false, event.KindCRIError: false,
	event.KindCreated: true, event.KindTaskExit: true, event.KindShimGone: true,
}

// calmKinds are the other kinds of events that a node without trouble has.
var calmKinds = map[event.Kind]bool{
	event.KindCRICall: true, event.KindScopeStart: true, event.KindShimStart: true, event.KindNoise: true,
	event.KindCount: true, event.KindFact: true, event.KindSyncLoop: true, event.KindRuntimeOperation: true,
	event.KindStatusGet: true, event.KindMount: true, event.KindUnit: true, event.KindUnitStart: true,
	event.KindUnitStop: true, event.KindImagesCleaned: true,
}

// IsCalm says that an event is no trouble. A container that is asked for after it was removed is
// none: relist and the kubelet's workers do not wait for each other.
func IsCalm(e *event.Event) bool {
	switch e.Kind {
	case event.KindCRIError:
		return strings.HasPrefix(e.FieldText(event.FieldError), "rpc error: code = NotFound ")
	case event.KindTaskExit:
		if lag, ok := e.FieldDuration(event.FieldLag); ok && lag >= late {
			return false
		}
	}
	_, isLife := lifeKinds[e.Kind]
	return e.Level < event.Warning && (isLife || calmKinds[e.Kind])
}

// removedID is the id of the container or sandbox whose removal ended well.
func removedID(e *event.Event) string {
	switch {
	case e.Kind == event.KindRemoved:
		return cmp.Or(e.IDs.Sandbox, e.IDs.Container)
	case e.Kind != event.KindCRICall || e.Span.Edge != event.End || e.FieldText(event.FieldOutcome) != "ok":
		return ""
	}
	switch e.FieldText(event.FieldMethod) {
	case "RemoveContainer", "StopPodSandbox", "RemovePodSandbox":
		return cmp.Or(e.IDs.Container, e.IDs.Sandbox)
	}
	return ""
}
