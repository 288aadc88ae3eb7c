package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/batch"
	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/listing"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

const confinedName = "confined"

// confinable are the commands that can be run confined: they read, and write to stdout alone.
var confinable = []string{"analyze", "compare", "explain", linesName, "rules", "stacks", "syscalls", "timeline"}

// What the parent of a confined command leaves open for it.
const (
	inputsFile   = 3 // the directory below which the inputs are
	progressFile = 4 // a pipe for the number of bytes that were read so far, one number a line
)

// newConfined is the command that mcp starts to read a bundle: another command, within bounds.
func newConfined(s cli.Streams) *cobra.Command {
	var memory int64
	cmd := &cobra.Command{
		Use:     confinedName + " -- COMMAND...",
		Hidden:  true,
		Short:   "The part of mcp that reads one bundle; mcp starts it itself",
		Example: "  # plegdiag mcp starts it",
		Args:    cli.CheckArguments(1, math.MaxInt, "a command"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runConfined(cmd.Context(), memory, args, s)
		},
	}
	cmd.Flags().Int64Var(&memory, "memory", math.MaxInt64, "bytes")
	return cmd
}

// runConfined runs another command of this program. Its inputs lie below the directory that its
// parent holds open, whatever becomes of that directory's name, and nothing leads out of it.
func runConfined(ctx context.Context, memory int64, args []string, s cli.Streams) error {
	if !slices.Contains(confinable, args[0]) {
		return cli.UsageError("plegdiag mcp starts it", "%q is not run confined", args[0])
	}
	if err := batch.Confine(memory); err != nil {
		return err
	}
	below, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", inputsFile))
	if err != nil {
		return err
	}
	if err := syscall.Fchdir(inputsFile); err != nil {
		return err
	}
	progress := &byteCounter{to: os.NewFile(progressFile, "progress")}
	s.Below, s.Count = below, progress.add
	inner := newRoot(s)
	inner.SetArgs(args)
	err = inner.ExecuteContext(ctx)
	progress.tell()
	return err
}

// byteCounter tells how many bytes were read so far.
type byteCounter struct {
	to        io.Writer
	mu        sync.Mutex
	read, old int64 // old was told
}

// tellStep is how many bytes are read between two numbers.
const tellStep = 64 << 10

func (c *byteCounter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read += int64(n); c.read-c.old >= tellStep {
		c.write()
	}
}

// tell tells the last number.
func (c *byteCounter) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write()
}

// write writes the number. A parent that has gone does not need it.
func (c *byteCounter) write() {
	fmt.Fprintln(c.to, c.read)
	c.old = c.read
}

const linesName = "lines"

// newLines is the command that mcp starts for lines of a file in a bundle. At a terminal, sed does
// that.
func newLines(s cli.Streams) *cobra.Command {
	count, around := 0, ""
	cmd := &cobra.Command{
		Use:     linesName + " INPUT PATH:LINE",
		Hidden:  true,
		Short:   "The part of mcp that reads lines of a file in a bundle; mcp starts it itself",
		Example: "  # plegdiag mcp starts it",
		Args:    cli.CheckArguments(2, 2, "an input, and its first line as PATH:LINE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printPassage(cmd.Context(), args[0], args[1], count, around, s)
		},
	}
	cmd.Flags().IntVar(&count, "count", 20, "how many lines")
	cmd.Flags().StringVar(&around, "around", "", "of a long line the part in which this `TEXT` stands")
	return cmd
}

func printPassage(ctx context.Context, input, position string, count int, around string, s cli.Streams) error {
	from, err := parsePosition(position)
	if err != nil {
		return err
	}
	passage, err := incident.ReadPassage(ctx, s.Inputs([]string{input}), from, count, around)
	if several, ok := errors.AsType[*incident.AmbiguousError](err); ok {
		const most = 5
		hint := "write more of the path: " + strings.Join(several.Paths[:min(len(several.Paths), most)], ", ")
		return cli.UsageError(hint, "%q is %w", from.File, several)
	}
	if err != nil {
		return &cli.Failure{Status: cli.StatusUsage, Err: err, Hint: "the report's files say which there are; explain says how an entry was read"}
	}
	return listing.PassageJSON(s.Out, &passage, show.Options{Version: s.Version})
}
