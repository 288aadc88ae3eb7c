package timeline

import (
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// joinDumps makes one event of what several dumps of a process show of one goroutine that is at the same. Go says nothing of the first minute of
// a wait, and of the later ones only in processes that collect garbage; two dumps say it anyway. Who went on and came back to the
// same lock or call in between is not told apart: that was no rest either.
func joinDumps(events, restarted []*event.Event) []*event.Event {
	last := map[goroutineActivity]*event.Event{}
	for _, e := range events {
		if d, ok := activityOf(e); ok && (last[d] == nil || e.End.T.After(last[d].End.T)) {
			last[d] = e
		}
	}
	gone := map[*event.Event]bool{}
	for _, e := range events {
		d, ok := activityOf(e)
		if !ok {
			continue
		}
		to := last[d]
		between := to.End.T.Sub(e.End.T)
		if between < minBetween || between > maxBetween || restartedBetween(restarted, e.Component, e.End.T, to.End.T) {
			continue
		}
		gone[e] = true
		longest := between
		if v, ok := to.Get("again"); ok {
			if n, isNumber := v.Number(); isNumber {
				longest = max(longest, time.Duration(n*float64(time.Second)))
			}
		}
		to.Fields = setField(to.Fields, event.Field{Key: "again", Value: event.Duration(longest)})
		to.Evidence = append(slices.Clip(to.Evidence), e.Evidence...)
		if e.Start.T.Before(to.Start.T) {
			to.Start = e.Start
		}
	}
	if len(gone) == 0 {
		return events
	}
	events = slices.DeleteFunc(events, func(e *event.Event) bool { return gone[e] })
	slices.SortFunc(events, compareEvents)
	return events
}

const (
	// minBetween keeps apart two dumps from two copies of one.
	minBetween = 2 * time.Second
	// maxBetween: ids of goroutines are unique in a process, but a daemon may have been started again, and nobody says so.
	maxBetween = 10 * time.Minute
)

// single are the programs of which a node runs one process; dumps of two shims cannot be told from two of one.
var singleProcessDaemons = []string{"kubelet", "containerd", "dockerd", "crio"}

// doing is what a goroutine is at.
type goroutineActivity struct {
	kind                                     event.Kind
	component, lock, call, what, rpc, object string
	goroutine                                uint64
}

func activityOf(e *event.Event) (d goroutineActivity, ok bool) {
	switch e.Kind {
	case "lock.held", "lock.wait", "goroutine.wait":
	default:
		return d, false
	}
	if !slices.Contains(singleProcessDaemons, e.Component) || e.IDs.Goroutine == 0 || e.End.IsZero() {
		return d, false
	}
	return goroutineActivity{
		kind: e.Kind, component: e.Component, lock: e.IDs.Lock, call: fieldText(e, "call"), what: fieldText(e, "doing"), rpc: fieldText(e, "rpc"),
		object: fieldText(e, "id_ptr"), goroutine: e.IDs.Goroutine,
	}, true
}
