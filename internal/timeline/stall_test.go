package timeline

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/event"
)

// complaintAt is the line "PLEG is not healthy: pleg was last seen active <age> ago".
func complaintAt(line int, at time.Time, age time.Duration, change ...func(*event.Event)) event.Event {
	change = append([]func(*event.Event){
		kind("kubelet.pleg-unhealthy"), with("age", event.Duration(age)), says("PLEG was last seen active " + age.String() + " ago"),
	}, change...)
	return ev("kubelet.log", line, event.At(at), change...)
}

// complaints are the lines of a sync loop that finds relist stuck since start, from three minutes
// after it to end: after 100 ms, 200 ms and so on up to 5 s. They are stamped to prec.
func complaints(line int, start, end time.Time, prec time.Duration) []event.Event {
	var all []event.Event
	now, pause := start.Add(relistThreshold+time.Millisecond), 100*time.Millisecond
	for !now.After(end) {
		e := complaintAt(line+len(all), now, now.Sub(start))
		if prec > 0 {
			e.Start.T, e.Start.Prec = now.Truncate(prec), prec
		}
		all = append(all, e)
		now, pause = now.Add(pause), min(2*pause, complaintPause)
	}
	return all
}

// stallsOf builds a timeline of a whole log of a kubelet that ends at end.
func stallsOf(end time.Time, events ...event.Event) []Stall {
	return stallsOfLines(denseLines, end, events...)
}

// stallsOfLines builds a timeline of so many lines of a day of a kubelet's log, the last at end.
func stallsOfLines(lines int, end time.Time, events ...event.Event) []Stall {
	return Build(Input{
		Events:  pointersTo(events...),
		Sources: []*Source{{File: "kubelet.log", Name: "kubelet.log", First: event.At(end.Add(-24 * time.Hour)), Last: event.At(end), Lines: lines}},
	}, Options{}).Stalls
}

// Of chosen lines, one that says nothing of PLEG does not mean that the stall before it was over.
func TestStallsOfChosenLines(t *testing.T) {
	one := complaintAt(1, minutes(5), 5*time.Minute)
	again := complaintAt(2, minutes(5.08), 5*time.Minute+5*time.Second)
	next := complaintAt(3, minutes(20), 4*time.Minute)
	end := minutes(21)
	require.False(t, stallsOf(end, one)[0].Open, "a whole log, without a complaint for 16 minutes")
	require.True(t, stallsOfLines(3, end, one)[0].Open)
	require.False(t, stallsOfLines(3, end, one, again)[0].Open, "it complained every 5 seconds")
	two := stallsOfLines(3, end, one, next)
	require.False(t, two[0].Open, "another relist began")
	require.True(t, two[1].Open)
	require.False(t, stallsOfLines(3, end, one, node("kubelet.node-ready", minutes(5.2)))[0].Open)
}

var noon = utc("2025-11-08T12:00:00Z")

func minutes(n float64) time.Time { return noon.Add(time.Duration(n * float64(time.Minute))) }

func node(k event.Kind, t time.Time) event.Event {
	return ev("kubelet.log", 5000, event.At(t), kind(k))
}

func failure(t time.Time, change ...func(*event.Event)) event.Event {
	return ev("kubelet.log", 6000, event.At(t), append([]func(*event.Event){kind("kubelet.cri-error"), with("deadline", event.Bool(true))}, change...)...)
}

// listWait is a ListContainers that waits for a lock from one moment to that of a dump.
func listWait(from, to time.Time) event.Event {
	e := ev("containerd.stacks", 100, event.At(from), kind("lock.wait"), with("call", event.String("ListContainers")))
	e.End, e.Open = event.At(to), true
	return e
}

