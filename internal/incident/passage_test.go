package incident_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
)

// A passage is lines as they stand in the file; of a long one the part that is asked for.
func TestReadPassage(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("x", 100_000) + "needle" + strings.Repeat("y", 100_000)
	for name, text := range map[string]string{"a/kubelet.log": "one\ntwo\n" + long + "\nfour", "b/kubelet.log": "other\n", "b/one.log": "1\n2\n3\n"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	read := func(file string, line, count int, around string) (incident.Passage, error) {
		return incident.ReadPassage(t.Context(), incident.Inputs{Paths: []string{dir}}, event.Pos{File: file, Line: line}, count, around)
	}
	p, err := read("one.log", 2, 1, "")
	require.NoError(t, err)
	require.Equal(t, incident.Passage{Path: "b/one.log", First: 2, Lines: []string{"2"}, More: true}, p)
	p, err = read("a/kubelet.log", 2, 9, "needle")
	require.NoError(t, err)
	require.False(t, p.More)
	require.Len(t, p.Lines, 3)
	require.Contains(t, p.Lines[1], "xneedley")
	require.Less(t, len(p.Lines[1]), event.MaxRaw)
	p, err = read("a/kubelet.log", 3, 1, "")
	require.NoError(t, err)
	require.Len(t, p.Lines[0], event.MaxRaw)
	p, err = read("a/kubelet.log", 99, 1, "")
	require.NoError(t, err)
	require.Empty(t, p.Lines)
	_, err = read("kubelet.log", 1, 1, "")
	require.ErrorContains(t, err, "the end of 2 paths")
	_, err = read("none.log", 1, 1, "")
	require.ErrorIs(t, err, incident.ErrNoFile)
}
