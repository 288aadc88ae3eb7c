// Package systemd knows what systemd writes, with its tools and udev, and the bus beside it.
package systemd

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/repeated"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Table is what PID 1 and logind say, and what tools print about them: systemd 219 to 257.
var Table = table.Table{
	Component: "systemd",
	Rows: []table.Row{
		repeated.ManagerCrash,
		repeated.ConsoleCrash,
		{[]string{".scope - libcontainer", "Started libcontainer container"}, scopeStarted},
		{[]string{"Failed to add PIDs to scope", ".scope: Failed with result 'resources'"}, scopeFailed},
		{[]string{"propagate agent release message", "Operation not supported"}, busCookieUsedUp},
		{[]string{"maximum number of pending replies"}, table.Says(event.KindPendingReplies, "too many unanswered calls to PID 1", "pending replies per connection")},
		{[]string{"ooping too fast. Throttling"}, spins},
		{[]string{"Failed to introspect object"}, introspectTimeout},
		{[]string{"cookie = ", "cookie=42949", "cookie=0x1000"}, busCookieShown},
		{[]string{"Reexecuting"}, reexecuted},
		// systemd 219 running in system mode. (+PAM …); systemd 252.30-1~deb12u2 running in system
		// mode.
		{[]string{"running in system mode"}, table.FactFrom("systemd.version", func(r *event.Record) string {
			v, _ := scan.Between(r.Message(), "systemd ", " running in system mode")
			return strings.TrimPrefix(v, "v")
		})},
		{[]string{"ain process exited, code=", ".service: Failed with result "}, unitExit},
		{[]string{"has been killed by the OOM killer", ": systemd-oomd killed "}, unitOutOfMemory},
		{[]string{" due to memory"}, oomdKill},
		{[]string{" timed out. ", "atchdog timeout", "till around after"}, unitTimeout},
		{[]string{"topping timed out. Killing", "till around after"}, scopeStopLate},
		{[]string{"Scheduled restart job", "scheduling restart."}, unitRestart},
		{[]string{"request repeated too quickly"}, unitGivenUp},
		{[]string{
			"System is rebooting", "System is powering down", "Power key pressed", "The system will ", "The system is going down for ", "Reached target System Reboot",
			"Reached target reboot.target", "Reached target System Power Off", "Reached target poweroff.target", "Sending SIGTERM to remaining processes",
			"reboot-required, rebooting", "systemctl reboot] for node", "machine-config-daemon: Node will reboot",
		}, shutdown},
		// the system's manager says so when somebody else has set the clock
		{[]string{"Time has been changed"}, clockChanged},
		{[]string{" loaded units listed"}, unitCount},
		{runtimeJobTexts("Stopping "), runtimeJob("Stopping ", event.KindUnitStop, "systemd stops ")},
		{runtimeJobTexts("Failed to start "), runtimeJob("Failed to start ", event.KindUnitStartFailed, "systemd could not start ")},
		{[]string{"/start failed with result '"}, startJobFailed},
		{append(kubeletJobTexts("Failed to start "), snapKubelets...), serviceJob("Failed to start ", "kubelet", event.KindUnitStartFailed, "systemd could not start ")},
		{snapRuntimes, serviceJob("Failed to start ", "containerd", event.KindUnitStartFailed, "systemd could not start ")},
		{serviceNotStartedTexts(), serviceNotStarted},
		{
			append(runtimeJobTexts("Dependency failed for "), kubeletJobTexts("Dependency failed for ")...),
			dependencyFailed,
		},
		{cannotRun, programNotRun},
		{[]string{".service failed because ", "A dependency job for "}, startCommandFailed},
		{[]string{"Dependency failed for ", "Failed to mount ", ".mount: Mounting timed out", ".mount mounting timed out", "You are in emergency mode", "Reached target Emergency Mode", "Started Emergency Shell", "Failed to start File System Check on ", "INCONSISTENCY; RUN fsck"}, mountFailed},
		{[]string{"Timed out waiting for device "}, deviceLate},
		{runtimeJobTexts("Starting "), runtimeJob("Starting ", event.KindUnitStarting, "systemd starts ")},
		{runtimeJobTexts("Started "), runtimeJob("Started ", event.KindUnitStart, "systemd has started ")},
		{kubeletJobTexts("Started "), serviceJob("Started ", "kubelet", event.KindUnitStart, "systemd has started ")},
		{[]string{"D-Bus System Message Bus"}, serviceJob("Started ", "dbus", event.KindUnitStart, "systemd has started ")},
		{append(kubeletJobTexts("Stopping "), snapKubelets...), serviceJob("Stopping ", "kubelet", event.KindUnitStop, "systemd stops ")},
		{snapRuntimes, serviceJob("Stopping ", "containerd", event.KindUnitStop, "systemd stops ")},
	},
}

