// Package samples reads what samplers of threads write, and the files of threads in /proc.
package samples

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// Sample is one thread as a sampler found it at one moment: a row of xcapture, a line of plegdiag's
// own walk, a stack that the kernel printed. One without a TID is a line that is no thread: a
// header, a banner, a [Legend], a [DiskRequest], the start or the end of a walk.
type Sample struct {
	// Time is that of the scan; of xcapture it is local, without a zone. Of an Ended call it is
	// when the call was entered.
	Time     event.Time
	TID, PID int    // of the thread and of its process; either 0 when not shown
	Comm     string // xcapture 1 cuts it at the first blank
	// State is a letter of ps: "D", "S", "R", "T" …; "S" where the row contradicts itself. It is
	// empty when not shown.
	State string
	// Syscall is empty outside of a call, while running, for kernel threads, and where only its
	// number is known.
	Syscall string
	WChan   string // what the kernel waits in; empty when it runs or is unreadable
	// Stack is that of the kernel, outermost function first, as "cleanup_mnt ovl_sync_fs
	// folio_wait_bit"; empty when unreadable.
	Stack  string
	Exe    string // base name; empty for kernel threads
	Kernel bool   // a thread of the kernel
	Target string // of xcapture 3: the file or connection that the call works on
	Cgroup string // path below the cgroup file system
	Seq    uint64 // of xcapture 3: numbers the thread's calls; 0 when not traced
	Age    time.Duration
	HasAge bool // Age is how long the call had lasted
	Ended  bool // a row of syscend: the call has returned after Age

	// Number is that of the system call, whose meaning depends on Machine (see
	// SyscallName). HasNumber is false outside of one, and where the row names the call itself.
	Number    int
	HasNumber bool
	Args      string // of the call, as registers: "0xc000012345 0x0"; empty when not shown
	Machine   string // "x86_64", "aarch64"; empty when unknown

	// StackID and CgroupID stand for a stack and a path that other rows give, mostly in another
	// file of the directory; 0 for none.
	StackID, CgroupID uint64
	Legend            Legend       // set when the row says what an id stands for
	Disk              *DiskRequest // the row is a request to a disk
	Started           event.Time   // of the thread's process; unknown when not shown
	Walk              WalkEdge     // the row is an edge of a walk
	// Uptime is CLOCK_MONOTONIC at Time, by which the kernel stamps its log: time since boot
	// without that spent asleep. 0 when not shown.
	Uptime time.Duration
	// Count is how many samples of Scans the row stands for; 0 for a single one. Such a row has no
	// time and no id.
	Count, Scans int
	// Part says that this is one file of a thread's, in /proc; Group says which belong together
	// with the same TID.
	Part  bool
	Group string

	Pos event.Pos
	// Raw is the line as written, at most event.MaxRaw bytes, and valid until the next sample is
	// read, see Quote and Clone.
	Raw   []byte
	Lines int
	// Row is the same number for rows of one file that differ in nothing but their time; 0 when
	// none is known.
	Row int
	// Frames are the lines of the functions of Stack, in its order, where each stands in a line of
	// its own.
	Frames []event.Quote
	// UnsureStack and UnsureFrames are the same with the frames in between that the kernel marked
	// with a question mark: left over from another call, or true ones of a kernel up to 4.x without
	// frame pointers. Empty when it marked none.
	UnsureStack  string
	UnsureFrames []event.Quote
	Unsure       bool          // Stack and Frames are UnsureStack and UnsureFrames
	More         []event.Quote // other lines that it was made of and that are worth a quote
}

// Quote is the line as evidence. Its text is a copy.
func (s *Sample) Quote() event.Quote { return event.Quote{Pos: s.Pos, Text: string(s.Raw)} }

// Clone is a sample that stays valid when the next one is read.
func (s *Sample) Clone() Sample {
	kept := *s
	kept.Raw = bytes.Clone(s.Raw)
	return kept
}

// Legend says that a row is no sample but says what an id in samples stands for.
type Legend uint8

// The legends: StackLegend gives Stack for StackID, CgroupLegend gives Cgroup for CgroupID.
const (
	NoLegend Legend = iota
	StackLegend
	CgroupLegend
)

// WalkEdge says that a row is the start or the end of one walk over all threads. What
// is not in a walk without an end may have been there all the same.
type WalkEdge uint8

// The edges of a walk.
const (
	NoWalk WalkEdge = iota
	WalkBegin
	WalkEnd
)

// DiskRequest is a request to a block device that has ended (iorqend of xcapture 3).
type DiskRequest struct {
	TID, PID        int    // who inserted it
	Device          string // "7:2", major and minor
	Bytes           int64
	Flags           string // "WRITE|SYNC"
	Queued, Service time.Duration
	Error           int // of the block layer; 0 for none
	Seq             uint64
}

