package incident_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
)

// TestSamplesBesideTrace: strace and xcapture watched the same umount2 (parse/testdata/README.md). Both tell of the same
// thread; what the samples show lies inside of what strace saw, and the samples give strace its date.
func TestSamplesBesideTrace(t *testing.T) {
	dir := t.TempDir()
	for name, sample := range map[string]string{
		"threads.csv": "../parse/testdata/xcapture/v126_umount2-under-strace.csv.log.gz",
		"shim.strace": "../parse/testdata/strace/umount2-overlay-sync.f.tt.T.log.gz",
	} {
		f, err := os.Open(sample)
		require.NoError(t, err)
		defer f.Close()
		zip, err := gzip.NewReader(f)
		require.NoError(t, err)
		text, err := io.ReadAll(zip)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	inc, err := loadAny(t, incident.Options{Inputs: []string{dir}})
	require.NoError(t, err)
	require.Equal(t, "xcapture", account(t, inc, "threads.csv").Format)
	one := func(kind event.Kind) event.Event {
		var found []event.Event
		for _, e := range inc.Timeline.Events {
			if name, _ := e.Get("name"); e.Kind == kind && name.Text() == "umount2" {
				found = append(found, e)
			}
		}
		require.Len(t, found, 1, kind)
		return found[0]
	}
	call, run := one("syscall"), one("thread.sample")
	require.Equal(t, 41246, call.IDs.TID)
	require.Equal(t, call.IDs.TID, run.IDs.TID)
	require.False(t, run.Start.T.Before(call.Start.T))
	require.False(t, run.End.T.After(call.End.T))
}
