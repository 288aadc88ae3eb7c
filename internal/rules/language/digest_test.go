package language

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestDigest(t *testing.T) {
	of := func(trees ...Files) string {
		sum, err := digest(trees...)
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
	one := of(tree(map[string]string{"a.yaml": "x", "b.yaml": "y", "README.md": "text"}))
	require.Equal(t, one, of(tree(map[string]string{"b.yaml": "y", "a.yaml": "x"})), "only rules count")
	require.NotEqual(t, one, of(tree(map[string]string{"a.yaml": "xy", "b.yaml": ""})))
	require.NotEqual(t, one, of(tree(map[string]string{"a.yaml": "x", "c.yaml": "y"})))
	require.NotEqual(t, of(builtinFiles), of(builtinFiles, tree(map[string]string{"a.yaml": "x"})))
	_, err := digest(Files{FS: fstest.MapFS{}, Only: "missing.yaml"})
	require.Error(t, err)

	packed := &Catalog{Digest: one}
	for _, trees := range [][]Files{nil, {tree(map[string]string{"a.yaml": "x"})}, {tree(map[string]string{"a.yaml": "y"})}} {
		sum, err := packed.ExtendedDigest(trees...)
		require.NoError(t, err)
		require.Len(t, sum, 64)
		require.Equal(t, len(trees) == 0, sum == one)
	}
	_, err = packed.ExtendedDigest(Files{FS: fstest.MapFS{}, Only: "missing.yaml"})
	require.Error(t, err)
}
