package syscalls

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

// handle is what a descriptor of a traced process refers to, as far as the trace tells.
type handle struct {
	kind  handleKind
	path  string // of a file, or of the socket's listening side
	inode string // of a socket; empty without -y
	conn  *BusConn
	// opened is the call that opened a file that holds a state; empty for all others.
	opened event.Quote
}

type handleKind uint8

const (
	unknownHandle handleKind = iota
	otherHandle              // certainly neither of the following
	fileHandle
	unixSocket
	netlinkSocket
)

// process is the table of descriptors that some threads share.
type process struct {
	pid    int // of its first thread that was seen
	parent *process
	fds    map[int]*handle
}

// Bounds of what is remembered of a trace; a node that is traced at all has fewer.
const (
	maxHandles   = 1 << 16
	maxProcesses = 1 << 14
)

// files follows descriptors from the calls that make them, so that traces without -y tell the same
// as those with it.
type files struct {
	processes map[int]*process // by thread
	first     *process         // of the threads whose birth the trace does not show
	inodes    map[string]*handle
}

func newFiles() *files {
	return &files{processes: map[int]*process{}, inodes: map[string]*handle{}}
}

func (f *files) processOf(tid int) *process {
	if p := f.processes[tid]; p != nil {
		return p
	}
	if f.first == nil {
		f.first = &process{pid: tid, fds: map[int]*handle{}}
	}
	if len(f.processes) < maxProcesses {
		f.processes[tid] = f.first
	}
	return f.first
}

// findHandle is what a call's descriptor refers to. What strace wrote beside it outweighs what was
// followed; of a socket both are joined by its inode. It is nil where nothing is known.
func (f *files) findHandle(p *process, d traces.FD) *handle {
	h := p.fds[d.N]
	if d.Label == "" {
		return h
	}
	kind, inode, path := readDescriptorLabel(d.Label)
	if inode != "" {
		if known := f.inodes[inode]; known != nil {
			h = known
		} else if h == nil || h.inode != "" && h.inode != inode || kind == otherHandle {
			h = &handle{}
		}
		h.inode = inode
		if len(f.inodes) < maxHandles {
			f.inodes[inode] = h
		}
	} else {
		h = &handle{}
	}
	if kind != unknownHandle {
		h.kind = kind
	}
	if path != "" {
		h.path = path
	}
	p.setHandle(d.N, h)
	return h
}

// readDescriptorLabel reads what -y and -yy write behind a descriptor, as
// "UNIX-STREAM:[315702->314541]" or "/etc/passwd".
func readDescriptorLabel(label string) (kind handleKind, inode, path string) {
	if strings.HasPrefix(label, "/") {
		return fileHandle, "", strings.TrimSuffix(label, " (deleted)")
	}
	what, rest, _ := strings.Cut(label, ":[")
	switch {
	case strings.HasPrefix(what, "UNIX"):
		kind = unixSocket
		path, _ = scan.Between(rest, `"`, `"`)
		path = strings.TrimPrefix(path, "@")
	case what == "NETLINK":
		return netlinkSocket, "", "" // the number is its port, and changes
	case what == "socket":
	default:
		return otherHandle, "", ""
	}
	return kind, scan.Digits(rest), path
}

func (p *process) setHandle(fd int, h *handle) {
	if _, known := p.fds[fd]; known || len(p.fds) < maxHandles {
		p.fds[fd] = h
	}
}

// followCall takes note of a call that makes, copies or closes a descriptor, or makes a process.
func (f *files) followCall(s *traces.Syscall) {
	if s.Errno != "" || !s.Returned || !s.Wanted {
		return
	}
	p := f.processOf(s.PID)
	result, ok := leadingInt(s.Result)
	if !ok {
		return
	}
	switch s.Name {
	case "openat", "openat2", "open", "creat":
		h := &handle{kind: fileHandle, path: f.openedPath(s)}
		if holdsState(h.path) {
			h.opened = event.Quote{Pos: s.Pos, Text: s.Raw}
		}
		p.setHandle(result, h)
	case "socket":
		p.setHandle(result, newSocket(s))
	case "accept", "accept4", "dup", "dup2", "dup3":
		d, _, ok := traces.ReadDescriptor(s.Args)
		h := f.findHandle(p, d)
		if !ok || h == nil {
			delete(p.fds, result)
		} else if s.Name[0] == 'a' {
			p.setHandle(result, &handle{kind: h.kind, path: h.path}) // a connection of its own
		} else {
			p.setHandle(result, h)
		}
	case "fcntl":
		if d, rest, ok := traces.ReadDescriptor(s.Args); ok && strings.Contains(rest, "F_DUPFD") {
			if h := f.findHandle(p, d); h != nil {
				p.setHandle(result, h)
			}
		}
	case "connect":
		d, rest, ok := traces.ReadDescriptor(s.Args)
		if _, at, named := strings.Cut(rest, "sun_path="); ok && named {
			h := f.findHandle(p, d)
			if h == nil {
				h = &handle{}
				p.setHandle(d.N, h)
			}
			h.kind = unixSocket
			h.path, _ = traces.FirstString(at)
		}
	case "close":
		if d, _, ok := traces.ReadDescriptor(s.Args); ok {
			delete(p.fds, d.N)
		}
	case "clone", "clone3", "fork", "vfork":
		f.addProcess(p, result, strings.Contains(s.Args, "CLONE_FILES") || strings.Contains(s.Args, "CLONE_THREAD"))
	}
}

// threadsOfChild are the threads of a process's child, or of all its children when pid is 0. Of a
// child whose birth the trace does not show it is the first thread, which has the id of the
// process.
func (f *files) threadsOfChild(parent *process, pid int) (threads []int) {
	for tid, p := range f.processes {
		if p != parent && (pid == 0 && p.parent == parent || pid != 0 && p.pid == pid) || pid != 0 && tid == pid {
			threads = append(threads, tid)
		}
	}
	slices.Sort(threads)
	return threads
}

// addProcess notes a new thread, or a process, which starts with its parent's descriptors.
func (f *files) addProcess(parent *process, child int, shared bool) {
	if len(f.processes) >= maxProcesses {
		return
	}
	if shared {
		f.processes[child] = parent
		return
	}
	f.processes[child] = &process{pid: child, parent: parent, fds: maps.Clone(parent.fds)}
}

func newSocket(s *traces.Syscall) *handle {
	switch {
	case strings.Contains(s.Args, "AF_UNIX"), strings.Contains(s.Args, "AF_LOCAL"):
		return &handle{kind: unixSocket}
	case strings.Contains(s.Args, "AF_NETLINK"):
		return &handle{kind: netlinkSocket}
	}
	return &handle{kind: otherHandle}
}

// leadingInt is the number that a result starts with.
func leadingInt(s string) (int, bool) {
	v, err := strconv.Atoi(scan.Digits(s))
	return v, err == nil
}
