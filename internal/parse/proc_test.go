package parse

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestPlaceOf(t *testing.T) {
	for file, want := range map[string]procPlace{
		"node-1/proc/1234/stack":          {1234, 1234, "stack", "node-1/proc"},
		"proc/1234/task/1240/wchan":       {1234, 1240, "wchan", "proc"},
		"a/1234/syscall":                  {1234, 1234, "syscall", "a"},
		"d/1234.stack":                    {0, 1234, "stack", "d"},
		"stack.1234":                      {0, 1234, "stack", ""},
		"shim-1234-stack.txt":             {0, 1234, "stack", ""},
		"tid1240_kstack.log":              {0, 1240, "stack", ""},
		"shim-1234-1240-stack.txt":        {0, 0, "stack", ""}, // may be anything
		"stack-20261120.txt":              {0, 0, "stack", ""},
		"stack-0815.txt":                  {0, 0, "stack", ""},
		"containerd.4242.stacks.log":      {},
		"goroutine-stacks-2024-01-01.log": {},
		"kubelet.log":                     {},
	} {
		p, ok := placeOf(file)
		require.Equal(t, want.file != "", ok, file)
		if ok {
			require.Equal(t, want, p, file)
		}
	}
}

// TestNamedProc: a name makes no file of /proc of something else.
func TestNamedProc(t *testing.T) {
	for _, tt := range []struct {
		file, head, want string
	}{
		{"proc/7/wchan", "folio_wait_bit", "proc"},
		{"proc/7/wchan", "0", "proc"},
		{"proc/7/syscall", "running\n", "proc"},
		{"7.syscall", "166 0xc000 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x55aa\n", "proc"},
		{"proc/7/stat", "7 (evil) D 1 (x) S 1 7 7 0\n", "proc"},
		{"proc/7/cgroup", "4:pids:/kubepods\n0::/\n", "proc"},
		{"7.stack", "[<0>] f+0x1/0x2\n[<0>] 0xffffffffffffffff\n", "proc"},
		{"proc/stat", "cpu  1 2 3\n", Text},
		{"node-status.yaml", "conditions:\ntype: Ready\n", Text},
		{"systemctl_status_kubelet", "Active: active\n", Text},
		{"stack.7.txt", "goroutine 1 [running]:\nmain.main()\n\t/x.go:1 +0x1d\n", "goroutines"},
		{"call-stack-7.log", "something else\n", Text},
		{"wchan.txt", "two words\n", Text},
	} {
		f, ok := Detect([]byte(tt.head), tt.file)
		require.True(t, ok, tt.file)
		require.Equal(t, tt.want, f.Name, tt.file)
	}
}

func TestReadKernelFrame(t *testing.T) {
	for line, want := range map[string]struct {
		function   string
		unsure, ok bool
	}{
		"[<0>] ovl_sync_fs+0x2f/0x50 [overlay]":                   {"ovl_sync_fs", false, true},
		" [<ffffffff8132cb66>] ? __blk_run_queue+0x29/0x31":       {"__blk_run_queue", true, true},
		"  lo_rw_aio.isra.0+0x1/0x2 [loop 0a1b]":                  {"lo_rw_aio.isra.0", false, true},
		" jbd2_log_wait_commit+0x2ef/0x460 fs/jbd2/journal.c:697": {"jbd2_log_wait_commit", false, true},
		"[<0>] 0xffffffffffffffff":                                {"", false, true},
		"\t/usr/local/go/src/runtime/proc.go:398 +0x1d":           {},
		"main.main+0x1d": {},
		" context_switch kernel/sched/core.c:5409 [inline]": {},
		"RIP: 0010:native_safe_halt+0xe/0x10":               {},
		"Modules linked in: overlay":                        {},
		"[<ffffffff8132cb66> f+0x1/0x2":                     {},
		"":                                                  {},
		"+0x1/0x2":                                          {},
		"f+0x/0x2":                                          {},
		"f+0x1/0x":                                          {},
		"5f+0x1/0x2":                                        {},
		strings.Repeat("f", maxSymbol+1) + "+0x1/0x2":                            {},
		"kworker/u8:3+loop2 some words about 0x1/0x2 in a line that is no stack": {},
	} {
		function, unsure, ok := ReadKernelFrame(line)
		require.Equal(t, want, struct {
			function   string
			unsure, ok bool
		}{function, unsure, ok}, line)
	}
}

func TestReadKernelTask(t *testing.T) {
	for line, want := range map[string]KernelTask{
		"task:containerd-shim state:D stack:    0 pid: 1422 ppid:     1 flags:0x00004006":                {"containerd-shim", "D", 1422, 0},
		"task:containerd-shim state:D stack:0     pid:1422  tgid:1419  ppid:1      flags:0x00004006":     {"containerd-shim", "D", 1422, 1419},
		"task:a state:D b     state:S stack:0 pid:7 tgid:6 ppid:1 task_flags:0x4208060 flags:0x00000010": {"a state:D b", "S", 7, 6},
		"dockerd         D    0  1810      1 0x00004080":                                                 {"dockerd", "D", 1810, 0},
		"compute2-f1_3   D ffffffff819adcd0     0  3937      2 0x00000000":                               {"compute2-f1_3", "D", 3937, 0},
		"rs:main Q:Reg   S ffff88085f213c00     0   905      1 0x00000080":                               {"rs:main Q:Reg", "S", 905, 0},
		"swapper/0       R  running task        0     1      0 0x80000000":                               {"swapper/0", "R", 1, 0},
		"  task                        PC stack   pid father":                                            {},
		"idle D 0 0 0 0x00000000":           {},
		"task:x stack:0 pid:1":              {},
		"some words D and 12 numbers 7 8 9": {},
	} {
		task, ok := ReadKernelTask(line)
		require.Equal(t, want != KernelTask{}, ok, line)
		if ok {
			require.Equal(t, want, task, line)
		}
	}
}

