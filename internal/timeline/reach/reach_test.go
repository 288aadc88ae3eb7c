package reach

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestNextIsTheFirstThatMeets compares the Index with a look at all stretches.
func TestNextIsTheFirstThatMeets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x Index
		var all []stretch
		draw := func() stretch {
			from := rapid.Int64Range(0, 50).Draw(t, "from")
			return stretch{from, from + rapid.Int64Range(-1, 20).Draw(t, "length")}
		}
		for range rapid.IntRange(0, 600).Draw(t, "n") {
			s := draw()
			x.Add(s.from, s.until)
			all = append(all, s)
		}
		for range min(len(all), 3) {
			i, s := rapid.IntRange(0, len(all)-1).Draw(t, "i"), draw()
			x.Set(i, s.from, s.until)
			all[i] = s
		}
		require.Equal(t, len(all), x.Len())

		asked := draw()
		var numbers, want []int32
		for i, s := range all {
			if i%rapid.IntRange(1, 4).Draw(t, "every") == 0 {
				numbers = append(numbers, int32(i))
				if s.meets(asked.from, asked.until) {
					want = append(want, int32(i))
				}
			}
		}
		var got []int32
		for rest := numbers; ; {
			next := x.NextOf(rest, asked.from, asked.until)
			if next == len(rest) {
				break
			}
			got, rest = append(got, rest[next]), rest[next+1:]
		}
		require.Equal(t, want, got)
		if len(all) > 0 {
			from := rapid.IntRange(0, len(all)).Draw(t, "first")
			next := slices.IndexFunc(all[from:], func(s stretch) bool { return s.meets(asked.from, asked.until) })
			if next < 0 {
				next = len(all) - from
			}
			require.Equal(t, from+next, x.Next(from, asked.from, asked.until))
		}
	})
}

func TestMomentHasNoLimitWhereItWouldWrapAround(t *testing.T) {
	require.Equal(t, Never, Moment(time.Time{}))
	require.Equal(t, Ever, Moment(time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)))
	require.Equal(t, int64(5e9), Moment(time.Unix(5, 0)))
}
