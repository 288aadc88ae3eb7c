package stackdump

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What goroutines of real dumps wait for.
func TestEndOfReal(t *testing.T) {
	for _, c := range []struct {
		file   string
		id     uint64
		kind   string
		what   string
		beyond string // the function that called
	}{
		{"containerd-1.6.20-umount2", 492, RPC, "ttrpc", "github.com/containerd/containerd/runtime/task.(*taskClient).Update"},
		{"dockerd-20.10.24-dbus-stall", 200, RPC, "grpc", "github.com/containerd/containerd/api/services/tasks.(*tasksClient).Create"},
		{"dockerd-20.10.24-dbus-stall", 187, Syscall, "openat", "os.openFileNolog"},
		{"dockerd-20.10.24-dbus-stall", 191, Condition, "", "github.com/docker/docker/pkg/ioutils.(*BytesPipe).Read"},
		{"dockerd-20.10.24-dbus-stall", 201, Locked, "", "github.com/docker/docker/container.(*State).IsRunning"},
		{"terwayd-1.0.10-go1.12.sigabrt", 38, Syscall, "netlink", "github.com/vishvananda/netlink.(*Handle).LinkList"},
	} {
		d := Parse(Source{File: c.file, Text: readGzip(t, filepath.Join("testdata", c.file+".log.gz"))})
		i := slices.IndexFunc(d.Goroutines, func(g Goroutine) bool { return g.ID == c.id })
		require.GreaterOrEqual(t, i, 0, c.file)
		g := &d.Goroutines[i]
		e := g.End()
		require.Equal(t, c.kind, e.Kind, "%s %d", c.file, c.id)
		require.Equal(t, c.what, e.What, "%s %d", c.file, c.id)
		require.Equal(t, c.beyond, g.Frames[g.Beyond(e.Frame)].Name(), "%s %d", c.file, c.id)
		require.False(t, g.Idle(), "%s %d", c.file, c.id)
	}
}

func TestEnd(t *testing.T) {
	for _, c := range []struct{ stack, kind, what string }{
		{"goroutine 1 [syscall, 2 minutes]:\nsyscall.Syscall6(0x1)\n\t/s.go:1\nos.(*Process).blockUntilWaitable(0xc000100000)\n\t/o.go:1\nos/exec.(*Cmd).Wait(0xc000100000)\n\t/e.go:1\n", Child, ""},
		{"goroutine 1 [syscall]:\ngolang.org/x/sys/unix.Syscall(0x1)\n\t/s.go:1\ngolang.org/x/sys/unix.Unmount(0x1)\n\t/u.go:1\nmain.main()\n\t/m.go:1\n", Syscall, "unmount"},
		{"goroutine 1 [syscall, 9 minutes]:\nsyscall.Syscall(0xa6, 0xc000100000, 0x8, 0x0)\n", Syscall, "unmount"},
		{"goroutine 1 [syscall, 9 minutes]:\nsyscall.RawSyscall6(0x27, 0xc000100000, 0x8, 0x0)\nmain.main()\n", Syscall, "unmount"},
		{"goroutine 1 [syscall, 9 minutes]:\nsyscall.Syscall(0x2d, 0x8, 0x0, 0x0)\n", Syscall, ""},
		{"goroutine 1 [syscall, 9 minutes]:\nsyscall.Syscall(0x2d, 0x8, 0x0, 0x0)\n\t/usr/local/go/src/syscall/asm_linux_amd64.s:18 +0x5\nmain.main()\n", Syscall, "recvfrom"},
		{"goroutine 1 [syscall, 9 minutes]:\nsyscall.Syscall(0xa6, 0x8, 0x0, 0x0)\n\t/usr/local/go/src/syscall/asm_linux_arm64.s:18 +0x5\nmain.main()\n", Syscall, ""},
		{"goroutine 1 [syscall, 9 minutes]:\nsyscall.Syscall(0xa6, 0x8, 0x0, 0x0)\nsyscall.Flock(0x8, 0x2)\n", Syscall, "flock"},
		{"goroutine 1 [syscall]:\nmain._Cfunc_wait(0x1)\n\t/c.go:1\n", Syscall, ""},
		{"goroutine 1 gp=0xc000002380 m=nil [chan send]:\nruntime.gopark(0x1)\n\t/p.go:1\nruntime.chansend(0xc000100060, 0xc000200000)\n\t/c.go:1\nmain.main()\n\t/m.go:1\n", Channel, "0xc000100060"},
		{"goroutine 1 [chan receive]:\ngithub.com/godbus/dbus/v5.(*Object).Call(0xc000100000)\n\t/d.go:1\n", RPC, "D-Bus"},
		{"goroutine 1 [runnable]:\nnet/rpc.(*Client).Call(0xc000100000)\n\t/d.go:1\n", Running, ""},
		{"goroutine 1 [sleep]:\ntime.Sleep(0x1)\n\t/t.go:1\nmain.main()\n\t/m.go:1\n", Timer, ""},
		{"goroutine 1 [semacquire]:\nsync.runtime_SemacquireMutex(0x1)\n\t/s.go:1\nsync.(*RWMutex).RLock(...)\n\t/r.go:1\nnet/rpc.(*Client).Call(0x1)\n\t/d.go:1\n", Locked, "read"},
		{"goroutine 1 [GC worker (idle)]:\n", "", ""},
	} {
		d := Parse(Source{File: "f", Text: c.stack})
		require.Empty(t, d.Skips, c.stack)
		e := d.Goroutines[0].End()
		require.Equal(t, c.kind, e.Kind, c.stack)
		require.Equal(t, c.what, e.What, c.stack)
	}
}

