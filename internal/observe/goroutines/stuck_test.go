package goroutines

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// framesIn is a goroutine of a dump that runs these functions, innermost first.
func framesIn(state string, functions ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "goroutine 7 [%s]:\n", state)
	for _, f := range functions {
		fmt.Fprintf(&b, "%s(0xc000010000)\n\t/src/a.go:10 +0x1d\n", f)
	}
	return b.String()
}

// A request, or a loop that hands out events, that has been in a system call for minutes is stuck,
// whatever the call; what waits there by its nature is not.
func TestStuckCall(t *testing.T) {
	const (
		monitor = "github.com/docker/containerd/supervisor.(*Monitor).processEvent"
		create  = "github.com/containerd/containerd/pkg/cri/server.(*criService).CreateContainer"
		exec    = "github.com/containerd/containerd/pkg/cri/server.(*criService).Exec"
		handler = "google.golang.org/grpc.(*Server).processUnaryRPC"
		store   = "github.com/containerd/containerd/snapshots/overlay.(*snapshotter).Remove"
	)
	for name, tt := range map[string]struct{ state, frames, call, caller string }{
		"an event loop":                 {"syscall, 4392 minutes", "syscall.Syscall syscall.read syscall.Read github.com/docker/containerd/runtime.(*oom).Flush " + monitor, "read", "runtime.(*oom).Flush"},
		"a request that opens":          {"syscall, 92 minutes", "syscall.Syscall6 syscall.openat syscall.Open os.openFileNolog os.OpenFile " + create, "openat", "server.(*criService).CreateContainer"},
		"a handler without a name here": {"syscall, 5 minutes, locked to thread", "syscall.Syscall golang.org/x/sys/unix.Recvmsg github.com/x/y.ask " + handler, "recvmsg", "y.ask"},
		"a worker that removes":         {"syscall, 12 minutes", "syscall.Syscall6 syscall.unlinkat os.RemoveAll " + store, "unlinkat", "overlay.(*snapshotter).Remove"},
		"frames of the call left out":   {"syscall, 12 minutes", create + " " + handler, "", "server.(*criService).CreateContainer"},
		"too short":                     {"syscall, 1 minutes", "syscall.Syscall6 syscall.unlinkat os.RemoveAll " + store, "", ""},
		"no minutes":                    {"syscall", "syscall.Syscall6 syscall.unlinkat os.RemoveAll " + store, "", ""},
		"output of a container":         {"syscall, 4392 minutes", "syscall.Syscall syscall.read syscall.Read os.(*File).Read io.copyBuffer io.Copy github.com/containerd/containerd/cio.copyIO.func2", "", ""},
		"a loop of epoll":               {"syscall, 4392 minutes", "syscall.Syscall6 syscall.EpollWait github.com/docker/containerd/supervisor.(*Monitor).start", "", ""},
		"a client's stream":             {"syscall, 4392 minutes", "syscall.Syscall syscall.read os.(*File).Read " + exec, "", ""},
		"a child":                       {"syscall, 4392 minutes", "syscall.Syscall6 os.(*Process).blockUntilWaitable os.(*Process).wait os.(*Process).Wait os/exec.(*Cmd).Wait github.com/containerd/containerd/x.watch", "", ""},
		"a fifo that nobody writes to":  {"syscall, 4392 minutes", "syscall.Syscall6 syscall.openat os.OpenFile github.com/containerd/fifo.openFifo.func1", "", ""},
		"C code that waits":             {"syscall, 4392 minutes, locked to thread", "runtime.cgocall github.com/coreos/go-systemd/sdjournal._Cfunc_my_sd_journal_wait github.com/containerd/containerd/x.follow", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := kindsOf(dumped(t, framesIn(tt.state, strings.Fields(tt.frames)...)), event.KindGoroutine)
			if tt.caller == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Equal(t, stuckInCall, field(t, &found[0], event.FieldDoing))
			require.Equal(t, tt.call, field(t, &found[0], event.FieldEndsIn))
			require.True(t, strings.HasSuffix(found[0].Text, "called by "+tt.caller), found[0].Text)
		})
	}
}

