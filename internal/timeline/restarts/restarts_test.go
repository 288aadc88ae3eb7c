package restarts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// unitEvent is what systemd says of containerd's unit, some seconds after noon.
func unitEvent(kind event.Kind, after time.Duration) *event.Event {
	at := event.At(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(after))
	return &event.Event{Kind: kind, Component: "systemd", Start: at, End: at, Fields: []event.Field{event.FieldDaemon.Text("containerd")}}
}

func TestFindTellsWhenAStoppedDaemonIsBack(t *testing.T) {
	restarted, stopped := unitEvent(event.KindUnitStop, 0), unitEvent(event.KindUnitStop, 10*time.Minute)
	all := Find([]*event.Event{restarted, unitEvent(event.KindUnitStart, 2*time.Second), stopped})
	require.Len(t, all, 1)
	require.True(t, IsBetween(all, "containerd", restarted.Start.T, stopped.Start.T))
	back, _ := restarted.Get(event.FieldBackAfter)
	require.Equal(t, event.Duration(2*time.Second), back)
	_, known := stopped.Get(event.FieldBackAfter)
	require.False(t, known)
	require.Len(t, MakeFacts(all), 1)
}

// TestFindKnowsWhoWasToldToEnd: a daemon that says itself that it was told to end needs no line of
// systemd; one that was killed has not ended by that.
func TestFindKnowsWhoWasToldToEnd(t *testing.T) {
	killed := unitEvent(event.KindUnitExit, time.Second)
	killed.AddFields(event.FieldHow.Text("killed 9/KILL"))
	told, starts := unitEvent(event.KindDaemonStop, 0), unitEvent(event.KindDaemonBoot, 2*time.Second)
	for _, c := range []struct {
		ends []*event.Event
		how  string
	}{{[]*event.Event{told}, "asked"}, {[]*event.Event{told, killed}, "killed"}, {[]*event.Event{told, unitEvent(event.KindUnitExit, time.Second)}, "asked"}} {
		all := Find(append(c.ends, starts))
		require.Len(t, all, 1)
		require.Equal(t, c.how, all[0].FieldText(event.FieldHow))
	}
}

// TestFindSeesADaemonThatWritesAgain: a line of a daemon behind the end of its unit is of its next
// process, whatever line about that start is missing; one of the same second is its last word.
func TestFindSeesADaemonThatWritesAgain(t *testing.T) {
	for after, want := range map[time.Duration]string{time.Second: "", time.Minute: "1m0s"} {
		ended, line := unitEvent(event.KindUnitExit, 0), unitEvent(event.KindSyncLoop, after)
		line.Component, line.Source = "containerd", "containerd.log"
		Find([]*event.Event{ended, line})
		require.Equal(t, want, ended.FieldText(event.FieldBackAfter))
	}
}

// TestFindKeepsTheOrderOfLinesWithinAStamp: an end in whole seconds that stands below a start of
// the same second is that of the process that has started.
func TestFindKeepsTheOrderOfLinesWithinAStamp(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines [2]int // of the start, of the end
		want  int
	}{
		{"below", [2]int{12, 34}, 0},
		{"above", [2]int{34, 12}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			started, ended := unitEvent(event.KindUnitStart, 559*time.Millisecond), unitEvent(event.KindUnitExit, 0)
			ended.Start.Prec = time.Second
			started.Evidence = []event.Quote{{Pos: event.Pos{File: "kubelet.log", Line: c.lines[0]}}}
			ended.Evidence = []event.Quote{{Pos: event.Pos{File: "kubelet.log", Line: c.lines[1]}}}
			require.Len(t, Find([]*event.Event{ended, started}), c.want)
		})
	}
}
