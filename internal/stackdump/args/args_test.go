package args

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	var all []Word
	for w := range Words("0x1f?, {0xc000130f80, _}, {{0x1}, ...}, 0x, 0x11111111111111111, 0xzz") {
		all = append(all, w)
	}
	require.Equal(t, []Word{
		{Arg{0x1f, false, true}, 0, 0},
		{Arg{0xc000130f80, true, true}, 1, 1},
		{Arg{}, 1, 1},
		{Arg{1, true, true}, 2, 2},
		{Arg{}, 2, 1},
		{Arg{}, 3, 0},
		{Arg{}, 4, 0},
		{Arg{}, 5, 0},
	}, all)
	_, ok := First("{0x1}")
	require.False(t, ok)
}
