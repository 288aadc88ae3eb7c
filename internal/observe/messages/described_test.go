package messages

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// An error of gRPC without a writer tells what its description tells, whatever its code.
func TestDescribedError(t *testing.T) {
	const (
		docker = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
		dialed = `connection error: desc = "transport: Error while dialing dial unix /run/containerd/containerd.sock: connect: connection refused"`
	)
	for _, text := range []string{
		docker, "rpc error: code = Unknown desc = " + docker, "  rpc error: code = 2 desc = " + docker,
		"rpc error: code = Unavailable desc = rpc error: code = Unknown desc = " + docker,
	} {
		got := Record(nil, &event.Record{Text: text, Raw: text, Wanted: true})
		require.Len(t, got, 1, text)
		require.Equal(t, event.KindCommandFailed, got[0].Kind)
		require.Equal(t, "dockerd", got[0].Component)
		require.Equal(t, text, got[0].Evidence[0].Text)
	}
	for text, component := range map[string]string{
		"rpc error: code = Unavailable desc = " + dialed:                        "containerd",
		"dial unix /var/run/crio/crio.sock: connect: no such file or directory": "crio",
	} {
		got := Record(nil, &event.Record{Text: text, Raw: text, Wanted: true})
		require.Len(t, got, 1, text)
		require.Equal(t, component, got[0].Component)
	}
	kubelet := "rpc error: code = Unknown desc = " + docker
	require.Empty(t, Record(nil, &event.Record{Unit: "my-operator", Text: kubelet, Raw: kubelet, Wanted: true}), "somebody else's line")
	other := "dial unix /var/lib/mysql/mysql.sock: connect: connection refused"
	require.Empty(t, Record(nil, &event.Record{Text: other, Raw: other, Wanted: true}))
}

// A signal that was refused ended nothing.
func TestRefusedSignal(t *testing.T) {
	text := "failed to kill container: unknown error after kill: runc did not terminate successfully: exit status 1: unable to signal init: operation not permitted\n: unknown"
	e, ok := runcFailed(&event.Record{Text: text, Raw: text})
	require.True(t, ok)
	require.Equal(t, "runc failed: its signal was refused", e.Text)
	require.Equal(t, "signal", e.FieldText(event.FieldReason))
}
