package node

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// WantNode is what to know before a command with NODE is run.
const WantNode = "NODE is the address of the node"

// onTalos says that the node runs Talos, which has no shell.
func onTalos(tl *timeline.Timeline) bool {
	return slices.ContainsFunc(tl.Events, func(e *event.Event) bool {
		return e.Source == "talos.log" || len(e.Evidence) > 0 && isFromTalosctl(e.Evidence[0].Text)
	})
}

// isFromTalosctl says that a line of the kernel has the facility and the stamp that talosctl dmesg
// gives it; dmesg -x pads the facility and has no brackets around such a stamp:
//
//	kern:     err: [2026-01-01T23:32:07.505474078Z]: nvme nvme1: Device not ready; aborting reset, CSTS=0x1
func isFromTalosctl(line string) bool {
	line = strings.TrimLeft(line, " ")
	if !strings.HasPrefix(line, "kern: ") && !strings.HasPrefix(line, "user: ") {
		return false
	}
	_, stamp, ok := strings.Cut(line[:min(len(line), 64)], ": [")
	return ok && strings.Contains(stamp, "Z]: ")
}

// talosCommands are how what the node's own tools show is read from elsewhere, by the sources; NODE
// is the node's address.
var talosCommands = []struct{ source, shows, command string }{
	{"kernel.log", "kernel.log", "timeout 60 talosctl -n NODE dmesg > dmesg.txt"},
	{"systemd.log", "kernel.log", "timeout 60 talosctl -n NODE dmesg > dmesg.txt"},
	{"kubelet.log", "kubelet.log", "timeout 60 talosctl -n NODE logs kubelet > kubelet.log"},
	{"containerd.log", "containerd.log", "timeout 60 talosctl -n NODE logs cri > cri.log"},
	{"goroutines.containerd", "containerd.log", "timeout 60 talosctl -n NODE logs cri > cri.log"},
	{"processes", "processes", "timeout 60 talosctl -n NODE processes > ps.txt"},
	{"units", "units", "timeout 60 talosctl -n NODE services > services.txt"},
	{"collect", "collect", "timeout 300 talosctl -n NODE support"},
}

// ForTalos is what is asked for on a node that runs Talos.
func ForTalos(m rules.Missing) rules.Missing {
	if strings.HasPrefix(m.Command, "kubectl ") || strings.Contains(m.Command, "talosctl ") {
		return m
	}
	for source := range strings.SplitSeq(m.Source, " or ") {
		for _, c := range talosCommands {
			if c.source == source {
				return rules.Missing{Source: c.shows, Command: c.command, Note: WantNode}
			}
		}
	}
	return m
}

// CureForTalos are the commands that only look, on a node without a shell: those of the service
// that they ask about.
func CureForTalos(commands []string) []string {
	var all []string
	for _, c := range commands {
		switch {
		case strings.Contains(c, "talosctl ") || strings.HasPrefix(c, "kubectl ") || strings.HasPrefix(c, "timeout 20 kubectl "):
		case strings.Contains(c, "kubelet"):
			c = "timeout 60 talosctl -n NODE service kubelet; timeout 60 talosctl -n NODE logs kubelet --tail 100"
		case strings.Contains(c, "containerd"):
			c = "timeout 60 talosctl -n NODE service cri; timeout 60 talosctl -n NODE logs cri --tail 100"
		default:
			c = "timeout 60 talosctl -n NODE dmesg | tail -n 200"
		}
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}
