// Package cri asks a container runtime over its socket, by the CRI, v1: the calls and the fields
// that collect needs, and no others. grpc-go and the generated code of all the CRI would be a
// sixteenth of the program.
package cri

import (
	"context"
	"net"
	"net/http"

	"connectrpc.com/connect"
)

// Version is what a runtime says of itself.
type Version struct{ Version, RuntimeName, RuntimeVersion, RuntimeAPIVersion string }

// Condition is one of the conditions of a runtime, as RuntimeReady.
type Condition struct {
	Type, Reason, Message string
	Status                bool
}

// Sandbox is the status of a sandbox.
type Sandbox struct {
	State               SandboxState
	Pod, Namespace, UID string
}

// Container is the status of a container.
type Container struct {
	State   ContainerState
	Name    string
	Created int64 // nanoseconds since 1970
	Labels  map[string]string
}

// Client asks the runtime at a socket. It connects when it is asked for the first time.
type Client struct{ http *http.Client }

// NewClient prepares to ask the runtime at a socket.
func NewClient(path string) *Client {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
		Protocols: new(http.Protocols),
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	return &Client{&http.Client{Transport: transport}}
}

// Version asks for the runtime's version.
func (c *Client) Version(ctx context.Context) (Version, error) {
	v, err := call[version](ctx, c, "Version", request{})
	return Version(v), err
}

// Status asks for the runtime's conditions.
func (c *Client) Status(ctx context.Context) ([]Condition, error) {
	s, err := call[status](ctx, c, "Status", request{})
	return s.conditions, err
}

// ListContainers asks for the ids of all containers.
func (c *Client) ListContainers(ctx context.Context) ([]string, error) {
	l, err := call[list](ctx, c, "ListContainers", request{})
	return l.ids, err
}

// ListPodSandbox asks for the ids of all sandboxes.
func (c *Client) ListPodSandbox(ctx context.Context) ([]string, error) {
	l, err := call[list](ctx, c, "ListPodSandbox", request{})
	return l.ids, err
}

// ContainerStatus asks for a container. It does not ask for a verbose answer: that contains
// environments.
func (c *Client) ContainerStatus(ctx context.Context, id string) (Container, error) {
	s, err := call[containerStatus](ctx, c, "ContainerStatus", request{id})
	return Container(s.inner), err
}

// PodSandboxStatus asks for a sandbox.
func (c *Client) PodSandboxStatus(ctx context.Context, id string) (Sandbox, error) {
	s, err := call[sandboxStatus](ctx, c, "PodSandboxStatus", request{id})
	return Sandbox(s.inner), err
}

// maxAnswer bounds an answer, in bytes, as kubelet does.
const maxAnswer = 16 << 20

// call asks one question. Its error is a [*Error].
func call[A any, M interface {
	*A
	message
}](ctx context.Context, c *Client, method string, r request) (answer A, err error) {
	client := connect.NewClient[request, A](c.http, "http://localhost/runtime.v1.RuntimeService/"+method,
		connect.WithGRPC(), connect.WithCodec(codec{}), connect.WithReadMaxBytes(maxAnswer))
	response, err := client.CallUnary(ctx, connect.NewRequest(&r))
	if err != nil {
		return answer, &Error{connect.CodeOf(err), err}
	}
	return *response.Msg, nil
}
