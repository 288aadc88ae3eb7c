package story

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story/node"
)

// afterSign is what to look at where a sign of these kinds is all that is known.
type afterSign struct {
	kinds   []string // how their names begin
	source  string
	command string
}

const (
	readKubeletLog = "timeout 60 journalctl -u kubelet -o export --since '1 hour ago' > kubelet.export"
	readRuntimeLog = "timeout 60 journalctl -u containerd -u docker -u crio -o export --since '1 hour ago' > runtime.export"
	readDaemonLogs = "timeout 60 journalctl -u kubelet -u containerd -u docker -u crio -o export --since '1 hour ago' > daemons.export"
	readTalosLogs  = "timeout 60 talosctl -n NODE logs kubelet > kubelet.log; timeout 60 talosctl -n NODE logs cri > cri.log"
	readAllLogs    = "timeout 60 journalctl -o export --since '1 hour ago' > all.export"
)

// afterSigns are asked in this order: the whole log that the sign is a line of, where the input
// holds no more than a piece of it.
var afterSigns = []afterSign{
	{[]string{"kernel.", "thread.", "process", "device.", string(event.KindSyscall), string(event.KindShutdown)}, "kernel.log", readKernelLog},
	{[]string{"kernel.", "thread.", "process", string(event.KindSyscall)}, "processes", listThreads},
	{[]string{string(event.KindClientRefused)}, "certificates", listClients},
	{[]string{"kubelet.", "kubernetes.", string(event.KindNodeCondition), "goroutine.", "lock.", "csi.", "cni."}, "kubelet.log", readKubeletLog},
	{[]string{"cri.", "crio.", "containerd.", "dockerd.", "shim.", "runc.", "runtime.", "nri."}, "containerd.log or dockerd.log or crio.log", readRuntimeLog},
	{[]string{string(event.KindHealthFailed), string(event.KindDaemonAbsent)}, "kubelet.log or containerd.log", readDaemonLogs},
	{[]string{""}, "systemd.log", readAllLogs},
}

// addForSigns adds what shows more of the strongest sign.
func (n *nextChooser) addForSigns() {
	signs := listSigns(n.timeline, false)
	if len(signs) == 0 {
		n.addForWorkload()
		return
	}
	if signs[0].kind == event.KindKubeEvent && strings.HasPrefix(signs[0].Text, "FailedScheduling") {
		n.addMissing([]rules.Missing{{Source: "pending", Command: readPending, Note: wantPending}})
		return
	}
	if n.addBusyDaemon(signs[0].Evidence) {
		return
	}
	for _, a := range afterSigns {
		known := slices.ContainsFunc(a.kinds, func(start string) bool { return strings.HasPrefix(string(signs[0].kind), start) })
		if known && len(n.steps) < maxForSigns && !n.hasWhole(a.source) {
			m := rules.Missing{Source: a.source, Command: a.command}
			switch {
			case a.command == readDaemonLogs && n.talos:
				m.Command, m.Note = readTalosLogs, node.WantNode
			case a.command == listClients:
				m.Note = wantClients
			}
			n.addMissing([]rules.Missing{m})
		}
	}
}

// addForWorkload asks for what a container said that ends again and again. One whose image is not
// there has never run: its image is what to look at.
func (n *nextChooser) addForWorkload() {
	signs := listWorkload(n.timeline)
	ran := func(s Sign) bool {
		return s.kind != event.KindKubeEvent || strings.Contains(s.Text, "restarting failed")
	}
	switch {
	case len(signs) == 0:
	case slices.ContainsFunc(signs, ran):
		n.addMissing([]rules.Missing{{Source: "container.log", Command: readContainerLog, Note: wantContainerLog}})
	default:
		n.addMissing([]rules.Missing{{Source: "images", Command: readImages, Note: wantImages}})
	}
}

// addBusyDaemon asks for the goroutines of a daemon that takes a whole CPU, where a sign is about
// that. It says whether it did.
func (n *nextChooser) addBusyDaemon(sign []event.Quote) bool {
	for _, e := range n.timeline.Events {
		if e.Kind == event.KindProcess && isBusyDaemon(e) && len(sign) > 0 && e.Pos() == sign[0].Pos && n.addDumpOf(e.Component, wantRunning) {
			return true
		}
	}
	return false
}

// addAsleep asks for the goroutines of the first daemon of which somebody looked at a thread, and
// saw it asleep.
func (n *nextChooser) addAsleep() {
	for _, d := range dumps {
		if slices.ContainsFunc(n.timeline.Events, func(e *event.Event) bool { return e.Component == d.program && isAsleep(e) }) {
			n.addDumpOf(d.program, wantAsleep)
			return
		}
	}
}

// isAsleep says that a thread waits in a futex, as all threads of a Go program do that have nothing
// to run.
func isAsleep(e *event.Event) bool {
	switch e.Kind {
	case event.KindThreadSample:
		return e.FieldText(event.FieldName) == "futex"
	case event.KindProcess:
		return strings.HasPrefix(e.FieldText(event.FieldWchan), "futex_")
	}
	return false
}

