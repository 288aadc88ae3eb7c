package restarts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// A daemon that goes on to write has not crashed: one that writes into its log has.
func TestGiveAwayCrashes(t *testing.T) {
	says := func(kind event.Kind, pid int, after, precision time.Duration) *event.Event {
		e := unitEvent(kind, after)
		e.Component, e.Source, e.IDs.PID, e.Start.Prec = "containerd", "containerd.log", pid, precision
		return e
	}
	for name, c := range map[string]struct {
		pid   int
		after time.Duration
		of    string
	}{
		"goes on":           {7, 2 * time.Second, "process"},
		"in its last words": {7, 900 * time.Millisecond, "containerd"},
		"the next process":  {8, 2 * time.Second, "containerd"},
	} {
		t.Run(name, func(t *testing.T) {
			crash := says(event.KindCrash, 7, 0, time.Second)
			giveAwayCrashes([]*event.Event{crash, says(event.KindCRICall, c.pid, c.after, 0)})
			require.Equal(t, c.of, crash.Component)
		})
	}
	crash := says(event.KindCrash, 1, 0, time.Second) // in a container the next one has the same id
	giveAwayCrashes([]*event.Event{crash, says(event.KindDaemonBoot, 1, 2*time.Second, 0), says(event.KindCRICall, 1, 3*time.Second, 0)})
	require.Equal(t, "containerd", crash.Component)
}
