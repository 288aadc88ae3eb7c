// Package series compares dumps of one process that were taken one after another.
package series

import (
	"slices"
	"strings"

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
	before := make([]map[uint64]*stackdump.Goroutine, len(dumps)-1)
	for i := range before {
		before[i] = goroutinesByID(dumps[i])
	}
	now := goroutinesByID(last)
	for i := range last.Goroutines {
		g := &last.Goroutines[i]
		if now[g.ID] != g {
			continue
		}
		was := before[len(before)-1][g.ID]
		switch {
		case was == nil:
			diff.New = append(diff.New, *g)
		case !hasStayed(was, g):
			diff.Slow = append(diff.Slow, Move{*was, *g})
		default:
			since := len(before) - 1
			for since > 0 && before[since-1][g.ID] != nil && hasStayed(before[since-1][g.ID], before[since][g.ID]) {
				since--
			}
			diff.Stuck = append(diff.Stuck, Stay{*g, since})
		}
	}
	previous := dumps[len(dumps)-2]
	for i := range previous.Goroutines {
		if g := &previous.Goroutines[i]; g.ID != 0 && now[g.ID] == nil {
			diff.Finished = append(diff.Finished, *g)
		}
	}
	return diff
}

// goroutinesByID leaves out goroutine 0, which is every thread's, and later copies.
func goroutinesByID(d *stackdump.Dump) map[uint64]*stackdump.Goroutine {
	all := make(map[uint64]*stackdump.Goroutine, len(d.Goroutines))
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		if _, again := all[g.ID]; !again && g.ID != 0 {
			all[g.ID] = g
		}
	}
	return all
}

// hasStayed says whether a goroutine has not moved between two dumps. A wait that
// has become shorter has begun anew.
func hasStayed(was, is *stackdump.Goroutine) bool {
	return was.State == is.State && is.Wait >= was.Wait && !strings.HasPrefix(is.State, "run") &&
		stackdump.SameFrames(was.Frames, is.Frames)
}

// SameProcess says whether two dumps seem to be of one process. Processes of
// one program number their first goroutines alike; but those that have not
// moved show the same addresses only in the same process.
func SameProcess(a, b *stackdump.Dump) bool {
	known := goroutinesByID(a)
	same, other, started := 0, 0, 0
	for i := range b.Goroutines {
		g := &b.Goroutines[i]
		was := known[g.ID]
		switch {
		case was == nil:
		case rootFunc(was) != rootFunc(g):
			other++
		case !stackdump.SameFrames(was.Frames, g.Frames):
			started++
		default:
			started++
			if pointers, equal := compareArgs(was, g); equal && pointers {
				same++
			} else if pointers {
				other++
			}
		}
	}
	if same+other == 0 {
		return started > 0
	}
	return same > other
}

// compareArgs compares the arguments of two equal stacks. Pointers says that there are addresses
// among them.
func compareArgs(was, is *stackdump.Goroutine) (pointers, equal bool) {
	equal = true
	for i := range is.Frames {
		equal = equal && was.Frames[i].Args == is.Frames[i].Args
		for range is.Frames[i].Pointers() {
			pointers = true
			break
		}
	}
	return pointers, equal
}

// rootFunc is the function that a goroutine was started with; empty when it was not printed.
func rootFunc(g *stackdump.Goroutine) string {
	for _, f := range slices.Backward(g.Frames) {
		if !strings.HasPrefix(f.Func, "runtime.") {
			return f.Func
		}
	}
	return ""
}
