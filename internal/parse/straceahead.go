package parse

import (
	"bytes"
	"iter"
)

// traceRow is a line of a trace with all that it tells by itself. What it means depends on the lines before it.
type traceRow struct {
	traceLine
	n   int
	cut int64  // bytes that MaxLine cost
	raw []byte // as written, without a carriage return
	b   []byte // without colours
	own int    // where a message of strace itself begins; -1 without

	plain []byte // room for b
}

// look takes a line apart. The row's slices are the line's.
func (r *traceRow) look(line Line) {
	*r = traceRow{n: line.N, cut: line.Cut, raw: trimReturn(line.Bytes), own: -1, plain: r.plain}
	r.b = r.raw
	if isBlank(r.raw) {
		return
	}
	if r.own = ownMessage(r.raw); r.own >= 0 {
		return
	}
	if bytes.IndexByte(r.b, '\x1b') >= 0 {
		r.plain = stripColours(r.plain[:0], r.b)
		r.b = r.plain
	}
	r.scan(r.b)
}

// rows are the lines of a trace; each is valid until the next step.
func (t *tracer) rows() iter.Seq[*traceRow] {
	if t.Go != nil {
		return t.rowsAhead
	}
	return func(yield func(*traceRow) bool) {
		var r traceRow
		for t.lines.next() {
			if r.look(t.lines.line); !yield(&r) {
				return
			}
		}
	}
}

// rowBatch is the rows that change hands at once, and their text.
type rowBatch struct {
	rows []traceRow
	text []byte
}

const (
	batchRows = 256
	batchText = 64 << 10
)

// rowsAhead looks at the lines beside their use. What it starts has ended when it returns.
func (t *tracer) rowsAhead(yield func(*traceRow) bool) {
	full, free := make(chan *rowBatch, 2), make(chan *rowBatch, 3)
	for range cap(free) {
		free <- &rowBatch{make([]traceRow, 0, batchRows), make([]byte, 0, batchText)}
	}
	t.Go(func() {
		defer close(full)
		for batch := range free {
			if batch.fill(t.lines); len(batch.rows) == 0 {
				return
			}
			full <- batch
		}
	})
	stopped := false
	for batch := range full {
		for i := 0; i < len(batch.rows) && !stopped; i++ {
			stopped = !yield(&batch.rows[i])
		}
		if stopped {
			break
		}
		free <- batch
	}
	if stopped {
		close(free)
		for range full { // until the lines are nobody's
		}
	}
}

// fill reads as many lines as fit in.
func (b *rowBatch) fill(lines *lineReader) {
	b.rows, b.text = b.rows[:0], b.text[:0]
	for len(b.rows) < cap(b.rows) && len(b.text) < cap(b.text) && lines.next() {
		line := lines.line
		if from := len(b.text); len(line.Bytes) <= cap(b.text)-from {
			b.text = append(b.text, line.Bytes...)
			line.Bytes = b.text[from:len(b.text):len(b.text)]
		} else {
			line.Bytes = bytes.Clone(line.Bytes)
		}
		b.rows = b.rows[:len(b.rows)+1]
		b.rows[len(b.rows)-1].look(line)
	}
}
