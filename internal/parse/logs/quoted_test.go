package logs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
)

// TestQuotedInALine holds that a line of klog keeps its time and text where somebody quotes it
// inside of a line.
func TestQuotedInALine(t *testing.T) {
	const said = `E0317 04:12:09.250417    2210 kubelet.go:1823] skipping pod synchronization - container runtime is down`
	for _, line := range []string{
		"`" + said + "`", `"` + said + `"`, "'" + said + "'.", "- the node says: " + said, "we see (`" + said + "`) all the time",
	} {
		a := parsetest.Read(t, parsetest.Format(t, "text"), []byte("what we see\n"+line+"\n"), nil)
		require.Len(t, a.Records, 2, line)
		r := &a.Records[1]
		require.True(t, r.Time.Known, line)
		require.Equal(t, 4*time.Hour+12*time.Minute+9*time.Second+250417*time.Microsecond, r.Time.T.Sub(r.Time.T.Truncate(24*time.Hour)), line)
		require.Equal(t, "skipping pod synchronization - container runtime is down", r.Text, line)
		require.Equal(t, line, r.Raw)
	}
	a := parsetest.Read(t, parsetest.Format(t, "text"), []byte("prices fell: E0317 04 of them] went\nI think E0317 is a code\n"), nil)
	for i := range a.Records {
		require.False(t, a.Records[i].Time.Known)
	}
}

// TestCodeInASentence holds that a line of a journal is read where somebody sets it as code inside
// of a sentence, in a log and in prose, and that other code is not.
func TestCodeInASentence(t *testing.T) {
	const said = `Nov 03 07:41:26 node-1 crio[2210]: fatal error: concurrent map iteration and map write`
	for name, format := range map[string]parse.Format{
		"a log": parsetest.Format(t, "text"), "prose": {Name: parse.Prose, Reader: parse.Records(logs.ReadStamped)},
	} {
		a := parsetest.Read(t, format, []byte("what we see of `crio` is this:\nits log showed `"+said+"`, and no more\n"), nil)
		require.Len(t, a.Records, 2, name)
		require.False(t, a.Records[0].Time.Known, name)
		r := &a.Records[1]
		require.True(t, r.Time.Known, name)
		require.Equal(t, "node-1 crio", r.Host+" "+r.Unit, name)
		require.Equal(t, "fatal error: concurrent map iteration and map write", r.Text, name)
	}
}

// TestGinkgoStamp holds that what a test of Kubernetes notes has its time.
func TestGinkgoStamp(t *testing.T) {
	const said = "Condition Ready of node worker-7 is false instead of true. Reason: KubeletNotReady, message: container runtime is down"
	a := parsetest.Read(t, parsetest.Format(t, "text"), []byte("Mar  9 17:20:41.083: INFO: "+said+"\n"), nil)
	require.Len(t, a.Records, 1)
	require.True(t, a.Records[0].Time.Known)
	require.Equal(t, said, a.Records[0].Text)
	require.Empty(t, a.Records[0].Host+a.Records[0].Unit)
}
