package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Whoever writes a log is one for whose lines rules may ask.
func TestSourcesOfWriters(t *testing.T) {
	for _, w := range writers {
		require.Contains(t, event.Sources(), w.component+".log")
	}
}
