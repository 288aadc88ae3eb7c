//go:build lab

package lab

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// podScenarios are what pods do, and what is done for them.
var podScenarios = []scenario{
	{
		name: "busy",
		hold: 40 * time.Second,
		prep: func(n *node) {
			if n.member == nil { // a member has one
				n.useNetworkPlugin("work")
			}
		},
		breaks: func(n *node) func() {
			n.startProbedPods(30, "/bin/busybox", "true")
			if n.member != nil {
				n.waitFor(30*time.Second, "ready pods", func() bool { return n.member.countPods(n, "True") == 30 })
			}
			if *debianContainerd { // thirty pods that start at once on two CPUs keep its shims waiting for seconds
				n.from = time.Now()
			}
			n.startCommand("sh", "-c", "timeout 90 sh -c 'while :; do :; done' & timeout 90 dd if=/dev/zero of=/var/log/load bs=64k count=4000 oflag=dsync")
			return func() {}
		},
		wants: wants{state: "healthy"},
	},
	{
		name: "cni-hangs",
		hold: 40 * time.Second, long: 90 * time.Second, // after two minutes containerd ends the plugin
		prep: func(n *node) { n.useNetworkPlugin("work") },
		breaks: func(n *node) func() {
			n.startPodWith("before", podOptions{network: true})
			n.useNetworkPlugin("hang")
			n.requestPodWith("after", podOptions{network: true})
			// containerd takes in the new configuration when no plugin runs by the old one
			return func() { n.configureNetwork("work"); n.mustRun("pkill", "-KILL", "-x", "lab-cni") }
		},
		wants: wants{state: "signs", headline: []string{"containerd: waiting for a CNI plugin to end"}},
	},
	{
		name: "cni-crashes",
		hold: 20 * time.Second,
		prep: func(n *node) { n.useNetworkPlugin("work") },
		breaks: func(n *node) func() {
			n.startPodWith("before", podOptions{network: true})
			n.useNetworkPlugin("crash")
			for i := range 3 {
				n.requestPodWith(fmt.Sprint("after-", i), podOptions{network: true})
			}
			return func() { n.useNetworkPlugin("work") }
		},
		wants: wants{
			root: "network-plugin-fails", role: "contributing", verdicts: []string{"possible", "likely"},
			evidence: []string{"panic: assignment to entry in nil map"}, headline: []string{"fails (3×), in lab-cni", "panic: assignment to entry in nil map"},
		},
	},
	{
		name: "probes-pile-up",
		hold: 75 * time.Second, long: 4 * time.Minute,
		breaks: func(n *node) func() {
			// What the probe leaves behind has its output open, so that the runtime reads on.
			count := 12
			if n.member != nil { // a real kubelet leaves the call after 2 min 5 s: half of them have waited for one
				count = 28
			}
			n.startProbedPods(count, "/bin/busybox", "sh", "-c", "busybox${IFS}sleep${IFS}1000&busybox${IFS}sleep${IFS}1000")
			return func() { _, _ = n.runCommand("pkill", "-f", "^busybox sleep 1000") }
		},
		wants: wants{
			root: "exec-probe-leak", role: "contributing", verdicts: proven, steps: []string{"commands"},
			evidence: []string{"(*criService).execInContainer("}, headline: []string{"commands of exec probes do not end"},
		},
	},
}

// startProbedPods starts pods, some at a time, and gives each an exec probe. No word of the command
// has a blank.
func (n *node) startProbedPods(count int, command ...string) {
	n.t.Helper()
	if n.member != nil {
		n.member.startProbedPods(n, count, command)
		return
	}
	var mu sync.Mutex
	var lines []string
	var group sync.WaitGroup
	slots := make(chan struct{}, 3)
	for i := range count {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p := n.startPod(fmt.Sprint("probed-", i))
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, p.Container+" "+strings.Join(command, " ")+"\n")
		})
	}
	group.Wait()
	n.writeFile("/var/lib/kubelet/lab-probes", strings.Join(lines, ""))
}
