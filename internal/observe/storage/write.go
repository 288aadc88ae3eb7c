package storage

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// writingCalls are the names that Go gives the calls that need space or an inode.
var writingCalls = []string{
	"open", "write", "mkdir", "create", "creat", "rename", "symlink", "link", "sync", "fsync", "close", "truncate", "fallocate", "mknod", "copy_file_range",
	"data",                                  // of logind: Failed to save session data
	"directory", "writing", "file", "touch", // of mkdir, cp and touch: cannot create directory, error writing, cannot create regular file
}

// RefusedWrite makes events of ENOSPC or EROFS of a call on a file, with the words of Go's os
// package, and of the programs that are used at a prompt:
//
//	open /run/containerd/io.containerd.runtime.v2.task/k8s.io/<id>/config.json: no space left on device
//	write /var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db: read-only file system
//	symlink ../config.toml /run/x: no space left on device
//	mkdir: cannot create directory ‘/run/x’: No space left on device
//	bash: cannot create temp file for here-document: No space left on device
//
// A mount, a cgroup and a watch have limits of their own that say the same.
func RefusedWrite(kind event.Kind, says, reason string) func(r *event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		text := strings.ReplaceAll(r.Raw, `\"`, `"`)
		before, _, ok := strings.Cut(text, ": "+reason)
		if !ok {
			before, _, ok = strings.Cut(text, ": "+strings.ToUpper(reason[:1])+reason[1:])
		}
		path, call := "/tmp", "open"
		if !strings.HasSuffix(before, "cannot create temp file for here-document") {
			path, call = cutFailedWrite(before)
		}
		e := event.New(kind, says+path, event.FieldPath.Text(path), event.FieldCall.Text(call), event.FieldError.Text(reason))
		e.IDs.Container = scan.FindID(path)
		ofPod := strings.Contains(path, "/rootfs/") || // there a volume of the pod's may be what is full
			kind == event.KindWriteRefused && strings.Contains(path, "/volumes/") // a pod may mount it so
		return e, ok && call != "" && !ofPod
	}
}

// FailedCall makes an event of EIO, or of EUCLEAN, of a call on a file, with the words of Go's os
// package or of glibc:
//
//	lstat /run/containerd/io.containerd.runtime.v2.task/system/etcd/rootfs: input/output error
//	open /var/lib/kubelet/pods/<uid>/etc-hosts: input/output error
//	lstat /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/7: structure needs cleaning
//
// A volume of a pod, and what is below the root of a container, may lie anywhere.
func FailedCall(r *event.Record) (event.Event, bool) {
	text := strings.ReplaceAll(r.Raw, `\"`, `"`)
	before, ok, says := "", false, "an input/output error at "
	for _, reason := range [...]string{": input/output error", ": Input/output error", ": structure needs cleaning", ": Structure needs cleaning"} {
		if !ok {
			before, _, ok = strings.Cut(text, reason)
			if ok && strings.HasSuffix(reason, "cleaning") {
				says = "the file system is damaged at "
			}
		}
	}
	words := strings.FieldsFunc(before[max(0, len(before)-maxCall):], func(c rune) bool { return strings.ContainsRune(" :\"'‘’=(", c) })
	if !ok || len(words) < 2 {
		return event.Event{}, false
	}
	path, call := words[len(words)-1], words[len(words)-2]
	e := event.New(
		event.KindIOError, says+path, event.FieldPath.Text(path), event.FieldCall.Text(call),
	)
	e.IDs.Container = scan.FindID(path)
	return e, strings.HasPrefix(path, "/") && !scan.ContainsAny(path, []string{"/rootfs/", "/volumes/", "/volumeDevices/"}) &&
		!strings.HasPrefix(path, "/sys/") && !strings.HasPrefix(path, "/proc/") && !strings.HasPrefix(path, "/dev/")
}

// maxCall is how long a call with its path is at most.
const maxCall = 1024

// cutFailedWrite is the path and the call before the reason why it failed; both are empty where
// that was no write.
func cutFailedWrite(before string) (path, call string) {
	path = before
	if i := strings.LastIndexAny(before, " '‘\""); i >= 0 {
		_, size := utf8.DecodeRuneInString(before[i:])
		path = before[i+size:]
	}
	path = strings.TrimRight(path, "'’\"")
	if !strings.HasPrefix(path, "/") {
		quoted, _, _ := strings.Cut(before[strings.LastIndex(before, " ")+1:], "’")
		path = strings.Trim(quoted, "'‘’\"")
	}
	words := strings.FieldsFunc(before[:max(0, strings.LastIndex(before, " "))], func(c rune) bool { return strings.ContainsRune(" :\"'=(", c) })
	if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/sys/") && !strings.HasPrefix(path, "/proc/") {
		for _, call := range words[max(0, len(words)-2):] { // a link has two paths behind it
			if slices.Contains(writingCalls, call) {
				return path, call
			}
		}
	}
	return "", ""
}
