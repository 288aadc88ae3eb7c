package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/collect/apiserver"
	"github.com/plegdiag/plegdiag/internal/collect/carry"
)

// throughAPI runs collect --node against a fake cluster. Nothing that it writes may hold what is in
// the kubeconfig.
func throughAPI(t *testing.T, f *fakeCluster, args ...string) (status int, path, stderr string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "b.tgz")
	var out, errs bytes.Buffer
	args = append([]string{"collect", "--node", fakeNode, "--kubeconfig", f.kubeconfig, "-o", path, "--min-free", "0"}, args...)
	status = run(args, nil, &out, &errs)
	host := strings.TrimPrefix(f.URL, "https://")
	for _, secret := range []string{planted, host} {
		require.NotContains(t, errs.String(), secret)
		if _, err := os.Stat(path); err == nil {
			require.NotContains(t, unpacked(t, path), secret)
		}
	}
	return status, path, errs.String()
}

// quickly leaves out the second dump, which waits for 20 s.
const quickly = "--skip=dumps-again"

// outcomes are the outcomes of a manifest's items, by name, with the moment in a dump's name left
// out.
func outcomes(m *bundle.Manifest) map[string]bundle.Outcome {
	all := map[string]bundle.Outcome{}
	for i := range m.Items {
		all[regexp.MustCompile(`-2[-0-9T]+Z`).ReplaceAllString(m.Items[i].Name, "")] = m.Items[i].Outcome
	}
	return all
}

// A bundle through the API server is one that analyze reads: the node, its conditions, Events, and
// the kubelet's stacks.
func TestCollectThroughAPI(t *testing.T) {
	t.Parallel()
	f := newFakeCluster(t)
	status, path, stderr := throughAPI(t, f)
	require.Equal(t, cli.StatusDone, status, stderr)
	m := verified(t, path)
	require.Equal(t, []string{fakeNode, "kubernetes"}, []string{m.Node, m.Via})
	require.Equal(t, map[string]string{"zone": "eu-west-1a", "region": "eu-west-1", "provider-id": "aws:///eu-west-1a/i-0ccc"}, m.Fleet)
	require.Empty(t, m.Sealed)
	require.Equal(t, map[string]bundle.Outcome{
		"README.txt": bundle.OK, "kubernetes/node.json": bundle.OK, "kubernetes/node-events.json": bundle.OK, "kubernetes/pod-events.json": bundle.OK,
		"dumps/kubelet-goroutine-stacks.log": bundle.OK, "kubelet/healthz.txt": bundle.OK, "kubelet/metrics.txt": bundle.OK,
		"kubelet/configz.json": bundle.OK, "kubelet/stats-summary.json": bundle.OK,
		"journal/kubelet.log": bundle.OK, "journal/containerd.log": bundle.OK, "journal/docker.log": bundle.Absent, "journal/crio.log": bundle.Absent,
		"journal/k3s.log": bundle.Absent, "journal/dbus.log": bundle.Absent, "var/log/kern.log": bundle.OK,
	}, outcomes(m))
	dumps := 0
	for i := range m.Items {
		if strings.HasPrefix(m.Items[i].Name, "dumps/") {
			dumps++
		}
	}
	require.Equal(t, 2, dumps)
	require.NotContains(t, string(content(t, path, "kubelet/configz.json")), "abcdefgh12345678", "the rules of redact run")
	require.NotContains(t, string(content(t, path, "kubernetes/pod-events.json")), "of another node")

	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"analyze", "-o", "json", path}, nil, &out, &errs), errs.String())
	var report struct {
		Incident struct{ Node string }
		Findings []struct{ Rule, Verdict string }
		Facts    map[string]struct{ Value string }
		Files    []struct{ Path, Format, Error string }
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Equal(t, fakeNode, report.Incident.Node)
	require.NotEmpty(t, report.Findings)
	require.Equal(t, "kubelet-pleg-channel-deadlock", report.Findings[0].Rule, out.String())
	for name, want := range map[string]string{
		"node.zone": "eu-west-1a", "node.provider-id": "aws:///eu-west-1a/i-0ccc", "kubelet.version": "1.11.5", "kubelet.max-pods": "123",
		"kubelet.running-pods": "17", "containerd.version": "2.1.4", "node.name": fakeNode,
	} {
		require.Equal(t, want, report.Facts[name].Value, name)
	}
	out.Reset()
	require.Zero(t, run([]string{"timeline", "--all", "--kind", "node.condition,kubernetes.event", path}, nil, &out, &errs), errs.String())
	for _, want := range []string{"condition Ready of node-1 is False", "NodeNotReady", "FailedKillPod"} {
		require.Contains(t, out.String(), want)
	}
	out.Reset()
	require.Zero(t, run([]string{"stacks", path}, nil, &out, &errs), errs.String())
	require.Contains(t, out.String(), "relist")

	// What was asked is what the plan and the manifest of RBAC say.
	var rights []string
	for _, right := range apiserver.Rights() {
		if !right.Namespaced {
			rights = append(rights, right.String())
		}
	}
	slices.Sort(rights)
	require.Equal(t, rights, f.used())
}

