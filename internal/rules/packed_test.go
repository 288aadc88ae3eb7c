package rules

import (
	"os"
	"reflect"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/rules/pack"
)

// TestPackedCatalogue: catalog.packed says what the files of the catalogue say.
func TestPackedCatalogue(t *testing.T) {
	const file = "catalog.packed"
	tree, err := decodeTree(BuiltinFiles())
	require.NoError(t, err)
	fresh, err := pack.Write(tree)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(file, fresh, 0o644))
	}
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, string(fresh) == string(kept), "%s is older than the rules: go test ./internal/rules -run TestPackedCatalogue -update", file)

	unpacked := new(packedTree)
	require.NoError(t, pack.Read(string(kept), unpacked))
	require.True(t, reflect.DeepEqual(tree, unpacked), "what is read is what was written")
	require.NotNil(t, unpackTree(string(kept), BuiltinFiles()))
}

// TestPackedIsOld: what was packed before a file changed is not used.
func TestPackedIsOld(t *testing.T) {
	files := func(text string) Files { return Files{FS: fstest.MapFS{"whole.yaml": {Data: []byte(text)}}} }
	tree, err := decodeTree(files(whole))
	require.NoError(t, err)
	packed, err := pack.Write(tree)
	require.NoError(t, err)
	require.NotNil(t, unpackTree(string(packed), files(whole)))
	require.Nil(t, unpackTree(string(packed), files(whole+"\n")))
	require.Nil(t, unpackTree(string(packed[:len(packed)-1]), files(whole)))
	require.Nil(t, unpackTree("", files(whole)))
}
