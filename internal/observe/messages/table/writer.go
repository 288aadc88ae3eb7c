package table

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// HostProgram stands among a table's relays for the programs of the node that start others, and for
// the logins on it.
const HostProgram = "host"

// hostPrograms are their syslog identifiers.
var hostPrograms = []string{
	"smartd", "mdadm", "setroubleshoot", "systemd-coredump", "abrt-hook-ccpp",
	"sshd", "sshd-session", "cron", "crond", "CRON", "CROND", "anacron", "su", "sudo", "login", "bash", "sh", "rsyslogd",
	"audit", "auditd", "systemd-udevd", "systemd-journald", "systemctl", "systemd-run", "dbus-send", "busctl", "NetworkManager", "polkitd",
	"udevadm", "dracut-initqueue", "flanneld", "supervise-daemon",
}

// WriterOf is the component that writes under a syslog identifier, or HostProgram; journalctl -o
// with-unit names the unit in its place.
func WriterOf(identifier string) string {
	owner := daemon.Writer(identifier)
	if owner == "" && slices.Contains(hostPrograms, strings.TrimSuffix(identifier, ".service")) {
		return HostProgram
	}
	return owner
}

// FromServiceManager says that the service manager itself wrote a line; journalctl -o with-unit
// names its unit. Since systemd 254 its child is "(kubelet)" until it becomes the program of that
// name.
func FromServiceManager(r *event.Record) bool {
	return r.Unit == "systemd" || r.Unit == "init.scope" || strings.HasPrefix(r.Unit, "(")
}

// AboutContainer says that an error was met by a program that creates or changes a
// container or its cgroup: a daemon that is known to, or runc's own words.
func AboutContainer(r *event.Record) bool {
	switch daemon.Writer(r.Unit) {
	case "kubelet", "containerd", "dockerd", "crio":
		return true
	case "":
		return scan.ContainsAny(r.Raw, []string{"OCI runtime", "oci runtime", "cgroup", "andbox", "ontainer", "runc", "kubelet"})
	}
	return false
}
