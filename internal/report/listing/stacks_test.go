package listing_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/listing"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/stackdump"
	"github.com/plegdiag/plegdiag/internal/stackdump/series"
)

// realDumps are those of package stackdump, where their provenance stands.
var realDumps = []string{
	"containerd-1.6.20-dbus-stall.log.gz", "containerd-1.6.20-umount2.log.gz", "dockerd-20.10.24-dbus-stall.log.gz",
	"terwayd-1.0.10-go1.12.sigabrt.log.gz", "containerd-1.6.20-frozen-shim.debug1.log.gz", "containerd-1.6.20-frozen-shim.debug0.pb.gz",
}

// renderDump reads a dump as the command does; text is its file.
func renderDump(t *testing.T, name string) (d listing.Dump, text string) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "stackdump", "testdata", name))
	require.NoError(t, err)
	defer f.Close()
	zip, err := gzip.NewReader(f)
	require.NoError(t, err)
	raw, err := io.ReadAll(zip)
	require.NoError(t, err)
	parsed := stackdump.Parse(stackdump.Source{File: name, Line: 1, Text: string(raw)})
	return listing.Dump{Dump: &incident.Dump{Dump: parsed}, Graph: parsed.Graph(nil)}, string(raw)
}

// parseDump makes a dump of text written by hand.
func parseDump(text string) listing.Dump {
	d := stackdump.Parse(stackdump.Source{File: "synthetic.log", Line: 1, Text: text})
	return listing.Dump{Dump: &incident.Dump{Dump: d}, Graph: d.Graph(nil)}
}

// deadlock is two goroutines that want what the other has, one that waits behind
// them, one that waits for work, and one with a hostile name.
const deadlock = `goroutine 1 [sync.Mutex.Lock, 7 minutes]:
internal/sync.(*Mutex).lockSlow(0xc000100030)
	/go/src/internal/sync/mutex.go:149 +0x15d
sync.(*Mutex).Lock(...)
	/go/src/sync/mutex.go:46
main.transfer(0xc000100010, 0xc000100030)
	/src/bank.go:20 +0x6a
created by main.main in goroutine 9
	/src/bank.go:9 +0x1

goroutine 2 [sync.Mutex.Lock, 7 minutes]:
internal/sync.(*Mutex).lockSlow(0xc000100010)
	/go/src/internal/sync/mutex.go:149 +0x15d
sync.(*Mutex).Lock(...)
	/go/src/sync/mutex.go:46
main.transfer(0xc000100030, 0xc000100010)
	/src/bank.go:20 +0x6a
created by main.main in goroutine 9
	/src/bank.go:9 +0x1

goroutine 3 [sync.Mutex.Lock, 6 minutes]:
internal/sync.(*Mutex).lockSlow(0xc000100010)
	/go/src/internal/sync/mutex.go:149 +0x15d
sync.(*Mutex).Lock(...)
	/go/src/sync/mutex.go:46
main.balance(0xc000100010)
	/src/bank.go:40 +0x2a

goroutine 4 [chan receive]:
main.(*bank).worker(0xc000100000)
	/src/bank.go:70 +0x2a
created by main.main in goroutine 9
	/src/bank.go:9 +0x1

what is this?
goroutine 5 [chan receive]:
main.` + "\x1b[31m\u202e" + `(0x1)
	/src/` + "\x07" + `.go:70 +0x2a
`

func TestStacksGolden(t *testing.T) {
	for _, name := range realDumps {
		d, _ := renderDump(t, name)
		var out bytes.Buffer
		require.NoError(t, listing.StacksText(&out, &listing.Stacks{Dumps: []listing.Dump{d}}, show.Options{}))
		golden(t, filepath.Join("stacks", name[:len(name)-len(".gz")]+".txt"), out.Bytes())
	}
	d := parseDump(deadlock)
	d.Program, d.At = "bank", event.Time{T: time.Date(0, 11, 20, 19, 5, 35, 0, time.UTC), Lacks: event.LacksYear, Known: true}
	for name, o := range map[string]show.Options{"deadlock": {Version: "v0"}, "deadlock_all": {Version: "v0", Verbose: true, Width: 120}} {
		var text, doc bytes.Buffer
		require.NoError(t, listing.StacksText(&text, &listing.Stacks{Dumps: []listing.Dump{d}}, o))
		golden(t, filepath.Join("stacks", name+".txt"), text.Bytes())
		if !o.Verbose {
			require.NoError(t, listing.StacksJSON(&doc, &listing.Stacks{Dumps: []listing.Dump{d}}, o))
			golden(t, filepath.Join("stacks", name+".json"), doc.Bytes())
		}
		for _, r := range text.String() + doc.String() {
			require.True(t, r == '\n' || unicode.IsPrint(r), "%U", r)
		}
	}
}

