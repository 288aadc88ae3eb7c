package samples

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/kernel"
)

// namedBlock is what the head of a part of a collection says.
type namedBlock struct {
	procPlace
	state string
}

// blockTitle is a thread between two rows of signs, or behind the first:
// 1 the pid, 2 the tid, 3 the name, 4 the state, of
// "=== 1234 containerd-shim ===", "--- PID 1234 (runc) state D ---", "== pid=1234 tid=1240 ==",
// "=== 15:58:02 pid 1234 tid 1240 comm kubelet state D".
var blockTitle = regexp.MustCompile(`^(?:\d\d:\d\d:\d\d[ ,]+)?(?i:pid)?[ :=]*([1-9]\d{0,6})(?:(?:[/:, ]+(?i:tid)[ :=]*|/)([1-9]\d{0,6}))?(?:[ :,]+(?:(?i:comm|command|cmd|name)[ :=]+)?(\S.{0,16}?))?(?:[ ,]+(?i:state)[ :=]+([A-Za-z])\b.*)?$`)

// readBlockHead reads the line that names the thread of the lines that follow.
func readBlockHead(line string) (b namedBlock, ok bool) {
	s := strings.TrimSpace(line)
	for _, read := range []func(string) (kernel.Task, bool){kernel.ReadCrashTask, kernel.ReadPerfTask} {
		if task, ok := read(s); ok {
			return namedBlock{procPlace{tid: task.TID, comm: task.Comm}, task.State}, true
		}
	}
	if file, ok := kernel.ReadStackPath(s); ok {
		p, ok := readPlace(file)
		return namedBlock{procPlace: p}, ok
	}
	if comm, tid, ok := readMapKeys(s); ok {
		return namedBlock{procPlace: procPlace{tid: tid, comm: comm}}, true
	}
	if rest, found := strings.CutPrefix(s, "==> "); found { // head and tail
		p, ok := readPlace(strings.TrimSuffix(rest, " <=="))
		return namedBlock{procPlace: p}, ok && strings.HasSuffix(rest, " <==")
	}
	if file, found := readEchoedPath(s); found {
		if p, ok := readPlace(file); ok && slices.Contains(procFiles, path.Base(file)) {
			return namedBlock{procPlace: p}, true
		}
		return readPathHead(s)
	}
	title := strings.TrimLeft(s, "=-#")
	if n := len(s) - len(title); n == 0 || n == 1 && s[0] != '#' {
		if b, ok := readBlockLine(s); ok {
			return b, true
		}
		return readThreadHead(s)
	}
	title = strings.Trim(title, "=-# ")
	m := blockTitle.FindStringSubmatch(title)
	if m == nil {
		return readPathHead(title)
	}
	b.tid, _ = strconv.Atoi(m[1])
	b.comm, b.state = m[3], m[4]
	if strings.HasPrefix(b.comm, "(") && strings.HasSuffix(b.comm, ")") {
		b.comm = b.comm[1 : len(b.comm)-1]
	}
	if m[2] != "" {
		b.pid = b.tid
		b.tid, _ = strconv.Atoi(m[2])
	}
	return b, true
}

// readEchoedPath reads a path that a loop of a shell, or more, prints above a file, mostly with a
// word before it: "Task: /proc/1234/task/1240/stack".
func readEchoedPath(line string) (file string, ok bool) {
	if label, rest, labelled := strings.Cut(line, ": "); labelled && !strings.ContainsAny(label, " /") {
		line = strings.TrimLeft(rest, " ")
	}
	return strings.TrimSuffix(line, ":"), strings.HasPrefix(line, "/proc/")
}

// pathHead is the directory of a thread in /proc, as a loop of a shell prints it above its stack:
// 1 the pid, 2 the tid, 3 the name, 4 the state, of
// "/proc/1234/task/1240 containerd", "/proc/1234 (runc) D:",
// "/proc/1234/task/1240 State:	D (disk sleep)".
var pathHead = regexp.MustCompile(`^/proc/([1-9]\d{0,6})(?:/task/([1-9]\d{0,6}))?/?:?(?: +\(?([A-Za-z](?:[^\s()]{0,13}[^\s():])?)\)?)?(?:[ ,]+(?:(?i:state)[ :=\t]+)?([DRSTtXZI])(?: \([a-z ]+\))?)?:?$`)

func readPathHead(line string) (b namedBlock, ok bool) {
	m := pathHead.FindStringSubmatch(line)
	if m == nil {
		return b, false
	}
	b.pid, _ = strconv.Atoi(m[1])
	b.tid, b.comm, b.state = b.pid, m[3], m[4]
	if m[2] != "" {
		b.tid, _ = strconv.Atoi(m[2])
	}
	return b, true
}

