package goroutines

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/crash"
	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// crashHandler is what the kubelet's goroutines run at a panic (HandleCrash of apimachinery): it
// prints the stack, and the program ends by the same panic.
const crashHandler = "util/runtime.HandleCrash"

// Panicked is the stack that a kubelet prints when it panics, in lines that no writer is named of,
// so that its words before the stack are not known as its own:
//
//	goroutine 294 [running]:
//	k8s.io/apimachinery/pkg/util/runtime.logPanic({0x3a186c0?, 0x684a380})
//	k8s.io/apimachinery/pkg/util/runtime.HandleCrash({0x0, 0x0, 0x47ce9e?})
//	panic({0x3a186c0, 0x684a380})
//	k8s.io/kubernetes/pkg/kubelet/volumemanager/reconciler.(*reconciler).updateReconstructedDevicePaths(0xc00098e360)
func Panicked(dst []event.Event, d *stackdump.Dump, program string) []event.Event {
	if program != "kubelet" || d.Crash.Text != "" {
		return dst
	}
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		f := panicking(g)
		if g.State != "running" || f == nil {
			continue
		}
		reason := "panic in " + f.Name()
		e := crash.Event(program, "crashes", reason)
		e.Component, e.Source = program, "goroutines."+program
		e.Evidence = []event.Quote{quoteFrame(f), quoteHeader(g)}
		return append(dst, e)
	}
	return dst
}

// panicking is the call that a goroutine panicked in; nil where its stack shows none that the
// handler caught.
func panicking(g *stackdump.Goroutine) *stackdump.Frame {
	caught := false
	for i := range g.Frames {
		f := &g.Frames[i]
		caught = caught || strings.Contains(f.Func, crashHandler)
		if caught && f.Func == "panic" && i+1 < len(g.Frames) {
			return &g.Frames[i+1]
		}
	}
	return nil
}
