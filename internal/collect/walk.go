//go:build linux

package collect

import (
	"bufio"
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

// process is what later steps need to know about one process.
type process struct {
	PID, PPID int
	Comm, Exe string // Exe is the base name of the link; empty where it cannot be read
	State     string
	Kernel    bool
	Cgroup    string
	// ticks since boot: with the PID it is the process, and not a later one of that PID
	Started string
	Threads int
	Blocked int // threads in state D
	// wchan of one of them, or of a thread that waits for a lock of the address space
	Waits   string
	Catches bool // SIGUSR1 has a handler
	Tracer  int  // PID of its tracer
	// of a shim: NAMESPACE/ID of the task that it was started for
	Task string `json:",omitempty"`
}

// isStopped says that a signal or a tracer has stopped the process.
func (p *process) isStopped() bool { return p.State == "T" || p.State == "t" }

// walked is what the last walk found.
type walked struct {
	Processes  []process
	Containers []string // ids in the names of cgroups
}

// containerIDs are the 64 hexadecimal digits by which runtimes name containers and sandboxes.
var containerIDs = regexp.MustCompile(`[0-9a-f]{64}`)

// walker reads the files of all threads. When the read of a file hangs, it reads this file of no
// other thread: such reads need a lock that another thread can hold (/proc/PID/stack and syscall
// take exec_update_lock, cgroup takes cgroup_mutex).
type walker struct {
	root  string // "/proc"
	guard guard
	hung  map[string]string // by file: why it is not read any more
	rows  *bufio.Writer
	ids   map[string]bool
}

// processReader reads one process, in a thread that can hang. Its results are used only when it has
// returned.
type processReader struct {
	dir   string
	hung  map[string]string
	file  atomic.Pointer[string] // the one that is being read
	reads atomic.Int64
	p     process
	rows  []row
}

// slowRead bounds the read of one file of /proc: some need a lock.
const slowRead = 300 * time.Millisecond

// walkThreads walks over /proc several times, a second apart.
func walkThreads(t *task, out *frames) {
	item := t.Items[0].Name
	w := walker{
		root: "/proc", rows: itemWriter{out, item}.buffered(), hung: map[string]string{},
		ids: map[string]bool{},
	}
	out.beginItem(item, "/proc/*/task/*/{stat,wchan,syscall,stack}, /proc/*/{cgroup,exe,status}")
	var last []process
	for n := range t.Count {
		if n > 0 {
			time.Sleep(time.Second)
		}
		last = w.walkOnce(n + 1)
	}
	out.endItem(item, result{})
	for i := range last {
		out.sendNote(note{Process: &last[i]})
	}
	for _, id := range slices.Sorted(maps.Keys(w.ids)) {
		out.sendNote(note{Container: id})
	}
}

// appendRow appends a row to what is sent.
func (w *walker) appendRow(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		return
	}
	_, _ = w.rows.Write(append(text, '\n'))
}

func (w *walker) walkOnce(n int) []process {
	c := readClocks()
	var uts unix.Utsname
	_ = unix.Uname(&uts) // cannot fail
	w.appendRow(samples.ThreadWalk{
		Format: samples.ThreadsFormat, Walk: n, Realtime: c.Realtime, Monotonic: c.Monotonic, Boottime: c.Boottime,
		BootID: c.BootID,
		Host:   unix.ByteSliceToString(uts.Nodename[:]), Machine: unix.ByteSliceToString(uts.Machine[:]),
		Release: unix.ByteSliceToString(uts.Release[:]),
	})
	end := samples.ThreadWalkEnd{Walk: n}
	var all []process
	for _, pid := range numericEntries(w.root) {
		l := w.readProcess(pid)
		if l == nil || len(l.rows) == 0 {
			end.Vanished++
			continue
		}
		for i := range l.rows {
			w.appendRow(&l.rows[i])
		}
		for _, id := range containerIDs.FindAllString(l.p.Cgroup, -1) {
			if len(w.ids) < maxAsked {
				w.ids[id] = true
			}
		}
		end.Threads += len(l.rows)
		all = append(all, l.p)
	}
	end.Monotonic = readClocks().Monotonic
	w.appendRow(end)
	w.rows.Flush()
	return all
}

