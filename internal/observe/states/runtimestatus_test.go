package states_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/observetest"
)

// A runtime that is not ready itself is told, and not its network as well; either way it answered.
func TestRuntimeStatus(t *testing.T) {
	const text = `{
  "status": {
    "conditions": [
      {
        "type": "RuntimeReady",
        "status": false,
        "reason": "ContainerdNotReady",
        "message": "containerd is not ready"
      },
      {
        "type": "NetworkReady",
        "status": false,
        "reason": "NetworkPluginNotReady",
        "message": "cni plugin not initialized"
      }
    ]
  }
}
`
	kinds := func(text string) (all []event.Kind) {
		events, _ := observetest.ObserveFile(t, "json/crictl_info.log", []byte(text))
		for i := range events {
			all = append(all, events[i].Kind)
		}
		return all
	}
	require.Equal(t, []event.Kind{event.KindCollectRPC}, kinds(strings.ReplaceAll(text, "false", "true")))
	require.Equal(t, []event.Kind{event.KindRuntimeDown, event.KindCollectRPC}, kinds(text))
}