// scopeStarted ends the wait of a runc that asked for a scope:
//
//	Started docker-<id>.scope - libcontainer container <id>.      (systemd ≥ 249, or with StatusUnitFormat=combined)
//	Started libcontainer container <id>.                          (before)
func scopeStarted(r *event.Record) (event.Event, bool) {
	id := scan.FindID(r.Message())
	return repeated.ScopeStart(id, event.End), id != "" && strings.HasPrefix(r.Message(), "Started ")
}

// scopeFailed: PID 1 could not start a scope, or not move the process there that it is for:
//
//	cri-containerd-<id>.scope: Failed to add PIDs to scope's control group: Permission denied
//	cri-containerd-<id>.scope: Failed with result 'resources'.
func scopeFailed(r *event.Record) (event.Event, bool) {
	unit, reason, ok := strings.Cut(r.Message(), ".scope: ")
	unit += ".scope"
	e := event.New(event.KindScopeFailed, "systemd could not start "+unit+": "+strings.TrimSuffix(reason, "."), event.FieldUnit.Text(unit), event.FieldError.Text(reason))
	e.IDs.Container = scan.FindID(unit)
	return e, ok && !strings.Contains(unit, " ")
}

// scopeStopLate is the scope of a container whose processes did not end when systemd was told to
// stop it:
//
//	219    crio-<id>.scope stopping timed out. Killing.
//	       crio-<id>.scope still around after SIGKILL. Ignoring.
//	≥ 220  cri-containerd-<id>.scope: Stopping timed out. Killing.
//	       cri-containerd-<id>.scope: Still around after SIGKILL. Ignoring.
func scopeStopLate(r *event.Record) (event.Event, bool) {
	unit, said, ok := strings.Cut(r.Message(), ".scope")
	id := scan.FindID(unit)
	e := event.New(event.KindKillLate, "systemd could not stop the scope of container "+id[:min(len(id), 12)]+" in time")
	if strings.Contains(said, "around after") {
		e.Text = "processes in the scope of container " + id[:min(len(id), 12)] + " live on after SIGKILL"
	}
	e.IDs.Container = id
	return e, ok && id != "" && !strings.Contains(unit, " ")
}

// busCookieUsedUp: PID 1 could not seal a message because its 32-bit cookie is
// used up. With "Transport endpoint is not connected" the same line is harmless (systemd#6777).
//
//	Failed to propagate agent release message: Operation not supported
//	Failed to send unit change signal for x.scope: Operation not supported
func busCookieUsedUp(r *event.Record) (event.Event, bool) {
	text := r.Message()
	i := strings.LastIndex(text, ": ")
	agent := strings.HasPrefix(text, "Failed to propagate agent release message")
	if i < 0 || !agent && !(table.FromServiceManager(r) && strings.HasPrefix(text, "Failed to send ")) {
		return event.Event{}, false // other programs fail to send, too
	}
	errno := strings.TrimRight(strings.TrimSpace(text[i+2:]), ".")
	return event.New(event.KindBusUnsupported, "PID 1 could not send on the bus: "+errno, event.FieldErrno.Text(errno)), true
}

// spins: the loop of PID 1 went round 50 000 times within a second, and PID 1 sleeps for a second
// then (manager_loop in src/core/manager.c). A user's manager says it, too.
//
//	systemd[1]: Looping too fast. Throttling execution a little.
func spins(r *event.Record) (event.Event, bool) {
	if !strings.HasPrefix(r.Message(), "Looping too fast. Throttling execution") || r.PID > 1 || !table.FromServiceManager(r) {
		return event.Event{}, false
	}
	return event.New(event.KindManagerSpins, "PID 1 (systemd) goes round in its loop without end, and sleeps a second each time"), true
}

// introspectTimeout: Failed to introspect object / of service org.freedesktop.systemd1: Connection
// timed out (busctl tree).
func introspectTimeout(r *event.Record) (event.Event, bool) {
	text := r.Message()
	return event.New(event.KindIntrospectTimeout, "PID 1 does not answer on the bus"),
		strings.Contains(text, "org.freedesktop.systemd1") && strings.Contains(text, "timed out")
}