// numericEntries returns the entries of a directory that are numbers, ascending.
func numericEntries(dir string) []int {
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

// readProcess reads one process. If a file hangs, it reads the process again without that file. It
// returns nil when nothing can be read any more.
func (w *walker) readProcess(pid int) *processReader {
	for {
		l := &processReader{dir: filepath.Join(w.root, strconv.Itoa(pid)), hung: maps.Clone(w.hung)}
		l.p.PID = pid
		r := w.guard.watchProgress(slowRead, l.reads.Load, func() error { l.readAll(); return nil })
		switch {
		case r.outcome == "":
			return l
		case r.outcome == bundle.Skipped: // too many reads hang
			return nil
		}
		file := l.file.Load()
		if file == nil {
			return nil
		}
		w.hung[*file] = fmt.Sprintf("not read: it hung at PID %d, in %s", pid, r.wchan)
	}
}

// readAll reads the files of a process.
func (l *processReader) readAll() {
	p, unreadable := &l.p, map[string]string{}
	if exe, err := os.Readlink(l.dir + "/exe"); err == nil {
		p.Exe = filepath.Base(strings.TrimSuffix(exe, " (deleted)"))
	}
	if isShim(p.Exe) {
		p.Task = taskOf(l.dir)
	}
	p.Cgroup = pathOfCgroup(l.readProcFile(l.dir, "cgroup", unreadable))
	p.parseStatus(l.readProcFile(l.dir, "status", unreadable))
	for _, tid := range numericEntries(l.dir + "/task") {
		r, stat, ok := l.readThread(tid)
		if !ok {
			continue
		}
		if r.Exe, r.Cgroup = p.Exe, p.Cgroup; tid == p.PID {
			p.setLeader(stat, &r)
			maps.Copy(r.Unreadable, unreadable)
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

// row is a row with what could not be read.
type row struct{ samples.ThreadRow }

// readThread reads one thread.
func (l *processReader) readThread(tid int) (r row, stat []string, ok bool) {
	dir := filepath.Join(l.dir, "task", strconv.Itoa(tid))
	r.Unreadable = map[string]string{}
	text := l.readProcFile(dir, "stat", r.Unreadable)
	stat = statFields(text)
	if len(stat) < 7 {
		return r, nil, false
	}
	r.PID, r.TID, r.State = l.p.PID, tid, stat[0]
	r.Comm = textBetween(text, '(', ')')
	const kernelThread = 0x00200000 // PF_KTHREAD of include/linux/sched.h
	flags, _ := strconv.ParseUint(stat[6], 10, 64)
	r.Kernel = flags&kernelThread != 0
	if r.WChan = strings.TrimSpace(l.readProcFile(dir, "wchan", r.Unreadable)); r.WChan == "0" {
		r.WChan = ""
	}
	if r.State != "R" && r.State != "Z" && r.State != "X" {
		r.setCall(l.readProcFile(dir, "syscall", r.Unreadable))
		r.Stack = parseStack(l.readProcFile(dir, "stack", r.Unreadable))
	}
	return r, stat, true
}

// setCall reads the text of /proc/PID/syscall: number, six registers, stack pointer, program
// counter; or -1, or "running".
func (r *row) setCall(text string) {
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

// readProcFile reads a file of the process or of a thread, unless a file of that name has hung
// before.
func (l *processReader) readProcFile(dir, file string, unreadable map[string]string) string {
	if why := l.hung[file]; why != "" {
		unreadable[file] = why
		return ""
	}
	l.file.Store(&file)
	text, _, err := readFile(dir+"/"+file, 16<<10)
	l.reads.Add(1)
	if err != nil {
		unreadable[file] = errorText(withoutPath(err))
	}
	return string(text)
}

// userHZ is how many ticks the kernel shows for a second (USER_HZ of asm/param.h, on every
// processor that Kubernetes runs on).
const userHZ = 100

// startField is the field of /proc/PID/stat that says when the process was started, of statFields.
const startField = 19

// setLeader reads what the first thread's stat says about the process.
func (p *process) setLeader(stat []string, r *row) {
	p.Comm, p.State, p.Kernel = r.Comm, r.State, r.Kernel
	p.PPID = parseNumber(stat[1])
	if len(stat) > startField {
		p.Started = stat[startField]
		r.Started = float64(parseNumber(p.Started)) / userHZ
	}
}

// parseStatus reads the text of /proc/PID/status.
func (p *process) parseStatus(status string) {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); name {
		case "SigCgt":
			mask, err := strconv.ParseUint(value, 16, 64)
			p.Catches = err == nil && mask&(1<<(uint(unix.SIGUSR1)-1)) != 0
		case "TracerPid":
			p.Tracer = parseNumber(value)
		}
	}
}

// pathOfCgroup is the path in the unified hierarchy, else of the controller pids. A line is
// HIERARCHY:CONTROLLERS:PATH.
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

// textBetween is the text between the first occurrence of one byte and the last of the other.
func textBetween(s string, first, last byte) string {
	i, j := strings.IndexByte(s, first), strings.LastIndexByte(s, last)
	if i < 0 || j <= i {
		return ""
	}
	return s[i+1 : j]
}

// withoutPath is an error without its path, which the item names.
func withoutPath(err error) error {
	if p, ok := err.(*os.PathError); ok { //nolint:errorlint // the outermost one has the path
		return p.Err
	}
	return err
}
