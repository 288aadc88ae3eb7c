package threads

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
)

// faultReport is what the kernel prints about a CPU and the task that runs there: a fault of its
// own, after which that task is ended with all locks that it held, or a lockup.
//
//	BUG: kernel NULL pointer dereference, address: 0000000000000008
//	Oops: 0000 [#1] SMP PTI
//	CPU: 3 PID: 1422 Comm: dockerd Not tainted 5.15.0-76-generic #83-Ubuntu
//	RIP: 0010:overlay_lookup+0x12/0x40
//	Call Trace:
//	---[ end trace 0000000000000000 ]---
type faultReport struct {
	what     string // a value of kernel.oops; empty for a lockup
	first    string // its first line
	comm     string
	pid      int
	stuck    time.Duration
	function string
	lines    []event.Quote
	crash    bool // the machine has ended by it: the program crash printed it, or it is a log's last words
}

// faults are how reports begin, by what happened: arch/x86/mm/fault.c, arch/x86/kernel/traps.c,
// kernel/panic.c, arch/arm64/mm/fault.c, lib/bug.c. Several may stand in one report. Programs have
// faults of their own ("traps: a[1] general protection fault ip:…").
var faults = []struct{ start, what string }{
	{"BUG: kernel NULL pointer dereference", "null-dereference"},                  // >= 5.1
	{"BUG: unable to handle kernel NULL pointer dereference", "null-dereference"}, // before
	{"Unable to handle kernel NULL pointer dereference", "null-dereference"},      // arm64
	{"BUG: unable to handle", "page-fault"},                                       // "… page fault for address:", "… kernel paging request at"
	{"Unable to handle kernel", "page-fault"},                                     // arm64
	{"general protection fault", "general-protection"},                            //
	{"Oops: general protection fault", "general-protection"},                      // >= 6.8
	{"kernel BUG at ", "bug"},                                                     //
	{"Internal error: Oops - BUG", "bug"},                                         // arm64
	{"Internal error: Oops", "other"},                                             // arm64
	{"divide error: ", "other"},                                                   // before 6.8, as the next ones; after behind "Oops: "
	{"invalid opcode: ", "bug"},                                                   // below "kernel BUG at"
	{"stack segment: ", "other"},                                                  //
	{"double fault: ", "other"},                                                   //
	{"Oops: ", "other"},                                                           //
}

// lockups are parts of the lines that begin a report of a CPU which does not come round.
var lockups = []string{"soft lockup - CPU#", "hard LOCKUP on cpu ", "detected stall on CPU", "detected stalls on CPUs/tasks", backtrace, taskDump}

// backtrace comes before the stack of every CPU that was asked for it: for a stall of RCU, a hard
// lockup and sysrq-l.
const backtrace = "NMI backtrace for cpu "

// taskDump comes before the task that runs on a CPU, and its stack, where the CPU itself is not or
// cannot be asked: kernel/sched/core.c.
const taskDump = "Task dump for CPU "

// readFault reads the line that begins a report about a CPU; nil for every other line.
func readFault(text string) *faultReport {
	text = strings.TrimLeft(text, " ")
	for _, f := range faults {
		if strings.HasPrefix(text, f.start) {
			return &faultReport{what: f.what, first: text}
		}
	}
	for _, part := range lockups {
		if strings.Contains(text, part) {
			return &faultReport{first: text, stuck: parseStuckTime(text)}
		}
	}
	return nil
}

// readCrashPanic reads what the program crash says of the machine's end; nil for every other line,
// and for an end that was no fault. The task stands in the lines that follow:
//
//	  PANIC: "BUG: unable to handle kernel NULL pointer dereference at 0000000000000010"
//	    PID: 191240
//	COMMAND: "runc:[2:INIT]"
func readCrashPanic(text string) *faultReport {
	said, ok := strings.CutPrefix(strings.TrimLeft(text, " "), `PANIC: "`)
	if !ok {
		return nil
	}
	said, _, _ = strings.Cut(said, `"`)
	f := readFault(said)
	if f == nil || !f.isFault() {
		return nil
	}
	f.crash = true
	return f
}

// isPanicOf says that crash prints the stack of the task by which the machine ended.
func (t *kernelTrace) isPanicOf(task *kernel.Task) bool {
	s := &t.sample
	if t.report == nil || !t.report.crash || t.pasted || s.TID != 0 && s.TID != task.TID {
		return false
	}
	s.TID, s.Comm = task.TID, task.Comm
	return true
}

