package samples

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// procFiles are the files of a thread in /proc that are read, by name.
var procFiles = []string{"stack", "wchan", "syscall", "status", "stat", "comm", "cgroup"}

// procPlace is what a path says about a file of /proc.
type procPlace struct {
	pid, tid int    // 0 where the path does not say, or says several
	comm     string // empty where only the pid names the process
	file     string // one of procFiles; empty for a collection of them
	root     string // what comes before the pid
	bare     bool   // only a line with a number tells of it: a word alone is no frame
	before   string // the files of a line each that the same command prints before it: "comm,wchan"
}

// ofProc says that a path is one of /proc itself, and not the name of a copy.
func (p *procPlace) ofProc() bool { return p.pid > 0 || p.comm != "" }

// readPlace reads a path such as
//
//	node-1/proc/1234/stack, proc/1234/task/1240/wchan    as in /proc
//	proc/containerd/stack                                one of NamedProcesses in the place of its number
//	1234.stack, stack.1234, shim-1234-stack.txt          as people name copies; of the thread itself
//
// In a name, two numbers may be anything, and are taken for nothing.
func readPlace(file string) (p procPlace, ok bool) {
	dir, name := cutName(file)
	above, thread := cutName(dir)
	before := ""
	if list, several := strings.CutSuffix(name, ",stack}"); several { // of a shell's braces
		name, before = "stack", strings.TrimPrefix(list, "{")
	}
	if slices.Contains(procFiles, name) && isThreadID(thread) {
		p = procPlace{file: name, root: above, before: before}
		p.tid, _ = strconv.Atoi(thread)
		p.pid = p.tid
		task, parent := cutName(above)
		root, process := cutName(task)
		if parent == "task" && isThreadID(process) {
			p.pid, _ = strconv.Atoi(process)
			p.root = root
		} else if parent == "task" && slices.Contains(NamedProcesses, process) {
			p.pid, p.comm, p.root = 0, process, root
		}
		return p, true
	}
	if _, parent := cutName(above); parent == "proc" && slices.Contains(procFiles, name) && slices.Contains(NamedProcesses, thread) {
		return procPlace{comm: thread, file: name, root: above}, true
	}
	if IsOfAllThreads(file) {
		task, _ := cutName(above)
		p.file = name
		p.root, p.comm = cutName(task)
		if p.pid, _ = strconv.Atoi(p.comm); p.pid != 0 {
			p.comm = ""
		}
		return p, true
	}
	numbers := 0
	for w := range strings.FieldsFuncSeq(strings.ToLower(name), func(c rune) bool { return c < '0' || c > 'z' || c > '9' && c < 'a' }) {
		bare := strings.TrimPrefix(strings.TrimPrefix(w, "pid"), "tid")
		switch {
		case isThreadID(bare):
			p.tid, _ = strconv.Atoi(bare)
			numbers++
		case w == "kstack" && p.file == "":
			p.file = "stack"
		case slices.Contains(procFiles[:4], w) && p.file == "":
			p.file = w
		}
	}
	if numbers != 1 {
		p.tid = 0
	}
	p.root = dir
	return p, p.file != ""
}

// cutName cuts the last name off a path, which may be all there is.
func cutName(file string) (dir, name string) {
	i := strings.LastIndexByte(file, '/')
	return file[:max(i, 0)], file[i+1:]
}

// IsOfAllThreads knows the path by which a shell prints one file of all threads of a process:
// "/proc/1234/task/*/stack", or one of NamedProcesses in the place of its number.
func IsOfAllThreads(file string) bool {
	dir, name := cutName(file)
	dir, ofAll := strings.CutSuffix(dir, "/task/*")
	_, process := cutName(dir)
	return ofAll && slices.Contains(procFiles, name) && (isThreadID(process) || slices.Contains(NamedProcesses, process))
}

// NamedProcesses are the daemons that run once on a node, so that people name them and a shell
// finds the number: $(pidof containerd).
var NamedProcesses = []string{"containerd", "dockerd", "crio", "kubelet"}

// isThreadID says that s is a pid in decimal.
func isThreadID(s string) bool {
	n, d := lines.Digits([]byte(s[:min(len(s), 9)]))
	return d == len(s) && d > 0 && s[0] != '0' && n <= kernel.MaxPID
}

// IsProcFile says that a file is one of /proc by where it stands, and looks like it: wchan is a
// single word, which content alone cannot identify.
func IsProcFile(file string, head *lines.Head) bool {
	p, ok := readPlace(file)
	if !ok {
		return false
	}
	r := procReader{place: p}
	n := 0
	for _, line := range head.Lines {
		if n == 0 && p.file == "status" && !lines.StartsWith(line, "Name:\t", "Name: ") && !(p.ofProc() && statusLine.Match(line)) {
			return false
		}
		text := string(line)
		if _, dates := readStampLine(text); dates {
			continue
		}
		if n++; n > 1000 || !r.knowsLine(text) {
			return false
		}
	}
	return n > 0
}

