package story

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// TestKubeletUnit: the unit of the kubelet is the one that systemd names, else that of who signs
// its lines.
func TestKubeletUnit(t *testing.T) {
	ended := func(unit string) event.Event {
		return event.New(event.KindUnitExit, unit+" ended", event.FieldUnit.Text(unit), event.FieldDaemon.Text("kubelet"))
	}
	signed := func(line string) event.Event {
		e := event.New(event.KindAPIFailed, "a request failed")
		e.Component, e.Evidence = "kubelet", []event.Quote{{Text: line}}
		return e
	}
	k3s := "Mar 02 10:00:01 n k3s[812]: E0302 …"
	for name, c := range map[string]struct {
		events []event.Event
		want   string
	}{
		"nothing":               {nil, ""},
		"the usual one":         {[]event.Event{ended("kubelet.service"), signed(k3s)}, ""},
		"an agent of k3s":       {[]event.Event{signed(k3s), ended("k3s-agent.service")}, "k3s-agent"},
		"k3s, server or agent":  {[]event.Event{signed(k3s)}, "'k3s*'"},
		"a kubelet of its own":  {[]event.Event{signed("Mar 02 10:00:01 n kubelet[812]: E0302 …")}, ""},
		"K3s, by its socket":    {[]event.Event{signed(`E0302 … dial unix /run/k3s/containerd/containerd.sock: connect: connection refused`)}, "'k3s*' -u 'rke2-*'"},
		"k0s and its child":     {[]event.Event{signed(`k0s[811]: time="…" level=info msg="E0708 …" component=kubelet stream=stderr`)}, "'k0s*'"},
		"MicroK8s, all in one":  {[]event.Event{signed("Mar 02 10:00:01 n microk8s.daemon-kubelite[812]: E0302 …")}, "snap.microk8s.daemon-kubelite"},
		"its name in a message": {[]event.Event{signed("Mar 02 10:00:01 n kubelet[812]: image rancher/k3s")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{timeline: &timeline.Timeline{Events: pointersTo(c.events...)}}
			require.Equal(t, c.want, s.findUnits().kubelet)
		})
	}
}

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
	r.nameUnits(unitsOf("k3s"))
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

// TestRuntimeUnit: where containerd is part of another program, commands name that one's unit, or
// the file of its log.
func TestRuntimeUnit(t *testing.T) {
	for _, c := range []struct{ kubelet, command, want string }{
		{"k3s-agent", readRuntimeLogOf("containerd"), "timeout 60 tail -n 20000 /var/lib/rancher/k3s/agent/containerd/containerd.log > containerd.log"},
		{"rke2-agent", "timeout 30 journalctl -u containerd -n 60 --no-pager", "timeout 30 journalctl -u rke2-agent -n 60 --no-pager"},
		{"rke2-server", "journalctl -u kubelet -u containerd -o export", "journalctl -u rke2-server -o export"},
		{"snap.microk8s.daemon-kubelite", "timeout 60 systemctl restart containerd", "timeout 60 systemctl restart snap.microk8s.daemon-containerd"},
		{"k0sworker", "timeout 10 systemctl status containerd", "timeout 10 systemctl status k0sworker"},
		{"kubelet-custom", "timeout 10 systemctl status containerd", "timeout 10 systemctl status containerd"},
	} {
		require.Equal(t, c.want, unitsOf(c.kubelet).rename(c.command))
	}
	both := embedders[len(embedders)-1]
	u := units{both.kubelet, both.runtime, both.log}
	require.Equal(t, "systemctl status 'k3s*' 'rke2-*' -l", u.rename("systemctl status containerd -l"))
	s := &story{timeline: &timeline.Timeline{Events: pointersTo(event.Event{
		Kind: event.KindAPIFailed, Component: "kubelet", Evidence: []event.Quote{{Text: "Mar 02 10:00:01 n k3s[812]: E0302 …"}},
	})}}
	require.Equal(t, []string{"containerd"}, s.findRuntimes(), "k3s holds it")
}

// readRuntimeLogOf is the command for the log of one runtime.
func readRuntimeLogOf(program string) string { return commandFor(readRuntimeLog, []string{program}) }

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

// TestWindows: a node with Windows is known by its name, its kernel or the pipes of its runtimes,
// and gets no command of Linux.
func TestWindows(t *testing.T) {
	fact := func(name, value string) *story {
		return &story{timeline: &timeline.Timeline{Facts: map[string]timeline.Fact{name: {Value: value}}}}
	}
	line := func(text string) *story {
		e := event.New(event.KindGCFailed, "the kubelet could not collect dead containers")
		e.Evidence = []event.Quote{{Text: text}}
		return &story{timeline: &timeline.Timeline{Events: pointersTo(e)}}
	}
	require.True(t, fact("os.name", "Windows Server 2022 Datacenter").onWindows())
	require.True(t, fact("kernel.version", "10.0.17763.2061").onWindows())
	require.True(t, line("Cannot connect to the Docker daemon at npipe:////./pipe/docker_engine").onWindows())
	require.True(t, line("failed to create containerd task: hcsshim::CreateComputeSystem 8a35: The requested operation timed out.").onWindows())
	require.False(t, line("github.com/Microsoft/hcsshim is a module of containerd").onWindows())
	require.True(t, line(`open \\.\pipe\containerd-containerd: The system cannot find the file specified.`).onWindows())
	require.True(t, line("Failed to create endpoint: hnsCall failed in Win32: Element not found. (0x490)").onWindows())
	require.True(t, line(`unable to remove filesystem for 486f: CreateFile C:\ProgramData\docker\containers\486f: Access is denied.`).onWindows())
	require.False(t, line(`exec: "C:\\app.exe": executable file not found in $PATH`).onWindows())
	require.False(t, fact("kernel.version", "5.10.0").onWindows())
	require.False(t, line("read |0: broken pipe").onWindows())

	row := func(status, text string) event.Event {
		e := event.New(event.KindNodeCondition, "node win000000 is NotReady", event.FieldCondition.Text("Ready"), event.FieldStatus.Text(status))
		e.Evidence = []event.Quote{{Text: text}}
		return e
	}
	rows := func(rows ...event.Event) *story {
		return &story{timeline: &timeline.Timeline{Events: pointersTo(rows...)}}
	}
	kernel := row("False", "win000000   NotReady   2d16h   v1.21.2   10.5.0.97   10.0.17763.2061   containerd://1.4.4+unknown")
	image := row("Unknown", "win000001   NotReady   2d16h   v1.21.2   10.5.0.97   Windows Server 2019 Datacenter   containerd://1.4.4")
	linux := row("False", "linux-1   NotReady   2d16h   v1.21.2   10.0.17.63   5.4.0-1055-azure   containerd://1.4.4")
	require.True(t, rows(kernel, image, row("True", "linux-2   Ready   5.4.0-1055-azure")).onWindows())
	require.False(t, rows(kernel, linux).onWindows(), "the node in question may be the other one")
	require.False(t, rows(row("True", kernel.Evidence[0].Text)).onWindows())

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
