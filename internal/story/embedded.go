package story

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
)

// embedder is a program that holds a kubelet, mostly a containerd, too.
type embedder struct {
	signs   []string // in lines that it signs, or that name its socket
	kubelet string   // the unit of the kubelet
	runtime string   // the unit of containerd
	log     string   // the file of containerd's log; empty where its unit's journal holds it
}

// embedders are asked in this order. A program that has one unit on servers and another on agents
// has a pattern, which systemctl and journalctl take. K3s and RKE2 have the same socket.
var embedders = []embedder{
	{[]string{" k3s[", " k3s-agent["}, "'k3s*'", "'k3s*'", "/var/lib/rancher/k3s/agent/containerd/containerd.log"},
	{[]string{" rke2[", " rke2-agent[", " rke2-server["}, "'rke2-*'", "'rke2-*'", "/var/lib/rancher/rke2/agent/containerd/containerd.log"},
	{[]string{"daemon-kubelite[", "microk8s.daemon-containerd[", "/var/snap/microk8s/"}, "snap.microk8s.daemon-kubelite", "snap.microk8s.daemon-containerd", ""},
	{[]string{" component=kubelet stream=", " component=containerd stream=", "/run/k0s/containerd.sock"}, "'k0s*'", "'k0s*'", ""},
	{[]string{"/run/k3s/containerd/containerd.sock"}, "'k3s*' -u 'rke2-*'", "'k3s*' -u 'rke2-*'", "/var/lib/rancher/*/agent/containerd/containerd.log"},
}

// units are what commands name in place of the kubelet's and containerd's units; empty where they
// have their own.
type units struct{ kubelet, runtime, log string }

// findUnits returns the units of the kubelet and of containerd where they are others than their
// own: as systemd names them, else by who signs their lines, or by the socket.
func (s *story) findUnits() units {
	for _, e := range s.timeline.Events {
		if unit := strings.TrimSuffix(e.FieldText(event.FieldUnit), ".service"); unit != "" && e.FieldText(event.FieldDaemon) == "kubelet" {
			if unit == "kubelet" {
				return units{}
			}
			return unitsOf(unit)
		}
	}
	if m := s.findEmbedder(); m != nil {
		return units{m.kubelet, m.runtime, m.log}
	}
	return units{}
}

// maxEmbedded bounds the events that are asked for an embedder: it signs all of its lines, and a
// node that flaps has 100 000 of them.
const maxEmbedded = 5000

// findEmbedder returns the first of the embedders that a line shows; nil where none does.
func (s *story) findEmbedder() *embedder {
	found, asked := len(embedders), 0
	for _, e := range s.timeline.Events {
		if e.Component != "kubelet" && e.Component != "containerd" && e.Component != "shim" || len(e.Evidence) == 0 {
			continue
		}
		if asked++; asked > maxEmbedded {
			break
		}
		for i := range found {
			if embedders[i].isIn(e.Evidence[0].Text) {
				found = i
				break
			}
		}
	}
	if found == len(embedders) {
		return nil
	}
	return &embedders[found]
}

// unitsOf are the units beside one that holds a kubelet.
func unitsOf(kubelet string) units {
	u := units{kubelet: kubelet}
	for _, m := range embedders {
		program, _, _ := strings.Cut(strings.Trim(m.kubelet, "'"), "*")
		if strings.HasPrefix(kubelet, program) {
			if u.runtime, u.log = m.runtime, m.log; m.runtime == m.kubelet {
				u.runtime = kubelet
			}
			return u
		}
	}
	return u
}

// isIn says that a program has signed a line of the kubelet or of containerd, or that the line
// names its socket.
func (m *embedder) isIn(line string) bool {
	return slices.ContainsFunc(m.signs, func(sign string) bool { return holdsSign(line, sign) })
}

