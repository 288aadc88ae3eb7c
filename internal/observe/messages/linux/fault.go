package linux

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Faults are programs that the kernel ends for a fault of their own, under whatever tag the line
// was pasted.
var Faults = table.Table{Unnamed: "kernel", Rows: []table.Row{
	{[]string{"segfault at ", " general protection ", " trap invalid opcode ", " trap int3 ", " trap divide error ", " trap stack segment ", " trap bounds "}, programFault},
	{[]string{" dumped core", " - dumping core"}, coreDumped},
}}

// programFault is the kernel's line (arch/x86/mm/fault.c and arch/x86/kernel/traps.c) on a daemon
// of the node, or a program that one runs. Go handles such signals by itself and says so: what the
// kernel prints came before that or in C, and ends the process all the same.
//
//	containerd-shim[4321]: segfault at 0 ip 0000000000459367 sp 000000c0003ef8a8 error 4 in containerd-shim[400000+4f8000]
//	traps: runc[8812] general protection fault ip:55b3f2a1c2d4 sp:7ffc3f1e0a10 error:0 in runc[55b3f2800000+9c0000]      (before 5.9 without "fault")
//	traps: containerd[1103] trap invalid opcode ip:56202e1c4f2b sp:7ffd6e0c6fd0 error:0 in containerd[56202d800000+2a00000]
//
// Of PID 1 [repeated.ManagerCrash] tells.
func programFault(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	program, _, ok := strings.Cut(said, ": segfault at ")
	fault := "segmentation fault"
	switch {
	case ok:
	case strings.HasPrefix(said, "segfault at "): // the name was read as a tag
		program = r.Unit + "[" + strconv.Itoa(r.PID) + "]"
	default:
		program, fault, ok = strings.Cut(strings.TrimPrefix(said, "traps: "), "] ")
		program += "]"
		fault, _, _ = strings.Cut(fault, " ip:")
		if fault = strings.TrimPrefix(fault, "trap "); !ok || !strings.HasPrefix(said, "traps: ") {
			return event.Event{}, false
		}
	}
	name, pid, ok := strings.Cut(program, "[")
	if i := strings.LastIndexByte(program, '['); ok {
		name, pid = program[:i], strings.TrimSuffix(program[i+1:], "]")
	}
	component := daemon.OfProcess(name)
	e := event.New(
		event.KindCrash, "the kernel ends "+name+" ("+pid+"): "+fault, event.FieldReason.Text(fault), event.FieldComm.Text(name),
	)
	e.IDs.PID, _ = strconv.Atoi(pid)
	e.Component, e.Source = component, "kernel.log"
	return e, component != "" && e.IDs.PID > 1 && fault != ""
}

// coreDumped is who keeps the memory of programs that have crashed, about such a program:
//
//	systemd-coredump[4300]: Process 1203 (containerd) of user 0 dumped core.      (since 248 behind "[🡕] ")
//	abrt-hook-ccpp[4300]: Process 1203 (dockerd) of user 0 killed by SIGABRT - dumping core
func coreDumped(r *event.Record) (event.Event, bool) {
	pid, rest, ok := strings.Cut(scan.After(r.Message(), "Process "), " (")
	name, how, ended := strings.Cut(rest, ") of user ")
	reason := "a core was dumped"
	if signal, found := scan.Between(how, " killed by ", " - "); found {
		reason = signal
	}
	e := event.New(event.KindCrash, name+" ("+pid+") crashed: "+reason, event.FieldReason.Text(reason), event.FieldComm.Text(name))
	e.IDs.PID, _ = strconv.Atoi(pid)
	e.Component, e.Source = daemon.OfProcess(name), "kernel.log"
	return e, ok && ended && e.Component != "" && e.IDs.PID > 1
}

