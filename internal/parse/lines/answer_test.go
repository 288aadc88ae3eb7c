package lines

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// TestAnswer: the text that a machine wrote is taken out of the document in which a cloud's client
// prints it, whatever the pieces in which it is read.
func TestAnswer(t *testing.T) {
	long := strings.Repeat("[    1.000000] a line of the console\\r\\n", 20)
	for _, tt := range []struct{ document, want string }{
		{`{"InstanceId": "i-1", "Output": "` + long + `x\ty \"q\" \\ \u00e9\ud83d\ude00", "Timestamp": "t"}`, "x\ty \"q\" \\ é😀\n"},
		{`{"Output": "` + long + `end", "InstanceId": "i-1"}`, "end\n"},
		{`{"CommandId": "c", "Other": "Output", "StandardOutputContent": "` + long + `\ud83d", "StandardErrorContent": "no"}`, "\ufffd\n"},
		{`{"value": [{"code": "c", "message": "Enable succeeded: \n[stdout]\n` + long + `[stderr]\n"}]}`, "[stderr]\n\n"},
		{`{"InstanceId": "i-1", "Output": "` + long + `cut`, "cut"},
	} {
		head := NewHead([]byte(tt.document))
		restore := FindRestorer(head)
		require.NotNil(t, restore, tt.document)
		text, err := io.ReadAll(restore(iotest.OneByteReader(strings.NewReader(tt.document))))
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(string(text), "console\r\n"+tt.want), "%q", text)
		require.Equal(t, 20, strings.Count(string(text), "console"))
	}
	for _, other := range []string{`{"Output": "short"}`, `{"InstanceId": "i-1"}`, "Output: x\n", `[{"Output": "` + long + `"}]`} {
		require.Empty(t, findAnswer(NewHead([]byte(other))), other)
	}
}
