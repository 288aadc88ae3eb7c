package snapshots

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// One Event, as kubectl prints it: every layout says the same of it.
func TestCutEventOfEveryLayout(t *testing.T) {
	const message = "INFO: task dockerd:6500 blocked for more than 121 seconds."
	for name, row := range map[string]string{
		"get":                "5m23s       Warning   TaskHung   node/node-1   " + message,
		"get, no age":        "            Warning   TaskHung   node/node-1   " + message,
		"get, collapsed":     "5m23s Warning TaskHung node/node-1 " + message,
		"kubectl events":     "5m23s (x3 over 1h)   Warning   TaskHung   Node/node-1   " + message,
		"all namespaces":     "default   5m23s   Warning   TaskHung   node/node-1   " + message,
		"wide":               "5m23s   Warning   TaskHung   node/node-1            kernel-monitor, node-1   " + message + "   1h   3   node-1.16d3c2aaf0e1b2c3",
		"wide, collapsed":    "5m23s Warning TaskHung node/node-1 kernel-monitor, node-1 " + message + " 1h 3 node-1.16d3c2aaf0e1b2c3",
		"get until 1.13":     "5m23s   1h   3   node-1.16d3c2aaf0e1b2c3   Node               Warning   TaskHung   kernel-monitor, node-1   " + message,
		"describe":           "  Warning  TaskHung  5m23s (x3 over 1h)  kernel-monitor  " + message,
		"describe, tabs":     "  Warning\tTaskHung\t5m23s\tkernel-monitor\t" + message,
		"describe, start":    "TaskHung 5m23s kernel-monitor " + message,
		"describe until 1.7": "  1h\t5m23s\t3\tkernel-monitor, node-1\t\tWarning\tTaskHung\t" + message,
		"describe until 1.5": "  1h\t5m23s\t3\t{kernel-monitor node-1}\t\tWarning\tTaskHung\t" + message,
	} {
		fields, ok := CutEvent(row)
		require.True(t, ok, name)
		cells := event.Record{Fields: fields}
		require.Equal(t, "TaskHung", cells.Value("REASON"), name)
		require.Equal(t, message, cells.Value("MESSAGE"), name)
		if !strings.HasSuffix(name, "start") {
			require.Equal(t, "Warning", cells.Value("TYPE"), name)
		}
		if strings.Contains(row, "5m23s") {
			require.Equal(t, "5m23s", cells.Value("LAST SEEN"), name)
		}
		if strings.Contains(row, "-monitor") {
			require.Equal(t, "kernel-monitor", cells.Value("SOURCE"), name)
		}
		if strings.Contains(row, " 1h") {
			require.Equal(t, []string{"1h", "3"}, []string{cells.Value("FIRST SEEN"), cells.Value("COUNT")}, name)
		}
		if strings.Contains(row, "ode/node-1") {
			require.Equal(t, "node-1", cells.Value("NAME"), name)
		}
	}
}

// A row, or a cell of it, that somebody pointed at says the same.
func TestEmphasis(t *testing.T) {
	for marked, plain := range map[string]string{
		"  **Warning  TaskHung  5m  kernel-monitor  task dockerd:6500 blocked**": "  Warning  TaskHung  5m  kernel-monitor  task dockerd:6500 blocked",
		"Warning  **TaskHung**  5m  `kernel-monitor`  a `b` c":                   "Warning  TaskHung  5m  kernel-monitor  a b c",
		"node-1   **NotReady**   <none>":                                         "node-1   NotReady   <none>",
		"**a** **b**":                                                            "a b",
		"  `-containerd(12)-+-shim(13)":                                          "  `-containerd(12)-+-shim(13)",
		"a ** b ** c":                                                            "a ** b ** c",
		"**a":                                                                    "**a",
		"x**y**z `` **":                                                          "x**y**z `` **",
	} {
		require.Equal(t, plain, plainRow(marked))
	}
	fields, ok := CutCondition("  **Ready   `False`   Tue, 10 Sep 2019 02:16:48 -0700   Tue, 10 Sep 2019 02:02:54 -0700   KubeletNotReady   PLEG is not healthy**")
	require.True(t, ok)
	cells := event.Record{Fields: fields}
	require.Equal(t, []string{"Ready", "False", "KubeletNotReady", "PLEG is not healthy"},
		[]string{cells.Value("Type"), cells.Value("Status"), cells.Value("Reason"), cells.Value("Message")})
	_, ok = CutEvent("  **Warning  TaskHung  5m  kernel-monitor  task dockerd:6500 blocked**")
	require.True(t, ok)
	var nodes table
	require.True(t, nodes.readHead([]byte("NAME     STATUS     ROLES    AGE   VERSION")))
	_, fields, ok = nodes.readRow([]byte("node-1   **NotReady**   worker   38d   `v1.28.4`"))
	require.True(t, ok)
	cells = event.Record{Fields: fields}
	require.Equal(t, []string{"NotReady", "worker", "v1.28.4"}, []string{cells.Value("STATUS"), cells.Value("ROLES"), cells.Value("VERSION")})
}

