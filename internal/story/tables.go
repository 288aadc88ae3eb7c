package story

import (
	"regexp"
	"slices"
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

// hasAny says that the timeline has an event of one of the sorts.
func (s *story) hasAny(sorts ...eventSort) bool {
	return slices.ContainsFunc(sorts, func(sort eventSort) bool { return slices.ContainsFunc(s.listKind(sort.kind), sort.fits) })
}

// listKind lists the events of a kind, in order.
func (s *story) listKind(kind event.Kind) []*event.Event {
	if s.kinds == nil {
		s.kinds = map[event.Kind][]*event.Event{}
		for _, e := range s.timeline.Events {
			s.kinds[e.Kind] = append(s.kinds[e.Kind], e)
		}
	}
	return s.kinds[kind]
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
// container beats the call that relist itself waited for, that beats a shim that is stuck, and that
// calls that did not end. Others that ran into their deadlines come last.
var suspicions = []suspicion{
	{eventSort{kind: event.KindLockHeld}, 0, false, "its lock is held while others wait"},
	{eventSort{kind: event.KindCRICall, least: longCall, fields: map[event.Key]string{event.FieldOpen: "true"}}, 3, false, "{method} did not end"},
	{eventSort{kind: event.KindCRICall, least: longCall}, 3, false, "{method} lasted {duration}"},
	{eventSort{kind: event.KindStateTimeout}, 4, true, "its shim did not answer State"},
	{eventSort{kind: event.KindDeleteFailed, fields: pastDeadline}, 4, false, "its shim did not answer Delete"},
	{eventSort{kind: event.KindCRIError, fields: pastDeadline}, 4, false, "{method} ran into its deadline"},
}

// longWait is how long a goroutine waits at least for that to be a sign.
const longWait = 2 * time.Minute

// longWaits are of what a goroutine waits for, where that takes seconds on a healthy node. Two
// dumps of collect lie twenty seconds apart.
var longWaits = map[string]time.Duration{"cni-plugin": 15 * time.Second}

// longBoot is how long a daemon takes at least to begin its work for that to be a sign. A restart
// that is shorter explains the calls that met it, see [restarts.MarkRestarting].
const longBoot = 20 * time.Second

// longHousekeeping is how long the kubelet's housekeeping takes at least to be a sign: from there
// on kubelets up to 1.26 complained; newer ones do after a second, as on any busy node.
const longHousekeeping = 15 * time.Second

// slowAnswer is how long an answer of a daemon to plegdiag collect, or of the kernel in a trace,
// takes at least to be a sign.
const slowAnswer = time.Second

// busyPercent is what a process of one thread takes of a CPU that does nothing else.
const busyPercent = 90

// standingWaits are what a thread waits for in the kernel only while somebody owes it an answer, in
// whatever state it sleeps.
var standingWaits = []string{"fanotify", "fuse", "pid-namespace"}

// looks are the kinds of events that say what somebody met who looked, and not when it began.
var looks = []event.Kind{
	event.KindThreadSample, event.KindProcess, event.KindCollectRPC, event.KindCollectItem, event.KindCgroup,
	event.KindGoroutine, event.KindLockWait, event.KindLockHeld,
}

// fullPercent is how full a file system is at which programs cannot write any more.
const fullPercent = 99

// strongKinds are the kinds of events that say most where no cause is named, the strongest first.
var strongKinds = []event.Kind{
	event.KindManagerCrash, event.KindHungTask, event.KindBlockError, event.KindIOError, event.KindServerSilent, event.KindSoftLockup, event.KindForkRejected,
	event.KindForkFailed, event.KindNoMemory, event.KindCgroupFailed, event.KindCrash, event.KindCgroupMemory, event.KindOOMKill, event.KindOutOfMemory, event.KindLockCycle, event.KindThreadSample,
	event.KindBusLimit, event.KindQueueFull, event.KindBusUnsupported, event.KindPendingReplies,
	event.KindActivationTimeout, event.KindSystemdTimeout, event.KindStateTimeout, event.KindDeleteFailed, event.KindCleanupKilled,
	event.KindExitFailed, event.KindExitLost, event.KindAnswerLate, event.KindGuestLost, event.KindHostCompute, event.KindLockHeld, event.KindRelistFailed, event.KindCRIError, event.KindUnitTimeout, event.KindMountFailed, event.KindUnitStartFailed, event.KindUnitExit,
	event.KindDatabaseWait, event.KindEtcdTrouble, event.KindLayersDamaged, event.KindUnitStarting, event.KindHealthFailed, event.KindDaemonAbsent,
	event.KindFileSystem, event.KindNodeCondition, event.KindNodeNotReady, event.KindNetdevBusy, event.KindSendStalled,
	event.KindAllocDeadlock, event.KindPageAllocFailed, event.KindRCUStall, event.KindWorkqueueLockup, event.KindTableFull,
	event.KindHardwareError, event.KindKernelDoubt, event.KindReadOnly, event.KindLinkDown, event.KindMountDead, event.KindVolumePending, event.KindProbeFailed, event.KindNetworkDaemon, event.KindTunnelBroken, event.KindClockStep, event.KindKubeEvent,
	event.KindScopeFailed, event.KindDenied,
}

// firstTroubles are the kinds of events that are trouble of their own: a call that fails, or a
// condition of the node, comes of something else.
var firstTroubles = []event.Kind{
	event.KindManagerCrash, event.KindBlockError, event.KindIOError, event.KindServerSilent, event.KindSoftLockup, event.KindForkRejected,
	event.KindForkFailed, event.KindNoMemory, event.KindCrash, event.KindOOMKill, event.KindOutOfMemory, event.KindBusLimit, event.KindLayersDamaged,
	event.KindEtcdTrouble, event.KindFileSystem, event.KindNetdevBusy, event.KindRCUStall, event.KindTableFull, event.KindHardwareError,
	event.KindReadOnly, event.KindLinkDown, event.KindClockStep, event.KindAPIFailed, event.KindStartFailed, event.KindCertificate,
	event.KindNetworkNotReady,
}

// routineKinds are the kinds of events that healthy nodes show, too. Those that are routine only
// with certain fields stand in isRoutine.
var routineKinds = []event.Kind{
	event.KindKubeletStart, event.KindNodeReady, event.KindPressureOver, event.KindContainerDied, event.KindKillUnwanted, event.KindRestartWanted,
	event.KindRelist, event.KindSyncLoop, event.KindRuntimeOperation, event.KindTaskExit, event.KindCreated,
	event.KindRemoved, event.KindCleanedUp, event.KindShimStart, event.KindShimGone, event.KindDumpWritten,
	event.KindScopeStart, event.KindUnit, event.KindUnitStart, event.KindUnitStop, event.KindDaemonStart, event.KindDaemonStop,
	event.KindDaemonRestart, event.KindReexec, event.KindOperator, event.KindCount, event.KindMount,
	event.KindLogLine, event.KindNoise, event.KindLoss, event.KindCollectItem, event.KindStatusGet,
	event.KindTaskUpdate, event.KindUpdateSync, event.KindUnrestored,
	event.KindImagesCleaned, event.KindConvoy, event.KindKernelFrame, event.KindSuspend, event.KindBootRecord, event.KindPowerLost, event.KindStall,
	event.KindRuntimeDown, // where it is more, it is a complaint
}

// stallKinds are the kinds of events that a stall consists of.
var stallKinds = []event.Kind{event.KindPLEGUnhealthy, event.KindNodeNotReady}

// troubledReasons are the reasons of events of the API that tell of trouble, although some writers
// give them as normal.
var troubledReasons = []string{"NodeNotReady", "Rebooted", "NodeNotSchedulable", "TaintManagerEviction", "DeletingNode", "RemovingNode", "Reboot", "SpotInterrupted", "InstanceSpotInterrupted", "SpotInterruption", "KubeletUnhealthy", "ContainerdUnhealthy", "DockerUnhealthy"}

// harmlessReasons are the reasons of warnings in the API that every node gives when it starts.
var harmlessReasons = []string{"InvalidDiskCapacity", "CIDRNotAvailable", "Starting", "NodeAllocatableEnforced", "CgroupV1", "ContainerdStart", "DockerStart", "KubeletStart"}

// chainOfCalls are the components between the kubelet and a container: a thread of one that the
// kernel holds is no routine, whatever it waits for.
var chainOfCalls = []string{"kubelet", "containerd", "dockerd", "crio", "shim", "runc", "cni", "systemd", "dbus"}

// logsOfStalls and dumpsOfStalls are what shows a stall, or a runtime that hangs, where there is
// one.
var (
	logsOfStalls  = []string{"kubelet.log", "containerd.log", "dockerd.log", "crio.log"}
	dumpsOfStalls = []string{"goroutines.kubelet", "goroutines.containerd", "goroutines.dockerd", "goroutines.crio"}
)

// listsOfRelist are the calls with which each relist begins, as collect makes them.
var listsOfRelist = []string{"ListPodSandbox", "ListContainers"}

// answersOfHealth are events by which a node or its runtime answers for itself, or a kubelet says
// no more than what every one says at its start.
var answersOfHealth = []eventSort{
	{kind: event.KindKubeletStart},
	{kind: event.KindPLEGUnhealthy, fields: map[event.Key]string{event.FieldNever: "true"}},
	{kind: event.KindNodeReady},
	{kind: event.KindNodeCondition, fields: map[event.Key]string{event.FieldCondition: "Ready", event.FieldStatus: "True"}},
	{kind: event.KindCollectRPC, fields: map[event.Key]string{event.FieldAnswered: "true", event.FieldAPI: "cri"}},
	{kind: event.KindCollectRPC, fields: map[event.Key]string{event.FieldAnswered: "true", event.FieldAPI: "docker"}},
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
	note    string // what to know before it is run; empty where there is nothing
}

var shimCalls = []eventSort{
	{kind: event.KindStateTimeout},
	{kind: event.KindDeleteFailed},
	{kind: event.KindGoroutine, fields: map[event.Key]string{event.FieldDoing: "shim"}},
	{kind: event.KindGoroutine, fields: map[event.Key]string{event.FieldDoing: "ttrpc"}},
	{kind: event.KindLockHeld, fields: map[event.Key]string{event.FieldDoing: "shim"}},
	{kind: event.KindLockHeld, fields: map[event.Key]string{event.FieldDoing: "ttrpc"}},
}

// callsOfDockerd are those that containerd has not answered.
var callsOfDockerd = []eventSort{
	{kind: event.KindGoroutine, fields: map[event.Key]string{event.FieldDoing: "containerd"}},
	{kind: event.KindLockHeld, fields: map[event.Key]string{event.FieldDoing: "containerd"}},
}

// listWaitsWithoutHolder are waits for a lock of which a program's dump shows no holder.
func listWaitsWithoutHolder(program string) []eventSort {
	return []eventSort{{kind: event.KindLockQueue, fields: map[event.Key]string{event.FieldComponent: program, event.FieldWait: anyText}}}
}

const (
	dumpContainerd   = "kill -USR1 $(pidof containerd); sleep 1; ls -t /tmp/containerd.*.stacks.log | head -1"
	dumpDockerd      = "kill -USR1 $(pidof dockerd); sleep 1; ls -t /var/run/docker/goroutine-stacks-*.log | head -1"
	dumpCRIO         = "kill -USR1 $(pidof crio); sleep 1; ls -t /tmp/crio-goroutine-stacks-*.log | head -1"
	dumpAnyRuntime   = "kill -USR1 $(pidof containerd dockerd crio); sleep 1; ls -t /tmp/containerd.*.stacks.log /var/run/docker/goroutine-stacks-*.log /tmp/crio-goroutine-stacks-*.log 2>/dev/null | head -3"
	dumpShims        = "kill -USR1 $(pgrep -x containerd-shim); sleep 2; timeout 30 journalctl -u containerd -o export --since '2 min ago' > containerd.export"
	dumpKubelet      = "kubectl get --raw \"/api/v1/nodes/$(hostname)/proxy/debug/pprof/goroutine?debug=2\" > kubelet.goroutines"
	listPlugins      = `for n in $(ls /opt/cni/bin); do timeout 10 ps -C "$n" -o pid,ppid,lstart,stat,wchan:32,comm --no-headers; done > plugins.txt`
	readContainerLog = "timeout 20 kubectl -n NAMESPACE logs POD --all-containers --previous --tail=50; timeout 20 kubectl -n NAMESPACE describe pod POD"
	readImages       = `timeout 20 kubectl -n NAMESPACE get pod POD -o jsonpath='{.spec.containers[*].image}{"  "}{.spec.imagePullSecrets}{"\n"}'; timeout 20 kubectl -n NAMESPACE describe pod POD`
	readPending      = "timeout 20 kubectl -n NAMESPACE describe pod POD; timeout 20 kubectl -n NAMESPACE get pvc; timeout 20 kubectl describe nodes | grep -e ^Name: -e ^Taints: -e ^Unschedulable: -A9 -e '^Allocated resources:'"
	readPluginLog    = `for c in $(timeout 20 crictl ps -a -q --name '%s'); do timeout 20 crictl logs --tail 200 "$c"; done > cni.log 2>&1`
	listThreads      = "timeout 10 ps -eLo pid,tid,ppid,lstart,stat,wchan:32,comm > threads.txt"
	readKernelLog    = "timeout 20 dmesg -T > dmesg.txt"
	readUnitLog      = "timeout 60 journalctl -u %s -o export --since '1 hour ago' > %s.export"
	listDisks        = "cat /proc/1/mountinfo > mountinfo; timeout 10 lsblk -o name,kname,fstype,mountpoint > lsblk.txt"
	listClients      = "for f in /var/lib/kubelet/pki/kubelet-client-current.pem /var/lib/rancher/*/agent/client-kubelet.crt; do [ -e $f ] && openssl x509 -noout -subject -dates -in $f; done > certificates.txt"
)

// dumps are how the daemons write their goroutines: the runtimes come first, which the kubelet
// waits for.
var dumps = []struct{ program, command string }{
	{"containerd", dumpContainerd}, {"dockerd", dumpDockerd}, {"crio", dumpCRIO}, {"containerd-shim", dumpShims}, {"kubelet", dumpKubelet},
}

// What to know before these commands are run.
const (
	wantWholeDump    = "take the whole file: the dump in this bundle does not show who holds the lock"
	wantShims        = "all shims write their goroutines to the journal of containerd"
	wantPlugins      = "a plugin that has run for minutes waits for its daemon or its datastore: look into their log then"
	wantContainerLog = "POD and NAMESPACE are those of the container; what it said last, and its exit code, show why it ends"
	wantImages       = "POD and NAMESPACE are those of the container; no registry has an image whose name is wrong, and one that is private wants a secret"
	wantPending      = "POD and NAMESPACE are those of the pod; no node was found for it, so that no kubelet has a part in it yet"
	wantPluginLog    = "the plugin is a client of this daemon, and the daemon of the API server: one of them did not do its part"
	wantRunning      = "twice, 20 s apart: a goroutine that runs in both is what takes the CPU"
	wantAsleep       = "its threads sleep in a futex, as those of any idle Go program do: only its goroutines show what waits for what"
	wantWhole        = "the input has a piece of it"
	wantXid          = "its lines with NVRM tell of the driver, those with Xid of a fault of a GPU"
	wantTwice        = "twice, 20 s apart, shows what does not move; it needs the rights of an administrator"
	wantGracePeriod  = "a stall that RCU reports names the CPU, or the task, that holds up whoever waits there"
	wantLastWords    = "its last lines before the end say why it ended"
	wantDisk         = "which file systems lie on %s: those of the runtime and the kubelet, or the volume of one pod"
	wantClients      = "the line does not say which client it was; this is the kubelet's own certificate"
	wantNoArgs       = "without the arguments of the processes: reading those can hang on a process in state D"
)

var runtimeDumps = []string{"goroutines.containerd", "goroutines.dockerd", "goroutines.crio"}

// questions are asked in this order. The dump of the runtime comes first: it shows the lock or the
// call that the lists or the pod's status wait for. The kubelet's tells in which phase relist sits,
// the shim's what it does while containerd waits for it, the processes and the kernel what lies
// below all of them.
var questions = []question{
	{lacks: []string{"goroutines.containerd"}, again: true, signs: listWaitsWithoutHolder("containerd"), command: dumpContainerd, note: wantWholeDump},
	{lacks: []string{"goroutines.dockerd"}, again: true, signs: listWaitsWithoutHolder("dockerd"), command: dumpDockerd, note: wantWholeDump},
	{lacks: []string{"goroutines.containerd"}, signs: callsOfDockerd, command: dumpContainerd},
	{lacks: []string{"goroutines.dockerd", "goroutines.containerd"}, has: "dockerd.log", command: dumpDockerd},
	{lacks: []string{"goroutines.crio"}, has: "crio.log", command: dumpCRIO},
	{lacks: runtimeDumps, has: "containerd.log", command: dumpContainerd},
	{lacks: runtimeDumps, command: dumpAnyRuntime}, // nothing says which runtime the node has
	{lacks: []string{"goroutines.shim", "strace"}, signs: shimCalls, inStall: true, command: dumpShims, note: wantShims},
	{lacks: []string{"goroutines.kubelet"}, phase: timeline.PhaseUnknown, command: dumpKubelet, note: wantTwice},
	{lacks: []string{"processes"}, command: listThreads, note: wantNoArgs},
	{lacks: []string{"kernel.log"}, command: readKernelLog},
}

// rebooted is the rule that says that the machine went down: what was going on then is over.
const rebooted = "notready-rebooted"

// deadRuntime are the rules that say that the runtime is gone, stopped, or cannot react to a
// signal.
var deadRuntime = []string{"runtime-process-down", "runtime-process-stopped"}

// ofDisks are the rules that a failing device speaks for, whoever uses it.
var ofDisks = []string{"block-io-hung-task", "notready-image-fs"}

// refusals are events by which nobody listens at the socket of a runtime, unless it comes back.
var refusals = []eventSort{
	{kind: event.KindCommandFailed, fields: map[event.Key]string{event.FieldRefused: "true"}},
	{kind: event.KindCRIError, fields: map[event.Key]string{event.FieldGone: anyText}},
	{kind: event.KindRelistFailed, fields: map[event.Key]string{event.FieldGone: anyText}},
	{kind: event.KindSocketRefused},
}

// deadRuntimeSigns are events by which the runtime cannot react to a signal: it sits in the kernel,
// where the kernel's own stacks say more, or is held.
var deadRuntimeSigns = listDeadRuntimeSigns()

func listDeadRuntimeSigns() (signs []eventSort) {
	for _, name := range []string{"dockerd", "containerd", "crio"} {
		signs = append(
			signs, eventSort{kind: event.KindHungTask, fields: map[event.Key]string{event.FieldComm: name}},
			eventSort{kind: event.KindThreadSample, fields: map[event.Key]string{event.FieldComponent: name, event.FieldWatchdog: "true"}},
			eventSort{kind: event.KindThreadSample, fields: map[event.Key]string{event.FieldComponent: name, event.FieldState: "t"}},
			eventSort{kind: event.KindThreadSample, fields: map[event.Key]string{event.FieldComponent: name, event.FieldState: "T"}},
			eventSort{kind: event.KindThreadSample, fields: map[event.Key]string{event.FieldComponent: name, event.FieldWaits: "freezer"}},
			eventSort{kind: event.KindCgroup, fields: map[event.Key]string{event.FieldDaemon: name, event.FieldFrozen: "true"}},
		)
	}
	return signs
}

// asksForDump tells commands that let a program write its goroutines.
var asksForDump = regexp.MustCompile(`\bkill\s+-(?:s\s*)?(?:SIG)?(?:USR1|10)\b`)

// heldThreads are threads of a runtime on which strace hangs: it waits until each thread stops, and
// one in state D does not; one in state t has a tracer, and there can be but one.
var heldThreads = listHeldThreads()

func listHeldThreads() (held []eventSort) {
	for _, name := range []string{"dockerd", "containerd", "crio", "shim"} {
		for _, of := range []map[event.Key]string{
			{event.FieldState: "D", event.FieldUnmoved: "true"},
			{event.FieldState: "D", event.FieldWatchdog: "true"},
			{event.FieldState: "t"},
		} {
			of[event.FieldComponent] = name
			held = append(held, eventSort{kind: event.KindThreadSample, fields: of})
		}
	}
	return held
}

// asksForTrace tells commands that attach strace to a program.
var asksForTrace = regexp.MustCompile(`\bstrace\b[^;&|]*\s-p\b`)

// What may hang: programs that ask the runtime or systemd, and programs that read the arguments of
// processes or look at every mount.
const (
	beginsCommand  = `(?:^|[;&|(]\s*|\bdo\s+)(?:sudo\s+)?`
	runtimeClients = `crictl|docker|ctr|nerdctl|systemctl|busctl|loginctl`
	readers        = `ps\b[^;&|]*\bargs\b|ps\s+-?[a-z]*(?:aux|ef)\b|pgrep\s+-\w*[af]|df\b|lsof\b`
)

// hazards are what commands do to a node besides answering, the gravest first. What stands behind a
// # is a remark: its commands count only when nothing else does.
var hazards = []struct {
	command *regexp.Regexp
	says    string
}{
	{regexp.MustCompile(`\bplegdiag collect\b`), "it ends by itself; a runtime without a socket for dumps gets SIGUSR1 and writes its goroutines, unless you add --no-signal"},
	{regexp.MustCompile(`\bkill\s+-(?:s\s*)?(?:SIG)?(?:ABRT|QUIT|KILL|TERM|3|6|9|15)\b`), "ends the process"},
	{regexp.MustCompile(`\b(?:systemctl\s+(?:daemon-reexec|restart|stop)|reboot)\b`), "changes the node"},
	{regexp.MustCompile(`\bstrace\b`), "slows the process down while it is traced, and hangs on a thread in D state"},
	{regexp.MustCompile(`\bkill\s+-(?:s\s*)?(?:SIG)?(?:USR1|10)\b`), "none for containerd, its shims, dockerd and cri-o, which handle SIGUSR1; it may end another program"},
	{regexp.MustCompile(`sysrq-trigger`), "the kernel prints stacks; with thousands of tasks one CPU is busy for seconds"},
	{regexp.MustCompile(`\b(?:gdb|delve|dlv)\b`), "stops the process while it is attached"},
	{regexp.MustCompile(beginsCommand + `(?:` + runtimeClients + `)\b`), "it may itself hang: set a time limit"},
	{regexp.MustCompile(beginsCommand + `(?:` + readers + `)`), "it may itself hang on a process or a mount in D state: set a time limit"},
	{regexp.MustCompile(`\btimeout\s+\S+\s+(?:` + runtimeClients + `)\b`), "it may itself hang; its time limit ends that"},
	{regexp.MustCompile(`\btimeout\s+\S+\s+(?:` + readers + `)`), "it may itself hang on a process or a mount in D state; its time limit ends that"},
}
