package lines

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnendedHead: the last line of a short file counts although nobody ended it, and not against a
// format, as it may be cut.
func TestUnendedHead(t *testing.T) {
	isA := func(line []byte) Sign { return SignIf(line[0] == 'a', Proves) }
	for text, want := range map[string]float64{
		"a\nb\na": 2.0 / 3, "a\nb\na\n": 2.0 / 3, // ended or not
		"a\nb": 1, "a\nb\n": 0.5,
		"b": 0, "a": 1, // all there is
	} {
		require.InDelta(t, want, Share(NewHead([]byte(text)), isA), 0.01, "%q", text)
	}
	require.Len(t, NewHead([]byte("a\na\nb")).Lines, 3)
}
