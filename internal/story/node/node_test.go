package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// Commands as story has them.
const (
	dumpAnyRuntime = "kill -USR1 $(pidof containerd dockerd crio); sleep 1; ls -t /tmp/containerd.*.stacks.log /var/run/docker/goroutine-stacks-*.log /tmp/crio-goroutine-stacks-*.log 2>/dev/null | head -3"
	readRuntimeLog = "timeout 60 journalctl -u containerd -o export --since '1 hour ago' > runtime.export"
)

// pointersTo are events as a timeline has them.
func pointersTo(events ...event.Event) (all []*event.Event) {
	for i := range events {
		all = append(all, &events[i])
	}
	return all
}

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
			require.Equal(t, c.want, Find(c.timeline).Runtimes)
		})
	}
}

// TestAskOnly: a command that asks all runtimes asks those of the node, and stays as it is where
// they are not known.
func TestAskOnly(t *testing.T) {
	wish := rules.Missing{Source: "goroutines.containerd or goroutines.dockerd or goroutines.crio", Command: dumpAnyRuntime}
	require.Equal(t, wish, AskOnly(wish, nil))
	require.Equal(t, rules.Missing{
		Source: "goroutines.containerd", Command: "kill -USR1 $(pidof containerd); sleep 1; ls -t /tmp/containerd.*.stacks.log 2>/dev/null | head -3",
	}, AskOnly(wish, []string{"containerd"}))
	require.Equal(t, "kill -USR1 $(pidof crio); sleep 1; ls -t /tmp/crio-goroutine-stacks-*.log 2>/dev/null | head -3", CommandFor(dumpAnyRuntime, []string{"crio"}))
	require.Equal(t, "journalctl -u containerd -u kubelet", CommandFor("journalctl -u containerd -u docker -u kubelet", []string{"containerd"}))
	for command, want := range map[string]string{
		"journalctl -u kubelet -u containerd -u docker -u crio -o export":                  "journalctl -u kubelet -u containerd -u docker -o export",
		"timeout 10 systemctl status containerd docker crio --no-pager":                    "timeout 10 systemctl status containerd docker --no-pager",
		"cat /sys/fs/cgroup/system.slice/{containerd,docker,crio,kubelet}.service/cpu.max": "cat /sys/fs/cgroup/system.slice/{containerd,docker,kubelet}.service/cpu.max",
		"timeout 30 crictl ps":                          "timeout 30 crictl ps",
		"journalctl -u containerd -u docker -u kubelet": "journalctl -u containerd -u docker -u kubelet",
	} {
		require.Equal(t, want, CommandFor(command, []string{"containerd", "dockerd"}))
	}
}

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
			require.Equal(t, c.want, Find(&timeline.Timeline{Events: pointersTo(c.events...)}).Units.Kubelet)
		})
	}
}

// TestRuntimeUnit: where containerd is part of another program, commands name that one's unit, or
// the file of its log.
func TestRuntimeUnit(t *testing.T) {
	for _, c := range []struct{ kubelet, command, want string }{
		{"k3s-agent", readRuntimeLog, "timeout 60 tail -n 20000 /var/lib/rancher/k3s/agent/containerd/containerd.log > containerd.log"},
		{"rke2-agent", "timeout 30 journalctl -u containerd -n 60 --no-pager", "timeout 30 journalctl -u rke2-agent -n 60 --no-pager"},
		{"rke2-server", "journalctl -u kubelet -u containerd -o export", "journalctl -u rke2-server -o export"},
		{"snap.microk8s.daemon-kubelite", "timeout 60 systemctl restart containerd", "timeout 60 systemctl restart snap.microk8s.daemon-containerd"},
		{"k0sworker", "timeout 10 systemctl status containerd", "timeout 10 systemctl status k0sworker"},
		{"kubelet-custom", "timeout 10 systemctl status containerd", "timeout 10 systemctl status containerd"},
	} {
		require.Equal(t, c.want, unitsOf(c.kubelet).Rename(c.command))
	}
	both := embedders[len(embedders)-1]
	u := Units{both.kubelet, both.runtime, both.log}
	require.Equal(t, "systemctl status 'k3s*' 'rke2-*' -l", u.Rename("systemctl status containerd -l"))
	tl := &timeline.Timeline{Events: pointersTo(event.Event{
		Kind: event.KindAPIFailed, Component: "kubelet", Evidence: []event.Quote{{Text: "Mar 02 10:00:01 n k3s[812]: E0302 …"}},
	})}
	require.Equal(t, []string{"containerd"}, Find(tl).Runtimes, "k3s holds it")
}

