package story

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
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
	readAllLogs    = "timeout 60 journalctl -o export --since '1 hour ago' > all.export"
)

// afterSigns are asked in this order: the whole log that the sign is a line of, where the input holds
// no more than a piece of it.
var afterSigns = []afterSign{
	{[]string{"kernel.", "thread.", "process", "device.", string(event.KindSyscall), string(event.KindShutdown)}, "kernel.log", readKernelLog},
	{[]string{"kernel.", "thread.", "process", string(event.KindSyscall)}, "processes", listThreads},
	{[]string{"kubelet.", "kubernetes.", string(event.KindNodeCondition), "goroutine.", "lock."}, "kubelet.log", readKubeletLog},
	{[]string{"cri.", "containerd.", "dockerd.", "shim.", "runc.", "runtime.", "nri."}, "containerd.log", readRuntimeLog},
	{[]string{""}, "systemd.log", readAllLogs},
}

// addForSigns adds what shows more of the strongest sign.
func (n *nextChooser) addForSigns() {
	signs := listSigns(n.timeline, false)
	if len(signs) == 0 {
		return
	}
	for _, a := range afterSigns {
		known := slices.ContainsFunc(a.kinds, func(start string) bool { return strings.HasPrefix(string(signs[0].kind), start) })
		if known && len(n.steps) < maxForSigns && !n.hasWhole(a.source) {
			n.addMissing([]rules.Missing{{Source: a.source, Command: a.command}})
		}
	}
}

// maxForSigns bounds what is asked for where nothing but a sign is known.
const maxForSigns = 2

// addPlugins asks for the processes of the network plugins where a call failed in one: the runtime has
// only passed on what the plugin said.
func (n *nextChooser) addPlugins() {
	failed := eventSort{kind: event.KindCRIError, fields: map[event.Key]string{event.FieldNetwork: "true"}}
	has := slices.ContainsFunc(n.timeline.Events, func(e *event.Event) bool { return failed.fits(e) })
	if has && !n.listSources()["processes"] {
		n.addMissing([]rules.Missing{{Source: "processes", Command: listPlugins, Note: wantPlugins}})
	}
}

// hasWhole says that the input holds a source as its writer wrote it, or that plegdiag collect has
// taken what there was of it.
func (n *nextChooser) hasWhole(source string) bool {
	collected := n.listSources()["collect"]
	for i := range n.timeline.Coverage {
		c := &n.timeline.Coverage[i]
		if c.Source == source && (c.IsDense() || collected || !strings.HasSuffix(source, ".log")) {
			return true
		}
	}
	return slices.ContainsFunc(n.timeline.Events, func(e *event.Event) bool { return e.Source == source && !strings.HasSuffix(source, ".log") })
}
