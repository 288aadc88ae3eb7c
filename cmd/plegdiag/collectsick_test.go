package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

var measure = flag.Bool("measure", false, "write what is measured into the table of docs/collecting.md")

const collectingPage = "../../docs/collecting.md"

// promised asserts what collect promises of every node: it is back in time, small, and its bundle
// is valid. The node's row in the table of docs/collecting.md is written with -measure only: times
// differ from run to run.
func (c *collected) promised(t *testing.T, node, says string, timeout time.Duration) *bundle.Manifest {
	t.Helper()
	require.NoError(t, c.err, c.stderr)
	require.LessOrEqual(t, c.took, timeout+5*time.Second)
	if !raced {
		require.LessOrEqual(t, c.own, int64(64<<10), "memory in KiB")
	}
	m := verified(t, c.path)
	c.row(t, node, says)
	return m
}

// row is the line of the table about a node.
func (c *collected) row(t *testing.T, node, says string) {
	t.Helper()
	text, err := os.ReadFile(collectingPage)
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "| "+node+" |") {
			continue
		}
		require.True(t, strings.HasSuffix(line, "| "+says+" |"), "docs/collecting.md says otherwise: %s", line)
		if *measure {
			lines[i] = fmt.Sprintf("| %s | %.1f s | %d MiB | %s |", node, c.took.Seconds(), c.rss>>10, says)
			require.NoError(t, os.WriteFile(collectingPage, []byte(strings.Join(lines, "\n")), 0o644))
		}
		return
	}
	t.Errorf("the table of docs/collecting.md has no row for %q; add\n| %s | | | %s |\nand run go test ./cmd/plegdiag -run Collect -measure", node, node, says)
}

// daemonStandIn is the first argument of this test's own binary as a runtime.
const daemonStandIn = "daemon-stand-in"

// standInForDaemon serves the CRI at a socket until it is killed, and notes each SIGUSR1 in its
// working directory.
func standInForDaemon(path string) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGUSR1)
	l, err := net.Listen("unix", path)
	if err != nil {
		os.Exit(1)
	}
	s := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(s, hungCRI{})
	go func() { _ = s.Serve(l) }()
	os.Stdout.WriteString("ready\n")
	for {
		select {
		case <-signals:
			_ = os.WriteFile("signalled", nil, 0o600)
		case <-time.After(5 * time.Minute):
			os.Exit(1)
		}
	}
}

// daemon starts a stand-in under a name that collect knows.
func daemon(t *testing.T, dir, name string) (cmd *exec.Cmd, socket string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	socket = filepath.Join(dir, name+".sock")
	cmd = exec.Command(placed(t, self, filepath.Join(dir, "bin", name)))
	cmd.Args = []string{daemonStandIn, socket}
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	running(t, cmd)
	_, err = out.Read(make([]byte, 8))
	require.NoError(t, err)
	return cmd, socket
}

// paused stops a process as SIGSTOP does, and lets go of it when the returned function is called,
// or the test ends.
func paused(t *testing.T, cmd *exec.Cmd) (resume func()) {
	t.Helper()
	resume = func() { _ = cmd.Process.Signal(syscall.SIGCONT) }
	t.Cleanup(resume)
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	}, 5*time.Second, 10*time.Millisecond)
	return resume
}

// answers says that a runtime lives and answers.
func answers(t *testing.T, socket string) {
	t.Helper()
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = cri.NewRuntimeServiceClient(conn).Version(ctx, &cri.VersionRequest{})
	require.NoError(t, err, "the daemon that was probed does not live on")
}

// quiet are the steps that do not read this machine's own journal and programs.
const quiet = "journal,versions,config"

func TestCollectStoppedRuntime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, socket := daemon(t, dir, "containerd")
	resume := paused(t, cmd)
	got := collectOnce(t, 70*time.Second, "--skip", quiet, "--no-signal", "--min-free", "0", "--timeout", "60s",
		"--socket", fmt.Sprintf("cri=%[1]s,docker=%[2]s,containerd-debug=%[2]s,dbus=%[2]s,kubelet=http://127.0.0.1:1,kubelet-healthz=http://127.0.0.1:1", socket, dir+"/none"))
	got.promised(t, "containerd is stopped (SIGSTOP)", "every call unanswered, with its time; its state T in `threads.jsonl`", 60*time.Second)
	for _, r := range rpcs(t, got.path, "runtime/cri-containerd.jsonl") {
		require.False(t, r.Answered, r.Method)
	}
	require.Contains(t, string(content(t, got.path, "threads.jsonl")), fmt.Sprintf(`{"pid":%d,"tid":%[1]d,"comm":"containerd","state":"T"`, cmd.Process.Pid))
	resume()
	answers(t, socket)
}

