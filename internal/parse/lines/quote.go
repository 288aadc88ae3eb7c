package lines

import "bytes"

// QuoteEnd is the offset of the quote that closes a string whose inside starts at from; -1 where it
// stays open. A backslash hides the quote behind it.
func QuoteEnd(b []byte, from int) int {
	for i := from; i < len(b); {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return -1
		}
		q += i
		slashes := 0
		for q-slashes > from && b[q-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return q
		}
		i = q + 1
	}
	return -1
}

// BracketEnd is the offset behind the brackets or braces that b starts with; -1 where they stay
// open. Those inside of strings do not count.
func BracketEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			if i = QuoteEnd(b, i+1); i < 0 {
				return -1
			}
		}
	}
	return -1
}
