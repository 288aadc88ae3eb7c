package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story/node"
)

// stacksOf prints what the kernel shows of the threads of a process, as plegdiag reads it.
const stacksOf = "timeout 20 tail -n +1 /proc/%d/task/*/{comm,wchan,stack} > stacks.txt"

// wantStacks is what to know before it is run.
const wantStacks = "%s sits in the kernel: its kernel stacks show what it waits for; as root"

// addKernelStacks asks for the kernel's stacks of a runtime that a listing shows in the kernel
// (state D), where nothing shows them: it writes no dump, and whoever waits for it shows only that.
func (n *nextChooser) addKernelStacks() {
	shown := map[string]bool{} // by component
	for _, e := range n.timeline.Events {
		if e.Kind == event.KindThreadSample && e.FieldText(event.FieldStack) != "" {
			shown[e.Component] = true
		}
	}
	for _, e := range n.timeline.Events {
		runtime := runtimeInKernel(e)
		if runtime == "" || e.IDs.PID == 0 || shown[runtime] {
			continue
		}
		n.addMissing([]rules.Missing{{
			Source: "samples.proc", Command: fmt.Sprintf(stacksOf, e.IDs.PID), Note: fmt.Sprintf(wantStacks, runtime),
		}})
		return
	}
}

// runtimeInKernel names the runtime of which a process is listed in state D, or of which the kernel
// says that it has not run for long; empty for any other event.
func runtimeInKernel(e *event.Event) string {
	if e.Kind == event.KindProcess && isInKernel(e) {
		return e.Component
	}
	if comm := e.FieldText(event.FieldComm); e.Kind == event.KindHungTask && node.IsRuntime(comm) {
		return comm
	}
	return ""
}

// hasRuntimeInKernel says that a process of a runtime is listed in state D.
func (s *story) hasRuntimeInKernel() bool {
	return slices.ContainsFunc(s.listKind(event.KindProcess), isInKernel)
}

func isInKernel(process *event.Event) bool {
	return strings.HasPrefix(process.FieldText(event.FieldState), "D") && node.IsRuntime(process.Component)
}
