package collect

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plegdiag/plegdiag/internal/parse"
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

// slowRead bounds the read of one file of /proc that takes a lock.
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
	w.line(parse.ThreadWalk{
		Format: parse.ThreadsFormat, Walk: n, Realtime: c.Realtime, Monotonic: c.Monotonic, Boottime: c.Boottime, BootID: c.BootID,
		Host: unix.ByteSliceToString(uts.Nodename[:]), Machine: unix.ByteSliceToString(uts.Machine[:]), Release: unix.ByteSliceToString(uts.Release[:]),
	})
	end := parse.ThreadWalkEnd{Walk: n}
	var all []process
	for _, pid := range numbers(w.root) {
		p, threads, ok := w.process(pid)
		end.Threads += threads
		if !ok {
			end.Vanished++
			continue
		}
		all = append(all, p)
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

// process reads one process; ok is false when it has ended meanwhile.
func (w *walker) process(pid int) (p process, rows int, ok bool) {
	dir := filepath.Join(w.root, strconv.Itoa(pid))
	unreadable := map[string]string{}
	p.PID = pid
	exe, err := os.Readlink(dir + "/exe")
	if err == nil {
		p.Exe = filepath.Base(strings.TrimSuffix(exe, " (deleted)"))
	}
	p.Cgroup = pathOfCgroup(w.slow(dir+"/cgroup", "cgroup", unreadable))
	for _, id := range containerIDs.FindAllString(p.Cgroup, -1) {
		if len(w.ids) < maxAsked {
			w.ids[id] = true
		}
	}
	p.signals(w.read(dir+"/status", "status", unreadable))
	for _, tid := range numbers(dir + "/task") {
		row, stat, ok := w.thread(dir, pid, tid)
		if !ok {
			continue
		}
		if row.Exe, row.Cgroup = p.Exe, p.Cgroup; tid == pid {
			p.leader(stat, &row)
			for file, why := range unreadable {
				row.unreadable(file, why)
			}
		}
		if row.State == "D" {
			p.Blocked++
			p.Waits = row.WChan
		} else if strings.Contains(row.WChan, "rwsem") || strings.Contains(row.WChan, "vma") {
			p.Waits = row.WChan
		}
		p.Threads++
		rows++
		w.line(row.ThreadRow)
	}
	return p, rows, p.Threads > 0
}

// row is a row that notes what could not be read.
type row struct{ parse.ThreadRow }

func (r *row) unreadable(file, why string) {
	if r.Unreadable == nil {
		r.Unreadable = map[string]string{}
	}
	r.Unreadable[file] = why
}

// thread reads one thread.
func (w *walker) thread(dir string, pid, tid int) (r row, stat []string, ok bool) {
	dir = filepath.Join(dir, "task", strconv.Itoa(tid))
	text, _, err := readFile(dir+"/stat", 4096)
	stat = statFields(string(text))
	if err != nil || len(stat) < 7 {
		return r, nil, false
	}
	r.PID, r.TID, r.State = pid, tid, stat[0]
	r.Comm = between(string(text), '(', ')')
	const kernelThread = 0x00200000 // PF_KTHREAD of include/linux/sched.h
	flags, _ := strconv.ParseUint(stat[6], 10, 64)
	r.Kernel = flags&kernelThread != 0
	unreadable := map[string]string{}
	if r.WChan = strings.TrimSpace(w.read(dir+"/wchan", "wchan", unreadable)); r.WChan == "0" {
		r.WChan = ""
	}
	if r.State != "R" && r.State != "Z" && r.State != "X" {
		r.call(w.slow(dir+"/syscall", "syscall", unreadable))
		r.Stack = stackLines(w.slow(dir+"/stack", "stack", unreadable))
	}
	r.Unreadable = unreadable
	if len(unreadable) == 0 {
		r.Unreadable = nil
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

// read reads a file that cannot block.
func (w *walker) read(path, file string, unreadable map[string]string) string {
	text, _, err := readFile(path, 16<<10)
	if err != nil {
		unreadable[file] = reason(unpathed(err))
	}
	return string(text)
}

// slow reads a file that takes a lock somebody else may hold. A kind of file that hung twice is not read any more.
func (w *walker) slow(path, file string, unreadable map[string]string) string {
	if why := w.hung[file]; why != "" {
		unreadable[file] = why
		return ""
	}
	var text []byte
	answer := make(chan []byte, 1)
	r := w.guard.try(slowRead, func() error {
		content, _, err := readFile(path, 16<<10)
		answer <- content
		return unpathed(err)
	})
	if r.outcome == "" {
		return string(<-answer)
	}
	unreadable[file] = r.why
	if r.wchan != "" || r.outcome == "timeout" {
		unreadable[file] += ", in " + r.wchan
		w.hung[file] = "not read: it hung at another thread"
	}
	return string(text)
}

// leader takes what the thread group leader's stat says of the process.
func (p *process) leader(stat []string, r *row) {
	p.Comm, p.State, p.Kernel = r.Comm, r.State, r.Kernel
	p.PPID = number(stat[1])
	if len(stat) > 19 {
		p.Started = stat[19]
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
