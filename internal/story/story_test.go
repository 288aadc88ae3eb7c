package story

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

const lockSummary = "the update of 40585f73aa00 holds a lock for 2m0s, 3 lists wait"

func TestRootAndLink(t *testing.T) {
	tl := line(incident()...)
	tl.Stalls = []timeline.Stall{stall()}
	r := evaluate(synthetic(t), tl)
	require.Len(t, r.Findings, 2)
	root, link := r.Findings[0], r.Findings[1]
	require.Equal(t, []any{"slow-disk", language.Root, "held-lock", language.Link}, []any{root.Rule, root.Role, link.Rule, link.Role})
	require.Equal(t, "container 40585f73aa00 exits at 09:30:01; umount2 takes 3m32s; "+lockSummary+
		"; relist stood still 3m12s, NotReady from 09:33:02", r.Headline)
	require.Equal(t, []string{"exit", "umount", "update", "holder", "waiters", "stall", "not-ready"}, stepIDs(root.Chain),
		"the exit, which both rules see, is told once")
	require.True(t, root.Chain[2].Observed, "tied by the container")
	stalled := root.Chain[5]
	require.Equal(t, "relist did not complete for 3m12s", stalled.Text)
	require.Equal(t, stall().Evidence, stalled.Evidence)
	require.False(t, stalled.Observed)
	require.Equal(t, stall().NotReady, root.Chain[6].Start)
	require.Equal(t, []string{"exit", "update", "holder", "waiters"}, stepIDs(link.Chain))
}

func TestRecoveryComesLast(t *testing.T) {
	gone := ev("shim.gone", when(214), container(idA))
	r := evaluate(synthetic(t), line(append(incident(), gone)...))
	require.Equal(t, []string{"exit", "umount", "update", "holder", "waiters", "done"}, stepIDs(r.Findings[0].Chain))
}

// A relist that completed after the recovery was not held up by what was over before it.
func TestOverBeforeTheStall(t *testing.T) {
	tl := line(append(incident(), ev("shim.gone", when(214), container(idA)))...)
	later := stall()
	later.Window, later.Open = timeline.Window{Start: at(230).T, End: at(430).T}, true
	tl.Stalls = []timeline.Stall{later}
	r := evaluate(synthetic(t), tl)
	require.Len(t, r.Episodes, 2)
	now, before := r.Episodes[0], r.Episodes[1]
	require.Equal(t, []any{true, "", false, "slow-disk"}, []any{now.Open, now.Cause, before.Open, before.Cause})
	require.NotContains(t, r.Headline, "umount2 takes", "it is not the cause of this stall")
}

func TestWithoutKubelet(t *testing.T) {
	r := evaluate(synthetic(t), drop(line(incident()...), "kubelet.log"))
	require.Contains(t, r.Findings[0].Notes, "NotReady itself was not seen: no kubelet journal in the bundle")
	require.Equal(t, "container 40585f73aa00 exits at 09:30:01; umount2 takes 3m32s; "+lockSummary+"; "+notReadyNotShown, r.Headline)
	r = evaluate(synthetic(t), line(incident()...))
	require.Contains(t, r.Findings[0].Notes, "NotReady itself was not seen: the kubelet's journal shows no stall of relist")
}

func TestLinkBecomesRoot(t *testing.T) {
	r := evaluate(synthetic(t), line(incident()[2:]...)) // no exit, no umount
	require.Len(t, r.Findings, 1)
	require.Equal(t, language.Root, r.Findings[0].Role)
	require.Equal(t, lockSummary+"; this bundle does not show what caused that", r.Findings[0].Summary)
}

func TestJoinDecidesWhatExplains(t *testing.T) {
	// The umount is another container's: it explains nothing here.
	other := append([]event.Event{exitOf(idA, 1), exitOf(idB, 1), umountOf(idB, 1.5, 213.5)}, incident()[2:]...)
	r := evaluate(synthetic(t), line(other...))
	lock, disk := find(t, r, "held-lock"), find(t, r, "slow-disk")
	require.Equal(t, language.Root, lock.Role, "the better score")
	require.Equal(t, language.Contributing, disk.Role)
	require.Equal(t, []Rival{{Rule: "slow-disk", Container: idB}}, lock.Rivals)
	require.Equal(t, []Rival{{Rule: "held-lock", Container: idA}}, disk.Rivals)
	require.NotContains(t, r.Headline, "umount2")
}

