package template

import (
	"regexp"
	"slices"
	"strings"
)

// commandPlaceholder is a placeholder in a command. Other braces are the shell's or a program's:
// ${NAME:?}, {a,b}, {}, awk '{print $1}', %{http_code}.
var commandPlaceholder = regexp.MustCompile(`(^|[^$%])(\{([a-z][a-z0-9_.]*(?:/[a-z][a-z0-9_.]*)*)(\|[a-z]+)?\})`)

// ParseCommand cuts a command at its placeholders. It returns all that is wrong with them. Use is
// told of every bind that is spoken of.
func ParseCommand(command string, in Scope, use func(variable int)) (t Template, wrong []error) {
	if !strings.Contains(command, "{") { // as most: the expression is slow where nothing is found
		return Template{{parts: []part{{literal: command}}}}, nil
	}
	var parts []part
	last := 0
	for _, m := range commandPlaceholder.FindAllStringSubmatchIndex(command, -1) {
		name, format := command[m[6]:m[7]], ""
		if m[8] >= 0 {
			format = command[m[8]:m[9]]
		}
		p, err := parsePlaceholder(name+format, in, use)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		parts = append(parts, part{literal: command[last:m[4]]}, p)
		last = m[5]
	}
	return Template{{parts: append(parts, part{literal: command[last:]})}}, wrong
}

// HasPlainClause says that a clause of a text has no placeholder: it stands there whatever is
// known.
func (t Template) HasPlainClause() bool {
	return slices.ContainsFunc(t, func(c clause) bool { return !slices.ContainsFunc(c.parts, part.isPlaceholder) })
}

// ExpandCommand fills a command in, and returns the placeholders without a value that may stand in
// a shell: their names stand there as words that the reader replaces.
func (t Template) ExpandCommand(s Seen) (command string, unknown []string) {
	var b strings.Builder
	for _, p := range t[0].parts {
		if !p.isPlaceholder() {
			b.WriteString(p.literal)
			continue
		}
		value := p.fillForShell(s)
		for i := 0; value == "" && i < len(p.others); i++ {
			value = p.others[i].fillForShell(s)
		}
		if value == "" {
			unknown = append(unknown, p.name)
			value = BlankName(p.name)
		}
		b.WriteString(value)
	}
	return b.String(), unknown
}

// fillForShell returns what a placeholder of a command stands for; empty where that is not known,
// or would not be one word.
func (p *part) fillForShell(s Seen) string {
	value, ok := p.fillName(s)
	if !ok || !safeInShell.MatchString(value) {
		return ""
	}
	return value
}

// safeInShell is a value that a shell takes as one plain word, and a program as no option. Values
// come from logs, and anybody may write into those.
var safeInShell = regexp.MustCompile(`^[A-Za-z0-9_./:@][A-Za-z0-9_./:@-]*$`)

// BlankName is a placeholder as a word that the reader replaces: {update.container} is CONTAINER.
func BlankName(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return strings.ToUpper(name[strings.LastIndexByte(name, '.')+1:])
}

// FillSample is a command with a number in the place of each placeholder.
func (t Template) FillSample() string {
	var b strings.Builder
	for _, p := range t[0].parts {
		if p.isPlaceholder() {
			p.literal = "1"
		}
		b.WriteString(p.literal)
	}
	return b.String()
}
