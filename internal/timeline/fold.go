package timeline

import (
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// foldCopies makes one event of the copies that several files hold of one line,
// such as a journal saved in three formats. Copies say the same, and their
// times agree as far as they were written. Two lines of one file are two
// events, unless both tell of the same instant to the nanosecond: a program
// that tries ten times to handle an exit prints it ten times, and field
// "repeats" says so.
//
// The events come and go in order.
func foldCopies(events []*event.Event) []*event.Event {
	f := folder{folds: map[content]*copyGroups{}, turns: map[fileContent]filePlace{}, repeats: map[*event.Event]int{}}
	kept := events[:0:0]
	for _, e := range events {
		if e.Start.IsZero() || !f.foldEvent(e) {
			kept = append(kept, e)
		}
	}
	for e, n := range f.repeats {
		e.Fields = setField(e.Fields, event.Field{Key: "repeats", Value: event.Int(int64(n))})
	}
	slices.SortFunc(kept, compareEvents) // some have got a better time from a copy
	return kept
}

// saying is what copies have in common. The pid is part of it only where the message tells it, as the kernel's do: not every
// format carries that of the writer.
type content struct {
	kind                                event.Kind
	text, container, sandbox, lock, key string
	edge                                event.Edge
	pid, tid                            int
	goroutine                           uint64
	lasts                               time.Duration
}

func contentOf(e *event.Event) content {
	s := content{
		kind: e.Kind, text: e.Text, container: e.IDs.Container, sandbox: e.IDs.Sandbox, lock: e.IDs.Lock,
		key: e.Span.Key, edge: e.Span.Edge, tid: e.IDs.TID, goroutine: e.IDs.Goroutine, lasts: e.Duration(),
	}
	if e.Component == "kernel" {
		s.pid = e.IDs.PID
	}
	return s
}

// folds are the events that say one thing, each with all its copies, in order.
type copyGroups struct {
	all  []copyGroup
	past int // so many lie before the events still to come
}

// fold is one event with its copies.
type copyGroup struct {
	kept  *event.Event
	until time.Time // the moment lies before it, as far as the copies tell
}

// teller is a file that says one thing, perhaps several times.
type fileContent struct {
	folds *copyGroups
	file  string
}

// turn is where a teller stands: its next line is the first copy of fold next or
// of one behind it.
type filePlace struct {
	next    int
	exact   bool // its line before was exact,
	repeats int  // and told so many times
}

type folder struct {
	folds   map[content]*copyGroups
	turns   map[fileContent]filePlace
	repeats map[*event.Event]int
}

// fold adds e to the event that it is a copy of. It says no when e stands for itself.
func (f *folder) foldEvent(e *event.Event) bool {
	key := contentOf(e)
	s := f.folds[key]
	if s == nil {
		s = &copyGroups{}
		f.folds[key] = s
	}
	exact, until := e.Start.Prec == 0, e.Start.T.Add(max(1, e.Start.Prec))
	who := fileContent{s, e.Pos().File}
	t := f.turns[who]
	if exact && t.exact && s.all[t.next-1].until.Equal(until) {
		t.repeats++
		kept := s.all[t.next-1].kept
		f.repeats[kept] = max(f.repeats[kept], t.repeats)
		f.turns[who] = t
		mergeCopy(kept, e)
		return true
	}
	for s.past < len(s.all) && !e.Start.T.Before(s.all[s.past].until) {
		s.past++
	}
	i := max(s.past, t.next)
	for i < len(s.all) && !e.Start.T.Before(s.all[i].until) {
		i++
	}
	f.turns[who] = filePlace{next: i + 1, exact: exact, repeats: 1}
	if i == len(s.all) {
		s.all = append(s.all, copyGroup{e, until})
		return false
	}
	if to := &s.all[i]; until.Before(to.until) {
		to.until = until
	}
	mergeCopy(s.all[i].kept, e)
	return true
}

// absorb puts into an event what its copy knows better: the time, or something that one format does not carry.
func mergeCopy(kept, other *event.Event) {
	if other.Start.Prec < kept.Start.Prec {
		*kept, *other = *other, *kept
	}
	if kept.IDs.PID == 0 {
		kept.IDs.PID = other.IDs.PID
	}
	if kept.IDs.Pod == "" {
		kept.IDs.Pod = other.IDs.Pod
	}
	if kept.IDs.PodUID == "" {
		kept.IDs.PodUID = other.IDs.PodUID
	}
	kept.Level = max(kept.Level, other.Level)
	for _, field := range other.Fields {
		if _, ok := kept.Get(field.Key); !ok {
			kept.Fields = setField(kept.Fields, field)
		}
	}
}
