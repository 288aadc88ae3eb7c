package samples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ThreadsFormat is the value of ThreadWalk.Format, the name of plegdiag's own
// format of thread samples: JSON lines. A file holds some walks over /proc, each a
// ThreadWalk, one ThreadRow for every thread, and a ThreadWalkEnd. docs/samples.md describes
// it. Fields are added, never renamed.
const ThreadsFormat = "plegdiag.threads/v1"

// ThreadWalk is the line before the threads of a walk: when it began, by three clocks, and on what
// node.
type ThreadWalk struct {
	Format    string    `json:"format"` // ThreadsFormat
	Walk      int       `json:"walk"`   // counts from 1
	Realtime  time.Time `json:"realtime"`
	Monotonic float64   `json:"monotonic"` // CLOCK_MONOTONIC in seconds
	Boottime  float64   `json:"boottime"`  // CLOCK_BOOTTIME in seconds: what dmesg counts from
	BootID    string    `json:"boot_id,omitempty"`
	Host      string    `json:"host,omitempty"`
	Machine   string    `json:"machine"`           // uname -m; it decides the names of system calls
	Release   string    `json:"release,omitempty"` // uname -r
}

// ThreadRow is one thread, as its files in /proc/PID/task/TID show it. What could not be read is
// left out.
type ThreadRow struct {
	PID    int    `json:"pid"`
	TID    int    `json:"tid"`
	Comm   string `json:"comm"`
	State  string `json:"state"`            // the letter of stat
	Kernel bool   `json:"kernel,omitempty"` // flag PF_KTHREAD of stat
	Exe    string `json:"exe,omitempty"`    // base name of the link
	// Started is when the process began, in seconds of CLOCK_BOOTTIME; of the first thread of each
	// process, 0 elsewhere.
	Started float64 `json:"started,omitempty"`
	WChan   string  `json:"wchan,omitempty"` // empty for "0"
	// Syscall is the number of the call; -1 blocked outside of one; nil while running and where it
	// is unreadable.
	Syscall *int     `json:"syscall,omitempty"`
	Args    []string `json:"args,omitempty"` // the six registers, "0xc000012345"
	// Stack are the lines of the file without "[<0>] ", innermost first.
	Stack []string `json:"stack,omitempty"`
	// Cgroup is that of the unified hierarchy, else of the controller that limits pods.
	Cgroup string `json:"cgroup,omitempty"`
	// Unreadable are the files that gave an error, with it: {"stack": "permission denied"}.
	Unreadable map[string]string `json:"unreadable,omitempty"`
}

// ThreadWalkEnd is the line after the last thread of a walk. Without it the walk
// was cut short, and a thread that is not in it may exist all the same.
type ThreadWalkEnd struct {
	Walk      int     `json:"walk"`
	Monotonic float64 `json:"monotonic"`
	Threads   int     `json:"threads"`            // rows written
	Vanished  int     `json:"vanished,omitempty"` // threads that ended while they were read
}

// threadsReader is the state of one pass over a file of walks.
type threadsReader struct{ walk ThreadWalk }

// ReadWalks reads plegdiag's own samples:
//
//	{"format":"plegdiag.threads/v1","walk":1,"realtime":"2026-11-20T18:30:16.658Z","monotonic":4211.5,"boottime":4211.5,"machine":"x86_64"}
//	{"pid":30142,"tid":30153,"comm":"containerd-shim","state":"D","wchan":"folio_wait_bit","syscall":166,"args":["0xc00012","0x0"],"stack":["folio_wait_bit+0x1a/0x80"]}
//	{"walk":1,"monotonic":4211.6,"threads":412}
func ReadWalks(in lines.Input) iter.Seq2[Sample, error] {
	r := threadsReader{}
	return sampleLines(in, r.readRow)
}

// readRow reads one line.
func (r *threadsReader) readRow(line string) (s Sample, reason string) {
	var l struct {
		ThreadRow
		ThreadWalk
		Threads *int `json:"threads"`
	}
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		return s, fmt.Sprintf("no line of thread samples: %.80s", err)
	}
	switch {
	case l.Format != "" && l.Format != ThreadsFormat:
		return s, fmt.Sprintf("format %.40q is not known", l.Format)
	case l.Format != "":
		if l.Realtime.IsZero() {
			return s, "a walk without a time"
		}
		r.walk = l.ThreadWalk
		s = Sample{Walk: WalkBegin, Time: event.At(l.Realtime)}
		if l.Monotonic > 0 && l.Monotonic < math.MaxInt32 {
			s.Uptime = time.Duration(l.Monotonic * float64(time.Second))
		}
		return s, ""
	case l.TID == 0 && l.Threads != nil:
		return Sample{Walk: WalkEnd}, ""
	case l.TID <= 0 || l.TID > kernel.MaxPID:
		return s, fmt.Sprintf("neither a thread nor an edge of a walk: %.40q", line)
	case r.walk.Realtime.IsZero():
		return s, "a thread before the first walk has no time"
	}
	return r.newSample(&l.ThreadRow), ""
}

// newSample makes a sample of a row.
func (r *threadsReader) newSample(t *ThreadRow) Sample {
	s := Sample{
		Time: event.At(r.walk.Realtime), PID: t.PID, TID: t.TID, Comm: t.Comm, State: stateLetter(t.State),
		Kernel: t.Kernel, Exe: t.Exe, WChan: withoutPlaceholder(t.WChan), Cgroup: t.Cgroup, Args: strings.Join(t.Args, " "), Machine: kernel.MachineOf(r.walk.Machine),
	}
	if t.Started > 0 && t.Started <= r.walk.Boottime {
		// USER_HZ
		s.Started = event.Time{T: r.walk.Realtime.Add(-time.Duration((r.walk.Boottime - t.Started) * float64(time.Second))), Prec: 10 * time.Millisecond, Known: true}
	}
	var functions []string
	for _, f := range slices.Backward(t.Stack) {
		if name, unsure, ok := kernel.ReadFrame(f); ok && !unsure && name != "" {
			functions = append(functions, name)
		}
	}
	s.Stack = strings.Join(functions, " ")
	if t.Syscall != nil && *t.Syscall >= 0 && !t.Kernel {
		s.Number, s.HasNumber = *t.Syscall, true
	}
	s.NameSyscall()
	return s
}

// NameSyscall names the system call of a sample by its number, where the machine is known, else by
// the stack, and undoes what is known to be wrong about it. It is called once everything else is
// set.
func (s *Sample) NameSyscall() {
	defer s.correctCall()
	name, machine := kernel.StackCall(strings.Fields(s.Stack))
	if s.Machine == "" {
		s.Machine = machine
	}
	if s.HasNumber && s.Machine != "" {
		name = kernel.SyscallName(s.Machine, s.Number)
	}
	if s.Syscall == "" {
		s.Syscall = name
	}
}

// IsWalk knows a line of plegdiag's own samples.
func IsWalk(line []byte) bool {
	if len(line) == 0 || line[0] != '{' {
		return false
	}
	has := func(s string) bool { return bytes.Contains(line, []byte(s)) }
	return has(`"format":"`+ThreadsFormat+`"`) || has(`"tid":`) && has(`"pid":`) && has(`"comm":`) && has(`"state":`) || has(`"walk":`) && has(`"threads":`)
}
