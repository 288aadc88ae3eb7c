package collect

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"strings"
)

// secret is one form of a value that must not leave the node. The groups of the expression are what
// is replaced; without a group all of it is.
type secret struct {
	hint []string // every line that matches contains one of these, in lower case
	re   *regexp.Regexp
}

// secretKey is a key with a secret, as programs write them in arguments, environments, JSON, YAML,
// TOML and headers.
const secretKey = `[\w.-]*(?:passw(?:or)?d|passwd|passphrase|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|client[_-]?key|sas[_-]?key|account[_-]?key|signature)[\w.-]*`

const (
	// before is what comes before such a key.
	before = `(?:^|[\s,;=:{\[(&?"'\\-])`
	// secretValue is quoted, or a word.
	secretValue = `(?:\\*["'](?P<v>[^"'\\]{3,})|(?P<w>[^\s"'\\,;&{}\[\]()<>]{3,}))`
)

// secretHints: every such key contains one of them.
var secretHints = []string{"pass", "secret", "token", "credential", "key", "signature"}

// secrets are searched in this order. A key counts with what directly follows it: --token=x,
// --token x, "token": "x", token: x. Values that are only about a secret (secretName, a path to a
// file) are replaced, too, to be safe.
var secrets = []secret{
	// JSON Web Token: base64url of {"
	{[]string{"eyj"}, regexp.MustCompile(`eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?`)},
	// id of an AWS access key
	{[]string{"akia", "asia"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)},
	// Google API key
	{[]string{"aiza"}, regexp.MustCompile(`\bAIza[\w-]{35}`)},
	// Google OAuth token
	{[]string{"ya29."}, regexp.MustCompile(`\bya29\.[\w-]{10,}`)},
	// id of an Alibaba Cloud access key
	{[]string{"ltai"}, regexp.MustCompile(`\bLTAI[0-9A-Za-z]{12,}`)},
	// GitHub
	{[]string{"ghp_", "gho_", "ghs_", "github_pat_"}, regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_)\w{20,}`)},
	// Slack
	{[]string{"xox"}, regexp.MustCompile(`\bxox[abprs]-[\w-]{10,}`)},
	{[]string{"://"}, regexp.MustCompile(`://[^/\s:@"']*:(?P<v>[^/\s@"']+)@`)}, // user:password@ of a URL
	{[]string{"bearer ", "basic "}, regexp.MustCompile(`(?i)\b(?:bearer|basic) +(?P<v>[\w.~+/=-]{8,})`)},
	{[]string{"sig="}, regexp.MustCompile(`(?i)[?&]sig=(?P<v>[^&\s"']+)`)}, // Azure shared access signature
	// KEY=value, "KEY":"value", also inside of quoted JSON.
	{secretHints, regexp.MustCompile(`(?i)` + before + secretKey + `(?:\\*["'])?\s*(?:=|\\*["']\s*:)\s*` + secretValue)},
	// --KEY value
	{secretHints, regexp.MustCompile(`(?i)` + before + `--?` + secretKey + `\s+` + secretValue)},
	// A line of YAML, or a header.
	{secretHints, regexp.MustCompile(`(?i)^[\s-]*["']?` + secretKey + `["']?:\s*` + secretValue)},
	// In a sentence a word with a digit: "token: context deadline exceeded" stays.
	{secretHints, regexp.MustCompile(`(?i)` + before + secretKey + `["']?:\s+["']?(?P<v>[\w~+/=-]*[0-9][\w~+/=-]*)`)},
}

