package stackdump

import (
	"iter"
	"strings"

	"github.com/plegdiag/plegdiag/internal/stackdump/args"
	"github.com/plegdiag/plegdiag/internal/stackdump/funcname"
)

// Name is Func without the path up to a vendor directory and without major
// version elements, so that one table row fits all versions and builds of a
// program: "github.com/godbus/dbus.(*Conn).Close" for
// "k8s.io/x/vendor/github.com/godbus/dbus/v5.(*Conn).Close".
func (f *Frame) Name() string { return f.function().Plain }

// function is what the name of a function says, and the rows that the tables have of it; nil where
// they have none. All frames of a function share it.
type function struct {
	*funcname.Name
	shown                       bool // its receiver is the first argument: see Receiver
	request, park, idle, client *call
}

func newFunction(printed string) *function {
	fn := &function{Name: funcname.Parse(printed)}
	fn.shown = fn.Method && !strings.Contains(fn.Type, "[")
	fn.request, fn.park, fn.idle, fn.client = fn.findRow(requests), fn.findRow(parks), fn.findRow(idlers), fn.findRow(clients)
	return fn
}

// Function is what the name of the function says. All frames of a function in a dump share it.
func (f *Frame) Function() *funcname.Name { return f.function().Name }

func (f *Frame) function() *function {
	if f.fn != nil {
		return f.fn
	}
	return newFunction(f.Func)
}

// Arg is one printed argument word.
type Arg = args.Arg

// Receiver is the first argument of a pointer method "pkg.(*T).M". Ok is false
// for functions, for closures inside of methods, for methods of generic types,
// which print their dictionary first, and when no arguments were printed.
func (f *Frame) Receiver() (a Arg, ok bool) {
	if !f.function().shown {
		return Arg{}, false
	}
	return f.firstArg()
}

// HasPointer says whether an argument, or a part of a composite, looks like an address on the heap.
func (f *Frame) HasPointer() bool {
	for w := range f.argWords() {
		if w.Known && isHeap(w.Value) {
			return true
		}
	}
	return false
}

// isHeap says whether a value may be an address on the heap of a 64-bit Go
// process: 0xc000000000 upwards before Go 1.26, anywhere in user space since.
func isHeap(v uint64) bool { return v >= 1<<32 && v < 1<<47 }

// isAddress says whether a value may be any address; globals of a program stand low.
func isAddress(v uint64) bool { return v >= 1<<16 && v < 1<<47 }

// receiverType is the pointer type whose code a frame runs, "pkg.(*T)", empty for
// none. Ok says that it is the method itself and not a closure within it.
func (f *Frame) receiverType() (typ string, ok bool) { return f.function().Type, f.function().Method }

// baseName is the last element of a function's name: "Lock" of "pkg.(*T).Lock".
func (f *Frame) baseName() string { return f.function().Base }

func (f *Frame) argWords() iter.Seq[args.Word] { return args.Words(f.Args) }

// firstArg is the first argument, if a plain word.
func (f *Frame) firstArg() (Arg, bool) { return args.First(f.Args) }

// text is a string argument {pointer, length}: the length often names the key a goroutine works on.
type text struct{ ptr, len uint64 }

// stringArgs yields the live string arguments with their index. An interface
// prints alike, but its second word is an address.
func (f *Frame) stringArgs() iter.Seq2[int, text] {
	return func(yield func(int, text) bool) {
		var pair []args.Word
		emit := func() bool {
			if len(pair) != 2 || !pair[0].Sure || !pair[1].Sure || !isAddress(pair[0].Value) || pair[1].Value >= 1<<16 {
				return true
			}
			return yield(pair[0].Top, text{pair[0].Value, pair[1].Value})
		}
		for w := range f.argWords() {
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
