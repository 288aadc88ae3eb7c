package story

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story/node"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// TestSignsSayWhatIsNext holds that whoever sees nothing but signs is told what to look at.
func TestSignsSayWhatIsNext(t *testing.T) {
	for kind, command := range map[event.Kind]string{
		"kernel.block-error": readKernelLog, "kubelet.network-not-ready": readKubeletLog, "containerd.state-timeout": "timeout 60 journalctl -u containerd -o export --since '1 hour ago' > runtime.export",
		"systemd.scope-failed": readAllLogs, "daemon.denied": readAllLogs, "apiserver.client-refused": listClients,
	} {
		r := evaluate(catalogOf(t, proven("slow-disk")), line(ev(kind, when(1))))
		require.Equal(t, Signs, r.Opening.State, kind)
		require.Equal(t, command, r.Opening.Command, kind)
		require.NotEmpty(t, r.Opening.Hazard, kind)
	}
}

// TestConditionReadyIsSaidFirst holds that of a node's conditions Ready is the sign, with its
// message and since when.
func TestConditionReadyIsSaidFirst(t *testing.T) {
	condition := func(name string) event.Event {
		return ev("node.condition", when(5), field("condition", name), field("status", "Unknown"), field("message", "Nobody writes it."), func(e *event.Event) { e.Text = name + " is Unknown" })
	}
	r := evaluate(catalogOf(t, proven("slow-disk")), line(condition("DiskPressure"), condition("Ready"), condition("PIDPressure")))
	require.Equal(t, "Ready is Unknown, Nobody writes it, since 09:30:05", r.Headline)
	require.Equal(t, at(5).T, r.Signs[0].Window.Start)
}

// TestFailedCreateIsSaid holds that a pod that does not start is a sign, with the reason and
// without what the plugin printed below it.
func TestFailedCreateIsSaid(t *testing.T) {
	failed := ev("cri.call", when(1), field("method", "RunPodSandbox"), field("outcome", "failed"), func(e *event.Event) {
		e.Text = "RunPodSandbox of default/web"
		e.AddFields(event.FieldError.Text(`failed to setup network for sandbox "` + strings.Repeat("ab", 32) + `": plugin type="lab-cni" failed (add): netplugin failed: "panic: nil map\n\ngoroutine 1 [running]:"`))
	})
	r := evaluate(catalogOf(t, proven("slow-disk")), line(failed))
	require.Equal(t, `RunPodSandbox of default/web failed: failed to setup network for sandbox "abababababab": plugin type="lab-cni" failed (add): netplugin failed: panic: nil map`, r.Headline)
	r = evaluate(catalogOf(t, proven("slow-disk")), line(ev("cri.call", when(1), field("method", "RunPodSandbox"), field("outcome", "ok"))))
	require.Empty(t, r.Signs)
}

// TestRuntimesWaitIsSaidBeforeItsCallers holds that of goroutines that wait, the one that waits for
// nobody of the chain is the sign.
func TestRuntimesWaitIsSaidBeforeItsCallers(t *testing.T) {
	waiting := func(component, doing string) event.Event {
		return ev("goroutine.wait", when(60), field("doing", doing), func(e *event.Event) {
			e.Component, e.Text, e.End = component, "waiting for "+doing, at(300)
		})
	}
	r := evaluate(catalogOf(t, proven("slow-disk")), line(waiting("kubelet", "cri"), waiting("kubelet", "cri"), waiting("containerd", "cni-plugin")))
	require.Equal(t, "containerd: waiting for cni-plugin, for 4m0s", r.Headline)
}

// TestReadyNetworkIsNoSign holds that what a runtime says at its start is over when it says that
// its network is ready.
func TestReadyNetworkIsNoSign(t *testing.T) {
	early := ev("kubelet.network-not-ready", when(1), field("message", "no config"))
	r := evaluate(catalogOf(t, proven("slow-disk")), line(early))
	require.NotEmpty(t, r.Signs)
	for ready, signs := range map[bool]int{true: 0, false: 1} {
		status := ev("collect.rpc", when(60), field("method", "Status"), field("answered", "true"))
		status.AddFields(event.FieldNetwork.Bool(ready))
		r = evaluate(catalogOf(t, proven("slow-disk")), line(early, status))
		require.Len(t, r.Signs, signs)
	}
}