// busCookieShown is what a debugger session shows at sd_bus_send or sd_bus_message_seal:
// cookie=4294967731, cookie = 0x1000001b3.
func busCookieShown(r *event.Record) (event.Event, bool) {
	text := r.Message()
	_, rest, ok := strings.Cut(text, "cookie")
	if !ok || r.Unit != "" || strings.Contains(text, "://") || strings.Contains(text, "HTTP/") {
		// no daemon logs it; a note or a debugger does, and a web server has cookies of its own
		return event.Event{}, false
	}
	rest = strings.TrimLeft(rest, " =:@")
	n := 0
	for n < len(rest) && scan.IsWord(rest[n]) {
		n++
	}
	v, err := strconv.ParseUint(rest[:n], 0, 64)
	if err != nil || v < 1<<16 || v >= 1<<40 {
		// too small to tell, or an address: a debugger prints the argument's pointer too
		return event.Event{}, false
	}
	e := event.New(event.KindCookie, "systemd's bus cookie is "+strconv.FormatUint(v, 10))
	e.Fields = []event.Field{event.FieldCookie.Number(float64(v)), event.FieldOverflow.Bool(v > 0xffffffff)}
	return e, true
}

// unitCount is the last but one line of systemctl list-units, which is often all that is pasted:
// 28511 loaded units listed. None is the answer to a question for some of them: a node that runs
// has units.
func unitCount(r *event.Record) (event.Event, bool) {
	before, _, _ := strings.Cut(r.Message(), " loaded units listed")
	n, err := strconv.Atoi(strings.TrimSpace(before))
	if err != nil || n == 0 || r.Unit != "" || ListsSomeUnits(r.Pos.File) {
		return event.Event{}, false
	}
	e, ok := facts.New("systemd.units", strconv.Itoa(n))
	e.Source = facts.Units
	return e, ok
}

// ListsSomeUnits says that a file named after its command, as those of sosreport are, lists not all
// units: systemctl_list-units_--failed.
func ListsSomeUnits(file string) bool {
	_, options, _ := strings.Cut(path.Base(file), "list-units")
	return scan.ContainsAny(options, []string{"failed", "--state", "--type", "_-t_"})
}

// unitsFull is systemd at MANAGER_MAX_NAMES (src/core/manager.h, 131072 units), which it reports as
// E2BIG:
//
//	Failed to start transient scope unit: Argument list too long
//	[system] Activation via systemd failed for unit 'polkit.service': Argument list too long
//	cannot add name, manager has too many units: Argument list too long      (PID 1, ≥ 246)
//	Cannot add name, manager has too many units.      (≥ 256)
func unitsFull(r *event.Record) (event.Event, bool) {
	return event.New(event.KindUnitsFull, "systemd takes no more units"),
		scan.ContainsAny(r.Raw, []string{"Failed to start transient ", "unit: Argument list too long", "Activation via systemd failed for unit "}) ||
			strings.Contains(r.Raw, "manager has too many units") && (table.FromServiceManager(r) || r.Unit == "") && r.PID <= 1 // no user's manager
}

// splitUnitLine splits what systemd says of a service: its unit, as containerd, and what happened
// to it. Ok is false for a unit that neither is a runtime or a kubelet nor is needed by one.
//
//	≥ 220  containerd.service: State 'stop-sigterm' timed out. Killing.
//	219    containerd.service stop-sigterm timed out. Killing.
func splitUnitLine(r *event.Record) (e event.Event, what string, ok bool) {
	unit, what, ok := strings.Cut(r.Message(), ".service")
	name := daemon.OfService(unit)
	if !ok || strings.Contains(unit, " ") || name == "" || r.Unit != "" && !table.FromServiceManager(r) {
		return event.Event{}, "", false
	}
	return newUnitEvent(unit, name), strings.TrimLeft(what, ": "), true
}

// newUnitEvent begins an event of a unit and its daemon.
func newUnitEvent(unit, name string) event.Event {
	e := event.Event{Fields: []event.Field{event.FieldUnit.Text(unit + ".service"), event.FieldDaemon.Text(name)}}
	if daemon.IsRuntime(name) {
		e.AddFields(event.FieldRuntime.Text(name))
	}
	return e
}

