package processes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLengths(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"03:32": 212 * time.Second, "1:02:03": 3723 * time.Second, "12-03:04:05": 12*24*time.Hour + 11045*time.Second, "652": 652 * time.Second,
		"": -1, "-": -1, "a:b": -1, "1:2:3:4": -1, "19:32-": -1,
	} {
		require.Equal(t, want, parseElapsed(in), in)
	}
}
