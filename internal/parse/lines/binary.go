package lines

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxField is the largest length of a binary value that is accepted, in bytes. Text that is
// mistaken for a length is far above it.
const MaxField = 64 << 20

// ReadBinary reads a value that is given with its length. First is the line in which its bytes
// start. The value is valid until the next step.
func (in *Reader) ReadBinary() (value []byte, first int, err error) {
	head, err := in.r.Peek(8)
	if err != nil {
		return nil, 0, fmt.Errorf("no length: %w", err)
	}
	size := binary.LittleEndian.Uint64(head)
	if size > MaxField {
		return nil, 0, fmt.Errorf("length %d is above %d", size, MaxField)
	}
	buf := append(in.long[:0], head...)
	first = in.Line.N + 1 + bytes.Count(head, []byte{'\n'})
	if _, err = in.r.Discard(len(head)); err != nil {
		return nil, 0, err
	}
	for err == nil && len(buf) < 8+int(size) {
		var chunk []byte
		chunk, err = in.r.Peek(min(8+int(size)-len(buf), ReadAhead))
		buf = append(buf, chunk...)
		_, _ = in.r.Discard(len(chunk)) // cannot fail for what Peek returned
	}
	value = buf[8:]
	// the newline behind the value; what else stands there is no part of it
	rest, err := in.r.ReadSlice('\n')
	buf = append(buf, rest...)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.r.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		in.Err = err
	}
	in.long = buf
	in.countLines(buf)
	return buf[8 : 8+len(value)], first, nil
}

// countLines accounts for lines that were not read by next.
func (in *Reader) countLines(b []byte) {
	for len(b) > 0 {
		line, rest, _ := bytes.Cut(b, []byte{'\n'})
		in.Line.N++
		in.Stats.Lines++
		if IsBlank(line) {
			in.Stats.Blank++
		}
		b = rest
	}
}
