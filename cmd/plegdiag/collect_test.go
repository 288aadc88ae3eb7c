package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/schema/schematest"
)

// collected is one run of the program.
type collected struct {
	path   string
	took   time.Duration
	rss    int64 // the peak, in KiB
	own    int64 // the most of it that is no page of the program's file: this test's is twice the program's
	stderr string
	err    error
}

// program is this test's own binary as the program: TestMain tells by the first argument.
func program(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = "plegdiag"
	return cmd
}

// collectOnce runs plegdiag collect. It fails the test when the program does not come back.
func collectOnce(t *testing.T, bound time.Duration, args ...string) collected {
	t.Helper()
	return collectTo(t, filepath.Join(t.TempDir(), "b.tgz"), bound, args...)
}

// collectTo writes the bundle to a path.
func collectTo(t *testing.T, path string, bound time.Duration, args ...string) collected {
	t.Helper()
	c := collected{path: path}
	cmd := program(append([]string{"collect", "-o", c.path}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	begun := time.Now()
	require.NoError(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for waiting := true; waiting; {
		select {
		case c.err = <-done:
			waiting = false
		case <-time.After(20 * time.Millisecond):
			rss, own := memoryOf(cmd.Process.Pid)
			c.rss, c.own = max(c.rss, rss), max(c.own, own)
		}
		if time.Since(begun) > bound {
			_ = cmd.Process.Kill()
			t.Fatalf("collect did not come back in %s:\n%s", bound, stderr.String())
		}
	}
	c.took, c.stderr = time.Since(begun), stderr.String()
	t.Logf("collect %s: %.1f s, %d MiB RSS, %d of its own", strings.Join(args, " "), c.took.Seconds(), c.rss>>10, c.own>>10)
	return c
}

// memoryOf is the most memory that a process or one of its children has had so far, and what one of
// them has now without the pages of files, in KiB. What wait4 tells would count this test's own
// memory: a process keeps the peak that it had before exec.
func memoryOf(pid int) (peak, own int64) {
	pids := []string{fmt.Sprint(pid)}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range tasks {
		text, _ := os.ReadFile(file)
		pids = append(pids, strings.Fields(string(text))...)
	}
	for _, p := range pids {
		status, _ := os.ReadFile("/proc/" + p + "/status")
		peak, own = max(peak, kibOf(status, "VmHWM")), max(own, kibOf(status, "RssAnon")+kibOf(status, "RssShmem"))
	}
	return peak, own
}

// kibOf is a number of /proc/PID/status; 0 where it is not there.
func kibOf(status []byte, name string) (kib int64) {
	for line := range strings.Lines(string(status)) {
		if n, _ := fmt.Sscanf(line, name+": %d kB", &kib); n == 1 {
			return kib
		}
	}
	return 0
}

// verified reads the manifest of a bundle in which every sum is right. The manifest fits its
// schema.
func verified(t *testing.T, path string) *bundle.Manifest {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	v, err := bundle.Verify(f)
	require.NoError(t, err)
	require.Empty(t, v.Problems)
	require.NoError(t, schematest.Check("manifest", content(t, path, bundle.ManifestName)))
	return v.Manifest
}

// content is a file of a bundle, by the end of its path.
func content(t *testing.T, path, name string) []byte {
	t.Helper()
	for f, err := range bundle.Files(context.Background(), bundle.Options{Inputs: []string{path}}) {
		require.NoError(t, err)
		if strings.HasSuffix(f.Path, "/"+name) || strings.HasSuffix(f.Path, "/"+name+".gz") {
			r, err := f.Open()
			require.NoError(t, err)
			text, err := io.ReadAll(r)
			require.NoError(t, err)
			return text
		}
	}
	t.Fatalf("no %s in the bundle", name)
	return nil
}

func rpcs(t *testing.T, path, name string) (all []snapshots.RPC) {
	t.Helper()
	for line := range bytes.Lines(content(t, path, name)) {
		var r snapshots.RPC
		require.NoError(t, json.Unmarshal(line, &r))
		all = append(all, r)
	}
	return all
}

// asRoot skips a test that mounts.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		unable(t, "mounting needs root")
	}
}

// nothing keeps a collection from talking to daemons of the machine that the tests run on.
func nothing(dir string) []string {
	none := filepath.Join(dir, "none")
	return []string{"--no-signal", "--min-free", "0", "--socket", fmt.Sprintf(
		"cri=%[1]s,docker=%[1]s,containerd-debug=%[1]s,dbus=%[1]s,kubelet=http://127.0.0.1:1,kubelet-healthz=http://127.0.0.1:1", none)}
}

// silent is a socket behind which a process is stopped: the kernel takes connections, and nobody
// reads.
func silent(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return path
}

// hungCRI answers what needs no lock; its lists, and the status of one container, never.
type hungCRI struct {
	cri.UnimplementedRuntimeServiceServer
	hung string // container
	list bool   // the list hangs, too
}

func (hungCRI) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "containerd", RuntimeVersion: "v1.6.20", RuntimeApiVersion: "v1"}, nil
}

