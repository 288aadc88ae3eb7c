package states

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// An Event of a pod whose message is a deadline is a call that timed out, as often as it counts.
func TestFailedCall(t *testing.T) {
	for row, want := range map[string]string{
		"Warning  Failed  5m22s (x53 over 3h33m)  kubelet  Error: context deadline exceeded": "CreateContainer 53 ",
		"Warning Failed 53s (x36 over 149m) kubelet (combined from similar events): Error: Kubelet may be retrying requests that are timing out in CRI-O due to system load. Currently at stage container volume configuration: context deadline exceeded: error reserving ctr name k8s_a for id 8424: name is reserved": "CreateContainer 36 container volume configuration",
		"ci 2018-01-11 07:02:14 -0500 EST 2018-01-11 06:58:40 -0500 EST 3 web-0 Pod spec.containers{web} Warning Failed {kubelet node-1} Failed to create docker container \"web\" of pod \"web-0_ci(0c1)\" with error: operation timeout: context deadline exceeded":                                                    "CreateContainer 3 ",
		"1h 5m 2 {kubelet node-1} Warning Failed Failed to start container with docker id 5d1c0f8e7b6a with error: operation timeout: context deadline exceeded":                                                                                                                                                         "StartContainer 2 ",
		"1h 5m 2 {kubelet node-1} Warning FailedSync Error syncing pod, skipping: failed to \"StartContainer\" for \"web\" with RunContainerError: \"runContainer: operation timeout: context deadline exceeded\"":                                                                                                       "StartContainer 2 ",
		"1h 5m 2 {kubelet node-1} Warning FailedSync Error syncing pod, skipping: failed to \"StartContainer\" for \"web\" with ErrImagePull: \"net/http: context deadline exceeded\"":                                                                                                                                   "",
		"Warning  FailedSync  3m (x12 over 10m)  kubelet  error determining status: rpc error: code = DeadlineExceeded desc = context deadline exceeded":                                                                                                                                                                 "PodStatus 12 ",
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

// Of a call that the Event does not name, the pod stands behind the sentence.
func TestFailedCallOfPod(t *testing.T) {
	const row = "ci 2018-01-11 07:02:14 -0500 EST 2018-01-11 06:58:40 -0500 EST 3 web-0 Pod Warning FailedSync {kubelet node-1} error determining status: rpc error: code = DeadlineExceeded desc = context deadline exceeded"
	var k KubectlRows
	events, _ := k.TakeRow(nil, row, event.Quote{Text: row})
	at := slices.IndexFunc(events, func(e event.Event) bool { return e.Kind == event.KindCRIError })
	require.NotEqual(t, -1, at)
	require.Equal(t, "a call by which relist reads a pod ran into its deadline, of ci/web-0 (first 11:58:40, last 12:02:14)", events[at].Text)
}

// TestWatchedEvent: the dates that kubectl get -w writes are the times of an Event.
func TestWatchedEvent(t *testing.T) {
	const row = "ci 2018-01-11 07:02:14 -0500 EST 2018-01-11 06:58:40 -0500 EST 3 web-0 Pod Warning FailedSync {kubelet node-1} Error syncing pod"
	var k KubectlRows
	events, taken := k.TakeRow(nil, row, event.Quote{Text: row})
	require.True(t, taken)
	require.Len(t, events, 1)
	require.Equal(t, "FailedSync of ci/web-0 (first 11:58:40, last 12:02:14): Error syncing pod", events[0].Text)
	require.Equal(t, "2018-01-11T11:58:40Z 2018-01-11T12:02:14Z", events[0].Start.T.UTC().Format(time.RFC3339)+" "+events[0].End.T.UTC().Format(time.RFC3339))
}

// TestEventTexts: what an Event tells names its object, and from when to when it came, as far as
// its row shows them.
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
		"Normal  NodeNotSchedulable  52m (x2 over 53m)  kubelet  Node node-8 status is now: NodeNotSchedulable": {
			"Node node-8 status is now: NodeNotSchedulable",
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
