// Package daemon knows the daemons of a node by their names: as syslog identifiers, processes,
// units and sockets.
package daemon

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/layout"
)

// writers maps syslog identifiers, or a part of them, to the component that
// writes under them; distributions rename daemons ("dockerd-current",
// "atomic-openshift-node"). A line of anybody else is no daemon's.
var writers = []struct{ part, component string }{
	{"kubelet", "kubelet"},
	{"kubenswrapper", "kubelet"}, // starts it on OpenShift since 4.10
	{"hyperkube", "kubelet"},
	{"kubelite", "kubelet"},
	{"k3s", "kubelet"},
	{"rke2", "kubelet"},
	{"openshift-node", "kubelet"},
	{"origin-node", "kubelet"},
	{"containerd", "containerd"},
	{"docker", "dockerd"},
	{"crio", "crio"},
	{"cri-o", "crio"},
	{"terway", "cni"},
	{"udevd", "udev"},
	{"ntpd", "clock"},
	{"chronyd", "clock"},
	{"timesyncd", "clock"},
	{"dbus", "dbus"},
}

// Writer is the component that writes under a syslog identifier; empty for one that is not known.
func Writer(unit string) string {
	switch unit {
	case "":
		return ""
	case "systemd", "systemd-logind", "init.scope": // journalctl -o with-unit names the unit
		return "systemd"
	case "kernel":
		return "kernel"
	case "sudo":
		return Operator
	}
	if strings.HasSuffix(unit, ".scope") { // of a container, under the name of who runs it
		return ""
	}
	for _, w := range writers {
		if strings.Contains(unit, w.part) {
			return w.component
		}
	}
	return ""
}

// RuntimeOf is the runtime whose process, unit or socket has this name, without
// its ending; the name itself when it is none that is known.
func RuntimeOf(name string) string {
	for _, r := range Runtimes {
		if slices.Contains(r.Names, name) {
			return r.Component
		}
	}
	return name
}

// IsRuntime says that a name is one of those that runtimeOf gives.
func IsRuntime(name string) bool {
	return slices.ContainsFunc(Runtimes, func(r runtime) bool { return r.Component == name })
}

// runtime is how one container runtime is called.
type runtime struct {
	Component string
	Names     []string // of the process, the unit and the socket
	// what its unit file says, which systemd prints up to 248 instead of the unit's name
	Description string
}

// Runtimes are those that a kubelet may talk to. The first of its names is the unit's.
var Runtimes = []runtime{
	{
		"containerd",
		[]string{"containerd", "docker-containerd", "snap.microk8s.daemon-containerd"},
		"containerd container runtime",
	},
	{"dockerd", []string{"docker", "dockerd", "dockerd-current"}, "Docker Application Container Engine"},
	{"crio", []string{"crio", "cri-o"}, "Container Runtime Interface for OCI (CRI-O)"},
	{"cri-dockerd", []string{"cri-docker", "cri-dockerd"}, "CRI Interface for Docker Application Container Engine"},
}

// Kubelet is the kubelet as systemd names it.
var Kubelet = runtime{"kubelet", []string{"kubelet"}, "kubelet: The Kubernetes Node Agent"}

// Named is the daemon whose process or unit has this name; empty when it is none whose restart
// matters.
func Named(name string) string {
	if name == "kubelet" || IsRuntime(RuntimeOf(name)) {
		return RuntimeOf(name)
	}
	return ""
}

// Component names the component that writes under a syslog identifier, or the
// one that the file's path speaks of; empty when neither is known.
func Component(unit, path string) string {
	if c := Writer(unit); c != "" {
		return c
	}
	if unit != "" {
		return ""
	}
	return layout.Of(path).Component
}

// Operator is who types commands.
const Operator = "operator"
