package redact

import (
	"bytes"
	"strings"
)

// keyHints: every name of a secret holds one of them.
var keyHints = []hint{
	{"pass", 1, findKey},
	{"pwd", 0, findKey},
	{"secret", 2, findKey},
	{"token", 1, findKey},
	{"credential", 3, findKey},
	{"creds", 1, findKey},
	{"key", 0, findKey},
	{"signature", 2, findKey},
	{"dockercfg", 5, findKey},
	{"dockerconfigjson", 5, findKey},
	{"masterauth", 5, findKey},
	{"_auth", 0, findKey},
	{"sig=", 1, findKey},
	{"_psk", 0, findKey},
	{"psk=", 0, findKey},
	{"_pw", 0, findKey},
	{"community", 3, findKey},
	{"kind", 1, findKubeSecret},
	{"identified by", 9, findIdentified},
}

// findKey finds the value of the name that the hint is a part of.
func findKey(l *search, at int) {
	if at < l.done || l.isTired() {
		return // another part of the same name
	}
	from := at
	for from > 0 && is(l.line[from-1], isWord) {
		from--
	}
	end := skipKind(l.line, at, isWord)
	l.done = end
	name := l.line[from:end]
	c := classOf(name)
	if c == open {
		c = classOfWords(l.line, from, end)
	}
	if c == open {
		l.findBareKey(from, end)
		return
	}
	l.findValue(from, end, c)
}

// classOfWords is for names of two words: "api key".
func classOfWords(b []byte, from, end int) class {
	if !bytes.EqualFold(b[from:end], []byte("key")) || from < 2 || b[from-1] != ' ' {
		return open
	}
	word := from - 1
	for word > 0 && is(b[word-1], isWord) {
		word--
	}
	switch string(bytes.ToLower(b[word : from-1])) {
	case "api", "access", "secret", "account", "auth", "private", "encryption":
		return keyLike
	}
	return open
}

// findBareKey finds a value that is named key, where it can be nothing but one, as in a keyring of
// ceph.
func (l *search) findBareKey(from, end int) {
	b := l.line
	if !isName(b[from:end], "key") {
		return
	}
	n, _, _ := quoteAt(b, end)
	p := skipBlanks(b, end+n)
	if p >= len(b) || b[p] != '=' && b[p] != ':' {
		return
	}
	v := l.valueAt(skipBlanks(b, p+1))
	text := b[v.from:v.to]
	var seen uint8
	for _, c := range text {
		seen |= kinds[c]
	}
	const mixed = isDigit | isUpper | isLowerCase
	if len(text) >= 30 && seen&mixed == mixed && skipKind(text, 0, isBase64) == len(text) {
		l.add(Key, v.from, v.to)
	}
}

// findValue finds the value of a name.
func (l *search) findValue(from, end int, c class) {
	b := l.line
	n, _, _ := quoteAt(b, end)
	p := end + n
	if n > 0 && p < len(b) && b[p] == ']' { // config["password"]
		p++
	}
	space := skipType(b, skipBlanks(b, p))
	switch op := operatorAt(b, space); {
	case op > 0:
		if n == 0 && op == 1 && l.findQuotedVariable(from, space+op) {
			return
		}
		l.addKeyed(skipBlanks(b, space+op), c, n > 0 || op > 1)
	case space < len(b) && b[space] == ':':
		l.findAfterColon(from, space, c, string(b[end:end+n]))
	case n > 0 && space < len(b) && (b[space] == ',' || b[space] == ';'):
		l.findPair(space)
		next := skipBlanks(b, space+1)
		if m, _, _ := quoteAt(b, next); m > 0 && (b[from] == '-' || isCall(b, from-n)) {
			l.addKeyed(next, c, true)
		}
	case space < len(b) && b[space] == '>' && n == 0:
		l.findElement(from, space)
	case space < len(b) && b[space] == '>':
		l.addElement(space + 1) // <property name="password">
	case from < len(b) && b[from] == '-' && space > p:
		l.findFlag(space, c)
	case n == 0 && space > p, n > 0:
		l.findPair(space)
		l.findInWords(from, end, space, c)
	default:
		l.findPair(space)
	}
}

