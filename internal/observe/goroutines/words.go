package goroutines

import (
	"cmp"
	"strings"

	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// ownerName is the type that owns a lock without its package path: "statusStorage" of
// "github.com/…/container.(*statusStorage)".
func ownerName(owner string) string {
	if i := strings.LastIndex(owner, "(*"); i >= 0 {
		return strings.TrimSuffix(owner[i+2:], ")")
	}
	return owner[strings.LastIndexAny(owner, "./")+1:]
}

func lockName(l *stackdump.Lock) string {
	if name := ownerName(l.Owner); name != "" {
		return strings.TrimSpace("the " + l.Type + " of " + name + " " + l.Addr)
	}
	return strings.TrimSpace(l.Type + " " + l.Addr)
}

// endText tells the end of a chain for which the table of waits has no word.
func endText(e stackdump.End, state string) string {
	switch e.Kind {
	case stackdump.RPC:
		return "waiting for an answer over " + e.What
	case stackdump.Child:
		return "waiting for a child process to exit"
	case stackdump.Syscall, stackdump.Ready:
		return strings.TrimSpace("in " + e.Kind + " " + e.What)
	case "":
		return "waiting for nothing that the dump tells"
	}
	return "in " + state
}

// doingTexts say in words what a goroutine does; * stands for the method that it called.
var doingTexts = map[string]string{
	"shim":            "waiting for the shim to answer *",
	"load-shim":       "waiting, at the start of containerd, for a shim that was left over",
	"containerd":      "waiting for containerd to answer *",
	"cri":             "waiting for the runtime to answer *",
	"docker-api":      "waiting for dockerd to answer",
	"runc":            "waiting for runc *",
	"dbus":            "waiting for systemd on D-Bus",
	"netlink-recv":    "waiting in recvfrom for a netlink answer",
	"umount":          "waiting in umount2",
	"fsync":           "waiting in fsync",
	"cni-daemon":      "waiting for the CNI daemon",
	"device-plugin":   "waiting for a device plugin",
	"udev":            "waiting for udev",
	"host-compute":    "waiting for the Host Compute Service",
	"file":            "waiting for a file system",
	"relabel":         "setting the SELinux labels of all files of a volume",
	"file-lock":       "waiting for the lock of a database file, which another opening of it holds",
	"mount-command":   "waiting for a mount command to end",
	"container-stop":  "waiting for a container to stop",
	"stop-channel":    "waiting for room in the channel of a stop that has gone on to SIGKILL",
	"conmon":          "waiting for conmon",
	"cni-plugin":      "waiting for a CNI plugin to end",
	"nsenter":         "waiting for nsenter to end",
	"device-mapper":   "waiting for the kernel's device mapper",
	"grpc":            "waiting for an answer over gRPC",
	"ttrpc":           "waiting inside the ttrpc client",
	"ttrpc-receive":   "having an answer of the shim and waiting for the lock of the ttrpc client's streams",
	"sandbox":         "waiting for the sandbox controller to answer *",
	"exec":            "waiting for the end of a command in a container",
	"bolt-sync":       "waiting in fdatasync of its database",
	"bolt-lock":       "waiting to write into its database",
	"snapshot-gc":     "removing snapshots that nothing uses",
	"snapshot-lock":   "waiting for containerd's lock of a snapshotter",
	"nri-sync":        "waiting for containerd's NRI lock",
	"nri-update":      "waiting for containerd's NRI lock",
	"nri-lock":        "waiting for containerd's NRI lock",
	"nri-adaptation":  "waiting for the lock of the NRI adaptation",
	"nri-block":       "waiting for the registration of an NRI plugin",
	"nri-plugin":      "waiting for an NRI plugin to answer *",
	"mount-manager":   "waiting for the lock of containerd's mount manager",
	"metrics-lock":    "waiting for a lock of the metrics of cgroups",
	"metrics-add":     "waiting for a lock of the metrics of cgroups",
	"metrics-collect": "waiting for a lock of the metrics of cgroups",
	"own-lock":        "waiting for a lock that it holds itself",
	"service-lock":    "waiting for the shim's service lock",
	"exit-lock":       "the handler of exits, waiting for the shim's service lock",
	"reap":            "waiting to hand on the exit of a process",
	"reap-lock":       "waiting to hand on the exit of a process",
	"ttrpc-answer":    "answering a client",
	"ttrpc-send":      "sending to the shim",
	"seccomp-pipe":    "writing its seccomp filter into a pipe",
	stuckInCall:       "stuck in a system call",
}

// doingText says what a goroutine does: a row of the table of waits, or the state that the dump
// prints.
func doingText(doing, rpc, state string) string {
	switch doing {
	case "":
		return "in " + state
	case "runc":
		rpc = strings.ToLower(rpc)
	}
	return strings.ReplaceAll(cmp.Or(doingTexts[doing], doing), "*", rpc)
}
