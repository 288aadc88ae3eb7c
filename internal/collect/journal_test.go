package collect

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The newest file of a journal is read first: the end of the time for it must not cost what
// happened last.
func TestNewestJournalFirst(t *testing.T) {
	packed, err := os.Open("../parse/testdata/journal-file/umount2_compact.log.gz")
	require.NoError(t, err)
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	dir := t.TempDir()
	for i, name := range []string{"system@old", "system", "system@oldest"} {
		path := filepath.Join(dir, name+".journal")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		at := now().Add(-[]time.Duration{2, 1, 3}[i] * time.Hour)
		require.NoError(t, os.Chtimes(path, at, at))
	}
	var out bytes.Buffer
	tasks["journals"](&task{Bound: fileBound, Items: []want{{Name: "journal/files", Source: dir + "/*"}}}, newFrames(&out))
	var began []string
	for _, m := range regexp.MustCompile(`\{"begin":"journal/files/([^"]+)\.export"`).FindAllStringSubmatch(out.String(), -1) {
		began = append(began, m[1])
	}
	require.Equal(t, []string{"system", "system@old", "system@oldest"}, began)
}
