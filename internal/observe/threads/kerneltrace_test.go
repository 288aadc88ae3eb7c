package threads

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

// kernelTraces reads a log as the pipeline does: with the prefilter that decides which lines are
// looked at.
func kernelTraces(t testing.TB, file string, text []byte) []event.Event {
	t.Helper()
	wanted := lines.NewLiterals(messages.Literals())
	var k KernelTraces
	f, ok := parse.Detect(text, file)
	require.True(t, ok)
	if _, isLog := f.Reader.(parse.Records); !isLog {
		f = parse.TextFormat() // each section of a transcript is a log
	}
	want := func(line []byte) bool { return wanted.Match(line) || k.Want(line) }
	for r, err := range f.Reader.(parse.Records)(lines.Input{Path: file, R: bytes.NewReader(text), Want: want}) {
		if err == nil && r.Wanted {
			k.Add(&r)
		}
	}
	return k.Finish()
}

func TestKernelTracesGolden(t *testing.T) {
	var got strings.Builder
	for _, file := range observetest.SampleFiles(t, "kernel/*.log") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		fmt.Fprintln(&got, "#", filepath.Base(file))
		lines := strings.Split(string(text), "\n")
		for _, e := range kernelTraces(t, "dmesg.log", text) {
			fmt.Fprintln(&got, observetest.Describe(t, &e))
			for _, q := range e.Evidence {
				require.Contains(t, lines[q.Pos.Line-1], q.Text)
				fmt.Fprintf(&got, "    %d %s\n", q.Pos.Line, q.Text)
			}
		}
	}
	observetest.Golden(t, "kernel.golden", got.String())
}

// FuzzKernelTraces: whatever a log holds, every event quotes lines that stand where they say, and a
// stack is of one thread.
func FuzzKernelTraces(f *testing.F) {
	for _, file := range observetest.SampleFiles(f, "kernel/*.log") {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		format, _ := parse.Detect(text, "dmesg")
		if _, isLog := format.Reader.(parse.Records); !isLog {
			return
		}
		lines := bytes.Split(text, []byte("\n"))
		for _, e := range kernelTraces(t, "dmesg", text) {
			// the number stood in a line that is lost
			beheaded := strings.HasPrefix(e.FieldText(event.FieldTarget), "Workqueue: ") || e.FieldText(event.FieldComm) == ""
			require.True(t, e.IDs.TID != 0 || beheaded || e.Kind == event.KindOops || e.Kind == event.KindPanic || e.Kind == event.KindCgroupMemory)
			require.NotEmpty(t, e.Evidence)
			require.Equal(t, "kernel.log", e.Source)
			for _, q := range e.Evidence {
				require.True(t, q.Pos.Line >= 1 && q.Pos.Line <= len(lines))
				require.Contains(t, string(lines[q.Pos.Line-1]), q.Text)
			}
		}
	})
}