func TestFarApartExplainsNothing(t *testing.T) {
	events := append([]event.Event{umountOf(idA, -3000, -2900)}, incident()[2:]...)
	r := evaluate(synthetic(t), line(events...))
	require.Equal(t, language.Root, find(t, r, "held-lock").Role)
	disk := find(t, r, "slow-disk")
	require.Equal(t, language.Contributing, disk.Role)
	require.Empty(t, disk.Notes)
	require.Empty(t, disk.Rivals, "it was over by then")
}

func TestIntervalOfTheStall(t *testing.T) {
	for name, c := range map[string]struct {
		umount event.Event
		want   language.Role
	}{
		"during":               {umountOf(idA, 10, 100), language.Root},
		"ends 2 min before":    {umountOf(idA, -300, -114), language.Root},
		"ends earlier":         {umountOf(idA, -300, -115), language.Contributing},
		"begins 3 min after":   {umountOf(idA, 186, 500), language.Root},
		"begins later":         {umountOf(idA, 187, 500), language.Contributing},
		"open, seen later":     {ev("syscall", from(190, 500), container(idA), field("name", "umount2"), open), language.Root},
		"open, after recovery": {ev("syscall", from(300, 500), container(idA), field("name", "umount2"), open), language.Root},
	} {
		t.Run(name, func(t *testing.T) {
			tl := line(c.umount)
			tl.Stalls = []timeline.Stall{stall()}
			r := evaluate(synthetic(t), tl)
			require.Equal(t, c.want, r.Findings[0].Role)
			if c.want == language.Contributing {
				require.Equal(t, Stalled, r.Opening.State)
				require.NotContains(t, r.Headline, "umount2")
			}
		})
	}
}

func TestOneRootPerStall(t *testing.T) {
	second := stall()
	second.Start, second.End, second.NotReady = second.Start.Add(time.Hour), second.End.Add(time.Hour), time.Time{}
	tl := line(append(incident(), exitOf(idB, 3600), umountOf(idB, 3601, 3800))...)
	tl.Stalls = []timeline.Stall{stall(), second}
	r := evaluate(synthetic(t), tl)
	var roots []string
	for _, f := range r.Findings {
		if f.Role == language.Root {
			roots = append(roots, f.Container)
		}
	}
	require.Equal(t, []string{idB, idA}, roots, "the headline is about the last of those that are over")
	require.Contains(t, r.Headline, "(one of 2 stalls)")
	require.Contains(t, r.Findings[0].Notes, "NotReady itself was not seen in the kubelet's journal")
}

func TestSameRuleTwiceHasOneRoot(t *testing.T) {
	r := evaluate(synthetic(t), line(append(incident(), exitOf(idB, 1), umountOf(idB, 2, 100))...))
	require.Equal(t, []language.Role{language.Root, language.Link, language.Contributing}, []language.Role{r.Findings[0].Role, r.Findings[1].Role, r.Findings[2].Role})
	require.Equal(t, idA, r.Findings[0].Container, "the earlier of two that are equally sure")
	require.Contains(t, r.Findings[2].Notes, "the same as the root, at the same time, in another place")
}

func TestRootLastsThroughTheStall(t *testing.T) {
	for name, c := range map[string]struct {
		stalls []timeline.Stall
		root   string
	}{
		"no stall is known":            {nil, idB},
		"one was over before it began": {[]timeline.Stall{stall()}, idA},
	} {
		tl := line(exitOf(idB, -90), umountOf(idB, -89, -10), exitOf(idA, 1), umountOf(idA, 2, 213))
		tl.Stalls = c.stalls
		r := evaluate(synthetic(t), tl)
		require.Equal(t, c.root, r.Findings[0].Container, name)
	}
}