// findQuotedVariable finds the value of a variable that is quoted with its name: "API_TOKEN=two
// words".
func (l *search) findQuotedVariable(from, p int) bool {
	b := l.line
	if from == 0 || b[from-1] != '"' && b[from-1] != '\'' || bytes.ContainsAny(b[from:p], "abcdefghijklmnopqrstuvwxyz") {
		return false
	}
	escapes := 0
	for from-1-escapes > 0 && b[from-2-escapes] == '\\' {
		escapes++
	}
	end, _ := closeQuote(b, p, escapes, b[from-1])
	if keeps(b[p:end]) {
		return false
	}
	l.add(Key, p, end)
	return true
}

// skipType skips a type between a name and its value, as in: var token string = "…", token: String
// = "…".
func skipType(b []byte, p int) int {
	q := p
	if q < len(b) && b[q] == ':' {
		q = skipBlanks(b, q+1)
	}
	for _, name := range []string{"string", "str", "char"} {
		if end := q + len(name); hasFold(b[q:], name) {
			if end = skipBlanks(b, end); operatorAt(b, end) > 0 {
				return end
			}
		}
	}
	return p
}

// isCall says that a quoted name is an argument of a call: setProperty("X_TOKEN", "…").
func isCall(b []byte, p int) bool { return p > 0 && b[p-1] == '(' }

// skipBlanks skips spaces and tabs, some of them, and NULs.
func skipBlanks(b []byte, p int) int {
	const enough = 40
	for q := p; q < len(b) && q < p+enough; q++ {
		if b[q] != ' ' && b[q] != '\t' && b[q] != 0 {
			return q
		}
	}
	return min(p+enough, len(b))
}

// operatorAt is the length of what assigns: =, :=, ?=, ::=, +=, =>. A comparison is none.
func operatorAt(b []byte, p int) int {
	q := p
	for q < len(b) && q < p+3 && (b[q] == ':' || b[q] == '?' || b[q] == '+' || b[q] == '.' || b[q] == '|') {
		q++
	}
	if q >= len(b) || b[q] != '=' {
		return 0
	}
	q++
	for q < len(b) && q < p+4 && (b[q] == '=' || b[q] == '>') {
		q++
	}
	return q - p
}

// addKeyed adds the value at p, which directly follows its name.
func (l *search) addKeyed(p int, c class, certain bool) {
	v := l.valueAt(p)
	text := l.line[v.from:v.to]
	switch {
	case len(text) < 3 || keeps(text) && !isPIN(text, c):
	case c == object && !certain && isObjectName(text): // secret=kube-system/x
	case c == object && bytes.IndexByte(text, '/') > 0 && isObjectName(text): // secret="kube-system/x"
	case c == keyLike && len(text) < 6 && !v.quoted:
	case bytes.HasPrefix(text, []byte("-")) && !v.quoted:
	default:
		l.add(Key, v.from, v.to)
	}
}

// isPIN says that a password is a few digits.
func isPIN(v []byte, c class) bool {
	return c == password && len(v) >= 4 && skipKind(v, 0, isDigit) == len(v)
}

// findAfterColon finds the value behind "name:". Quote is what closes the name.
func (l *search) findAfterColon(from, colon int, c class, quote string) {
	b := l.line
	p := skipBlanks(b, colon+1)
	if p >= len(b) {
		return
	}
	switch {
	case quote != "":
		l.addMember(p, c, quote)
	case p == colon+1:
		l.findTight(p, c)
	case l.beginsLine(from):
		l.addLine(p, c)
	default:
		l.findSentence(from, p, c)
	}
}

// addMember adds the value of a member of JSON; a number gets quotes.
func (l *search) addMember(p int, c class, quote string) {
	v := l.valueAt(p)
	if v.quoted {
		l.addKeyed(p, c, true)
		return
	}
	text := l.line[v.from:v.to]
	if len(text) < 6 || skipKind(text, 0, isDigit) < len(text) {
		return
	}
	l.addQuoted(Key, v.from, v.to, quote)
}

