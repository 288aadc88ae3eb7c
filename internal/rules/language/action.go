package language

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/rules/shell"
	"github.com/plegdiag/plegdiag/internal/rules/template"
	"github.com/plegdiag/plegdiag/internal/rules/yamlfile"
)

// Remediation is what to do: now, on the sick node, and for good.
type Remediation struct {
	Now     []Action
	Durable []string
}

// Action is one thing to do on the sick node. A rule may also write it as a text alone, which is
// then all that Do says.
type Action struct {
	// Do says what to do and why, in one or two sentences without commands. It may have placeholders.
	Do string
	// Commands are lines of bash to be pasted as they stand, one after the other; what finds their
	// target comes first. A {placeholder} is filled in where its value is known and safe in a shell,
	// else its name stands there in capital letters; of {a/b} the first is taken that is known.
	Commands []string
	// Hazard is what the commands may do to the node or its pods: "ends the pod".
	Hazard string
	// Find says of each placeholder in the commands how the reader finds its value. Nil in a finding:
	// what has to be found there stands in Do.
	Find map[string]string

	do       template.Template
	commands []template.Template // each of one clause
	alone    bool                // it is a text alone: without placeholders, and nothing is asked of it
}

// SetText makes an action of a text alone.
func (a *Action) SetText(text string) { a.Do, a.alone = text, true }

// TextAlone is the text of an action that is nothing else.
func (a *Action) TextAlone() (string, bool) { return a.Do, a.alone }

// compileAction prepares the texts of an action.
func (c *compiler) compileAction(a *Action, at yamlfile.Place) {
	if a.alone {
		return
	}
	c.requireText(a.Do, at.In("do")...)
	a.do = c.compileTemplate(a.Do, false, at.In("do")...)
	if len(a.do) > 0 && !a.do.HasPlainClause() {
		c.errorf(at.In("do"), "each clause of do has a placeholder: nothing would be left where none is known")
	}
	used := map[string]bool{}
	a.commands = nil
	for i, command := range a.Commands {
		a.commands = append(a.commands, c.compileCommand(command, used, at.In("commands", i)...))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Find)) {
		if !used[name] {
			c.errorf(at.In("find", name), "no command has the placeholder {%s}", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if strings.TrimSpace(a.Find[name]) == "" {
			c.errorf(at.In("commands"), "find does not say how to find {%s} where it is not known", name)
		}
	}
}

// compileCommand compiles a command, and adds its placeholders to those that are used.
func (c *compiler) compileCommand(command string, used map[string]bool, at ...any) template.Template {
	t, wrong := template.ParseCommand(command, c.newScope(false), c.countUse)
	for _, err := range wrong {
		c.errorf(at, "%v", err)
	}
	for _, p := range t.ListPlaceholders() {
		used[p.Text] = true
	}
	return t
}

// Expand is what to do about a match, with what was seen in it.
func (r *Remediation) Expand(s template.Seen) Remediation {
	filled := Remediation{Durable: r.Durable}
	for i := range r.Now {
		filled.Now = append(filled.Now, r.Now[i].Expand(s))
	}
	return filled
}

// Expand is the action with what was seen in the place of its placeholders. What is not known of a
// command is said in Do.
func (a *Action) Expand(s template.Seen) Action {
	if a.alone {
		return Action{Do: a.Do}
	}
	filled := Action{Do: a.do.Expand(s), Hazard: a.Hazard}
	var told []string
	for _, t := range a.commands {
		command, unknown := t.ExpandCommand(s)
		filled.Commands = append(filled.Commands, command)
		for _, name := range unknown {
			if word := template.BlankName(name); !slices.Contains(told, word) {
				told = append(told, word)
				filled.Do = strings.TrimRight(filled.Do, ". ") + ". " + word + " is " + a.Find[name]
			}
		}
	}
	return filled
}

// checkAction checks that the commands of an action can be pasted as they stand.
func (l *linter) checkAction(a *Action, at yamlfile.Place) {
	l.checkTemplate(a.do, template.OwnStep, at.In("do")...)
	var set []string // variables
	change := ""
	for i := range a.commands {
		written := at.In("commands", i)
		parsed, err := shell.Parse(a.commands[i].FillSample())
		if err != nil {
			l.errorf(written, "%v", err)
			continue
		}
		for _, name := range parsed.ListBlanks() {
			if !namesWord(a.Do, name) {
				l.errorf(written, "a reader has to replace %s: say in do how to find it, or look it up in a command", name)
			}
		}
		sets, reads := parsed.ListVariables()
		for _, name := range reads {
			if !slices.Contains(set, name) {
				l.errorf(written, "no command of this action sets $%s", name)
			}
		}
		set = append(set, sets...)
		change = cmp.Or(change, parsed.FindChange())
		l.checkTemplate(a.commands[i], template.OwnStep, written...)
	}
	if change != "" && strings.TrimSpace(a.Hazard) == "" {
		l.errorf(at, "hazard is missing: say what %s may do to the node or its pods", change)
	}
}

// namesWord says that a text has a word.
func namesWord(text, word string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(text)
}

// listLines is the action as lines of text: what to do, then each command.
func (a *Action) listLines() []string { return append([]string{a.Do}, a.Commands...) }

// Lines are all that is to be done now as lines of text: of each action what to do, then its
// commands.
func (r *Remediation) Lines() []string {
	var all []string
	for i := range r.Now {
		all = append(all, r.Now[i].listLines()...)
	}
	return all
}
