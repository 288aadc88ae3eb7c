package systemd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The lengths that systemd prints.
func TestSpans(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"3min 2s": 182 * time.Second, "2 weeks 3 days": 17 * 24 * time.Hour, "1h 4min": 64 * time.Minute, "350ms": 350 * time.Millisecond, "1 day 2h": 26 * time.Hour,
	} {
		got, _, ok := parseSpan(in)
		require.True(t, ok, in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"", "soon", "3", "3parsec", "99999999999h"} {
		_, _, ok := parseSpan(in)
		require.False(t, ok, in)
	}
}
