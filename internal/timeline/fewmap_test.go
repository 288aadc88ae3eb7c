package timeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFewMap(t *testing.T) {
	var m fewMap[int, int]
	require.Nil(t, m.get(1))
	values := make([]int, 3*maxFew)
	for i := range values {
		m.add(i, &values[i])
		for k := range values {
			if k <= i {
				require.Same(t, &values[k], m.get(k))
			} else {
				require.Nil(t, m.get(k))
			}
		}
	}
	m.deleteKeys(func(k int) bool { return k%2 == 0 })
	require.Equal(t, len(values)/2, m.len())
	want := 1
	for k, v := range m.all() {
		require.Equal(t, want, k)
		require.Same(t, &values[k], v)
		require.Same(t, v, m.get(k))
		want += 2
	}
	require.Nil(t, m.get(0))
}
