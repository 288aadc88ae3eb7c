package messages

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// daemonTable: what any of the node's daemons prints when the kernel refuses it
// something. The words are Go's, glibc's or the kernel's, not the daemon's.
var daemonTable = table{
	rows: []row{
		{[]string{"fork/exec ", "pthread_create failed", "create new OS thread", "-thread limit"}, forkFailed},
		{[]string{"mkdir /sys/fs/cgroup/"}, cgroupFailed},
	},
}

// forkFailed is EAGAIN of clone(2): a limit of processes or threads is reached.
//
//	fork/exec /usr/bin/containerd-shim-runc-v2: resource temporarily unavailable    (os/exec)
//	runtime/cgo: pthread_create failed: Resource temporarily unavailable            (runtime/cgo; the process aborts)
//	runtime: failed to create new OS thread (have 12 already; errno=11)             (runtime/os_linux.go; it aborts)
//	runtime: program exceeds 10000-thread limit                                     (runtime/proc.go; it aborts)
func forkFailed(r *event.Record) (event.Event, bool) {
	e := event.Event{Kind: event.KindForkFailed}
	if isAbort(strings.TrimLeft(r.Message(), " ")) {
		e.Fields = []event.Field{event.FieldFatal.Bool(true)}
		e.Text = "no thread can be made, the process aborts"
		return e, true
	}
	inside := scan.ContainsAny(r.Raw, insideContainer)
	if strings.Contains(r.Raw, "pthread_create failed: Resource temporarily unavailable") {
		e.Fields = []event.Field{event.FieldFatal.Bool(false)}
		e.Text = "a child could make no thread"
		return e, !inside
	}
	program, rest, ok := strings.Cut(scan.After(r.Raw, "fork/exec "), ": ")
	if !ok || strings.ContainsAny(program, " \t\"") || !strings.HasPrefix(rest, "resource temporarily unavailable") ||
		inside && !scan.ContainsAny(program, []string{"runc", "containerd-shim", "/proc/self/exe", "crun"}) {
		return event.Event{}, false
	}
	e.Fields = []event.Field{event.FieldProgram.Text(program), event.FieldFatal.Bool(false)}
	e.Text = "cannot start " + program + ": no more processes may be made"
	return e, true
}

// isAbort says that a Go program ends because it can make no thread; the line begins with the
// reason.
func isAbort(text string) bool {
	return strings.HasPrefix(text, "runtime/cgo: pthread_create failed: Resource temporarily unavailable") ||
		strings.HasPrefix(text, "runtime: failed to create new OS thread") && strings.Contains(text, "errno=11") ||
		strings.HasPrefix(text, "runtime: program exceeds ") && strings.Contains(text, "-thread limit")
}

// insideContainer are words of errors about a process that was started in a container: there the
// pod's own limits hold, and nobody else meets them. The runtime that starts it still runs on the
// node.
var insideContainer = []string{
	"exec failed", "ExecSync", "failed to exec in container", "robe for ", "robe failed", "robe errored", "hook failed",
	"container_linux.go", "process_linux.go", "starting container process", "container init",
}

// cgroupFailed is the kernel refusing a cgroup:
//
//	mkdir /sys/fs/cgroup/memory/kubepods/besteffort/pod98211fca-…: cannot allocate memory
//	mkdir /sys/fs/cgroup/memory/kubepods.slice/…: no space left on device
func cgroupFailed(r *event.Record) (event.Event, bool) {
	path, rest, ok := strings.Cut(scan.After(r.Raw, "mkdir /sys/fs/cgroup/"), ": ")
	controller, _, named := strings.Cut(path, "/")
	e := event.Event{Kind: event.KindCgroupFailed}
	for _, reason := range []string{"cannot allocate memory", "no space left on device"} {
		if ok && named && !strings.ContainsAny(path, " \"") && strings.HasPrefix(rest, reason) {
			e.Fields = []event.Field{event.FieldController.Text(controller), event.FieldError.Text(reason)}
			e.Text = "no " + controller + " cgroup can be made: " + reason
			return e, true
		}
	}
	return event.Event{}, false
}
