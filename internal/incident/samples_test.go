package incident_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/observe/threads"
)

// TestSamplesBesideTrace: strace and xcapture watched the same umount2 (parse/testdata/README.md).
// Both tell of the same thread: one call, that began and ended when strace says, and of which the
// samples show where the kernel was. They give strace its date, too.
func TestSamplesBesideTrace(t *testing.T) {
	dir := t.TempDir()
	for name, sample := range map[string]string{
		"threads.csv": "../parse/testdata/xcapture/v126_umount2-under-strace.csv.log.gz",
		"shim.strace": "../parse/testdata/strace/umount2-overlay-sync.f.tt.T.log.gz",
	} {
		f, err := os.Open(sample)
		require.NoError(t, err)
		defer f.Close()
		zip, err := gzip.NewReader(f)
		require.NoError(t, err)
		text, err := io.ReadAll(zip)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{dir}}})
	require.NoError(t, err)
	require.Equal(t, "xcapture", account(t, inc, "threads.csv").Format)
	var found []*event.Event
	for _, e := range inc.Timeline.Events {
		if name, _ := e.Get("name"); name.Text() == "umount2" {
			found = append(found, e)
		}
	}
	require.Len(t, found, 2, "the call, and what the kernel waits for in it")
	call, wait := found[0], found[1]
	if call.Kind != event.KindSyscall {
		call, wait = wait, call
	}
	require.Equal(t, event.KindThreadSample, wait.Kind)
	require.Equal(t, "sync", wait.FieldText(event.FieldWaits))
	require.Equal(t, []any{event.Kind("syscall"), "shim", 41246, 41227}, []any{call.Kind, call.Component, call.IDs.TID, call.IDs.PID})
	require.Equal(t, "6.053773s", call.Duration().String(), "the trace saw both edges")
	for key, want := range map[event.Key]string{"state": "D", "wchan": "folio_wait_bit", "samples": "6", "seen_by": "strace, samples", "returned": "true"} {
		got, _ := call.Get(key)
		require.Equal(t, want, got.Text(), key)
	}
	stack, _ := call.Get("stack")
	require.Contains(t, stack.Text(), "cleanup_mnt deactivate_locked_super kill_anon_super generic_shutdown_super sync_filesystem ovl_sync_fs")
	var cited []string
	for _, q := range call.Evidence {
		cited = append(cited, q.Pos.String())
	}
	require.Equal(t, []string{"shim.strace:481", "shim.strace:485", "threads.csv:21", "threads.csv:86"}, cited)
}

// zipped is a sample of the parser's, as the file that it was.
func zipped(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open("../parse/testdata/" + name + ".log.gz")
	require.NoError(t, err)
	defer f.Close()
	zip, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(zip)
	require.NoError(t, err)
	return string(text)
}

// seen are the threads that an input shows, by id.
func seen(t *testing.T, inc *incident.Incident) map[int]*event.Event {
	t.Helper()
	all := map[int]*event.Event{}
	for _, e := range inc.Timeline.Events {
		if e.Kind == event.KindThreadSample {
			require.NotContains(t, all, e.IDs.TID, "a thread is told of once: %s", e.Text)
			all[e.IDs.TID] = e
		}
	}
	return all
}

func field(e *event.Event, key event.Key) string {
	v, _ := e.Get(key)
	return v.Text()
}

// written puts files into a directory.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// TestSamplesAcrossFiles: xcapture 3 writes samples, stacks, cgroups and ended calls into files of
// their own. Ids join them, whatever the files are called, in one directory and no other.
func TestSamplesAcrossFiles(t *testing.T) {
	const stacks = "KSTACK_HASH,KSTACK_SYMS\n17eb7f841d3b24f3,'folio_wait_bit_common+0x13d;ovl_sync_fs+0x36;cleanup_mnt+0xb6;do_syscall_64+0x7e'\n" +
		"df3a64c73032ae3,''\n61b5e72e1285099e,'__skb_wait_for_more_packets+0x120;netlink_recvmsg+0x4e'\n"
	const container = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	files := map[string]string{
		"x/a_samples.csv": zipped(t, "xcapture/v303_samples.csv"),
		"x/b_syscend.csv": zipped(t, "xcapture/v303_syscend.csv"),
		"x/c_iorqend.csv": zipped(t, "xcapture/v303_iorqend.csv"),
		"x/d.csv":         stacks,
		"x/e.csv":         "CGROUP_ID,CGROUP_PATH\n1,/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + container + ".scope\n",
		"y/d.csv":         "KSTACK_HASH,KSTACK_SYMS\ndf3a64c73032ae3,'of_another_directory+0x1'\n",
	}
	inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{written(t, files)}}})
	require.NoError(t, err)
	sampled := seen(t, inc)
	umount := sampled[3866]
	require.Equal(t, []string{"umount2", "D", "cleanup_mnt ovl_sync_fs folio_wait_bit_common"},
		[]string{field(umount, "name"), field(umount, "state"), strings.TrimPrefix(field(umount, "stack"), "do_syscall_64 ")})
	require.Empty(t, umount.IDs.Container, "a shim may run in the cgroup of its sandbox")
	require.Equal(t, "x/d.csv:2", relative(umount.Evidence[len(umount.Evidence)-1].Pos))
	require.Equal(t, "true", field(sampled[3610], "netlink"))

	fsync := sampled[3884]
	require.Empty(t, field(fsync, "stack"), "an id holds in its own directory")
	require.Equal(t, container, fsync.IDs.Container)
	require.Equal(t, "samples, samples.ended", field(fsync, "seen_by"))
	require.Equal(t, "8.093556952s", fsync.Duration().Round(1).String(), "syscend saw both edges")
	disk := slices.IndexFunc(inc.Timeline.Events, func(e *event.Event) bool { return e.Kind == event.KindDiskRequest })
	require.GreaterOrEqual(t, disk, 0)
	require.Equal(t, 3884, inc.Timeline.Events[disk].IDs.TID)

	// Ended calls are no look at threads: a rule that asks for samples has none.
	delete(files, "x/a_samples.csv")
	inc, err = loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{written(t, files)}}})
	require.NoError(t, err)
	for _, c := range inc.Timeline.Coverage {
		require.Equal(t, threads.SourceEnded, c.Source)
	}
}