// procSigns: every text of kernel stacks has one of them, an address, the mark of a tool, or the
// number of crash's first frame.
var procSigns = []string{"[<", "#0 [", " TASK: ", "sched:sched_switch:", "\n@"}

// SniffProc knows stacks of threads, collections of them with a head each, and what the file status
// holds.
func SniffProc(head *lines.Head) float64 {
	if share := cmp.Or(sniffStatus(head), sniffThreadRows(head)); share > 0 {
		return share
	}
	if head.Holds(" blocked for more than ") { // a report of the kernel, beside which stacks may stand
		return 0
	}
	if !slices.ContainsFunc(procSigns, head.Holds) && !bytes.HasPrefix(head.Text, []byte{'@'}) && (!head.HoldsByte('\x1b') || !head.HoldsByte('@')) {
		return 0
	}
	var r procReader
	all, good, frames := 0, 0, 0
	named := false // a stack without a thread's name counts less than the lines around it
	tool := false  // crash, perf and bpftrace write no address in angle brackets
	bare := false  // the line before is no more than a number, as crash has one in its own report
	for _, line := range head.Lines {
		all++
		s := string(line)
		if _, _, ok := readMapKeys(s); ok {
			tool = true
			good++
			continue
		}
		if _, _, ok := readMapEnd(s); ok && tool {
			good++
			continue
		}
		if _, ok := kernel.ReadBareFrame(s); ok && tool && strings.HasPrefix(s, "    ") {
			frames++
			good++
			named = true
			continue
		}
		tool = tool || strings.Contains(s, " TASK: ") || strings.Contains(s, "sched:sched_switch:")
		block, isHead := readBlockHead(s)
		isFrame := isProcFrame(s)
		tool = tool || isFrame && lines.StartsWith(strings.TrimLeft(s, " "), "#")
		if bare && isFrame {
			good++
			named = true
		}
		bare = isHead && block.bare
		if isFrame {
			frames++
			good++
			continue
		}
		if isHead && !bare || r.knowsLine(s) {
			good++
			named = true
		} else if _, content, ok := cutGrepLine(s); ok && content != "" {
			good++
			named = true
		}
	}
	if frames == 0 || good < all && good == frames && !named || !head.Holds("[<") && !tool {
		return 0
	}
	return float64(good) / float64(all)
}

// isProcFrame tells a line of /proc/PID/stack, which unlike a line of the kernel's log starts with
// an address or a stand-in for it.
func isProcFrame(line string) bool {
	s := strings.TrimLeft(line, " \t")
	if _, content, grep := cutGrepLine(s); grep {
		s = content
	}
	if !lines.StartsWith(s, "[<", "#", "ffff") {
		return false
	}
	_, _, ok := kernel.ReadFrame(s)
	return ok
}

// procReader is the state of one pass over files of /proc.
type procReader struct {
	lines.Input
	place  procPlace // of the file itself
	now    event.Time
	cur    *Sample
	at     procPlace      // of cur
	stack  StackBuilder   // of cur
	headed bool           // a line stood where the head of a part would stand
	seen   map[string]int // how often a thread's file came, by both
}

// ReadProc reads files of threads in /proc: one by one, each named by its path, or many in one
// file, each under a head that names it:
//
//	==> /proc/1234/task/1240/stack <==
//	[<0>] ovl_sync_fs+0x2f/0x50 [overlay]
//	=== 1234 containerd-shim ===
//	/proc/1234/stack:[<0>] ovl_sync_fs+0x2f/0x50 [overlay]
//	[root@node-1 ~]# cat /proc/1234/stack
//	pid 1234 (runc):
//	PID: 1234
//	PID: 1234   TASK: ffff8f4a5e2d0000  CPU: 3   COMMAND: "containerd-shim"
//	@[runc, 1234,
//	runc 1234 [003] 4211.567890: sched:sched_switch: prev_comm=runc prev_pid=1234 prev_prio=120 prev_state=D ==> …
//	/proc/1234/task/1240 runc fanotify_handle_event
//
// Three of them are heads of the programs crash, which has registers below its stacks, bpftrace,
// whose maps may name the thread below the stack, and perf. The last is all there is of a thread.
//
// A line that is a date and nothing else dates what follows. Every file, and every thread of a
// collection, gives one Sample that is a Part.
func ReadProc(in lines.Input) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		r := procReader{Input: in, seen: map[string]int{}}
		r.place, _ = readPlace(in.Place())
		lines.ReadFilled(in, yield, func(b []byte, pos event.Pos) bool {
			text := lines.Clip(b)
			line := text
			if line != string(b) {
				line = string(b)
			}
			out, reason := r.readLine(line, event.Quote{Pos: pos, Text: text})
			for i := range out {
				if !yield(out[i], nil) {
					return false
				}
			}
			return reason == "" || yield(Sample{}, in.Skip(pos.Line, 1, "%s", reason))
		}, func() bool {
			s, ok := r.endFile()
			return !ok || yield(s, nil)
		})
	}
}