// sampleReader is the state of one pass over a file of xcapture.
type sampleReader struct {
	lines.Input
	columns []string       // of the last header
	place   map[string]int // of each of them
	cells   []string       // of the latest row of CSV
	seen    seenRows       // below that header
}

// ReadXCapture reads what xcapture writes: the /proc sampler 1.0 to 1.2.6 as text and as hourly
// CSV, xcapture-bpf (2.0) as CSV, and xcapture 3 as text and as the CSV files samples, syscend,
// iorqend, kstacks, ustacks and cgroups:
//
//	2026-11-20 18:22:17.602   41227   41246 root             D  (containerd-shim)              umount2                        folio_wait_bit
//	2026-11-20 18:30:16.658,30142,30153,root,D,(containerd-shim),umount2,folio_wait_bit,containerd-shim-lab,4026532329,->task_work_run()->cleanup_mnt()
//	2026-11-20T18:31:10.545132,500000,3866,3847,4026532402,1,DISK,'root','containerd-shim-lab','containerd-shim',umount2,umount2,…
//
// A restart appends a header with other columns to the same file.
func ReadXCapture(in lines.Input) iter.Seq2[Sample, error] {
	r := sampleReader{Input: in}
	return readSamples(in, r.readLine)
}

// sampleLines makes a sequence of samples of a reader for one line. Its reason is set for a line
// that it cannot read.
func sampleLines(in lines.Input, row func(line string) (s Sample, reason string)) iter.Seq2[Sample, error] {
	return readSamples(in, func(line []byte, s *Sample) (reason string) {
		*s, reason = row(string(line))
		return reason
	})
}

// readSamples is sampleLines for a reader that fills s, where the sample before may still be.
func readSamples(in lines.Input, row func(line []byte, s *Sample) (reason string)) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		var s Sample
		lines.ReadFilled(in, yield, func(b []byte, pos event.Pos) bool {
			if reason := row(b, &s); reason != "" {
				return yield(Sample{}, in.Skip(pos.Line, 1, "%s", reason))
			}
			s.Pos, s.Raw, s.Lines = pos, b[:min(len(b), event.MaxRaw)], 1
			return yield(s, nil)
		}, func() bool { return true })
	}
}

// readLine is readRow for a file that shows the same threads in the same places scan after scan.
func (r *sampleReader) readLine(line []byte, s *Sample) (reason string) {
	if r.seen.findRow(line, s) {
		return ""
	}
	text := string(line)
	if *s, reason = r.readRow(line, text); reason == "" && s.TID != 0 {
		r.seen.addRow(text, s)
	}
	return reason
}

// readRow reads one line, also as a string; reason is set when no sampler writes such a line.
func (r *sampleReader) readRow(raw []byte, line string) (s Sample, reason string) {
	kind := lineKind(raw)
	if r.headerBegins("TIMESTAMP", "ST") && kind == sampleCSV {
		kind = sampleBPF
	}
	switch kind {
	case sampleNote:
		return Sample{}, ""
	case sampleHeader:
		r.setColumns(headerColumns(line))
		return Sample{}, ""
	case sampleText:
		return r.readText(line)
	case sampleCSV:
		return r.readCSV(line)
	case sampleBPF:
		return r.readBPF(line)
	case sampleStack:
		return readBPFStack(line)
	case sampleTraced, sampleEnded, sampleDisk:
		r.cells = appendQuotedRow(r.cells[:0], line)
		return r.readXcapture3Row(line, r.cells)
	case sampleWide:
		return r.readXcapture3Row(line, splitWideRow(line))
	}
	if r.headerBegins("KSTACK_HASH") || r.headerBegins("CGROUP_ID") || r.headerBegins("USTACK_HASH") {
		return r.readLegend(line)
	}
	return Sample{}, fmt.Sprintf("no row of a sampler: %.40q", line)
}

// setColumns takes over the columns of a header. They may change what the rows mean.
func (r *sampleReader) setColumns(columns []string) {
	r.columns, r.place, r.seen = columns, map[string]int{}, seenRows{added: r.seen.added}
	for i, column := range columns {
		if _, twice := r.place[column]; !twice {
			r.place[column] = i
		}
	}
}

// headerBegins says that the last header starts with these columns.
func (r *sampleReader) headerBegins(columns ...string) bool {
	return len(r.columns) >= len(columns) && slices.Equal(r.columns[:len(columns)], columns)
}

type sampleKind uint8

const (
	sampleNone   sampleKind = iota
	sampleNote              // the banner
	sampleHeader            // of any of them
	sampleText              // xcapture 1, fixed columns
	sampleCSV               // xcapture 1, -o
	sampleBPF               // xcapture-bpf, -o; recognized by its header
	sampleStack             // xcapture-bpf, its file of stacks
	sampleTraced            // xcapture 3, samples
	sampleWide              // xcapture 3, to a terminal
	sampleEnded             // xcapture 3, syscend
	sampleDisk              // xcapture 3, iorqend
)