// Most goroutines of a daemon wait for work. Those that are stuck are not among them.
func TestIdleOfReal(t *testing.T) {
	for file, least := range map[string]int{
		"containerd-1.6.20-dbus-stall": 180, "containerd-1.6.20-umount2": 140, "dockerd-20.10.24-dbus-stall": 25,
		"terwayd-1.0.10-go1.12.sigabrt": 20,
	} {
		d := Parse(Source{File: file, Text: readGzip(t, filepath.Join("testdata", file+".log.gz"))})
		idle := map[int]bool{}
		for i := range d.Goroutines {
			if d.Goroutines[i].Idle() {
				idle[i] = true
			}
		}
		require.GreaterOrEqual(t, len(idle), least, file)
		for _, l := range d.Locks(testCatalogue) {
			for _, w := range l.Waiters {
				require.False(t, idle[w.Goroutine])
			}
			for _, h := range l.Holders {
				require.False(t, idle[h.Goroutine])
			}
		}
	}
}

// What every healthy process has is idle; the same functions in the middle of work are not.
func TestIdleOfNormal(t *testing.T) {
	stack := func(state string, frames ...string) string {
		var text strings.Builder
		text.WriteString("goroutine 7 [" + state + "]:\n")
		for _, f := range frames {
			text.WriteString(f + "()\n\tx.go:1 +0x1\n")
		}
		return text.String() + "\n"
	}
	read := []string{"internal/poll.runtime_pollWait", "net.(*conn).Read", "net/http.(*connReader).Read", "bufio.(*Reader).Peek"}
	for text, idle := range map[string]bool{
		stack("chan receive, 34 minutes", "github.com/docker/docker/pkg/signal.Trap.func1"):                                      true,
		stack("syscall, 34 minutes", "os/signal.signal_recv", "os/signal.loop"):                                                  true,
		stack("GC sweep wait", "runtime.gopark", "runtime.goparkunlock", "runtime.bgsweep"):                                      true,
		stack("IO wait", "internal/poll.runtime_pollWait", "net.(*TCPListener).Accept", "net/http.(*Server).Serve"):              true,
		stack("IO wait", slices.Concat(read, []string{"net/http.(*conn).serve"})...):                                             true,
		stack("select", "net/http.(*timeoutHandler).ServeHTTP", "net/http.serverHandler.ServeHTTP", "net/http.(*conn).serve"):    false,
		stack("chan receive, 9 minutes", "github.com/acme/x.handle", "net/http.HandlerFunc.ServeHTTP", "net/http.(*conn).serve"): false,
		stack("chan receive, 9 minutes", "github.com/containerd/containerd/cmd/containerd/command.App.func1", "main.main"):       true,
		stack("select, 9 minutes", "github.com/containerd/containerd/cmd/containerd/command.App.func1", "main.main"):             false, // it starts
		stack("chan receive", "k8s.io/apiserver/pkg/server.SetupSignalContext.func1"):                                            true,
		stack("semacquire", "sync.(*Mutex).Lock", "github.com/docker/docker/pkg/signal.Trap.func1"):                              false,
	} {
		d := Parse(Source{File: "normal", Line: 1, Text: text})
		require.Len(t, d.Goroutines, 1, text)
		require.Equal(t, idle, d.Goroutines[0].Idle(), text)
	}
}
