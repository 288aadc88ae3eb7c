package story

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// The kubelet's first moments (pkg/kubelet/kubelet.go, syncLoop): relist has listed the pods a
// second or so after the start.
const (
	firstMoments = 10 * time.Second
	// asksAgain is the longest pause between two complaints, 5 s, and one more.
	asksAgain = 6 * time.Second
	// syncedBy is when a kubelet up to 1.12 stops to say that the runtime is down because it has
	// not been asked yet (maxWaitForContainerRuntime).
	syncedBy = 30 * time.Second
)

// findComplaint returns a complaint of the kubelet that no stall covers and that was not over: one
// without a time that is not of a start, or the last of a row that outlasts a kubelet's first
// moments and ends with the log, or one about the runtime that ends with it. Nil when there is
// none, or a stall.
func findComplaint(tl *timeline.Timeline) *event.Event {
	if len(tl.Stalls) > 0 {
		return nil
	}
	var first, last, down, undated *event.Event
	starting := false
	for _, e := range tl.Events {
		switch {
		case e.Kind == event.KindKubeletStart:
			first, starting = nil, true
		case e.Kind == event.KindRuntimeDown && e.Start.IsZero():
			undated = e
		case e.Kind == event.KindRuntimeDown:
			down = e
		case e.Kind == event.KindPLEGUnhealthy && e.FieldText(event.FieldNever) != "true" && e.Start.IsZero():
			return e
		case e.Kind == event.KindPLEGUnhealthy && e.FieldText(event.FieldNever) == "true" && e.Start.IsZero():
			starting = true
		case isFirstComplaint(e):
			if first == nil || e.Start.T.Sub(last.Start.T) > asksAgain {
				first = e
			}
			last = e
		}
	}
	if first == nil || last.Start.T.Sub(first.Start.T) < firstMoments {
		if last = down; down == nil && !starting { // at its start a kubelet says so in any case
			return undated
		}
		if down == nil {
			return nil
		}
	}
	for _, c := range tl.Coverage {
		over := c.End.Sub(last.Start.T) > asksAgain || last == down && last.Start.T.Sub(c.Start) < syncedBy
		if c.Source == "kubelet.log" && over {
			return nil
		}
	}
	return last
}
