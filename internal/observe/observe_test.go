package observe

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testdata is the folder of the samples, in which all packages here share: seen from package observe, or from one below it.
func testdata(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	if filepath.Base(dir) != "observe" {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, "testdata")
}

// sampleFiles are the samples that match a pattern, by their paths.
func sampleFiles(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata(t), pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// unzip reads a compressed file.
func unzip(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return b
}

// golden compares what was got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join(testdata(t), name)
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(got), 0o600))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err, "accept with -update")
	require.Equal(t, string(want), got, "accept with -update")
}

// TestGolden reads every spelling of every message that is known, and some that
// must tell of nothing. A golden line is one event; lines with # are prose.
func TestGolden(t *testing.T) {
	for _, file := range sampleFiles(t, "*.log") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var got bytes.Buffer
			for line := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n"), "\n") {
				fmt.Fprintln(&got, line)
				if !strings.HasPrefix(line, "#") {
					for _, e := range observeLine(t, line) {
						fmt.Fprintln(&got, "  ->", describe(t, &e))
					}
				}
			}
			golden(t, strings.TrimSuffix(filepath.Base(file), ".log")+".golden", got.String())
		})
	}
}

// observeLine reads one line as a file of its own would be read.
func observeLine(t *testing.T, line string) []event.Event {
	t.Helper()
	format, ok := parse.Detect([]byte(line+"\n"), "f")
	require.True(t, ok, line)
	if _, isSnapshot := format.Reader.(parse.Data); isSnapshot {
		events, _ := observeFile(t, "f", []byte(line+"\n"))
		return events
	}
	wanted := lines.NewLiterals(Literals())
	var events []event.Event
	for rec, err := range format.Reader.(parse.Records)(lines.Input{Path: "f", R: strings.NewReader(line + "\n"), Want: wanted.Match}) {
		require.NoError(t, err)
		before := len(events)
		events = Record(events, &rec)
		require.True(t, rec.Wanted || len(events) == before, "the prefilter misses a line that tells of something: %s", line)
	}
	return events
}

// describe checks an event and returns its golden form: kind component start..end level ids {fields} span.
func describe(t *testing.T, e *event.Event) string {
	t.Helper()
	require.Empty(t, event.Undeclared(e))
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", e.Kind, e.Component)
	if !e.Start.IsZero() && !e.End.IsZero() {
		fmt.Fprintf(&b, " %s..%s", e.Start.T.UTC().Format("15:04:05.000"), e.End.T.UTC().Format("15:04:05.000"))
	} else if !e.Start.IsZero() {
		fmt.Fprintf(&b, " %s", e.Start.T.UTC().Format(time.RFC3339Nano))
	}
	for _, id := range []struct{ name, value string }{{"container", e.IDs.Container}, {"sandbox", e.IDs.Sandbox}, {"pod", e.IDs.Pod}, {"uid", e.IDs.PodUID}} {
		if id.value != "" {
			fmt.Fprintf(&b, " %s=%s", id.name, short(id.value))
		}
	}
	if e.IDs.PID != 0 {
		fmt.Fprintf(&b, " pid=%d", e.IDs.PID)
	}
	for _, f := range e.Fields {
		fmt.Fprintf(&b, " %s=%q", f.Key, f.Value.Text())
	}
	if e.Span.Key != "" {
		fmt.Fprintf(&b, " span=%s/%d", class(e.Span.Key), e.Span.Edge)
	}
	return b.String()
}

func class(key string) string { return key[:strings.LastIndexByte(key, '/')] }

// Every literal can do its work in the prefilter and in every format: long
// enough, and free of what a format escapes.
func TestLiterals(t *testing.T) {
	for _, l := range Literals() {
		require.GreaterOrEqual(t, len(l), 6, l)
		require.NotContains(t, l, `"`)
		require.NotContains(t, l, `\`)
	}
}

func TestContainerID(t *testing.T) {
	full := strings.Repeat("0123456789abcdef", 4)
	for in, want := range map[string]string{
		full:             full,
		`"` + full + `"`: full,
		"40585f73...":    "40585f73",
		"40585f73":       "40585f73",
		full + "0":       "",
		"facade":         "",
		"12345":          "",
		"40585f73xyz":    "",
		"":               "",
	} {
		require.Equal(t, want, containerID(in), in)
	}
}
