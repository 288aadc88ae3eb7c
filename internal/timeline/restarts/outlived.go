package restarts

import (
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// giveAwayCrashes takes crashes from daemons that go on to write: shims, runc and plugins write
// into the log of the daemon that starts them, under its name and its process id, and it is one of
// them that has ended. A start between is another process, though it may have the same id, as in a
// container. The events are in the order of time.
func giveAwayCrashes(events []*event.Event) {
	type writer struct {
		component string
		pid       int
	}
	wrote := map[writer]time.Time{} // last, behind those that were looked at
	for _, e := range slices.Backward(events) {
		own, ok := strings.CutSuffix(e.Source, ".log")
		if !ok || own != e.Component || e.IDs.PID == 0 || !e.Start.Known {
			continue
		}
		by := writer{e.Component, e.IDs.PID}
		switch {
		case e.Kind == event.KindDaemonBoot, e.Kind == event.KindKubeletStart:
			delete(wrote, by)
			continue
		case e.Kind != event.KindCrash:
			if wrote[by].IsZero() {
				wrote[by] = e.Start.T
			}
			continue
		}
		if wrote[by].After(e.Start.T.Add(e.Start.Prec + outlives)) {
			e.Text = strings.Replace(e.Text, e.Component+" crashes", "a process that writes into the log of "+e.Component+" crashes", 1)
			e.Component = "process"
		}
	}
}

// outlives is how long after its last words a daemon can still be seen to write: several threads of
// it write at once.
const outlives = 50 * time.Millisecond