// unitExit is a runtime, a kubelet or a service that they need, that ended without being asked to:
//
//	219     containerd.service: main process exited, code=killed, status=9/KILL
//	≥ 230   containerd.service: Main process exited, code=exited, status=2/INVALIDARGUMENT
//	≥ 236   containerd.service: Failed with result 'oom-kill'.
func unitExit(r *event.Record) (event.Event, bool) {
	e, rest, ok := splitUnitLine(r)
	how, found := scan.Between(rest, "Failed with result '", "'")
	if !found {
		how = strings.ReplaceAll(scan.After(rest, "exited, code="), ", status=", " ")
	}
	if !ok || how == "" || strings.HasPrefix(how, "exited 0") {
		return event.Event{}, false
	}
	e.Kind = event.KindUnitExit
	e.Text = e.Fields[0].Value.Text() + " ended: " + how
	e.AddFields(event.FieldHow.Text(how))
	return e, true
}

// unitOutOfMemory is a daemon of whose unit the kernel has killed a process (systemd 239 and
// later):
//
//	containerd.service: A process of this unit has been killed by the OOM killer.
//	containerd.service: systemd-oomd killed 12 process(es) in this unit.      (≥ 247)
func unitOutOfMemory(r *event.Record) (event.Event, bool) {
	e, _, ok := splitUnitLine(r)
	if !ok {
		return event.Event{}, false
	}
	unit := e.Fields[0].Value.Text()
	return event.New(event.KindOutOfMemory, "a process of "+unit+" was killed for memory", event.FieldUnit.Text(unit)), true
}

// oomdKill is systemd-oomd (≥ 247), which kills all processes of a cgroup before the kernel has no
// memory left:
//
//	Killed /system.slice/containerd.service due to memory pressure for /system.slice being 85.87% > 80.00% for > 30s with reclaim activity
//	Killed /system.slice/containerd.service due to memory used (16602169344) / total (16765812736) and swap used (…) being more than 90.00%
func oomdKill(r *event.Record) (event.Event, bool) {
	cgroup, _, ok := strings.Cut(strings.TrimPrefix(r.Message(), "Killed "), " due to memory")
	if !ok || !strings.HasPrefix(cgroup, "/") || strings.Contains(cgroup, " ") {
		return event.Event{}, false
	}
	unit := path.Base(cgroup)
	if name := daemon.OfUnit(unit); name != "" {
		e := newUnitEvent(strings.TrimSuffix(unit, ".service"), name)
		e.Kind, e.Text = event.KindUnitExit, "systemd-oomd has killed "+unit+" for memory"
		e.AddFields(event.FieldHow.Text("oom-kill by systemd-oomd"))
		return e, true
	}
	e := event.New(event.KindOutOfMemory, "systemd-oomd has killed "+unit+" for memory", event.FieldUnit.Text(unit))
	e.IDs.Container = scan.FindID(cgroup)
	return e, true
}

// startJobFailed is a start of a runtime or of the kubelet that systemd gave up before it began,
// because something that the unit needs did not start, or was too late:
//
//	kubelet.service: Job kubelet.service/start failed with result 'dependency'.      (219: "Job kubelet.service/start failed with result 'dependency'.")
//	containerd.service: Job containerd.service/start failed with result 'timeout'.
func startJobFailed(r *event.Record) (event.Event, bool) {
	unit, result, ok := strings.Cut(scan.After(r.Message(), "Job "), "/start failed with result '")
	name := daemon.OfUnit(unit)
	result, _, _ = strings.Cut(result, "'")
	if !ok || name == "" || result != "dependency" && result != "timeout" || r.Unit != "" && !table.FromServiceManager(r) {
		return event.Event{}, false
	}
	e := newUnitEvent(strings.TrimSuffix(unit, ".service"), name)
	e.Kind, e.Text = event.KindUnitStartFailed, "systemd does not start "+unit+": what it needs did not start"
	if result == "timeout" {
		e.Text = "systemd does not start " + unit + ": what it needs was too late"
	}
	return e, true
}

