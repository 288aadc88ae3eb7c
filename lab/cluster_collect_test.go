//go:build lab

package lab

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

const (
	// responders is the group that docs/collect/rbac.yaml gives rights to, podNamespace where it lets
	// the group make pods.
	responders   = "node-responders"
	podNamespace = "plegdiag"
)

// withPod are the arguments of a collection that also runs in a pod of the node.
var withPod = []string{"--debug-pod", "--image", plegdiagImage, "--namespace", podNamespace}

// collected is what became of collect --node.
type collected struct {
	bundle string
	said   string // on standard error
	took   time.Duration
	err    error
}

// collectThrough runs collect --node on the host, for a user who has a client certificate and is in
// one group. It can run beside the test's goroutine: it fails no test.
func (m *member) collectThrough(n *node, group string, args ...string) (got collected) {
	id, err := m.authority.issueClient("somebody", group, aDay)
	if err != nil {
		return collected{err: err}
	}
	kubeconfig := filepath.Join(m.dir, n.name+"-"+group+".kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(m.kubeconfig("127.0.0.1", id.asUser())), 0o600); err != nil {
		return collected{err: err}
	}
	got.bundle = filepath.Join(n.t.ArtifactDir(), n.name+"-"+group+".tgz")
	ctx, cancel := context.WithTimeout(n.t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nice", append([]string{
		filepath.Join(n.run.binDir(), "plegdiag"), "collect", "--node", n.name, "--kubeconfig", kubeconfig, "-o", got.bundle, "--force",
	}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+m.dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	began := time.Now()
	got.err = cmd.Run()
	got.said, got.took = said.String(), time.Since(began)
	return got
}

// readBundle returns the manifest of a bundle, and all that its files hold.
func readBundle(t *testing.T, file string) (m bundle.Manifest, content string) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	zip, err := gzip.NewReader(f)
	require.NoError(t, err)
	var all strings.Builder
	for in := tar.NewReader(zip); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		var content io.Reader = in
		if strings.HasSuffix(head.Name, ".gz") {
			content, err = gzip.NewReader(in)
			require.NoError(t, err)
		}
		text, err := io.ReadAll(content)
		require.NoError(t, err)
		all.Write(text)
		if path.Base(head.Name) == bundle.ManifestName {
			require.NoError(t, json.Unmarshal(text, &m))
		}
	}
	require.Equal(t, bundle.ManifestSchema, m.Schema)
	return m, all.String()
}

// podItem is what became of the pod's collection.
func podItem(t *testing.T, m *bundle.Manifest) bundle.Item {
	t.Helper()
	at := slices.IndexFunc(m.Items, func(i bundle.Item) bool { return i.Step == "pod" })
	require.GreaterOrEqual(t, at, 0)
	return m.Items[at]
}

// checkCollected checks what every bundle through the API server has of a node whose kubelet
// answers: the Node, Events, goroutines twice, settings and journals; and none of the cluster's
// keys.
func (m *member) checkCollected(n *node, got collected) bundle.Manifest {
	t := n.t
	t.Helper()
	t.Logf("collect --node took %s\n%s", got.took.Round(time.Second), got.said)
	require.NoError(t, got.err)
	manifest, content := readBundle(t, got.bundle)
	require.Equal(t, []string{n.name, "kubernetes", ""}, []string{manifest.Node, manifest.Via, manifest.Sealed})
	dumps, has := 0, map[string]bundle.Outcome{}
	for _, item := range manifest.Items {
		has[item.Name] = item.Outcome
		if item.Outcome == bundle.OK && strings.HasPrefix(item.Name, "dumps/kubelet-goroutine") {
			dumps++
		}
		require.NotEqual(t, bundle.Denied, item.Outcome, "%s: %s", item.Name, item.Why)
	}
	require.Equal(t, 2, dumps)
	for _, name := range []string{
		"kubernetes/node.json", "kubernetes/node-events.json", "kubernetes/pod-events.json", "kubelet/healthz.txt", "kubelet/configz.json",
		"journal/kubelet.log", "journal/containerd.log", "journal/dbus.log",
	} {
		require.Equal(t, bundle.OK, has[name], name)
	}
	m.checkNoSecret(n, content)
	return manifest
}

// checkNoSecret checks that a bundle holds none of the cluster's keys.
func (m *member) checkNoSecret(n *node, content string) {
	n.t.Helper()
	for _, secret := range []string{m.token, "PRIVATE KEY"} {
		require.NotContains(n.t, content, secret)
	}
}

