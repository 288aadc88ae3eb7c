package lines

import (
	"bytes"
	"io"
)

// Held is a text that is in memory, for one pass. A [Reader] of a short one takes its lines from it
// as they are; most files of a node are short.
type Held struct{ rest []byte }

// Hold is a text to be read. It keeps the text, and does not write to it.
func Hold(text []byte) *Held { return &Held{text} }

// Read implements [io.Reader].
func (h *Held) Read(p []byte) (int, error) {
	if len(h.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

// source is what a [Reader] takes its lines from: a [bufio.Reader], or a text as it is.
type source interface {
	ReadSlice(delim byte) ([]byte, error)
	Peek(n int) ([]byte, error)
	Discard(n int) (int, error)
	Buffered() int
	Size() int
}

// ReadSlice implements source.
func (h *Held) ReadSlice(delim byte) (line []byte, err error) {
	end := bytes.IndexByte(h.rest, delim) + 1
	if end == 0 {
		end, err = len(h.rest), io.EOF
	}
	line, h.rest = h.rest[:end:end], h.rest[end:]
	return line, err
}

// Peek implements source.
func (h *Held) Peek(n int) ([]byte, error) {
	if n > len(h.rest) {
		return h.rest, io.EOF
	}
	return h.rest[:n:n], nil
}

// Discard implements source.
func (h *Held) Discard(n int) (int, error) {
	if n > len(h.rest) {
		n = len(h.rest)
		h.rest = nil
		return n, io.EOF
	}
	h.rest = h.rest[n:]
	return n, nil
}

// Buffered implements source.
func (h *Held) Buffered() int { return len(h.rest) }

// Size implements source.
func (h *Held) Size() int { return ReadAhead }