// TestCleanedImagesAreNoSign holds that the kubelet's word that it could clean the images ends what
// it said before, but not what it says later, and not that a call was too late.
func TestCleanedImagesAreNoSign(t *testing.T) {
	failed := func(second float64, deadline string) event.Event {
		return ev("kubelet.image-fs-failed", when(second), field("what", "read"), field("error", "no numbers"), field("deadline", deadline))
	}
	cleaned := ev("kubelet.image-gc-succeeded", when(40))
	for name, c := range map[string]struct {
		events []event.Event
		signs  int
	}{
		"alone": {[]event.Event{failed(1, "false")}, 1}, "over": {[]event.Event{failed(1, "false"), cleaned}, 0},
		"again": {[]event.Event{cleaned, failed(50, "false")}, 1}, "late": {[]event.Event{failed(1, "true"), cleaned}, 1},
	} {
		require.Len(t, evaluate(catalogOf(t, proven("slow-disk")), line(c.events...)).Signs, c.signs, name)
	}
}

// TestSignOfRoundedWait holds that of a wait which a dump gives in minutes the least is said.
func TestSignOfRoundedWait(t *testing.T) {
	wait := ev("goroutine.wait", when(0), field("doing", "cni-plugin"), func(e *event.Event) {
		e.Text, e.Component, e.Open = "waiting for a CNI plugin to end", "containerd", true
		e.Start.Prec, e.End = 131*time.Second, at(130)
		e.AddFields(event.FieldWait.Duration(time.Minute))
	})
	r := evaluate(catalogOf(t, proven("slow-disk")), line(wait))
	require.Equal(t, "containerd: waiting for a CNI plugin to end, for at least 1m0s", r.Headline)
}

func TestClipSign(t *testing.T) {
	long := "cannot do it: " + strings.Repeat("a very long path/", 20) + ": no space left on device"
	got := clipSign(long)
	require.LessOrEqual(t, len(got), maxSignText)
	require.True(t, strings.HasPrefix(got, "cannot do it: a very"))
	require.True(t, strings.HasSuffix(got, " …: no space left on device"), got)
	require.Equal(t, "short: error", clipSign("short: error"))
}

// TestClipSignKeepsTheCause holds that the innermost cause of an error stays whole.
func TestClipSignKeepsTheCause(t *testing.T) {
	head := "RunPodSandbox of default/web-7 failed: " + strings.Repeat("failed to do this and that: ", 8)
	for _, cause := range []string{
		"no IP addresses available in range set: 10.9.3.1-10.9.3.254",
		`exec: "runc": executable file not found in $PATH`,
		"mkdir /sys/fs/cgroup/pids/…/cri-containerd-0123456789ab.scope: read-only file system",
		"dial unix /run/systemd/private: connect: connection refused",
		"Error while dialing dial unix /run/containerd-nydus/containerd-nydus-grpc.sock: connect: connection refused",
		"context deadline exceeded",
	} {
		written := strings.Replace(cause, "pids/…", "pids/kubepods.slice/kubepods-besteffort.slice", 1)
		for name, got := range map[string]string{"sentence": clipSign(head + written), "rows": (&Sign{Text: head + written}).Brief()} {
			require.True(t, strings.HasPrefix(got, "RunPodSandbox of default/web-7"), "%s: %s", name, got)
			require.True(t, strings.HasSuffix(got, " …: "+cause), "%s: %s", name, got)
		}
	}
}

// TestNetworkPluginIsLookedAtFirst holds that of a call that failed in a pod's network the plugin's
// processes are asked for before the runtime's goroutines.
func TestNetworkPluginIsLookedAtFirst(t *testing.T) {
	failed := ev("kubelet.cri-error", when(1), field("method", "StopPodSandbox"), field("deadline", "true"))
	r := evaluate(catalogOf(t, proven("slow-disk")), line(failed))
	require.NotEqual(t, listPlugins, r.Opening.Command)
	failed.AddFields(event.FieldNetwork.Bool(true))
	r = evaluate(catalogOf(t, proven("slow-disk")), line(failed))
	require.Equal(t, listPlugins, r.Opening.Command)
}

