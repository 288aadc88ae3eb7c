package traces

import (
	"bytes"
	"iter"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// traceRow is one line of a trace, taken apart. What it means depends on the lines before it.
type traceRow struct {
	traceLine
	n     int
	cut   int64 // bytes that MaxLine cost
	blank bool
	own   int    // where a message of strace itself begins; -1 without
	raw   []byte // as written, without a carriage return
	b     []byte // without colours
}

// scanRow takes the line apart.
func (r *traceRow) scanRow() {
	if r.blank = lines.IsBlank(r.raw); r.blank {
		return
	}
	if r.own = findOwnMessage(r.raw); r.own < 0 {
		r.scan(r.b)
	}
}

// rows are the lines of a trace; each is valid until the next step.
func (t *tracer) rows() iter.Seq[*traceRow] {
	all := lines.Rows[traceRow]{Lines: t.lines, Scan: scanRows, Go: t.Go}
	return func(yield func(*traceRow) bool) {
		for row := range all.All() {
			if !yield(&row.Of) {
				return
			}
		}
	}
}

// scanRows takes the lines of a batch apart.
func scanRows(batch *lines.Batch[traceRow]) {
	coloured := batch.MayHoldByte('\x1b')
	batch.Plain = batch.Plain[:0]
	for i := range batch.Rows {
		line, r := &batch.Rows[i].Line, &batch.Rows[i].Of
		*r = traceRow{} // fields are set one by one: a literal would be built and then copied
		r.n, r.cut, r.own, r.raw = line.N, line.Cut, -1, trimEnd(line.Bytes)
		if r.b = r.raw; coloured && bytes.IndexByte(r.raw, '\x1b') >= 0 {
			from := len(batch.Plain)
			batch.Plain = lines.WithoutColours(batch.Plain, r.raw)
			r.b = batch.Plain[from:]
		}
		r.scanRow()
	}
}

// trimEnd takes off a line what a terminal filled its row with.
func trimEnd(b []byte) []byte {
	b = lines.TrimReturn(b)
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}