func TestCollectStoppedJournald(t *testing.T) {
	dir := t.TempDir()
	journald, socket := daemon(t, dir, "systemd-journald")
	crio, _ := daemon(t, dir, "crio")
	resume := paused(t, journald)
	got := collectOnce(t, 40*time.Second, "--only", "clock,threads,kmsg,journal,signals,shims,dumps-again", "--min-free", "0", "--timeout", "30s")
	m := got.promised(t, "journald is stopped (SIGSTOP)", "nobody signalled: who logs would hang", 30*time.Second)
	skipped := 0
	for _, item := range m.Items {
		if item.Step == "signals" {
			require.Equal(t, bundle.Skipped, item.Outcome, "%s: %s", item.Name, item.Why)
			require.Contains(t, item.Why, "journald does not work (state T")
			skipped++
		}
	}
	require.Positive(t, skipped)
	require.NoFileExists(t, filepath.Join(dir, "signalled"))
	require.True(t, alive(t, crio.Process.Pid))
	resume()
	answers(t, socket)
}

// PID 1 cannot be stopped in a test. What its clients see of one that is, is a socket behind which
// nobody reads.
func TestCollectStoppedInit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "systemd"), 0o700))
	private := silent(t, dir, "systemd/private")
	got := collectOnce(t, 70*time.Second, "--skip", quiet, "--no-signal", "--min-free", "0", "--timeout", "60s",
		"--socket", fmt.Sprintf("cri=%[1]s,docker=%[1]s,containerd-debug=%[1]s,dbus=%[2]s,kubelet=http://127.0.0.1:1,kubelet-healthz=http://127.0.0.1:1", dir+"/none", private))
	got.promised(t, "PID 1 is stopped (a socket that nobody reads)", "unanswered, with its time; `systemd-busy-or-unresponsive` takes it", 60*time.Second)
	all := rpcs(t, got.path, "bus/systemd-private.jsonl")
	require.NotEmpty(t, all)
	for _, r := range all {
		require.False(t, r.Answered, r.Method)
	}
}

// A FUSE file system whose server does not answer: statfs of it hangs.
func TestCollectDeadFUSE(t *testing.T) {
	t.Parallel()
	asRoot(t)
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		unable(t, "no FUSE here: %v", err)
	}
	defer fuse.Close()
	dir := t.TempDir()
	mnt := filepath.Join(dir, "mnt")
	require.NoError(t, os.Mkdir(mnt, 0o700))
	if err := unix.Mount("dead", mnt, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse.Fd())); err != nil {
		unable(t, "no FUSE here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(mnt, unix.MNT_DETACH|unix.MNT_FORCE) })
	const limit = 30 * time.Second * raceFactor
	got := collectOnce(t, limit+10*time.Second, append(nothing(dir), "--skip", quiet, "--timeout", limit.String(), "--probe-remote")...)
	m := got.promised(t, "a FUSE mount without a server, asked with `--probe-remote`", "that mount named, with the function in which its reader waited", limit)
	for _, item := range m.Items {
		if item.Name == "mounts/df.txt" {
			require.Contains(t, item.Why, mnt+": no answer in")
			require.NotEmpty(t, item.WChan)
			return
		}
	}
	t.Error("no mounts/df.txt")
}

func TestCollectManyProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts 5 000 processes")
	}
	const many = 5000
	crowd := exec.Command("sh", "-c", fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 300 & i=$((i+1)); done; echo ready; wait", many))
	crowd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := crowd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, crowd.Start())
	t.Cleanup(func() { _ = syscall.Kill(-crowd.Process.Pid, syscall.SIGKILL); _ = crowd.Wait() })
	if n, _ := out.Read(make([]byte, 8)); n == 0 {
		unable(t, "this machine has no room for %d processes", many)
	}
	const limit = 3 * time.Minute // on a machine under load; it takes 5 s on a quiet one
	got := collectOnce(t, limit+10*time.Second, append(nothing(t.TempDir()), "--skip", quiet, "--timeout", limit.String())...)
	got.promised(t, "5 000 processes", "all of them, three times", limit)
	text := string(content(t, got.path, "threads.jsonl"))
	require.GreaterOrEqual(t, strings.Count(text, `"comm":"sleep"`), 3*many)
}

