package goroutines

import (
	"cmp"
	"slices"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Of the goroutines of a dump that wait for the same these are told: the first ones, and of the
// others those that have waited longest. A node has fewer containers that hang at a time; where
// thousands of goroutines wait, the others show nothing new.
const (
	firstTold   = 16
	longestTold = 48
)

// foldCrowds leaves out goroutines where many wait for the same and differ in nothing but their
// numbers, waits and clients. The last one that is told stands for them, too
// ([event.FieldRepeats]).
func foldCrowds(events []event.Event) []event.Event {
	crowds := map[string][]int{}
	var key []byte
	for i := range events {
		if key = appendAwaited(key[:0], &events[i]); len(key) > 0 {
			crowds[string(key)] = append(crowds[string(key)], i)
		}
	}
	waits := func(i int) float64 {
		v, _ := events[i].Get(event.FieldWait)
		n, _ := v.Number()
		return n
	}
	for _, all := range crowds {
		if len(all) <= firstTold+longestTold {
			continue
		}
		others := all[firstTold:]
		slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(waits(b), waits(a)) })
		last, left := others[longestTold-1], others[longestTold:]
		events[last].AddFields(event.FieldRepeats.Int(1 + len(left)))
		for _, i := range left {
			events[i] = event.Event{}
		}
	}
	return slices.DeleteFunc(events, func(e event.Event) bool { return e.Kind == "" })
}

// appendAwaited appends what a goroutine has in common with those that wait for the same; nothing
// for one that is always told.
func appendAwaited(key []byte, e *event.Event) []byte {
	if e.Kind != event.KindGoroutine && e.Kind != event.KindLockWait {
		return key
	}
	key = append(append(append(append(key, e.Kind...), e.IDs.Lock...), 0), e.Text...)
	for _, f := range e.Fields {
		if f.Key != event.FieldWait && f.Key != event.FieldClient {
			key = append(append(append(key, 0), f.Key...), f.Value.Text()...)
		}
	}
	return key
}