func TestPossibleNeverDisplacesProven(t *testing.T) {
	cat := catalogOf(t, possible("slow-disk"), proven("held-lock", "slow-disk"))
	r := evaluate(cat, line(ev("a", when(1)), ev("b", when(2))))
	require.Equal(t, language.Root, find(t, r, "held-lock").Role)
	require.Contains(t, find(t, r, "held-lock").Notes, "slow-disk may be its cause, but is only possible")
	require.Equal(t, language.Contributing, find(t, r, "slow-disk").Role)

	// Above a proven root a possible finding is a link, but not part of its chain.
	cat = catalogOf(t, possible("held-lock", "slow-disk"), proven("slow-disk"))
	r = evaluate(cat, line(ev("a", when(1)), ev("b", when(2))))
	require.Equal(t, language.Link, find(t, r, "held-lock").Role)
	require.Equal(t, "slow-disk holds; "+notReadyNotShown, r.Headline)

	r = evaluate(catalogOf(t, possible("held-lock")), line(ev("a", when(1))))
	require.Equal(t, "POSSIBLE: held-lock holds; "+notReadyNotShown, r.FullHeadline())
	require.Equal(t, "held-lock holds; "+notReadyNotShown, r.Headline)
}

// possible is a rule that sees an event a, proven one that sees an event b.
func possible(id string, deeper ...string) string { return oneStep(id, "a", "possible", deeper) }

func proven(id string, deeper ...string) string { return oneStep(id, "b", "confirmed", deeper) }

func oneStep(id, kind, verdict string, deeper []string) string {
	var s strings.Builder
	s.WriteString("id: " + id + "\ntitle: t\nrole: root\nheadline: " + id + " holds\nneeds: [{any: [containerd.log], collect: c}]\n" +
		"steps: [{id: s, role: cause, text: x, kind: " + kind + "}]\nverdict: {" + verdict + ": s}\n")
	for _, d := range deeper {
		s.WriteString("explained_by: [{rule: " + d + "}]\n")
	}
	return s.String()
}

func TestExplainedTransitively(t *testing.T) {
	cat := catalogOf(t, oneStep("top", "a", "likely", []string{"middle"}), oneStep("middle", "b", "likely", []string{"bottom"}), oneStep("bottom", "c", "likely", nil))
	r := evaluate(cat, line(ev("a", when(3)), ev("b", when(2)), ev("c", when(1))))
	require.Equal(t, "bottom holds; middle holds; top holds; "+notReadyNotShown, r.Headline)
	require.Equal(t, language.Root, find(t, r, "bottom").Role)
	require.Equal(t, language.Link, find(t, r, "middle").Role)
	require.Equal(t, language.Link, find(t, r, "top").Role)
}

func TestFallback(t *testing.T) {
	late := ev("kubelet.cri-error", when(130), field("method", "ListContainers"))
	tl := line(late)
	tl.Stalls = []timeline.Stall{stall()}
	r := evaluate(synthetic(t), tl)
	require.Len(t, r.Findings, 1)
	require.Equal(t, language.Fallback, r.Findings[0].Role)
	require.Equal(t, "STALLED, CAUSE NOT SHOWN: ListContainers is slow; relist stood still 3m12s, NotReady from 09:33:02", r.FullHeadline())
	require.Equal(t, "processes", r.Next[0].Source)

	tl.Events = append(tl.Events, pointersTo(updateOf(idA, 5, 125))...) // merely possible, but more than a fallback
	r = evaluate(synthetic(t), tl)
	require.Len(t, r.Findings, 1)
	require.Equal(t, "held-lock", r.Findings[0].Rule)

	tl.Events = pointersTo(late, updateOf(idA, 3600, 3700)) // of another hour: the fallback stands
	r = evaluate(synthetic(t), tl)
	require.Equal(t, []language.Role{language.Contributing, language.Fallback}, []language.Role{r.Findings[0].Role, r.Findings[1].Role})
}

func TestHeadlineWithoutCause(t *testing.T) {
	tl := drop(line(), "strace", "goroutines.containerd")
	require.Contains(t, evaluate(synthetic(t), tl).Headline, "lines of containerd, kubelet, and nothing in them that plegdiag knows")

	open := stall()
	open.Open, open.NotReady = true, time.Time{}
	tl.Stalls = []timeline.Stall{open}
	r := evaluate(synthetic(t), tl)
	require.Equal(t, "relist stood still at least 3m12s", r.Headline)
	require.Equal(t, Opening{
		State: Stalled, Short: r.Headline, Reason: "nothing that was read shows why", Episode: 1, Command: r.Next[0].Command, Hazard: r.Next[0].Hazard,
	}, r.Opening)
	require.Contains(t, r.Next[0].Command, "kill -USR1 $(pidof containerd)")
}

