package collect

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// thread is a thread in a tree like /proc.
type thread struct{ state, wchan, syscall string }

// procTree writes what /proc shows of containerd, PID 100, with some threads.
func procTree(t *testing.T, status, parent string, threads ...thread) string {
	t.Helper()
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	stat := func(tid int, state string) string {
		return fmt.Sprintf("%d (containerd) %s 1 %s 777\n", tid, state, strings.Repeat("0 ", startField-2))
	}
	write("100/stat", stat(100, threads[0].state))
	write("100/status", status)
	require.NoError(t, os.Symlink("/usr/bin/containerd", filepath.Join(root, "100/exe")))
	write("1/stat", "")
	require.NoError(t, os.Symlink(parent, filepath.Join(root, "1/exe")))
	for i, of := range threads {
		dir := filepath.Join("100/task", strconv.Itoa(100+i))
		write(filepath.Join(dir, "stat"), stat(100+i, of.state))
		write(filepath.Join(dir, "wchan"), of.wchan)
		write(filepath.Join(dir, "syscall"), of.syscall)
	}
	return root
}

// A daemon is sent SIGUSR1 only if it is the one of the walk, has a handler, and no thread of it
// keeps the handler from stopping all goroutines, or itself from answering.
func TestWhyNoSignalNow(t *testing.T) {
	const status, init = "Uid:\t0\t0\t0\t0\nTracerPid:\t0\nSigCgt:\tfffffffd7fc1fefd\n", "/usr/lib/systemd/systemd"
	well := thread{"S", "futex_wait_queue", "202 0x1 0x80 0x0 0x0 0x0 0x0 0x7f 0x45\n"}
	clone := fmt.Sprintf("%d 0x4111 0x0 0x0 0x0 0x0 0x0 0x7f 0x45\n", unix.SYS_CLONE)
	for name, tc := range map[string]struct {
		status, parent string
		threads        []thread
		why            string // a part of it; empty when the signal is sent
	}{
		"well":            {status, init, []thread{well, {"R", "0", "running\n"}, well}, ""},
		"D in a fault":    {status, init, []thread{well, {"D", "folio_wait_bit", "-1 0x7ffc 0x45\n"}}, "thread 101 is in uninterruptible sleep, in folio_wait_bit"},
		"D in madvise":    {status, init, []thread{well, {"D", "rwsem_down_write_slowpath", fmt.Sprintf("%d 0x1\n", unix.SYS_MADVISE)}}, "is in uninterruptible sleep"},
		"D, call unknown": {status, init, []thread{well, {"D", "nfs_wait_bit_killable", ""}}, "thread 101 is in uninterruptible sleep, in nfs_wait_bit_killable"},
		"D in fsync":      {status, init, []thread{well, {"D", "folio_wait_bit", fmt.Sprintf("%d 0x7\n", unix.SYS_FSYNC)}}, ""},
		"D in umount2":    {status, init, []thread{well, {"D", "folio_wait_bit", fmt.Sprintf("%d 0x7\n", unix.SYS_UMOUNT2)}}, ""},
		"vfork":           {status, init, []thread{well, {"D", "kernel_clone", clone}}, "thread 101 is about to start a program, in kernel_clone"},
		"old vfork":       {status, init, []thread{well, {"S", "wait_for_vfork_done", "running"}}, "about to start a program"},
		"clone":           {status, init, []thread{well, {"S", "0", clone}}, "thread 101 is about to start a program, in system call"},
		"stopped":         {status, init, []thread{{"T", "do_signal_stop", ""}}, "it is stopped, state T"},
		"traced thread":   {status, init, []thread{well, {"t", "ptrace_stop", ""}}, "it is stopped, state t"},
		"frozen, v2":      {status, init, []thread{{"S", "do_freezer_trap", ""}}, "its cgroup is frozen"},
		"frozen, inlined": {status, init, []thread{well, {"S", "get_signal", ""}}, "its cgroup is frozen"},
		"frozen, v1":      {status, init, []thread{well, {"D", "__refrigerator", ""}}, "its cgroup is frozen"},
		"traced":          {strings.Replace(status, "TracerPid:\t0", "TracerPid:\t7", 1), init, []thread{well}, "PID 7 traces it"},
		"without handler": {strings.Replace(status, "fc1fefd", "fc1f0fd", 1), init, []thread{well}, "it has no handler"},
		"zombie":          {status, init, []thread{{"Z", "0", ""}}, "it has ended"},
		"child of itself": {status, "/usr/bin/containerd", []thread{well}, "it is a child of PID 1, which runs the same program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := process{PID: 100, Exe: "containerd", Started: "777"}
			why := p.whyNoSignalNow(procTree(t, tc.status, tc.parent, tc.threads...))
			if tc.why == "" {
				require.Empty(t, why)
			} else {
				require.Contains(t, why, tc.why)
			}
		})
	}
	root := procTree(t, status, init, well)
	for _, p := range []process{{PID: 100, Exe: "containerd", Started: "778"}, {PID: 101, Exe: "containerd", Started: "777"}} {
		require.Contains(t, p.whyNoSignalNow(root), "the process has ended")
	}
	p := process{PID: 100, Exe: "dockerd", Started: "777"}
	require.Contains(t, p.whyNoSignalNow(root), "not dockerd any more")
}

// A state of a moment is waited for.
func TestWhyNoSignalSettles(t *testing.T) {
	root := procTree(t, "SigCgt:\tfffffffd7fc1fefd\n", "/init", thread{"D", "folio_wait_bit", "0 0x1\n"})
	stat := filepath.Join(root, "100/task/100/stat")
	text, err := os.ReadFile(stat)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		time.Sleep(settlePause)
		done <- os.WriteFile(stat, []byte(strings.Replace(string(text), ") D ", ") S ", 1)), 0o600)
	}()
	p := process{PID: 100, Exe: "containerd", Started: "777"}
	require.Empty(t, p.whyNoSignalNow(root))
	require.NoError(t, <-done)
}
