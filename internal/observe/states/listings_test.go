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