// TestCallsOfARestartAreNoSign holds that calls which met a restart of seconds are no sign.
func TestCallsOfARestartAreNoSign(t *testing.T) {
	refused := ev("kubelet.relist-failed", when(101), field("gone", "containerd"), func(e *event.Event) { e.Text = "relist could not list the pods" })
	met := refused
	met.Fields = append(slices.Clone(met.Fields), event.FieldRestarting.Bool(true))
	require.Len(t, evaluate(catalogOf(t, proven("slow-disk")), line(refused)).Signs, 1)
	require.Empty(t, evaluate(catalogOf(t, proven("slow-disk")), line(met)).Signs)
}

// TestNamedPluginLeadsToItsDaemon holds that a call which failed in a network plugin is said with
// the plugin's own words, and leads to the log of its daemon.
func TestNamedPluginLeadsToItsDaemon(t *testing.T) {
	const reason = `rpc error: code = Unknown desc = failed to setup network for sandbox "0": plugin type="%s" name="lab" failed (add): dial tcp 127.0.0.1:50051: connect: connection refused`
	for plugin, daemon := range map[string]string{"aws-cni": "'aws-node'", "cilium-cni": "'cilium-agent'", "lab-cni": "calico-node|cilium-agent|aws-node|"} {
		failed := ev("kubelet.cri-error", when(1), field("method", "RunPodSandbox"), field("network", "true"), field("plugin", plugin), func(e *event.Event) {
			e.Text = "RunPodSandbox failed (5m before the list)"
			e.AddFields(event.FieldError.Text(fmt.Sprintf(reason, plugin)))
		})
		r := evaluate(catalogOf(t, proven("slow-disk")), line(failed))
		require.Equal(t, "RunPodSandbox failed in the network plugin "+plugin+" (5m before the list): dial tcp 127.0.0.1:50051: connect: connection refused", r.Headline)
		require.Contains(t, r.Opening.Command, daemon)
		require.Equal(t, wantPluginLog, r.Opening.Note)
	}
}

// TestStopThatDoesNotEnd holds that a stop which outlives the time that its container has for its
// end is a sign, and one that is asked for again, and that the runtime's goroutines and the
// processes show more.
func TestStopThatDoesNotEnd(t *testing.T) {
	stop := func(from, to float64, change ...setup) []event.Event {
		return []event.Event{ev("cri.call", append([]setup{when(from), field("method", "StopContainer"), func(e *event.Event) {
			e.Text, e.End, e.Open, e.Component, e.Source = "StopContainer of 0123", at(to), true, "crio", "crio.log"
			e.AddFields(event.FieldGrace.Duration(300 * time.Second))
		}}, change...)...)}
	}
	require.Empty(t, evaluate(catalogOf(t, proven("slow-disk")), line(stop(1, 300)...)).Signs)
	for _, late := range [][]event.Event{stop(1, 400), stop(1, 300, func(e *event.Event) { e.AddFields(event.FieldRepeats.Int(2)) })} {
		r := evaluate(catalogOf(t, proven("slow-disk")), line(late...))
		require.Len(t, r.Signs, 1)
		require.Contains(t, r.Signs[0].Text, "StopContainer of 0123 has not ended after ")
		require.Contains(t, r.Opening.Command, "kill -USR1 $(pidof")
		require.Equal(t, listThreads, r.Next[1].Command)
	}
}

// TestFailedStopIsSaid holds that a stop which failed is a sign, and none of a container that has
// gone.
func TestFailedStopIsSaid(t *testing.T) {
	failed := func(reason string) event.Event {
		return ev("cri.call", when(1), field("method", "StopPodSandbox"), field("outcome", "failed"), field("error", reason), func(e *event.Event) { e.Text = "StopPodSandbox of 0123 failed" })
	}
	r := evaluate(catalogOf(t, proven("slow-disk")), line(failed("failed to destroy network: i/o timeout")))
	require.Equal(t, "StopPodSandbox of 0123 failed: failed to destroy network: i/o timeout", r.Headline)
	require.Empty(t, evaluate(catalogOf(t, proven("slow-disk")), line(failed("no running task found: task 0123 not found: not found"))).Signs)
}

