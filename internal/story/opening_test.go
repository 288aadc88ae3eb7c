package story

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// A report says first how certain the finding is that the headline is about, and what to do: the
// cure where the cause is likely, else the command that would decide.
func TestOpening(t *testing.T) {
	next := []NextStep{{Missing: rules.Missing{Command: "ps -eLo pid"}, Hazard: ReadsOnly}}
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	about := func(v language.Verdict) *part {
		return &part{rule: catalog.Rule("umount2-overlay-sync"), Finding: Finding{Finding: rules.Finding{Verdict: v, NotSeen: []string{"a lock", "… waits"}, Remediation: language.Remediation{Now: []language.Action{{Do: "wait", Commands: []string{"sleep 60"}, Hazard: ReadsOnly}}}}}}
	}
	s := &story{}
	unseen := []rules.Hypothesis{{NotSeen: []string{"a stall", "a dump", "a trace"}}, {Verdict: language.Weighed, Title: "A disk is slow."}}
	for name, c := range map[string]struct {
		about *part
		state State
		want  Opening
	}{
		"likely":   {about(language.Likely), Likely, Opening{Advice: "wait", Commands: []string{"sleep 60"}, Hazard: ReadsOnly, Reason: "not every deciding step was seen; not seen: a lock"}},
		"possible": {about(language.Possible), Possible, Opening{Command: "ps -eLo pid", Hazard: ReadsOnly, Reason: "its signs alone were seen; not seen: a stall; a dump"}},
		"stalled":  {nil, Stalled, Opening{Command: "ps -eLo pid", Hazard: ReadsOnly, Reason: "nothing that was read shows why; something speaks for: a disk is slow"}},
	} {
		c.want.State = c.state
		require.Equal(t, c.want, s.writeOpening(c.about, c.state, next, unseen), name)
	}
	o := s.writeOpening(about(language.Possible), Possible, nil, nil)
	require.Equal(t, []string{"wait", "sleep 60", ReadsOnly}, []string{o.Advice, o.Commands[0], o.Hazard}, "nothing would decide")
	s.others = true
	o = s.writeOpening(about(language.Possible), Possible, next, nil)
	require.Equal(t, []string{"wait", "sleep 60"}, []string{o.Advice, o.Commands[0]}, "only other hypotheses ask for something")
	o = s.writeOpening(nil, Stalled, next, nil)
	require.Equal(t, "ps -eLo pid", o.Command)
	dump := about(language.Possible)
	dump.Remediation.Now[0].Commands = []string{dumpContainerd}
	s.timeline = &timeline.Timeline{}
	require.False(t, s.curesByDump(dump))
	s.timeline.Events = []*event.Event{{Source: "goroutines.containerd"}}
	require.True(t, s.curesByDump(dump), "what a dump shows is known")
	require.False(t, s.curesByDump(about(language.Possible)))
	require.Equal(t, Opening{State: Healthy}, s.writeOpening(nil, Healthy, nil, nil))
}

// loop is a container that ends each time it is started.
func loop(name string) event.Event {
	return ev("container.state", when(3), field("state", "CrashLoopBackOff"), func(e *event.Event) { e.Text = name + " ends" })
}

