package story

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// TestFindRuntimes: which runtime a node has is told by whoever wrote a line, by a version and by
// the socket in an error of the kubelet.
func TestFindRuntimes(t *testing.T) {
	wrote := func(components ...string) *timeline.Timeline {
		tl := &timeline.Timeline{}
		for _, c := range components {
			tl.Events = append(tl.Events, &event.Event{Kind: event.KindProcess, Component: c})
		}
		return tl
	}
	refused := func(path string) *timeline.Timeline {
		e := event.New(event.KindCRIError, "Version fails", event.FieldError.Text("dial unix "+path+": connect: connection refused"))
		return &timeline.Timeline{Events: pointersTo(e)}
	}
	for name, c := range map[string]struct {
		timeline *timeline.Timeline
		want     []string
	}{
		"nothing":                  {wrote("kubelet", "kernel", "shim"), nil},
		"containerd":               {wrote("kubelet", "containerd"), []string{"containerd"}},
		"docker and its own":       {wrote("dockerd", "containerd"), []string{"containerd", "dockerd"}},
		"docker":                   {wrote("dockerd"), []string{"containerd", "dockerd"}},
		"crio":                     {wrote("crio"), []string{"crio"}},
		"two that exclude":         {wrote("crio", "containerd"), nil},
		"a log that is read":       {&timeline.Timeline{Coverage: []timeline.Coverage{{Source: "crio.log"}}}, []string{"crio"}},
		"a dump":                   {&timeline.Timeline{Coverage: []timeline.Coverage{{Source: "goroutines.containerd"}}}, []string{"containerd"}},
		"the socket of cri-o":      {refused("/var/run/crio/crio.sock"), []string{"crio"}},
		"the socket of dockershim": {refused("/var/run/dockershim.sock"), []string{"containerd", "dockerd"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, (&story{timeline: c.timeline}).findRuntimes())
		})
	}
}

// TestAskOnly: a command that asks all runtimes asks those of the node, and stays as it is where
// they are not known.
func TestAskOnly(t *testing.T) {
	wish := rules.Missing{Source: "goroutines.containerd or goroutines.dockerd or goroutines.crio", Command: dumpAnyRuntime}
	require.Equal(t, wish, askOnly(wish, nil))
	require.Equal(t, rules.Missing{
		Source: "goroutines.containerd", Command: "kill -USR1 $(pidof containerd); sleep 1; ls -t /tmp/containerd.*.stacks.log 2>/dev/null | head -3",
	}, askOnly(wish, []string{"containerd"}))
	require.Equal(t, "kill -USR1 $(pidof crio); sleep 1; ls -t /tmp/crio-goroutine-stacks-*.log 2>/dev/null | head -3", commandFor(dumpAnyRuntime, []string{"crio"}))
	require.Equal(t, "journalctl -u containerd -u kubelet", commandFor("journalctl -u containerd -u docker -u kubelet", []string{"containerd"}))
	for command, want := range map[string]string{
		"journalctl -u kubelet -u containerd -u docker -u crio -o export":                  "journalctl -u kubelet -u containerd -u docker -o export",
		"timeout 10 systemctl status containerd docker crio --no-pager":                    "timeout 10 systemctl status containerd docker --no-pager",
		"cat /sys/fs/cgroup/system.slice/{containerd,docker,crio,kubelet}.service/cpu.max": "cat /sys/fs/cgroup/system.slice/{containerd,docker,kubelet}.service/cpu.max",
		"timeout 30 crictl ps":                          "timeout 30 crictl ps",
		"journalctl -u containerd -u docker -u kubelet": "journalctl -u containerd -u docker -u kubelet",
	} {
		require.Equal(t, want, commandFor(command, []string{"containerd", "dockerd"}))
	}
}

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