// takeCrashLine takes what crash says of the task by which the machine ended.
func (t *kernelTrace) takeCrashLine(text string, quote event.Quote) bool {
	key, value, _ := strings.Cut(strings.TrimSpace(text), ": ")
	switch key {
	case "PID":
		t.sample.TID, _ = strconv.Atoi(value)
	case "COMMAND":
		t.sample.Comm = strings.Trim(value, `"`)
	default:
		return false
	}
	t.report.lines = append(t.report.lines, quote)
	return true
}

// dying are functions that only a thread is in by which the kernel met a fault of its own:
// arch/x86/kernel/dumpstack.c, arch/arm64/kernel/traps.c.
var dying = []string{"oops_end", "__die", "__die_body", "die", "die_addr"}

// stopping are functions that end the machine: kernel/panic.c, kernel/crash_core.c.
var stopping = []string{"panic", "crash_kexec", "__crash_kexec", "machine_kexec"}

// appendDeath appends the fault of the kernel of which a thread died that has this stack, as crash
// shows it, and that the machine ended by it; died is false for every other.
func appendDeath(dst []event.Event, s *samples.Sample) (all []event.Event, died bool) {
	functions := strings.Fields(s.Stack)
	if !slices.ContainsFunc(functions, func(f string) bool { return slices.Contains(dying, f) }) {
		return dst, false
	}
	t := kernelTrace{sample: *s, report: &faultReport{what: "other", function: findFaulty(functions), lines: s.Frames}}
	dst = append(dst, t.faultEvent())
	if slices.ContainsFunc(functions, func(f string) bool { return slices.Contains(stopping, f) }) {
		dst = append(dst, t.stopEvent())
	}
	return dst, true
}

// stopEvent is the end of the machine by a fault.
func (t *kernelTrace) stopEvent() event.Event {
	s := &t.sample
	reason := "a fault in " + cmp.Or(s.Comm, "a thread")
	e := event.New(event.KindPanic, "the kernel stops: "+reason, event.FieldReason.Text(reason))
	e.Component, e.Start, e.Level = "kernel", s.Time, event.Error
	e.Evidence = []event.Quote{s.Quote()}
	return e
}

// findFaulty is the function that a fault interrupted: the caller of the processor's entry into the
// kernel.
func findFaulty(functions []string) string {
	for i, f := range functions {
		if i > 0 && scan.ContainsAny(f, faultEntries) {
			return functions[i-1]
		}
	}
	return ""
}

// faultEntries are parts of the names of such entries: arch/x86/entry/, arch/arm64/kernel/entry.S.
var faultEntries = []string{"page_fault", "general_protection", "invalid_op", "exc_", "error_entry", "el1_abort", "el1h_64_sync"}

// parseStuckTime is the time in the line about a soft lockup.
func parseStuckTime(text string) time.Duration {
	_, rest, _ := strings.Cut(text, " stuck for ")
	seconds, _, found := strings.Cut(rest, "s!")
	n, err := strconv.Atoi(seconds)
	if !found || err != nil || n < 0 || n > maxStuck {
		return 0
	}
	return time.Duration(n) * time.Second
}

// maxStuck bounds what a line may say, in seconds: a month.
const maxStuck = 31 * 24 * 3600

// isFault says that the report is of a fault, not of a lockup.
func (f *faultReport) isFault() bool { return f.what != "" }

// isContinuedBy says that another first line of a report belongs to this one, which has no task
// yet: a fault has several lines that could each be the first, and a lockup asks a CPU for its
// stack.
func (f *faultReport) isContinuedBy(next *faultReport) bool {
	if f.comm != "" || f.isFault() != next.isFault() {
		return false
	}
	return f.isFault() || !f.isOfOneCPU() && next.isOfOneCPU()
}

// isOfOneCPU says that the report is what runs on one CPU, as others ask for it.
func (f *faultReport) isOfOneCPU() bool {
	return strings.HasPrefix(f.first, backtrace) || strings.HasPrefix(f.first, taskDump)
}

// showsTask says that the report goes on with a task and its stack. RCU's own thread is shown where
// that got no CPU.
func (f *faultReport) showsTask(task *kernel.Task) bool {
	return (strings.HasPrefix(f.first, taskDump) || strings.Contains(f.first, "detected stall")) && !strings.HasPrefix(task.Comm, "rcu_")
}

