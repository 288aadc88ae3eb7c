package language

import (
	"reflect"
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
	require.NotNil(t, Unpack(string(packed), builtinFiles))
}

// TestPackedIsOld: what was packed before a file changed is not used.
func TestPackedIsOld(t *testing.T) {
	files := func(text string) Files { return Files{FS: fstest.MapFS{"whole.yaml": {Data: []byte(text)}}} }
	packed, err := Pack(files(whole))
	require.NoError(t, err)
	require.NotNil(t, Unpack(string(packed), files(whole)))
	require.Nil(t, Unpack(string(packed), files(whole+"\n")))
	require.Nil(t, Unpack(string(packed[:len(packed)-1]), files(whole)))
	require.Nil(t, Unpack("", files(whole)))
}