// findTight finds the value of name:value, as Go prints maps and structs. In other text a colon
// stands behind a file, an object.
func (l *search) findTight(p int, c class) {
	v := l.valueAt(p)
	text := l.line[v.from:v.to]
	if len(text) < 3 || keeps(text) || text[0] == '{' || text[0] == '[' || text[0] == '/' || text[0] == '&' {
		return
	}
	if c == password || v.quoted || looksSecret(text) && !isObjectName(text) {
		l.addKeyed(p, c, true)
	}
}

// beginsLine says that only indentation, a list's mark, a quote or the head of a log's line stands
// before a name.
func (l *search) beginsLine(from int) bool {
	before := bytes.TrimRight(l.line[:from], " \t-\"'\\")
	if len(before) == 0 {
		return true
	}
	switch before[len(before)-1] {
	case '{', '[', '(', ',', '#':
		return true
	case 'F', 'P': // kubelet's logs of containers: stdout F
		return bytes.HasSuffix(before, []byte("stdout F")) || bytes.HasSuffix(before, []byte("stderr F"))
	}
	return false
}

// addLine adds the value of a line of YAML or of a header.
func (l *search) addLine(p int, c class) {
	v := l.valueAt(p)
	text := l.line[v.from:v.to]
	if len(text) < 3 || keeps(text) && !isPIN(text, c) || text[0] == '{' || text[0] == '[' && !v.quoted {
		return
	}
	rest := bytes.TrimSpace(l.line[v.next:])
	words := len(rest) > 0 && rest[0] != '#' && rest[0] != ',' && rest[0] != '}' && rest[0] != '"' && rest[0] != '\'' && rest[0] != '\\'
	switch {
	case v.quoted || !words:
		if c == object && isObjectName(text) && !v.quoted && !looksSecret(text) {
			return // secret: my-secret
		}
		l.add(Key, v.from, v.to)
	case c == password && !isWordOnly(text) || looksSecret(text):
		l.add(Key, v.from, v.to)
	}
}

// isWordOnly says that a text is a word of a sentence.
func isWordOnly(v []byte) bool {
	v = bytes.TrimRight(v, ".,;:!")
	for i, c := range v {
		if !is(c, isLowerCase) && !(i == 0 && is(c, isUpper)) {
			return false
		}
	}
	return true
}

// findSentence finds the value of "name: value" within other words.
func (l *search) findSentence(from, p int, c class) {
	v := l.valueAt(p)
	text := bytes.TrimRight(l.line[v.from:v.to], ".,;:!)")
	to := v.from + len(text)
	switch {
	case len(text) < 3 || keeps(text):
	case c == password && v.quoted && !bytes.ContainsAny(text, " "):
		l.add(Sentence, v.from, to)
	case c == object && isObjectName(text):
	case looksSecret(text) && !bytes.ContainsAny(text, " "):
		l.add(Sentence, v.from, to)
	case c == password && !v.quoted && l.endsEntry(v.next) && !answers[string(bytes.ToLower(text))] && len(text) >= 4 && l.beginsEntry(from):
		l.add(Sentence, v.from, to)
	}
}

// beginsEntry says that a name is the first word behind the head of a line: "app[1]: password: x".
func (l *search) beginsEntry(from int) bool {
	before := bytes.TrimRight(l.line[:from], " \t\"'\\")
	if len(before) == 0 {
		return true
	}
	switch before[len(before)-1] {
	case ':', ']', '=', '{', ',', ';':
		return true
	}
	return false
}

// endsEntry says that nothing but marks follows.
func (l *search) endsEntry(p int) bool {
	return len(bytes.Trim(l.line[min(p, len(l.line)):], " \t\r\n\"'\\})],;")) == 0
}

