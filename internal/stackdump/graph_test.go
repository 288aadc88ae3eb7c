package stackdump

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The chain goes on from a holder that waits for goroutines it has started.
func TestChainThroughWaitGroup(t *testing.T) {
	const text = `goroutine 5 [sync.WaitGroup.Wait, 3 minutes]:
sync.runtime_SemacquireWaitGroup(0x1?)
	/go/src/runtime/sema.go:110 +0x25
sync.(*WaitGroup).Wait(0x2?)
	/go/src/sync/waitgroup.go:118 +0x48
main.(*store).Sync(0xc000100000)
	/src/store.go:20 +0x6a
main.handle(0xc000300000)
	/src/main.go:20 +0x6a

goroutine 6 [IO wait, 2 minutes]:
internal/poll.runtime_pollWait(0x7f0000000000, 0x72)
	/go/src/runtime/netpoll.go:351 +0x85
net.(*conn).Read(0xc000200000, {0xc000400000, 0x1, 0x1})
	/go/src/net/net.go:189 +0x45
main.(*store).push(0xc000500000)
	/src/store.go:40 +0x6a
created by main.(*store).Sync in goroutine 5
	/src/store.go:18 +0x1

goroutine 7 [syscall, 3 minutes]:
golang.org/x/sys/unix.Fsync(0x7)
	/src/unix/z.go:7 +0x1
main.(*store).write(0xc000600000)
	/src/store.go:50 +0x6a
created by main.(*store).Sync in goroutine 5
	/src/store.go:19 +0x1

goroutine 8 [sync.Mutex.Lock, 2 minutes]:
internal/sync.(*Mutex).lockSlow(0xc000100010)
	/go/src/internal/sync/mutex.go:149 +0x15d
sync.(*Mutex).Lock(...)
	/go/src/sync/mutex.go:46
main.(*store).Get(0xc000100000)
	/src/store.go:60 +0x2a
`
	d := Parse(Source{File: "f", Text: text})
	require.Empty(t, d.Skips)
	g := d.Graph(nil)
	require.Len(t, g.Locks, 1)
	c := g.Chains[0]
	require.Equal(t, []int{0, 2}, c.Goroutines, "of its workers, the one that has waited longest")
	require.True(t, c.Inferred)
	require.Equal(t, End{Syscall, "fsync", 0}, c.End)
	require.True(t, c.End.Outside())
	require.Equal(t, 0, g.Longest)
	require.Len(t, g.Queues, 1)
	require.Equal(t, []int{1, 2}, g.Queues[0].Workers)
}
