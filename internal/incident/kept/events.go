// Package kept holds the events of one file while it is read, and drops those of containers whose
// lives were ordinary.
package kept

import (
	"iter"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Events are the events of one file. They are large and many, so they stay where they are put, and
// a slot is used again once its event is dropped. The zero value is empty, and so is a nil one.
type Events struct {
	chunks [][]event.Event
	free   []int
	n      int // events that are kept
}

// chunkSize is how many events are allocated at once, but for a file's first ones: most files of a
// bundle are small. So many fill their last page of memory.
const chunkSize = 1024

// Add keeps a copy of an event and returns its slot. What the event points to stays the caller's.
func (s *Events) Add(e *event.Event) (slot int) {
	s.n++
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
		*s.At(slot) = *e
		return slot
	}
	last := len(s.chunks) - 1
	switch {
	case last < 0:
		s.chunks = append(s.chunks, nil) // it grows up to chunkSize
		last++
	case len(s.chunks[last]) == chunkSize:
		s.chunks = append(s.chunks, make([]event.Event, 0, chunkSize))
		last++
	}
	s.chunks[last] = append(s.chunks[last], *e)
	return last*chunkSize + len(s.chunks[last]) - 1
}

// Len is how many events are kept.
func (s *Events) Len() int {
	if s == nil {
		return 0
	}
	return s.n
}

// At is the event in a slot, where it may be changed.
func (s *Events) At(slot int) *event.Event { return &s.chunks[slot/chunkSize][slot%chunkSize] }

// Drop removes the event of a slot; its slot is free for another one.
func (s *Events) Drop(slot int) {
	s.n--
	*s.At(slot) = event.Event{}
	s.free = append(s.free, slot)
}

// All yields the events that are kept, in the order of their slots.
func (s *Events) All() iter.Seq[*event.Event] {
	return func(yield func(*event.Event) bool) {
		if s == nil {
			return
		}
		for _, chunk := range s.chunks {
			for i := range chunk {
				if chunk[i].Kind != "" && !yield(&chunk[i]) {
					return
				}
			}
		}
	}
}

// KeepOnly removes every event that keep refuses.
func (s *Events) KeepOnly(keep func(*event.Event) bool) {
	if s == nil {
		return
	}
	for c, chunk := range s.chunks {
		for i := range chunk {
			if chunk[i].Kind != "" && !keep(&chunk[i]) {
				s.Drop(c*chunkSize + i)
			}
		}
	}
}
