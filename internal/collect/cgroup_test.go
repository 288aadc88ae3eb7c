package collect

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The walk over the tree waits for the reads of the files in it.
func TestReadCgroups(t *testing.T) {
	root := t.TempDir()
	pod := filepath.Join(root, "pids", "kubepods.slice", "kubepods-pod1.slice")
	require.NoError(t, os.MkdirAll(pod, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(pod, "pids.max"), []byte("max\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(pod, "freezer.state"), []byte("FROZEN\n"), 0o600))
	var out bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		tasks["cgroups"](&task{Bound: time.Second, Items: []want{{Name: "cgroups/values.txt", Source: root}}}, newFrames(&out))
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		require.FailNow(t, "the walk waits for itself")
	}
	require.Contains(t, out.String(), pod+"/pids.max:max\n")
	require.Contains(t, out.String(), pod+"/freezer.state:FROZEN\n")
	require.NotContains(t, out.String(), `"why"`)
}
