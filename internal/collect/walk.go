package collect

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// process is what the walk learned of one process that later steps need.
type process struct {
	PID, PPID int
	Comm, Exe string // Exe is the base name of the link; empty where it cannot be read
	State     string
	Kernel    bool
	Cgroup    string
	Started   string // ticks since boot: with the PID it is the process, and not a later one of that PID
	Threads   int
	Blocked   int    // threads in state D
	Waits     string // wchan of one of them, or of a thread that waits for a lock of the address space
	Catches   bool   // SIGUSR1 has a handler
	Tracer    int    // PID of who traces it
	Task      string `json:",omitempty"` // of a shim: NAMESPACE/ID of the task that it was started for
}

// walked is what the last walk noted, one process or one id at a time.
type walked struct {
	Processes  []process
	Containers []string // ids that stand in cgroups
}

// walkNote is one of them.
type walkNote struct {
	Process   *process `json:",omitempty"`
	Container string   `json:",omitempty"`
}

// containerIDs are the 64 hexadecimal digits by which runtimes name containers and sandboxes.
var containerIDs = regexp.MustCompile(`[0-9a-f]{64}`)

// walker reads the files of all threads. Of a file whose reads hang it reads no more: another thread's locks are
// behind it (/proc/PID/stack and syscall take exec_update_lock, cgroup takes cgroup_mutex).
type walker struct {
	root  string // "/proc"
	out   *frames
	item  string
	guard guard
	hung  map[string]string // by file: why it is not read any more
	buf   []byte
	ids   map[string]bool
}

// look is what reads one process, in a thread that may get lost; what it found is handed over whole.
type look struct {
	dir   string
	hung  map[string]string
	file  atomic.Pointer[string] // that is being read
	reads atomic.Int64
	p     process
	rows  []row
}

// slowRead bounds the read of one file of /proc: some take a lock.
const slowRead = 300 * time.Millisecond

// walk makes walks over /proc, a second apart.
func walk(t *task, out *frames) {
	w := walker{root: "/proc", out: out, item: t.Items[0].Name, hung: map[string]string{}, ids: map[string]bool{}}
	out.begin(w.item, "/proc/*/task/*/{stat,wchan,syscall,stack}, /proc/*/{cgroup,exe,status}")
	var last []process
	for n := range t.Count {
		if n > 0 {
			time.Sleep(time.Second)
		}
		last = w.once(n + 1)
	}
	out.end(w.item, result{})
	for i := range last {
		out.note(walkNote{Process: &last[i]})
	}
	for _, id := range slices.Sorted(maps.Keys(w.ids)) {
		out.note(walkNote{Container: id})
	}
}

// line appends a row to what is sent.
func (w *walker) line(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		return
	}
	w.buf = append(append(w.buf, text...), '\n')
	if len(w.buf) > 64<<10 {
		w.flush()
	}
}

func (w *walker) flush() {
	w.out.data(w.item, w.buf)
	w.buf = w.buf[:0]
}

func (w *walker) once(n int) []process {
	c := clocks()
	var uts unix.Utsname
	_ = unix.Uname(&uts) // cannot fail
	w.line(samples.ThreadWalk{
		Format: samples.ThreadsFormat, Walk: n, Realtime: c.Realtime, Monotonic: c.Monotonic, Boottime: c.Boottime, BootID: c.BootID,
		Host: unix.ByteSliceToString(uts.Nodename[:]), Machine: unix.ByteSliceToString(uts.Machine[:]), Release: unix.ByteSliceToString(uts.Release[:]),
	})
	end := samples.ThreadWalkEnd{Walk: n}
	var all []process
	for _, pid := range numbers(w.root) {
		l := w.process(pid)
		if l == nil || len(l.rows) == 0 {
			end.Vanished++
			continue
		}
		for i := range l.rows {
			w.line(&l.rows[i])
		}
		for _, id := range containerIDs.FindAllString(l.p.Cgroup, -1) {
			if len(w.ids) < maxAsked {
				w.ids[id] = true
			}
		}
		end.Threads += len(l.rows)
		all = append(all, l.p)
	}
	end.Monotonic = clocks().Monotonic
	w.line(end)
	w.flush()
	return all
}