// holdsSign says that a line holds a sign. It looks for the last byte of the sign, which lines have
// a few times, where they have its first, mostly a space, between all words.
func holdsSign(line, sign string) bool {
	for at := 0; ; {
		next := strings.IndexByte(line[at:], sign[len(sign)-1])
		if next < 0 {
			return false
		}
		if at += next + 1; strings.HasSuffix(line[:at], sign) {
			return true
		}
	}
}

// isEmbedded says that containerd has no unit of its own name.
func (u units) isEmbedded() bool { return u.runtime != "" }

// Where a command names the unit of the kubelet, of containerd, or of all runtimes.
var (
	ofKubelet  = regexp.MustCompile(`(-u |\bsystemctl (?:status|start|restart|stop|reset-failed|is-active|cat) )kubelet\b`)
	ofRuntime  = regexp.MustCompile(`(-u |\bsystemctl (?:status|start|restart|stop|reset-failed|is-active|cat) )containerd\b`)
	unitTwice  = regexp.MustCompile(`(-u \S+) (-u \S+)`)
	ofJournals = regexp.MustCompile(`^timeout \d+ journalctl -u containerd (?:-u \w+ )*-o export\b[^|;]*$`)
)

// nameUnits puts the names of the units into all commands.
func (r *Result) nameUnits(u units) {
	r.rewriteCommands(func(command string) string { return u.rename(command) })
}

// rename puts the names of the units into a command. The whole log of a runtime is a file where its
// unit has none.
func (u units) rename(command string) string {
	if u.log != "" && ofJournals.MatchString(command) {
		return "timeout 60 tail -n 20000 " + u.log + " > containerd.log"
	}
	command = replaceUnit(command, ofKubelet, u.kubelet)
	if u.isEmbedded() {
		command = replaceUnit(command, ofRuntime, u.runtime)
	}
	return unitTwice.ReplaceAllStringFunc(command, func(pair string) string {
		if one, two, _ := strings.Cut(pair, " -u "); one == "-u "+two {
			return one
		}
		return pair
	})
}

// replaceUnit names a unit, or several. Systemctl takes them one behind the other.
func replaceUnit(command string, of *regexp.Regexp, unit string) string {
	if unit == "" {
		return command
	}
	return of.ReplaceAllStringFunc(command, func(found string) string {
		before := of.FindStringSubmatch(found)[1]
		if !strings.HasPrefix(before, "-u") {
			return before + strings.ReplaceAll(unit, " -u ", " ")
		}
		return before + unit
	})
}

// rewriteCommands changes all commands of a result, without touching what it shares with the
// answers.
func (r *Result) rewriteCommands(rewrite func(command string) string) {
	change := func(command string) string {
		if command == "" {
			return ""
		}
		return rewrite(command)
	}
	all := func(missing []rules.Missing) []rules.Missing {
		missing = slices.Clone(missing)
		for i := range missing {
			missing[i].Command = change(missing[i].Command)
		}
		return missing
	}
	lines := func(commands []string) []string {
		commands = slices.Clone(commands)
		for i := range commands {
			commands[i] = change(commands[i])
		}
		return commands
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Missing, f.Remediation.Now = all(f.Missing), slices.Clone(f.Remediation.Now)
		for j := range f.Remediation.Now {
			f.Remediation.Now[j].Commands = lines(f.Remediation.Now[j].Commands)
		}
	}
	r.Hypotheses, r.NotEvaluable = slices.Clone(r.Hypotheses), slices.Clone(r.NotEvaluable)
	for i := range r.Hypotheses {
		r.Hypotheses[i].Undecided = all(r.Hypotheses[i].Undecided)
	}
	for i := range r.NotEvaluable {
		r.NotEvaluable[i].Missing = all(r.NotEvaluable[i].Missing)
	}
	for i := range r.Next {
		r.Next[i].Command = change(r.Next[i].Command)
	}
	r.Opening.Command, r.Opening.Commands = change(r.Opening.Command), lines(r.Opening.Commands)
}
