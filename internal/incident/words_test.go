package incident

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse"
)

// TestFormatWords holds that the first sentence of a report has a word for every format, and not
// the name that the program has for it.
func TestFormatWords(t *testing.T) {
	for i := range parse.Formats {
		require.NotEmpty(t, formatWords[parse.Formats[i].Name], parse.Formats[i].Name)
	}
	require.Equal(t, "source code or a script", wordsOf("source"))
	require.Equal(t, "a log of other programs (2 files), text (1 file)", describeInputs([]*File{{Format: "klog"}, {Format: "logrus"}, {Format: "text"}}))
}