func TestSyscallName(t *testing.T) {
	for _, tt := range []struct {
		machine string
		number  int
		want    string
	}{
		{"x86_64", 166, "umount2"},
		{"aarch64", 39, "umount2"},
		{"arm64", 166, "umask"},
		{"amd64", 0, "read"},
		{"x86_64", 45, "recvfrom"},
		{"aarch64", 207, "recvfrom"},
		{"x86_64", 306, "syncfs"},
		{"x86_64", 400, ""}, // a gap
		{"x86_64", -1, ""},
		{"x86_64", 100_000, ""},
		{"", 166, ""},
		{"riscv64", 39, ""},
	} {
		require.Equal(t, tt.want, SyscallName(tt.machine, tt.number), "%s %d", tt.machine, tt.number)
	}
}

// TestSyscallTables: the names are those of this machine's own headers, where it has them.
func TestSyscallTables(t *testing.T) {
	header, err := os.ReadFile("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
	if err != nil {
		t.Skip("no headers here")
	}
	for line := range strings.Lines(string(header)) {
		f := strings.Fields(line)
		if len(f) != 3 || !strings.HasPrefix(f[1], "__NR_") {
			continue
		}
		n, _ := digits([]byte(f[2]))
		require.Equal(t, strings.TrimPrefix(f[1], "__NR_"), SyscallName("x86_64", int(n)))
	}
}

// TestThreadFilesByPath: what a file is comes from where it stands; every line of it is accounted for.
func TestThreadFilesByPath(t *testing.T) {
	dir := os.DirFS("../incident/testdata/proc")
	files, err := filepath.Glob("../incident/testdata/proc/*/task/*/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		name = strings.TrimPrefix(filepath.ToSlash(name), "../incident/testdata/proc/")
		file, err := dir.Open(name)
		require.NoError(t, err)
		var stats Stats
		used := 0
		for s, err := range threadFiles(Input{Path: "proc/" + name, R: file, Stats: &stats}) {
			require.NoError(t, err, name)
			require.True(t, s.Part)
			require.Equal(t, []any{6175, "proc"}, []any{s.PID, s.Group}, name)
			used += s.Lines
		}
		require.Equal(t, stats.Lines, used+stats.Blank, name)
		require.NoError(t, file.Close())
	}
}

// FuzzThreadFiles: whatever stands where a file of /proc would, every line is accounted for, and quotes stand in it.
func FuzzThreadFiles(f *testing.F) {
	for _, seed := range []string{
		"[<0>] f+0x1/0x2\n[<0>] entry_SYSCALL_64+0x1/0x2\n[<0>] g+0x1/0x2\n", "Name:\tx\nState:\tD (disk sleep)\nPid:\t7\n", "166 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n",
		"7 (a) b) D 1 2\n", "folio_wait_bit", "0::/a\n1:pids:/b\n", "=== 7 x ===\n[<0>] f+0x1/0x2\n=== ?\n", "==> /proc/7/stack <==\n", "/proc/7/wchan:x\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := strings.Split(string(data), "\n")
		for _, name := range append([]string{""}, procFiles...) {
			var stats Stats
			accounted := 0
			for s, err := range threadFiles(Input{Path: "proc/7/task/8/" + name, R: strings.NewReader(string(data)), Stats: &stats}) {
				if skip, ok := errors.AsType[*event.Skip](err); ok {
					accounted += skip.Lines
					continue
				}
				require.NoError(t, err)
				accounted += s.Lines
				require.Len(t, s.Frames, len(strings.Fields(s.Stack)))
				for _, q := range append(s.Frames, event.Quote{Pos: s.Pos, Text: s.Raw}) {
					require.Contains(t, lines[q.Pos.Line-1], q.Text)
				}
			}
			require.Equal(t, stats.Lines, accounted+stats.Blank, name)
		}
	})
}

// A stack that is pasted below a line of the kernel's log takes that line from nobody.
func TestProcWithoutThread(t *testing.T) {
	stack := "[<ffffffff939d90c2>] congestion_wait+0x82/0x110\n[<ffffffff93896bc3>] SyS_unshare+0x173/0x2e0\n"
	require.Positive(t, sniffProc([]byte(stack)), "the path may name the thread")
	require.Zero(t, sniffProc([]byte("XFS: runc(3580) possible memory allocation deadlock in kmem_zone_alloc (mode:0x82d0)\n"+stack)))
}