// numberHead and nameHead are a thread alone on its line, which only the stack below it tells from
// other lines. 1 is the tid or the name, 2 the other, 3 the state, of
// "1240 containerd", "PID 1240 containerd D", "1240: containerd",
// "containerd 1240 D", "[runc:1240]".
var (
	numberHead = regexp.MustCompile(`^(?:(?i:pid|tid|thread|task)[ :=]*)?([1-9]\d{0,6})[ :,]+\(?([A-Za-z][^\s(),:]{0,14})\)?(?:[ ,]+([DRSTt]))?:?$`)
	nameHead   = regexp.MustCompile(`^\[?([A-Za-z][^\s:\[\]()]{0,14})[ :]([1-9]\d{0,6})\]?(?:[ ,]+([DRSTt]))?:?$`)
)

// readThreadHead reads such a line. One of the file status, as "Threads: 31", has a colon and no
// brackets.
func readThreadHead(line string) (b namedBlock, ok bool) {
	tid, name := 1, 2
	m := numberHead.FindStringSubmatch(line)
	if m == nil {
		tid, name = 2, 1
		m = nameHead.FindStringSubmatch(line)
	}
	if m == nil || tid == 2 && line[0] != '[' && strings.Contains(line[:len(line)-1], ":") {
		return b, false
	}
	b.tid, _ = strconv.Atoi(m[tid])
	b.comm, b.state, b.bare = m[name], m[3], true
	return b, true
}

// mapHead is the start of a stack in a map of bpftrace, with the keys before it: 1 those keys.
var mapHead = regexp.MustCompile(`^@\w*\[((?:[^\[\]]{1,40}, ?){0,3})$`)

// mapEnd is its end, with the keys behind it: 1 those keys.
var mapEnd = regexp.MustCompile(`^(?:, (.{1,80}))?\]: \d+$`)

// readMapKeys reads the head of such a stack, whose keys may be the name and the id of a thread:
//
//	@[runc, 1234,
//	    schedule+1
//	]: 5
func readMapKeys(line string) (comm string, tid int, ok bool) {
	if !strings.HasPrefix(line, "@") {
		return "", 0, false
	}
	m := mapHead.FindStringSubmatch(line)
	if m == nil {
		return "", 0, false
	}
	comm, tid = threadOfKeys(m[1])
	return comm, tid, true
}

// readMapEnd reads the line behind such a stack, ", runc, 1234]: 5".
func readMapEnd(line string) (comm string, tid int, ok bool) {
	m := mapEnd.FindStringSubmatch(line)
	if m == nil {
		return "", 0, false
	}
	comm, tid = threadOfKeys(m[1])
	return comm, tid, true
}

// threadOfKeys takes a number for an id and a word for a name.
func threadOfKeys(keys string) (comm string, tid int) {
	for key := range strings.SplitSeq(keys, ",") {
		switch key = strings.TrimSpace(key); {
		case isThreadID(key):
			tid, _ = strconv.Atoi(key)
		case key != "" && len(key) <= maxComm:
			comm = key
		}
	}
	return comm, tid
}

// IsThreadFile says that a path is a file of one thread in /proc, as "/proc/1234/task/1240/stack",
// or of one of NamedProcesses.
func IsThreadFile(file string) bool {
	if _, ok := kernel.ReadStackPath("cat " + file); ok {
		return true
	}
	p, ok := readPlace(file)
	return ok && p.comm != "" && !IsOfAllThreads(file)
}

// StackOwner is the thread whose stack the next lines are, where a line is a prompt with the
// command that prints it, or names a thread and nothing else. Bare says that it is no more than a
// number, so that a word on a line of its own is no frame of it. Ok is false for every other line.
func StackOwner(line string) (t kernel.Task, bare, ok bool) {
	if file, isPrompt := kernel.ReadStackPath(line); isPrompt {
		p, ok := readPlace(file)
		return kernel.Task{TID: p.tid}, false, ok && p.file == "stack"
	}
	b, ok := readBlockLine(line)
	return kernel.Task{Comm: b.comm, State: b.state, TID: b.tid}, b.bare, ok
}

// blockLine is a thread at the start of a line of its own, with a name, a colon or both behind:
// 1 the pid, 2 the name, 3 the state, of
// "pid 1234 (runc):", "PID: 1234 comm: runc, state D", "Thread 1234:".
var blockLine = regexp.MustCompile(`^(?i:pid|tid|process|thread|task)(?: *[:=#] *| +)([1-9]\d{0,6})(?:[ ,]+(?:(?i:comm|command|name)[:=] *)?[("]?([A-Za-z][^\s()",]{0,14})[)"]?)?(?:[ ,]+(?i:state)[ :=]+([A-Za-z])\b[^:]*)?(:?)$`)

// bareLine is one with neither, "PID: 1234". A sentence has no such sign.
var bareLine = regexp.MustCompile(`^(?i:pid|tid|process|thread|task) *[:=#] *[1-9]\d{0,6}$`)

// readBlockLine reads such a line.
func readBlockLine(s string) (b namedBlock, ok bool) {
	if s == "" || strings.IndexByte("pPtT", s[0]) < 0 { // as most lines
		return b, false
	}
	m := blockLine.FindStringSubmatch(s)
	if m == nil {
		return b, false
	}
	b.tid, _ = strconv.Atoi(m[1])
	b.comm, b.state = m[2], m[3]
	b.bare = b.comm == "" && m[4] == ""
	return b, !b.bare || bareLine.MatchString(s)
}
