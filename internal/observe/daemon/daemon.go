// Package daemon knows the daemons of a node by their names: as syslog identifiers, processes,
// units and sockets.
package daemon

import (
	"slices"
	"strings"
	"sync/atomic"

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
func Writer(identifier string) string {
	switch identifier {
	case "":
		return ""
	case "kubelet", "containerd", "dockerd": // most lines of a node
		return identifier
	// journalctl -o with-unit names the unit
	case "systemd", "systemd-logind", "systemd-oomd", "systemd-shutdown", "systemd-fsck", "init.scope", "systemd-logind.service":
		return "systemd"
	case "kernel":
		return "kernel"
	case "sudo":
		return Operator
	}
	if strings.HasPrefix(identifier, "(") && strings.HasSuffix(identifier, ")") { // a child of PID 1 before it runs its program
		return "systemd"
	}
	if strings.HasSuffix(identifier, ".scope") { // of a container, under the name of who runs it
		return ""
	}
	for _, w := range writers {
		if strings.Contains(identifier, w.part) {
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

// IsRuntime says that a name is one of those that [RuntimeOf] gives.
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

// NetworkPlugins are how the processes of network plugins and of their daemons begin.
var NetworkPlugins = []string{
	"terway", "calico", "cilium", "flannel", "aws-cni", "aws-k8s-agent", "multus", "azure-vnet", "kube-ovn", "antrea", "weave",
}

// processes are how the names of processes begin, and whose they are. Empty is nobody's.
var processes = []struct{ name, component string }{
	{"containerd-shim", "shim"},
	{"containerd", "containerd"},
	{"dockerd", "dockerd"},
	{"docker-containe", "containerd"}, // of docker up to 18.06, or its shim
	{"docker-runc", "runc"},
	{"docker-proxy", ""},
	{"docker", "dockerd"}, // up to 1.11
	{"conmon", "shim"},
	{"crio", "crio"},
	{"kubelet", "kubelet"},
	{"hyperkube", "kubelet"},
	{"kubelite", "kubelet"},
	{"k3s", "kubelet"},
	{"rke2", "kubelet"},
	{"runc", "runc"},
	{"crun", "runc"},
	{"nvidia-containe", "runc"}, // the hook and the command of libnvidia-container, which runc waits for
	{"nvc:[", "runc"},           // what that command calls its own threads
	{"systemd", "systemd"},
	{"dbus-daemon", "dbus"},
	{"dbus-broker", "dbus"},
}

// OfProcess is the component of a process by its name, which the kernel cuts at 15 bytes; empty for
// one that is not known.
func OfProcess(comm string) string {
	for _, p := range processes {
		if strings.HasPrefix(comm, p.name) {
			return p.component
		}
	}
	if slices.ContainsFunc(NetworkPlugins, func(name string) bool { return strings.HasPrefix(comm, name) }) {
		return "cni"
	}
	return ""
}

// Kubelet is the kubelet as systemd names it, with the units of programs that hold one.
var Kubelet = runtime{
	"kubelet",
	[]string{
		"kubelet", "k3s", "k3s-agent", "rke2", "rke2-server", "rke2-agent", "snap.microk8s.daemon-kubelite", "snap.microk8s.daemon-kubelet", "snap.k8s.kubelet",
		"origin-node", "atomic-openshift-node", "k0sworker", "k0scontroller",
	},
	"kubelet: The Kubernetes Node Agent",
}

// Named is the daemon whose process or unit has this name; empty when it is none whose restart
// matters.
func Named(name string) string {
	if slices.Contains(Kubelet.Names, name) {
		return Kubelet.Component
	}
	if IsRuntime(RuntimeOf(name)) {
		return RuntimeOf(name)
	}
	return ""
}

// services are the units that the runtime and the kubelet need, by name.
var services = map[string]string{
	"dbus": "dbus", "dbus-broker": "dbus", "messagebus": "dbus", "systemd-journald": "journald", "systemd-logind": "logind",
	"systemd-udevd":  "udev",
	"nodeadm-config": NodeSetup, "nodeadm-run": NodeSetup, "nodeadm-boot-hook": NodeSetup, "cloud-final": NodeSetup,
}

// NodeSetup is what makes a node of a machine at its boot: nodeadm of EKS, or the scripts of
// cloud-init. Without it there is no kubelet, or one without its configuration.
const NodeSetup = "node-setup"

// OfService is the component of a unit whose end matters to containers: a daemon as [Named] knows
// it, or one that daemons need, as the bus. Empty for any other.
func OfService(name string) string {
	if name := Named(name); name != "" {
		return name
	}
	return services[name]
}

// OfUnit is the component of a unit by its full name, as kubelet.service; empty for any that
// matters to no container.
func OfUnit(unit string) string {
	name, ok := strings.CutSuffix(unit, ".service")
	if !ok {
		return ""
	}
	return OfService(name)
}

// Component names the component that writes under a syslog identifier, or the
// one that the file's path speaks of; empty when neither is known.
func Component(identifier, path string) string {
	if c := Writer(identifier); c != "" {
		return c
	}
	if identifier != "" {
		return ""
	}
	return componentOfFile(path)
}

// fileComponent is the component that a path speaks of.
type fileComponent struct{ path, component string }

// lastFile is the file that was asked for last: the records of a file are read one after another,
// and a long path takes as long as the rest of a record.
var lastFile atomic.Pointer[fileComponent]

func componentOfFile(path string) string {
	if last := lastFile.Load(); last != nil && last.path == path {
		return last.component
	}
	component := layout.Of(path).Component
	lastFile.Store(&fileComponent{path, component})
	return component
}

// Operator is who types commands.
const Operator = "operator"