// The rights in docs/collect/rbac.yaml are those that the code uses, none more.
func TestRBAC(t *testing.T) {
	want := map[string]bool{}
	for _, right := range apiserver.Rights() {
		require.Empty(t, right.Group)
		want[right.String()] = true
	}
	require.Equal(t, want, rbacRules(t, collectDocs+"/rbac.yaml"))
}

// What is refused is named with the right that it needs, and the rest is collected.
func TestRefusedRights(t *testing.T) {
	for right, items := range map[string]int{"get nodes": 1, "get nodes/proxy": 14, "list events": 2} {
		t.Run(right, func(t *testing.T) {
			f := newFakeCluster(t)
			delete(f.allowed, right)
			status, path, stderr := throughAPI(t, f, quickly)
			require.Equal(t, cli.StatusDone, status, stderr)
			denied := 0
			for _, item := range verified(t, path).Items {
				if item.Outcome == bundle.Denied {
					denied++
					require.Equal(t, "403 Forbidden: it needs the right to "+right, item.Why)
				}
			}
			require.Equal(t, items, denied)
			require.Contains(t, stderr, "refused to this user: "+right+"; docs/collect/rbac.yaml")
		})
	}
}

// Where nothing is allowed, that is a failure.
func TestNothingAllowed(t *testing.T) {
	f := newFakeCluster(t)
	clear(f.allowed)
	status, _, stderr := throughAPI(t, f, quickly)
	require.Equal(t, cli.StatusFailed, status)
	require.Contains(t, stderr, "refused to this user: get nodes, get nodes/proxy, list events")
	require.Contains(t, stderr, "nothing could be collected")
}

// A pod that the kubelet does not take says why.
func TestPodNotTaken(t *testing.T) {
	t.Parallel()
	f := newFakeCluster(t)
	f.ready, f.reject = true, "Pod was rejected: Node didn't have enough resource: pods"
	_, path, _ := throughAPI(t, f, podArgs...)
	require.Equal(t, "the kubelet does not take the pod: OutOfpods: Pod was rejected: Node didn't have enough resource: pods",
		item(t, verified(t, path), "node/plegdiag-"+fakeNode+".tgz").Why)
	require.Empty(t, f.pods)
}

// What admission says is told as it is: it is no question of rights.
func TestPodNotAdmitted(t *testing.T) {
	f := newFakeCluster(t)
	f.admission = `pods "plegdiag-collect-1" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true, hostPID=true)`
	_, path, stderr := throughAPI(t, f, podArgs...)
	require.Equal(t, "403 Forbidden: "+f.admission, item(t, verified(t, path), "node/plegdiag-"+fakeNode+".tgz").Why)
	require.Empty(t, f.deleted)
	require.NotContains(t, stderr, "refused to this user")
}

