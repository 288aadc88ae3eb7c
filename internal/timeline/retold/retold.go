// Package retold makes one event of lines by which one program tells one thing twice.
package retold

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// callerDelay is how long after a client's line the caller's line can follow. One goroutine writes
// both.
const callerDelay = 100 * time.Millisecond

// FoldCallers makes one event of two lines about one failed CRI call: the client's, and right after
// it the one of its caller, which often names the pod. A caller's line without a client's line is
// an event of its own.
//
// Input and output are in the order of time.
func FoldCallers(events []*event.Event) []*event.Event {
	last := map[callResult]*event.Event{} // by the client's line
	kept := events[:0:0]
	for _, e := range events {
		if e.Kind != event.KindCRIError {
			kept = append(kept, e)
			continue
		}
		f := callResult{e.FieldText(event.FieldMethod), e.IDs.Container, e.IDs.Sandbox}
		if e.FieldText(event.FieldCaller) != "true" {
			last[f] = e
		} else if client := last[f]; client != nil && e.Start.T.Sub(client.Start.T) <= callerDelay+client.Start.Prec {
			if client.IDs.Pod == "" && e.IDs.Pod != "" {
				client.IDs.Pod = e.IDs.Pod
				client.AddQuotes(e)
			}
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// FoldConditions makes one event of the two lines by which a kubelet tells that its node became
// NotReady: the event that it records, and right after it the condition with its reason.
//
// Input and output are in the order of time.
func FoldConditions(events []*event.Event) []*event.Event {
	var recorded *event.Event
	kept := events[:0]
	for _, e := range events {
		if e.Kind == event.KindNodeNotReady && e.Source == "kubelet.log" {
			if _, told := e.Get(event.FieldMessage); !told {
				recorded = e
			} else if recorded != nil && e.Start.T.Sub(recorded.Start.T) <= callerDelay+recorded.Start.Prec {
				recorded.Fields = e.Fields
				recorded.AddQuotes(e)
				recorded = nil
				continue
			}
		}
		kept = append(kept, e)
	}
	return kept
}

// callResult is what two lines about one failed call have in common.
type callResult struct{ method, container, sandbox string }