// doubts are what the kernel says of its own state when it finds it wrong and goes on.
var doubts = []string{
	"BUG: Bad page ", "BUG: scheduling while atomic: ", "BUG: sleeping function called from invalid context", "refcount_t: ", " overwritten",
	"list_del corruption", "list_add corruption", "PANIC at ", "BUG: Bad rss-counter", " exited with preempt_count ", " exited with irqs disabled",
	"Fixing recursive fault but reboot is needed",
}

// kernelDoubt is such a line. What follows in the next hours may come from it, or not:
//
//	BUG: Bad page state in process containerd-shim  pfn:3b2a5c
//	BUG: scheduling while atomic: containerd/1203/0x00000002
//	BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580
//	refcount_t: underflow; use-after-free.
//	BUG kmalloc-64 (Tainted: G    B     ): Poison overwritten      (also: Redzone overwritten)
//	PANIC at zio.c:341:zio_buf_alloc()      (ZFS; the thread stops there and keeps its locks)
//	BUG: Bad rss-counter state mm:00000000c0ffee00 type:MM_ANONPAGES val:2
//	note: containerd-shim[4242] exited with preempt_count 1      (below an oops; since 6.2 also "with irqs disabled")
//	Fixing recursive fault but reboot is needed!
//	list_del corruption. prev->next should be ffff…, but was ffff…
func kernelDoubt(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	e := event.Event{Kind: event.KindKernelDoubt}
	switch {
	case strings.HasPrefix(said, "BUG: Bad page "):
		_, task, _ := strings.Cut(said, " in process ")
		comm, _, _ := strings.Cut(task, "  ")
		e.Text = "the kernel finds its memory damaged: " + strings.TrimPrefix(cutAt(said, "  "), "BUG: ")
		e.AddFields(event.FieldWhat.Text("memory"))
		e.AddText(event.FieldComm, comm)
	case strings.HasPrefix(said, "BUG: scheduling while atomic: "):
		comm := cutAt(scan.After(said, "while atomic: "), "/")
		e.Text = "the kernel lets " + cmp.Or(comm, "a task") + " sleep where it must not: a bug of its own or of a module"
		e.AddFields(event.FieldWhat.Text("context"))
		e.AddText(event.FieldComm, comm)
	case strings.HasPrefix(said, "BUG: sleeping function"):
		e.Text = "the kernel sleeps where it must not: a bug of its own or of a module"
		e.AddFields(event.FieldWhat.Text("context"))
	case strings.HasPrefix(said, "BUG: Bad rss-counter"):
		e.Text = "the kernel has counted a process's memory wrong"
		e.AddFields(event.FieldWhat.Text("memory"))
	case strings.HasPrefix(said, "Fixing recursive fault"):
		e.Text = "the kernel had a fault while it ended a task after another: only a reboot helps"
		e.AddFields(event.FieldWhat.Text("context"))
	case strings.HasPrefix(said, "note: ") && strings.Contains(said, "] exited with "):
		comm := cutAt(strings.TrimPrefix(said, "note: "), "[")
		e.Text = "the kernel ended " + comm + " in the midst of its own work: what the task held stays held"
		e.AddFields(event.FieldWhat.Text("context"))
		e.AddText(event.FieldComm, comm)
	case strings.HasPrefix(said, "PANIC at ") && strings.HasSuffix(said, ")"):
		e.Text = "ZFS finds its own state wrong (" + strings.TrimPrefix(said, "PANIC at ") + "): the thread stops there and keeps its locks"
		e.AddFields(event.FieldWhat.Text("file-system"))
	case strings.HasPrefix(said, "refcount_t: ") && strings.Contains(said, ";"),
		strings.HasPrefix(said, "BUG ") && strings.HasSuffix(said, " overwritten"), strings.HasPrefix(said, "list_"):
		e.Text = "the kernel finds its memory damaged: " + cutAt(strings.TrimPrefix(said, "BUG "), ". ")
		e.AddFields(event.FieldWhat.Text("memory"))
	default:
		return event.Event{}, false
	}
	return e, true
}

// cutAt is a text up to a mark.
func cutAt(text, mark string) string {
	before, _, _ := strings.Cut(text, mark)
	return before
}
