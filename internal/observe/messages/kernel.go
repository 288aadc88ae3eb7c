package messages

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/kernelwait"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// kernelTable: Linux 3.10 to 6.x.
var kernelTable = table{
	component: "kernel",
	rows: []row{
		{[]string{"blocked for more than"}, HungTask},
		{[]string{"Killed process "}, oomKill},
		{[]string{"ovl_sync_fs"}, kernelFrame("ovl_sync_fs")},
		{[]string{"cleanup_mnt"}, kernelFrame("cleanup_mnt")},
		{[]string{"deactivate_locked_super"}, kernelFrame("deactivate_locked_super")},
		{[]string{"iterate_supers"}, kernelFrame("iterate_supers")},
		{[]string{"__refrigerator+"}, kernelFrame("__refrigerator")},
		{[]string{"fork rejected by pids controller"}, forkRejected},
		{[]string{"unregister_netdevice"}, netdevBusy},
		{[]string{" not responding, ", "nfs: server "}, fileServer},
		{[]string{"I/O error", "Aborting journal", "Detected IO errors"}, blockError},
		{[]string{"timeout, aborting", "timeout, reset"}, nvmeTimeout},
		{[]string{"soft lockup"}, softLockup},
		{[]string{"detected stall", "detected expedited stall"}, rcuStall},
		// kernel/sched/rt.c, once per boot: sched: RT throttling activated.
		{
			[]string{"RT throttling activated"},
			says(event.KindRTThrottled, "real-time tasks take all the CPU they may", "sched: RT throttling activated"),
		},
		{[]string{"memory allocation deadlock"}, allocDeadlock},
		{[]string{"page allocation failure"}, pageAllocFailed},
		{[]string{", object size: "}, slabFailed},
		{[]string{"PM: suspend ", "PM: hibernation"}, suspendEdge},
		{[]string{"Linux version ", "ainted"}, kernelVersion},
		{[]string{"cgroup.memory=nokmem"}, kmemOff},
	},
}

// HungTask is the line of kernel/hung_task.c: INFO: task containerd-shim:1422 blocked for more than
// 120 seconds.
func HungTask(r *event.Record) (event.Event, bool) {
	name, ok := scan.Between(r.Raw, "INFO: task ", " blocked for more than ")
	i := strings.LastIndexByte(name, ':') // comm may hold colons
	if !ok || i < 0 {
		return event.Event{}, false
	}
	e := event.New(event.KindHungTask, "task "+name[:i]+" is stuck in the kernel")
	e.IDs.PID, _ = strconv.Atoi(name[i+1:])
	e.Fields = []event.Field{event.FieldComm.Text(name[:i])}
	e.AddNumber(event.FieldSeconds, scan.Digits(scan.After(r.Raw, "blocked for more than ")))
	return e, true
}

// oomKill is the line of mm/oom_kill.c, whatever stands before it:
//
//	Killed process 1422 (containerd) total-vm:1234kB, anon-rss:…                    (3.10, 4.x)
//	Memory cgroup out of memory: Killed process 1422 (containerd) total-vm:…        (≥ 5.0)
func oomKill(r *event.Record) (event.Event, bool) {
	rest := scan.After(r.Raw, "Killed process ")
	pid := scan.Digits(rest)
	comm, ok := scan.Between(strings.TrimLeft(rest[len(pid):], ","), "(", ")")
	if pid == "" || !ok {
		return event.Event{}, false
	}
	e := event.New(event.KindOOMKill, "the kernel kills "+comm+" for memory")
	e.IDs.PID, _ = strconv.Atoi(pid)
	e.Fields = []event.Field{event.FieldComm.Text(comm)}
	if name := daemon.RuntimeOf(comm); daemon.IsRuntime(name) {
		e.AddFields(event.FieldRuntime.Text(name))
	}
	return e, true
}

// kernelFrame is a function on a stack that the kernel printed which tells a mechanism by itself. A
// table of symbols (/proc/kallsyms, System.map), which a sosreport holds, has an address and a
// letter before the name.
func kernelFrame(symbol string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		before, _, _ := strings.Cut(r.Raw, symbol)
		return event.New(
				event.KindKernelFrame, "kernel stack in "+symbol, event.FieldSymbol.Text(symbol),
			), (before == "" || !scan.IsWord(before[len(before)-1])) &&
				!symbolRow.MatchString(r.Raw)
	}
}

// symbolRow is a line of nm, or of the kernel's tables in its form.
var symbolRow = regexp.MustCompile(`^[0-9a-f]{8,16} [A-Za-z] `)

// forkRejected is the line of kernel/cgroup/pids.c, once per cgroup: cgroup: fork rejected by pids
// controller in /system.slice/docker.service.
func forkRejected(r *event.Record) (event.Event, bool) {
	cgroup, _, _ := strings.Cut(scan.After(r.Raw, "fork rejected by pids controller in "), " ")
	pod := scan.ContainsAny(cgroup, []string{"kubepods", "docker-", "/docker/", "cri-containerd", "libpod", "crio-"})
	return event.New(
		event.KindForkRejected, "the pids limit of "+cgroup+" is reached", event.FieldCgroup.Text(cgroup),
		event.FieldPodLimit.Bool(pod),
	), strings.HasPrefix(cgroup, "/")
}

