package collect

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

func TestAppendKmsg(t *testing.T) {
	got := appendKmsg(nil, []byte("6,339,5140900,-,caller=T42;NET: Registered protocol family 10\n SUBSYSTEM=acpi\n"))
	got = appendKmsg(got, []byte("3,340,65140901,-;INFO: task x:1 blocked for more than 120 seconds.\n"))
	require.Equal(t, "[    5.140900][   T42] NET: Registered protocol family 10\n[   65.140901] INFO: task x:1 blocked for more than 120 seconds.\n", string(got))
}

// What SIGUSR1 would end is never sent it.
func TestDeaf(t *testing.T) {
	var p process
	p.parseStatus("Name:\tsleep\nTracerPid:\t0\nSigCgt:\t0000000000000000\n")
	require.NotEmpty(t, p.whyNoSignal())
	p.parseStatus("SigCgt:\tfffffffd7fc1fefd\n") // of a Go program
	require.Empty(t, p.whyNoSignal())
	p.State = "T"
	require.NotEmpty(t, p.whyNoSignal())
	require.Nil(t, dumperOf("kubelet"), "it ignores SIGUSR1")
	require.Nil(t, dumperOf("sleep"))
}

// The plan names only steps that there are, and each tells its hazard.
func TestPlan(t *testing.T) {
	_, err := planSteps(&Options{Only: []string{"nothing"}})
	require.ErrorContains(t, err, `no step is named "nothing"`)
	_, err = planSteps(&Options{Sockets: map[string]string{"crio": "x"}})
	require.ErrorContains(t, err, `no kind of socket is named "crio"`)
	left, err := planSteps(&Options{Skip: []string{"journal"}})
	require.NoError(t, err)
	for _, s := range left {
		require.NotEqual(t, "journal", s.name)
		require.NotContains(t, []string{"kill", "strace"}, s.name, "only when asked for")
		require.NotEmpty(t, s.hazard)
		require.NotNil(t, s.do)
	}
}

// Environments of containers that a daemon has logged are not in the bundle, and what was replaced
// is counted by rule.
func TestNoEnvironments(t *testing.T) {
	var packed bytes.Buffer
	c := &collector{opt: Options{MaxSize: 1 << 30}, key: []byte("k"), out: &byteCounter{w: &packed}, names: map[string]int{}}
	var err error
	c.writer, err = bundle.NewWriter(c.out, "x.tgz", "node-1")
	require.NoError(t, err)
	c.storeContent(&step{name: "journal"}, "containerd.log", "", []byte(`level=debug msg="CreateContainer with Envs:[]*KeyValue{&KeyValue{Key:ANY,Value:plain words,},}"`+"\n"))
	require.NoError(t, c.writer.Close(&c.manifest))
	zip, err := gzip.NewReader(&packed)
	require.NoError(t, err)
	text, err := io.ReadAll(zip)
	require.NoError(t, err)
	require.Contains(t, string(text), "Key:ANY,Value:<redacted:")
	require.NotContains(t, string(text), "plain words")
	require.Equal(t, 1, c.replaced.ByName()["environment"])
	require.Equal(t, 1, c.manifest.Items[0].Redacted)
}

// TestOtherRuntime: a runtime that is installed, while another runs, is not asked for its version.
func TestOtherRuntime(t *testing.T) {
	for _, tt := range []struct{ runs, name, other string }{
		{"crio", "containerd", "crio"},
		{"crio", "dockerd", "crio"},
		{"crio", "crio", ""},
		{"crio", "kubelet", ""},
		{"containerd", "crio", "containerd"},
		{"dockerd", "containerd", ""}, // they run together, and one may be down
		{"containerd", "dockerd", ""},
		{"kubelet", "crio", ""},
	} {
		c := collector{}
		c.walked.Processes = []process{{Exe: tt.runs}}
		require.Equal(t, tt.other, c.findOtherRuntime(tt.name), "%s beside %s", tt.name, tt.runs)
	}
}

// Somebody may have started a second daemon by hand: the one of the unit is asked.
func TestProcessOfUnitComesFirst(t *testing.T) {
	c := &collector{}
	c.walked.Processes = []process{
		{PID: 161, Exe: "containerd", Cgroup: "/user.slice/user-0.slice/session-3.scope"},
		{PID: 180, Exe: "containerd", Cgroup: "/system.slice/containerd.service"},
	}
	require.Equal(t, 1, c.findProcess("containerd"))
	c.walked.Processes[1].Cgroup = "/podruntime/runtime"
	require.Equal(t, 0, c.findProcess("containerd"))
	require.Negative(t, c.findProcess("dockerd"))
}
