package stackdump

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestManyDumps: dumps one behind the other cost what their goroutines cost, however many there
// are.
func TestManyDumps(t *testing.T) {
	const n = 20_000
	d := Parse(Source{File: "x", Line: 1, Text: strings.Repeat("goroutine 20 [semacquire]:\n", n)})
	require.Len(t, d.Goroutines, n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.Len(t, d.Split(), n)
	d.Graph(nil)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(n*4096))
}

// TestManyFrames: a deep stack whose frames a catalogue names costs no square of its depth.
func TestManyFrames(t *testing.T) {
	var text strings.Builder
	text.WriteString("goroutine 1 [semacquire]:\nsync.runtime_SemacquireMutex(0xc000000010)\n\t/sema.go:1 +0x1\nsync.(*Mutex).Lock(0xc000000010)\n\t/mutex.go:1 +0x1\nx.(*T).Wait(0xc000000010)\n\t/x.go:1 +0x1\n\n" +
		"goroutine 2 [syscall]:\n")
	const depth = 50_000
	for range depth {
		text.WriteString("x.(*T).Hold(0xc000000020)\n\t/x.go:2 +0x1\n")
	}
	d := Parse(Source{File: "x", Line: 1, Text: text.String()})
	require.Len(t, d.Goroutines[1].Frames, depth)
	start := time.Now()
	require.Len(t, d.Locks(NewCatalogue(Hold{Func: "x.(*T).Hold", While: "never.there"})), 1)
	require.Less(t, time.Since(start), 5*time.Second)
}
