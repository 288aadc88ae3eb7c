package refused

import (
	"cmp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/messages/repeated"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/observe/storage"
)

// Limits is what a daemon, or somebody at a prompt, prints when a disk is full or no descriptor is
// left. The words are Go's, glibc's or the kernel's.
var Limits = table.Table{
	Component: "node",
	Relays:    []string{"kubelet", "containerd", "dockerd", "crio", "systemd", "cni", "dbus", "kernel"}, // Talos' own process writes into the kernel's log
	Rows: []table.Row{
		{[]string{"no space left on device", "No space left on device"}, storage.RefusedWrite(event.KindNoSpace, "no space or no inode is left for ", "no space left on device")},
		{[]string{"no space left on device", "No space left on device"}, mountRefused},
		{[]string{"read-only file system", "Read-only file system"}, storage.RefusedWrite(event.KindWriteRefused, "the file system is read-only at ", "read-only file system")},
		{[]string{": input/output error", ": Input/output error", ": structure needs cleaning", ": Structure needs cleaning"}, storage.FailedCall},
		{[]string{"too many open files", "inotify_add_watch", "Too many open files", "Failed to add inotify watch ", "Failed to add watch on /", "tail: inotify resources exhausted"}, descriptorLimit},
		{[]string{"ransport endpoint is not connected", "tale NFS file handle", "tale file handle", ": host is down", ": Host is down", ": resource temporarily unavailable"}, mountDead},
		{[]string{" free data blocks which is less than minimum required "}, thinPoolLow},
		{[]string{"peration with the given ", "is already in progress"}, volumePending},
	},
}

// descriptorLimit is a daemon at a limit of what it may hold open or watch. In a call of the CRI
// that a runtime refuses, or a kubelet repeats, it is the runtime that opens its own files:
//
//	inotify_init: too many open files                                      fs.inotify.max_user_instances
//	failed to create fsnotify watcher: too many open files                 the same (the kubelet, to kubectl logs -f)
//	Failed to allocate directory watch: Too many open files                the same (systemctl)
//	tail: inotify resources exhausted                                      fs.inotify.max_user_watches (coreutils)
//	inotify_add_watch /sys/fs/cgroup/…: no space left on device            fs.inotify.max_user_watches
//	a.service: Failed to add inotify watch descriptor for control group /system.slice/a.service: No space left on device      the same (systemd)
//	a.path: Failed to add watch on /run/a: No space left on device         the same (systemd)
//	accept4: too many open files; retrying in 1s                           LimitNOFILE
//	open /proc/1234/stat: too many open files in system                    fs.file-max
//	OCI runtime exec failed: fork/exec /usr/bin/runc: too many open files  LimitNOFILE of the runtime that starts it
//	error ExecSync for "<id>" failed      error="failed to exec in container: failed to create exec …: open /run/containerd/…-stderr: too many open files"
//
// At its start containerd loads its plugins, that of the CRI among them. It goes on without one
// that fails; `ctr plugin ls -d` shows the error later:
//
//	failed to create CRI service: failed to create cni conf monitor for default: failed to create fsnotify watcher: too many open files
func descriptorLimit(r *event.Record) (event.Event, bool) {
	text := strings.TrimLeft(r.Raw, " \t")
	before, _, many := strings.Cut(text, ": too many open files")
	file := before[strings.LastIndex(before, " ")+1:]
	own := many && (isOfRuntime(file) || startsRuntime(before))
	inCall := strings.Contains(text, "rpc error: code")
	caller := inCall && table.ErrorOf(r) != "" && !strings.Contains(text, " from runtime service failed") // the client has told it
	if caller || !own && scan.ContainsAny(text, insideContainer) {
		return event.Event{}, false
	}
	many = many || strings.Contains(text, "oo many open files")
	of, what := "", ""
	switch {
	case scan.ContainsAny(text, []string{"inotify_add_watch", "Failed to add inotify watch ", "Failed to add watch on /"}) && strings.Contains(text, "o space left on device"):
		of, what = "inotify watches", "fs.inotify.max_user_watches"
	case strings.HasPrefix(text, "tail: inotify resources exhausted"):
		of, what = "inotify watches", "fs.inotify.max_user_watches"
	case many && scan.ContainsAny(text, []string{"inotify", "fsnotify", "atcher", "directory watch"}):
		of, what = "inotify instances", "fs.inotify.max_user_instances"
	case many:
		of, what = "open files", "the limit of open files"
	default:
		return event.Event{}, false
	}
	path, _, _ := strings.Cut(scan.After(text, "inotify_add_watch ", "fork/exec ", " open ", "open "), ": ")
	if isOfRuntime(file) {
		path = file
	}
	if strings.ContainsAny(path, " \"") || !strings.HasPrefix(path, "/") {
		path = ""
	}
	e := event.New(event.KindDescriptorLimit, "no "+of+" are left ("+what+")", event.FieldOf.Text(of), event.FieldPath.Text(path))
	if method := scan.FirstWord(strings.TrimLeft(r.Message(), `"`)); slices.Contains(repeated.CRIMethods, method) {
		e.AddFields(event.FieldMethod.Text(method))
	}
	switch {
	case strings.Contains(text, "failed to create CRI service: "):
		e.Component = "containerd"
		e.AddFields(event.FieldStage.Text("CRI plugin"))
	case r.Unit != "": // its line says who writes
	case strings.HasSuffix(before, "failed to create fsnotify watcher"):
		e.Component = "kubelet"
	case strings.HasPrefix(text, "Failed to allocate directory watch"):
		e.Component = "systemctl"
	case strings.HasPrefix(text, "tail: "):
		e.Component = "tail"
	}
	if inCall && table.WriterOf(r.Unit) == "kubelet" { // it repeats what the runtime has answered
		e.Source, e.Component = "kubelet.log", "node"
		for _, name := range []string{"containerd", "docker", "crio"} {
			if strings.Contains(text, name) {
				e.Component = cmp.Or(daemon.Writer(name), name)
				break
			}
		}
	}
	return e, true
}

// startsRuntime says that a call was to start runc or a shim, which runs on the node for every
// container.
func startsRuntime(call string) bool {
	_, program, ok := strings.Cut(call, "fork/exec ")
	name := program[strings.LastIndexByte(program, '/')+1:]
	return ok && (name == "runc" || name == "crun" || strings.HasPrefix(name, "containerd-shim"))
}

// isOfRuntime says that a file is one that a runtime, and nobody in a container, opens.
func isOfRuntime(file string) bool {
	file = strings.TrimPrefix(file, "/var")
	return !strings.Contains(file, "/rootfs/") && slices.ContainsFunc(runtimeDirs, func(dir string) bool { return strings.HasPrefix(file, dir) })
}

// runtimeDirs are the directories of runtimes, without /var.
var runtimeDirs = []string{"/run/containerd/", "/lib/containerd/", "/run/docker/", "/lib/docker/", "/run/crio/", "/lib/containers/", "/run/containers/"}