// addDumpOf asks for the goroutines of a daemon. It is false for a program that has none.
func (n *nextChooser) addDumpOf(program, note string) bool {
	for _, d := range dumps {
		if d.program == program {
			n.addMissing([]rules.Missing{{Source: "goroutines." + program, Command: d.command, Note: note}})
			return true
		}
	}
	return false
}

// maxForSigns bounds what is asked for where nothing but a sign is known.
const maxForSigns = 2

// addPlugins asks for the processes of the network plugins where a call failed in one: the runtime
// has only passed on what the plugin said.
func (n *nextChooser) addPlugins() {
	failed := false
	for _, e := range n.timeline.Events {
		if e.FieldText(event.FieldRestarting) == "true" { // while the node began
			continue
		}
		failed = failed || e.Kind == event.KindCRIError && e.FieldText(event.FieldNetwork) == "true"
		says := e.Kind == event.KindCRIError || e.Kind == event.KindCRICall || e.Kind == event.KindNetworkDaemon && e.FieldText(event.FieldWhat) == "daemon"
		if e.FieldText(event.FieldReason) == "cni-locked" { // its daemon has no part in that
			continue
		}
		if plugin := e.FieldText(event.FieldPlugin); plugin != "" && says {
			n.addMissing([]rules.Missing{{Source: "cni.log", Command: fmt.Sprintf(readPluginLog, daemonOf(plugin)), Note: wantPluginLog}})
			return
		}
	}
	if failed && !n.listSources()["processes"] {
		n.addMissing([]rules.Missing{{Source: "processes", Command: listPlugins, Note: wantPlugins}})
	}
}

// afterCounts are what shows more of a number that somebody counted: of what the many are.
var afterCounts = []struct{ fact, source, command, note string }{
	{
		"counted.zombies", "processes", "timeout 10 ps -eo stat,ppid,comm | awk '$1 ~ /^Z/ {print $2, $3}' | sort | uniq -c | sort -n | tail",
		"the second column is the parent, which does not collect them: a shim, a pod's first process or PID 1",
	},
	{"counted.threads", "processes", "timeout 10 ps -eo nlwp,pid,comm --sort=nlwp | tail; sysctl kernel.pid_max kernel.threads-max", "the first column is how many threads a process has"},
	{"counted.processes", "processes", "timeout 10 ps -eo ppid,comm | sort | uniq -c | sort -n | tail; sysctl kernel.pid_max", "the second column is the parent of so many"},
	{
		"counted.inotify", "node", "timeout 30 find /proc/[0-9]*/fd -lname 'anon_inode:inotify' 2>/dev/null | cut -d/ -f3 | sort | uniq -c | sort -n | tail; sysctl fs.inotify.max_user_instances fs.inotify.max_user_watches",
		"the second column is the process that has so many",
	},
	{"counted.mounts", "mounts", "cut -d' ' -f5 /proc/1/mountinfo | cut -d/ -f1-6 | sed 's/[0-9a-f-]\\{12,\\}/x/g' | sort | uniq -c | sort -n | tail", "it shows below which directory they are"},
	{"counted.interfaces", "node", "ls /sys/class/net | sed 's/[0-9a-f]\\{6,\\}.*//; s/[0-9]\\+$//' | sort | uniq -c | sort -n | tail; timeout 20 crictl pods -q | wc -l", "there is one for each pod, and a few more"},
	{"counted.shims", "processes", "timeout 20 crictl pods -q | wc -l; timeout 10 pgrep -c containerd-shim", "there is one shim for each pod, of docker one for each container: what is above is left over"},
}

// addForCounts asks what the many are that somebody counted.
func (n *nextChooser) addForCounts() {
	for _, e := range n.timeline.Events {
		for _, a := range afterCounts {
			if e.Kind == event.KindFact && e.FieldText(event.FieldName) == a.fact && node.Shortage(e) != "" {
				n.addMissing([]rules.Missing{{Source: a.source, Command: a.command, Note: a.note}})
				return
			}
		}
	}
}

// addDriver asks for the kernel's log where a container did not start because of the NVIDIA driver.
func (n *nextChooser) addDriver() {
	failed := eventSort{kind: event.KindRuncFailed, fields: map[event.Key]string{event.FieldReason: "driver"}}
	if n.hasAny(failed) && !n.hasWhole("kernel.log") {
		n.addMissing([]rules.Missing{{Source: "kernel.log", Command: readKernelLog, Note: wantXid}})
	}
}

