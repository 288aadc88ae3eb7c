package runtimes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// A signal that was refused ended nothing.
func TestRefusedSignal(t *testing.T) {
	text := "failed to kill container: unknown error after kill: runc did not terminate successfully: exit status 1: unable to signal init: operation not permitted\n: unknown"
	e, ok := runcFailed(&event.Record{Text: text, Raw: text})
	require.True(t, ok)
	require.Equal(t, "runc failed: its signal was refused", e.Text)
	require.Equal(t, "signal", e.FieldText(event.FieldReason))
}
