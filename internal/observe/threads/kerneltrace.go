package threads

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/linux"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// KernelTraces finds among the records of one log the stacks that the kernel
// printed of tasks: in reports of hung tasks, of lockups and of its own faults, and as answer to
// sysrq-w and sysrq-t. Every line of one is a record of its own, and lines of other processors may
// stand between:
//
//	INFO: task containerd-shim:1422 blocked for more than 120 seconds.
//	task:containerd-shim state:D stack:    0 pid: 1422 ppid:     1 flags:0x00004006
//	Call Trace:
//	 __schedule+0x47d/0x600
//	 ovl_sync_fs+0x2f/0x50 [overlay]
//	RSP: 002b:000000c0020969d0 EFLAGS: 00000202 ORIG_RAX: 00000000000000a6
//
// The stack of a kworker may begin at the line with its work, where those before are lost.
//
// In a text that somebody put together it also finds the stacks of crash, of perf script and of
// /proc/PID/stack below the command that printed it. It makes one event of each thread, and one of
// a memory cgroup that is full of the kernel's own memory. The zero value is ready.
type KernelTraces struct {
	open     map[string]*kernelTrace // by who printed it, see callerOf
	hung     map[string]hungReport   // the last, of each
	headless event.Quote             // of a hung task whose first line is lost, until the stack
	dump     event.Time              // when sysrq asked for the dump that is being printed
	dumps    Samples
	made     []event.Event
	lockups  map[event.Pos]*lockup // by their first lines
	memory   shortage              // the last report
	scopes   map[event.Pos]shortOf // of all reports, by their first lines
	quiet    int                   // records of the kernel since the last line of a trace
	near     int                   // lines that are still wanted whatever they hold, as a frame may hold nothing but a name
}

// kernelTrace is one task's stack while its lines come in.
type kernelTrace struct {
	lockup   *lockup // what the lines of its report say besides
	sample   samples.Sample
	stack    samples.StackBuilder
	compat   bool        // a program of 32 bits
	number   event.Quote // the line with the number of the call
	traced   bool        // its "Call Trace:" was seen
	pasted   bool        // it is no log of the kernel's: frames may have no offset
	bare     bool        // its head is no more than a number: a word alone is no frame
	beheaded bool        // its first line is the one with the work of a kworker, or a frame
	stray    int         // lines in a row that are no part of it
	blocked  time.Duration
	watched  bool        // the watchdog for hung tasks printed it, and it hangs for long
	work     event.Quote // the line with the work of a kworker
	last     event.Time
	report   *faultReport // what the stack was printed for, where that is about a CPU
}

// hungReport is the line of kernel/hung_task.c that comes before a stack.
type hungReport struct {
	tid     int
	seconds int
	line    event.Quote
}

// Bounds of a trace that is being printed.
const (
	maxNear    = 64 // lines behind a frame
	maxStray   = 24 // lines of the kernel that are no part of it: registers, code, other processors
	maxTraces  = 64 // at once: one for each processor, where lines tell theirs
	maxMade    = 20_000
	maxQuiet   = 200
	maxTracing = 10 * time.Second // between two of its lines
)

// Want says whether a raw line may be part of a trace that is being printed. What begins one is
// among [Literals].
func (k *KernelTraces) Want(line []byte) bool {
	if k.open == nil {
		return false
	}
	if k.near > 0 {
		k.near--
		return true
	}
	for _, part := range traceParts {
		if bytes.Contains(line, part) {
			return true
		}
	}
	return false
}

// traceParts are what lines of a trace hold that do not begin one.
var traceParts = [][]byte{[]byte("+0x"), []byte(" 0x"), []byte("RIP: "), []byte(" Comm: "), usageMark, []byte(limitOf)}

