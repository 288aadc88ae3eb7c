package incident

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
)

// The lines around a quoted one are those that stand there, in a directory and in an archive; stdin
// has none.
func TestContext(t *testing.T) {
	var log strings.Builder
	for i := range 60 {
		fmt.Fprintf(&log, "Nov 08 09:00:%02d node-1 kubelet[100]: I1108 09:00:%02d.000001 100 kubelet.go:1] line %d\n", i, i, i+1)
	}
	for i := range 3 {
		fmt.Fprintf(&log, "Nov 08 09:05:%02d node-1 kubelet[100]: E1108 09:05:%02d.000001 100 kubelet.go:2400] \"Skipping pod synchronization\" err=\"PLEG is not healthy: pleg was last seen active 4m%d.0s ago; threshold is 3m0s\"\n", i, i, i)
	}
	lines := strings.Split(log.String(), "\n")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubelet.log"), []byte(log.String()), 0o644))
	var archive bytes.Buffer
	zip := gzip.NewWriter(&archive)
	w := tar.NewWriter(zip)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "kubelet.log", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(log.Len())}))
	_, err := w.Write([]byte(log.String()))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, zip.Close())
	bundle := filepath.Join(t.TempDir(), "b.tgz")
	require.NoError(t, os.WriteFile(bundle, archive.Bytes(), 0o644))
	catalog, err := catalog.Builtin()
	require.NoError(t, err)

	for _, input := range []string{dir, bundle} {
		inc, err := Load(t.Context(), Options{Inputs: Inputs{Paths: []string{input}}, Catalog: catalog, Context: true})
		require.NoError(t, err)
		require.Len(t, inc.Timeline.Stalls, 1)
		first := event.Pos{File: "kubelet.log", Line: 61}
		require.Equal(t, Surroundings{Before: lines[58:60], After: lines[61:63]}, inc.Context[first])
		last := event.Pos{File: "kubelet.log", Line: 63}
		require.Equal(t, Surroundings{Before: lines[60:62]}, inc.Context[last], "the file ends there")
	}
	inc, err := Load(t.Context(), Options{Inputs: Inputs{Paths: []string{"-"}, Stdin: strings.NewReader(log.String())}, Catalog: catalog, Context: true})
	require.NoError(t, err)
	require.Empty(t, inc.Context)
	inc, err = Load(t.Context(), Options{Inputs: Inputs{Paths: []string{dir}}, Catalog: catalog})
	require.NoError(t, err)
	require.Nil(t, inc.Context, "nobody asked")
}
