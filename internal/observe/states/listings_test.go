package states_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/observetest"
)

func TestUnitCounts(t *testing.T) {
	const (
		header  = "  UNIT LOAD ACTIVE SUB DESCRIPTION\n"
		service = "  containerd.service loaded active running containerd container runtime\n"
		failed  = "● kubelet.service loaded failed failed kubelet: The Kubernetes Node Agent\n"
		scope   = "  session-1.scope loaded active running Session 1 of user root\n"
		mount   = "  run-docker-netns-1.mount loaded active mounted /run/docker/netns/1\n"
	)
	for _, tc := range []struct {
		name, file, text string
		want             map[string]string
	}{
		{"all", "sos_commands/systemd/systemctl_list-units_--all", header + service + scope + "2 loaded units listed.\n", map[string]string{
			"systemd.units": "2", "systemd.units.failed": "0", "systemd.units.scope": "1", "systemd.units.mount": "0",
			"systemd.units.service": "1", "systemd.units.device": "0",
		}},
		{"the failed ones, none", "sos_commands/systemd/systemctl_list-units_--failed", header + "0 loaded units listed.\n", nil},
		{"the failed ones", "sos_commands/systemd/systemctl_list-units_--failed", header + failed + "1 loaded units listed.\n", map[string]string{"systemd.units.failed": "1"}},
		{"the failed ones, by the rows", "units.txt", header + failed, map[string]string{"systemd.units.failed": "1"}},
		{"of one type, by the rows", "units.txt", header + mount, map[string]string{"systemd.units.mount": "1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			events, _ := observetest.ObserveFile(t, tc.file, []byte(tc.text))
			var got map[string]string
			for _, e := range events {
				if e.Kind != event.KindFact {
					continue
				}
				if got == nil {
					got = map[string]string{}
				}
				name, _ := e.Get("name")
				value, _ := e.Get("value")
				got[name.Text()] = value.Text()
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// TestLoneCondition: the condition of a node is told although grep has left out the header above
// it, and lines of another part stand below.
func TestLoneCondition(t *testing.T) {
	const text = `  Ready            Unknown   Tue, 03 Dec 2019 20:29:38 +0800   Tue, 03 Dec 2019 20:30:21 +0800   NodeStatusUnknown   Kubelet stopped posting node status.
 Kernel Version:             3.10.0-957.21.3.el7.x86_64
 Container Runtime Version:  docker://18.6.2
`
	for _, end := range []string{"", "\n"} {
		events, _ := observetest.ObserveFile(t, "node.txt", []byte(text[:len(text)-1]+end))
		kinds := map[event.Kind]int{}
		for _, e := range events {
			kinds[e.Kind]++
		}
		require.Equal(t, map[event.Kind]int{event.KindNodeCondition: 1, event.KindFact: 2}, kinds)
	}
}
