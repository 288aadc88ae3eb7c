package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// fakeDocker answers as dockerd does, and notes what it is asked. It does not answer the path hung.
type fakeDocker struct {
	mu    sync.Mutex
	asked []string
	hung  string
}

func (d *fakeDocker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.asked = append(d.asked, r.URL.Path)
	d.mu.Unlock()
	switch {
	case r.URL.Path == d.hung:
		<-r.Context().Done()
	case r.URL.Path == "/containers/json":
		fmt.Fprintf(w, `[{"Id":"%064d"}]`, 1)
	case strings.HasPrefix(r.URL.Path, "/debug/"):
		fmt.Fprint(w, "goroutine 1 [running]:\nmain.main()\n\t/x.go:1 +0x1\n")
	default:
		fmt.Fprint(w, "{}")
	}
}

func serveDocker(t *testing.T, hung string) (d *fakeDocker, socket string) {
	t.Helper()
	d, socket = &fakeDocker{hung: hung}, filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	s := &http.Server{Handler: d}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	return d, socket
}

// onlyDocker are the flags that keep a collection from all daemons of this machine but dockerd.
func onlyDocker(socket string) []string {
	return []string{
		"--no-signal", "--min-free", "0", "--socket",
		"docker=" + socket + ",cri=/none,containerd-debug=/none,dbus=/none,kubelet=http://127.0.0.1:1,kubelet-healthz=http://127.0.0.1:1",
	}
}

// item is the item of a bundle with a name.
func item(t *testing.T, m *bundle.Manifest, name string) bundle.Item {
	t.Helper()
	i := slices.IndexFunc(m.Items, func(i bundle.Item) bool { return i.Name == name })
	require.GreaterOrEqual(t, i, 0, "no item %s", name)
	return m.Items[i]
}

// dockerd runs runc and docker-init to answer /version and /info. It is asked for them after the
// dumps, and only when runc has answered collect itself, and dockerd every other call.
func TestCollectStartsNoProgramThroughDocker(t *testing.T) {
	t.Parallel()
	const steps = "dumps,runtime,versions,daemon-info"
	inspect := fmt.Sprintf("/containers/%064d/json", 1)
	harmless := []string{"/debug/pprof/goroutine", "/_ping", "/containers/json", inspect}
	runs := func(t *testing.T, hung, runc, only string) ([]string, bundle.Item) {
		t.Helper()
		d, socket := serveDocker(t, hung)
		dir := t.TempDir()
		path, bin := filepath.Join(dir, "b.tgz"), filepath.Join(dir, "bin")
		require.NoError(t, os.Mkdir(bin, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(bin, "runc"), []byte("#!/bin/sh\n"+runc+"\n"), 0o755))
		args := append([]string{"collect", "-o", path, "--only", only}, onlyDocker(socket)...)
		cmd := inNamespace(t, fmt.Sprintf(`mount --bind %[1]s /usr/local/sbin
for own in /usr/bin/runc /usr/sbin/runc /usr/local/bin/runc; do [ ! -e $own ] || mount --bind %[1]s/runc $own; done`, bin), args...)
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, string(text))
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.asked, item(t, verified(t, path), "runtime/docker-info.jsonl")
	}
	t.Run("runc answers", func(t *testing.T) {
		t.Parallel()
		asked, got := runs(t, "", "echo runc version 1.2.3", steps+",dumps-again")
		require.Equal(t, slices.Concat(harmless, []string{"/debug/pprof/goroutine", "/_ping", "/version", "/info"}), asked)
		require.Equal(t, bundle.OK, got.Outcome, got.Why)
	})
	t.Run("runc fails", func(t *testing.T) {
		t.Parallel()
		asked, got := runs(t, "", "exit 1", steps)
		require.Equal(t, harmless, asked)
		require.Equal(t, bundle.Skipped, got.Outcome)
		require.Contains(t, got.Why, "dockerd would run runc, and runc --version gave nothing: failed, exit status 1")
	})
	t.Run("runc hangs", func(t *testing.T) {
		t.Parallel()
		asked, got := runs(t, "", "exec sleep 60", steps)
		require.Equal(t, harmless, asked)
		require.Contains(t, got.Why, "runc --version gave nothing: timeout")
	})
	t.Run("runc is not asked", func(t *testing.T) {
		t.Parallel()
		asked, got := runs(t, "", "echo runc version 1.2.3", "runtime,daemon-info")
		require.Equal(t, harmless[1:], asked)
		require.Contains(t, got.Why, "runc --version was not asked")
	})
	t.Run("a container hangs", func(t *testing.T) {
		t.Parallel()
		asked, got := runs(t, inspect, "echo runc version 1.2.3", steps)
		require.Equal(t, harmless, asked)
		require.Contains(t, got.Why, "the daemon has not answered other calls")
	})
}

