package messages

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestRowSetHoldsAllRows: a set of rows has a bit for every row of the tables. One row more would
// panic at its first line.
func TestRowSetHoldsAllRows(test *testing.T) {
	rows := 0
	for i, t := range tables {
		for j, row := range t.Rows {
			require.NotEmpty(test, row.Literals, "a row without a literal is never looked at")
			var found rowSet
			if rows < len(found)*64 {
				found = rowsOf().rowsIn(row.Literals[0])
				has := false
				for place := range found.all() {
					has = has || place.table == &tables[i] && place.row == &tables[i].Rows[j]
				}
				require.True(test, has, "%s: %q", t.Component, row.Literals[0])
			}
			rows++
		}
	}
	require.LessOrEqual(test, rows, len(rowSet{})*64, "make rowSet larger")
	test.Logf("%d of %d rows", rows, len(rowSet{})*64)
}

// Bytes that are no text are longer in lower case: what is cut by such a copy is cut elsewhere.
func TestInvalidText(t *testing.T) {
	r := event.Record{Raw: strings.Repeat("\xff", 40) + " open /run/x: No space left on device"}
	r.Text = r.Raw
	events := Append(nil, &r)
	require.Len(t, events, 1)
	require.Equal(t, "/run/x", events[0].FieldText(event.FieldPath))
}