// sampleHeaders start the headers of the files of all versions.
var sampleHeaders = []string{
	"TS,PID,TID,", "TYPE,TID,TGID,SYSCALL_NAME,", "TYPE,INSERT_TID,",
	"KSTACK_HASH,KSTACK_SYMS", "USTACK_HASH,USTACK_SYMS", "CGROUP_ID,CGROUP_PATH",
	"TIMESTAMP,ST,TID,PID,",
}

// sampleNotes start lines that xcapture writes between samples: the banner, and what version 3 says
// of itself on a terminal.
var sampleNotes = []string{
	"0xTools xcapture ", "Sampling /proc", "Wall clock time: ", "Sampling took: ", "SYSC_END ", "IORQ_END ", "K:", "U:",
	"Reached maximum iterations ",
}

// lineKind is the kind of a line, by its start.
func lineKind(line []byte) sampleKind {
	starts := func(with string) bool { return bytes.HasPrefix(line, []byte(with)) }
	switch {
	case lines.StartsWith(line, sampleHeaders...), starts("TIMESTAMP,") && bytes.Contains(line, []byte(",TGID,")),
		starts("DATE ") && bytes.Contains(line, []byte(" TIME ")) && bytes.Contains(line, []byte(" TID ")),
		starts("TIMESTAMP ") && bytes.Contains(line, []byte(" TGID ")) && bytes.Contains(line, []byte(" TID ")):
		return sampleHeader
	case lines.StartsWith(line, sampleNotes...):
		return sampleNote
	case starts("SYSC_END,"):
		return sampleEnded
	case starts("IORQ_END,"):
		return sampleDisk
	case lines.StartsWith(line, "kstack ", "ustack ") && bytes.Contains(line, []byte(" ->")):
		return sampleStack
	case len(line) < 24 || line[4] != '-' || line[7] != '-' || line[13] != ':':
		return sampleNone
	case line[10] == ' ' && line[23] == ',':
		return sampleCSV
	case line[10] == ' ' && line[19] == '.' && line[23] == ' ':
		return sampleText
	case line[10] == 'T' && len(line) > 28 && line[26] == ',':
		return sampleTraced
	case line[10] == 'T' && len(line) > 28 && line[19] == '.' && line[26] == ' ' && line[27] == ' ':
		return sampleWide
	}
	return sampleNone
}

// SniffXCapture knows the files of xcapture. Those that only list what ids stand for are known by
// their header alone.
func SniffXCapture(head *lines.Head) float64 {
	if len(head.Lines) > 0 && slices.Contains(sampleHeaders[3:6], string(head.Lines[0])) {
		return 1
	}
	return lines.Sniffer(isSample)(head)
}

// isSample says that a line is one of xcapture beyond doubt.
func isSample(line []byte) bool {
	f := func(n int) []string {
		return strings.FieldsFunc(string(line[n:min(len(line), 200)]), func(c rune) bool { return c == ',' || c == ' ' })
	}
	switch kind := lineKind(line); kind {
	case sampleNone:
		return false
	case sampleText, sampleCSV: // other programs write such stamps
		f := f(23)
		return len(f) >= 6 && (isPID(f[0]) && isPID(f[1]) && len(f[3]) <= 2 || len(f[0]) <= 5 && isPID(f[1]) && isPID(f[2]))
	case sampleTraced, sampleWide:
		f := f(26)
		return len(f) >= 6 && isPID(f[0]) && isPID(f[1])
	case sampleNote: // some are too short to decide anything
		return len(line) > 20
	}
	return true
}

func isPID(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= -1 && n <= kernel.MaxPID
}

// headerColumns are the names of a header's columns.
func headerColumns(line string) []string {
	if strings.Contains(line, ",") {
		return strings.Split(line, ",")
	}
	f := strings.Fields(line)
	if f[0] == "DATE" { // and TIME are one value
		return append([]string{"TS"}, f[2:]...)
	}
	return f
}

// readText reads a row of fixed columns. Long values shift the rest, so it is split
// at blanks: no value of the first nine holds one.
func (r *sampleReader) readText(line string) (Sample, string) {
	f := strings.Fields(line)
	if len(f) < 9 {
		return Sample{}, fmt.Sprintf("%d columns, want 9 or more", len(f))
	}
	return r.readScan(line[:23], f[2], f[3], f[5], f[6], f[7], f[8], f[9:])
}