// TestStates holds that the first words follow the evidence: a cause, a stall, signs, routine, or
// nothing that is known.
func TestStates(t *testing.T) {
	hung := ev("kernel.hung-task", when(1), field("comm", "java"))
	held := ev("thread.sample", when(1), field("state", "D"), func(e *event.Event) { e.Component = "dockerd" })
	ready := ev("kubelet.node-ready", when(2))
	for name, c := range map[string]struct {
		timeline *timeline.Timeline
		state    State
		headline string
	}{
		"a cause":                    {line(incident()...), Confirmed, "umount2 takes 3m32s; " + lockSummary + "; whether NotReady came from it is not shown"},
		"a stall":                    {withStalls(line(hung), stall()), Stalled, "relist stood still 3m12s"},
		"a sign":                     {line(hung, exitOf(idA, 1)), Signs, "kernel.hung-task"},
		"routine of a trace":         {drop(dense(line(exitOf(idA, 1))), "kubelet.log", "containerd.log"), Healthy, "a stall of relist would not show in it"},
		"routine in few lines":       {line(exitOf(idA, 1)), Unrecognised, "too few lines to say that the node was well"},
		"a daemon in the kernel":     {line(held), Signs, "thread.sample"},
		"a node without memory":      {line(ev("fact", field("name", "memory.available-percent"), field("value", "0"))), Signs, "hardly any memory is available (0 %)"},
		"a node that is ready":       {line(exitOf(idA, 1), ready), Healthy, "only routine"},
		"a workload that fails":      {dense(line(exitOf(idA, 1), loop("a"), loop("b"), loop("b"))), Healthy, "; of the workload, a ends (and 1 other)"},
		"routine in a whole journal": {dense(line(exitOf(idA, 1))), Healthy, "only routine of containerd, kubelet"},
		"nothing that is known":      {&timeline.Timeline{}, Unrecognised, "no line of a kubelet"},
	} {
		r := evaluate(synthetic(t), c.timeline)
		require.Equal(t, c.state, r.Opening.State, name)
		require.Contains(t, r.Headline, c.headline, name)
	}
}

func withStalls(tl *timeline.Timeline, stalls ...timeline.Stall) *timeline.Timeline {
	tl.Stalls = stalls
	return tl
}

func dense(tl *timeline.Timeline) *timeline.Timeline {
	for i := range tl.Coverage {
		tl.Coverage[i].Lines = 1000
	}
	return tl
}

// TestOpenEpisodeComesFirst holds that an old incident does not hide the one that is going on.
func TestOpenEpisodeComesFirst(t *testing.T) {
	second := stall()
	second.Start, second.End, second.NotReady, second.Open = second.Start.Add(5*time.Hour), second.End.Add(5*time.Hour), time.Time{}, true
	r := evaluate(synthetic(t), withStalls(line(incident()...), stall(), second))
	require.Equal(t, Stalled, r.Opening.State, "of the stall that is going on no cause is known")
	require.Contains(t, r.Headline, "relist stood still at least 3m12s")
	require.Contains(t, r.Headline, "earlier, from 09:30:06 on: container 40585f73aa00 exits at 09:30:01; umount2 takes 3m32s (confirmed)")
	require.Len(t, r.Episodes, 2)
	require.True(t, r.Episodes[0].Open)
	require.Empty(t, r.Episodes[0].Cause)
	require.Equal(t, "slow-disk", r.Episodes[1].Cause)

	second.Open = false
	r = evaluate(synthetic(t), withStalls(line(incident()...), stall(), second))
	require.Equal(t, Confirmed, r.Opening.State)
	require.Equal(t, "slow-disk", r.Episodes[0].Cause)
}

// TestUndatedRootIsNoEpisode holds that a root without a time belongs to the only stalls there are.
// TestSubjectIsListedFirst: a root that is less sure than the reason of NotReady that the headline
// names comes after it.
func TestSubjectIsListedFirst(t *testing.T) {
	expired := strings.Replace(oneStep("expired", "b", "likely", nil), "role: root", "role: notready", 1)
	tl := line(ev("a", when(1)), ev("b", when(7200)))
	tl.Stalls = nil
	r := evaluate(catalogOf(t, possible("slow-disk"), expired), tl)
	require.Equal(t, notPLEG+"expired holds", r.Headline)
	require.Equal(t, []string{"expired", "slow-disk"}, []string{r.Findings[0].Rule, r.Findings[1].Rule})
	require.Equal(t, 1, r.Opening.Finding)
}

