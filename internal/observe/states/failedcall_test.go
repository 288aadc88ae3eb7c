package states

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// An Event of a pod whose message is a deadline is a call that timed out, as often as it counts.
func TestFailedCall(t *testing.T) {
	for row, want := range map[string]string{
		"Warning  Failed  5m22s (x53 over 3h33m)  kubelet  Error: context deadline exceeded": "CreateContainer 53 ",
		"Warning Failed 53s (x36 over 149m) kubelet (combined from similar events): Error: Kubelet may be retrying requests that are timing out in CRI-O due to system load. Currently at stage container volume configuration: context deadline exceeded: error reserving ctr name k8s_a for id 8424: name is reserved": "CreateContainer 36 container volume configuration",
		"Warning  Failed  5m  kubelet  Error: ErrImagePull":                                              "",
		"Warning  Failed  5m  kubelet  Failed to pull image \"a\": rpc error: context deadline exceeded": "",
	} {
		var k KubectlRows
		events, taken := k.TakeRow(nil, row, event.Quote{Text: row})
		require.True(t, taken, row)
		got := ""
		for i := range events {
			if e := &events[i]; e.Kind == event.KindCRIError && e.FieldText(event.FieldDeadline) == "true" {
				got = e.FieldText(event.FieldMethod) + " " + e.FieldText(event.FieldRepeats) + " " + e.FieldText(event.FieldStage)
			}
		}
		require.Equal(t, want, got, row)
	}
}

// TestEventTexts: what an Event tells names its object, and from when to when it came, as far as its
// row shows them.
func TestEventTexts(t *testing.T) {
	const reserved = `failed to reserve container name "app_web-1_shop_0c1_0": name "app_web-1_shop_0c1_0" is reserved for "3fa1c2d4e5b63fa1c2d4e5b63fa1c2d4e5b63fa1c2d4e5b63fa1c2d4e5b6aaaa"`
	for row, want := range map[string][]string{
		"Warning  FailedKillPod  3m (x12 over 40m)  kubelet  error killing pod: rpc error: code = DeadlineExceeded desc = context deadline exceeded": {
			"FailedKillPod (first 40m, last 3m before the list): error killing pod: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
			"StopPodSandbox ran into its deadline (first 40m, last 3m before the list)",
		},
		"shop  45s  Warning  FailedCreatePodSandBox  pod/web-1  Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded": {
			"FailedCreatePodSandBox of shop/web-1 (45s before the list): Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
			"RunPodSandbox of shop/web-1 ran into its deadline (45s before the list)",
		},
		"Warning  Failed  45s (x15 over 11m)  kubelet  Error: " + reserved: {
			"Failed (first 11m, last 45s before the list): Error: " + reserved,
			"CreateContainer does not end in containerd: one before it still has the name (first 11m, last 45s before the list)",
		},
	} {
		var k KubectlRows
		events, taken := k.TakeRow(nil, row, event.Quote{Text: row})
		require.True(t, taken, row)
		var got []string
		for i := range events {
			got = append(got, events[i].Text)
		}
		require.Equal(t, want, got)
	}
}
