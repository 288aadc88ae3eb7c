package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// fakeCluster is an API server with one node, and the kubelet behind it. It allows what
// docs/collect/rbac.yaml allows, and nothing else.
type fakeCluster struct {
	*httptest.Server
	t          *testing.T
	kubeconfig string
	allowed    map[string]bool // "get nodes/proxy"

	mu    sync.Mutex
	asked []string // rights that were used
	// what the node does
	ready     bool
	noQueries bool          // enableSystemLogQuery is false
	stranger  bool          // the kubelet does not know the API server
	hang      string        // part of a path that never answers
	ahead     time.Duration // of the node's clock
	status    map[string]int
	// the pod
	pods      map[string]map[string]any
	lastPod   map[string]any
	admission string                           // why the API server does not take it
	reject    string                           // why the kubelet does not take it
	podLog    func(args []string, w io.Writer) // what the pod prints; nil never starts
	deleted   []string
	graces    []string
	breaks    int // how often following the log breaks off
}

const fakeNode = "node-1"

// rbacRules are the rights that a file gives, as kubectl auth can-i writes them.
func rbacRules(t *testing.T, path string) map[string]bool {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	allowed := map[string]bool{}
	for dec := yaml.NewDecoder(f); ; {
		var doc struct {
			Kind  string `yaml:"kind"`
			Rules []struct {
				APIGroups []string `yaml:"apiGroups"`
				Resources []string `yaml:"resources"`
				Verbs     []string `yaml:"verbs"`
			} `yaml:"rules"`
		}
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return allowed
		}
		require.NoError(t, err)
		for _, rule := range doc.Rules {
			require.Equal(t, []string{""}, rule.APIGroups)
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					allowed[verb+" "+resource] = true
				}
			}
		}
	}
}