// A kubelet that does not serve something says by which setting it would.
func TestKubeletRefuses(t *testing.T) {
	f := newFakeCluster(t)
	f.noQueries = true
	f.status["/proxy/debug"] = http.StatusNotFound
	f.status["/proxy/metrics"] = http.StatusServiceUnavailable
	f.status["/proxy/configz"] = http.StatusMethodNotAllowed
	_, path, _ := throughAPI(t, f, quickly)
	why := map[string]string{}
	for _, item := range verified(t, path).Items {
		why[item.Step+" "+string(item.Outcome)] = item.Why
	}
	require.Contains(t, why["dumps absent"], "enableProfilingHandler")
	require.Contains(t, why["logs absent"], "enableSystemLogQuery: true")
	require.Contains(t, why["logs absent"], "NodeLogQuery")
	require.Contains(t, why["kubelet failed"], "503 Service Unavailable: error trying to reach service")
	require.Contains(t, why["kubelet absent"], "enableDebuggingHandlers")
	f.noQueries, f.stranger = false, true
	_, path, _ = throughAPI(t, f, "--only", "node,kubelet")
	require.Contains(t, item(t, verified(t, path), "kubelet/healthz.txt").Why, "the kubelet does not know the API server")
	f.stranger = false
	f.status["/proxy/logs"] = http.StatusNotFound
	_, path, _ = throughAPI(t, f, "--only", "logs")
	for _, item := range verified(t, path).Items {
		if item.Step == "logs" {
			require.Equal(t, bundle.Absent, item.Outcome)
			require.Contains(t, item.Why, "404 Not Found: the kubelet answers no queries of logs: it needs enableSystemLogQuery")
		}
	}
}

// Nothing is collected where nothing can be: another name, another user, another server.
func TestNoNode(t *testing.T) {
	f := newFakeCluster(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown": {[]string{"--node", "other"}, "node other: 404 Not Found"},
		"strange": {[]string{"--node", "a/../b"}, "is not the name of a node"},
		"context": {[]string{"--context", "nobody"}, "the kubeconfig cannot be used"},
		"step":    {[]string{"--only", "threads"}, `no step through the API server is named "threads"`},
		"no pod":  {[]string{"--debug-pod"}, "--debug-pod needs --image and --namespace"},
		"image":   {[]string{"--image", "x"}, "--image and --namespace are for --debug-pod"},
		"flag":    {[]string{"--sysrq-w"}, "--sysrq-w does not go with this"},
	} {
		t.Run(name, func(t *testing.T) {
			status, path, stderr := throughAPI(t, f, c.args...)
			require.NotEqual(t, cli.StatusDone, status)
			require.Contains(t, stderr, c.want)
			require.NoFileExists(t, path)
		})
	}
	text, err := os.ReadFile(f.kubeconfig)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(f.kubeconfig, bytes.Replace(text, []byte(planted+"-token"), []byte(planted+"-other"), 1), 0o600))
	_, _, stderr := throughAPI(t, f)
	require.Contains(t, stderr, "401 Unauthorized: the API server does not know this user")
	f.Close()
	status, path, stderr := throughAPI(t, f)
	require.Equal(t, cli.StatusFailed, status)
	require.Contains(t, stderr, "connection refused")
	require.NoFileExists(t, path)
}

// A kubelet that does not answer holds nothing up but its own requests, each for its bound; the
// time limit ends the rest, and the bundle says so.
func TestSilentKubelet(t *testing.T) {
	t.Parallel()
	f := newFakeCluster(t)
	f.hang = "/proxy/"
	begun := time.Now()
	status, path, stderr := throughAPI(t, f, "--timeout", "3s")
	require.Equal(t, cli.StatusDone, status, stderr)
	require.Less(t, time.Since(begun), 8*time.Second*raceFactor)
	m := verified(t, path)
	require.Equal(t, "time limit of 3s", m.Sealed)
	require.Contains(t, m.Missing, "logs")
	require.Equal(t, bundle.OK, outcomes(m)["kubernetes/node.json"])
}

// A kubelet that answers nothing is asked three times, and what it would say is skipped.
func TestMuteKubelet(t *testing.T) {
	waitsLong(t)
	t.Parallel()
	f := newFakeCluster(t)
	f.hang = "/proxy/"
	_, path, _ := throughAPI(t, f, "--skip", "dumps,events,pod-events")
	m := verified(t, path)
	require.Empty(t, m.Sealed)
	require.Equal(t, bundle.Timeout, outcomes(m)["kubelet/metrics.txt"])
	require.Equal(t, "not tried: the kubelet answered none of 3 requests", item(t, m, "journal/kubelet.log").Why)
}

