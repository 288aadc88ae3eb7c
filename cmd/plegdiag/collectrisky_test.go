package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// stepItems are the items of one step.
func stepItems(m *bundle.Manifest, step string) (all []bundle.Item) {
	for _, item := range m.Items {
		if item.Step == step {
			all = append(all, item)
		}
	}
	return all
}

// One that looks stuck is traced, and lives on. What is traced already is left alone. Other tests,
// too, have processes that look stuck.
func TestCollectStrace(t *testing.T) {
	t.Parallel()
	strace := tool(t, "strace")
	if out, err := exec.Command(strace, "-o", "/dev/null", "true").CombinedOutput(); err != nil {
		unable(t, "strace may not trace here: %s", out)
	}
	dir := t.TempDir()
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	runc := placed(t, sh, filepath.Join(dir, "bin", "runc"))
	// A shell that waits for a child over and over again: its calls show in the trace.
	shim, _ := shimProcess(t, dir, strings.Repeat("e", 64), sh, []string{"sh", "-c", `"$RUNC" -c "while :; do sleep 0.2; done" & echo ready; wait`}, runc)
	got := collectOnce(t, 60*time.Second, append(nothing(dir), "--only", "clock,threads,strace", "--strace", "suspicious")...)
	require.NoError(t, got.err, got.stderr)
	items := stepItems(verified(t, got.path), "strace")
	require.Len(t, items, 1)
	require.Regexp(t, `^strace/\d+\.strace$`, items[0].Name)
	require.Contains(t, []bundle.Outcome{bundle.OK, bundle.Empty, bundle.Skipped}, items[0].Outcome, "%+v", items[0])
	require.True(t, alive(t, shim.Process.Pid))

	// One that starts programs all the time is in state D for a moment each time, and is traced.
	busy := running(t, exec.Command(sh, "-c", "while :; do sleep 0.02; done"))
	got = collectOnce(t, 60*time.Second, append(nothing(dir), "--only", "clock,threads,strace", "--strace", strconv.Itoa(busy.Process.Pid))...)
	require.NoError(t, got.err, got.stderr)
	items = stepItems(verified(t, got.path), "strace")
	require.Len(t, items, 1)
	require.Equal(t, bundle.OK, items[0].Outcome, "%+v", items[0])
	require.Contains(t, string(content(t, got.path, items[0].Name)), "wait4(")
	require.True(t, alive(t, busy.Process.Pid))

	traced := running(t, exec.Command("sleep", "60"))
	tracer := exec.Command(strace, "-o", "/dev/null", "-p", strconv.Itoa(traced.Process.Pid))
	tracer.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	running(t, tracer)
	time.Sleep(500 * time.Millisecond)
	got = collectOnce(t, 60*time.Second, append(nothing(dir), "--only", "clock,threads,strace", "--strace", strconv.Itoa(traced.Process.Pid))...)
	require.NoError(t, got.err, got.stderr)
	items = stepItems(verified(t, got.path), "strace")
	require.Len(t, items, 1)
	require.Equal(t, bundle.Skipped, items[0].Outcome)
	require.Contains(t, items[0].Why, "traces it already")
}

// The plan names what would be asked, and asks nothing.
func TestCollectDryRun(t *testing.T) {
	t.Parallel()
	var out, stderr bytes.Buffer
	require.Zero(t, run([]string{"collect", "--dry-run", "--sysrq-w", "--allow-kill", "kubelet", "--strace", "suspicious"}, nil, &out, &stderr), stderr.String())
	for _, want := range []string{
		"/run/crio/crio.sock/debug/goroutines", "/proc/sysrq-trigger", "journalctl --no-pager", "/etc/containerd/config.toml", "/dev/kmsg", "runc --version",
		"ends the daemon", "slows the process down", "a slow serial console", "https://127.0.0.1:10250/metrics",
	} {
		require.Contains(t, out.String(), want)
	}
	require.NotZero(t, run([]string{"collect", "--dry-run", "--strace", "1"}, nil, &out, &stderr), "PID 1 is not traced")
}
