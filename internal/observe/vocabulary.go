package observe

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Vocabulary is every kind of event with the fields that its events may carry,
// in the order of the table. Rules are checked against it.
func Vocabulary() []event.KindInfo {
	all := make([]event.KindInfo, 0, len(vocabulary))
	for _, row := range vocabulary {
		info := event.KindInfo{Kind: row.kind, About: row.about}
		for field := range strings.SplitSeq(row.fields, ";") {
			name, about, _ := strings.Cut(strings.TrimSpace(field), ": ")
			if name != "" {
				info.Fields = append(info.Fields, event.FieldInfo{Name: name, About: about})
			}
		}
		all = append(all, info)
	}
	all[slices.IndexFunc(all, func(k event.KindInfo) bool { return k.Kind == event.KindLogLine })].Open = true
	return all
}

// A call that a trace and samples saw is one event with the fields of both.
const (
	callFields   = "name: of the system call; netlink: it waits for a netlink socket; returned"
	tracedFields = "; path; rootfs: the path is a container's root; result; errno; delayed: by strace; injected: by strace; tester; bus: it carries D-Bus; took" +
		"; waits_for: the blocked thread of a child; waits_in: its call"
	sampledFields = "; number; args; machine; state: letter of ps; comm; exe; kernel: it is a thread of the kernel; target; wchan; stack" +
		"; cgroup; cgroup_id; stack_id; call_id; samples; every; most: the upper bound of its duration; seconds: as the kernel's watchdog says; scans"
)

// vocabulary has a row for every kind of kinds.go: what it is, and its fields
// as "name; name: what it holds". What every event has (event.CommonFields)
// is not repeated. A test holds that every event of every incident is in it.
var vocabulary = []struct {
	kind          event.Kind
	about, fields string
}{
	{KindFact, "something that holds for the node as a whole", "name: as containerd.version; value"},

	{event.KindLogLine, "a log line that a rule asks for by its text", "text: the message, without headers; unit: the syslog identifier; error: what the line gives as error or err"},

	{KindPLEGUnhealthy, "the kubelet's sync loop refuses to work: PLEG is not healthy", "age: since the last good relist; threshold; never: no relist has succeeded yet"},
	{KindRelistFailed, "relist could not list the pods", "error; deadline"},
	{KindCRIError, "a CRI call failed in the kubelet's eyes", "method: as ListContainers; error; deadline: it ran into its time limit"},
	{KindNodeNotReady, "the node's Ready condition became false", "pleg: PLEG is given as the reason"},
	{KindNodeReady, "the node's Ready condition became true", ""},
	{KindKubeletStart, "a kubelet begins to run", ""},
	{KindRuntimeDown, "the kubelet finds no runtime at all", ""},
	{KindChannelFull, "relist drops events because nobody reads them (kubelet 1.14 and later)", ""},
	{KindContainerDied, "PLEG's own word for an exit", ""},
	{KindRelist, "the relist goroutine in a dump", "phase: list, pod, send or unknown; doing; rpc: the CRI method it waits for; ends: what it comes down to, as rpc, child process, syscall or deadlock; ends_in; through: goroutines between, as goroutine 52 → 37; state: as the dump prints it; wait: as long as the dump shows minutes; call; id_ptr"},

	{KindCRICall, "a call of the CRI in containerd, from begin to end", "method; outcome: ok, failed, or absent while open; error; exited: the container was gone; deadline; cost"},
	{KindStatusGet, "a wait for a container's Status lock, as a patched build prints it", "call; cost"},
	{KindTaskUpdate, "the shim's Update under the Status lock, as the same build prints it", "cost"},
	{KindUpdateSync, "the status file written under the Status lock, as the same build prints it", "cost"},
	{KindTaskExit, "the exit of a container's first process, at the time the shim gave", "exit_status; lag: from the exit to the line about it"},
	{KindDeleteFailed, "the shim did not answer Delete within 10 s", "error; deadline"},
	{KindExitFailed, "containerd could not handle an exit and tries again", "error; deadline; again: it was not the first try"},
	{KindStateTimeout, "the shim did not answer State within 2 s", ""},
	{KindUpdateRefused, "containerd refused to update a container that is going", "patched: by the private Stopping patch"},
	{KindCreated, "a container got its sandbox, or a sandbox its pod", "name"},
	{KindShimStart, "a shim began to run", ""},
	{KindShimGone, "a shim is gone", ""},
	{KindDumpWritten, "a goroutine dump was taken", "path"},

	{KindClientGaveUp, "a docker client closed its connection before the answer", "path: of the API call"},

	{KindScopeStart, "systemd starts a container's scope, from the runtime's order to systemd's word", "others_answered: other scopes were started meanwhile"},
	{KindBusUnsupported, "PID 1 failed to seal a bus message", "errno"},
	{KindPendingReplies, "a client of PID 1 gave up with too many unanswered calls", ""},
	{KindIntrospectTimeout, "PID 1 did not answer the simplest question on the bus", ""},
	{KindCookie, "a bus cookie, read in a debugger or a trace", "cookie; overflow; first: in the trace; wrapped; connection; rate: a second; left: until 2^32 at that rate"},
	{KindReexec, "PID 1 started over, which resets its bus connections", ""},

	{KindHungTask, "the kernel's watchdog found a task in D state", "comm; seconds"},
	{KindKernelFrame, "a telling function on a kernel stack", "symbol"},

	{KindProcess, "a process in a listing", "comm; verb: of runc; systemd_cgroup; plugin: of CNI"},

	{KindSyscall, "a traced call that took long or never returned", callFields + tracedFields + sampledFields},
	{KindConvoy, "a lock that several threads of a process wait for at the end of a trace", "waiters; certainty: observed or inferred; holder: a thread; holder_call"},
	{KindBusCall, "a call on D-Bus whose answer came late or not at all", "member; interface; path; destination; direction: sent or received; serial; answered; blocked: it could not even be sent; error"},
	{KindThreadSample, "a thread in the same call in one sample or in several in a row; its duration is a lower bound", callFields + sampledFields + tracedFields},
	{KindDiskRequest, "a request to a block device that took long", "device; bytes; flags; queued; service; error"},

	{KindLockHeld, "a goroutine that holds a lock others wait for", "owner; lock_type; certainty: observed or inferred; rule; waiters; doing: what keeps it from letting go; rpc; ends: what it comes down to, as rpc, child process, syscall or deadlock; ends_in; through: goroutines between, as goroutine 52 → 37; call: the request it serves; state; wait; id_ptr"},
	{KindLockCycle, "a deadlock: goroutines that each wait for a lock that the next one holds", "members; goroutines: as 38 → 54 → 38; certainty: observed or inferred; state; wait: of the one that came last; call; id_ptr"},
	{KindLockWait, "a goroutine that waits for such a lock", "owner; call; mode; address_sure; state; wait; id_ptr"},
	{KindGoroutine, "a goroutine that waits for something outside its process", "doing; rpc; call; certainty: observed or inferred; state; wait; id_ptr"},
}
