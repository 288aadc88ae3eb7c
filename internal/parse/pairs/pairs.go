// Package pairs reads the messages of klog and logrus, which end in key=value pairs, without their
// headers.
package pairs

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ParseKlog reads what follows a klog header: plain text, or, since Kubernetes 1.19, "message"
// key="value" n=3. Of plain text, all is text, and there are no fields.
func ParseKlog(s string) (text string, fields []event.Pair) {
	if s == "" || s[0] != '"' {
		return s, nil
	}
	end := lines.QuoteEnd(s, 1)
	if end < 0 || end+1 < len(s) && s[end+1] != ' ' {
		return s, nil
	}
	rest := s[end+1:]
	if rest != "" && !strings.Contains(rest, "=") {
		return s, nil
	}
	return unquote(s[1:end]), Read(rest)
}

// Read gives the fields of a text, key=value after key=value: a value is quoted, a bracketed
// structure, or a word. A word without = becomes a key without a value, so that nothing is lost.
func Read(s string) (fields []event.Pair) {
	for {
		key, value, rest, ok := Cut(s)
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

// Cut cuts the first pair off s; the value is still as written, with its quotes. Ok is false where
// nothing but blanks is left.
func Cut(s string) (key, value, rest string, ok bool) {
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
		if end := looseQuoteEnd(s, 1); end >= 0 {
			return end + 1
		}
		return len(s)
	case '[', '{':
		if end := lines.BracketEnd(s); end > 0 {
			return end
		}
		return len(s)
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

// looseQuoteEnd is [lines.QuoteEnd], also for a value whose own quotes have lost their backslashes
// on a page of Markdown. A quote that a word follows does not end the value; the one that ends it
// stands before the next pair, or at the end.
//
//	"StopPodSandbox for "4498f5a09d78" failed" error="context deadline exceeded"
func looseQuoteEnd(s string, from int) int {
	first := lines.QuoteEnd(s, from)
	if first < 0 || first+1 == len(s) || s[first+1] == ' ' {
		return first
	}
	for end := first; end >= 0; end = lines.QuoteEnd(s, end+1) {
		if beginsPair(s[end+1:]) {
			return end
		}
	}
	if strings.Count(s[first:], `"`)%2 == 0 { // each opens or closes a word of the value, which was cut
		return -1
	}
	return first
}

// beginsPair says that a blank and key= follow, or nothing.
func beginsPair(s string) bool {
	key, _, found := strings.Cut(strings.TrimPrefix(s, " "), "=")
	return s == "" || s[0] == ' ' && found && key != "" && !strings.ContainsAny(key, " \"\\")
}

// ParseLogrus reads the pairs of a logrus line, from the level on. Open says
// that the last quoted value is not closed: the line was cut. Bounds are offsets
// of s; the offsets of text they fall on are returned in the same order.
func ParseLogrus(s string, bounds []int) (text string, fields []event.Pair, offsets []int, open bool) {
	all := s
	offsets = make([]int, 0, len(bounds))
	for {
		key, value, rest, ok := Cut(s)
		if !ok {
			break
		}
		quoted := value != "" && value[0] == '"'
		at := len(all) - len(rest) - len(value)
		if quoted {
			at++
			value = value[1:]
			if closed := len(value) > 0 && looseQuoteEnd(value, 0) == len(value)-1; closed {
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

// unescape writes the escape of Go's %q that s starts with or, when it is none, all up to the next
// one, but at most run bytes. It returns how much of s that was.
func unescape(out *strings.Builder, s string, run int) int {
	if s[0] != '\\' {
		s = s[:min(len(s), run)]
		if n := strings.IndexByte(s, '\\'); n >= 0 {
			s = s[:n]
		}
		out.WriteString(s)
		return len(s)
	}
	r, isRune, rest, err := strconv.UnquoteChar(s, '"')
	switch {
	case err != nil:
		out.WriteByte('\\')
		return 1
	case isRune:
		out.WriteRune(r)
	default:
		out.WriteByte(byte(r))
	}
	return len(s) - len(rest)
}
