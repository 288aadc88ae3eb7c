package timeline

import (
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// callerDelay is how long after a client's line its caller's may be written; both are of one goroutine.
const callerDelay = 100 * time.Millisecond

// foldCallers makes one event of a failed call of the CRI that two lines tell of, the client's and, right
// after it, that of whoever made the call. A caller often knows the pod. One whose client's line was lost stands for itself.
//
// The events come and go in order.
func foldCallers(events []*event.Event) []*event.Event {
	last := map[callResult]*event.Event{} // as the client told it
	kept := events[:0:0]
	for _, e := range events {
		if e.Kind != "kubelet.cri-error" {
			kept = append(kept, e)
			continue
		}
		f := callResult{fieldText(e, "method"), e.IDs.Container, e.IDs.Sandbox}
		if fieldText(e, "caller") != "true" {
			last[f] = e
		} else if client := last[f]; client != nil && e.Start.T.Sub(client.Start.T) <= callerDelay+client.Start.Prec {
			if client.IDs.Pod == "" && e.IDs.Pod != "" {
				client.IDs.Pod, client.Evidence = e.IDs.Pod, append(client.Evidence, e.Evidence...)
			}
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// callResult is what two lines about one failed call agree in.
type callResult struct{ method, container, sandbox string }
