package messages

import (
	"iter"
	"math/bits"
	"sync"

	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// rowIndex finds the rows that a line may belong to by one look at the line, however many rows
// there are.
type rowIndex struct {
	literals *lines.Literals
	rows     [][]int // of each literal, the places of its rows in the order of the tables
	places   []tableRow
}

// tableRow is a row and the table that it stands in.
type tableRow struct {
	table *table.Table
	row   *table.Row
}

// rowSet is a set of rows, by their places in the order of the tables. It has room for 448.
type rowSet [7]uint64

// rowsOf is the index of all tables.
var rowsOf = sync.OnceValue(func() *rowIndex {
	x := &rowIndex{}
	var all []string
	at := 0
	places := map[string][]int{}
	for i := range tables {
		t := &tables[i]
		for j := range t.Rows {
			row := &t.Rows[j]
			x.places = append(x.places, tableRow{t, row})
			for _, s := range row.Literals {
				if places[s] == nil {
					all = append(all, s)
				}
				places[s] = append(places[s], at)
			}
			at++
		}
	}
	for _, s := range all {
		x.rows = append(x.rows, places[s])
	}
	x.literals = lines.NewLiterals(all)
	return x
})

// rowsIn are the rows of which one literal at least stands in the line.
func (x *rowIndex) rowsIn(line string) (found rowSet) {
	var room [1024]byte // on the stack, where a copy of most lines costs nothing later
	x.literals.All(append(room[:0], line...), func(id int) {
		for _, at := range x.rows[id] {
			found[at/64] |= 1 << (at % 64)
		}
	})
	return found
}

// all yields the rows of the set in the order of the tables.
func (s *rowSet) all() iter.Seq[*tableRow] {
	return func(yield func(*tableRow) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(&rowsOf().places[i*64+bits.TrailingZeros64(word)]) {
					return
				}
			}
		}
	}
}
