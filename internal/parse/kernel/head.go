package kernel

import (
	"regexp"
	"strconv"
	"strings"
)

// ReadCPUTask reads the line that a report about a CPU has of the task which runs there: of an
// oops, a lockup, a stall of RCU, a failed allocation, and for sysrq-l.
//
//	CPU: 3 UID: 0 PID: 1422 Comm: dockerd Not tainted 6.12.0 #1      since 6.11
//	CPU: 3 PID: 1422 Comm: dockerd Tainted: G           O 5.4.89+ #1
//	Pid: 1422, comm: dockerd Not tainted 2.6.32-754.el6.x86_64 #1
//
// Its State is R. Ok is false for every other line.
func ReadCPUTask(line string) (t Task, ok bool) {
	if !strings.Contains(line, "omm: ") {
		return t, false
	}
	m := cpuTask.FindStringSubmatch(line)
	if m == nil {
		return t, false
	}
	t.TID, _ = strconv.Atoi(m[1])
	t.Comm, t.State = m[2], "R"
	return t, t.TID <= MaxPID // 0 is the idle task of a CPU
}

// cpuTask is such a line: 1 the pid, 2 the name.
var cpuTask = regexp.MustCompile(`^ *(?:CPU: *\d+ +(?:UID: *\d+ +)?PID: *|Pid: *)(\d{1,10}),? +[Cc]omm: (\S.{0,14}?) +(?:Not tainted|Tainted:|Kdump:)`)

// ReadCrashTask reads the line that the program crash prints above a stack, and its state where
// crash ps -m printed one before it:
//
//	PID: 1422   TASK: ffff8f4a5e2d0000  CPU: 3   COMMAND: "containerd-shim"
//	[0 00:03:32.104] [UN]  PID: 1422   TASK: ffff8f4a5e2d0000  CPU: 3   COMMAND: "containerd-shim"
//
// Ok is false for every other line.
func ReadCrashTask(line string) (t Task, ok bool) {
	if !strings.Contains(line, " TASK: ") {
		return t, false
	}
	m := crashTask.FindStringSubmatch(line)
	if m == nil {
		return t, false
	}
	t.State, t.Comm = crashStates[m[1]], m[3]
	t.TID, _ = strconv.Atoi(m[2])
	return t, t.TID > 0 && t.TID <= MaxPID
}

// crashTask is such a line: 1 the state, 2 the pid, 3 the name.
var crashTask = regexp.MustCompile(`^ *(?:\[ *\d+ \d\d:\d\d:\d\d\.\d+\] *\[([A-Z]{2})\] *)?PID: *(\d{1,10}) +TASK: *[0-9a-f]{8,16} +CPU: *\d+ +COMMAND: "(.{1,15})"`)

// crashStates are the letters of ps for crash's states.
var crashStates = map[string]string{"UN": "D", "IN": "S", "RU": "R", "ST": "T", "ZO": "Z", "TR": "t", "ID": "I"}

// ReadPerfTask reads the line that perf script prints above the stack of a task which left its CPU:
//
//	runc 1422 [003] 4211.567890: sched:sched_switch: prev_comm=runc prev_pid=1422 prev_prio=120 prev_state=D ==> next_comm=…
//
// Ok is false for every other line.
func ReadPerfTask(line string) (t Task, ok bool) {
	if !strings.Contains(line, "sched:sched_switch:") {
		return t, false
	}
	m := perfTask.FindStringSubmatch(line)
	if m == nil {
		return t, false
	}
	t.Comm, t.State = m[1], m[3]
	t.TID, _ = strconv.Atoi(m[2])
	return t, t.TID > 0 && t.TID <= MaxPID
}

// perfTask is such a line: 1 the name, 2 the pid, 3 the state.
var perfTask = regexp.MustCompile(`sched:sched_switch: (?:prev_comm=)?(\S.{0,14}?)(?: prev_pid=|:)(\d{1,10}) .*?(?:prev_state=|\] )([RSDTtXZPI])\S* ==>`)

// ReadStackPath finds the file of /proc that somebody printed, in the line with the command:
//
//	# cat /proc/1422/stack
//	[root@node-1 ~]# sudo cat /proc/1422/task/1440/stack
//	+ cat /proc/1422/stack
//	# cat /proc/1422/{comm,wchan,stack}
//
// Ok is false for every other line.
func ReadStackPath(line string) (file string, ok bool) {
	if !strings.Contains(line, "/proc/") {
		return "", false
	}
	m := stackPath.FindStringSubmatch(strings.TrimRight(line, " \t\r"))
	if m == nil {
		return "", false
	}
	return m[1], true
}

// stackPath is a command behind a prompt: 1 the file.
var stackPath = regexp.MustCompile(`^(?:.{0,100}[#$%>+] *)?(?:sudo +)?(?:cat|head|tail|more|less)(?: -\S+)* (/proc/\d{1,7}(?:/task/\d{1,7})?/(?:stack|wchan|syscall|status|stat|comm|cgroup|\{(?:(?:wchan|syscall|stat|comm),)+stack\}))$`)
