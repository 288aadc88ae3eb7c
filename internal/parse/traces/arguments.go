package traces

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/traces/dbus"
)

// Buffers are the data that a call of the write, send, read or recv family moved, n bytes of it; n
// < 0 stands for all that is in the buffers. It knows every way in which strace writes strings.
func Buffers(name, args string, n int64) []dbus.Buffer {
	var all []dbus.Buffer
	add := func(s string, cut bool, size int64) {
		b := undoEscapes(s)
		if !cut {
			size = int64(len(b))
		}
		if n >= 0 {
			size = min(size, n)
			n -= size
		}
		all = append(all, dbus.Buffer{Bytes: b[:min(int64(len(b)), size)], Len: size})
	}
	_, rest, ok := ReadDescriptor(args)
	if !ok {
		return nil
	}
	if !strings.Contains(name, "msg") && !strings.HasSuffix(name, "v") {
		if s, tail, ok := cutString(rest); ok {
			after, cut := strings.CutPrefix(tail, "...")
			add(s, cut, firstNumber(after))
		}
		return all
	}
	for len(all) < maxBuffers {
		_, at, ok := strings.Cut(rest, "iov_base=")
		if !ok {
			break
		}
		rest = at
		s, tail, ok := cutString(at)
		if !ok || at[0] != '"' {
			continue // an address: nothing was moved
		}
		after, cut := strings.CutPrefix(tail, "...")
		_, size, _ := strings.Cut(after[:min(len(after), 40)], "iov_len=")
		add(s, cut, firstNumber(size))
		rest = after
	}
	return all
}

// maxBuffers bounds the buffers of one call: the kernel's UIO_MAXIOV.
const maxBuffers = 1024

// ReadDescriptor reads the descriptor that a call works on: its number, what -y
// wrote behind it ("UNIX-STREAM:[315702->314541]", empty without), and the rest of the arguments.
func ReadDescriptor(args string) (d FD, rest string, ok bool) {
	if i := strings.IndexByte(args, '='); i > 0 && callNameLength([]byte(args[:i])) == i {
		args = args[i+1:] // -N
	}
	n, digits := 0, 0
	for digits < len(args) && digits < 9 && lines.IsDigit(args[digits]) {
		n = n*10 + int(args[digits]-'0')
		digits++
	}
	if digits == 0 || strings.HasPrefix(args[digits:], "x") { // none, or an address
		return FD{}, args, false
	}
	d.N, rest = n, args[digits:]
	if strings.HasPrefix(rest, "<") {
		if end := labelLength(rest); end > 0 {
			d.Label, rest = rest[1:end-1], rest[end:]
		}
	}
	return d, rest, true
}

// FD is a file descriptor as a trace shows it.
type FD struct {
	N     int
	Label string // of -y and -yy; empty without
}

// labelLength is the offset behind the > that closes the < at the start of s. Paths may hold both.
func labelLength(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			if i = lines.QuoteEnd(s, i+1); i < 0 {
				return -1
			}
		case '<':
			depth++
		case '>':
			if i > 0 && s[i-1] == '-' {
				continue
			}
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// cutString is the inside of the first string literal of s, and what follows it. An open one
// reaches to the end.
func cutString(s string) (in, rest string, ok bool) {
	i := strings.IndexByte(s, '"')
	if i < 0 {
		return "", s, false
	}
	s = s[i+1:]
	if end := lines.QuoteEnd(s, 0); end >= 0 {
		return s[:end], s[end+1:], true
	}
	return s, "", true
}

// FirstString is the first string of the arguments with strace's escapes undone; ok is false when
// there is none.
func FirstString(args string) (s string, ok bool) {
	in, _, ok := cutString(args)
	if strings.IndexByte(in, '\\') < 0 {
		return in, ok
	}
	return string(undoEscapes(in)), ok
}

// firstNumber is the first decimal number of s, which the kernel took for a length; 0 without one.
func firstNumber(s string) int64 {
	i := strings.IndexAny(s, "0123456789")
	if i < 0 {
		return 0
	}
	n, _ := lines.Digits([]byte(s[i:]))
	return int64(n)
}

// undoEscapes undoes what strace does to strings: \x and two hex digits (-x, -xx),
// up to three octal digits, as few as possible, else one letter.
func undoEscapes(s string) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch c := s[i]; {
		case c == 'x' && i+2 < len(s) && isHexDigit(s[i+1]) && isHexDigit(s[i+2]):
			out = append(out, hexValue(s[i+1])<<4|hexValue(s[i+2]))
			i += 2
		case '0' <= c && c <= '7':
			v := 0
			for n := 0; n < 3 && i < len(s) && '0' <= s[i] && s[i] <= '7'; n++ {
				v = v<<3 | int(s[i]-'0')
				i++
			}
			i--
			out = append(out, byte(v))
		default:
			if n := strings.IndexByte("fnrtv", c); n >= 0 {
				c = "\f\n\r\t\v"[n]
			}
			out = append(out, c)
		}
	}
	return out
}

func isHexDigit(c byte) bool { return lines.IsDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func hexValue(c byte) byte {
	if lines.IsDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
