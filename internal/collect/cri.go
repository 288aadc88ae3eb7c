//go:build linux

package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/cri"
)

// maxAsked bounds the containers, and the sandboxes, whose status is asked.
const maxAsked = 500

// newMatrix prepares to ask the runtime at a socket.
func newMatrix(t *task, path string, out itemWriter) *matrix {
	return &matrix{
		asker:  asker{api: "cri", endpoint: path, bound: t.Bound, out: out},
		client: cri.NewClient(path),
	}
}

// askCRIStatus asks for the status of a runtime. It runs the network plugins for it where they are
// of CNI 1.1 (STATUS, libcni GetStatusNetworkList).
func askCRIStatus(t *task, path string, out itemWriter) result {
	m := newMatrix(t, path, out)
	if m.askVersion() {
		m.askStatus()
	}
	return result{}
}

// askCRI measures the calls of a runtime: one that needs no lock, lists that need all of them, and
// the status of each container and sandbox, one call at a time. The task's IDs are from cgroups,
// for when the list does not answer.
func askCRI(t *task, path string, out itemWriter) result {
	m := newMatrix(t, path, out)
	if m.askVersion() {
		out.sendFile(strings.TrimSuffix(out.name, ".jsonl")+"-version.txt", t.Items[0].Source, []byte(m.told))
	} else if m.refused {
		return result{outcome: bundle.Absent, why: "it does not speak the CRI, v1"}
	}
	containers := m.listContainers()
	var sandboxes []string
	if !m.isDone() {
		sandboxes = m.listSandboxes()
	}
	if containers == nil {
		// for the id of a sandbox the answer is NotFound, at once
		containers, sandboxes = t.IDs, nil
	}
	r := result{}
	for i, ids := range [][]string{containers, sandboxes} {
		why := m.askEach(ids, func(id string) {
			if before := m.silent; !m.askStatusOf(id, i == 1) && m.silent > before {
				out.sendNote(note{Silent: id})
			}
		})
		r.why = cmp.Or(why, r.why)
	}
	if m.silent > 0 {
		out.sendNote(note{Unanswered: m.silent})
		out.sendNote(note{Mute: t.Items[0].Source})
	}
	return r
}

// matrix asks a runtime.
type matrix struct {
	asker
	client  *cri.Client
	told    string // its version, as crictl prints it
	refused bool   // it does not have this service
}

func (m *matrix) askVersion() bool {
	return m.askFirst(question{method: "Version", ask: func(ctx context.Context) (map[string]string, error) {
		v, err := m.client.Version(ctx)
		failed, ok := errors.AsType[*cri.Error](err)
		m.refused = ok && failed.IsUnknownCall()
		if err != nil {
			return nil, err
		}
		m.told = fmt.Sprintf("Version:  %s\nRuntimeName:  %s\nRuntimeVersion:  %s\nRuntimeApiVersion:  %s\n", v.Version,
			v.RuntimeName, v.RuntimeVersion, v.RuntimeAPIVersion)
		return map[string]string{"runtime": v.RuntimeName, "version": v.RuntimeVersion}, nil
	}})
}

func (m *matrix) askStatus() {
	m.ask(question{method: "Status", ask: func(ctx context.Context) (map[string]string, error) {
		conditions, err := m.client.Status(ctx)
		if err != nil {
			return nil, err
		}
		detail := map[string]string{}
		for _, c := range conditions {
			detail[c.Type] = strings.TrimSpace(fmt.Sprintf("%t %s %.200s", c.Status, c.Reason, c.Message))
		}
		return detail, nil
	}})
}

// listSandboxes returns the ids of all sandboxes; nil when the list did not answer.
func (m *matrix) listSandboxes() []string {
	return m.listIDs("ListPodSandbox", m.client.ListPodSandbox)
}

// listContainers returns the ids of all containers; nil when the list did not answer.
func (m *matrix) listContainers() []string {
	return m.listIDs("ListContainers", m.client.ListContainers)
}

// listIDs asks for a list. It returns nil when the list did not answer.
func (m *matrix) listIDs(method string, list func(context.Context) ([]string, error)) []string {
	ids, _ := askFor(&m.asker, question{method: method},
		func(ctx context.Context) ([]string, map[string]string, error) {
			ids, err := list(ctx)
			return append([]string{}, ids...), map[string]string{"count": fmt.Sprint(len(ids))}, err
		})
	return ids
}

// askStatusOf asks for the status of one container or one sandbox, and says whether there was an
// answer.
func (m *matrix) askStatusOf(id string, sandbox bool) bool {
	if sandbox {
		return m.ask(question{
			method: "PodSandboxStatus", sandbox: id,
			ask: func(ctx context.Context) (map[string]string, error) {
				s, err := m.client.PodSandboxStatus(ctx, id)
				if err != nil {
					return nil, err
				}
				return map[string]string{"state": s.State.String(), "pod": s.Namespace + "/" + s.Pod, "uid": s.UID}, nil
			},
		})
	}
	return m.ask(question{
		method: "ContainerStatus", container: id,
		ask: func(ctx context.Context) (map[string]string, error) {
			c, err := m.client.ContainerStatus(ctx, id)
			if err != nil {
				return nil, err
			}
			return map[string]string{
				"state": c.State.String(), "name": c.Name,
				"pod":     c.Labels["io.kubernetes.pod.namespace"] + "/" + c.Labels["io.kubernetes.pod.name"],
				"created": time.Unix(0, c.Created).UTC().Format(time.RFC3339Nano),
			}, nil
		},
	})
}