func TestStalls(t *testing.T) {
	never := func(from, to time.Time) []event.Event {
		var all []event.Event
		for now := from; !now.After(to); now = now.Add(complaintPause) {
			all = append(all, ev("kubelet.log", len(all)+1, event.At(now), kind("kubelet.pleg-unhealthy"), with("never", event.Bool(true))))
		}
		return all
	}
	evented := with("threshold", event.Duration(10*time.Minute))
	type row struct {
		start, end float64 // minutes after noon; the end to within a complaint
		open       bool
		phase      Phase
	}
	for _, tc := range []struct {
		name   string
		logEnd time.Time
		events []event.Event
		want   []row
	}{
		{name: "one relist sticks and ends", logEnd: minutes(60), events: complaints(1, noon, minutes(4), 0), want: []row{{0, 4, false, PhaseUnknown}}},
		{
			name: "a dump of the runtime shows lists that wait for a lock", logEnd: minutes(60),
			events: append(complaints(1, noon, minutes(4), 0), listWait(minutes(1), minutes(3.5))), want: []row{{0, 4, false, PhaseList}},
		},
		{
			name: "lists waited, but not during the stall", logEnd: minutes(60),
			events: append(complaints(1, noon, minutes(4), 0), listWait(minutes(-5), minutes(-1))), want: []row{{0, 4, false, PhaseUnknown}},
		},
		{
			name: "a list waits at the moment of a dump", logEnd: minutes(60),
			events: append(complaints(1, noon, minutes(4), 0), listWait(minutes(3.5), minutes(3.5))), want: []row{{0, 4, false, PhaseUnknown}},
		},
		{name: "stamps to the second", logEnd: minutes(60), events: complaints(1, noon, minutes(4), time.Second), want: []row{{0, 4, false, PhaseUnknown}}},
		{name: "the log ends within it", logEnd: minutes(4).Add(3 * time.Second), events: complaints(1, noon, minutes(4), 0), want: []row{{0, 4, true, PhaseUnknown}}},
		{
			name: "the log ends within it, but says Ready", logEnd: minutes(4).Add(3 * time.Second),
			events: append(complaints(1, noon, minutes(4), 0), node("kubelet.node-ready", minutes(4).Add(2*time.Second))), want: []row{{0, 4, false, PhaseUnknown}},
		},
		{
			name: "saw-tooth: one pod hangs twice two minutes, again and again", logEnd: minutes(60),
			events: append(append(append(complaints(1, noon, minutes(4), 0), complaints(101, minutes(4.02), minutes(8.02), 0)...), complaints(201, minutes(8.04), minutes(12.04), 0)...),
				failure(minutes(2), text("method", "PodSandboxStatus")), failure(minutes(6), text("method", "PodSandboxStatus")), failure(minutes(10), text("method", "ContainerStatus"))),
			want: []row{{0, 4, false, PhasePod}, {4.02, 8.02, false, PhasePod}, {8.04, 12.04, false, PhasePod}},
		},
		{
			name: "the lists time out again and again: it grows although each call ends", logEnd: minutes(60),
			events: append(complaints(1, noon, minutes(12), 0), failure(minutes(2), kind("kubelet.relist-failed")), failure(minutes(4), kind("kubelet.relist-failed")),
				failure(minutes(4.1), text("method", "ContainerStatus"))),
			want: []row{{0, 12, false, PhaseList}},
		},
		{
			name: "an error that is no deadline, or of another time, tells no phase", logEnd: minutes(60),
			events: append(complaints(1, noon, minutes(4), 0), failure(minutes(20), text("method", "ListContainers")), failure(minutes(-1), text("method", "ListContainers")),
				ev("kubelet.log", 7000, event.At(minutes(2)), kind("kubelet.cri-error"), text("method", "ListContainers"), with("deadline", event.Bool(false)))),
			want: []row{{0, 4, false, PhaseUnknown}},
		},
		{
			name: "a stack of the kubelet beats its messages", logEnd: minutes(60),
			events: append(complaints(1, noon, minutes(4), 0), failure(minutes(2), text("method", "ListContainers")),
				ev("kubelet.stacks", 1, event.At(minutes(3.5)), kind("kubelet.relist"), text("phase", "pod"), took(2*time.Minute))),
			want: []row{{0, 4, false, PhasePod}},
		},
		{
			name: "a dump of another time does not", logEnd: minutes(60),
			events: append(complaints(1, noon, minutes(4), 0), ev("kubelet.stacks", 1, event.At(minutes(30)), kind("kubelet.relist"), text("phase", "pod"), took(2*time.Minute))),
			want:   []row{{0, 4, false, PhaseUnknown}},
		},
		{
			name: "Evented PLEG", logEnd: minutes(60),
			events: []event.Event{complaintAt(1, minutes(10), 10*time.Minute, evented), complaintAt(2, minutes(11), 11*time.Minute, evented)},
			want:   []row{{0, 11, false, PhaseUnknown}},
		},
		{name: "an age below its own threshold is no stall", logEnd: minutes(60), events: []event.Event{complaintAt(1, minutes(4), 4*time.Minute, evented)}},
		{name: "a cut log: the first complaint is old", logEnd: minutes(60), events: []event.Event{complaintAt(1, minutes(50), 50*time.Minute)}, want: []row{{0, 50, false, PhaseUnknown}}},
		{name: "the first relist of a kubelet takes its time", logEnd: minutes(60), events: never(noon, minutes(0.5))},
		{
			name: "two kubelets, an hour apart, that take their time", logEnd: minutes(120),
			events: append(never(noon, minutes(2)), never(minutes(60), minutes(62))...),
		},
		{
			name: "kubelets that are restarted every two minutes", logEnd: minutes(60),
			events: append(append(never(noon, minutes(2)), node("kubelet.start", minutes(2.05))), never(minutes(2.1), minutes(4))...),
		},
		{
			name: "saw-tooth without a word on what times out", logEnd: minutes(60),
			events: append(append(complaints(1, noon, minutes(4), 0), complaints(101, minutes(4.02), minutes(8.02), 0)...), complaints(201, minutes(30), minutes(34), 0)...),
			want:   []row{{0, 4, false, PhasePod}, {4.02, 8.02, false, PhasePod}, {30, 34, false, PhaseUnknown}},
		},
		{
			name: "a restart of the kubelet helps for three minutes", logEnd: minutes(60),
			events: append(append(complaints(1, noon, minutes(10), 0), node("kubelet.start", minutes(10.2))), complaints(101, minutes(10.3), minutes(20), 0)...),
			want:   []row{{0, 10, false, PhaseUnknown}, {10.3, 20, false, PhasePod}},
		},
		{
			name: "a stall an hour after a restart is another one", logEnd: minutes(120),
			events: append(append(complaints(1, noon, minutes(10), 0), node("kubelet.start", minutes(10.2))), complaints(101, minutes(70), minutes(80), 0)...),
			want:   []row{{0, 10, false, PhaseUnknown}, {70, 80, false, PhaseUnknown}},
		},
		{name: "the first relist never ends", logEnd: minutes(20), events: never(noon, minutes(20)), want: []row{{0, 20, true, PhaseList}}},
		{name: "complaints without a time", logEnd: minutes(20), events: []event.Event{complaintAt(1, noon, 4*time.Minute, func(e *event.Event) { e.Start = event.Time{} })}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := stallsOf(tc.logEnd, tc.events...)
			require.Len(t, got, len(tc.want))
			for i, want := range tc.want {
				require.WithinDuration(t, minutes(want.start), got[i].Start, time.Second)
				require.WithinDuration(t, minutes(want.end), got[i].End, complaintPause)
				require.Equal(t, want.open, got[i].Open, "open")
				require.Equal(t, want.phase, got[i].Phase)
				require.Equal(t, want.phase == PhaseUnknown, got[i].PhaseBasis == "", got[i].PhaseBasis)
				require.NotEmpty(t, got[i].Evidence)
			}
		})
	}
}

