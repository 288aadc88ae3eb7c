package messages

import (
	"strings"
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
		got := Append(nil, &event.Record{Text: text, Raw: text, Wanted: true})
		require.Len(t, got, 1, text)
		require.Equal(t, event.KindCommandFailed, got[0].Kind)
		require.Equal(t, "dockerd", got[0].Component)
		require.Equal(t, text, got[0].Evidence[0].Text)
	}
	for text, component := range map[string]string{
		"rpc error: code = Unavailable desc = " + dialed:                        "containerd",
		"dial unix /var/run/crio/crio.sock: connect: no such file or directory": "crio",
	} {
		got := Append(nil, &event.Record{Text: text, Raw: text, Wanted: true})
		require.Len(t, got, 1, text)
		require.Equal(t, component, got[0].Component)
	}
	kubelet := "rpc error: code = Unknown desc = " + docker
	require.Empty(t, Append(nil, &event.Record{Unit: "my-operator", Text: kubelet, Raw: kubelet, Wanted: true}), "somebody else's line")
	other := "dial unix /var/lib/mysql/mysql.sock: connect: connection refused"
	require.Empty(t, Append(nil, &event.Record{Text: other, Raw: other, Wanted: true}))
}

// A heading of prose is nobody's line of a log, but somebody's word: what it says of a command
// counts.
func TestHeading(t *testing.T) {
	for _, text := range []string{"the container runtime is down on two nodes", "PLEG is not healthy: pleg was last seen active 4m10s ago; threshold is 3m0s"} {
		require.NotEmpty(t, Append(nil, &event.Record{Text: text, Raw: text}), text)
		for _, mark := range []string{"# ", "### ", "###### "} {
			require.Empty(t, Append(nil, &event.Record{Text: mark + text, Raw: mark + text}), text)
		}
		require.NotEmpty(t, Append(nil, &event.Record{Unit: "kubelet", Text: "# " + text, Raw: "# " + text}), text)
	}
	require.NotEmpty(t, Append(nil, &event.Record{Text: "## docker ps hangs", Raw: "## docker ps hangs"}))
}

// TestDockerInfoInText: lines of docker info in a ticket that is mostly something else.
func TestDockerInfoInText(t *testing.T) {
	for in, want := range map[string]string{
		"Server Version: 19.03.11": "docker.version = 19.03.11", " Cgroup Driver: systemd": "docker.cgroup-driver = systemd",
		"the Server Version: 19.03.11": "", "Server Version: none": "", "Containers: 3": "",
	} {
		r := event.Record{Text: in, Raw: in, Wanted: true}
		var got strings.Builder
		for _, e := range Append(nil, &r) {
			got.WriteString(e.Text)
		}
		require.Equal(t, want, got.String(), in)
	}
}