// readLine takes one line and returns the samples that are complete with it.
func (r *procReader) readLine(line string, q event.Quote) (out []Sample, reason string) {
	next := func(p procPlace) {
		if s, ok := r.endFile(); ok {
			out = append(out, s)
		}
		r.beginFile(p, q)
	}
	// more draws lines of colons
	if t, ok := readStampLine(line); ok || strings.Trim(line, ":") == "" {
		if s, ok := r.endFile(); ok {
			out = append(out, s)
		}
		if ok {
			r.now = t
		}
		return append(out, Sample{Pos: q.Pos, Raw: []byte(q.Text), Lines: 1}), ""
	}
	ofStatus := r.cur != nil && r.at.file == "status" && strings.HasPrefix(line, "Pid:")
	if p, ok := readBlockHead(line); ok && !ofStatus {
		next(p.procPlace)
		r.cur.State = p.state
		r.cur.Lines++
		return out, ""
	}
	if p, state, wchan, ok := readThreadRow(line); ok {
		next(p)
		r.cur.State, r.cur.WChan = state, wchan
		r.cur.Lines++
		s, _ := r.endFile()
		return append(out, s), ""
	}
	if r.cur != nil && r.at.file == "" {
		if comm, tid, ok := readMapEnd(line); ok {
			r.cur.Comm, r.cur.TID = cmp.Or(comm, r.cur.Comm), cmp.Or(tid, r.cur.TID)
			r.cur.Lines++
			s, _ := r.endFile()
			return append(out, s), ""
		}
	}
	if lines.StartsWith(line, "==", "--", "##", "crash> ") {
		next(procPlace{}) // a head that cannot be read: what follows belongs to no thread
		r.cur, r.headed = nil, true
		if strings.Trim(line, "=-# ") == "" { // a row of signs between two stacks
			return append(out, Sample{Pos: q.Pos, Raw: []byte(q.Text), Lines: 1}), ""
		}
		return out, fmt.Sprintf("no thread is named in %.40q", line)
	}
	content := line
	if p, rest, ok := cutGrepLine(line); ok {
		if r.cur == nil || r.at != p {
			next(p)
		}
		content = rest
	}
	if r.beginsAgain(content) { // the same file, once more
		next(r.at)
	}
	if lines.StartsWith([]byte(content), "Name:") && (r.cur == nil && r.place.file == "" || r.cur != nil && r.at.file == "status" && r.cur.State != "") {
		place := r.at // of another thread, which it names
		if place.file, place.tid = "status", 0; r.cur == nil {
			place = procPlace{file: "status"}
		}
		next(place)
	}
	if r.cur == nil {
		place := r.place
		if isProcFrame(content) && !r.headed && place.file == "" {
			place.file = "stack" // the file may be named after the thread alone
		}
		if place.file == "" {
			return out, fmt.Sprintf("no thread is named before %.40q", line)
		}
		r.beginFile(place, q)
	}
	if !r.takeLine(content, q) {
		return out, fmt.Sprintf("no line of a file in /proc: %.40q", line)
	}
	r.cur.Lines++
	return out, ""
}

// beginFile starts the next thread's file.
func (r *procReader) beginFile(p procPlace, q event.Quote) {
	group, key := p.root, fmt.Sprintf("%s %d %s", p.root, p.tid, p.file)
	if p != r.place {
		group = r.Path + ":" + p.root
	}
	if r.seen[key] > 0 || len(r.seen) < lines.MaxNames {
		r.seen[key]++
	}
	if n := r.seen[key]; n > 1 {
		group += ":" + strconv.Itoa(n)
	}
	if unnamed := p.pid == 0 && p.tid == 0; p.comm == "" && (p.file == "" && p.pid > 0 || unnamed) {
		p.comm = r.Program // threads have the name of their process until they choose one
	}
	r.cur = &Sample{Time: r.now, PID: p.pid, TID: p.tid, Comm: p.comm, Part: true, Group: group, Pos: q.Pos, Raw: []byte(q.Text)}
	r.at, r.stack = p, StackBuilder{}
}

