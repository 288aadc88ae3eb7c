package messages_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/observe/observetest"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// TestGolden reads every spelling of every message that is known, and some that
// must tell of nothing. A golden line is one event; lines with # are prose.
func TestGolden(t *testing.T) {
	for _, file := range observetest.SampleFiles(t, "*.log") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var got bytes.Buffer
			for line := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n"), "\n") {
				fmt.Fprintln(&got, line)
				if !strings.HasPrefix(line, "#") {
					for _, e := range observeLine(t, line) {
						fmt.Fprintln(&got, "  ->", observetest.Describe(t, &e))
					}
				}
			}
			observetest.Golden(t, strings.TrimSuffix(filepath.Base(file), ".log")+".golden", got.String())
		})
	}
}

// observeLine reads one line as a file of its own would be read.
func observeLine(t *testing.T, line string) []event.Event {
	t.Helper()
	format, ok := parse.Detect([]byte(line+"\n"), "f")
	require.True(t, ok, line)
	if _, isSnapshot := format.Reader.(parse.Data); isSnapshot {
		events, _ := observetest.ObserveFile(t, "f", []byte(line+"\n"))
		return events
	}
	wanted := lines.NewLiterals(messages.Literals())
	var events []event.Event
	for rec, err := range format.Reader.(parse.Records)(lines.Input{Path: "f", R: strings.NewReader(line + "\n"), Want: wanted.Match}) {
		require.NoError(t, err)
		before := len(events)
		events = messages.Append(events, &rec)
		require.True(t, rec.Wanted || len(events) == before, "the prefilter misses a line that tells of something: %s", line)
	}
	return events
}

// Every literal can do its work in the prefilter and in every format: long
// enough, and free of what a format escapes.
func TestLiterals(t *testing.T) {
	for _, l := range messages.Literals() {
		require.GreaterOrEqual(t, len(l), 8, "%q: the shortest decides how fast all are searched for; scan.WithEach helps", l)
		if l == `"panic: ` { // the beginning of a message in JSON; elsewhere its other spellings stand
			continue
		}
		require.NotContains(t, l, `"`)
		require.NotContains(t, l, `\`)
		require.False(t, strings.ContainsAny(l, "<>&"), "%s: encoding/json, and so docker, escapes it", l)
	}
}
