package redact

import (
	"bytes"
)

// findEnvironment finds the values of an environment within one line, as daemons log it:
//
//	"Env":["A=b","C=d"]
//	Envs:[]*KeyValue{&KeyValue{Key:A,Value:b,},}
//	Env:[]EnvVar{EnvVar{Name:A,Value:b,ValueFrom:nil,},}
//	env:[{Name:A Value:b ValueFrom:nil}]
//	Env:[A=b C=d]
func findEnvironment(l *search, at int) {
	b := l.line
	from := at
	for from > 0 && is(b[from-1], isWord) {
		from--
	}
	end := skipKind(b, at, isWord)
	if !isEnvironmentName(b[from:end]) || l.isTired() {
		return
	}
	n, _, _ := quoteAt(b, end)
	p := skipBlanks(b, end+n)
	if p >= len(b) || b[p] != ':' && b[p] != '=' {
		return
	}
	p = skipBlanks(b, p+1)
	if p < len(b) && (b[p] == '{' || b[p] == '<') { // envs:{key:"A" value:"b"} of protobuf, {"A":"b"}
		before := len(l.found)
		if l.findObject(p + 1); len(l.found) == before && b[p] == '{' {
			l.addMembers(Environment, p+1)
		}
		return
	}
	if p >= len(b) || b[p] != '[' {
		return
	}
	p++
	if p < len(b) && b[p] == ']' { // []Type{…}
		p++
		for p < len(b) && (is(b[p], isWord) || b[p] == '*') {
			p++
		}
		if p >= len(b) || b[p] != '{' {
			return
		}
		p++
	}
	l.findVariables(p)
}

func isEnvironmentName(name []byte) bool {
	for _, known := range []string{"env", "envs", "environment", "envvars", "process.env", "config.env"} {
		if len(name) == len(known) && hasFold(name, known) {
			return true
		}
	}
	return false
}

// findVariables finds the values of a list that begins at p.
func (l *search) findVariables(p int) {
	b, from := l.line, p
	defer func() { l.spent += p - from }()
	for p < len(b) {
		n, _, _ := quoteAt(b, p)
		switch c := b[p]; {
		case n > 0:
			v := valueAt(b, p)
			l.addVariable(v.from, v.to)
			p = max(v.next, p+1)
		case c == ' ' || c == ',' || c == '&' || c == '\t':
			p++
		case c == ']' || c == '}' || c == ')':
			return
		case c == '{':
			p = l.findObject(p + 1)
		case is(c, isWord):
			end := skipKind(b, p, isWord)
			if end < len(b) && b[end] == '{' { // EnvVar{
				p = l.findObject(end + 1)
				break
			}
			if end < len(b) && b[end] == ':' { // key:"A" value:"b"
				if p = l.skipField(p, end); p < 0 {
					return
				}
				break
			}
			end = variableEnd(b, p)
			l.addVariable(p, end)
			p = max(end, p+1)
		default:
			return
		}
	}
}

// skipField goes on behind a field of a message, and adds it when it is a value; -1 where what
// stands there is none.
func (l *search) skipField(p, colon int) int {
	n, _, _ := quoteAt(l.line, colon+1)
	switch {
	case n == 0:
		return -1
	case isName(l.line[p:colon], "value"):
		return l.addPairValue(colon)
	}
	return valueAt(l.line, colon+1).next
}

// addVariable adds the value of NAME=value.
func (l *search) addVariable(from, to int) {
	b := l.line
	end := skipKind(b[:to], from, isWord)
	if end == from || end >= to || b[end] != '=' || keeps(b[end+1:to]) {
		return
	}
	l.add(Environment, end+1, to)
}

// variableEnd is where the value of a list that Go printed ends: before the next NAME=, or at the
// list's end.
func variableEnd(b []byte, p int) int {
	depth := 0
	for q := p; q < len(b); q++ {
		switch b[q] {
		case '[':
			depth++
		case ']':
			if depth--; depth < 0 {
				return q
			}
		case '\n', '\r', '"':
			return q
		case ' ':
			end := skipKind(b, q+1, isWord)
			if end > q+1 && end < len(b) && b[end] == '=' {
				return q
			}
		}
	}
	return len(b)
}

