package parse

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Sample is one thread as a sampler of 0xtools found it at one moment. One
// without a TID is a line that is no sample (a header, the banner).
type Sample struct {
	Time     event.Time // of the scan; local, without a zone. Of an Ended call: when it was entered
	TID, PID int
	Comm     string // xcapture 1 cuts it at the first blank
	State    string // a letter of ps: "D", "S", "R", "T" …; "S" where the row contradicts itself
	Syscall  string // empty outside of one, while running, and for kernel threads
	WChan    string // what the kernel waits in; empty when it runs or is unreadable
	Stack    string // of the kernel, outermost first, as "cleanup_mnt ovl_sync_fs folio_wait_bit"; empty when unreadable
	Exe      string // base name; empty for kernel threads
	Kernel   bool   // a thread of the kernel
	Target   string // of xcapture 3: the file or connection that the call works on
	Seq      uint64 // of xcapture 3: numbers the thread's calls; 0 when not traced
	Age      time.Duration
	HasAge   bool // Age is how long the call had lasted
	Ended    bool // a row of syscend: the call has returned after Age
	Pos      event.Pos
	Raw      string // the line as written, at most event.MaxRaw bytes
	Lines    int
}

// sampleReader is the state of one pass over a file of xcapture.
type sampleReader struct {
	Input
	columns []string // of the last header
}

// threadSamples reads what xcapture writes: the /proc sampler 1.0 to 1.2.6 as text
// and as hourly CSV, and samples and syscend of xcapture 3 (CSV):
//
//	2026-11-20 18:22:17.602   41227   41246 root             D  (containerd-shim)              umount2                        folio_wait_bit
//	2026-11-20 18:30:16.658,30142,30153,root,D,(containerd-shim),umount2,folio_wait_bit,containerd-shim-lab,4026532329,->task_work_run()->cleanup_mnt()
//	2026-11-20T18:31:10.545132,500000,3866,3847,4026532402,1,DISK,'root','containerd-shim-lab','containerd-shim',umount2,umount2,…
//
// A restart appends a header with other columns to the same file.
func threadSamples(in Input) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		r := sampleReader{Input: in}
		lines := newLineReader(in.R, in.Stats)
		for lines.next() {
			b := trimReturn(lines.line.Bytes)
			if isBlank(b) && lines.line.Cut == 0 {
				continue
			}
			pos := event.Pos{File: in.Path, Line: lines.line.N}
			if lines.line.Cut > 0 && !yield(Sample{}, &event.Skip{Pos: pos, Reason: fmt.Sprintf("line of %d bytes is cut at %d", int64(len(b))+lines.line.Cut, MaxLine)}) {
				return
			}
			s, err := r.row(string(b))
			s.Pos, s.Raw, s.Lines = pos, clip(b), 1
			if err != "" {
				if !yield(Sample{}, &event.Skip{Pos: pos, Lines: 1, Reason: err}) {
					return
				}
				continue
			}
			if !yield(s, nil) {
				return
			}
		}
		if lines.err != nil {
			yield(Sample{}, lines.err)
		}
	}
}

// row reads one line; reason is set when it is none of a sampler.
func (r *sampleReader) row(line string) (s Sample, reason string) {
	switch sampleLine(line) {
	case sampleNote:
		return Sample{}, ""
	case sampleHeader:
		r.columns = headerColumns(line)
		return Sample{}, ""
	case sampleText:
		return r.text(line)
	case sampleCSV:
		return r.csv(line)
	case sampleTraced, sampleEnded:
		return r.traced(line)
	}
	return Sample{}, fmt.Sprintf("no row of a sampler: %.40q", line)
}

type sampleKind uint8

const (
	sampleNone   sampleKind = iota
	sampleNote              // the banner
	sampleHeader            // of any of them
	sampleText              // xcapture 1, fixed columns
	sampleCSV               // xcapture 1, -o
	sampleTraced            // xcapture 3, samples
	sampleEnded             // xcapture 3, syscend
)

