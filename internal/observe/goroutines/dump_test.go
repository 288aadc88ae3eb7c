package goroutines

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/stackdump/series"
)

// dumped is the events of a dump, each in the text form of describeWait.
func dumped(t *testing.T, text string) (all []event.Event) {
	t.Helper()
	d := stackdump.Parse(stackdump.Source{File: "g.log", Line: 1, Text: text})
	require.Empty(t, d.Skips)
	all = Dump(nil, d, Program(d))
	Date(all, event.At(time.Date(2026, 11, 20, 19, 0, 0, 0, time.UTC)))
	lines := strings.Split(text, "\n")
	for i := range all {
		require.NotEmpty(t, all[i].Evidence)
		for _, q := range all[i].Evidence {
			require.NotEmpty(t, q.Text)
			require.Contains(t, lines[q.Pos.Line-1], q.Text)
		}
	}
	return all
}

func kindsOf(all []event.Event, kind event.Kind) (some []event.Event) {
	for _, e := range all {
		if e.Kind == kind {
			some = append(some, e)
		}
	}
	return some
}

func field(t *testing.T, e *event.Event, key event.Key) string {
	t.Helper()
	v, ok := e.Get(key)
	if !ok {
		return ""
	}
	return v.Text()
}

// A request holds a container's status lock and wants a lock that another one holds while it calls
// the shim.
const nestedDump = `goroutine 52 [sync.Mutex.Lock, 3 minutes]:
sync.(*Mutex).lockSlow(0xc000200010)
	/usr/local/go/src/sync/mutex.go:171 +0x15d
sync.(*Mutex).Lock(...)
	/usr/local/go/src/sync/mutex.go:90
github.com/containerd/containerd/runtime/v2.(*registry).Get(0xc000200000)
	/src/registry.go:30 +0x1
github.com/containerd/containerd/pkg/cri/store/container.(*statusStorage).UpdateSync(0xc000130f80, 0xc000400000)
	/src/status.go:200 +0x1
github.com/containerd/containerd/pkg/cri/server.(*criService).UpdateContainerResources(0xc000500000)
	/src/update.go:70 +0x1

goroutine 37 [select, 4 minutes]:
github.com/containerd/ttrpc.(*Client).dispatch(0xc000600000, {0x1, 0xc000600100})
	/src/ttrpc/client.go:300 +0x1
github.com/containerd/ttrpc.(*Client).Call(0xc000600000)
	/src/ttrpc/client.go:100 +0x1
github.com/containerd/containerd/runtime/v2/task.(*taskClient).Delete(0xc000600300)
	/src/task.go:40 +0x1
github.com/containerd/containerd/runtime/v2.(*registry).Drop(0xc000200000, 0xc000700000)
	/src/registry.go:60 +0x1
github.com/containerd/containerd/runtime/v2.callDrop(0xc000200000)
	/src/registry.go:70 +0x1

goroutine 60 [sync.RWMutex.RLock, 2 minutes]:
sync.runtime_SemacquireRWMutexR(0x0?, 0x0?, 0x0?)
	/usr/local/go/src/runtime/sema.go:82 +0x25
sync.(*RWMutex).RLock(...)
	/usr/local/go/src/sync/rwmutex.go:71
github.com/containerd/containerd/pkg/cri/store/container.(*statusStorage).Get(0xc000130f80)
	/src/status.go:150 +0x1
github.com/containerd/containerd/pkg/cri/server.(*criService).ListContainers(0xc000500000)
	/src/list.go:50 +0x1
`

func TestHolderEndsInItsChain(t *testing.T) {
	held := kindsOf(dumped(t, nestedDump), event.KindLockHeld)
	require.Len(t, held, 2)
	var outer *event.Event
	for i := range held {
		require.Equal(t, "shim", field(t, &held[i], "doing"))
		require.Equal(t, "Delete", field(t, &held[i], "rpc"))
		require.Equal(t, "rpc", field(t, &held[i], "ends"))
		require.Equal(t, "ttrpc", field(t, &held[i], "ends_in"))
		if held[i].IDs.Goroutine == 52 {
			outer = &held[i]
		}
	}
	require.NotNil(t, outer)
	require.Equal(t, "statusStorage", field(t, outer, "owner"))
	require.Equal(t, "goroutine 37", field(t, outer, "through"))
	require.Equal(t, "UpdateContainerResources", field(t, outer, "call"))
	require.Contains(t, outer.Text, "waiting for goroutine 37, waiting for the shim to answer Delete")
	var quoted []string
	for _, q := range outer.Evidence {
		name, _, _ := strings.Cut(q.Text, "(0x")
		quoted = append(quoted, name[strings.LastIndexByte(name, '/')+1:])
	}
	require.Equal(t, []string{
		"container.(*statusStorage).UpdateSync", "v2.(*registry).Get", "v2.(*registry).Drop",
		"goroutine 37 [select, 4 minutes]:", "task.(*taskClient).Delete", "goroutine 52 [sync.Mutex.Lock, 3 minutes]:",
	}, quoted)
}

