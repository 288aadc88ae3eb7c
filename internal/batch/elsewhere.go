//go:build !linux

package batch

import (
	"context"
	"errors"
)

// What bounds a worker is Linux's. Elsewhere the command says so before it calls any of these.

// Run analyses on Linux.
func Run(context.Context, Options) (Tally, error) { return Tally{}, errors.ErrUnsupported }

func confine(int64) error { return errors.ErrUnsupported }
