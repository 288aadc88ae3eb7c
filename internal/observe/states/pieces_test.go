package states_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/observetest"
)

// Tickets hold conditions that somebody cut out of a node, with what is left of the way to them.
func TestPiecesOfNode(t *testing.T) {
	const one = `{
    "lastHeartbeatTime": "2022-07-15T14:39:59Z",
    "lastTransitionTime": "2022-07-15T14:41:34Z",
    "message": "Kubelet stopped posting node status.",
    "reason": "NodeStatusUnknown",
    "status": "Unknown",
    "type": "Ready"
}
`
	const list = `conditions:
- lastHeartbeatTime: "2022-07-15T14:39:59Z"
  lastTransitionTime: "2022-07-15T14:41:34Z"
  message: Kubelet stopped posting node status.
  reason: NodeStatusUnknown
  status: Unknown
  type: Ready
`
	for file, text := range map[string]string{
		"one.json": one, "list.json": "[\n" + one + "]\n", "conditions.json": "{\n\"conditions\": [\n" + one + "]\n}\n",
		"status.json": "{\n\"status\": {\n\"conditions\": [\n" + one + "]\n}\n}\n", "list.yaml": list[len("conditions:\n"):], "conditions.yaml": list,
		"cut-mark.yaml":   " " + strings.ReplaceAll(list[len("conditions:\n"):], "\n  ", "\n    "),
		"cut-key.yaml":    strings.ReplaceAll(list[len("conditions:\n- "):], "\n  ", "\n    "),
		"cut-before.yaml": strings.ReplaceAll(list[len("conditions:\n- "):], "\n  ", "\n    ") + "  - type: Other\n",
	} {
		events, _ := observetest.ObserveFile(t, file, []byte(text))
		require.Len(t, events, 1, file)
		require.Equal(t, event.KindNodeCondition, events[0].Kind, file)
		require.Equal(t, "Unknown", events[0].FieldText(event.FieldStatus), file)
	}
}

// A condition without a heartbeat is another object's.
func TestPieceOfPod(t *testing.T) {
	events, _ := observetest.ObserveFile(t, "pod.json", []byte(`{
    "lastProbeTime": null,
    "lastTransitionTime": "2022-07-15T14:41:34Z",
    "status": "False",
    "type": "Ready"
}
`))
	require.Empty(t, events)
}