// Two goroutines want what the other one holds.
const abbaDump = `goroutine 24 [sync.Mutex.Lock, 9 minutes]:
sync.(*Mutex).lockSlow(0xc000082030)
	/usr/local/go/src/sync/mutex.go:171 +0x15d
sync.(*Mutex).Lock(...)
	/usr/local/go/src/sync/mutex.go:90
main.lockAB(0xc000082008, 0xc000082030)
	/src/main.go:20 +0x1
main.work()
	/src/main.go:9 +0x1

goroutine 25 [sync.Mutex.Lock, 7 minutes]:
sync.(*Mutex).lockSlow(0xc000082008)
	/usr/local/go/src/sync/mutex.go:171 +0x15d
sync.(*Mutex).Lock(...)
	/usr/local/go/src/sync/mutex.go:90
main.lockAB(0xc000082030, 0xc000082008)
	/src/main.go:20 +0x1
main.work()
	/src/main.go:9 +0x1
`

func TestDeadlock(t *testing.T) {
	all := dumped(t, abbaDump)
	cycles := kindsOf(all, event.KindLockCycle)
	require.Len(t, cycles, 1)
	e := &cycles[0]
	require.Equal(t, uint64(25), e.IDs.Goroutine, "the one that came last")
	require.Equal(t, "24 → 25 → 24", field(t, e, "goroutines"))
	require.Equal(t, "2", field(t, e, "members"))
	require.Equal(t, stackdump.Observed, field(t, e, "certainty"))
	require.Equal(t, 7*time.Minute, e.End.T.Sub(e.Start.T)-time.Minute-markPhase)
	require.False(t, e.AtLeast())
	require.Len(t, e.Evidence, 4, "the frames and headers of both")
	for _, held := range kindsOf(all, event.KindLockHeld) {
		require.Equal(t, "deadlock", field(t, &held, "ends"))
		require.Empty(t, field(t, &held, "doing"))
	}
}

// The end of a chain need not be in the table of waits.
func TestHolderEndsElsewhere(t *testing.T) {
	for top, want := range map[string][3]string{
		"[chan receive, 2 minutes]:\nmain.recv(...)\n\t/src/m.go:1":                                                           {"channel", "", "in chan receive"},
		"[select, 2 minutes]:\nnet/rpc.(*Client).Call(0xc000800000)\n\t/src/c.go:1 +0x1":                                      {"rpc", "net/rpc", "waiting for the CNI daemon"},
		"[select, 2 minutes]:\ngoogle.golang.org/grpc.(*ClientConn).Invoke(0xc000800000)\n\t/src/c.go:1 +0x1":                 {"rpc", "grpc", "waiting for an answer over grpc"},
		"[syscall, 2 minutes]:\nsyscall.Syscall(0x3)\n\t/s.go:1 +0x1\nsyscall.Flock(0x3)\n\t/s.go:2 +0x1":                     {"syscall", "flock", "in syscall flock"},
		"[syscall, 2 minutes]:\nsyscall.Syscall6(0x3)\n\t/s.go:1 +0x1\nos.(*Process).blockUntilWaitable(0x3)\n\t/s.go:2 +0x1": {"child process", "", "waiting for a child process to exit"},
	} {
		text := "goroutine 7 " + top + `
main.(*store).Update(0xc000100000, 0xc000200000)
	/src/main.go:20 +0x4d
main.serve(0xc000300000)
	/src/main.go:11 +0x7

goroutine 8 [sync.Mutex.Lock, 1 minutes]:
sync.(*Mutex).lockSlow(0xc000100010)
	/go/src/sync/mutex.go:171 +0x15d
sync.(*Mutex).Lock(...)
	/go/src/sync/mutex.go:90
main.(*store).Get(0xc000100000)
	/src/main.go:40 +0x2d
`
		held := kindsOf(dumped(t, text), event.KindLockHeld)
		require.Len(t, held, 1, top)
		require.Equal(t, want[0], field(t, &held[0], "ends"), top)
		require.Equal(t, want[1], field(t, &held[0], "ends_in"), top)
		require.Contains(t, held[0].Text, want[2], top)
		require.Empty(t, field(t, &held[0], "through"), top)
	}
}

