package goroutines

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// ownerName is the type that owns a lock without its package path: "statusStorage" of "github.com/…/container.(*statusStorage)".
func ownerName(owner string) string {
	if i := strings.LastIndex(owner, "(*"); i >= 0 {
		return strings.TrimSuffix(owner[i+2:], ")")
	}
	return owner[strings.LastIndexAny(owner, "./")+1:]
}

func lockName(l *stackdump.Lock) string {
	if name := ownerName(l.Owner); name != "" {
		return "the " + l.Type + " of " + name + " " + l.Addr
	}
	return l.Type + " " + l.Addr
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

func doingText(doing, rpc, state string) string {
	switch doing {
	case "":
		return "in " + state
	case "shim":
		return "waiting for the shim to answer " + rpc
	case "containerd":
		return "waiting for containerd to answer " + rpc
	case "cri":
		return "waiting for the runtime to answer " + rpc
	case "runc":
		return "waiting for runc " + strings.ToLower(rpc)
	case "dbus":
		return "waiting for systemd on D-Bus"
	case "netlink-recv":
		return "waiting in recvfrom for a netlink answer"
	case "umount":
		return "waiting in umount2"
	case "fsync":
		return "waiting in fsync"
	case "cni-daemon":
		return "waiting for the CNI daemon"
	case "udev":
		return "waiting for udev"
	case "file":
		return "waiting for a file system"
	case "container-stop":
		return "waiting for a container to stop"
	case "conmon":
		return "waiting for conmon"
	case "cni-plugin":
		return "waiting for a CNI plugin to end"
	case "nsenter":
		return "waiting for nsenter to end"
	case "ttrpc":
		return "waiting inside the ttrpc client"
	case "ttrpc-receive":
		return "having an answer of the shim and waiting for the lock of the ttrpc client's streams"
	case "sandbox":
		return "waiting for the sandbox controller to answer " + rpc
	case "exec":
		return "waiting for the end of a command in a container"
	case "bolt-sync":
		return "waiting in fdatasync of containerd's database"
	case "bolt-lock":
		return "waiting to write into containerd's database"
	case "nri-sync", "nri-update", "nri-lock":
		return "waiting for containerd's NRI lock"
	case "nri-adaptation":
		return "waiting for the lock of the NRI adaptation"
	case "nri-block":
		return "waiting for the registration of an NRI plugin"
	case "metrics-lock", "metrics-add", "metrics-collect":
		return "waiting for a lock of the metrics of cgroups"
	case "own-lock":
		return "waiting for a lock that it holds itself"
	case "service-lock":
		return "waiting for the shim's service lock"
	case "reap", "reap-lock":
		return "waiting to hand on the exit of a process"
	case "ttrpc-send":
		return "sending to the shim"
	}
	return doing
}