func TestStallOfNode(t *testing.T) {
	got := stallsOf(minutes(60), append(complaints(1, noon, minutes(5), 0),
		node("kubelet.node-not-ready", minutes(-10)), node("kubelet.node-not-ready", minutes(3.1)), node("kubelet.node-not-ready", minutes(3.2)),
		node("kubelet.node-ready", minutes(1)), node("kubelet.node-ready", minutes(5.1)), node("kubelet.node-ready", minutes(30)))...)
	require.Len(t, got, 1)
	require.Equal(t, minutes(3.1), got[0].NotReady)
	require.Equal(t, minutes(5.1), got[0].Ready)
	require.Len(t, got[0].NotReadyEvidence, 1)
	require.Len(t, got[0].ReadyEvidence, 1)
	require.Equal(t, relistThreshold, got[0].Threshold)
	require.Equal(t, "kubelet.log:1", got[0].Evidence[0].Text, "the first complaint, by which the start can be checked")
	require.Len(t, got[0].Evidence, 2, "and the last one")

	got = stallsOf(minutes(60), append(complaints(1, noon, minutes(5), 0), node("kubelet.node-not-ready", minutes(20)))...)
	require.Zero(t, got[0].NotReady, "another time, another cause")
}

func TestSeriesOfStalls(t *testing.T) {
	got := stallsOf(minutes(60), append(append(append(complaints(1, noon, minutes(4), 0), complaints(101, minutes(4.02), minutes(8.02), 0)...),
		node("kubelet.start", minutes(8.2))), complaints(201, minutes(8.4), minutes(15), 0)...)...)
	require.Len(t, got, 3)
	require.Equal(t, []int{1, 2, 0}, []int{got[0].Tooth, got[1].Tooth, got[2].Tooth})
	require.Zero(t, got[1].Restarted)
	require.Equal(t, minutes(8.2), got[2].Restarted)
}

