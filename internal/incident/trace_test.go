package incident

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/observe/syscalls"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

func TestReadTraces(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"a.strace": "101 18:54:12.000000 umount2(\"/run\", 0) = 0 <1.000000>\n102 18:54:14.000000 fsync(3 <unfinished ...>\n",
		"ff/w.201": "1763664852.000000 fsync(3) = 0 <0.500000>\nwhat is this\n",
		"ff/w.202": "1763664853.000000 fsync(4) = 0 <0.500000>\n",
		"k.log":    "I1120 18:54:12.000000       9 kubelet.go:1] \"hello\"\n",
		"t.md":     "The shim hangs:\n\n[pid 7] 18:54:12.000000 umount2(\"/run\", 0) = 0 <1.000000>\n[pid 8] 18:54:13.000000 fsync(3) = 0 <1.000000>\n[pid 8] 18:54:15.000000 fsync(3) = 0 <1.000000>\n",
	})
	found, accounts, err := ReadTraces(context.Background(), Inputs{Paths: []string{dir}}, nil)
	require.NoError(t, err)
	require.Len(t, accounts, 5)
	var said []string
	for _, s := range found {
		said = append(said, fmt.Sprintf("%s: %d files, %d lines, %d blank, %d skipped, %d open, fsync %d", s.Path, len(s.Files), s.Lines, s.Blank, s.Skipped, len(s.Open), fsyncs(s)))
	}
	require.Equal(t, []string{
		"a.strace: 0 files, 2 lines, 0 blank, 0 skipped, 1 open, fsync 0",
		"ff/w.*: 2 files, 3 lines, 0 blank, 1 skipped, 0 open, fsync 2",
		"t.md: 0 files, 5 lines, 1 blank, 1 skipped, 0 open, fsync 2",
	}, said)
	require.Contains(t, found[1].FirstSkip, "ff/w.201:2:")
	for _, a := range accounts {
		require.Equal(t, a.Lines, a.Used+a.Blank+a.Skipped, a.Path)
	}

	first := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	dated, _, err := ReadTraces(context.Background(), Inputs{Paths: []string{dir}}, &traces.Date{First: first, Zone: time.UTC})
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 11, 20, 18, 54, 12, 0, time.UTC), dated[0].First.T)
}

func fsyncs(s *syscalls.Summary) int {
	if n := s.Calls["fsync"]; n != nil {
		return n.Count
	}
	return 0
}
