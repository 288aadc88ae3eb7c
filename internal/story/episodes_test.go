package story

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// seesHeld is a rule whose cause a look at the threads, a line or a dump shows.
const seesHeld = `
id: sees-held
title: t
role: root
headline: h
needs: [{any: [containerd.log], collect: c}]
steps:
  - id: cause
    role: cause
    all: true
    text: x
    any: [{kind: thread.sample}, {kind: dbus.limit}, {kind: systemd.unit-given-up}, {kind: goroutine.wait}]
verdict: {likely: cause}
`

// episodeOf is the only episode of a timeline without a stall, and the steps of its root.
func episodeOf(t *testing.T, tl *timeline.Timeline) (Episode, []string) {
	t.Helper()
	tl.Stalls = nil
	result := evaluate(catalogOf(t, seesHeld), tl)
	require.Len(t, result.Episodes, 1)
	return result.Episodes[0], stepIDs(find(t, result, "sees-held").Chain)
}

// TestEpisodesOfOneCause holds that each episode of a node that flaps names its cause, also where
// there are more of them than one rule has findings.
// TestFindEnd: a cause is over where it was seen to end, and nothing of its kind goes on or comes
// again soon.
func TestFindEnd(t *testing.T) {
	silent := ev("kernel.file-server-silent", from(0, 360))
	for name, c := range map[string]struct {
		other event.Event
		over  bool
	}{
		"alone":      {ev("fact"), true},
		"again":      {ev("kernel.file-server-silent", from(370, 400)), false},
		"much later": {ev("kernel.file-server-silent", from(9000, 9010)), true},
		"goes on":    {ev("kernel.file-server-silent", from(5, 600), open), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{timeline: line(silent, c.other)}
			p := &part{}
			p.Chain, p.End = []rules.Step{{Role: "cause", Events: s.timeline.Events[:1]}}, silent.End.T
			for _, e := range s.timeline.Events {
				if e.Kind == silent.Kind && e.Start.T.Equal(silent.Start.T) {
					p.Chain[0].Events = []*event.Event{e}
				}
			}
			require.Equal(t, c.over, !s.findEnd(p).IsZero())
		})
	}
}

func TestEpisodesOfOneCause(t *testing.T) {
	const rule = `
id: update
title: t
role: root
headline: "an update of {cid|id}"
needs: [{any: [containerd.log], collect: c}]
steps:
  - {id: update, role: cause, text: u, kind: cri.call, match: {method: UpdateContainerResources}, bind: {container: cid}}
verdict: {likely: update}
per: cid
`
	const n = 40
	var events []event.Event
	var stalls []timeline.Stall
	for i := range n {
		begins := float64(i) * 3600
		events = append(events, updateOf(fmt.Sprintf("%08x%056x", uint32(i+1)*2654435761, 1), begins, begins+200))
		stalls = append(stalls, timeline.Stall{Window: timeline.Window{Start: at(begins + 10).T, End: at(begins + 210).T}, Phase: timeline.PhaseList})
	}
	tl := line(events...)
	tl.Stalls = stalls
	result := evaluate(catalogOf(t, rule), tl)
	require.Len(t, result.Findings, 16)
	require.Len(t, result.Episodes, n)
	for i, e := range result.Episodes {
		require.Equal(t, "update", e.Cause)
		require.Contains(t, e.Summary, fmt.Sprintf("%08x", uint32(i+1)*2654435761))
	}
}

// TestStallsUntilTheEnd: several stalls are over only where the kubelet's log goes on for longer
// than it took from one of them to the next, and until that one was told.
func TestStallsUntilTheEnd(t *testing.T) {
	for until, open := range map[time.Duration]bool{20 * time.Second: true, 3 * time.Minute: true, 4 * time.Minute: false} {
		tl := line()
		for i := range 3 {
			s := stall()
			s.Start, s.End = s.Start.Add(time.Duration(i)*222*time.Second), s.End.Add(time.Duration(i)*222*time.Second) // 30 s of pause
			tl.Stalls = append(tl.Stalls, s)
		}
		for i := range tl.Coverage {
			tl.Coverage[i].End = tl.Stalls[2].End.Add(until)
		}
		r := evaluate(synthetic(t), tl)
		require.Len(t, r.Episodes, 1)
		require.Equal(t, open, r.Episodes[0].Open, until)

		boot := timeline.Coverage{Source: "kubelet.log", File: "kubelet.log"} // of a line without a date
		rotated := timeline.Coverage{Source: "kubelet.log", File: "kubelet.log.1", Start: at(0).T, End: tl.Stalls[2].End.Add(time.Hour)}
		tl.Coverage = append(tl.Coverage, boot, rotated)
		require.False(t, evaluate(synthetic(t), tl).Episodes[0].Open, "its log goes on in another file")
	}
}

