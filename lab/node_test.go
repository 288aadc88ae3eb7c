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

// sharedDir is a directory that all nodes of a run have in common.
const sharedDir = "/srv/lab"

// node is a booted node.
type node struct {
	t      *testing.T
	run    *run
	name   string
	nspawn *exec.Cmd
	leader int // its PID 1, as the host sees it
	booted time.Time
	// from is since when its evidence is judged: its boot, or later where the scenario is about what
	// follows.
	from   time.Time
	disk   *disk
	member *member // of a cluster; nil where a simulated kubelet runs
	guest  *guest  // the machine that it is; nil where it is a container
}

// logPath is the file that the boot writes to.
func (n *node) logPath() string { return filepath.Join(n.run.dir, n.name+".log") }

// boot boots a node and waits until containerd answers in it. The node ends with the test. The
// directory slow of the node is on a disk of its own, which can be throttled; there is none when
// slow is empty.
func (r *run) boot(t *testing.T, name, slow string) *node {
	if *onGuest {
		return r.bootGuest(t, name, slow)
	}
	n := &node{t: t, run: r, name: name, booted: time.Now(), from: time.Now()}
	// An overlay can be no upper layer of overlays, and the node's root is one.
	binds := []string{"--bind-ro=" + r.binDir() + ":/opt/lab"}
	for _, dir := range []string{"containerd", "containers", "docker"} {
		outside := filepath.Join(r.dir, name, dir)
		require.NoError(t, os.MkdirAll(outside, 0o755))
		binds = append(binds, "--bind="+outside+":/var/lib/"+dir)
	}
	shared := filepath.Join(r.dir, "shared")
	require.NoError(t, os.MkdirAll(shared, 0o755))
	binds = append(binds, "--bind="+shared+":"+sharedDir)
	if slow != "" {
		var err error
		n.disk, err = r.makeDisk(name + "-disk")
		require.NoError(t, err)
		binds = append(binds, "--bind="+n.disk.point+":"+slow)
	}
	if r.cluster != nil {
		var err error
		n.member, err = r.cluster.newMember(name)
		require.NoError(t, err)
		more, err := n.member.binds()
		require.NoError(t, err)
		binds = append(binds, more...)
	}
	argv := []string{
		"systemd-nspawn", "--directory=" + r.basePath(), "--read-only", "--volatile=overlay", "--machine=" + name, "--register=no", "--keep-unit", "--private-network",
		// without the filter runc joins no session keyring
		"--capability=all", "--system-call-filter=@keyring bpf",
		"--console=pipe", "--boot",
	}
	n.nspawn = r.commandInGroup(name, append(argv, binds...)...)
	n.nspawn.Env = append(os.Environ(), "TMPDIR="+r.dir)
	log, err := os.Create(n.logPath())
	require.NoError(t, err)
	defer log.Close()
	n.nspawn.Stdout, n.nspawn.Stderr = log, log
	n.nspawn.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, n.nspawn.Start())
	t.Cleanup(n.stop)
	n.waitFor(60*time.Second, "a leader", func() bool { n.leader = childOf(n.nspawn.Process.Pid); return n.leader > 0 })
	n.unlockCgroups()
	if *onCRIO {
		n.member.startCRIO(n)
	} else {
		n.waitForContainerd()
	}
	if n.member != nil {
		n.member.join(n)
	}
	n.mustRun("systemctl", "start", "kubelet")
	n.waitFor(10*time.Second, "kubelet", func() bool { _, err := n.runCommand("pgrep", "-f", kubeletCommand); return err == nil })
	if n.member != nil {
		var log string
		n.waitFor(2*time.Minute, "node that the API calls ready", func() bool {
			is := n.member.readyCondition(n.name)
			if is.Status != "True" {
				log, _ = n.runCommand("sh", "-c", "journalctl -u kubelet --no-pager | grep ': [EF][0-9]' | tail") // it may be busy
				log = is.Message + "\n" + log
			}
			return is.Status == "True"
		}, func() string {
			state, _ := n.runCommand("sh", "-c", "systemctl show -p ActiveState,SubState,NRestarts kubelet kubepods.slice; systemctl list-jobs; journalctl -u kubelet --no-pager | tail -3")
			return log + state
		})
	}
	return n
}

// unlockCgroups makes the hierarchies of cgroup version 1 writable, which systemd-nspawn mounts
// read-only. Systemd looks once, when it starts, which of them it can write, and manages those. It
// must find none: with the first of them alone, cpu, it takes cpu and cpuacct for one hierarchy and
// removes there what the kubelet needs. Its socket is there after that look.
func (n *node) unlockCgroups() {
	n.t.Helper()
	n.waitFor(60*time.Second, "systemd", func() bool { _, err := os.Stat(n.hostPath("/run/systemd/private")); return err == nil })
	for _, m := range listMounts() {
		if m.kind == "cgroup" {
			n.mustRun("mount", "-o", "remount,bind,rw", "/sys/fs/cgroup/"+filepath.Base(m.point))
		}
	}
}

// waitForContainerd waits until containerd answers, and imports the image.
func (n *node) waitForContainerd() {
	n.t.Helper()
	n.waitFor(60*time.Second, "containerd's socket", func() bool { _, err := os.Stat(n.hostPath(runtimeSocket())); return err == nil })
	n.waitFor(60*time.Second, "containerd", func() bool { _, err := n.runCommand("ctr", "version"); return err == nil })
	n.mustRun("ctr", "-n", "k8s.io", "images", "import", "/opt/lab/image.tar")
}

