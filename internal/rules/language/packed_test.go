package language

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/rules/pack"
)

// TestPacked: what is read of a packed tree is what was decoded from its files.
func TestPacked(t *testing.T) {
	tree, err := decodeTree(builtinFiles)
	require.NoError(t, err)
	packed, err := Pack(builtinFiles)
	require.NoError(t, err)
	unpacked := new(packedTree)
	require.NoError(t, pack.Read(string(packed), unpacked))
	require.True(t, reflect.DeepEqual(tree, unpacked), "what is read is what was written")
	catalog, err := Unpack(string(packed))
	require.NoError(t, err)
	require.Equal(t, tree.Digest, catalog.Digest)
	loaded, err := Load(nil, builtinFiles)
	require.NoError(t, err)
	require.Equal(t, loaded.IDs(), catalog.IDs())
}

// TestUnpackCut: what is cut is no catalogue.
func TestUnpackCut(t *testing.T) {
	packed, err := Pack(Files{FS: fstest.MapFS{"whole.yaml": {Data: []byte(whole)}}})
	require.NoError(t, err)
	_, err = Unpack(string(packed))
	require.NoError(t, err)
	for _, cut := range []string{"", string(packed[:len(packed)-1])} {
		_, err = Unpack(cut)
		require.Error(t, err)
	}
}

// TestExtend: rules are added to those that ship; an id that is taken, and a circle, are mistakes.
func TestExtend(t *testing.T) {
	tree := func(text string) Files {
		return Files{FS: fstest.MapFS{"mine.yaml": {Data: []byte(text)}}, Dir: "mine"}
	}
	packed, err := Pack(Files{FS: fstest.MapFS{"whole.yaml": {Data: []byte(whole)}}})
	require.NoError(t, err)
	builtin, err := Unpack(string(packed))
	require.NoError(t, err)
	id := builtin.Rules[0].ID
	_, err = builtin.Extend(nil, tree(whole))
	require.ErrorContains(t, err, "mine/mine.yaml:1:5: id \""+id+"\" is taken by a built-in rule")
	extended, err := builtin.Extend(nil, tree(strings.Replace(whole, "id: "+id, "id: another", 1)))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"another", id}, extended.IDs())
	require.Equal(t, []string{id}, builtin.IDs())
}
