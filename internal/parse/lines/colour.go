package lines

import "bytes"

// WithoutColours appends b without its terminal sequences (ECMA-48): colours as journalctl, dmesg
// -L, stern and loggers write them, and titles. Dst may be the start of b.
func WithoutColours(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, '\x1b')
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		b = b[i+escapeSequenceLength(b[i:]):]
	}
}

// escapeSequenceLength is the length of the sequence that b, from its escape on, starts with.
func escapeSequenceLength(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
			if b[i] < ' ' || b[i] > '~' {
				return i // no parameter: the sequence was cut
			}
		}
		return len(b)
	case ']':
		for i := 2; i < len(b); i++ {
			if b[i] == '\a' {
				return i + 1
			}
			if b[i] == '\x1b' && i+1 < len(b) && b[i+1] == '\\' {
				return i + 2
			}
		}
		return 2
	case '(', ')':
		return min(3, len(b))
	}
	return 1
}
