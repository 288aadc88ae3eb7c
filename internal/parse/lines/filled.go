package lines

import (
	"fmt"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Skip names n lines, from the one numbered first, that cannot be read; with n 0 it is a remark
// about a line that is used all the same.
func (in *Input) Skip(first, n int, format string, args ...any) *event.Skip {
	return &event.Skip{Pos: event.Pos{File: in.Path, Line: first}, Lines: n, Reason: fmt.Sprintf(format, args...)}
}

// CutSkip is the remark about a line that was too long to be held; nil for every other line.
func (in *Input) CutSkip(l Line) error {
	if l.Cut == 0 {
		return nil
	}
	return in.Skip(l.N, 0, "line of %d bytes is cut at %d", int64(len(l.Bytes))+l.Cut, MaxLine)
}

// ReadFilled calls read with each line that is not blank, without its carriage return, and with its
// place, until read or yield is false. At the end it calls end, and then yields why the file ended
// early, if it did. Lines that were cut are remarked on.
func ReadFilled[T any](in Input, yield func(T, error) bool, read func(b []byte, pos event.Pos) bool, end func() bool) {
	var none T
	src := in.NewReader()
	for src.Next() {
		b := TrimReturn(src.Line.Bytes)
		if src.Line.Cut == 0 && IsBlank(b) {
			continue
		}
		if err := in.CutSkip(src.Line); err != nil && !yield(none, err) {
			return
		}
		if !read(b, event.Pos{File: in.Path, Line: src.Line.N}) {
			return
		}
	}
	if end() && src.Err != nil {
		yield(none, src.Err)
	}
}
