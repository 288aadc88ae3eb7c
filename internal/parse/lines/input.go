package lines

import (
	"cmp"
	"io"
)

// Input is one file to be read.
type Input struct {
	Path string // as it appears in every event.Pos
	R    io.Reader
	// As is the path by which the content is known, where that is not Path: of a file that a command
	// printed in a transcript.
	As string
	// State is the letter of ps of every thread of which the content says none, where the command that
	// printed it chose threads by their state; empty elsewhere.
	State string
	// Program is the daemon whose threads the command looked at that printed the content; empty where
	// it names none.
	Program string
	// Header names the columns of a listing that its own lines may not name: the command that printed
	// it does; empty elsewhere.
	Header string
	// Before is how many lines of the file stand before R, where R is only a part of it.
	Before int
	// Want says whether a raw line, or what stands behind its header, may matter; nil wants every
	// line, or those with one of the Literals. What it rejects becomes a record with Pos, Lines, Time
	// and, where that is free, Unit and Level. It must want the first line of a message that is cut
	// into pieces ("goroutine ") for these to be joined. The format journal-export asks it about the
	// value of MESSAGE.
	Want func(line []byte) bool
	// Literals are strings of which one stands in most lines that matter; nil for none. They are
	// looked for ahead of the use of a line, and Want is asked about the other lines.
	Literals *Literals
	// Go runs a function beside the reading, so that lines are taken apart ahead of their use;
	// nil does one after the other. What it runs has ended when the reading has.
	Go    func(func())
	Spare Spare  // for the memory of small logs; nil makes it for each file
	Stats *Stats // filled while reading; nil allowed
}

// NewReader reads the lines of the input, with their numbers in the file.
func (in *Input) NewReader() *Reader {
	r := NewReader(in.R, in.Stats)
	r.Line.N = in.Before
	return r
}

// Wants says whether a line, or what stands behind its header, may matter.
func (in *Input) Wants(line []byte) bool {
	return in.Literals != nil && in.Literals.Match(line) || in.WantsWithoutLiteral(line)
}

// WantsWithoutLiteral is Wants for a line that holds none of the Literals.
func (in *Input) WantsWithoutLiteral(line []byte) bool {
	if in.Want != nil {
		return in.Want(line)
	}
	return in.Literals == nil
}

// Place is the path that shows what the input is.
func (in *Input) Place() string { return cmp.Or(in.As, in.Path) }
