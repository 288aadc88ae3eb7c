package parse

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// Transcript is a file that holds several things one after the other, each of a format of its own:
// what somebody saw in a shell, or a ticket with code blocks and listings between its words.
//
//	[root@node-1 ~]# docker inspect e1ee54c90e35
//	^C
//	[root@node-1 ~]# cat /proc/27916/stack
//	[<0>] __refrigerator+0x4c/0x130
//
// Its sections are what a command printed, what stands between two fences of Markdown, and each
// listing with a header of its own.
type Transcript struct{}

func (Transcript) reader() {}

// Section is one part of a transcript.
type Section struct {
	// Command is what was typed before it, without the prompt; empty where nothing was.
	Command string
	// As is the path of the file that the command printed; empty for every other command.
	As     string
	Round  int         // of a loop that prints the same files again and again, from 1; else zero
	Header string      // of the listing that the command prints, which may lack it; mostly empty
	Quote  event.Quote // of the line that begins the section and is no part of what it holds; zero without one
	Before int         // lines of the file that stand before R
	Fence  string      // stands before R on the line that R begins with; mostly empty
	// R gives the lines of the section, and is valid until the next one.
	R io.Reader
	// What is known when R has been read.
	Filled  int               // lines that are not blank and neither of the following
	Broken  event.Quote       // where somebody gave up waiting: ^C, "(hangs)"; zero where nobody did
	Took    time.Duration     // how long the command ran, where it was run by time; else zero
	Timed   event.Quote       // of the line that says so
	Number  int               // that the command counted, where it ends in wc -l or grep -c; else zero
	Counted event.Quote       // of the line that says so
	Missing int               // the process that the command asks for and that is not there; else zero
	Missed  event.Quote       // of the line that says so
	Limit   int               // of the kernel that the command printed, of those in LimitNames; else zero
	Sought  Sought            // of a command that looks for a process
	found   map[string]string // the daemons by the numbers that commands so far have printed
	First   []event.Quote     // of the first lines that a command printed, at most maxFirst
	Last    bool              // nothing stands behind it in the file
}

// ownColumns is in a command that prints a listing under names of somebody's own, below which no
// row looks as it should:
//
//	kubectl get events -o custom-columns=T:.lastTimestamp,TYPE:.type,…
const ownColumns = "custom-columns"

// choosesState is a command that looks only at threads of one state: 1 is its letter.
var choosesState = regexp.MustCompile(`\bgrep -[A-Za-z]*[qls][A-Za-z]* ["']?\^?State:(?:\.|\\s[+*]?|\[\[:space:\]\][+*]?| )([DTZ])\b`)

// State is the letter of the state of all threads that the command shows, where it looks only at
// those; else empty.
func (s *Section) State() string {
	if m := choosesState.FindStringSubmatch(s.Command); m != nil {
		return m[1]
	}
	return ""
}

// threadsOf is a command that looks at the threads of a process by its name: 1 the name, or 2 a
// variable and 3 the name that it stands for; or at all processes of a name, each in its turn, or
// at some of them.
var threadsOf = regexp.MustCompile(`/proc/(?:\$\(|` + "`" + `)(?:pidof|pgrep)(?: -[a-z]+)* ([a-z][a-z0-9-]*)(?:\)|` + "`" + `)/(?:task/|stack\b|wchan\b)|\b(\w+)(?:=| in )(?:\$\(|` + "`" + `)(?:pidof|pgrep)(?: -[a-z]+)* ["']?([a-z][a-z0-9-]*)(?: init)?["']?(?: *\|[^)]*)?(?:\)|` + "`" + `)`)

// tracesProcess is strace of the threads of a process: 1 its name, or 2 its number.
var tracesProcess = regexp.MustCompile(`\bstrace\b[^|;]* -p ?(?:(?:\$\(|` + "`" + `)(?:pidof|pgrep)(?: -[a-z]+)* ([a-z][a-z0-9-]*)(?:\)|` + "`" + `)|(\d{1,7})\b)`)

// findsProcess is a command that prints the number of a process by its name: 1 the name.
var findsProcess = regexp.MustCompile(`(?:^|[ ;])(?:pidof|pgrep)(?: -[a-z]+)* ([a-z][a-z0-9-]*)$`)

// noteNumber notes the number of a daemon, where a command prints it alone.
func (s *Sections) noteNumber(line []byte) {
	m := findsProcess.FindStringSubmatch(s.next.Command)
	number := strings.TrimSpace(string(line[:min(len(line), 16)]))
	if m == nil || !slices.Contains(samples.NamedProcesses, m[1]) || number == "" || strings.Trim(number, "0123456789") != "" {
		return
	}
	if s.found == nil {
		s.found = map[string]string{}
	}
	if len(s.found) < lines.MaxNames {
		s.found[number] = m[1]
	}
}

// Program is the daemon whose threads the command looks at, or traces; empty where it names none,
// or several.
func (s *Section) Program() string {
	if m := tracesProcess.FindStringSubmatch(s.Command); m != nil {
		if slices.Contains(samples.NamedProcesses, m[1]) {
			return m[1]
		}
		return s.found[m[2]]
	}
	m := threadsOf.FindStringSubmatch(s.Command)
	uses := func(file string) bool {
		return strings.Contains(s.Command, "/proc/$"+m[2]+file) || strings.Contains(s.Command, "/proc/${"+m[2]+"}"+file)
	}
	switch {
	case m == nil || m[1] == "" && !uses("/task/") && !uses("/stack") && !uses("/wchan"):
		return ""
	case !slices.Contains(lookedAt, m[1]+m[3]) && !slices.Contains(samples.NamedProcesses, m[1]+m[3]):
		return ""
	}
	return m[1] + m[3]
}

