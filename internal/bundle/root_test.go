package bundle

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A root holds its inputs: what lies outside is not opened, by whatever name, and a link that is
// put in the place of a file while the directory is walked leads nowhere either.
func TestRoot(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "inside")
	require.NoError(t, os.MkdirAll(filepath.Join(inside, "node"), 0o755))
	for name, text := range map[string]string{"secret": "secret", "inside/node/a.log": "a", "inside/node/b.log": "b"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink("../secret", filepath.Join(inside, "out")))
	require.NoError(t, os.Symlink("..", filepath.Join(inside, "up")))
	root, err := os.OpenRoot(inside)
	require.NoError(t, err)
	defer root.Close()
	read := func(inputs ...string) (texts, errs []string) {
		for f, err := range Files(t.Context(), Options{Inputs: inputs, Root: root}) {
			if err != nil {
				errs = append(errs, err.Error())
				continue
			}
			if f.Path == "a.log" { // the next one is swapped before it is opened
				require.NoError(t, os.Remove(filepath.Join(inside, "node", "b.log")))
				require.NoError(t, os.Symlink("../../secret", filepath.Join(inside, "node", "b.log")))
			}
			r, err := f.Open()
			require.NoError(t, err, f.Path)
			text, err := io.ReadAll(r)
			require.NoError(t, err)
			texts = append(texts, string(text))
			require.NoError(t, r.Close())
		}
		return texts, errs
	}
	for _, name := range []string{"out", "up", "../secret", "..", filepath.Join(dir, "secret"), "missing"} {
		texts, errs := read(name)
		require.Empty(t, texts, name)
		require.Len(t, errs, 1, name)
	}
	texts, errs := read("node")
	require.Equal(t, []string{"a"}, texts)
	require.Len(t, errs, 1)
	require.Contains(t, errs[0], "b.log")
}