// findObject finds the value in one variable, {Name:A Value:b} or {"name":"A","value":"b"}, that
// begins at p. It returns where the object ends.
func (l *search) findObject(p int) int {
	b, from := l.line, p
	defer func() { l.spent += p - from }()
	for depth := 1; p < len(b); {
		if n, _, _ := quoteAt(b, p); n > 0 {
			v := valueAt(b, p)
			if !v.quoted || v.next <= p {
				p++
				continue
			}
			if !hasFold(b[v.from:v.to], "value") || v.to-v.from != len("value") {
				p = v.next
				continue
			}
			p = l.addPairValue(v.next)
			continue
		}
		switch c := b[p]; {
		case c == '{':
			depth++
			p++
		case c == '}':
			if depth--; depth == 0 {
				return p + 1
			}
			p++
		case is(c, isWord):
			end := skipKind(b, p, isWord)
			if end-p == len("value") && hasFold(b[p:], "value") {
				p = l.addPairValue(end)
				break
			}
			p = end
		default:
			p++
		}
	}
	return p
}

// addMembers adds the values of all members of an object, {"A":"b"}, that begins at p.
func (l *search) addMembers(rule Rule, p int) {
	b := l.line
	for p < len(b) {
		p = skipBlanks(b, p)
		n, _, _ := quoteAt(b, p)
		end := skipKind(b, p, isWord)
		switch {
		case n > 0:
			end = valueAt(b, p).next
		case end == p:
			return
		}
		end = skipBlanks(b, end)
		if end >= len(b) || b[end] != ':' {
			return
		}
		p = skipBlanks(b, end+1)
		if p >= len(b) || b[p] == '{' || b[p] == '[' {
			return
		}
		v := valueAt(b, p)
		if !keeps(b[v.from:v.to]) {
			l.add(rule, v.from, v.to)
		}
		if p = skipBlanks(b, v.next); p >= len(b) || b[p] != ',' {
			return
		}
		p++
	}
}

// findKubeSecret finds the values of a Secret of Kubernetes that stands in one line.
func findKubeSecret(l *search, at int) {
	b := l.line
	if p := behindColon(b, at+len("kind")); p == 0 || string(rest(b, p)) != "Secret" {
		return
	}
	if l.isTired() {
		return
	}
	l.spent += len(b)
	for _, name := range []string{"data", "stringData"} {
		for from := 0; ; {
			i := bytes.Index(b[from:], []byte(name))
			if i < 0 {
				break
			}
			from += i + len(name)
			if p := behindColon(b, from); p > 0 && p < len(b) && b[p] == '{' {
				l.addMembers(Key, p+1)
			}
		}
	}
}

// behindColon is where the value of a quoted name begins that ends at p; 0 when none ends there.
func behindColon(b []byte, p int) int {
	n, _, _ := quoteAt(b, p)
	if p = skipBlanks(b, p+n); n == 0 || p >= len(b) || b[p] != ':' {
		return 0
	}
	return skipBlanks(b, p+1)
}

// addPairValue adds what follows "value" when that is a name, and returns where to go on.
func (l *search) addPairValue(p int) int {
	p = skipBlanks(l.line, p)
	if p >= len(l.line) || l.line[p] != ':' && l.line[p] != '=' {
		return p
	}
	p = skipBlanks(l.line, p+1)
	from, to := pairValue(l.line, p)
	if !keeps(l.line[from:to]) {
		l.add(Environment, from, to)
	}
	if from > p { // quoted
		return valueAt(l.line, p).next
	}
	return max(to, p)
}

// pairValue is the value of a field: quoted, or as Go prints it, up to the end of its struct.
func pairValue(b []byte, p int) (from, to int) {
	if n, _, _ := quoteAt(b, p); n > 0 {
		v := valueAt(b, p)
		return v.from, v.to
	}
	depth, end := 0, len(b)
scan:
	for q := p; q < len(b); q++ {
		switch b[q] {
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				end = q
				break scan
			}
		case '\n', '\r':
			end = q
			break scan
		case ',', ' ':
			if rest := b[q+1:]; hasFold(rest, "valuefrom:") || hasFold(rest, "xxx_") {
				end = q
				break scan
			}
		}
	}
	if end == len(b) {
		end = wordEnd(b, p)
	}
	return p, p + len(bytes.TrimRight(b[p:end], ", "))
}
