package snapshots

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIsStartTime: starts of processes, also of locales that number the months.
func TestIsStartTime(t *testing.T) {
	for _, start := range []string{"18:22", "18:22:16", "Nov20", "2019", "1月04", "11月20", "10월04", "1/04", "nov.20"} {
		require.True(t, isStartTime(start), start)
	}
	for _, other := range []string{"pts/1", "1/104", "118", "1.1", "13%04", "?", "Ssl"} {
		require.False(t, isStartTime(other), other)
	}
}