// lookedAt are programs, besides the daemons, whose threads people look at by their name.
var lookedAt = []string{"runc", "nvidia-smi"}

// Sections takes a transcript apart as it is read. It is for one pass.
type Sections struct {
	in   lines.Input
	r    *bufio.Reader
	next Section // the one that R reads
	// A section ends behind a listing, and before what begins one.
	listing   snapshots.Rows
	headed    string // the header of the listing that begins the next section: see Section.Header
	status    bool   // the section is what /proc/PID/status holds
	units     bool   // the section is what systemctl status prints
	pressed   bool   // the section has the first line of a file in /proc/pressure
	stacks    stackKind
	where     directory
	printed   []string          // files whose values follow, one in each line
	rounds    []string          // files that a loop prints again and again
	round     int               // of that loop; zero outside of one
	values    bool              // the section has lines of grep with the path of a value
	line      int               // lines that were read
	fresh     bool              // at the start of a line of which no margin was taken off
	margin    int               // blanks before the last fence
	commented bool              // what stands behind the last fence is output behind marks of a comment
	counts    bool              // the command of the section counts lines
	found     map[string]string // daemons by their numbers, as commands have printed them
	titled    bool              // the section's head is a path or a command in a page, which may stand above a fence
	fenced    bool              // behind the first of two fences
	start     bool              // at the start of a line, or of a prompt behind what has no end of a line
	before    int               // bytes of the line that still stand before such a prompt; else zero
	ended     bool              // the section has ended
	finished  bool
	err       error
}

// maxSectionHead is how much of a line is looked at for what begins a section.
const maxSectionHead = 2048

// NewSections starts with a file. Of in, Path and R count.
func NewSections(in lines.Input) *Sections {
	return &Sections{in: in, r: bufio.NewReaderSize(in.R, 64<<10), start: true, fresh: true, ended: true}
}

// Next is the next section; nil behind the last one. It skips what has not been read of the one
// before.
func (s *Sections) Next() *Section {
	_, _ = io.Copy(io.Discard, s) // its error comes again
	if s.finished {
		return nil
	}
	above := ""
	if s.titled && s.next.Filled == 0 && !s.fenced {
		above = s.next.Command
	}
	headed := s.headed
	s.next, s.headed = Section{Before: s.line, R: s, found: s.found}, ""
	s.listing, s.status, s.units, s.pressed, s.stacks, s.values = snapshots.Rows{}, false, false, false, noStack, false
	s.ended = false
	head := s.peekLine()
	if n := fenceBefore(head); n > 0 { // what follows it on its line is the first of the section
		s.next.Fence = string(head[:n])
		s.fenced = true
		_, _ = s.r.Discard(n)
		head = s.peekLine()
	}
	command, raw, ok := beginsSection(head)
	s.counts = false
	if !ok && len(s.printed) == 0 && beginsRound(s.rounds, head) {
		s.printed = slices.Clone(s.rounds)
		s.round++
	}
	if !ok && len(s.printed) > 0 {
		s.next.As, s.printed, s.next.Round = s.printed[0], s.printed[1:], s.round
		return &s.next
	}
	s.printed, s.rounds, s.round = nil, nil, 0
	_, s.titled = readPathHeading(head)
	if isFence(head) && head[0] != '<' { // one of HTML holds others
		s.fenced = !s.fenced
	}
	if ok {
		s.beginCommand(cmp.Or(command, above), raw)
		s.next.Quote = event.Quote{Pos: event.Pos{File: s.in.Path, Line: s.line + 1}, Text: lines.Clip([]byte(raw))}
		s.dropLine()
		s.next.Before = s.line
	} else if headed != "" {
		s.next.Header, s.listing = headed, snapshots.NewRows(headed)
	}
	return &s.next
}

// beginCommand notes what was typed, and the files that it prints: of several that hold one value
// each, every line is one, and the last has the rest.
func (s *Sections) beginCommand(command, raw string) {
	s.next.Command = command
	s.next.Sought = findSought(command)
	s.next.Header = snapshots.ListedColumns(WithoutWrapper(command))
	s.listing = snapshots.NewRows(s.next.Header)
	if s.counts = countsLines.MatchString(command); s.counts {
		return
	}
	command = s.where.follow(raw, command)
	files := repeatedFiles(command)
	rounds := len(files) > 1
	if files == nil {
		files = printedFiles(command)
	}
	if n := len(files); n > 1 {
		last := files[n-1]
		if !endAfterLine(files[:n-1]) || !snapshots.HoldsOneValue(last) && !samples.IsThreadFile(last) && !((isPressure(files[n-2]) || files[n-2] == "uptime") && snapshots.IsValueFile(last)) {
			return
		}
	}
	for i, file := range files {
		if files[i] = s.where.place(file); i == 0 {
			s.next.As = files[0]
		}
	}
	if len(files) > 1 {
		s.printed = files[1:]
	}
	if rounds {
		s.rounds, s.round, s.next.Round = files, 1, 1
	}
}

// isPressure says that a file is one of /proc/pressure, of a line "some" and mostly one "full".
func isPressure(file string) bool { return strings.Contains(file, "proc/pressure/") }

