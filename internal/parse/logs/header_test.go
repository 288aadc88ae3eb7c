package logs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWriterWithoutHost: people take the name of the host out of what they paste.
func TestWriterWithoutHost(t *testing.T) {
	for _, line := range []string{
		"Oct 21 06:03:53 node-1 kubelet[1530]: E1021 06:03:51.580766    1530 a.go:7] text",
		"Oct 21 06:03:53 kubelet[1530]: E1021 06:03:51.580766    1530 a.go:7] text",
		"Oct 21 06:03:53  kubelet[1530]: E1021 06:03:51.580766    1530 a.go:7] text",
		"06:03:53 kubelet[1530]: E1021 06:03:51.580766    1530 a.go:7] text",
		"06:03:53 node-1 kubelet[1530]: E1021 06:03:51.580766    1530 a.go:7] text",
	} {
		h := scanHeader([]byte(line))
		require.Equal(t, "kubelet", string(h.unit), line)
		require.Equal(t, 1530, h.pid, line)
		require.Equal(t, klog, h.body, line)
	}
}

// TestLeveledTag: busybox names the facility and the level before the tag.
func TestLeveledTag(t *testing.T) {
	for line, host := range map[string]string{
		"Jul 31 16:26:53 node-1 kern.crit kernel: [ 4000.000100] text":   "node-1",
		"2016-07-31T16:26:53Z node-1 daemon.err kubelet[90]: text":       "node-1",
		"2016-07-31 16:26:53 +0000 UTC kern.alert kernel: text":          "",
		"[Sun Jul 31 16:26:53 2016] kern.err is no tag":                  "",
		"Sun Jul 31 16:26:53 2016 kern.crit kernel: [ 4000.000100] text": "",
		"2016-07-31T16:26:53Z kern.loud kernel: of no level":             "kern.loud",
	} {
		h := scanHeader([]byte(line))
		require.Equal(t, host, string(h.host), line)
	}
}

// TestNetconsole: a kernel that sends its records over the network has no tag.
func TestNetconsole(t *testing.T) {
	line := "Dec  7 10:12:34 192.0.2.50 4,3873,1349697082,-,caller=C0;BUG: text; more"
	h := scanHeader([]byte(line))
	require.Equal(t, []string{"192.0.2.50", "kernel", "BUG: text; more"}, []string{string(h.host), string(h.unit), line[h.msg:]})
	require.Equal(t, 1349697082*time.Microsecond, h.uptime)

	h = scanHeader([]byte("Dec  7 10:12:34 node-1 4,3873 words;text"))
	require.Empty(t, h.unit)
}

// TestWordsAreNoWriter: words and colons behind a time of day are of no journal.
func TestWordsAreNoWriter(t *testing.T) {
	for _, line := range []string{"06:03:53 worker: started", "06:03:53 the worker: started", "06:03:53 kubelet", "06:03:53 ", "06:03:53 a[1]"} {
		h := scanHeader([]byte(line))
		require.False(t, h.carried, line)
		require.Empty(t, h.unit, line)
	}
}

// TestCutKlog: what is left of klog's header when its level and its date are cut off.
func TestCutKlog(t *testing.T) {
	for line, message := range map[string]string{
		`06:03:51.580766    1530 cni.go:239] "Unable" err="none"`:  `"Unable" err="none"`,
		`06:03:51.580766 1530 kubelet/cni.go:239] "Unable"`:        `"Unable"`,
		"06:03:51.580766    1530 requests in cni.go:239] of a pod": "",
		"06:03:51.580766    cni.go:239] text":                      "",
		"1530 cni.go:239] text":                                    "",
	} {
		h := scanHeader([]byte(line))
		require.Equal(t, message != "", h.body == klog, line)
		if message != "" {
			require.Equal(t, []any{1530, "cni.go", message}, []any{h.pid, string(h.caller), line[h.msg:]}, line)
		}
	}
}

// TestIndentedHeader: a log that stands indented in a post keeps its times, writers and host; what
// a program indents is no line of its own.
func TestIndentedHeader(t *testing.T) {
	for line, unit := range map[string]string{
		"    Jul 28 10:53:00 node-1 containerd[1161]: text":                       "containerd",
		"\tJul 28 10:53:00 node-1 kernel: text":                                   "kernel",
		"  Jul 8 10:53:00 node-1 kernel: text":                                    "kernel",
		"    [42000.009100] INFO: task a:1 blocked for more than 120 seconds.":    "kernel",
		"    Jul 28 10:53:00 some words: text":                                    "",
		"    Jul 28 10:53:00":                                                     "",
		"                          Jul 28 10:53:00 node-1 containerd[1161]: text": "",
	} {
		h := scanHeader([]byte(line))
		require.Equal(t, unit, string(h.unit), line)
		if unit != "" {
			require.True(t, h.carrier.Known, line)
			require.Contains(t, []string{"text", "INFO: task a:1 blocked for more than 120 seconds."}, line[h.msg:])
		}
	}
	h := scanHeader([]byte(`    time="2022-07-28T10:53:00.719579189+08:00" level=info msg="shim disconnected"`))
	require.Equal(t, logrus, h.body)
	require.True(t, h.inner.Known)
}