func (h hungCRI) ListContainers(ctx context.Context, _ *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	if h.list {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &cri.ListContainersResponse{Containers: []*cri.Container{{Id: strings.Repeat("1", 64)}, {Id: h.hung}, {Id: strings.Repeat("2", 64)}}}, nil
}

func (h hungCRI) ContainerStatus(ctx context.Context, r *cri.ContainerStatusRequest) (*cri.ContainerStatusResponse, error) {
	if r.ContainerId == h.hung {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &cri.ContainerStatusResponse{Status: &cri.ContainerStatus{Id: r.ContainerId, Metadata: &cri.ContainerMetadata{Name: "app"}}}, nil
}

func serveCRI(t *testing.T, path string, h hungCRI) {
	t.Helper()
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	s := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(s, h)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
}

// The one container whose status lock is held is named, while the daemon answers all else.
func TestCollectNamesHungContainer(t *testing.T) {
	t.Parallel()
	dir, hung := t.TempDir(), strings.Repeat("a", 64)
	socket := filepath.Join(dir, "containerd.sock")
	serveCRI(t, socket, hungCRI{hung: hung})
	got := collectOnce(t, 40*time.Second, "--only", "runtime", "--min-free", "0", "--socket", "cri="+socket+",docker="+dir+"/none")
	got.promised(t, "the status of one container never answers", "that container named", 3*time.Minute)
	silentOnes := 0
	for _, r := range rpcs(t, got.path, "runtime/cri-containerd.jsonl") {
		if !r.Answered {
			silentOnes++
			require.Equal(t, "ContainerStatus", r.Method)
			require.Equal(t, hung, r.Container)
			require.InDelta(t, 5, r.Seconds, 1)
		}
	}
	require.Equal(t, 1, silentOnes)

	var out, stderr bytes.Buffer
	require.Zero(t, run([]string{"timeline", "--all", "--kind", "collect.rpc", got.path}, nil, &out, &stderr), stderr.String())
	require.Regexp(t, `ContainerStatus\(aaaaaaaaaaaa\) gave collect no answer in 5(\.\d)?s, while the daemon answered another call in \d`, out.String())
}

// waitsLong skips a test that waits for what does not answer, half a minute, when only the short
// ones are wanted.
func waitsLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("waits for half a minute and writes no golden file: make golden passes over it")
	}
}

// Behind every socket is a process that is stopped.
func TestCollectSilentDaemons(t *testing.T) {
	waitsLong(t)
	t.Parallel()
	dir := t.TempDir()
	sockets := fmt.Sprintf("cri=%s,docker=%s/none,containerd-debug=%s,dbus=%s", silent(t, dir, "cri"), dir, silent(t, dir, "debug"), silent(t, dir, "bus"))
	got := collectOnce(t, 75*time.Second, "--only", "clock,dumps,runtime,bus", "--min-free", "0", "--timeout", "60s", "--socket", sockets+",kubelet=http://127.0.0.1:1")
	m := got.promised(t, "CRI, containerd's debug server and D-Bus accept and never answer", "every call unanswered, with its time", 60*time.Second)
	outcomes := map[string]bundle.Outcome{}
	for _, item := range m.Items {
		name, _, _ := strings.Cut(item.Name, "-goroutine")
		outcomes[name] = item.Outcome
	}
	require.Equal(t, bundle.Timeout, outcomes["dumps/containerd"])
	require.Equal(t, bundle.Absent, outcomes["dumps/dockerd"])
	for _, name := range []string{"runtime/cri-cri.jsonl", "bus/dbus.jsonl"} {
		all := rpcs(t, got.path, name)
		require.NotEmpty(t, all, name)
		for _, r := range all {
			require.False(t, r.Answered, "%s %s: %s", name, r.Method, r.Error)
		}
	}
}

