package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/cli"
)

// TestScreen holds that every incident and every ticket is answered on one screen of 24 rows and 80
// columns: the first word, the node, the time, what to do first where a cause is likely, and where
// the rest is.
func TestScreen(t *testing.T) {
	incidents, err := filepath.Glob("../../testdata/*/bundle*")
	require.NoError(t, err)
	tickets, err := filepath.Glob("../../testdata/tickets/*/bundle*")
	require.NoError(t, err)
	require.Greater(t, len(tickets), 100)
	for i, path := range append(incidents, tickets...) {
		if raced && i%16 != 0 {
			continue // internal/incident reads more of them with the race detector
		}
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			status := run([]string{"analyze", path}, nil, &stdout, &stderr)
			require.Contains(t, []int{cli.StatusDone, cli.StatusUnknown}, status, stderr.String())
			rows := 0
			for line := range strings.Lines(stdout.String()) {
				rows += max(1, (lipgloss.Width(strings.TrimSuffix(line, "\n"))+79)/80)
			}
			require.LessOrEqual(t, rows, 24, stdout.String())
			first, _, ok := strings.Cut(stdout.String(), ":")
			require.True(t, ok)
			require.Equal(t, strings.ToUpper(first), first)
			labels := []string{"\nnode ", "\nwhen ", "\nall of it "}
			if first == "CONFIRMED" || first == "LIKELY" {
				labels = append(labels, "\ndo first", "\nhow sure ")
			}
			for _, label := range labels {
				require.Contains(t, stdout.String(), label)
			}
		})
	}
}
