package language

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestDigest(t *testing.T) {
	digest := func(trees ...Files) string {
		sum, err := Digest(trees...)
		require.NoError(t, err)
		require.Len(t, sum, 64)
		return sum
	}
	tree := func(files map[string]string) Files {
		fsys := fstest.MapFS{}
		for name, text := range files {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		return Files{FS: fsys}
	}
	one := digest(tree(map[string]string{"a.yaml": "x", "b.yaml": "y", "README.md": "text"}))
	require.Equal(t, one, digest(tree(map[string]string{"b.yaml": "y", "a.yaml": "x"})), "only rules count")
	require.NotEqual(t, one, digest(tree(map[string]string{"a.yaml": "xy", "b.yaml": ""})))
	require.NotEqual(t, one, digest(tree(map[string]string{"a.yaml": "x", "c.yaml": "y"})))
	require.NotEqual(t, digest(builtinFiles), digest(builtinFiles, tree(map[string]string{"a.yaml": "x"})))
	_, err := Digest(Files{FS: fstest.MapFS{}, Only: "missing.yaml"})
	require.Error(t, err)
}