// TestReasonAtTheEnd: the headline is about what keeps the node NotReady at the end, and not about
// the surer cause of a stall that is over.
func TestReasonAtTheEnd(t *testing.T) {
	const rule = `
id: expired
title: t
role: notready
headline: "the certificate is expired"
needs: [{any: [kubelet.log], collect: c}]
steps:
  - {id: refused, role: cause, text: r, all: true, kind: kubelet.api-failed}
verdict: {likely: refused}
`
	refused := func(seconds float64) event.Event {
		return ev(event.KindAPIFailed, when(seconds), func(e *event.Event) { e.Source = "kubelet.log" })
	}
	for until, want := range map[float64]string{1000: "expired", 5000: "cause"} {
		tl := line(refused(900), refused(950), refused(990), ev("syscall", from(1, 190), field("name", "umount2")))
		tl.Stalls = []timeline.Stall{stall()}
		for i := range tl.Coverage {
			tl.Coverage[i].File, tl.Coverage[i].End = "log", at(until).T
		}
		r := evaluate(catalogOf(t, rule, `
id: cause
title: t
role: root
headline: "umount2"
needs: [{any: [strace], collect: c}]
steps:
  - {id: cause, role: cause, text: u, kind: syscall}
verdict: {confirmed: cause}
`), tl)
		require.Equal(t, want, r.Findings[r.Opening.Finding-1].Rule, until)
	}
}

// TestEndOfCause: a cause is over only where what tells of it goes on without it.
func TestEndOfCause(t *testing.T) {
	limit := func(seconds float64) event.Event {
		e := ev(event.KindBusLimit, when(seconds))
		e.Source, e.Evidence = "dbus.log", []event.Quote{{Pos: event.Pos{File: "bus"}}}
		return e
	}
	waits, ended := ev(event.KindGoroutine, from(20, 140), open), ev(event.KindGoroutine, from(20, 140))
	waits.Start.Prec, ended.Start.Prec = 100*time.Second, 100*time.Second
	down := ev(event.KindUnitGivenUp, when(5), field(event.FieldDaemon, "kubelet"))
	stopped := []event.Event{ev(event.KindThreadSample, from(20, 40), open)}
	for i := range manyTimes {
		stopped = append(stopped, limit(float64(10*i)))
	}
	for name, c := range map[string]struct {
		events []event.Event
		until  float64 // the end of the log
		open   bool
		pasted bool // no line of the log says who wrote it
	}{
		"the log ends with it":            {[]event.Event{limit(0), limit(10), limit(20)}, 30, true, false},
		"a paste ends with it":            {[]event.Event{limit(0), limit(10), limit(20)}, 30, true, true},
		"a paste goes on":                 {[]event.Event{limit(0), limit(10), limit(20)}, 60, false, true},
		"the log goes on":                 {[]event.Event{limit(0), limit(10), limit(20)}, 60, false, false},
		"it comes seldom":                 {[]event.Event{limit(0), limit(100), limit(200)}, 390, true, false},
		"a wait of minutes in a dump":     {[]event.Event{waits}, 500, true, false},
		"a wait of minutes that ended":    {[]event.Event{ended}, 500, false, false},
		"it was open, and the log ends":   {stopped, 500, true, false},
		"it was open, and came no more":   {stopped, 1100, false, false},
		"it was open, and came seldom":    {stopped[:manyTimes-2], 1100, true, false},
		"a unit that is given up":         {[]event.Event{limit(0), down}, 500, true, false},
		"a unit that was started by hand": {[]event.Event{limit(0), down, ev(event.KindKubeletStart, when(90), func(e *event.Event) { e.Component = "kubelet" })}, 500, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			tl := line(c.events...)
			log := timeline.Coverage{Source: "dbus.log", File: "bus", Start: at(0).T, End: at(c.until).T}
			if c.pasted {
				tl.Coverage = append(tl.Coverage, timeline.Coverage{Source: log.Source, File: log.File})
				log.Source = ""
			}
			tl.Coverage = append(tl.Coverage, log)
			got, _ := episodeOf(t, tl)
			require.Equal(t, c.open, got.Open)
		})
	}
}

// TestMachineWentDown: that the machine went down with a cause or after it is said beside the
// cause; an earlier end of the machine is another matter.
func TestMachineWentDown(t *testing.T) {
	const panics = `
id: notready-rebooted
title: t
role: notready
needs: [{any: [kernel.log], collect: "dmesg"}]
steps: [{id: panic, role: cause, text: "p", kind: kernel.panic}]
verdict: {likely: panic}
headline: "the kernel stopped the machine, {panic.start}; and more"
`
	for name, c := range map[string]struct {
		panic event.Event
		says  string
	}{
		"after it":          {ev(event.KindPanic, when(70)), "likely as well: the kernel stopped the machine"},
		"before it":         {ev(event.KindPanic, when(10)), notReadyNotShown},
		"nobody knows when": {ev(event.KindPanic), notReadyNotShown},
	} {
		t.Run(name, func(t *testing.T) {
			tl := line(ev(event.KindBusLimit, when(60)), c.panic)
			tl.Stalls = nil
			result := evaluate(catalogOf(t, seesHeld, panics), tl)
			require.Contains(t, result.Headline, c.says)
		})
	}
}

