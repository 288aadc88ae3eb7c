package states

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestLengths(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"03:32": 212 * time.Second, "1:02:03": 3723 * time.Second, "12-03:04:05": 12*24*time.Hour + 11045*time.Second, "652": 652 * time.Second,
		"": -1, "-": -1, "a:b": -1, "1:2:3:4": -1, "19:32-": -1,
	} {
		require.Equal(t, want, parseElapsed(in), in)
	}
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