// freezing is a file system on a loop device, and what freezes and thaws it. It thaws when the test
// ends, and when the test dies.
func freezing(t *testing.T) (mount string, freeze, thaw func()) {
	t.Helper()
	asRoot(t)
	dir := t.TempDir()
	image, mount := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	require.NoError(t, os.Mkdir(mount, 0o700))
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, 32<<20))
	fsfreeze := tool(t, "fsfreeze")
	for _, argv := range [][]string{{tool(t, "mkfs.ext4"), "-q", "-F", image}, {tool(t, "mount"), "-o", "loop", image, mount}} {
		if text, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			unable(t, "%v: %v: %s", argv, err, text)
		}
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", mount).Run() })
	watchdog := exec.Command("sh", "-c", "sleep 60; fsfreeze -u "+mount+"; umount -l "+mount)
	watchdog.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, watchdog.Start())
	t.Cleanup(func() { _ = syscall.Kill(-watchdog.Process.Pid, syscall.SIGKILL); _ = watchdog.Wait() })
	freeze = func() { require.NoError(t, exec.Command(fsfreeze, "-f", mount).Run()) }
	thaw = func() { _ = exec.Command(fsfreeze, "-u", mount).Run() }
	t.Cleanup(thaw)
	return mount, freeze, thaw
}

// The disk of the bundle freezes while it is written. If it thaws, the bundle is whole; if not,
// collect comes back in its time, says where its writer is stuck, and what was written before can
// be read.
func TestCollectDiskFreezes(t *testing.T) {
	t.Parallel()
	mount, freeze, thaw := freezing(t)
	started := func(name, timeout string) (*exec.Cmd, *bytes.Buffer, string) {
		path := filepath.Join(mount, name)
		cmd := program(append(append([]string{"collect"}, nothing(t.TempDir())...), "--only", "clock,threads,node,config", "--timeout", timeout, "-o", path)...)
		stderr := &bytes.Buffer{}
		cmd.Stderr = stderr
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			info, err := os.Stat(path)
			return err == nil && info.Size() > 0
		}, 30*time.Second, 5*time.Millisecond)
		freeze()
		return cmd, stderr, path
	}
	// Time enough for all steps after the disk thaws, also on a busy machine under the race detector.
	cmd, stderr, path := started("thaws.tgz", "30s")
	time.Sleep(4 * time.Second)
	thaw()
	require.NoError(t, cmd.Wait(), stderr.String())
	require.Empty(t, verified(t, path).Missing)

	begun := time.Now()
	cmd, stderr, path = started("stays.tgz", "6s")
	require.Error(t, cmd.Wait())
	require.Less(t, time.Since(begun), 8*time.Second+6*time.Second*raceFactor)
	require.Contains(t, stderr.String(), "the bundle cannot be written: its writer is stuck in")
	thaw()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	v, err := bundle.Verify(f)
	require.NoError(t, err)
	require.Positive(t, v.Files)
}

// A bus at whose socket nobody answers, or nobody who can, costs seconds.
func TestCollectDeadBus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serve := func(name string, answer func(net.Conn)) string {
		path := filepath.Join(dir, name)
		l, err := net.Listen("unix", path)
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				t.Cleanup(func() { conn.Close() })
				answer(conn)
			}
		}()
		return path
	}
	left := filepath.Join(dir, "left") // of a daemon that has ended
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: left}))
	require.NoError(t, unix.Close(fd))
	full := filepath.Join(dir, "full") // of one that takes no more connections
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: full}))
	require.NoError(t, unix.Listen(fd, 0))
	for range 2 {
		client, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(client) })
		_ = unix.Connect(client, &unix.SockaddrUnix{Name: full})
	}
	for name, tc := range map[string]struct {
		socket   string
		answered bool // as far as anybody is there
		says     string
	}{
		"nobody listens": {left, true, "connection refused"},
		"full backlog":   {full, false, ""},
		"hangs up":       {serve("hangs-up", func(c net.Conn) { c.Close() }), true, ""},
		"noise":          {serve("noise", func(c net.Conn) { _, _ = c.Write(bytes.Repeat([]byte{0xff}, 4096)) }), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			none := filepath.Join(dir, "none")
			got := collectOnce(t, 30*time.Second, "--only", "clock,bus", "--timeout", "25s", "--min-free", "0", "--socket",
				fmt.Sprintf("dbus=%s,cri=%[2]s,docker=%[2]s,containerd-debug=%[2]s", tc.socket, none))
			require.NoError(t, got.err, got.stderr)
			require.Less(t, got.took, 6*time.Second+6*time.Second*raceFactor)
			verified(t, got.path)
			all := rpcs(t, got.path, "bus/dbus.jsonl")
			require.NotEmpty(t, all)
			t.Logf("%+v", all)
			require.Equal(t, tc.answered, all[0].Answered, "%+v", all[0])
			require.Contains(t, all[0].Error, tc.says)
		})
	}
}
