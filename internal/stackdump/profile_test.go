package stackdump

import (
	"bytes"
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

// The first line says how many goroutines there were.
func TestProfileMissing(t *testing.T) {
	const entry = "3 @ 0x43 0x44\n#\t0x43\tmain.f+0x1c\t/src/x.go:17\n"
	for first, missing := range map[string]int{
		"": 0, "goroutine profile: total 3\n": 0, "goroutine profile: total 2814\n": 2811, "goroutine profile: total many\n": 0,
	} {
		d := Parse(Source{File: "f", Text: first + entry})
		require.Equal(t, missing, d.Missing, first)
		require.Equal(t, missing > 0, d.Incomplete, first)
	}
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
