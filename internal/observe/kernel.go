package observe

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// kernelTable: Linux 3.10 to 6.x.
var kernelTable = table{
	component: "kernel",
	rows: []row{
		{[]string{"blocked for more than"}, hungTask},
		{[]string{"ovl_sync_fs"}, kernelFrame("ovl_sync_fs")},
		{[]string{"cleanup_mnt"}, kernelFrame("cleanup_mnt")},
		{[]string{"deactivate_locked_super"}, kernelFrame("deactivate_locked_super")},
		{[]string{"iterate_supers"}, kernelFrame("iterate_supers")},
		{[]string{"fork rejected by pids controller"}, forkRejected},
	},
}

// hungTask is the line of kernel/hung_task.c: INFO: task containerd-shim:1422 blocked for more than 120 seconds.
func hungTask(r *event.Record) (event.Event, bool) {
	name, ok := between(r.Raw, "INFO: task ", " blocked for more than ")
	i := strings.LastIndexByte(name, ':') // comm may hold colons
	if !ok || i < 0 {
		return event.Event{}, false
	}
	e := event.Event{Kind: KindHungTask, Text: "task " + name[:i] + " is stuck in the kernel"}
	e.IDs.PID, _ = strconv.Atoi(name[i+1:])
	e.Fields = []event.Field{str("comm", name[:i])}
	if n, err := strconv.Atoi(digits(after(r.Raw, "blocked for more than "))); err == nil {
		e.Fields = append(e.Fields, event.Field{Key: "seconds", Value: event.Int(int64(n))})
	}
	return e, true
}

// kernelFrame is a function on a stack that the kernel printed which tells a mechanism by itself.
func kernelFrame(symbol string) func(*event.Record) (event.Event, bool) {
	return func(*event.Record) (event.Event, bool) {
		return event.Event{Kind: KindKernelFrame, Fields: []event.Field{str("symbol", symbol)}, Text: "kernel stack in " + symbol}, true
	}
}

// forkRejected is the line of kernel/cgroup/pids.c, once per cgroup: cgroup: fork rejected by pids controller in /system.slice/docker.service.
func forkRejected(r *event.Record) (event.Event, bool) {
	cgroup, _, _ := strings.Cut(after(r.Raw, "fork rejected by pids controller in "), " ")
	pod := containsAny(cgroup, []string{"kubepods", "docker-", "/docker/", "cri-containerd", "libpod", "crio-"})
	return event.Event{
		Kind: KindForkRejected, Fields: []event.Field{str("cgroup", cgroup), truth("pod", pod)},
		Text: "the pids limit of " + cgroup + " is reached",
	}, strings.HasPrefix(cgroup, "/")
}
