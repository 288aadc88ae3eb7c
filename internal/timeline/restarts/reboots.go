package restarts

import (
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// longestReboot is how long after the controller has found a node not ready the kubelet tells of
// another boot at most, for the machine to have gone down first: the controller says so after 40 s,
// and nobody mends a node by a reset so soon.
const longestReboot = 5 * time.Minute

// markReboots marks that the controller found a node not ready while its machine was down, as the
// kubelet tells soon after.
//
//	01:20:31 node-controller  Node node-1 status is now: NodeNotReady
//	01:23:34 kubelet          Node node-1 has been rebooted, boot id: a90e54f2-…
func markReboots(events []*event.Event) {
	back := map[string]time.Time{} // by node, of the Event behind
	for _, e := range slices.Backward(events) {
		if e.Kind != event.KindKubeEvent || !e.Start.Known || e.Start.Lacks != 0 {
			continue
		}
		node := e.FieldText(event.FieldName)
		switch e.FieldText(event.FieldReason) {
		case "Rebooted":
			back[node] = e.Start.T
		case "NodeNotReady":
			if at, ok := back[node]; ok && node != "" && at.Sub(e.Start.T) <= longestReboot {
				e.AddFields(event.FieldRestarting.Bool(true))
			}
		}
	}
}
