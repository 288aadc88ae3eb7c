//go:build unix

package story

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// userTime is the time that this process has computed: unlike a clock it stands while others do.
func userTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano())
}

// TestSuspectsGrowWithEvents: ten times as many containers in one stall take about ten times as
// long; a hundred times, if every event were compared with every container.
func TestSuspectsGrowWithEvents(t *testing.T) {
	measure := func(events, times int) time.Duration {
		tl := flapping(1, events)
		start := userTime(t)
		for range times {
			require.Len(t, Tell(&language.Catalog{}, tl, FindNode(tl), rules.Result{}).Suspects, maxSuspects)
		}
		return (userTime(t) - start) / time.Duration(times)
	}
	measure(4_000, 1)
	require.Less(t, measure(40_000, 3), 40*measure(4_000, 20))
}
