//go:build lab

package lab

import (
	"strings"
	"time"
)

// startScenarios are daemons that do not get through their start or their reload, or that somebody
// holds while they work.
var startScenarios = []scenario{
	{
		name: "generator-hangs", full: true,
		hold: 45 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			const generator = "/etc/systemd/system-generators/inventory-generator"
			n.mustRun("mkdir", "-p", "/etc/systemd/system-generators")
			n.writeFile(generator, "#!/bin/sh\nexec sleep 500\n")
			n.mustRun("chmod", "755", generator)
			n.startCommand("sh", "-c", "i=0; while [ $i -lt 100 ]; do systemctl daemon-reload; sleep 1; i=$((i+1)); done")
			time.Sleep(3 * time.Second)
			n.pinContainers(web.Container)
			n.requestPod("late")
			return func() {
				n.mustRun("rm", generator)
				_, _ = n.runCommand("pkill", "-f", "^sleep 500")
			}
		},
		wants: wants{root: "systemd-busy-or-unresponsive", links: []string{"cri-status-lock-running-update-dbus", "runc-stuck-dbus"}, verdicts: proven, headline: []string{"waits for its own child", "sleep ("}},
	},
	{
		name: "init-traced", full: true,
		hold: 40 * time.Second,
		breaks: func(n *node) func() {
			web := n.startPod("web")
			n.startCommand("strace", "-p", "1", "-o", "/dev/null")
			n.waitFor(10*time.Second, "tracer", func() bool { return n.isTraced("1") })
			time.Sleep(time.Second)
			n.mustRun("pkill", "-STOP", "-x", "strace")
			n.pinContainers(web.Container)
			return func() { n.mustRun("pkill", "-KILL", "-x", "strace") }
		},
		wants: wants{root: "systemd-busy-or-unresponsive", links: []string{"cri-status-lock-running-update-dbus", "runc-stuck-dbus"}, verdicts: proven, headline: []string{"held by a tracer", "strace"}},
	},
	{
		name: "kubelet-frozen", full: true,
		hold: 45 * time.Second,
		breaks: func(n *node) func() {
			n.startPod("web")
			return n.limitDaemon("kubelet", "freezer", "freezer.state", "FROZEN")
		},
		wants: wants{root: "process-stopped", verdicts: proven, headline: []string{"kubelet (", "frozen by its cgroup"}},
	},
	{
		name: "database-locked", full: true,
		hold: 40 * time.Second,
		ends: true,
		breaks: func(n *node) func() {
			n.startPod("web")
			n.writeFile("/root/second.toml", "version = 2\nstate = \"/run/second\"\n[grpc]\n  address = \"/run/second/containerd.sock\"\n[ttrpc]\n  address = \"/run/second/containerd.sock.ttrpc\"\n")
			n.mustRun("systemctl", "stop", "containerd")
			n.startCommand("/usr/bin/containerd", "--config", "/root/second.toml")
			n.waitFor(30*time.Second, "second containerd", func() bool {
				_, err := n.runCommand("ctr", "-a", "/run/second/containerd.sock", "version")
				return err == nil
			})
			second := strings.TrimSpace(n.mustRun("pgrep", "-f", "^/usr/bin/containerd --config"))
			n.mustRun("systemctl", "start", "--no-block", "containerd")
			return func() { n.mustRun("kill", second) }
		},
		wants: wants{root: "runtime-start-hangs", verdicts: proven, headline: []string{"has not got through its start", "the lock of its database"}},
	},
	{
		name: "start-pre-hangs", full: true,
		hold: 40 * time.Second,
		ends: true,
		breaks: func(n *node) func() {
			n.startPod("web")
			n.configureRuntime("ExecStartPre=/bin/sh -c 'exec sleep 700'")
			n.mustRun("systemctl", "restart", "--no-block", "containerd")
			return func() {
				n.mustRun("rm", "/run/systemd/system/containerd.service.d/lab.conf")
				n.mustRun("systemctl", "daemon-reload")
				_, _ = n.runCommand("pkill", "-f", "^sleep 700")
			}
		},
		wants: wants{root: "runtime-start-hangs", links: []string{"runtime-process-down"}, verdicts: proven, headline: []string{"an ExecStartPre of containerd.service does not end"}},
	},
	{
		name: "config-broken", full: true,
		hold: 40 * time.Second,
		ends: true,
		breaks: func(n *node) func() {
			n.startPod("web")
			const config = "/etc/containerd/config.toml"
			text := n.mustRun("cat", config)
			n.writeFile(config, text+"\n[plugins.\"unclosed\"\n")
			n.startCommand("systemctl", "restart", "containerd")
			time.Sleep(8 * time.Second)
			return func() {
				n.writeFile(config, text)
				n.mustRun("sh", "-c", "systemctl reset-failed containerd; systemctl restart containerd")
			}
		},
		wants: wants{root: "runtime-process-down", verdicts: proven, headline: []string{"containerd ends: failed to load TOML"}},
	},
}
