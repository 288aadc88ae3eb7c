package lines

import (
	"io"
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

// relentless gives more text with every error.
type relentless struct{}

func (relentless) Read(p []byte) (int, error) { return copy(p, "text"), io.ErrUnexpectedEOF }

// TestLinesEndAtError: a reader is not asked again after an error, and what it gave before is one
// line.
func TestLinesEndAtError(t *testing.T) {
	var got []string
	for line, err := range All(relentless{}) {
		if require.Less(t, len(got), 2); err != nil {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			got = append(got, err.Error())
			continue
		}
		got = append(got, string(line.Bytes))
	}
	require.Equal(t, []string{"text", "unexpected EOF"}, got)
}
