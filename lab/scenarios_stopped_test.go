//go:build lab

package lab

import (
	"syscall"
	"time"
)

// stoppedScenarios are processes beside the runtime that stop, and nobody refuses what is sent to
// them.
var stoppedScenarios = []scenario{
	{
		name: "shim-stopped",
		hold: 30 * time.Second, long: 100 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			n.startPod("other")
			shim := n.shimPID(web.Sandbox)
			n.mustRun("kill", "-STOP", shim)
			n.pinContainers(web.Container)
			return func() { n.mustRun("kill", "-CONT", shim) }
		},
		wants: wants{
			root: "process-stopped", verdicts: proven, links: []string{"cri-status-lock-held"},
			steps: []string{"sampled", "unanswered"}, evidence: []string{`"comm":"containerd-shim","state":"T"`, `"answered":false`},
			headline: []string{"containerd-shim (", "is stopped by a signal"},
		},
	},
	{
		name: "dbus-stopped",
		hold: 40 * time.Second, long: 100 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			n.mustRun("pkill", "-STOP", "-x", "dbus-daemon")
			n.pinContainers(web.Container)
			return func() { n.mustRun("pkill", "-CONT", "-x", "dbus-daemon") }
		},
		wants: wants{
			root: "process-stopped", verdicts: proven, links: []string{"cri-status-lock-running-update-dbus"},
			steps: []string{"sampled", "bus_mute", "runc", "waiters"}, evidence: []string{`"comm":"dbus-daemon","state":"T"`, "(*statusStorage).UpdateSync("},
			headline: []string{"dbus-daemon (", "is stopped by a signal"},
		},
	},
	{
		name: "two-in-a-row",
		hold: 40 * time.Second,
		ends: true,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			// The first: containerd is killed, and systemd starts it again after forty seconds.
			n.configureRuntime("RestartSec=40")
			n.mustRun("pkill", "-KILL", "-x", "containerd")
			n.waitFor(90*time.Second, "restarted containerd", func() bool { _, err := n.runCommand("ctr", "version"); return err == nil })
			time.Sleep(15 * time.Second)
			// The second lasts.
			n.signalInit(syscall.SIGSTOP)
			n.pinContainers(web.Container)
			return func() { n.signalInit(syscall.SIGCONT) }
		},
		wants: wants{
			root: "systemd-busy-or-unresponsive", verdicts: proven, links: []string{"cri-status-lock-running-update-dbus", "runc-stuck-dbus"}, earlier: "runtime-process-down",
			steps: []string{"stopped", "mute", "runc", "holder", "waiters"}, headline: []string{"systemd (PID 1) is stopped by a signal"},
		},
	},
}
