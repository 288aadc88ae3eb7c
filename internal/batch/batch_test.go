package batch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/report/rows"
)

// The test's own program stands in for a worker, and for a whole run that is killed.
const (
	workerStandIn = "stand-in-worker"
	runStandIn    = "stand-in-run"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case workerStandIn:
			standInForWorker(os.Args[len(os.Args)-1], os.Args[len(os.Args)-3])
		case runStandIn:
			standInForRun(os.Args[2], os.Args[3])
		}
	}
	os.Exit(m.Run())
}

// standInForWorker does what the first word of the bundle says.
func standInForWorker(bundle, dir string) {
	text, err := os.ReadFile(bundle)
	if err != nil {
		fail(1, err)
	}
	note(bundle)
	row := rows.Row{Schema: rows.Schema, State: "healthy", Report: "report-1.json", Node: rows.NewText(string(text))}
	all := []rows.Row{row}
	word, _, _ := strings.Cut(string(text), " ")
	switch word {
	case "crash":
		var none *rows.Row
		none.State = ""
	case "endless":
		select {}
	case "hog":
		if err := Confine(leastBound); err != nil {
			fail(StatusMachine, err)
		}
		var kept [][]byte
		for {
			if kept = append(kept, bytes.Repeat([]byte{1}, 1<<20)); len(kept) > 4096 {
				fail(1, errors.New("4 GiB were not too much"))
			}
		}
	case "flood": // of the size of files: under load Go needs more than the least memory
		if err := Confine(8 * leastBound); err != nil {
			fail(StatusMachine, err)
		}
		err := writeFile(filepath.Join(dir, "report-1.json"), func(w io.Writer) error {
			for piece := bytes.Repeat([]byte{'x'}, 1<<20); ; {
				if _, err := w.Write(piece); err != nil {
					return err
				}
			}
		})
		fail(1, err)
	case "killed", "killed-once":
		if word == "killed" || noted(bundle) == 1 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	case "full":
		fail(StatusMachine, errors.New("no space left on device"))
	case "refuse":
		fail(1, errors.New("nothing to analyse"))
	case "silent":
		os.Exit(0)
	case "escape":
		all[0].Report = "../../../etc/passwd"
	case "grow":
		if f, err := os.OpenFile(bundle, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			fmt.Fprint(f, ".")
			f.Close()
		}
	case "nodes":
		other := row
		other.Report = "report-2.json"
		all = append(all, other)
	case "slow":
		time.Sleep(300 * time.Millisecond)
	}
	for _, name := range []string{"report-1.json", "report-2.json"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte("{}\n"), 0o644))
	}
	err = errors.Join(err, writeFile(filepath.Join(dir, rowsFile), func(w io.Writer) error { return rows.Write(w, all) }))
	if err != nil {
		fail(StatusMachine, err)
	}
	os.Exit(0)
}

const leastBound = 128 << 20

func fail(status int, err error) {
	fmt.Fprintln(os.Stderr, "plegdiag: "+err.Error())
	os.Exit(status)
}

// note notes that a bundle was analysed; noted counts it.
func note(bundle string) {
	f, err := os.OpenFile(notes(bundle), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		fmt.Fprint(f, ".")
		f.Close()
	}
}

func notes(bundle string) string {
	dir, name := filepath.Split(bundle)
	return filepath.Join(dir, "."+name)
}

func noted(bundle string) int {
	text, _ := os.ReadFile(notes(bundle))
	return len(text)
}

func standInForRun(in, out string) {
	_, err := Run(context.Background(), testOptions(in, out))
	if err != nil {
		fail(1, err)
	}
	os.Exit(0)
}

func testOptions(in, out string) Options {
	return Options{
		Inputs: []string{in}, Out: out, Jobs: 2,
		Identity: Identity{Version: "v1", Catalog: "abc"}, Worker: Worker{[]string{"/proc/self/exe", workerStandIn}, time.Minute, 1 << 30},
	}
}

