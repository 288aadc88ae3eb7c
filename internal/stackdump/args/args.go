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

// IsHeap says whether a value may be an address on the heap of a 64-bit Go process:
// 0xc000000000 upwards before Go 1.26, anywhere in user space since.
func IsHeap(v uint64) bool { return v >= 1<<32 && v < 1<<47 }

// IsAddress says whether a value may be any address; globals of a program stand low.
func IsAddress(v uint64) bool { return v >= 1<<16 && v < 1<<47 }

// Text is a string argument {pointer, length}: the length often names the key a goroutine works on.
type Text struct{ Pointer, Len uint64 }

// Strings yields the live string arguments with their index. An interface
// prints alike, but its second word is an address.
func Strings(s string) iter.Seq2[int, Text] {
	return func(yield func(int, Text) bool) {
		var pair []Word
		emit := func() bool {
			if len(pair) != 2 || !pair[0].Sure || !pair[1].Sure || !IsAddress(pair[0].Value) || pair[1].Value >= 1<<16 {
				return true
			}
			return yield(pair[0].Top, Text{pair[0].Value, pair[1].Value})
		}
		for w := range Words(s) {
			if len(pair) > 0 && pair[0].Top != w.Top {
				if !emit() {
					return
				}
				pair = pair[:0]
			}
			if w.Depth != 1 && len(pair) == 0 {
				continue
			}
			pair = append(pair, w)
		}
		emit()
	}
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
