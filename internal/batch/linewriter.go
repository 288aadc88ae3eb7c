package batch

import (
	"bufio"
	"bytes"
	"io"
)

// lineWriter counts the lines that pass through it.
type lineWriter struct {
	*bufio.Writer
	lines int
}

func newLineWriter(w io.Writer) *lineWriter { return &lineWriter{Writer: bufio.NewWriter(w)} }

// Write implements [io.Writer].
func (l *lineWriter) Write(p []byte) (int, error) {
	l.lines += bytes.Count(p, []byte{'\n'})
	return l.Writer.Write(p)
}

// ReadFrom keeps [io.Copy] from passing Write by.
func (l *lineWriter) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{l}, r)
}