// beginsAgain says that a line begins another stack: the one before has come to where every stack
// begins.
func (r *procReader) beginsAgain(line string) bool {
	function, _, ok := kernel.ReadFrame(line)
	if r.cur == nil || !ok {
		return false
	}
	return kernel.IsStackBottom(r.stack.Outermost()) && function != "" && !kernel.IsStackBottom(function)
}

// endFile ends the current file.
func (r *procReader) endFile() (s Sample, ok bool) {
	if r.cur == nil || r.cur.Lines == 0 {
		r.cur = nil
		return Sample{}, false
	}
	s, r.cur = *r.cur, nil
	s.State = cmp.Or(s.State, r.State)
	r.stack.WriteTo(&s)
	s.Kernel = lines.StartsWith(s.Stack, "ret_from_fork", "kthread")
	if _, machine := kernel.StackCall(strings.Fields(s.Stack)); machine != "" {
		s.Machine = machine
	}
	return s, true
}

// knowsLine says whether a line belongs to the file that r is placed at.
func (r *procReader) knowsLine(line string) bool {
	if r.cur == nil {
		r.cur, r.at = &Sample{}, r.place
	}
	return r.takeLine(line, event.Quote{})
}

// takeLine puts what a line says into the current sample. It is false for a line that is not of
// such a file.
func (r *procReader) takeLine(line string, q event.Quote) bool {
	s := r.cur
	if strings.HasSuffix(line, ")") && userFrame.MatchString(line) {
		return r.at.file == ""
	}
	if function, unsure, ok := kernel.ReadFrame(line); ok && (r.at.file == "stack" || r.at.file == "") {
		r.stack.AddFrame(function, unsure, q)
		return true
	}
	file, value := r.at.file, strings.TrimSpace(line)
	if r.at.before != "" {
		name, frame := value, ""
		if i := strings.Index(value, "[<"); i > 0 { // wchan ends without a line feed
			name, frame = value[:i], value[i:]
		}
		file, r.at.before, _ = strings.Cut(r.at.before, ",")
		return r.takeFile(file, name, name, q) && (frame == "" || r.takeLine(frame, q))
	}
	if file == "" { // a line in a collection may say what it is
		if label, rest, ok := cutLabel(value); ok {
			file, value = label, rest
		} else if callLine.MatchString(value) {
			file = "syscall"
		} else if takeRegisters(s, value, q) {
			return true
		}
	}
	return r.takeFile(file, line, value, q)
}

// takeFile takes a line of one of procFiles.
func (r *procReader) takeFile(file, line, value string, q event.Quote) bool {
	s := r.cur
	switch file {
	case "stack", "":
		if r.at.bare {
			return false
		}
		function, ok := kernel.ReadBareFrame(value)
		r.stack.AddFrame(function, false, q)
		return ok
	case "status":
		return takeStatus(s, line, q)
	case "stat":
		return takeStat(s, value)
	case "wchan":
		if len(value) > kernel.MaxSymbol || !wchanValue.MatchString(value) {
			return false
		}
		s.WChan, _, _ = strings.Cut(withoutPlaceholder(value), ".")
		return true
	case "syscall":
		return takeSyscall(s, value)
	case "comm":
		if len(value) > maxComm {
			return false
		}
		s.Comm = value
		return true
	case "cgroup":
		return takeCgroup(s, value)
	case "state":
		s.State = stateLetter(value)
		return s.State >= "A" && s.State <= "z"
	}
	return false
}

// userFrame is a function of a program below the kernel's in a stack of perf.
var userFrame = regexp.MustCompile(`^\s+[0-9a-f]{4,12} \S.* \(\S+\)$`)

// registersLine is one of the lines with registers below a stack of crash, and above one that is
// cut: 1 the number of the system call.
var registersLine = regexp.MustCompile(`^(?:RIP|RAX|RDX|RSI|RBP|R10|R13|ORIG_RAX|PC|LR|X\d+): +[0-9a-f]{16}\b`)

// takeRegisters reads a line of registers, of which the number of the system call tells something.
func takeRegisters(s *Sample, line string, q event.Quote) bool {
	if !registersLine.MatchString(line) {
		return false
	}
	if rest, ok := strings.CutPrefix(line, "ORIG_RAX: "); ok {
		number, _, _ := strings.Cut(rest, " ")
		if n, err := strconv.ParseUint(number, 16, 64); err == nil && n < maxCall {
			s.Number, s.HasNumber, s.Machine = int(n), true, "x86_64" // no other has such a register
			s.More = append(s.More, q)
		}
	}
	return true
}

