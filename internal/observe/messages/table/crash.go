package table

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
)

// Crash is the row of every daemon that is written in Go.
var Crash = Row{crashLiterals, crashEvent}

// crashLiterals are the marks as they stand in a line: at its beginning, behind a header, in an
// export of the journal, in JSON.
var crashLiterals = []string{"\npanic: ", " panic: ", "=panic: ", `"panic: `, "fatal error: ", "runtime: program "}

var crashMarks = []string{"panic: ", "fatal error: ", "runtime: program "}

// crashEvent is the last word of a Go program:
//
//	panic: runtime error: invalid memory address or nil pointer dereference
//	fatal error: concurrent map read and map write
//	runtime: program exceeds 10000-thread limit
//
// Only a journal tells whose it is: a file without writers may hold any program's.
func crashEvent(r *event.Record) (event.Event, bool) {
	text := r.Message()
	for _, mark := range crashMarks {
		if reason, ok := strings.CutPrefix(text, mark); ok && r.Unit != "" {
			e := event.New(event.KindCrash, daemon.Writer(r.Unit)+" crashes: "+reason, event.FieldReason.Text(reason))
			return e, true
		}
	}
	return event.Event{}, false
}
