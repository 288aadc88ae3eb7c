package realtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/realtime"
)

func TestCPUs(t *testing.T) {
	var c realtime.CPUs
	require.Empty(t, c.AppendFact(nil))
	for _, row := range [][4]string{
		{"TS", "0", "99.0", "busy"}, // gives way to others
		{"FF", "1", "12.0", "watchdogd"},
		{"FF", "-", "95.0", "cut"},
		{"FF", "2", "94.8", "worker"},
		{"RR", "3", "94,9", "other"},
		{"FF", "3", "95.0", "worker"},
	} {
		c.Add(row[0], row[1], row[2], row[3], event.Quote{Text: row[3]})
	}
	all := c.AppendFact(nil)
	require.Len(t, all, 1)
	require.Equal(t, "2", all[0].FieldText(event.FieldValue))
	require.Equal(t, "worker", all[0].FieldText(event.FieldProgram))
}
