package runs

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

type item struct{ key, nth int }

func compare(a, b item) int { return cmp.Compare(a.key, b.key) }

// TestSort: whatever runs there are, the result is that of the library's stable sort.
func TestSort(t *testing.T) {
	for seed := range uint64(500) {
		dice := rand.New(rand.NewPCG(seed, 0))
		var all []item
		for range dice.IntN(5) { // files that are nearly in order
			key := dice.IntN(100)
			for range dice.IntN(60) {
				if key += dice.IntN(3); dice.IntN(12) == 0 {
					key = dice.IntN(100)
				}
				all = append(all, item{key, len(all)})
			}
		}
		want := slices.Clone(all)
		slices.SortStableFunc(want, compare)
		Sort(all, compare)
		require.Equal(t, want, all, "seed %d", seed)
	}
}

// BenchmarkSort compares with the library, on eight files whose lines are in order but for one in a
// hundred.
func BenchmarkSort(b *testing.B) {
	dice := rand.New(rand.NewPCG(1, 0))
	var all []item
	for range 8 {
		key := 0
		for range 12_500 {
			key += dice.IntN(10)
			all = append(all, item{key - dice.IntN(100)/99*50, len(all)})
		}
	}
	for name, sort := range map[string]func([]item, func(a, b item) int){"runs": Sort[item], "library": slices.SortStableFunc[[]item]} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				sort(slices.Clone(all), compare)
			}
		})
	}
}
