// Package kernel reads what a Linux kernel writes about threads, in a log, in /proc or through a
// sampler: the frames of their stacks, and the numbers of their system calls.
package kernel

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// MaxPID is the kernel's PID_MAX_LIMIT; a larger number in front is a time.
const MaxPID = 1 << 22

// Task is the line that the kernel prints before the stack of a task (sched_show_task, in a report
// of a hung task, for sysrq-w and sysrq-t):
//
//	task:containerd-shim state:D stack:    0 pid: 1422 ppid:     1 flags:0x00004006    since 5.11
//	task:containerd-shim state:D stack:0     pid:1422  tgid:1419  ppid:1      flags:0x00004006    since 6.5
//	containerd-shim D    0  1422      1 0x00004080    since 4.18
//	containerd-shim D ffffffff819adcd0     0  1422      1 0x00000080    before
type Task struct {
	Comm  string // at most 15 bytes
	State string // the letter of ps
	TID   int
	TGID  int // 0 before 6.5, which does not print it
}

// ReadTask reads the line above a stack, as Task has it, without its log header. Ok is false for
// every other line.
func ReadTask(line string) (t Task, ok bool) {
	var m []string
	switch {
	case strings.HasPrefix(line, "task:"):
		m = newTask.FindStringSubmatch(line)
	case strings.Contains(line, " 0x") && len(line) <= 120:
		m = oldTask.FindStringSubmatch(line)
	}
	if m == nil {
		return t, false
	}
	t.Comm, t.State = m[1], m[2]
	t.TID, _ = strconv.Atoi(m[3])
	t.TGID, _ = strconv.Atoi(m[4])
	return t, t.TID > 0 && t.TID <= MaxPID
}

// newTask is a line since 5.11: 1 the name, 2 the state, 3 the pid, 4 the tgid, where it is there.
var newTask = regexp.MustCompile(`^task:(.*?) *state:(.)[^:]*:[^:]* pid: *(\d{1,10})(?:.* tgid: *(\d{1,10}))?`)

// oldTask is "%-15.15s %c" and then "  running task    ", the program counter or
// nothing, free stack, pid, parent, flags: the groups are those of newTask, 4 is empty.
var oldTask = regexp.MustCompile(`^(\S.{0,14}?) +([RSDTtXZPIWKN]) (?: *running task +| ?[0-9a-f]{8,16} )? *\d+ +(\d+) +\d+ 0x[0-9a-f]{8,16}()$`)

// ReadFrame reads a line of a kernel stack, innermost first, without its log header:
//
//	[<0>] ovl_sync_fs+0x2f/0x50 [overlay]    /proc/PID/stack since 4.14
//	[<ffffffffc0a3d1bf>] ovl_sync_fs+0x2f/0x50 [overlay]    before
//	[<0>] ovl_sync_fs    somebody left the offsets out
//	 ovl_sync_fs+0x2f/0x50 [overlay]    a trace since 4.10
//	 ? wait_woken+0xa0/0xa0    a word on the stack that may be left over from another call
//	 [<ffffffff8132cb66>] ? __blk_run_queue+0x29/0x31    the same before 4.10
//	[c000000f5a3b7a20] [c00000000012abcd] schedule+0x4c/0xd0    ppc64
//	[<8079dff8>] (schedule) from [<7f50b754>] (ovl_sync_fs+0x2f/0x50 [overlay])    arm, 32 bits
//	 schedule from ovl_sync_fs+0x2f/0x50 [overlay]    the same since 5.18
//	[<0>] 0xffffffffffffffff    the end, before 5.6
//	 #3 [ffffb8a0c0a5bce0] ovl_sync_fs at ffffffffc0a3d1bf [overlay]    crash
//	ffffffffc0a3d1bf ovl_sync_fs+0x2f ([overlay])    perf script
//
// Function is the symbol without its offset, as "lo_rw_aio.isra.0", and empty for a frame without
// one. Unsure says that the kernel put a question mark before it: up to 4.x, without frame
// pointers, it marks all of them. Ok is false for every other line.
func ReadFrame(line string) (function string, unsure, ok bool) {
	s := strings.TrimSpace(line)
	if s == "" {
		return "", false, false
	}
	if rest, interrupted := strings.CutPrefix(s, "[exception RIP: "); interrupted { // crash: where a fault came
		n := symbolLength(rest)
		return rest[:n], false, n > 0 && n < len(rest) && (rest[n] == '+' || rest[n] == ']')
	}
	if s[0] == '#' {
		function, ok = readCrashFrame(s)
		return function, false, ok
	}
	if lines.IsDigit(s[0]) || s[0] == 'f' {
		if function, ok = readPerfFrame(s); ok {
			return function, false, true
		}
	}
	s, angle, closed := cutAddresses(s)
	if !closed {
		return "", false, false
	}
	if function, ok = readCalledFrame(s, angle); ok {
		return function, false, true
	}
	if rest, found := strings.CutPrefix(s, "? "); found {
		s, unsure = rest, true
	}
	if angle && strings.HasPrefix(s, "0x") && !strings.Contains(s, " ") {
		return "", unsure, true
	}
	n := symbolLength(s)
	if n == 0 {
		return "", false, false
	}
	if angle && (n == len(s) || isModule(s[n:])) {
		return s[:n], unsure, true
	}
	if !strings.HasPrefix(s[n:], "+0x") {
		return "", false, false
	}
	// Symbol, offset and size in full: "+0x1d" alone is what Go prints in its own stacks.
	rest := s[n+3:]
	a := CountHexDigits(rest)
	if a == 0 || !strings.HasPrefix(rest[a:], "/0x") || CountHexDigits(rest[a+3:]) == 0 {
		if a == 0 || !angle || a < len(rest) && !isModule(rest[a:]) {
			return "", false, false
		}
	}
	return s[:n], unsure, true
}