// netdevBusy is the line of net/core/dev.c, every 10 s while it waits: unregister_netdevice:
// waiting for lo to become free. Usage count = 1. It holds net_mutex meanwhile, since 4.17
// pernet_ops_rwsem: the lock that a new network namespace needs.
func netdevBusy(r *event.Record) (event.Event, bool) {
	device, ok := scan.Between(r.Raw, "unregister_netdevice: waiting for ", " to become free")
	e := event.New(
		event.KindNetdevBusy, "the kernel waits for references to "+device, event.FieldDevice.Text(device),
		event.FieldHolds.Text(kernelwait.NetworkLock),
	)
	e.AddNumber(event.FieldUsage, strings.TrimSuffix(scan.FirstWord(scan.After(r.Raw, "Usage count = ")), "."))
	return e, ok
}

// fileServer is sunrpc's word (net/sunrpc/clnt.c) on a server of NFS, once per
// request that waits; the kernel leaves lines out when there are many.
//
//	nfs: server 10.36.3.5 not responding, still trying      (hard mount)
//	nfs: server 10.36.3.5 not responding, timed out         (soft mount)
//	nfs: server 10.36.3.5 OK
func fileServer(r *event.Record) (event.Event, bool) {
	server, state, ok := strings.Cut(scan.After(r.Raw, "nfs: server "), " ")
	e := event.Event{
		Kind: event.KindServerSilent, Fields: []event.Field{event.FieldProtocol.Text("nfs"), event.FieldServer.Text(server)},
		Span: event.Span{Key: "nfs/" + server, State: true}, Text: "the NFS server " + server + " does not answer",
	}
	e.Span.Edge = edgeOf(state, "not responding, ", "OK")
	if e.Span.Edge == event.Begin {
		e.AddFields(event.FieldGaveUp.Bool(strings.HasPrefix(state, "not responding, timed out")))
	} else {
		e.Text = "the NFS server " + server + " answers again"
	}
	return e, ok && server != "" && e.Span.Edge != event.Whole
}

// blockError is a disk that fails, as the block layer, a file system or its journal says it.
//
//	blk_update_request: I/O error, dev sdb, sector 2048 op 0x1:(WRITE)      (3.10 to 5.16; without its first words after)
//	Buffer I/O error on dev dm-3, logical block 9, lost async page write
//	XFS (dm-0): log I/O error -5
//	Aborting journal on device sda1-8.
//	JBD2: Detected IO errors while flushing file data on sda1-8
func blockError(r *event.Record) (event.Event, bool) {
	text := r.Message()
	what := "error"
	device := scan.FirstWord(scan.After(
		text, "I/O error, dev ", "I/O error on dev ", "I/O error on device ", "I/O error in filesystem (\"",
	))
	if device == "" && strings.Contains(text, "I/O error") {
		device, _ = scan.Between(text, "XFS (", ")")
	}
	if device == "" {
		what, device = "journal", scan.FirstWord(scan.After(text, "Aborting journal on device ", "while flushing file data on "))
	}
	device = strings.Trim(device, ",.:\")")
	return event.New(
		event.KindBlockError, "I/O errors on "+device, event.FieldDevice.Text(device),
		event.FieldWhat.Text(what),
	), device != ""
}

// nvmeTimeout is a command of NVMe that got no answer:
//
//	nvme nvme1: I/O 12 QID 3 timeout, aborting
//	nvme nvme1: I/O tag 12 (100c) opcode 0x1 (I/O Cmd) QID 3 timeout, aborting req_op:WRITE(1) size:4096      (≥ 6.5)
func nvmeTimeout(r *event.Record) (event.Event, bool) {
	device, rest, ok := strings.Cut(scan.After(r.Raw, "nvme nvme"), ": ")
	return event.New(
		event.KindBlockError, "nvme"+device+" does not answer", event.FieldDevice.Text("nvme"+device),
		event.FieldWhat.Text("timeout"),
	), ok && strings.HasPrefix(rest, "I/O ")
}

// softLockup is the line of kernel/watchdog.c, every 20 s or so while it lasts:
//
//	[NMI ]watchdog: BUG: soft lockup - CPU#19 stuck for 22s! [migration/19:104]
func softLockup(r *event.Record) (event.Event, bool) {
	cpu := scan.Digits(scan.After(r.Raw, "BUG: soft lockup - CPU#"))
	seconds, err := strconv.Atoi(scan.Digits(scan.After(r.Raw, " stuck for ")))
	if cpu == "" || err != nil {
		return event.Event{}, false
	}
	task, _ := scan.Between(r.Raw, "s! [", "]")
	if strings.Contains(task, "[") { // runc:[1:CHILD]:185318
		task = strings.TrimSuffix(scan.After(r.Raw, "s! ["), "]")
	}
	e := event.Event{
		Kind: event.KindSoftLockup, Start: r.Time.Add(-time.Duration(seconds) * time.Second), End: r.Time,
		Text: "CPU " + cpu + " is stuck for " + strconv.Itoa(seconds) + " s",
	}
	if i := strings.LastIndexByte(task, ':'); i >= 0 {
		e.IDs.TID, _ = strconv.Atoi(task[i+1:])
		task = task[:i]
	}
	e.Fields = []event.Field{event.FieldCPU.Text(cpu), event.FieldSeconds.Int(seconds), event.FieldComm.Text(task)}
	return e, true
}

