// Package linux knows what the kernel writes.
package linux

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/kernelwait"
	"github.com/plegdiag/plegdiag/internal/observe/messages/repeated"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/observe/storage"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
)

// Table is what Linux says, 3.10 to 6.x.
var Table = table.Table{
	Component: "kernel",
	Rows: []table.Row{
		{[]string{"blocked for more than", "blocked in I/O wait for more than"}, longHungTask},
		{[]string{"likely owned by task "}, lockHolder},
		{[]string{"Killed process ", "Kill process "}, oomKill},
		{[]string{"oom-kill:constraint="}, oomVictimChosen},
		{[]string{" invoked oom-killer: ", "emory and no killable processes"}, oomInvoked},
		{[]string{"oom_reaper: unable to reap pid:"}, oomVictimLives},
		{[]string{"ovl_sync_fs"}, kernelFrame("ovl_sync_fs")},
		{[]string{"cleanup_mnt"}, kernelFrame("cleanup_mnt")},
		{[]string{"deactivate_locked_super"}, kernelFrame("deactivate_locked_super")},
		{[]string{"iterate_supers"}, kernelFrame("iterate_supers")},
		{[]string{"__refrigerator+"}, kernelFrame("__refrigerator")},
		{[]string{"fork rejected by pids controller"}, forkRejected},
		{[]string{"unregister_netdevice", " to become free. Usage"}, netdevBusy},
		{stalledTexts, networkSendStalled},
		{linkTexts, linkState},
		{[]string{" not responding, ", "nfs: server ", "lockd: server "}, nfsServer},
		{[]string{" failed on NFSv4 server "}, nfsStateLost},
		{[]string{" has not responded in "}, cifsServer},
		{[]string{" has not responded in the last "}, glusterServer},
		{[]string{") was lost; in progress operations using this service will wait ", ": Connection restored to "}, lustreServer},
		{append(scan.WithEach("ceph: [", scan.Hex, ""), "ceph: mds"), cephServer},
		{[]string{"libceph: osd", "libceph: mon", "libceph: mds"}, cephConnection},
		{
			[]string{
				"I/O error", "Aborting journal", "Detected IO errors", ": error -5 ", "updating journal superblock for ",
				" result -", ": encountered watch error: ", ": Failing path ", "potential data loss", ": writeback error on inode ", "Failing async write on ",
				"rror on swap-device (",
			}, storage.DiskFailure,
		},
		{[]string{"critical medium error", "critical target error", "device offline error", "rejecting I/O to ", "space allocation error", "critical nexus error", "transport error, dev ", "timeout error, dev ", "protection error, dev "}, storage.RequestRefused},
		{[]string{"EXT4-fs error", "BTRFS error", "BTRFS critical", "Corruption ", "corruption ", "BTRFS: error (device ", ": csum failed ", ": Internal error ", "Unmount and run xfs_repair", "error count since last fsck", "error loading journal", ": unable to read superblock"}, storage.FileSystemDamage},
		{[]string{"ilesystem read-only", "forced readonly", "Shutting down filesystem", "has been shut down", "xfs_do_force_shutdown(", "mount the filesystem and rectify", "xfs_log_force: error "}, storage.FileSystemReadOnly},
		{[]string{
			": switching pool to ", ": unable to service pool target messages", ": no free data space", ": no free metadata space", " failed: error = -",
			": aborting current metadata", ": unable to allocate new metadata", " validator check failed for ",
		}, storage.ThinPool},
		{[]string{"Delayed block allocation failed ", "This should not happen!! Data will"}, storage.LostWrite},
		{[]string{"timeout, aborting", "timeout, reset", "timeout, disable", "timeout, completion", "controller is down", "aborting reset", "after probe failure", "after reset failure", "frozen state error detected", ": timeout request ", "nvme_keep_alive_end_io", ": starting error recovery", "Reconnecting in ", "failed to connect socket", "Identify Controller failed"}, storage.NVMeTimeout},
		{[]string{"overlayfs: failed to "}, storage.OverlayFailure},
		{storage.DriverTexts(), storage.DriverTrouble},
		{[]string{"uncorrectable I/O failure", ": quorum( ", ": susp-io( ", "PingAck did not arrive", ": Disk failure on ", "blocked FC remote port time out", "LOOP DOWN detected", ":1305 Link Down Event", " status: scsi 0x", ": Cannot continue operation", "unrecoverable I/O read error", "read error not correctable", "no available path - ", "no usable path - "}, storage.DiskLost},
		{[]string{"soft lockup"}, softLockup},
		{[]string{"hard LOCKUP on cpu "}, hardLockup},
		{[]string{"workqueue lockup - pool"}, workqueueLockup},
		{[]string{"detected stall", "detected expedited stall", " grace period number ", "rcu_tasks grace period ", " kthread starved for ", " kthread timer wakeup didn't happen", " jiffies g=", " jiffies, g=", "RCU GP kthread last ran"}, rcuStall},
		{[]string{"Kernel panic - not syncing", "Starting crashdump kernel"}, kernelPanic},
		{[]string{"reboot: Restarting system", "reboot: Power down", "reboot: System halted", "critical temperature reached", "Shutdown request received - ", "sysrq: Resetting", "SysRq : Resetting", "sysrq: Trigger a crash", "SysRq : Trigger a crash"}, kernelShutdown},
		// kernel/sched/rt.c, once per boot: sched: RT throttling activated.
		{
			[]string{"RT throttling activated"},
			table.Says(event.KindRTThrottled, "real-time tasks take all the CPU they may", "sched: RT throttling activated"),
		},
		{[]string{"memory allocation deadlock"}, xfsAllocDeadlock},
		{[]string{"page allocation failure", ": page allocation stalls for "}, pageAllocFailed},
		{[]string{", object size: "}, slabFailed},
		{kernelTableTexts(), kernelTableFull},
		{append(scan.WithDigit("EDAC MC", ""), "[Hardware Error]", "Memory failure: ", "NVRM: Xid ", "NVRM: RmInitAdapter failed", "NVRM: fallen off the bus", "PCIe Bus Error: severity=Uncorrect", "NMI: PCI system error", "NMI: IOCK error", "NMI received for unknown reason", "Uncorrected hardware memory", "above threshold, cpu clock throttled"), hardwareError},
		{[]string{"PM: suspend ", "PM: hibernation"}, suspendEdge},
		{doubts, kernelDoubt},
		repeated.ManagerCrash,
		{[]string{"Linux version "}, kernelBoot},
		{[]string{"Linux version ", "Tainted: ", "ot tainted "}, kernelVersion},
		{[]string{"cgroup.memory=nokmem"}, memoryAccountingOff},
	},
}