// The command that comes next follows the decision tree: what the bundle holds, and the phase of
// the stall.
func TestNext(t *testing.T) {
	covers := func(sources ...string) *timeline.Timeline {
		tl := &timeline.Timeline{Stalls: []timeline.Stall{stall()}}
		for _, source := range sources {
			tl.Coverage = append(tl.Coverage, timeline.Coverage{Source: source})
		}
		return tl
	}
	next := func(tl *timeline.Timeline) string { return evaluate(synthetic(t), tl).Next[0].Source }
	require.Equal(t, "goroutines.containerd or goroutines.dockerd or goroutines.crio", next(covers("kubelet.log")))
	require.Equal(t, "goroutines.dockerd or goroutines.containerd", next(covers("kubelet.log", "dockerd.log")))
	require.Equal(t, "goroutines.crio", next(covers("crio.log")))

	tl := covers("goroutines.containerd")
	tl.Stalls[0].Phase = timeline.PhaseUnknown
	require.Equal(t, "goroutines.kubelet", next(tl))
	tl.Stalls[0].Phase = timeline.PhaseList
	require.Equal(t, "processes", next(tl))
	tl.Events = pointersTo(ev("goroutine.wait", field("doing", "shim")))
	require.Equal(t, "goroutines.shim or strace", next(tl), "containerd waits for the shim: ask that")

	tl = covers("goroutines.containerd", "goroutines.kubelet", "processes", "kernel.log", "containerd.log")
	require.Equal(t, "strace or goroutines.shim", next(tl), "the tree is at its end: what the rules ask for")
	require.Empty(t, evaluate(synthetic(t), dense(line())).Next, "nothing happened")
	tl = line(incident()...)
	tl.Stalls = []timeline.Stall{stall()}
	require.Empty(t, evaluate(synthetic(t), tl).Next, "the cause is named")
}

// TestSuspectStuckShim: a shim that never answers is suspected before a call that only lasted.
func TestSuspectStuckShim(t *testing.T) {
	events := []event.Event{
		ev("cri.call", from(10, 190), container(idA), field("method", "StopContainer")),
		ev("kubelet.cri-error", when(60), container(idB), field("method", "ExecSync"), field("deadline", "true")),
	}
	for i := range 5 {
		events = append(events, ev("containerd.state-timeout", when(float64(30+10*i)), container(idB)))
	}
	tl := line(events...)
	tl.Stalls = []timeline.Stall{stall()}
	r := evaluate(synthetic(t), tl)
	require.Len(t, r.Suspects, 2)
	require.Equal(t, "container "+idB[:12]+": its shim did not answer State (5×); ExecSync ran into its deadline", r.Suspects[0].String())
	require.Equal(t, "container "+idA[:12]+": StopContainer lasted 3m0s", r.Suspects[1].String())
	require.Equal(t, r.Suspects[0].String(), r.Episodes[0].Suspect)
}

func TestSuspects(t *testing.T) {
	tl := line(
		ev("kubelet.cri-error", when(120), container(idB), field("method", "ContainerStatus"), field("deadline", "true")),
		ev("kubelet.cri-error", when(125), container(idB), field("method", "ContainerStatus"), field("deadline", "true")),
		ev("kubelet.cri-error", when(126), container(idA), field("method", "ContainerStatus"), field("deadline", "true")),
		ev("kubelet.cri-error", when(126), container(strings.Repeat("c", 64)), field("method", "ContainerStatus"), field("deadline", "false")),
		ev("cri.call", from(10, 190), container(idA), field("method", "StopContainer"), open),
		ev("cri.call", from(10, 20), container(strings.Repeat("d", 64)), field("method", "StopContainer")),
		ev("kubelet.cri-error", when(9000), container(strings.Repeat("e", 64)), field("method", "ContainerStatus"), field("deadline", "true")),
	)
	tl.Stalls = []timeline.Stall{stall()}
	r := evaluate(synthetic(t), tl)
	var said []string
	for _, s := range r.Suspects {
		said = append(said, s.String())
		require.NotEmpty(t, s.Evidence)
	}
	require.Equal(t, []string{
		"container " + idA[:12] + ": StopContainer did not end; relist waited for ContainerStatus, which ran into its deadline",
		"container " + idB[:12] + ": relist waited for ContainerStatus, which ran into its deadline",
	}, said)
	require.Contains(t, r.Headline, "; suspect: container "+idA[:12]+": StopContainer did not end")

	tl.Events = append(tl.Events, pointersTo(incident()...)...)
	require.Empty(t, evaluate(synthetic(t), tl).Suspects, "the stall has a root")
}

