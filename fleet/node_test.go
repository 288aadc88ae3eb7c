package fleet

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watched is a kubelet's /healthz, and the script that looks at it.
type watched struct {
	t       *testing.T
	dir     string
	healthy atomic.Bool
	cmd     func(args ...string) *exec.Cmd
}

// newWatched has a stand-in for plegdiag that notes how it was called.
func newWatched(t *testing.T) *watched {
	for _, tool := range []string{"curl", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			require.Empty(t, os.Getenv("PLEGDIAG_GATE"), err)
			t.Skip(err)
		}
	}
	w := &watched{t: t, dir: t.TempDir()}
	w.healthy.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if !w.healthy.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	stand := filepath.Join(w.dir, "plegdiag")
	require.NoError(t, os.WriteFile(stand, []byte("#!/bin/sh\necho \"$PWD: $*\" >>"+w.dir+"/calls\n"), 0o755))
	journal := "#!/bin/sh\ncat " + w.dir + "/journal 2>/dev/null || echo 'SyncLoop (PLEG)'\n"
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "journalctl"), []byte(journal), 0o755))
	w.cmd = func(args ...string) *exec.Cmd {
		cmd := exec.Command("node/plegdiag-when-unhealthy", args...)
		cmd.Env = append(os.Environ(), "PLEGDIAG_HEALTHZ="+server.URL, "PLEGDIAG_PUT_URL_FILE="+w.dir+"/url", "PLEGDIAG_STATE="+w.dir+"/state",
			"PATH="+w.dir+":"+os.Getenv("PATH"), "PLEGDIAG_BUNDLES="+w.dir+"/bundles", "PLEGDIAG="+stand, "PLEGDIAG_EVERY=0.05")
		return cmd
	}
	return w
}

// look looks once, and returns what is printed and the exit status.
func (w *watched) look(healthy bool) (said string, status int) {
	w.healthy.Store(healthy)
	cmd := w.cmd()
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
}

func (w *watched) calls() []string {
	text, _ := os.ReadFile(filepath.Join(w.dir, "calls"))
	return strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(text)), " ", "_"))
}

// TestCollectsOnceWhenUnhealthy holds that a kubelet that fails thrice in a row is collected from,
// once, and again when it was healthy in between.
func TestCollectsOnceWhenUnhealthy(t *testing.T) {
	w := newWatched(t)
	for range 2 {
		before := len(w.calls())
		for _, step := range []struct {
			healthy bool
			said    string
			status  int
		}{
			{true, "the kubelet is healthy", 0},
			{false, "/healthz of the kubelet fails", 1},
			{true, "the kubelet is healthy", 0}, // a moment is nothing
			{false, "/healthz of the kubelet fails", 1},
			{false, "/healthz of the kubelet fails", 1},
			{false, "/healthz of the kubelet fails: collecting", 1},
			{false, "/healthz of the kubelet fails", 1},
		} {
			said, status := w.look(step.healthy)
			require.Equal(t, step.said, said)
			require.Equal(t, step.status, status)
			require.LessOrEqual(t, len(said), 80, "the node-problem-detector takes no more")
		}
		require.Eventually(t, func() bool { return len(w.calls()) == before+1 }, 10*time.Second, 10*time.Millisecond)
	}
	require.Equal(t, w.dir+"/bundles:_collect", w.calls()[0])
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "url"), nil, 0o600))
	w.look(true)
	for range 3 {
		w.look(false)
	}
	require.Eventually(t, func() bool { return len(w.calls()) == 3 }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, w.dir+"/bundles:_collect_--put-url-file_"+w.dir+"/url", w.calls()[2])
}

func TestWatchLooksAgainAndAgain(t *testing.T) {
	w := newWatched(t)
	w.healthy.Store(false)
	cmd := w.cmd("--watch")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for want := 1; want <= 2; want++ {
		w.healthy.Store(false)
		require.Eventually(t, func() bool { return len(w.calls()) == want }, 30*time.Second, 10*time.Millisecond)
		w.healthy.Store(true)
		require.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(w.dir, "state", "collected"))
			return os.IsNotExist(err)
		}, 30*time.Second, 10*time.Millisecond)
	}
}

// TestCollectsAtOnceWhenTheKubeletComplains holds that /healthz need not fail: it does so only five
// minutes after the kubelet has stopped to look at its pods.
func TestCollectsAtOnceWhenTheKubeletComplains(t *testing.T) {
	w := newWatched(t)
	line := `"Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m0.4s ago; threshold is 3m0s"`
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "journal"), []byte(line+"\n"), 0o600))
	for _, want := range []string{"the kubelet says that PLEG or its runtime is not healthy: collecting", "the kubelet says that PLEG or its runtime is not healthy"} {
		said, status := w.look(true)
		require.Equal(t, want, said)
		require.LessOrEqual(t, len(said), 80, "the node-problem-detector takes no more")
		require.Equal(t, 1, status)
	}
	require.Eventually(t, func() bool { return len(w.calls()) == 1 }, 10*time.Second, 10*time.Millisecond)
}

// TestDetectorRunsTheScript holds that the configuration of the node-problem-detector is JSON and
// names the script.
func TestDetectorRunsTheScript(t *testing.T) {
	text, err := os.ReadFile("node/node-problem-detector.json")
	require.NoError(t, err)
	var config struct {
		Plugin string
		Rules  []struct{ Type, Condition, Path string }
	}
	require.NoError(t, json.Unmarshal(text, &config))
	require.Equal(t, "custom", config.Plugin)
	require.Equal(t, "plegdiag-when-unhealthy", filepath.Base(config.Rules[0].Path))
}
