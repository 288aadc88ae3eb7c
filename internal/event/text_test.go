package event

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValuesAreBounded(t *testing.T) {
	require.Equal(t, strings.Repeat("a", maxOneLine)+"…", OneLine(strings.Repeat("a", 1000)))
	require.Equal(t, strings.Repeat("ж", maxOneLine/2)+"…", OneLine(strings.Repeat("ж", 1000)))
	require.Equal(t, "a b c", OneLine("a\nb\x1bc"))
}
