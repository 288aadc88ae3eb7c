package parse

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"github.com/plegdiag/plegdiag/internal/event"
)

// what of a record does not depend on how the journal was stored.
func bare(records []event.Record) []event.Record {
	var all []event.Record
	for _, r := range records {
		r.Pos, r.Lines, r.Pieces = event.Pos{}, 0, nil
		r.Raw = strings.TrimPrefix(r.Raw, "MESSAGE=") // an export writes no name before a value that it gives with its length
		all = append(all, r)
	}
	return all
}

// The same journal, exported by journalctl and as journald stores it, regular and compact, gives the same records.
func TestJournalFileIsItsExport(t *testing.T) {
	want := bare(read(t, format(t, "journal-export"), sample(t, "journal-export/umount2.log.gz"), nil).records)
	for _, name := range []string{"journal-file/umount2_regular.log.gz", "journal-file/umount2_compact.log.gz"} {
		got := read(t, format(t, "journal-file"), sample(t, name), nil)
		require.Equal(t, want, bare(got.records), name)
		require.Empty(t, got.skips)
		require.Equal(t, 174, got.stats.Lines, "entries")
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
	require.NoError(t, os.WriteFile(source, sample(t, "journal-export/umount2.log.gz"), 0o644))
	for _, compact := range []string{"0", "1"} {
		file := filepath.Join(dir, compact+".journal")
		cmd := exec.Command(remote, "-o", file, source)
		cmd.Env = append(os.Environ(), "SYSTEMD_JOURNAL_COMPACT="+compact)
		require.NoError(t, cmd.Run())
		exported, err := exec.Command("journalctl", "--file", file, "-o", "export").Output()
		require.NoError(t, err)
		stored, err := os.ReadFile(file)
		require.NoError(t, err)
		want := read(t, format(t, "journal-export"), exported, nil)
		require.Equal(t, bare(want.records), bare(read(t, format(t, "journal-file"), stored, nil).records))
	}
}

// stored writes a journal of one entry per list of fields, each field compressed by the flag's method.
func stored(t testing.TB, flag byte, compact bool, entries ...[]string) []byte {
	t.Helper()
	file := make([]byte, 272)
	copy(file, journalMagic)
	binary.LittleEndian.PutUint64(file[headerSizeAt:], uint64(len(file)))
	payload, item := dataPayloadAt, 16
	if compact {
		payload, item = dataPayloadSmall, 4
		binary.LittleEndian.PutUint32(file[incompatibleAt:], compactFlag)
	}
	object := func(kind, flags byte, body []byte) uint64 {
		for len(file)%8 != 0 {
			file = append(file, 0)
		}
		at := uint64(len(file))
		head := make([]byte, objectHead)
		head[0], head[1] = kind, flags
		binary.LittleEndian.PutUint64(head[8:], uint64(objectHead+len(body)))
		file = append(append(file, head...), body...)
		return at
	}
	for n, fields := range entries {
		body := make([]byte, entryItemsAt-objectHead)
		binary.LittleEndian.PutUint64(body[entryRealtimeAt-objectHead:], uint64(1_762_594_200_000_000+n))
		for _, f := range fields {
			data := append(make([]byte, payload-objectHead), squeeze(t, flag, []byte(f))...)
			at := object(objectData, flag, data)
			one := binary.LittleEndian.AppendUint64(nil, at)
			body = append(body, append(one, make([]byte, 8)...)[:item]...)
		}
		object(objectEntry, 0, body)
	}
	return append(file, make([]byte, 64)...)
}

func squeeze(t testing.TB, flag byte, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	switch flag {
	case dataXZ:
		w, err := xz.NewWriter(&out)
		require.NoError(t, err)
		_, err = w.Write(b)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	case dataLZ4:
		packed := make([]byte, 8+lz4.CompressBlockBound(len(b)))
		binary.LittleEndian.PutUint64(packed, uint64(len(b)))
		n, err := lz4.CompressBlock(b, packed[8:], nil)
		require.NoError(t, err)
		require.Positive(t, n)
		return packed[:8+n]
	case dataZstd:
		w, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		return w.EncodeAll(b, nil)
	default:
		return b
	}
	return out.Bytes()
}

func TestJournalFileCompression(t *testing.T) {
	text := "PLEG is not healthy: pleg was last seen active 3m0.1s ago; threshold is 3m0s; again: PLEG is not healthy: pleg was last seen active 3m0.1s ago"
	entry := []string{"MESSAGE=" + text, "SYSLOG_IDENTIFIER=kubelet kubelet kubelet kubelet kubelet kubelet kubelet kubelet", "PRIORITY=3"}
	for _, flag := range []byte{0, dataXZ, dataLZ4, dataZstd} {
		if flag == dataLZ4 {
			entry = entry[:2] // what does not get smaller is stored as it is
		}
		for _, compact := range []bool{false, true} {
			a := read(t, format(t, "journal-file"), stored(t, flag, compact, entry, []string{"MESSAGE=" + text}), nil)
			require.Empty(t, a.skips)
			require.Len(t, a.records, 2)
			require.Equal(t, text, a.records[0].Text)
			require.Contains(t, a.records[0].Unit, "kubelet")
			require.Equal(t, 2, a.records[1].Pos.Line)
			require.Equal(t, int64(1_762_594_200_000_001), a.records[1].Time.T.UnixMicro())
		}
	}
}

// Cut anywhere, a journal gives the entries that are whole, and says that it breaks off.
func TestJournalFileCut(t *testing.T) {
	whole := stored(t, 0, true, []string{"MESSAGE=one"}, []string{"MESSAGE=two"}, []string{"MESSAGE=three", "_PID=7"})
	f := format(t, "journal-file")
	all := read(t, f, whole, nil).records
	require.Len(t, all, 3)
	for n := len(journalMagic); n < len(whole); n++ {
		a := read(t, f, whole[:n], nil)
		require.LessOrEqual(t, len(a.records), 3)
		require.Equal(t, bare(all[:len(a.records)]), bare(a.records), "a prefix")
		if n < journalHeaderMin {
			require.NotEmpty(t, a.skips)
		}
	}

	wild := bytes.Clone(whole)
	at := bytes.Index(wild, []byte("MESSAGE=two")) - dataPayloadSmall
	wild[at] = objectEntry // the second entry points to what is no field any more
	a := read(t, f, wild, nil)
	require.Contains(t, a.text.String(), "no field stands at byte")
	wild = bytes.Clone(whole)
	wild[incompatibleAt] |= 0x80
	require.Contains(t, read(t, f, wild, nil).text.String(), "a journal with flags 0x80")
}