// Add takes the next wanted record.
func (k *KernelTraces) Add(r *event.Record) {
	if r.Unit != "" && r.Unit != "kernel" || len(r.Fields) > 0 { // the kernel writes no pairs
		return
	}
	// A line that lost the rest of its header may still name its writer.
	text := strings.TrimPrefix(strings.TrimRight(r.Message(), " \r"), "kernel:")
	caller := callerOf(r.Raw)
	t := k.open[caller]
	if t != nil && r.Time.Known && t.last.Known && r.Time.T.Sub(t.last.T).Abs() > maxTracing {
		k.closeTrace(caller)
		t = nil
	}
	quote := event.Quote{Pos: r.Pos, Text: r.Raw}
	head, ok := readTraceHead(strings.TrimLeft(text, " \t"), r.Unit == "")
	if ok && !head.pasted && t != nil && t.report != nil && t.report.showsTask(&head.task) {
		k.addShown(caller, &head.task, r, quote)
		return
	}
	if ok && !(head.bare && t != nil && t.report != nil) { // crash has such a line in what it says of a panic
		if t == nil || !head.pasted || !t.isPanicOf(&head.task) {
			k.closeTrace(caller)
			k.beginTrace(caller, &head.task, r, quote)
			t = k.open[caller]
		}
		t.pasted, t.bare = head.pasted, head.bare
		return
	}
	if k.noteEdge(text, caller, r, quote) {
		return
	}
	if t == nil && strings.HasPrefix(text, workLine) {
		k.beginTrace(caller, &kernel.Task{Comm: "kworker"}, r, quote)
		t = k.open[caller]
		t.beheaded = true
	}
	if t == nil && beginsAsleep(text) {
		k.beginTrace(caller, &kernel.Task{}, r, quote)
		t = k.open[caller]
		t.beheaded = true
	}
	if t == nil {
		if k.quiet++; k.quiet > maxQuiet {
			k.open = nil
		}
		return
	}
	k.quiet, t.last = 0, r.Time
	if t.takeLine(text, quote) {
		t.stray, k.near = 0, maxNear
		return
	}
	if t.stray++; t.stray > maxStray || isForeign(text) && t.report == nil {
		k.closeTrace(caller)
	}
}

// traceHead is the line above a stack that says whose it is.
type traceHead struct {
	task   kernel.Task
	pasted bool // a person put it there, with what other programs print
	bare   bool // it is no more than a number
}

// readTraceHead reads such a line. Only a text without writers can hold one that was pasted.
func readTraceHead(text string, anyWriter bool) (head traceHead, ok bool) {
	if head.task, ok = kernel.ReadTask(text); ok || !anyWriter {
		return head, ok
	}
	head.pasted = true
	if head.task, ok = kernel.ReadCrashTask(text); ok {
		return head, true
	}
	if head.task, ok = kernel.ReadPerfTask(text); ok {
		return head, true
	}
	head.task, head.bare, ok = samples.StackOwner(text)
	return head, ok
}

// noteEdge takes the lines before the stacks: what they are printed for.
func (k *KernelTraces) noteEdge(text, caller string, r *event.Record, quote event.Quote) bool {
	switch {
	case strings.Contains(text, "Show Blocked State"), strings.Contains(text, "Show State"):
		k.closeTraces()
		k.dump, k.open = r.Time, map[string]*kernelTrace{}
		return true
	case strings.Contains(text, " blocked for more than "):
		k.closeTrace(caller)
		e, ok := linux.HungTask(r)
		if !ok {
			return true
		}
		if k.hung == nil || len(k.hung) > maxTraces {
			k.hung = map[string]hungReport{}
		}
		seconds, _ := e.Get(event.FieldSeconds)
		n, _ := seconds.Number()
		k.hung[caller] = hungReport{e.IDs.PID, int(n), quote}
		k.dump = event.Time{}
		k.countStrayLine()
		return true
	case strings.Contains(text, `hung_task_timeout_secs" disables this message`):
		if _, named := k.hung[caller]; !named {
			k.headless = quote
			k.countStrayLine()
		}
		return true
	}
	if strings.Contains(text, beginsShortage) {
		k.countStrayLine()
	}
	if e, ok := k.memory.takeLine(text, r, quote); ok && len(k.made) < maxMade {
		k.made = append(k.made, e)
	}
	if scope := k.memory.scopeOf(text); scope != "" && len(k.scopes) < maxLockups {
		if k.scopes == nil {
			k.scopes = map[event.Pos]shortOf{}
		}
		k.scopes[k.memory.first] = shortOf{scope, quote}
	}
	report := readFault(text)
	if report == nil && r.Unit == "" {
		report = readCrashPanic(text)
	}
	if report != nil {
		k.beginReport(caller, report, r, quote)
		return true
	}
	return false
}

