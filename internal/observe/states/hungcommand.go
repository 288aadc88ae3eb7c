package states

import (
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// clients are commands that ask a daemon and print its answer at once, and who that is. Of those
// with subcommands the listed ones do; others go on until they are stopped.
var clients = []struct {
	program, component string
	asks               []string // nil for all
}{
	{"docker", "dockerd", []string{
		"ps", "inspect", "info", "version", "images", "kill", "stop", "rm", "exec", "container", "system", "top", "restart", "start", "create", "network", "volume",
	}},
	{"crictl", "cri", []string{
		"ps", "pods", "inspect", "inspectp", "info", "version", "images", "stats", "statsp", "stop", "stopp", "rm", "rmp", "exec", "imagefsinfo",
	}},
	{"ctr", "containerd", nil},
	{"nerdctl", "containerd", []string{"ps", "inspect", "info", "version", "images", "kill", "stop", "rm", "exec", "container"}},
	{"podman", "podman", []string{"ps", "inspect", "info", "version", "images", "kill", "stop", "rm", "exec", "container"}},
	{"runc", "runc", []string{"list", "state", "kill", "delete", "ps", "update", "pause", "resume", "exec"}},
	{"systemctl", "systemd", nil},
	{"systemd-run", "systemd", nil},
	{"systemd-cgls", "systemd", nil},
	{"systemd-analyze", "systemd", nil},
	{"loginctl", "systemd", nil},
	{"timedatectl", "systemd", nil},
	{"hostnamectl", "systemd", nil},
	{"busctl", "systemd", []string{"list", "tree", "call", "introspect", "get-property", "status"}},
	{"dbus-send", "systemd", nil},
	{"ls", "kernel", nil},
	{"df", "kernel", nil},
	{"du", "kernel", nil},
	{"stat", "kernel", nil},
	{"ps", "kernel", nil},
	{"pgrep", "kernel", nil},
	{"lsof", "kernel", nil},
	{"cat", "kernel", nil},
	{"mount", "kernel", nil},
	{"umount", "kernel", nil},
	{"sync", "kernel", nil},
	{"ip", "kernel", nil},
}

// HungCommand is a command of a transcript that printed nothing until somebody gave it up, or that
// took very long. Command is what was typed, without what runs it; took is how long it ran, where
// that was measured; quotes are its line and the one that shows the end. Ok is false for commands
// that wait on purpose.
func HungCommand(command string, took time.Duration, quotes ...event.Quote) (e event.Event, ok bool) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return event.Event{}, false
	}
	program := words[0][strings.LastIndexByte(words[0], '/')+1:]
	for _, c := range clients {
		if c.program != program || c.asks != nil && !asksOnce(words[1:], c.asks) || waitsOnPurpose(program, words[1:]) {
			continue
		}
		e = event.New(
			event.KindCommandHung, strings.Join(words[:min(len(words), 3)], " ")+" does not come back",
			event.FieldCommand.Text(clipText(strings.TrimSpace(command))), event.FieldProgram.Text(program),
		)
		if took > 0 {
			e.AddFields(event.FieldTook.Duration(took))
		}
		e.Component, e.Source, e.Evidence = c.component, facts.Commands, quotes
		e.IDs.Container = scan.FindID(command)
		return e, true
	}
	return event.Event{}, false
}

// asksOnce says that the first of the words that is no option is one of those that are answered at
// once.
func asksOnce(words, asks []string) bool {
	for i, w := range words {
		if strings.HasPrefix(w, "-") || i > 0 && strings.HasPrefix(words[i-1], "-") && !strings.Contains(words[i-1], "=") && strings.ContainsAny(w, "/.:") {
			continue
		}
		return slices.Contains(asks, w)
	}
	return false
}

// waitsOnPurpose says that a command reads standard input, or goes on until it is stopped.
func waitsOnPurpose(program string, words []string) bool {
	for _, w := range words {
		switch w {
		case "-f", "--follow", "-it", "-ti", "-i", "events", "attach", "monitor", "-w", "--watch":
			return w != "-i" || program != "df"
		case "|", "<", "-":
			return program == "cat"
		}
	}
	return program == "cat" && len(words) == 0
}