// Any train of stalls, each longer than three minutes, is found again: as many, where they began,
// and no more than the last one open.
func TestStallsAreFoundAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prec := rapid.SampledFrom([]time.Duration{0, time.Microsecond, time.Second}).Draw(t, "precision")
		start := noon
		var events []event.Event
		var starts []time.Time
		end := noon
		for range rapid.IntRange(1, 5).Draw(t, "stalls") {
			end = start.Add(relistThreshold + time.Duration(rapid.IntRange(1, 900).Draw(t, "seconds over"))*time.Second)
			starts = append(starts, start)
			events = append(events, complaints(len(events)+1, start, end, prec)...)
			start = end.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "seconds of health")) * time.Second)
		}
		open := rapid.Bool().Draw(t, "log ends within")
		logEnd := end
		if !open {
			logEnd = end.Add(20 * time.Second)
		}
		got := stallsOf(logEnd, events...)
		require.Len(t, got, len(starts))
		for i := range got {
			require.WithinDuration(t, starts[i], got[i].Start, time.Second)
			require.Equal(t, open && i == len(got)-1, got[i].Open)
			require.Greater(t, got[i].End.Sub(got[i].Start), relistThreshold-time.Second)
		}
	})
}

// Relist that two dumps of one stall show at different pods moves; another address in another
// stall, or without a time, tells nothing.
func TestMovingRelist(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(minutes float64) event.Time {
		return event.At(noon.Add(time.Duration(minutes * float64(time.Minute))))
	}
	relist := func(file, ptr string, when event.Time) event.Event {
		return ev(file, 1, when, kind("kubelet.relist"), text("phase", "pod"), text("pod_ptr", ptr))
	}
	moved := func(events ...event.Event) (all []string) {
		events = append(events, complaints(1, noon, noon.Add(5*time.Minute), 0)...)
		events = append(events, complaints(100, noon.Add(20*time.Minute), noon.Add(25*time.Minute), 0)...)
		tl := Build(Input{Events: pointersTo(events...)}, Options{})
		for i := range tl.Events {
			if v, _ := tl.Events[i].Get("moved"); v.Text() == "true" {
				all = append(all, tl.Events[i].Pos().File)
			}
		}
		return all
	}
	require.Equal(t, []string{"a", "b"}, moved(relist("a", "0xc1", at(3.5)), relist("b", "0xc2", at(4))))
	require.Empty(t, moved(relist("a", "0xc1", at(3.5)), relist("b", "0xc1", at(4))))
	require.Empty(t, moved(relist("a", "0xc1", at(3.5)), relist("b", "0xc2", at(24))))
	require.Empty(t, moved(relist("a", "0xc1", event.Time{}), relist("b", "0xc2", event.Time{})))
}

