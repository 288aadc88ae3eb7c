package messages

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestRowSetHoldsAllRows: a set of rows has a bit for every row of the tables. One row more would
// panic at its first line.
func TestRowSetHoldsAllRows(t *testing.T) {
	rows := 0
	for _, table := range tables {
		for _, row := range table.Rows {
			require.NotEmpty(t, row.Literals, "a row without a literal is never looked at")
			var found rowSet
			if rows < len(found)*64 {
				found = rowsOf().rowsIn(row.Literals[0])
				require.True(t, found.hasRow(rows), "%s: %q", table.Component, row.Literals[0])
			}
			rows++
		}
	}
	require.LessOrEqual(t, rows, len(rowSet{})*64, "make rowSet larger")
	t.Logf("%d of %d rows", rows, len(rowSet{})*64)
}

// Bytes that are no text are longer in lower case: what is cut by such a copy is cut elsewhere.
func TestInvalidText(t *testing.T) {
	r := event.Record{Raw: strings.Repeat("\xff", 40) + " open /run/x: No space left on device"}
	r.Text = r.Raw
	events := Record(nil, &r)
	require.Len(t, events, 1)
	require.Equal(t, "/run/x", events[0].FieldText(event.FieldPath))
}
