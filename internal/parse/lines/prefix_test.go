package lines

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestPaste(t *testing.T) {
	const log = "I0603 08:00:00.000100    2917 kubelet.go:10] one\n\nI0603 08:00:01.000100    2917 kubelet.go:10] two\n  goes on"
	for _, prefix := range []string{"> ", "    ", "\t"} {
		quoted := prefix + strings.ReplaceAll(log, "\n", "\n"+prefix)
		require.Equal(t, prefix, string(FindPastePrefix([]byte(quoted))))
		for _, r := range []io.Reader{strings.NewReader(quoted), iotest.OneByteReader(strings.NewReader(quoted))} {
			got, err := io.ReadAll(WithoutPrefix(r, []byte(prefix)))
			require.NoError(t, err)
			require.Equal(t, log, string(got))
		}
		got, err := io.ReadAll(WithoutPrefix(strings.NewReader(strings.ReplaceAll(quoted, "\n> \n", "\n>\n")), []byte(prefix)))
		require.NoError(t, err)
		require.Equal(t, log, string(got), "an empty line keeps no blank behind its mark")
		got, err = io.ReadAll(WithoutPrefix(strings.NewReader(quoted+"\n"+prefix), []byte(prefix)))
		require.NoError(t, err)
		require.Equal(t, log+"\n\n", string(got), "a last line that is only the prefix is a line")
	}
	require.Empty(t, FindPastePrefix([]byte(log)))
	require.Empty(t, FindPastePrefix(nil))
}
