package lines

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("y", 3*ReadAhead)
	var got []string
	for line, err := range All(strings.NewReader("a\n\nb\r\n" + long + "\nend")) {
		require.NoError(t, err)
		require.Equal(t, len(got)+1, line.N)
		got = append(got, string(line.Bytes))
	}
	require.Equal(t, []string{"a", "", "b\r", long, "end"}, got)
}
