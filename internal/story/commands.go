package story

import (
	"slices"

	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story/node"
)

// nameUnits puts the names of the units into all commands.
func (r *Result) nameUnits(u node.Units) {
	r.rewriteCommands(u.Rename)
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
