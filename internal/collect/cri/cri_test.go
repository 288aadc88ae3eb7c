package cri

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtime answers as the server of grpc-go and the messages of Kubernetes do.
type runtime struct {
	api.UnimplementedRuntimeServiceServer
}

var sandboxOfTest = &api.PodSandboxStatus{
	Id: "s1", State: api.PodSandboxState_SANDBOX_NOTREADY, CreatedAt: 7, RuntimeHandler: "runc",
	Metadata: &api.PodSandboxMetadata{Name: "web-0", Uid: "u-1", Namespace: "shop", Attempt: 3},
	Network:  &api.PodSandboxNetworkStatus{Ip: "10.0.0.1"}, Labels: map[string]string{"a": "b"},
}

var containerOfTest = &api.ContainerStatus{
	Id: "c1", State: api.ContainerState_CONTAINER_EXITED, CreatedAt: 1764000000123456789, StartedAt: 5, FinishedAt: 6, ExitCode: -1,
	Metadata: &api.ContainerMetadata{Name: "app", Attempt: 2}, Image: &api.ImageSpec{Image: "x"}, Reason: "OOMKilled", LogPath: "/var/log",
	Labels:      map[string]string{"io.kubernetes.pod.name": "web-0", "io.kubernetes.pod.namespace": "shop", "empty": ""},
	Annotations: map[string]string{"c": "d"}, Mounts: []*api.Mount{{ContainerPath: "/data"}},
}

func (runtime) Version(context.Context, *api.VersionRequest) (*api.VersionResponse, error) {
	return &api.VersionResponse{Version: "0.1.0", RuntimeName: "containerd", RuntimeVersion: "v2.1", RuntimeApiVersion: "v1"}, nil
}

func (runtime) Status(context.Context, *api.StatusRequest) (*api.StatusResponse, error) {
	return &api.StatusResponse{Info: map[string]string{"config": "{}"}, Status: &api.RuntimeStatus{Conditions: []*api.RuntimeCondition{
		{Type: "RuntimeReady", Status: true}, {Type: "NetworkReady", Reason: "NetworkPluginNotReady", Message: "cni plugin not initialized"},
	}}}, nil
}

func (runtime) ListPodSandbox(context.Context, *api.ListPodSandboxRequest) (*api.ListPodSandboxResponse, error) {
	return &api.ListPodSandboxResponse{Items: []*api.PodSandbox{{Id: "s1", Metadata: sandboxOfTest.Metadata}, {Id: "s2"}}}, nil
}

func (runtime) PodSandboxStatus(_ context.Context, r *api.PodSandboxStatusRequest) (*api.PodSandboxStatusResponse, error) {
	if r.PodSandboxId != "s1" || r.Verbose {
		return nil, errors.New("asked for " + r.String())
	}
	return &api.PodSandboxStatusResponse{Status: sandboxOfTest, Timestamp: 9}, nil
}

func (runtime) ContainerStatus(ctx context.Context, r *api.ContainerStatusRequest) (*api.ContainerStatusResponse, error) {
	switch {
	case r.ContainerId == "c1" && !r.Verbose:
		return &api.ContainerStatusResponse{Status: containerOfTest, Info: map[string]string{"pid": "1"}}, nil
	case r.ContainerId == "new":
		return &api.ContainerStatusResponse{Status: &api.ContainerStatus{State: 17}}, nil
	case r.ContainerId == "hung":
		<-ctx.Done()
		return nil, ctx.Err()
	case r.ContainerId == "large":
		return &api.ContainerStatusResponse{Status: &api.ContainerStatus{Message: strings.Repeat("x", maxAnswer)}}, nil
	}
	return nil, errors.New("no such container")
}

func listen(t *testing.T) (net.Listener, *Client) {
	path := filepath.Join(t.TempDir(), "cri.sock")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l, NewClient(path)
}

func serve(t *testing.T) *Client {
	l, client := listen(t)
	s := grpc.NewServer()
	api.RegisterRuntimeServiceServer(s, runtime{})
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return client
}

