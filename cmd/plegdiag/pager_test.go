package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a terminal of 80 columns.
func openTerminal(t *testing.T) (screen, program *os.File) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { screen.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	return screen, program
}

// showOn runs plegdiag on a terminal, and returns what the terminal shows.
func showOn(t *testing.T, args ...string) (shown string, status int) {
	screen, program := openTerminal(t)
	done := make(chan int, 1)
	go func() {
		done <- run(append(args, "--color", "never"), strings.NewReader(""), program, io.Discard)
		program.Close() // ends the terminal: reading it fails then
	}()
	var all bytes.Buffer
	require.NoError(t, screen.SetReadDeadline(time.Now().Add(time.Minute)))
	_, _ = io.Copy(&all, screen)
	return strings.ReplaceAll(all.String(), "\r\n", "\n"), <-done
}

// A whole report on a terminal goes through the user's pager; one screen, other forms and what a
// flag says do not.
func TestPager(t *testing.T) {
	const bundle = "../../testdata/seed-short-tasks/bundle"
	t.Setenv("PAGER", "sed s/^/paged:/")
	shown, status := showOn(t, "analyze", bundle, "--full")
	require.Equal(t, 0, status)
	require.Contains(t, shown, "paged:FILES")
	for _, args := range [][]string{{bundle}, {bundle, "--full", "--no-pager"}, {bundle, "--full", "-o", "json"}, {bundle, "--title", "--full"}} {
		shown, status = showOn(t, append([]string{"analyze"}, args...)...)
		require.Equal(t, 0, status)
		require.NotEmpty(t, shown)
		require.NotContains(t, shown, "paged:", args)
	}

	t.Setenv("PAGER", "no-such-program --flag")
	shown, status = showOn(t, "analyze", bundle, "--full")
	require.Equal(t, 0, status)
	require.Contains(t, shown, "\nFILES", "a pager that is not there loses nothing")

	t.Setenv("PAGER", "head -1") // a reader who has seen enough
	shown, status = showOn(t, "analyze", bundle, "--full", "--verbose")
	require.Equal(t, 0, status)
	require.Equal(t, 1, strings.Count(shown, "\n"))
}