// checkNoPod checks that collect has left no pod of its own on the node.
func (m *member) checkNoPod(n *node) {
	n.t.Helper()
	out, err := m.kubectl("get", "pods", "-n", podNamespace, "--field-selector=spec.nodeName="+n.name, "-o", "name")
	require.NoError(n.t, err)
	require.Empty(n.t, out)
}

// importImage puts the image of plegdiag on the node.
func (n *node) importImage() {
	n.t.Helper()
	n.mustRun("ctr", "-n", "k8s.io", "images", "import", "/opt/lab/plegdiag.tar")
}

// throughUnhealthy collects through the API server while the node is broken: everything but the
// pod, of which collect must say that this kubelet starts none.
func throughUnhealthy(want wants) func(n *node) func() {
	return func(n *node) func() {
		done := make(chan collected, 1)
		go func() { done <- n.member.collectThrough(n, responders, withPod...) }()
		return func() {
			got := <-done
			manifest := n.member.checkCollected(n, got)
			pod := podItem(n.t, &manifest)
			require.Equal(n.t, bundle.Timeout, pod.Outcome, pod.Why)
			for _, words := range []string{
				"the pod did not start in 30s", "the node is NotReady (KubeletNotReady: ", "PLEG is not healthy", "starts no pod",
				"run plegdiag collect on the node itself",
			} {
				require.Contains(n.t, pod.Why, words)
			}
			require.Less(n.t, pod.End.Sub(pod.Start), 40*time.Second)
			n.member.checkNoPod(n)
			(&scenario{wants: want}).compareReport(n.t, n.analyze(got.bundle))
		}
	}
}

// throughDeaf collects through the API server while the kubelet cannot ask the API server whether
// it may answer: the Node and its Events are there, and of what the kubelet should have said the
// reason why it is not.
func throughDeaf(outcome bundle.Outcome, why string, want wants) func(n *node) func() {
	return func(n *node) func() {
		return func() {
			got := n.member.collectThrough(n, responders)
			n.t.Logf("collect --node took %s\n%s", got.took.Round(time.Second), got.said)
			require.NoError(n.t, got.err)
			manifest, content := readBundle(n.t, got.bundle)
			n.member.checkNoSecret(n, content)
			for _, item := range manifest.Items {
				switch {
				case strings.HasPrefix(item.Name, "kubernetes/"):
					require.Equal(n.t, bundle.OK, item.Outcome, "%s: %s", item.Name, item.Why)
				case item.Step == "dumps":
					require.Equal(n.t, outcome, item.Outcome, item.Why)
					require.Contains(n.t, item.Why, why)
				}
			}
			(&scenario{wants: want}).compareReport(n.t, n.analyze(got.bundle))
		}
	}
}

// throughHealthy collects through the API server from a node that works: the bundle has that of the
// pod, and a user who lacks a right is told which.
func throughHealthy(n *node) func() {
	n.importImage()
	return func() {
		got := n.member.collectThrough(n, responders, withPod...)
		manifest := n.member.checkCollected(n, got)
		pod := podItem(n.t, &manifest)
		require.Equal(n.t, bundle.OK, pod.Outcome, pod.Why)
		n.member.checkNoPod(n)
		inner := filepath.Join(n.t.TempDir(), "inner.tgz")
		out, err := exec.Command("tar", "-xzOf", got.bundle, "--wildcards", "*/"+pod.Name).Output()
		require.NoError(n.t, err)
		require.NoError(n.t, os.WriteFile(inner, out, 0o644))
		ofNode, content := readBundle(n.t, inner)
		n.member.checkNoSecret(n, content)
		require.Equal(n.t, []string{"", ""}, []string{ofNode.Via, ofNode.Sealed})
		var steps []string // what only the node itself shows
		for _, item := range ofNode.Items {
			if item.Outcome == bundle.OK {
				steps = append(steps, item.Step)
			}
		}
		require.Subset(n.t, steps, []string{"threads", "runtime", "signals", "journal", "cgroups"})
		(&scenario{wants: wants{state: "healthy"}}).compareReport(n.t, n.analyze(got.bundle))
		n.member.checkRights(n)
	}
}

// role is a Role or ClusterRole of docs/collect/rbac.yaml.
type role struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Rules    []rule
}

