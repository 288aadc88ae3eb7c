package collect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// Who waits for a processor is not stuck; who sleeps is.
func TestGuard(t *testing.T) {
	var g guard
	r := g.try(200*time.Millisecond, func() error {
		for begun := now(); now().Sub(begun) < time.Second; {
			continue
		}
		return nil
	})
	require.Empty(t, r.outcome, r.why)
	r = g.try(200*time.Millisecond, func() error {
		time.Sleep(5 * time.Second)
		return nil
	})
	require.Equal(t, bundle.Timeout, r.outcome)
}
