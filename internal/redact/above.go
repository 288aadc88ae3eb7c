package redact

import (
	"bytes"
	"encoding/base64"
	"path"
	"strings"
)

// above is what the lines before say about a line: a value can stand below its name.
type above struct {
	list    list
	indent  int  // of the line that began the list
	pending bool // the name of a secret ended the line before, its value follows
	element bool // <password> ended the line before
	isKube  bool // kind: Secret was read in this document
	// taker is the way in which the program of a list of arguments, one on each line, takes what the
	// line before announced: -p, --password. Empty for none.
	taker   string
	program []*program
}

// list is what a line is part of.
type list uint8

const (
	noList      list = iota
	variables        // env:
	mapping          // environment: of NAME: value
	logins           // chpasswd: of cloud-init
	objectData       // data: of a Secret or a ConfigMap
	objectPlain      // stringData: of a Secret
)

// openers are the names that begin a list on lines of its own.
var openers = map[string]list{
	"env": variables, "envs": variables, "Env": variables, "environment": mapping, "Environment": mapping,
	"chpasswd": logins, "data": objectData, "stringData": objectPlain,
}

// indentOf is how far a line is indented.
func indentOf(line []byte) int {
	for i, c := range line {
		if c != ' ' && c != '\t' {
			return i
		}
	}
	return len(line)
}

// findLines appends the secrets of a line that the lines before tell of.
func (c *above) findLines(line []byte, found []span) []span {
	if c.list == noList && !c.pending && !c.element && c.taker == "" && c.program == nil {
		return found
	}
	l := search{line: line, found: found}
	from := indentOf(line)
	text := line[:len(bytes.TrimRight(line, " \t\r\n"))]
	if from >= len(text) {
		return found
	}
	if c.element && text[from] != '<' {
		end := from
		for end < len(text) && text[end] != '<' {
			end++
		}
		if !keeps(text[from:end]) {
			l.add(Key, from, end)
		}
		return l.found
	}
	if item, ok := itemOf(text, from); ok {
		l.findItem(c, item)
	}
	name, p := lineName(text, from)
	if element := "<value>"; c.pending && hasFold(text[from:], element) {
		l.addElement(from + len(element))
	}
	if c.pending && isName(name, "value") {
		l.addRest(Environment, text, p)
	}
	if !c.holds(text, from) {
		return l.found
	}
	switch c.list {
	case variables, mapping:
		l.findVariableLine(c.list, text, from, name, p)
	case logins:
		l.findLogin(text, from)
	case objectData, objectPlain:
		if len(name) > 0 && (c.list == objectPlain || c.isKube || looksEncoded(rest(text, p))) {
			l.addRest(Key, text, p)
		}
	}
	return l.found
}

func isName(name []byte, want string) bool { return len(name) == len(want) && hasFold(name, want) }

// holds says that a line belongs to the list.
func (c *above) holds(text []byte, from int) bool {
	return c.list != noList && (from > c.indent || from == c.indent && text[from] == '-')
}

// findVariableLine finds the value in a line of an environment.
func (l *search) findVariableLine(in list, text []byte, from int, name []byte, p int) {
	item := from
	for item < len(text) && (text[item] == '-' || text[item] == ' ') {
		item++
	}
	switch {
	case isName(name, "value"):
		l.addRest(Environment, text, p)
	case in == mapping && len(name) > 0 && p < len(text) && text[p] == ' ' && classOfField(name):
		l.addRest(Environment, text, p)
	case item < len(text) && len(name) == 0:
		v := valueAt(text, item)
		if !v.quoted {
			v.to = len(bytes.TrimRight(text, ", "))
		}
		l.addVariable(v.from, v.to)
	}
}

// classOfField says that a name is one of a variable, not a field of where a value comes from.
func classOfField(name []byte) bool {
	switch string(name) {
	case "name", "valueFrom", "key", "optional", "secretKeyRef", "configMapKeyRef", "fieldRef", "fieldPath", "apiVersion":
		return false
	}
	return true
}

// findLogin finds the password in a line user:password.
func (l *search) findLogin(text []byte, from int) {
	for from < len(text) && (text[from] == '-' || text[from] == ' ') {
		from++
	}
	end := skipKind(text, from, isWord)
	if end == from || end+1 >= len(text) || text[end] != ':' || is(text[end+1], isSpace) || keeps(text[end+1:]) {
		return
	}
	l.add(Key, end+1, len(text))
}

// lineName is the name that a line of YAML or JSON begins with, and the place behind its colon.
func lineName(text []byte, from int) (name []byte, after int) {
	for from < len(text) && (text[from] == '-' || text[from] == ' ') {
		from++
	}
	n, _, _ := quoteAt(text, from)
	from += n
	end := skipKind(text, from, isWord)
	if end == from {
		return nil, 0
	}
	m, _, _ := quoteAt(text, end)
	if p := end + m; p < len(text) && text[p] == ':' && (m > 0 || p+1 == len(text) || text[p+1] == ' ') {
		return text[from:end], p + 1
	}
	return nil, 0
}

// rest is the value behind a name, without quotes.
func rest(text []byte, p int) []byte {
	p = skipSpaces(text, p)
	v := valueAt(text, p)
	return text[v.from:v.to]
}

// addRest adds the value that takes the rest of a line.
func (l *search) addRest(rule Rule, text []byte, p int) {
	p = skipSpaces(text, p)
	if p >= len(text) || text[p] == '{' || text[p] == '[' || text[p] == '|' || text[p] == '>' {
		return
	}
	n, _, _ := quoteAt(text, p)
	if n > 0 {
		v := valueAt(text, p)
		if !keeps(text[v.from:v.to]) {
			l.add(rule, v.from, v.to)
		}
		return
	}
	to := len(bytes.TrimRight(text, " ,"))
	if to > p && !keeps(text[p:to]) {
		l.add(rule, p, to)
	}
}

