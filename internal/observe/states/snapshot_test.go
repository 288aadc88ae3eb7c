package states_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/observetest"
	"github.com/plegdiag/plegdiag/internal/parse"
)

// describeWhole is describe with the times and the evidence written out.
func describeWhole(t *testing.T, e *event.Event) string {
	var b strings.Builder
	b.WriteString(observetest.Describe(t, e))
	if e.Start.Known {
		fmt.Fprintf(&b, " from %s", e.Start.T.Format(time.RFC3339))
	}
	if e.End.Known {
		fmt.Fprintf(&b, " to %s", e.End.T.Format(time.RFC3339))
	}
	if e.Start.Lacks != 0 {
		b.WriteString(" (no zone)")
	}
	fmt.Fprintf(&b, " [%s", e.Source)
	for _, q := range e.Evidence {
		fmt.Fprintf(&b, " %d", q.Pos.Line)
	}
	b.WriteString("]")
	return b.String()
}

// TestSnapshots reads every sample of a snapshot that package parse has. The golden has one event a
// line.
func TestSnapshots(t *testing.T) {
	root := filepath.Join(observetest.Testdata(t), "../../parse/testdata")
	var got strings.Builder
	for _, format := range parse.Formats {
		if _, isSnapshot := format.Reader.(parse.Data); !isSnapshot && format.Name != "unit-status" {
			continue
		}
		require.NoError(t, fs.WalkDir(os.DirFS(root), format.Name, func(name string, _ fs.DirEntry, err error) error {
			if !strings.HasSuffix(name, ".log") {
				return err
			}
			text, err := os.ReadFile(filepath.Join(root, name))
			require.NoError(t, err)
			fmt.Fprintf(&got, "# %s\n", name)
			lines := strings.Split(string(text), "\n")
			events, sources := observetest.ObserveFile(t, name, text)
			fmt.Fprintln(&got, "# sources", slices.Sorted(maps.Keys(sources)))
			for i := range events {
				e := &events[i]
				fmt.Fprintln(&got, describeWhole(t, e))
				require.NotEmpty(t, e.Evidence, name)
				require.NotEmpty(t, e.Source, name)
				require.NotEmpty(t, e.Component, name)
				for _, q := range e.Evidence {
					require.Contains(t, lines[q.Pos.Line-1], q.Text, name)
				}
			}
			return nil
		}))
	}
	observetest.Golden(t, "snapshots.golden", got.String())
}
