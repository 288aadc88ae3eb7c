package stackdump

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/stackdump/args"
	"github.com/plegdiag/plegdiag/internal/stackdump/funcname"
)

// End is what a goroutine waits for where the locks of its process end.
type End struct {
	Kind string // one of the kinds below; empty when nothing tells
	// What names it further: "ttrpc", "unmount", "network read", the address of a channel. May be
	// empty.
	What  string
	Frame int // that says so; -1 when only the state does
}

// Kinds of an End.
const (
	RPC       = "rpc"           // the answer of another process
	Child     = "child process" // a child to exit
	Syscall   = "syscall"       // the kernel
	Ready     = "i/o"           // a socket or pipe to become ready
	Channel   = "channel"       // another goroutine, which the dump does not tell
	Condition = "condition"     // a sync.Cond or a sync.WaitGroup
	Locked    = "lock"          // a lock whose holder the dump does not tell
	Timer     = "timer"
	Running   = "running" // nothing
)

// Outside says that the wait is for something beyond the process.
func (e End) Outside() bool {
	return e.Kind == RPC || e.Kind == Child || e.Kind == Syscall || e.Kind == Ready
}

// call is a row of the tables below: a goroutine inside of a frame whose Name
// ends in name waits for this. See matchName.
type call struct{ name, kind, what string }

// requests are calls of libraries that wait for another process. They hide in their own code what
// they wait on.
var requests = indexByBase([]call{
	{"containerd/ttrpc.(*Client).dispatch", RPC, "ttrpc"},
	{"stevvooe/ttrpc.(*Client).dispatch", RPC, "ttrpc"}, // before containerd 1.3
	{"stevvooe/ttrpc.(*Client).Call", RPC, "ttrpc"},
	{"containerd/ttrpc.(*Client).Call", RPC, "ttrpc"},
	{"containerd/ttrpc.(*clientStream).RecvMsg", RPC, "ttrpc"},
	{"transport.(*Stream).waitOnHeader", RPC, "grpc"},
	{"transport.(*ClientStream).waitOnHeader", RPC, "grpc"},
	{"transport.(*recvBufferReader).readClient", RPC, "grpc"},
	{"transport.(*recvBufferReader).readMessageHeaderClient", RPC, "grpc"},
	{"grpc.(*ClientConn).Invoke", RPC, "grpc"},
	{"grpc.(*clientStream).RecvMsg", RPC, "grpc"},
	{"net/rpc.(*Client).Call", RPC, "net/rpc"},
	{"net/http.(*persistConn).roundTrip", RPC, "http"},
	{"godbus/dbus.(*Object).Call", RPC, "D-Bus"},
	{"godbus/dbus.(*Object).CallWithContext", RPC, "D-Bus"},
	{"godbus/dbus.(*Object).createCall", RPC, "D-Bus"},
	{"go-systemd/dbus.(*Conn).startJob", RPC, "D-Bus"},
	{"libcontainer/cgroups/systemd.startUnit", RPC, "D-Bus"},
	{"opencontainers/cgroups/systemd.startUnit", RPC, "D-Bus"},
	{"netlink/nl.(*NetlinkRequest).Execute", Syscall, "netlink"},
	{"netlink/nl.(*NetlinkRequest).ExecuteIter", Syscall, "netlink"},
	{"syscall.NetlinkRIB", Syscall, "netlink"},
	{"os.(*Process).Wait", Child, ""},
	{"os.(*Process).blockUntilWaitable", Child, ""},
	{"os.(*Process).pidfdWait", Child, ""},
	{"os/exec.(*Cmd).Wait", Child, ""},
	{"containerd/go-runc.Monitor.Wait", Child, ""},
	{"containerd/go-runc.(*Runc).runOrError", Child, "runc"},
	{"containerd/go-runc.cmdOutput", Child, "runc"},
	{"bbolt.flock", Syscall, "file lock"},
	{"boltdb/bolt.flock", Syscall, "file lock"},
})

// parks are the functions of the standard library that wait; the innermost that fits counts.
var parks = indexByBase([]call{
	{"sync.(*Cond).Wait", Condition, ""},
	{"sync.(*WaitGroup).Wait", Condition, "WaitGroup"},
	{"net.(*netFD).connect", Ready, "connect"},
	{"net.(*netFD).accept", Ready, "accept"},
	{"net.(*conn).Read", Ready, "network read"},
	{"net.(*conn).Write", Ready, "network write"},
	{"os.(*File).Read", Ready, "file read"},
	{"os.(*File).Write", Ready, "file write"},
	{"io.(*pipe).read", Channel, "pipe"},
	{"io.(*pipe).write", Channel, "pipe"},
	{"time.Sleep", Timer, ""},
})