// kubeletCommand matches the command line of the node's kubelet, and of none of its commands.
const kubeletCommand = "^(/opt/lab/kubelet run$|/usr/bin/kubelet --config=)"

// hostPath is a path of the node as the host sees it.
func (n *node) hostPath(inside string) string {
	return fmt.Sprintf("/proc/%d/root%s", n.leader, inside)
}

// childOf returns the child of a process that is PID 1 of its own PID namespace; zero when there is
// none.
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

// waitFor waits until so returns true. why says why it does not.
func (n *node) waitFor(patience time.Duration, what string, so func() bool, why ...func() string) {
	n.t.Helper()
	if n.guest != nil {
		patience *= guestSlowness
	}
	for deadline := time.Now().Add(patience); !so(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) || n.guest != nil && n.guest.hasEnded() {
			boot, _ := os.ReadFile(n.logPath())
			for _, say := range why {
				n.t.Log(say())
			}
			require.FailNow(n.t, "no "+what+" in "+patience.String(), "%s", lastOutput(boot))
		}
	}
}

// command makes a command inside the node. It ends with the node, whose PID namespace it is in.
func (n *node) command(ctx context.Context, argv ...string) *exec.Cmd {
	if n.guest != nil {
		return n.guest.command(ctx, argv)
	}
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"-t", strconv.Itoa(n.leader), "-a", "--"}, argv...)...)
	cmd.WaitDelay = time.Second
	return cmd
}

// runCommand runs a command inside the node and returns what it printed.
func (n *node) runCommand(argv ...string) (string, error) {
	bound := 30 * time.Second
	if n.guest != nil {
		bound *= guestSlowness
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), bound)
	defer cancel()
	out, err := n.command(ctx, argv...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, lastOutput(out))
	}
	return string(out), err
}

// mustRun runs a command inside the node that must not fail.
func (n *node) mustRun(argv ...string) string {
	n.t.Helper()
	out, err := n.runCommand(argv...)
	require.NoError(n.t, err)
	return out
}

// startCommand starts a command inside the node that can hang. It ends with the node.
func (n *node) startCommand(argv ...string) {
	n.t.Helper()
	cmd := n.command(n.t.Context(), argv...)
	require.NoError(n.t, cmd.Start())
	go func() { _ = cmd.Wait() }() // its end is of no interest
}

// writeFile writes a file of the node.
func (n *node) writeFile(path, text string) {
	n.t.Helper()
	if n.guest != nil {
		cmd := n.command(n.t.Context(), "sh", "-c", `cat > "$1"`, "sh", path)
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		require.NoError(n.t, err, "%s: %s", path, out)
		return
	}
	require.NoError(n.t, os.WriteFile(n.hostPath(path), []byte(text), 0o644))
}

// pod is what the kubelet started.
type pod struct{ Name, Sandbox, Container string }

// podOptions are what a pod has beside its container.
type podOptions struct {
	volume  string // a directory of the node that the container has, too
	network bool   // a network of its own; else that of the node
}

// podCommand makes the stand-in kubelet start a pod.
func podCommand(name string, with podOptions) []string {
	argv := []string{"/opt/lab/kubelet", "pod"}
	if with.volume != "" {
		argv = append(argv, "-mount", with.volume)
	}
	if with.network {
		argv = append(argv, "-network")
	}
	return append(argv, name)
}

// startPod starts a pod, and waits until it runs.
func (n *node) startPod(name string) pod {
	n.t.Helper()
	return n.startPodWith(name, podOptions{})
}

func (n *node) startPodWith(name string, with podOptions) pod {
	n.t.Helper()
	if n.member != nil {
		return n.member.startPod(n, name, with)
	}
	p := pod{Name: name}
	require.NoError(n.t, json.Unmarshal([]byte(n.mustRun(podCommand(name, with)...)), &p))
	return p
}

// requestPod makes the kubelet start a pod, and does not wait for it.
func (n *node) requestPod(name string) {
	n.t.Helper()
	n.requestPodWith(name, podOptions{})
}

func (n *node) requestPodWith(name string, with podOptions) {
	n.t.Helper()
	if n.member != nil {
		n.member.createPod(n, name, with, "{}")
		return
	}
	n.startCommand(podCommand(name, with)...)
}

// stopPod makes the kubelet stop the container of a pod, and does not wait for it.
func (n *node) stopPod(p pod) {
	n.t.Helper()
	if n.member != nil {
		n.member.deletePod(n, p.Name)
		return
	}
	n.startCommand("/opt/lab/kubelet", "stop", p.Container)
}

// findPID returns the PID, inside the node, of the one process whose command line matches.
func (n *node) findPID(pattern string) string {
	n.t.Helper()
	pids := strings.Fields(n.mustRun("pgrep", "-f", pattern))
	require.Len(n.t, pids, 1, pattern)
	return pids[0]
}

// signalInit sends a signal to the node's PID 1, which no process inside the node can.
func (n *node) signalInit(sig syscall.Signal) {
	require.NoError(n.t, syscall.Kill(n.leader, sig))
}

// stop ends the node: every process of its PID namespace ends with PID 1. The guard removes what is
// left.
func (n *node) stop() {
	if n.guest != nil {
		n.guest.end() // the guard does it again
		return
	}
	if n.disk != nil {
		_ = n.disk.throttle(0) // the guard does it again
	}
	if n.leader > 0 {
		_ = syscall.Kill(n.leader, syscall.SIGKILL)
	}
	_ = n.nspawn.Process.Kill()
	_ = n.nspawn.Wait()
}
