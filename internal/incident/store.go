package incident

import (
	"iter"

	"github.com/plegdiag/plegdiag/internal/event"
)

// eventStore keeps the events of one file while it is read. Events are large and
// many, so they stay where they are put, and a slot is used again once its event is dropped.
type eventStore struct {
	chunks [][]event.Event
	free   []int
	n      int // events that are kept
}

// chunkSize is how many events are allocated at once, but for a file's first ones: most files of a
// bundle are small. So many fill their last page of memory.
const chunkSize = 1024

// addEvent keeps an event and returns its slot.
func (s *eventStore) addEvent(e *event.Event) (slot int) {
	s.n++
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
		*s.eventAt(slot) = *e
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

func (s *eventStore) eventAt(slot int) *event.Event { return &s.chunks[slot/chunkSize][slot%chunkSize] }

// dropEvent removes an event; its slot is free for another one.
func (s *eventStore) dropEvent(slot int) {
	s.n--
	*s.eventAt(slot) = event.Event{}
	s.free = append(s.free, slot)
}

// allEvents are the events that are kept, in the order of their slots.
func (s *eventStore) allEvents() iter.Seq[*event.Event] {
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

// keepOnly removes every event that keep refuses.
func (s *eventStore) keepOnly(keep func(*event.Event) bool) {
	if s == nil {
		return
	}
	for c, chunk := range s.chunks {
		for i := range chunk {
			if chunk[i].Kind != "" && !keep(&chunk[i]) {
				s.dropEvent(c*chunkSize + i)
			}
		}
	}
}
