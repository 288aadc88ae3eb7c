package timeline

import (
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline/restarts"
	"github.com/plegdiag/plegdiag/internal/timeline/waits"
)

// joinDumps makes one event of a goroutine that several dumps of a process show in the same
// activity. Go prints no wait below a minute, and longer ones only after a garbage collection; two
// dumps show the wait anyway. A goroutine that went on and came back to the same lock or call in
// between looks the same, and counts as waiting.
func joinDumps(events, restarted []*event.Event) []*event.Event {
	last := map[goroutineActivity]*event.Event{}
	for _, e := range events {
		if d, ok := activityOf(e); ok && (last[d] == nil || e.End.T.After(last[d].End.T)) {
			last[d] = e
		}
	}
	if len(last) == 0 {
		return events
	}
	gone := map[*event.Event]bool{}
	for _, e := range events {
		d, ok := activityOf(e)
		if !ok {
			continue
		}
		to := last[d]
		between := to.End.T.Sub(e.End.T)
		if between < minBetween || between > maxBetween || restarts.IsBetween(restarted, e.Component, e.End.T, to.End.T) {
			continue
		}
		gone[e] = true
		longest, _ := to.FieldDuration(event.FieldAgain)
		to.SetField(event.FieldAgain.Duration(max(longest, between)))
		to.AddQuotes(e)
		waits.NarrowStart(to, e)
	}
	events = removeEvents(events, gone)
	slices.SortFunc(events, compareEvents)
	return events
}

const (
	// minBetween is the least time between two dumps; less are two copies of one dump.
	minBetween = 2 * time.Second
	// maxBetween: numbers of goroutines are unique in a process, but a daemon can have been
	// restarted without a line about it.
	maxBetween = 10 * time.Minute
)

// singleProcessDaemons are the daemons of which a node runs one process. Two dumps of shims can be
// of two shims.
var singleProcessDaemons = []string{"kubelet", "containerd", "dockerd", "crio"}

// goroutineActivity is what a goroutine does, and what distinguishes it from other goroutines.
type goroutineActivity struct {
	kind                                     event.Kind
	component, lock, call, what, rpc, object string
	goroutine                                uint64
}

func activityOf(e *event.Event) (d goroutineActivity, ok bool) {
	switch e.Kind {
	case event.KindLockHeld, event.KindLockWait, event.KindGoroutine:
	default:
		return d, false
	}
	if !slices.Contains(singleProcessDaemons, e.Component) || e.IDs.Goroutine == 0 || e.End.IsZero() {
		return d, false
	}
	return goroutineActivity{
		kind: e.Kind, component: e.Component, lock: e.IDs.Lock, call: e.FieldText(event.FieldCall),
		what: e.FieldText(event.FieldDoing), rpc: e.FieldText(event.FieldRPC),
		object: e.FieldText(event.FieldIDPtr), goroutine: e.IDs.Goroutine,
	}, true
}
