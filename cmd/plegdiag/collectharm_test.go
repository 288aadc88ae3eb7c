package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// fakeDocker answers as dockerd does, and notes what it is asked. It does not answer the path hung.
type fakeDocker struct {
	mu    sync.Mutex
	asked []string
	hung  string
}

func (d *fakeDocker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.asked = append(d.asked, r.URL.Path)
	d.mu.Unlock()
	switch {
	case r.URL.Path == d.hung:
		<-r.Context().Done()
	case r.URL.Path == "/containers/json":
		fmt.Fprintf(w, `[{"Id":"%064d"}]`, 1)
	case strings.HasPrefix(r.URL.Path, "/debug/"):
		fmt.Fprint(w, "goroutine 1 [running]:\nmain.main()\n\t/x.go:1 +0x1\n")
	default:
		fmt.Fprint(w, "{}")
	}
}

func serveDocker(t *testing.T, hung string) (d *fakeDocker, socket string) {
	t.Helper()
	d, socket = &fakeDocker{hung: hung}, filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	s := &http.Server{Handler: d}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	return d, socket
}

// onlyDocker are the flags that keep a collection from all daemons of this machine but dockerd.
func onlyDocker(socket string) []string {
	return []string{
		"--no-signal", "--min-free", "0", "--socket",
		"docker=" + socket + ",cri=/none,containerd-debug=/none,dbus=/none,kubelet=http://127.0.0.1:1,kubelet-healthz=http://127.0.0.1:1",
	}
}

// item is the item of a bundle with a name.
func item(t *testing.T, m *bundle.Manifest, name string) bundle.Item {
	t.Helper()
	i := slices.IndexFunc(m.Items, func(i bundle.Item) bool { return i.Name == name })
	require.GreaterOrEqual(t, i, 0, "no item %s", name)
	return m.Items[i]
}

// dockerd runs runc and docker-init to answer /version and /info. It is asked for them after the
// dumps, and only when runc has answered collect itself, and dockerd every other call.
func TestCollectStartsNoProgramThroughDocker(t *testing.T) {
	t.Parallel()
	const steps = "dumps,runtime,versions,daemon-info"
	inspect := fmt.Sprintf("/containers/%064d/json", 1)
	harmless := []string{"/debug/pprof/goroutine", "/_ping", "/containers/json", inspect}
	runs := func(t *testing.T, hung, runc, only string) ([]string, bundle.Item) {
		t.Helper()
		d, socket := serveDocker(t, hung)
		dir := t.TempDir()
		path, bin := filepath.Join(dir, "b.tgz"), filepath.Join(dir, "bin")
		require.NoError(t, os.Mkdir(bin, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(bin, "runc"), []byte("#!/bin/sh\n"+runc+"\n"), 0o755))
		args := append([]string{"collect", "-o", path, "--only", only}, onlyDocker(socket)...)
		cmd := inNamespace(t, fmt.Sprintf("mount --bind %s /usr/local/sbin", bin), args...)
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, string(text))
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.asked, item(t, verified(t, path), "runtime/docker-info.jsonl")
	}
	t.Run("runc answers", func(t *testing.T) {
		t.Parallel()
		asked, got := runs(t, "", "echo runc version 1.2.3", steps+",dumps-again")
		require.Equal(t, slices.Concat(harmless, []string{"/debug/pprof/goroutine", "/_ping", "/version", "/info"}), asked)
		require.Equal(t, bundle.OK, got.Outcome, got.Why)
	})
	t.Run("runc fails", func(t *testing.T) {
		t.Parallel()
		asked, got := runs(t, "", "exit 1", steps)
		require.Equal(t, harmless, asked)
		require.Equal(t, bundle.Skipped, got.Outcome)
		require.Contains(t, got.Why, "dockerd would run runc, and runc --version gave nothing: failed, exit status 1")
	})
	t.Run("runc hangs", func(t *testing.T) {
		t.Parallel()
		asked, got := runs(t, "", "exec sleep 60", steps)
		require.Equal(t, harmless, asked)
		require.Contains(t, got.Why, "runc --version gave nothing: timeout")
	})
	t.Run("runc is not asked", func(t *testing.T) {
		t.Parallel()
		asked, got := runs(t, "", "echo runc version 1.2.3", "runtime,daemon-info")
		require.Equal(t, harmless[1:], asked)
		require.Contains(t, got.Why, "runc --version was not asked")
	})
	t.Run("a container hangs", func(t *testing.T) {
		t.Parallel()
		asked, got := runs(t, inspect, "echo runc version 1.2.3", steps)
		require.Equal(t, harmless, asked)
		require.Contains(t, got.Why, "the daemon has not answered other calls")
	})
}

// inNamespace is this program with mounts of its own, made by a shell's command.
func inNamespace(t *testing.T, mounts string, args ...string) *exec.Cmd {
	t.Helper()
	asRoot(t)
	unshare := tool(t, "unshare")
	if text, err := exec.Command(unshare, "-m", "true").CombinedOutput(); err != nil {
		unable(t, "no namespaces of mounts here: %s", text)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(unshare, append([]string{"-m", "sh", "-c", mounts + `; exec "$0" "$@"`, placed(t, self, filepath.Join(t.TempDir(), "plegdiag"))}, args...)...)
	return cmd
}