// HungTask is the line of kernel/hung_task.c:
//
//	INFO: task containerd-shim:1422 blocked for more than 120 seconds.
//	INFO: task containerd-shim:1422 blocked in I/O wait for more than 120 seconds.      later than 6.18
func HungTask(r *event.Record) (event.Event, bool) {
	name, ok := scan.Between(r.Message(), "INFO: task ", " blocked ")
	i := strings.LastIndexByte(name, ':') // comm may hold colons
	if !ok || i < 0 {
		return event.Event{}, false
	}
	e := event.New(event.KindHungTask, "task "+name[:i]+" is stuck in the kernel")
	e.IDs.PID, _ = strconv.Atoi(name[i+1:])
	e.Fields = []event.Field{event.FieldComm.Text(name[:i])}
	seconds := scan.Digits(scan.After(r.Message(), " blocked for more than ", " blocked in I/O wait for more than "))
	e.AddNumber(event.FieldSeconds, seconds)
	e.Text += ", for more than " + seconds + " s"
	return e, seconds != ""
}

// LongHang is the shortest time in state D that says that a task hangs. The kernel waits for 120 s;
// where somebody has set hung_task_timeout_secs to 5, it tells of what a busy disk does to anybody.
const LongHang = 30 // seconds

func longHungTask(r *event.Record) (event.Event, bool) {
	e, ok := HungTask(r)
	return e, ok && e.FieldInt(event.FieldSeconds) >= LongHang
}

