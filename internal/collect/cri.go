package collect

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// maxAsked bounds the containers, and the sandboxes, whose status is asked.
const maxAsked = 500

// grpcSilent says that an error of gRPC means silence: the deadline ended the call, not the server, or there is no connection.
func grpcSilent(err error) bool {
	code := status.Code(err)
	return code == codes.DeadlineExceeded || code == codes.Unavailable
}

// askCRI makes the latency matrix of a runtime: calls that need no lock, lists that need all of them, and the status
// of each container and sandbox, one call at a time. IDs are those that cgroups name, for when the list does not answer.
func askCRI(t *task, out *frames) {
	w := t.Items[0]
	out.begin(w.Name, w.Source)
	var g guard
	path := strings.TrimPrefix(w.Source, "unix://")
	if r := g.try(t.Bound, func() error { return isSocket(path) }); r.outcome != "" {
		out.end(w.Name, r)
		return
	}
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		out.end(w.Name, resultOf(err))
		return
	}
	m := matrix{asker: asker{api: "cri", endpoint: path, bound: t.Bound, out: writerOf{out, w.Name}}, client: cri.NewRuntimeServiceClient(conn)}
	if m.version() {
		out.file(strings.TrimSuffix(w.Name, ".jsonl")+"-version.txt", w.Source, []byte(m.told))
	} else if m.refused {
		out.end(w.Name, result{outcome: bundle.Absent, why: "it does not speak the CRI, v1"})
		return
	}
	m.status()
	containers := m.containers()
	var sandboxes []string
	if !m.enough() {
		sandboxes = m.sandboxes()
	}
	if containers == nil {
		containers, sandboxes = t.IDs, nil // an id of a sandbox answers NotFound at once
	}
	r := result{}
	for i, ids := range [][]string{containers, sandboxes} {
		for n, id := range ids {
			if m.enough() || n == maxAsked {
				r.why = fmt.Sprintf("not all of %d were asked: %d calls had no answer", len(ids), m.silent)
				break
			}
			if before := m.silent; !m.statusOf(id, i == 1) && m.silent > before {
				out.note(runtimeNote{Silent: id})
			}
		}
	}
	if m.silent > 0 {
		out.note(runtimeNote{Unanswered: m.silent})
	}
	out.end(w.Name, r)
}

// runtimeNote is what later steps need to know of a runtime.
type runtimeNote struct {
	Silent     string `json:",omitempty"` // container or sandbox whose status had no answer
	Unanswered int    `json:",omitempty"` // calls without an answer
}

// matrix asks a runtime.
type matrix struct {
	asker
	client  cri.RuntimeServiceClient
	told    string // its version, as crictl prints it
	refused bool   // it knows no such service
}

func (m *matrix) version() bool {
	return m.first(question{method: "Version", ask: func(ctx context.Context) (map[string]string, error) {
		v, err := m.client.Version(ctx, &cri.VersionRequest{})
		m.refused = status.Code(err) == codes.Unimplemented
		if err != nil {
			return nil, err
		}
		m.told = fmt.Sprintf("Version:  %s\nRuntimeName:  %s\nRuntimeVersion:  %s\nRuntimeApiVersion:  %s\n", v.Version, v.RuntimeName, v.RuntimeVersion, v.RuntimeApiVersion)
		return map[string]string{"runtime": v.RuntimeName, "version": v.RuntimeVersion}, nil
	}})
}

func (m *matrix) status() {
	m.ask(question{method: "Status", ask: func(ctx context.Context) (map[string]string, error) {
		s, err := m.client.Status(ctx, &cri.StatusRequest{})
		if err != nil {
			return nil, err
		}
		detail := map[string]string{}
		for _, c := range s.GetStatus().GetConditions() {
			detail[c.Type] = strings.TrimSpace(fmt.Sprintf("%t %s %.200s", c.Status, c.Reason, c.Message))
		}
		return detail, nil
	}})
}

// sandboxes are the ids of all sandboxes; nil when the list did not answer.
func (m *matrix) sandboxes() []string {
	answer := make(chan []string, 1)
	if !m.ask(question{method: "ListPodSandbox", ask: func(ctx context.Context) (map[string]string, error) {
		l, err := m.client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
		ids := make([]string, 0, len(l.GetItems()))
		for _, s := range l.GetItems() {
			ids = append(ids, s.Id)
		}
		answer <- ids
		return map[string]string{"count": fmt.Sprint(len(ids))}, err
	}}) {
		return nil
	}
	return <-answer
}

// containers are the ids of all containers; nil when the list did not answer.
func (m *matrix) containers() []string {
	answer := make(chan []string, 1)
	if !m.ask(question{method: "ListContainers", ask: func(ctx context.Context) (map[string]string, error) {
		l, err := m.client.ListContainers(ctx, &cri.ListContainersRequest{})
		ids := make([]string, 0, len(l.GetContainers()))
		for _, c := range l.GetContainers() {
			ids = append(ids, c.Id)
		}
		answer <- ids
		return map[string]string{"count": fmt.Sprint(len(ids))}, err
	}}) {
		return nil
	}
	return <-answer
}

// statusOf asks for one container or one sandbox, and says whether there was an answer. Verbose answers hold environments: they are not asked for.
func (m *matrix) statusOf(id string, sandbox bool) bool {
	if sandbox {
		return m.ask(question{method: "PodSandboxStatus", sandbox: id, ask: func(ctx context.Context) (map[string]string, error) {
			s, err := m.client.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: id})
			if err != nil {
				return nil, err
			}
			meta := s.GetStatus().GetMetadata()
			return map[string]string{"state": s.GetStatus().GetState().String(), "pod": meta.GetNamespace() + "/" + meta.GetName(), "uid": meta.GetUid()}, nil
		}})
	}
	return m.ask(question{method: "ContainerStatus", container: id, ask: func(ctx context.Context) (map[string]string, error) {
		s, err := m.client.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id})
		if err != nil {
			return nil, err
		}
		c := s.GetStatus()
		return map[string]string{
			"state": c.GetState().String(), "name": c.GetMetadata().GetName(), "pod": c.GetLabels()["io.kubernetes.pod.namespace"] + "/" + c.GetLabels()["io.kubernetes.pod.name"],
			"created": time.Unix(0, c.GetCreatedAt()).UTC().Format(time.RFC3339Nano),
		}, nil
	}})
}
