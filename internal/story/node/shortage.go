package node

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// shortages are the facts by which the node itself says that it is short of memory, CPU time or
// disk: from a number on, or up to one, that no node that works shows.
var shortages = []struct {
	fact    string
	atLeast float64
	atMost  float64 // where it is not 0, less is worse
	says    string  // {value} is what the fact says
}{
	{"pressure.memory.full.avg300", 20, 0, "over five minutes all tasks waited for memory {value} % of the time"},
	{"pressure.io.full.avg300", 40, 0, "over five minutes all tasks waited for the disk {value} % of the time"},
	{"pressure.cpu.some.avg300", 70, 0, "over five minutes some task waited for a CPU {value} % of the time"},
	{"memory.available-percent", 0, 2, "hardly any memory is available ({value} %)"},
	{"memory.swap-traffic", 1000, 0, "{value} KiB a second go out to swap, and as much comes back"},
	{"node.uninterruptible", 20, 0, "{value} tasks sleep in the kernel in a way that nothing interrupts"},
	{"cpu.iowait-percent", 60, 0, "the CPUs wait for the disk {value} % of the time"},
	{"cpu.steal-percent", 20, 0, "the host gives the CPUs of this machine to others {value} % of the time (steal)"},
	{"counted.inotify", 4000, 0, "{value} instances of inotify exist, of a limit that root's processes share (fs.inotify.max_user_instances)"},
	{"counted.zombies", 200, 0, "{value} processes have ended and nobody collects them (zombies)"},
	{"listed.zombies", 5, 0, "{value} of the listed processes have ended and nobody collects them (zombies)"},
	{"parent.zombies", 5, 0, "{value} of its processes that have ended (zombies)"},
	{"node.zombies", 100, 0, "{value} processes have ended and nobody collects them (zombies)"},
	{"memory.slab-cache", 1, 0, "the kernel keeps memory for its own objects and does not give it back: {value} GiB"},
	{"memory.unreclaimable-percent", 25, 0, "the kernel keeps {value} % of the memory for its own objects and does not give it back"},
	{"counted.shims", 300, 0, "{value} shims run, one for each pod, of which a node has some hundred at most"},
	{"counted.threads", 30000, 0, "{value} threads exist, of as many as kernel.pid_max (32768 by its old default) and kernel.threads-max allow"},
	{"counted.processes", 20000, 0, "{value} processes exist"},
	{"counted.process-threads", 2000, 0, "one process has {value} threads: each waits in the kernel; Go itself ends at 10000"},
	{"counted.open-files", 20000, 0, "one process has {value} files open"},
	{"counted.mounts", 5000, 0, "{value} file systems are mounted; systemd, the kubelet and runc read the whole list again and again"},
	{"counted.interfaces", 2000, 0, "{value} network interfaces exist, of which each pod has one; the kernel walks them under one lock"},
	{"counted.alike", 1000, 0, "{value} processes have the same command line"},
	{"counted.addresses", 200, 0, "{value} addresses of pods are taken on this node, of 254 that a subnet of its usual size has"},
	{"counted.cgroups", 10000, 0, "{value} cgroups exist"},
	{"counted.containers", 1000, 0, "{value} containers or pods are listed, also such as have ended; relist reads all of them"},
	{"systemd.units", 10000, 0, "systemd holds {value} units, and walks them all for each change"},
	{"node.load", 200, 0, "the load average is {value}: so many tasks run, or wait in the kernel"},
}

// Shortage is the sentence about a fact that tells of a shortage; empty for every other event. Of
// the load, which three numbers tell, the last counts: that over 15 minutes.
func Shortage(e *event.Event) string {
	if e.Kind != event.KindFact {
		return ""
	}
	name, value := e.FieldText(event.FieldName), e.FieldText(event.FieldValue)
	if name == "clock.synchronized" && value == "no" {
		return "the node's clock follows no server of time"
	}
	if name == "kernel.memory-cgroups" && value == "disabled" {
		return "the kernel has no cgroups for memory (cgroup_disable=memory, or not enabled at boot), without which no kubelet starts"
	}
	for _, s := range shortages {
		if s.fact != name {
			continue
		}
		n, err := strconv.ParseFloat(value[strings.LastIndexByte(value, ' ')+1:], 64)
		if err == nil && (s.atMost > 0 && n <= s.atMost || s.atLeast > 0 && n >= s.atLeast) {
			return strings.ReplaceAll(s.says, "{value}", value)
		}
	}
	return ""
}