// TestTalosHasItsOwnCommands holds that a node without a shell is asked through Talos.
func TestTalosHasItsOwnCommands(t *testing.T) {
	failing := ev("daemon.health-failed", when(1), field("service", "kubelet"), func(e *event.Event) {
		e.Text, e.Component, e.Source, e.Open = "the health check of kubelet fails", "kubelet", "talos.log", true
	})
	blocked := ev("kernel.block-error", when(1), func(e *event.Event) { e.Text = "a disk reports an error" })
	for _, events := range [][]event.Event{{failing}, {failing, blocked}} {
		r := evaluate(catalogOf(t, proven("slow-disk")), line(events...))
		require.NotEmpty(t, r.Next)
		for _, step := range r.Next {
			require.Contains(t, step.Command, "talosctl -n NODE ")
			require.Equal(t, node.WantNode, step.Note)
		}
	}
}

// TestDriverLeadsToTheKernel holds that a container which did not start because of the NVIDIA
// driver leads to the kernel's log.
func TestDriverLeadsToTheKernel(t *testing.T) {
	failed := func(reason string) []event.Event {
		return []event.Event{ev("runc.failed", when(1), field("reason", reason), func(e *event.Event) { e.Text = "runc create failed" })}
	}
	require.Equal(t, readKernelLog, evaluate(catalogOf(t, proven("slow-disk")), line(failed("driver")...)).Opening.Command)
	require.NotEqual(t, readKernelLog, evaluate(catalogOf(t, proven("slow-disk")), line(failed("hook")...)).Opening.Command)
}

// TestLastWordsAreAskedFor holds that a runtime which ended by itself leads to its own log, and one
// that was killed does not: it had no last words.
func TestLastWordsAreAskedFor(t *testing.T) {
	catalog := catalogOf(t, oneStep("runtime-process-down", "systemd.unit-exit", "possible", nil))
	ended := func(how string) event.Event {
		return ev("systemd.unit-exit", when(1), field("runtime", "dockerd"), field("unit", "docker.service"), field("how", how))
	}
	const docker = "timeout 60 journalctl -u docker -o export --since '1 hour ago' > docker.export"
	r := evaluate(catalog, line(ended("dumped 6/ABRT")))
	require.Equal(t, Possible, r.Opening.State)
	require.Equal(t, docker, r.Opening.Command)
	require.Equal(t, wantLastWords, r.Opening.Note)
	require.NotEqual(t, docker, evaluate(catalog, line(ended("killed 9/KILL"))).Opening.Command)
	crashed := ev("daemon.crash", when(1), func(e *event.Event) { e.Component = "crio" })
	catalog = catalogOf(t, oneStep("runtime-process-down", "daemon.crash", "possible", nil))
	require.Contains(t, evaluate(catalog, line(crashed)).Opening.Command, "journalctl -u crio ")
	ofK3s := ev("systemd.unit-start", when(0), field("daemon", "kubelet"), field("unit", "k3s.service"))
	crashed = ev("daemon.crash", when(1), field("reason", "panic"), func(e *event.Event) { e.Component = "containerd" })
	const ofFile = "timeout 60 tail -n 20000 /var/lib/rancher/k3s/agent/containerd/containerd.log > containerd.log"
	require.Equal(t, ofFile, evaluate(catalog, line(ofK3s, crashed)).Opening.Command)
	crashed = ev("daemon.crash", when(1), field("reason", "signal: killed"), func(e *event.Event) { e.Component = "containerd" })
	require.NotEqual(t, ofFile, evaluate(catalog, line(ofK3s, crashed)).Opening.Command)
}

// TestGracePeriodLeadsToTheKernel holds that a thread which waits for RCU leads to the kernel's
// log, unless that has said who holds it up.
func TestGracePeriodLeadsToTheKernel(t *testing.T) {
	waits := ev("thread.sample", when(1), field("waits", "rcu"), field("state", "D"), func(e *event.Event) { e.Text = "exe is in synchronize_rcu" })
	r := evaluate(catalogOf(t, proven("slow-disk")), line(waits))
	require.Equal(t, readKernelLog, r.Opening.Command)
	require.Equal(t, wantGracePeriod, r.Opening.Note)
	r = evaluate(catalogOf(t, proven("slow-disk")), line(waits, ev("kernel.rcu-stall", when(1))))
	require.NotEqual(t, wantGracePeriod, r.Opening.Note)
}

