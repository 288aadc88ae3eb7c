//go:build lab

package lab

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

var onCRIO = flag.Bool("crio", false, "with -cluster: nodes have CRI-O instead of containerd")

// buildCRIO builds CRI-O, its program that copies images, and pinns, which is C and makes the
// namespaces of a pod. No C library is linked: the openpgp of Go checks signatures, and what is
// left out is not used here (btrfs, device-mapper, seccomp).
func (r *run) buildCRIO() (string, error) {
	const crio = "github.com/cri-o/cri-o"
	all := []module{{
		dir:      "crio",
		packages: []string{"-tags=containers_image_openpgp,containers_image_ostree_stub,exclude_graphdriver_btrfs,exclude_graphdriver_devicemapper", crio + "/cmd/crio", crio + "/test/copyimg"},
		flags:    "-s -w",
	}}
	return r.buildModules("crio", all, func(dir string) error {
		list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", crio)
		list.Dir = filepath.Join("cluster", "crio")
		source, err := list.Output()
		if err != nil {
			return fmt.Errorf("go list -m %s: %w", crio, err)
		}
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(source)), "pinns/src/*.c"))
		if err != nil {
			return err
		}
		cc := exec.Command("cc", append([]string{"-std=c99", "-Os", "-static", "-s", "-o", filepath.Join(dir, "pinns")}, files...)...)
		if out, err := cc.CombinedOutput(); err != nil {
			return fmt.Errorf("cc pinns: %w: %s", err, lastOutput(out))
		}
		return nil
	})
}

// runtimeName is the name of the runtime's program and unit.
func runtimeName() string {
	if *onCRIO {
		return "crio"
	}
	return "containerd"
}

// runtimeSocket is where the runtime speaks CRI.
func runtimeSocket() string { return "/run/" + runtimeName() + "/" + runtimeName() + ".sock" }

// crioFiles are a node's files for CRI-O. An empty unit is one that cannot be started: a node has
// one runtime.
var crioFiles = map[string]string{
	"/etc/systemd/system/containerd.service": "",
	"/etc/systemd/system/crio.service": `[Unit]
Description=Container Runtime Interface for OCI (CRI-O)
Before=kubelet.service
[Service]
Type=notify
Environment=GOTRACEBACK=crash
ExecStart=/usr/bin/crio
ExecReload=/bin/kill -s HUP $MAINPID
TasksMax=infinity
OOMScoreAdjust=-999
TimeoutStartSec=0
Restart=on-failure
RestartSec=10
`,
	"/etc/crio/crio.conf.d/10-lab.conf": `[crio]
storage_driver = "overlay"
[crio.runtime]
default_runtime = "runc"
cgroup_manager = "systemd"
[crio.runtime.runtimes.runc]
runtime_path = "/usr/local/bin/lab-runc"
runtime_root = "/run/runc"
monitor_path = "/usr/bin/conmon"
monitor_cgroup = "system.slice"
[crio.image]
pause_image = "registry.k8s.io/pause:3.6"
[crio.network]
plugin_dirs = ["/opt/cni/bin"]
`,
	"/etc/containers/policy.json": `{"default": [{"type": "insecureAcceptAnything"}]}
`,
	// What restrict_oom_score_adj is to containerd: a machine without CAP_SYS_RESOURCE cannot lower
	// the score, and runc fails. The program of the process is then runc's own.
	"/usr/local/bin/lab-runc": `#!/bin/sh
for last in "$@"; do
	if [ "$before" = --bundle ] && [ -w "$last/config.json" ]; then
		sed -i 's/"oomScoreAdj": *-[0-9]*/"oomScoreAdj": 0/' "$last/config.json"
	fi
	before=$last
done
exec /usr/sbin/runc "$@"
`,
}

