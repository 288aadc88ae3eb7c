package stackdump

import "strings"

// Diff is what became of goroutines from one dump of a process to the last.
type Diff struct {
	// Stuck are in the last dump where they were in the dump before: the same
	// frames, the same state, and no shorter a wait. Idle ones are among them.
	Stuck []Stay
	Slow  []Move // in the last dump somewhere else than in the dump before
	// Finished were in the dump before and are gone; New are only in the last one.
	Finished, New []Goroutine
}

// Stay is a goroutine that has not moved.
type Stay struct {
	Goroutine     // as the last dump has it
	Since     int // index of the first dump from which on it has not moved
}

// Move is a goroutine that has moved.
type Move struct{ Was, Is Goroutine }

// Compare compares dumps of one process in the order in which they were taken,
// at least two. SameProcess says whether they are.
func Compare(dumps []*Dump) Diff {
	var diff Diff
	last := dumps[len(dumps)-1]
	before := make([]map[uint64]*Goroutine, len(dumps)-1)
	for i := range before {
		before[i] = byID(dumps[i])
	}
	now := byID(last)
	for i := range last.Goroutines {
		g := &last.Goroutines[i]
		if now[g.ID] != g {
			continue
		}
		was := before[len(before)-1][g.ID]
		switch {
		case was == nil:
			diff.New = append(diff.New, *g)
		case !stayed(was, g):
			diff.Slow = append(diff.Slow, Move{*was, *g})
		default:
			since := len(before) - 1
			for since > 0 && before[since-1][g.ID] != nil && stayed(before[since-1][g.ID], before[since][g.ID]) {
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

// byID leaves out goroutine 0, which is every thread's, and later copies.
func byID(d *Dump) map[uint64]*Goroutine {
	all := make(map[uint64]*Goroutine, len(d.Goroutines))
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		if _, again := all[g.ID]; !again && g.ID != 0 {
			all[g.ID] = g
		}
	}
	return all
}

// stayed says whether a goroutine has not moved between two dumps. A wait that
// has become shorter has begun anew.
func stayed(was, is *Goroutine) bool {
	return was.State == is.State && is.Wait >= was.Wait && !strings.HasPrefix(is.State, "run") && sameFrames(was.Frames, is.Frames)
}

// SameProcess says whether two dumps may be of one process: most goroutines of
// one id were started in the same place. Dumps without a common goroutine are not comparable.
func SameProcess(a, b *Dump) bool {
	known := byID(a)
	same, common := 0, 0
	for id, g := range byID(b) {
		was := known[id]
		if was == nil {
			continue
		}
		common++
		if was.CreatedBy.Func == g.CreatedBy.Func && was.root() == g.root() {
			same++
		}
	}
	return common > 0 && same*2 > common
}

// root is the function that a goroutine was started with; empty when it was not printed.
func (g *Goroutine) root() string {
	for i := len(g.Frames) - 1; i >= 0; i-- {
		if !strings.HasPrefix(g.Frames[i].Func, "runtime.") {
			return g.Frames[i].Func
		}
	}
	return ""
}
