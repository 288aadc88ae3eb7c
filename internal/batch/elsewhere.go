//go:build !linux

package batch

import (
	"context"
	"errors"
)

// What bounds a worker is Linux's. Elsewhere the commands say so before they call any of these.

// Run analyses on Linux.
func Run(context.Context, Options) (Tally, error) { return Tally{}, errors.ErrUnsupported }

// Run runs a worker on Linux.
func (*Worker) Run(context.Context, Job) (Outcome, error) { return Outcome{}, errors.ErrUnsupported }

// Confine bounds this process on Linux.
func Confine(int64) error { return errors.ErrUnsupported }