// Filters leave the goroutines that pass, and the locks that have to do with them.
func TestStacksFiltered(t *testing.T) {
	d := parseDump(deadlock)
	d.Filtered, d.Shown = true, []int{2}
	var text, doc bytes.Buffer
	require.NoError(t, listing.StacksText(&text, &listing.Stacks{Dumps: []listing.Dump{d}}, show.Options{Verbose: true}))
	golden(t, filepath.Join("stacks", "filtered.txt"), text.Bytes())
	require.NoError(t, listing.StacksJSON(&doc, &listing.Stacks{Dumps: []listing.Dump{d}}, show.Options{}))
	back := decode(t, doc.Bytes())
	require.Equal(t, 5, back.Dumps[0].Goroutines)
	require.Len(t, back.Dumps[0].Groups, 1)
	require.Len(t, back.Dumps[0].Locks, 1)
	require.Equal(t, "0xc000100010", back.Dumps[0].Locks[0].Address)
}

// Three dumps of one containerd, in two incidents of the lab, side by side.
func TestStacksDiff(t *testing.T) {
	var s listing.Stacks
	var dumpsOfOne []*stackdump.Dump
	for _, name := range []string{"containerd-1.6.20-umount2.log.gz", "containerd-1.6.20-dbus-stall.log.gz"} {
		d, _ := renderDump(t, name)
		s.Dumps = append(s.Dumps, d)
		dumpsOfOne = append(dumpsOfOne, d.Dump.Dump)
	}
	s.Diffs = []listing.Diff{{Program: "containerd", Dumps: []int{0, 1}, Diff: series.Compare(dumpsOfOne)}}
	var text, doc bytes.Buffer
	require.NoError(t, listing.StacksText(&text, &s, show.Options{Width: 120}))
	golden(t, filepath.Join("stacks", "diff.txt"), text.Bytes())
	require.NoError(t, listing.StacksJSON(&doc, &s, show.Options{}))
	back := decode(t, doc.Bytes())
	require.Len(t, back.Diffs, 1)
	require.Contains(t, back.Diffs[0].Finished, uint64(492))
}

// document is what a program reads out of the JSON.
type document struct {
	Schema string
	Dumps  []struct {
		Path       string
		Goroutines int
		Groups     []struct {
			Count  int
			IDs    []uint64
			Frames []struct {
				Func     string
				Evidence struct {
					Path, Text string
					Line       int
				}
			}
		}
		Locks []struct {
			Address string
			Holder  *struct {
				Goroutine uint64
				Certainty string
			}
			Waiters []struct{ Count int }
			Ends    struct{ Kind string }
		}
	}
	Diffs []struct{ Finished []uint64 }
}

func decode(t *testing.T, doc []byte) (d document) {
	t.Helper()
	require.NotContains(t, string(doc), ": null,\n      \"frames", "lists are never null")
	require.NoError(t, json.Unmarshal(doc, &d))
	require.Equal(t, listing.StacksSchema, d.Schema)
	return d
}

// What the JSON quotes stands in the file, its counts add up, and the same dump gives the same
// bytes.
func TestStacksJSONLaws(t *testing.T) {
	for _, name := range realDumps {
		d, text := renderDump(t, name)
		lines := strings.Split(text, "\n")
		var first, second bytes.Buffer
		require.NoError(t, listing.StacksJSON(&first, &listing.Stacks{Dumps: []listing.Dump{d}}, show.Options{}))
		require.NoError(t, listing.StacksJSON(&second, &listing.Stacks{Dumps: []listing.Dump{d}}, show.Options{}))
		require.Equal(t, first.Bytes(), second.Bytes())
		back := decode(t, first.Bytes()).Dumps[0]
		n := 0
		for _, g := range back.Groups {
			n += g.Count
			for _, f := range g.Frames {
				if e := f.Evidence; e.Line > 0 {
					require.Contains(t, lines[e.Line-1], e.Text)
					require.NotEmpty(t, e.Text)
				}
			}
		}
		require.Equal(t, back.Goroutines, n, name)
		require.Equal(t, d.Count(), n, name)
		for i, l := range back.Locks {
			require.Equal(t, len(d.Graph.Locks[i].Holders) > 0, l.Holder != nil)
		}
	}
}

func TestStacksWriteError(t *testing.T) {
	s := &listing.Stacks{Dumps: []listing.Dump{parseDump(deadlock)}}
	require.ErrorIs(t, listing.StacksText(full{}, s, show.Options{}), errFull)
	require.ErrorIs(t, listing.StacksJSON(full{}, s, show.Options{}), errFull)
}

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "accept with: go test ./internal/report/listing -update")
}

// full fails every write, as a full disk does.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }
