// Package args reads the arguments of a call as Go prints them in stacks.
package args

import (
	"iter"
	"strings"
)

// Arg is one printed argument word.
type Arg struct {
	Value uint64
	Sure  bool // no '?' behind it: the runtime knows that the slot is live
	Known bool // a number was printed
}

// Word is one printed word of the arguments.
type Word struct {
	Arg
	Top   int // index of the argument it belongs to
	Depth int // of the composite it stands in; 0 for a plain argument
}

// Words yields the printed words: 0x1, 0x1?, _ and, as one unknown word, "...".
func Words(s string) iter.Seq[Word] {
	return func(yield func(Word) bool) {
		w := Word{}
		for s != "" {
			switch c := s[0]; {
			case c == '{':
				w.Depth++
				s = s[1:]
			case c == '}':
				w.Depth--
				s = s[1:]
			case c == ',' && w.Depth == 0:
				w.Top++
				s = s[1:]
			case c == ',' || c == ' ':
				s = s[1:]
			default:
				var length int
				w.Arg, length = cutArg(s)
				if !yield(w) {
					return
				}
				s = s[length:]
			}
		}
	}
}

// First is the first argument, if a plain word.
func First(s string) (Arg, bool) {
	for w := range Words(s) {
		return w.Arg, w.Known && w.Top == 0 && w.Depth == 0
	}
	return Arg{}, false
}

// maxDigits is how many a number of 64 bits has.
const maxDigits = 16

// cutArg reads the word that a text begins with, and its length.
func cutArg(s string) (a Arg, length int) {
	const prefix = "0x"
	if strings.HasPrefix(s, prefix) {
		i := len(prefix)
		for ; i < len(s) && digitOf[s[i]] != 0; i++ {
			a.Value = a.Value<<4 | uint64(digitOf[s[i]]-1)
		}
		digits := i - len(prefix)
		a.Sure = i == len(s) || s[i] != '?'
		if !a.Sure {
			i++
		}
		if a.Known = digits > 0 && digits <= maxDigits && (i == len(s) || endsWord(s[i])); a.Known {
			return a, i
		}
	}
	for length = 1; length < len(s) && !endsWord(s[length]); length++ {
	}
	return Arg{}, length
}

func endsWord(c byte) bool { return c == ',' || c == '}' || c == ' ' }

// digitOf is one more than the value of a hexadecimal digit; 0 for other bytes.
var digitOf = func() (of [256]uint8) {
	for i, c := range []byte("0123456789abcdef") {
		of[c] = uint8(i) + 1
	}
	return of
}()