// endAfterLine says that each of some files holds no more than one line, or ends where another
// begins.
func endAfterLine(files []string) bool {
	return !slices.ContainsFunc(files, func(file string) bool {
		return file != "date" && !snapshots.HoldsOneValue(file) && !isPressure(file) && !(samples.IsThreadFile(file) && slices.Contains(oneLine, path.Base(file)))
	})
}

// oneLine are the files of a thread that hold one line, or whose lines show where they end.
var oneLine = []string{"comm", "wchan", "syscall", "stat", "status"}

// countsLines tells commands that print no more than a number of lines.
var countsLines = regexp.MustCompile(`(\|\s*(sudo )?(wc\s+(-l|--lines)|grep\s+(-[A-Za-z]*c[A-Za-z]*\b|[^|]* -c\b).*)|^(sudo )?(wc\s+-l\b.*|grep\s+-[A-Za-z]*c\b.*|pgrep\s+-[a-z]*c[a-z]*\b.*))\s*$`)

// LimitNames are the limits of the kernel that are compared with what somebody counted.
var LimitNames = []string{"pid_max", "threads-max", "max_user_instances", "mount-max"}

// noteCount notes the number that a command counted, or the limit that it printed. wc names the
// file behind its number, and sysctl the limit before it.
func (s *Sections) noteCount(line []byte, quote event.Quote) {
	s.noteLimit(string(line[:min(len(line), 80)]))
	word, _, _ := strings.Cut(strings.TrimSpace(string(line[:min(len(line), 80)])), " ")
	if n, err := strconv.Atoi(word); err == nil && s.counts && s.next.Filled == 0 {
		s.next.Number, s.next.Counted = n, quote
	}
}

// noteLimit notes the limit that a command printed, the lowest of several that it names.
func (s *Sections) noteLimit(line string) {
	asked := func(name string) bool { return strings.Contains(s.next.Command, name) }
	named := func(name string) bool { return strings.Contains(line, name) }
	words := strings.Fields(line)
	if len(words) == 0 || !slices.ContainsFunc(LimitNames, asked) || s.next.Filled > 0 && !slices.ContainsFunc(LimitNames, named) {
		return
	}
	if limit, _ := strconv.Atoi(words[len(words)-1]); s.next.Limit == 0 || limit < s.next.Limit {
		s.next.Limit = limit
	}
}

// asksForProcess are commands that ask for one process: ps 2087476, ps -fp 2087476.
var asksForProcess = regexp.MustCompile(`^ps (?:-?\w+ )*(?:-\w*p *|--pid[ =])?(\d+)$`)

// tellsMissing is what programs say of a process that is not there.
var tellsMissing = regexp.MustCompile(`/proc/(\d+)(?:/\w+)?'?: No such file or directory|\((\d+)\) - No such process`)

// noteMissing notes a process that is not there: ps prints its header and nothing else.
func (s *Sections) noteMissing(line []byte, quote event.Quote) {
	line = line[:min(len(line), 200)]
	pid := ""
	switch m := tellsMissing.FindSubmatch(line); {
	case m != nil:
		pid = string(m[1]) + string(m[2])
	case s.next.Filled == 0 && snapshots.IsProcessHead(line):
		if m := asksForProcess.FindStringSubmatch(WithoutWrapper(s.next.Command)); m != nil {
			pid = m[1]
		}
	case s.next.Filled == 1: // it is there
		s.next.Missing = 0
	}
	if pid != "" {
		s.next.Missing, _ = strconv.Atoi(pid)
		s.next.Missed = quote
	}
}

// Err is why the file ended early; nil where it did not. It is known behind the last section.
func (s *Sections) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// peekLine is the start of the next line, without its margin and its end.
func (s *Sections) peekLine() []byte {
	s.dropMargin()
	head, _ := s.r.Peek(maxSectionHead)
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	return lines.TrimReturn(line)
}

func (s *Sections) dropLine() {
	s.fresh = true
	for {
		b, err := s.r.ReadSlice('\n')
		switch {
		case len(b) > 0 && b[len(b)-1] == '\n':
			s.line++
			return
		case err != nil && len(b) > 0 && !errors.Is(err, bufio.ErrBufferFull):
			s.line++
			return
		case !errors.Is(err, bufio.ErrBufferFull):
			return
		}
	}
}

// Read implements io.Reader for the current section, up to its end.
func (s *Sections) Read(p []byte) (int, error) {
	if s.ended || len(p) == 0 {
		return 0, io.EOF
	}
	if s.start {
		if _, err := s.r.Peek(1); err != nil {
			return 0, s.finish(err)
		}
		if s.line > s.next.Before && s.endsBefore(s.peekLine()) {
			s.ended = true
			return 0, io.EOF
		}
		if s.line == s.next.Before {
			s.endsBefore(s.peekLine()) // the first line is never the end, but what follows depends on it
			if _, _, ok := beginsSection(s.peekLine()); ok && s.next.Quote != (event.Quote{}) {
				s.ended = true // a command that printed nothing
				return 0, io.EOF
			}
		}
		s.start, s.before = false, promptBehind(s.peekLine())
	}
	if _, err := s.r.Peek(1); err != nil {
		return 0, s.finish(err)
	}
	ready, _ := s.r.Peek(min(s.r.Buffered(), len(p)))
	if s.before > 0 {
		ready = ready[:min(len(ready), s.before)]
		s.before -= len(ready)
		s.start = s.before == 0
		s.ended = s.start
	} else if i := bytes.IndexByte(ready, '\n'); i >= 0 {
		ready, s.start, s.fresh = ready[:i+1], true, true
		s.line++
	}
	n := copy(p, ready)
	_, _ = s.r.Discard(n)
	return n, nil
}