// TestCutEventOfWatch: where kubectl watches, up to 1.7, it writes dates in the place of ages.
func TestCutEventOfWatch(t *testing.T) {
	const (
		last, first = "2018-01-11 07:02:14 -0500 EST", "2018-01-11 06:58:40 -0500 EST"
		rest        = "   3         web-0   Pod       spec.containers{web}   Warning   Failed   {kubelet node-1}   Error: x, since 2018-01-11 06:58:40 -0500 EST"
	)
	for namespace, row := range map[string]string{
		"":     last + "   " + first + rest,
		"prod": "prod   " + last + "   " + first + rest,
		"ci":   strings.Join(strings.Fields("ci "+last+" "+first+rest), " "),
	} {
		fields, ok := CutEvent(row)
		require.True(t, ok, row)
		cells := event.Record{Fields: fields}
		require.Equal(t, []string{last, first, "3", namespace}, []string{cells.Value("LAST SEEN"), cells.Value("FIRST SEEN"), cells.Value("COUNT"), cells.Value("NAMESPACE")})
		require.Equal(t, []string{"Failed", "kubelet", "node-1"}, []string{cells.Value("REASON"), cells.Value("SOURCE"), cells.Value("HOST")})
		require.Equal(t, "Error: x, since 2018-01-11 06:58:40 -0500 EST", cells.Value("MESSAGE"))
		require.Equal(t, namespace == "", BeginsWithDates(row), row)
	}
	for _, line := range []string{"", "2018-01-11 07:02:14 -0500 EST web-0 app[7]: at 2018-01-11 06:58:40 -0500 EST it was well", last + " only"} {
		require.False(t, BeginsWithDates(line), line)
	}
}

// TestCutEventOfOldDescribe: kubectl describe up to 1.6 prints everything but the reason and the
// message before the type.
func TestCutEventOfOldDescribe(t *testing.T) {
	for _, source := range []string{"kubelet, node-1", "{kubelet node-1}"} {
		fields, ok := CutEvent("  4h\t\t19s\t\t564\t" + source + "\t\t\tWarning\t\tEvictionThresholdMet\tAttempting to reclaim nodefs")
		require.True(t, ok, source)
		cells := event.Record{Fields: fields}
		require.Equal(t, []string{"19s", "4h", "564"}, []string{cells.Value("LAST SEEN"), cells.Value("FIRST SEEN"), cells.Value("COUNT")})
		require.Equal(t, []string{"kubelet", "node-1", "Attempting to reclaim nodefs"}, []string{cells.Value("SOURCE"), cells.Value("HOST"), cells.Value("MESSAGE")})
	}
}

// Words of a text that are no row of kubectl.
func TestCutEventRefusesText(t *testing.T) {
	for _, line := range []string{
		"Warning: this may take a while", "Normal Operation resumed after 5m", "5m Normal", "Warning FailedMount",
		"Nov 08 09:30:11 node-1 app[7]: Warning Unhealthy pod/web-0 is slow", "Updated 3d ago by somebody",
		"LAST SEEN TYPE REASON OBJECT MESSAGE", "web-0 1/1 Running 0 5m", "-monitor",
	} {
		_, ok := CutEvent(line)
		require.False(t, ok, line)
	}
}

func TestCutCondition(t *testing.T) {
	const row = "Ready            False     Tue, 10 Sep 2019 02:16:48 -0700   Tue, 10 Sep 2019 02:02:54 -0700   KubeletNotReady              PLEG is not healthy: pleg was last seen active 16m53s ago"
	for _, line := range []string{row, "  " + row, strings.Join(strings.Fields(row), " "), strings.TrimPrefix(row, "Ready")} {
		fields, ok := CutCondition(line)
		require.True(t, ok, line)
		cells := event.Record{Fields: fields}
		require.Equal(t, []string{"Ready", "False", "KubeletNotReady"}, []string{cells.Value("Type"), cells.Value("Status"), cells.Value("Reason")})
		require.Equal(t, "Tue, 10 Sep 2019 02:02:54 -0700", cells.Value("LastTransitionTime"))
		require.Equal(t, "PLEG is not healthy: pleg was last seen active 16m53s ago", cells.Value("Message"))
	}
	for _, line := range []string{
		"KubeletNotReady              PLEG is not healthy: pleg was last seen active 16m53s ago",
		"Sep 2019 02:02:54 -0700   KubeletNotReady\tPLEG is not healthy: pleg was last seen active 16m53s ago",
	} {
		fields, ok := CutCondition(line)
		require.True(t, ok, line)
		cells := event.Record{Fields: fields}
		require.Equal(t, []string{"Ready", "False", "KubeletNotReady"}, []string{cells.Value("Type"), cells.Value("Status"), cells.Value("Reason")})
		require.Equal(t, "PLEG is not healthy: pleg was last seen active 16m53s ago", cells.Value("Message"))
	}
	for _, line := range []string{
		"MemoryPressure False and more words that are no dates at all",
		"KubeletNotReady means that the kubelet says so itself", "the reason  KubeletNotReady  is told by the kubelet", "KubeletNotReady",
	} {
		_, ok := CutCondition(line)
		require.False(t, ok, line)
	}
}

// TestConditionBelowNodes: a condition that somebody pasted below kubectl get nodes is no node.
func TestConditionBelowNodes(t *testing.T) {
	var nodes table
	require.True(t, nodes.readHead([]byte("NAME     STATUS     ROLES    AGE    VERSION")))
	_, fields, ok := nodes.readRow([]byte("node-1   NotReady   <none>   230d   v1.19.7"))
	require.True(t, ok)
	require.Equal(t, "NotReady", (&event.Record{Fields: fields}).Value("STATUS"))
	_, fields, _ = nodes.readRow([]byte("  Ready   False   Thu, 10 Jun 2021 17:42:04 +0800   Thu, 10 Jun 2021 17:40:00 +0800   KubeletNotReady   PLEG is not healthy: pleg was last seen active 5m12s ago; threshold is 3m0s"))
	require.Empty(t, fields)
}
