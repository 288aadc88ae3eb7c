package session

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse"
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
	{"nvidia-smi", "kernel", nil},
}

// slowAnswer is how long a command takes whose daemon does not answer as it should. Clients of a
// busy one wait for seconds.
const slowAnswer = time.Minute

// endedStatus is the status of timeout(1) that has ended its command, as somebody has it printed;
// 137 where it sent SIGKILL.
var endedStatus = regexp.MustCompile(`^(?:(?:exit )?(?:status|code)[ :=]*|exit[ :=]*|rc[ :=]*)?(124|137)$`)

// killsAtOnce is a timeout that sends SIGKILL and no other signal.
var killsAtOnce = regexp.MustCompile(`\btimeout (?:-\S+ )*(?:-s ?|--signal[ =])(?:SIG)?(?:KILL|9)\b`)

// printsStatus is the end of a command that prints the status of the one before.
var printsStatus = regexp.MustCompile(`^echo ["']?[a-z :=]*\$\?["']?$`)

// hungCommand is the event of a command that printed nothing until somebody or timeout ended it, or
// that took very long. Ok is false for commands that wait on purpose.
func hungCommand(s *parse.Section) (e event.Event, ok bool) {
	command := parse.WithoutWrapper(s.Command)
	switch {
	case s.Took >= slowAnswer:
		return eventOfHung(command, s.Took, s.Quote, s.Timed)
	case s.Filled > 0 && endedCommand(s) != "":
		return eventOfHung(endedCommand(s), 0, s.Quote, s.First[len(s.First)-1])
	case s.Filled > 0 || s.Broken.Pos.Line == 0:
		return event.Event{}, false
	}
	return eventOfHung(command, s.Took, s.Quote, s.Broken)
}

// endedCommand is the command that timeout has ended, by the status that the next one prints; empty
// where that is another. It has printed nothing itself: the lines before are of others.
func endedCommand(s *parse.Section) string {
	all := splitCommands(strings.ReplaceAll(s.Command, "&&", ";"))
	n := len(all)
	filled := s.Filled
	if filled > 1 && filled == len(s.First) && strings.TrimSpace(s.First[filled-2].Text) == "Killed" { // by the shell, of the timeout that SIGKILL ended with its command
		filled--
	}
	if n < 2 || filled > n-1 || s.Filled != len(s.First) || !printsStatus.MatchString(all[n-1]) ||
		!strings.HasPrefix(strings.TrimPrefix(all[n-2], "sudo "), "timeout ") {
		return ""
	}
	status := endedStatus.FindStringSubmatch(strings.TrimRight(s.First[s.Filled-1].Text, " \t\r"))
	if status == nil || status[1] == "137" && !killsAtOnce.MatchString(all[n-2]) {
		return ""
	}
	return parse.WithoutWrapper(all[n-2])
}

// eventOfHung makes the event of what was typed, without what runs it. Took is how long it ran,
// where that was measured; quotes are its line and the one that shows the end.
func eventOfHung(command string, took time.Duration, quotes ...event.Quote) (e event.Event, ok bool) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return event.Event{}, false
	}
	program := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if i := slices.IndexFunc(words, func(w string) bool { return strings.ContainsAny(w, "<>") }); i > 0 {
		words = words[:i] // where its output goes to
	}
	for _, c := range clients {
		if c.program != program || c.asks != nil && !asksOnce(words[1:], c.asks) || waitsOnPurpose(program, words[1:]) {
			continue
		}
		e = event.New(
			event.KindCommandHung, strings.Join(words[:min(len(words), 3)], " ")+" does not come back",
			event.FieldCommand.Text(strings.TrimSpace(scan.Clip(command))), event.FieldProgram.Text(program),
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
		case "-l", "-lms", "dmon", "pmon":
			if program == "nvidia-smi" {
				return true
			}
		}
	}
	return program == "cat" && len(words) == 0
}
