package event

import "slices"

// The inputs that rules may name besides logs and dumps, as [Event.Source] spells them.
var inputs = []string{
	"collect", "commands", "config", "kubernetes", "metrics", "mounts", "node", "packages", "processes", "samples",
	"samples.ended", "samples.proc", "samples.sleeping", "samples.summary", "strace", "udevcookies", "units", "versions",
}

// logs are the components whose lines are known by name. Of any other program a log is named after
// its syslog identifier.
var logs = []string{
	"clock", "cni", "containerd", "cri-dockerd", "crio", "dbus", "dockerd", "etcd", "kernel", "kubelet", "node",
	"operator", "runc", "shim", "systemd", "talos", "udev",
}

// programs are those whose goroutine dumps are known by their packages.
var programs = []string{"cni", "containerd", "crio", "csi", "dockerd", "kube-proxy", "kubelet", "runc", "shim"}

// LogOf is the source of what a component writes into a log.
func LogOf(component string) string {
	if name, known := logNames[component]; known {
		return name
	}
	return component + ".log"
}

// logNames are the sources of the components that are known: each is there once, however many
// events name it.
var logNames = func() map[string]string {
	names := map[string]string{}
	for _, component := range logs {
		names[component] = component + ".log"
	}
	return names
}()

// Sources are the names of all inputs that are known: logs as COMPONENT.log, goroutine dumps as
// goroutines.PROGRAM, others by one word. Sorted; the caller owns the slice.
func Sources() []string {
	all := slices.Clone(inputs)
	for _, name := range logs {
		all = append(all, LogOf(name))
	}
	for _, name := range programs {
		all = append(all, "goroutines."+name)
	}
	slices.Sort(all)
	return all
}