// beginReport starts the stack of what runs on a CPU.
func (k *KernelTraces) beginReport(caller string, report *faultReport, r *event.Record, quote event.Quote) {
	before := k.open[caller]
	if before != nil && before.report != nil && !before.traced && before.report.isContinuedBy(report) {
		before.last = r.Time
		before.lockup.noteDump(report.first, quote)
		return
	}
	k.closeTrace(caller)
	k.beginTrace(caller, &kernel.Task{Comm: report.comm, TID: report.pid}, r, quote)
	t := k.open[caller]
	t.report, t.blocked = report, report.stuck
	switch {
	case report.isFault() || len(k.lockups) >= maxLockups:
	case before != nil && report.isOfOneCPU():
		t.lockup = before.lockup
		t.lockup.noteDump(report.first, quote)
	default:
		if k.lockups == nil {
			k.lockups = map[event.Pos]*lockup{}
		}
		t.lockup = &lockup{}
		k.lockups[quote.Pos] = t.lockup
	}
}

// addShown starts the stack of a task that a report about CPUs shows: the one that runs on a CPU,
// or one for which RCU waits.
//
//	Task dump for CPU 3:
//	task:containerd      state:R  running task     stack:0     pid:1422  ppid:1      flags:0x00004002
//	Call Trace:
func (k *KernelTraces) addShown(caller string, task *kernel.Task, r *event.Record, quote event.Quote) {
	before := k.open[caller]
	k.closeTrace(caller)
	k.beginTrace(caller, task, r, quote)
	t := k.open[caller]
	t.lockup = before.lockup
	t.report = &faultReport{first: before.report.first, comm: task.Comm, pid: task.TID}
	t.lockup.noteShown(task, quote)
}

// countStrayLine begins to look at all lines that may be part of a trace.
func (k *KernelTraces) countStrayLine() {
	if k.quiet = 0; k.open == nil {
		k.open = map[string]*kernelTrace{}
	}
}

// beginTrace starts the stack of a task.
func (k *KernelTraces) beginTrace(caller string, task *kernel.Task, r *event.Record, quote event.Quote) {
	k.countStrayLine()
	k.near = maxNear
	if len(k.open) >= maxTraces {
		k.closeTraces()
	}
	t := &kernelTrace{last: r.Time}
	t.sample = samples.Sample{
		Time: r.Time, TID: task.TID, PID: task.TGID, Comm: task.Comm, State: task.State, Pos: quote.Pos,
		Raw: []byte(quote.Text),
	}
	if h, ok := k.hung[caller]; ok && h.tid == task.TID {
		t.blocked, t.watched = time.Duration(h.seconds)*time.Second, h.seconds >= linux.LongHang
		t.sample.More = []event.Quote{h.line}
		delete(k.hung, caller)
	} else if k.headless.Text != "" && task.State == "D" {
		t.watched, t.sample.More = true, []event.Quote{k.headless}
	} else if k.dump.Known && r.Time.Known && r.Time.T.Sub(k.dump.T).Abs() < longestPause {
		t.sample.Time = k.dump
	}
	k.headless = event.Quote{}
	k.open[caller] = t
}