// entryOf is an entry of a profile in text.
func entryOf(count int, functions ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d @ 0x55b008e939d6 0x55b008ea48cc 0x55b008ea48a6\n", count)
	for i, f := range functions {
		fmt.Fprintf(&b, "#\t0x55b008ec0b%02d\t%s+0x24\t\t/src/a.go:7%d\n", i, f, i)
	}
	return b.String() + "\n"
}

// A profile counts goroutines and has no ages: requests that wait for a lock are told by their
// number.
func TestLockWaitsOfProfile(t *testing.T) {
	const (
		mutex    = "sync.runtime_SemacquireMutex sync.(*Mutex).lockSlow sync.(*Mutex).Lock "
		rlock    = "sync.runtime_SemacquireRWMutexR sync.(*RWMutex).RLock "
		head     = "goroutine profile: total 40\n"
		writer   = "runtime/pprof.writeGoroutine runtime/pprof.(*Profile).WriteTo net/http.HandlerFunc.ServeHTTP"
		inspect  = "github.com/docker/docker/daemon.(*Daemon).ContainerInspectCurrent"
		statuses = "github.com/containerd/containerd/pkg/cri/store/container.(*statusStorage).Get github.com/containerd/containerd/pkg/cri/server.(*criService).ListContainers"
		pods     = "k8s.io/kubernetes/pkg/kubelet.(*podCache).Get"
		service  = "github.com/containerd/containerd/runtime/v2/runc/task.(*service).State"
	)
	for name, tt := range map[string]struct {
		text    string
		waiters string // empty for no event
	}{
		"requests of dockerd":            {head + entryOf(25, strings.Fields(mutex+inspect)...) + entryOf(1, strings.Fields(writer)...), "25"},
		"requests of containerd":         {entryOf(3, strings.Fields(rlock+statuses)...), "3"},
		"the kubelet":                    {head + entryOf(2, strings.Fields(rlock+pods)...) + entryOf(1, strings.Fields(writer)...), "2"},
		"a shim's one request, chosen":   {entryOf(1, strings.Fields(mutex+service)...), "1"},
		"one request of a whole profile": {head + entryOf(1, strings.Fields(mutex+inspect)...) + entryOf(1, strings.Fields(writer)...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			queues := kindsOf(dumped(t, tt.text), event.KindLockQueue)
			if tt.waiters == "" {
				require.Empty(t, queues)
				return
			}
			require.Len(t, queues, 1)
			require.Equal(t, tt.waiters, field(t, &queues[0], event.FieldWaiters))
			require.Empty(t, field(t, &queues[0], event.FieldWait))
		})
	}
}

// ContainerStatus of cri-o up to 1.25 reads the state under the lock that StopContainer keeps.
func TestStateOfStoppingContainer(t *testing.T) {
	const oci = "github.com/cri-o/cri-o/internal/oci."
	text := entryOf(1, oci+"WaitContainerStop", oci+"(*runtimeOCI).StopContainer", "github.com/cri-o/cri-o/server.(*Server).StopContainer") +
		entryOf(2, "sync.runtime_SemacquireMutex", "sync.(*RWMutex).RLock", oci+"(*Container).State", "github.com/cri-o/cri-o/server.(*Server).ContainerStatus")
	held := kindsOf(dumped(t, text), event.KindLockHeld)
	require.Len(t, held, 1)
	require.Equal(t, "container-stop", field(t, &held[0], event.FieldDoing))
	require.Equal(t, "inferred", field(t, &held[0], event.FieldCertainty))
	require.Equal(t, "2", field(t, &held[0], event.FieldWaiters))
}

// Of an excerpt, a request that waits for something without a name is told; of a whole dump it is
// not.
func TestRequestOfExcerpt(t *testing.T) {
	const create = "github.com/containerd/containerd/pkg/cri/server.(*criService).CreateContainer"
	chosen := framesIn("select, 92 minutes", "github.com/x/y.(*Pool).Get", create)
	found := kindsOf(dumped(t, chosen), event.KindGoroutine)
	require.Len(t, found, 1)
	require.Equal(t, "channel", field(t, &found[0], event.FieldEnds))
	require.Equal(t, "y.(*Pool).Get is in select", found[0].Text)
	require.Empty(t, kindsOf(dumped(t, chosen+"\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:40 +0x2d\n"), event.KindGoroutine))
	require.Empty(t, kindsOf(dumped(t, framesIn("select", "github.com/x/y.(*Pool).Get", create)), event.KindGoroutine))
}