// mountFailed is a file system that systemd could not mount where a node needs one:
//
//	Dependency failed for /var/lib/docker.      (its device did not appear, or did not pass fsck; ≥ 249: "… for var-lib-docker.mount - /var/lib/docker.")
//	Failed to mount /var/lib/containerd.
//	var-lib-docker.mount: Mounting timed out. Terminating.      (219: "var-lib-docker.mount mounting timed out. Stopping.")
//
//	Failed to start File System Check on /dev/nvme1n1.
//	/dev/nvme1n1: UNEXPECTED INCONSISTENCY; RUN fsck MANUALLY.      (systemd-fsck)
//
// Where it could not, the start of the machine ends in a shell:
//
//	You are in emergency mode. After logging in, type "journalctl -xb" to view system logs, …
//	Reached target Emergency Mode.      (≥ 249: "Reached target emergency.target - Emergency Mode."; also: Started Emergency Shell.)
func mountFailed(r *event.Record) (event.Event, bool) {
	text := r.Message()
	if device := scan.After(text, "Failed to start File System Check on "); device != "" || strings.Contains(text, "INCONSISTENCY; RUN fsck") {
		if device == "" {
			device, _, _ = strings.Cut(text, ":")
		}
		device = strings.TrimRight(device, ".")
		return event.New(event.KindMountFailed, "the file system on "+device+" is damaged, and its check did not mend it", event.FieldDevice.Text(device)),
			!strings.Contains(device, " ") && (r.Unit == "" || table.FromServiceManager(r) || r.Unit == "systemd-fsck")
	}
	if strings.Contains(text, "mergency ") {
		return event.New(event.KindMountFailed, "the start of the machine has ended in emergency mode"),
			r.Unit == "" && strings.HasPrefix(text, "You are in ") || table.FromServiceManager(r)
	}
	target := scan.After(text, "Dependency failed for ", "Failed to mount ")
	if _, described, ok := strings.Cut(target, " - "); ok {
		target = described
	}
	if unit, rest, ok := strings.Cut(text, ".mount"); ok && target == "" && strings.Contains(strings.ToLower(rest), "mounting timed out") {
		target = "/" + strings.ReplaceAll(unit, "-", "/") // a dash of the path is escaped as \x2d
	}
	target = strings.TrimRight(strings.ReplaceAll(target, `\x2d`, "-"), ".")
	return event.New(event.KindMountFailed, "systemd could not mount "+target, event.FieldTarget.Text(target)),
		neededMount.MatchString(target) && (r.Unit == "" || table.FromServiceManager(r))
}

// neededMount are the directories without which a node does not work; mounts of pods are none of
// them.
var neededMount = regexp.MustCompile(`^(/|/var|/run|/var/(lib|log)|(/var/lib|/mnt|/data|/data/lib)?/(docker|containerd|containers|kubelet|rancher|etcd|crio|k0s))$`)

// deviceLate is a disk that did not appear in the time that systemd waits for it, 90 s by default:
//
//	Timed out waiting for device /dev/xvdb.      (≥ 249: "Timed out waiting for device dev-xvdb.device - /dev/xvdb.")
func deviceLate(r *event.Record) (event.Event, bool) {
	device := scan.After(r.Message(), "Timed out waiting for device ")
	if _, name, ok := strings.Cut(device, " - "); ok {
		device = name
	}
	device = strings.TrimRight(strings.TrimSpace(device), ".")
	return event.New(event.KindMountFailed, "the disk "+device+" did not appear in time", event.FieldDevice.Text(device)),
		device != "" && !strings.Contains(device, " ") && (r.Unit == "" || table.FromServiceManager(r))
}

// unitTimeout is such a unit that took too long:
//
//	≥ 220  containerd.service: start operation timed out. Terminating.      (≥ 240 also: Start)
//	       containerd.service: State 'stop-sigterm' timed out. Killing.
//	       systemd-journald.service: Watchdog timeout (limit 3min)!
//	       kubelet.service: Processes still around after SIGKILL. Ignoring.      (or "after final SIGKILL. Entering failed mode.")
//	219    docker.service stop-final-sigterm timed out. Killing.
//	       docker.service still around after SIGKILL. Ignoring.
//	       systemd-logind.service watchdog timeout (limit 1min)!
func unitTimeout(r *event.Record) (event.Event, bool) {
	e, rest, ok := splitUnitLine(r)
	low := strings.ToLower(rest)
	what := ""
	switch {
	case strings.HasPrefix(low, "watchdog timeout"):
		what = "watchdog"
	case strings.HasPrefix(low, "still around after"), strings.HasPrefix(low, "processes still around after"):
		what = "kill"
	case strings.HasPrefix(low, "state 'stop-"), strings.HasPrefix(low, "state 'final-"), strings.HasPrefix(low, "stop"):
		what = "stop"
	case strings.HasPrefix(low, "start"):
		what = "start"
	}
	limit, _ := scan.Between(rest, "(limit ", ")")
	e.Kind = event.KindUnitTimeout
	e.AddText(event.FieldWhat, what)
	e.AddText(event.FieldLimit, limit)
	if ok && what != "" {
		e.Text = e.Fields[0].Value.Text() + ": " + timeoutWords[what]
	}
	return e, ok && what != ""
}

