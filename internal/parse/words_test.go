package parse

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFormatWords holds that the first sentence of a report has a word for every format, and not
// the name that the program has for it.
func TestFormatWords(t *testing.T) {
	for i := range Formats {
		require.NotEmpty(t, formatWords[Formats[i].Name], Formats[i].Name)
	}
	require.Equal(t, "source code or a script", WordsOf("source"))
	require.Equal(t, "a log of other programs (2 files), text (1 file)", DescribeFormats([]string{"klog", "logrus", "text"}))
}