// finish ends the last section; err is why nothing can be read behind it.
func (s *Sections) finish(err error) error {
	s.ended, s.finished, s.err, s.next.Last = true, true, err, true
	return err
}

// endsBefore says that the section ends before a line, and notes the line if it does not.
func (s *Sections) endsBefore(line []byte) bool {
	if _, _, ok := beginsSection(line); ok {
		return true
	}
	if n := promptBehind(line); n > 0 {
		line = line[:n]
	}
	if lines.IsBlank(line) {
		return false
	}
	if isPressure(s.next.As) && len(s.printed) > 0 { // of two lines, or one
		again := lines.StartsWith(line, "some ") || s.pressed && !lines.StartsWith(line, "full ")
		if again && s.pressed {
			return true
		}
		s.pressed = s.pressed || again
	}
	status := strings.HasSuffix(s.next.As, "/status") // which ends by itself
	onlyLine := len(s.printed) > 0 || len(s.rounds) > 0 && s.next.As != "" && path.Base(s.next.As) != "stack"
	if onlyLine && s.next.Filled > 0 && !status && !isPressure(s.next.As) {
		return true
	}
	if (s.next.As == "" || status) && s.endsStatus(line) {
		return true
	}
	if bare := strings.TrimSpace(string(line[:min(len(line), 4)])); (bare == "$" || bare == "#") && len(line) < 4 && s.next.Command != "" {
		return true // a prompt at which nothing was typed
	}
	if s.endsListing(line) || s.beginsUnit(line) || s.stacks.changesAt(line) || s.endsStack(line) || s.endsValues(line) {
		return true
	}
	s.where.note(line)
	quote := event.Quote{Pos: event.Pos{File: s.in.Path, Line: s.line + 1}, Text: lines.Clip(line)}
	if tellsBreak(line) {
		s.next.Broken = quote
		return false
	}
	if took, ok := measuredTime(line); ok {
		if took > s.next.Took {
			s.next.Took, s.next.Timed = took, quote
		}
		return false
	}
	s.noteCount(line, quote)
	if s.next.Filled < 2 {
		s.noteMissing(line, quote)
		s.noteNumber(line)
	}
	s.next.Sought.note(line, quote)
	if (s.next.Command != "" || s.next.As == "date") && len(s.next.First) < maxFirst {
		s.next.First = append(s.next.First, quote)
	}
	s.next.Filled++
	return false
}

// endsListing says that a listing ends before a line, or begins behind others. The latter has the
// header that its command names, though another command has printed the lines before it:
//
//	date; ps -eo pid,stat,etimes,args | grep runc
func (s *Sections) endsListing(line []byte) bool {
	begun := s.listing.HasRows
	if !s.listing.EndsBefore(line, s.next.Filled > 0) || strings.Contains(s.next.Command, ownColumns) {
		return false
	}
	if !begun {
		s.headed = s.next.Header
	}
	return true
}

// maxFirst is how many lines of an answer are kept: who asks for the state of several units gets
// one line for each.
const maxFirst = 128

// endsStatus says that what /proc/PID/status holds begins or ends before a line.
func (s *Sections) endsStatus(line []byte) bool {
	if s.status {
		return !samples.IsStatusLine(line)
	}
	if s.next.Filled == 0 && strings.HasSuffix(s.next.As, "/status") { // grep leaves out the name
		s.status = samples.IsStatusLine(line)
		return false
	}
	if !lines.StartsWith(line, "Name:") {
		return false
	}
	text, _ := s.r.Peek(maxSectionHead)
	s.status = samples.BeginsStatus(text)
	return s.status && s.next.Filled > 0
}

// endsStack says that the stack of a thread, which a command printed, ends before a line: that file
// holds frames and nothing else, and behind it somebody writes on.
func (s *Sections) endsStack(line []byte) bool {
	return s.stacks == kernelStack && strings.HasSuffix(s.next.As, "/stack") && !isKernelFrame(line)
}

// endsValues says that the values which grep printed of small files end before a line: each has its
// path before it.
//
//	/sys/fs/fuse/connections/62/waiting:1
func (s *Sections) endsValues(line []byte) bool {
	isValue := lines.StartsWith(line, "/sys/fs/fuse/connections/") && bytes.IndexByte(line, ':') > 0
	ends := s.values && !isValue
	s.values = isValue
	return ends
}

// stackKind is whose stacks the lines before are. A ticket may have those of a thread in the kernel
// and those of a Go program one below the other.
type stackKind uint8

const (
	noStack stackKind = iota
	kernelStack
	goroutines
)

// changesAt says that stacks of the other kind begin with a line.
func (k *stackKind) changesAt(line []byte) bool {
	before := *k
	switch {
	case isGoroutine(line):
		*k = goroutines
	case isKernelFrame(line):
		*k = kernelStack
	}
	return before != noStack && *k != noStack && before != *k
}

// isKernelFrame knows a line of /proc/PID/stack, "[<0>] do_exit+0xa14/0xba0". No dump of goroutines
// has one.
func isKernelFrame(line []byte) bool { return lines.StartsWith(line, "[<") }