// timeoutWords say what took too long.
var timeoutWords = map[string]string{
	"watchdog": "it gives no sign of life", "kill": "processes of it live on after SIGKILL", "stop": "it does not stop in time", "start": "it does not start in time",
}

// unitRestart is systemd that starts such a unit again:
//
//	219     kubelet.service holdoff time over, scheduling restart.
//	≥ 230   kubelet.service: Service hold-off time over, scheduling restart.
//	≥ 239   kubelet.service: Service RestartSec=10s expired, scheduling restart.      (until 242)
//	≥ 236   kubelet.service: Scheduled restart job, restart counter is at 5.
func unitRestart(r *event.Record) (event.Event, bool) {
	e, rest, ok := splitUnitLine(r)
	if !ok {
		return event.Event{}, false
	}
	e.Kind, e.Text = event.KindUnitRestart, "systemd starts "+e.Fields[0].Value.Text()+" again by itself"
	e.AddNumber(event.FieldRestarts, scan.Digits(scan.After(rest, "restart counter is at ")))
	return e, true
}

// unitGivenUp is systemd that starts such a unit no more:
//
//	219    start request repeated too quickly for kubelet.service
//	≥ 230  kubelet.service: Start request repeated too quickly.
func unitGivenUp(r *event.Record) (event.Event, bool) {
	e, _, ok := splitUnitLine(r)
	if unit, old := strings.CutPrefix(r.Message(), "start request repeated too quickly for "); old {
		unit = strings.TrimSuffix(scan.FirstWord(unit), ".service")
		name := daemon.OfService(unit)
		e, ok = newUnitEvent(unit, name), name != "" && (r.Unit == "" || table.FromServiceManager(r))
	}
	if !ok {
		return event.Event{}, false
	}
	e.Kind, e.Text = event.KindUnitGivenUp, "systemd starts "+e.Fields[0].Value.Text()+" no more: it was started too often"
	return e, true
}

// shutdown is systemd-logind's word on a machine that is told to end:
//
//	System is rebooting.           System is powering down.       Power key pressed short.
//	The system will reboot now!    The system will power off now!      (≥ 254)
//	Reached target System Reboot.      (of PID 1; ≥ 249 "Reached target reboot.target - System Reboot."; also: Power Off)
//	Sending SIGTERM to remaining processes...      (systemd-shutdown)
//	The system is going down for reboot NOW!      (to everybody who is logged in; also: poweroff, system halt)
//
// Or that of whoever tells it to:
//
//	WARNING Found /var/run/reboot-required, rebooting      (unattended-upgrades)
//	level=info msg="Running command: [… /bin/systemctl reboot] for node: node-1"      (kured since 1.4)
//	Started machine-config-daemon: Node will reboot into config rendered-worker-04636f9acf05.      (systemd, of OpenShift's)
func shutdown(r *event.Record) (event.Event, bool) {
	text := r.Message()
	what := ""
	switch {
	case strings.HasPrefix(text, "System is rebooting"), strings.HasPrefix(text, "The system will reboot "), strings.HasPrefix(text, "Started machine-config-daemon: "),
		strings.HasPrefix(text, "Reached target reboot.target"), strings.HasPrefix(text, "Reached target System Reboot"),
		strings.Contains(text, "The system is going down for reboot "),
		r.Unit == "" && scan.ContainsAny(text, []string{"reboot-required, rebooting", "reboot] for node: "}):
		what = "reboot"
	case strings.HasPrefix(text, "System is powering down"), strings.HasPrefix(text, "The system will power off "),
		strings.HasPrefix(text, "Reached target poweroff.target"), strings.HasPrefix(text, "Reached target System Power Off"),
		strings.Contains(text, "The system is going down for "):
		what = "poweroff"
	case strings.HasPrefix(text, "Power key pressed"), strings.HasPrefix(text, "Sending SIGTERM to remaining processes"):
		what = "shutdown"
	}
	e := event.New(event.KindShutdown, "the machine is told to end: "+what, event.FieldWhat.Text(what))
	return e, what != "" && (r.Unit == "" || daemon.Writer(r.Unit) == "systemd")
}

