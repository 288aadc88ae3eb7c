package states

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// A warning of the kubelet about a pod tells of a call that the kernel refused, as its log does, as
// often as it counts; and it names the node.
func TestRefusedCallInEvent(t *testing.T) {
	for row, want := range map[string]string{
		`Warning  FailedMount  41s (x6 over 3m)  kubelet, worker-9  MountVolume.SetUp failed for volume "certs" : mount failed: fork/exec /bin/mount: resource temporarily unavailable`:                                                                 "daemon.fork-failed 6 worker-9",
		"Warning  FailedCreatePodContainer  9s (x31 over 7m)  kubelet  unable to ensure pod container exists: failed to create container for [kubepods burstable poda1] : mkdir /sys/fs/cgroup/memory/kubepods/burstable/poda1: cannot allocate memory": "daemon.cgroup-failed 31 ",
		"Warning  FailedCreatePodSandBox  9s  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = fork/exec /usr/bin/containerd-shim-runc-v2: resource temporarily unavailable":                                                     "daemon.fork-failed  ",
		"Warning  Failed  12m  kubelet, worker-9  Error: failed to get sandbox container task: OCI runtime state failed: runc did not terminate successfully: exit status 2: runtime/cgo: pthread_create failed: Resource temporarily unavailable":      "daemon.fork-failed of runc  worker-9",
		"Warning  Unhealthy  9s  kubelet  Readiness probe failed: fork/exec /bin/sh: resource temporarily unavailable":                                                                                                                                  "",
		"Warning  FailedMount  9s  my-operator  fork/exec /bin/mount: resource temporarily unavailable":                                                                                                                                                 "",
	} {
		var k KubectlRows
		events, taken := k.TakeRow(nil, row, event.Quote{Text: row})
		require.True(t, taken, row)
		got, node := "", ""
		for _, e := range k.Finish(events) {
			switch e.Kind {
			case event.KindForkFailed, event.KindCgroupFailed:
				if got = string(e.Kind); e.Component != "kubelet" {
					got += " of " + e.Component
				}
				got += " " + e.FieldText(event.FieldRepeats) + " "
			case event.KindFact:
				node = e.FieldText(event.FieldValue)
			}
		}
		require.Equal(t, want, got+node, row)
	}
}