// The closed set that package event declares is the one of the table, whole.
func TestDoingIsDeclared(t *testing.T) {
	doing := map[string]bool{stuckInCall: true}
	for _, row := range waits {
		doing[row.doing] = true
	}
	require.ElementsMatch(t, event.KindNamed(event.KindGoroutine).Field(event.FieldDoing).Values, slices.Collect(maps.Keys(doing)))
}

// Every name that the table gives a source is one that rules may ask for.
func TestSourcesOfDumps(t *testing.T) {
	for _, p := range programs {
		require.Contains(t, event.Sources(), "goroutines."+p.component)
	}
}

// "N minutes" are at most N+1 and a mark phase, and less by the time between two collections; no
// minutes are no time at all.
func TestStartOfWait(t *testing.T) {
	at := event.At(time.Date(2026, 11, 20, 19, 0, 0, 0, time.UTC))
	for wait, want := range map[time.Duration][2]time.Duration{ // the longest and the shortest wait
		1 * time.Minute: {2*time.Minute + markPhase, 0},
		3 * time.Minute: {4*time.Minute + markPhase, 0},
		9 * time.Minute: {10*time.Minute + markPhase, 6*time.Minute - markPhase},
	} {
		start, begun := startOfWait(at, wait)
		require.False(t, begun)
		require.Equal(t, want, [2]time.Duration{at.T.Sub(start.T), at.T.Sub(start.T.Add(start.Prec))}, wait)
	}
	start, begun := startOfWait(at, 0)
	require.True(t, begun)
	require.Equal(t, at, start)
}

// What an earlier dump has elsewhere, or not at all, began after it.
func TestBoundStarts(t *testing.T) {
	const running = "goroutine 1 [running]:\nmain.main()\n\t/src/m.go:1 +0x1\n\n"
	stack := func(id, state, f string) string {
		return "goroutine " + id + " [" + state + "]:\ngithub.com/containerd/containerd/runtime/v2/task.(*taskClient)." + f +
			"(0xc000600300)\n\t/src/task.go:40 +0x1\ncreated by main.f\n\t/src/m.go:2 +0x1\n"
	}
	parse := func(text string) *stackdump.Dump { return stackdump.Parse(stackdump.Source{File: "g", Text: text}) }
	at := event.At(time.Date(2026, 11, 20, 19, 0, 0, 0, time.UTC))
	before := event.At(at.T.Add(-time.Minute))
	now := running + stack("5", "select, 8 minutes", "Delete") + "\n" + stack("6", "select, 2 minutes", "Kill") + "\n" + stack("7", "select, 2 minutes", "Update")
	earlier := running + stack("5", "select, 7 minutes", "Delete") + "\n" + stack("6", "select", "Start")
	starts := func(earlier *stackdump.Dump) (bounded []bool) {
		d := parse(now)
		all := Dump(nil, d, Program(d))
		Date(all, at)
		require.Len(t, all, 3)
		BoundStarts(all, series.NewDigest(d), series.NewDigest(earlier), before)
		for _, e := range all {
			bounded = append(bounded, e.Start.T.Equal(before.T) && e.Start.T.Add(e.Start.Prec).Equal(at.T))
		}
		return bounded
	}
	require.Equal(t, []bool{false, true, true}, starts(parse(earlier)))
	require.Equal(t, []bool{false, false, false}, starts(parse(earlier+"\n")), "cut")
	require.Equal(t, []bool{false, false, false}, starts(parse(strings.TrimPrefix(earlier, running))), "an excerpt")
}

// TestCNIPluginInAnExcerpt holds that a goroutine which waits for a CNI plugin says so where the
// frame of Run was left out: Wait alone is what every running container has.
func TestCNIPluginInAnExcerpt(t *testing.T) {
	all := dumped(t, `goroutine 88123 [syscall, 12 minutes]:
os.(*Process).blockUntilWaitable(0xc0009a1b00)
	/usr/local/go/src/os/wait_waitid.go:32 +0x9e
os/exec.(*Cmd).Wait(0xc000a1a000)
	/usr/local/go/src/os/exec/exec.go:507 +0x65
github.com/containerd/containerd/vendor/github.com/containernetworking/cni/pkg/invoke.(*RawExec).ExecPlugin(0xc0004d8000)
	/go/src/github.com/containerd/containerd/vendor/github.com/containernetworking/cni/pkg/invoke/raw_exec.go:41 +0x205
`)
	waits := kindsOf(all, event.KindGoroutine)
	require.Len(t, waits, 1)
	require.Equal(t, "cni-plugin", field(t, &waits[0], event.FieldDoing))
}
