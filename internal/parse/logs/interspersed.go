package logs

import (
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// Interspersed reads the lines of a log that stand between those of another format, as in a ticket.
// The reader of the file passes it the lines that Wants accepts.
type Interspersed struct{ log logReader }

// NewInterspersed passes records on to yield, as the sequence of a log does, until that returns
// false.
func NewInterspersed(path string, yield func(event.Record, error) bool) *Interspersed {
	return &Interspersed{logReader{Input: lines.Input{Path: path}, yield: yield}}
}

// Wants says that a line has the header of a log, or may go on with a message that is not whole.
func (i *Interspersed) Wants(line []byte) bool {
	return HasHeader(line) || len(i.log.open) > 0 || i.log.started > 0
}

// Read takes a line. It is false when yield wants no more.
func (i *Interspersed) Read(line lines.Line) bool { return i.log.readLine(line) }

// End passes on what the end of the file leaves open.
func (i *Interspersed) End() bool { return i.log.endFile() }
