package runtimes

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/crash"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Supervisor is what k3s (0.5 to 1.35) and rke2 say, which run containerd, and rke2 the kubelet, as
// children of theirs: systemd knows nothing of these.
var Supervisor = table.Table{
	Component: "kubelet",
	Rows: []table.Row{
		{[]string{"Waiting for containerd startup"}, childStarts},
		{[]string{"ontainerd is now running"}, childStarts},
		{[]string{"ontainerd exited: ", "Kubelet exited: ", "containerd: exit status ", "containerd: signal: "}, childEnds},
	},
}

// childStarts is one end of the start of k3s' own containerd. It asks every second:
//
//	info Waiting for containerd startup: rpc error: code = Unavailable desc = connection error: … dial unix /run/k3s/containerd/containerd.sock: connect: no such file or directory
//	info containerd is now running      (before 1.27 with a capital letter)
func childStarts(r *event.Record) (event.Event, bool) {
	text := r.Message()
	e := event.New(event.KindDaemonBoot, "k3s waits for its containerd to be ready", event.FieldDaemon.Text("containerd"))
	e.Span = event.Span{Key: "boot/containerd/child", State: true, Edge: event.Begin}
	if strings.HasSuffix(text, "ontainerd is now running") {
		e.Span.Edge = event.End
	}
	e.Component, e.Source = "containerd", "kubelet.log"
	return e, e.Span.Edge == event.End || strings.HasPrefix(text, "Waiting for containerd startup: ")
}

// childEnds is the end of such a child, which nobody had asked for:
//
//	error containerd exited: signal: killed
//	fatal Shutdown request received: containerd exited: exit status 1      (k3s ≥ 1.33, which ends with it)
//	fatal containerd: exit status 1      (k3s ≤ 0.9)
//	error Kubelet exited: exit status 255      (rke2, which starts it again)
func childEnds(r *event.Record) (event.Event, bool) {
	child, reason := "containerd", scan.After(r.Message(), "ontainerd exited: ", "containerd: ")
	if after, ok := strings.CutPrefix(r.Message(), "Kubelet exited: "); ok {
		child, reason = "kubelet", after
	}
	e := crash.Event(child, "ends", reason)
	e.Component, e.Source = child, "kubelet.log"
	asked := reason == "signal: terminated"
	return e, !asked && (strings.HasPrefix(reason, "exit status ") || strings.HasPrefix(reason, "signal: "))
}
