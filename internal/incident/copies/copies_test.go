package copies

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestNextIsTheFirstNotTakenApart compares the Times with a look at all of them.
func TestNextIsTheFirstNotTakenApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() event.Time {
			if rapid.IntRange(0, 30).Draw(t, "undated") == 0 {
				return event.Time{}
			}
			at := event.At(time.Unix(rapid.Int64Range(0, 400).Draw(t, "at"), 0))
			at.Prec = rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "precision")
			at.Lacks = rapid.SampledFrom([]event.Lacks{0, 0, 0, 0, event.LacksZone}).Draw(t, "lacks")
			return at
		}
		var x Times
		var all []event.Time
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			all = append(all, draw())
			x.Add(all[len(all)-1])
		}
		i := rapid.IntRange(0, len(all)-1).Draw(t, "i")
		all[i] = draw()
		x.Set(i, all[i])
		require.Equal(t, len(all), x.Len())

		asked, from := draw(), rapid.IntRange(0, len(all)).Draw(t, "from")
		next := slices.IndexFunc(all[from:], func(at event.Time) bool { return !TakenApart(at, asked) })
		if next < 0 {
			next = len(all) - from
		}
		require.Equal(t, from+next, x.Next(from, asked))
		numbers := []int32{int32(i)}
		require.True(t, x.NextOf(numbers, asked) == 0 || TakenApart(all[i], asked))
	})
}

// TestManyTimes: a dump is compared with those of its time alone.
func TestManyTimes(t *testing.T) {
	const n = 60_000
	var x Times
	start := time.Now()
	for i := range n {
		taken := event.At(time.Unix(int64(i)*60, 0))
		require.Equal(t, i, x.Next(0, taken))
		x.Add(taken)
	}
	require.Less(t, time.Since(start), 3*time.Second)
}