// looksEncoded says that a value of data: is base64, as in a Secret, rather than text, as in a
// ConfigMap.
func looksEncoded(v []byte) bool {
	if len(v) < 4 || len(v)%4 != 0 {
		return false
	}
	if _, err := base64.StdEncoding.DecodeString(string(v)); err != nil {
		return false
	}
	if v[len(v)-1] == '=' {
		return true
	}
	var seen uint8
	for _, c := range v {
		seen |= kinds[c] & (isDigit | isUpper | isLowerCase)
	}
	return seen == isDigit|isUpper|isLowerCase || len(v) >= 8 && seen == isUpper|isLowerCase
}

// itemOf is the only word of a line in a list: "-p", of JSON, - -p of YAML, or a flag that stands
// alone.
func itemOf(text []byte, from int) (item argument, ok bool) {
	p := from
	if p+1 < len(text) && text[p] == '-' && text[p+1] == ' ' {
		p = skipSpaces(text, p+1)
	}
	n, _, _ := quoteAt(text, p)
	v := valueAt(text, p)
	if n == 0 {
		v.to = len(bytes.TrimRight(text, ", "))
		v.next = v.to
	}
	if len(bytes.Trim(text[min(v.next, len(text)):], ", \"'")) > 0 || v.from >= v.to {
		return item, false
	}
	return argument{v.from, v.to}, true
}

// findItem finds the secret in an argument that has a line of its own.
func (l *search) findItem(c *above, item argument) {
	text := l.text(item)
	if c.taker != "" && text[0] != '-' {
		switch c.taker {
		case "l":
			l.addLogin(item.from, item.to)
		case "v":
			l.addVariable(item.from, item.to)
		case "g":
			if looksSecret(text) {
				l.addArgument(item.from, item.to)
			}
		default:
			l.addArgument(item.from, item.to)
		}
		return
	}
	for _, p := range c.program {
		for take := range strings.FieldsSeq(p.takes) {
			if kind, flag, _ := strings.Cut(take, ":"); len(kind) == 1 && flag != "" && p.sub == "" {
				l.takeFlag(kind, flag, []argument{item})
			}
		}
	}
}

// noteItem notes a program or a flag that has a line of its own.
func (c *above) noteItem(text []byte, from int) {
	item, ok := itemOf(text, from)
	if !ok {
		c.program = nil
		return
	}
	word := string(text[item.from:item.to])
	switch {
	case strings.ContainsAny(word, " \t="):
	case word[0] != '-':
		if rows := programsByName[path.Base(word)]; rows != nil {
			c.program = rows
		}
	case len(word) > 2 && classOf([]byte(word)) != open:
		c.taker = "s"
	default:
		for _, p := range c.program {
			for take := range strings.FieldsSeq(p.takes) {
				if kind, flag, _ := strings.Cut(take, ":"); flag == word && len(kind) == 1 && kind != "a" && p.sub == "" {
					c.taker = kind
				}
			}
		}
	}
}

// noteLine notes what the next lines belong to.
func (c *above) noteLine(line []byte) {
	c.pending, c.element, c.taker = false, false, ""
	text := bytes.TrimRight(line, " \t\r\n")
	if len(text) == 0 {
		return
	}
	from := indentOf(text)
	if c.list != noList && !c.holds(text, from) {
		c.list = noList
	}
	const longest = 300 // of such lines
	if len(text) > longest {
		return
	}
	if bytes.HasPrefix(text, []byte("---")) {
		c.isKube = false
	}
	switch text[len(text)-1] {
	case ':', '[', '|', '{':
		c.noteOpener(text, from)
	case '>':
		c.noteElement(text)
	default:
		c.noteName(text, from)
	}
	if text[from] == '-' || text[from] == '"' || text[from] == '\'' {
		c.noteItem(text, from)
	} else {
		c.program = nil
	}
}

// noteOpener begins a list.
func (c *above) noteOpener(text []byte, from int) {
	name, p := lineName(text, from)
	if len(name) == 0 || len(bytes.Trim(text[p:], " [{|")) > 0 {
		return
	}
	of := openers[string(name)]
	if of == noList || c.list != noList && c.list != logins && from > c.indent {
		return
	}
	c.list, c.indent = of, from
	if item := bytes.IndexByte(text[from:], name[0]); text[from] == '-' && item > 0 {
		c.indent = from + item // - env:
	}
}

// noteElement notes a name of XML whose value is on the next line.
func (c *above) noteElement(text []byte) {
	if named, ok := bytes.CutPrefix(bytes.TrimLeft(text, " \t"), []byte("<name>")); ok {
		named, _, _ = bytes.Cut(named, []byte("<"))
		c.pending = classOf(named) != open
		return
	}
	at := bytes.LastIndexByte(text, '<')
	if at < 0 || at+2 > len(text)-1 {
		return
	}
	name := text[at+1 : len(text)-1]
	c.element = len(name) == skipKind(name, 0, isWord) && classOf(name) != open
}

// noteName notes a name whose value is on the next line: name: DB_PASSWORD.
func (c *above) noteName(text []byte, from int) {
	switch text[from] {
	case '-', '"', 'n', 'N', 'k', 'K', '\'':
	default:
		return
	}
	name, p := lineName(text, from)
	if !isName(name, "name") && !isName(name, "key") && !isName(name, "kind") {
		return
	}
	v := bytes.TrimRight(rest(text, p), ",")
	if isName(name, "kind") {
		c.isKube = string(v) == "Secret"
		return
	}
	c.pending = classOf(v) != open
}
