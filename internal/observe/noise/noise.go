// Package noise knows log lines that frighten readers and mean nothing for relist, and why each is
// harmless.
package noise

import (
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Sort is a sort of harmless lines. A line is of it when it holds one of Literals, all of Also and
// none of But.
type Sort struct {
	Name                string
	Component           string // that prints it, with or without its name before it; empty for any that is known
	Literals, Also, But []string
	Why                 string        // it is harmless
	Until               time.Duration // a row of such lines that lasts longer is no noise; 0 for any length
}

// Sorts are all of them; nobody may change the slice.
var Sorts = []Sort{
	{
		Name: event.StatusPending, Until: time.Minute,
		Literals: []string{"container runtime status check may not have completed yet"},
		But:      []string{"pleg was last seen active"}, Why: "normal while a kubelet starts",
	},
	{
		Name: "PLEG: Write status", Literals: []string{"PLEG: Write status"}, But: []string{"err="},
		Why: "a slip of kubelet 1.21 and 1.22: logged as an error, and none",
	},
	{
		Name: "systemd test slice", Literals: []string{"_systemd_test_default.slice"},
		Why: "an old runc probes systemd at each start; a hint for used-up serials, and no failure",
	},
	{Name: "cgroup deleted", Literals: []string{"cgroups: cgroup deleted"}, Why: "metrics were read while the container ended"},
	{
		Name:     "shim disconnected",
		Literals: []string{"shim disconnected", "cleaning up dead shim", "shim reaped"},
		Why:      "what a container's end looks like",
	},
	{
		Name: "event ignored", Literals: []string{"ignoring event"}, Also: []string{"topic="},
		Why: "dockerd on events that it needs not",
	},
	{
		Name:     "left-over process",
		Literals: []string{"Found left-over process ", "This usually indicates unclean termination of a previous run"},
		Why:      "systemd starts a unit of which processes live on; of a runtime these are its shims, as they should",
	},
	{Name: "closed fifo", Literals: []string{"reading from a closed fifo"}, Why: "a client of logs or exec went away"},
	{
		Name: "TLS certificate", Literals: []string{"remote error: tls: bad certificate", "remote error: tls: unknown certificate", "remote error: tls: expired certificate"},
		Also: []string{"TLS handshake error from"},
		Why:  "somebody connected and did not accept the certificate that was shown: who it is says why",
	},
	{
		Name: "TLS handshake", Literals: []string{"TLS handshake error from"},
		But: []string{"remote error: tls: bad certificate", "remote error: tls: unknown certificate", "remote error: tls: expired certificate"},
		Why: "somebody connected and left: a scanner, a health check, an API server that reconnects",
	},
	{
		Name: "orphaned pod", Literals: []string{"rphaned pod ", "volume paths are still present on disk"}, Also: []string{"found, but"},
		Why: "the kubelet finds the directory of a pod that is gone, and leaves it: nothing waits for that",
	},
	{
		Name: "stats of a cgroup", Also: []string{"failed to get c"}, // cgroup stats, container info
		Literals: []string{"Failed to get system container stats"},
		Why:      "cAdvisor has no numbers of a cgroup of systemd: only metrics lack them",
	},
	{
		Name: "stats of a container", Literals: []string{"Partial failure issuing cadvisor.ContainerInfoV2"},
		Also: []string{"unable to find data in memory cache"}, Why: "cAdvisor has no numbers of it yet: only metrics lack them",
	},
	{
		Name: "cgroup without a container", Also: []string{"Failed to "}, But: []string{"code = Unavailable", "deadline"},
		Literals: []string{": Error finding container ", "can't find the container with id", "failed to identify the read-write layer ID"},
		Why:      "a cgroup is left of a container that the runtime no longer knows, and cAdvisor asks for it: the runtime has answered",
	},
	{
		Name: "cgroup without a container", Also: []string{"not found"}, But: []string{": Error finding container ", "can't find the container", "code = Unavailable", "deadline"},
		Literals: []string{"Failed to create existing container", "Failed to process watch event"},
		Why:      "a cgroup is left of a container that the runtime no longer knows, and cAdvisor asks for it: the runtime has answered",
	},
	{
		Name: "flush of a loop device", Component: "kernel", Literals: []string{"I/O error, dev loop"}, Also: []string{" phys_seg 0 "},
		Why: "a request without data to an image file that was just taken away, as of a snap that is refreshed",
	},
	{
		Name: "disk map", Literals: []string{"Failed to get disk map"},
		Why: "cAdvisor has no number of a disk, as of one path of NVMe's multipath: only metrics lack it",
	},
	{
		Name: "too many DNS servers", Literals: []string{"Nameserver limits were exceeded", "Nameserver limits exceeded"},
		Why: "pods get the first three servers of the node's resolv.conf",
	},
	{
		Name: "already deleted", Literals: []string{"failed to delete task"}, Also: []string{"not found"},
		But: []string{"deadline"}, Why: "it was gone already",
	},
	{
		Name: "monitor without its tools", Component: "node", Also: []string{"health_checker.go:", "] command "},
		Literals: []string{": executable file not found in $PATH", ": no such file or directory", "--property=InactiveExitTimestamp failed: exit status 1"},
		Why:      "node-problem-detector cannot run crictl or systemctl where it is: that it says unhealthy tells nothing",
	},
	{
		Name: "slow interrupt", Component: "kernel", Literals: []string{"hrtimer: interrupt took ", "perf: interrupt took too long"},
		Why: "an interrupt took microseconds or some milliseconds too long; the kernel sets its own pace by it",
	},
	{
		Name: "unstable clock source", Component: "kernel", Literals: []string{"clocksource: timekeeping watchdog", "Marking TSC unstable"},
		Why: "the kernel goes over to a slower clock; a pause of the virtual machine makes it do so, too",
	},
	{
		Name: "nested cgroup", Component: "kernel", Literals: []string{"created nested cgroup for controller"}, Why: "a notice of kernels up to 4.x about cgroup version 1",
	},
}

// CountLine adds another line to an event of noise. Row is how long such lines have followed each
// other without a pause.
func CountLine(e *event.Event, unbroken time.Duration) {
	for i := range e.Fields {
		if e.Fields[i].Key == event.FieldCount {
			n, _ := e.Fields[i].Value.Number()
			e.Fields[i].Value = event.Int(int64(n) + 1)
		}
	}
	if unbroken < time.Minute { // no sort may go on for less
		return
	}
	name, _ := e.Get(event.FieldName)
	for i := range Sorts {
		if n := &Sorts[i]; n.Name == name.Text() && n.Until > 0 && unbroken > n.Until {
			lasted, _ := e.Get(event.FieldLasted)
			if was, _ := lasted.Number(); unbroken.Seconds() > was {
				e.Fields = slices.DeleteFunc(
					slices.Clone(e.Fields), func(f event.Field) bool { return f.Key == event.FieldLasted },
				)
				e.AddFields(event.FieldLasted.Duration(unbroken))
			}
		}
	}
}
