package spool

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
)

func entry(message string) string {
	text := "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1\n_PID=1\n"
	if strings.Contains(message, "\n") {
		return text + "MESSAGE\n" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(message)))) + message + "\n\n"
	}
	return text + "MESSAGE=" + message + "\n\n"
}

// Of what is too large the newest entries are kept, whole.
func TestSpoolKeepsNewest(t *testing.T) {
	s := New(Options{Limit: 40 << 10, Newest: true, Export: true})
	for n := range 60_000 {
		_, _ = s.Write([]byte(strings.Replace(entry("message number "+strings.Repeat("x", n%50)), "_PID=1\n", "_PID="+string(rune('0'+n%10))+"\n", 1)))
	}
	content, packed := s.finishContent()
	require.True(t, packed)
	require.Positive(t, s.dropped)
	require.Less(t, len(content), 60<<10)
	zip, err := gzip.NewReader(bytes.NewReader(content))
	require.NoError(t, err)
	text, err := io.ReadAll(zip)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(text, []byte("__CURSOR=")))
	require.True(t, bytes.HasSuffix(text, []byte("\n\n")))
	require.Equal(t, s.size, s.dropped+int64(len(text)))
}
