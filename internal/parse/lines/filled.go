package lines

import (
	"fmt"

	"github.com/plegdiag/plegdiag/internal/event"
)

// NextFilled reads on to the next line that is not blank, and drops its carriage return. It
// returns false at the end and on an error.
func (in *Reader) NextFilled() bool {
	for in.Next() {
		if b := TrimReturn(in.Line.Bytes); in.Line.Cut > 0 || !IsBlank(b) {
			in.Line.Bytes = b
			return true
		}
	}
	return false
}

// CutSkip is the remark about a line that was too long to be held; nil for every other line.
func (l Line) CutSkip(file string) error {
	if l.Cut == 0 {
		return nil
	}
	return &event.Skip{
		Pos:    event.Pos{File: file, Line: l.N},
		Reason: fmt.Sprintf("line of %d bytes is cut at %d", int64(len(l.Bytes))+l.Cut, MaxLine),
	}
}