// Rules tie their steps to a stall by an event of its own.
func TestStallIsAnEvent(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tl := Build(Input{Events: pointersTo(complaints(1, noon, noon.Add(5*time.Minute), 0)...)}, Options{})
	require.Len(t, tl.Stalls, 1)
	i := slices.IndexFunc(tl.Events, func(e *event.Event) bool { return e.Kind == "kubelet.stall" })
	require.GreaterOrEqual(t, i, 0)
	e := tl.Events[i]
	require.Equal(t, tl.Stalls[0].Start, e.Start.T)
	require.Equal(t, tl.Stalls[0].End, e.End.T)
	require.Equal(t, tl.Stalls[0].Evidence, e.Evidence)
	threshold, _ := e.Get("threshold")
	require.Equal(t, "3m0s", threshold.Text())
	require.True(t, slices.IsSortedFunc(tl.Events, event.Compare))
}

// TestToothByVersion: up to 1.31 one pod was inspected twice in a relist, later two pods make the
// same four minutes.
func TestToothByVersion(t *testing.T) {
	for version, want := range map[string]string{
		"":        "two time-outs of one pod, or with kubelet 1.32 or later of two pods,",
		"1.31.14": "two time-outs of one pod,", "1.9.3": "two time-outs of one pod,",
		"1.32.0": "two time-outs of two pods,", "1.37.1": "two time-outs of two pods,",
	} {
		events := append(complaints(1, noon, minutes(4), 0), complaints(101, minutes(4.02), minutes(8.02), 0)...)
		if version != "" {
			events = append(events, ev("kubelet.log", 1, event.At(noon), kind("fact"), text("name", "kubelet.version"), text("value", version)))
		}
		stalls := stallsOf(minutes(60), events...)
		require.Len(t, stalls, 2)
		require.Equal(t, 2, stalls[1].Tooth)
		require.Contains(t, stalls[1].PhaseBasis, want, version)
	}
}

// The node's condition repeats the complaint, and starts a stall where no other line does.
func TestStallOfACondition(t *testing.T) {
	condition := func(line int, at time.Time, fields ...func(*event.Event)) event.Event {
		return ev("kubelet.log", line, event.At(at), append([]func(*event.Event){
			kind("kubelet.node-not-ready"), with("pleg", event.Bool(true)), with("threshold", event.Duration(relistThreshold)),
		}, fields...)...)
	}
	aged := stallsOf(minutes(60), condition(1, minutes(3.2), with("age", event.Duration(192*time.Second))))
	require.Len(t, aged, 1)
	require.Equal(t, []time.Time{noon, minutes(3.2)}, []time.Time{aged[0].Start, aged[0].NotReady})
	// of the API, without the heartbeat that the age counts from
	bare := stallsOf(minutes(60), condition(1, minutes(3)))
	require.Len(t, bare, 1)
	require.Equal(t, noon, bare[0].Start)
	// one among complaints is no stall of its own
	require.Len(t, stallsOf(minutes(60), append(complaints(10, noon, minutes(4), 0), condition(1, minutes(3.1), with("age", event.Duration(186*time.Second))))...), 1)
	// another reason than PLEG starts none
	require.Empty(t, stallsOf(minutes(60), node("kubelet.node-not-ready", minutes(3))))
}

// The kubelet that finds its runtime down stalls, but not while both start.
func TestStallOfADeadRuntime(t *testing.T) {
	down := func(at time.Time) event.Event { return node("kubelet.runtime-down", at) }
	all := stallsOf(minutes(60), down(minutes(10)), down(minutes(10.5)), down(minutes(20)))
	require.Len(t, all, 2)
	require.Equal(t, []time.Time{minutes(9.5), minutes(10.5)}, []time.Time{all[0].Start, all[0].End})
	require.True(t, all[0].RuntimeDown)
	require.Empty(t, stallsOf(minutes(60), node("kubelet.start", minutes(6)), down(minutes(10))))
	require.Len(t, stallsOf(minutes(60), node("kubelet.start", minutes(4)), down(minutes(10))), 1)
	// PLEG complains of the same outage
	merged := stallsOf(minutes(60), append(complaints(1, noon, minutes(4), 0), down(minutes(1)), down(minutes(2)))...)
	require.Len(t, merged, 1)
	require.False(t, merged[0].RuntimeDown)
}
