//go:build alone

package packaging

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	program  = "../plegdiag" // of make build
	incident = "../testdata/lab-umount2/bundle.tgz"
	largest  = 32_000_000 // bytes. It is copied to nodes that are short of disk and time
)

// asOldKernel is the argument by which this test starts itself.
const asOldKernel = "as-old-kernel"

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == asOldKernel {
		fmt.Fprintln(os.Stderr, runOnOldKernel(os.Args[2], os.Args[3:]))
		os.Exit(125)
	}
	os.Exit(m.Run())
}

// TestStatic: no other file is mapped at its start, and it is not larger than it may be.
func TestStatic(t *testing.T) {
	info, err := os.Stat(program)
	require.NoError(t, err)
	t.Logf("%d bytes", info.Size())
	require.LessOrEqual(t, info.Size(), int64(largest), "go tool nm -size -sort size tells of what; TestUnusedMethodsAreLeftOut of archtest says what makes it an eighth larger")
	file, err := elf.Open(program)
	require.NoError(t, err)
	defer file.Close()
	require.Nil(t, file.Section(".interp"), "it is linked dynamically")
	require.Nil(t, file.Section(".dynamic"), "it is linked dynamically")
	require.Nil(t, file.Section(".symtab"), "it is not stripped")
}

// TestEmptyRoot: the program analyses and collects where there is no other file, no zoneinfo and no
// /dev; collect needs /proc.
func TestEmptyRoot(t *testing.T) {
	root := emptyRoot(t)
	inRoot := func(args ...string) *exec.Cmd {
		cmd := exec.Command("/plegdiag", args...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", []string{}, &syscall.SysProcAttr{Chroot: root}
		return cmd
	}
	outside := analyze(t, exec.Command(program, "analyze", "-o", "json", "-"))
	require.Contains(t, string(outside), `"umount2-`)
	require.Equal(t, string(outside), string(analyze(t, inRoot("analyze", "-o", "json", "-"))))
	require.Contains(t, string(analyze(t, inRoot("analyze", "--display-tz", "Europe/Berlin", "-"))), "19:25:36")

	require.NoError(t, unix.Mount("proc", filepath.Join(root, "proc"), "proc", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(filepath.Join(root, "proc"), unix.MNT_DETACH)) })
	for _, args := range [][]string{
		{"collect", "--no-signal", "--timeout", "1m", "-o", "/bundle.tgz"}, {"verify", "/bundle.tgz"}, {"ls", "/bundle.tgz"},
	} {
		out, err := inRoot(args...).CombinedOutput()
		require.NoError(t, err, "%s: %s", args, out)
	}
}

// emptyRoot is a directory with the program and an empty /proc.
func emptyRoot(t *testing.T) string {
	needRoot(t)
	root := t.TempDir()
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "plegdiag"), text, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(root, "proc"), 0o755))
	return root
}

// needRoot skips a test that only root can run; in the gate it has to.
func needRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		require.Empty(t, os.Getenv("PLEGDIAG_GATE"), "not root")
		t.Skip("not root")
	}
}

// analyze gives the incident to a command, and returns what it prints.
func analyze(t *testing.T, cmd *exec.Cmd) []byte {
	file, err := os.Open(incident)
	require.NoError(t, err)
	defer file.Close()
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = file, &said
	out, err := cmd.Output()
	require.NoError(t, err, said.String())
	return out
}

// youngerThan are system calls that kernels since have: an older one answers ENOSYS. Which is the
// kernel of which distribution: 4.18 of RHEL 8, 3.10 of RHEL 7.
var youngerThan = map[string][]uint32{
	"4.18": since418,
	"3.10": append([]uint32{
		unix.SYS_STATX, unix.SYS_COPY_FILE_RANGE, unix.SYS_RENAMEAT2, unix.SYS_GETRANDOM, unix.SYS_MEMFD_CREATE, unix.SYS_EXECVEAT,
		unix.SYS_MEMBARRIER, unix.SYS_MLOCK2, unix.SYS_PREADV2, unix.SYS_PWRITEV2, unix.SYS_BPF, unix.SYS_RSEQ, unix.SYS_SECCOMP,
	}, since418...),
}

var since418 = []uint32{
	unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_PIDFD_OPEN,
	unix.SYS_CLONE3, unix.SYS_CLOSE_RANGE, unix.SYS_OPENAT2, unix.SYS_PIDFD_GETFD, unix.SYS_FACCESSAT2, unix.SYS_EPOLL_PWAIT2,
	unix.SYS_FUTEX_WAITV, unix.SYS_FCHMODAT2,
}

// TestOldKernel: the program analyses and collects where younger system calls do not exist.
func TestOldKernel(t *testing.T) {
	needRoot(t)
	own, err := os.Executable()
	require.NoError(t, err)
	today := analyze(t, exec.Command(program, "analyze", "-o", "json", "-"))
	for kernel := range youngerThan {
		t.Run(kernel, func(t *testing.T) {
			old := func(args ...string) *exec.Cmd {
				return exec.Command(own, append([]string{asOldKernel, kernel, program}, args...)...)
			}
			require.Equal(t, string(today), string(analyze(t, old("analyze", "-o", "json", "-"))))
			path := filepath.Join(t.TempDir(), "bundle.tgz")
			out, err := old("collect", "--no-signal", "--timeout", "1m", "-o", path).CombinedOutput()
			require.NoError(t, err, "%s", out)
			out, err = old("verify", path).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// runOnOldKernel becomes a program for which the system calls do not exist that are younger than a
// kernel. It returns only with an error.
func runOnOldKernel(kernel string, command []string) error {
	runtime.LockOSThread() // a filter is its thread's
	if err := forget(youngerThan[kernel]); err != nil {
		return err
	}
	if _, err := unix.PidfdOpen(os.Getpid(), 0); err != unix.ENOSYS { //nolint:errorlint // a bare number
		return fmt.Errorf("the filter does nothing: pidfd_open gives %v", err) //nolint:errorlint // nil, too
	}
	path, err := filepath.Abs(command[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, command, os.Environ()))
}

// forget has the kernel answer ENOSYS to these calls of this thread and what it starts.
func forget(calls []uint32) error {
	const number = 0 // where seccomp_data has it
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number}}
	for i, call := range calls {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jt: uint8(len(calls) - i)})
	}
	filter = append(filter,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}

// TestPlugin: under the name by which kubectl starts plugins, the program is one.
func TestPlugin(t *testing.T) {
	plugin := filepath.Join(t.TempDir(), "kubectl-plegdiag")
	path, err := filepath.Abs(program)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(path, plugin))
	out, err := exec.Command(plugin, "collect").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, strings.Join(strings.Fields(string(out)), " "), "kubectl plegdiag collect NODE")
}
