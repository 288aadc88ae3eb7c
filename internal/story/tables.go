package story

import (
	"regexp"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// eventSort is a sort of event: of one kind, with what its fields say.
type eventSort struct {
	kind   event.Kind
	fields map[event.Key]string // field to its text, or anyText
	least  time.Duration        // that it lasts
}

// anyText stands for every text but the empty one.
const anyText = "*"

func (s *eventSort) fits(e *event.Event) bool {
	if e.Kind != s.kind || e.Duration() < s.least {
		return false
	}
	for key, want := range s.fields {
		if text := e.FieldText(key); text != want && (want != anyText || text == "") {
			return false
		}
	}
	return true
}

// suspicion is a sort of event that speaks against the container, sandbox or pod that it names,
// where a stall has no root.
type suspicion struct {
	eventSort
	rank int // how much it is worth; 0 is most
	// late says that the event counts anywhere in the stall: a shim that does not answer is asked
	// again and again, so that a log that was cut shows it late. What else begins late is a
	// consequence.
	late bool
	why  string // {method} and {duration} are those of the event
}

// longCall is how long a call must last to speak against its container: half of what the kubelet
// waits for.
const longCall = timeline.CallLimit / 2

var pastDeadline = map[event.Key]string{event.FieldDeadline: "true"}

// suspicions are asked in this order; the first that takes an event counts. A lock held for a
// container beats a call that did not end, and that beats calls that ran into their deadlines.
var suspicions = []suspicion{
	{eventSort{kind: event.KindLockHeld}, 0, false, "its lock is held while others wait"},
	{eventSort{kind: event.KindCRICall, least: longCall, fields: map[event.Key]string{event.FieldOpen: "true"}}, 1, false, "{method} did not end"},
	{eventSort{kind: event.KindCRICall, least: longCall}, 1, false, "{method} lasted {duration}"},
	{eventSort{kind: event.KindStateTimeout}, 2, true, "its shim did not answer State"},
	{eventSort{kind: event.KindDeleteFailed, fields: pastDeadline}, 2, false, "its shim did not answer Delete"},
	{eventSort{kind: event.KindCRIError, fields: pastDeadline}, 2, false, "{method} ran into its deadline"},
}

// question is one of the decision tree below a stall that has no root: what would answer it, and
// the command that collects that.
type question struct {
	lacks   []string       // sources of which one answers it; it is open while the bundle has none
	again   bool           // it is open although the bundle has them
	has     string         // a source that the bundle must hold; empty for none
	phase   timeline.Phase // that the first stall must have; empty for any
	signs   []eventSort    // of which the bundle must hold one; none for no condition
	inStall bool           // the sign has to lie in a stall, where both have a time
	command string
}

var shimCalls = []eventSort{
	{kind: event.KindStateTimeout},
	{kind: event.KindDeleteFailed},
	{kind: event.KindGoroutine, fields: map[event.Key]string{event.FieldDoing: "shim"}},
	{kind: event.KindGoroutine, fields: map[event.Key]string{event.FieldDoing: "ttrpc"}},
	{kind: event.KindLockHeld, fields: map[event.Key]string{event.FieldDoing: "shim"}},
	{kind: event.KindLockHeld, fields: map[event.Key]string{event.FieldDoing: "ttrpc"}},
}

// listWaitsWithoutHolder are waits for a lock of which a program's dump shows no holder.
func listWaitsWithoutHolder(program string) []eventSort {
	return []eventSort{{kind: event.KindLockQueue, fields: map[event.Key]string{event.FieldComponent: program, event.FieldWait: anyText}}}
}

const (
	wholeDump      = "  # the whole file: the dump in this bundle does not show who holds the lock"
	dumpContainerd = "kill -USR1 $(pidof containerd); sleep 1; ls -t /tmp/containerd.*.stacks.log | head -1"
	dumpDockerd    = "kill -USR1 $(pidof dockerd); sleep 1; ls -t /var/run/docker/goroutine-stacks-*.log | head -1"
	dumpCRIO       = "kill -USR1 $(pidof crio); sleep 1; ls -t /tmp/crio-goroutine-stacks-*.log | head -1"
	dumpAnyRuntime = "kill -USR1 $(pidof containerd dockerd crio); sleep 1; ls -t /tmp/containerd.*.stacks.log /var/run/docker/goroutine-stacks-*.log /tmp/crio-goroutine-stacks-*.log 2>/dev/null | head -3"
	dumpShim       = "kill -USR1 SHIM_PID  # pgrep -af containerd-shim names it; its goroutines go to containerd's journal"
	dumpKubelet    = "kubectl get --raw \"/api/v1/nodes/$(hostname)/proxy/debug/pprof/goroutine?debug=2\" > kubelet.goroutines  # twice, 20 s apart"
	listThreads    = "timeout 10 ps -eLo pid,tid,ppid,lstart,stat,wchan:32,comm > threads.txt  # without args: reading those can hang on a process in D state"
	readKernelLog  = "dmesg -T > dmesg.txt"
)

var runtimeDumps = []string{"goroutines.containerd", "goroutines.dockerd", "goroutines.crio"}

// questions are asked in this order. The dump of the runtime comes first: it shows the lock or the
// call that the lists or the pod's status wait for. The kubelet's tells in which phase relist sits,
// the shim's what it does while containerd waits for it, the processes and the kernel what lies
// below all of them.
var questions = []question{
	{lacks: []string{"goroutines.containerd"}, again: true, signs: listWaitsWithoutHolder("containerd"), command: dumpContainerd + wholeDump},
	{lacks: []string{"goroutines.dockerd"}, again: true, signs: listWaitsWithoutHolder("dockerd"), command: dumpDockerd + wholeDump},
	{lacks: []string{"goroutines.dockerd", "goroutines.containerd"}, has: "dockerd.log", command: dumpDockerd},
	{lacks: []string{"goroutines.crio"}, has: "crio.log", command: dumpCRIO},
	{lacks: runtimeDumps, has: "containerd.log", command: dumpContainerd},
	{lacks: runtimeDumps, command: dumpAnyRuntime}, // nothing says which runtime the node has
	{lacks: []string{"goroutines.shim", "strace"}, signs: shimCalls, inStall: true, command: dumpShim},
	{lacks: []string{"goroutines.kubelet"}, phase: timeline.PhaseUnknown, command: dumpKubelet},
	{lacks: []string{"processes"}, command: listThreads},
	{lacks: []string{"kernel.log"}, command: readKernelLog},
}

// hazards are what commands do to a node besides answering, the gravest first. What stands behind a
// # is a remark: its commands count only when nothing else does.
var hazards = []struct {
	command *regexp.Regexp
	says    string
}{
	{regexp.MustCompile(`\bkill\s+-(?:s\s*)?(?:SIG)?(?:ABRT|QUIT|KILL|TERM|3|6|9|15)\b`), "ends the process"},
	{regexp.MustCompile(`\b(?:systemctl\s+(?:daemon-reexec|restart|stop)|reboot)\b`), "changes the node"},
	{regexp.MustCompile(`\bstrace\b`), "slows the process down while it is traced, and hangs on a thread in D state"},
	{regexp.MustCompile(`\bkill\s+-(?:s\s*)?(?:SIG)?(?:USR1|10)\b`), "none for containerd, its shims, dockerd and cri-o, which handle SIGUSR1; it may end another program"},
	{regexp.MustCompile(`sysrq-trigger`), "the kernel prints stacks; with thousands of tasks one CPU is busy for seconds"},
	{regexp.MustCompile(`\b(?:gdb|delve|dlv)\b`), "stops the process while it is attached"},
	{regexp.MustCompile(`(?:^|[;&|(]\s*)(?:sudo\s+)?(?:timeout\s+\S+\s+)?(?:crictl|docker|ctr|nerdctl|systemctl|busctl|loginctl)\b`), "it may itself hang: set a time limit"},
	{regexp.MustCompile(`\bps\b.*\bargs\b|\bps\s+-?[a-z]*(?:aux|ef)\b|\bdf\b|\blsof\b`), "it may itself hang on a process or a mount in D state: set a time limit"},
}
