package timeline

import (
	"math"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// fieldDuration is a field that holds a length of time, in seconds where it is a plain number.
func fieldDuration(e *event.Event, key event.Key) (d time.Duration, ok bool) {
	v, ok := e.Get(key)
	n, isNumber := v.Number()
	return time.Duration(math.Round(n * float64(time.Second))), ok && isNumber
}

// fieldInt is a field that holds a whole number. It is 0 when e has none.
func fieldInt(e *event.Event, key event.Key) int {
	v, _ := e.Get(key)
	n, _ := v.Number()
	return int(n)
}

// setField puts a field into e, in the place of one with the same key. Copies of an event share
// their fields, so it changes a clone.
func setField(e *event.Event, key event.Key, value event.Value) {
	fields := slices.Clone(e.Fields)
	i := slices.IndexFunc(fields, func(f event.Field) bool { return f.Key == key })
	if i < 0 {
		fields, i = append(fields, event.Field{Key: key}), len(fields)
	}
	fields[i].Value = value
	e.Fields = fields
}

// addMissingFields gives e the fields of another event that it does not have.
func addMissingFields(e, from *event.Event) {
	for _, f := range from.Fields {
		if v, ok := e.Get(f.Key); !ok || v == event.String("") {
			setField(e, f.Key, f.Value)
		}
	}
}

// removeEvents returns the events that are not in gone, in their order.
func removeEvents(events []*event.Event, gone map[*event.Event]bool) []*event.Event {
	if len(gone) == 0 {
		return events
	}
	return slices.DeleteFunc(events, func(e *event.Event) bool { return gone[e] })
}
