package redact

import (
	"bytes"
	"slices"
	"strings"
)

// Kinds of characters.
const (
	isSpace  = 1 << iota // also NUL, which stands between arguments in /proc
	isWord               // of names
	isBase64             // of either alphabet
	isHex
	isDigit
	isUpper
	isLowerCase
)

var kinds = func() (k [256]uint8) {
	for _, c := range " \t\r\n\x00" {
		k[c] |= isSpace
	}
	for c := '0'; c <= '9'; c++ {
		k[c] |= isWord | isBase64 | isHex | isDigit
	}
	for c := 'a'; c <= 'z'; c++ {
		k[c] |= isWord | isBase64 | isLowerCase
		k[c-'a'+'A'] |= isWord | isBase64 | isUpper
	}
	for _, c := range "abcdefABCDEF" {
		k[c] |= isHex
	}
	for _, c := range "_.-" {
		k[c] |= isWord
	}
	for _, c := range "+/=_-" {
		k[c] |= isBase64
	}
	return k
}()

func is(c byte, kind uint8) bool { return kinds[c]&kind != 0 }

// skipKind is the first place from p on that is not of a kind.
func skipKind(b []byte, p int, kind uint8) int {
	for p < len(b) && is(b[p], kind) {
		p++
	}
	return p
}

func skipSpaces(b []byte, p int) int { return skipKind(b, p, isSpace) }

// quoteAt returns the quote that begins at p, with the backslashes before it; n is 0 when there is
// none.
func quoteAt(b []byte, p int) (n, escapes int, mark byte) {
	q := p
	for q < len(b) && b[q] == '\\' {
		q++
	}
	if q < len(b) && (b[q] == '"' || b[q] == '\'' || b[q] == '`') {
		return q + 1 - p, q - p, b[q]
	}
	return 0, 0, 0
}

// closeQuote returns where the text ends whose quote was opened before p, and where the line goes
// on. Quotes that are escaped deeper belong to the text. A text without an end goes to the end of
// the line.
func closeQuote(b []byte, p, escapes int, mark byte) (end, next int) {
	for q := p; q < len(b); q++ {
		if b[q] != mark {
			continue
		}
		n := 0
		for q-n > p && b[q-n-1] == '\\' {
			n++
		}
		if n <= escapes || escapes == 0 && n%2 == 0 {
			if n > escapes {
				n = 0
			}
			return q - n, q + 1
		}
	}
	end = len(bytes.TrimRight(b, "\r\n"))
	return max(end, p), len(b)
}

// closers end a word that is not quoted, with what opens them.
var closers = map[byte]byte{')': '(', ']': '[', '}': '{', '>': '<'}

// wordEnd is where an unquoted value ends: at a space, a quote, a mark behind which another name
// begins, or what closes more than the value opened.
func wordEnd(b []byte, p int) int {
	opened := map[byte]int(nil)
	for q := p; q < len(b); q++ {
		c := b[q]
		switch {
		case is(c, isSpace), c == '"', c == '`', c == '\'' && endsString(b, q+1), c == '\\' && endsEscaped(b, q+1):
			return q
		case c == '(' || c == '[' || c == '{' || c == '<':
			if opened == nil {
				opened = map[byte]int{}
			}
			opened[c]++
		case closers[c] != 0:
			if opened[closers[c]] == 0 {
				return q
			}
			opened[closers[c]]--
		case c == ',' || c == ';' || c == '&':
			if endsField(b, q+1) {
				return q
			}
		}
	}
	return len(b)
}

// endsEscaped says that a backslash before p begins the end of a text: an escaped quote, a line's
// end.
func endsEscaped(b []byte, p int) bool {
	return p >= len(b) || strings.IndexByte("\"'\\nrt0", b[p]) >= 0
}

// endsField says that a new field begins at p, behind a comma or its like: a name with its mark, a
// space, a quote, a bracket, the end.
func endsField(b []byte, p int) bool {
	if p >= len(b) || is(b[p], isSpace) || strings.IndexByte("\"'\\`{}[]()<>,;&", b[p]) >= 0 {
		return true
	}
	end := skipKind(b, p, isWord)
	return end > p && end < len(b) && (b[end] == '=' || b[end] == ':')
}

// value is what stands behind a name.
type value struct {
	from, to int
	quoted   bool
	next     int
}

// valueAt reads the value at p.
func valueAt(b []byte, p int) value {
	n, escapes, mark := quoteAt(b, p)
	if n == 0 {
		end := wordEnd(b, p)
		return value{p, end, false, end}
	}
	from := p + n
	for { // """triple"""
		m, _, again := quoteAt(b, from)
		if m == 0 || again != mark {
			break
		}
		from += m
	}
	if from > p+n && (from >= len(b) || !is(b[from], isWord)) {
		return value{p + n, p + n, true, p + n} // an empty one
	}
	end, next := closeQuote(b, from, escapes, mark)
	return value{from, end, true, next}
}

