//go:build lab

package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// node is a booted node.
type node struct {
	t      *testing.T
	run    *run
	name   string
	nspawn *exec.Cmd
	leader int // its PID 1, as the host sees it
	disk   *disk
}

// log is the file that the boot writes to.
func (n *node) log() string { return filepath.Join(n.run.dir, n.name+".log") }

// boot boots a node and waits until containerd answers in it. The node is ended with the test. What is below slow in the node lies on a
// disk of its own, which can be made slow; nothing where slow is empty.
func (r *run) boot(t *testing.T, name, slow string) *node {
	n := &node{t: t, run: r, name: name}
	// An overlay can be no upper layer of overlays, and the node's root is one.
	binds := []string{"--bind-ro=" + r.bin() + ":/opt/lab"}
	for _, dir := range []string{"containerd", "docker"} {
		outside := filepath.Join(r.dir, name, dir)
		require.NoError(t, os.MkdirAll(outside, 0o755))
		binds = append(binds, "--bind="+outside+":/var/lib/"+dir)
	}
	if slow != "" {
		var err error
		n.disk, err = r.disk(name + "-disk")
		require.NoError(t, err)
		binds = append(binds, "--bind="+n.disk.point+":"+slow)
	}
	argv := []string{
		"systemd-nspawn", "--directory=" + r.basePath(), "--read-only", "--volatile=overlay", "--machine=" + name, "--register=no", "--keep-unit", "--private-network",
		"--capability=all", "--system-call-filter=@keyring bpf", // without the filter runc joins no session keyring
		"--console=pipe", "--boot",
	}
	n.nspawn = r.grouped(name, append(argv, binds...)...)
	n.nspawn.Env = append(os.Environ(), "TMPDIR="+r.dir)
	log, err := os.Create(n.log())
	require.NoError(t, err)
	defer log.Close()
	n.nspawn.Stdout, n.nspawn.Stderr = log, log
	n.nspawn.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, n.nspawn.Start())
	t.Cleanup(n.end)
	n.await(60*time.Second, "a leader", func() bool { n.leader = childOf(n.nspawn.Process.Pid); return n.leader > 0 })
	n.await(60*time.Second, "containerd's socket", func() bool { _, err := os.Stat(n.path("/run/containerd/containerd.sock")); return err == nil })
	for _, h := range hierarchies() { // those of version 1 come up read-only
		_, _ = n.try("mount", "-o", "remount,bind,rw", "/sys/fs/cgroup/"+filepath.Base(h)) // the unified one is writable
	}
	n.await(60*time.Second, "containerd", func() bool { _, err := n.try("ctr", "version"); return err == nil })
	n.do("ctr", "-n", "k8s.io", "images", "import", "/opt/lab/image.tar")
	n.do("systemctl", "start", "kubelet")
	return n
}

// path is a path of the node as the host sees it.
func (n *node) path(inside string) string {
	return fmt.Sprintf("/proc/%d/root%s", n.leader, inside)
}

// childOf is a child of a process; zero when it has none. The leader shows itself by its own PID namespace, where it is 1.
func childOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0
	}
	for word := range strings.FieldsSeq(string(text)) {
		child, _ := strconv.Atoi(word)
		if ids := statusOf(child, "NSpid"); len(ids) > 1 && ids[len(ids)-1] == "1" {
			return child
		}
	}
	return 0
}

// statusOf are the words of a line of /proc/PID/status.
func statusOf(pid int, name string) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Fields(rest)
		}
	}
	return nil
}

// await waits until something is so.
func (n *node) await(patience time.Duration, what string, so func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			boot, _ := os.ReadFile(n.log())
			require.FailNow(n.t, "no "+what+" in "+patience.String(), "%s", tail(boot))
		}
	}
}

// command is a command inside of the node. It ends with the node, whose PID namespace it is in.
func (n *node) command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"-t", strconv.Itoa(n.leader), "-a", "--"}, argv...)...)
	cmd.WaitDelay = time.Second
	return cmd
}

// try runs a command inside of the node and gives what it printed.
func (n *node) try(argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(n.t.Context(), 30*time.Second)
	defer cancel()
	out, err := n.command(ctx, argv...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, tail(out))
	}
	return string(out), err
}

// do runs a command inside of the node that must not fail.
func (n *node) do(argv ...string) string {
	n.t.Helper()
	out, err := n.try(argv...)
	require.NoError(n.t, err)
	return out
}

// background starts a command inside of the node that may hang. It ends with the node.
func (n *node) background(argv ...string) {
	n.t.Helper()
	cmd := n.command(n.t.Context(), argv...)
	require.NoError(n.t, cmd.Start())
	go func() { _ = cmd.Wait() }() // its end is of no interest
}

// write writes a file of the node.
func (n *node) write(path, text string) {
	n.t.Helper()
	require.NoError(n.t, os.WriteFile(n.path(path), []byte(text), 0o644))
}

// pod is what the kubelet started.
type pod struct{ Sandbox, Container string }

// pod starts a pod.
func (n *node) pod(name string) (p pod) {
	n.t.Helper()
	require.NoError(n.t, json.Unmarshal([]byte(n.do("/opt/lab/kubelet", "pod", name)), &p))
	return p
}

// pid is the PID inside of the node of the one process whose command line matches.
func (n *node) pid(pattern string) string {
	n.t.Helper()
	pids := strings.Fields(n.do("pgrep", "-f", pattern))
	require.Len(n.t, pids, 1, pattern)
	return pids[0]
}

// signal sends a signal to the node's PID 1, which no process inside of it could.
func (n *node) signal(sig syscall.Signal) {
	require.NoError(n.t, syscall.Kill(n.leader, sig))
}

// end ends the node: with its PID 1 every process of its PID namespace goes. The guard takes away what is left.
func (n *node) end() {
	if n.disk != nil {
		_ = n.disk.slow(0) // the guard does it again
	}
	if n.leader > 0 {
		_ = syscall.Kill(n.leader, syscall.SIGKILL)
	}
	_ = n.nspawn.Process.Kill()
	_ = n.nspawn.Wait()
}