// readCSV reads a row of the hourly file. Nothing in it is quoted: a comma in the comm adds
// columns, which are found by its closing parenthesis and by the tail.
func (r *sampleReader) readCSV(line string) (Sample, string) {
	r.cells = slices.AppendSeq(r.cells[:0], strings.SplitSeq(line, ","))
	f := r.cells
	if len(f) < 8 {
		return Sample{}, fmt.Sprintf("%d columns, want 8 or more", len(f))
	}
	if f[len(f)-1] == "" && !slices.Contains(r.columns, "KSTACK") {
		f = f[:len(f)-1] // every optional column but the last ends in a comma
	}
	last := len(f) - 2 // of the comm's pieces, at most
	if n := len(r.columns); n >= 8 {
		last = 6 + max(0, len(f)-n)
	}
	end := 6 // of the comm
	for i := 6; i <= min(last, len(f)-2, 6+maxComm); i++ {
		if strings.HasSuffix(f[i-1], ")") && !strings.HasPrefix(f[i-1], "->") {
			end = i
			break
		}
	}
	comm := strings.Join(f[5:end], ",")
	if len(f) < end+2 {
		return Sample{}, "columns are missing"
	}
	return r.readScan(f[0], f[1], f[2], f[4], comm, f[end], f[end+1], f[end+2:])
}

// stateWords are states as psn and xcapture 3 spell them, whose letter in ps is another one than
// their first.
var stateWords = []struct{ start, letter string }{
	{"Traced", "t"}, {"Tracing", "t"}, {"0x8", "t"}, {"Stopped", "T"}, {"STOPPED", "T"}, {"Dead", "X"}, {"DEAD", "X"}, {"(zombie)", "Z"},
}

// stateLetter is the letter of ps for a state, as a letter or as a word; empty for anything else.
// What stands behind it is about queues.
func stateLetter(state string) string {
	for _, word := range stateWords {
		if strings.HasPrefix(state, word.start) {
			return word.letter
		}
	}
	if state == "" || state[0]|0x20 < 'a' || state[0]|0x20 > 'z' {
		return ""
	}
	return state[:1]
}

// maxComm is the longest name of a thread (TASK_COMM_LEN less its NUL).
const maxComm = 15

// readScan makes a sample of the columns of xcapture 1; tail is what follows WCHAN.
func (r *sampleReader) readScan(ts, pid, tid, state, comm, syscall, wchan string, tail []string) (s Sample, reason string) {
	t, n := stamp.ISO([]byte(ts))
	if n == 0 || !isPID(pid) || !isPID(tid) {
		return s, fmt.Sprintf("no time and ids: %.40q", ts+" "+pid+" "+tid)
	}
	if strings.HasPrefix(comm, "[") && strings.Contains(comm, "_entry_lost(") {
		return Sample{Time: t}, "" // the task ended while it was read
	}
	s.Time = t
	s.PID, _ = strconv.Atoi(pid)
	s.TID, _ = strconv.Atoi(tid)
	s.State = stateLetter(state)
	s.Comm = strings.TrimSuffix(strings.TrimPrefix(comm, "("), ")")
	s.Syscall, s.WChan = withoutPlaceholder(syscall), withoutPlaceholder(wchan)
	if k := len(tail) - 1; k >= 0 && strings.HasPrefix(tail[k], "->") {
		s.Stack = readArrowStack(tail[k])
		tail = tail[:k]
	}
	hasExe := r.columns == nil || slices.Contains(r.columns, "EXE")
	if hasExe && len(tail) > 0 {
		s.Exe = withoutPlaceholder(tail[0])
		s.Kernel = s.Exe == "" && (s.Stack == "" || strings.HasPrefix(s.Stack, "ret_from_fork"))
	} else {
		s.Kernel = strings.HasPrefix(s.Stack, "ret_from_fork")
	}
	s.correctCall()
	return s, ""
}

// withoutPlaceholder is a value, without the words that stand for none.
func withoutPlaceholder(s string) string {
	switch s {
	case "-", "0", "?", "[running]", "[no_syscall]", "(null)":
		return ""
	}
	return s
}

// readArrowStack turns "->f()->g()" into "f g".
func readArrowStack(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(s, "->"), "->", " "), "()", "")
}

// interruptible are places where the kernel never waits in state D. A comm such as
// "evil) D 1 (x" makes xcapture 1 print its own text as the state.
var interruptible = []string{
	"hrtimer_nanosleep", "futex", "do_epoll_wait", "ep_poll", "do_wait", "pipe_read", "poll_schedule_timeout", "do_sys_poll",
	"sigsuspend",
}

// IsInterruptible says that a task which sleeps in a function of the kernel wakes up for a signal:
// it is never in state D there.
func IsInterruptible(function string) bool { return lines.StartsWith(function, interruptible...) }

// correctCall undoes what the samplers get wrong.
func (s *Sample) correctCall() {
	if s.Kernel { // /proc/PID/syscall says 0, which is the number of read
		s.Syscall, s.Number, s.HasNumber, s.Args = "", 0, false, ""
	}
	if s.State == "D" && IsInterruptible(s.WChan) {
		s.State = "S"
	}
}