// TestUnheldLockLeadsToTheDump holds that a wait for a lock whose holder an excerpt does not show
// leads to the whole dump.
func TestUnheldLockLeadsToTheDump(t *testing.T) {
	queue := func(program string) event.Event {
		return ev("lock.queue", when(1), field("component", program), field("wait", "5m"), func(e *event.Event) {
			e.Text, e.Component, e.Source = "a goroutine waits for a lock", program, "goroutines."+program
		})
	}
	r := evaluate(catalogOf(t, proven("slow-disk")), line(queue("dockerd")))
	require.Equal(t, Signs, r.Opening.State)
	require.Equal(t, dumpDockerd, r.Opening.Command)
	require.NotEqual(t, dumpDockerd, evaluate(catalogOf(t, proven("slow-disk")), line(queue("kubelet"))).Opening.Command)
	r = evaluate(catalogOf(t, oneStep("lock", "lock.queue", "possible", nil)), line(queue("dockerd")))
	require.Equal(t, Possible, r.Opening.State)
	require.Equal(t, dumpDockerd, r.Opening.Command, "before what the rule lacks")
}

// TestDiskLeadsToItsMounts holds that of a device that fails it is asked who uses it, where no
// mounts are in the input.
func TestDiskLeadsToItsMounts(t *testing.T) {
	catalog := catalogOf(t, oneStep("block-io-hung-task", "kernel.block-error", "possible", nil))
	failing := func(device string) event.Event { return ev("kernel.block-error", when(1), field("device", device)) }
	r := evaluate(catalog, line(failing("dm-4")))
	require.Equal(t, listDisks, r.Opening.Command)
	require.Contains(t, r.Opening.Note, " dm-4: ")
	mounted := ev("fact", when(1), func(e *event.Event) { e.Source = "mounts" })
	require.NotEqual(t, listDisks, evaluate(catalog, line(failing("dm-4"), mounted)).Opening.Command)
	require.NotEqual(t, listDisks, evaluate(catalog, line(failing("overlay"))).Opening.Command)
}

// TestAfterCounts: a number that somebody counted asks of what the many are, once; one that is no
// sign asks for nothing.
func TestAfterCounts(t *testing.T) {
	counted := func(name, value string) event.Event {
		return event.New(event.KindFact, name+" = "+value, event.FieldName.Text(name), event.FieldValue.Text(value))
	}
	ask := func(events ...event.Event) []NextStep {
		s := &story{timeline: &timeline.Timeline{Events: pointersTo(events...)}}
		n := &nextChooser{story: s, answers: &rules.Result{}, known: map[string]bool{}}
		n.addForCounts()
		return n.steps
	}
	require.Empty(t, ask(counted("counted.zombies", "12"), counted("kernel.version", "6.1")))
	steps := ask(counted("counted.zombies", "5120"), counted("counted.threads", "40000"))
	require.Len(t, steps, 1)
	require.Contains(t, steps[0].Command, "$1 ~ /^Z/")
	for _, a := range afterCounts {
		require.Len(t, ask(counted(a.fact, "100000")), 1, a.fact)
	}
}

// TestSignOfRoundedLock holds that a wait which a dump rounds to minutes, and of which only the
// bounds are known, is told by the lower one.
func TestSignOfRoundedLock(t *testing.T) {
	wait := ev("lock.queue", when(0), func(e *event.Event) {
		e.Text, e.Open = "2 goroutines wait for sync.Mutex", true
		e.Start.Prec, e.End = 70*time.Second, at(790)
	})
	r := evaluate(catalogOf(t, proven("slow-disk")), line(wait))
	require.Equal(t, "2 goroutines wait for sync.Mutex, for at least 12m0s", r.Headline)
}