// startCRIO gives the booted node the images that CRI-O looks for, and starts it.
func (m *member) startCRIO(n *node) {
	n.t.Helper()
	n.mustRun("copyimg", "--root=/var/lib/containers/storage", "--runroot=/run/containers/storage", "--storage-driver=overlay",
		"--signature-policy=/etc/containers/policy.json", "--image-name="+busyboxNames[0], "--add-name="+busyboxNames[1], "--import-from=oci-archive:/opt/lab/image.tar:"+busyboxNames[0])
	n.waitFor(60*time.Second, "CRI-O", func() bool {
		_, err := n.runCommand("systemctl", "start", "crio")
		if err != nil {
			n.t.Log(err)
		}
		return err == nil
	})
	_, err := os.Stat(n.hostPath(runtimeSocket()))
	require.NoError(n.t, err)
}

// scenariosOfMembers are the scenarios that run on nodes of the cluster.
func scenariosOfMembers() map[string]onMember {
	if *onCRIO {
		return crioScenarios
	}
	return clusterScenarios
}

// crioOnly are the scenarios of what CRI-O alone does.
var crioOnly = []scenario{
	{
		// A container ends while PID 1 is stopped, and its pod gets a new one: CRI-O asks systemd for
		// the scope of conmon. The kubelet asks for the container again and again.
		name: "restart-stall",
		hold: 80 * time.Second,
		breaks: func(n *node) func() {
			n.startPod("web")
			pid := n.findPID("^/bin/busybox sh -c trap")
			n.signalInit(syscall.SIGSTOP)
			n.mustRun("kill", "-KILL", pid)
			return func() { n.signalInit(syscall.SIGCONT) }
		},
	},
	{
		// CRI-O's own unit has a watchdog of a minute: systemd aborts a CRI-O that is stopped.
		name: "runtime-watchdog",
		hold: 50 * time.Second,
		ends: true,
		breaks: func(n *node) func() {
			n.startPod("web")
			n.configureRuntime("WatchdogSec=15s\nRestart=no")
			n.mustRun("systemctl", "restart", "crio")
			time.Sleep(10 * time.Second) // this restart is not the cause
			n.mustRun("pkill", "-STOP", "-x", "crio")
			return func() { n.mustRun("systemctl", "start", "crio") }
		},
	},
}

// crioScenarios are those that run on nodes with CRI-O.
var crioScenarios = map[string]onMember{
	"healthy": {ready: true},
	"busy":    {ready: true},
	// What relist asks needs no lock of CRI-O, so the node stays ready. cAdvisor's question waits.
	"dbus-stall": {ready: true, wants: wants{
		root: "systemd-busy-or-unresponsive", verdicts: proven, links: []string{"crio-locks", "runc-stuck-dbus"},
		steps:    []string{"stopped", "mute", "runc", "holder", "waiters"},
		evidence: []string{`"state":"T"`, `"answered":false`, "update --resources -", "(*runtimeOCI).UpdateContainer(", "(*Container).Pid("},
	}},
	"restart-stall": {ready: true, kubelet: "runtimeRequestTimeout: 15s\n", wants: wants{
		root: "systemd-busy-or-unresponsive", verdicts: proven,
		steps:    []string{"stopped", "mute", "crio_waits", "creates"},
		evidence: []string{`"state":"T"`, `"answered":false`, "dbus/v5.(*Object).CallWithContext(", "not yet finished. Currently at stage container runtime creation"},
	}},
	"stopped-runtime": {wants: wants{
		root: "runtime-process-stopped", verdicts: []string{"confirmed"},
		steps: []string{"sampled", "mute"}, evidence: []string{`"comm":"crio","state":"T"`, `"answered":false`, "PLEG is not healthy"},
		headline: []string{"crio is stopped"},
	}},
	"runtime-watchdog": {ready: true, wants: wants{
		root: "runtime-process-down", verdicts: proven, steps: []string{"watchdog", "died", "refused", "refused_collect"},
		evidence: []string{"Watchdog timeout (limit 15s)!", "status=6/ABRT"}, headline: []string{"systemd's watchdog ended crio.service"},
	}},
	"runtime-killed": {wants: wants{
		root: "runtime-process-down", verdicts: []string{"confirmed"}, steps: []string{"died", "refused", "refused_collect"},
		evidence: []string{"status=9/KILL", "PLEG is not healthy"}, headline: []string{"crio is not running", "killed 9/KILL"},
	}},
}