// isGoroutine knows the header of a goroutine. One whose first letter a mailer has made a capital
// is whole.
func isGoroutine(line []byte) bool {
	if id, ok := bytes.CutPrefix(line, []byte("Goroutine ")); ok {
		return len(id) > 0 && id[0]-'0' <= 9 && bytes.Contains(id, []byte(" [")) && bytes.HasSuffix(bytes.TrimRight(id, " \r"), []byte("]:"))
	}
	return lines.StartsWith(line, "goroutine ") && bytes.IndexByte(line, '[') > 0
}

// beginsUnit says that the status of a unit begins with a line, behind something else: the command
// that printed it may stand there without a prompt.
func (s *Sections) beginsUnit(line []byte) bool {
	if s.units {
		return false
	}
	text, _ := s.r.Peek(maxSectionHead)
	_, rest, _ := bytes.Cut(text, []byte{'\n'})
	s.units = beginsUnitStatus(line, rest)
	return s.units && s.next.Filled > 0
}

// measuredTime is what the shell's time prints behind a command: real, user and sys.
func measuredTime(line []byte) (took time.Duration, ok bool) {
	name, value, ok := strings.Cut(string(line[:min(len(line), 40)]), "\t")
	if !ok || name != "real" && name != "user" && name != "sys" {
		return 0, false
	}
	took, err := time.ParseDuration(strings.TrimSpace(value))
	return took, err == nil
}

// tellsBreak says that somebody gave up waiting for a command, or says that it did not come back.
func tellsBreak(line []byte) bool {
	text := strings.ToLower(strings.TrimSpace(string(line[:min(len(line), 80)])))
	switch text {
	case "^c", "^z", "^\\", "^c^c", "^c^c^c":
		return true
	}
	bare := strings.Trim(text, "()<>[]{}*.!… #-")
	return len(bare) < 40 && len(bare) < len(text) && hangWords.MatchString(bare)
}

// hangWords are what people write for an answer that did not come, in brackets or behind dots.
var hangWords = regexp.MustCompile(`^(it |this |command |just |still )*(hangs?|hanging|hung|stuck|no (output|response|reply|answer)|never (returns?|comes back|ends|finish(es)?)|does not return)( (here|there|forever|indefinitely|for ever))*$`)

// beginsSection says that a line is a prompt with a command, the fence of a code block or the
// heading that a script prints before a command.
func beginsSection(line []byte) (command, raw string, ok bool) {
	if len(line) == 0 || len(line) >= maxSectionHead {
		return "", "", false
	}
	if fence := line[marginOf(line):]; isFence(fence) && (fence[0] != '`' || lines.WholeCode(fence) == nil) {
		return "", string(fence), true
	}
	if file, ok := readPathHeading(line); ok {
		return "cat " + file, string(line), true
	}
	command, strength := cutPrompt(line)
	if strength == noPrompt || isPrintk(command) { // the kernel wrote on the console, behind a prompt that waited
		return "", "", false
	}
	return command, string(line), true
}

// promptBehind is where on a line a prompt begins behind the end of an output that has no end of a
// line; 0 for every other line. Such are JSON, the value of a file, and the sign of a command that
// was given up:
//
//	}[root@node-1 ~]# crictl ps
//	^C[root@node-1 ~]# docker info
func promptBehind(line []byte) int {
	at := bytes.IndexByte(line[:min(len(line), 200)], '@')
	if at < 0 || len(line) >= maxSectionHead {
		return 0
	}
	n := bytes.LastIndexAny(line[:at], "[}")
	if n >= 0 && line[n] == '}' {
		n++ // root@node-1:~# has no mark of its own before it
	}
	if n <= 0 || line[n-1] == ' ' || line[n-1] == '\t' {
		return 0 // of a text
	}
	if _, strength := cutPrompt(line[n:]); strength != surePrompt {
		return 0
	}
	return n
}

// isPrintk says that a text, as "[12345.678901] Call Trace:", is a line of the kernel.
func isPrintk(text string) bool {
	seconds, rest, ok := strings.Cut(strings.TrimPrefix(text, "["), "] ")
	whole, micros, dot := strings.Cut(strings.TrimLeft(seconds, " "), ".")
	return ok && dot && text[0] == '[' && rest != "" && len(micros) == 6 && lines.IsNumber(micros) && lines.IsNumber(whole)
}

// fences are the fences whose line may go on with what they stand before.
var fences = []string{"```", "~~~", "{noformat}", "{code}"}

// languages may stand behind a fence, and tell a page how to colour what follows.
var languages = []string{"bash", "sh", "shell", "console", "text", "txt", "plaintext", "plain", "log", "logs", "json", "yaml", "go", "golang", "c"}

// fenceBefore is the length of a fence that is not alone on its line; 0 for any other line. One
// word behind it is the name of a language.
func fenceBefore(line []byte) int {
	if len(line) >= maxSectionHead {
		return 0
	}
	for _, fence := range fences {
		if !lines.StartsWith(line, fence) {
			continue
		}
		n := len(fence)
		for n < len(line) && line[n] == fence[0] {
			n++ // a fence may be longer
		}
		words := strings.Fields(string(line[n:]))
		if len(words) < 2 || strings.HasSuffix(words[len(words)-1], fence) {
			return 0
		}
		if slices.Contains(languages, words[0]) && n < len(line) && line[n] != ' ' {
			n += len(words[0])
		}
		return n
	}
	return 0
}

// longestFence is the length of what isFence looks at.
const longestFence = len("{{< /highlight")

