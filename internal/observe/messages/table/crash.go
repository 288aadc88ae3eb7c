package table

import (
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/crash"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
)

// Crash is the row of every daemon that is written in Go.
var Crash = Row{crashLiterals, crashEvent}

// crashLiterals are the marks as they stand in a line: at its beginning, behind a header, in an
// export of the journal, in JSON.
var crashLiterals = []string{"\npanic: ", " panic: ", "=panic: ", `"panic: `, "fatal error: ", "runtime: program "}

// crashEvent is the last word of a Go program. Only a journal tells whose it is: a file without
// writers may hold any program's.
func crashEvent(r *event.Record) (event.Event, bool) {
	e, ok := crash.Read(daemon.Writer(r.Unit), r.Message())
	return e, ok && r.Unit != ""
}