// answers are words behind "password:" that are none.
var answers = map[string]bool{
	"missing": true, "invalid": true, "expired": true, "empty": true, "required": true, "incorrect": true,
	"unauthorized": true, "forbidden": true, "unknown": true, "failed": true, "denied": true, "changed": true,
	"wrong": true, "timeout": true, "error": true, "rejected": true, "mismatch": true, "authentication": true,
	"accepted": true, "unchanged": true, "needed": true, "disabled": true, "locked": true, "prompt": true,
	"encrypted": true, "hashed": true, "unset": true, "stored": true, "ignored": true, "supported": true,
	"unsupported": true, "allowed": true, "accessible": true, "revoked": true, "malformed": true, "present": true,
	"absent": true, "available": true, "unavailable": true, "compromised": true, "configured": true, "blank": true,
	"insecure": true, "secure": true, "random": true, "generated": true, "deleted": true, "removed": true, "reused": true,
	"enforced": true, "enabled": true, "provided": true, "supplied": true, "specified": true, "asked": true,
	"updated": true, "correct": true, "valid": true, "already": true, "never": true, "protected": true,
}

// findFlag finds the value of --name value, -name value.
func (l *search) findFlag(p int, c class) {
	if p >= len(l.line) || l.line[p] == '-' {
		return
	}
	v := l.valueAt(p)
	text := l.line[v.from:v.to]
	if len(text) < 3 || keeps(text) || isWordOnly(text) && c != password && c != token && !v.quoted {
		return
	}
	if strip := bytes.Trim(text, ":="); len(strip) == 0 {
		return
	}
	l.add(Key, v.from, v.to)
}

// findElement finds the value of <name>value</name>.
func (l *search) findElement(from, angle int) {
	if from > 0 && l.line[from-1] == '<' {
		l.addElement(angle + 1)
	}
}

// addElement adds the text of an element of XML.
func (l *search) addElement(p int) {
	b := l.line
	p = skipSpaces(b, p)
	end := p
	for end < len(b) && b[end] != '<' && b[end] != '\r' && b[end] != '\n' {
		end++
	}
	if end > p+2 && !keeps(b[p:end]) {
		l.add(Key, p, end)
	}
}

// findInWords finds the value of a password in a sentence or in the files of ftp, SQL and redis:
// password is X, login l password X, PASSWORD 'X', requirepass X.
func (l *search) findInWords(from, end, space int, c class) {
	b := l.line
	name := bytes.ToLower(b[from:end])
	rest := b[min(space, len(b)):]
	if hasFold(rest, "for ") || hasFold(rest, "of ") || hasFold(rest, "has ") { // password for root is X
		space = skipWords(b, space)
		rest = b[min(space, len(b)):]
	}
	for _, verb := range []string{"is ", "was ", "are ", "is: ", "set to ", "changed to ", ": "} {
		if hasFold(rest, verb) {
			l.addWord(skipBlanks(b, space+len(verb)), c)
			return
		}
	}
	if c != password && c != token || len(rest) == 0 {
		return
	}
	n, _, mark := quoteAt(b, space)
	switch {
	case len(name) <= len("pass"): // a verb
	case n > 0 && mark != '`' && space > end && c == password:
		v := l.valueAt(space)
		if text := b[v.from:v.to]; len(text) >= 3 && !keeps(text) && !bytes.ContainsAny(text, " ") {
			l.add(Sentence, v.from, v.to)
		}
	case string(name) == "requirepass", string(name) == "masterauth",
		c == password && bytes.Contains(bytes.ToLower(near(b, from)), []byte("login ")),
		strings.HasSuffix(string(name), "community"),
		string(name) == "password" && indentOf(b) == from: // of netrc
		v := l.valueAt(space)
		if text := b[v.from:v.to]; len(text) >= 3 && !keeps(text) && !answers[string(bytes.ToLower(text))] && (!isWordOnly(text) || l.endsEntry(v.next)) {
			l.add(Key, v.from, v.to)
		}
	case c == password && isGiven(bytes.ToLower(near(b, from))):
		v := l.valueAt(space)
		if text := bytes.TrimRight(b[v.from:v.to], ".,;:!)"); looksSecret(text) {
			l.add(Sentence, v.from, v.from+len(text))
		}
	}
}

