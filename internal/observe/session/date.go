package session

import (
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// Date is what date printed in a session. It dates the rest of what its own command prints, as of
// "date; ps -ef", and what the next command prints: whoever types date wants to know when that was.
// The zero value is a session of which nothing has been read. Use it for one session.
type Date struct {
	at       event.Time
	commands int // that began since
}

// Before returns the date of a section that is read next; zero where no date was printed right
// before it.
func (d *Date) Before(s *parse.Section) event.Time {
	if s.Quote.Pos.Line > 0 {
		d.commands++
	}
	if d.commands > 1 {
		d.at = event.Time{}
	}
	return d.at
}

// Take notes the date that a section begins with, when the section has been read.
func (d *Date) Take(s *parse.Section) {
	if len(s.First) == 0 {
		return
	}
	if at, ok := stamp.Date(s.First[0].Text); ok && at.Known {
		d.at, d.commands = at, 0
	}
}
