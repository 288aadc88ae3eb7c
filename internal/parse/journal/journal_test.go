package journal_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/journal"
	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
)

// what of a record does not depend on how the journal was stored.
func bare(records []event.Record) []event.Record {
	var all []event.Record
	for _, r := range records {
		r.Pos, r.Lines, r.Pieces = event.Pos{}, 0, nil
		// an export writes no name before a value that it gives with its length
		r.Raw = strings.TrimPrefix(r.Raw, "MESSAGE=")
		all = append(all, r)
	}
	return all
}

// The same journal, exported by journalctl and as journald stores it, regular and compact, gives
// the same records.
func TestJournalFileIsItsExport(t *testing.T) {
	want := bare(parsetest.Read(t, parsetest.Format(t, "journal-export"), parsetest.Sample(t, "journal-export/umount2.log.gz"), nil).Records)
	for _, name := range []string{"journal-file/umount2_regular.log.gz", "journal-file/umount2_compact.log.gz"} {
		got := parsetest.Read(t, parsetest.Format(t, "journal-file"), parsetest.Sample(t, name), nil)
		require.Equal(t, want, bare(got.Records), name)
		require.Empty(t, got.Skips)
		require.Equal(t, 174, got.Stats.Lines, "entries")
	}
}

// journalctl itself reads the same out of a file that systemd-journal-remote has just written.
func TestJournalFileAsJournalctlReadsIt(t *testing.T) {
	remote := "/lib/systemd/systemd-journal-remote"
	if _, err := os.Stat(remote); err != nil {
		t.Skip("systemd-journal-remote is not installed; the files in testdata were made by it")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "source.export")
	require.NoError(t, os.WriteFile(source, parsetest.Sample(t, "journal-export/umount2.log.gz"), 0o644))
	for _, compact := range []string{"0", "1"} {
		file := filepath.Join(dir, compact+".journal")
		cmd := exec.Command(remote, "-o", file, source)
		cmd.Env = append(os.Environ(), "SYSTEMD_JOURNAL_COMPACT="+compact)
		require.NoError(t, cmd.Run())
		exported, err := exec.Command("journalctl", "--file", file, "-o", "export").Output()
		require.NoError(t, err)
		stored, err := os.ReadFile(file)
		require.NoError(t, err)
		want := parsetest.Read(t, parsetest.Format(t, "journal-export"), exported, nil)
		require.Equal(t, bare(want.Records), bare(parsetest.Read(t, parsetest.Format(t, "journal-file"), stored, nil).Records))
	}
}

func TestJournalFileCompression(t *testing.T) {
	text := "PLEG is not healthy: pleg was last seen active 3m0.1s ago; threshold is 3m0s; again: PLEG is not healthy: pleg was last seen active 3m0.1s ago"
	entry := []string{"MESSAGE=" + text, "SYSLOG_IDENTIFIER=kubelet kubelet kubelet kubelet kubelet kubelet kubelet kubelet", "PRIORITY=3"}
	for _, flag := range []byte{0, journal.DataXZ, journal.DataLZ4, journal.DataZstd} {
		if flag == journal.DataLZ4 {
			entry = entry[:2] // what does not get smaller is stored as it is
		}
		for _, compact := range []bool{false, true} {
			a := parsetest.Read(t, parsetest.Format(t, "journal-file"), journal.Stored(t, flag, compact, entry, []string{"MESSAGE=" + text}), nil)
			require.Empty(t, a.Skips)
			require.Len(t, a.Records, 2)
			require.Equal(t, text, a.Records[0].Text)
			require.Contains(t, a.Records[0].Unit, "kubelet")
			require.Equal(t, 2, a.Records[1].Pos.Line)
			require.Equal(t, int64(1_762_594_200_000_001), a.Records[1].Time.T.UnixMicro())
		}
	}
}

// Cut anywhere, a journal gives the entries that are whole, and says that it breaks off.
func TestJournalFileCut(t *testing.T) {
	whole := journal.Stored(t, 0, true, []string{"MESSAGE=one"}, []string{"MESSAGE=two"}, []string{"MESSAGE=three", "_PID=7"})
	f := parsetest.Format(t, "journal-file")
	all := parsetest.Read(t, f, whole, nil).Records
	require.Len(t, all, 3)
	for n := len(journal.Magic); n < len(whole); n++ {
		a := parsetest.Read(t, f, whole[:n], nil)
		require.LessOrEqual(t, len(a.Records), 3)
		require.Equal(t, bare(all[:len(a.Records)]), bare(a.Records), "a prefix")
		if n < journal.HeaderMin {
			require.NotEmpty(t, a.Skips)
		}
	}

	wild := bytes.Clone(whole)
	at := bytes.Index(wild, []byte("MESSAGE=two")) - journal.DataPayloadSmall
	wild[at] = journal.ObjectEntry // the second entry points to what is no field any more
	a := parsetest.Read(t, f, wild, nil)
	require.Contains(t, a.Text.String(), "no field stands at byte")
	wild = bytes.Clone(whole)
	wild[journal.IncompatibleAt] |= 0x80
	require.Contains(t, parsetest.Read(t, f, wild, nil).Text.String(), "a journal with flags 0x80")
}
