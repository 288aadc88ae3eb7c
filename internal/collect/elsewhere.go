//go:build !linux

package collect

import (
	"context"
	"errors"
	"io"

	"github.com/plegdiag/plegdiag/internal/collect/put"
)

// A node is Linux. Elsewhere the program only analyses, and asks through the API server: the
// command says so before it calls any of these.

// Run collects on Linux.
func Run(context.Context, Options) (*Summary, error) { return nil, errors.ErrUnsupported }

// WritePlan writes a plan on Linux.
func WritePlan(io.Writer, *Options) error { return errors.ErrUnsupported }

// Send sends on Linux.
func Send(context.Context, *Options, string) (put.Report, error) {
	return put.Report{}, errors.ErrUnsupported
}

// ChangeRoot changes the root on Linux.
func ChangeRoot(string) error { return errors.ErrUnsupported }

// Helper does a task on Linux.
func Helper(string, io.Reader, io.Writer) error { return errors.ErrUnsupported }

// HelperStatus is the exit status of a helper.
func HelperStatus(error) int { return 1 }