// lockHolder is the line that kernel/hung_task.c prints below the stack of a hung task since 6.15,
// where it knows who took the lock last; since 6.17 also of an rw-semaphore:
//
//	INFO: task containerd-shim:1422 is blocked on a mutex likely owned by task kworker/u8:1:317.
//	INFO: task a:7 <writer> blocked on an rw-semaphore likely owned by task b:9 <reader>
func lockHolder(r *event.Record) (event.Event, bool) {
	waiter, rest, ok := strings.Cut(scan.After(r.Raw, "INFO: task "), " blocked on a")
	lock, holder, owned := strings.Cut(strings.TrimLeft(rest, "n "), " likely owned by task ")
	waiter, _, _ = strings.Cut(strings.TrimSuffix(waiter, " is"), " <")
	holder, _, _ = strings.Cut(strings.TrimRight(holder, ". "), " <")
	comm, pid := cutTask(waiter)
	holderComm, holderPID := cutTask(holder)
	if !ok || !owned || pid == 0 || holderPID == 0 {
		return event.Event{}, false
	}
	e := event.New(
		event.KindLockHolder, "task "+comm+" waits for a lock that most likely "+holderComm+" holds",
		event.FieldComm.Text(comm), event.FieldWhat.Text(lock), event.FieldHolder.Int(holderPID), event.FieldHolderComm.Text(holderComm),
	)
	e.IDs.PID = pid
	return e, slices.Contains([]string{"mutex", "semaphore", "rw-semaphore"}, lock)
}

// cutTask reads "kworker/u8:1:317", a name that may hold colons, and a pid; the pid is 0 where it
// is none.
func cutTask(task string) (comm string, pid int) {
	i := strings.LastIndexByte(task, ':')
	if i < 0 {
		return task, 0
	}
	pid, _ = strconv.Atoi(task[i+1:])
	return task[:i], pid
}

// kernelFrame is a function on a stack that the kernel printed which tells a mechanism by itself.
// In the tables of symbols that a sosreport holds (/proc/kallsyms, available_filter_functions) it
// stands too, but in no frame.
func kernelFrame(symbol string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		text := strings.TrimPrefix(r.Message(), "kernel:")
		function, unsure, ok := kernel.ReadFrame(text)
		e, telling := FrameEvent(function)
		if unsure {
			e.AddFields(event.FieldUnsure.Bool(true))
		}
		return e, ok && telling && function == symbol
	}
}

// FrameEvent is a function on a stack of the kernel that points to a mechanism. Ok is false for
// every other function.
func FrameEvent(symbol string) (e event.Event, ok bool) {
	return event.New(event.KindKernelFrame, "kernel stack in "+symbol, event.FieldSymbol.Text(symbol)),
		slices.Contains(tellingFrames, symbol)
}

// tellingFrames are the functions whose rows stand in [Table].
var tellingFrames = []string{"ovl_sync_fs", "cleanup_mnt", "deactivate_locked_super", "iterate_supers", "__refrigerator"}

// forkRejected is the line of kernel/cgroup/pids.c, once per cgroup: cgroup: fork rejected by pids
// controller in /system.slice/docker.service.
func forkRejected(r *event.Record) (event.Event, bool) {
	cgroup, _, _ := strings.Cut(scan.After(r.Raw, "fork rejected by pids controller in "), " ")
	pod := scan.ContainsAny(cgroup, []string{"kubepods", "docker-", "/docker/", "cri-containerd", "libpod", "crio-"})
	text := "the pids limit of " + cgroup + " is reached"
	if id := scan.FindID(cgroup); pod && id != "" {
		text = "container " + scan.Short(id) + " has as many processes as its pids limit allows"
	}
	return event.New(
		event.KindForkRejected, text, event.FieldCgroup.Text(cgroup), event.FieldPodLimit.Bool(pod),
	), strings.HasPrefix(cgroup, "/")
}

// netdevBusy is the line of net/core/dev.c, every 10 s while it waits: unregister_netdevice:
// waiting for lo to become free. Usage count = 1. It holds net_mutex meanwhile, since 4.17
// pernet_ops_rwsem: the lock that a new network namespace needs.
func netdevBusy(r *event.Record) (event.Event, bool) {
	device, ok := scan.Between(r.Raw, "waiting for ", " to become free")
	e := event.New(
		event.KindNetdevBusy, "the kernel waits for references to "+device, event.FieldDevice.Text(device),
		event.FieldHolds.Text(kernelwait.NetworkLock),
	)
	if before, _, _ := strings.Cut(r.Raw, "unregister_netdevice"); r.Unit == "" { // "1398  unregister_netdevice: …" of uniq -c
		e.AddNumber(event.FieldCount, strings.TrimSpace(before))
	}
	e.AddNumber(event.FieldUsage, strings.TrimSuffix(scan.FirstWord(scan.After(r.Raw, "Usage count = ")), "."))
	return e, ok && device != "" && !strings.Contains(device, " ")
}