func TestHazard(t *testing.T) {
	for command, want := range map[string]string{
		"kill -ABRT $(pidof terwayd)": "ends the process",
		"kill -s SIGQUIT 12":          "ends the process",
		"timeout 10 strace -f -p 12  # kill -ABRT prints its goroutines, and ends it": "slows the process down",
		"kill -USR1 $(pidof containerd); sleep 1":                                     "none for containerd",
		"timeout 5 busctl tree org.freedesktop.systemd1":                              "may itself hang",
		"timeout 10 ps -eo pid,args > ps.txt":                                         "its time limit ends that",
		"timeout 10 ps -eo pid,args; busctl list":                                     "set a time limit",
		"journalctl -u containerd -u docker -o export":                                "none",
		"ps -eo pid,lstart,args > ps.txt":                                             "may itself hang",
		"timeout 10 ps -eLo pid,tid,wchan:32,comm":                                    ReadsOnly,
		"plegdiag collect -o - > node.tgz":                                            "gets SIGUSR1",
		"journalctl -u containerd -o export":                                          ReadsOnly,
		"echo w > /proc/sysrq-trigger; dmesg":                                         "the kernel prints stacks",
		"":                                                                            "",
	} {
		require.Contains(t, Hazard(command), want, command)
	}
}

func TestUndatedRoot(t *testing.T) {
	dump := ev("goroutine.wait", container(idA), field("doing", "umount"))
	tl := line(dump)
	tl.Stalls = []timeline.Stall{stall()}
	r := evaluate(synthetic(t), tl)
	require.Equal(t, language.Root, r.Findings[0].Role)
	require.Contains(t, r.Findings[0].Notes, "its lines have no time: nothing shows that it belongs to the stall")
}

func TestEmptyCatalogue(t *testing.T) {
	r := evaluate(&language.Catalog{}, line(incident()...))
	require.Empty(t, r.Findings)
	require.NotEmpty(t, r.Headline)
}

// TestLinkEndsInKernel holds that a fallback which says where threads stand is the end of a link
// without a deeper cause, and not beside a root.
func TestLinkEndsInKernel(t *testing.T) {
	link := "id: lock\ntitle: t\nrole: link\nheadline: a lock is held\nneeds: [{any: [containerd.log], collect: c}]\n" +
		"steps: [{id: held, role: cause, text: held, kind: held}]\nverdict: {likely: held}\nexplained_by: [{rule: slow-disk}]\n"
	stuck := "id: stuck\ntitle: t\nrole: fallback\nheadline: 3 of 3 samples are in f\nneeds: [{any: [samples], collect: c}]\n" +
		"steps: [{id: in_kernel, role: cause, text: in f, kind: stuck}]\nverdict: {likely: in_kernel}\nexplained_by: [{rule: slow-disk}]\n"
	cat := catalogOf(t, link, stuck, proven("slow-disk"))
	r := evaluate(cat, line(ev("held", when(1)), ev("stuck", when(2))))
	require.Equal(t, []string{"in_kernel", "held"}, stepIDs(find(t, r, "lock").Chain))
	require.Contains(t, r.Headline, "a lock is held; 3 of 3 samples are in f")
	require.Equal(t, language.Fallback, find(t, r, "stuck").Role)

	r = evaluate(cat, line(ev("held", when(1)), ev("stuck", when(2)), ev("b", when(1))))
	require.Equal(t, "slow-disk", r.Findings[0].Rule)
	for _, f := range r.Findings {
		require.NotEqual(t, "stuck", f.Rule, "a deeper cause is known")
	}

	r = evaluate(cat, line(ev("held", when(1)), ev("stuck", when(9000))))
	require.Contains(t, r.Headline, "this bundle does not show what caused that")
}

