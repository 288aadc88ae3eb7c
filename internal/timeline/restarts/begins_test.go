package restarts

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// An API server that begins with its node finds no etcd for some seconds; one that goes on to miss
// it, or whose node is not Ready afterwards, is trouble.
func TestMarkRestartingMarksWhatMeetsABeginning(t *testing.T) {
	for _, c := range []struct {
		ready  time.Duration // 0 for never
		gone   []time.Duration
		marked bool
	}{
		{20 * time.Second, []time.Duration{1 * time.Second, 9 * time.Second}, true},
		{time.Hour, []time.Duration{1 * time.Second}, true},
		{0, []time.Duration{1 * time.Second}, false},
		{20 * time.Second, []time.Duration{1 * time.Second, 90 * time.Second}, false},
		{time.Hour, []time.Duration{1 * time.Second, 90 * time.Second, 170 * time.Second}, false},
		{4 * time.Hour, []time.Duration{1 * time.Second, time.Hour, 2 * time.Hour}, false},
	} {
		var events []*event.Event
		for _, at := range c.gone {
			e := unitEvent(event.KindEtcdTrouble, at)
			e.Fields = []event.Field{event.FieldWhat.Text("gone")}
			events = append(events, e)
		}
		first := events[0]
		if c.ready > 0 {
			events = append(events, unitEvent(event.KindNodeReady, c.ready))
		}
		slices.SortFunc(events, func(a, b *event.Event) int { return a.Start.T.Compare(b.Start.T) })
		MarkRestarting(events, nil, noEnd)
		require.Equal(t, c.marked, first.FieldText(event.FieldRestarting) == "true", c)
	}
}

// A kubelet that begins finds nobody at the API server's port, and no network; where its node is
// not Ready soon after, that is trouble.
func TestMarkRestartingMarksANodeThatBegins(t *testing.T) {
	for _, c := range []struct {
		failed, ready time.Duration
		marked        bool
	}{{2 * time.Second, time.Minute, true}, {2 * time.Second, 10 * time.Minute, false}, {2 * time.Minute, time.Minute, false}, {-time.Second, time.Minute, true}, {-time.Minute, time.Minute, false}} {
		for _, kind := range []event.Kind{event.KindAPIFailed, event.KindCertificate, event.KindNetworkNotReady} {
			e := unitEvent(kind, c.failed)
			e.Fields = []event.Field{event.FieldReason.Text("refused")}
			MarkRestarting([]*event.Event{unitEvent(event.KindKubeletStart, 0), e, unitEvent(event.KindNodeReady, c.ready)}, nil, noEnd)
			require.Equal(t, c.marked, e.FieldText(event.FieldRestarting) == "true", "%s %v", kind, c)
		}
	}
}

// Sandboxes get no network before the plugin's pod has begun; where they go on to fail, where the
// log ends with them, and long after the kubelet's start, that is trouble.
func TestMarkRestartingMarksANetworkThatBegins(t *testing.T) {
	for _, c := range []struct {
		failed, end time.Duration
		again       time.Duration // 0 for never
		marked      bool
	}{
		{time.Minute, 10 * time.Minute, 0, true},
		{time.Minute, time.Hour, 30 * time.Minute, true},
		{time.Minute, 10 * time.Minute, 70 * time.Second, true},
		{time.Minute, 2 * time.Minute, 0, false},
		{10 * time.Minute, time.Hour, 0, false},
		{4 * time.Minute, time.Hour, 6 * time.Minute, false},
	} {
		failure := func(at time.Duration) *event.Event {
			e := unitEvent(event.KindCRIError, at)
			e.Fields = []event.Field{event.FieldMethod.Text("RunPodSandbox"), event.FieldReason.Text("cni-no-file")}
			return e
		}
		start, first := unitEvent(event.KindKubeletStart, 0), failure(c.failed)
		events := []*event.Event{start, first}
		if c.again > 0 {
			events = append(events, failure(c.again))
		}
		MarkRestarting(events, nil, func(string) time.Time { return start.Start.T.Add(c.end) })
		require.Equal(t, c.marked, first.FieldText(event.FieldRestarting) == "true", c)
	}
}
