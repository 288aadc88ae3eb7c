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
		if w.Known && args.IsHeap(w.Value) {
			return true
		}
	}
	return false
}

// receiverType is the pointer type whose code a frame runs, "pkg.(*T)", empty for
// none. Ok says that it is the method itself and not a closure within it.
func (f *Frame) receiverType() (typ string, ok bool) { return f.function().Type, f.function().Method }

// baseName is the last element of a function's name: "Lock" of "pkg.(*T).Lock".
func (f *Frame) baseName() string { return f.function().Base }

func (f *Frame) argWords() iter.Seq[args.Word] { return args.Words(f.Args) }

// firstArg is the first argument, if a plain word.
func (f *Frame) firstArg() (Arg, bool) { return args.First(f.Args) }
