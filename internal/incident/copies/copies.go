// Package copies says which dumps may be copies of each other, by when they were taken: a daemon
// that hangs writes the same goroutines again and again.
package copies

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline/reach"
)

// writing is how long a program takes to write a dump to all places, with a time of its own each.
const writing = 5 * time.Second

// TakenApart says that two dumps are no copies, even if their goroutines are the same: they were
// taken at different times, and nothing has moved since. A program takes some time to write its
// dump, and gives it to its log and to a file, each with a time of its own. Times that lack
// different parts do not compare.
func TakenApart(a, b event.Time) bool {
	return !a.IsZero() && !b.IsZero() && a.Lacks == b.Lacks && a.T.Sub(b.T).Abs() > writing+max(a.Prec, b.Prec)
}

// IsBetter says that t is nearer to the moment at which a dump was taken than other: it is more
// precise, or earlier, for a program takes a dump first and then writes it here and there.
func IsBetter(t, other event.Time) bool {
	switch {
	case t.IsZero() || other.IsZero():
		return other.IsZero()
	case t.Prec != other.Prec:
		return t.Prec < other.Prec
	}
	return t.Lacks == other.Lacks && t.T.Before(other.T)
}

// few times are compared one by one.
const few = 8

// Times are when dumps were taken, by number. The zero Times are none.
type Times struct {
	taken []event.Time
	lacks event.Lacks  // what the first one lacks, and most others
	near  *reach.Index // nil while they are few
}

// Len is how many dumps there are.
func (x *Times) Len() int { return len(x.taken) }

// Add adds a dump, under the next number.
func (x *Times) Add(taken event.Time) {
	if len(x.taken) == 0 {
		x.lacks = taken.Lacks
	}
	x.taken = append(x.taken, taken)
	switch {
	case x.near != nil:
		x.near.Add(x.around(taken))
	case len(x.taken) > few:
		x.near = reach.New(2 * len(x.taken))
		for _, t := range x.taken {
			x.near.Add(x.around(t))
		}
	}
}

// Set says that a dump was taken at another time.
func (x *Times) Set(i int, taken event.Time) {
	x.taken[i] = taken
	if x.near != nil {
		from, until := x.around(taken)
		x.near.Set(i, from, until)
	}
}

// around is the time around a dump outside of which no copy was written. What lacks other parts
// than most is compared with all.
func (x *Times) around(taken event.Time) (from, until int64) {
	if taken.IsZero() || taken.Lacks != x.lacks {
		return reach.Never, reach.Ever
	}
	slack := writing + taken.Prec
	return reach.Moment(taken.T.Add(-slack)), reach.Moment(taken.T.Add(slack))
}

// Next is the first dump, from number i on, that was not taken apart from one taken at a time; Len
// for none.
func (x *Times) Next(i int, taken event.Time) int {
	from, until := x.around(taken)
	for ; i < len(x.taken); i++ {
		if x.near != nil {
			i = x.near.Next(i, from, until)
		}
		if i < len(x.taken) && !TakenApart(x.taken[i], taken) {
			return i
		}
	}
	return len(x.taken)
}

// NextOf is the place of the first of some dumps, by their numbers in order, that may not have been
// taken apart from one taken at a time; their length for none.
func (x *Times) NextOf(numbers []int32, taken event.Time) int {
	if x.near == nil {
		return 0
	}
	from, until := x.around(taken)
	return x.near.NextOf(numbers, from, until)
}
