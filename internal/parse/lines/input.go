package lines

import "io"

// Input is one file to be read.
type Input struct {
	Path string // as it appears in every event.Pos
	R    io.Reader
	// Want says whether a raw line, or what stands behind its header, may matter; nil wants every
	// line. What it rejects becomes a record with Pos, Lines, Time and, where that is free, Unit
	// and Level. It must want the first line of a message that is cut into pieces ("goroutine ")
	// for these to be joined. The format journal-export asks it about the value of MESSAGE.
	Want  func(line []byte) bool
	Stats *Stats // filled while reading; nil allowed
}
