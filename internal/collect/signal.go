//go:build linux

package collect

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/held"
)

// dumper is a daemon that writes its goroutines to a file when it gets SIGUSR1.
type dumper struct {
	exe  string // base name of the program
	dir  string // of the file, as the daemon sees it
	file string // pattern of the file; %d is the daemon's PID; empty when it writes none
	// besides is the pattern of a file that it writes, too. It holds environments of containers, and
	// is not copied.
	besides string
}

// sigQuit makes Go print all goroutines and end.
const sigQuit = unix.SIGQUIT

// dumpers are all daemons that are ever sent SIGUSR1. The signal ends a program without a handler
// for it.
var dumpers = []dumper{
	// cmd/containerd/command/main_unix.go, dumpStacks: a second dump overwrites the first
	{exe: "containerd", dir: "/tmp", file: "containerd.%d.stacks.log"},
	// daemon/debugtrap_unix.go; below --exec-root. Old versions dump their data, too.
	{exe: "dockerd", dir: "/run/docker", file: "goroutine-stacks-*.log", besides: "daemon-data-*.log"},
	// cmd/crio/main.go, writeCrioGoroutineStacks
	{exe: "crio", dir: "/tmp", file: "crio-goroutine-stacks-*.log"},
	{exe: "cri-dockerd"}, // handles it, writes no file: not asked
}

func dumperOf(exe string) *dumper {
	for i := range dumpers {
		if dumpers[i].exe == exe && dumpers[i].file != "" {
			return &dumpers[i]
		}
	}
	return nil
}

// signalDumps sends SIGUSR1 to daemons and fetches the file that each writes.
func signalDumps(t *task, out *frames) {
	for i := range t.Processes {
		if d := dumperOf(t.Processes[i].Exe); d != nil {
			r := dumpRequest{task: t, process: &t.Processes[i], dumper: d, out: out}
			name := t.Items[i].Name
			out.beginItem(name, t.Items[i].Source)
			out.endItem(name, r.takeDump(name))
		}
	}
}

// dumpRequest asks one daemon.
type dumpRequest struct {
	task    *task
	process *process
	dumper  *dumper
	out     *frames
	guard   guard
	dir     *held.Dir
	pattern string
	before  []held.File // what was there before the signal
}

// takeDump asks the daemon for its dump, and sends it as the item name.
func (q *dumpRequest) takeDump(name string) result {
	why, r := tryFor(&q.guard, q.task.Bound, func() (string, error) { return q.process.whyNoSignalNow("/proc"), nil })
	if r.isOpen() {
		why = "it cannot be looked at: " + r.why
	}
	if why != "" {
		return result{outcome: bundle.Skipped, why: why}
	}
	if r = q.guard.try(q.task.Bound, q.lookBefore); r.outcome != "" {
		return result{outcome: bundle.Skipped, why: "its dump could not be fetched: " + r.why}
	}
	q.keepEarlier()
	found, r := tryFor(&q.guard, q.task.Bound, q.requestDump)
	if r.outcome != "" {
		late := held.File{Path: path.Join(q.dumper.dir, q.pattern)}
		q.noteFile(&dumpFile{File: late, DumpFile: bundle.DumpFile{Why: "it was not there in time, and can come later"}}, "")
		return r
	}
	r = q.sendFile(name, &found.File)
	q.noteFile(found, name)
	for _, f := range q.dumped(q.dumper.besides) {
		q.noteFile(&f, "")
	}
	return r
}

// lookBefore opens the directory of the dump and looks at what is in it.
func (q *dumpRequest) lookBefore() (err error) {
	q.pattern = q.dumper.file
	if strings.Contains(q.pattern, "%d") {
		q.pattern = fmt.Sprintf(q.pattern, innerPID(q.process.PID))
	}
	if q.dir, err = openDumpDir(q.process, q.dumper.dir); err == nil {
		q.before = q.dir.Find(q.pattern, q.dumper.besides)
	}
	return err
}

// keepEarlier collects an earlier dump that the daemon is going to overwrite.
func (q *dumpRequest) keepEarlier() {
	for i := range q.before {
		f := &q.before[i]
		if f.Base != q.pattern || q.isOurs(f) {
			continue
		}
		name := earlierDump + q.dumper.exe + dumpStamp(f.Changed)
		q.out.beginItem(name, f.Path)
		q.out.endItem(name, q.sendFile(name, f))
	}
}

// isOurs says that a file was written for an earlier signal of this collection.
func (q *dumpRequest) isOurs(f *held.File) bool {
	return slices.ContainsFunc(q.task.Dumps, func(g dumpFile) bool { return g.Caused && g.File.IsSame(f) })
}