// ReadBareFrame reads a line that is a function of the kernel and nothing else but an offset and a
// module. Only where a stack is known to be does such a line belong to one:
//
//	ovl_sync_fs            somebody left all else out
//	ovl_sync_fs+47         bpftrace
//	ovl_sync_fs+0x2f [overlay]
//	b'ovl_sync_fs'         tools of bcc with Python 2's habits
func ReadBareFrame(line string) (function string, ok bool) {
	s := strings.TrimSuffix(strings.TrimSpace(line), "()")
	s = strings.TrimSuffix(strings.TrimPrefix(s, "b'"), "'")
	n := symbolLength(s)
	if n < 3 {
		return "", false
	}
	rest := s[n:]
	if offset, found := strings.CutPrefix(rest, "+"); found {
		rest = offset[CountHexDigits(strings.TrimPrefix(offset, "0x")):]
		if strings.HasPrefix(offset, "0x") {
			rest = offset[2+CountHexDigits(offset[2:]):]
		}
	}
	if rest != "" && !isModule(rest) {
		return "", false
	}
	return s[:n], true
}

// cutAddresses takes the addresses in brackets before a frame off; closed is false where such a
// bracket stays open. Angle says that one was in angle brackets, which nothing else is.
func cutAddresses(s string) (rest string, angle, closed bool) {
	for strings.HasPrefix(s, "[") {
		if inner, found := strings.CutPrefix(s, "[<"); found {
			n := CountHexDigits(inner)
			if n == 0 || !strings.HasPrefix(inner[n:], ">] ") {
				return s, angle, false
			}
			s, angle = strings.TrimLeft(inner[n+3:], " "), true
			continue
		}
		n := CountHexDigits(s[1:])
		if n != 16 || !strings.HasPrefix(s[1+n:], "] ") {
			return s, angle, false
		}
		s = s[1+n+2:]
	}
	return s, angle, true
}

// readCrashFrame reads "#3 [ffffb8a0c0a5bce0] ovl_sync_fs at ffffffffc0a3d1bf [overlay]".
func readCrashFrame(s string) (function string, ok bool) {
	number, rest, found := strings.Cut(s[1:], " [")
	if !found || len(number) > 3 || strings.Trim(strings.TrimLeft(number, " "), "0123456789") != "" {
		return "", false
	}
	n := CountHexDigits(rest)
	if n < 8 || !strings.HasPrefix(rest[n:], "] ") {
		return "", false
	}
	rest = rest[n+2:]
	n = symbolLength(rest)
	if n == 0 || !strings.HasPrefix(rest[n:], " at ") || CountHexDigits(rest[n+4:]) < 8 {
		return "", false
	}
	return rest[:n], true
}

// readCalledFrame reads a line of a backtrace of arm with 32 bits, which names a function and who
// called it: "(schedule) from [<7f50b754>] (ovl_sync_fs+0x2f/0x50 [overlay])".
func readCalledFrame(s string, angle bool) (function string, ok bool) {
	called, caller, found := strings.Cut(s, " from ")
	if !found {
		return "", false
	}
	if angle {
		if !strings.HasPrefix(called, "(") || !strings.HasSuffix(called, ")") || !strings.HasPrefix(caller, "[<") {
			return "", false
		}
		called = called[1 : len(called)-1]
	} else if at := symbolLength(caller); at == 0 || !strings.HasPrefix(caller[at:], "+0x") {
		return "", false
	}
	n := symbolLength(called)
	return called[:n], n > 0 && (n == len(called) || isModule(called[n:]))
}

