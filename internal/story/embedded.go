package story

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
)

// embedders are programs that hold a kubelet, as they sign their lines in a journal, and their units. A
// program that has one unit on servers and another on agents has a pattern, which systemctl and
// journalctl take.
var embedders = []struct{ signs, unit string }{
	{" k3s[", "'k3s*'"}, {" rke2[", "'rke2-*'"}, {"daemon-kubelite[", "snap.microk8s.daemon-kubelite"},
}

// findKubeletUnit returns the unit of the kubelet where it is another than kubelet.service: as systemd names
// it, else by who signs the lines of the kubelet. Empty where nothing shows one.
func (s *story) findKubeletUnit() string {
	if s.timeline == nil {
		return ""
	}
	for _, e := range s.timeline.Events {
		if unit := strings.TrimSuffix(e.FieldText(event.FieldUnit), ".service"); unit != "" && e.FieldText(event.FieldDaemon) == "kubelet" {
			if unit == "kubelet" {
				return ""
			}
			return unit
		}
	}
	for _, e := range s.timeline.Events {
		if e.Component != "kubelet" || len(e.Evidence) == 0 {
			continue
		}
		for _, m := range embedders {
			if strings.Contains(e.Evidence[0].Text, m.signs) {
				return m.unit
			}
		}
	}
	return ""
}

// ofKubelet is where a command names the unit of the kubelet.
var ofKubelet = regexp.MustCompile(`(-u |\bsystemctl (?:status|start|restart|stop|reset-failed|is-active|cat) )kubelet\b`)

// nameUnit puts the name of the kubelet's unit into all commands.
func (r *Result) nameUnit(unit string) {
	r.rewriteCommands(func(command string) string { return ofKubelet.ReplaceAllString(command, "${1}"+unit) })
}

// rewriteCommands changes all commands of a result, without touching what it shares with the answers.
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