func newFakeCluster(t *testing.T) *fakeCluster {
	t.Helper()
	f := &fakeCluster{t: t, allowed: rbacRules(t, "../../docs/collect/rbac.yaml"), pods: map[string]map[string]any{}, status: map[string]int{}}
	f.Server = httptest.NewTLSServer(f)
	t.Cleanup(f.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	f.kubeconfig = filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(f.kubeconfig, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: %[1]s-context
clusters:
  - name: %[1]s-cluster
    cluster: {server: %[2]q, certificate-authority-data: %[3]s}
contexts:
  - name: %[1]s-context
    context: {cluster: %[1]s-cluster, user: %[1]s-user}
users:
  - name: %[1]s-user
    user: {token: %[1]s-token}
`, planted, f.URL, base64.StdEncoding.EncodeToString(ca)), 0o600))
	return f
}

// rightOf is the right that a request needs, as the API server derives it from its path.
func rightOf(r *http.Request) string {
	verb := map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodDelete: "delete"}[r.Method]
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
	if parts[0] == "namespaces" {
		parts = parts[2:]
	}
	resource := parts[0]
	if len(parts) == 1 && verb == "get" {
		verb = "list"
	}
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return verb + " " + resource
}

func writeStatus(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code})
}

// ServeHTTP implements http.Handler.
func (f *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+planted+"-token" {
		writeStatus(w, http.StatusUnauthorized, "Unauthorized")
		return
	}
	right := rightOf(r)
	f.mu.Lock()
	f.asked = append(f.asked, right)
	allowed, hang, status := f.allowed[right], f.hang, 0
	for part, code := range f.status {
		if strings.Contains(r.URL.Path, part) {
			status = code
		}
	}
	f.mu.Unlock()
	path, proxied := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/"+fakeNode+"/proxy")
	switch {
	case !allowed:
		verb, resource, _ := strings.Cut(right, " ")
		writeStatus(w, http.StatusForbidden, fmt.Sprintf("nodes %q is forbidden: User %q cannot %s resource %q in API group \"\" at the cluster scope", fakeNode, planted+"-user", verb, resource))
	case r.Method == http.MethodPost && f.admission != "":
		writeStatus(w, http.StatusForbidden, f.admission)
	case hang != "" && strings.Contains(r.URL.Path, hang):
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	case status != 0:
		writeStatus(w, status, "error trying to reach service: dial tcp 10.0.0.7:10250: connect: connection refused")
	case proxied && f.stranger:
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
	case proxied:
		w.Header().Set("Date", time.Now().Add(f.ahead).UTC().Format(http.TimeFormat))
		f.serveKubelet(w, r, path)
	case strings.HasPrefix(r.URL.Path, "/api/v1/nodes/"):
		f.serveNode(w, r)
	case r.URL.Path == "/api/v1/events":
		f.serveEvents(w, r)
	case strings.Contains(r.URL.Path, "/pods"):
		f.servePods(w, r)
	default:
		writeStatus(w, http.StatusNotFound, "the server could not find the requested resource")
	}
}

// ago is a moment of the cluster, as its objects have it.
func (f *fakeCluster) ago(d time.Duration) string {
	return time.Now().Add(f.ahead - d).UTC().Format(time.RFC3339)
}

func (f *fakeCluster) serveNode(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/nodes/"+fakeNode {
		writeStatus(w, http.StatusNotFound, `nodes "other" not found`)
		return
	}
	status, reason, message := "True", "KubeletReady", "kubelet is posting ready status"
	if !f.ready {
		status, reason, message = "False", "KubeletNotReady", "PLEG is not healthy: pleg was last seen active 54m50s ago; threshold is 3m0s"
	}
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	if r.URL.Query().Has("pretty") {
		out.SetIndent("", "  ")
	}
	_ = out.Encode(map[string]any{
		"kind": "Node", "apiVersion": "v1",
		"metadata": map[string]any{"name": fakeNode, "labels": map[string]string{"topology.kubernetes.io/zone": "eu-west-1a", "topology.kubernetes.io/region": "eu-west-1"}},
		"spec":     map[string]any{"providerID": "aws:///eu-west-1a/i-0ccc"},
		"status": map[string]any{
			"conditions": []any{map[string]any{
				"type": "Ready", "status": status, "reason": reason, "message": message,
				"lastHeartbeatTime": f.ago(10 * time.Second), "lastTransitionTime": f.ago(52 * time.Minute),
			}},
			"nodeInfo": map[string]any{"kubeletVersion": "v1.11.5", "containerRuntimeVersion": "containerd://2.1.4", "kernelVersion": "6.12.0", "osImage": "Debian GNU/Linux 13"},
		},
	})
}

// serveEvents serves two pages of Events of kubelets: the API server does not know which node is
// meant.
func (f *fakeCluster) serveEvents(w http.ResponseWriter, r *http.Request) {
	event := func(kind, name, host, reason, message string) map[string]any {
		return map[string]any{
			"kind": "Event", "apiVersion": "v1", "metadata": map[string]any{"name": name + "." + reason, "namespace": "default"},
			"involvedObject": map[string]any{"kind": kind, "name": name, "namespace": "default"},
			"reason":         reason, "message": message, "type": "Warning", "count": 3,
			"source":         map[string]any{"component": "kubelet", "host": host},
			"firstTimestamp": f.ago(52 * time.Minute), "lastTimestamp": f.ago(time.Minute),
		}
	}
	list := map[string]any{"kind": "EventList", "apiVersion": "v1", "metadata": map[string]any{}}
	switch q := r.URL.Query(); {
	case q.Get("fieldSelector") == "involvedObject.kind=Node,involvedObject.name="+fakeNode:
		list["items"] = []any{event("Node", fakeNode, fakeNode, "NodeNotReady", "Node "+fakeNode+" status is now: NodeNotReady")}
	case q.Get("fieldSelector") == "source=kubelet" && q.Get("continue") == "":
		list["metadata"] = map[string]any{"continue": "next"}
		list["items"] = []any{
			event("Pod", "web-1", fakeNode, "FailedKillPod", "error killing pod: context deadline exceeded"),
			event("Pod", "web-2", "node-2", "FailedKillPod", "of another node"),
		}
	case q.Get("continue") == "next":
		list["items"] = []any{event("Pod", "web-3", "node-2", "Killing", "of another node")}
	default:
		writeStatus(w, http.StatusBadRequest, "unknown selector "+q.Encode())
		return
	}
	_ = json.NewEncoder(w).Encode(list)
}

func (f *fakeCluster) serveKubelet(w http.ResponseWriter, r *http.Request, path string) {
	serve := func(file string) {
		http.ServeFile(w, r, filepath.Join("../../testdata/seed-kubelet-channel/bundle", file))
	}
	switch path {
	case "/debug/pprof/goroutine":
		serve("kubelet.goroutines")
	case "/healthz":
		_, _ = io.WriteString(w, "ok")
	case "/metrics":
		_, _ = io.WriteString(w, "# TYPE kubelet_running_pods gauge\nkubelet_running_pods 17\n")
	case "/configz":
		_, _ = io.WriteString(w, `{"kubeletconfig":{"maxPods":123,"staticPodURLHeader":{"Authorization":["Bearer abcdefgh12345678"]}}}`)
	case "/stats/summary":
		_, _ = io.WriteString(w, "{\n \"node\": {\n  \"nodeName\": \"node-1\",\n  \"rlimit\": {\n   \"time\": \"2026-11-20T18:30:00Z\",\n   \"maxpid\": 32768,\n   \"curproc\": 512\n  }\n }\n}\n")
	case "/logs/":
		unit := r.URL.Query().Get("query")
		if f.noQueries {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<pre>\n<a href=\"kern.log\">kern.log</a>\n</pre>\n")
			return
		}
		lines, err := strconv.Atoi(r.URL.Query().Get("tailLines"))
		if _, wrong := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime")); err != nil || wrong != nil || lines > 100_000 { // as a kubelet 1.36
			http.Error(w, "tailLines: Invalid value", http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		if unit == "kubelet" {
			writeStalledKubelet(w, time.Now().Add(f.ahead))
			return
		}
		if unit == "containerd" {
			_, _ = io.WriteString(w, "-- No entries --\n")
			return
		}
		_, _ = fmt.Fprintf(w, "\noptions present and query resolved to log files for [%s]\n", unit)
	case "/logs/kern.log":
		http.ServeContent(w, r, "kern.log", time.Time{}, strings.NewReader(strings.Repeat("x\n", 1000)))
	default:
		http.NotFound(w, r)
	}
}

// writeStalledKubelet writes the journal of a kubelet whose relist has not come back for 55
// minutes, as journalctl --utc -o short-precise prints it.
func writeStalledKubelet(w io.Writer, now time.Time) {
	begun := now.UTC().Add(-55 * time.Minute)
	for at := begun.Add(3 * time.Minute); at.Before(now); at = at.Add(5 * time.Second) {
		fmt.Fprintf(w, "%s %s kubelet[4410]: I%s    4410 kubelet.go:1758] skipping pod synchronization - [PLEG is not healthy: pleg was last seen active %s ago; threshold is 3m0s]\n",
			at.Format("Jan 02 15:04:05.000000"), fakeNode, at.Format("0102 15:04:05.000000"), at.Sub(begun))
	}
}

// servePods makes, shows and deletes pods.
func (f *fakeCluster) servePods(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/") // namespace, pods, name, log
	if r.Method == http.MethodPost {
		var pod map[string]any
		if json.NewDecoder(r.Body).Decode(&pod) != nil || len(parts) != 2 {
			writeStatus(w, http.StatusBadRequest, "no pod")
			return
		}
		f.pods[pod["metadata"].(map[string]any)["name"].(string)] = pod
		f.lastPod = pod
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(pod)
		return
	}
	pod := f.pods[parts[2]]
	switch {
	case pod == nil:
		writeStatus(w, http.StatusNotFound, "no such pod")
	case r.Method == http.MethodDelete:
		delete(f.pods, parts[2])
		f.deleted = append(f.deleted, parts[2])
		f.graces = append(f.graces, r.URL.Query().Get("gracePeriodSeconds"))
		_ = json.NewEncoder(w).Encode(pod)
	case len(parts) == 4:
		var args []string
		for _, arg := range pod["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["args"].([]any) {
			args = append(args, arg.(string))
		}
		do, out := f.podLog, io.Writer(w)
		if f.breaks > 0 {
			f.breaks--
			out = &breaking{w: w, left: 9000}
		}
		func() {
			f.mu.Unlock()
			defer f.mu.Lock()
			do(args, out)
		}()
	default:
		phase, state := "Pending", map[string]any{"waiting": map[string]any{"reason": "ContainerCreating"}}
		if f.podLog != nil {
			phase, state = "Running", map[string]any{"running": map[string]any{}}
		}
		status := map[string]any{"phase": phase, "containerStatuses": []any{map[string]any{"state": state}}}
		if f.reject != "" {
			status = map[string]any{"phase": "Failed", "reason": "OutOfpods", "message": f.reject}
		}
		shown := map[string]any{"kind": "Pod", "status": status}
		_ = json.NewEncoder(w).Encode(shown)
	}
}

// breaking is a connection that breaks off.
type breaking struct {
	w    io.Writer
	left int
}

// Write implements io.Writer.
func (b *breaking) Write(p []byte) (int, error) {
	if len(p) > b.left {
		_, _ = b.w.Write(p[:b.left])
		panic(http.ErrAbortHandler)
	}
	b.left -= len(p)
	return b.w.Write(p)
}

// used are the rights that were used, each once.
func (f *fakeCluster) used() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Clone(f.asked)
	slices.Sort(all)
	return slices.Compact(all)
}
