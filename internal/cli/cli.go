// Package cli is what the commands of plegdiag have in common: where they read and write, how they
// fail, the flags by which they read evidence, and what they say on a terminal.
package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// Exit statuses. Whatever an analysis finds, it has succeeded.
const (
	StatusDone    = 0
	StatusFailed  = 1 // nothing readable, a missing file, a full disk
	StatusUsage   = 2
	StatusVerdict = 3 // only with --fail-on
	StatusUnknown = 4 // the input was read, and nothing in it is of a program that plegdiag knows
)

// Streams are where a command reads and writes. What goes to Out is data; Err
// is for warnings and hints.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Below is where inputs lie, and no link leads out of it; nil is the whole machine.
	Below *os.Root
	// Count is told of every read of an input, from several goroutines; nil where nobody asks.
	Count func(n int)
	// Version of the program, which reports name.
	Version string
}

// Inputs are what to read, by their paths.
func (s Streams) Inputs(paths []string) incident.Inputs {
	return incident.Inputs{Paths: paths, Stdin: s.In, Root: s.Below, Progress: s.Count}
}

// Warn writes one line to a person. Paths in it may come from a bundle, so it is escaped.
func Warn(w io.Writer, s string) {
	const enough = 2000 // columns; file names may be long
	fmt.Fprintf(w, "plegdiag: %s\n", show.Escape(s, enough))
}

// Failure ends the program with a status of its own and a hint.
type Failure struct {
	Status int
	Err    error
	Hint   string // what to do instead; empty when there is nothing to say
}

// Error is what Err says.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap implements what [errors.Is] and [errors.As] ask for.
func (f *Failure) Unwrap() error { return f.Err }

// UsageError is the failure of a command line that cannot be run as it is written.
func UsageError(hint, format string, args ...any) error {
	return &Failure{Status: StatusUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}
