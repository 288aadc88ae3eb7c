package kernel

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

func TestReadFrame(t *testing.T) {
	for line, want := range map[string]struct {
		function   string
		unsure, ok bool
	}{
		"[<0>] ovl_sync_fs+0x2f/0x50 [overlay]":                                                      {"ovl_sync_fs", false, true},
		" [<ffffffff8132cb66>] ? __blk_run_queue+0x29/0x31":                                          {"__blk_run_queue", true, true},
		"  lo_rw_aio.isra.0+0x1/0x2 [loop 0a1b]":                                                     {"lo_rw_aio.isra.0", false, true},
		" jbd2_log_wait_commit+0x2ef/0x460 fs/jbd2/journal.c:697":                                    {"jbd2_log_wait_commit", false, true},
		"[<0>] ovl_sync_fs":                                                                          {"ovl_sync_fs", false, true},
		"[<ffffffffc059b21c>] kmem_zone_alloc [xfs]":                                                 {"kmem_zone_alloc", false, true},
		"[<0>] ? ovl_sync_fs+0x2f [overlay]":                                                         {"ovl_sync_fs", true, true},
		" #3 [ffffb8a0c0a5bce0] ovl_sync_fs at ffffffffc0a3d1bf [overlay]":                           {"ovl_sync_fs", false, true},
		"#10 [ffff80001234bc40] __switch_to at ffff800010b4e3d0":                                     {"__switch_to", false, true},
		"\tffffffffc0a3d1bf ovl_sync_fs+0x2f ([overlay])":                                            {"ovl_sync_fs", false, true},
		"        ffffffff8153d9d1 schedule ([kernel.kallsyms])":                                      {"schedule", false, true},
		"[c000000f5a3b7a20] [c00000000012abcd] schedule+0x4c/0xd0":                                   {"schedule", false, true},
		"[c000000f5a3b7a20] [c00000000012abcd] 0xc00000000012abcd (unreliable)":                      {},
		"[<8079dff8>] (schedule) from [<7f50b754>] (btrfs_start_ordered_extent+0x128/0x158 [btrfs])": {"schedule", false, true},
		"[<7f50bcfc>] (btrfs_wait_ordered_range [btrfs]) from [<7f53e2a0>] (f+0x50/0x1e4 [btrfs])":   {"btrfs_wait_ordered_range", false, true},
		" schedule from io_schedule+0x14/0x3c":                                                       {"schedule", false, true},
		"a word from kernel+0x14/0x3c":                                                               {},
		"[<8079dff8>] (schedule) from somewhere":                                                     {},
		"            7f0c2d1a0b3b umount2+0xb (/usr/lib/x86_64-linux-gnu/libc.so)":                   {},
		"#0 main.main() at main.go:12":                                                               {},
		"[1234] word":                                                                                {},
		"[<0>] two words":                                                                            {},
		"[<0>] 0xffffffffffffffff":                                                                   {"", false, true},
		"\t/usr/local/go/src/runtime/proc.go:398 +0x1d":                                              {},
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
		strings.Repeat("f", MaxSymbol+1) + "+0x1/0x2":                            {},
		"kworker/u8:3+loop2 some words about 0x1/0x2 in a line that is no stack": {},
	} {
		function, unsure, ok := ReadFrame(line)
		require.Equal(t, want, struct {
			function   string
			unsure, ok bool
		}{function, unsure, ok}, line)
	}
}

func TestReadBareFrame(t *testing.T) {
	for line, want := range map[string]string{
		"ovl_sync_fs":                "ovl_sync_fs",
		"    ovl_sync_fs+47":         "ovl_sync_fs",
		"ovl_sync_fs+0x2f [overlay]": "ovl_sync_fs",
		"    b'finish_task_switch'":  "finish_task_switch",
		"ovl_sync_fs()":              "ovl_sync_fs",
		"two words":                  "",
		"]: 12":                      "",
		"0xffffffff":                 "",
		"f+":                         "",
		"":                           "",
	} {
		function, ok := ReadBareFrame(line)
		require.Equal(t, want, function, line)
		require.Equal(t, want != "", ok, line)
	}
}

func TestReadCPUTask(t *testing.T) {
	for line, want := range map[string]Task{
		"CPU: 3 PID: 1422 Comm: dockerd Tainted: G           O 5.4.89+ #1":                     {"dockerd", "R", 1422, 0},
		"CPU: 3 UID: 0 PID: 1422 Comm: runc:[1:CHILD] Not tainted 6.12.0 #1":                   {"runc:[1:CHILD]", "R", 1422, 0},
		"CPU: 9 PID: 7 Comm: rs:main Q:Reg Kdump: loaded Not tainted 4.18.0-305.el8.x86_64 #1": {"rs:main Q:Reg", "R", 7, 0},
		"Pid: 1422, comm: dockerd Not tainted 2.6.32-754.el6.x86_64 #1":                        {"dockerd", "R", 1422, 0},
		"CPU: 3 PID: 1422": {},
		"Comm: x":          {},
	} {
		task, ok := ReadCPUTask(line)
		require.Equal(t, want, task, line)
		require.Equal(t, want != Task{}, ok, line)
	}
}

func TestReadCrashTask(t *testing.T) {
	for line, want := range map[string]Task{
		`PID: 1422   TASK: ffff8f4a5e2d0000  CPU: 3   COMMAND: "containerd-shim"`:                       {"containerd-shim", "", 1422, 0},
		`[0 00:03:32.104] [UN]  PID: 1422   TASK: ffff8f4a5e2d0000  CPU: 3   COMMAND: "runc:[1:CHILD]"`: {"runc:[1:CHILD]", "D", 1422, 0},
		`PID: 1422 TASK: none`: {},
	} {
		task, ok := ReadCrashTask(line)
		require.Equal(t, want, task, line)
		require.Equal(t, want != Task{}, ok, line)
	}
}

func TestReadStackPath(t *testing.T) {
	for line, want := range map[string]string{
		"# cat /proc/1422/stack":                                    "/proc/1422/stack",
		"[root@node-1 ~]# sudo cat /proc/1422/task/1440/stack":      "/proc/1422/task/1440/stack",
		"+ cat /proc/1422/wchan":                                    "/proc/1422/wchan",
		"cat /proc/1422/stack":                                      "/proc/1422/stack",
		"$ cat /proc/meminfo":                                       "",
		"run cat /proc/1422/stack and paste what it prints, please": "",
		"look at /proc/1422/stack":                                  "",
	} {
		file, ok := ReadStackPath(line)
		require.Equal(t, want, file, line)
		require.Equal(t, want != "", ok, line)
	}
}

func TestReadTask(t *testing.T) {
	for line, want := range map[string]Task{
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
		task, ok := ReadTask(line)
		require.Equal(t, want != Task{}, ok, line)
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
		n, _ := lines.Digits([]byte(f[2]))
		require.Equal(t, strings.TrimPrefix(f[1], "__NR_"), SyscallName("x86_64", int(n)))
	}
}