// sampleLine tells the kinds of lines apart by their start.
func sampleLine(line string) sampleKind {
	switch {
	case strings.HasPrefix(line, "TS,PID,TID,"), strings.HasPrefix(line, "TIMESTAMP,") && strings.Contains(line, ",TGID,"),
		strings.HasPrefix(line, "TYPE,TID,TGID,SYSCALL_NAME,"),
		strings.HasPrefix(line, "DATE ") && strings.Contains(line, " TIME ") && strings.Contains(line, " TID "):
		return sampleHeader
	case strings.HasPrefix(line, "0xTools xcapture "), strings.HasPrefix(line, "Sampling /proc"):
		return sampleNote
	case strings.HasPrefix(line, "SYSC_END,"):
		return sampleEnded
	case len(line) < 24 || line[4] != '-' || line[7] != '-' || line[13] != ':':
		return sampleNone
	case line[10] == ' ' && line[23] == ',':
		return sampleCSV
	case line[10] == ' ' && line[19] == '.' && line[23] == ' ':
		return sampleText
	case line[10] == 'T' && len(line) > 26 && line[26] == ',':
		return sampleTraced
	}
	return sampleNone
}

// isSample says that a line is one of xcapture beyond doubt.
func isSample(line []byte) bool {
	switch kind := sampleLine(string(line)); kind {
	case sampleNone:
		return false
	case sampleText, sampleCSV: // other programs write such stamps
		f := strings.FieldsFunc(string(line[23:min(len(line), 200)]), func(c rune) bool { return c == ',' || c == ' ' })
		return len(f) >= 6 && isPID(f[0]) && isPID(f[1]) && len(f[3]) <= 2
	}
	return true
}

func isPID(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= -1 && n <= maxPID
}

// headerColumns are the names of a header's columns.
func headerColumns(line string) []string {
	if strings.Contains(line, ",") {
		return strings.Split(line, ",")
	}
	return append([]string{"TS"}, strings.Fields(line)[2:]...) // DATE TIME are one
}

// text reads a row of fixed columns. Long values shift the rest, so it is split
// at blanks: no value of the first nine holds one.
func (r *sampleReader) text(line string) (Sample, string) {
	f := strings.Fields(line)
	if len(f) < 9 {
		return Sample{}, fmt.Sprintf("%d columns, want 9 or more", len(f))
	}
	return r.proc(line[:23], f[2], f[3], f[5], f[6], f[7], f[8], f[9:])
}

// csv reads a row of the hourly file. Nothing in it is quoted: a comma in the comm adds
// columns, which are told by its closing parenthesis and by the tail.
func (r *sampleReader) csv(line string) (Sample, string) {
	f := strings.Split(line, ",")
	if len(f) < 8 {
		return Sample{}, fmt.Sprintf("%d columns, want 8 or more", len(f))
	}
	if f[len(f)-1] == "" && !slices.Contains(r.columns, "KSTACK") {
		f = f[:len(f)-1] // every optional column but the last ends in a comma
	}
	extra := 0
	if n := len(r.columns); n >= 8 {
		extra = max(0, len(f)-n)
	}
	end := 6 // of the comm
	for end < 6+extra && !strings.HasSuffix(f[end-1], ")") {
		end++
	}
	comm := strings.Join(f[5:end], ",")
	if len(f) < end+2 {
		return Sample{}, "columns are missing"
	}
	return r.proc(f[0], f[1], f[2], f[4], comm, f[end], f[end+1], f[end+2:])
}

// proc makes a sample of the columns of xcapture 1; tail is what follows WCHAN.
func (r *sampleReader) proc(ts, pid, tid, state, comm, syscall, wchan string, tail []string) (s Sample, reason string) {
	t, n := isoStamp([]byte(ts))
	if n == 0 || !isPID(pid) || !isPID(tid) {
		return s, fmt.Sprintf("no time and ids: %.40q", ts+" "+pid+" "+tid)
	}
	if strings.HasPrefix(comm, "[") && strings.Contains(comm, "_entry_lost(") {
		return Sample{Time: t}, "" // the task ended while it was read
	}
	s.Time = t
	s.PID, _ = strconv.Atoi(pid)
	s.TID, _ = strconv.Atoi(tid)
	s.State = state
	s.Comm = strings.TrimSuffix(strings.TrimPrefix(comm, "("), ")")
	s.Syscall, s.WChan = known(syscall), known(wchan)
	if k := len(tail) - 1; k >= 0 && strings.HasPrefix(tail[k], "->") {
		s.Stack = procStack(tail[k])
		tail = tail[:k]
	}
	hasExe := r.columns == nil || slices.Contains(r.columns, "EXE")
	if hasExe && len(tail) > 0 {
		s.Exe = known(tail[0])
		s.Kernel = s.Exe == "" && (s.Stack == "" || strings.HasPrefix(s.Stack, "ret_from_fork"))
	} else {
		s.Kernel = strings.HasPrefix(s.Stack, "ret_from_fork")
	}
	s.finish()
	return s, ""
}

