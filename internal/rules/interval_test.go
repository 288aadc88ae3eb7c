package rules

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// TestOrderTiedUndated: lines without a time may be of one moment, and of either order; that
// minutes lie between them they do not show.
func TestOrderTiedUndated(t *testing.T) {
	var noon span
	noon.dated = true
	later := language.Tie{Measured: true, Min: 3 * time.Minute, Max: time.Hour}
	for _, spans := range [][2]span{{{}, {}}, {noon, {}}, {{}, noon}} {
		require.Equal(t, impossible, orderTied(&later, spans[0], spans[1]))
		require.Equal(t, unknown, orderTied(&language.Tie{Measured: true, Max: time.Hour}, spans[0], spans[1]))
		require.Equal(t, unknown, orderTied(&language.Tie{Measured: true, Min: -time.Minute, Max: time.Hour}, spans[0], spans[1]))
		require.Equal(t, unknown, orderTied(&language.Tie{Shared: true}, spans[0], spans[1]))
	}
}
