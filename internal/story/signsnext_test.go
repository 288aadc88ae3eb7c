package story

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestSignsSayWhatIsNext holds that whoever sees nothing but signs is told what to look at.
func TestSignsSayWhatIsNext(t *testing.T) {
	for kind, command := range map[event.Kind]string{
		"kernel.block-error": readKernelLog, "kubelet.network-not-ready": readKubeletLog, "containerd.state-timeout": "timeout 60 journalctl -u containerd -o export --since '1 hour ago' > runtime.export",
		"systemd.scope-failed": readAllLogs, "daemon.denied": readAllLogs,
	} {
		r := evaluate(catalogOf(t, proven("slow-disk")), line(ev(kind, when(1))))
		require.Equal(t, Signs, r.Opening.State, kind)
		require.Equal(t, command, r.Opening.Command, kind)
		require.NotEmpty(t, r.Opening.Hazard, kind)
	}
}

// TestConditionReadyIsSaidFirst holds that of a node's conditions Ready is the sign, with its message and
// since when.
func TestConditionReadyIsSaidFirst(t *testing.T) {
	condition := func(name string) event.Event {
		return ev("node.condition", when(5), field("condition", name), field("status", "Unknown"), field("message", "Nobody writes it."), func(e *event.Event) { e.Text = name + " is Unknown" })
	}
	r := evaluate(catalogOf(t, proven("slow-disk")), line(condition("DiskPressure"), condition("Ready"), condition("PIDPressure")))
	require.Equal(t, "Ready is Unknown, Nobody writes it, since 09:30:05", r.Headline)
	require.Equal(t, at(5).T, r.Signs[0].Window.Start)
}

func TestClipSign(t *testing.T) {
	long := "cannot do it: " + strings.Repeat("a very long path/", 20) + ": no space left on device"
	got := clipSign(long)
	require.Less(t, len(got), maxSignText)
	require.True(t, strings.HasPrefix(got, "cannot do it: a very"))
	require.True(t, strings.HasSuffix(got, " …: no space left on device"), got)
	require.Equal(t, "short: error", clipSign("short: error"))
}

// TestNetworkPluginIsLookedAtFirst holds that of a call that failed in a pod's network the plugin's
// processes are asked for before the runtime's goroutines.
func TestNetworkPluginIsLookedAtFirst(t *testing.T) {
	failed := ev("kubelet.cri-error", when(1), field("method", "StopPodSandbox"), field("deadline", "true"))
	r := evaluate(catalogOf(t, proven("slow-disk")), line(failed))
	require.NotEqual(t, listPlugins, r.Opening.Command)
	failed.AddFields(event.FieldNetwork.Bool(true))
	r = evaluate(catalogOf(t, proven("slow-disk")), line(failed))
	require.Equal(t, listPlugins, r.Opening.Command)
}