func indexByBase(rows []call) map[string][]call {
	all := map[string][]call{}
	for _, row := range rows {
		all[funcname.Base(row.name)] = append(all[funcname.Base(row.name)], row)
	}
	return all
}

// states are what the runtime calls a wait, by how the state begins, and the
// functions of the runtime that profiles show in its place.
var states = []struct{ state, in, kind string }{
	{"chan ", "runtime.chanrecv", Channel},
	{"select", "runtime.selectgo", Channel},
	{"chan send", "runtime.chansend", Channel},
	{"IO wait", "internal/poll.runtime_pollWait", Ready},
	{"syscall", "syscall.Syscall", Syscall},
	{"sleep", "time.Sleep", Timer},
	{"sync.Cond.Wait", "sync.runtime_notifyListWait", Condition},
	{"sync.WaitGroup.Wait", "sync.(*WaitGroup).Wait", Condition},
	{"run", "runtime/pprof.", Running},
}

// End says what a goroutine waits for, going by its frames first and by its state last.
func (g *Goroutine) End() End {
	if i := g.lockCallFrame(); i >= 0 {
		return End{Kind: Locked, What: lockMode(g.Frames[i].baseName()), Frame: i}
	}
	if strings.HasPrefix(g.State, "run") {
		return End{Kind: Running, Frame: -1}
	}
	if e, ok := g.endFromTable(func(fn *function) *call { return fn.request }); ok {
		for i := e.Frame + 1; i < len(g.Frames); i++ { // interceptors stand between a client's call and its wait
			if row := g.Frames[i].function().request; row != nil && row.what == e.What {
				e.Frame = i
			}
		}
		return e
	}
	if e, ok := g.endInSystemCall(); ok {
		return e
	}
	e, ok := g.endFromTable(func(fn *function) *call { return fn.park })
	for _, s := range states {
		if ok {
			break
		}
		e.Frame = -1
		if g.State != "" {
			ok = strings.HasPrefix(g.State, s.state)
		} else if i := g.frameIn(s.in); i >= 0 {
			ok = true
		}
		if ok {
			e.Kind = s.kind
		}
	}
	if e.Kind == Channel && e.What == "" {
		if i, addr := g.shownChannel(); i >= 0 {
			e.What, e.Frame = hex(addr), i
		}
	}
	return e
}

// ShownState is the state of a goroutine as a dump prints it. Profiles print none: there it is what
// the frames show, in the words of dumps, and empty where they show nothing.
func (g *Goroutine) ShownState() string {
	if g.State != "" {
		return g.State
	}
	if g.lockCallFrame() >= 0 {
		return "semacquire"
	}
	if e, ok := g.endInSystemCall(); ok && e.Kind == Syscall {
		return "syscall"
	}
	for _, s := range slices.Backward(states) { // "chan send" stands behind "chan "
		if g.frameIn(s.in) >= 0 {
			return strings.TrimSpace(s.state)
		}
	}
	return ""
}

func lockMode(base string) string {
	if base == "RLock" {
		return "read"
	}
	return ""
}

// lockCallFrame is the frame of package sync in which a goroutine waits for a lock; -1 when it does
// not.
func (g *Goroutine) lockCallFrame() int {
	at := -1
	for i := range g.Frames {
		name := strings.TrimPrefix(g.Frames[i].Func, "internal/")
		switch {
		case strings.HasPrefix(name, "runtime."), strings.HasPrefix(name, "sync.runtime_"):
			continue
		case strings.HasPrefix(name, "sync.(*Mutex)."), strings.HasPrefix(name, "sync.(*RWMutex)."),
			name == "sync.(*rlocker).Lock":
			at = i
			continue
		}
		break
	}
	return at
}

// endFromTable looks for the innermost frame that a table names.
func (g *Goroutine) endFromTable(rowOf func(*function) *call) (End, bool) {
	for i := range g.Frames {
		if row := rowOf(g.Frames[i].function()); row != nil {
			return End{row.kind, row.what, i}, true
		}
	}
	return End{}, false
}