// nfsServer is sunrpc's word (net/sunrpc/clnt.c) on a server of NFS, once per
// request that waits; the kernel leaves lines out when there are many.
//
//	nfs: server 10.36.3.5 not responding, still trying      (hard mount)
//	nfs: server 10.36.3.5 not responding, timed out         (soft mount)
//	nfs: server 10.36.3.5 OK
//	lockd: server 10.36.3.5 not responding, still trying      (of a lock on a file)
func nfsServer(r *event.Record) (event.Event, bool) {
	server, state, ok := strings.Cut(scan.After(r.Raw, "nfs: server ", "lockd: server "), " ")
	e := event.Event{
		Kind: event.KindServerSilent, Fields: []event.Field{event.FieldProtocol.Text("nfs"), event.FieldServer.Text(server)},
		Span: event.Span{Key: "nfs/" + server, State: true}, Text: "the NFS server " + server + " does not answer",
	}
	e.Span.Edge = event.EdgeOf(state, "not responding, ", "OK")
	if e.Span.Edge == event.Begin {
		e.AddFields(event.FieldGaveUp.Bool(strings.HasPrefix(state, "not responding, timed out")))
	} else {
		e.Text = "the NFS server " + server + " answers again"
	}
	return e, ok && server != "" && e.Span.Edge != event.Whole
}

// nfsStateLost is fs/nfs/nfs4state.c's word on a server with which the client cannot agree any more
// on what it may do there, a lease or its own name; what touches the mount waits until it can, or
// fails:
//
//	NFS: state manager: lease expired failed on NFSv4 server 10.1.2.3 with error 5
func nfsStateLost(r *event.Record) (event.Event, bool) {
	server, rest, ok := strings.Cut(scan.After(r.Message(), " failed on NFSv4 server "), " with error ")
	return event.New(
		event.KindServerSilent, "the NFS server "+server+" does not renew what this node may do there", event.FieldProtocol.Text("nfs"),
		event.FieldServer.Text(server), event.FieldGaveUp.Bool(false),
	), ok && server != "" && scan.Digits(rest) != ""
}

