package goroutines

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// TestLocks holds the holders that the catalogue gives against the truth in the first line of each
// dump.
func TestLocks(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "locks", "*.log"))
	require.NoError(t, err)
	require.Greater(t, len(files), 10)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".log"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			first, text, _ := strings.Cut(string(raw), "\n")
			_, want, _ := strings.Cut(first, "holders=")
			d := stackdump.Parse(stackdump.Source{File: "f", Text: text})
			require.Empty(t, d.Skips)
			require.False(t, d.Incomplete)
			var held []string
			for _, l := range d.Locks(Holds()) {
				for _, h := range l.Holders {
					held = append(held, strconv.FormatUint(d.Goroutines[h.Goroutine].ID, 10))
				}
			}
			slices.Sort(held)
			if held == nil {
				held = []string{"none"}
			}
			wanted := strings.Split(want, ",")
			slices.Sort(wanted)
			require.Equal(t, wanted, held)
		})
	}
}

// held is the holders of the locks of a dump: lock and goroutine to certainty.
type held map[[2]string]string

func holdersOf(d *stackdump.Dump) held {
	all := held{}
	for _, l := range d.Locks(Holds()) {
		for _, h := range l.Holders {
			all[[2]string{l.Addr, strconv.FormatUint(d.Goroutines[h.Goroutine].ID, 10)}] = h.Certainty
		}
	}
	return all
}

// addressOf is a lock that a goroutine holds; empty for none.
func addressOf(all held, id string) string {
	for who := range all {
		if who[1] == id {
			return who[0]
		}
	}
	return ""
}

// A dump that was cut before any of its goroutines, or in the middle of one, names nobody whom the
// whole dump does not name, and nobody more surely: that others are missing proves nothing.
func TestCutDumpIsNoSurer(t *testing.T) {
	for file, text := range wholeDumps(t) {
		t.Run(file, func(t *testing.T) {
			whole := holdersOf(stackdump.Parse(stackdump.Source{File: "f", Text: text}))
			headers := 0
			for at := 0; ; headers++ {
				next := strings.Index(text[at+1:], "\ngoroutine ")
				if next < 0 {
					break
				}
				before := at
				at += 1 + next
				for _, end := range []int{at + 1, (before + at) / 2} { // before the next one; inside
					cut := stackdump.Parse(stackdump.Source{File: "f", Text: text[:end]})
					for who, certainty := range holdersOf(cut) {
						if who[0] == "" { // the cut dump does not show the lock's address
							who[0] = addressOf(whole, who[1])
						}
						require.Contains(t, whole, who, "%d bytes", end)
						require.True(t, certainty == stackdump.Inferred || whole[who] == stackdump.Observed, "%v, %d bytes", who, end)
					}
				}
			}
			require.Greater(t, headers, 1)
		})
	}
}

// wholeDumps are the dumps of this package and some of package stackdump, by name.
func wholeDumps(t *testing.T) map[string]string {
	all := map[string]string{}
	files, err := filepath.Glob(filepath.Join("testdata", "locks", "*.log"))
	require.NoError(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		_, all[filepath.Base(file)], _ = strings.Cut(string(raw), "\n")
	}
	dir := filepath.Join("..", "..", "stackdump", "testdata")
	for _, name := range []string{
		"containerd-1.6.20-umount2.log.gz", "containerd-1.6.20-docker-dbus-stall.log.gz", "dockerd-20.10.24-dbus-stall.log.gz",
		"lab-runs/go1.12.17.stack.txt.gz", "lab-runs/go1.17.13.stack.txt.gz", "lab-runs/go1.25.3.abort.txt.gz",
	} {
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		raw, err := io.ReadAll(z)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		text := string(raw)
		for strings.HasPrefix(text, "# ") { // the truth of the lab
			_, text, _ = strings.Cut(text, "\n")
		}
		all[name] = text
	}
	return all
}
