package messages

import (
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// runcTable: what runc says in the logs of those who run it, or hold its library: 1.0-rc93 to 1.4.
var runcTable = table{
	component: "runc",
	relays:    []string{"kubelet", "containerd", "dockerd", "crio"},
	rows: []row{
		{[]string{"unable to freeze", "unable to thaw"}, freezeFailed},
	},
}

// freezeFailed: … caused: unable to freeze (runc ≥ 1.0-rc93, after trying for some seconds).
func freezeFailed(r *event.Record) (event.Event, bool) {
	e := event.New(event.KindFreezeFailed, "runc cannot freeze or thaw a cgroup")
	e.IDs.Container = scan.FindID(r.Raw)
	return e, true
}
