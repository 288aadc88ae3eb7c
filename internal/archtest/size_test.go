package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"testing"

	"github.com/stretchr/testify/require"
)

// A package that is larger than this has no single subject.
const (
	maxFiles = 25
	maxLines = 5000 // with comments
)

// size is how large a package is, without its tests.
type size struct{ files, lines int }

func (s size) fits() bool { return s.files <= maxFiles && s.lines <= maxLines }

func TestSizes(t *testing.T) {
	root := os.DirFS("../..")
	sizes := map[string]size{}
	for _, dir := range []string{"internal", "cmd", "bench", "lab"} {
		require.NoError(t, fs.WalkDir(root, dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !ships(name) {
				return err
			}
			text, err := fs.ReadFile(root, name)
			s := sizes[path.Dir(name)]
			sizes[path.Dir(name)] = size{s.files + 1, s.lines + bytes.Count(text, []byte{'\n'})}
			return err
		}))
	}
	require.Contains(t, sizes, "internal/parse/logs")
	for dir, s := range sizes {
		if !s.fits() {
			t.Errorf("%s has %d files and %d lines; a package has at most %d files and %d lines", dir, s.files, s.lines, maxFiles, maxLines)
		}
	}
}

func TestFits(t *testing.T) {
	require.True(t, size{maxFiles, maxLines}.fits())
	require.False(t, size{maxFiles + 1, 1}.fits())
	require.False(t, size{1, maxLines + 1}.fits())
}