// readPerfFrame reads "ffffffffc0a3d1bf ovl_sync_fs+0x2f ([overlay])" of a function in the kernel
// or in one of its modules, whose name stands in brackets.
func readPerfFrame(s string) (function string, ok bool) {
	n := CountHexDigits(s)
	if n < 8 || n > 16 || !strings.HasPrefix(s[n:], " ") || !strings.HasSuffix(s, "])") {
		return "", false
	}
	s = s[n+1:]
	n = symbolLength(s)
	rest := s[n:]
	if strings.HasPrefix(rest, "+0x") {
		rest = rest[3+CountHexDigits(rest[3:]):]
	}
	if n == 0 || !strings.HasPrefix(rest, " ([") {
		return "", false
	}
	return s[:n], true
}

// symbolLength is how much of s is a function's name; 0 when it starts with none.
func symbolLength(s string) (n int) {
	for n < len(s) && IsSymbol(s[n]) {
		n++
	}
	if n == 0 || n > MaxSymbol || lines.IsDigit(s[0]) {
		return 0
	}
	return n
}

// isModule says that s is what may follow a function: " [overlay]", and the mark of a frame of
// ppc64 that is not sure.
func isModule(s string) bool {
	return strings.HasPrefix(s, " [") && strings.HasSuffix(s, "]") || s == " (unreliable)"
}

// IsStackBottom says that a function is one of those that every stack begins with: how a thread
// came into the kernel, or was made.
func IsStackBottom(function string) bool {
	return lines.StartsWith(function, "entry_", "ret_from_fork", "el0", "system_call_fastpath", "ret_from_kernel_thread", "system_call_exception")
}

// MaxSymbol is KSYM_NAME_LEN since 6.1; C's names stay far below.
const MaxSymbol = 512

// IsSymbol says that c may stand in the name of a function of the kernel.
func IsSymbol(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || lines.IsDigit(c) || c == '_' || c == '.' || c == '$'
}

// CountHexDigits is how many hexadecimal digits s starts with; capitals are none.
func CountHexDigits(s string) (n int) {
	for n < len(s) && (lines.IsDigit(s[n]) || s[n] >= 'a' && s[n] <= 'f') {
		n++
	}
	return n
}

// kernelEntries are the prefixes of the functions that a system call starts in, by the machine that
// has them.
var kernelEntries = []struct{ prefix, machine string }{
	{"__x64_sys_", "x86_64"},
	{"__arm64_sys_", "aarch64"},
	{"__se_sys_", ""}, // since 4.17
	{"__do_sys_", ""},
	{"SyS_", ""}, // before
	{"ksys_", ""},
	{"sys_", ""},
}

// entryPoints lie below every stack of a system call, and show the machine.
var entryPoints = map[string]string{
	"do_syscall_64": "x86_64", "entry_SYSCALL_64_after_hwframe": "x86_64", "entry_SYSCALL_64_fastpath": "x86_64", "x64_sys_call": "x86_64",
	"system_call_fastpath": "x86_64",
	"el0_svc":              "aarch64", "el0t_64_sync": "aarch64", "el0_sync": "aarch64", "el0t_64_sync_handler": "aarch64", "el0_svc_common": "aarch64",
}

// otherNames are the system calls whose function has another name.
var otherNames = map[string]string{"umount": "umount2", "newstat": "stat", "newfstat": "fstat", "newlstat": "lstat", "newuname": "uname"}

// StackCall finds in a kernel stack, its functions in any order, the system call
// that it belongs to and the machine it ran on; either is empty when the stack does not show it.
func StackCall(functions []string) (name, machine string) {
	for _, f := range functions {
		base, _, _ := strings.Cut(f, ".")
		if m := entryPoints[base]; m != "" && machine == "" {
			machine = m
		}
		for _, e := range kernelEntries {
			call, ok := strings.CutPrefix(base, e.prefix)
			if !ok {
				continue
			}
			if other := otherNames[call]; other != "" {
				call = other
			}
			if isSyscall(call) {
				name = call
				if e.machine != "" {
					machine = e.machine
				}
			}
			break
		}
	}
	return name, machine
}