// maxCall is above the numbers of all system calls; above it are those of exceptions.
const maxCall = 4096

// wchanValue is the name of a function, or its address.
var wchanValue = regexp.MustCompile(`^(?:[A-Za-z0-9_.$]*|[0-9a-f]*)$`)

// cutLabel splits "wchan: x", "wchan=x" and "State:\tD (disk sleep)" of a collection.
func cutLabel(line string) (label, value string, ok bool) {
	i := strings.IndexAny(line, ":=")
	if i <= 0 {
		return "", "", false
	}
	label = strings.ToLower(strings.TrimSpace(line[:i]))
	return label, strings.TrimSpace(line[i+1:]), slices.Contains(procFiles, label) || label == "state"
}

// takeStatus reads a line of /proc/PID/status: a name, a colon, a tab, a value.
func takeStatus(s *Sample, line string, q event.Quote) bool {
	key, value, ok := strings.Cut(line, ":")
	if !ok || key == "" || strings.ContainsAny(key, " /") {
		return false
	}
	value = strings.TrimSpace(value)
	switch key {
	case "Name":
		s.Comm = value
	case "State":
		s.State, s.Pos, s.Raw = stateLetter(value), q.Pos, []byte(q.Text)
	case "Tgid":
		s.PID, _ = strconv.Atoi(value)
	case "Pid":
		if tid, err := strconv.Atoi(value); err == nil && s.TID == 0 {
			s.TID = tid
		}
	}
	return true
}

// takeStat reads the start of /proc/PID/stat: the comm may hold blanks and parentheses.
func takeStat(s *Sample, line string) bool {
	open, end := strings.Index(line, " ("), strings.LastIndex(line, ") ")
	if open <= 0 || end < open || len(line) < end+4 || line[end+3] != ' ' || !isThreadID(line[:open]) {
		return false
	}
	s.Comm, s.State = line[open+2:end], line[end+2:end+3]
	if s.TID == 0 {
		s.TID, _ = strconv.Atoi(line[:open])
	}
	return true
}

// callLine is /proc/PID/syscall of a thread that is blocked: the number and, in a call, six
// registers; then stack and instruction pointer.
var callLine = regexp.MustCompile(`^-?\d+( 0x[0-9a-f]+){2}((?: 0x[0-9a-f]+){6})?$`)

// takeSyscall reads /proc/PID/syscall.
func takeSyscall(s *Sample, line string) bool {
	if line == "running" {
		return true
	}
	if !callLine.MatchString(line) {
		return false
	}
	f := strings.Fields(line)
	if n, err := strconv.Atoi(f[0]); err == nil && n >= 0 && len(f) == 9 {
		s.Number, s.HasNumber, s.Args = n, true, strings.Join(f[1:7], " ")
	}
	return true
}

// takeCgroup reads a line of /proc/PID/cgroup, "4:pids:/kubepods/…" or "0::/system.slice/…"; the
// unified hierarchy is empty where a node still uses the old ones.
func takeCgroup(s *Sample, line string) bool {
	id, rest, ok := strings.Cut(line, ":")
	names, file, more := strings.Cut(rest, ":")
	if !ok || !more || !strings.HasPrefix(file, "/") || strings.Trim(id, "0123456789") != "" {
		return false
	}
	if file != "/" && (s.Cgroup == "" || names == "pids" || names == "") {
		s.Cgroup = file
	}
	return true
}

// cutGrepLine reads "/proc/1234/stack:[<0>] f+0x1/0x2", as grep -H prints it.
func cutGrepLine(line string) (p procPlace, content string, ok bool) {
	if !strings.HasPrefix(line, "/proc/") {
		return p, "", false
	}
	file, content, ok := strings.Cut(line, ":")
	if !ok || content == "" || path.Clean(file) != file {
		return p, "", false
	}
	p, ok = readPlace(file)
	return p, content, ok
}

// IsStampLine says that a line is a time with its date and nothing else.
func IsStampLine(line string) bool {
	_, ok := readStampLine(line)
	return ok
}

// readStampLine reads a line that is a time with its date, between signs or bare.
func readStampLine(line string) (t event.Time, ok bool) {
	s := strings.TrimPrefix(strings.Trim(line, "=-# "), "date: ")
	t, n := stamp.ISO([]byte(s))
	if n == 0 {
		t, n = stamp.Epoch([]byte(s))
	}
	if n == 0 && len(s) < 60 && strings.Count(s, ":") == 2 && s[0] > '9' { // of date(1)
		return stamp.Date(s)
	}
	return t, n > 0 && n == len(s)
}