// rcuStall is kernel/rcu/tree_stall.h's line, after 21 s (RHEL: 60 s) without a quiet state:
//
//	INFO: rcu_sched self-detected stall on CPU
//	rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
//	rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 3-... } 21 jiffies s: 9 root: 0x8/.
func rcuStall(r *event.Record) (event.Event, bool) {
	self := strings.Contains(r.Raw, "self-detected stall on CPU")
	return event.New(
			event.KindRCUStall, "a CPU does not come round", event.FieldSelf.Bool(self),
		), strings.Contains(r.Raw, "INFO: rcu") &&
			(self || strings.Contains(r.Raw, "stalls on CPUs/tasks"))
}

// allocDeadlock is fs/xfs/kmem.c's line, every hundredth try, some 2 s apart (up to 6.8):
//
//	XFS: runc:[1:CHILD](3580) possible memory allocation deadlock in kmem_zone_alloc (mode:0x82d0)
//	XFS: containerd-shim(912) possible memory allocation deadlock size 65552 in kmem_realloc (mode:0x250)      (≥ 4.9, RHEL 7.3)
func allocDeadlock(r *event.Record) (event.Event, bool) {
	task, ok := scan.Between(r.Raw, "XFS: ", " possible memory allocation deadlock")
	i := strings.LastIndexByte(task, '(')
	if !ok || i < 0 {
		return event.Event{}, false
	}
	e := event.New(event.KindAllocDeadlock, "XFS gets no memory for "+task[:i])
	e.IDs.TID, _ = strconv.Atoi(scan.Digits(task[i+1:]))
	e.Fields = []event.Field{
		event.FieldComm.Text(task[:i]),
		event.FieldFunction.Text(scan.FirstWord(scan.After(scan.After(r.Raw, "allocation deadlock"), "in "))),
	}
	return e, true
}

// pageAllocFailed is mm/page_alloc.c's line: kswapd0: page allocation failure: order:4,
// mode:0x40c0(…).
func pageAllocFailed(r *event.Record) (event.Event, bool) {
	comm, rest, ok := strings.Cut(r.Message(), ": page allocation failure: order:")
	if i := strings.LastIndexByte(comm, ']'); i >= 0 { // the stamp of dmesg
		comm = strings.TrimSpace(comm[i+1:])
	}
	e := event.New(event.KindPageAllocFailed, "no pages for "+comm, event.FieldComm.Text(comm))
	e.AddNumber(event.FieldOrder, scan.Digits(rest))
	return e, ok
}

// slabFailed is the second line of mm/slub.c's warning, where the cache belongs
// to a memory cgroup; 3.10 and 4.x write its id and name behind the cache's:
//
//	SLUB: Unable to allocate memory on node -1 (gfp=0x20)
//	  cache: kmalloc-1024(1793:c8edefa90517…), object size: 1024, buffer size: 1024, default order: 3, min order: 0
func slabFailed(r *event.Record) (event.Event, bool) {
	cache, ok := scan.Between(r.Raw, "cache: ", ", object size: ")
	name, cgroup, accounted := strings.Cut(strings.TrimSuffix(cache, ")"), "(")
	return event.New(
		event.KindSlabFailed, "no memory for "+name+" in a memory cgroup", event.FieldCache.Text(name),
		event.FieldCgroup.Text(cgroup),
	), ok && accounted
}

// suspendEdge: PM: suspend entry (deep); PM: suspend exit; PM: hibernation: hibernation entry
// (before 5.7: PM: hibernation entry).
func suspendEdge(r *event.Record) (event.Event, bool) {
	e := event.Event{Kind: event.KindSuspend, Text: "the machine sleeps", Span: event.Span{Key: "suspend/", State: true}}
	what := scan.After(r.Raw, "PM: suspend ", "PM: hibernation: hibernation ", "PM: hibernation ")
	e.Span.Edge = edgeOf(what, "entry", "exit")
	return e, e.Span.Edge != event.Whole
}

// kernelVersion is the first line of the kernel's log and of /proc/version, and the line below
// every report of it:
//
//	Linux version 3.10.0-1160.el7.x86_64 (mockbuild@…) …
//	      Not tainted 5.15.63-flatcar #1
//	      Tainted: G            X 3.13.0-52-generic #85-Ubuntu
func kernelVersion(r *event.Record) (event.Event, bool) {
	v := scan.FirstWord(scan.After(r.Raw, "Linux version "))
	if v == "" {
		words := strings.Fields(scan.After(r.Raw, "Not tainted ", "Tainted: "))
		if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "#") }); i > 0 {
			v = words[i-1]
		}
	}
	if scan.Version(v) == "" {
		return event.Event{}, false
	}
	return facts.New("kernel.version", v)
}