// Times are those of the node's clock.
func TestNodeClock(t *testing.T) {
	f := newFakeCluster(t)
	f.ahead = 2 * time.Hour
	_, path, _ := throughAPI(t, f, quickly, "--skip", "files")
	m := verified(t, path)
	require.InDelta(t, 7200, m.ClockOffset, 2)
	for _, item := range m.Items {
		if strings.HasPrefix(item.Name, "dumps/") {
			require.Contains(t, item.Name, time.Now().Add(f.ahead).UTC().Format("2006-01-02T15"))
		}
	}
}

// throughPod runs the program as the pod does, below / as the node's root. What it prints to
// standard error comes between.
func throughPod(t *testing.T) func(args []string, w io.Writer) {
	return func(args []string, w io.Writer) {
		i := slices.Index(args, "--chroot")
		require.Equal(t, "/host", args[i+1])
		if os.Geteuid() == 0 {
			args[i+1] = "/"
		} else {
			args = slices.Delete(args, i, i+2)
		}
		cmd := program(append(args, "--only", "clock,node", "--min-free", "0")...)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		_, _ = fmt.Fprintln(w, "a line of standard error")
		require.NoError(t, cmd.Start())
		_, _ = io.Copy(w, out)
		require.NoError(t, cmd.Wait())
	}
}

// podArgs ask for a pod and little else.
var podArgs = []string{"--debug-pod", "--image", "registry/plegdiag:1", "--namespace", "plegdiag", "--only", "node,pod"}

// A pod of the node brings a bundle of its own, also when following its log breaks off, and is
// deleted.
func TestDebugPod(t *testing.T) {
	t.Parallel()
	f := newFakeCluster(t)
	f.ready, f.podLog, f.breaks = true, throughPod(t), 2
	saveLog(f)
	status, path, stderr := throughAPI(t, f, podArgs...)
	require.Equal(t, cli.StatusDone, status, stderr)
	require.Empty(t, f.pods)
	require.Len(t, f.deleted, 1)
	require.Equal(t, []string{"5"}, f.graces)
	require.Contains(t, stderr, "pod: a line of standard error")
	item := item(t, verified(t, path), "node/plegdiag-"+fakeNode+".tgz")
	require.Equal(t, bundle.OK, item.Outcome, item.Why)
	var out, errs bytes.Buffer
	require.Contains(t, []int{cli.StatusDone, cli.StatusUnknown}, run([]string{"ls", path}, nil, &out, &errs), errs.String())
	require.Contains(t, out.String(), "clock.json")
	pod := f.lastPod
	text, err := json.Marshal(pod)
	require.NoError(t, err)
	for _, want := range []string{
		`"nodeName":"node-1"`, `"privileged":true`, `"hostPID":true`, `"tolerations":[{"operator":"Exists"}]`, `"restartPolicy":"Never"`,
		`"automountServiceAccountToken":false`, `"image":"registry/plegdiag:1"`, `"activeDeadlineSeconds":`,
	} {
		require.Contains(t, string(text), want)
	}
}

// saveLog makes every reading of the log the same, as that of one container is.
func saveLog(f *fakeCluster) {
	var log bytes.Buffer
	do := f.podLog
	f.podLog = func(args []string, w io.Writer) {
		if log.Len() == 0 {
			do(args, &log)
		}
		_, _ = w.Write(log.Bytes())
	}
}

// A kubelet whose PLEG is unhealthy starts no pod: that is said within 30 s, and the pod is
// deleted.
func TestPodThatDoesNotStart(t *testing.T) {
	waitsLong(t)
	t.Parallel()
	f := newFakeCluster(t)
	begun := time.Now()
	status, path, stderr := throughAPI(t, f, podArgs...)
	require.Equal(t, cli.StatusDone, status, stderr)
	require.Less(t, time.Since(begun), 30*time.Second+6*time.Second*raceFactor)
	require.Empty(t, f.pods)
	require.Equal(t, []string{"0"}, f.graces, "a kubelet that starts none ends none")
	item := item(t, verified(t, path), "node/plegdiag-"+fakeNode+".tgz")
	require.Equal(t, bundle.Timeout, item.Outcome)
	require.Contains(t, item.Why, "the pod did not start in 30s (ContainerCreating): the node is NotReady (KubeletNotReady: PLEG is not healthy")
	require.Contains(t, item.Why, "run plegdiag collect on the node itself")
}

