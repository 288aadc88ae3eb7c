package stackdump

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// The text and the binary form of a profile, taken of one process right after
// another, count the same goroutines. The text leaves the runtime's frames out.
func TestProfileForms(t *testing.T) {
	text := readGzip(t, filepath.Join("testdata", "containerd-1.6.20-frozen-shim.debug1.log.gz"))
	d1 := Parse(Source{File: "debug1", Line: 1, Text: text})
	checkLaws(t, d1, strings.Split(text, "\n"))
	require.Empty(t, d1.Skips)
	require.Equal(t, 111, d1.Count())
	require.Contains(t, text, "total 111\n")

	d0 := Parse(Source{File: "debug0", Line: 1, Text: readGzip(t, filepath.Join("testdata", "containerd-1.6.20-frozen-shim.debug0.pb.gz"))})
	checkLaws(t, d0, nil)
	require.Empty(t, d0.Skips)
	require.Equal(t, 111, d0.Count())

	for _, d := range []*Dump{d0, d1} {
		require.True(t, d.Profile)
		q := d.Graph(nil).Queues
		require.Len(t, q, 2, d.File)
		require.Equal(t, "ttrpc client", q[0].Type)
		require.Empty(t, q[0].Addr)
		require.Equal(t, "sync.WaitGroup", q[1].Type)
		n := 0
		for _, w := range q[0].Waiters {
			g := &d.Goroutines[w.Goroutine]
			n += 1 + g.Alike
			require.Equal(t, RPC, g.End().Kind)
			require.True(t, g.End().Outside())
		}
		require.Equal(t, 7, n, d.File)
	}
	own := func(d *Dump) (all []string) { // the stacks without the runtime, which only one form has
		for _, g := range d.Goroutines {
			if g.frameIn("net/http.(*connReader)") >= 0 {
				continue // of the request that asked for the profile
			}
			var names []string
			for _, f := range g.Frames {
				if !strings.HasPrefix(f.Func, "runtime.") {
					names = append(names, f.Func)
				}
			}
			all = append(all, strings.Join(names, ";"))
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	require.Equal(t, own(d1), own(d0))
}

func TestProfileText(t *testing.T) {
	const text = `goroutine profile: total 4
3 @ 0x43 0x44
# labels: {"pod":"a \"b\" ]:", "app":"x"}
#	0x43	k8s.io/x.(*T).f+0x1c	/src/a b/x.go:17
#	0x44

1 @ 0x45
#	0x45	main.main.func1+0x2		/src/main.go:9
x @ 0x45
goroutine 7 [select]:
main.f()
	/src/main.go:10 +0x1
`
	d := Parse(Source{File: "f", Line: 1, Text: text})
	checkLaws(t, d, strings.Split(text, "\n"))
	require.Len(t, d.Goroutines, 3)
	g := d.Goroutines[0]
	require.Equal(t, 2, g.Alike)
	require.Equal(t, []event.Pair{{Key: "app", Value: "x"}, {Key: "pod", Value: `a "b" ]:`}}, g.Labels)
	require.Len(t, g.Frames, 2)
	require.Equal(t, "k8s.io/x.(*T).f", g.Frames[0].Func)
	require.Equal(t, "/src/a b/x.go", g.Frames[0].File)
	require.Equal(t, 17, g.Frames[0].Line)
	require.Equal(t, event.Pos{File: "f", Line: 4}, g.Frames[0].Pos)
	require.Equal(t, "?", g.Frames[1].Func)
	require.Equal(t, uint64(7), d.Goroutines[2].ID)
	require.Len(t, d.Skips, 1)
	require.Equal(t, 9, d.Skips[0].Pos.Line)
}

// What is no goroutine profile is refused, not half read.
func TestProfileRefused(t *testing.T) {
	whole := readGzip(t, filepath.Join("testdata", "containerd-1.6.20-frozen-shim.debug0.pb.gz"))
	var heap bytes.Buffer
	other := &profile.Profile{SampleType: []*profile.ValueType{{Type: "space", Unit: "bytes"}}, PeriodType: &profile.ValueType{}}
	require.NoError(t, other.WriteUncompressed(&heap))
	for name, text := range map[string]string{"cut": whole[:len(whole)/2], "space": heap.String()} {
		d := Parse(Source{File: "p", Text: text})
		checkLaws(t, d, nil)
		require.Empty(t, d.Goroutines, name)
		require.Len(t, d.Skips, 1, name)
		require.Equal(t, 1, d.Skipped, name)
	}
}

// The profile that is written holds every goroutine once, opens in go tool
// pprof, and is read back by Parse.
func TestWriteProfile(t *testing.T) {
	text := readGzip(t, filepath.Join("testdata", "dockerd-20.10.24-dbus-stall.log.gz"))
	d := Parse(Source{File: "dockerd", Line: 1, Text: text})
	var first, second bytes.Buffer
	whole := []Selection{{Dump: d, Locks: d.Locks(nil)}}
	require.NoError(t, WriteProfile(&first, whole))
	require.NoError(t, WriteProfile(&second, whole))
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
	back := Parse(Source{File: "out", Text: readGzip(t, file)})
	require.Empty(t, back.Skips)
	require.Equal(t, d.Count(), back.Count())

	out, err := exec.Command("go", "tool", "pprof", "-top", file).Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "Type: goroutine")
	require.Contains(t, string(out), "55, 100% of 55 total")
}

// Only what is wanted is written, with the lock that it waits for.
func TestWriteProfileOfSome(t *testing.T) {
	d := Parse(Source{File: "dockerd", Line: 1, Text: readGzip(t, filepath.Join("testdata", "dockerd-20.10.24-dbus-stall.log.gz"))})
	var out bytes.Buffer
	require.NoError(t, WriteProfile(&out, []Selection{{Dump: d, Locks: d.Locks(nil), Wants: func(i int) bool { return d.Goroutines[i].ID == 201 }}}))
	p, err := profile.ParseData(out.Bytes())
	require.NoError(t, err)
	require.Len(t, p.Sample, 1)
	require.Equal(t, []int64{1}, p.Sample[0].Value)
	require.Equal(t, []string{"0xc000d96a00"}, p.Sample[0].Label["lock"])
}

// Dumps of several files are told apart.
func TestWriteProfileOfTwo(t *testing.T) {
	dump := func(file string) Selection {
		return Selection{Dump: Parse(Source{File: file, Text: "goroutine 1 [select]:\nmain.f()\n\t/x.go:1 +0x1\n"})}
	}
	var out bytes.Buffer
	require.NoError(t, WriteProfile(&out, []Selection{dump("a"), dump("b")}))
	p, err := profile.ParseData(out.Bytes())
	require.NoError(t, err)
	require.Len(t, p.Sample, 2)
	require.Equal(t, []string{"a"}, p.Sample[0].Label["dump"])
	require.Equal(t, []string{"b"}, p.Sample[1].Label["dump"])
	require.Len(t, p.Location, 1)
}