// A disk without room takes what it can, and the bundle is sealed.
func TestCollectFullDisk(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	path := filepath.Join(dir, "b.tgz")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 700<<10), 0o600))
	got := collectTo(t, path, 30*time.Second, append(nothing(dir), "--only", "clock,threads,node", "--timeout", "20s")...)
	m := got.promised(t, "a full disk: 320 KiB are free", "sealed: no room for more", 20*time.Second)
	require.Contains(t, m.Sealed, "no room for more")
	info, err := os.Stat(path)
	require.NoError(t, err)
	var fs unix.Statfs_t
	require.NoError(t, unix.Statfs(dir, &fs))
	require.Positive(t, fs.Bavail, "the reserve was given back")
	require.Positive(t, info.Size())

	cmd := program("collect", "--only", "clock", "-o", filepath.Join(dir, "c.tgz"))
	text, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(text), "and --min-free keeps 256")
	require.NoFileExists(t, filepath.Join(dir, "c.tgz"))

	full := t.TempDir() // of inodes: its own directory, and the file that collect makes
	require.NoError(t, unix.Mount("tmpfs", full, "tmpfs", 0, "size=600m,nr_inodes=2"))
	t.Cleanup(func() { _ = unix.Unmount(full, unix.MNT_DETACH) })
	text, err = program("collect", "--only", "clock", "-o", filepath.Join(full, "d.tgz")).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(text), "no inode is free")
	require.NoFileExists(t, filepath.Join(full, "d.tgz"))
}

// Whenever it is killed, what was written until then opens, and no byte of it is wrong.
func TestCollectKilled(t *testing.T) {
	t.Parallel()
	for range 5 {
		dir := t.TempDir()
		path := filepath.Join(dir, "b.tgz")
		cmd := program(append(append([]string{"collect"}, nothing(dir)...), "--skip", "journal,mounts", "-o", path)...)
		require.NoError(t, cmd.Start())
		after := time.Duration(rand.IntN(3000)) * time.Millisecond
		time.Sleep(after)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		time.Sleep(200 * time.Millisecond) // the helper that writes takes what is on its way
		f, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		v, err := bundle.Verify(f)
		f.Close()
		if err != nil {
			require.Regexp(t, "not a bundle", err.Error()) // killed before the first item
			continue
		}
		for _, p := range v.Problems {
			require.NotContains(t, p, "has changed", "killed after %s", after)
		}
		t.Logf("killed after %s: %d files, %v", after, v.Files, v.Problems)
	}
}

// SIGTERM seals the bundle.
func TestCollectInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "b.tar.zst")
	sockets := "cri=" + silent(t, dir, "cri") + ",docker=" + dir + "/none"
	cmd := program("collect", "--only", "clock,runtime", "--min-free", "0", "--socket", sockets, "-o", path)
	require.NoError(t, cmd.Start())
	time.Sleep(2 * time.Second)
	begun := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	require.Less(t, time.Since(begun), 10*time.Second) // a machine under load; 1 s without
	m := verified(t, path)
	require.Equal(t, "interrupted", m.Sealed)
}

// frozen is a file system that takes no writes, on a loop device, and a process with one thread in
// a page fault on it and another that waits for its address space and holds the lock on it. It
// returns the process's PID and the file system.
func frozen(t *testing.T) (pid int, mount string) {
	t.Helper()
	asRoot(t)
	for _, name := range []string{"mkfs.ext4", "fsfreeze", "mount", "umount"} {
		tool(t, name)
	}
	dir := t.TempDir()
	image, mount := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	require.NoError(t, os.Mkdir(mount, 0o700))
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, 32<<20))
	for _, argv := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, mount}} {
		if text, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			unable(t, "%v: %v: %s", argv, err, text)
		}
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", mount).Run() })
	require.NoError(t, os.WriteFile(filepath.Join(mount, "page"), make([]byte, 8192), 0o600))
	unix.Sync()
	// Should this test die, the file system thaws all the same.
	watchdog := exec.Command("sh", "-c", "sleep 120; fsfreeze -u "+mount+"; umount -l "+mount)
	watchdog.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, watchdog.Start())
	t.Cleanup(func() { _ = syscall.Kill(-watchdog.Process.Pid, syscall.SIGKILL); _ = watchdog.Wait() })
	victim := program("stuck-victim", filepath.Join(mount, "page"))
	in, err := victim.StdinPipe()
	require.NoError(t, err)
	out, err := victim.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, victim.Start())
	t.Cleanup(func() { _ = victim.Process.Kill(); _ = victim.Wait() })
	_, err = out.Read(make([]byte, 1)) // it has mapped the page
	require.NoError(t, err)
	t.Cleanup(func() { _ = exec.Command("fsfreeze", "-u", mount).Run() }) // runs first
	require.NoError(t, exec.Command("fsfreeze", "-f", mount).Run())
	_, err = in.Write([]byte{1})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return countStuck(victim.Process.Pid) == 2 }, 30*time.Second, 50*time.Millisecond, "threads in D")
	return victim.Process.Pid, mount
}

