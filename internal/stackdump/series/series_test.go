package series_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/stackdump/series"
)

func TestCompare(t *testing.T) {
	dump := func(goroutines ...string) *stackdump.Dump {
		var text strings.Builder
		for _, g := range goroutines {
			text.WriteString(g)
		}
		return stackdump.Parse(stackdump.Source{File: "f", Text: text.String()})
	}
	g := func(id int, state, f string) string {
		return fmt.Sprintf("goroutine %d [%s]:\nmain.%s(0x%d)\n\t/x.go:%d +0x1\ncreated by main.main\n\t/x.go:1 +0x1\n\n", id, state, f, id, len(f))
	}
	first := dump(g(1, "select", "a"), g(2, "select, 5 minutes", "b"), g(3, "select, 5 minutes", "c"), g(4, "select", "d"), g(5, "runnable", "e"))
	second := dump(g(1, "select, 1 minutes", "a"), g(2, "select, 2 minutes", "b"), g(3, "select, 6 minutes", "c"), g(5, "runnable", "e"), g(6, "select", "f"))
	third := dump(g(1, "select, 2 minutes", "z"), g(2, "select, 3 minutes", "b"), g(3, "select, 7 minutes", "c"), g(5, "runnable", "e"), g(7, "select", "f"))
	require.True(t, sameProcess(first, second))

	d := series.Compare([]*stackdump.Dump{first, second})
	require.Equal(t, []uint64{1, 3}, stays(d))
	require.Len(t, d.Slow, 2)
	require.Equal(t, uint64(2), d.Slow[0].Is.ID, "its wait began anew")
	require.Equal(t, uint64(5), d.Slow[1].Is.ID, "one that runs is not stuck")
	require.Len(t, d.Finished, 1)
	require.Equal(t, uint64(4), d.Finished[0].ID)
	require.Len(t, d.New, 1)
	require.Equal(t, uint64(6), d.New[0].ID)

	require.Equal(t, map[uint64]bool{1: true, 3: true}, series.Stayed(series.NewDigest(first), series.NewDigest(second)))

	d = series.Compare([]*stackdump.Dump{first, second, third})
	require.Equal(t, []uint64{2, 3}, stays(d))
	require.Equal(t, 1, d.Stuck[0].Since)
	require.Equal(t, 0, d.Stuck[1].Since)
	require.Equal(t, 7*time.Minute, d.Stuck[1].Wait)
}

func readGzip(t testing.TB, path string) string {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}

func sameProcess(a, b *stackdump.Dump) bool {
	return series.SameProcess(series.NewDigest(a), series.NewDigest(b))
}

func stays(d series.Diff) (ids []uint64) {
	for _, s := range d.Stuck {
		ids = append(ids, s.ID)
	}
	return ids
}

// Dumps of two programs have ids in common, but no goroutines.
func TestSameProcess(t *testing.T) {
	read := func(name string) *stackdump.Dump {
		return stackdump.Parse(stackdump.Source{File: name, Text: readGzip(t, filepath.Join("..", "testdata", name+".log.gz"))})
	}
	containerd, dockerd := read("containerd-1.6.20-docker-dbus-stall"), read("dockerd-20.10.24-dbus-stall")
	require.True(t, sameProcess(containerd, containerd))
	require.False(t, sameProcess(containerd, dockerd))
	require.False(t, sameProcess(containerd, &stackdump.Dump{}))
	// Three dumps of one containerd, in the order in which they were taken.
	first, second := read("containerd-1.6.20-umount2"), read("containerd-1.6.20-dbus-stall")
	require.True(t, sameProcess(first, second))
	require.True(t, sameProcess(second, containerd))
	d := series.Compare([]*stackdump.Dump{first, second, containerd})
	require.Contains(t, stays(d), uint64(1))
	var finished []uint64
	for _, g := range series.Compare([]*stackdump.Dump{first, second}).Finished {
		finished = append(finished, g.ID)
	}
	require.Contains(t, finished, uint64(492), "it held the status lock for a minute, and let go")
	// Two processes of one program number their goroutines alike, but have their objects elsewhere.
	const text = "goroutine 1 [select]:\nmain.(*T).f(0xc000100%d80)\n\t/x.go:1 +0x1\n"
	one, other := stackdump.Parse(stackdump.Source{Text: fmt.Sprintf(text, 1)}), stackdump.Parse(stackdump.Source{Text: fmt.Sprintf(text, 2)})
	require.True(t, sameProcess(one, one))
	require.False(t, sameProcess(one, other))
}

// Part of a dump is one of another that has all its goroutines and more, as they are.
func TestIsPartOf(t *testing.T) {
	digest := func(headers ...string) *series.Digest {
		var text strings.Builder
		for _, h := range headers {
			fmt.Fprintf(&text, "goroutine %s:\nmain.f(0xc000100180)\n\t/x.go:1 +0x1\n\n", h)
		}
		return series.NewDigest(stackdump.Parse(stackdump.Source{File: "f", Text: text.String()}))
	}
	whole := digest("9 [running]", "1 [select]", "2 [select, 5 minutes]")
	require.True(t, digest("2 [select, 5 minutes]").IsPartOf(whole))
	require.True(t, digest("2 [select, 5 minutes]", "9 [running]").IsPartOf(whole))
	require.False(t, whole.IsPartOf(whole), "a copy")
	require.False(t, digest("2 [select, 6 minutes]").IsPartOf(whole))
	require.False(t, digest("2 [select, 5 minutes]", "1 [IO wait]").IsPartOf(whole))
	require.False(t, digest("3 [select]").IsPartOf(whole))
	require.False(t, digest().IsPartOf(whole))
}

// The dumps that may hold a part are those with the rarest of its goroutines.
func TestFindWholes(t *testing.T) {
	digest := func(ids ...int) *series.Digest {
		var text strings.Builder
		for _, id := range ids {
			fmt.Fprintf(&text, "goroutine %d [select]:\nmain.f(0xc000100180)\n\t/x.go:1 +0x1\n\n", id)
		}
		return series.NewDigest(stackdump.Parse(stackdump.Source{File: "f", Text: text.String()}))
	}
	all := []*series.Digest{digest(1, 2, 3), digest(1, 4), digest(1, 3), digest(1, 5, 6), digest()}
	wholes := series.FindWholes(all, func(i int) bool { return i >= 2 })
	require.Equal(t, []int32{0, 2}, wholes.Of(all[2]))
	require.Equal(t, []int32{3}, wholes.Of(all[3]))
	require.Empty(t, wholes.Of(all[4]))
}
