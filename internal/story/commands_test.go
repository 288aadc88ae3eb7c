package story

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story/node"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// TestNameUnit: every command of a result has the unit's name, and what the result shares with the
// rules stays as it is.
func TestNameUnit(t *testing.T) {
	look := language.Action{Do: "look", Commands: []string{"timeout 10 systemctl status kubelet --no-pager", "ps -C kubelet"}}
	shared := []language.Action{look}
	wish := []rules.Missing{{Source: "kubelet.log", Command: readKubeletLog}}
	r := &Result{
		Findings:     []Finding{{Finding: rules.Finding{Remediation: language.Remediation{Now: shared}, Missing: wish}}},
		NotEvaluable: []rules.Unanswered{{Missing: wish}}, Hypotheses: []rules.Hypothesis{{Undecided: wish}},
		Next: []NextStep{{Missing: wish[0]}}, Opening: Opening{Command: readKubeletLog, Commands: look.Commands},
	}
	r.nameUnits(node.Units{Kubelet: "k3s", Runtime: "k3s"})
	const want = "timeout 60 journalctl -u k3s -o export --since '1 hour ago' > kubelet.export"
	require.Equal(t, []string{"timeout 10 systemctl status k3s --no-pager", "ps -C kubelet"}, r.Findings[0].Remediation.Now[0].Commands)
	require.Equal(t, r.Findings[0].Remediation.Now[0].Commands, r.Opening.Commands)
	for _, command := range []string{
		r.Findings[0].Missing[0].Command, r.NotEvaluable[0].Missing[0].Command, r.Hypotheses[0].Undecided[0].Command, r.Next[0].Command, r.Opening.Command,
	} {
		require.Equal(t, want, command)
	}
	require.Equal(t, readKubeletLog, wish[0].Command)
	require.Equal(t, "timeout 10 systemctl status kubelet --no-pager", shared[0].Commands[0])
}

// TestEndedRuntime: a runtime that has ended is not asked for its goroutines, but whether it runs
// again.
func TestEndedRuntime(t *testing.T) {
	killed := ev("kernel.oom-kill", when(10), field("runtime", "containerd"), field("comm", "containerd"))
	killed.Text = "the kernel kills containerd for memory"
	exited := ev("systemd.unit-exit", when(10), field("runtime", "dockerd"), field("unit", "docker.service"))
	gone := ev("kubelet.cri-error", when(20), field("gone", "containerd"), field("method", "Status"))
	late := ev("kubelet.cri-error", when(30), field("deadline", "true"), field("method", "Status"))
	start := ev("systemd.unit-start", when(40), field("daemon", "containerd"), field("runtime", "containerd"))
	writes := ev("cri.call", when(50), field("method", "ContainerStatus"))
	writes.Component = "containerd"
	version := event.New(event.KindFact, "containerd.version = 1.7.2", event.FieldName.Text("containerd.version"))
	version.Component = "containerd"
	for name, c := range map[string]struct {
		events []event.Event
		want   string // the command; empty where nobody has ended
	}{
		"its version":      {[]event.Event{killed, version}, fmt.Sprintf(lookAfterEnd, "containerd", "containerd")},
		"killed":           {[]event.Event{killed}, fmt.Sprintf(lookAfterEnd, "containerd", "containerd")},
		"exited":           {[]event.Event{exited}, fmt.Sprintf(lookAfterEnd, "docker", "docker")},
		"nobody listens":   {[]event.Event{gone}, fmt.Sprintf(lookAfterEnd, "containerd", "containerd")},
		"listens again":    {[]event.Event{gone, late}, ""},
		"started again":    {[]event.Event{killed, start}, ""},
		"writes again":     {[]event.Event{killed, writes}, ""},
		"never had ended":  {[]event.Event{late}, ""},
		"ended once again": {[]event.Event{killed, start, killed}, fmt.Sprintf(lookAfterEnd, "containerd", "containerd")},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{timeline: &timeline.Timeline{Events: pointersTo(c.events...)}}
			end := s.findEnded()
			require.Equal(t, c.want != "", end != nil)
			if end == nil {
				return
			}
			require.True(t, s.isRuntimeDead(&rules.Result{}))
			n := &nextChooser{story: s, answers: &rules.Result{}, known: map[string]bool{}, dead: true}
			n.addEndedRuntime()
			n.addMissing([]rules.Missing{{Source: "goroutines.containerd", Command: dumpContainerd}})
			require.Len(t, n.steps, 1)
			require.Equal(t, c.want, n.steps[0].Command)
		})
	}
}