// takeLine adds a line to the stack. It says no to one that is no part of it.
func (t *kernelTrace) takeLine(text string, quote event.Quote) bool {
	told := t.lockup != nil && t.lockup.takeLine(text, quote)
	if t.report != nil && (t.takeReportLine(text, quote) || t.report.crash && t.takeCrashLine(text, quote)) {
		return true
	}
	if function, unsure, ok := kernel.ReadFrame(text); ok {
		t.stack.AddFrame(function, unsure, quote)
		return true
	}
	if t.pasted && !t.bare || t.traced {
		if function, ok := kernel.ReadBareFrame(text); ok && (t.pasted || strings.HasPrefix(text, " ")) {
			t.stack.AddFrame(function, false, quote)
			return true
		}
	}
	switch text = strings.TrimSpace(text); {
	case text == "Call Trace:", text == "Call trace:", text == "Backtrace:": // the last is arm's
		if t.traced {
			return false // of somebody whose head is lost
		}
		t.traced = true
		return true
	case strings.HasPrefix(text, "RIP: "):
		t.compat = strings.HasPrefix(text, "RIP: 0023:")
		return true
	case strings.HasPrefix(text, workLine):
		t.sample.Target, t.work = text, quote
		return true
	}
	if _, value, ok := strings.Cut(text, "ORIG_RAX: "); ok {
		if n, err := strconv.ParseUint(value, 16, 64); err == nil && n < maxCall {
			t.sample.Number, t.sample.HasNumber = int(n), true
			t.number = quote
		}
		return true
	}
	return told || strings.HasPrefix(text, "R") && strings.Contains(text, ": 0") || text == "<TASK>" || text == "</TASK>"
}

// takeReportLine takes a line of the report that the stack is printed for.
func (t *kernelTrace) takeReportLine(text string, quote event.Quote) bool {
	at := t.report.function
	if !t.report.takeLine(text, quote) {
		return false
	}
	if task, ok := kernel.ReadCPUTask(text); ok && t.sample.TID == 0 {
		t.sample.TID, t.sample.Comm, t.sample.State = task.TID, task.Comm, task.State
	}
	if function := t.report.function; function != at {
		t.stack.AddFrame(function, false, quote) // the trace begins at its caller
	}
	return true
}

// addWorkFunction makes the function that a kworker was asked to run the outermost frame of a stack
// that does not reach so far: whatever else is on it was called by that.
//
//	Workqueue: netns cleanup_net
//	Workqueue: writeback wb_workfn (flush-254:1)
func (t *kernelTrace) addWorkFunction() {
	s := &t.sample
	words := strings.Fields(strings.TrimPrefix(t.sample.Target, workLine))
	outermost, _, _ := strings.Cut(s.Stack, " ")
	if t.work.Text == "" || len(words) < 2 || kernel.IsStackBottom(outermost) || slices.Contains(strings.Fields(s.Stack), words[1]) {
		return
	}
	s.Kernel, s.Stack = true, strings.TrimSpace(words[1]+" "+s.Stack)
	s.More = append(s.More, t.work)
}

// workLine begins the line between the head of a kworker and its stack, while it is at work.
const workLine = "Workqueue: "

// sleepsAtWork says that a task of which the line with the state is lost sleeps, as its stack
// shows, and no signal wakes it: it waits for something that its work needs. What prints a stack of
// its own runs.
func sleepsAtWork(s *samples.Sample) bool {
	frames := strings.Fields(s.Stack)
	has := func(names ...string) bool {
		return slices.ContainsFunc(frames, func(f string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(f, name) })
		})
	}
	return has("schedule", "__schedule", "io_schedule") && !has("dump_stack", "show_stack") && !slices.ContainsFunc(frames, samples.IsInterruptible)
}

// beginsAsleep says that a line is the innermost frame of a task that sleeps. The stack of a task
// that runs begins with another function. The line that names the task was left out.
func beginsAsleep(text string) bool {
	function, _, ok := kernel.ReadFrame(text)
	return ok && slices.Contains(sleepFrames, function)
}

// sleepFrames are the functions by which a task sleeps (kernel/sched/core.c).
var sleepFrames = []string{"__schedule", "schedule", "schedule_preempt_disabled", "schedule_timeout", "io_schedule", "io_schedule_timeout"}

const maxCall = 4096 // above are the numbers of exceptions, which are negative

// otherReports are the starts of what the kernel prints with a stack that is no task's of a dump.
var otherReports = []string{
	"CPU: ", "BUG: ", "WARNING: ", "watchdog: ", "NMI backtrace", "rcu: ", "Call Trace:", "Call trace:", "---[ ", "Kernel panic",
}