// cifsServer is fs/smb/client/connect.c's word on a server that has not answered for two minutes or
// three:
//
//	CIFS: VFS: \\\\10.0.0.7 has not responded in 180 seconds. Reconnecting...
//	CIFS VFS: Server 10.0.0.7 has not responded in 120 seconds. Reconnecting...      up to 5.4
//	CIFS: VFS: \\ has not responded in 180 seconds. Reconnecting...      before it has mounted
func cifsServer(r *event.Record) (event.Event, bool) {
	before, after, ok := strings.Cut(r.Message(), " has not responded in ")
	words := strings.Fields(before)
	if !ok || len(words) < 2 || !strings.Contains(before, "CIFS") {
		return event.Event{}, false
	}
	server := cmp.Or(strings.TrimLeft(words[len(words)-1], `\`), "without a name")
	e := event.New(
		event.KindServerSilent, "the SMB server "+server+" does not answer", event.FieldProtocol.Text("cifs"),
		event.FieldServer.Text(server), event.FieldGaveUp.Bool(false),
	)
	if seconds, _ := strconv.Atoi(scan.Digits(after)); seconds > 0 && r.Time.Known {
		e.Start, e.End = r.Time.Add(-time.Duration(seconds)*time.Second), r.Time
	}
	return e, true
}

// cephServer is fs/ceph/mds_client.c's word on a server of metadata:
//
//	ceph: mds0 hung
//	ceph: [4e5d…-… 24117]: mds0 hung      since 6.6
//	ceph: mds0 came back
//	ceph: mds0 caps stale                 what the node may do there has run out, as nobody renewed it
//	ceph: mds0 caps renewed
//	ceph: mds0 reconnect denied           it has shut the node out
//	ceph: mds0 reconnect success
func cephServer(r *event.Record) (event.Event, bool) {
	_, rest, ok := strings.Cut(r.Message(), "mds")
	rank := scan.Digits(rest)
	server := "mds" + rank
	e := event.Event{
		Kind: event.KindServerSilent, Fields: []event.Field{event.FieldProtocol.Text("ceph"), event.FieldServer.Text(server)},
		Span: event.Span{Key: "ceph/" + server, State: true}, Text: "the Ceph server " + server + " does not answer",
	}
	said := rest[len(rank):]
	for _, edge := range [][2]string{{" hung", " came back"}, {" caps stale", " caps renewed"}, {" caps went stale", " recovery completed"}, {" reconnect denied", " reconnect success"}, {" rejected session", " reconnect success"}} {
		if e.Span.Edge == event.Whole {
			e.Span.Edge = event.EdgeOf(said, edge[0], edge[1])
		}
	}
	switch {
	case e.Span.Edge == event.Begin && (strings.HasPrefix(said, " reconnect denied") || strings.HasPrefix(said, " rejected session")):
		e.AddFields(event.FieldGaveUp.Bool(true))
		e.Text = "the Ceph server " + server + " has shut this node out"
	case e.Span.Edge == event.Begin:
		e.AddFields(event.FieldGaveUp.Bool(false))
	default:
		e.Text = "the Ceph server " + server + " answers again"
	}
	return e, ok && rank != "" && e.Span.Edge != event.Whole
}

// cephConnection is net/ceph/messenger.c's word on a server of Ceph that it cannot reach. A
// connection that was open and is closed may merely have been idle.
//
//	libceph: osd2 10.2.0.140:6804 socket closed (con state CONNECTING)
//	libceph: mon0 (1)10.1.1.1:6789 socket closed (con state V1_BANNER)      since 5.11
//	libceph: osd1 (1)10.1.1.2:6801 socket error on write
//	libceph: mon0 10.1.1.1:6789 connect error
//	libceph: mon0 (1)10.1.1.1:6789 session lost, hunting for new mon
//	libceph: mon1 (1)10.1.1.3:6789 session established
func cephConnection(r *event.Record) (event.Event, bool) {
	words := strings.SplitN(scan.After(r.Message(), "libceph: "), " ", 3)
	if len(words) < 3 || !strings.Contains(words[1], ":") {
		return event.Event{}, false // "osd5 up", "osd5 weight 0x0"
	}
	server, said := words[0], words[2]
	e := event.Event{
		Kind: event.KindServerSilent, Fields: []event.Field{event.FieldProtocol.Text("ceph"), event.FieldServer.Text(server)},
		Span: event.Span{Key: "ceph/" + server, State: true}, Text: "the Ceph server " + server + " cannot be reached",
	}
	switch {
	case strings.HasPrefix(said, "session established"):
		e.Span.Edge, e.Text = event.End, "the Ceph server "+server+" answers again"
		return e, true
	case strings.HasPrefix(said, "connect error"), strings.HasPrefix(said, "session lost"), strings.HasPrefix(said, "socket error on "),
		strings.HasPrefix(said, "socket closed (con state ") && !strings.Contains(said, "OPEN)"):
		e.Span.Edge = event.Begin
		e.AddFields(event.FieldGaveUp.Bool(false))
		return e, true
	}
	return event.Event{}, false
}

// glusterServer is GlusterFS's client on a brick that has not answered for network.ping-timeout
// (rpc/rpc-lib/src/rpc-clnt-ping.c); until then every access to the mount has waited:
//
//	… C [rpc-clnt-ping.c:155:rpc_clnt_ping_timer_expired] 0-kube-client-1: server 10.0.0.12:49152 has not responded in the last 42 seconds, disconnecting.
func glusterServer(r *event.Record) (event.Event, bool) {
	before, _, ok := strings.Cut(r.Message(), " has not responded in the last ")
	server, found := before[strings.LastIndexByte(before, ' ')+1:], strings.Contains(before, ": server ")
	return event.New(
		event.KindServerSilent, "the Gluster server "+server+" does not answer", event.FieldProtocol.Text("gluster"),
		event.FieldServer.Text(server), event.FieldGaveUp.Bool(true),
	), ok && found && server != ""
}

// lustreServer is the word of Lustre's client (lustre/ptlrpc/import.c) on a target that did not
// answer in time. What touches its files waits until the connection is back; of servers that it
// merely asks where the others are (MGS) nothing waits, and it says "will fail":
//
//	Lustre: work-OST0004-osc-ffff8810: Connection to work-OST0004 (at 10.0.1.5@o2ib) was lost; in progress operations using this service will wait for recovery to complete
//	Lustre: work-OST0004-osc-ffff8810: Connection restored to work-OST0004 (at 10.0.1.5@o2ib)      since 2.10 only "to 10.0.1.5@tcp"
func lustreServer(r *event.Record) (event.Event, bool) {
	client, said, ok := strings.Cut(scan.After(r.Message(), "Lustre: "), ": Connection ")
	server, _, target := strings.Cut(client, "-osc-")
	if !target {
		server, _, target = strings.Cut(client, "-mdc-")
	}
	e := event.Event{
		Kind: event.KindServerSilent, Fields: []event.Field{event.FieldProtocol.Text("lustre"), event.FieldServer.Text(server)},
		Span: event.Span{Key: "lustre/" + client, State: true, Edge: event.End},
		Text: "the Lustre server " + server + " answers again",
	}
	if !strings.HasPrefix(said, "restored to ") {
		e.Span.Edge, e.Text = event.Begin, "the Lustre server "+server+" does not answer"
		e.AddFields(event.FieldGaveUp.Bool(false))
	}
	return e, ok && target
}

// softLockup is the line of kernel/watchdog.c, every 20 s or so while it lasts:
//
//	[NMI ]watchdog: BUG: soft lockup - CPU#19 stuck for 22s! [migration/19:104]
func softLockup(r *event.Record) (event.Event, bool) {
	cpu := scan.Digits(scan.After(r.Raw, "BUG: soft lockup - CPU#", "BUG: soft lockup. - CPU#")) // as read from a picture
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

// hardLockup is the line of kernel/watchdog_perf.c (kernel/watchdog_hld.c up to 6.4), or of a panic
// for it:
//
//	[NMI ]watchdog: Watchdog detected hard LOCKUP on cpu 3
//	Kernel panic - not syncing: Watchdog detected hard LOCKUP on cpu 3
func hardLockup(r *event.Record) (event.Event, bool) {
	cpu := scan.Digits(strings.TrimLeft(scan.After(r.Raw, "detected hard LOCKUP on cpu "), " "))
	return event.New(event.KindHardLockup, "CPU "+cpu+" answers no interrupts", event.FieldCPU.Text(cpu)), cpu != ""
}

// workqueueLockup is the line of kernel/workqueue.c, once a pool of workers has begun nothing for
// 30 s (workqueue.watchdog_thresh), and every 30 s after:
//
//	BUG: workqueue lockup - pool cpus=2 node=0 flags=0x0 nice=0 stuck for 338s!
//	BUG: workqueue lockup - pool cpus=0-3 flags=0x4 nice=0 stuck for 31s!      (of a pool of no CPU of its own)
func workqueueLockup(r *event.Record) (event.Event, bool) {
	cpu := scan.FirstWord(scan.After(r.Raw, "workqueue lockup - pool cpus="))
	seconds := scan.Digits(scan.After(r.Raw, " stuck for "))
	e := event.New(
		event.KindWorkqueueLockup, "the kernel's own work on CPU "+cpu+" has not gone on for "+seconds+" s", event.FieldCPU.Text(cpu),
	)
	e.AddNumber(event.FieldSeconds, seconds)
	return e, cpu != "" && seconds != ""
}

// kernelPanic is kernel/panic.c's line, or that of kexec when it goes over to the kernel that saves
// the memory:
//
//	Kernel panic - not syncing: Fatal exception in interrupt
//	Starting crashdump kernel...      (arm64, powerpc)
func kernelPanic(r *event.Record) (event.Event, bool) {
	reason := scan.After(r.Message(), "Kernel panic - not syncing: ")
	if strings.HasPrefix(r.Message(), "Starting crashdump kernel") {
		reason = "it starts the kernel of kdump"
	}
	return event.New(event.KindPanic, "the kernel stops: "+reason, event.FieldReason.Text(reason)), reason != ""
}

// kernelShutdown is kernel/reboot.c's last line, or the word of whoever makes the machine go down:
//
//	reboot: Restarting system [with command '…']
//	reboot: Power down
//	reboot: System halted
//	thermal thermal_zone0: critical temperature reached (105 C), shutting down      (since 5.x "thermal_zone0: acpitz: critical temperature reached[, shutting down]")
//	sysrq: Resetting      (somebody wrote b to /proc/sysrq-trigger; up to 5.0 "SysRq : Resetting"; also: Trigger a crash)
//	hv_utils: Shutdown request received - graceful shutdown initiated      (Hyper-V, Azure)
func kernelShutdown(r *event.Record) (event.Event, bool) {
	for _, end := range []struct{ text, what string }{
		{"reboot: Restarting system", "reboot"},
		{"reboot: Power down", "poweroff"},
		{"reboot: System halted", "halt"},
		{"critical temperature reached", "poweroff"},
		{"hv_utils: Shutdown request received - ", "poweroff"},
		{"sysrq: Resetting", "reboot"},
		{"SysRq : Resetting", "reboot"},
		{"sysrq: Trigger a crash", "reboot"},
		{"SysRq : Trigger a crash", "reboot"},
	} {
		if strings.Contains(r.Message(), end.text) {
			return event.New(event.KindShutdown, "the machine goes down: "+end.what, event.FieldWhat.Text(end.what)), true
		}
	}
	return event.Event{}, false
}

// kernelBoot is the first line of the kernel's log. /proc/version is the same line without a
// writer.
func kernelBoot(r *event.Record) (event.Event, bool) {
	return event.New(event.KindBoot, "the machine starts"),
		r.Unit == "kernel" && strings.HasPrefix(strings.TrimLeft(r.Message(), " "), "Linux version ")
}

// rcuStall is kernel/rcu/tree_stall.h's line, after 21 s (RHEL: 60 s) without a quiet state:
//
//	INFO: rcu_sched self-detected stall on CPU
//	rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
//	rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 3-... } 21 jiffies s: 9 root: 0x8/.
//	INFO: rcu_tasks detected stalls on tasks:      (kernel/rcu/tasks.h; also rcu_tasks_trace; mostly BPF or a trace waits there)
//	tasks_rcu_exit_srcu_stall: rcu_tasks grace period number 37 (since boot) gp_state: RTGS_POST_SCAN_TASKLIST is 11222989 jiffies old.
//	INFO: rcu_sched_state detected stall on CPU 1 (t=60031 jiffies)      (up to 3.2)
//	  (t=420175 jiffies g=11942393 c=11942392 q=266053)      (below such a line)
//	  (detected by 2, t=420175 jiffies, g=11942393, q=72 ncpus=12)      (the same, where another CPU looked)
//	rcu: rcu_sched kthread starved for 5252 jiffies! g12425 f0x0 …      (below such a line, since 4.1; some quote it without the mark)
//	rcu: Stack dump where RCU GP kthread last ran:      (some lines below that, since 5.12, and nowhere else)
func rcuStall(r *event.Record) (event.Event, bool) {
	self := strings.Contains(r.Raw, "self-detected stall on CPU")
	_, old, _ := strings.Cut(r.Message(), "rcu_tasks grace period ")
	if strings.HasSuffix(strings.TrimRight(old, "."), " jiffies old") || strings.Contains(r.Raw, "INFO: rcu_tasks") && strings.Contains(r.Raw, " detected stalls on tasks") {
		return event.New(
			event.KindRCUStall, "a task holds up RCU (rcu_tasks), so that who waits for all tasks waits on", event.FieldSelf.Bool(false),
			event.FieldOf.Text("task"),
		), true
	}
	if ticks := StalledTicks(r.Message()); ticks != "" && !strings.Contains(r.Raw, "INFO: ") {
		e := event.New(event.KindRCUStall, "a CPU has not come round for "+ticks+" ticks")
		e.AddNumber(event.FieldTicks, ticks)
		return e, true
	}
	name, rest, ok := strings.Cut(r.Message(), " kthread starved for ")
	if !ok {
		name, rest, ok = strings.Cut(r.Message(), " kthread timer wakeup didn't happen for ")
	}
	if ok {
		name = name[strings.LastIndexByte(name, ' ')+1:]
		return event.New(
			event.KindRCUStall, "the kernel's own thread "+name+" has got no CPU for "+scan.Digits(rest)+" ticks", event.FieldStarved.Bool(true),
		), strings.HasPrefix(name, "rcu_") && scan.Digits(rest) != "" && strings.Contains(rest, " jiffies")
	}
	if strings.Contains(r.Message(), "RCU GP kthread last ran") {
		return event.New(event.KindRCUStall, "the kernel's own thread of RCU has got no CPU for long", event.FieldStarved.Bool(true)), true
	}
	e := event.New(event.KindRCUStall, "a CPU does not come round", event.FieldSelf.Bool(self))
	if cpu := stalledCPU(r.Raw); cpu != "" {
		e.Text = "CPU " + cpu + " does not come round"
		e.AddFields(event.FieldCPU.Text(cpu))
	}
	return e, strings.Contains(r.Raw, "INFO: rcu") &&
		(self || scan.ContainsAny(r.Raw, []string{"stalls on CPUs/tasks", "stalls on tasks", " detected stall on CPU "}))
}

// stalledCPU is the CPU that RCU names in its line itself, where it names one:
//
//	INFO: rcu_sched self-detected stall on CPU { 0}  (t=60000 jiffies g=123789 c=123788 q=216)      (up to 3.19)
//	INFO: rcu_sched detected stalls on CPUs/tasks: { 3} (detected by 85, t=60002 jiffies, …)
func stalledCPU(text string) string {
	list, ok := scan.Between(scan.After(text, "self-detected stall on CPU", "stalls on CPUs/tasks:"), "{", "}")
	if list = strings.TrimSpace(list); !ok || strings.Contains(list, " ") { // several, or a task
		list = scan.After(text, " detected stall on CPU ")
	}
	return scan.Digits(list)
}

// StalledTicks is how long a CPU has not come round, in the line below RCU's; empty when there is
// none.
func StalledTicks(text string) string {
	ticks, ok := scan.Between(text, "(t=", " jiffies g=")
	if !ok {
		ticks, ok = scan.Between(scan.After(text, "(detected by "), ", t=", " jiffies, g=")
	}
	if !ok || scan.Digits(ticks) != ticks {
		return ""
	}
	return ticks
}

// xfsAllocDeadlock is fs/xfs/kmem.c's line, every hundredth try, some 2 s apart (up to 6.8):
//
//	XFS: runc:[1:CHILD](3580) possible memory allocation deadlock in kmem_zone_alloc (mode:0x82d0)
//	XFS: containerd-shim(912) possible memory allocation deadlock size 65552 in kmem_realloc (mode:0x250)      (≥ 4.9, RHEL 7.3)
//	XFS: possible memory allocation deadlock in kmem_alloc (mode:0x250)      (up to 4.3)
func xfsAllocDeadlock(r *event.Record) (event.Event, bool) {
	before, _, ok := strings.Cut(r.Raw, "possible memory allocation deadlock")
	task := strings.TrimSpace(scan.After(before, "XFS: "))
	comm, tid, named := strings.Cut(task, "(")
	if i := strings.LastIndexByte(task, '('); named {
		comm, tid = task[:i], scan.Digits(task[i+1:])
	}
	if !ok || !strings.Contains(before, "XFS: ") || task != "" && tid == "" {
		return event.Event{}, false
	}
	e := event.New(event.KindAllocDeadlock, "XFS gets no memory for "+cmp.Or(comm, "a task"))
	e.IDs.TID, _ = strconv.Atoi(tid)
	e.Fields = []event.Field{
		event.FieldComm.Text(comm),
		event.FieldFunction.Text(scan.FirstWord(scan.After(scan.After(r.Raw, "allocation deadlock"), "in "))),
	}
	return e, true
}

// pageAllocFailed is mm/page_alloc.c's line: kswapd0: page allocation failure: order:4,
// mode:0x40c0(…). 2.6.32 has a dot for the second colon. From 4.10 to 4.14 it also says that none
// came for ten seconds: kubelet: page allocation stalls for 10004ms, order:0, mode:0x14200ca(…).
func pageAllocFailed(r *event.Record) (event.Event, bool) {
	comm, rest, ok := strings.Cut(r.Message(), ": page allocation failure: order:")
	stalled := ""
	if !ok {
		comm, rest, ok = strings.Cut(r.Message(), ": page allocation failure. order:")
	}
	if !ok {
		comm, rest, _ = strings.Cut(r.Message(), ": page allocation stalls for ")
		stalled, rest, ok = strings.Cut(rest, "ms, order:")
	}
	if i := strings.LastIndexByte(comm, ']'); i >= 0 { // the stamp of dmesg
		comm = strings.TrimSpace(comm[i+1:])
	}
	e := event.New(event.KindPageAllocFailed, "no pages for "+comm, event.FieldComm.Text(comm))
	if ms, err := strconv.Atoi(stalled); err == nil {
		e.Text = "no pages for " + comm + " for " + strconv.Itoa(ms/1000) + " s"
		e.AddFields(event.FieldSeconds.Int(ms / 1000))
	}
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
	e.Span.Edge = event.EdgeOf(what, "entry", "exit")
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

// memoryAccountingOff is the boot option by which the kernel does not account its own memory. On
// 3.10 that accounting leaks: "Command line: … cgroup.memory=nokmem".
func memoryAccountingOff(r *event.Record) (event.Event, bool) {
	if r.Unit != "" && r.Unit != "kernel" {
		return event.Event{}, false
	}
	e, ok := facts.New("kernel.memory-accounting", "nokmem")
	e.Source = facts.Node
	return e, ok
}