// countStuck counts the threads of a process that wait in the kernel, in state D.
func countStuck(pid int) (stuck int) {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		if _, state, _ := strings.Cut(string(text), ") "); strings.HasPrefix(state, "D") {
			stuck++
		}
	}
	return stuck
}

// stuckVictim maps a page of a file, waits for a byte, and then has one thread write to it, and
// another change how it may be used.
func stuckVictim() {
	debug.SetGCPercent(-1) // it would wait for the thread that is stuck, and keep the other from its call
	f, err := os.OpenFile(os.Args[2], os.O_RDWR, 0)
	if err != nil {
		os.Exit(1)
	}
	page, err := unix.Mmap(int(f.Fd()), 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		os.Exit(1)
	}
	os.Stdout.Write([]byte{1})
	_, _ = os.Stdin.Read(make([]byte, 1))
	go func() {
		runtime.LockOSThread()
		page[0] = 1
	}()
	for countStuck(os.Getpid()) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	runtime.LockOSThread()
	_ = unix.Mprotect(page, unix.PROT_READ)
	time.Sleep(time.Hour)
}

// On a node where ps hangs, collect comes back in its bound, and the bundle names the thread that
// is stuck and where.
func TestCollectFrozenFileSystem(t *testing.T) {
	pid, mount := frozen(t)
	ps := exec.Command("ps", "aux")
	ps.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, ps.Start())
	hangs := make(chan error, 1)
	go func() { hangs <- ps.Wait() }()
	defer func() { _ = ps.Process.Kill() }()

	dir := t.TempDir()
	got := collectOnce(t, 65*time.Second, append(nothing(dir), "--skip", "journal", "--timeout", "60s")...)
	require.NoError(t, got.err, got.stderr)
	select {
	case err := <-hangs:
		t.Errorf("ps came back (%v): this kernel or ps does not hang on a held mmap_lock", err)
	default:
	}
	got.promised(t, "threads in state D: a frozen ext4, one thread in a page fault, one holds `mmap_lock`; `ps aux` hangs", "both threads, with their stacks", 60*time.Second)
	var waits []string
	for line := range bytes.Lines(content(t, got.path, "threads.jsonl")) {
		var row samples.ThreadRow
		require.NoError(t, json.Unmarshal(line, &row))
		if row.PID == pid && row.State == "D" {
			waits = append(waits, row.WChan+" "+strings.Join(row.Stack, " "))
		}
	}
	require.NotEmpty(t, waits, "no thread of %d in D", pid)
	require.Contains(t, strings.Join(waits, "\n"), "percpu_rwsem_wait", "who holds the freeze is named")
	require.Contains(t, string(content(t, got.path, "processes.txt")), fmt.Sprintf("%7d", pid))

	// The bundle on the frozen file system itself: its writer hangs, collect does not. Other work on
	// the machine only ever adds to the time: the shortest of three runs counts.
	shortest := time.Hour
	var text []byte
	for i := 0; i < 3 && shortest >= 7*time.Second; i++ {
		begun := time.Now()
		cmd := program("collect", "--only", "clock,node", "--timeout", "2s", "--min-free", "0", "-o", filepath.Join(mount, fmt.Sprintf("b%d.tgz", i)))
		var err error
		text, err = cmd.CombinedOutput()
		require.Error(t, err)
		shortest = min(shortest, time.Since(begun))
	}
	require.Less(t, shortest, 7*time.Second)
	require.Contains(t, string(text), "its writer is stuck in")
}