// TestStartOfCause: what a look met began no later than the call that has waited since then, and a
// wait that is printed in minutes lasts for sure only since the latest moment at which it can have
// begun.
func TestStartOfCause(t *testing.T) {
	seen := ev(event.KindThreadSample, from(60, 62), open)
	call := ev(event.KindCRICall, from(10, 65), open)
	minutes := ev(event.KindGoroutine, from(20, 140))
	minutes.Start.Prec = 100 * time.Second
	for name, c := range map[string]struct {
		events []event.Event
		start  float64
		steps  []string
	}{
		"a look alone":                 {[]event.Event{seen}, 60, []string{"cause"}},
		"a call that has not ended":    {[]event.Event{seen, call}, 10, []string{"cause", "open-call"}},
		"a call that has ended":        {[]event.Event{seen, ev(event.KindCRICall, from(10, 65))}, 60, []string{"cause"}},
		"a wait of minutes":            {[]event.Event{minutes}, 120, []string{"cause"}},
		"a line before it":             {[]event.Event{minutes, ev(event.KindBusLimit, when(70))}, 70, []string{"cause"}},
		"a call beside a line's cause": {[]event.Event{ev(event.KindBusLimit, when(70)), call}, 70, []string{"cause"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, steps := episodeOf(t, line(c.events...))
			require.Equal(t, at(c.start).T, got.Start)
			require.Equal(t, c.steps, steps)
		})
	}
}

// TestGoingOnComesFirst: what contributes to what goes on comes before a root that was over when it
// began.
func TestGoingOnComesFirst(t *testing.T) {
	full := `
id: full
title: t
role: contributing
headline: the disk is full
needs: [{any: [containerd.log], collect: c}]
steps: [{id: cause, role: cause, all: true, text: x, kind: daemon.no-space}]
verdict: {likely: cause}
`
	for name, c := range map[string]struct {
		begins float64
		want   string
	}{
		"after the root":  {300, "full"},
		"beside the root": {30, "sees-held"},
	} {
		t.Run(name, func(t *testing.T) {
			noSpace := ev("daemon.no-space", when(c.begins), open)
			tl := line(ev(event.KindGoroutine, from(20, 90)), noSpace)
			tl.Stalls = nil
			result := evaluate(catalogOf(t, seesHeld, full), tl)
			require.Equal(t, c.want, result.Findings[result.Opening.Finding-1].Rule)
			require.Equal(t, c.want, result.Episodes[result.Opening.Episode-1].Cause)
		})
	}
}

// TestWhatGoesOnHasTheHeadline holds that without a stall what contributes to the trouble at the
// end is said before the root of one that was over long before, and a proven cause without a time
// before a probable one that has not been seen for long.
func TestWhatGoesOnHasTheHeadline(t *testing.T) {
	catalog := catalogOf(t, `
id: stopped
title: t
role: root
headline: "a process is stopped"
needs: [{any: [processes], collect: c}]
steps:
  - {id: cause, role: cause, text: s, kind: syscall}
verdict: {likely: cause}
`, `
id: layers
title: t
role: contributing
headline: "layers are missing"
needs: [{any: [containerd.log], collect: c}]
steps:
  - {id: cause, role: cause, text: l, all: true, kind: runtime.layers-damaged}
verdict: {likely: cause}
`, `
id: locks
title: t
role: contributing
headline: "locks are taken in opposite order"
needs: [{any: [goroutines.containerd], collect: c}]
steps:
  - {id: cause, role: cause, text: l, kind: lock.cycle}
verdict: {confirmed: cause}
`)
	stopped := ev("syscall", from(1, 100), field("name", "futex"))
	subject := func(events ...event.Event) string {
		tl := line(append([]event.Event{stopped}, events...)...)
		tl.Coverage = []timeline.Coverage{{Source: "containerd.log", File: "log", Lines: 1000, Start: at(0).T, End: at(9000).T}}
		r := evaluate(catalog, tl)
		return r.Findings[r.Opening.Finding-1].Rule
	}
	damaged := func(seconds float64) event.Event {
		return ev("runtime.layers-damaged", when(seconds), func(e *event.Event) { e.Source = "containerd.log" })
	}
	require.Equal(t, "stopped", subject())
	require.Equal(t, "layers", subject(damaged(8870), damaged(8930), damaged(8990)))
	require.Equal(t, "stopped", subject(damaged(50)))
	require.Equal(t, "locks", subject(ev("lock.cycle"), ev("cri.call", when(8990), field("method", "ListContainers"))))
	require.Equal(t, "stopped", subject(ev("lock.cycle")))
}
