package bundle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A directory of the running kernel has files that never end.
func TestLiveFileSystemIsRefused(t *testing.T) {
	done := make(chan string, 1)
	go func() { done <- list(t, Options{Inputs: []string{"/proc/self"}}) }()
	select {
	case got := <-done:
		require.Contains(t, got, "proc is the running kernel's and has files that never end")
	case <-time.After(30 * time.Second):
		t.Fatal("the walk of /proc/self does not end")
	}
	require.Contains(t, list(t, Options{Inputs: []string{"/proc/self/limits"}}), "Max open files", "a single file is read")
}