// near is what stands before p, not further away than a sentence.
func near(b []byte, p int) []byte {
	const far = 300
	return b[max(0, p-far):p]
}

// isGiven says that the words before "password" announce one: generated password X.
func isGiven(before []byte) bool {
	words := bytes.Fields(before[max(0, len(before)-20):])
	if len(words) == 0 {
		return false
	}
	switch string(words[len(words)-1]) {
	case "generated", "new", "initial", "with", "temporary", "default", "using", "old", "current", "root", "admin":
		return true
	}
	return false
}

// skipWords skips "for NAME", or "for user NAME", up to its verb or its colon.
func skipWords(b []byte, p int) int {
	const most = 4
	for range most {
		for p < len(b) && !is(b[p], isSpace) && b[p] != ':' {
			p++
		}
		if p < len(b) && b[p] == ':' {
			return p
		}
		p = skipBlanks(b, p)
		if p < len(b) && (hasFold(b[p:], "is ") || hasFold(b[p:], "is: ") || hasFold(b[p:], "was ") || hasFold(b[p:], "set to ")) {
			return p
		}
	}
	return p
}

// addWord adds the X of "password is X".
func (l *search) addWord(p int, c class) {
	v := l.valueAt(p)
	text := l.line[v.from:v.to]
	if !v.quoted {
		text = bytes.TrimRight(text, ".,;:!)")
	}
	if len(text) < 3 || keeps(text) || bytes.ContainsAny(text, " ") && (!v.quoted || c != password) {
		return
	}
	if isWordOnly(text) && !v.quoted {
		if c == password && len(text) >= 6 && l.endsEntry(v.next) && !answers[string(bytes.ToLower(text))] {
			l.add(Sentence, v.from, v.from+len(text))
		}
		return
	}
	if c == password && (v.quoted || hasMark(text)) || looksSecret(text) {
		l.add(Sentence, v.from, v.from+len(text))
	}
}

// hasMark says that a word has a character that words lack.
func hasMark(v []byte) bool { return bytes.ContainsAny(v, "!@#$%^&*+=~0123456789") }

// findPair finds the value of a pair whose name is a value itself:
// "name":"DB_PASSWORD","value":"x", Name:DB_PASSWORD,Value:x.
func (l *search) findPair(next int) {
	b := l.line
	const end, value = "</name>", "<value>"
	if hasFold(b[min(next, len(b)):], end) {
		if p := skipBlanks(b, next+len(end)); hasFold(b[p:], value) {
			l.addElement(p + len(value))
		}
		return
	}
	p := skipPairMarks(b, next)
	if p >= len(b) || !hasFold(b[p:], "value") {
		return
	}
	p += len("value")
	n, _, _ := quoteAt(b, p)
	p = skipBlanks(b, p+n)
	if p >= len(b) || b[p] != ':' && b[p] != '=' {
		return
	}
	from, to := pairValue(b, skipBlanks(b, p+1))
	if to-from >= 1 && !keeps(b[from:to]) {
		l.add(Environment, from, to)
	}
}

// skipPairMarks skips what stands between the two halves of a pair.
func skipPairMarks(b []byte, p int) int {
	for p < len(b) && (is(b[p], isSpace) || b[p] == ',' || b[p] == ';' || b[p] == '\\' || b[p] == '"' || b[p] == '\'') {
		p++
	}
	return p
}

// findIdentified finds the password of SQL's IDENTIFIED BY 'x'.
func findIdentified(l *search, at int) {
	p := skipBlanks(l.line, at+len("identified by"))
	if hasFold(l.line[p:], "password ") {
		p += len("password ")
	}
	if n, _, _ := quoteAt(l.line, p); n > 0 {
		v := l.valueAt(p)
		l.add(Key, v.from, v.to)
	}
}
