package collect

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// countPipes counts the descriptors of this process that are pipes.
func countPipes(t *testing.T) (n int) {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(target, "pipe:") {
			n++
		}
	}
	return n
}

// A helper that cannot be started, or not in time, leaves no pipe open: collect goes on for minutes
// and starts many.
func TestPipesAreClosed(t *testing.T) {
	long := &task{Do: "walk", Names: []string{strings.Repeat("x", 2*longArgument)}}
	for name, start := range map[string]func() error{
		"no program": func() error {
			_, err := startHelper([]string{"/nonexistent/plegdiag"}, &task{Do: "walk"}, time.Second)
			return err
		},
		"no program for a long argument": func() error {
			_, err := startHelper([]string{"/nonexistent/plegdiag"}, long, time.Second)
			return err
		},
		"not in time": func() error {
			ch, err := startHelper([]string{"/bin/true"}, long, -time.Second)
			if err == nil { // it was faster than no time at all
				<-ch.waited
				closeFiles(ch.out)
				return errFork
			}
			return err
		},
		"no program to write the bundle": func() error {
			_, err := startSink(&Options{Helper: []string{"/nonexistent/plegdiag"}}, &task{Do: "sink"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := countPipes(t)
			require.ErrorIs(t, start(), errFork)
			require.Eventually(t, func() bool { return countPipes(t) == before }, 5*time.Second, 10*time.Millisecond)
		})
	}
}