func relative(pos event.Pos) string {
	s := pos.String()
	if i := strings.Index(s, "/x/"); i >= 0 {
		return s[i+1:]
	}
	return s
}

// TestThreadsOfProc: the files of one thread in /proc are one moment of it, in a tree as in
// collections.
func TestThreadsOfProc(t *testing.T) {
	check := func(t *testing.T, inc *incident.Incident, whole bool) {
		t.Helper()
		sampled := seen(t, inc)
		require.NotContains(t, sampled, 6175, "a thread that sleeps is no news")
		require.Equal(t, "recvfrom", field(sampled[6179], "name"))
		require.Equal(t, "true", field(sampled[6179], "netlink"))
		if !whole {
			return // without a state, vfork tells nothing
		}
		clone := sampled[6177]
		require.Equal(t, []string{"vfork", "D", "containerd-shim", "kernel_clone", "58", "x86_64"}, []string{
			field(clone, "name"), field(clone, "state"), field(clone, "comm"), field(clone, "wchan"), field(clone, "number"), field(clone, "machine"),
		})
		require.Equal(t, []any{6177, 6175, "shim", threads.SourceThreads}, []any{clone.IDs.TID, clone.IDs.PID, clone.Component, clone.Source})
		require.Contains(t, clone.Evidence[0].Text, "State:\tD")
	}
	t.Run("tree", func(t *testing.T) {
		inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{"testdata/proc"}}})
		require.NoError(t, err)
		check(t, inc, true)
		checkLaws(t, "testdata/proc", inc)
	})
	for _, name := range []string{"tail", "grep", "blocks"} {
		t.Run(name, func(t *testing.T) {
			in := written(t, map[string]string{name + ".txt": zipped(t, "proc/"+name)})
			inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{in}}})
			require.NoError(t, err)
			check(t, inc, false)
			checkLaws(t, in, inc)
		})
	}
	t.Run("walks", func(t *testing.T) {
		in := written(t, map[string]string{"threads.jsonl": zipped(t, "threads/vfork")})
		inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{in}}})
		require.NoError(t, err)
		check(t, inc, false)
		clone := seen(t, inc)[6177]
		require.Equal(t, []string{"vfork", "3", "D"}, []string{field(clone, "name"), field(clone, "samples"), field(clone, "state")})
		require.InDelta(t, 2.0, clone.Duration().Seconds(), 0.1)
		require.True(t, clone.Open && clone.Begun)
		checkLaws(t, in, inc)
	})
	t.Run("the number of a call means something on one machine", func(t *testing.T) {
		files := map[string]string{"7.syscall": "166 0x1 0x0 0x0 0x0 0x0 0x0 0x2 0x3\n", "7.status": "Name:\tx\nState:\tD (disk sleep)\n"}
		for _, tt := range []struct{ file, uname, want string }{
			{"uname.txt", "Linux n 5.10.0 #1 SMP x86_64 GNU/Linux\n", "umount2"},
			{"uname.txt", "Linux n 5.10.0 #1 SMP aarch64 GNU/Linux\n", "umask"},
			{"other.txt", "nothing\n", ""},
		} {
			files["uname.txt"] = ""
			files[tt.file] = tt.uname
			inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{written(t, files)}}})
			require.NoError(t, err)
			require.Equal(t, tt.want, field(seen(t, inc)[7], "name"))
			require.Equal(t, "166", field(seen(t, inc)[7], "number"))
		}
	})
}

// TestKernelLogBesideSamples: what the kernel's log and a sampler saw of one hang is one event.
func TestKernelLogBesideSamples(t *testing.T) {
	files := map[string]string{
		"threads.csv": zipped(t, "xcapture/v126_umount2-under-strace.csv"),
		"kern.log": "Nov 20 18:22:20 n kernel: sysrq: Show Blocked State\n" +
			"Nov 20 18:22:20 n kernel: task:containerd-shim state:D stack:0     pid:41246 tgid:41227 ppid:1      flags:0x00004006\n" +
			"Nov 20 18:22:20 n kernel: Call Trace:\n" +
			"Nov 20 18:22:20 n kernel:  ovl_sync_fs+0x36/0x60 [overlay]\n" +
			"Nov 20 18:22:20 n kernel:  cleanup_mnt+0xb6/0x130\n",
	}
	inc, err := loadAny(t, incident.Options{Inputs: incident.Inputs{Paths: []string{written(t, files)}}})
	require.NoError(t, err)
	umount := seen(t, inc)[41246]
	require.Equal(t, "samples, kernel.log", field(umount, "seen_by"))
	require.Equal(t, "umount2", field(umount, "name"))
	require.Len(t, umount.Evidence, 5)
}