// isForeign says that a line begins something else whose stack may follow.
func isForeign(text string) bool {
	return slices.ContainsFunc(otherReports, func(start string) bool { return strings.HasPrefix(text, start) })
}

// callerOf is the thread or processor that printed a line, as CONFIG_PRINTK_CALLER shows it
// behind the stamp: "[   12.345678][ T1234] "; empty on most kernels.
func callerOf(raw string) string {
	_, rest, ok := strings.Cut(raw[:min(len(raw), 200)], "][")
	if !ok {
		return ""
	}
	caller, _, ok := strings.Cut(rest, "] ")
	caller = strings.TrimLeft(caller, " ")
	if !ok || len(caller) < 2 || caller[0] != 'T' && caller[0] != 'C' {
		return ""
	}
	return caller
}

// closeTrace ends the trace of a caller and makes an event of it.
func (k *KernelTraces) closeTrace(caller string) {
	t := k.open[caller]
	if t == nil {
		return
	}
	delete(k.open, caller)
	s := &t.sample
	t.stack.WriteTo(s)
	useUnsureFrames(s)
	s.Kernel = strings.HasPrefix(s.Stack, "ret_from_fork") || strings.HasPrefix(s.Stack, "kthread ")
	t.addWorkFunction()
	if s.HasNumber {
		s.Machine = "x86_64" // no other has such a register
		if t.compat {
			s.Number, s.HasNumber, s.Machine = 0, false, ""
		} else {
			s.More = append(s.More, t.number)
		}
	}
	s.NameSyscall()
	if len(k.made) >= maxMade {
		return
	}
	if t.report != nil {
		k.made = t.appendReport(k.made)
		return
	}
	if t.pasted && len(s.Frames) == 0 {
		return
	}
	if t.pasted {
		all, died := appendDeath(k.made, s)
		if k.made = all; died {
			return
		}
	}
	if t.watched {
		k.made = append(k.made, t.hungEvent())
		return
	}
	if t.beheaded {
		if s.State = "D"; sleepsAtWork(s) {
			k.made = append(k.made, momentEvent(s))
		}
		return
	}
	k.dumps.Single = true
	if k.dumps.runs == nil {
		k.dumps.runs = map[int]*run{}
	}
	if s.Time.IsZero() {
		if t.pasted || isTellingOnce(s) { // somebody chose what to paste
			k.made = append(k.made, momentEvent(s))
		}
		return
	}
	k.made = k.dumps.Sample(k.made, s)
}

// hungEvent is a task that the kernel's watchdog found: it has not moved since as long as the
// report says.
func (t *kernelTrace) hungEvent() event.Event {
	s := &t.sample
	e := sampleEvent(s)
	e.Begun, e.Open = true, true
	if s.Time.Known {
		e.Start, e.End = s.Time.Add(-t.blocked), s.Time
	}
	e.AddFields(event.FieldSamples.Int(1), event.FieldReturned.Bool(false))
	if t.watched {
		e.AddFields(event.FieldWatchdog.Bool(true))
	}
	if t.blocked > 0 {
		e.AddFields(event.FieldSeconds.Number(float64(t.blocked / time.Second)))
		e.Text += ", for more than " + strconv.Itoa(int(t.blocked/time.Second)) + " s"
	}
	return e
}

func (k *KernelTraces) closeTraces() {
	var callers []string
	for caller := range k.open {
		callers = append(callers, caller)
	}
	slices.SortFunc(callers, func(a, b string) int {
		return cmp.Or(cmp.Compare(k.open[a].sample.Pos.Line, k.open[b].sample.Pos.Line), strings.Compare(a, b))
	})
	for _, caller := range callers {
		k.closeTrace(caller)
	}
}

// Finish returns the events of all threads that were found.
func (k *KernelTraces) Finish() []event.Event {
	for _, t := range k.open {
		if t.report != nil && isKdumpLog(t.sample.Pos.File) {
			t.report.crash = t.report.isFault()
		}
	}
	k.closeTraces()
	made := k.dumps.endRuns(k.made, true)
	for i := range made {
		made[i].Source = "kernel.log"
	}
	k.open, k.made = nil, nil
	return made
}