// addGracePeriod asks for the kernel's log where a thread waits for the end of a grace period of
// RCU, and no line says who holds it up.
func (n *nextChooser) addGracePeriod() {
	waits := slices.ContainsFunc(n.timeline.Events, func(e *event.Event) bool {
		return e.Kind == event.KindThreadSample && e.FieldText(event.FieldWaits) == "rcu"
	})
	said := slices.ContainsFunc(n.timeline.Events, func(e *event.Event) bool { return e.Kind == event.KindRCUStall })
	if waits && !said && !n.hasWhole("kernel.log") {
		n.addMissing([]rules.Missing{{Source: "kernel.log", Command: readKernelLog, Note: wantGracePeriod}})
	}
}

// addLastWords asks for the log of a runtime that ended by itself, where the input holds a piece of
// it at most.
func (n *nextChooser) addLastWords() {
	for _, e := range n.timeline.Events {
		program, unit := e.FieldText(event.FieldRuntime), strings.TrimSuffix(e.FieldText(event.FieldUnit), ".service")
		how := e.FieldText(event.FieldHow)
		switch e.Kind {
		case event.KindCrash:
			program, unit, how = e.Component, unitOf(e.Component), e.FieldText(event.FieldReason)
		case event.KindUnitExit:
		default:
			continue
		}
		if unit == "" || !node.IsRuntime(program) || killedFromOutside.MatchString(how) || n.hasWhole(program+".log") {
			continue
		}
		n.addMissing([]rules.Missing{{Source: program + ".log", Command: fmt.Sprintf(readUnitLog, unit, unit), Note: wantLastWords}})
		return
	}
}

// killedFromOutside is how a process ends that has no last words.
var killedFromOutside = regexp.MustCompile(`oom-kill|KILL|TERM|signal: (killed|terminated)`)

// unitOf is the unit of a runtime.
func unitOf(program string) string {
	if program == "dockerd" {
		return "docker"
	}
	return program
}

// addDisks asks which file systems lie on a device that fails, where nothing shows it. Below
// overlayfs lies the runtime's own.
func (n *nextChooser) addDisks() {
	if n.talos || n.listSources()["mounts"] {
		return
	}
	for _, e := range n.timeline.Events {
		if device := e.FieldText(event.FieldDevice); device != "" && device != "overlay" && (e.Kind == event.KindBlockError || e.Kind == event.KindReadOnly) {
			n.addMissing([]rules.Missing{{Source: "mounts", Command: listDisks, Note: fmt.Sprintf(wantDisk, device)}})
			return
		}
	}
}

// pluginDaemons are the containers of the daemons of network plugins, by how the plugins' names
// begin.
var pluginDaemons = []struct{ plugin, container string }{
	{"calico", "calico-node"},
	{"cilium", "cilium-agent"},
	{"aws-cni", "aws-node"},
	{"vpc-cni", "aws-node"},
	{"flannel", "flannel"},
	{"multus", "multus|ovnkube"},
	{"ovn", "ovnkube"},
	{"azure", "cns"},
	{"antrea", "antrea"},
	{"weave", "weave"},
	{"terway", "terway"},
	{"kube-ovn", "cni-server"},
	{"kube-router", "kube-router"},
}

// daemonOf is what the daemon's container is called of a network plugin; of one that is not known,
// all that are.
func daemonOf(plugin string) string {
	var all []string
	for _, d := range pluginDaemons {
		if strings.HasPrefix(plugin, d.plugin) {
			return d.container
		}
		all = append(all, d.container)
	}
	return strings.Join(slices.Compact(all), "|")
}

// hasMuteClient says that a client of the runtime got no answer in its time.
func (n *nextChooser) hasMuteClient() bool {
	return n.hasAny(eventSort{kind: event.KindCommandFailed, fields: pastDeadline})
}

// hasOpenStop says that a container or a sandbox is to stop and does not: the runtime, its shim or
// a process that the kernel holds is in the way, as where calls are late.
func (n *nextChooser) hasOpenStop() bool {
	return slices.ContainsFunc(n.timeline.Events, func(e *event.Event) bool {
		return e.Kind == event.KindCRICall && e.Open && strings.HasPrefix(e.FieldText(event.FieldMethod), "Stop") && !isRoutine(e)
	})
}

// hasUnheldLock says that a goroutine of a runtime waits for a lock of which the dump shows no
// holder: a whole dump may.
func (n *nextChooser) hasUnheldLock() bool {
	return slices.ContainsFunc(n.timeline.Events, func(e *event.Event) bool { return e.Kind == event.KindLockQueue && node.IsRuntime(e.Component) })
}

// hasWhole says that the input holds a source, or one of several, as its writer wrote it, or that
// plegdiag collect has taken what there was of it.
func (n *nextChooser) hasWhole(source string) bool {
	collected, sources := n.listSources()["collect"], strings.Split(source, " or ")
	for i := range n.timeline.Coverage {
		c := &n.timeline.Coverage[i]
		if slices.Contains(sources, c.Source) && (c.IsDense() || collected || !strings.HasSuffix(source, ".log")) {
			return true
		}
	}
	return slices.ContainsFunc(n.timeline.Events, func(e *event.Event) bool { return e.Source == source && !strings.HasSuffix(source, ".log") })
}
