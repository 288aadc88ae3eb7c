package samples

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

func TestPlaceOf(t *testing.T) {
	for file, want := range map[string]procPlace{
		"node-1/proc/1234/stack":          {pid: 1234, tid: 1234, file: "stack", root: "node-1/proc"},
		"proc/1234/task/1240/wchan":       {pid: 1234, tid: 1240, file: "wchan", root: "proc"},
		"/proc/containerd/stack":          {comm: "containerd", file: "stack", root: "/proc"}, // of $(pidof containerd)
		"a/containerd/stack":              {pid: 0, tid: 0, file: "stack", root: "a/containerd"},
		"a/1234/syscall":                  {pid: 1234, tid: 1234, file: "syscall", root: "a"},
		"d/1234.stack":                    {pid: 0, tid: 1234, file: "stack", root: "d"},
		"stack.1234":                      {pid: 0, tid: 1234, file: "stack", root: ""},
		"shim-1234-stack.txt":             {pid: 0, tid: 1234, file: "stack", root: ""},
		"tid1240_kstack.log":              {pid: 0, tid: 1240, file: "stack", root: ""},
		"shim-1234-1240-stack.txt":        {pid: 0, tid: 0, file: "stack", root: ""}, // may be anything
		"stack-20261120.txt":              {pid: 0, tid: 0, file: "stack", root: ""},
		"stack-0815.txt":                  {pid: 0, tid: 0, file: "stack", root: ""},
		"containerd.4242.stacks.log":      {},
		"goroutine-stacks-2024-01-01.log": {},
		"kubelet.log":                     {},
	} {
		p, ok := readPlace(file)
		require.Equal(t, want.file != "", ok, file)
		if ok {
			require.Equal(t, want, p, file)
		}
	}
}

// TestThreadFilesByPath: what a file is comes from where it stands; every line of it is accounted
// for.
func TestThreadFilesByPath(t *testing.T) {
	dir := os.DirFS("../../incident/testdata/proc")
	files, err := filepath.Glob("../../incident/testdata/proc/*/task/*/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		name = strings.TrimPrefix(filepath.ToSlash(name), "../../incident/testdata/proc/")
		file, err := dir.Open(name)
		require.NoError(t, err)
		var stats lines.Stats
		used := 0
		for s, err := range ReadProc(lines.Input{Path: "proc/" + name, R: file, Stats: &stats}) {
			require.NoError(t, err, name)
			require.True(t, s.Part)
			require.Equal(t, []any{6175, "proc"}, []any{s.PID, s.Group}, name)
			used += s.Lines
		}
		require.Equal(t, stats.Lines, used+stats.Blank, name)
		require.NoError(t, file.Close())
	}
}

// FuzzThreadFiles: whatever stands where a file of /proc would, every line is accounted for, and
// quotes stand in it.
func FuzzThreadFiles(f *testing.F) {
	for _, seed := range []string{
		"[<0>] f+0x1/0x2\n[<0>] entry_SYSCALL_64+0x1/0x2\n[<0>] g+0x1/0x2\n", "Name:\tx\nState:\tD (disk sleep)\nPid:\t7\n", "166 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n",
		"7 (a) b) D 1 2\n", "folio_wait_bit", "0::/a\n1:pids:/b\n", "=== 7 x ===\n[<0>] f+0x1/0x2\n=== ?\n", "==> /proc/7/stack <==\n", "/proc/7/wchan:x\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text := strings.Split(string(data), "\n")
		for _, name := range append([]string{""}, procFiles...) {
			var stats lines.Stats
			accounted := 0
			for s, err := range ReadProc(lines.Input{Path: "proc/7/task/8/" + name, R: strings.NewReader(string(data)), Stats: &stats}) {
				if skip, ok := errors.AsType[*event.Skip](err); ok {
					accounted += skip.Lines
					continue
				}
				require.NoError(t, err)
				accounted += s.Lines
				require.Len(t, s.Frames, len(strings.Fields(s.Stack)))
				for _, q := range append(s.Frames, s.Quote()) {
					require.Contains(t, text[q.Pos.Line-1], q.Text)
				}
			}
			require.Equal(t, stats.Lines, accounted+stats.Blank, name)
		}
	})
}

// TestLoneStack: a file of frames and nothing else is the stack of the thread that it is named
// after, or of one that is not known.
func TestLoneStack(t *testing.T) {
	const stack = "[<0>] __refrigerator+0x4c/0x130\n[<0>] entry_SYSCALL_64_after_hwframe+0x44/0xae\n"
	for file, tid := range map[string]int{
		"proc-27916-stack.txt": 27916, "27916.txt": 27916, "runc-init-27916.log": 27916, "a/proc/27916/stack": 27916,
		"frozen.txt": 0, "2026-11-20.txt": 0,
	} {
		var all []Sample
		for s, err := range ReadProc(lines.Input{Path: file, R: strings.NewReader(stack)}) {
			require.NoError(t, err, file)
			all = append(all, s)
		}
		require.Len(t, all, 1, file)
		require.Equal(t, []any{tid, "entry_SYSCALL_64_after_hwframe __refrigerator"}, []any{all[0].TID, all[0].Stack}, file)
	}
}

// A stack that is pasted below a line of the kernel's log takes that line from nobody.
func TestProcWithoutThread(t *testing.T) {
	stack := "[<ffffffff939d90c2>] congestion_wait+0x82/0x110\n[<ffffffff93896bc3>] SyS_unshare+0x173/0x2e0\n"
	require.Positive(t, SniffProc(lines.NewHead([]byte(stack))), "the path may name the thread")
	require.Zero(t, SniffProc(lines.NewHead([]byte("XFS: runc(3580) possible memory allocation deadlock in kmem_zone_alloc (mode:0x82d0)\n"+stack))))
}
