package cli

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

	file := OutputFile{Flag: "--report", Path: path}
	require.ErrorIs(t, file.WriteTarget(half), diskFull)
	require.Empty(t, files())

	require.NoError(t, file.WriteTarget(whole("first")))
	require.ErrorIs(t, file.WriteTarget(whole("second")), os.ErrExist, "made since the check")

	forced := OutputFile{Flag: "--report", Path: path, Force: true}
	require.NoError(t, os.Chmod(path, 0o640))
	require.ErrorIs(t, forced.WriteTarget(half), diskFull)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "first", string(content))
	require.Equal(t, []string{"report.md"}, files())

	// A link stays a link, and the permissions stay as they are.
	link := filepath.Join(dir, "link.md")
	require.NoError(t, os.Symlink("report.md", link))
	require.NoError(t, (&OutputFile{Path: link, Force: true}).WriteTarget(whole("third")))
	content, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "third", string(content))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
	require.Equal(t, []string{"link.md", "report.md"}, files())
}
