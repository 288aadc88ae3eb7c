package states

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestAges(t *testing.T) {
	at := event.At(time.Date(2026, 11, 20, 18, 25, 0, 0, time.UTC))
	for in, want := range map[string]string{"5m12s": "18:19:48 1s", "2m": "18:23:00 1m0s", "2d3h": "15:25:00 1h0m0s", "5m (x3 over 10m)": "18:20:00 1m0s"} {
		got := timeAgo(at, in)
		require.Equal(t, want, got.T.Format("15:04:05 ")+got.Prec.String(), in)
	}
	require.False(t, timeAgo(at, "<unknown>").Known)
	require.False(t, timeAgo(event.Time{}, "5m").Known, "nothing to count from")
}

// Every outcome that is worth an event is declared.
func TestKeptOutcomes(t *testing.T) {
	for _, outcome := range keptOutcomes {
		require.True(t, event.KindNamed(event.KindCollectItem).Field(event.FieldOutcome).Allows(event.String(outcome)), outcome)
	}
}
