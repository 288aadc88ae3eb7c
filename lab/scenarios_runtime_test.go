//go:build lab

package lab

import (
	"fmt"
	"os"
	"time"

	"github.com/stretchr/testify/require"
)

// runtimeScenarios end the runtime, or take from it what it needs.
var runtimeScenarios = []scenario{
	{
		name: "runtime-killed",
		hold: 20 * time.Second, long: 4 * time.Minute,
		ends: true,
		breaks: func(n *node) func() {
			n.startPod("web")
			n.configureRuntime("Restart=no")
			n.mustRun("pkill", "-KILL", "-x", runtimeName())
			return func() { n.mustRun("systemctl", "start", runtimeName()) }
		},
		wants: wants{
			root: "runtime-process-down", verdicts: []string{"confirmed"}, steps: []string{"died", "refused", "refused_collect"},
			evidence: []string{"status=9/KILL", "connection refused"}, headline: []string{"containerd is not running", "killed 9/KILL"},
		},
	},
	{
		name: "runtime-oom",
		hold: 15 * time.Second, long: 4 * time.Minute,
		ends: true,
		breaks: func(n *node) func() {
			n.startPod("web")
			n.configureRuntime("Restart=no")
			lift := n.limitMemory("containerd", 8<<20)
			for i := range 9 {
				n.requestPod(fmt.Sprint("late-", i))
			}
			n.waitFor(60*time.Second, "end of containerd", func() bool { _, err := n.runCommand("pgrep", "-x", "containerd"); return err != nil })
			return func() {
				lift()
				n.mustRun("systemctl", "start", "containerd")
			}
		},
		wants: wants{
			root: "runtime-process-down", verdicts: []string{"confirmed"}, steps: []string{"died", "oom_counted", "refused", "refused_collect"},
			evidence: []string{"memory.oom_control:oom_kill "}, headline: []string{"containerd is not running", "the OOM killer has killed"},
		},
	},
	{
		name: "runtime-crash-loop",
		hold: 30 * time.Second, long: 4 * time.Minute,
		ends: true,
		breaks: func(n *node) func() {
			n.startPod("web")
			database := n.hostPath("/var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db")
			n.mustRun("pkill", "-KILL", "-x", "containerd") // systemd waits for five seconds
			text, err := os.ReadFile(database)
			require.NoError(n.t, err)
			// The first two pages are its headers; a power cut has left the others as they never were.
			broken := append([]byte(nil), text...)
			for i := 2 * os.Getpagesize(); i < len(broken); i++ {
				broken[i] = 0xa5
			}
			require.NoError(n.t, os.WriteFile(database, broken, 0o644))
			return func() {
				n.mustRun("systemctl", "stop", "containerd")
				require.NoError(n.t, os.WriteFile(database, text, 0o644))
				n.mustRun("systemctl", "start", "containerd")
			}
		},
		wants: wants{
			root: "runtime-process-down", verdicts: []string{"confirmed"}, steps: []string{"died", "crash", "again", "refused"},
			evidence: []string{"panic: "}, headline: []string{"after it was started again", "invalid freelist page"},
		},
	},
	{
		name: "runtime-throttled",
		hold: 30 * time.Second, long: 4 * time.Minute,
		breaks: func(n *node) func() {
			n.startPod("web")
			lift := n.limitDaemon("containerd", "cpu", "cpu.cfs_quota_us", "1000") // of 100 000
			for range 60 {                                                         // that so many wait makes each answer late
				n.startCommand("sh", "-c", "while :; do /opt/lab/kubelet list; done")
			}
			return func() { n.mustRun("pkill", "-KILL", "-f", "^sh -c while"); lift() }
		},
		wants: wants{
			root: "runtime-cgroup-throttled", verdicts: proven, steps: []string{"throttled", "late|unanswered"}, // how late depends on the CPU
			evidence: []string{"cpu.stat:nr_throttled"}, headline: []string{"the cgroup of containerd has too little CPU time"},
		},
	},
	{
		name: "runtime-pids",
		hold: 20 * time.Second,
		ends: true, // a program of Go that can start no thread ends; it is luck whether a fork is refused before
		breaks: func(n *node) func() {
			n.startPod("web")
			lift := n.limitDaemon("containerd", "pids", "pids.max", "20")
			for i := range 6 {
				n.requestPod(fmt.Sprint("late-", i))
			}
			return lift
		},
		wants: wants{
			root: "pid-thread-exhaustion", verdicts: proven, steps: []string{"limited"}, evidence: []string{"containerd.service/pids.events:max"},
			headline: []string{"containerd.service is 20"}, perhaps: []string{"runtime-process-down"},
		},
	},
}