// harmless are values that are settings, or stand for one.
var harmless = map[string]bool{
	"true": true, "false": true, "null": true, "none": true, "nil": true, "yes": true, "no": true, "on": true, "off": true,
	"undefined": true, "redacted": true, "[redacted]": true, "string": true, "map": true, "default": true, "unset": true,
	"(sensitive": true, "(known": true, "hidden": true, "optional": true, "required": true,
}

// keeps says that a value is no secret, whatever it stands behind: a setting, a place, a variable,
// a token from before.
func keeps(v []byte) bool {
	if len(v) < 3 {
		return true
	}
	if bytes.HasPrefix(v, []byte(mark)) || bytes.HasPrefix(v, []byte("redacted:")) {
		return true
	}
	if harmless[strings.ToLower(string(bytes.TrimRight(v[:min(len(v), 16)], ".:,;")))] {
		return true
	}
	if len(v) < 6 && len(bytes.Trim(v, "0123456789.")) == 0 {
		return true // a status, a count
	}
	return bytes.HasPrefix(v, []byte("0x")) && len(v) <= 18 || isPlaceholder(v) || isPath(v)
}

// isPlaceholder says that something else is meant to stand here, as $TOKEN, {{ .Token }}, <none>,
// ****, %s.
func isPlaceholder(v []byte) bool {
	first := v[0]
	switch {
	case len(bytes.Trim(v, string(first))) == 0 && !is(first, isDigit):
		return true // ****, xxxx
	case first == '$':
		return len(v) > 1 && (v[1] == '{' || v[1] == '(' || isShellName(v[1:]))
	case first == '<':
		return v[len(v)-1] == '>' || bytes.HasPrefix(v, []byte("<set")) || bytes.HasPrefix(v, []byte("<nil"))
	case first == '%':
		return len(v) <= 3
	case first == '{':
		return bytes.HasPrefix(v, []byte("{{"))
	}
	return false
}

// isShellName says that a text is a name that shells give to variables of the environment.
func isShellName(v []byte) bool {
	for _, c := range v {
		if !is(c, isUpper|isDigit) && c != '_' {
			return false
		}
	}
	return !is(v[0], isDigit)
}

// roots are the directories in which programs keep what they are configured with.
var roots = []string{
	"etc", "var", "run", "usr", "opt", "home", "root", "srv", "tmp", "proc", "sys", "dev", "mnt", "data", "host", "lib",
	"snap", "secrets", "secret", "keys", "certs", "pki", "vault", "bin", "sbin", "config", "app", "registry", "node",
	"apis", "api", "v1", "openapi", "kubernetes", "hostfs", "rootfs", "boot", "media", "go",
}

// isPath says that a value is the path of a file, not base64 with a slash at its start.
func isPath(v []byte) bool {
	v = bytes.TrimPrefix(bytes.TrimPrefix(v, []byte("file://")), []byte("@"))
	if bytes.HasPrefix(v, []byte("./")) || bytes.HasPrefix(v, []byte("../")) || bytes.HasPrefix(v, []byte("~/")) {
		return true
	}
	if len(v) == 0 || v[0] != '/' {
		return false
	}
	first, _, _ := bytes.Cut(v[1:], []byte("/"))
	return slices.Contains(roots, string(first))
}

// looksSecret says that a word in a sentence is a secret rather than a word: a digit among letters,
// or capitals inside.
func looksSecret(v []byte) bool {
	if len(v) < 6 || keeps(v) || bytes.Contains(v, []byte("://")) || v[0] == '/' || v[0] == '(' {
		return false
	}
	digits, letters, others := 0, 0, 0
	for _, c := range v {
		switch {
		case is(c, isDigit):
			digits++
		case is(c, isUpper|isLowerCase):
			letters++
		case c == ':' || c == '(' || c == ')':
			return false // host:port, a time, a call
		default:
			others++
		}
	}
	if digits == 0 || letters == 0 && others > 0 || bytes.Count(v, []byte{'.'}) == 3 && letters == 0 {
		return false // a word, a date, an address
	}
	return !isDuration(v)
}

// isDuration says that a value is a length of time, as 1m30.5s.
func isDuration(v []byte) bool {
	return len(bytes.Trim(v, "0123456789.hmsnuµ")) == 0
}

// isObjectName says that a value names an object of Kubernetes, as kube-system/default-token-x7k2p.
func isObjectName(v []byte) bool {
	dashes := 0
	for _, c := range v {
		switch {
		case c == '-' || c == '/':
			dashes++
		case !is(c, isDigit|isLowerCase) && c != '.':
			return false
		}
	}
	return dashes > 0
}
