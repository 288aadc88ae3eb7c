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

// rowBatch holds rows that are made and passed on together, and their text.
type rowBatch struct {
	rows  []traceRow
	text  []byte
	plain []byte        // lines without their colours
	done  chan struct{} // gets one when the rows have been looked at, where that is not waited for
}

const (
	batchRows = 1024
	batchText = 128 << 10
	// batches are read ahead, and scanners scan them: together with the reader of the rows they
	// keep two processors busy.
	batches  = 8
	scanners = 2
)

// newBatch has less room where many files are read side by side.
func (t *tracer) newBatch() *rowBatch {
	share := 1
	if t.Thread != 0 {
		share = 32
	}
	return &rowBatch{rows: make([]traceRow, 0, batchRows/share), text: make([]byte, 0, batchText/share), done: make(chan struct{}, 1)}
}

// rows are the lines of a trace; each is valid until the next step.
func (t *tracer) rows() iter.Seq[*traceRow] {
	if t.Go != nil {
		return t.readRowsAhead
	}
	return func(yield func(*traceRow) bool) {
		for b := t.newBatch(); b.takeLines(t.lines); {
			if b.scanRows(); !b.yieldRows(yield) {
				return
			}
		}
	}
}

// readRowsAhead looks at the lines beside their use. What it starts has ended when it returns.
func (t *tracer) readRowsAhead(yield func(*traceRow) bool) {
	taken, free := make(chan *rowBatch, batches), make(chan *rowBatch, batches)
	for range batches {
		free <- t.newBatch()
	}
	turn, ended := make(chan *lines.Reader, 1), make(chan struct{}, scanners)
	turn <- t.lines
	for range scanners {
		t.Go(func() {
			for b := range free {
				lines, more := <-turn
				if !more {
					break
				}
				if !b.takeLines(lines) {
					close(turn)
					close(taken)
					break
				}
				taken <- b // in the order of the lines
				turn <- lines
				b.scanRows()
				b.done <- struct{}{}
			}
			ended <- struct{}{}
		})
	}
	for b := range taken {
		if <-b.done; !b.yieldRows(yield) {
			if _, more := <-turn; more {
				close(turn) // there is no other one
			}
			break
		}
		free <- b
	}
	close(free)
	for range scanners {
		<-ended
	}
}

// takeLines takes as many lines as fit in and are buffered. It is false at the end.
func (b *rowBatch) takeLines(lines *lines.Reader) bool {
	b.rows, b.text = b.rows[:0], append(b.text[:0], lines.Ahead(cap(b.text))...)
	used := 0
	for len(b.rows) < cap(b.rows) {
		n := bytes.IndexByte(b.text[used:], '\n')
		if n < 0 {
			break
		}
		lines.CountLine(b.text[used:used+n:used+n], 0)
		b.addLine(&lines.Line)
		used += n + 1
	}
	lines.Drop(used)
	if len(b.rows) == 0 && lines.Next() { // a line that ends behind the buffer
		if line := &lines.Line; len(line.Bytes) <= cap(b.text) {
			line.Bytes = append(b.text[:0], line.Bytes...)
		} else {
			line.Bytes = bytes.Clone(line.Bytes)
		}
		b.addLine(&lines.Line)
	}
	return len(b.rows) > 0
}

func (b *rowBatch) addLine(line *lines.Line) {
	b.rows = b.rows[:len(b.rows)+1]
	r := &b.rows[len(b.rows)-1]
	*r = traceRow{} // fields are set one by one: a literal would be built and then copied
	r.n, r.cut, r.own, r.raw = line.N, line.Cut, -1, trimEnd(line.Bytes)
	r.b = r.raw
}

func (b *rowBatch) scanRows() {
	colours := len(b.rows) == 1 || bytes.IndexByte(b.text, '\x1b') >= 0
	b.plain = b.plain[:0]
	for i := range b.rows {
		r := &b.rows[i]
		if colours && bytes.IndexByte(r.raw, '\x1b') >= 0 {
			from := len(b.plain)
			b.plain = lines.WithoutColours(b.plain, r.raw)
			r.b = b.plain[from:]
		}
		r.scanRow()
	}
}

func (b *rowBatch) yieldRows(yield func(*traceRow) bool) bool {
	for i := range b.rows {
		if !yield(&b.rows[i]) {
			return false
		}
	}
	return true
}

// trimEnd takes off a line what a terminal filled its row with.
func trimEnd(b []byte) []byte {
	b = lines.TrimReturn(b)
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}