// isFence says that a line stands before or behind what was pasted into a page: of Markdown, Jira
// and Confluence, or of Jekyll and Hugo, which make pages of Markdown.
func isFence(line []byte) bool {
	if len(line) == 0 || line[0] != '`' && line[0] != '~' && line[0] != '{' && line[0] != '<' {
		return false
	}
	return lines.StartsWith(line, "```", "~~~", "{noformat", "{code", "{% highlight", "{% endhighlight", "{{< highlight", "{{< /highlight", "<details", "</details>", "<summary>")
}

// promptStrength is how sure a line is one with a prompt.
type promptStrength uint8

const (
	noPrompt   promptStrength = iota
	comment                   // # docker ps: in other files, a comment
	heading                   // === docker ps ===, + docker ps
	surePrompt                // [root@node-1 ~]# docker ps, $ docker ps
)

// prompts are what shells and their users put before a command: 1 is the command. Every line that
// matches has one of marks.
var prompts = []struct {
	marks string
	line  *regexp.Regexp
}{
	// [root@node-1 ~]# and [core@node-1 ~]$
	{"[", regexp.MustCompile(`^(?:\([^)]{1,40}\) ?)?\[[^\]\s@]{1,60}@[^\]]{1,120}\] ?[#$%](?: +(.*))?$`)},
	// root@node-1:~# and core@node-1 ~ $ and admin@node-1:/var/log>
	{"@", regexp.MustCompile(`^(?:\[?\d\d:\d\d(?::\d\d)?\]? )?(?:\([^)]{1,40}\) ?)?[\w.-]{1,40}@[\w.-]{1,80}(?::| |: )(?:[~/][^\s#$>%]{0,120})? ?[#$%>](?: +(.*))?$`)},
	// root@node-1# and sh-4.4#
	{"@-", regexp.MustCompile(`^(?:[\w.-]{1,40}@[\w.-]{1,80}|(?:ba|z|k|a|da)?sh-[\d.]+)[#$](?: +(.*))?$`)},
	// node-1:~ # and / #
	{"~/", regexp.MustCompile(`^(?:[\w.-]{1,60}:)?[~/][\w./-]{0,80} ?[#$] +([a-z/.].*)$`)},
	// node-1 ~ #, as root of Container Linux and Gentoo has it
	{"~", regexp.MustCompile(`^[\w.-]{1,60} ~[\w./-]{0,80} [#$] +([a-z/.].*)$`)},
	// ~ ❯ and ~/src ❯, of starship and its like
	{"❯", regexp.MustCompile(`^[~/][\w./-]{0,80} ❯ +([a-z/.].*)$`)},
}

// cutPrompt takes the prompt off a line, also of one that a page quotes.
func cutPrompt(line []byte) (command string, strength promptStrength) {
	if quoted, ok := bytes.CutPrefix(line, []byte("> ")); ok && len(quoted) > 0 && quoted[0] != '>' {
		if command, strength = cutPrompt(quoted); strength != surePrompt {
			return "", noPrompt
		}
		return command, strength
	}
	if m := watchHead.FindSubmatch(line); m != nil {
		command := WithoutWrapper(strings.Trim(string(m[1]), `'"`))
		if isKnownCommand(command) {
			return command, surePrompt
		}
	}
	line = bytes.TrimPrefix(line, []byte("⬢ ")) // toolbox marks its shells so
	if len(line) == 0 {
		return "", noPrompt
	}
	start := line[:min(len(line), 200)]
	if c := line[0]; c == '[' || c == '(' || c == '~' || c == '/' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || lines.IsDigit(c) {
		return cutShellPrompt(line, start)
	}
	if !mayNameCommand(line) || !bytes.ContainsAny(start, "#$%>+=-") {
		return "", noPrompt
	}
	text := string(line)
	for _, mark := range [...]struct {
		text     string
		strength promptStrength
	}{{"$ ", surePrompt}, {"# ", comment}, {"#", comment}, {"+ ", heading}, {"❯ ", surePrompt}, {"➜ ", surePrompt}} {
		if command, ok := strings.CutPrefix(text, mark.text); ok {
			if mark.text == "➜ " { // oh-my-zsh names the directory first
				_, command, _ = strings.Cut(strings.TrimSpace(command), " ")
			}
			if command = strings.TrimSpace(command); isKnownCommand(command) {
				if printed := printedFile(command); strings.HasPrefix(printed, "proc/") || strings.HasPrefix(printed, "sys/") {
					return command, surePrompt // no comment of a file is that
				}
				return command, mark.strength
			}
		}
	}
	if bare := strings.Trim(text, "=-#*+ :"); len(text) > len(bare)+3 && strings.ContainsRune("=-#*", rune(text[0])) && isKnownCommand(bare) {
		return bare, heading
	}
	return "", noPrompt
}

// watchHead is the line that watch prints above each output of its command: 1 the command, which
// its host and the date follow.
//
//	Every 1.0s: cat /proc/loadavg        node-1: Thu Jul 15 16:40:11 2021
var watchHead = regexp.MustCompile(`^Every \d+[.,]\d+s: (.+?)(?: {2,}.*)?$`)