// TestFallbacksFold holds that of two fallbacks at the same time the one that shows where threads
// stand is left, with the symptoms of the other.
func TestFallbacksFold(t *testing.T) {
	late := "id: late\ntitle: t\nrole: fallback\nheadline: a list is late\nneeds: [{any: [kubelet.log], collect: c}]\n" +
		"steps: [{id: list, role: symptom, text: late, kind: list}]\nverdict: {possible: list}\n"
	stuck := "id: stuck\ntitle: t\nrole: fallback\nheadline: 3 of 3 samples are in f\nneeds: [{any: [samples], collect: c}]\n" +
		"steps: [{id: in_kernel, role: cause, text: in f, kind: stuck}]\nverdict: {likely: in_kernel}\nexplained_by: [{rule: slow-disk}]\n"
	cat := catalogOf(t, late, stuck, proven("slow-disk"))
	r := evaluate(cat, line(ev("list", when(1)), ev("stuck", when(2))))
	require.Len(t, r.Findings, 1)
	require.Equal(t, "stuck", r.Findings[0].Rule)
	require.Equal(t, []string{"in_kernel", "list"}, stepIDs(r.Findings[0].Chain))

	r = evaluate(cat, line(ev("list", when(1)), ev("stuck", when(9000))))
	require.Len(t, r.Findings, 2, "they are of different hours")

	surer := strings.Replace(late, "possible: list", "confirmed: list", 1)
	r = evaluate(catalogOf(t, surer, stuck, proven("slow-disk")), line(ev("list", when(1)), ev("stuck", when(2))))
	require.Len(t, r.Findings, 2, "what is surer is said")
}

func TestContributingRule(t *testing.T) {
	leak := "id: leak\ntitle: t\nrole: contributing\nheadline: shims leak\nneeds: [{any: [containerd.log], collect: c}]\n" +
		"steps: [{id: s, role: cause, text: x, kind: leak}]\nverdict: {confirmed: s}\nexplained_by: [{rule: slow-disk}]\n"
	r := evaluate(catalogOf(t, leak, proven("slow-disk")), line(ev("leak", when(1)), ev("b", when(1))))
	require.Equal(t, language.Contributing, find(t, r, "leak").Role)
	require.Equal(t, "slow-disk holds; "+notReadyNotShown, r.Headline)
}

// TestRuntimeCalledDown: a kubelet that calls its runtime down when the log ends has complained,
// unless it has only begun to run.
func TestRuntimeCalledDown(t *testing.T) {
	down := func(seconds float64) event.Event {
		return ev("kubelet.runtime-down", when(seconds), func(e *event.Event) { e.Text = "container runtime is down" })
	}
	headline := func(end float64, events ...event.Event) string {
		tl := line(events...)
		tl.Coverage = []timeline.Coverage{{Source: "kubelet.log", Start: at(0).T, End: at(end).T}}
		return evaluate(catalogOf(t, proven("slow-disk")), tl).Headline
	}
	require.Contains(t, headline(105, down(100), down(105)), "the kubelet says that the container runtime is down")
	require.Contains(t, headline(12, down(5), down(10)), routineOnly, "a kubelet's first moments")
	require.Contains(t, headline(300, down(100), down(105)), routineOnly, "it was over")
}

// TestRuntimeCalledDownWithoutTime: a line that says so without a time is a complaint, unless a
// kubelet begins to run.
func TestRuntimeCalledDownWithoutTime(t *testing.T) {
	down, never := ev("kubelet.runtime-down"), ev("kubelet.pleg-unhealthy", field("never", "true"))
	catalog := catalogOf(t, proven("slow-disk"))
	require.Equal(t, Stalled, evaluate(catalog, line(down)).Opening.State)
	require.NotEqual(t, Stalled, evaluate(catalog, line(down, never)).Opening.State)
	require.NotEqual(t, Stalled, evaluate(catalog, line(ev("kubelet.start"), down)).Opening.State)
}
