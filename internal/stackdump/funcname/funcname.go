// Package funcname takes apart the names of functions as Go prints them in stacks.
package funcname

import (
	"hash/maphash"
	"slices"
	"strings"
)

// Name is what the name of a function says.
type Name struct {
	Printed string
	Plain   string // see Plain
	Base    string // see Base
	Type    string // see Receiver
	Method  bool
	// Hash is one of Printed, for one run of this program.
	Hash uint64
}

// seed is one for all names, so that the hashes of two dumps compare.
var seed = maphash.MakeSeed()

// Parse is all that a name says.
func Parse(printed string) *Name {
	n := &Name{Printed: printed, Plain: Plain(printed), Base: Base(printed), Hash: maphash.String(seed, printed)}
	n.Type, n.Method = Receiver(printed)
	return n
}

// Plain is a name without the path up to a vendor directory and without major version elements:
// "github.com/godbus/dbus.(*Conn).Close" for
// "k8s.io/x/vendor/github.com/godbus/dbus/v5.(*Conn).Close".
func Plain(name string) string {
	if !strings.Contains(name, "/v") {
		return strings.TrimPrefix(name, "vendor/")
	}
	if strings.Contains(name, "/vendor/") {
		name = name[strings.LastIndex(name, "/vendor/")+len("/vendor/"):]
	}
	name = strings.TrimPrefix(name, "vendor/") // the standard library's own
	for from := 0; ; {
		i := strings.Index(name[from:], "/v")
		if i < 0 {
			return name
		}
		i += from
		end := i + len("/v")
		for end < len(name) && name[end]-'0' <= 9 {
			end++
		}
		from = end
		if end > i+len("/v") && end < len(name) && (name[end] == '/' || name[end] == '.') {
			name = name[:i] + name[end:]
			from = i
		}
	}
}

// Base is the last element of a name: "Lock" of "pkg.(*T).Lock".
func Base(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// Receiver is the pointer type whose code a function is, "pkg.(*T)", empty for none. Method says
// that it is the method itself and not a closure within it.
func Receiver(name string) (typ string, method bool) {
	i := strings.Index(name, ".(*")
	if i < 0 {
		return "", false
	}
	j := strings.Index(name[i:], ").")
	if j < 0 {
		return "", false
	}
	typ, base := name[:i+j+1], name[i+j+2:]
	return typ, !strings.Contains(base, ".") && !strings.HasSuffix(base, "-fm")
}

// ShortType is a type without the path of its package: "container.(*statusStorage)".
func ShortType(typ string) string { return typ[strings.LastIndexByte(typ, '/')+1:] }

// Package is the path of a function's package: "github.com/containerd/ttrpc".
func Package(name string) string {
	slash := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[slash:], '.'); dot >= 0 {
		return name[:slash+dot]
	}
	return name
}

// IsClosure recognizes "f.func1", "f.func1.2" and the wrapper of a go statement, "f.gowrap1".
func IsClosure(name string) bool {
	return name != "" && name[0]-'0' <= 9 || strings.HasPrefix(name, "func") || strings.HasPrefix(name, "gowrap")
}

// loopNames are how functions are called that wait for work as long as the process lives.
var loopNames = []string{
	"run", "serve", "start", "watch", "monitor", "listen", "read", "recv", "receive", "accept", "poll", "flush",
	"subscribe", "stream", "work", "dispatch", "handle", "keep",
}

// IsLoop says that a function waits for work as long as the process lives, by the last element of
// its name.
func IsLoop(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "loop") || strings.Contains(name, "worker") ||
		slices.ContainsFunc(loopNames, func(p string) bool { return strings.HasPrefix(name, p) })
}
