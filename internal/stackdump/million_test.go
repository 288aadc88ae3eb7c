package stackdump

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// crowd is a dump of n goroutines: requests that wait for one lock, the one that
// holds it, and as many that wait for work.
func crowd(n int) string {
	var b strings.Builder
	b.Grow(n * 300)
	b.WriteString("goroutine 1 [select, 9 minutes]:\nmain.block(...)\n\t/src/main.go:30\nmain.(*store).Update(0xc000100000, 0xc000200000)\n\t/src/main.go:20 +0x4d\nmain.serve(0xc000300000)\n\t/src/main.go:11 +0x7\ncreated by main.main\n\t/src/main.go:9 +0x1\n\n")
	for i := 2; i <= n; i += 2 {
		fmt.Fprintf(&b, "goroutine %d [sync.Mutex.Lock, 8 minutes]:\nsync.(*Mutex).lockSlow(0xc000100010)\n\t/go/src/sync/mutex.go:171 +0x15d\nsync.(*Mutex).Lock(...)\n\t/go/src/sync/mutex.go:90\nmain.(*store).Get(0xc000100000)\n\t/src/main.go:40 +0x2d\nmain.serve(0xc00%07x00)\n\t/src/main.go:12 +0x7\ncreated by main.main\n\t/src/main.go:9 +0x1\n\n", i, i)
		fmt.Fprintf(&b, "goroutine %d [chan receive, 9 minutes]:\nmain.(*pool).worker(0xc000400000)\n\t/src/pool.go:9 +0x2d\ncreated by main.newPool\n\t/src/pool.go:5 +0x1\n\n", i+1)
	}
	return b.String()
}

// A dump takes memory in proportion to its goroutines, whatever is asked of it.
func TestMemoryIsLinear(t *testing.T) {
	used := func(n int) (bytes uint64) {
		text := crowd(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d := Parse(Source{File: "f", Line: 1, Text: text})
		groups, graph := d.Groups(), d.Graph(nil)
		runtime.ReadMemStats(&after)
		require.Len(t, groups, 3)
		require.Len(t, graph.Locks, 1)
		require.Len(t, graph.Locks[0].Waiters, n/2)
		require.Len(t, graph.Locks[0].Holders, 1)
		require.Equal(t, uint64(1), d.Goroutines[graph.Locks[0].Holders[0].Goroutine].ID)
		require.Equal(t, []int{0}, graph.Chains[0].Goroutines)
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := used(10_000), used(100_000)
	require.Less(t, large, 15*small, "ten times the goroutines")
	require.Less(t, large/100_000, uint64(8<<10), "bytes for a goroutine with two to four frames")
}

// BenchmarkMillion reads a dump of a million goroutines and answers everything about it.
func BenchmarkMillion(b *testing.B) {
	text := crowd(1_000_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		d := Parse(Source{File: "f", Line: 1, Text: text})
		if len(d.Groups()) != 3 || len(d.Graph(nil).Locks[0].Holders) != 1 {
			b.Fatal("not understood")
		}
	}
}
