package runtimes

import (
	"strconv"
	"strings"
	"time"

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

// booted is the end of containerd's start, which says how long that took:
//
//	containerd successfully booted in 200.302117s
func booted(r *event.Record) (event.Event, bool) {
	e, ok := bootEdge("containerd", event.End)(r)
	if took, err := time.ParseDuration(scan.FirstWord(scan.After(r.Message(), " booted in "))); err == nil {
		e.AddFields(event.FieldTook.Duration(took))
	}
	return e, ok
}

// toldToEnd is a daemon that ends as it was told to. Containerd's CRI service says the same when a
// part of it has failed; its fatal line follows then.
func toldToEnd(daemon string) func(*event.Record) (event.Event, bool) {
	return func(*event.Record) (event.Event, bool) {
		return event.New(event.KindDaemonStop, daemon+" shuts down", event.FieldDaemon.Text(daemon)), true
	}
}

// toldByDocker: info Processing signal 'terminated' (1.8 to 28). Other signals do not end dockerd.
func toldByDocker(r *event.Record) (event.Event, bool) {
	e, _ := toldToEnd("dockerd")(r)
	signal := strings.Trim(scan.After(r.Message(), "Processing signal "), "'")
	return e, signal == "terminated" || signal == "interrupt"
}

// lastError is the error with which a daemon ends, as its main function prints it to stderr
// (containerd: cmd/containerd/main.go; moby: cmd/dockerd/docker.go):
//
//	containerd: failed to load TOML: /etc/containerd/config.toml: (10, 4): unexpected token unclosed table key
//	containerd: failed to get listener for main endpoint: failed to create unix socket on /run/…/containerd.sock: is a directory
//	failed to start daemon: error initializing graphdriver: driver not supported
//	level=fatal msg="can't create unix socket /var/run/docker.sock: is a directory"      (later failed to load listeners: can't …)
//
// Only a journal tells whose it is, unless they are words of one daemon alone.
func lastError(mark string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		reason, ok := strings.CutPrefix(r.Message(), mark)
		e, known := endOf(r, reason)
		return e, ok && known
	}
}

// cannotListen is dockerd that ends because it cannot make its socket; the whole text is the
// reason.
func cannotListen(r *event.Record) (event.Event, bool) {
	text := r.Message()
	e, known := endOf(r, text)
	return e, known && strings.HasPrefix(strings.TrimPrefix(text, "failed to load listeners: "), "can't create unix socket ")
}

// endOf is the end of the daemon that a line is of; known is false where the line is of none.
func endOf(r *event.Record, reason string) (e event.Event, known bool) {
	program := daemon.Writer(r.Unit)
	if r.Unit == "" {
		program = writerOfEnd(r.Message())
	}
	return crash.Event(program, "ends", reason), program != ""
}

// writerOfEnd is the daemon whose error alone text can be (moby: daemon/daemon.go,
// cmd/dockerd/daemon.go); empty where it may be another's, or be told to somebody who starts a
// second dockerd by hand, or one without being root:
//
//	failed to start daemon: error initializing graphdriver: overlay2: unknown option overlay2.override_kernel_check: overlay2
//	failed to start daemon: Error initializing network controller: error obtaining controller instance: …
//	failed to start daemon: failed to dial "/run/containerd/containerd.sock": … context deadline exceeded
//	failed to start daemon: Devices cgroup isn't mounted
//	Error starting daemon: error initializing graphdriver: driver not supported      (up to 18.06)
//	unable to configure the Docker daemon with file /etc/docker/daemon.json: invalid character '"' after object key:value pair
//	failed to start containerd: timeout waiting for containerd to start
//	containerd: failed to load TOML: …
//	containerd: drop-in config version 4 higher than root config version 2
func writerOfEnd(text string) string {
	switch {
	case strings.HasPrefix(text, "containerd: ") && scan.ContainsAny(text, []string{"failed to load TOML: ", " config version ", "failed to get listener for "}):
		return "containerd"
	case strings.Contains(text, "must be root") || strings.Contains(strings.ToLower(text), "permission denied"):
		return ""
	case scan.ContainsAny(text, []string{
		"rror initializing graphdriver: ", "rror initializing network controller: ", "containerd.sock", "Devices cgroup isn't mounted",
		"error while opening volume store metadata database: ", "unable to configure the Docker daemon with file ", "timeout waiting for containerd to start", "can't create unix socket /var/run/docker.sock", "can't create unix socket /run/docker.sock",
	}):
		return "dockerd"
	}
	return ""
}