// inNamespace is this program with mounts of its own, made by a shell's command.
func inNamespace(t *testing.T, mounts string, args ...string) *exec.Cmd {
	t.Helper()
	asRoot(t)
	unshare := tool(t, "unshare")
	if text, err := exec.Command(unshare, "-m", "true").CombinedOutput(); err != nil {
		unable(t, "no namespaces of mounts here: %s", text)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(unshare, append([]string{"-m", "sh", "-c", mounts + `; exec "$0" "$@"`, placed(t, self, filepath.Join(t.TempDir(), "plegdiag"))}, args...)...)
	return cmd
}

// firstScreen is what analyze says of a bundle, on one line.
func firstScreen(t *testing.T, path string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	run([]string{"analyze", path}, nil, &out, &stderr)
	return strings.Join(strings.Fields(out.String()), " ")
}

// A collection that ends early says so, and analyze says it on its first screen. What was asked at
// that moment, and could not answer any more, does not count as silent.
func TestCollectEndsEarly(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, args ...string) (*exec.Cmd, string) {
		t.Helper()
		dir := t.TempDir()
		path := filepath.Join(dir, "b.tgz")
		sockets := "cri=" + silent(t, dir, "cri") + ",docker=/none,containerd-debug=/none,dbus=/none,kubelet=http://127.0.0.1:1,kubelet-healthz=http://127.0.0.1:1"
		cmd := program(append([]string{"collect", "-o", path, "--min-free", "0", "--no-signal", "--socket", sockets}, args...)...)
		require.NoError(t, cmd.Start())
		return cmd, path
	}
	t.Run("time", func(t *testing.T) {
		t.Parallel()
		cmd, path := start(t, "--only", "clock,runtime,config,mounts,versions", "--timeout", "2s")
		require.NoError(t, cmd.Wait())
		m := verified(t, path)
		require.Equal(t, "time limit of 2s", m.Sealed)
		require.InDelta(t, 2, m.SealedAfter, 1)
		require.Equal(t, []string{"runtime", "config", "versions", "mounts"}, m.Missing)
		require.Equal(t, bundle.Skipped, item(t, m, "runtime/cri-cri.jsonl").Outcome)
		require.Regexp(t, `not read the bundle is incomplete: collect stopped after \d(\.\d)?s \(time limit of 2s\); runtime and 3 more are missing, or parts of them`, firstScreen(t, path))
	})
	t.Run("signal", func(t *testing.T) {
		t.Parallel()
		cmd, path := start(t, "--only", "clock,runtime")
		time.Sleep(2 * time.Second)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait())
		require.Equal(t, bundle.Skipped, item(t, verified(t, path), "runtime/cri-cri.jsonl").Outcome)
		require.Regexp(t, `the bundle is incomplete: collect stopped after \d(\.\d)?s \(interrupted\); runtime is missing, or a part of it`, firstScreen(t, path))
	})
	t.Run("size", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		got := collectOnce(t, 30*time.Second, append(nothing(dir), "--only", "clock,journal,node", "--journal", bigJournal(t, dir), "--since", "100000h", "--no-redact", "--max-size", "1M")...)
		require.NoError(t, got.err, got.stderr)
		m := verified(t, got.path)
		require.Equal(t, "size limit of 1 MiB", m.Sealed)
		require.Equal(t, []string{"journal"}, m.Missing)
		require.Contains(t, firstScreen(t, got.path), "the bundle is incomplete: collect left something out (size limit of 1 MiB); journal is missing, or a part of it")
	})
	t.Run("whole", func(t *testing.T) {
		t.Parallel()
		got := collectOnce(t, 30*time.Second, append(nothing(t.TempDir()), "--only", "clock,node")...)
		m := verified(t, got.path)
		require.Empty(t, m.Sealed)
		require.Empty(t, m.Missing)
		require.NotContains(t, firstScreen(t, got.path), "incomplete")
	})
}

