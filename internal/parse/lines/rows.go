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
	Go    func(func())
	Spare Spare // keeps the batch of few rows; nil makes one for each file
}

// Spare keeps memory from one file to the next, as a sync.Pool does. What it keeps is of one kind.
type Spare interface {
	Get() any
	Put(memory any)
}

// Batch holds rows that are made and passed on together, and their text.
type Batch[T any] struct {
	Rows  []Row[T]
	Plain []byte        // room for a Scan that changes lines: it is valid as long as the rows
	used  int           // rows that were filled since the batch was empty
	text  []byte        // of the rows
	room  []byte        // where their text is copied to; nil for a batch that is used at once
	done  chan struct{} // gets one when the rows have been looked at, where that is not waited for
}

const (
	batchRows = 1024
	batchText = 128 << 10
	// fewRows are in a batch that is not looked at ahead of its use. Nothing is started for the
	// first manyRows: bundles hold 50 000 small files.
	fewRows  = 16
	manyRows = 1024
	// batches are read ahead, and scanners scan them: together with the reader of the rows they
	// keep two processors busy.
	batches  = 8
	scanners = 2
)

// All yields the lines in their order; a row is valid until the next step. Why they ended is in
// Err of the reader.
func (s *Rows[T]) All() iter.Seq[*Row[T]] {
	return func(yield func(*Row[T]) bool) {
		b := s.firstBatch()
		defer s.keepBatch(b)
		for n := 0; s.takeLines(b); n += len(b.Rows) {
			if s.Scan(b); !b.yieldRows(yield) {
				return
			}
			if s.Go != nil && n >= manyRows {
				s.readAhead(yield)
				return
			}
		}
	}
}

// firstBatch is the one that is used alone, while nothing is read ahead.
func (s *Rows[T]) firstBatch() *Batch[T] {
	if s.Spare != nil {
		if b, ok := s.Spare.Get().(*Batch[T]); ok {
			return b
		}
	}
	return &Batch[T]{Rows: make([]Row[T], 0, fewRows)}
}

// keepBatch keeps a batch for the next file, and nothing of this one.
func (s *Rows[T]) keepBatch(b *Batch[T]) {
	if s.Spare != nil {
		clear(b.Rows[:b.used])
		b.text, b.used = nil, 0
		s.Spare.Put(b)
	}
}

// readAhead looks at the lines beside their use. What it starts has ended when it returns.
func (s *Rows[T]) readAhead(yield func(*Row[T]) bool) {
	taken, free := make(chan *Batch[T], batches), make(chan *Batch[T], batches)
	for range batches {
		free <- &Batch[T]{Rows: make([]Row[T], 0, batchRows), room: make([]byte, 0, batchText), done: make(chan struct{}, 1)}
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
	text := in.Ahead(batchText)
	if cap(b.room) > 0 { // the next batch is read before this one has been used
		text = append(b.room[:0], text...)
	}
	b.Rows = b.Rows[:0]
	used := 0
	for len(b.Rows) < cap(b.Rows) {
		n := bytes.IndexByte(text[used:], '\n')
		if n < 0 {
			break
		}
		in.CountLine(text[used:used+n:used+n], 0)
		b.addLine(in.Line)
		used += n + 1
	}
	in.Drop(used)
	if b.text = text[:used]; used == 0 && in.Next() { // a line that ends behind the buffer
		line := in.Line
		if cap(b.room) > 0 {
			line.Bytes = append(b.room[:0], line.Bytes...)
		}
		b.text = line.Bytes
		b.addLine(line)
	}
	return len(b.Rows) > 0
}

func (b *Batch[T]) addLine(line Line) {
	b.Rows = b.Rows[:len(b.Rows)+1]
	b.used = max(b.used, len(b.Rows))
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
	return bytes.IndexByte(b.text, c) >= 0
}
