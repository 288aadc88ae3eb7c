// Package goversion tells which Go built a program, by how a goroutine dump of it is printed.
package goversion

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/stackdump/funcname"
)

// Version is which Go built a program, as far as a dump of it tells. The
// zero value is that it does not.
type Version struct {
	// Exact is what the path of a file of the standard library names: "1.21.5", "1.19".
	Exact string
	// Min and Max are the first and the last minor version that print a dump like this, 21 for Go
	// 1.21; 0 is unknown.
	Min, Max int
}

// String is "Go 1.21.5", "Go 1.20", "Go 1.18 to 1.19", "Go 1.24 or later", "Go 1.12 or earlier";
// empty when nothing is known.
func (v Version) String() string {
	minor := func(n int) string { return "1." + strconv.Itoa(n) }
	switch {
	case v.Exact != "":
		return "Go " + v.Exact
	case v.Min == 0 && v.Max == 0:
		return ""
	case v.Max == 0:
		return "Go " + minor(v.Min) + " or later"
	case v.Min == 0:
		return "Go " + minor(v.Max) + " or earlier"
	case v.Min == v.Max:
		return "Go " + minor(v.Min)
	}
	return "Go " + minor(v.Min) + " to " + minor(v.Max)
}

// Find bounds the version of Go by what only some versions print. What a dump lacks bounds nothing,
// except where every version must print one of two things. Marks that contradict each other, as in
// a text put together from several, tell nothing: the version is then zero.
func Find(d *stackdump.Dump) Version {
	var v Version
	created, parents := 0, 0
	roots := map[string]bool{}
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		v.boundByHeader(g)
		v.boundByWait(g)
		if f := &g.CreatedBy; f.Func != "" && !strings.HasPrefix(f.Func, "runtime.") {
			created++
			if g.CreatorID != 0 {
				parents++
			}
		}
		for j := range g.Frames {
			f := &g.Frames[j]
			if !d.Profile { // profiles of any version know what was inlined
				v.boundByFrame(f)
			}
			if root, ok := gorootOf(f); ok {
				roots[root] = true
			}
		}
	}
	switch {
	case parents > 0:
		v.boundBelow(21)
	case created > 0:
		v.boundAbove(20)
	}
	if v.Min > v.Max && v.Max != 0 {
		return Version{}
	}
	v.setFromPath(roots)
	return v
}

func (v *Version) boundBelow(minor int) { v.Min = max(v.Min, minor) }

func (v *Version) boundAbove(minor int) {
	if v.Max == 0 || minor < v.Max {
		v.Max = minor
	}
}

// boundByHeader knows goroutineheader of runtime/traceback.go and the wait reasons of
// runtime/runtime2.go.
func (v *Version) boundByHeader(g *stackdump.Goroutine) {
	switch {
	case g.Leaked, len(g.Labels) > 0 && g.ID != 0: // profiles have labels too
		v.boundBelow(26)
	case strings.Contains(g.Header, " (durable)"), strings.Contains(g.Header, ", synctest bubble "):
		v.boundBelow(25)
	case strings.Contains(g.Header, ", synctest group "):
		v.boundBelow(24)
		v.boundAbove(24)
	case strings.Contains(g.Header, " gp=0x"):
		v.boundBelow(22)
	}
	switch g.State {
	case "sync.WaitGroup.Wait":
		v.boundBelow(24)
	case "sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock":
		v.boundBelow(20)
	case "sync.Cond.Wait":
		v.boundBelow(11)
	}
}

// boundByWait knows what a wait of package sync looks like from the runtime up to its first method.
func (v *Version) boundByWait(g *stackdump.Goroutine) {
	for i := range g.Frames {
		f := &g.Frames[i]
		if strings.HasPrefix(f.Func, "runtime.") || strings.HasPrefix(f.Func, "sync.runtime_") {
			continue
		}
		if f.Inlined && f.Func == "sync.(*Mutex).Lock" {
			return // where it is inlined, lockSlow waits: somebody left out its arguments
		}
		switch f.Func {
		case "internal/sync.(*Mutex).lockSlow":
			v.boundBelow(24)
		case "sync.(*Mutex).lockSlow":
			v.boundBelow(13)
			v.boundAbove(23)
		}
		if last := lastSemacquire[f.Func]; last > 0 && g.State == "semacquire" {
			v.boundAbove(last)
		}
		return
	}
}

// lastSemacquire is the last minor version in which the state of a wait in this function was only
// "semacquire".
var lastSemacquire = map[string]int{
	"sync.(*Mutex).lockSlow": 19, "sync.(*Mutex).Lock": 12, "sync.(*RWMutex).Lock": 19, "sync.(*RWMutex).RLock": 19,
	"sync.(*WaitGroup).Wait": 23, "sync.(*Cond).Wait": 10,
}

// boundByFrame knows how single calls are printed.
func (v *Version) boundByFrame(f *stackdump.Frame) {
	if f.Inlined {
		v.boundBelow(12)
	} else if strings.IndexByte(f.Args, '?') >= 0 {
		v.boundBelow(18)
	} else if strings.IndexByte(f.Args, '{') >= 0 {
		v.boundBelow(17)
	}
	switch {
	case f.Func == "runtime.goexit" && f.Args == "{}":
		v.boundBelow(22)
	case f.Func == "runtime.goexit" && f.Args == "" && f.Raw == "runtime.goexit()":
		v.boundAbove(21)
	case strings.HasPrefix(f.Func, "sync.runtime_SemacquireRWMutex"):
		v.boundBelow(20)
	case strings.HasPrefix(f.Func, "sync.runtime_SemacquireWaitGroup"):
		v.boundBelow(24)
	case strings.Contains(f.Func, "[...]"):
		v.boundBelow(18)
	case strings.Contains(f.Func, "\u00b7"): // func·001
		v.boundAbove(4)
	}
}

// gorootOf is where the standard library lay when the program was built, as a
// frame of it tells: "/usr/local/go1.21.5" of "/usr/local/go1.21.5/src/sync/mutex.go".
func gorootOf(f *stackdump.Frame) (string, bool) {
	pkg := funcname.Package(f.Func)
	switch pkg {
	case "runtime", "sync", "net", "net/http", "os", "internal/poll", "syscall":
	default:
		return "", false
	}
	root, _, ok := strings.Cut(f.File, "/src/"+pkg+"/")
	if !ok { // sync.runtime_Semacquire stands in runtime/sema.go
		root, _, ok = strings.Cut(f.File, "/src/runtime/")
	}
	return root, ok
}

// releaseInPath is a release of Go in the name of a directory: go1.21.5, go-1.19, golang/1.18.2,
// Cellar/go@1.20/1.20.4.
var releaseInPath = regexp.MustCompile(`\bgo(?:lang)?(?:@[0-9.]+)?[/-]?(1\.([0-9]{1,2})(?:\.[0-9]{1,2})?(?:(?:beta|rc)[0-9]{1,2})?)(?:[./-]|$)`)

// setFromPath takes the version that the only root of the standard library names, unless what the
// dump looks like speaks against it.
func (v *Version) setFromPath(roots map[string]bool) {
	if len(roots) != 1 {
		return
	}
	for root := range roots {
		m := releaseInPath.FindStringSubmatch(root)
		if m == nil {
			return
		}
		minor, err := strconv.Atoi(m[2])
		if err != nil || minor < v.Min || v.Max != 0 && minor > v.Max {
			return
		}
		*v = Version{Exact: m[1], Min: minor, Max: minor}
	}
}