// writeBundles writes files by their names; their names end as archives do.
func writeBundles(t *testing.T, contents map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range contents {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return dir
}

// merged are the rows of the merged file.
func merged(t *testing.T, out string) []rows.Row {
	t.Helper()
	f, err := os.Open(filepath.Join(out, Merged))
	require.NoError(t, err)
	defer f.Close()
	all, err := rows.Read(f)
	require.NoError(t, err)
	return all
}

func mustRun(t *testing.T, o Options) Tally {
	t.Helper()
	tally, err := Run(t.Context(), o)
	require.NoError(t, err)
	left, err := filepath.Glob(filepath.Join(escapeGlob(o.Out), runPattern))
	require.NoError(t, err)
	require.Empty(t, left, "nothing unfinished is left")
	return tally
}

// Whatever a bundle does to its worker costs its own row, which says what it was.
func TestWorkerEnds(t *testing.T) {
	in := writeBundles(t, map[string]string{
		"ok.tar": "ok", "crash.tar": "crash", "endless.tar": "endless", "flood.tar": "flood", "killed.tar": "killed",
		"once.tar": "killed-once", "refuse.tar": "refuse", "silent.tar": "silent", "escape.tar": "escape", "grow.tar": "grow ",
	})
	o := testOptions(in, t.TempDir())
	o.Worker.Bound = 12 * time.Second
	want := map[string]string{
		"ok.tar": "", "once.tar": "",
		"crash.tar":   "its worker crashed: panic: runtime error: invalid memory address or nil pointer dereference",
		"endless.tar": "not done within 12s (--timeout)",
		"flood.tar":   "its report has more than 256 MiB",
		"killed.tar":  "its worker was killed 3 times, the last time by signal killed",
		"refuse.tar":  "nothing to analyse",
		"silent.tar":  "its worker left no rows that can be read: stat ",
		"escape.tar":  `its worker left no rows that can be read: no report "../../../etc/passwd"`,
		"grow.tar":    "it changed while it was read: is it still being written?",
	}
	if memoryIsBounded {
		require.NoError(t, os.WriteFile(filepath.Join(in, "hog.tar"), []byte("hog"), 0o644))
		want["hog.tar"] = "it needs more memory than 1024 MiB (--memory)"
	}
	tally := mustRun(t, o)
	require.Equal(t, len(want), tally.Tried)
	all := merged(t, o.Out)
	require.Len(t, all, len(want))
	for _, row := range all {
		reason, ok := want[filepath.Base(string(row.Path))]
		require.True(t, ok, row.Path)
		require.Equal(t, reason == "", row.State != rows.Failed, row.Path)
		require.True(t, strings.HasPrefix(string(row.Reason), reason), "%s: %s", row.Path, row.Reason)
	}
	require.Equal(t, len(want)-2, tally.Failed)
	require.Equal(t, 2, noted(filepath.Join(in, "once.tar")))
	require.Equal(t, 3, noted(filepath.Join(in, "killed.tar")))
}

// What is wrong with the machine ends the run: the bundle is not to blame, and stays undone.
func TestMachineFails(t *testing.T) {
	in := writeBundles(t, map[string]string{"a.tar": "full"})
	o := testOptions(in, t.TempDir())
	_, err := Run(t.Context(), o)
	require.ErrorContains(t, err, "a.tar: no space left on device")
	o.Worker.Program = []string{"/nonexistent"}
	_, err = Run(t.Context(), o)
	require.ErrorContains(t, err, "no worker could be started")
	names, err := os.ReadDir(filepath.Join(o.Out, rowsDir))
	require.NoError(t, err)
	require.Empty(t, names)
}

// What is done stays done, until something changes of what it depends on.
func TestDoneBefore(t *testing.T) {
	in := writeBundles(t, map[string]string{"a.tar": "nodes a", "b.tar": "refuse", "c/a-too.tgz": "nodes a"})
	a, b := filepath.Join(in, "a.tar"), filepath.Join(in, "b.tar")
	o := testOptions(in, t.TempDir())
	o.Jobs = 1
	tally := mustRun(t, o)
	require.Equal(t, Tally{Listed: 3, Tried: 3, Analysed: 2, Twice: 1, Failed: 1, Rows: 3, Bundles: 2}, tally)
	first, err := os.ReadFile(filepath.Join(o.Out, Merged))
	require.NoError(t, err)
	tally = mustRun(t, o)
	require.Equal(t, Tally{Listed: 3, Tried: 3, Before: 2, Twice: 1, Failed: 1, Rows: 3, Bundles: 2}, tally)
	second, err := os.ReadFile(filepath.Join(o.Out, Merged))
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	require.Equal(t, 1, noted(b))

	o.RetryFailed = true
	mustRun(t, o)
	require.Equal(t, 1, noted(a))
	require.Equal(t, 2, noted(b))

	o.RetryFailed, o.Labels = false, map[string]string{"cluster": "east"}
	mustRun(t, o)
	for _, row := range merged(t, o.Out) {
		require.Equal(t, o.Labels, row.Labels)
		require.Contains(t, []string{a, b}, string(row.Path), "the first of its names")
	}
	require.Equal(t, 1, noted(a), "a label is no reason to read a bundle again")

	reports, err := filepath.Glob(filepath.Join(o.Out, reportsDir, "*.json"))
	require.NoError(t, err)
	require.Len(t, reports, 2, "of two nodes")
	require.NoError(t, os.Remove(reports[0]))
	mustRun(t, o)
	require.Equal(t, 2, noted(a), "a report was missing")

	o.Identity.Settings = "tz=+08:00"
	mustRun(t, o)
	require.Equal(t, 3, noted(a))
	require.NoError(t, os.Remove(a))
	mustRun(t, o)
	for _, row := range merged(t, o.Out) {
		require.Contains(t, []string{filepath.Join(in, "c/a-too.tgz"), b}, string(row.Path), "a name that is gone is none")
	}

	o.Inputs = nil
	tally = mustRun(t, o)
	require.Equal(t, Tally{Rows: 3, Bundles: 2}, tally, "without inputs the rows are merged")
}

// A bundle that cannot be read has a row, which goes when it can.
func TestUnread(t *testing.T) {
	in := writeBundles(t, map[string]string{"list": "missing.tar\r\n\nhere.tar\n", "here.tar": "ok"})
	t.Chdir(in)
	o := testOptions("@list", t.TempDir())
	tally := mustRun(t, o)
	require.Equal(t, 1, tally.Failed)
	all := merged(t, o.Out)
	require.Len(t, all, 2)
	require.Equal(t, rows.Row{
		Schema: rows.Schema, State: rows.Failed, Path: "missing.tar", Labels: map[string]string{}, Version: "v1", Catalog: "abc",
		Reason: "stat missing.tar: no such file or directory",
	}, all[1])
	require.NoError(t, os.WriteFile("missing.tar", []byte("ok too"), 0o644))
	require.Zero(t, mustRun(t, o).Failed)
	all = merged(t, o.Out)
	require.Len(t, all, 2)
	require.NotEmpty(t, all[1].Bundle)

	o.Inputs = []string{"no-such.tar"}
	_, err := Run(t.Context(), o)
	require.ErrorIs(t, err, os.ErrNotExist, "an argument that is not there is a mistake")
}

func TestListInputs(t *testing.T) {
	in := writeBundles(t, map[string]string{
		"a.tgz": "broken", "sub/deep/b.TAR.GZ": "x", "readme.txt": "text", ".hidden.tgz": "x", ".snapshot/c.tgz": "x", "sub/d.zip": "PK",
		"out/reports/e.zip": "x",
	})
	require.NoError(t, os.Symlink("a.tgz", filepath.Join(in, "link.tgz")))
	require.NoError(t, os.Symlink("sub", filepath.Join(in, "linked")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(in, "pipe.tgz"), 0o600))
	o := testOptions(in, filepath.Join(in, "out"))
	keys := func(l *listing) (keys []string) {
		for _, i := range l.inputs {
			keys = append(keys, i.key)
		}
		return keys
	}
	l, err := listInputs(&o)
	require.NoError(t, err)
	require.Equal(t, []string{"a.tgz", "link.tgz", "sub/d.zip", "sub/deep/b.TAR.GZ"}, keys(l))
	require.Equal(t, 2, l.passed, "the text and the pipe")
	o.Each = true
	l, err = listInputs(&o)
	require.NoError(t, err)
	require.Equal(t, []string{"a.tgz", "link.tgz", "linked", "pipe.tgz", "readme.txt", "sub"}, keys(l))
	o = testOptions(filepath.Join(in, "readme.txt"), filepath.Join(in, "out"))
	o.Inputs = append(o.Inputs, "-", filepath.Join(in, "readme.txt"))
	o.List = strings.NewReader(filepath.Join(in, "sub") + "\n" + filepath.Join(in, "sub", "d.zip") + "\n")
	l, err = listInputs(&o)
	require.NoError(t, err)
	require.Len(t, l.inputs, 3, "named is named, and each counts once")
	o = testOptions(o.Out, o.Out)
	_, err = listInputs(&o)
	require.ErrorContains(t, err, "is the directory for results")
	_, err = listInputs(&Options{Inputs: []string{t.TempDir()}})
	require.ErrorContains(t, err, "no archive below")
}

// The sum of a file is that of sha256sum; that of a directory depends on all that is in it.
func TestIdentify(t *testing.T) {
	in := writeBundles(t, map[string]string{"d/a": "1", "d/b/c": "2"})
	id, err := identify(t.Context(), filepath.Join(in, "d/a"))
	require.NoError(t, err)
	require.Equal(t, "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b", id.sum)
	sum := func() string {
		id, err := identify(t.Context(), filepath.Join(in, "d"))
		require.NoError(t, err)
		return id.sum
	}
	was := sum()
	require.Equal(t, was, sum())
	require.NoError(t, os.Rename(filepath.Join(in, "d/b/c"), filepath.Join(in, "d/b/e")))
	renamed := sum()
	require.NotEqual(t, was, renamed)
	require.NoError(t, os.WriteFile(filepath.Join(in, "d/b/e"), []byte("3"), 0o644))
	require.NotEqual(t, renamed, sum())
}

// Shards one after the other, or all at once in one directory, give what one run gives.
func TestShards(t *testing.T) {
	contents := map[string]string{"copy/of-7.tar": "ok 7"}
	for i := range 23 {
		contents[fmt.Sprintf("%d/n.tar", i)] = fmt.Sprintf("ok %d", i)
	}
	in := writeBundles(t, contents)
	whole := testOptions(in, t.TempDir())
	mustRun(t, whole)
	want, err := os.ReadFile(filepath.Join(whole.Out, Merged))
	require.NoError(t, err)
	for _, together := range []bool{false, true} {
		out, parts := t.TempDir(), make([]Tally, 3)
		var running sync.WaitGroup
		for i := range parts {
			o := testOptions(in, out)
			o.Shard = Shard{i, len(parts)}
			running.Go(func() {
				var err error
				if parts[i], err = Run(context.Background(), o); err != nil {
					t.Error(err)
				}
			})
			if !together {
				running.Wait()
			}
		}
		running.Wait()
		got, err := os.ReadFile(filepath.Join(out, Merged))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "together: %v", together)
		tried := 0
		for _, part := range parts {
			require.Positive(t, part.Tried)
			tried += part.Tried
		}
		require.Equal(t, len(contents), tried)
		other := testOptions(in, out) // another number of parts counts nothing twice
		other.Shard = Shard{1, 2}
		require.Zero(t, mustRun(t, other).Analysed)
	}
}

