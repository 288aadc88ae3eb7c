package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A disk that is full in the middle of a report leaves what was there before: nothing, or the old
// report.
func TestOutputFileIsWholeOrNotThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.md")
	diskFull := errors.New("no space left on device")
	half := func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("half of a report\n", 1000))
		return errors.Join(err, diskFull)
	}
	whole := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}
	}
	files := func() (names []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}

	file := outputFile{flag: "--report", path: path}
	require.ErrorIs(t, file.writeTarget(half), diskFull)
	require.Empty(t, files())

	require.NoError(t, file.writeTarget(whole("first")))
	require.ErrorIs(t, file.writeTarget(whole("second")), os.ErrExist, "made since the check")

	forced := outputFile{flag: "--report", path: path, force: true}
	require.NoError(t, os.Chmod(path, 0o640))
	require.ErrorIs(t, forced.writeTarget(half), diskFull)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "first", string(content))
	require.Equal(t, []string{"report.md"}, files())

	// A link stays a link, and the permissions stay as they are.
	link := filepath.Join(dir, "link.md")
	require.NoError(t, os.Symlink("report.md", link))
	require.NoError(t, (&outputFile{path: link, force: true}).writeTarget(whole("third")))
	content, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "third", string(content))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
	require.Equal(t, []string{"link.md", "report.md"}, files())
}
