package states_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/observetest"
)

// TestCounts: what is a reading of a number that may run out, from each that writes one.
func TestCounts(t *testing.T) {
	const ps = "Thu Nov 20 18:22:16 UTC 2026\n  PID  NLWP COMMAND\n    1     1 systemd\n  800    40 kubelet\n"
	const units = "Thu Nov 20 18:22:16 UTC 2026\n  UNIT             LOAD   ACTIVE   SUB     DESCRIPTION\n  init.scope       loaded active   running System\n  docker.service   loaded inactive dead    Docker\n"
	const old = "I0502 10:00:00.000001    1210 helpers.go:782] eviction manager: "
	for _, test := range []struct{ file, text, want string }{
		{"ps.txt", ps, `18:22:16 of="processes" value="2"` + "\n" + `18:22:16 of="threads" value="41"`},
		{"units.txt", units, `18:22:16 of="units" value="2"`},
		{"active.txt", strings.Replace(units, "inactive dead   ", "active   running", 1), `18:22:16 of="active units" value="2"`},
		{"services.txt", strings.Replace(units, "init.scope  ", "init.service", 1), ""}, // --type=service
		{"summary.json", "{\n \"node\": {\n  \"nodeName\": \"n\",\n  \"rlimit\": {\n   \"time\": \"2026-11-20T18:22:16Z\",\n   \"maxpid\": 32768,\n   \"curproc\": 1204\n  }\n }\n}\n", `18:22:16 of="threads" value="1204" limit="32768"`},
		{"node.prom", "node_processes_pids 412\nnode_processes_max_processes 32768\nnode_time_seconds 1.795198936e+09\n", `18:22:16 of="processes" value="412" limit="32768"`},
		{"kubelet.log", old + "observations: signal=pid.available, available: 32k, capacity: 32768, time: 2019-05-02 10:00:00.25 +0000 UTC m=+120.5\n", `10:00:00.25 of="threads" value="768" limit="32768"`},
		{"kubelet.log", old + "thresholds - ignoring grace period: threshold [signal=pid.available, quantity=3276] observed 32k\n", ""},
		{"kubelet.log", "I1120 10:00:00.000001 1 flags.go:64] FLAG: --eviction-hard=\"pid.available<10%\"\n", ""},
	} {
		var got []string
		events, _ := observetest.ObserveFile(t, test.file, []byte(test.text))
		for i := range events {
			if e := &events[i]; e.Kind == event.KindCount {
				at := ""
				if e.Start.Known {
					at = e.Start.T.Format("15:04:05.999") + " "
				}
				var fields []string
				for _, f := range e.Fields {
					fields = append(fields, string(f.Key)+`="`+f.Value.Text()+`"`)
				}
				got = append(got, at+strings.Join(fields, " "))
			}
		}
		require.Equal(t, test.want, strings.Join(got, "\n"), test.file)
	}
}
