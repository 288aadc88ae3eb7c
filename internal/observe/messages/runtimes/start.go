package runtimes

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/crash"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// versionField is the version in the first line of a daemon that writes logrus:
//
//	info starting containerd  revision=… version=1.6.20
//	info Docker daemon  commit=… graphdriver(s)=overlay2 version=20.10.24
func versionField(r *event.Record) string {
	v := r.Value("version")
	return scan.Version(v)
}

// bootEdge is one end of a runtime's start, from its first line to the one that it is ready; a
// start that hangs has the first alone. The pid tells one start from the next.
func bootEdge(daemon string, edge event.Edge) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		e := event.New(event.KindDaemonBoot, daemon+" begins to work", event.FieldDaemon.Text(daemon))
		e.Span = event.Span{Key: "boot/" + daemon + "/" + strconv.Itoa(r.PID), Edge: edge}
		return e, true
	}
}

// lastError is the error with which a daemon ends, as its main function prints it to stderr
// (containerd: cmd/containerd/main.go; moby: cmd/dockerd/docker.go):
//
//	containerd: failed to load TOML: /etc/containerd/config.toml: (10, 4): unexpected token unclosed table key
//	failed to start daemon: error initializing graphdriver: driver not supported
//
// Only a journal tells whose it is.
func lastError(mark string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		reason, ok := strings.CutPrefix(r.Message(), mark)
		e := crash.Event(daemon.Writer(r.Unit), "ends", reason)
		return e, ok && r.Unit != ""
	}
}