type rule struct {
	APIGroups []string `json:"apiGroups"`
	Resources []string `json:"resources"`
	Verbs     []string `json:"verbs"`
}

// lacking are the rights of the documents without one of them.
type lacking struct {
	right string
	group string
	pod   bool // the right is needed for the pod
}

// grantAllBut makes a group for each right, which has all others, and waits until the API server
// knows them.
func (m *member) grantAllBut(n *node) (all []lacking) {
	n.t.Helper()
	var roles []role
	for _, args := range [][]string{{"get", "clusterrole", "plegdiag-collect"}, {"get", "role", "-n", podNamespace, "plegdiag-collect-pod"}} {
		text, err := m.kubectl(append(args, "-o", "json")...)
		require.NoError(n.t, err)
		var r role
		require.NoError(n.t, json.Unmarshal([]byte(text), &r))
		roles = append(roles, r)
	}
	var objects []any
	for i, r := range roles {
		for j, is := range r.Rules {
			for k, verb := range is.Verbs {
				l := lacking{right: verb + " " + is.Resources[0], group: fmt.Sprintf("lacks-%d-%d-%d", i, j, k), pod: r.Kind == "Role"}
				all = append(all, l)
				for at, whole := range roles {
					rules := slices.Clone(whole.Rules)
					if at == i {
						rules[j].Verbs = slices.Delete(slices.Clone(is.Verbs), k, k+1)
						rules = slices.DeleteFunc(rules, func(one rule) bool { return len(one.Verbs) == 0 })
					}
					objects = append(objects, grant(whole, l.group, rules)...)
				}
			}
		}
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	require.NoError(n.t, err)
	_, err = m.kubectlWith(string(list), "apply", "-f", "-")
	require.NoError(n.t, err)
	n.waitFor(20*time.Second, "rights of the last group", func() bool {
		out, err := m.kubectl("auth", "can-i", "create", "pods", "-n", podNamespace, "--as=somebody", "--as-group="+all[len(all)-1].group)
		return err == nil && strings.HasPrefix(out, "yes")
	})
	return all
}

// grant gives rules, instead of those of a role, to a group.
func grant(r role, group string, rules []rule) []any {
	const api = "rbac.authorization.k8s.io"
	meta := map[string]any{"name": r.Metadata.Name + "-" + group}
	if r.Metadata.Namespace != "" {
		meta["namespace"] = r.Metadata.Namespace
	}
	return []any{
		map[string]any{"apiVersion": api + "/v1", "kind": r.Kind, "metadata": meta, "rules": rules},
		map[string]any{
			"apiVersion": api + "/v1", "kind": r.Kind + "Binding", "metadata": meta,
			"roleRef":  map[string]any{"apiGroup": api, "kind": r.Kind, "name": meta["name"]},
			"subjects": []any{map[string]any{"apiGroup": api, "kind": "Group", "name": group}},
		},
	}
}

// checkRights lets users collect who each lack one right. Each must be told which.
func (m *member) checkRights(n *node) {
	n.t.Helper()
	for _, l := range m.grantAllBut(n) {
		args := []string{"--only", "node,kubelet,events,stats"}
		if l.pod {
			args = append([]string{"--only", "node,pod", "--timeout", "1m"}, withPod...)
		}
		got := m.collectThrough(n, l.group, args...)
		n.t.Logf("without %s, collect --node took %s", l.right, got.took.Round(time.Second))
		require.NoError(n.t, got.err, got.said)
		require.Contains(n.t, got.said, "refused to this user: "+l.right+"; docs/collect/rbac.yaml has the rights that are needed")
		manifest, _ := readBundle(n.t, got.bundle)
		denied := 0
		for _, item := range manifest.Items {
			if item.Outcome == bundle.Denied {
				denied++
				require.Equal(n.t, "403 Forbidden: it needs the right to "+l.right, item.Why)
			}
		}
		if l.right != "delete pods" {
			require.Positive(n.t, denied)
			m.checkNoPod(n)
			continue
		}
		// It has the pod's bundle, and the user is told which pod must be deleted by somebody else.
		require.Zero(n.t, denied)
		require.Contains(n.t, got.said, "is still in namespace "+podNamespace+": 403 Forbidden: it needs the right to delete pods")
		_, err := m.kubectl("delete", "pods", "-n", podNamespace, "--field-selector=spec.nodeName="+n.name, "--now")
		require.NoError(n.t, err)
	}
}