func TestUndatedRootIsNoEpisode(t *testing.T) {
	r := evaluate(catalogOf(t, proven("held-lock")), withStalls(line(ev("b")), stall()))
	require.NotEmpty(t, r.Findings)
	require.Equal(t, language.Root, r.Findings[0].Role)
	require.Zero(t, r.Findings[0].Cause.Start)
	require.Len(t, r.Episodes, 1)
	require.Equal(t, r.Findings[0].Rule, r.Episodes[0].Cause)
	require.Equal(t, []int{0}, r.Episodes[0].Stalls)
}

// TestLiveFindingComesFirst holds that what is going on where the evidence ends comes before a
// stall that is over.
func TestLiveFindingComesFirst(t *testing.T) {
	live := ev("syscall", from(18000, 18100), container(idB), field("name", "umount2"), open)
	r := evaluate(synthetic(t), withStalls(line(append(incident(), exitOf(idB, 17999), live)...), stall()))
	require.Equal(t, idB, r.Findings[0].Container)
	require.Equal(t, language.Root, r.Findings[0].Role)
	require.True(t, r.Episodes[0].Open)
	require.Contains(t, r.Headline, "earlier, from")

	old := ev("syscall", from(7000, 7100), container(idB), field("name", "umount2"), open)
	later := ev("shim.gone", when(18000))
	r = evaluate(synthetic(t), withStalls(line(append(incident(), exitOf(idB, 6999), old, later)...), stall()))
	require.Equal(t, idA, r.Findings[0].Container, "it was long over where the evidence ends")
}

// TestNextSteps holds that each command says what it decides between, that no dump is asked of a
// runtime that is gone, and that nothing is asked where nothing is wrong.
func TestNextSteps(t *testing.T) {
	r := evaluate(synthetic(t), withStalls(drop(line(), "goroutines.containerd"), stall()))
	require.NotEmpty(t, r.Next)
	require.LessOrEqual(t, len(r.Next), maxNext)
	require.Equal(t, dumpContainerd, r.Next[0].Command)
	require.Equal(t, []string{"held-lock"}, r.Next[0].Decides)
	require.NotEmpty(t, r.Next[0].Hazard)

	require.Empty(t, evaluate(synthetic(t), dense(line(exitOf(idA, 1)))).Next)
	r = evaluate(synthetic(t), drop(line(exitOf(idA, 1)), "strace"))
	require.Len(t, r.Next, 1, "too little: ask for all")
	require.Equal(t, collectAll, r.Next[0].Command)
	require.Empty(t, r.Next[0].Decides, "it is for all rules, and for none by chance")

	n := &nextChooser{story: &story{}, answers: &rules.Result{}, known: map[string]bool{}, dead: true}
	n.addMissing([]rules.Missing{{Source: "goroutines.containerd", Command: dumpContainerd}, {Source: "processes", Command: listThreads}})
	require.Len(t, n.steps, 1)
	require.Equal(t, listThreads, n.steps[0].Command)
}

// TestHeldThreads: strace hangs on a thread that does not leave the kernel or has a tracer already,
// and a runtime whose threads are held writes no dump.
func TestHeldThreads(t *testing.T) {
	const trace = "timeout 10 strace -f -o containerd.strace -p $(pidof containerd)"
	sample := func(component, state string, more ...event.Field) *event.Event {
		e := event.New(event.KindThreadSample, "", append(more, event.FieldState.Text(state))...)
		e.Component = component
		return &e
	}
	for _, tc := range []struct {
		name        string
		e           *event.Event
		trace, dump bool
	}{
		{"stuck in the kernel", sample("containerd", "D", event.FieldUnmoved.Bool(true)), false, true},
		{"in the kernel by chance", sample("containerd", "D"), true, true},
		{"of a workload", sample("process", "D", event.FieldUnmoved.Bool(true)), true, true},
		{"traced", sample("containerd", "t"), false, false},
		{"frozen", sample("containerd", "S", event.FieldWaits.Text("freezer")), true, false},
	} {
		s := &story{timeline: &timeline.Timeline{Events: []*event.Event{tc.e}}}
		n := &nextChooser{story: s, answers: &rules.Result{}, known: map[string]bool{}, dead: s.isRuntimeDead(&rules.Result{}), held: s.holdsThread()}
		n.addMissing([]rules.Missing{{Source: "strace", Command: trace}, {Source: "goroutines.containerd", Command: dumpContainerd}})
		var commands []string
		for _, step := range n.steps {
			commands = append(commands, step.Command)
		}
		require.Equal(t, tc.trace, slices.Contains(commands, trace), tc.name)
		require.Equal(t, tc.dump, slices.Contains(commands, dumpContainerd), tc.name)
	}
}

