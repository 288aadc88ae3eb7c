package parse

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

// readAhead is the size of the read buffer; a line that fits into it is not copied.
const readAhead = 128 << 10

// Line is one physical line.
type Line struct {
	N     int    // 1-based
	Bytes []byte // without the newline; valid until the next step
	Cut   int64  // bytes dropped because the line was longer than MaxLine
}

// Lines splits r at newlines. A last line without one is a line. A read error is
// the last pair, after everything that was read before it.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := newLineReader(r, nil)
		for in.next() {
			if !yield(in.line, nil) {
				return
			}
		}
		if in.err != nil {
			yield(Line{N: in.line.N}, in.err)
		}
	}
}

// Stats counts physical lines at the reader, whatever the format makes of them.
type Stats struct {
	Lines int
	Blank int // of Lines: those of white space only
}

// lineReader is the one place where files become lines.
type lineReader struct {
	r     *bufio.Reader
	line  Line
	err   error // why it ended; nil at the end of the file
	stats *Stats
	long  []byte // a line longer than r's buffer
}

func newLineReader(r io.Reader, stats *Stats) *lineReader {
	if stats == nil {
		stats = new(Stats)
	}
	size := readAhead
	if b, ok := r.(*bytes.Reader); ok { // a small file, which is here
		size = min(size, b.Len()+1)
	}
	return &lineReader{r: bufio.NewReaderSize(r, size), stats: stats}
}

// next reads a line into in.line. It returns false at the end and on an error.
func (in *lineReader) next() bool {
	b, err := in.r.ReadSlice('\n')
	cut := int64(0)
	if errors.Is(err, bufio.ErrBufferFull) {
		b, cut, err = in.readLong(b)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		in.err = err
	}
	if len(b) == 0 {
		return false
	}
	if b[len(b)-1] == '\n' {
		b = b[:len(b)-1]
	}
	in.number(b, cut)
	return true
}

// number makes b the next line.
func (in *lineReader) number(b []byte, cut int64) {
	in.line.N++
	in.line.Bytes, in.line.Cut = b, cut
	in.stats.Lines++
	if isBlank(b) && cut == 0 {
		in.stats.Blank++
	}
}

// ahead is what is at hand of the next lines, at most n bytes; valid until the next step. Whoever takes lines from it numbers and drops them.
func (in *lineReader) ahead(n int) []byte {
	b, _ := in.r.Peek(min(n, in.r.Buffered())) // so much is there
	return b
}

func (in *lineReader) drop(n int) { _, _ = in.r.Discard(n) } // so much is there

// readLong collects a line that did not fit into the read buffer; start is its beginning.
func (in *lineReader) readLong(start []byte) (b []byte, cut int64, err error) {
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

// isBlank says that a line is of white space only, that of Unicode too. Few lines begin with what may be some.
func isBlank(b []byte) bool {
	return len(b) == 0 || (b[0] <= ' ' || b[0] >= utf8.RuneSelf) && len(bytes.TrimSpace(b)) == 0
}

// trimReturn drops the carriage return of a file that went through Windows.
func trimReturn(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		return b[:n-1]
	}
	return b
}
