package lines

import (
	"bytes"
	"strings"
)

// QuoteEnd is the offset of the quote that closes a string whose inside starts at from; -1 where it
// stays open. A backslash hides the quote behind it.
func QuoteEnd[T string | []byte](b T, from int) int {
	for i := from; i < len(b); {
		q := indexByte(b[i:], '"')
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

func indexByte[T string | []byte](b T, c byte) int {
	switch b := any(b).(type) {
	case string:
		return strings.IndexByte(b, c)
	case []byte:
		return bytes.IndexByte(b, c)
	}
	return -1 // there is no other type
}

// BracketEnd is the offset behind the brackets or braces that b starts with; -1 where they stay
// open. Those inside of strings do not count.
func BracketEnd[T string | []byte](b T) int {
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

// StartsWith says that a line starts with one of several texts.
func StartsWith[T string | []byte](line T, starts ...string) bool {
	for _, s := range starts {
		if len(line) >= len(s) && (s == "" || line[0] == s[0]) && string(line[:len(s)]) == s {
			return true
		}
	}
	return false
}

// SkipSpace is the offset of the first byte from i on that is no white space of JSON.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}
