package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// stored puts a journal that systemd 252 wrote into a directory as journald would, and returns its
// file.
func stored(t *testing.T, dir string) string {
	t.Helper()
	packed, err := os.Open("../../internal/parse/testdata/journal-file/umount2_compact.log.gz")
	require.NoError(t, err)
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	path := filepath.Join(dir, "machine", "system.journal")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// Without journalctl the files of the journal are read, redacted like all else, and analyze makes
// of them what it makes of the files.
func TestCollectJournalFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := stored(t, dir)
	got := collectOnce(t, 30*time.Second, append(nothing(dir), "--only", "clock,journal", "--journal", dir, "--since", "100000h")...)
	require.NoError(t, got.err, got.stderr)
	var names []string
	manifest := verified(t, got.path)
	for _, item := range manifest.Items {
		if item.Step == "journal" {
			require.Equal(t, bundle.OK, item.Outcome, item.Why)
			names = append(names, item.Name)
		}
	}
	require.Contains(t, manifest.Replaced, "environment", "the rules that ran")
	require.Equal(t, []string{"journal/files/system.export"}, names)

	kinds := func(input string) string {
		var out, stderr bytes.Buffer
		require.Zero(t, run([]string{"timeline", "--all", "--component", "containerd", "-o", "csv", input}, nil, &out, &stderr), stderr.String())
		rows := bytes.Split(out.Bytes(), []byte("\n"))
		for i, row := range rows { // all but where it stands
			if at := bytes.LastIndex(row, []byte("plegdiag-")); at > 0 {
				rows[i] = row[:at]
			} else if at := bytes.LastIndex(row, []byte("/system.journal")); at > 0 {
				rows[i] = row[:bytes.LastIndexByte(row[:at], ',')+1]
			}
		}
		return string(bytes.Join(rows, []byte("\n")))
	}
	require.Contains(t, kinds(path), "containerd.task-exit")
	require.Equal(t, kinds(path), kinds(got.path))
}

// A journal that systemd writes here and now gives what journalctl prints of it.
func TestCollectRealJournal(t *testing.T) {
	t.Parallel()
	remote, journalctl := tool(t, "systemd-journal-remote"), tool(t, "journalctl")
	dir := t.TempDir()
	packed, err := os.Open("../../internal/parse/testdata/journal-export/umount2.log.gz")
	require.NoError(t, err)
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	require.NoError(t, err)
	path := filepath.Join(dir, "system.journal")
	cmd := exec.Command(remote, "-o", path, "-")
	cmd.Stdin = r
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))

	got := collectOnce(t, 30*time.Second, append(nothing(dir), "--only", "clock,journal", "--journal", dir, "--since", "100000h", "--no-redact")...)
	require.NoError(t, got.err, got.stderr)
	require.Empty(t, verified(t, got.path).Replaced, "no rule ran")
	// Unit names and PID 1 are what collect asks for; the entries of nobody else are in the
	// journal, or they are left out.
	want, err := exec.Command(journalctl, "-q", "-o", "cat", "--file", path, "_SYSTEMD_UNIT=containerd.service", "+", "_SYSTEMD_UNIT=kubelet.service").Output()
	require.NoError(t, err)
	require.NotEmpty(t, want)
	export := content(t, got.path, "journal/files/system.export")
	for line := range bytes.Lines(want) {
		require.Contains(t, string(export), string(bytes.TrimRight(line, "\n")))
	}
}
