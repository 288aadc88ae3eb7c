// Package children knows what the number of a process's children tells: which commands a shim has
// started for execs that have not ended.
package children

import (
	"strconv"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
)

// Counts are the processes of one listing by their parent and their name. The zero value has none.
type Counts struct {
	rows map[key][]event.Quote
}

// key stands for the children of one process that have one name.
type key struct {
	parent, name string
}

const (
	// least is from how many children of one name on they are told. A shim's own children are the
	// first process of each container, and what execs have started there: a probe's command is gone
	// before the next one starts.
	least = 10
	// maxKeys and maxRows bound what is kept of a listing.
	maxKeys, maxRows = 1 << 16, 5000
)

// Add counts a process by its parent's number, as printed, and its own name.
func (c *Counts) Add(parent, name string, row event.Quote) {
	if c.rows == nil {
		c.rows = map[key][]event.Quote{}
	}
	k := key{parent, name}
	rows, known := c.rows[k]
	if parent == "" || parent == "1" || name == "" || len(rows) == maxRows || !known && len(c.rows) == maxKeys {
		return
	}
	c.rows[k] = append(rows, row)
}

// AppendShimChildren adds how many children of one name a shim has, of the one with the most; shims
// are the numbers of the shims. It adds nothing where no shim has many.
func (c *Counts) AppendShimChildren(dst []event.Event, shims map[string]bool) []event.Event {
	var most key
	count := least - 1
	for k, rows := range c.rows {
		n := len(rows)
		before := n == count && (k.parent < most.parent || k.parent == most.parent && k.name < most.name)
		if shims[k.parent] && (n > count || before) {
			most, count = k, n
		}
	}
	if most.parent == "" {
		return dst
	}
	rows := c.rows[most]
	return append(dst, newFact(count, most.name, rows[0], rows[len(rows)-1]))
}

// Counted is the fact that a command has counted so many children of one name below a shim; ok is
// false where they are no more than a shim that works may have.
func Counted(count int, name string, quotes ...event.Quote) (e event.Event, ok bool) {
	return newFact(count, name, quotes...), count >= least
}

func newFact(count int, name string, quotes ...event.Quote) event.Event {
	e, _ := facts.New("shim.children", strconv.Itoa(count))
	e.AddFields(event.FieldProgram.Text(name))
	e.Component, e.Source, e.Evidence = "shim", facts.Processes, quotes
	return e
}
