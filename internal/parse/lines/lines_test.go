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

func TestWithoutBlankLines(t *testing.T) {
	for text, want := range map[string]string{
		"a\n\nb\n\nc\n\n":              "a\nb\nc\n",
		"a\n\n\n\nb\n\nc\n":            "a\n\nb\nc\n", // a blank line stands behind the blank one
		"\n\na\n\nb\n\nc\n\n":          "\na\nb\nc\n",
		"a\n\n\nb\n\nc\n\n":            "",
		"a\nb\n\nc\n\nd\n\n":           "",
		"one paragraph\n\nanother\n\n": "", // of which pages are made
	} {
		got, ok := WithoutBlankLines([]byte(text))
		require.Equal(t, want != "", ok, "%q", text)
		if ok {
			require.Equal(t, want, string(got), "%q", text)
		}
	}
}