// known is a value, without the words that stand for none.
func known(s string) string {
	switch s {
	case "-", "0", "?", "[running]", "[no_syscall]", "(null)":
		return ""
	}
	return s
}

// procStack turns "->f()->g()" into "f g".
func procStack(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(s, "->"), "->", " "), "()", "")
}

// interruptible are places where the kernel never waits in state D. A comm such as
// "evil) D 1 (x" makes xcapture 1 print its own text as the state.
var interruptible = []string{"hrtimer_nanosleep", "futex", "do_epoll_wait", "ep_poll", "do_wait", "pipe_read", "poll_schedule_timeout", "do_sys_poll", "sigsuspend"}

// finish undoes what the samplers get wrong.
func (s *Sample) finish() {
	if s.Kernel {
		s.Syscall = "" // /proc/PID/syscall says 0, which is the number of read
	}
	if s.State == "D" && slices.ContainsFunc(interruptible, func(w string) bool { return strings.HasPrefix(s.WChan, w) }) {
		s.State = "S"
	}
}

// traced reads a row of xcapture 3 by the names of the header's columns.
func (r *sampleReader) traced(line string) (s Sample, reason string) {
	f := quotedFields(line)
	if len(f) != len(r.columns) {
		return s, fmt.Sprintf("%d columns, the header has %d", len(f), len(r.columns))
	}
	column := func(name string) string {
		i := slices.Index(r.columns, name)
		if i < 0 {
			return ""
		}
		return f[i]
	}
	var n int
	s.Ended = f[0] == "SYSC_END"
	when, took := column("TIMESTAMP"), column("SYSC_NS_SO_FAR")
	if s.Ended {
		when, took = column("SYSC_ENTER_TIME"), column("DURATION_NS")
	}
	if s.Time, n = isoStamp([]byte(when)); n == 0 || !isPID(column("TID")) {
		return Sample{}, fmt.Sprintf("no time and id: %.40q", line)
	}
	s.TID, _ = strconv.Atoi(column("TID"))
	s.PID, _ = strconv.Atoi(column("TGID"))
	s.Comm, s.Exe = column("COMM"), column("EXE")
	s.State = stateLetter(column("STATE"))
	s.Syscall = known(column("SYSCALL") + column("SYSCALL_NAME"))
	s.Kernel = s.Exe == "[kernel]" || s.Exe == "[NO_MM]"
	if s.Kernel {
		s.Exe = ""
	}
	for _, name := range [...]string{"CONNECTION", "FILENAME"} {
		if v := known(column(name)); v != "" {
			s.Target = v
			break
		}
	}
	s.Seq, _ = strconv.ParseUint(column("SYSC_SEQ_NUM"), 10, 64)
	if ns, err := strconv.ParseInt(took, 10, 64); err == nil && ns > 0 {
		s.Age, s.HasAge = time.Duration(ns), true
	}
	s.finish()
	return s, ""
}

// quotedFields splits a line of xcapture 3, which puts strings into single
// quotes and escapes nothing: one ends at a quote before a comma.
func quotedFields(line string) (f []string) {
	for {
		if rest, ok := strings.CutPrefix(line, "'"); ok {
			in, after, more := strings.Cut(rest, "',")
			if !more {
				return append(f, strings.TrimSuffix(in, "'"))
			}
			f, line = append(f, in), after
			continue
		}
		in, after, more := strings.Cut(line, ",")
		f = append(f, in)
		if !more {
			return f
		}
		line = after
	}
}

// stateLetter is the letter of ps for a state as xcapture 3 spells it. A Q or M behind it is about queues.
func stateLetter(s string) string {
	for _, word := range [...]struct{ name, letter string }{
		{"RUN", "R"}, {"SLEEP", "S"}, {"DISK", "D"}, {"STOPPED", "T"}, {"DEAD", "X"}, {"WAKING", "W"}, {"IDLE", "I"}, {"NEW", "N"}, {"0x8", "t"},
	} {
		if strings.HasPrefix(s, word.name) {
			return word.letter
		}
	}
	return s
}
