package table

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/crash"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// CrashedCall is the row of a daemon that serves calls of gRPC.
var CrashedCall = Row{[]string{"_Handler(0x", "_Handler({0x"}, crashedCall}

// crashedCall is such a daemon whose last word is not there, but calls of the goroutine in which it
// has crashed: nothing else writes them into the log of its service line by line.
//
//	containerd[18290]: k8s.io/…/v1alpha2._RuntimeService_RemoveContainer_Handler(0x5642f67ddaa0, 0xc00034c290, …)
func crashedCall(r *event.Record) (event.Event, bool) {
	name, _, _ := strings.Cut(r.Message(), "_Handler(")
	service, method, ok := strings.Cut(scan.After(name, "._"), "_")
	e := crash.Event(daemon.Writer(r.Unit), "crashes", "in a call of "+method)
	return e, ok && r.Unit != "" && service != "" && !strings.ContainsAny(name, " \"(")
}

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