// Runs that are killed at any moment lose no bundle and count none twice; nor do workers.
func TestKilledAtRandom(t *testing.T) {
	const bundles, kills = 60, 20
	contents := map[string]string{}
	for i := range bundles {
		contents[fmt.Sprintf("%d.tar", i)] = fmt.Sprintf("ok %d", i)
	}
	in, out := writeBundles(t, contents), t.TempDir()
	for range kills {
		cmd := exec.Command("/proc/self/exe", runStandIn, in, out)
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(rand.IntN(80)) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	tally, err := Run(t.Context(), testOptions(in, out))
	require.NoError(t, err)
	require.Zero(t, tally.Failed)
	require.Equal(t, bundles, tally.Tried)
	require.Equal(t, bundles, tally.Rows)
	seen := map[rows.Text]bool{}
	for _, row := range merged(t, out) {
		require.False(t, seen[row.Path], row.Path)
		seen[row.Path] = true
		require.FileExists(t, filepath.Join(out, string(row.Report)))
	}
	require.Eventually(t, func() bool { // a process that was just being started holds the lock for a moment
		again, err := Run(t.Context(), Options{Out: out})
		left, _ := filepath.Glob(filepath.Join(escapeGlob(out), runPattern))
		return err == nil && again.Rows == bundles && len(left) == 0
	}, 10*time.Second, 10*time.Millisecond)
	reports, err := os.ReadDir(filepath.Join(out, reportsDir))
	require.NoError(t, err)
	require.Len(t, reports, bundles)
}

// Workers that are killed at random are started again; none of their bundles is lost.
func TestWorkersKilledAtRandom(t *testing.T) {
	const bundles = 12
	contents := map[string]string{}
	for i := range bundles {
		contents[fmt.Sprintf("%d.tar", i)] = fmt.Sprintf("slow %d", i)
	}
	in, out := writeBundles(t, contents), t.TempDir()
	cmd := exec.Command("/proc/self/exe", runStandIn, in, out)
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	seen, kills := map[int]bool{}, map[string]int{}
	for killed := 0; ; {
		select {
		case err := <-ended:
			require.NoError(t, err)
			require.Positive(t, killed)
			all := merged(t, out)
			require.Len(t, all, bundles)
			for _, row := range all {
				require.NotEqual(t, rows.Failed, row.State, row.Reason)
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
		for _, pid := range childrenOf(cmd.Process.Pid) {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			bundle := filepath.Base(strings.Trim(string(text), "\x00"))
			if seen[pid] || contents[bundle] == "" { // it is not yet, or no more, a worker
				continue
			}
			seen[pid] = true
			if rand.IntN(2) == 0 && kills[bundle] < maxTries-1 {
				killed++
				kills[bundle]++
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// childrenOf are the processes that a process has started.
func childrenOf(pid int) (children []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// Stop finishes what runs; the end of the context kills it. The next run does the rest.
func TestStop(t *testing.T) {
	contents := map[string]string{}
	for i := range 8 {
		contents[fmt.Sprintf("%d.tar", i)] = fmt.Sprintf("slow %d", i)
	}
	o := testOptions(writeBundles(t, contents), t.TempDir())
	stop := make(chan struct{})
	o.Stop = stop
	once := sync.OnceFunc(func() { close(stop) })
	o.Notify = func(Progress) { once() }
	tally := mustRun(t, o)
	require.True(t, tally.Stopped)
	require.Less(t, tally.Tried, 4)
	require.Equal(t, tally.Tried, tally.Rows)
	done := tally.Tried

	o.Stop, o.Notify = nil, nil
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	tally, err := Run(ctx, o)
	require.NoError(t, err)
	require.True(t, tally.Stopped)
	require.Equal(t, done, tally.Rows, "what was killed left nothing")

	var last Progress
	o.Notify = func(p Progress) { last = p }
	tally = mustRun(t, o)
	require.Equal(t, 8, tally.Rows)
	require.Equal(t, 8-done, tally.Analysed)
	require.Equal(t, Progress{All: 8, Done: 8}, last)
}

// No worker outlives the run that started it.
func TestWorkersDieWithTheRun(t *testing.T) {
	in := writeBundles(t, map[string]string{"a.tar": "endless"})
	cmd := exec.Command("/proc/self/exe", runStandIn, in, t.TempDir())
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return noted(filepath.Join(in, "a.tar")) > 0 }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool { return !runsWith(filepath.Join(in, "a.tar")) }, 10*time.Second, 10*time.Millisecond)
}

// runsWith says whether a process has that argument.
func runsWith(argument string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(files, func(file string) bool {
		text, _ := os.ReadFile(file)
		return bytes.Contains(text, []byte("\x00"+argument+"\x00"))
	})
}

// Files of one name, each named by itself, do not all fall into one shard; where one stands alone
// its directory does not count.
func TestKeysOfOneName(t *testing.T) {
	dir := t.TempDir()
	var named []string
	for _, name := range []string{"a/1/node.tgz", "b/1/node.tgz", "b/2/node.tgz", "c/other.tgz"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(name), 0o600))
		named = append(named, path)
	}
	l, err := listInputs(&Options{Inputs: named, Out: filepath.Join(dir, "out")})
	require.NoError(t, err)
	var keys []string
	for _, in := range l.inputs {
		keys = append(keys, in.key)
	}
	require.Equal(t, []string{"a/1/node.tgz", "b/1/node.tgz", "b/2/node.tgz", "other.tgz"}, keys)
}

func TestShardHas(t *testing.T) {
	require.True(t, Shard{}.has("a"))
	count := make([]int, 4)
	for i := range 4000 {
		in := 0
		for part := range count {
			if (Shard{part, len(count)}).has(fmt.Sprintf("node-%d.tgz", i)) {
				count[part]++
				in++
			}
		}
		require.Equal(t, 1, in)
	}
	for _, n := range count {
		require.InDelta(t, 1000, n, 150)
	}
}
