//go:build lab

package lab

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

// startFault starts lab-fault inside the node, in the node's cgroups, and waits until it says that
// it is at work. It ends when end is called, when this process ends, however that happens, and with
// the node.
func (n *node) startFault(args ...string) (end func()) {
	n.t.Helper()
	cmd := n.run.commandInGroup(n.name, append([]string{"nsenter", "-t", strconv.Itoa(n.leader), "-a", "--", "/opt/lab/lab-fault"}, args...)...)
	input, err := cmd.StdinPipe()
	require.NoError(n.t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(n.t, err)
	cmd.Stderr = os.Stderr
	require.NoError(n.t, cmd.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(n.t, err, "lab-fault %s: %s", strings.Join(args, " "), line)
	end = func() {
		_ = input.Close()
		_ = cmd.Wait() // it may have been killed
	}
	n.t.Cleanup(end)
	return end
}

// configureRuntime adds a setting to the service of the runtime, until the node ends.
func (n *node) configureRuntime(setting string) {
	n.t.Helper()
	dir := "/run/systemd/system/" + runtimeName() + ".service.d"
	n.mustRun("mkdir", "-p", dir)
	n.writeFile(dir+"/lab.conf", "[Service]\n"+setting+"\n")
	n.mustRun("systemctl", "daemon-reload")
}

// limitDaemon moves a daemon of the node into a cgroup of its own of a controller of version 1,
// with a limit, as its unit would. The node's systemd uses no controllers. lift takes the limit
// away.
func (n *node) limitDaemon(daemon, controller, file, limit string) (lift func()) {
	n.t.Helper()
	dir := daemonGroup(daemon, controller)
	require.NoError(n.t, os.MkdirAll(n.hostPath(dir), 0o755))
	old, err := os.ReadFile(n.hostPath(dir + "/" + file))
	require.NoError(n.t, err)
	n.writeFile(dir+"/"+file, limit)
	// of the program that writes it the kernel reads the number in its own PID namespace
	n.mustRun("sh", "-c", fmt.Sprintf("echo $(pgrep -o -x %s) > %s/cgroup.procs", daemon, dir))
	return func() { n.writeFile(dir+"/"+file, string(old)) }
}

// daemonGroup is the cgroup of a daemon, in the hierarchy of a controller of version 1.
func daemonGroup(daemon, controller string) string {
	return "/sys/fs/cgroup/" + controller + "/system.slice/" + daemon + ".service"
}

// limitMemory lets a daemon have so many bytes more than its cgroup has now.
func (n *node) limitMemory(daemon string, more int) (lift func()) {
	n.t.Helper()
	const controller = "memory"
	// systemd makes the cgroup of some units, and the kernel sets no limit below what is in use
	text, err := os.ReadFile(n.hostPath(daemonGroup(daemon, controller) + "/memory.usage_in_bytes"))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(n.t, err)
		used, err := strconv.Atoi(strings.TrimSpace(string(text)))
		require.NoError(n.t, err)
		more += used
	}
	return n.limitDaemon(daemon, controller, "memory.limit_in_bytes", strconv.Itoa(more))
}

// shimPID is the PID, inside the node, of the shim of a sandbox.
func (n *node) shimPID(sandbox string) string {
	n.t.Helper()
	return n.findPID("^/usr/bin/containerd-shim-runc-v2 .*-id " + sandbox)
}

// useNetworkPlugin makes lab-cni the network plugin of the node, as configureNetwork does, and
// waits until the runtime says that the network is ready.
func (n *node) useNetworkPlugin(mode string) {
	n.t.Helper()
	n.configureNetwork(mode)
	n.waitFor(20*time.Second, "network", func() bool {
		_, err := n.runCommand("/opt/lab/kubelet", "network")
		return err == nil
	})
}

// configureNetwork makes lab-cni the network plugin of the node: one that works, hangs or crashes.
func (n *node) configureNetwork(mode string) {
	n.t.Helper()
	n.mustRun("mkdir", "-p", "/opt/cni/bin", "/etc/cni/net.d")
	for _, name := range []string{"lab-cni", "loopback"} {
		n.mustRun("ln", "-sf", "/opt/lab/lab-fault", "/opt/cni/bin/"+name)
	}
	n.writeFile("/etc/cni/net.d/10-lab.conflist", fmt.Sprintf(`{"cniVersion":"0.4.0","name":"lab","plugins":[{"type":"lab-cni","mode":%q}]}`, mode))
}

// fill takes all blocks of the disk. empty gives them back.
func (d *disk) fill() (empty func() error, err error) {
	name := filepath.Join(d.point, "logs-of-somebody")
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(0)
	for step := int64(64 << 20); step >= 4096; {
		switch err := syscall.Fallocate(int(f.Fd()), 0, size, step); {
		case err == nil:
			size += step
		case errors.Is(err, syscall.ENOSPC):
			step /= 2
		default:
			return nil, err
		}
	}
	return func() error { return os.Remove(name) }, nil
}

// fillInodes takes all inodes of the disk. empty gives them back.
func (d *disk) fillInodes() (empty func() error, err error) {
	dir := filepath.Join(d.point, "sessions-of-somebody")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	for i := 0; ; i++ {
		err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o644)
		switch {
		case err == nil:
		case errors.Is(err, syscall.ENOSPC):
			return func() error { return os.RemoveAll(dir) }, nil
		default:
			return nil, err
		}
	}
}
