// Plegdiag finds out from the logs, dumps and traces of a Kubernetes node why
// its container runtime hung and the node went NotReady ("PLEG is not healthy").
// It works offline, on what was collected, and writes nothing but its report.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	_ "time/tzdata" // a machine without zoneinfo reads --tz all the same

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

func main() {
	boundGarbage()
	os.Exit(run(hideArguments(os.Args)[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit statuses. Whatever an analysis finds, it has succeeded.
const (
	statusDone    = 0
	statusFailed  = 1 // nothing readable, a missing file, a full disk
	statusUsage   = 2
	statusVerdict = 3 // only with --fail-on
	statusUnknown = 4 // the input was read, and nothing in it is of a program that plegdiag knows
)

// run is the whole program; it returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot(streams{in: stdin, out: stdout, err: stderr})
	if isPlugin(os.Args[0]) {
		asPlugin(root)
	}
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return statusDone
	}
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = &failure{status: statusFailed, err: err}
	}
	for reason := range strings.Lines(f.err.Error()) { // joined errors have a line each
		warn(stderr, strings.TrimRight(reason, "\n"))
	}
	if f.hint != "" {
		warn(stderr, "hint: "+f.hint)
	}
	return f.status
}

// streams are where a command reads and writes. What goes to out is data; err
// is for warnings and hints.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// below is where inputs lie, and no link leads out of it; nil is the whole machine.
	below *os.Root
	// count is told of every read of an input, from several goroutines; nil where nobody asks.
	count func(n int)
}

// inputs are what to read, by their paths.
func (s streams) inputs(paths []string) incident.Inputs {
	return incident.Inputs{Paths: paths, Stdin: s.in, Root: s.below, Progress: s.count}
}

// warn writes one line to a person. Paths in it may come from a bundle, so it is escaped.
func warn(w io.Writer, s string) {
	const enough = 2000 // columns; file names may be long
	fmt.Fprintf(w, "plegdiag: %s\n", show.Escape(s, enough))
}

// failure ends the program with a status of its own and a hint.
type failure struct {
	status int
	err    error
	hint   string // what to do instead; empty when there is nothing to say
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// usageError is the failure of a command line that cannot be run as it is written.
func usageError(hint, format string, args ...any) error {
	return &failure{status: statusUsage, err: fmt.Errorf(format, args...), hint: hint}
}