// A write that fails is a failure with its reason, and not a time-out.
func TestCollectFailedWrites(t *testing.T) {
	t.Parallel()
	status := func(t *testing.T, cmd *exec.Cmd) string {
		t.Helper()
		begun := time.Now()
		text, err := cmd.CombinedOutput()
		require.Error(t, err, string(text))
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), string(text))
		require.Less(t, time.Since(begun), 20*time.Second, "the time limit is 60 s")
		require.NotContains(t, string(text), "in time")
		require.NotContains(t, string(text), "timeout ")
		return string(text)
	}
	args := append([]string{"collect", "--only", "clock,node,threads,config", "--timeout", "60s", "--force"}, nothing(t.TempDir())...)
	t.Run("no space", func(t *testing.T) {
		t.Parallel()
		text := status(t, program(append(args, "-o", "/dev/full")...))
		require.Contains(t, text, "the bundle cannot be written: write /dev/full: no space left on device")
	})
	t.Run("no space on stdout", func(t *testing.T) {
		t.Parallel()
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		defer full.Close()
		cmd := program(append(args, "-o", "-")...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		require.Error(t, cmd.Run())
		require.Contains(t, stderr.String(), "no space left on device")
	})
	t.Run("nobody reads", func(t *testing.T) {
		t.Parallel()
		r, w, err := os.Pipe()
		require.NoError(t, err)
		cmd := program(append(args, "-o", "-")...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = w, &stderr
		require.NoError(t, cmd.Start())
		require.NoError(t, r.Close())
		require.NoError(t, w.Close())
		require.Error(t, cmd.Wait())
		require.Equal(t, 1, cmd.ProcessState.ExitCode())
		require.Contains(t, stderr.String(), "the bundle cannot be written: write /dev/stdout: broken pipe")
	})
	t.Run("file size limit", func(t *testing.T) {
		t.Parallel()
		self, err := os.Executable()
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "b.tgz")
		sh := append([]string{"-c", `ulimit -f 8; exec "$0" "$@"`, placed(t, self, filepath.Join(t.TempDir(), "plegdiag"))}, args...)
		text := status(t, exec.Command("sh", append(sh, "-o", path)...))
		require.Contains(t, text, "file too large")
	})
	// The file system has promised the room, and its disk does not have it: the write succeeds.
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		text := status(t, program(append(args, "-o", filepath.Join(lyingDisk(t), "b.tgz"))...))
		require.Regexp(t, "the bundle cannot be written: sync .*(input/output error|no space left on device)", text)
	})
}

// lyingDisk is a file system on a disk that has less room than it says, as thin provisioning has.
// Its blocks are pages: the loop device takes it for a success when the disk has room for the
// beginning.
func lyingDisk(t *testing.T) (mount string) {
	t.Helper()
	asRoot(t)
	dir := t.TempDir()
	store, mount := filepath.Join(dir, "store"), filepath.Join(dir, "mnt")
	require.NoError(t, os.Mkdir(store, 0o700))
	require.NoError(t, os.Mkdir(mount, 0o700))
	require.NoError(t, unix.Mount("tmpfs", store, "tmpfs", 0, "size=4m"))
	t.Cleanup(func() { _ = unix.Unmount(store, unix.MNT_DETACH) })
	image := filepath.Join(store, "image")
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, 64<<20))
	for _, argv := range [][]string{{tool(t, "mkfs.ext4"), "-q", "-F", "-b", "4096", "-O", "^has_journal", image}, {tool(t, "mount"), "-o", "loop", image, mount}} {
		if text, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			unable(t, "%v: %v: %s", argv, err, text)
		}
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", mount).Run() })
	var fs unix.Statfs_t
	require.NoError(t, unix.Statfs(store, &fs))
	require.NoError(t, os.WriteFile(filepath.Join(store, "ballast"), make([]byte, int64(fs.Bavail)*fs.Bsize), 0o600))
	// What mkfs has written already has room. A first file takes it.
	first, err := os.Create(filepath.Join(mount, "first"))
	require.NoError(t, err)
	_, err = first.Write(bytes.Repeat([]byte("full"), 1<<18))
	require.NoError(t, err)
	require.Error(t, first.Sync(), "this disk does not lie")
	first.Close()
	return mount
}

// bigJournal makes a journal of containerd below a directory: 2 MiB that cannot be compressed.
func bigJournal(t *testing.T, dir string) string {
	t.Helper()
	var export bytes.Buffer
	random := rand.NewChaCha8([32]byte{})
	noise := make([]byte, 1<<10)
	for n := range 2 << 10 {
		_, _ = random.Read(noise)
		fmt.Fprintf(&export, "__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%032d\n_SYSTEMD_UNIT=containerd.service\nMESSAGE=%s\n\n", 1_760_000_000_000_000+n, n, 1, base64.StdEncoding.EncodeToString(noise))
	}
	cmd := exec.Command(tool(t, "systemd-journal-remote"), "-o", filepath.Join(dir, "system.journal"), "-")
	cmd.Stdin = &export
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
	return dir
}

// A journalctl that gives nothing is waited for once, and the journal's files are read instead.
func TestCollectSilentJournalctl(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin := filepath.Join(dir, "journalctl")
	require.NoError(t, os.WriteFile(bin, []byte("#!/bin/sh\nexec sleep 300\n"), 0o755))
	path := filepath.Join(dir, "b.tgz")
	cmd := inNamespace(t, "mount --bind "+bin+" "+tool(t, "journalctl"), append([]string{"collect", "-o", path, "--only", "clock,journal"}, nothing(dir)...)...)
	begun := time.Now()
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
	require.Less(t, time.Since(begun), 40*time.Second)
	m := verified(t, path)
	require.Equal(t, bundle.Timeout, item(t, m, "journal/kubelet.export").Outcome)
	require.Equal(t, "journalctl gave nothing for journal/kubelet.export", item(t, m, "journal/kernel.export").Why)
	require.Contains(t, string(text), "journal/files")
}