// TestRefusedOnce: a runtime that refused clients while it was started again is asked for its
// goroutines, and one that refuses at the end is not.
func TestRefusedOnce(t *testing.T) {
	refused := ev("runtime.socket-refused", when(10))
	writes := ev("cri.call", when(20), field("method", "ListContainers"))
	writes.Component = "containerd"
	for _, c := range []struct {
		events []event.Event
		want   bool
	}{{[]event.Event{refused}, true}, {[]event.Event{refused, writes}, false}, {[]event.Event{writes, refused}, true}} {
		require.Equal(t, c.want, (&story{timeline: &timeline.Timeline{Events: pointersTo(c.events...)}}).isRuntimeDead(&rules.Result{}))
	}
}

// TestWhenItHangsAgain: what shows a hang only while it lasts is to be collected in the next one,
// where relist works again.
func TestWhenItHangsAgain(t *testing.T) {
	n := &nextChooser{steps: []NextStep{
		{Missing: rules.Missing{Command: dumpContainerd, Note: whileHanging}},
		{Missing: rules.Missing{Command: dumpContainerd, Note: "twice"}},
		{Missing: rules.Missing{Command: readKernelLog, Note: "whole"}},
	}}
	n.waitForHang()
	require.Equal(t, []string{whenAgain, whenAgain + "; twice", "whole"}, []string{n.steps[0].Note, n.steps[1].Note, n.steps[2].Note})
	past := stall()
	s := &story{timeline: &timeline.Timeline{Stalls: []timeline.Stall{past}}}
	require.True(t, s.isOver())
	s.timeline.Stalls[0].Open = true
	require.False(t, s.isOver())
}

// TestWindows: a node with Windows gets no command of Linux.
func TestWindows(t *testing.T) {
	wish := []rules.Missing{{Source: "kubelet.log", Command: readKubeletLog}}
	r := &Result{
		Findings:     []Finding{{Finding: rules.Finding{Missing: wish}}},
		NotEvaluable: []rules.Unanswered{{Missing: wish}}, Hypotheses: []rules.Hypothesis{{Undecided: wish}},
		Next: []NextStep{{Missing: wish[0]}}, Opening: Opening{Command: readKubeletLog},
	}
	r.useWindowsCommands()
	require.Equal(t, []language.Action{windowsAction}, r.Findings[0].Remediation.Now)
	for _, m := range []rules.Missing{r.Findings[0].Missing[0], r.NotEvaluable[0].Missing[0], r.Hypotheses[0].Undecided[0]} {
		require.Equal(t, windowsKubelet, m.Command)
	}
	require.Contains(t, r.Opening.Command, "Get-Service kubelet")
	require.Equal(t, windowsSteps(), r.Next)
	require.Equal(t, readKubeletLog, wish[0].Command)

	r = &Result{Opening: Opening{Advice: "look", Commands: []string{"df -h"}}}
	r.useWindowsCommands()
	require.Equal(t, windowsAction.Commands, r.Opening.Commands)
	require.Empty(t, r.Opening.Command)
	require.Empty(t, r.Next)
}

// TestNotReadyToo: a cause without a stall says that the node is NotReady as well, where an event
// shows it and it did not begin long before.
func TestNotReadyToo(t *testing.T) {
	condition := func(status string, changes ...setup) event.Event {
		return ev(event.KindNodeCondition, append(changes, field(event.FieldCondition, "Ready"), field(event.FieldStatus, status))...)
	}
	for name, c := range map[string]struct {
		also event.Event
		want string
	}{
		"ready":          {condition("True", when(1)), notReadyNotShown},
		"after it":       {condition("Unknown", when(4)), "the node is NotReady as well, from " + event.TimeOfDay(at(4).T) + " on; whether that came from it is not shown"},
		"without a time": {condition("False"), "the node is NotReady as well; whether that came from it is not shown"},
		"long before":    {condition("False", when(-3600)), notReadyNotShown},
	} {
		t.Run(name, func(t *testing.T) {
			r := evaluate(catalogOf(t, possible("held-lock")), line(ev("a", when(1)), c.also))
			require.Equal(t, "held-lock holds; "+c.want, r.Headline)
		})
	}
}