// Ctrl-C ends the collection, deletes the pod and keeps what there is.
func TestInterruptedPod(t *testing.T) {
	t.Parallel()
	f := newFakeCluster(t)
	started, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	f.mu.Lock() // who asks is another process
	f.ready, f.podLog = true, func(_ []string, w io.Writer) {
		_, _ = io.WriteString(w, "#plegdiag:1:H4sIAAAAAAAA\n")
		w.(http.Flusher).Flush()
		close(started)
		<-over
	}
	f.mu.Unlock()
	path := filepath.Join(t.TempDir(), "b.tgz")
	cmd := program(slices.Concat([]string{"collect", "--node", fakeNode, "--kubeconfig", f.kubeconfig, "-o", path, "--min-free", "0"}, podArgs)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	<-started
	time.Sleep(500 * time.Millisecond) // the line has come by then
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, cmd.Wait(), stderr.String())
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Len(t, f.deleted, 1)
	m := verified(t, path)
	require.Equal(t, "interrupted", m.Sealed)
	require.Equal(t, bundle.Capped, item(t, m, "node/plegdiag-"+fakeNode+".tgz").Outcome)
	require.NotContains(t, stderr.String(), planted)
}

// Rights that the pod needs are named, and a log that was rotated away is told.
func TestPodRefused(t *testing.T) {
	t.Parallel()
	for _, right := range []string{"create pods", "get pods/log", "get pods", "delete pods"} {
		t.Run(right, func(t *testing.T) {
			f := newFakeCluster(t)
			f.ready, f.podLog = true, throughPod(t)
			delete(f.allowed, right)
			_, path, stderr := throughAPI(t, f, podArgs...)
			require.Contains(t, stderr, right)
			if right != "delete pods" {
				require.Contains(t, item(t, verified(t, path), "node/plegdiag-"+fakeNode+".tgz").Why, "it needs the right to "+right)
				require.Empty(t, f.pods)
				return
			}
			require.Regexp(t, `the pod plegdiag-collect-[0-9a-f]+ is still in namespace plegdiag: 403`, stderr)
		})
	}
	f := newFakeCluster(t)
	f.ready, f.podLog = true, func(_ []string, w io.Writer) {
		var lines bytes.Buffer
		_ = carry.Encode(strings.NewReader(strings.Repeat("0123456789", 2000)), &lines)
		all := strings.SplitAfter(lines.String(), "\n")
		_, _ = io.WriteString(w, all[0]+all[3])
	}
	_, path, _ := throughAPI(t, f, podArgs...)
	item := item(t, verified(t, path), "node/plegdiag-"+fakeNode+".tgz")
	require.Equal(t, bundle.Capped, item.Outcome)
	require.Contains(t, item.Why, "lines 2 to 3 of the bundle are lost: the node has rotated the pod's log")
}

// kubectl plegdiag collect NODE is collect --node NODE. The bundle can be sent from here, too.
func TestPlugin(t *testing.T) {
	f, s := newFakeCluster(t), newStore(t)
	plugin := func(args ...string) (string, error) {
		cmd := exec.Command("/proc/self/exe", args...)
		cmd.Args[0] = "/usr/local/bin/" + pluginName
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "KUBECONFIG="+f.kubeconfig)
		text, err := cmd.CombinedOutput()
		require.NotContains(t, string(text), planted)
		return string(text), err
	}
	text, err := plugin("collect", fakeNode, quickly, "--skip", "files,logs", "--min-free", "0", "--put", s.url())
	require.NoError(t, err, text)
	require.Contains(t, text, "sent ")
	path := filepath.Join(t.TempDir(), "b.tgz")
	kept, _ := s.taken()
	require.NoError(t, os.WriteFile(path, kept, 0o600))
	require.Equal(t, fakeNode, verified(t, path).Node)
	text, err = plugin("collect")
	require.Error(t, err)
	require.Contains(t, text, "no node is named")
	require.Contains(t, text, "kubectl plegdiag collect NODE")
	text, err = plugin("collect", "a", "b")
	require.Error(t, err)
	require.Contains(t, text, `unexpected argument "b"`)
	text, err = plugin("collect", "a", "--node", "b")
	require.Error(t, err)
	require.Contains(t, text, "both --node and an argument")
}
