//go:build lab

package lab

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// victimVariable makes TestVictim a run that is ended in the worst moment.
const victimVariable = "PLEGDIAG_LAB_VICTIM"

// victimReady is what the victim prints, before its directory, when it can be ended.
const victimReady = "ready: "

// TestNothingIsLeft ends runs of the lab while their node hangs: its PID 1 is stopped, a shim is in
// uninterruptible sleep. However a run ends, its processes, cgroups, mounts, loop devices and files
// must go.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir, victim := startVictim(t)
			require.NotEmpty(t, listGroups(dir))
			if !*onGuest {
				require.NotEmpty(t, listLoops(dir))
			}
			require.NoError(t, syscall.Kill(-victim.Process.Pid, sig)) // as ctrl-C: to the group
			require.Error(t, victim.Wait())
			require.Eventually(t, func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) }, 60*time.Second, 200*time.Millisecond, "%s is still there", dir)
			require.Empty(t, listGroups(dir))
			require.Empty(t, listLoops(dir))
			for _, m := range listMounts() {
				require.False(t, strings.HasPrefix(m.point, dir+"/"), m.point)
			}
			require.Empty(t, processesOf(dir))
		})
	}
}

// startVictim starts another run and waits until its node hangs.
func startVictim(t *testing.T) (dir string, cmd *exec.Cmd) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.CommandContext(t.Context(), self, "-test.run=^TestVictim$", "-test.v", fmt.Sprintf("-guest=%t", *onGuest))
	cmd.Env = append(os.Environ(), victimVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if dir, ok := strings.CutPrefix(lines.Text(), victimReady); ok {
			return dir, cmd
		}
		said = append(said, lines.Text())
	}
	require.FailNow(t, "the run did not come far enough", strings.Join(said, "\n"))
	return "", nil
}

// TestVictim is a part of TestNothingIsLeft, which ends it.
func TestVictim(t *testing.T) {
	if os.Getenv(victimVariable) == "" {
		return
	}
	n := theRun.boot(t, "victim", "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs")
	web := n.startPod("web")
	if n.guest != nil { // what hangs inside of a machine is not on the host
		fmt.Println(victimReady + theRun.dir)
		select {}
	}
	pid := n.taskPID(web.Container)
	require.NoError(t, n.disk.throttle(1<<20))
	fillDisk(t, n.hostPath("/proc/"+pid+"/root/junk"))
	n.mustRun("kill", "-KILL", pid)
	n.waitFor(20*time.Second, "thread in state D", func() bool { out, _ := n.runCommand("ps", "-eLo", "stat"); return strings.Contains(out, "\nD") })
	n.signalInit(syscall.SIGSTOP)
	fmt.Println(victimReady + theRun.dir)
	select {}
}

// processesOf are the processes that have something of a run in their command line.
func processesOf(dir string) (all []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && (strings.Contains(string(text), dir+"/") || strings.Contains(string(text), groupOf(dir))) {
			all = append(all, f+": "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return all
}
