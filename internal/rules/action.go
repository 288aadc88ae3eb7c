package rules

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/rules/shell"
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

	do       template
	commands []template // each of one clause
	alone    bool       // it is a text alone: without placeholders, and nothing is asked of it
}

// SetText makes an action of a text alone.
func (a *Action) SetText(text string) { a.Do, a.alone = text, true }

// TextAlone is the text of an action that is nothing else.
func (a *Action) TextAlone() (string, bool) { return a.Do, a.alone }

// commandPlaceholder is a placeholder in a command. Other braces are the shell's or a program's: ${NAME:?}, {a,b},
// {}, awk '{print $1}', %{http_code}.
var commandPlaceholder = regexp.MustCompile(`(^|[^$%])(\{([a-z][a-z0-9_.]*(?:/[a-z][a-z0-9_.]*)*)(\|[a-z]+)?\})`)

// compileAction prepares the texts of an action.
func (c *compiler) compileAction(a *Action, at yamlfile.Place) {
	if a.alone {
		return
	}
	c.requireText(a.Do, at.In("do")...)
	a.do = c.compileTemplate(a.Do, false, at.In("do")...)
	if len(a.do) > 0 && !slices.ContainsFunc(a.do, clause.isPlain) {
		c.errorf(at.In("do"), "each clause of do has a placeholder: nothing would be left where none is known")
	}
	used := map[string]bool{}
	a.commands = nil
	for i, command := range a.Commands {
		a.commands = append(a.commands, c.compileCommand(command, at.In("commands", i), used))
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

// compileCommand cuts a command at its placeholders, and adds their names to those that are used.
func (c *compiler) compileCommand(command string, at yamlfile.Place, used map[string]bool) template {
	if !strings.Contains(command, "{") { // as most: the expression is slow where nothing is found
		return template{{parts: []part{{literal: command}}}}
	}
	in := scope{steps: c.rule.findStep, variables: c.rule.findBind, captured: c.findCaptured}
	var parts []part
	last := 0
	for _, m := range commandPlaceholder.FindAllStringSubmatchIndex(command, -1) {
		name, format := command[m[6]:m[7]], ""
		if m[8] >= 0 {
			format = command[m[8]:m[9]]
		}
		p, err := parsePlaceholder(name+format, in, func(v int) { c.uses[v]++ })
		if err != nil {
			c.errorf(at, "%v", err)
			continue
		}
		used[name] = true
		parts = append(parts, part{literal: command[last:m[4]]}, p)
		last = m[5]
	}
	return template{{parts: append(parts, part{literal: command[last:]})}}
}

// isPlain says that a clause has no placeholder.
func (c clause) isPlain() bool {
	return !slices.ContainsFunc(c.parts, func(p part) bool { return p.isPlaceholder() })
}

// expand is what to do about a match.
func (r *Remediation) expand(s seen) Remediation {
	filled := Remediation{Durable: r.Durable}
	for i := range r.Now {
		filled.Now = append(filled.Now, r.Now[i].expand(s))
	}
	return filled
}

func (a *Action) expand(s seen) Action {
	if a.alone {
		return Action{Do: a.Do}
	}
	filled := Action{Do: a.do.expand(s), Hazard: a.Hazard}
	var told []string
	for _, t := range a.commands {
		command, unknown := t[0].expandCommand(s)
		filled.Commands = append(filled.Commands, command)
		for _, name := range unknown {
			if word := blankName(name); !slices.Contains(told, word) {
				told = append(told, word)
				filled.Do = strings.TrimRight(filled.Do, ". ") + ". " + word + " is " + a.Find[name]
			}
		}
	}
	return filled
}

// expandCommand fills a command in, and returns the placeholders without a value that may stand in
// a shell.
func (c clause) expandCommand(s seen) (command string, unknown []string) {
	var b strings.Builder
	for _, p := range c.parts {
		if !p.isPlaceholder() {
			b.WriteString(p.literal)
			continue
		}
		value := p.fillSafely(s)
		for i := 0; value == "" && i < len(p.others); i++ {
			value = p.others[i].fillSafely(s)
		}
		if value == "" {
			unknown = append(unknown, p.name)
			value = blankName(p.name)
		}
		b.WriteString(value)
	}
	return b.String(), unknown
}

// fillSafely returns what a placeholder of a command stands for; empty where that is not known, or
// would not be one word.
func (p *part) fillSafely(s seen) string {
	value, ok := p.fillName(s)
	if !ok || !safeInShell.MatchString(value) {
		return ""
	}
	return value
}

// safeInShell is a value that a shell takes as one plain word, and a program as no option. Values
// come from logs, and anybody may write into those.
var safeInShell = regexp.MustCompile(`^[A-Za-z0-9_./:@][A-Za-z0-9_./:@-]*$`)

// blankName is a placeholder as a word that the reader replaces: {update.container} is CONTAINER.
func blankName(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return strings.ToUpper(name[strings.LastIndexByte(name, '.')+1:])
}

// checkAction checks that the commands of an action can be pasted as they stand.
func (l *linter) checkAction(a *Action, at yamlfile.Place) {
	l.checkTemplate(a.do, ownStep, at.In("do")...)
	var set []string // variables
	change := ""
	for i := range a.commands {
		written := at.In("commands", i)
		parsed, err := shell.Parse(fillSample(a.commands[i]))
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
		l.checkTemplate(a.commands[i], ownStep, written...)
	}
	if change != "" && strings.TrimSpace(a.Hazard) == "" {
		l.errorf(at, "hazard is missing: say what %s may do to the node or its pods", change)
	}
}

// fillSample is a command with a number in the place of each placeholder.
func fillSample(t template) string {
	var b strings.Builder
	for _, p := range t[0].parts {
		if p.isPlaceholder() {
			p.literal = "1"
		}
		b.WriteString(p.literal)
	}
	return b.String()
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
