//go:build !linux

package sink

import (
	"errors"
	"os"
	"syscall"
)

// noTerminal is a flag that only Linux needs here.
const noTerminal = 0

// refusals are the signals that come with an error of write.
var refusals = []os.Signal{syscall.SIGPIPE}

// allocate is for the disk of a sick node. Elsewhere a full disk shows when it is written to.
func (s *file) allocate(int64) error { return errors.ErrUnsupported }

// whyNoSpace knows no reason.
func (s *file) whyNoSpace() string { return "" }
