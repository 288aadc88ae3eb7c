// Package lines turns files into lines, whatever their format: it counts and bounds them, undoes
// encodings, and takes off colours and what stands before every line. It searches lines for
// literals, which decides the speed of a whole run.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"unicode/utf8"
)

// MaxLine is the longest line that is held: 16 MiB. The longest real one, a
// goroutine dump of a busy dockerd that logs without journald, stays below 10 MB. What is
// longer is cut, and the cut is counted.
const MaxLine = 16 << 20

// ReadAhead is the size of the read buffer; a line that fits into it is not copied.
const ReadAhead = 128 << 10

// Line is one physical line.
type Line struct {
	N     int    // 1-based
	Bytes []byte // without the newline; valid until the next step
	Cut   int64  // bytes dropped because the line was longer than MaxLine
}

// All splits r at newlines. A last line without one is a line. A read error is
// the last pair, after everything that was read before it.
func All(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := NewReader(r, nil)
		for in.Next() {
			if !yield(in.Line, nil) {
				return
			}
		}
		if in.Err != nil {
			yield(Line{N: in.Line.N}, in.Err)
		}
	}
}

// Stats counts physical lines at the reader, whatever the format makes of them.
type Stats struct {
	Lines int
	Blank int // of Lines: those of white space only
}

// Reader is the one place where files become lines. Line is the current one.
type Reader struct {
	r     source
	Line  Line
	Err   error // why it ended; nil at the end of the file
	Stats *Stats
	long  []byte // a line longer than r's buffer
}

// NewReader reads lines from r and counts them in stats, which may be nil.
func NewReader(r io.Reader, stats *Stats) *Reader {
	if stats == nil {
		stats = new(Stats)
	}
	if held, ok := r.(*Held); ok && len(held.rest) <= ReadAhead {
		return &Reader{r: held, Stats: stats}
	}
	return &Reader{r: bufio.NewReaderSize(r, ReadAhead), Stats: stats}
}

// Next reads a line into in.Line. It returns false at the end and after an error: r is not asked
// for what it would give behind its error.
func (in *Reader) Next() bool {
	if in.Err != nil {
		return false
	}
	b, err := in.r.ReadSlice('\n')
	cut := int64(0)
	if errors.Is(err, bufio.ErrBufferFull) {
		b, cut, err = in.readLong(b)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		in.Err = err
	}
	if len(b) == 0 {
		return false
	}
	if b[len(b)-1] == '\n' {
		b = b[:len(b)-1]
	}
	in.CountLine(b, cut)
	return true
}

// CountLine makes b the next line.
func (in *Reader) CountLine(b []byte, cut int64) {
	in.Line.N++
	in.Line.Bytes, in.Line.Cut = b, cut
	in.Stats.Lines++
	if IsBlank(b) && cut == 0 {
		in.Stats.Blank++
	}
}

// Head is what the file begins with, at most n bytes, and fewer where the buffer is smaller.
// Nothing is read by it.
func (in *Reader) Head(n int) []byte {
	b, _ := in.r.Peek(min(n, in.r.Size())) // it fails again
	return b
}

// Ahead is what has been read of the next lines, at most n bytes; it is valid until the next step.
// A reader that takes lines from it calls CountLine for each, and Drop for all of them.
func (in *Reader) Ahead(n int) []byte {
	b, _ := in.r.Peek(min(n, in.r.Buffered())) // so much is there
	return b
}

// Drop skips n bytes of what Ahead returned.
func (in *Reader) Drop(n int) { _, _ = in.r.Discard(n) } // so much is there

// readLong collects a line that did not fit into the read buffer; start is its beginning.
func (in *Reader) readLong(start []byte) (b []byte, cut int64, err error) {
	in.long = append(in.long[:0], start...)
	for {
		b, err = in.r.ReadSlice('\n')
		if room := MaxLine - len(in.long); len(b) > room {
			end := len(b)
			if end > 0 && b[end-1] == '\n' {
				end--
			}
			cut += int64(end - min(room, end))
			b = b[:min(room, end)]
		}
		in.long = append(in.long, b...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return in.long, cut, err
		}
	}
}

// IsBlank says that a line is of white space only, that of Unicode too. Few lines begin with what
// may be some.
func IsBlank(b []byte) bool {
	return len(b) == 0 || (b[0] <= ' ' || b[0] >= utf8.RuneSelf) && len(bytes.TrimSpace(b)) == 0
}

// TrimReturn drops the carriage return of a file that went through Windows.
func TrimReturn(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		return b[:n-1]
	}
	return b
}