func TestRoutine(t *testing.T) {
	for _, e := range []event.Event{
		ev("kernel.hung-task"), ev("thread.sample", field("state", "D"), field("waits", "disk")), ev("process", field("state", "T")),
		ev("filesystem", with("used_percent", event.Int(100))), ev("node.condition", field("condition", "Ready"), field("status", "Unknown")),
		ev("kubernetes.event", field("type", "Warning")), ev("kubelet.pleg-unhealthy"),
		{Kind: event.KindCollectItem, Component: "kubelet"},
		ev("kubelet.sync-loop-late"), // by /healthz
		ev("fact", field("name", "memory.available-percent"), field("value", "1")),
		ev("fact", field("name", "node.load"), field("value", "378.90 324.11 282.45")),
		ev("kernel.hardware-error", with("corrected", event.Bool(false))),
		ev("process", with("cpu_percent", event.Number(101.2)), func(e *event.Event) { e.Component = "kubelet" }),
		ev("kubelet.sync-loop-late", when(0), func(e *event.Event) { e.End = at(15) }),
		ev("thread.sample", field("state", "D"), field("stack", "rm_init_adapter down_write"), func(e *event.Event) { e.Source = "kernel.log" }),
		ev("thread.sample", field("state", "D"), with("samples", event.Int(3195)), with("scans", event.Int(9))),
	} {
		require.False(t, isRoutine(&e), "%s %v", e.Kind, e.Fields)
	}
	for _, e := range []event.Event{
		ev("containerd.task-exit"), ev("thread.sample", field("state", "S")), ev("process", field("state", "Ss")),
		ev("filesystem", with("used_percent", event.Int(40))), ev("node.condition", field("condition", "MemoryPressure"), field("status", "False")),
		ev("node.condition", field("condition", "KernelReady"), field("status", "True")),
		ev("kubernetes.event", field("type", "Normal"), field("reason", "NodeReady")),
		ev("kubelet.pleg-unhealthy", with("never", event.Bool(true))), ev("noise"), ev("collect.item"),
		ev("fact", field("name", "memory.available-percent"), field("value", "31")), ev("fact", field("name", "kernel.version"), field("value", "6.8.0")),
		ev("fact", field("name", "node.load"), field("value", "378.90 94.11 22.45")), // a burst
		ev("kernel.hardware-error", with("corrected", event.Bool(true))),
		ev("process", with("cpu_percent", event.Number(101.2))), // a pod may take what it is given
		ev("kubelet.sync-loop-late", when(0), func(e *event.Event) { e.End = at(2.4) }),
		ev("thread.sample", field("state", "D"), with("samples", event.Int(12)), with("scans", event.Int(9))),
	} {
		require.True(t, isRoutine(&e), "%s %v", e.Kind, e.Fields)
	}
}

func TestDescribeSource(t *testing.T) {
	for source, want := range map[string]string{
		"goroutines.containerd or goroutines.dockerd": "the goroutines of containerd or dockerd",
		"systemd.log or kernel.log":                   "the log of systemd or kernel",
		"goroutines.shim or strace":                   "the goroutines of shim or a trace by strace",
		"processes":                                   "a list of the processes",
		"of-another-rule":                             "of-another-rule",
	} {
		require.Equal(t, want, DescribeSource(source))
	}
}
