// Package observetest has what the tests of several observers share: samples, goldens, and the text
// form of an event.
package observetest

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
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/observe/states"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Testdata is the folder of the samples, in which all packages here share: seen from package
// observe, or from one below it.
func Testdata(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	if filepath.Base(dir) != "observe" {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, "testdata")
}

// SampleFiles are the samples that match a pattern, by their paths.
func SampleFiles(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Testdata(t), pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// ReadGzip reads a compressed file.
func ReadGzip(t testing.TB, name string) []byte {
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

// Golden compares what was got with a file of testdata.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join(Testdata(t), name)
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(got), 0o600))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err, "accept with -update")
	require.Equal(t, string(want), got, "accept with -update")
}

// Describe checks an event and returns its golden form: kind component start..end level ids
// {fields} span.
func Describe(t *testing.T, e *event.Event) string {
	t.Helper()
	require.Empty(t, event.Undeclared(e))
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", e.Kind, e.Component)
	if !e.Start.IsZero() && !e.End.IsZero() {
		fmt.Fprintf(&b, " %s..%s", e.Start.T.UTC().Format("15:04:05.000"), e.End.T.UTC().Format("15:04:05.000"))
	} else if !e.Start.IsZero() {
		fmt.Fprintf(&b, " %s", e.Start.T.UTC().Format(time.RFC3339Nano))
	}
	for _, id := range []struct{ name, value string }{
		{"container", e.IDs.Container}, {"sandbox", e.IDs.Sandbox}, {"pod", e.IDs.Pod}, {"uid", e.IDs.PodUID},
	} {
		if id.value != "" {
			fmt.Fprintf(&b, " %s=%s", id.name, scan.Short(id.value))
		}
	}
	if e.IDs.PID != 0 {
		fmt.Fprintf(&b, " pid=%d", e.IDs.PID)
	}
	for _, f := range e.Fields {
		fmt.Fprintf(&b, " %s=%q", f.Key, f.Value.Text())
	}
	if e.Span.Key != "" {
		fmt.Fprintf(&b, " span=%s/%d", spanClass(e.Span.Key), e.Span.Edge)
	}
	return b.String()
}

func spanClass(key string) string { return key[:strings.LastIndexByte(key, '/')] }

// ObserveFile reads a file that is a snapshot as the pipeline does.
func ObserveFile(t testing.TB, file string, text []byte) (events []event.Event, sources map[string]bool) {
	t.Helper()
	format, ok := parse.Detect(text, file)
	require.True(t, ok, file)
	if read, isLog := format.Reader.(parse.Records); isLog {
		for rec, err := range read(lines.Input{
			Path: file, R: bytes.NewReader(text), Want: lines.NewLiterals(messages.Literals()).Match,
		}) {
			require.NoError(t, err)
			events = messages.Append(events, &rec)
		}
		return events, nil
	}
	s := states.NewSnapshot(format.Name, event.Time{})
	for e, err := range format.Reader.(parse.Data)(lines.Input{Path: file, R: bytes.NewReader(text), Want: states.WantedDatum}) {
		if err == nil {
			events = s.Datum(events, &e)
		}
	}
	return s.Finish(events), s.Sources()
}
