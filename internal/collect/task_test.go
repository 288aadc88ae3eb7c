package collect

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is known of the machine comes as one note, and nothing else of the file that says it.
func TestReadFleet(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) want {
		path := filepath.Join(dir, name)
		if text != "" {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		return want{Name: "fleet", Source: path}
	}
	sent := func(items ...want) (string, *note) {
		var out bytes.Buffer
		readFleet(&task{Bound: time.Second, Items: items}, newFrames(&out))
		text := out.String()
		var payload bytes.Buffer
		f, err := readFrame(bufio.NewReader(&out), &payload)
		require.NoError(t, err)
		return text, f.Note
	}
	text, got := sent(
		write("cloud-init", `{"userdata": "planted", "v1": {"region": "eu-west-1", "availability_zone": "eu-west-1a"}}`),
		write("vendor", "Amazon EC2\n"), write("product", "m5.large\n"),
	)
	require.NotContains(t, text, "planted")
	require.Equal(t, map[string]string{"region": "eu-west-1", "zone": "eu-west-1a", "platform": "Amazon EC2", "instance-type": "m5.large"}, map[string]string(got.Fleet))
	_, got = sent(write("a", ""), write("b", ""), write("c", ""))
	require.Nil(t, got.Fleet, "nothing is known")
}
