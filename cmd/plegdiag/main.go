// Plegdiag finds out from the logs, dumps and traces of a Kubernetes node why
// its container runtime hung and the node went NotReady ("PLEG is not healthy").
// It works offline, on what was collected, and writes nothing but its report.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	_ "time/tzdata" // a machine without zoneinfo reads --tz all the same

	"github.com/plegdiag/plegdiag/internal/cli"
)

func main() {
	boundGarbage()
	os.Exit(run(hideArguments(os.Args)[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program; it returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot(cli.Streams{In: stdin, Out: stdout, Err: stderr, Version: version()})
	if isPlugin(os.Args[0]) {
		asPlugin(root)
	}
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return cli.StatusDone
	}
	f, ok := errors.AsType[*cli.Failure](err)
	if !ok {
		f = &cli.Failure{Status: cli.StatusFailed, Err: err}
	}
	for reason := range strings.Lines(f.Err.Error()) { // joined errors have a line each
		cli.Warn(stderr, strings.TrimRight(reason, "\n"))
	}
	if f.Hint != "" {
		cli.Warn(stderr, "hint: "+f.Hint)
	}
	return f.Status
}
