package syscalls

import (
	"cmp"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/kernelwait"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

// callQuestions says of the calls that may matter however short they are whether one does.
func (t *Trace) callQuestions() map[string]func(*traces.CallView) bool {
	all := map[string]func(*traces.CallView) bool{}
	for _, name := range following {
		all[name] = t.mayFollow
	}
	for name, sends := range movingCalls {
		all[name] = t.mayReceive
		if sends {
			all[name] = t.maySendData
		}
	}
	return all
}

// following are the calls by which descriptors and processes are known (see files.followCall).
var following = []string{
	"openat", "openat2", "open", "creat", "socket", "accept", "accept4", "dup", "dup2", "dup3", "fcntl", "connect", "close",
	"clone", "clone3", "fork", "vfork",
}

// tracedLeast are the lengths from which [Trace] makes events of calls.
func tracedLeast() map[string]time.Duration {
	least := map[string]time.Duration{}
	for name := range kernelwait.Calls {
		least[name] = slowSyscall
	}
	for name := range lookingCalls {
		least[name] = slowSyscall
	}
	least["unshare"] = slowSyscall
	return least
}

// lookingCalls look at a file or directory, which takes microseconds unless its file system waits
// for a server or a disk. A call that opens a file is none of them: it may wait for the other end
// of a FIFO.
var lookingCalls = map[string]bool{
	"stat": true, "lstat": true, "newfstatat": true, "fstatat64": true, "statx": true, "statfs": true,
	"access": true, "faccessat": true, "faccessat2": true, "readlink": true, "readlinkat": true, "getdents64": true,
}

// slowSyscall is the least time that makes a call an event; the incidents are about minutes.
const slowSyscall = time.Second

// newSyscall makes an event of a traced call that took long or never returned; ok
// is false for all others. H is what its descriptor is; nil when nothing is known.
func newSyscall(s *traces.Syscall, h *handle) (e event.Event, ok bool) {
	if h == nil {
		h = &handle{}
	}
	memory := s.Name == "read" && s.Unfinished && memoryFile.MatchString(h.path)
	network := s.Name == "unshare" && strings.Contains(s.Args, "CLONE_NEWNET")
	start := isRuncStart(s)
	if !kernelwait.Calls[s.Name] && !lookingCalls[s.Name] && !memory && !network && !start || s.HasDuration && s.Duration < slowSyscall && !s.Unfinished {
		return event.Event{}, false
	}
	if !s.HasDuration && !s.Unfinished && s.EndPos == s.Pos {
		return event.Event{}, false // not even interrupted by another thread's line
	}
	// A trace without -y that begins late shows neither path nor handshake, but the start of the
	// message.
	bus := h.conn != nil && h.conn.Serials != nil || strings.Contains(s.Args, "org.fre")
	netlink := h.kind == netlinkSocket || strings.Contains(s.Args, "NETLINK")
	if s.Name == "write" && !bus {
		return event.Event{}, false
	}
	if strings.HasPrefix(s.Name, "recv") && !netlink && h.kind != unknownHandle {
		return event.Event{}, false // a socket that is known and is no netlink socket
	}
	e = event.Event{Kind: event.KindSyscall, Component: "process", Source: "strace", Open: s.Unfinished, Begun: s.AtLeast}
	e.IDs.TID = s.PID
	e.Start = s.Start
	if s.HasDuration && !s.Start.IsZero() {
		e.End = s.Start.Add(s.Duration)
	}
	target := cmp.Or(h.path, firstPath(s.Args))
	e.IDs.Container = scan.FindID(target)
	if e.IDs.Container == "" {
		// .../k8s.io/2346f52c.../rootfs, as write-ups cut it
		e.IDs.Container = scan.ContainerID(path.Base(path.Dir(target)))
	}
	e.Fields = []event.Field{
		event.FieldName.Text(s.Name), event.FieldResult.Text(s.Result), event.FieldErrno.Text(s.Errno),
		event.FieldDelayed.Bool(s.Delayed), event.FieldInjected.Bool(s.Injected), event.FieldReturned.Bool(!s.Unfinished),
		event.FieldRootfs.Bool(isRootfs(target)), event.FieldNetlink.Bool(netlink), event.FieldBus.Bool(bus),
	}
	if s.Delayed {
		e.AddFields(event.FieldTester.Text("a delay that strace injected"))
	}
	if network {
		e.AddFields(event.FieldNetns.Bool(true))
	}
	e.AddText(event.FieldPath, target)
	if s.HasDuration {
		e.AddFields(event.FieldTook.Duration(s.Duration))
	}
	e.Text = s.Name + " in thread " + strconv.Itoa(s.PID)
	if (lookingCalls[s.Name] || memory || start) && target != "" {
		e.Text = s.Name + " of " + target
	}
	if s.Unfinished {
		e.Text += " has not returned"
	}
	e.Evidence = []event.Quote{{Pos: s.Pos, Text: s.Raw}}
	if s.EndPos != s.Pos && s.EndRaw != "" {
		e.Evidence = append(e.Evidence, event.Quote{Pos: s.EndPos, Text: s.EndRaw})
	}
	return e, true
}

// isRuncStart says that a call is runc start's at a container's exec.fifo: up to 1.0-rc91 it waits
// there without end for runc init, which opens the other end. That the init waits there is routine:
// nobody may have started its container yet.
//
//	openat(AT_FDCWD, "/run/docker/runtime-runc/moby/<id>/exec.fifo", O_RDONLY|O_CLOEXEC
func isRuncStart(s *traces.Syscall) bool {
	return (s.Name == "openat" || s.Name == "open") && strings.Contains(s.Args, `/exec.fifo", O_RDONLY`)
}

// memoryFile are the files of /proc that show another process's memory. To read one the kernel
// takes a lock of that process (mmap_lock; mmap_sem up to 5.7), so that ps hangs where a thread in
// the kernel holds it.
var memoryFile = regexp.MustCompile(`^/proc/[0-9]+/(task/[0-9]+/)?(cmdline|environ|maps|smaps|smaps_rollup|numa_maps)$`)

// isRootfs tells the mount point of a container's root: the bundle of a shim v1
// or v2 (containerd's io.containerd.runtime.v{1,2}.task), or dockerd's overlay2 "merged".
func isRootfs(p string) bool {
	return strings.HasSuffix(p, "/rootfs") || strings.HasSuffix(p, "/merged")
}

// firstPath is the path that a call works on: its first quoted argument, below the directory that
// strace -y wrote behind the descriptor before it, or what it wrote behind the call's own; empty
// when that is no absolute path.
func firstPath(args string) string {
	p, ok := traces.FirstString(args)
	before, _, _ := strings.Cut(args, `"`)
	dir, labelled := scan.Between(before, "<", ">")
	switch {
	case ok && strings.HasPrefix(p, "/"):
		return p
	case !labelled || !strings.HasPrefix(dir, "/"):
		return ""
	case ok:
		return path.Join(dir, p)
	}
	return dir
}
