package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// otherHints are those of headers, URLs, environments and blocks.
var otherHints = []hint{
	{"authorization", 3, findAuthorization},
	{"bearer ", 2, findBearer},
	{"basic ", 1, findBasic},
	{"cookie", 1, findCookie},
	{"auth", 1, findRegistry},
	{"://", 0, findURL},
	{"@tcp(", 1, findDSN},
	{"@unix(", 2, findDSN},
	{"env", 0, findEnvironment},
	{"-----begin ", 5, findPEM},
	{"ls0tls1crudjti", 5, findEncodedPEM},
}

// schemes are those of Authorization (IANA's registry, and some that providers made).
var schemes = strings.Fields("bearer basic token digest negotiate ntlm aws4-hmac-sha256 apikey api-key key oauth splunk geniekey hmac hoba " +
	"mutual vapid dpop gnap scram-sha-1 scram-sha-256 aws sso-key api-token ssws personal-token zoho-oauthtoken private-token")

// findAuthorization finds the credentials of the header Authorization, also where Go prints a map
// of headers.
func findAuthorization(l *search, at int) {
	b := l.line
	end := at + len("authorization")
	n, _, _ := quoteAt(b, end)
	p := skipBlanks(b, end+n)
	if p >= len(b) || b[p] != ':' && b[p] != '=' {
		return
	}
	p = skipBlanks(b, p+1)
	for p < len(b) && (b[p] == '[' || b[p] == '"' || b[p] == '\'' || b[p] == '\\' || b[p] == ' ') {
		p++
	}
	first := headerWord(b, p)
	for _, scheme := range schemes {
		if first-p == len(scheme) && hasFold(b[p:], scheme) && first < len(b) && b[first] == ' ' {
			from := skipBlanks(b, first)
			l.addHeader(from, headerEnd(b, from))
			return
		}
	}
	if looksSecret(b[p:first]) && first-p >= 8 {
		l.addHeader(p, first)
	}
}

func (l *search) addHeader(from, to int) {
	text := bytes.TrimRight(l.line[from:to], " \t,;")
	if len(text) >= 3 && !bytes.HasPrefix(text, []byte(mark)) && !isPlaceholder(text) {
		l.add(Header, from, from+len(text))
	}
}

// headerWord is where a word of a header ends, headerEnd where its text ends.
func headerWord(b []byte, p int) int {
	for p < len(b) && !is(b[p], isSpace) && strings.IndexByte("\"'\\`]", b[p]) < 0 {
		p++
	}
	return p
}

func headerEnd(b []byte, p int) int {
	for p < len(b) && strings.IndexByte("\"'\\`]\r\n\x00", b[p]) < 0 {
		p++
	}
	return p
}

// findBearer finds a token that is named by its scheme only.
func findBearer(l *search, at int) {
	if at > 0 && is(l.line[at-1], isWord) {
		return
	}
	p := skipBlanks(l.line, at+len("bearer"))
	end := p
	for end < len(l.line) && (is(l.line[end], isBase64) || l.line[end] == '.' || l.line[end] == '~') {
		end++
	}
	if text := l.line[p:end]; end-p >= 8 && looksSecret(text) {
		l.addHeader(p, end)
	}
}

// findBasic finds user:password in base64.
func findBasic(l *search, at int) {
	p := skipBlanks(l.line, at+len("basic"))
	if end := skipKind(l.line, p, isBase64); isEncodedLogin(l.line[p:end]) {
		l.addHeader(p, end)
	}
}

