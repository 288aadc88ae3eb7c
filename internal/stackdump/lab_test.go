package stackdump

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// truth is a line of the lab's program: who takes which part in a scenario.
type truth struct {
	name                      string
	waiters, holders, pending []uint64
}

// splitTruth takes the "# NAME waiters=7,8 holders=6 pending=" lines off a run of testdata/lab.
func splitTruth(t *testing.T, run string) (all []truth, dump string) {
	for strings.HasPrefix(run, "# ") {
		var line string
		line, run, _ = strings.Cut(run, "\n")
		f := strings.Fields(line[2:])
		require.Len(t, f, 4)
		tr := truth{name: f[0]}
		for i, ids := range []*[]uint64{&tr.waiters, &tr.holders, &tr.pending} {
			_, value, _ := strings.Cut(f[i+1], "=")
			for _, s := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' }) {
				id, err := strconv.ParseUint(s, 10, 64)
				require.NoError(t, err)
				*ids = append(*ids, id)
			}
		}
		all = append(all, tr)
	}
	return all, run
}

// TestLab runs the lab under the installed Go and reads its dumps.
func TestLab(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	bin := filepath.Join(t.TempDir(), "lab")
	build := exec.Command("go", "build", "-trimpath", "-o", bin, ".")
	build.Dir = filepath.Join("testdata", "lab")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Run("stack", func(t *testing.T) {
		out, err := exec.Command(bin).Output()
		require.NoError(t, err)
		found := checkLab(t, string(out))
		require.Subset(t, found, mustFind)
		require.Equal(t, Inferred, found["listener"]) // which the dumps of other versions lack
	})
	t.Run("abort", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("no SIGABRT")
		}
		cmd := exec.Command(bin, "-abort")
		cmd.Env = append(cmd.Environ(), "GOTRACEBACK=all")
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		require.Error(t, cmd.Run())
		require.Subset(t, checkLab(t, stdout.String()+stderr.String()), mustFind)
	})
}

// checkLab holds a run of the lab against its truth: every waiter is found,
// with its lock; every holder that is named is one; pending writers are told
// from holders. Found is the scenarios of which a holder was named, and how surely.
func checkLab(t *testing.T, run string) (found map[string]string) {
	found = map[string]string{}
	truths, text := splitTruth(t, run)
	d := Parse(Source{File: "lab", Line: 1, Text: text})
	require.Empty(t, d.Skips)
	ids := func(indexes []int) (ids []uint64) {
		for _, i := range indexes {
			ids = append(ids, d.Goroutines[i].ID)
		}
		slices.Sort(ids)
		return ids
	}
	truths = checkGraph(t, d, truths)
	for _, l := range d.Locks(nil) {
		var waiters []int
		for _, w := range l.Waiters {
			waiters = append(waiters, w.Goroutine)
			require.GreaterOrEqual(t, w.Caller, 0)
		}
		if l.Addr == "" { // may be several locks
			require.Empty(t, l.Holders)
			truths = slices.DeleteFunc(truths, func(tr truth) bool { return isSubset(tr.waiters, ids(waiters)) })
			continue
		}
		i := slices.IndexFunc(truths, func(tr truth) bool { return slices.Equal(tr.waiters, ids(waiters)) })
		require.GreaterOrEqual(t, i, 0, "no scenario has the waiters %v of %s %s", ids(waiters), l.Type, l.Owner)
		tr := truths[i]
		truths = slices.Delete(truths, i, i+1)
		require.Equal(t, tr.pending, ids(l.Pending), tr.name)
		for _, h := range l.Holders {
			id := d.Goroutines[h.Goroutine].ID
			require.Contains(t, tr.holders, id, "%s: %s by %s", tr.name, h.Certainty, h.Rule)
			found[tr.name] = h.Certainty
		}
	}
	require.Empty(t, truths, "scenarios without their lock")
	return found
}

// checkGraph holds what waits besides locks, the cycles and the ends of the
// chains against the truth, and leaves the scenarios of locks.
func checkGraph(t *testing.T, d *Dump, truths []truth) []truth {
	ids := func(indexes []int) (ids []uint64) {
		for _, i := range indexes {
			ids = append(ids, d.Goroutines[i].ID)
		}
		slices.Sort(ids)
		return ids
	}
	g := d.Graph(nil)
	require.Len(t, g.Chains, len(g.Locks))
	queues := map[string]Queue{}
	for _, q := range g.Queues {
		var waiters []int
		for _, w := range q.Waiters {
			waiters = append(waiters, w.Goroutine)
		}
		i := slices.IndexFunc(truths, func(tr truth) bool { return slices.Equal(tr.waiters, ids(waiters)) })
		if i < 0 || !strings.HasPrefix(truths[i].name, "queue-") {
			continue
		}
		require.True(t, isSubset(ids(q.Workers), truths[i].holders), truths[i].name)
		queues[truths[i].name] = q
	}
	rings := map[int]bool{}
	for _, c := range g.Cycles {
		// Every goroutine of a cycle waits for one lock of the lab and holds another.
		for _, i := range c.Goroutines {
			id := d.Goroutines[i].ID
			rings[len(c.Goroutines)] = true
			require.True(t, slices.ContainsFunc(truths, func(tr truth) bool { return slices.Contains(tr.waiters, id) }), id)
			require.True(t, slices.ContainsFunc(truths, func(tr truth) bool { return slices.Contains(tr.holders, id) }), id)
		}
	}
	require.True(t, rings[2], "the cycle of two")
	for i, c := range g.Chains {
		require.Equal(t, len(g.Locks[i].Holders) > 0, len(c.Goroutines) > 0)
		require.Equal(t, c.Cyclic || len(c.Goroutines) == 0, c.End.Kind == "", "%+v", c)
	}
	if slices.ContainsFunc(truths, func(tr truth) bool { return tr.name == "ring" }) { // not in runs of before it was added
		require.True(t, rings[3], "the cycle of three")
		require.Contains(t, queues, "queue-WaitGroup")
		if d.Goroutines[len(d.Goroutines)/2].CreatorID != 0 { // since Go 1.21
			require.Len(t, queues["queue-WaitGroup"].Workers, 2)
		}
		if newAnalysis(d, 0, len(d.Goroutines), nil).era != unmarked { // Go 1.17 prints junk, alike for all waiters or not
			require.Contains(t, queues, "queue-Cond")
		}
		if slices.ContainsFunc(d.Goroutines, func(g Goroutine) bool { return g.ID != 0 && g.frameIn("runtime.chanrecv") >= 0 }) {
			require.Contains(t, queues, "queue-chan")
		}
	}
	return slices.DeleteFunc(truths, func(tr truth) bool { return strings.HasPrefix(tr.name, "queue-") })
}

func isSubset(some, all []uint64) bool {
	return !slices.ContainsFunc(some, func(id uint64) bool { return !slices.Contains(all, id) })
}

// mustFind is the scenarios whose holder every form of dump since Go 1.18 gives away.
var mustFind = map[string]string{
	"update-callback": Inferred, "rw-writer": Observed, "rw-pending": Inferred, "two-instances": Observed, "abba": Observed,
	"embedded-entry": Inferred, "condition": Inferred, "nested-inner": Inferred, "nested-outer": Inferred, "self": Inferred,
	"once": Inferred, "global": Inferred, "syscall": Inferred, "helper": Inferred, "reader": Inferred,
}

// TestLabVersions reads dumps that the lab printed when built with other Go versions.
func TestLabVersions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "lab-runs", "*.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			found := checkLab(t, readGzip(t, file))
			require.Contains(t, found, "rw-writer")
		})
	}
}