// requestDump sends the signal and waits until the file no longer grows.
func (q *dumpRequest) requestDump() (*dumpFile, error) {
	sent := moment()
	if err := q.process.sendSignal(unix.SIGUSR1); err != nil {
		return nil, err
	}
	var last held.File
	for moment().Sub(sent) < q.task.Bound-2*killGrace {
		time.Sleep(200 * time.Millisecond)
		all := q.dumped(q.pattern)
		if len(all) == 0 {
			continue
		}
		f := all[len(all)-1]
		if f.File.Size > 0 && f.File.IsUnchanged(&last) {
			if q.dumper.besides != "" {
				time.Sleep(killGrace) // that one is written behind the dump
			}
			f.Caused = f.Caused && !f.File.Changed.Before(sent.Add(-time.Second)) // clocks of files are coarse
			return &f, nil
		}
		last = f.File
	}
	return nil, fmt.Errorf("%w: SIGUSR1 gave no %s in %s", os.ErrDeadlineExceeded, path.Join(q.dumper.dir, q.pattern), q.task.Bound)
}

// dumped returns the files of a pattern that are new since the signal, or have changed.
func (q *dumpRequest) dumped(pattern string) (all []dumpFile) {
	for _, f := range q.dir.Find(pattern) {
		if slices.ContainsFunc(q.before, func(b held.File) bool { return b.IsUnchanged(&f) }) {
			continue
		}
		was := slices.ContainsFunc(q.before, func(b held.File) bool { return b.IsSame(&f) })
		all = append(all, dumpFile{Dir: q.dumper.dir, File: f, Caused: !was || q.isOurs(&f)})
	}
	return all
}

// sendFile sends the content of a file.
func (q *dumpRequest) sendFile(name string, f *held.File) result {
	whole := true
	text, r := tryFor(&q.guard, q.task.Bound, func() ([]byte, error) {
		file, err := q.dir.Open(f)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		text, all, err := readOpened(file, q.task.Limit)
		whole = all
		return text, withoutPath(err)
	})
	q.out.sendData(name, text)
	if r.outcome == "" && !whole {
		r = result{outcome: bundle.Capped, why: fmt.Sprintf("only the first %d bytes", q.task.Limit)}
	}
	return r
}

// noteFile tells of a file that the daemon wrote, and which item is its copy; empty for none.
func (q *dumpRequest) noteFile(f *dumpFile, item string) {
	f.Path, f.Bytes, f.Writer, f.PID, f.Item = f.File.Path, f.File.Size, q.dumper.exe, q.process.PID, item
	switch {
	case f.Why != "":
	case !f.Caused:
		f.Why = "it was there before, and was overwritten"
	case item == "":
		f.Why = "not copied: it holds environments of containers"
	}
	q.out.sendNote(note{Dump: f})
}

// Looks at a process before it is sent SIGUSR1 or traced: threads wait for a disk, or start a
// program, for a moment all the time.
const (
	settleLooks = 6
	settlePause = 150 * time.Millisecond
)

// settle asks for a reason not to do something for up to a second, and returns the last one; empty
// as soon as there is none.
func settle(ask func() string) (why string) {
	for i := range settleLooks {
		if i > 0 {
			time.Sleep(settlePause)
		}
		if why = ask(); why == "" {
			return ""
		}
	}
	return why
}

// whyNoSignal says by what the process was like why it is not sent SIGUSR1; empty when it can be.
func (p *process) whyNoSignal() string {
	switch {
	case !p.Catches:
		return "it has no handler for SIGUSR1, which would end it"
	case p.isStopped():
		return "it is stopped, state " + p.State
	}
	return ""
}

// whyNoSignalNow looks at a process again, because the walk was minutes ago, and says why it is not
// sent SIGUSR1; empty when it can be. A moment does not count: it is looked at for a second.
func (p *process) whyNoSignalNow(proc string) string {
	return settle(func() string { return p.whyUnsafe(proc) })
}

// whyUnsafe says why a signal to a process could do harm; empty when it could not.
func (p *process) whyUnsafe(proc string) string {
	dir := filepath.Join(proc, strconv.Itoa(p.PID))
	stat, _, err := readFile(dir+"/stat", 4096)
	fields := statFields(string(stat))
	if err != nil || len(fields) <= startField || fields[startField] != p.Started {
		return errGone.Error()
	}
	exe, err := os.Readlink(dir + "/exe")
	if name := filepath.Base(strings.TrimSuffix(exe, " (deleted)")); err != nil || name != p.Exe {
		return "it is not " + p.Exe + " any more"
	}
	// dockerd runs itself for work in other namespaces, and a child that has not started its own
	// program yet has the program, the handlers and the memory of its parent.
	if above, err := os.Readlink(filepath.Join(proc, fields[1], "exe")); err == nil && above == exe {
		return "it is a child of PID " + fields[1] + ", which runs the same program"
	}
	status, _, _ := readFile(dir+"/status", 16<<10)
	is := process{State: fields[0]}
	is.parseStatus(string(status))
	return cmp.Or(is.whyNoSignal(), findUnsafeThread(dir, is.Tracer, handedOver))
}