// clockChanged: Time has been changed (systemd[1], when the wall clock was set by anybody).
func clockChanged(r *event.Record) (event.Event, bool) {
	e := event.New(event.KindClockStep, "the clock was set by somebody")
	return e, strings.HasPrefix(r.Message(), "Time has been changed")
}

// runtimeJobTexts are the starts of what systemd writes about a job of a runtime's unit.
func runtimeJobTexts(verb string) []string {
	var all []string
	for _, r := range daemon.Runtimes {
		all = append(all, verb+r.Description, verb+r.Names[0]+".service")
	}
	return all
}

// runtimeJob is systemd's word about a job of a runtime's unit:
//
//	Stopping Docker Application Container Engine...                       (≤ 248)
//	Stopping docker.service - Docker Application Container Engine...      (≥ 249)
//
// What systemctl says of a unit that it could not start is of systemctl's own call, or there is no
// such unit; but for one that somebody has masked.
func runtimeJob(verb string, kind event.Kind, text string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		what, ok := strings.CutPrefix(r.Message(), verb)
		if !ok || r.Unit != "" && !table.FromServiceManager(r) {
			return event.Event{}, false
		}
		for _, known := range daemon.Runtimes {
			unit := known.Names[0] + ".service"
			if strings.HasPrefix(what, unit+": ") && !strings.HasSuffix(strings.TrimSpace(what), " is masked.") {
				return event.Event{}, false
			}
			if strings.HasPrefix(what, unit) || strings.HasPrefix(what, known.Description) {
				e := event.New(kind, text+unit)
				e.Fields = []event.Field{
					event.FieldUnit.Text(unit), event.FieldDaemon.Text(known.Component),
					event.FieldRuntime.Text(known.Component),
				}
				return e, true
			}
		}
		return event.Event{}, false
	}
}

// serviceJob is systemd's word about a job of another service:
//
//	Stopping kubelet: The Kubernetes Node Agent...    Started D-Bus System Message Bus.     (≤ 248)
//	Stopping kubelet.service - kubelet: The Kubernetes Node Agent...
//	Stopping Kubelet...      (Bottlerocket; OpenShift "Kubernetes Kubelet", k3s "Lightweight Kubernetes")
//	Stopping Service for snap application microk8s.daemon-kubelite...
//	Failed to start kubelet: The Kubernetes Node Agent.
//
// systemctl's "Failed to start kubelet.service: Connection timed out" is about systemctl.
func serviceJob(verb, name string, kind event.Kind, text string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		what, ok := strings.CutPrefix(r.Message(), verb)
		e := newUnitEvent(name, name)
		e.Kind, e.Text = kind, text+name+".service"
		return e, ok && !strings.HasPrefix(what, name+".service: ") && (r.Unit == "" || table.FromServiceManager(r))
	}
}

// snapKubelets and snapRuntimes are how systemd describes the units of MicroK8s and of Canonical's
// Kubernetes.
var (
	snapKubelets = []string{"snap application microk8s.daemon-kubelite", "snap application k8s.kubelet"}
	snapRuntimes = []string{"snap application microk8s.daemon-containerd", "snap application k8s.containerd"}
)

// neededServices are how systemd describes units that daemons of the node need.
var neededServices = []struct{ description, unit string }{
	{"D-Bus System Message Bus", "dbus"},
	{"dbus.service", "dbus"},
	{"dbus-broker.service", "dbus-broker"},
	{"Journal Service", "systemd-journald"},
	{"systemd-journald.service", "systemd-journald"},
	{"Login Service", "systemd-logind"},
	{"User Login Management", "systemd-logind"},
	{"systemd-logind.service", "systemd-logind"},
	{"nodeadm-co", "nodeadm-config"}, // a console cuts it: "Failed to start nodeadm-co.service - EKS Nodeadm Config."
	{"nodeadm-run.service", "nodeadm-run"},
}

// serviceNotStartedTexts are the starts of the lines that [serviceNotStarted] makes an event of.
func serviceNotStartedTexts() []string {
	var all []string
	for _, s := range neededServices {
		all = append(all, "Failed to start "+s.description)
	}
	return all
}

// serviceNotStarted is systemd's word about such a unit:
//
//	Failed to start D-Bus System Message Bus.
//	Failed to start systemd-logind.service - User Login Management.      (≥ 249; "Login Service" up to 247)
func serviceNotStarted(r *event.Record) (event.Event, bool) {
	what, ok := strings.CutPrefix(r.Message(), "Failed to start ")
	for _, s := range neededServices {
		if rest, known := strings.CutPrefix(what, s.description); ok && known && !strings.HasPrefix(rest, ": ") {
			e := newUnitEvent(s.unit, daemon.OfService(s.unit))
			e.Kind, e.Text = event.KindUnitStartFailed, "systemd could not start "+s.unit+".service"
			return e, r.Unit == "" || table.FromServiceManager(r)
		}
	}
	return event.Event{}, false
}

