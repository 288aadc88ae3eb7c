// Package reach finds those of many things that can lie in a stretch of time, without a look at all
// of them: in a long bundle, each thing that is asked about would otherwise meet all others.
package reach

import (
	"math"
	"slices"
	"time"
)

// Never and Ever stand for a stretch of time without a limit.
const (
	Never int64 = math.MinInt64
	Ever  int64 = math.MaxInt64
)

// width is how many stretches one of the level above covers.
const width = 4

// Index holds stretches of time by number, from 0 on. The zero Index is empty.
type Index struct {
	levels [][]stretch // each covers the one before it; the last one is no longer than width
}

// New is an empty Index with room for as many stretches.
func New(n int) *Index { return &Index{levels: [][]stretch{make([]stretch, 0, n)}} }

// stretch is the time from its first to its last moment, with both.
type stretch struct{ from, until int64 }

func (s stretch) meets(from, until int64) bool { return s.until >= from && s.from <= until }

func (s stretch) cover(o stretch) stretch {
	return stretch{min(s.from, o.from), max(s.until, o.until)}
}

// Len is how many stretches there are.
func (x *Index) Len() int {
	if len(x.levels) == 0 {
		return 0
	}
	return len(x.levels[0])
}

// Add adds a stretch, under the next number.
func (x *Index) Add(from, until int64) {
	added := stretch{from, until}
	for level, at := 0, x.Len(); ; level, at = level+1, at/width {
		if level == len(x.levels) {
			x.levels = append(x.levels, nil)
			if level > 0 { // the level below has just become too long
				x.levels[level] = append(x.levels[level], x.cover(level, 0))
			}
		}
		if at < len(x.levels[level]) {
			x.levels[level][at] = x.levels[level][at].cover(added)
		} else {
			x.levels[level] = append(x.levels[level], added)
		}
		if len(x.levels[level]) <= width {
			return
		}
	}
}

// Set replaces the stretch with a number.
func (x *Index) Set(i int, from, until int64) {
	x.levels[0][i] = stretch{from, until}
	for level := 1; level < len(x.levels); level++ {
		i /= width
		x.levels[level][i] = x.cover(level, i)
	}
}

// cover covers the stretches that one of a level above the first stands for.
func (x *Index) cover(level, i int) stretch {
	below := x.levels[level-1]
	below = below[i*width : min((i+1)*width, len(below))]
	all := below[0]
	for _, s := range below[1:] {
		all = all.cover(s)
	}
	return all
}

// Next is the first number, from i on, of a stretch that meets another one; Len for none.
func (x *Index) Next(i int, from, until int64) int {
	for level := 0; i < x.Len(); {
		switch {
		case i >= len(x.levels[level]):
			return x.Len()
		case !x.levels[level][i].meets(from, until):
			i++
			for i%width == 0 && level+1 < len(x.levels) {
				i, level = i/width, level+1
			}
		case level == 0:
			return i
		default:
			i, level = i*width, level-1
		}
	}
	return x.Len()
}

// Has says that a moment lies in one of the stretches.
func (x *Index) Has(at int64) bool { return x.Next(0, at, at) < x.Len() }

// NextOf is the place of the first of some numbers, which are in order, of which the stretch meets
// another one; their length for none.
func (x *Index) NextOf(numbers []int32, from, until int64) int {
	for i := 0; i < len(numbers); {
		if x.levels[0][numbers[i]].meets(from, until) {
			return i
		}
		next := int32(x.Next(int(numbers[i])+1, from, until))
		at, _ := slices.BinarySearch(numbers[i+1:], next)
		i += 1 + at
	}
	return len(numbers)
}

// Moment is a time in nanoseconds since 1970. Those before and after all that fit stand for no
// limit.
func Moment(t time.Time) int64 {
	switch sec := t.Unix(); {
	case sec <= Never/int64(time.Second):
		return Never
	case sec >= Ever/int64(time.Second):
		return Ever
	}
	return t.UnixNano()
}