// takeLine takes what a line says of the task and of the instruction that it was at.
func (f *faultReport) takeLine(text string, quote event.Quote) bool {
	text = strings.TrimLeft(text, " ")
	if task, ok := kernel.ReadCPUTask(text); ok {
		if f.comm == "" {
			f.comm, f.pid = task.Comm, task.TID
			f.lines = append(f.lines, quote)
		}
		return true
	}
	rest, ok := cutInstruction(text)
	if !ok {
		return strings.HasPrefix(text, "Oops: ") || strings.HasPrefix(text, "Modules linked in:")
	}
	if function, _, ok := kernel.ReadFrame(rest); ok && f.function == "" && function != "" {
		f.function = function
		f.lines = append(f.lines, quote)
	}
	return true
}

// cutInstruction is what the line with the address of the instruction says of its function:
//
//	RIP: 0010:overlay_lookup+0x12/0x40 [overlay]
//	RIP: 0010:[<ffffffff81252a4e>]  [<ffffffff81252a4e>] overlay_lookup+0x12/0x40      up to 4.9
//	IP: [<ffffffff81252a4e>] overlay_lookup+0x12/0x40
//	pc : overlay_lookup+0x12/0x40 [overlay]      arm64
//	PC is at overlay_lookup+0x12/0x40            up to 4.14
func cutInstruction(text string) (rest string, ok bool) {
	for _, start := range []string{"RIP: 0010:", "IP: ", "pc : ", "PC is at "} {
		if rest, ok = strings.CutPrefix(text, start); ok {
			return rest, true
		}
	}
	return "", false
}

// appendReport appends what a report amounts to.
func (t *kernelTrace) appendReport(dst []event.Event) []event.Event {
	s, f := &t.sample, t.report
	if f.isFault() {
		if f.crash && f.function == "" {
			f.function = findFaulty(strings.Fields(s.Stack))
		}
		dst = append(dst, t.faultEvent())
		if f.crash || t.isFatal() {
			dst = append(dst, t.stopEvent())
		}
		return dst
	}
	if s.TID == 0 || s.Stack == "" { // the idle task, or nothing but the line that has its own event
		return dst
	}
	if t.blocked > 0 {
		e := t.hungEvent()
		e.Text = s.Comm + ", thread " + strconv.Itoa(s.TID) + ", holds its CPU in the kernel for " + strconv.Itoa(int(t.blocked/time.Second)) + " s"
		return append(dst, e)
	}
	return append(dst, momentEvent(s))
}

// isFatal says that a fault ends the machine, wherever the kernel was: the idle task is one that
// cannot be ended (kernel/exit.c).
func (t *kernelTrace) isFatal() bool {
	return strings.HasPrefix(t.sample.Comm, "swapper/") && slices.Contains(endOfTask, t.report.what)
}

// endOfTask are the faults by which a task ends.
var endOfTask = []string{"null-dereference", "page-fault", "general-protection", "bug"}

// isKdumpLog says that kdump wrote a file of the kernel's log (vmcore-dmesg.txt, also with a date):
// its machine has ended by what the log ends with.
func isKdumpLog(file string) bool { return strings.HasPrefix(path.Base(file), "vmcore-dmesg") }

// faultEvent is a fault of the kernel in the context of a task.
func (t *kernelTrace) faultEvent() event.Event {
	s, f := &t.sample, t.report
	e := event.Event{Kind: event.KindOops, Component: "kernel", Start: s.Time, Level: event.Error}
	e.IDs.TID, e.IDs.PID = s.TID, s.PID
	e.Fields = []event.Field{event.FieldWhat.Text(f.what), event.FieldComm.Text(s.Comm), event.FieldFunction.Text(f.function)}
	if s.Comm != "" {
		e.AddFields(event.FieldOf.Text(writerOf(s)))
	}
	if s.Stack != "" {
		e.AddFields(event.FieldStack.Text(s.Stack))
	}
	e.Text = "the kernel has a fault of its own"
	if s.Comm != "" {
		e.Text += " in " + s.Comm + ", thread " + strconv.Itoa(s.TID)
	}
	if f.function != "" {
		e.Text += ", at " + f.function
	}
	e.Evidence = append([]event.Quote{s.Quote()}, f.lines...)
	return e
}