// numbers are the entries of a directory of /proc that are numbers, ascending.
func numbers(dir string) []int {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	var all []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// process looks at one process, again without the file that hung if one did; nil when nothing can be read any more.
func (w *walker) process(pid int) *look {
	for {
		l := &look{dir: filepath.Join(w.root, strconv.Itoa(pid)), hung: maps.Clone(w.hung)}
		l.p.PID = pid
		r := w.guard.watch(slowRead, l.reads.Load, func() error { l.all(); return nil })
		switch {
		case r.outcome == "":
			return l
		case r.outcome == bundle.Skipped: // too many did not come back
			return nil
		}
		file := l.file.Load()
		if file == nil {
			return nil
		}
		w.hung[*file] = fmt.Sprintf("not read: it hung at PID %d, in %s", pid, r.wchan)
	}
}

// all reads the files of a process.
func (l *look) all() {
	p, unreadable := &l.p, map[string]string{}
	if exe, err := os.Readlink(l.dir + "/exe"); err == nil {
		p.Exe = filepath.Base(strings.TrimSuffix(exe, " (deleted)"))
	}
	if isShim(p.Exe) {
		p.Task = taskOf(l.dir)
	}
	p.Cgroup = pathOfCgroup(l.read(l.dir, "cgroup", unreadable))
	p.signals(l.read(l.dir, "status", unreadable))
	for _, tid := range numbers(l.dir + "/task") {
		r, stat, ok := l.thread(tid)
		if !ok {
			continue
		}
		if r.Exe, r.Cgroup = p.Exe, p.Cgroup; tid == p.PID {
			p.leader(stat, &r)
			for file, why := range unreadable {
				r.unreadable(file, why)
			}
		}
		if r.State == "D" {
			p.Blocked++
			p.Waits = r.WChan
		} else if strings.Contains(r.WChan, "rwsem") || strings.Contains(r.WChan, "vma") {
			p.Waits = r.WChan
		}
		p.Threads++
		l.rows = append(l.rows, r)
	}
}

// row is a row that notes what could not be read.
type row struct{ samples.ThreadRow }

func (r *row) unreadable(file, why string) {
	if r.Unreadable == nil {
		r.Unreadable = map[string]string{}
	}
	r.Unreadable[file] = why
}

// thread reads one thread.
func (l *look) thread(tid int) (r row, stat []string, ok bool) {
	dir := filepath.Join(l.dir, "task", strconv.Itoa(tid))
	unreadable := map[string]string{}
	text := l.read(dir, "stat", unreadable)
	stat = statFields(text)
	if len(stat) < 7 {
		return r, nil, false
	}
	r.PID, r.TID, r.State = l.p.PID, tid, stat[0]
	r.Comm = between(text, '(', ')')
	const kernelThread = 0x00200000 // PF_KTHREAD of include/linux/sched.h
	flags, _ := strconv.ParseUint(stat[6], 10, 64)
	r.Kernel = flags&kernelThread != 0
	if r.WChan = strings.TrimSpace(l.read(dir, "wchan", unreadable)); r.WChan == "0" {
		r.WChan = ""
	}
	if r.State != "R" && r.State != "Z" && r.State != "X" {
		r.call(l.read(dir, "syscall", unreadable))
		r.Stack = stackLines(l.read(dir, "stack", unreadable))
	}
	for file, why := range unreadable {
		r.unreadable(file, why)
	}
	return r, stat, true
}

// call takes the text of /proc/PID/syscall: number, six registers, stack pointer, program counter; or -1, or "running".
func (r *row) call(text string) {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] == "running" {
		return
	}
	n, err := strconv.Atoi(words[0])
	if err != nil {
		return
	}
	r.Syscall = &n
	if len(words) >= 7 {
		r.Args = words[1:7]
	}
}

// read reads a file of the process or of a thread, unless its kind has hung before.
func (l *look) read(dir, file string, unreadable map[string]string) string {
	if why := l.hung[file]; why != "" {
		unreadable[file] = why
		return ""
	}
	l.file.Store(&file)
	text, _, err := readFile(dir+"/"+file, 16<<10)
	l.reads.Add(1)
	if err != nil {
		unreadable[file] = reason(unpathed(err))
	}
	return string(text)
}

// userHZ is how many ticks the kernel shows for a second (USER_HZ of asm/param.h, on every processor that Kubernetes runs on).
const userHZ = 100

// leader takes what the thread group leader's stat says of the process.
func (p *process) leader(stat []string, r *row) {
	p.Comm, p.State, p.Kernel = r.Comm, r.State, r.Kernel
	p.PPID = number(stat[1])
	if len(stat) > 19 {
		p.Started = stat[19]
		r.Started = float64(number(stat[19])) / userHZ
	}
}

// signals takes /proc/PID/status.
func (p *process) signals(status string) {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); name {
		case "SigCgt":
			mask, err := strconv.ParseUint(value, 16, 64)
			p.Catches = err == nil && mask&(1<<(uint(unix.SIGUSR1)-1)) != 0
		case "TracerPid":
			p.Tracer = number(value)
		}
	}
}

// pathOfCgroup is the path in the unified hierarchy, else of the controller pids: a line is HIERARCHY:CONTROLLERS:PATH.
func pathOfCgroup(text string) string {
	unified, pids := "", ""
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) < 3:
		case parts[0] == "0":
			unified = parts[2]
		case parts[1] == "pids":
			pids = parts[2]
		}
	}
	if pids != "" && (unified == "" || unified == "/") {
		return pids
	}
	return unified
}

// between is what stands between the first of one byte and the last of the other.
func between(s string, first, last byte) string {
	i, j := strings.IndexByte(s, first), strings.LastIndexByte(s, last)
	if i < 0 || j <= i {
		return ""
	}
	return s[i+1 : j]
}

// unpathed is an error without the path, which its place tells.
func unpathed(err error) error {
	if p, ok := err.(*os.PathError); ok { //nolint:errorlint // the outermost one has the path
		return p.Err
	}
	return err
}
