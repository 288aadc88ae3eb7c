package restarts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// A controller finds a node not ready whose machine is down; where it said so long before, the
// restart may have been the remedy.
func TestMarkReboots(t *testing.T) {
	of := func(node, reason string, at time.Duration) *event.Event {
		e := unitEvent(event.KindKubeEvent, at)
		e.Fields = []event.Field{event.FieldReason.Text(reason), event.FieldName.Text(node)}
		return e
	}
	for before, marked := range map[time.Duration]bool{3 * time.Minute: true, 20 * time.Minute: false, -time.Minute: false} {
		notReady, other := of("node-1", "NodeNotReady", time.Hour-before), of("node-2", "NodeNotReady", time.Hour-before)
		all := []*event.Event{notReady, other, of("node-1", "Rebooted", time.Hour)}
		if before < 0 {
			all = []*event.Event{all[2], notReady, other}
		}
		markReboots(all)
		require.Equal(t, marked, notReady.FieldText(event.FieldRestarting) == "true", before)
		require.Empty(t, other.FieldText(event.FieldRestarting), "another node")
	}
}
