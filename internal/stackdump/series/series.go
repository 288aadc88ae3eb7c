// Package series compares dumps of one process that were taken one after another.
package series

import (
	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// Diff is what became of goroutines from one dump of a process to the last.
type Diff struct {
	// Stuck are in the last dump where they were in the dump before: the same
	// frames, the same state, and no shorter a wait. Idle ones are among them.
	Stuck []Stay
	Slow  []Move // in the last dump somewhere else than in the dump before
	// Finished were in the dump before and are gone; New are only in the last one.
	Finished, New []stackdump.Goroutine
}

// Stay is a goroutine that has not moved.
type Stay struct {
	stackdump.Goroutine     // as the last dump has it
	Since               int // index of the first dump from which on it has not moved
}

// Move is a goroutine that has moved.
type Move struct{ Was, Is stackdump.Goroutine }

// Compare compares dumps of one process in the order in which they were taken,
// at least two. SameProcess says whether they are.
func Compare(dumps []*stackdump.Dump) Diff {
	var diff Diff
	last := dumps[len(dumps)-1]
	before := make([]map[uint64]seen, len(dumps)-1)
	for i := range before {
		before[i] = goroutinesByID(dumps[i])
	}
	now := goroutinesByID(last)
	for i := range last.Goroutines {
		g := &last.Goroutines[i]
		is := now[g.ID]
		if is.Goroutine != g {
			continue
		}
		was, known := before[len(before)-1][g.ID]
		switch {
		case !known:
			diff.New = append(diff.New, *g)
		case !hasStayed(&was.sight, &is.sight):
			diff.Slow = append(diff.Slow, Move{*was.Goroutine, *g})
		default:
			since := len(before) - 1
			for ; since > 0; since-- {
				earlier, known := before[since-1][g.ID]
				later := before[since][g.ID]
				if !known || !hasStayed(&earlier.sight, &later.sight) {
					break
				}
			}
			diff.Stuck = append(diff.Stuck, Stay{*g, since})
		}
	}
	previous := dumps[len(dumps)-2]
	for i := range previous.Goroutines {
		if g := &previous.Goroutines[i]; g.ID != 0 && now[g.ID].Goroutine == nil {
			diff.Finished = append(diff.Finished, *g)
		}
	}
	return diff
}

// seen is a goroutine, and what of it is compared.
type seen struct {
	*stackdump.Goroutine
	sight
}

// goroutinesByID leaves out goroutine 0, which is every thread's, and later copies.
func goroutinesByID(d *stackdump.Dump) map[uint64]seen {
	all := make(map[uint64]seen, len(d.Goroutines))
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		if _, again := all[g.ID]; !again && g.ID != 0 {
			all[g.ID] = seen{g, newSight(g)}
		}
	}
	return all
}