// findUnsafeThread says why a process must not be signalled or stopped because of one of its
// threads; empty when it can be. A handler that dumps stops all goroutines. That never ends while a
// thread is in a page fault of a disk that hangs, or between vfork and the start of the program:
// the whole daemon would hang with it. In the calls of harmless, state D keeps nobody.
func findUnsafeThread(dir string, tracer int, harmless []int) string {
	if tracer != 0 {
		return fmt.Sprintf("PID %d traces it: it would be stopped until its tracer lets it go on", tracer)
	}
	threads := numericEntries(dir + "/task")
	for _, tid := range threads {
		of := fmt.Sprintf("%s/task/%d/", dir, tid)
		stat, _, _ := readFile(of+"stat", 4096)
		wchan, _, _ := readFile(of+"wchan", 256)
		waits := strings.TrimSpace(string(wchan))
		call := readCallNumber(of + "syscall")
		switch state := statState(string(stat)); {
		case slices.ContainsFunc(frozenWaits, func(f string) bool { return strings.Contains(waits, f) }):
			return "its cgroup is frozen"
		case slices.ContainsFunc(forkWaits, func(f string) bool { return strings.Contains(waits, f) }):
			return fmt.Sprintf("thread %d is about to start a program, in %s", tid, waits)
		case state == "D" && !slices.Contains(harmless, call):
			return fmt.Sprintf("thread %d is in uninterruptible sleep, in %s", tid, waits)
		case state == "T", state == "t":
			return "it is stopped, state " + state
		case state == "Z" && len(threads) == 1:
			return "it has ended"
		}
		if slices.Contains(forkCalls, call) {
			return fmt.Sprintf("thread %d is about to start a program, in system call %d", tid, call)
		}
	}
	return ""
}

// readCallNumber is the number of the system call that a thread is in; -1 outside of one, as in a
// page fault, and where the file does not say.
func readCallNumber(file string) int {
	text, _, _ := readFile(file, 256)
	number, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return -1
	}
	return n
}

// handedOver are system calls around which Go's syscall package enters and leaves the scheduler,
// and that the runtime never makes for itself, as it does madvise and munmap: a thread in a call on
// a file or a socket has given away its place, and keeps no dump.
var handedOver = []int{
	unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC, unix.SYS_SYNCFS, unix.SYS_UMOUNT2, unix.SYS_MOUNT,
	unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_OPENAT, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_RENAMEAT,
	unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_GETDENTS64, unix.SYS_FLOCK, unix.SYS_SENDTO, unix.SYS_RECVFROM,
	unix.SYS_SENDMSG, unix.SYS_RECVMSG,
}

// frozenWaits are functions in which the kernel keeps a frozen thread. That of cgroup v2 has state
// S, in do_freezer_trap, which compilers put into get_signal; that of v1 on Linux 6 has state D,
// wherever it was.
var frozenWaits = []string{"do_freezer_trap", "get_signal", "refrigerator"}

// forkWaits are functions in which the kernel keeps who starts a process: vfork until the program
// of the child has started, and exec until all other threads have ended.
var forkWaits = []string{"vfork", "kernel_clone", "do_fork", "copy_process", "de_thread"}

// forkCalls are the system calls that start a process or a program.
var forkCalls = func() []int {
	calls := []int{unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_EXECVE, unix.SYS_EXECVEAT}
	if runtime.GOARCH == "amd64" {
		calls = append(calls, 57, 58) // fork and vfork, which arm64 does not have
	}
	return calls
}()

// innerPID is the PID of a process in its own PID namespace.
func innerPID(pid int) int {
	status, _, _ := readFile(fmt.Sprintf("/proc/%d/status", pid), 16<<10)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			words := strings.Fields(rest)
			return parseNumber(words[len(words)-1])
		}
	}
	return pid
}

// isSame says that the PID is still that of the process that the walk saw.
func (p *process) isSame() bool {
	stat, _, err := readFile(fmt.Sprintf("/proc/%d/stat", p.PID), 4096)
	fields := statFields(string(stat))
	return err == nil && len(fields) > startField && fields[startField] == p.Started
}

// sendSignal sends a signal to the process that the walk saw, and never to a later one with the
// same PID.
func (p *process) sendSignal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if !p.isSame() {
		return errGone
	}
	if err != nil { // before Linux 5.3
		return unix.Kill(p.PID, sig)
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}