// isEncodedLogin says that a value is user:password in base64.
func isEncodedLogin(v []byte) bool {
	if len(v) < 4 {
		return false
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(v), "="))
	if err != nil || bytes.IndexByte(text, ':') < 0 {
		return false
	}
	for _, c := range text {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// findRegistry finds the auth of a registry, as in a dockerconfigjson, in the configuration of
// containerd, in what a runtime logs of a pull.
func findRegistry(l *search, at int) {
	b := l.line
	from, end := at, at+len("auth")
	for from > 0 && is(b[from-1], isWord) {
		from--
	}
	if end < len(b) && is(b[end], isWord) {
		return
	}
	n, _, _ := quoteAt(b, end)
	p := skipBlanks(b, end+n)
	if p >= len(b) || b[p] != ':' && b[p] != '=' && !(b[p] == ' ' && b[from] == '-') {
		if b[from] != '-' || p == end+n {
			return
		}
		p--
	}
	v := valueAt(b, skipBlanks(b, p+1))
	text := b[v.from:v.to]
	encoded := len(text) >= 20 && skipKind(text, 0, isBase64) == len(text) && from < at
	if isEncodedLogin(text) || encoded && looksSecret(text) {
		l.add(Registry, v.from, v.to)
	}
}

// attributes are the parts of Set-Cookie that are no values of cookies.
var attributes = map[string]bool{
	"path": true, "domain": true, "expires": true, "max-age": true, "samesite": true, "version": true, "comment": true, "priority": true,
}

// findCookie finds the values of HTTP's cookies. D-Bus and the kernel have cookies, too: numbers of
// messages, which stay.
func findCookie(l *search, at int) {
	b := l.line
	from, end := at, skipKind(b, at, isWord)
	for from > 0 && is(b[from-1], isWord) {
		from--
	}
	switch strings.ToLower(string(b[from:end])) {
	case "cookie", "cookies", "set-cookie", "cookie2", "set-cookie2", "http_cookie", "http.cookie":
	default:
		return
	}
	n, _, _ := quoteAt(b, end)
	p := skipBlanks(b, end+n)
	if p >= len(b) || b[p] != ':' && (b[p] != '=' || end-from < len("http_cookie")) {
		return
	}
	p = skipBlanks(b, p+1)
	if p < len(b) && b[p] == '{' {
		l.addMembers(Cookie, p+1)
		return
	}
	for p < len(b) && (b[p] == '[' || b[p] == '"' || b[p] == '\'' || b[p] == '\\') {
		p++
	}
	l.findCookies(p)
}

// findCookies finds the values of a=b; c=d.
func (l *search) findCookies(from int) {
	l.cookies = span{from: from, to: l.readCookies(from)}
}

// readCookies is findCookies, and returns where the list ends. Where the list before went on to
// here, the rest is known: each of its semicolons ended one of its parts.
func (l *search) readCookies(first int) int {
	b := l.line
	for p := first; ; p++ {
		if p > first && l.cookies.from <= p && p < l.cookies.to {
			return l.cookies.to
		}
		p = skipBlanks(b, p)
		name := p
		for p < len(b) && !is(b[p], isSpace) && strings.IndexByte("=;\"'\\]", b[p]) < 0 {
			p++
		}
		if p < len(b) && b[p] == '=' && p > name {
			p = l.readCookie(name, p)
		}
		if p >= len(b) || b[p] != ';' {
			return p
		}
	}
}

// readCookie finds the value behind the equals sign, and returns where it ends. That of an
// attribute is no secret and may have blanks.
func (l *search) readCookie(name, equals int) int {
	b := l.line
	p := equals + 1
	for p < len(b) && !is(b[p], isSpace) && strings.IndexByte(";\"'\\]", b[p]) < 0 {
		p++
	}
	if !attributes[strings.ToLower(string(b[name:equals]))] {
		if !keeps(b[equals+1 : p]) {
			l.add(Cookie, equals+1, p)
		}
		return p
	}
	for p < len(b) && strings.IndexByte(";\"'\\]\r\n", b[p]) < 0 {
		p++
	}
	return p
}

// findURL finds the password in front of a host, or a token that stands there as the user.
func findURL(l *search, at int) {
	b := l.line
	from := at + len("://")
	slash := from
	for slash < min(len(b), from+4096) && !is(b[slash], isSpace) && strings.IndexByte("/?#\"'\\<>`", b[slash]) < 0 {
		slash++
	}
	sign := bytes.LastIndexByte(b[from:slash], '@')
	colon := bytes.IndexByte(b[from:slash], ':')
	if sign < 0 && colon >= 0 && slash < len(b) && b[slash] != '"' {
		sign = l.signBehindSlash(from, from+colon+1, slash)
	}
	if sign < 0 {
		return
	}
	sign += from
	switch {
	case colon >= 0 && from+colon < sign:
		if pass := b[from+colon+1 : sign]; len(pass) > 0 && !bytes.HasPrefix(pass, []byte(mark)) && !isVariable(pass) {
			l.add(URL, from+colon+1, sign)
		}
		if user := b[from : from+colon]; len(user) >= 20 && looksSecret(user) {
			l.add(URL, from, from+colon)
		}
	case sign-from >= 16 && looksSecret(b[from:sign]):
		l.add(URL, from, sign)
	}
}

// isVariable says that a shell puts a value here.
func isVariable(v []byte) bool { return len(v) > 2 && isPlaceholder(v) }

// signBehindSlash is the @ behind a password that holds a slash; -1 where what looked like a
// password is a port.
func (l *search) signBehindSlash(from, pass, slash int) int {
	b := l.line
	if pass == slash || skipKind(b[:slash], pass, isDigit) == slash {
		return -1
	}
	const longest = 512
	end := slash
	for end < min(len(b), slash+longest) && !is(b[end], isSpace) && strings.IndexByte("\"'\\<>`,", b[end]) < 0 {
		end++
	}
	return bytes.LastIndexByte(b[from:end], '@')
}

// findDSN finds the password in user:password@tcp(host:port)/db.
func findDSN(l *search, at int) {
	b := l.line
	const longest = 512
	from := at
	for from > max(0, at-longest) && !is(b[from-1], isSpace) && strings.IndexByte("\"'\\=", b[from-1]) < 0 {
		from--
	}
	if colon := bytes.IndexByte(b[from:at], ':'); colon >= 0 && !bytes.HasPrefix(b[from+colon+1:], []byte(mark)) {
		l.add(URL, from+colon+1, at)
	}
}
