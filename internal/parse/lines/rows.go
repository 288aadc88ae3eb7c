package lines

import (
	"bytes"
	"iter"
)

// Row is a line and what it shows by itself. What it means may depend on the lines before it.
type Row[T any] struct {
	Line // its bytes are valid until the next step
	Of   T
}

// Rows looks at lines ahead of their use, so that both go on side by side.
type Rows[T any] struct {
	Lines *Reader
	// Scan fills Of in all rows of a batch, where the one of an earlier row may still be. It must
	// not touch what the consumer of the rows uses: it runs beside it, and beside itself.
	Scan func(b *Batch[T])
	// Go runs a function beside the reading; nil does one after the other. What it runs has ended
	// when the reading has.
	Go func(func())
	// Share makes batches so much smaller, where many files are read side by side; 0 does not.
	Share int
}

// Batch holds rows that are made and passed on together, and their text.
type Batch[T any] struct {
	Rows  []Row[T]
	Plain []byte // room for a Scan that changes lines: it is valid as long as the rows
	text  []byte
	done  chan struct{} // gets one when the rows have been looked at, where that is not waited for
}

const (
	batchText = 128 << 10
	rowText   = 128 // bytes of text for which there is a row; most lines are longer
	// batches are read ahead, and scanners scan them: together with the reader of the rows they
	// keep two processors busy.
	batches  = 8
	scanners = 2
)

// All yields the lines in their order; a row is valid until the next step. Why they ended is in
// Err of the reader. Nothing is started for a file that fits into one batch: bundles hold 50 000 of
// them.
func (s *Rows[T]) All() iter.Seq[*Row[T]] {
	return func(yield func(*Row[T]) bool) {
		b := s.newBatch()
		for s.takeLines(b) {
			if s.Scan(b); !b.yieldRows(yield) {
				return
			}
			if s.Go != nil && len(s.Lines.Head(1)) > 0 {
				s.readAhead(b, yield)
				return
			}
		}
	}
}

// newBatch makes a batch that is no larger than a small file needs.
func (s *Rows[T]) newBatch() *Batch[T] {
	size := min(batchText/max(s.Share, 1), s.Lines.r.Size())
	return &Batch[T]{Rows: make([]Row[T], 0, size/rowText+1), text: make([]byte, 0, size), done: make(chan struct{}, 1)}
}

// readAhead looks at the lines beside their use. What it starts has ended when it returns.
func (s *Rows[T]) readAhead(first *Batch[T], yield func(*Row[T]) bool) {
	taken, free := make(chan *Batch[T], batches), make(chan *Batch[T], batches)
	free <- first
	for range batches - 1 {
		free <- s.newBatch()
	}
	turn, ended := make(chan struct{}, 1), make(chan struct{}, scanners)
	turn <- struct{}{}
	for range scanners {
		s.Go(func() {
			for b := range free {
				if _, more := <-turn; !more {
					break
				}
				if !s.takeLines(b) {
					close(turn)
					close(taken)
					break
				}
				taken <- b // in the order of the lines
				turn <- struct{}{}
				s.Scan(b)
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
func (s *Rows[T]) takeLines(b *Batch[T]) bool {
	in := s.Lines
	b.Rows, b.text = b.Rows[:0], append(b.text[:0], in.Ahead(cap(b.text))...)
	used := 0
	for len(b.Rows) < cap(b.Rows) {
		n := bytes.IndexByte(b.text[used:], '\n')
		if n < 0 {
			break
		}
		in.CountLine(b.text[used:used+n:used+n], 0)
		b.addLine(in.Line)
		used += n + 1
	}
	in.Drop(used)
	if len(b.Rows) == 0 && in.Next() { // a line that ends behind the buffer
		line := in.Line
		if len(line.Bytes) <= cap(b.text) {
			line.Bytes = append(b.text[:0], line.Bytes...)
		} else {
			line.Bytes = bytes.Clone(line.Bytes)
		}
		b.addLine(line)
	}
	return len(b.Rows) > 0
}

func (b *Batch[T]) addLine(line Line) {
	b.Rows = b.Rows[:len(b.Rows)+1]
	b.Rows[len(b.Rows)-1].Line = line
}

func (b *Batch[T]) yieldRows(yield func(*Row[T]) bool) bool {
	for i := range b.Rows {
		if !yield(&b.Rows[i]) {
			return false
		}
	}
	return true
}

// MayHoldByte says whether a line of the batch may hold a byte: many lines are asked at once.
func (b *Batch[T]) MayHoldByte(c byte) bool {
	return len(b.Rows) == 1 || bytes.IndexByte(b.text, c) >= 0
}