// cutShellPrompt is cutPrompt for a line that begins as the prompt of a shell may. Start is the
// part of it that has the mark.
func cutShellPrompt(line, start []byte) (command string, strength promptStrength) {
	holds := func(mark byte) bool { return bytes.IndexByte(start, mark) >= 0 }
	if !holds('#') && !holds('$') && !holds('%') && !holds('>') && !bytes.Contains(start, []byte("❯")) {
		return "", noPrompt
	}
	text := ""
	for _, p := range prompts {
		if !bytes.ContainsAny(start, p.marks) {
			continue
		}
		if text == "" {
			text = string(line)
		}
		if m := p.line.FindStringSubmatch(text); m != nil {
			return strings.TrimSpace(m[1]), surePrompt
		}
	}
	if m := hostPrompt.FindSubmatch(line); m != nil && mayNameCommand(m[1]) {
		if command := strings.TrimSpace(string(m[1])); isKnownCommand(command) {
			return command, surePrompt
		}
	}
	return "", noPrompt
}

// hostPrompt is a prompt of a host's name alone, as of csh and of the console, or of the name and a
// directory, as "node-1 /home/core # " of Container Linux: 1 the command, which must be a known
// one, for prose has such words, too.
var hostPrompt = regexp.MustCompile(`^[A-Za-z][\w.-]{0,60}(?: /[\w./-]{0,80} )?[#$%] +(\S.*)$`)

// mayNameCommand says that the first word behind the marks of a line may be one of firstWords. Most
// lines with a mark are comments.
func mayNameCommand(line []byte) bool {
	const signs = "=-#*+ :"
	for len(line) > 0 && (line[0] <= ' ' || line[0] == '$' || strings.IndexByte(signs, line[0]) >= 0) {
		line = line[1:]
	}
	if len(line) == 0 || line[0] >= utf8.RuneSelf { // a mark or a blank of many bytes
		return len(line) > 0
	}
	end := 0
	for end < len(line) && line[end] != ' ' && line[end] != '\t' && line[end] != ';' {
		end++
	}
	word := line[:end]
	if word = word[bytes.LastIndexByte(word, '/')+1:]; firstWords[string(word)] {
		return true
	}
	return firstWords[string(bytes.TrimRight(word, signs+"\r\n\v\f"))]
}

// shellCommands are commands whose output matters. Those that are words of any text are known only
// with an option or alone.
var shellCommands = []string{
	"ps", "top", "pstree", "docker", "crictl", "ctr", "nerdctl", "podman", "runc", "kubectl", "oc", "systemctl", "journalctl", "dmesg",
	"cat", "head", "tail", "ls", "cd", "df", "du", "lsof", "mount", "umount", "findmnt", "strace", "busctl", "loginctl", "systemd-cgls",
	"systemd-analyze", "systemd-run", "dbus-send", "free", "vmstat", "iostat", "mpstat", "sar", "pidstat", "iotop", "uname", "uptime",
	"date", "timedatectl", "chronyc", "nvme", "smartctl", "sysctl", "ulimit", "grep", "zgrep", "egrep", "kill", "pgrep", "nsenter", "ip",
	"curl", "virsh", "crash", "bpftrace", "perf", "lsblk", "dmsetup", "time", "timeout", "talosctl", "hostnamectl", "gdb", "dlv", "nfsstat",
	"stat", "sudo", "watch", "hostname", "find", "wc", "multipath", "containerd", "kubelet", "dockerd", "crio", "pidof", "rpm", "dpkg",
	"nvidia-smi", "ss", "openssl", "ausearch",
}

// plainWords are commands that are words of any text, too.
var plainWords = []string{
	"top", "cat", "cd", "head", "tail", "mount", "free", "date", "kill", "time", "timeout", "perf", "crash", "stat", "watch", "ip", "docker",
	"containerd", "kubelet", "dockerd", "crio", "runc", "podman", "grep", "hostname", "oc", "find", "multipath", "nvidia-smi",
}

// firstWords are the words with which a known command begins, without their directories: its name,
// or that of what runs it.
var firstWords = func() map[string]bool {
	m := map[string]bool{"chroot": true, "ssh": true, "for": true}
	for _, name := range shellCommands {
		m[name] = true
	}
	return m
}()

// isLoop is a loop of a shell on one line.
var isLoop = regexp.MustCompile(`^for \w+ in .*; *do .*; *done\b`)

// isKnownCommand says that a text is a command of shellCommands, or several: "date; ps -ef".
func isKnownCommand(command string) bool {
	if len(command) > 1000 {
		return false
	}
	if isLoop.MatchString(command) {
		return true
	}
	if first, rest, ok := strings.Cut(command, ";"); ok && !strings.ContainsAny(first, " \t") {
		rest = strings.TrimSpace(rest)
		return isKnownCommand(first) && (rest == "" || isKnownCommand(rest))
	}
	first := command
	if i := strings.IndexAny(first, " \t"); i >= 0 {
		first = first[:i]
	}
	if !firstWords[first[strings.LastIndexByte(first, '/')+1:]] { // as of most lines with a mark
		return false
	}
	words := strings.Fields(WithoutWrapper(command))
	if len(words) == 0 {
		return false
	}
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if !slices.Contains(shellCommands, name) {
		return false
	}
	if len(words) == 1 || !slices.Contains(plainWords, name) {
		return true
	}
	second := words[1]
	if dot := strings.IndexByte(second, '.'); dot > 0 && dot < len(second)-1 && slices.Contains(printers, name) {
		return true // cat kubelet.log
	}
	if len(words) == 2 && slices.Contains(printers, name) && slices.Contains(processFiles, second) {
		return true // in the directory of a process
	}
	return strings.ContainsAny(second[:1], "-/") || slices.Contains(subCommands, second) || strings.ContainsAny(command, "|/")
}