// findRow is the row of a table that names a function; nil when none does.
func (fn *function) findRow(table map[string][]call) *call {
	rows := table[fn.Base]
	for i := range rows {
		if matchName(fn.Plain, rows[i].name) {
			return &rows[i]
		}
	}
	return nil
}

func (g *Goroutine) frameIn(part string) int {
	for i := range g.Frames {
		if strings.HasPrefix(g.Frames[i].Func, part) {
			return i
		}
	}
	return -1
}

// endInSystemCall names the system call that a goroutine is in: the innermost function of
// package syscall or golang.org/x/sys/unix that is not the call instruction itself.
func (g *Goroutine) endInSystemCall() (End, bool) {
	if g.State != "" && !strings.HasPrefix(g.State, "syscall") {
		return End{}, false
	}
	raw, at := "", -1
	for i := range g.Frames {
		f := &g.Frames[i]
		pkg, name, _ := strings.Cut(f.Func[strings.LastIndexByte(f.Func, '/')+1:], ".")
		switch {
		case strings.HasPrefix(f.Func, "runtime"), strings.HasPrefix(f.Func, "internal/runtime/"):
		case pkg == "syscall" || pkg == "unix":
			if !strings.HasPrefix(name, "Syscall") && !strings.HasPrefix(name, "RawSyscall") &&
				!strings.HasPrefix(name, "runtime_") && !strings.HasPrefix(name, "rawSyscall") {
				return End{Syscall, strings.ToLower(name), i}, true
			}
			if at < 0 || raw == "" {
				raw, at = f.rawCall(), i
			}
		default:
			if raw != "" {
				return End{Syscall, raw, at}, true
			}
			if g.State == "" {
				return End{}, false
			}
			return End{Syscall, "", max(0, i-1)}, true
		}
	}
	if raw != "" {
		return End{Syscall, raw, at}, true
	}
	return End{Kind: Syscall, Frame: -1}, g.State != ""
}

// rawCalls are system calls that may wait, by number, in the words of package unix: first those of
// a machine as the file of a frame names it, asm_linux_amd64.s. Where no file does, those count
// whose number is on the other machine one that cannot wait: umask, getpid, getrusage, signalfd4.
var rawCalls = []struct {
	file  string
	calls map[uint64]string
}{
	{"_amd64.s", map[uint64]string{
		0x0: "read", 0x1: "write", 0x10: "ioctl", 0x2d: "recvfrom", 0x2f: "recvmsg", 0x4a: "fsync", 0x4b: "fdatasync",
		0xa2: "sync", 0xa5: "mount", 0xa6: "unmount", 0x132: "syncfs",
	}},
	{"_arm64.s", map[uint64]string{
		0x1d: "ioctl", 0x27: "unmount", 0x28: "mount", 0x3f: "read", 0x40: "write", 0x51: "sync", 0x52: "fsync", 0x53: "fdatasync",
		0xcf: "recvfrom", 0xd4: "recvmsg", 0x10b: "syncfs",
	}},
	{".s", nil}, // of a machine that is not known here
	{"", map[uint64]string{0xa6: "unmount", 0x27: "unmount", 0xa5: "mount", 0x4a: "fsync"}},
}

// rawCall is the system call of syscall.Syscall and its like by the number that they are given
// first; empty for one that may be several.
func (f *Frame) rawCall() string {
	number, ok := f.firstArg()
	for _, row := range rawCalls {
		if ok && strings.HasSuffix(f.File, row.file) {
			return row.calls[number.Value]
		}
	}
	return ""
}

// shownChannel is the channel that abort dumps of Go ≥ 1.19 print; -1 when none does.
func (g *Goroutine) shownChannel() (frame int, addr uint64) {
	for i := range g.Frames {
		f := &g.Frames[i]
		if !strings.HasPrefix(f.Func, "runtime.") {
			break
		}
		if f.Func != "runtime.chanrecv" && f.Func != "runtime.chansend" {
			continue
		}
		if a, ok := f.firstArg(); ok && a.Sure && args.IsAddress(a.Value) {
			return i, a.Value
		}
	}
	return -1, 0
}

// Beyond is the frame that called into the package of a frame: for a client's Call the method of
// the generated code, for a system call the function that makes it. It is the frame itself when
// nothing is further out.
func (g *Goroutine) Beyond(frame int) int {
	pkg := funcname.Package(g.Frames[frame].Func)
	for i := frame; i < len(g.Frames); i++ {
		if funcname.Package(g.Frames[i].Func) != pkg {
			return i
		}
	}
	return frame
}
