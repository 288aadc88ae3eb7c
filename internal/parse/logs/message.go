package logs

import (
	"strings"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// parseKlog reads what follows a klog header: plain text, or, since
// Kubernetes 1.19, "message" key="value" n=3.
func parseKlog(s string) (text string, fields []event.Pair) {
	if s == "" || s[0] != '"' {
		return s, nil
	}
	end := quoteEnd(s, 1)
	if end < 0 || end+1 < len(s) && s[end+1] != ' ' {
		return s, nil
	}
	rest := s[end+1:]
	if rest != "" && !strings.Contains(rest, "=") {
		return s, nil
	}
	return unquote(s[1:end]), readPairs(rest)
}

// readPairs reads key=value after key=value: a value is quoted, a bracketed
// structure, or a word. A word without = becomes a key without a value, so that nothing is lost.
func readPairs(s string) (fields []event.Pair) {
	for {
		key, value, rest, ok := cutPair(s)
		if !ok {
			return fields
		}
		switch {
		case value != "" && value[0] == '"':
			value = unquote(strings.TrimSuffix(value[1:], `"`))
		case strings.HasPrefix(value, "<\n"):
			value = blockValue(value)
		}
		fields = append(fields, event.Pair{Key: key, Value: value})
		s = rest
	}
}

// blockValue is the text of "<\n\tone\n\ttwo\n >". journalctl prints the tabs as blanks.
func blockValue(s string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n >"), "\n")[1:]
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimPrefix(line, "\t"), "        ")
	}
	return strings.Join(lines, "\n")
}

// cutPair cuts the first pair off s; the value is still as written.
func cutPair(s string) (key, value, rest string, ok bool) {
	s = strings.TrimLeft(s, " ")
	if s == "" {
		return "", "", "", false
	}
	i := strings.IndexAny(s, "= ")
	if i < 0 {
		return s, "", "", true
	}
	key = s[:i]
	if s[i] == ' ' {
		return key, "", s[i:], true
	}
	s = s[i+1:]
	n := valueEnd(s)
	return key, s[:n], s[n:], true
}

// valueEnd is the length of the value that s starts with.
func valueEnd(s string) int {
	if s == "" {
		return 0
	}
	switch s[0] {
	case '"':
		if end := quoteEnd(s, 1); end >= 0 {
			return end + 1
		}
		return len(s)
	case '[', '{':
		return bracketEnd(s)
	case '<':
		if !strings.HasPrefix(s, "<\n") {
			break
		}
		if i := strings.Index(s, "\n >"); i > 0 {
			return i + len("\n >")
		}
		return len(s) // the block is cut
	}
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return i
	}
	return len(s)
}

// bracketEnd is the length of the bracketed value that s starts with: klog
// writes slices and structures as JSON, with blanks inside.
func bracketEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			end := quoteEnd(s, i+1)
			if end < 0 {
				return len(s)
			}
			i = end
		}
	}
	return len(s)
}

// quoteEnd finds the quote that closes a string whose inside starts at from; -1 when it stays open.
func quoteEnd(s string, from int) int {
	for i := from; i < len(s); {
		q := strings.IndexByte(s[i:], '"')
		if q < 0 {
			return -1
		}
		q += i
		slashes := 0
		for q-slashes > from && s[q-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return q
		}
		i = q + 1
	}
	return -1
}

// parseLogrus reads the pairs of a logrus line, from the level on. Open says
// that the last quoted value is not closed: the line was cut. Bounds are offsets
// of s; the offsets of text they fall on are returned in the same order.
func parseLogrus(s string, bounds []int) (text string, fields []event.Pair, offsets []int, open bool) {
	all := s
	offsets = make([]int, 0, len(bounds))
	for {
		key, value, rest, ok := cutPair(s)
		if !ok {
			break
		}
		quoted := value != "" && value[0] == '"'
		at := len(all) - len(rest) - len(value)
		if quoted {
			at++
			value = value[1:]
			if closed := len(value) > 0 && quoteEnd(value, 0) == len(value)-1; closed {
				value = value[:len(value)-1]
			} else {
				open = true
			}
		}
		switch {
		case key == "msg" && text == "":
			text, offsets = unquoteAt(value, quoted, at, bounds, offsets)
		case key == "level" || key == "time":
		case quoted:
			fields = append(fields, event.Pair{Key: key, Value: unquote(value)})
		default:
			fields = append(fields, event.Pair{Key: key, Value: value})
		}
		s = rest
	}
	for len(offsets) < len(bounds) {
		offsets = append(offsets, len(text))
	}
	return text, fields, offsets, open
}

// unquoteAt is unquote for a value that starts at offset at; it translates bounds too.
func unquoteAt(value string, quoted bool, at int, bounds, offsets []int) (string, []int) {
	if !quoted || strings.IndexByte(value, '\\') < 0 {
		for _, b := range bounds {
			offsets = append(offsets, min(max(b-at, 0), len(value)))
		}
		return value, offsets
	}
	var out strings.Builder
	out.Grow(len(value))
	for i := 0; i < len(value); {
		for len(offsets) < len(bounds) && bounds[len(offsets)] <= at+i {
			offsets = append(offsets, out.Len())
		}
		run := len(value)
		if len(offsets) < len(bounds) {
			run = bounds[len(offsets)] - at - i
		}
		i += unescape(&out, value[i:], run)
	}
	return out.String(), offsets
}

// unquote undoes the escapes of Go's %q. What is no escape stays as it is.
func unquote(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	out.WriteString(s[:i])
	for i < len(s) {
		i += unescape(&out, s[i:], len(s))
	}
	return out.String()
}

// simpleEscapes are the escapes of one letter.
var simpleEscapes = [256]byte{
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '"': '"', '\'': '\'',
}

// unescape writes the escape that s starts with or, when it is none, all up to the next
// one, but at most run bytes. It returns how much of s that was.
func unescape(out *strings.Builder, s string, run int) int {
	if s[0] != '\\' {
		s = s[:min(len(s), run)]
		n := strings.IndexByte(s, '\\')
		if n < 0 {
			n = len(s)
		}
		out.WriteString(s[:n])
		return n
	}
	if len(s) < 2 {
		out.WriteByte('\\')
		return 1
	}
	if c := simpleEscapes[s[1]]; c != 0 {
		out.WriteByte(c)
		return 2
	}
	size, base := 0, 16
	switch c := s[1]; {
	case c == 'x':
		size = 2
	case c == 'u':
		size = 4
	case c == 'U':
		size = 8
	case c >= '0' && c <= '3':
		size, base = 3, 8
	}
	from := 2
	if base == 8 {
		from = 1
	}
	v, ok := readDigits(s[min(from, len(s)):min(from+size, len(s))], base)
	if !ok || size == 0 || len(s) < from+size {
		out.WriteByte('\\')
		return 1
	}
	if size == 2 || base == 8 {
		out.WriteByte(byte(v))
	} else {
		if v > utf8.MaxRune {
			v = utf8.RuneError
		}
		out.WriteRune(rune(v))
	}
	return from + size
}

// readDigits reads digits of base 8 or 16.
func readDigits(s string, base int) (v uint32, ok bool) {
	for i := range len(s) {
		c, d := s[i], 0
		switch {
		case lines.IsDigit(c):
			d = int(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			d = int(c|0x20-'a') + 10
		default:
			return 0, false
		}
		if d >= base {
			return 0, false
		}
		v = v*uint32(base) + uint32(d)
	}
	return v, s != ""
}
