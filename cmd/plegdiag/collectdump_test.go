package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// dumperStandIn is the first argument of this test's own binary as a daemon that dumps.
const dumperStandIn = "dumper-stand-in"

// standInForDumper writes a dump for each SIGUSR1, where the daemon would whose name it has: the
// first 100 times. With the argument vfork, one of its threads has begun to start a program, and
// does not come to it.
func standInForDumper() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGUSR1)
	if os.Args[len(os.Args)-1] == "vfork" {
		go holdVfork()
	}
	for range signals {
		at := strings.ReplaceAll(time.Now().Format(time.RFC3339), ":", "")
		dump := []byte("goroutine 1 [running]:\nmain.main()\n\t/x.go:1 +0x1\n")
		var err error
		switch filepath.Base(os.Args[0]) {
		case "containerd":
			err = os.WriteFile(fmt.Sprintf("/tmp/containerd.%d.stacks.log", os.Getpid()), dump, 0o600)
		case "dockerd":
			if err = os.WriteFile("/run/docker/goroutine-stacks-"+at+".log", dump, 0o600); err == nil {
				err = os.WriteFile("/run/docker/daemon-data-"+at+".log", []byte("SECRET=environment"), 0o600)
			}
		}
		if err != nil {
			os.Exit(1)
		}
	}
}

// holdVfork starts a child as vfork does, which shares the memory of this process and starts no
// program.
func holdVfork() {
	runtime.LockOSThread()
	const flags = unix.CLONE_VM | unix.CLONE_VFORK | uintptr(unix.SIGCHLD)
	if pid, _, _ := unix.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0); pid == 0 {
		for {
			_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
}

// signalled runs a collection that sends signals, in namespaces of its own: no daemon of this
// machine is there to be signalled. The script begins; /mnt is the returned directory, /tmp and
// /run are empty.
func signalled(t *testing.T, script string, args ...string) (dir string, m *bundle.Manifest) {
	t.Helper()
	asRoot(t)
	unshare := tool(t, "unshare")
	if text, err := exec.Command(unshare, "-m", "-p", "-f", "--mount-proc", "true").CombinedOutput(); err != nil {
		unable(t, "no namespaces here: %s", text)
	}
	dir = t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, name := range []string{"plegdiag", "containerd", "dockerd", "containerd-shim-runc-v2"} {
		placed(t, self, filepath.Join(dir, name))
	}
	script = `set -e
mount --bind "$0" /mnt
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
` + script + `
/mnt/plegdiag collect -o /mnt/b.tgz --min-free 0 "$@"
ls -d /tmp/* /run/docker/* > /mnt/left || true
`
	none := "cri=/none,docker=/none,containerd-debug=/none,dbus=/none,kubelet=http://127.0.0.1:1,kubelet-healthz=http://127.0.0.1:1"
	cmd := exec.Command(unshare, append([]string{"-m", "-p", "-f", "--mount-proc", "sh", "-c", script, dir, "--socket", none}, args...)...)
	text, err := cmd.CombinedOutput()
	t.Log(string(text))
	require.NoError(t, err)
	return dir, verified(t, filepath.Join(dir, "b.tgz"))
}

func left(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "left"))
	require.NoError(t, err)
	return strings.Fields(string(text))
}

// What daemons write because of the signals is in the bundle, and the manifest names it.
// --remove-dumps removes it, and nothing that was there before.
func TestCollectRemovesDumps(t *testing.T) {
	t.Parallel()
	const start = `mkdir /run/docker
echo old > /tmp/containerd.99999.stacks.log
echo old > /run/docker/goroutine-stacks-2026-01-01T000000Z.log
/mnt/containerd ` + dumperStandIn + ` &
/mnt/dockerd ` + dumperStandIn + ` &
sleep 1`
	before := []string{"/run/docker/goroutine-stacks-2026-01-01T000000Z.log", "/tmp/containerd.99999.stacks.log"}
	t.Run("kept", func(t *testing.T) {
		t.Parallel()
		dir, m := signalled(t, start, "--only", "clock,threads,signals,dumps-again")
		require.Len(t, left(t, dir), len(before)+5, "two dumps of dockerd with its data, one file of containerd")
		require.Len(t, m.DumpFiles, 5)
		for _, f := range m.DumpFiles {
			require.Contains(t, left(t, dir), f.Path)
			require.False(t, f.Removed)
			require.Positive(t, f.Bytes)
			require.Equal(t, strings.Contains(f.Path, "daemon-data"), f.Item == "", "%+v", f)
			if f.Item != "" {
				require.Contains(t, string(content(t, filepath.Join(dir, "b.tgz"), f.Item)), "goroutine 1")
			}
		}
		require.NotContains(t, fmt.Sprint(m.Items), "daemon-data", "it holds environments")
		readme := string(content(t, filepath.Join(dir, "b.tgz"), "README.txt"))
		for _, name := range []string{"/tmp/containerd.PID.stacks.log", "/run/docker/goroutine-stacks-TIME.log", "/tmp/crio-goroutine-stacks-TIME.log"} {
			require.Contains(t, readme, name)
		}
	})
	t.Run("removed", func(t *testing.T) {
		t.Parallel()
		dir, m := signalled(t, start, "--only", "clock,threads,signals,remove-dumps", "--remove-dumps")
		require.ElementsMatch(t, before, left(t, dir))
		require.Len(t, m.DumpFiles, 3)
		for _, f := range m.DumpFiles {
			require.True(t, f.Removed, "%+v", f)
		}
	})
}

