package story

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// TestKernelStacks: of a runtime that is listed in state D the kernel's stacks are asked for, once,
// and not where they are known; no dump is.
func TestKernelStacks(t *testing.T) {
	listed := func(component, state string, pid int) event.Event {
		e := event.New(event.KindProcess, component+" is running", event.FieldState.Text(state))
		e.Component, e.IDs.PID = component, pid
		return e
	}
	ask := func(events ...event.Event) []NextStep {
		s := &story{timeline: &timeline.Timeline{Events: pointersTo(events...)}}
		return s.chooseNext(nil, Signs, &rules.Result{})
	}
	steps := ask(listed("kubelet", "D", 7), listed("containerd", "Dsl", 811), listed("containerd", "Dsl", 812))
	require.Len(t, steps, 1)
	require.Equal(t, "timeout 20 tail -n +1 /proc/811/task/*/{comm,wchan,stack} > stacks.txt", steps[0].Command)
	require.Equal(t, ReadsOnly, steps[0].Hazard)
	require.Empty(t, ask(listed("containerd", "Ssl", 811)))
	stack := event.New(event.KindThreadSample, "", event.FieldStack.Text("entry_SYSCALL_64 io_schedule"))
	stack.Component = "containerd"
	for _, step := range ask(listed("containerd", "D", 811), stack) {
		require.NotContains(t, step.Command, "/proc/811")
	}
	hung := event.New(event.KindHungTask, "task dockerd is stuck in the kernel", event.FieldComm.Text("dockerd"))
	hung.Component, hung.IDs.PID = "kernel", 812
	require.Contains(t, ask(hung)[0].Command, "/proc/812/task", "the kernel's watchdog told of it")
	asleep := &story{timeline: &timeline.Timeline{Events: pointersTo(listed("dockerd", "D", 1))}}
	require.True(t, asleep.isRuntimeDead(&rules.Result{}), "it writes no dump")
}