// pem is the begin of a block with a key or a certificate, also where its line breaks are written
// as \n.
var pem = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]+-----`)

// redactor replaces secrets in lines. One value has one token everywhere in a bundle, and another
// one in the next bundle.
type redactor struct {
	key   []byte
	held  []byte // a line that is not complete yet
	block bool   // inside of a PEM block
	n     int
}

func (r *redactor) replaced() int { return r.n }

// tokenFor returns the token that replaces a value.
func (r *redactor) tokenFor(value string) string {
	r.n++
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(value))
	return "<redacted:" + hex.EncodeToString(mac.Sum(nil))[:10] + ">"
}

func (r *redactor) filterContent(dst *bytes.Buffer, content []byte, last bool) {
	for len(content) > 0 {
		i := bytes.IndexByte(content, '\n')
		if i < 0 {
			break
		}
		if len(r.held) == 0 {
			dst.Write(r.redactLine(content[:i+1]))
		} else {
			r.held = append(r.held, content[:i+1]...)
			dst.Write(r.redactLine(r.held))
			r.held = r.held[:0]
		}
		content = content[i+1:]
	}
	r.held = append(r.held, content...)
	if last || len(r.held) > maxLine {
		dst.Write(r.redactLine(r.held))
		r.held = r.held[:0]
	}
}

// redactLine returns a line without its secrets.
func (r *redactor) redactLine(line []byte) []byte {
	if r.block || bytes.Contains(line, []byte("-----BEGIN ")) {
		line = r.redactPEM(line)
	}
	lower := bytes.ToLower(line)
	for i := range secrets {
		s := &secrets[i]
		for _, hint := range s.hint {
			if bytes.Contains(lower, []byte(hint)) {
				line = r.replaceValues(line, s.re)
				break
			}
		}
	}
	return line
}

// redactPEM removes keys and certificates. A block without an end goes on in the next line.
func (r *redactor) redactPEM(line []byte) []byte {
	var out []byte
	for {
		if r.block {
			i := bytes.Index(line, []byte("-----END "))
			if i < 0 {
				if bytes.HasSuffix(line, []byte{'\n'}) && len(out) > 0 {
					out = append(out, '\n')
				}
				return out
			}
			r.block = false
			rest := line[i+len("-----END "):]
			_, rest, _ = bytes.Cut(rest, []byte("-----"))
			line = rest
		}
		at := pem.FindIndex(line)
		if at == nil {
			return append(out, line...)
		}
		out = append(append(out, line[:at[0]]...), "<redacted:pem>"...)
		r.n++
		r.block = true
		line = line[at[1]:]
	}
}

// replaceValues replaces the values that an expression finds by tokens.
func (r *redactor) replaceValues(line []byte, re *regexp.Regexp) []byte {
	var out []byte
	done := 0
	for _, m := range re.FindAllSubmatchIndex(line, -1) {
		from, to := m[0], m[1]
		for g := 1; g < len(m)/2; g++ {
			if m[2*g] >= 0 {
				from, to = m[2*g], m[2*g+1]
			}
		}
		value := string(line[from:to])
		if isHarmless(value) {
			continue
		}
		out = append(append(out, line[done:from]...), r.tokenFor(value)...)
		done = to
	}
	if out == nil {
		return line
	}
	return append(out, line[done:]...)
}

// isHarmless says that a value behind such a key is no secret: a setting, or a token from an
// earlier expression.
func isHarmless(value string) bool {
	switch strings.ToLower(strings.TrimRight(value, ".:")) {
	case "true", "false", "null", "none", "nil":
		return true
	}
	if len(value) < 6 && strings.Trim(value, "0123456789.") == "" {
		return true // a status, a count
	}
	return strings.HasPrefix(value, "<redacted:") || strings.HasPrefix(value, "redacted:") ||
		strings.HasPrefix(value, "0x")
}

// exportFilter replaces secrets in the journal's export format (systemd.io/JOURNAL_EXPORT_FORMATS):
// NAME=value, or NAME, a length of eight bytes, and the value.
type exportFilter struct {
	lines redactor
	held  []byte
}

func (f *exportFilter) replaced() int { return f.lines.n }

func (f *exportFilter) filterContent(dst *bytes.Buffer, content []byte, last bool) {
	f.held = append(f.held, content...)
	rest := f.held
	for {
		n := f.filterField(dst, rest)
		if n == 0 {
			break
		}
		rest = rest[n:]
	}
	f.held = append(f.held[:0], rest...)
	if last || len(f.held) > 8*maxLine {
		if len(f.held) > 0 {
			f.lines.n++ // a field that was cut, or has no end: its content is not known
		}
		f.held = f.held[:0]
	}
}

// filterField writes the next field and returns its length; 0 when it is not complete.
func (f *exportFilter) filterField(dst *bytes.Buffer, b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return 0
	}
	if is := bytes.IndexByte(b[:i+1], '='); i == 0 || is >= 0 {
		dst.Write(b[:is+1])
		dst.Write(f.lines.redactLine(b[is+1 : i+1]))
		f.lines.block = false // a value ends with its line
		return i + 1
	}
	const length = 8
	if len(b) < i+1+length {
		return 0
	}
	size := binary.LittleEndian.Uint64(b[i+1:])
	if size > 64<<20 {
		return 0
	}
	end := i + 1 + length + int(size) + 1
	if len(b) < end {
		return 0
	}
	var value bytes.Buffer
	f.lines.filterContent(&value, b[i+1+length:end-1], true)
	f.lines.block = false
	dst.Write(b[:i+1])
	dst.Write(binary.LittleEndian.AppendUint64(nil, uint64(value.Len())))
	dst.Write(value.Bytes())
	dst.WriteByte('\n')
	return end
}