// processFiles are the files of a process or a thread that people look at from its directory.
var processFiles = []string{"stack", "wchan", "syscall", "status", "stat", "sched", "schedstat", "comm", "cmdline", "cgroup", "limits", "mountinfo"}

// subCommands stand behind the name of a client.
var subCommands = []string{
	"ps", "inspect", "info", "version", "stats", "logs", "images", "exec", "kill", "stop", "rm", "run", "top", "events", "start", "restart",
	"container", "system", "get", "describe", "list", "state", "delete", "config", "adm", "debug",
}

// WithoutWrapper is a command without what runs it: sudo, time, timeout 10, nsenter … --, ssh
// node-1.
func WithoutWrapper(command string) string {
	command = strings.TrimSpace(command)
	for {
		word, rest, ok := strings.Cut(command, " ")
		rest = strings.TrimSpace(rest)
		switch {
		case !ok:
			return command
		case word == "sudo" || word == "time" || word == "timeout" || word == "watch":
			for strings.HasPrefix(rest, "-") || rest != "" && lines.IsDigit(rest[0]) {
				var option string
				option, rest, _ = strings.Cut(rest, " ")
				rest = strings.TrimSpace(rest)
				if takesValue[word+" "+option] {
					_, rest, _ = strings.Cut(rest, " ")
					rest = strings.TrimSpace(rest)
				}
			}
		case word == "ssh":
			if rest = cutMachine(rest); rest == "" {
				return command
			}
		case (word == "sh" || word == "bash") && shellCommand.MatchString(rest):
			rest = strings.TrimSpace(shellCommand.FindStringSubmatch(rest)[2])
		case word == "nsenter" || word == "chroot" || word == "kubectl" && strings.HasPrefix(rest, "exec "):
			_, inner, found := strings.Cut(rest, " -- ")
			if !found {
				return command
			}
			rest = strings.TrimSpace(inner)
		default:
			return command
		}
		if rest == "" {
			return command
		}
		command = rest
	}
}

// shellCommand is what a shell runs that gets it between two marks and nothing else: 2 the command.
var shellCommand = regexp.MustCompile(`^-l?c ('|")([^'"]+)['"]$`)

// takesValue are options behind which a word stands that is no number and no option.
var takesValue = map[string]bool{"sudo -u": true, "sudo -g": true, "timeout -s": true, "timeout --signal": true, "timeout -k": true, "timeout --kill-after": true}

// cutMachine is what ssh runs, behind its options and the machine; empty for a login.
func cutMachine(args string) string {
	for strings.HasPrefix(args, "-") {
		option, rest, _ := strings.Cut(args, " ")
		if len(option) == 2 && strings.Contains("bcDEeFIiJlmoOpQRSWw", option[1:]) {
			_, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
		}
		args = strings.TrimSpace(rest)
	}
	_, command, _ := strings.Cut(args, " ")
	return strings.Trim(command, `'" `)
}

// sniffTranscript wants a prompt, or in what nobody else knows a fence, a listing, or output behind
// marks of a comment.
func sniffTranscript(head *lines.Head) float64 {
	if areCommentedNotes(head.Text) {
		return 0.8
	}
	var listing snapshots.Rows
	strongest := noPrompt
	commands, edges, fences, indented := 0, 0, 0, 0
	filled, between := false, false // lines of the section; a listing begins or ends behind others
	stacks := noStack
	rows := snapshots.MayHaveRows(head)
	if i := bytes.Index(head.Text, []byte("\nName:")); i >= 0 && samples.BeginsStatus(head.Text[i+1:]) {
		edges++
	}
	for _, line := range head.Lines {
		if stacks.changesAt(line) {
			commands++
		}
		command, _, begins := beginsSection(line)
		if begins {
			if fence := line[marginOf(line):]; command == "" && isFence(fence) {
				if len(fence) < len(line) {
					indented++
				}
				if fences++; fence[0] != '{' || fences > 1 { // Jira's come in pairs
					edges++
				}
			} else {
				_, strength := cutPrompt(line)
				if file := printedFile(command); len(file) > 5 && strings.HasPrefix(file, "proc/") && lines.IsDigit(file[5]) {
					strength = min(strength, comment) // whoever reads files of threads knows these prompts
				} else {
					commands++
				}
				if sought := findSought(command); sought.pattern() != "" { // no heading reads so
					strength = surePrompt
				}
				strongest = max(strongest, strength)
				if _, ok := readPathHeading(line); ok {
					commands++ // as sure as two comments
				}
			}
			listing, filled, between = snapshots.Rows{}, false, false
			continue
		}
		if promptBehind(line) > 0 {
			commands, strongest = commands+1, surePrompt
		}
		if rows && listing.EndsBefore(line, filled) {
			if listing.HasRows && string(line) == "Events:" {
				commands += 2 // of kubectl describe, below what kubectl get printed
			}
			listing = snapshots.Rows{HasRows: listing.HasRows}
			listing.EndsBefore(line, false)
			between = true
		}
		if between && listing.HasRows {
			edges++
		}
		filled = true
	}
	switch {
	case strongest == surePrompt, indented > 1: // no other reader knows the margin of a list
		return 1
	case commands > 1:
		return 0.8
	case commands == 1, strongest != noPrompt:
		return 0.6
	case edges > 0:
		return 0.55 // more than text, less than whatever is known
	}
	return 0
}
