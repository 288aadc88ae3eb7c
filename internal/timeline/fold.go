package timeline

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// foldCopies makes one event of the copies of one line in several files, such as a journal saved in
// three formats. Copies have the same content, and their times agree as far as they were written.
// Two lines of one file are two events, unless both have the same time to the nanosecond: a program
// that tries ten times to handle an exit prints it ten times, and the field "repeats" says so.
//
// Input and output are in the order of time.
func foldCopies(events []*event.Event) []*event.Event {
	f := folder{
		seed: maphash.MakeSeed(), folds: map[uint64]*copyGroups{},
		turns: map[fileContent]*filePlace{}, repeats: map[*event.Event]int{},
	}
	kept, several := events[:0], kindsOfSeveralFiles(events)
	for i, e := range events {
		alone := !several[e.Kind] && !sharesMoment(events, i)
		if e.Start.IsZero() || alone || !f.foldEvent(e) {
			kept = append(kept, e)
		}
	}
	for e, n := range f.repeats {
		e.SetField(event.FieldRepeats.Int(n))
	}
	slices.SortFunc(kept, compareEvents) // some now have a better time from a copy
	return kept
}

// kindsOfSeveralFiles are the kinds of which more than one file has events. Of the others, only
// lines of one moment can be copies.
func kindsOfSeveralFiles(events []*event.Event) map[event.Kind]bool {
	first, several := map[event.Kind]string{}, map[event.Kind]bool{}
	for _, e := range events {
		file := e.Pos().File
		switch known, seen := first[e.Kind]; {
		case !seen:
			first[e.Kind] = file
		case known != file:
			several[e.Kind] = true
		}
	}
	return several
}

// sharesMoment says that the event before an event or the one after it has the same time, to the
// nanosecond. The events are in the order of time.
func sharesMoment(events []*event.Event, i int) bool {
	at := &events[i].Start
	return at.Prec == 0 && (i > 0 && events[i-1].Start.T.Equal(at.T) ||
		i+1 < len(events) && events[i+1].Start.T.Equal(at.T))
}

// content is what copies have in common; the pid only where the message itself has it, as the
// kernel's.
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

// copyGroups are the events with one content, each with all its copies, in the order of time.
type copyGroups struct {
	all  []copyGroup
	past int // so many are before all events that follow
	// Most contents are one event of one file: room for it, and how far that file has been matched.
	room [1]copyGroup
	file string
	turn filePlace
	pid  int         // of the content; mergeCopy may have given an event another one
	next *copyGroups // of another content with the same hash
}

// copyGroup is one event with its copies.
type copyGroup struct {
	kept  *event.Event
	until time.Time // the event was before this moment, as far as the copies show
}

// fileContent is one content in one file, where it can be several times.
type fileContent struct {
	folds *copyGroups
	file  string
}

// filePlace is how far a file has been matched: its next line is a copy of group next or of a later
// one.
type filePlace struct {
	next    int
	exact   bool // its last line had an exact time,
	repeats int  // and was there so many times
}

type folder struct {
	seed    maphash.Seed
	folds   map[uint64]*copyGroups     // by the hash of the content, which is large
	turns   map[fileContent]*filePlace // of all but the first file of each
	repeats map[*event.Event]int
}

// groupsOf finds the events with the content of e, of which there may be none yet.
func (f *folder) groupsOf(e *event.Event) *copyGroups {
	key := contentOf(e)
	hash := maphash.Comparable(f.seed, key)
	for s := f.folds[hash]; s != nil; s = s.next {
		known := contentOf(s.all[0].kept)
		if known.pid = s.pid; known == key {
			return s
		}
	}
	s := &copyGroups{file: e.Pos().File, pid: key.pid, next: f.folds[hash]}
	s.all, f.folds[hash] = s.room[:0], s
	return s
}

// turnOf is how far a file has been matched with the events of one content.
func (f *folder) turnOf(s *copyGroups, file string) *filePlace {
	if file == s.file {
		return &s.turn
	}
	who := fileContent{s, file}
	if f.turns[who] == nil {
		f.turns[who] = &filePlace{}
	}
	return f.turns[who]
}

// foldEvent adds e to the event that it is a copy of. It returns false when e is a new event.
func (f *folder) foldEvent(e *event.Event) bool {
	s := f.groupsOf(e)
	exact, until := e.Start.Prec == 0, e.Start.T.Add(max(1, e.Start.Prec))
	t := f.turnOf(s, e.Pos().File)
	if exact && t.exact && s.all[t.next-1].until.Equal(until) {
		t.repeats++
		kept := s.all[t.next-1].kept
		f.repeats[kept] = max(f.repeats[kept], t.repeats)
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
	*t = filePlace{next: i + 1, exact: exact, repeats: 1}
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

// mergeCopy adds to an event what its copy has and it has not: a better time, an id, a field.
func mergeCopy(kept, other *event.Event) {
	if other.Start.Prec < kept.Start.Prec {
		*kept, *other = *other, *kept
	}
	kept.IDs.PID = cmp.Or(kept.IDs.PID, other.IDs.PID)
	kept.IDs.Pod = cmp.Or(kept.IDs.Pod, other.IDs.Pod)
	kept.IDs.PodUID = cmp.Or(kept.IDs.PodUID, other.IDs.PodUID)
	kept.Level = max(kept.Level, other.Level)
	addMissingFields(kept, other)
}
