package threads

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/observetest"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

func watch(t testing.TB, text []byte) []event.Event {
	t.Helper()
	joined := NewSamples()
	var events []event.Event
	f, ok := parse.Detect(text, "f")
	require.True(t, ok, f.Name)
	for s, err := range f.Reader.(parse.Samples)(lines.Input{Path: "f", R: bytes.NewReader(text)}) {
		require.NoError(t, err)
		events = joined.Sample(events, &s)
	}
	return joined.Finish(events)
}

// realSamples are the parser's (internal/parse/testdata/README.md).
func realSamples(t testing.TB, name string) []byte {
	t.Helper()
	return observetest.ReadGzip(t, filepath.Join(observetest.Testdata(t), "../../parse/testdata/xcapture", name+".log.gz"))
}

func named(events []event.Event, name string) (all []event.Event) {
	for _, e := range events {
		if v, _ := e.Get("name"); v.Text() == name {
			all = append(all, e)
		}
	}
	return all
}

// TestSamplesTruth: the umount2 that strace saw from 18:22:16.888623 for 6.053773 s is one run of
// six samples.
func TestSamplesTruth(t *testing.T) {
	for _, name := range []string{"v126_umount2-under-strace.csv", "v126_default.text", "v126_umount2-under-strace.text"} {
		t.Run(name, func(t *testing.T) {
			runs := named(watch(t, realSamples(t, name)), "umount2")
			require.Len(t, runs, 1)
			e := runs[0]
			require.Equal(t, []any{41246, "shim", true}, []any{e.IDs.TID, e.Component, e.Begun})
			require.Equal(t, name == "v126_default.text", e.Open, "by default a scan without a thread in R or D prints nothing")
			require.GreaterOrEqual(t, e.Start.T.Format("15:04:05.000000"), "18:22:16.888623")
			require.LessOrEqual(t, e.End.T.Format("15:04:05.000000"), "18:22:22.942396")
			n, _ := e.Get("samples")
			require.Equal(t, "6", n.Text())
			most, _ := e.Get("most")
			longest, _ := most.Number()
			require.Greater(t, longest, 6.05, "the truth lies between both bounds")
			require.InDelta(t, 5.0, e.Duration().Seconds(), 0.1)
		})
	}
	t.Run("numbered calls", func(t *testing.T) {
		runs := named(watch(t, realSamples(t, "v303_samples.csv")), "umount2")
		require.Len(t, runs, 1)
		require.False(t, runs[0].Begun)
		require.Greater(t, runs[0].Duration().Seconds(), 7.5)
	})
	t.Run("syscend is silent about umount2", func(t *testing.T) {
		events := watch(t, realSamples(t, "v303_syscend.csv"))
		require.Empty(t, named(events, "umount2"))
		require.NotEmpty(t, named(events, "syncfs"))
	})
	t.Run("kernel threads are in no call", func(t *testing.T) {
		kernel := 0
		for _, e := range watch(t, realSamples(t, "v126_kernel-threads.csv")) {
			if e.Component == "kernel" {
				kernel++
				name, _ := e.Get("name")
				require.Empty(t, name.Text())
			}
		}
		require.NotZero(t, kernel)
	})
	t.Run("a comm is no state", func(t *testing.T) {
		require.Empty(t, watch(t, realSamples(t, "v126_odd-names.csv")))
	})
}

func TestSampleGaps(t *testing.T) {
	row := func(second int, tid int, state, call string) string {
		return fmt.Sprintf("2026-11-20 18:30:%02d.000,9,%d,root,%s,(runc),%s,w\n", second, tid, state, call)
	}
	const head = "TS,PID,TID,USERNAME,ST,COMMAND,SYSCALL,WCHAN\n"
	steady := func(from, to int) (s string) {
		for i := from; i <= to; i++ {
			s += row(i, 7, "D", "fsync") + row(i, 8, "S", "futex")
		}
		return s
	}
	require.Len(t, watch(t, []byte(head+steady(0, 9))), 1)
	require.Len(t, watch(t, []byte(head+steady(0, 3)+row(4, 8, "S", "futex")+steady(5, 9))), 2, "one scan without it")
	require.Len(t, watch(t, []byte(head+steady(0, 3)+steady(30, 39))), 2, "no scan for long")
	require.Len(t, watch(t, []byte(head+steady(20, 29)+steady(0, 9))), 2, "the clock goes back")
	require.Empty(t, watch(t, []byte(head+row(0, 7, "D", "fsync")+row(1, 8, "S", "futex"))), "one sample is no interval")
	once := watch(t, []byte(head+row(0, 7, "D", "fsync")+row(0, 8, "S", "fsync")))
	require.Len(t, once, 1, "of a single scan what is in D is told, as a moment")
	require.True(t, once[0].End.IsZero())
	open := watch(t, []byte(head+steady(0, 9)))
	require.True(t, open[0].Open)
	require.False(t, watch(t, []byte(head+steady(0, 9)+row(10, 8, "S", "futex")))[0].Open)
}

func TestSamplesGolden(t *testing.T) {
	var got strings.Builder
	for _, file := range observetest.SampleFiles(t, "../../parse/testdata/xcapture/*.gz") {
		name := strings.TrimSuffix(filepath.Base(file), ".log.gz")
		fmt.Fprintln(&got, "#", name)
		for _, e := range watch(t, realSamples(t, name)) {
			fmt.Fprintln(&got, observetest.Describe(t, &e))
		}
	}
	observetest.Golden(t, "samples.golden", got.String())
}

// Every name of a source is one that rules may ask for.
func TestSourcesOfThreads(t *testing.T) {
	require.Subset(t, event.Sources(), []string{SourceSamples, SourceSleepers, SourceEnded, SourceSummary, SourceThreads})
}

// TestCutWalk: a thread that is missing from a walk without an end may still be there.
func TestCutWalk(t *testing.T) {
	walk := func(n int, rows string) string {
		return fmt.Sprintf(`{"format":"plegdiag.threads/v1","walk":%d,"realtime":"2026-03-01T10:00:0%dZ","machine":"aarch64"}`+"\n", n, n) + rows
	}
	end := func(n int) string { return fmt.Sprintf(`{"walk":%d,"monotonic":1,"threads":1}`+"\n", n) }
	const stuck = `{"pid":7,"tid":8,"comm":"containerd-shim","state":"D","syscall":39,"stack":["ovl_sync_fs+0x2f/0x50 [overlay]","cleanup_mnt+0x1/0x2"]}` + "\n"
	const other = `{"pid":9,"tid":9,"comm":"x","state":"S"}` + "\n"
	for name, tc := range map[string]struct {
		third string
		open  bool
	}{
		"whole walk":     {walk(3, other) + end(3), false},
		"cut walk":       {walk(3, other), true},
		"cut at its row": {walk(3, other) + stuck[:40], true},
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte(walk(1, stuck) + end(1) + walk(2, stuck) + end(2) + tc.third)
			joined := NewSamples()
			var events []event.Event
			f, ok := parse.Detect(text, "f")
			require.True(t, ok)
			for s, err := range f.Reader.(parse.Samples)(lines.Input{Path: "f", R: bytes.NewReader(text)}) {
				if err == nil {
					events = joined.Sample(events, &s)
				}
			}
			events = joined.Finish(events)
			require.Len(t, events, 1)
			require.Equal(t, tc.open, events[0].Open)
			name, _ := events[0].Get("name")
			require.Equal(t, "umount2", name.Text(), "39 on this machine")
			require.Equal(t, "1s", events[0].Duration().String())
		})
	}
}
