package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// pastePrefixes are what mail, tickets and chats put before every line that
// somebody quotes: Markdown's block quote and code block.
var pastePrefixes = [][]byte{[]byte("> "), []byte("\t"), []byte("        "), []byte("    "), []byte("  ")}

// FindPastePrefix is what stands before nearly every line of head because it was
// quoted on its way; empty when nothing does.
func FindPastePrefix(head []byte) []byte {
	most, bare := bytes.Count(head, []byte{'\n'})+1, 0 // lines, and those that begin with no prefix
	for line := range bytes.Lines(head) {
		if c := line[0]; c == '>' || c == '\t' || c == ' ' || c == '\r' || c == '\n' {
			continue
		}
		if bare++; bare*10 > most {
			return nil
		}
	}
	for _, prefix := range pastePrefixes {
		lines, quoted := 0, 0
		for line := range bytes.Lines(head) {
			if line = bytes.TrimRight(line, " \r\n"); len(line) == 0 || bytes.Equal(line, bytes.TrimRight(prefix, " ")) {
				continue
			}
			lines++
			if bytes.HasPrefix(line, prefix) {
				quoted++
			}
		}
		if lines > 0 && quoted*10 >= lines*9 {
			return prefix
		}
	}
	return nil
}

// WithoutPrefix reads r with prefix taken off every line that has it. Lines
// keep their numbers, and what is left of a line is still a part of it.
func WithoutPrefix(r io.Reader, prefix []byte) io.Reader {
	bare := slices.Concat(bytes.TrimRight(prefix, " "), []byte{'\n'}) // ">" before an empty line
	return WithoutStarts(r, len(prefix), func(head []byte) int {
		switch {
		case bytes.HasPrefix(head, prefix):
			return len(prefix)
		case len(bare) > 1 && bytes.HasPrefix(head, bare):
			return len(bare) - 1
		}
		return 0
	})
}

// startless is a reader that takes something off the start of lines.
type startless struct {
	r    *bufio.Reader
	look int // how much of a line cut is shown
	// cut says how much to take off; head may hold less than look, and more than one line.
	cut   func(head []byte) int
	start bool // at the start of a line
}

// WithoutStarts reads r with something taken off the start of each line. Cut says how many bytes,
// by the next bytes of r: at most look of them, which may be less than a line, or more.
func WithoutStarts(r io.Reader, look int, cut func(head []byte) int) io.Reader {
	return &startless{r: bufio.NewReaderSize(r, 64<<10), look: look, cut: cut, start: true}
}

// Read implements io.Reader.
func (s *startless) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s.start {
		head, err := s.r.Peek(s.look)
		if len(head) == 0 {
			return 0, err
		}
		taken, _ := s.r.Discard(s.cut(head)) // cannot fail for what Peek returned
		if _, err := s.r.Peek(1); errors.Is(err, io.EOF) && taken > 0 {
			p[0] = '\n' // the last line was nothing but its start: it stays a line, an empty one
			return 1, nil
		}
		s.start = false
	}
	if _, err := s.r.Peek(1); err != nil {
		return 0, err
	}
	ready, _ := s.r.Peek(min(s.r.Buffered(), len(p)))
	if i := bytes.IndexByte(ready, '\n'); i >= 0 {
		ready, s.start = ready[:i+1], true
	}
	n := copy(p, ready)
	_, _ = s.r.Discard(n)
	return n, nil
}

// CutQuoteMarks takes the marks of a quotation, one for each time it was quoted, off a line.
func CutQuoteMarks(line []byte) []byte {
	if len(line) > 0 && line[0] == '>' {
		return bytes.TrimLeft(line, " \t>")
	}
	return line
}
