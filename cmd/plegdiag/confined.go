package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/batch"
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
func newConfined(s streams) *cobra.Command {
	var memory int64
	cmd := &cobra.Command{
		Use:     confinedName + " -- COMMAND...",
		Hidden:  true,
		Short:   "The part of mcp that reads one bundle; mcp starts it itself",
		Example: "  # plegdiag mcp starts it",
		Args:    checkArguments(1, math.MaxInt, "a command"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runConfined(cmd.Context(), memory, args, s)
		},
	}
	cmd.Flags().Int64Var(&memory, "memory", math.MaxInt64, "bytes")
	return cmd
}

// runConfined runs another command of this program. Its inputs lie below the directory that its
// parent holds open, whatever becomes of that directory's name, and nothing leads out of it.
func runConfined(ctx context.Context, memory int64, args []string, s streams) error {
	if !slices.Contains(confinable, args[0]) {
		return usageError("plegdiag mcp starts it", "%q is not run confined", args[0])
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
	s.below, s.count = below, progress.add
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
