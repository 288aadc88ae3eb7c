package story

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
)

// runtimeName is a runtime: its program, and what the path of its socket holds.
type runtimeName struct{ program, socket string }

// runtimeNames are the runtimes, in the order in which commands name them.
var runtimeNames = []runtimeName{
	{"containerd", "containerd.sock"},
	{"dockerd", "docker"}, // docker.sock and dockershim.sock
	{"crio", "crio.sock"},
}

// findRuntimes returns the runtimes that the evidence shows on the node; nil where it shows none,
// or two that do not run together. Below dockerd there is a containerd, which nobody may have
// asked.
func (s *story) findRuntimes() []string {
	seen := seenPrograms{}
	for i := range s.timeline.Coverage {
		seen.noteName(s.timeline.Coverage[i].Source)
	}
	for fact := range s.timeline.Facts {
		seen.noteName(fact)
	}
	last := "" // mostly the next event is of the same
	for _, e := range s.timeline.Events {
		if e.Component != last {
			last = e.Component
			seen.noteName(last)
		}
		for i := range e.Fields {
			seen.noteField(e.Kind, &e.Fields[i])
		}
	}
	switch {
	case seen["crio"] && !seen["containerd"] && !seen["dockerd"]:
		return []string{"crio"}
	case seen["dockerd"] && !seen["crio"]:
		return []string{"containerd", "dockerd"}
	case (seen["containerd"] || s.findUnits().isEmbedded()) && !seen["crio"]:
		return []string{"containerd"}
	}
	return nil
}

// seenPrograms are the programs that the evidence shows.
type seenPrograms map[string]bool

// noteName notes the program of a component, a source or a fact.
func (p seenPrograms) noteName(name string) {
	program := name[strings.LastIndexByte(name, '.')+1:] // goroutines.containerd
	if program == "log" || program == "version" {
		program, _, _ = strings.Cut(name, ".") // containerd.log
	}
	if program == "docker" {
		program = "dockerd"
	}
	p[program] = true
}

// noteField notes the program that a field of an event shows.
func (p seenPrograms) noteField(kind event.Kind, f *event.Field) {
	switch f.Key {
	case event.FieldDaemon, event.FieldRuntime:
		p.noteName(f.Value.Text())
	case event.FieldReserved:
		if f.Value.Text() == "true" {
			p.noteName("containerd") // no other says so
		}
	case event.FieldError:
		text := f.Value.Text()
		if !p["dockerd"] && strings.Contains(text, "operation timeout: ") {
			p.noteName("dockerd") // as the kubelet's own client of docker says it
		}
		if kind == event.KindCRIError || kind == event.KindRelistFailed {
			for _, r := range runtimeNames {
				p[r.program] = p[r.program] || strings.Contains(text, r.socket)
			}
		}
	}
}

// askOnly takes out of a wish what asks runtimes that the node does not have.
func askOnly(m rules.Missing, runs []string) rules.Missing {
	if len(runs) == 0 {
		return m
	}
	var sources []string
	for source := range strings.SplitSeq(m.Source, " or ") {
		if !slices.ContainsFunc(runtimeNames, func(r runtimeName) bool {
			return !slices.Contains(runs, r.program) && (source == r.program+".log" || source == "goroutines."+r.program)
		}) {
			sources = append(sources, source)
		}
	}
	if len(sources) > 0 {
		m.Source = strings.Join(sources, " or ")
	}
	m.Command = commandFor(m.Command, runs)
	return m
}

// onTalos says that the node runs Talos, which has no shell.
func (s *story) onTalos() bool {
	return slices.ContainsFunc(s.timeline.Events, func(e *event.Event) bool {
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

// forTalos is what is asked for on a node that runs Talos.
func forTalos(m rules.Missing) rules.Missing {
	if strings.HasPrefix(m.Command, "kubectl ") || strings.Contains(m.Command, "talosctl ") {
		return m
	}
	for source := range strings.SplitSeq(m.Source, " or ") {
		for _, c := range talosCommands {
			if c.source == source {
				return rules.Missing{Source: c.shows, Command: c.command, Note: wantNode}
			}
		}
	}
	return m
}

// cureForTalos are the commands that only look, on a node without a shell: those of the service
// that they ask about.
func cureForTalos(commands []string) []string {
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

// listOfRuntimes is where a command names all runtimes, one after the other.
var listOfRuntimes = regexp.MustCompile(`(?:-u )?\bcontainerd (?:-u )?dockerd?\b(?: (?:-u )?crio\b)?|\bcontainerd,docker,crio\b|/tmp/containerd\S+ /var/run/docker/\S+ /tmp/crio-goroutine-stacks-\*\.log`)

// commandFor is a command that asks these runtimes only, where it asks all of them.
func commandFor(command string, runs []string) string {
	if len(runs) == 0 {
		return command
	}
	return listOfRuntimes.ReplaceAllStringFunc(command, func(all string) string {
		separator, option := " ", ""
		if strings.Contains(all, ",") {
			separator = ","
		}
		if strings.HasPrefix(all, "-u ") {
			option = "-u "
		}
		words := strings.Split(strings.ReplaceAll(all, "-u ", ""), separator)
		var kept []string
		for i, r := range runtimeNames { // words are in the same order
			if i < len(words) && slices.Contains(runs, r.program) {
				kept = append(kept, option+words[i])
			}
		}
		if kept == nil {
			return all
		}
		return strings.Join(kept, separator)
	})
}

// stacksOf prints what the kernel shows of the threads of a process, as plegdiag reads it.
const stacksOf = "timeout 20 tail -n +1 /proc/%d/task/*/{comm,wchan,stack} > stacks.txt"

// wantStacks is what to know before it is run.
const wantStacks = "%s sits in the kernel: its kernel stacks show what it waits for; as root"

// addKernelStacks asks for the kernel's stacks of a runtime that a listing shows in the kernel
// (state D), where nothing shows them: it writes no dump, and whoever waits for it shows only that.
func (n *nextChooser) addKernelStacks() {
	shown := map[string]bool{} // by component
	for _, e := range n.timeline.Events {
		if e.Kind == event.KindThreadSample && e.FieldText(event.FieldStack) != "" {
			shown[e.Component] = true
		}
	}
	for _, e := range n.timeline.Events {
		runtime := runtimeInKernel(e)
		if runtime == "" || e.IDs.PID == 0 || shown[runtime] {
			continue
		}
		n.addMissing([]rules.Missing{{
			Source: "samples.proc", Command: fmt.Sprintf(stacksOf, e.IDs.PID), Note: fmt.Sprintf(wantStacks, runtime),
		}})
		return
	}
}

// runtimeInKernel names the runtime of which a process is listed in state D, or of which the kernel
// says that it has not run for long; empty for any other event.
func runtimeInKernel(e *event.Event) string {
	if e.Kind == event.KindProcess && isInKernel(e) {
		return e.Component
	}
	if comm := e.FieldText(event.FieldComm); e.Kind == event.KindHungTask && isRuntime(comm) {
		return comm
	}
	return ""
}

// hasRuntimeInKernel says that a process of a runtime is listed in state D.
func (s *story) hasRuntimeInKernel() bool {
	return slices.ContainsFunc(s.listKind(event.KindProcess), isInKernel)
}

func isInKernel(process *event.Event) bool {
	return strings.HasPrefix(process.FieldText(event.FieldState), "D") && isRuntime(process.Component)
}

func isRuntime(program string) bool {
	return slices.ContainsFunc(runtimeNames, func(r runtimeName) bool { return r.program == program })
}
