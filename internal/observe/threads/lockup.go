package threads

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/linux"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
)

// lockup is what the lines below the first one of a lockup, or of a stall of RCU, say of it:
//
//	rcu: INFO: rcu_sched self-detected stall on CPU
//	rcu:     22-....: (58901 ticks this GP) idle=335/1/0x4000000000000000 softirq=2462/2462 fqs=15001
//	 (t=60016 jiffies g=19949 q=792)
//	CPU: 22 PID: 6084 Comm: cifsd Kdump: loaded Tainted: G             L    5.15.0-1 #1
//
// Up to 4.18 the second line had no "rcu:".
type lockup struct {
	cpu, ticks, comm string
	tid, cpus        int
	again            bool
	dump             event.Quote // the line that says on which CPU the next task runs; zero without one
	quotes           []event.Quote
}

// noteDump notes the line above the task that runs on a CPU.
func (l *lockup) noteDump(text string, quote event.Quote) {
	if l != nil && strings.HasPrefix(text, taskDump) {
		l.dump = quote
	}
}

// noteShown notes a task that a report shows: the first that runs on a CPU which is held up.
func (l *lockup) noteShown(task *kernel.Task, quote event.Quote) {
	if l == nil || l.dump.Text == "" || l.comm != "" {
		return
	}
	l.comm, l.tid, l.cpu = task.Comm, task.TID, scan.Digits(scan.After(l.dump.Text, taskDump))
	l.quotes = append(l.quotes, l.dump, quote)
}

// maxLockups bounds those whose lines are kept of one log.
const maxLockups = 2000

// takeLine takes what a line says; false is a line that says nothing of it.
func (l *lockup) takeLine(text string, quote event.Quote) bool {
	text = strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(text, " \t"), "rcu:"), " \t")
	if i := strings.Index(text, "CPU: "); i > 0 && strings.Contains(text[i:], " Comm: ") {
		text = text[i:] // behind what grep put before a line without a header
	}
	if task, ok := kernel.ReadCPUTask(text); ok {
		if l.comm != "" {
			return false // of another CPU that was asked for its stack
		}
		l.comm, l.tid = task.Comm, task.TID
		l.again = isTaintedByLockup(text)
		if cpu := scan.Digits(strings.TrimLeft(scan.After(text, "CPU:"), " ")); l.cpu == "" && l.cpus == 0 {
			l.cpu = cpu
		}
	} else if ticks := linux.StalledTicks(text); ticks != "" {
		l.ticks = ticks
	} else if cpu, rest, ok := strings.Cut(text, "-"); ok && cpu != "" && scan.Digits(cpu) == cpu && strings.Contains(rest, ": (") {
		if l.cpus++; l.cpus > 1 {
			cpu = "" // several CPUs at once
		}
		l.cpu = cpu
	} else {
		return false
	}
	l.quotes = append(l.quotes, quote)
	return true
}

// isTaintedByLockup says that the kernel had found a CPU stuck before: it notes that in its flags
// when the report of a soft lockup is written (kernel/watchdog.c), so that of the first one the
// flag is missing.
//
//	CPU: 41 PID: 691204 Comm: kworker/u146:7 Tainted: G             L  4.14.165-133.209.amzn2.x86_64 #1
func isTaintedByLockup(text string) bool {
	for flags := range strings.FieldsSeq(scan.After(text, "Tainted: ")) {
		if strings.Trim(flags, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return false
		}
		if strings.Contains(flags, "L") {
			return true
		}
	}
	return false
}

// KnowsMore says that there is a lockup or a lack of memory of which [KernelTraces.TellMore] may
// know more.
func (k *KernelTraces) KnowsMore() bool { return len(k.lockups)+len(k.scopes) > 0 }

// TellMore adds to the event of the first line of a lockup, or of a lack of memory, what the lines
// below say.
func (k *KernelTraces) TellMore(e *event.Event) {
	k.tellScope(e)
	l := k.lockups[e.Pos()]
	if l == nil || e.Kind != event.KindRCUStall && e.Kind != event.KindSoftLockup || e.Kind == event.KindRCUStall && e.FieldText(event.FieldOf) != "" {
		return
	}
	if l.again {
		e.AddFields(event.FieldAgain.Bool(true))
	}
	if e.Kind == event.KindRCUStall {
		l.tellStall(e)
	}
	e.Evidence = append(e.Evidence, l.quotes...)
}

// tellStall says which CPU held up RCU, for how long and in which task. The time is in ticks, of
// which a second has 100, 250, 300 or 1000; RCU speaks after 21 s, of some distributions 60 s.
func (l *lockup) tellStall(e *event.Event) {
	if l.cpu == "" {
		return
	}
	e.Text = "CPU " + l.cpu + " does not come round"
	e.AddText(event.FieldCPU, l.cpu)
	if n, err := strconv.Atoi(l.ticks); err == nil {
		e.Text += " for " + describeTicks(n)
	}
	if l.comm != "" && l.tid != 0 {
		e.IDs.TID = l.tid
		e.AddText(event.FieldComm, l.comm)
		e.Text += ": " + l.comm + " (" + strconv.Itoa(l.tid) + ")"
	}
}

// describeTicks says how long a first stall has lasted, in seconds where its ticks leave no choice.
func describeTicks(n int) string {
	for _, wait := range []int{21, 60} {
		for _, hz := range []int{100, 250, 300, 1000} {
			if least := wait * hz; n >= least && n < least+least/100+3 {
				return strconv.Itoa(wait) + " s"
			}
		}
	}
	return strconv.Itoa(n) + " of the kernel's ticks"
}