func TestAnswers(t *testing.T) {
	client, ctx := serve(t), t.Context()
	v, err := client.Version(ctx)
	require.NoError(t, err)
	require.Equal(t, Version{"0.1.0", "containerd", "v2.1", "v1"}, v)
	conditions, err := client.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, []Condition{
		{Type: "RuntimeReady", Status: true}, {Type: "NetworkReady", Reason: "NetworkPluginNotReady", Message: "cni plugin not initialized"},
	}, conditions)
	ids, err := client.ListPodSandbox(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"s1", "s2"}, ids)
	s, err := client.PodSandboxStatus(ctx, "s1")
	require.NoError(t, err)
	require.Equal(t, Sandbox{1, "web-0", "shop", "u-1"}, s)
	require.Equal(t, sandboxOfTest.State.String(), s.State.String())
	c, err := client.ContainerStatus(ctx, "c1")
	require.NoError(t, err)
	require.Equal(t, Container{2, "app", containerOfTest.CreatedAt, containerOfTest.Labels}, c)
	require.Equal(t, containerOfTest.State.String(), c.State.String())
	c, err = client.ContainerStatus(ctx, "new")
	require.NoError(t, err)
	require.Equal(t, "17", c.State.String())
}

func TestErrors(t *testing.T) {
	client := serve(t)
	const soon, enough = 200 * time.Millisecond, time.Minute
	ask := func(client *Client, id string, bound time.Duration) *Error {
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		begun := time.Now()
		_, err := client.ContainerStatus(ctx, id)
		failed, ok := errors.AsType[*Error](err)
		require.True(t, ok, "%v", err)
		require.Less(t, time.Since(begun), bound+5*time.Second)
		return failed
	}
	failed := ask(client, "none", enough)
	require.Equal(t, "rpc error: code = Unknown desc = no such container", failed.Error())
	require.False(t, failed.IsSilence() || failed.IsUnknownCall())
	for range 10 { // the runtime is told of the deadline, and may be the one who keeps it
		failed := ask(client, "hung", soon)
		require.True(t, failed.IsSilence(), failed.Error())
	}
	failed = ask(client, "large", enough)
	require.Contains(t, failed.Error(), "rpc error: code = ResourceExhausted desc = ")
	require.False(t, failed.IsSilence())
	_, err := client.ListContainers(t.Context())
	failed, _ = errors.AsType[*Error](err)
	require.True(t, failed.IsUnknownCall(), failed.Error())

	failed = ask(NewClient(filepath.Join(t.TempDir(), "none")), "c1", enough)
	require.Regexp(t, "^rpc error: code = Unavailable desc = .*no such file", failed.Error())
	require.True(t, failed.IsSilence())

	l, client := listen(t) // it accepts by its backlog, and never answers
	failed = ask(client, "c1", soon)
	require.Contains(t, failed.Error(), "code = DeadlineExceeded desc = ")
	go func() { _ = http.Serve(l, http.NotFoundHandler()) }() //nolint:gosec // a test
	failed = ask(NewClient(l.Addr().String()), "c1", enough)
	require.True(t, failed.IsSilence(), "it does not speak gRPC: %s", failed)
}

// What the generated code of the CRI reads is read here, too; whatever a runtime sends, nothing
// breaks.
func FuzzMessage(f *testing.F) {
	for _, m := range []proto.Message{
		&api.ContainerStatusResponse{Status: containerOfTest}, &api.PodSandboxStatusResponse{Status: sandboxOfTest},
	} {
		text, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for ours, theirs := range map[message]proto.Message{
			new(containerStatus): new(api.ContainerStatusResponse), new(sandboxStatus): new(api.PodSandboxStatusResponse),
			new(status): new(api.StatusResponse), new(version): new(api.VersionResponse), new(list): new(api.ListContainersResponse),
		} {
			if proto.Unmarshal(text, theirs) == nil {
				require.NoError(t, readMessage(text, ours), "%T", ours)
			}
		}
	})
}
