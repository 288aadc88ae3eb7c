package profiles

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/stackdump"
)

func readGzip(t *testing.T, path string) string {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}

// The profile that is written holds every goroutine once, opens in go tool
// pprof, and is read back by Parse.
func TestWrite(t *testing.T) {
	text := readGzip(t, filepath.Join("..", "testdata", "dockerd-20.10.24-dbus-stall.log.gz"))
	d := stackdump.Parse(stackdump.Source{File: "dockerd", Line: 1, Text: text})
	var first, second bytes.Buffer
	whole := []Selection{{Dump: d, Locks: d.Locks(nil)}}
	require.NoError(t, Write(&first, whole))
	require.NoError(t, Write(&second, whole))
	require.Equal(t, first.Bytes(), second.Bytes(), "the same bytes each time")

	p, err := profile.ParseData(first.Bytes())
	require.NoError(t, err)
	require.NoError(t, p.CheckValid())
	total, locked := int64(0), int64(0)
	for _, s := range p.Sample {
		total += s.Value[0]
		require.Len(t, s.Label["state"], 1)
		if slices.Equal(s.Label["lock"], []string{"0xc000d96a00"}) {
			locked += s.Value[0]
			require.Equal(t, []string{"2 minutes"}, s.Label["wait"])
		}
	}
	require.EqualValues(t, d.Count(), total)
	require.EqualValues(t, 2, locked)

	file := filepath.Join(t.TempDir(), "out.pb.gz")
	require.NoError(t, os.WriteFile(file, first.Bytes(), 0o644))
	back := stackdump.Parse(stackdump.Source{File: "out", Text: readGzip(t, file)})
	require.Empty(t, back.Skips)
	require.Equal(t, d.Count(), back.Count())

	out, err := exec.Command("go", "tool", "pprof", "-top", file).Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "Type: goroutine")
	require.Contains(t, string(out), "55, 100% of 55 total")
}

// Only what is wanted is written, with the lock that it waits for.
func TestWriteOfSome(t *testing.T) {
	d := stackdump.Parse(stackdump.Source{File: "dockerd", Line: 1, Text: readGzip(t, filepath.Join("..", "testdata", "dockerd-20.10.24-dbus-stall.log.gz"))})
	var out bytes.Buffer
	require.NoError(t, Write(&out, []Selection{{Dump: d, Locks: d.Locks(nil), Wants: func(i int) bool { return d.Goroutines[i].ID == 201 }}}))
	p, err := profile.ParseData(out.Bytes())
	require.NoError(t, err)
	require.Len(t, p.Sample, 1)
	require.Equal(t, []int64{1}, p.Sample[0].Value)
	require.Equal(t, []string{"0xc000d96a00"}, p.Sample[0].Label["lock"])
}

// Dumps of several files are told apart.
func TestWriteOfTwo(t *testing.T) {
	dump := func(file string) Selection {
		return Selection{Dump: stackdump.Parse(stackdump.Source{File: file, Text: "goroutine 1 [select]:\nmain.f()\n\t/x.go:1 +0x1\n"})}
	}
	var out bytes.Buffer
	require.NoError(t, Write(&out, []Selection{dump("a"), dump("b")}))
	p, err := profile.ParseData(out.Bytes())
	require.NoError(t, err)
	require.Len(t, p.Sample, 2)
	require.Equal(t, []string{"a"}, p.Sample[0].Label["dump"])
	require.Equal(t, []string{"b"}, p.Sample[1].Label["dump"])
	require.Len(t, p.Location, 1)
}