// TestWindows: a node with Windows is known by its name, its kernel or the pipes of its runtimes.
func TestWindows(t *testing.T) {
	fact := func(name, value string) *timeline.Timeline {
		return &timeline.Timeline{Facts: map[string]timeline.Fact{name: {Value: value}}}
	}
	line := func(text string) *timeline.Timeline {
		e := event.New(event.KindGCFailed, "the kubelet could not collect dead containers")
		e.Evidence = []event.Quote{{Text: text}}
		return &timeline.Timeline{Events: pointersTo(e)}
	}
	require.True(t, Find(fact("os.name", "Windows Server 2022 Datacenter")).Windows)
	require.True(t, Find(fact("kernel.version", "10.0.17763.2061")).Windows)
	require.True(t, Find(line("Cannot connect to the Docker daemon at npipe:////./pipe/docker_engine")).Windows)
	require.True(t, Find(line("failed to create containerd task: hcsshim::CreateComputeSystem 8a35: The requested operation timed out.")).Windows)
	require.False(t, Find(line("github.com/Microsoft/hcsshim is a module of containerd")).Windows)
	require.True(t, Find(line(`open \\.\pipe\containerd-containerd: The system cannot find the file specified.`)).Windows)
	require.True(t, Find(line("Failed to create endpoint: hnsCall failed in Win32: Element not found. (0x490)")).Windows)
	require.True(t, Find(line(`unable to remove filesystem for 486f: CreateFile C:\ProgramData\docker\containers\486f: Access is denied.`)).Windows)
	require.False(t, Find(line(`exec: "C:\\app.exe": executable file not found in $PATH`)).Windows)
	require.False(t, Find(fact("kernel.version", "5.10.0")).Windows)
	require.False(t, Find(line("read |0: broken pipe")).Windows)

	row := func(status, text string) event.Event {
		e := event.New(event.KindNodeCondition, "node win000000 is NotReady", event.FieldCondition.Text("Ready"), event.FieldStatus.Text(status))
		e.Evidence = []event.Quote{{Text: text}}
		return e
	}
	rows := func(rows ...event.Event) *timeline.Timeline {
		return &timeline.Timeline{Events: pointersTo(rows...)}
	}
	kernel := row("False", "win000000   NotReady   2d16h   v1.21.2   10.5.0.97   10.0.17763.2061   containerd://1.4.4+unknown")
	image := row("Unknown", "win000001   NotReady   2d16h   v1.21.2   10.5.0.97   Windows Server 2019 Datacenter   containerd://1.4.4")
	linux := row("False", "linux-1   NotReady   2d16h   v1.21.2   10.0.17.63   5.4.0-1055-azure   containerd://1.4.4")
	require.True(t, Find(rows(kernel, image, row("True", "linux-2   Ready   5.4.0-1055-azure"))).Windows)
	require.False(t, Find(rows(kernel, linux)).Windows, "the node in question may be the other one")
	require.False(t, Find(rows(row("True", kernel.Evidence[0].Text))).Windows)
}

// TestTalosIsKnownByItsKernelLog holds that lines of talosctl dmesg tell of Talos, and those of
// dmesg do not.
func TestTalosIsKnownByItsKernelLog(t *testing.T) {
	for text, want := range map[string]bool{
		" kern: warning: [2026-02-14T20:47:48.866114207Z]: overlayfs: failed to get redirect (-5)": true,
		"kern:     err: [2026-01-01T23:32:07.505474078Z]: nvme nvme1: Device not ready":            true,
		"kern  :err   : 2026-01-01T23:32:07,505474+00:00 nvme nvme1: Device not ready":             false,
		"kern  :err   : [ 8210.505474] nvme nvme1: Device not ready":                               false,
		"kern: it is [not]: so": false,
	} {
		require.Equal(t, want, isFromTalosctl(text), text)
	}
}

// TestCureForTalos holds that the first step of a cure needs no shell on Talos, and asks once for
// each service.
func TestCureForTalos(t *testing.T) {
	const kubectl, client = "kubectl get nodes", "timeout 20 talosctl -n NODE service cri"
	require.Equal(t, []string{
		"timeout 60 talosctl -n NODE service kubelet; timeout 60 talosctl -n NODE logs kubelet --tail 100",
		"timeout 60 talosctl -n NODE service cri; timeout 60 talosctl -n NODE logs cri --tail 100",
		"timeout 60 talosctl -n NODE dmesg | tail -n 200", kubectl, client,
	}, CureForTalos([]string{
		"timeout 10 systemctl status kubelet --no-pager -l", "timeout 30 journalctl -u kubelet -n 100 --no-pager",
		"timeout 30 journalctl -u containerd -n 60 --no-pager", "cat /proc/pressure/io", kubectl, client,
	}))
}
