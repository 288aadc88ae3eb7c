package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shimStandIn is an argument of this test's own binary as a shim.
const shimStandIn = "shim-stand-in"

// standInForShim notes each SIGUSR1 in a file of its working directory, as long as it lives.
func standInForShim() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGUSR1)
	if runc := os.Getenv("RUNC"); runc != "" {
		_ = exec.Command(runc, "120").Start() // the test looks for it
	}
	if path := os.Getenv("DEBUG_SOCKET"); path != "" { // as of a shim that was built without shim_tracing
		if l, err := net.Listen("unix", path); err == nil {
			defer l.Close()
		}
	}
	os.Stdout.WriteString("ready\n")
	for n := 1; ; n++ {
		select {
		case <-signals:
			_ = os.WriteFile("signalled", []byte(strings.Repeat("x", n)), 0o600)
		case <-time.After(2 * time.Minute):
			os.Exit(1)
		}
	}
}

// placed puts a program at a path of a name that collect knows.
func placed(t *testing.T, program, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	program, err := filepath.EvalSymlinks(program)
	require.NoError(t, err)
	if os.Link(program, path) == nil {
		return path
	}
	in, err := os.Open(program)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	return path
}

// running starts a program and ends it with the test.
func running(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// shimProcess starts a program as the shim of a task; runc is the path of a child that makes it
// look stuck, empty for none.
func shimProcess(t *testing.T, dir, id, program string, args []string, runc string) (cmd *exec.Cmd, task string) {
	t.Helper()
	task = filepath.Join(dir, "io.containerd.runtime.v2.task", "k8s.io", id)
	require.NoError(t, os.MkdirAll(task, 0o700))
	cmd = exec.Command(placed(t, program, filepath.Join(dir, "bin", id, "containerd-shim-runc-v2")))
	cmd.Args = args
	cmd.Dir, cmd.Env = task, append(os.Environ(), "RUNC="+runc)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	running(t, cmd)
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // runs first, and ends the child, too
	_, err = out.Read(make([]byte, 8))
	require.NoError(t, err)
	return cmd, task
}

// Shims that look stuck are asked for their goroutines, and only those that have a handler; all
// live on. None is asked while a containerd of the machine is stopped, as one of another test is.
func TestCollectShims(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	runc := placed(t, sleep, filepath.Join(dir, "bin", "runc"))
	stuck, stuckTask := shimProcess(t, dir, strings.Repeat("a", 64), self, []string{shimStandIn}, runc)
	idle, idleTask := shimProcess(t, dir, strings.Repeat("b", 64), self, []string{shimStandIn}, "")
	deaf, _ := shimProcess(t, dir, strings.Repeat("c", 64), sh, []string{"sh", "-c", `"$RUNC" 120 & echo ready; wait`}, runc)

	none := nothing(dir)
	none = slices.DeleteFunc(none, func(arg string) bool { return arg == "--no-signal" })
	got := collectOnce(t, 60*time.Second, append(none, "--only", "clock,threads,shims")...)
	require.NoError(t, got.err, got.stderr)
	verified(t, got.path)
	index := string(content(t, got.path, indexOfShims(t, got.path)))
	t.Log(got.stderr, index)
	require.FileExists(t, filepath.Join(stuckTask, "signalled"))
	require.NoFileExists(t, filepath.Join(idleTask, "signalled"), "nothing says that it is stuck")
	for _, cmd := range []*exec.Cmd{stuck, idle, deaf} {
		require.NoError(t, cmd.Process.Signal(syscall.Signal(0)), "PID %d", cmd.Process.Pid)
		require.True(t, alive(t, cmd.Process.Pid))
	}
	require.Regexp(t, fmt.Sprintf(`PID %d, task k8s.io/a{64}: its runc, PID \d+, has not ended; SIGUSR1`, stuck.Process.Pid), index)
	require.Regexp(t, fmt.Sprintf(`PID %d, task k8s.io/c{64}: .*; not signalled: it has no handler`, deaf.Process.Pid), index)
	require.NotContains(t, index, strings.Repeat("b", 64))
}

// alive says that a process of this test has not become a zombie.
func alive(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	return !strings.Contains(string(stat), ") Z ")
}

// indexOfShims is the name of the list of shims in a bundle.
func indexOfShims(t *testing.T, path string) string {
	t.Helper()
	for _, item := range verified(t, path).Items {
		if item.Step == "shims" && strings.HasSuffix(item.Name, ".txt") {
			return item.Name
		}
	}
	t.Fatal("no list of shims")
	return ""
}
