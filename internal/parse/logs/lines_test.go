package logs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
)

// TestLinesOfAPage: a page took the line breaks away. Each message has its own time, and the number
// of the line that it stands on; what quotes another program's line is one message.
func TestLinesOfAPage(t *testing.T) {
	const (
		journal = `Nov 08 09:33:14 node-1 kubelet[2917]: E1108 09:33:14.540000    2917 kubelet.go:2412] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m0.5s ago; threshold is 3m0s"`
		kernel  = `Nov 08 09:34:00 node-1 kernel: INFO: task containerd:1234 blocked for more than 120 seconds.`
		klog    = `E1108 09:33:20.540000    2917 remote_runtime.go:394] "ListContainers with filter from runtime service failed" err="rpc error: code = DeadlineExceeded"`
		quoting = `E1108 09:33:21.000000    2917 pod_workers.go:191] Error syncing pod: main: E1108 09:33:20.000000       1 main.go:12] cannot connect`
		logrus  = `time="2025-11-08T09:33:14Z" level=error msg="StopContainer for \"4e7597d8\" failed" error="context deadline exceeded"`
	)
	for name, c := range map[string]struct {
		format string
		lines  []string
		times  int
	}{
		"journal":                       {"journal-short", []string{journal, journal, kernel}, 3},
		"klog":                          {"klog", []string{klog, quoting, klog}, 3},
		"logrus":                        {"logrus", []string{logrus, logrus}, 2},
		"behind words":                  {"text", []string{"What the node says:", logrus, logrus}, 2},
		"klog, quoted":                  {"klog", []string{quoting}, 1},
		"one of klog within one of it":  {"klog", []string{strings.Replace(klog, `"rpc`, `"`+logrus[:60]+`"`, 1)}, 1},
		"a line of its own, then words": {"logrus", []string{logrus, "and the time= of it"}, 1},
	} {
		a := parsetest.Read(t, parsetest.Format(t, c.format), []byte("\n"+strings.Join(c.lines, " ")+"\n"), nil)
		times := 0
		for i, rec := range a.Records {
			if rec.Time.Known {
				times++
			}
			require.Equal(t, event.Pos{File: rec.Pos.File, Line: 2, Message: i}, rec.Pos, name)
			require.Contains(t, strings.Join(c.lines, " "), rec.Raw, name)
		}
		require.Equal(t, c.times, times, name)
	}
}

// TestBrokenConsole: a page broke the lines of Talos' console, which have a blank before each. What
// was broken off a controller's values is joined to its message.
func TestBrokenConsole(t *testing.T) {
	const text = ` user: warning: [2024-03-19T08:22:42.118530942Z]: [talos] kubernetes endpoint watch error {"component":
 "controller-runtime", "controller": "k8s.EndpointController", "error": "failed to list *v1.Endpoints: Get
 \"https://10.0.24.140:6443/api/v1/namespaces/default/endpoints?
 fieldSelector=metadata.name%3Dkubernetes&limit=500&resourceVersion=0\": dial tcp 10.0.24.140:6443:
 connect: connection refused"}
 user: warning: [2024-03-19T08:22:58.902216108Z]: [talos] service[kubelet](Starting): Starting service
`
	records := parsetest.Read(t, parsetest.Format(t, "text"), []byte(text), nil).Records
	require.Len(t, records, 2)
	require.Contains(t, records[0].Text, `dial tcp 10.0.24.140:6443: connect: connection refused"}`)
	require.Equal(t, 6, records[1].Pos.Line)
}

// TestLongJoinedLine: each byte is looked at a bounded number of times, whatever the line holds.
// The limit is for the race detector on a machine under load; it takes two seconds without.
func TestLongJoinedLine(t *testing.T) {
	const header = `E1108 09:33:20.540000    2917 a.go:1] `
	for name, text := range map[string]string{
		"headers in an open quotation": header + `"` + strings.Repeat(header, 200_000),
		"headers and no message":       strings.Repeat(header, 200_000),
		"a child's words":              strings.Repeat(`time="2025-11-08T09:33:14Z" level=info x `, 200_000) + " stream=stderr",
	} {
		began := time.Now()
		parsetest.Drain(t, parsetest.Format(t, "klog"), lines.Input{Path: "f", R: strings.NewReader(text)})
		require.Less(t, time.Since(began), 2*time.Minute, name)
	}
}
