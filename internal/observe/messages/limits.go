package messages

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// limitsTable: what a daemon, or somebody at a prompt, prints when a disk is full or no descriptor is
// left. The words are Go's, glibc's or the kernel's.
var limitsTable = table{
	component: "node",
	relays:    []string{"kubelet", "containerd", "dockerd", "crio", "systemd", "cni", "dbus"},
	rows: []row{
		{[]string{"no space left on device", "No space left on device"}, noSpace},
		{[]string{"too many open files", "inotify_add_watch", "Too many open files"}, descriptorLimit},
	},
}

// writingCalls are the names that Go gives the calls that need space or an inode.
var writingCalls = []string{
	"open", "write", "mkdir", "create", "creat", "rename", "symlink", "link", "sync", "fsync", "close", "truncate", "fallocate", "mknod", "copy_file_range",
	"directory", "writing", "file", "touch", // of mkdir, cp and touch: cannot create directory, error writing, cannot create regular file
}

// noSpace is ENOSPC of a call on a file, with the words of Go's os package, and of the programs that
// are used at a prompt:
//
//	open /run/containerd/io.containerd.runtime.v2.task/k8s.io/<id>/config.json: no space left on device
//	write /run/containerd/runc/k8s.io/<id>/state.json: no space left on device
//	symlink ../config.toml /run/x: no space left on device
//	mkdir: cannot create directory ‘/run/x’: No space left on device
//	bash: cannot create temp file for here-document: No space left on device
//
// A mount, a cgroup and a watch have limits of their own that say the same.
func noSpace(r *event.Record) (event.Event, bool) {
	text := strings.ReplaceAll(r.Raw, `\"`, `"`)
	before, _, ok := strings.Cut(text, ": no space left on device")
	if !ok {
		before, _, ok = strings.Cut(text, ": No space left on device")
	}
	if !ok {
		return event.Event{}, false
	}
	if strings.HasSuffix(before, "cannot create temp file for here-document") {
		return noSpaceEvent("/tmp", "open"), true
	}
	path := before
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
	if len(words) == 0 || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/sys/") || strings.HasPrefix(path, "/proc/") {
		return event.Event{}, false
	}
	for _, call := range words[max(0, len(words)-2):] { // a link has two paths behind it
		if slices.Contains(writingCalls, call) {
			return noSpaceEvent(path, call), !strings.Contains(path, "/rootfs/") // there a volume of the pod's may be what is full
		}
	}
	return event.Event{}, false
}

func noSpaceEvent(path, call string) event.Event {
	e := event.New(
		event.KindNoSpace, "no space or no inode is left for "+path, event.FieldPath.Text(path), event.FieldCall.Text(call),
		event.FieldError.Text("no space left on device"),
	)
	e.IDs.Container = scan.FindID(path)
	return e
}

// descriptorLimit is a daemon at a limit of what it may hold open or watch:
//
//	inotify_init: too many open files                                      fs.inotify.max_user_instances
//	failed to create fsnotify watcher: too many open files                 the same
//	inotify_add_watch /sys/fs/cgroup/…: no space left on device            fs.inotify.max_user_watches
//	accept4: too many open files; retrying in 1s                           LimitNOFILE
//	open /proc/1234/stat: too many open files in system                    fs.file-max
func descriptorLimit(r *event.Record) (event.Event, bool) {
	text := r.Raw
	if scan.ContainsAny(text, insideContainer) {
		return event.Event{}, false
	}
	many := strings.Contains(text, "oo many open files")
	of, what := "", ""
	switch {
	case strings.Contains(text, "inotify_add_watch") && strings.Contains(text, "o space left on device"):
		of, what = "inotify watches", "fs.inotify.max_user_watches"
	case many && scan.ContainsAny(text, []string{"inotify", "fsnotify", "atcher"}):
		of, what = "inotify instances", "fs.inotify.max_user_instances"
	case many:
		of, what = "open files", "the limit of open files"
	default:
		return event.Event{}, false
	}
	path, _, _ := strings.Cut(scan.After(text, "inotify_add_watch ", "open "), ": ")
	if strings.ContainsAny(path, " \"") || !strings.HasPrefix(path, "/") {
		path = ""
	}
	return event.New(event.KindDescriptorLimit, "no "+of+" are left ("+what+")", event.FieldOf.Text(of), event.FieldPath.Text(path)), true
}
