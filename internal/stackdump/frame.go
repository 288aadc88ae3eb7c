package stackdump

import (
	"iter"
	"strings"

	"github.com/plegdiag/plegdiag/internal/stackdump/funcname"
)

// Name is Func without the path up to a vendor directory and without major
// version elements, so that one table row fits all versions and builds of a
// program: "github.com/godbus/dbus.(*Conn).Close" for
// "k8s.io/x/vendor/github.com/godbus/dbus/v5.(*Conn).Close".
func (f *Frame) Name() string {
	if f.fn != nil {
		return f.fn.Plain
	}
	return funcname.Plain(f.Func)
}

// Arg is one printed argument word.
type Arg struct {
	Value uint64
	Sure  bool // no '?' behind it: the runtime knows that the slot is live
	Known bool // a number was printed
}

// Receiver is the first argument of a pointer method "pkg.(*T).M". Ok is false
// for functions, for closures inside of methods, for methods of generic types,
// which print their dictionary first, and when no arguments were printed.
func (f *Frame) Receiver() (a Arg, ok bool) {
	if typ, method := f.receiverType(); !method || strings.Contains(typ, "[") {
		return Arg{}, false
	}
	return f.firstArg()
}

// Pointers yields the arguments, also those inside of composites, that look like addresses on the
// heap.
func (f *Frame) Pointers() iter.Seq[Arg] {
	return func(yield func(Arg) bool) {
		for w := range f.argWords() {
			if w.Known && isHeap(w.Value) && !yield(w.Arg) {
				return
			}
		}
	}
}

// isHeap says whether a value may be an address on the heap of a 64-bit Go
// process: 0xc000000000 upwards before Go 1.26, anywhere in user space since.
func isHeap(v uint64) bool { return v >= 1<<32 && v < 1<<47 }

// isAddress says whether a value may be any address; globals of a program stand low.
func isAddress(v uint64) bool { return v >= 1<<16 && v < 1<<47 }

// receiverType is the pointer type whose code a frame runs, "pkg.(*T)", empty for
// none. Ok says that it is the method itself and not a closure within it.
func (f *Frame) receiverType() (typ string, ok bool) {
	if f.fn != nil {
		return f.fn.Type, f.fn.Method
	}
	return funcname.Receiver(f.Func)
}

// baseName is the last element of a function's name: "Lock" of "pkg.(*T).Lock".
func (f *Frame) baseName() string {
	if f.fn != nil {
		return f.fn.Base
	}
	return funcname.Base(f.Func)
}

// word is one printed word of the arguments.
type word struct {
	Arg
	top   int // index of the argument it belongs to
	depth int // of the composite it stands in; 0 for a plain argument
}

// argWords yields the printed argument words: 0x1, 0x1?, _ and, as one unknown word, "...".
func (f *Frame) argWords() iter.Seq[word] {
	return func(yield func(word) bool) {
		w := word{}
		for s := f.Args; s != ""; {
			switch c := s[0]; {
			case c == '{':
				w.depth++
				s = s[1:]
			case c == '}':
				w.depth--
				s = s[1:]
			case c == ',' && w.depth == 0:
				w.top++
				s = s[1:]
			case c == ',' || c == ' ':
				s = s[1:]
			default:
				end := 0
				for end < len(s) && s[end] != ',' && s[end] != '}' && s[end] != ' ' {
					end++
				}
				w.Arg = parseArg(s[:end])
				if !yield(w) {
					return
				}
				s = s[max(end, 1):]
			}
		}
	}
}

func parseArg(s string) (a Arg) {
	hex, ok := strings.CutPrefix(s, "0x")
	if !ok {
		return Arg{}
	}
	digits, stale := strings.CutSuffix(hex, "?")
	if digits == "" || len(digits) > 16 {
		return Arg{}
	}
	for i := range len(digits) {
		c := digits[i]
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c-'a' <= 5:
			c -= 'a' - 10
		default:
			return Arg{}
		}
		a.Value = a.Value<<4 | uint64(c)
	}
	a.Sure, a.Known = !stale, true
	return a
}

// firstArg is the first argument, if a plain word.
func (f *Frame) firstArg() (Arg, bool) {
	for w := range f.argWords() {
		return w.Arg, w.Known && w.top == 0 && w.depth == 0
	}
	return Arg{}, false
}

// text is a string argument {pointer, length}: the length often names the key a goroutine works on.
type text struct{ ptr, len uint64 }

// stringArgs yields the live string arguments with their index. An interface
// prints alike, but its second word is an address.
func (f *Frame) stringArgs() iter.Seq2[int, text] {
	return func(yield func(int, text) bool) {
		var pair []word
		emit := func() bool {
			if len(pair) != 2 || !pair[0].Sure || !pair[1].Sure || !isAddress(pair[0].Value) || pair[1].Value >= 1<<16 {
				return true
			}
			return yield(pair[0].top, text{pair[0].Value, pair[1].Value})
		}
		for w := range f.argWords() {
			if len(pair) > 0 && pair[0].top != w.top {
				if !emit() {
					return
				}
				pair = pair[:0]
			}
			if w.depth != 1 && len(pair) == 0 {
				continue
			}
			pair = append(pair, w)
		}
		emit()
	}
}
