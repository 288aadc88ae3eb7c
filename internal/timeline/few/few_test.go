package few

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMap(t *testing.T) {
	var m Map[int, int]
	require.Nil(t, m.Get(1))
	values := make([]int, 3*maxFew)
	for i := range values {
		m.Add(i, &values[i])
		for k := range values {
			if k <= i {
				require.Same(t, &values[k], m.Get(k))
			} else {
				require.Nil(t, m.Get(k))
			}
		}
	}
	m.DeleteKeys(func(k int) bool { return k%2 == 0 })
	require.Equal(t, len(values)/2, m.Len())
	want := 1
	for k, v := range m.All() {
		require.Equal(t, want, k)
		require.Same(t, &values[k], v)
		require.Same(t, v, m.Get(k))
		want += 2
	}
	require.Nil(t, m.Get(0))
	m.SortKeys(func(a, b int) int { return b - a })
	require.Equal(t, len(values)-1, m.entries[0].key)
	require.Same(t, &values[1], m.Get(1))
}