// TestBusyDaemonLeadsToItsGoroutines holds that a daemon that takes a whole CPU is a sign, and that
// its goroutines are asked for.
func TestBusyDaemonLeadsToItsGoroutines(t *testing.T) {
	busy := func(component string, percent float64) event.Event {
		return ev("process", when(1), with("cpu_percent", event.Number(percent)), func(e *event.Event) { e.Component, e.Text = component, component+" is running" })
	}
	r := evaluate(catalogOf(t, proven("slow-disk")), line(busy("kubelet", 101.2)))
	require.Equal(t, "kubelet is running", r.Headline)
	require.Equal(t, dumpKubelet, r.Opening.Command)
	r = evaluate(catalogOf(t, proven("slow-disk")), line(busy("crio", 101.2)))
	require.Equal(t, "crio is running", r.Headline)
	require.Equal(t, dumpCRIO, r.Opening.Command)
	require.Contains(t, r.Opening.Hazard, "cri-o")
	require.Empty(t, evaluate(catalogOf(t, proven("slow-disk")), line(busy("kubelet", 12))).Signs)
	require.Empty(t, evaluate(catalogOf(t, proven("slow-disk")), line(busy("process", 400))).Signs)
}

// TestSleepingThreadLeadsToTheGoroutines holds that of a daemon whose threads sleep, as an idle Go
// program's do, the goroutines are asked for, those of the runtime first.
func TestSleepingThreadLeadsToTheGoroutines(t *testing.T) {
	of := func(component string, kind event.Kind, key event.Key, value string) event.Event {
		return ev(kind, field(key, value), func(e *event.Event) { e.Component = component })
	}
	shim := of("containerd-shim", "thread.sample", "name", "futex")
	r := evaluate(catalogOf(t, proven("slow-disk")), line(of("kubelet", "process", "wchan", "futex_wait_queue"), shim))
	require.Equal(t, Unrecognised, r.Opening.State)
	require.Equal(t, dumpShims, r.Opening.Command)
	require.Equal(t, wantAsleep, r.Next[0].Note)
	require.Equal(t, collectAll, r.Next[1].Command)
	r = evaluate(catalogOf(t, proven("slow-disk")), line(of("etcd", "process", "wchan", "futex_wait_queue"), of("containerd", "process", "wchan", "ep_poll")))
	require.Equal(t, collectAll, r.Opening.Command)
}

// TestFailingCardIsSaidBeforeItsPrograms holds that of the errors of GPUs the one of a card that
// fails is the sign, however often a program had one.
func TestFailingCardIsSaidBeforeItsPrograms(t *testing.T) {
	card := func(what string) event.Event {
		return ev("kernel.hardware-error", when(1), field("what", what), func(e *event.Event) { e.Text = what })
	}
	r := evaluate(catalogOf(t, proven("slow-disk")), line(card("gpu-program"), card("gpu-program"), card("gpu")))
	require.Equal(t, "gpu", r.Headline)
	r = evaluate(catalogOf(t, proven("slow-disk")), line(card("gpu-other"), card("gpu-other"), card("gpu")))
	require.Equal(t, "gpu", r.Headline)
}

// TestForPods: a container that has run is asked for what it said, one without an image for its
// image, and a pod without a node for what it asks for. No kubelet is asked for its log.
func TestForPods(t *testing.T) {
	told := func(reason, message string) event.Event {
		e := event.New(event.KindKubeEvent, reason+" (18s before the list): "+message, event.FieldReason.Text(reason), event.FieldMessage.Text(message), event.FieldType.Text("Warning"))
		e.Component, e.Level = "kubernetes", event.Warning
		e.Evidence = []event.Quote{{Pos: event.Pos{File: "events.txt", Line: 2}, Text: message}}
		return e
	}
	for _, c := range []struct{ reason, message, want string }{
		{"Failed", `Failed to pull image "mirror.example/app:1": rpc error: code = NotFound desc = mirror.example/app:1: not found`, readImages},
		{"BackOff", `Back-off pulling image "mirror.example/app:1"`, readImages},
		{"BackOff", "Back-off restarting failed container web in pod web-0_shop(1)", readContainerLog},
		{"FailedScheduling", "0/1 nodes are available: 1 node(s) did not have enough free storage.", readPending},
	} {
		s := &story{timeline: &timeline.Timeline{Events: pointersTo(told(c.reason, c.message))}}
		steps := s.chooseNext(nil, Signs, &rules.Result{})
		require.NotEmpty(t, steps, c.message)
		require.Equal(t, c.want, steps[0].Command, c.message)
	}
}
