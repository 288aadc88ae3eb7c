package node

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
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
func findRuntimes(tl *timeline.Timeline, units Units) []string {
	seen := seenPrograms{}
	for i := range tl.Coverage {
		seen.noteName(tl.Coverage[i].Source)
	}
	for fact := range tl.Facts {
		seen.noteName(fact)
	}
	last := "" // mostly the next event is of the same
	for _, e := range tl.Events {
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
	case (seen["containerd"] || units.isEmbedded()) && !seen["crio"]:
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

// AskOnly takes out of a wish what asks runtimes other than runs, see [Node]. Nil runs change
// nothing.
func AskOnly(m rules.Missing, runs []string) rules.Missing {
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
	m.Command = CommandFor(m.Command, runs)
	return m
}

// listOfRuntimes is where a command names all runtimes, one after the other.
var listOfRuntimes = regexp.MustCompile(`(?:-u )?\bcontainerd (?:-u )?dockerd?\b(?: (?:-u )?crio\b)?|\bcontainerd,docker,crio\b|/tmp/containerd\S+ /var/run/docker/\S+ /tmp/crio-goroutine-stacks-\*\.log`)

// CommandFor is a command that asks these runtimes only, where it asks all of them. Nil runs change
// nothing.
func CommandFor(command string, runs []string) string {
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

// Programs are the runtimes, in the order in which commands name them.
func Programs() []string {
	all := make([]string, len(runtimeNames))
	for i, r := range runtimeNames {
		all[i] = r.program
	}
	return all
}

// IsRuntime says that a program is a container runtime.
func IsRuntime(program string) bool {
	return slices.ContainsFunc(runtimeNames, func(r runtimeName) bool { return r.program == program })
}