// kubeletJobTexts are the starts of what systemd writes about a job of the unit that holds a
// kubelet.
func kubeletJobTexts(verb string) []string {
	var all []string
	for _, name := range []string{
		daemon.Kubelet.Description, "kubelet.service", "Kubelet", "Kubernetes Kubelet", "Lightweight Kubernetes", "Rancher Kubernetes Engine", "k3s", "rke2-",
	} {
		all = append(all, verb+name)
	}
	return all
}

// dependencyFailed is a runtime or a kubelet that systemd does not start, because what its unit
// requires did not start:
//
//	Dependency failed for kubelet: The Kubernetes Node Agent.
//	Dependency failed for docker.service - Docker Application Container Engine.      (≥ 249)
func dependencyFailed(r *event.Record) (event.Event, bool) {
	what, ok := strings.CutPrefix(r.Message(), "Dependency failed for ")
	if !ok || r.Unit != "" && !table.FromServiceManager(r) {
		return event.Event{}, false
	}
	unit, name := "kubelet", "kubelet"
	for _, known := range daemon.Runtimes {
		if strings.HasPrefix(what, known.Description) || strings.HasPrefix(what, known.Names[0]+".service") {
			unit, name = known.Names[0], known.Component
		}
	}
	e := newUnitEvent(unit, name)
	e.Kind, e.Text = event.KindUnitStartFailed, "systemd does not start "+unit+".service: what it needs did not start"
	return e, true
}

// cannotRun are what systemd says of a unit whose program it cannot run.
var cannotRun = []string{
	": Failed at step ", ": Failed to execute ", ": Unable to locate executable ", ": Failed to locate executable ", ": Failed to load environment files", ": Failed to run 'start",
	": Failed to spawn 'start",
}

// startCommandFailed is systemctl on such a unit whose start it has waited for:
//
//	Job for containerd.service failed because a timeout was exceeded.      (also: because the control process exited with error code)
//	A dependency job for docker.service failed. See 'journalctl -xe' for details.
func startCommandFailed(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	unit, reason, ok := strings.Cut(scan.After(text, "Job for ", "A dependency job for "), ".service failed")
	name := daemon.OfService(unit)
	if !ok || name == "" || r.Unit != "" || !strings.HasPrefix(text, "Job for ") && !strings.HasPrefix(text, "A dependency job for ") {
		return event.Event{}, false
	}
	e := newUnitEvent(unit, name)
	reason, _, _ = strings.Cut(strings.TrimPrefix(reason, " because "), ".")
	e.Kind, e.Text = event.KindUnitStartFailed, "systemd could not start "+unit+".service: "+reason
	if reason == "" {
		e.Text = "systemd does not start " + unit + ".service: what it needs did not start"
	}
	return e, true
}

// programNotRun is a runtime, a kubelet or a service that they need whose program systemd cannot
// run; it says so in a child that was to become that program, and in its own name:
//
//	kubelet.service: Failed at step EXEC spawning /usr/bin/kubelet: No such file or directory      (219: "Failed at step EXEC spawning …" without its unit)
//	kubelet.service: Unable to locate executable '/usr/bin/kubelet': No such file or directory      (≥ 248; ≥ 254 as "(kubelet)[4242]")
//	nodeadm-config.service: Failed to locate executable /usr/bin/nodeadm: Permission denied      (252)
//	kubelet.service: Failed to execute command: Permission denied
//	kubelet.service: Failed to load environment files: No such file or directory
//	kubelet.service: Failed to run 'start' task: No such file or directory      (≥ 254 "Failed to spawn 'start' task")
func programNotRun(r *event.Record) (event.Event, bool) {
	e, reason, ok := splitUnitLine(r)
	if !ok {
		return event.Event{}, false
	}
	e.Kind, e.Text = event.KindUnitStartFailed, "systemd cannot run the program of "+e.Fields[0].Value.Text()+": "+reason
	return e, true
}

func reexecuted(r *event.Record) (event.Event, bool) {
	return event.New(event.KindReexec, "systemd re-executes itself"), strings.HasPrefix(r.Message(), "Reexecuting")
}