// A dump that was there before is collected before the daemon overwrites it, and stays.
func TestCollectKeepsEarlierDump(t *testing.T) {
	t.Parallel()
	dir, m := signalled(t, `/mnt/containerd `+dumperStandIn+` &
echo "goroutine 7 [earlier]:" > /tmp/containerd.$!.stacks.log
sleep 1`, "--only", "clock,threads,signals,remove-dumps", "--remove-dumps")
	require.Len(t, left(t, dir), 1)
	require.Len(t, m.DumpFiles, 1)
	require.False(t, m.DumpFiles[0].Removed)
	require.Contains(t, m.DumpFiles[0].Why, "it was there before")
	earlier := ""
	for _, i := range stepItems(m, "signals") {
		if strings.HasPrefix(i.Name, "dumps/earlier-containerd-goroutine-stacks-") {
			earlier = i.Name
		}
	}
	require.Contains(t, string(content(t, filepath.Join(dir, "b.tgz"), earlier)), "[earlier]")
}

// Neither a daemon that is about to start a program is signalled, nor its child, which has its
// memory and its handlers.
func TestCollectSignalsNobodyInVfork(t *testing.T) {
	t.Parallel()
	dir, m := signalled(t, `/mnt/containerd `+dumperStandIn+` vfork &
sleep 1`, "--only", "clock,threads,signals")
	require.Empty(t, left(t, dir))
	items := stepItems(m, "signals")
	require.Len(t, items, 2, "%+v", items)
	whys := items[0].Why + "\n" + items[1].Why
	require.Regexp(t, `thread \d+ is about to start a program, in `, whys)
	require.Regexp(t, `it is a child of PID \d+, which runs the same program`, whys)
	for _, i := range items {
		require.Equal(t, bundle.Skipped, i.Outcome)
	}
}

// A debug socket that nobody serves, as shims of releases have it, costs seconds once, says nothing
// about its shim, and does not keep the others from being asked by a signal.
func TestCollectUnservedDebugSockets(t *testing.T) {
	t.Parallel()
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	var script strings.Builder
	fmt.Fprintf(&script, "mkdir -p /run/containerd/s\ncp %s /mnt/runc\n", sleep)
	const shims = 4
	task := func(n int) string {
		return fmt.Sprintf("io.containerd.runtime.v2.task/k8s.io/%064d", n)
	}
	for n := range shims {
		address := sha256.Sum256(fmt.Appendf(nil, "/none/k8s.io/%064d/debug", n))
		fmt.Fprintf(&script, "mkdir -p /mnt/%[1]s; cd /mnt/%[1]s; RUNC=/mnt/runc DEBUG_SOCKET=/run/containerd/s/%[2]x /mnt/containerd-shim-runc-v2 %[3]s &\n", task(n), address, shimStandIn)
	}
	begun := time.Now()
	dir, m := signalled(t, script.String()+"sleep 1", "--only", "clock,threads,shims")
	require.Less(t, time.Since(begun), 20*time.Second)
	asked := 0
	for _, i := range stepItems(m, "shims") {
		require.NotEqual(t, bundle.Timeout, i.Outcome, i.Name)
		if strings.HasPrefix(i.Name, "dumps/shim-") {
			asked++
			require.Equal(t, bundle.Skipped, i.Outcome)
			require.Contains(t, i.Why, "its debug socket takes no request")
		}
	}
	require.Equal(t, 1, asked)
	for n := range shims {
		require.FileExists(t, filepath.Join(dir, task(n), "signalled"))
	}
}
